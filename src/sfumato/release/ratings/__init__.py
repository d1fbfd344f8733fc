"""Releases of ratings."""

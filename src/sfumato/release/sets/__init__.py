"""Releases of sets."""

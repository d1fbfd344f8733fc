"""Recounting ratings."""

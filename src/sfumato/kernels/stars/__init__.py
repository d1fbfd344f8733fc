"""Suppressed cells."""

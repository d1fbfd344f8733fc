"""Recounting published sets."""

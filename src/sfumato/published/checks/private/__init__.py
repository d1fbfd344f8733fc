"""Recounting releases under differential privacy."""

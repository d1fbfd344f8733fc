"""Counts with noise under differential privacy."""

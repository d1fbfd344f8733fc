"""Releases under differential privacy."""

"""Sparse ratings."""

"""Recounting marginals."""

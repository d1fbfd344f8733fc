"""Marginals."""

"""Noisy marginals under differential privacy."""

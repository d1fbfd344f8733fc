"""Anonymizers that cluster records, and what they share."""

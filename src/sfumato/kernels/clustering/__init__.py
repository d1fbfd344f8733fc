"""Clusterings: nearest records, classes and what they lose."""

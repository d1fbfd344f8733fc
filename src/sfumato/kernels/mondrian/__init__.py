"""Mondrian: choosing and making cuts."""

"""Anonymizers: one paper, one file."""

"""Counts with noise under differential privacy."""

COMMANDS = ("anonymize",)
"""What ``command.py`` beside it does with ``--kind``."""

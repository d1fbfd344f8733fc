"""A random sample of generalized records under differential privacy."""

COMMANDS = ("anonymize",)
"""What ``command.py`` beside it does with ``--kind``."""

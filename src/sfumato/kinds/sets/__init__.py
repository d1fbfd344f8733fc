"""Sets of items, such as baskets or diagnoses: k^m-anonymity."""

COMMANDS = ("anonymize", "check", "attack")
"""What ``command.py`` beside it does with ``--kind``."""

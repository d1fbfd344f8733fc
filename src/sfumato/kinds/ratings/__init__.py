"""Survey ratings: sparse, and as good as a name; (k, ε, l)-anonymity."""

COMMANDS = ("anonymize", "check", "attack")
"""What ``command.py`` beside it does with ``--kind``."""

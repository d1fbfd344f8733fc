"""Traces of people: who was where and when, so that who knows a few points finds many people."""

COMMANDS = ("anonymize", "check", "attack")
"""What ``command.py`` beside it does with ``--kind``."""

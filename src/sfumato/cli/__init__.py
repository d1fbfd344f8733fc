"""The command line: one file per command."""

from sfumato.cli.app import main

__all__ = ["main"]

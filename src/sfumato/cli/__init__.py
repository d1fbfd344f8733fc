"""The command line: one file per command."""

from sfumato.cli.interrupted import end_at_interrupt

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    end_at_interrupt()
    from sfumato.cli.app import main as run

    run()

"""The command line: one file per command."""

from sfumato.cli.collecting import collect_after_loading
from sfumato.cli.interrupted import end_at_interrupt

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    end_at_interrupt()
    collect_after_loading()
    from sfumato.cli.app import main as run

    run()

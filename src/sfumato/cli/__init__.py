"""The command line: one file per command."""

from __future__ import annotations

import atexit
import gc
from typing import Any

from sfumato.cli.interrupted import end_at_interrupt

# When the program looks for garbage: not while it is loaded, and not when it ends.


LOADED = 200_000
"""More objects than a loaded program and a small table have."""


def collect_after_loading() -> None:
    """Begin to look for cycles of objects once the program is loaded, and do not look for them at its end.

    Loading makes a hundred thousand objects, all of which are needed: to look through them again and again, and once
    more at the end, takes a fifth of a small command's time.
    """
    usual = gc.get_threshold()[0]

    def as_usual(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            gc.set_threshold(usual)
            gc.callbacks.remove(as_usual)

    gc.set_threshold(max(usual, LOADED))
    gc.callbacks.append(as_usual)
    atexit.register(gc.freeze)


__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    end_at_interrupt()
    collect_after_loading()
    from sfumato.cli.app import main as run

    run()

"""What a command says about its kernels: that it compiles, and how they ran."""

from __future__ import annotations

import json
from typing import Any

from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import draw_compiling


def say_json(result: dict[str, Any]) -> None:
    """Print a result as JSON, with how the kernels ran: for the steward, never part of a release."""
    from sfumato.kernels.choice import TAKEN

    say(json.dumps({**result, "kernels": TAKEN.to_dict()}, indent=2))


def say_result(result: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result as JSON or as text."""
    if as_json:
        say_json(result)
    else:
        say(text)


def announce_compiling() -> None:
    """Say once on stderr, before the first long compilation, why the command takes longer; draw a bar for each."""
    said: list[str] = []

    def listen(kernel: str, seconds: float) -> None:
        if not said:
            said.append(kernel)
            complain(["compiling, once on this machine, for a job of this size; sfumato warm does it in advance"])
        draw_compiling(kernel, seconds)

    from sfumato.kernels.announcing import listeners

    listeners.append(listen)

"""``sfumato demo``: the product at work on a synthetic hospital."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = """\b
Example:
  sfumato demo
"""


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the tables and the release go.")] = Path(
        "demo-output"
    ),
) -> None:
    """Play a linking attack on a synthetic hospital table, publish it safely, and play the attack again."""
    from sfumato.demo import run

    run(out)

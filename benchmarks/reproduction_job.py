"""The thesis's comparison, as somebody runs it: one command, from start to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import run_child
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "reproduce"
BAR = 60.0
"""Seconds on two cores."""


def run(settings: Settings) -> Iterator[Figure]:
    """Run ``sfumato reproduce similarity`` as a process of its own."""
    yield timed(settings.adult_file().parent)


def timed(folder: Path, *words: str) -> Figure:
    """Time the command with the Adult file of a folder, and further words."""
    cost = run_child(["-m", "sfumato.cli", "reproduce", "similarity", "--data", str(folder), "--quiet", *words])
    share = cost.wall / BAR
    return Figure(
        NAME,
        f"share of {BAR:g} s: `reproduce similarity`, 12 values of k, four algorithms, both Mondrian rules, two tables",
        share,
        f"{share:.1%}",
        1.0,
        at_most=True,
        detail=f"with the start of the program and what is compiled at first use; {cost}",
    )

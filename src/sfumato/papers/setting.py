"""The settings of every reproduction."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sfumato.progress import Progress, silent


@dataclass(frozen=True)
class Setting:
    """How experiments are repeated.

    Attributes
    ----------
    data : Path or None
        Folder with public tables, as ``SFUMATO_DATA`` names one; None reads that variable.
    seed : int
        For synthetic tables, and for algorithms that draw at random.
    quick : bool
        Fewer records and values, to see that it works.
    threads : int
        Runs at a time.
    progress : callable
        Called with (what, done, total).
    """

    data: Path | None = None
    seed: int = 1
    quick: bool = False
    threads: int = 1
    progress: Progress = field(default=silent)

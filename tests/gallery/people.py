"""The people of the gallery, of whom nobody exists, and how their table is written as text."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from gallery.case import Make

_DRAW = random.Random(19)
COUNT = 40
BORN = [date(1950, 1, 1) + timedelta(days=_DRAW.randrange(18_000)) for _ in range(COUNT)]
"""Days that need their order: some are after the twelfth of a month."""
EARLY = [born.replace(day=born.day % 12 + 1) for born in BORN]
"""Days that read in both orders."""
AGE = [_DRAW.randrange(18, 90) for _ in range(COUNT)]
PAY = [_DRAW.randrange(150_000, 990_000) / 100 for _ in range(COUNT)]
CITY = [_DRAW.choice(["Köln", "Zürich", "Århus", "Genève"]) for _ in range(COUNT)]
ZIP = [str(_DRAW.randrange(10_115, 99_998)) for _ in range(COUNT)]

Write = Callable[[Any], str]


def comma(number: float) -> str:
    """Write a number with a decimal comma."""
    return f"{number:.2f}".replace(".", ",")


def grouped(mark: str, decimal: str) -> Write:
    """Return how numbers are written with a mark between thousands."""
    return lambda number: f"{number:,.2f}".replace(",", "_").replace(".", decimal).replace("_", mark)


def day(form: str) -> Write:
    """Return how days are written, as ``strftime`` says it."""
    return lambda born: born.strftime(form)


def rows(*columns: Sequence[Any], write: Sequence[Write] = ()) -> list[list[str]]:
    """Return the cells of records, each column written in its way; a missing value is an empty cell."""
    ways = [*write, *([str] * (len(columns) - len(write)))]
    return [
        ["" if value is None else way(value) for way, value in zip(ways, record, strict=True)]
        for record in zip(*columns, strict=True)
    ]


def text(header: Sequence[str], cells: Sequence[Sequence[str]], separator: str = ",", end: str = "\n") -> str:
    """Join header and cells; cells that hold the separator are quoted."""
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in record] for record in [list(header), *cells]]
    return "".join(separator.join(record) + end for record in quoted)


def file(content: str | bytes, encoding: str = "utf-8", name: str = "people.csv") -> Make:
    """Return how a file with this content is made."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return make

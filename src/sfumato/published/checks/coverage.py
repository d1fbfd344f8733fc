"""What no promise of a release covers, counted on the published table alone: it is said beside what holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import counted, percent
from sfumato.recoding.notation import STAR

MOST_STARRED = 0.95
"""Share of ``*`` above which a column says nothing."""
FEWEST = 2
"""Records from which on it means something that one class holds all of them."""


@dataclass(frozen=True)
class Uncovered:
    """One thing that no promise covers; ``column`` is None for the whole table."""

    name: str
    column: str | None
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"finding": self.name, "column": self.column, "sentence": self.sentence}


def columns_without_promise(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> list[str]:
    """Return the sensitive columns that no model speaks of, in their order."""
    promised = {rule.attribute for model in models for rule in model.rules(list(sensitive))}
    return [name for name in sensitive if name not in promised]


def uncovered_values(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> Iterator[Uncovered]:
    """Name the sensitive columns that no model speaks of."""
    for name in columns_without_promise(models, sensitive):
        yield Uncovered("sensitive", name, f"no promise covers the sensitive column {name!r}")


def uncovered_classes(models: Sequence[PrivacyModel], statistics: ClassStatistics) -> Iterator[Uncovered]:
    """Add in how many classes all records share one value of such a column, and whether one class holds everybody."""
    noun = "record" if statistics.people is None else "person"
    for each in uncovered_values(models, statistics.sensitive):
        shared = np.diff(statistics.sensitive[str(each.column)].starts) == 1
        classes, alike = int(shared.sum()), int(statistics.sizes[shared].sum())
        if not classes:
            yield each
            continue
        verb = "shares" if classes == 1 else "share"
        told = f"{classes:,} of {counted(statistics.count, 'class')} {verb} one value ({counted(alike, noun)})"
        yield Uncovered(each.name, each.column, f"{each.sentence}: {told}")
    if statistics.count == 1 and statistics.height >= FEWEST:
        yield Uncovered("one-class", None, "one class holds all records: nothing tells any two of them apart")


def starred_columns(shares: Mapping[str, float]) -> Iterator[Uncovered]:
    """Name columns that are ``*`` nearly everywhere, by the share of records in which they are."""
    for name, share in shares.items():
        if share > MOST_STARRED:
            yield Uncovered("starred", name, f"column {name!r} is {STAR} in {percent(share, 3)} of the records")


def share_of_stars(column: pl.Series, records: NDArray[np.int64] | None) -> float:
    """Return the share of the records that have ``*`` in a published column; `records` are those behind each row."""
    if not (column.unique().cast(pl.String) == STAR).any():
        return 0.0
    starred = column.cast(pl.String).eq_missing(STAR).to_numpy()
    return float(np.average(starred, weights=records)) if len(starred) else 0.0

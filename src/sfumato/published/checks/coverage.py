"""What no promise of a release covers, counted on the published table alone: it is said beside what holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.classes.statistics import ClassStatistics
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import counted

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

    def without_counts(self) -> Uncovered:
        """Return what somebody may read who is not told what was counted of people."""
        return self if self.name != "sensitive" else _bare(str(self.column))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"finding": self.name, "column": self.column, "sentence": self.sentence}


def columns_without_promise(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> list[str]:
    """Return the sensitive columns that no model speaks of, in their order."""
    promised = {rule.attribute for model in models for rule in model.rules(list(sensitive))}
    return [name for name in sensitive if name not in promised]


def uncovered_values(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> Iterator[Uncovered]:
    """Name the sensitive columns that no model speaks of."""
    yield from map(_bare, columns_without_promise(models, sensitive))


def _bare(name: str) -> Uncovered:
    return Uncovered("sensitive", name, f"no promise covers the sensitive column {name!r}")


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
    records = statistics.height if statistics.people is None else int(statistics.people.records.sum())
    if statistics.count == 1 and records >= FEWEST:
        yield Uncovered("one-class", None, "one class holds all records: nothing tells any two of them apart")

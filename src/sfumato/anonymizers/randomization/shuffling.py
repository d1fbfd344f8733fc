"""Data shuffling: values change places so that ranks hang together as before, and say nothing else of their record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.columns import (
    MEASURED,
    Floats,
    PresentCells,
    attribute_problems,
    draw_normal,
    fitting_attributes,
    present_cells,
    publish_changed,
    refuse_misfits,
)
from sfumato.anonymizers.randomization.noise import noise_root
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Names
from sfumato.published import RandomizedTable
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class Shuffling(Checked):
    """Deal the values of numbers and dates out anew, so that their ranks hang together as they did.

    Parameters
    ----------
    attributes
        Numbers and dates that are shuffled; None: every quasi-identifying one.
    given
        Numbers and dates that stay, and that the shuffled ones go on to hang together with; None: all others.

    Notes
    -----
    *Guarantee.* None that is syntactic. Every column keeps its values. Of a record, its own values of what is shuffled
    decide nothing: the published ones depend on what stays alone, on chance, and on the values and correlations of the
    whole table. Rank correlations, of the shuffled ones with each other and with what stays, are the same on average.
    Other relations are lost. What is missing stays missing, and counts as a middling value where it stays.

    *Complexity.* O(n log n · a + n · a²) for a attributes.

    *Source.* K. Muralidhar, R. Sarathy, "Data shuffling: a new masking approach for numerical data", Management Science
    52(5), 2006. Departure: the correlation of normal scores for the one that follows from rank correlations.
    """

    name: ClassVar[str] = "shuffling"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    attributes: Names | None = None
    given: Names | None = None

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse_misfits(self.name, models, self._problems(table))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Shuffle the values, and then the rows."""
        names = fitting_attributes(problem.table, self.attributes, MEASURED)
        columns = [present_cells(table.frame[name]) for name in names]
        fixed = [_scores(present_cells(table.frame[name])) for name in self._given(problem.table)]
        drawn = draw_normal(len(table.frame) * len(names), problem.seed).reshape(-1, len(names))
        ranks = _drawn_scores(fixed, [_scores(cells) for cells in columns], drawn)
        changed = [_dealt(cells, ranks[:, place]) for place, cells in enumerate(columns)]
        return publish_changed(table, dict(zip(names, changed, strict=True)), problem.seed)

    def _given(self, table: EncodedTable) -> tuple[str, ...]:
        if self.given is not None:
            return self.given
        shuffled = fitting_attributes(table, self.attributes, MEASURED)
        known = (*table.attributes, *table.sensitive)
        return tuple(each.name for each in known if each.kind in MEASURED and each.name not in shuffled)

    def _problems(self, table: EncodedTable) -> Iterator[str]:
        yield from attribute_problems(self.name, table, self.attributes, MEASURED)
        if self.given is not None:
            yield from attribute_problems(f"{self.name}, given", table, self.given, MEASURED)
            both = set(self.given) & set(fitting_attributes(table, self.attributes, MEASURED))
            yield from (f"{self.name}: {name!r} is shuffled and given; it can be one of both" for name in sorted(both))


def _scores(cells: PresentCells) -> Floats:
    """Return normal scores: the normal number of the same rank, float64 (n,); 0 where missing, ties in the middle."""
    scores = np.zeros(len(cells.column))
    if len(cells.numbers):
        ranks = pl.Series(cells.numbers).rank("average").to_numpy()
        distinct, place = np.unique(ranks, return_inverse=True)
        shares = ((distinct - 0.5) / len(ranks)).tolist()
        scores[cells.places] = np.array([NormalDist().inv_cdf(share) for share in shares])[place]
    return scores


def _drawn_scores(fixed: list[Floats], own: list[Floats], drawn: Floats) -> Floats:
    """Draw normal scores for what is shuffled, given those that stay: float64 (n, a).

    With the lower root of all covariances, those that stay first, scores that stay are the root times numbers that
    follow from them; the others' own numbers are `drawn`.
    """
    scores = np.column_stack([*fixed, *own])
    centered = scores - scores.mean(axis=0)
    root = noise_root(centered)
    numbers = np.zeros_like(centered)
    for place in range(len(fixed)):
        rest = centered[:, place] - (numbers[:, :place] * root[place, :place]).sum(axis=1)
        if root[place, place] > 0:
            numbers[:, place] = rest / root[place, place]
    numbers[:, len(fixed) :] = drawn
    return np.column_stack([(numbers * root[place]).sum(axis=1) for place in range(len(fixed), scores.shape[1])])


def _dealt(cells: PresentCells, scores: Floats) -> pl.Series:
    """Give the values out by the order of the scores."""
    dealt = np.empty_like(cells.numbers)
    dealt[np.argsort(scores[cells.places], kind="stable")] = np.sort(cells.numbers)
    return cells.with_numbers(dealt)

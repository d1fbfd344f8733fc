"""Noise addition: normal noise for numbers and dates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.cells import PresentCells, cells_of, refuse_overflow
from sfumato.anonymizers.randomization.choosing import (
    MEASURED,
    attribute_problems,
    fitting_attributes,
    refuse,
)
from sfumato.anonymizers.randomization.draws import Floats
from sfumato.anonymizers.randomization.noise_draws import correlated_noise, exact_noise, plain_noise
from sfumato.anonymizers.randomization.publishing import publish_changed
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Limit, Names
from sfumato.published import RandomizedTable
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class Noise(Checked):
    """Add normal noise to numbers and dates.

    Parameters
    ----------
    amount
        Standard deviation of the noise, as a multiple of that of the attribute; above 0.
    correlated
        False: each attribute has noise of its own. True: the noise of all attributes is correlated as they are, so that
        correlations stay what they were on average.
    attributes
        Numbers and dates; None: every quasi-identifying one.
    rescaled
        Draw noisy numbers towards their mean, by √(1 + amount²), so that variances stay what they were on average; with
        correlated noise covariances stay, too.
    in_range
        Turn back what leaves the range of the original at its ends, by as much as it left. Means and variances change a
        little by that, more the more records lie near an end.
    exact
        Draw correlated noise that has nothing in common with the records, so that rescaled numbers have exactly their
        means and covariances, but for rounding; where numbers are missing, on average.

    Raises
    ------
    PolicyError
        With options that contradict each other.

    Notes
    -----
    *Guarantee.* None that is syntactic, and no differential privacy either. On average means stay; variances grow by
    the factor ``1 + amount²``, and with correlated noise covariances, too, so that dividing by it gives the original
    ones, unless numbers are rescaled. With `exact` that is so in every release. Whole numbers and dates are rounded;
    values may leave the range of the original, unless they are turned back. What is missing stays so.

    *Complexity.* O(a² n) for a attributes.

    *Source.* J. J. Kim, "A method for limiting disclosure in microdata based on random noise and transformation", 1986;
    R. Brand, "Microdata protection through noise addition", 2002.
    """

    name: ClassVar[str] = "noise"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    amount: Annotated[float, Limit(0, above=True)] = 0.1
    correlated: bool = False
    attributes: Names | None = None
    rescaled: bool = False
    in_range: bool = False
    exact: bool = False

    def _mistakes(self) -> Iterator[str]:
        if self.exact and not (self.correlated and self.rescaled):
            yield "noise: exact keeps means and covariances of correlated, rescaled noise; set correlated and rescaled"
        if self.exact and self.in_range:
            yield "noise: numbers that are turned back have other means and covariances; leave exact or in_range out"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse(self.name, models, attribute_problems(self.name, table, self.attributes, MEASURED))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Add noise and shuffle the rows.

        Raises
        ------
        InputError
            When numbers are so large that noise would not fit them.
        """
        names = fitting_attributes(problem.table, self.attributes, MEASURED)
        columns = [cells_of(table.frame[name]) for name in names]
        values = np.column_stack([_with_gaps(cells) for cells in columns])
        draw = exact_noise if self.exact else correlated_noise if self.correlated else plain_noise
        with np.errstate(over="ignore", invalid="ignore"):
            noise = draw(values, self.amount, problem.seed)
        changed = [self._noisy(cells, noise[cells.places, place]) for place, cells in enumerate(columns)]
        return publish_changed(table, dict(zip(names, changed, strict=True)), problem.seed)

    def _noisy(self, cells: PresentCells, noise: Floats) -> pl.Series:
        """Add noise to the numbers of a column."""
        refuse_overflow(cells, float(np.abs(noise).max(initial=0.0)))
        change = noise
        if self.rescaled and len(noise):
            # Rounded once, so that no order of the records and no processor changes it.
            away = cells.numbers - math.fsum(cells.numbers.tolist()) / len(noise)
            change = (away + noise) / math.sqrt(1 + self.amount**2) - away
        if self.in_range and len(noise):
            change = _turned_back(cells.numbers.astype(np.float64), change)
        moved = cells.numbers + (np.rint(change).astype(np.int64) if cells.is_whole else change)
        if self.in_range and len(noise):
            moved = np.clip(moved, cells.numbers.min(), cells.numbers.max())
        return cells.with_numbers(moved)


def _turned_back(numbers: Floats, change: Floats) -> Floats:
    """Fold what leaves the range of the numbers at its ends, until it is inside; return the change that is left."""
    low, width = float(numbers.min()), float(numbers.max() - numbers.min())
    if width == 0:
        return np.zeros_like(change)
    beyond = np.mod(numbers + change - low, 2 * width)
    folded: Floats = low + np.where(beyond > width, 2 * width - beyond, beyond) - numbers
    return folded


def _with_gaps(cells: PresentCells) -> Floats:
    full = np.full(len(cells.column), np.nan)
    full[cells.places] = cells.numbers
    return full

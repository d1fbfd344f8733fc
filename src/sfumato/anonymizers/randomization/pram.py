"""PRAM: categories are kept, or replaced by others, with known probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.columns import (
    CATEGORIES,
    Floats,
    attribute_problems,
    draw_uniform,
    fitting_attributes,
    publish_changed,
    refuse_misfits,
)
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Limit, Names
from sfumato.published import RandomizedTable
from sfumato.randomness import another
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class PRAM(Checked):
    """Keep every category with a probability, and publish another one at random otherwise.

    Parameters
    ----------
    retention
        Probability of keeping a category, 0 to 1.
    invariant
        True: otherwise a category is drawn by the frequencies of the attribute, the same one among them, so that
        expected frequencies stay what they were. False: all other categories are equally likely.
    attributes
        Categories and booleans; None: every quasi-identifying one.

    Notes
    -----
    *Guarantee.* None that is syntactic. Attributes are changed one by one, so that links between them fade. A missing
    value is a category. :func:`sfumato.anonymizers.randomization.pram.original_counts` undoes the change
    of counts.

    *Complexity.* O(n log d) for each attribute of d categories.

    *Source.* J. M. Gouweleeuw, P. Kooiman, L. C. R. J. Willenborg, P.-P. de Wolf, "Post randomisation for statistical
    disclosure control: theory and implementation", 1998. Departure: the invariant matrix is the simplest one, a mixture
    of keeping and drawing anew.
    """

    name: ClassVar[str] = "pram"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    retention: Annotated[float, Limit(0, 1)] = 0.8
    invariant: bool = True
    attributes: Names | None = None

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse_misfits(self.name, models, attribute_problems(self.name, table, self.attributes, CATEGORIES))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Draw categories and shuffle the rows."""
        names = fitting_attributes(problem.table, self.attributes, CATEGORIES)
        changed = {name: self._drawn(table.frame[name], place, problem.seed) for place, name in enumerate(names)}
        return publish_changed(table, changed, problem.seed)

    def _drawn(self, column: pl.Series, place: int, seed: int | None) -> pl.Series:
        distinct = distinct_of(column)
        codes = distinct.rank_of[distinct.raw]
        counts = np.append(distinct.counts, distinct.missing) if distinct.missing else distinct.counts
        drawn = post_randomized(codes, counts, self.retention, invariant=self.invariant, seed=another(seed, place))
        example = np.empty(len(counts), dtype=np.int64)
        example[codes] = np.arange(len(codes))
        return column[example[drawn]]


def transition_matrix(counts: NDArray[np.integer], retention: float, *, invariant: bool) -> Floats:
    """Return the probabilities with which each category is published as each other.

    `counts`, integers (d,): how often each category occurs, ≥ 1. `retention`: probability of keeping a category, 0 to
    1. `invariant`: False: all other categories are equally likely. True: with probability ``1 - retention`` a category
    is drawn by the frequencies of the column, its own among them, so that expected frequencies stay what they were.
    Returns: float64 (d, d); rows (original categories) sum to 1.
    """
    size = len(counts)
    kept = retention * np.eye(size)
    if invariant:
        return kept + (1.0 - retention) * np.asarray(counts / counts.sum())[None, :]
    if size == 1:
        return np.ones((1, 1))
    return kept + (1.0 - retention) / (size - 1) * (1.0 - np.eye(size))


def post_randomized(
    codes: NDArray[np.integer], counts: NDArray[np.integer], retention: float, *, invariant: bool, seed: int | None
) -> NDArray[np.int64]:
    """Draw a category for every record, as :func:`transition_matrix` says.

    `codes`, integers (n,): category of each record, ``0 .. d-1``. `counts`, `retention`, `invariant`: as in
    :func:`transition_matrix`. `seed`: None draws from the operating system. Returns: int64 (n,). Cost O(n log d); the
    matrix is never made.
    """
    size = len(counts)
    uniform = draw_uniform(2 * len(codes), seed)
    keeps, chosen = uniform[: len(codes)] < retention, uniform[len(codes) :]
    if invariant:
        bounds = np.cumsum(counts) / counts.sum()
        other = np.minimum(np.searchsorted(bounds, chosen, side="right"), size - 1)
    elif size == 1:
        other = np.zeros(len(codes), dtype=np.int64)
    else:
        # One of the other d - 1 categories: so many steps further round.
        other = (codes + 1 + (chosen * (size - 1)).astype(np.int64)) % size
    return np.where(keeps, codes, other).astype(np.int64)


def original_counts(published: Floats, matrix: Floats) -> Floats:
    """Estimate, without bias, how often each category occurred before post-randomization.

    Solves ``published = original @ matrix``. Single estimates may be below 0. `published`: float64 (d,): how often each
    category was published. `matrix`: float64 (d, d), from :func:`transition_matrix`; no retention so small that it
    cannot be inverted.
    """
    return np.linalg.solve(matrix.T, published).astype(np.float64)

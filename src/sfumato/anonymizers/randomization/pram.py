"""PRAM: categories are replaced by others with known probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.choosing import (
    CATEGORIES,
    attribute_problems,
    fitting_attributes,
    refuse,
)
from sfumato.anonymizers.randomization.post_randomization import post_randomized
from sfumato.anonymizers.randomization.publishing import publish_changed
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
    value is a category. :func:`sfumato.anonymizers.randomization.post_randomization.original_counts` undoes the change
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
        refuse(self.name, models, attribute_problems(self.name, table, self.attributes, CATEGORIES))

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

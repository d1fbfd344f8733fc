"""Rank swapping: numbers exchange places with numbers of similar rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.cells import cells_of
from sfumato.anonymizers.randomization.choosing import (
    MEASURED,
    attribute_problems,
    fitting_attributes,
    refuse,
)
from sfumato.anonymizers.randomization.publishing import publish_changed
from sfumato.anonymizers.randomization.swaps import rank_swapped
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Names, Share
from sfumato.published import RandomizedTable
from sfumato.randomness import another
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class RankSwapping(Checked):
    """Move every number or date to a record of similar rank, each attribute by itself.

    Parameters
    ----------
    share
        How far a value may move, as a share of the ranks, above 0 to 1; at least one rank.
    attributes
        Numbers and dates; None: every quasi-identifying one.

    Notes
    -----
    *Guarantee.* None that is syntactic. The values of every attribute stay what they were, and none moves further than
    `share` of the ranks. What is missing stays where it is.

    *Complexity.* O(n log n) for each attribute.

    *Source.* R. Moore, "Controlled data-swapping techniques for masking public use microdata sets", 1996. Departure:
    ranks are cut into stretches, from a random first cut, and each stretch is permuted, so that nothing depends on
    which record comes first; no value passes a cut.
    """

    name: ClassVar[str] = "rank-swapping"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    share: Share = 0.05
    attributes: Names | None = None

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse(self.name, models, attribute_problems(self.name, table, self.attributes, MEASURED))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Permute every attribute and shuffle the rows."""
        changed = {}
        for place, name in enumerate(fitting_attributes(problem.table, self.attributes, MEASURED)):
            cells = cells_of(table.frame[name])
            source = rank_swapped(cells.numbers, self.share, another(problem.seed, place))
            changed[name] = cells.with_numbers(cells.numbers[source])
        return publish_changed(table, changed, problem.seed)

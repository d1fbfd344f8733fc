"""Sampling: a random part of the records, as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.columns import publish_rows, refuse_misfits
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Share
from sfumato.published import RandomizedTable
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class Sampling(Checked):
    """Publish a simple random sample of the records, with all their values.

    Parameters
    ----------
    fraction
        Share of the records that are drawn, above 0 to 1, rounded to whole records; at least one.

    Notes
    -----
    *Guarantee.* None that is syntactic: who is drawn is published in full. An attacker does not know who was drawn, and
    cannot be sure that a record that is unique in the sample is so among all. Every record is as likely to be drawn as
    any other. Counts are estimated by multiplying with the records that each one stands for, which the release says.

    *Complexity.* O(n log n).

    *Source.* L. Willenborg, T. de Waal, "Elements of statistical disclosure control", 2001.
    """

    name: ClassVar[str] = "sampling"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None
    samples: ClassVar[bool] = True

    fraction: Share = 0.5

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError when models are named."""
        refuse_misfits(self.name, models, iter(()))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Draw records and shuffle them."""
        size = max(1, int(self.fraction * table.height + 0.5))
        return publish_rows(table, permutation(table.height, problem.seed)[:size], problem.seed)

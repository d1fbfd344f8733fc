"""Data swapping: pairs of records exchange some of their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.choosing import (
    EVERY_KIND,
    attribute_problems,
    refuse,
)
from sfumato.anonymizers.randomization.publishing import publish_changed
from sfumato.anonymizers.randomization.swaps import swapped_records
from sfumato.classes.grouping import group_records
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, ListOfNames, Names, Share
from sfumato.published import RandomizedTable
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class Swapping(Checked):
    """Let random pairs of records exchange their values of some attributes.

    Parameters
    ----------
    share
        Share of the records that change places, 0 to 1.
    attributes
        Attributes whose values move together; None: every quasi-identifying one that is not in `keep`.
    keep
        Only records with equal values of these attributes change places, so that what they say together with the
        swapped ones stays true: all tables of `attributes` with `keep` do.

    Notes
    -----
    *Guarantee.* None that is syntactic. Every table of counts of the swapped attributes alone, and with `keep`, stays
    as it was; links to all other attributes are wrong for up to the share of the records. Missing values move, too.

    *Complexity.* O(n log n).

    *Source.* T. Dalenius, S. P. Reiss, "Data-swapping: a technique for disclosure control", 1982. Departure: pairs are
    random, and not chosen by risk.
    """

    name: ClassVar[str] = "swapping"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    share: Share = 0.1
    attributes: Names | None = None
    keep: Annotated[tuple[str, ...], ListOfNames(0)] = ()

    def _mistakes(self) -> Iterator[str]:
        if isinstance(self.attributes, tuple) and isinstance(self.keep, tuple):
            for name in self.attributes:
                if name in self.keep:
                    yield f"{self.name}: attribute {name!r} cannot be swapped and kept"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit, or where nothing would change."""
        refuse(self.name, models, self._problems(table))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Exchange values and shuffle the rows."""
        source = swapped_records(self._classes(problem.table), self.share, problem.seed)
        changed = {name: table.frame[name][source] for name in self._moving(problem.table)}
        return publish_changed(table, changed, problem.seed)

    def _moving(self, table: EncodedTable) -> tuple[str, ...]:
        if self.attributes is not None:
            return self.attributes
        return tuple(attribute.name for attribute in table.attributes if attribute.name not in self.keep)

    def _classes(self, table: EncodedTable) -> NDArray[np.integer]:
        if not self.keep:
            return np.zeros(table.height, dtype=np.int64)
        names = [attribute.name for attribute in (*table.attributes, *table.sensitive)]
        codes = np.column_stack([table.codes.astype(np.int64), table.sensitive_codes])
        return group_records(codes[:, [names.index(name) for name in self.keep]])[0]

    def _problems(self, table: EncodedTable) -> Iterator[str]:
        yield from attribute_problems(self.name, table, self.attributes, EVERY_KIND)
        known = {attribute.name for attribute in (*table.attributes, *table.sensitive)}
        for name in self.keep:
            if name not in known:
                yield f"{self.name}: there is no quasi-identifying or sensitive attribute {name!r} to keep"
        if known <= {*self._moving(table), *self.keep}:
            yield (
                f"{self.name}: all attributes would move together, and no record would change; name fewer attributes "
                "to swap"
            )
        elif not self._moving(table):
            yield f"{self.name}: every quasi-identifying attribute is kept; name attributes to swap"

"""An original table, read once for everything that is compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.evaluation.utility.domains import Domain, Floats, domains_of
from sfumato.evaluation.utility.joint import Joint
from sfumato.evaluation.utility.records import Rows
from sfumato.evaluation.utility.views import original_joint
from sfumato.evaluation.weights import weights_in
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.row_order import settled_order
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Original:
    """What measuring needs from an original table; it depends on no release.

    Attributes
    ----------
    table : Table
    encoded : EncodedTable
    domains : mapping of str to Domain
        Every quasi-identifying and sensitive attribute by its name.
    weights : numpy.ndarray or None
        float64 (n,): how many people each record stands for; None: one.
    """

    table: Table
    encoded: EncodedTable
    domains: Mapping[str, Domain]
    weights: Floats | None = None

    @classmethod
    def of(cls, table: Table, weights: str | None = None) -> Original:
        """Read a table, and the column of weights if one is named. The cost is that of encoding and sorting it.

        Its records stand in an order of its own, so that what is drawn does not depend on that of the input.
        """
        known = None if weights is None else weights_in(table.frame, weights, "the original")
        rows = settled_order(table.frame, table.people)
        encoded = encode(table).take(rows)
        return cls(table.take(rows), encoded, domains_of(encoded), known if known is None else known[rows])

    @cached_property
    def joint(self) -> Joint:
        """Return the records as a joint distribution of all attributes, which is exact."""
        return original_joint(self.domains)

    @cached_property
    def weighted(self) -> Joint:
        """Return the same of the people whom the records stand for."""
        return self.joint if self.weights is None else original_joint(self.domains, self.weights)

    @property
    def rows(self) -> Rows:
        """Return the records one by one."""
        labels = {name: domain.codes.astype(np.int32) for name, domain in self.domains.items()}
        weights = np.ones(self.table.height) if self.weights is None else self.weights
        return Rows(self.joint.spreads, labels, weights)

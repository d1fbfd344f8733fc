"""An original table, read once for everything that is compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sfumato.evaluation.utility.domains import Domain, domains_of
from sfumato.evaluation.utility.joint import Joint
from sfumato.evaluation.utility.views import original_joint
from sfumato.table.encoding import EncodedTable, encode
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
    """

    table: Table
    encoded: EncodedTable
    domains: Mapping[str, Domain]

    @classmethod
    def of(cls, table: Table) -> Original:
        """Read a table. The cost is that of encoding it."""
        encoded = encode(table)
        return cls(table, encoded, domains_of(encoded))

    @cached_property
    def joint(self) -> Joint:
        """Return the records as a joint distribution of all attributes, which is exact."""
        return original_joint(self.domains)

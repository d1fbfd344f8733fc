"""A generalized table: one row for each record, quasi-identifying values made coarser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from sfumato.errors import InputError
from sfumato.published.protocol import structure_names


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A generalized table, clustered ones included.

    Attributes
    ----------
    data : polars.DataFrame
        One row for each published record, in random order.
    quasi_identifying, sensitive : tuple of str
        Columns with these roles; every other column is insensitive.
    """

    kind: ClassVar[str] = "generalized-table"
    data: pl.DataFrame
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The one table."""
        return {"data": self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """Roles of the columns."""
        return {"quasi_identifying": list(self.quasi_identifying), "sensitive": list(self.sensitive)}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Put together what was written."""
        try:
            names = structure_names(structure, "quasi_identifying"), structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"generalized table: {error}") from None
        return cls(tables["data"], *names)

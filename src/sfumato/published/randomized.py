"""A randomized table: one row for each record, values swapped, perturbed or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_names


@dataclass(frozen=True, eq=False)
class RandomizedTable:
    """A table whose values were randomized; no syntactic model is promised of it.

    Attributes
    ----------
    data : polars.DataFrame
        One row for each published record, in random order.
    quasi_identifying, sensitive : tuple of str
    """

    kind: ClassVar[str] = "randomized-table"
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    promising: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "No privacy model is promised: how well people are hidden depends on how much was changed, and has to be "
        "measured by attacks.",
    )
    data: pl.DataFrame
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that the table has the columns that are named, and each in one role."""
        named = (*self.quasi_identifying, *self.sensitive)
        problems = column_problems("randomized table", self.data, named, alone=False)
        if not self.quasi_identifying:
            problems.append("randomized table: names no quasi-identifying column")
        raise_all(InputError, problems)

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
            raise InputError(f"randomized table: {error}") from None
        return cls(tables["data"], *names)

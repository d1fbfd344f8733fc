"""A randomized table: one row for each record, values swapped, perturbed or drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_names


@dataclass(frozen=True, eq=False)
class RandomizedTable:
    """A table whose values were randomized; it promises no syntactic model."""

    kind: ClassVar[str] = "randomized-table"
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    promising: ClassVar[bool] = False
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "No privacy model is promised: how well people are hidden depends on how much was changed, and has to be "
        "measured by attacks.",
    )
    data: pl.DataFrame  # one row for each published record, in random order
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]
    # records of the original that each row stands for, 1 or above; more than 1 where rows are a sample
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Check that the table has the named columns, each in one role."""
        named = (*self.quasi_identifying, *self.sensitive)
        problems = column_problems("randomized table", self.data, named, alone=False)
        if not self.quasi_identifying:
            problems.append("randomized table: names no quasi-identifying column")
        if not _is_weight(self.weight):
            problems.append("randomized table: weight must be a number of 1 or above")
        raise_all(InputError, problems)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the only table."""
        return {"data": self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the roles of the columns, and what a row stands for."""
        roles = {"quasi_identifying": list(self.quasi_identifying), "sensitive": list(self.sensitive)}
        return {**roles, "weight": self.weight}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            names = structure_names(structure, "quasi_identifying"), structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"randomized table: {error}") from None
        return cls(tables["data"], *names, structure.get("weight", 1.0))


def _is_weight(weight: object) -> bool:
    return isinstance(weight, (int, float)) and not isinstance(weight, bool) and 1 <= weight < math.inf

"""Marginal tables: how many records have each combination of values, for some sets of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.published.bucketized import COUNT
from sfumato.published.protocol import structure_names


@dataclass(frozen=True, eq=False)
class MarginalTables:
    """Count tables of sets of attributes, which may overlap."""

    kind: ClassVar[str] = "marginal-tables"
    whole_numbers: ClassVar[tuple[str, ...]] = (COUNT,)
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = True
    limits: ClassVar[tuple[str, ...]] = (
        "What several tables say together is checked against the estimate of largest entropy; an attacker who knows "
        "more than the tables can do better.",
        "They do not stand up to a second release of the same people.",
    )
    marginals: tuple[pl.DataFrame, ...]  # one for each set: its attributes and ``count``, sorted by value
    columns: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]  # sensitive attributes among them

    def __post_init__(self) -> None:
        """Check that every table has its columns."""
        problems = []
        if not self.columns or len(self.columns) != len(self.marginals):
            problems.append("marginal tables: there must be one table for every set of attributes")
        for place, (frame, names) in enumerate(zip(self.marginals, self.columns, strict=False), start=1):
            missing = [name for name in (*names, COUNT) if name not in frame.columns]
            problems.extend(f"marginal table {place}: has no column {name!r}" for name in missing)
            if not missing and not frame.schema[COUNT].is_integer():
                problems.append(f"marginal table {place}: counts must be whole numbers")
        raise_all(InputError, problems)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every count table."""
        return {f"marginal_{place}": frame for place, frame in enumerate(self.marginals, start=1)}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the sets of attributes."""
        return {"columns": [list(column) for column in self.columns], "sensitive": list(self.sensitive)}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        entries = structure.get("columns")
        try:
            if not isinstance(entries, list):
                raise ValueError("columns is not a list")
            columns = tuple(structure_names({"columns": entry}, "columns") for entry in entries)
            sensitive = structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"marginal tables: {error}") from None
        names = [f"marginal_{place}" for place in range(1, len(columns) + 1)]
        if missing := [name for name in names if name not in tables]:
            raise InputError(f"marginal tables: {', '.join(missing)} missing")
        return cls(tuple(tables[name] for name in names), columns, sensitive)

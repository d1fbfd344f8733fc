"""Hierarchies as level tables: one row per original value, from the value itself to the root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.listed_values import hierarchy_of_listed
from sfumato.hierarchy.tree import ROOT, Hierarchy, hierarchy_from_paths


@dataclass(frozen=True)
class HierarchyTable:
    """A hierarchy given row by row; :func:`sfumato.read_hierarchy` reads one from a file.

    When the last level is not one single value, a level ``*`` is added.

    Parameters
    ----------
    rows
        One row per original value: level 0 (the value) first, then ever coarser labels, the same number in every row.
    path
        The file that the rows were read from, as a policy names it; None for rows given in the program. Does not count
        for equality.
    separator
        The separator that was requested, or None. Does not count for equality.

    Raises
    ------
    HierarchyError
        When the rows are not a hierarchy, with the rows' numbers.
    """

    rows: tuple[tuple[str, ...], ...]
    path: str | None = field(default=None, compare=False)
    separator: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Add the root level where it is missing, and check the tree."""
        what = "hierarchy table" if self.path is None else f"hierarchy file {self.path}"
        raise_all(HierarchyError, _type_problems(self.rows, what))
        object.__setattr__(self, "rows", _rooted(tuple(tuple(row) for row in self.rows)))
        hierarchy_from_paths(self.rows, name=what)

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy of all rows for a column with `values`.

        Raises
        ------
        HierarchyError
            When values of the column have no row; they are counted.
        """
        return hierarchy_of_listed(self.rows, values, name=name)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the file's name when there is a file, else the rows."""
        if self.path is None:
            return {"kind": "table", "rows": [list(row) for row in self.rows]}
        chosen = {} if self.separator is None else {"separator": self.separator}
        return {"kind": "file", "path": self.path, **chosen}


def _rooted(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    if not all(rows):  # a row without cells: left to the check of the tree
        return rows
    if len({row[-1] for row in rows}) == 1 and len(rows[0]) > 1:
        return rows
    return tuple((*row, ROOT) for row in rows)


def _type_problems(rows: object, what: str) -> list[str]:
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        return [f"{what}: rows must be a list of lists of text"]
    odd = [
        number
        for number, row in enumerate(rows, 1)
        if not isinstance(row, (list, tuple)) or not all(isinstance(cell, str) for cell in row)
    ]
    return [f"{what}: {len(odd)} row(s) are not lists of text, first row {odd[0]}"] if odd else []

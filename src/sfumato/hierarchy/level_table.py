"""Hierarchies as level tables: one row per original value, from the value itself to the root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.specification import HierarchySpecification, listed_values, number_of, text_of, value_text
from sfumato.hierarchy.tree import ROOT, Hierarchy, hierarchy_from_paths


@dataclass(frozen=True)
class HierarchyTable:
    """A hierarchy given row by row; :func:`sfumato.read_hierarchy` reads one from a file.

    When the last level is not one single value, a level ``*`` is added.

    * `rows`: one row per original value: level 0 (the value) first, then ever coarser labels, the same number in every
      row.
    * `path`: the file that the rows were read from, as a policy names it; None for rows given in the program. Does not
      count for equality.
    * `separator`: the separator that was requested, or None. Does not count for equality.

    Raises ``HierarchyError`` when the rows are not a hierarchy, with the rows' numbers.
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
        """Build the hierarchy of all rows for a column; ``HierarchyError``, counted, for `values` without a row."""
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


Path = tuple[str, ...]


def hierarchy_of_listed(paths: Sequence[Path], values: pl.Series, *, name: str) -> Hierarchy:
    """Build the hierarchy of `paths` with leaves written like the values of the column.

    Values match by meaning: ``39`` and ``39.0`` are one number where the column is numeric. Listed values that the
    column does not have stay leaves, since the list is the domain. Leaves are in rising order when all are numbers,
    else in the order of the list, and then depth first. Raises ``HierarchyError`` when values of the column are not
    listed (they are counted), or when two listed values are one number.
    """
    what = f"hierarchy of {name!r}"
    distinct = listed_values(values, what)
    canonical = _canonical(distinct)
    bound = [(canonical(path[0]), *path[1:]) for path in paths]
    _check_cover(text_of(distinct).to_list(), [path[0] for path in bound], what)
    return hierarchy_from_paths(_in_order(bound), name=what)


def _canonical(distinct: pl.Series) -> Callable[[str], str]:
    """Map each listed leaf to the text of the column's value."""
    if distinct.dtype.is_numeric():
        return _number_text
    return str.lower if distinct.dtype == pl.Boolean else str


def _number_text(leaf: str) -> str:
    number = number_of(leaf)
    return leaf if number is None else value_text(number)


def _check_cover(texts: Sequence[str], leaves: Sequence[str], what: str) -> None:
    missed = set(texts).difference(leaves)
    if not missed:
        return
    loose = {_loose(leaf) for leaf in leaves}
    near = sum(_loose(text) in loose for text in missed)
    hint = f" ({near} of them differ only in spaces or in upper and lower case)" if near else ""
    raise HierarchyError(f"{what}: {len(missed)} of {len(texts)} distinct value(s) are not in it{hint}; add them")


def _loose(text: str) -> str:
    return "".join(text.split()).casefold()


def _in_order(paths: Sequence[Path]) -> Sequence[Path]:
    numbered = [(number, path) for path in paths if (number := number_of(path[0])) is not None]
    if len(numbered) < len(paths):
        return paths
    return [path for _, path in sorted(numbered, key=lambda pair: pair[0])]


def flat() -> HierarchySpecification:
    """Describe a hierarchy of two levels, the original value and ``*``, for values of any kind.

    Examples
    --------
    >>> import polars as pl
    >>> flat().build(pl.Series(["b", "a"]), name="sex").paths
    [('a', '*'), ('b', '*')]
    """
    return Flat()


@dataclass(frozen=True)
class Flat:
    """The description that :func:`flat` returns."""

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct values, leaves in their sorted order.

        Raises
        ------
        HierarchyError
            When there are no values, or one of several is ``*`` or empty.
        """
        what = f"hierarchy of {name!r}"
        texts = text_of(listed_values(values, what)).to_list()
        return hierarchy_from_paths([(text, ROOT) for text in texts], name=what)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "flat"}

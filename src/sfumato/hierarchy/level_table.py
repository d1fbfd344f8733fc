"""Hierarchies as level tables, as files of them, and as groups that somebody names.

Hierarchies as level tables: one row per original value, from the value itself to the root.

Hierarchy files: separated text without a header, level 0 first, as ARX and this library's drafts write them.

Explicit groups of values, nested as deep as needed.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.tree import (
    ROOT,
    Hierarchy,
    HierarchySpecification,
    hierarchy_from_paths,
    listed_values,
    number_of,
    text_of,
    value_text,
)
from sfumato.whole_files import read_regular, write_whole


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


Branch = tuple[str, ...]


def hierarchy_of_listed(paths: Sequence[Branch], values: pl.Series, *, name: str) -> Hierarchy:
    """Build the hierarchy of `paths` with leaves written like the values of the column.

    Values match by meaning: ``39`` and ``39.0`` are one number. Listed values that the column lacks stay leaves: the
    list is the domain. Leaves rise when all are numbers, else stand as listed, depth first.
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


def _in_order(paths: Sequence[Branch]) -> Sequence[Branch]:
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
        """Build the hierarchy over the distinct values, leaves in their sorted order."""
        what = f"hierarchy of {name!r}"
        texts = text_of(listed_values(values, what)).to_list()
        return hierarchy_from_paths([(text, ROOT) for text in texts], name=what)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "flat"}


_SEPARATORS = (";", ",", "\t")

_Rows = list[tuple[str, ...]]


def read_hierarchy(
    path: str | os.PathLike[str], *, separator: str | None = None, folder: str | os.PathLike[str] | None = None
) -> HierarchyTable:
    """Read a hierarchy from a file of separated text, UTF-8 (a byte order mark is skipped), without a header.

    One line per original value: the value, then ever coarser labels. Cells may be quoted with ``"``; empty lines are
    skipped and not counted in row numbers. When the last level is not one single value, a level ``*`` is added.

    Parameters
    ----------
    path
        The file.
    separator
        One character. None takes the one among ``;``, ``,`` and tab that gives every line the same number of cells,
        more than one; of several, one whose lines all end in ``*``, then the first.
    folder
        Where a relative `path` starts; the policy's folder. None: the current one.

    Raises
    ------
    HierarchyError
        When the file cannot be read, is not UTF-8, has broken quotes, or is not a hierarchy.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise HierarchyError("the path of a hierarchy file must be text")
    name = os.fspath(path)
    _check_separator(separator)
    text = _text(Path(folder or ".") / name, name)
    rows = _best_split(text, name) if separator is None else _split(text, separator, name)
    return HierarchyTable(tuple(rows), path=name, separator=separator)


def hierarchy_text(hierarchy: Hierarchy, *, separator: str = ";") -> str:
    """Write a hierarchy as the text of a file that :func:`read_hierarchy` reads, one line per leaf in code order.

    Cells are quoted where they need it. Raises ``HierarchyError`` when the separator is not one character.
    """
    _check_separator(separator)
    return "".join(f"{separator.join(_quoted(cell, separator) for cell in row)}\n" for row in hierarchy.paths)


def write_hierarchy(hierarchy: Hierarchy, path: str | os.PathLike[str], *, separator: str = ";") -> None:
    """Write :func:`hierarchy_text` to a file, UTF-8.

    The file holds original values: it is the data steward's own, not for release.

    Raises
    ------
    HierarchyError
        When the file cannot be written.
    """
    text = hierarchy_text(hierarchy, separator=separator)
    try:
        write_whole(path, text)
    except OSError as error:
        raise HierarchyError(f"hierarchy file {os.fspath(path)}: cannot be written ({error.strerror})") from None


def _check_separator(separator: object) -> None:
    if separator in (None, "\t"):
        return
    if not (isinstance(separator, str) and len(separator) == 1 and separator.isprintable() and separator != '"'):
        raise HierarchyError("the separator of a hierarchy file must be one character, such as ; or , or a tab")


def _text(file: Path, name: str) -> str:
    try:
        return read_regular(file).decode("utf-8-sig")
    except OSError as error:
        raise HierarchyError(f"hierarchy file {name}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise HierarchyError(f"hierarchy file {name}: is not UTF-8 text; save it as UTF-8") from None


def _split(text: str, separator: str, name: str) -> _Rows:
    rows: _Rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            if row:
                rows.append(tuple(row))
    except csv.Error:
        raise HierarchyError(
            f"hierarchy file {name}: row {len(rows) + 1} has broken quotes or a cell that is too long; correct it"
        ) from None
    return rows


def _best_split(text: str, name: str) -> _Rows:
    candidates, problems = [], []
    for separator in _SEPARATORS:
        try:
            candidates.append(_split(text, separator, name))
        except HierarchyError as error:
            problems.append(error)
    best = max(candidates, key=_fitness, default=[])
    # Quotes broken for one separator look like plain text to another that does not occur.
    if problems and not any(len(row) > 1 for row in best):
        raise problems[0]
    return best


def _fitness(rows: _Rows) -> tuple[bool, bool, int]:
    """Order separators: even rows of several cells first, then rows that end in ``*``, then how many rows are split."""
    split = sum(len(row) > 1 for row in rows)
    even = split == len(rows) and len({len(row) for row in rows}) == 1
    return even, even and all(row[-1] == ROOT for row in rows), split


def _quoted(cell: str, separator: str) -> str:
    needs = not cell or cell[0] == "\ufeff" or any(mark in cell for mark in (separator, '"', "\r", "\n"))
    return '"' + cell.replace('"', '""') + '"' if needs else cell


_MOST_LEVELS = 50


def groups(members: Mapping[str, Any]) -> HierarchySpecification:
    """Describe a hierarchy by naming its groups, topped by ``*``.

    Parameters
    ----------
    members
        From the label of a group to the list of its values, or to a mapping of smaller groups. Branches may differ in
        depth: the smallest group of a shallow branch is then repeated on several levels, so that every value has the
        same number of levels and level 1 is always the smallest group. A value that is its own group is listed under
        its own name.

    Returns
    -------
    HierarchySpecification
        For a schema, as the hierarchy of an attribute. All listed values are leaves, even those that the
        column does not have.

    Raises
    ------
    HierarchyError
        When a group is empty, a value or label appears in two places, or the mapping is of another shape.

    Examples
    --------
    >>> import polars as pl
    >>> work = groups({"paid": {"public": ["city", "state"], "private": ["shop"]}, "unpaid": ["none"]})
    >>> work.build(pl.Series(["city", "none"]), name="work").paths[-1]
    ('none', 'unpaid', 'unpaid', '*')
    """
    return Groups(members)


@dataclass(frozen=True)
class Groups:
    """The description that :func:`groups` returns.

    Attributes
    ----------
    members : mapping
        From each group to the texts of its values, or to a mapping of smaller groups.
    """

    members: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Copy the mapping with all values as text, and check the tree."""
        raise_all(HierarchyError, _shape_problems(self.members, ()))
        object.__setattr__(self, "members", _copied(self.members))
        hierarchy_from_paths(self._paths(), name="groups")

    def __hash__(self) -> int:
        """Hash by value, whatever the order of the groups, as equality does."""
        return hash(frozenset(self._paths()))

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy of all listed values for a column; values in no group are refused, and counted."""
        return hierarchy_of_listed(self._paths(), values, name=name)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "groups", "members": _listed(self.members)}

    def _paths(self) -> list[tuple[str, ...]]:
        ragged = list(_branches(self.members, ()))
        depth = max(len(above) for _, above in ragged)
        return [(leaf, *[above[0]] * (depth - len(above)), *above, ROOT) for leaf, above in ragged]


def _branches(members: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each leaf with the groups that hold it, the smallest first."""
    for label, inside in members.items():
        if isinstance(inside, Mapping):
            yield from _branches(inside, (label, *above))
        else:
            yield from ((leaf, (label, *above)) for leaf in inside)


def _copied(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        label: _copied(inside) if isinstance(inside, Mapping) else tuple(value_text(value) for value in inside)
        for label, inside in members.items()
    }


def _listed(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        label: _listed(inside) if isinstance(inside, Mapping) else list(inside) for label, inside in members.items()
    }


def _shape_problems(members: object, place: tuple[int, ...]) -> list[str]:
    """Return the problems of a mapping, with places as numbers, since its labels may be values."""
    where = f"group {'.'.join(map(str, place))}" if place else "the mapping"
    if len(place) > _MOST_LEVELS:
        return [f"groups: more than {_MOST_LEVELS} levels are nested in each other"]
    if isinstance(members, Mapping):
        if not members:
            return [f"groups: {where} is empty; list its values"]
        problems = (
            [] if all(isinstance(label, str) for label in members) else [f"groups: labels in {where} must be text"]
        )
        for number, inside in enumerate(members.values(), 1):
            problems.extend(_shape_problems(inside, (*place, number)))
        return problems
    if not place or isinstance(members, str) or not isinstance(members, Sequence):
        return [f"groups: {where} must be a list of values or a mapping of smaller groups"]
    if not members:
        return [f"groups: {where} is empty; list its values"]
    odd = sum(not isinstance(value, (str, int, float, date)) for value in members)
    return [f"groups: {odd} member(s) of {where} are neither text nor number nor date"] if odd else []

"""Hierarchies that list their values: match the list with the values that a column has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from sfumato.errors import HierarchyError
from sfumato.hierarchy.text import distinct_values, number_of, text_of, value_text
from sfumato.hierarchy.tree import Hierarchy, hierarchy_from_paths

Path = tuple[str, ...]


def hierarchy_of_listed(paths: Sequence[Path], values: pl.Series, *, name: str) -> Hierarchy:
    """Build the hierarchy of `paths` with leaves written like the values of the column.

    Values match by meaning: ``39`` and ``39.0`` are one number where the column is numeric. Listed values that the
    column does not have stay leaves, since the list is the domain. Leaves are in rising order when all are
    numbers, else in the order of the list, and then depth first.

    Raises
    ------
    HierarchyError
        When values of the column are not listed (they are counted), or when two listed values are one number.
    """
    what = f"hierarchy of {name!r}"
    distinct = distinct_values(values, what)
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

"""How many people some columns tell apart, counted anew with each choice. Letters: n records, q columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import InputError, PolicyError
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.grouping import group_packed
from sfumato.kernels.jit import run_repeatedly
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.raw_table import RawTable
from sfumato.table.schema import Attribute, AttributeLike, Kind, Schema, text_of

_Chosen = Sequence[str] | Mapping[str, AttributeLike]
_Codes = tuple[NDArray[np.integer], int]
"""Non-negative numbers (n,), and a number that all of them are below."""
_WORD = 31
"""Bits of a word, so that two fill a key of :func:`group_records`."""
_TABULATED = 1 << 22
"""Combinations of values, at most, that stand in a table of all."""
_FOR_EACH_RECORD = 16
"""The same for each record: a longer table is slower than hashing."""
_COUNTED = 6
"""Times that classes are counted, about, until somebody has chosen: what decides whether it pays to compile."""


@dataclass(frozen=True, eq=False, repr=False)
class ClassSizes:
    """Sizes of the classes of records that are equal in the chosen columns.

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (s,): the sizes that occur, rising.
    classes : numpy.ndarray
        int64 (s,): how many classes have each size.
    """

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]

    @cached_property
    def records(self) -> int:
        """Number of records."""
        return int((self.sizes * self.classes).sum())

    @property
    def count(self) -> int:
        """Number of classes."""
        return int(self.classes.sum())

    @property
    def uniques(self) -> int:
        """Records that no other one equals."""
        return self.below(2)

    @property
    def smallest(self) -> int:
        """Size of the smallest class."""
        return int(self.sizes[0])

    def below(self, k: int) -> int:
        """Count the records in classes of fewer than `k`."""
        small = self.sizes < k
        return int((self.sizes[small] * self.classes[small]).sum())

    def between(self, low: int, high: int | None = None) -> int:
        """Count the records in classes of `low` to `high` records; None: any number from `low` on."""
        return (self.records if high is None else self.below(high + 1)) - self.below(low)

    def to_dict(self) -> dict[str, int | list[int]]:
        """Return plain values, for JSON."""
        return {"records": self.records, "sizes": self.sizes.tolist(), "classes": self.classes.tolist()}

    def __repr__(self) -> str:
        """Count records, classes and uniques."""
        return f"ClassSizes({self.records} records, {self.count} classes, {self.uniques} alone)"


class Preview:
    """Class sizes of a table for any choice of columns and levels, as quickly as counting allows.

    Parameters
    ----------
    table
        From :func:`sfumato.open_table`.

    Notes
    -----
    Values are numbered once for each column and kind; a choice of columns only groups numbers. So the sizes are those
    that :func:`sfumato.risk` counts, without its other figures. A missing value is a value of its own. Records are
    counted, whoever they are about. Cost O(n · q) for a choice, and O(n log d) for a column the first time.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 30, 31, 47], "sex": ["f", "f", "f", "m"], "ward": ["a", "b", "b", "b"]})
    >>> preview = sf.Preview(sf.open_table(people))
    >>> preview.sizes(["age", "sex"])
    ClassSizes(4 records, 3 classes, 2 alone)
    >>> preview.also_known(["age", "sex"], ["ward"])["ward"].uniques
    4
    >>> preview.sizes({"age": sf.intervals(10), "sex": None}, levels={"age": 1}).uniques
    1
    """

    def __init__(self, table: RawTable) -> None:
        self._table = table
        self._distinct: dict[tuple[str, Attribute], tuple[Distinct, Kind]] = {}
        self._trees: dict[tuple[str, Attribute], tuple[object, Hierarchy, NDArray[np.int64]]] = {}

    def sizes(self, quasi_identifying: _Chosen, levels: Mapping[str, int] | None = None) -> ClassSizes:
        """Count the classes of records that are equal in some columns.

        Parameters
        ----------
        quasi_identifying
            Names, or a mapping as :class:`sfumato.Schema` takes it. Without columns all records are one class.
        levels
            Level of the hierarchy at which a column is looked at: 0, or left out, its values; the hierarchy's height
            its root.

        Raises
        ------
        InputError
            When a column is not in the table, or not of the declared kind.
        HierarchyError
            When a hierarchy does not cover its column.
        PolicyError
            When a level is not one of the column's hierarchy.
        """
        columns = self._columns(quasi_identifying, levels or {})
        return _sizes(self._joined(columns)[0])

    def without_each(
        self, quasi_identifying: _Chosen, levels: Mapping[str, int] | None = None
    ) -> dict[str, ClassSizes]:
        """Count the classes with each of the columns left out: whose removal leaves the fewest alone tells most.

        Parameters and errors are those of :meth:`sizes`.

        Notes
        -----
        Cost O(n · q²).
        """
        names = list(quasi_identifying)
        columns = self._columns(quasi_identifying, levels or {})
        return {
            name: _sizes(self._joined([column for place, column in enumerate(columns) if place != out])[0])
            for out, name in enumerate(names)
        }

    def also_known(
        self, quasi_identifying: _Chosen, others: Sequence[str], levels: Mapping[str, int] | None = None
    ) -> dict[str, ClassSizes]:
        """Count the classes with each of some other columns added, as if somebody knew that one, too.

        Notes
        -----
        Cost O(n · q), and O(n) for each of the others.
        """
        known = self._joined(self._columns(quasi_identifying, levels or {}))
        return {name: _sizes(self._joined([known, self._values((name, None))])[0]) for name in others}

    def distinct(self, name: str, kind: Kind | Attribute | None = None) -> Distinct:
        """Return the distinct values of a column, read as a kind or attribute; None reads the kind off the column."""
        return self._numbered(name, kind)[0]

    def kind(self, name: str, kind: Kind | Attribute | None = None) -> Kind:
        """Return the kind that a column is read as; None reads it off the column."""
        return self._numbered(name, kind)[1]

    def hierarchy(self, name: str, attribute: Attribute) -> Hierarchy | None:
        """Return the hierarchy of a column, built over its values; None where it has none."""
        return self._tree(name, attribute)[0] if attribute.hierarchy is not None else None

    def node_sizes(self, name: str, attribute: Attribute) -> list[NDArray[np.int64]]:
        """Count the records under every node of a column's hierarchy: int64 (nodes,) for each level."""
        hierarchy, leaf_of = self._tree(name, attribute)
        counts = np.bincount(leaf_of, weights=self.distinct(name, attribute).counts, minlength=hierarchy.size)
        return [np.add.reduceat(counts, level.starts[:-1]).astype(np.int64) for level in hierarchy.levels]

    def _numbered(self, name: str, kind: Kind | Attribute | None) -> tuple[Distinct, Kind]:
        key = name, _reading(kind)
        if key not in self._distinct:
            values, found = self._table.typed(*key)
            distinct = distinct_of(values)
            # A byte or two for each record is all that stays: raw numbers are ranks from now on.
            ranks = np.arange(len(distinct.values) + 1)
            raw = distinct.rank_of.astype(np.min_scalar_type(len(distinct.values)))[distinct.raw]
            self._distinct[key] = replace(distinct, raw=raw, rank_of=ranks), found
        return self._distinct[key]

    def _columns(self, chosen: _Chosen, levels: Mapping[str, int]) -> list[_Codes]:
        if not chosen:
            return []
        attributes = Schema(quasi_identifying=chosen).quasi_identifying
        strange = [name for name in levels if name not in attributes]
        if strange:
            raise PolicyError(*(f"levels: {name!r} is none of the columns" for name in strange))
        return [self._at_level(name, attribute, levels.get(name, 0)) for name, attribute in attributes.items()]

    def _at_level(self, name: str, attribute: Attribute, level: int) -> _Codes:
        values = self._values((name, attribute))
        if not level:
            return values
        if attribute.hierarchy is None:
            raise PolicyError(f"levels: column {name!r} has no hierarchy; give it one, or look at its values")
        hierarchy, leaf_of = self._tree(name, attribute)
        if not 0 <= level <= hierarchy.height:
            raise PolicyError(f"levels: column {name!r} has levels 0 to {hierarchy.height}")
        # A missing value stays one on every level.
        missing = len(hierarchy.levels[level].labels)
        node_of = np.append(hierarchy.node_of[level][leaf_of], missing)
        return node_of.astype(np.min_scalar_type(missing))[values[0]], missing + 1

    def _values(self, key: tuple[str, Attribute | None]) -> _Codes:
        distinct = self.distinct(*key)
        return distinct.raw, len(distinct.rank_of)

    def _tree(self, name: str, attribute: Attribute) -> tuple[Hierarchy, NDArray[np.int64]]:
        key, described = (name, _reading(attribute)), attribute.hierarchy
        if described is None:
            raise PolicyError(f"column {name!r} has no hierarchy")
        if key not in self._trees or self._trees[key][0] != described:
            values = self.distinct(*key).values
            hierarchy = described.build(values, name=name)
            self._trees[key] = described, hierarchy, _leaves(hierarchy, values, name)
        return self._trees[key][1:]

    def _joined(self, columns: Sequence[_Codes]) -> _Codes:
        if not columns:
            return np.zeros(self._table.height, dtype=np.int32), 1
        if len(columns) == 1:
            return columns[0]
        if tabulated := _tabulated(columns, min(_TABULATED, _FOR_EACH_RECORD * self._table.height)):
            return tabulated
        with run_repeatedly(group_packed, _COUNTED):
            return group_records(_words(columns))


def _tabulated(columns: Sequence[_Codes], most: int) -> _Codes | None:
    """Give each combination of values its place among all that could be; None where these are more than `most`."""
    # It takes no hashing, and no compiled kernel: half of the memory that a server needs for a million records.
    joined, size = columns[0]
    for codes, width in columns[1:]:
        if size * width > most:
            joined, size = _renumbered(joined, size)
        if size * width > most:
            return None
        joined = joined.astype(np.int32)
        joined *= width
        joined += codes
        size *= width
    return joined, size


def _renumbered(codes: NDArray[np.integer], size: int) -> _Codes:
    """Leave out the numbers that do not occur."""
    occurs = np.zeros(size, dtype=bool)
    occurs[codes] = True
    numbers = np.cumsum(occurs, dtype=np.int32) - 1
    return numbers[codes], int(numbers[-1]) + 1


def _words(columns: Sequence[_Codes]) -> NDArray[np.uint32]:
    """Pack columns side by side into words, uint32 (n, words): fewer columns, and less memory, to group."""
    words: list[NDArray[np.uint32]] = []
    used = _WORD + 1
    for codes, size in columns:
        bits = (size - 1).bit_length()
        if used + bits > _WORD:
            words.append(codes.astype(np.uint32))
            used = bits
        else:
            words[-1] |= codes.astype(np.uint32) << np.uint32(used)
            used += bits
    return np.column_stack(words)


def _reading(kind: Kind | Attribute | None) -> Attribute:
    """Return what of an attribute says how values are read; counting needs no order of labels."""
    its = kind if isinstance(kind, Attribute) else Attribute(kind=Kind.CATEGORICAL if kind is Kind.ORDERED else kind)
    kind = Kind.CATEGORICAL if its.kind is Kind.ORDERED else its.kind
    return replace(its, kind=kind, hierarchy=None, domain=None, weight=1.0)


def _leaves(hierarchy: Hierarchy, values: pl.Series, name: str) -> NDArray[np.int64]:
    """Return the leaf of each distinct value, int64 (d,)."""
    leaf_of = {label: leaf for leaf, label in enumerate(hierarchy.leaves)}
    leaves = np.array([leaf_of.get(text, -1) for text in text_of(values)], dtype=np.int64)
    if (leaves < 0).any():
        missing = np.count_nonzero(leaves < 0)
        raise InputError(f"{name}: {missing} original value(s) are not in the hierarchy; add them to its level 0")
    return leaves


def _sizes(class_of: NDArray[np.integer]) -> ClassSizes:
    if not len(class_of):
        raise InputError("the table has no records")
    of_classes = np.bincount(class_of)
    classes = np.bincount(of_classes)
    sizes = np.flatnonzero(classes)
    sizes = sizes[sizes > 0]
    return ClassSizes(sizes.astype(np.int64), classes[sizes].astype(np.int64))

"""Classes: which class each record belongs to, and what each class publishes for one attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.grouping import KEY_BITS, column_maxima, first_records, group_packed, histogram
from sfumato.table.distinct import FEW
from sfumato.table.encoding import EncodedAttribute, EncodedTable

# Give equal records one number, or keep one of each with its weight.


def group_records(codes: NDArray[np.integer]) -> tuple[NDArray[np.int32], int]:
    """Give equal rows of `codes`, (n, q), the same number, in order of first appearance; int32 (n,), and how many.

    Rows are packed into as few 64-bit keys as their bits fit into, hashed together and compared in full: exact at any
    width. Cost O(n · q). Besides the result, memory is 16 to 32 bytes per distinct row, and 8 to 16 more for each key
    after the first.
    """
    bits = [int(maximum).bit_length() for maximum in column_maxima(codes)]
    runs = _runs(bits)
    shifts = [np.cumsum([0, *bits[start:stop]], dtype=np.int64)[:-1] for start, stop in runs]
    return group_packed(codes, np.array([stop for _, stop in runs], dtype=np.int64), np.concatenate(shifts))


def distinct_records(
    codes: NDArray[np.unsignedinteger],
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64], NDArray[np.int32]]:
    """Collapse equal rows: the distinct ones, by first appearance, their weights, and the row of each record."""
    record_of, count = group_records(codes)
    weights = np.bincount(record_of, minlength=count).astype(np.int64, copy=False)
    return codes[first_records(record_of, count)], weights, record_of


def _runs(bits: list[int]) -> list[tuple[int, int]]:
    """Divide the columns into runs that fit into one key each: first column and the one after the last."""
    runs = []
    start = used = 0
    for column, width in enumerate(bits):
        if column > start and used + width > KEY_BITS:
            runs.append((start, column))
            start, used = column, 0
        used += width
    return [*runs, (start, len(bits))]


# What the classes of a solution publish if the anonymizer decides it: nodes and ranges, not only record numbers.


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """The region of each class: for every attribute a range of codes, which may be wider than the class's own values.

    Global recodings need it: a level of a hierarchy is published as a whole. `low`, `high`: int32 (c, q), first and
    last code; the missing value alone is ``low == high == attribute.size``; ``*`` is 0 and ``attribute.size``. `level`:
    int32 (c, q), of the node; 0 without a hierarchy and for the missing value, the height for ``*``. `sets`: for
    attributes whose classes cover any values, bool (c, size + 1), the missing value's last; their `low` and `high` are
    not read. `between`: whether intervals end between the values of the data and reach to the ends of the domain, so
    that no end is anybody's value.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    level: NDArray[np.int32]
    sets: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    between: bool = False

    def __post_init__(self) -> None:
        """Check the shapes: what is published must be known for every class."""
        if not self.low.shape == self.high.shape == self.level.shape or self.low.ndim != 2:
            raise ValueError("regions need a low, a high and a level for each class and attribute")
        if any(len(members) != len(self.low) for members in self.sets.values()):
            raise ValueError("regions need a value set for each class")

    def take(self, classes: NDArray[np.integer]) -> Regions:
        """Return the regions of some classes, in that order."""
        sets = {index: members[classes] for index, members in self.sets.items()}
        return Regions(self.low[classes], self.high[classes], self.level[classes], sets, self.between)


def class_sizes(class_of: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Count the records of each class, int64 (c,); class −1 is none. Cost O(n)."""
    counted = class_of if class_of.min(initial=0) >= 0 else class_of[class_of >= 0]
    return np.bincount(counted, minlength=count).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Disjoint classes of records; it holds no published value.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (n,): class of each record, ``0 .. count-1``; −1 marks a suppressed record.
    count : int
        Number of classes c; every one has at least one record.
    int32 (n,): the class whose published values cover each record, −1 for none. It differs from `class_of` only for
    suppressed records: what a class publishes may cover records that are left out, so that the values which no class
    covers do not show who they are. None: no suppressed record is covered on purpose.

    Raises
    ------
    ValueError
        When a class number is out of range or a class has no record: a fault of an anonymizer.
    """

    class_of: NDArray[np.int32]
    count: int
    cover: NDArray[np.int32] | None = None
    regions: Regions | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the class numbers, because kernels use them as places to write. O(n)."""
        if self.class_of.dtype != np.int32 or self.class_of.ndim != 1:
            raise ValueError("a partition needs one int32 class number for each record")
        for numbers in (self.class_of,) if self.cover is None else (self.class_of, self.cover):
            if len(numbers) and (numbers.min() < -1 or numbers.max() >= self.count):
                raise ValueError("a partition has class numbers outside of its number of classes")
        if np.any(self.sizes == 0):
            raise ValueError("a partition has a class without records")
        if self.regions is not None and len(self.regions.low) != self.count:
            raise ValueError("a partition needs one region for each class")

    def renumbered(self, number_of: NDArray[np.int32], count: int) -> Partition:
        """Return the same solution with classes merged or suppressed.

        Parameters
        ----------
        number_of
            int32 (c,): the new number of each class, −1 to suppress it. Classes that get the same number must have
            equal regions.
        count
            New number of classes; every number below it must be given.
        """
        # The last entry stands for −1, the suppressed records.
        number = np.append(number_of, np.int32(-1)).astype(np.int32, copy=False)
        cover = None if self.cover is None else number[self.cover]
        regions = self.regions
        if regions is not None:
            old = np.empty(count, dtype=np.int64)
            kept = np.flatnonzero(number_of >= 0)
            old[number_of[kept]] = kept
            regions = regions.take(old)
        return replace(self, class_of=number[self.class_of], count=count, cover=cover, regions=regions)

    def put_back(self, order: NDArray[np.int64]) -> Partition:
        """Return the same solution for records that were in another order when it was made.

        Parameters
        ----------
        order
            int64 (n,): the place of each of this solution's records in the order to go back to.
        """
        class_of = np.empty_like(self.class_of)
        class_of[order] = self.class_of
        if self.cover is None:
            return replace(self, class_of=class_of)
        cover = np.empty_like(self.cover)
        cover[order] = self.cover
        return replace(self, class_of=class_of, cover=cover)

    @property
    def covered_by(self) -> NDArray[np.int32]:
        """Return the class whose published values cover each record, int32 (n,)."""
        return self.class_of if self.cover is None else self.cover

    @property
    def covered_sizes(self) -> NDArray[np.int64]:
        """Count the records that the published values of each class cover, int64 (c,)."""
        return class_sizes(self.covered_by, self.count)

    @property
    def height(self) -> int:
        """Number of records n, suppressed ones included."""
        return len(self.class_of)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records in each class, int64 (c,). Cost O(n)."""
        return class_sizes(self.class_of, self.count)

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return int(np.count_nonzero(self.class_of < 0))


class Form(StrEnum):
    """How an attribute is published."""

    INTERVAL = "interval"
    ANCESTOR = "ancestor"
    SET = "set"
    MEAN = "mean"


@dataclass(frozen=True, eq=False, repr=False)
class ValueSets:
    """The codes of several value sets (compressed rows)."""

    starts: NDArray[np.int64]  # (g + 1,): set ``i`` owns entries ``starts[i] .. starts[i+1]-1`` of `codes`.
    codes: NDArray[np.int32]  # codes, rising inside a set; the missing value's is ``attribute.size``


def known(labels: pl.Series) -> Callable[[], pl.Series]:
    """Return what gives texts that are written already."""
    return lambda: labels


def stars(texts: pl.Series) -> NDArray[np.bool_]:
    """Tell which texts are ``*``; bool (g,)."""
    if len(texts) <= FEW:
        return np.array([text == "*" for text in texts.to_list()], dtype=np.bool_)
    found: NDArray[np.bool_] = texts.eq_missing("*").to_numpy()
    return found


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedColumn:
    """One quasi-identifying attribute after recoding, class by class: c classes, g distinct generalized values.

    A cell ``*`` covers everything, the missing value, too: `low` 0, `high` ``attribute.size``, `level` the height of
    the hierarchy, or 1.
    """

    attribute: EncodedAttribute
    form: Form
    per_class: NDArray[np.int32]  # (c,): the generalized value of each class, ``0 .. g-1``.
    written: Callable[[], pl.Series]  # returns the published text of each generalized value; losses do not look at it
    # `low`, `high`: (g,): smallest and largest code covered. For a mean, those of the class. The missing value's code
    # is ``attribute.size``.
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    # (g,): original values covered. With a hierarchy: leaves under the node. A set: its members. An interval or mean:
    # distinct values of the data between `low` and `high`. ``attribute.domain_size`` when the cell is ``*``.
    leaves: NDArray[np.int32]
    level: NDArray[np.int32]  # (g,): hierarchy steps climbed. Without a hierarchy: 0 when one value is covered, else 1.
    # the codes of each value set; None for the other forms, which cover every code from `low` to `high`
    members: ValueSets | None = None
    # which value sets are ``*``, bool (g,), where that is known without their texts
    starred: NDArray[np.bool_] | None = None

    @cached_property
    def labels(self) -> pl.Series:
        """Published text of each generalized value, String, length g; null is the missing value."""
        return self.written()

    @property
    def count(self) -> int:
        """Number of distinct generalized values g."""
        return len(self.low)

    @property
    def height(self) -> int:
        """Steps from an original value to ``*``; 1 without a hierarchy."""
        return self.attribute.hierarchy.height if self.attribute.hierarchy is not None else 1

    @cached_property
    def unrestricted(self) -> NDArray[np.bool_]:
        """Which generalized values are ``*``, bool (g,)."""
        if self.form is Form.SET:
            return stars(self.labels) if self.starred is None else self.starred
        whole: NDArray[np.bool_] = (self.low < self.high) & (self.high == self.attribute.size)
        return whole


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedTable:
    """A recoded table together with the original one; for the steward only, never published."""

    original: EncodedTable
    columns: tuple[GeneralizedColumn, ...]  # one per quasi-identifying attribute, in declared order
    # (n,): class of each record; −1 where the record is suppressed. If it was read back from a published frame, the
    # first entries belong to the published rows, and one −1 follows for every original record that is not among them.
    class_of: NDArray[np.int32]
    sizes: NDArray[np.int64]  # (c,): records in each class
    # whether entry ``i`` of `class_of` belongs to record ``i`` of `original`; False for what was read back from a
    # published frame, whose rows are shuffled
    aligned: bool = True

    @property
    def height(self) -> int:
        """Number of original records n, suppressed ones included."""
        return len(self.class_of)

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return len(self.class_of) - int(self.sizes.sum())

    @cached_property
    def frequencies(self) -> tuple[NDArray[np.int64], ...]:
        """Count how often each original code occurs, the missing one last; int64 (size + 1,) each. O(n · q), once."""
        everybody = np.zeros(self.original.height, dtype=np.int32)
        return tuple(
            histogram(everybody, self.original.codes[:, index], attribute.size + 1)
            for index, attribute in enumerate(self.original.attributes)
        )


def class_as_read(columns: Sequence[GeneralizedColumn], count: int, class_of: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the class that a reader puts each record into; int32, from 0. All that publishes but ``*`` is one."""
    starred = np.ones(count, dtype=np.bool_)
    for column in columns:
        starred &= stars(column.labels)[column.per_class]
    left_out = int(np.argmax(starred)) if starred.any() else count
    return np.where(class_of < 0, np.int32(left_out), class_of)


def covers(column: GeneralizedColumn, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which generalized values cover which codes; bool (g, m). Memory g · m bytes: pass few codes.

    A value set covers its members, ``*`` all, anything else the codes from its lowest to its highest. A mean covers the
    range of its class; one that was read back only its two neighbours.
    """
    targets = np.asarray(codes, dtype=np.int64)
    if column.members is None:
        return (column.low[:, None] <= targets) & (targets <= column.high[:, None])
    table = np.zeros((column.count, column.attribute.size + 1), dtype=np.bool_)
    sets = np.repeat(np.arange(column.count), np.diff(column.members.starts))
    table[sets, column.members.codes] = True
    covered: NDArray[np.bool_] = table[:, targets]
    return covered

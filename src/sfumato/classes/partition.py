"""The solution of an anonymizer: which class each record belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.grouping import KEY_BITS, column_maxima, first_records, group_packed

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

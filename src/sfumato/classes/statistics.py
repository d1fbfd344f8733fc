"""Class statistics: sizes and sensitive counts per class. Privacy models are pure functions of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import class_sizes
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.grouping import count_values, histogram
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Kind, is_measured

STARRED = -1
"""Number of a suppressed cell in :attr:`ClassStatistics.published`."""


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveCounts:
    """How often each sensitive value occurs in each class (compressed rows) and in the whole table.

    Letters: c classes, v values of the attribute that occur in the table, z non-zero (class, value) pairs.

    Attributes
    ----------
    name : str
    kind : Kind
        Numeric and date values are numbered in rising order, so that codes are ranks (ordered distance).
    starts : numpy.ndarray
        int64 (c + 1,): class ``i`` owns entries ``starts[i] .. starts[i+1]-1`` of the next two arrays.
    values : numpy.ndarray
        int32 (z,): value codes ``0 .. v-1``, rising inside a class.
    counts : numpy.ndarray
        int64 (z,): records of the class that have the value, ≥ 1; people, where these have several records.
    totals : numpy.ndarray
        int64 (v,): records (people) of the whole table that have the value, ≥ 1 each.
    hierarchy : Hierarchy or None
        For the hierarchical distance; leaf codes are given by `leaf_of`.
    leaf_of : numpy.ndarray or None
        int32 (v,): leaf of each value in `hierarchy`, −1 for the missing value (a leaf right under the root).
    people : int or None
        People in the whole table, each of whom may have several values; None: every record has one.
    labels : polars.Series or None
        Texts that values are named by, the leaves where there is a hierarchy. None: not known.
    code_of : numpy.ndarray or None
        int64 (v,): place of each value among them; the missing value comes after the last.
    """

    name: str
    kind: Kind
    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    hierarchy: Hierarchy | None = None
    leaf_of: NDArray[np.int32] | None = None
    people: int | None = None
    labels: pl.Series | None = None
    code_of: NDArray[np.int64] | None = None

    @property
    def height(self) -> int:
        """Records, or people, of the whole table."""
        return int(self.totals.sum()) if self.people is None else self.people

    def masses(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum the counts of each class of that many people: above `sizes` where people have several values."""
        if self.people is None:
            return sizes
        masses: NDArray[np.int64] = np.add.reduceat(self.counts, self.starts[:-1])
        return masses


@dataclass(frozen=True, eq=False, repr=False)
class PeoplesRecords:
    """The records of each class, int64 (c,), and those of the person who has `most` of them, int64 (c,)."""

    records: NDArray[np.int64]
    most: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PresenceFound:
    """How surely people of a population are in a table, as its classes tell.

    `low`, `high`: float64 (c,): the smallest and the largest chance of the people whom each class covers. `outside`:
    people whom no class covers.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    outside: int


@dataclass(frozen=True, eq=False, repr=False)
class ClassStatistics:
    """Everything that a privacy model may use.

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (c,): records in each class; people, where these have several records.
    sensitive : mapping of str to SensitiveCounts
        One entry per sensitive attribute.
    published : numpy.ndarray or None
        int32 (c, q): for models of single values, a number for what each class publishes for each
        quasi-identifying attribute, −1 for ``*``. None: not known, or not needed.
    people : PeoplesRecords or None
        Where people are counted: how many records they have. None: every record is a person of its own.
    wished : numpy.ndarray or None
        int64 (c,): the largest k that somebody in each class wishes for. None: nobody wishes.
    wished_l : numpy.ndarray or None
        The same for the l.
    population : numpy.ndarray or None
        int64 (c,): people of a population whom each class covers; while classes are sought, so many at least. None: no
        population is known.
    presence : PresenceFound or None
        How surely these people are in the table, where that was worked out person by person.
    """

    sizes: NDArray[np.int64]
    sensitive: Mapping[str, SensitiveCounts]
    published: NDArray[np.int32] | None = None
    people: PeoplesRecords | None = None
    wished: NDArray[np.int64] | None = None
    wished_l: NDArray[np.int64] | None = None
    population: NDArray[np.int64] | None = None
    presence: PresenceFound | None = None

    @property
    def count(self) -> int:
        """Number of classes c."""
        return len(self.sizes)

    @property
    def height(self) -> int:
        """Number of records, or people, in all classes."""
        return int(self.sizes.sum())


def class_statistics(
    class_of: NDArray[np.int32],
    count: int,
    sensitive_codes: NDArray[np.unsignedinteger],
    sensitive: Sequence[EncodedAttribute],
    occurrences: Sequence[NDArray[np.int64]] | None = None,
) -> ClassStatistics:
    """Count classes and their sensitive values; suppressed records do not count, not even in the totals.

    `class_of`: int32 (n,): class of each record, −1 where it is suppressed. `count`: number of classes c; every one
    must have a record. `sensitive_codes`: unsigned (n, s). `sensitive`: what the codes mean, length s. `occurrences`:
    for a part of a table, how often each code occurs in the whole one (:func:`value_occurrences`, added up over the
    parts): totals and numbers of values are then those of the whole table, and :func:`joined` puts parts together.
    Returns: values that no counted record has are left out, so that every total is at least 1.

    Cost O(n + v + c) per sensitive attribute, by counting; nothing is sorted.
    """
    sizes = class_sizes(class_of, count)
    whole: Sequence[NDArray[np.int64] | None] = occurrences or [None] * len(sensitive)
    counted = {
        attribute.name: _sensitive_counts(class_of, count, np.ascontiguousarray(codes), attribute, known)
        for attribute, codes, known in zip(sensitive, sensitive_codes.T, whole, strict=True)
    }
    return ClassStatistics(sizes, counted)


def value_occurrences(
    class_of: NDArray[np.int32], sensitive_codes: NDArray[np.unsignedinteger], sensitive: Sequence[EncodedAttribute]
) -> tuple[NDArray[np.int64], ...]:
    """Count how often each code of each sensitive attribute occurs in a class; int64 (cardinality,) each."""
    return tuple(
        histogram(class_of, np.ascontiguousarray(sensitive_codes[:, column]), attribute.cardinality)
        for column, attribute in enumerate(sensitive)
    )


def joined(parts: Sequence[ClassStatistics], *, all_of_them: bool = True) -> ClassStatistics:
    """Put the statistics of parts of a table together: the classes of one part after those of the other.

    `all_of_them`: whether the parts are the whole table. Raises ``ValueError`` when they are not, or were counted
    without the totals of one whole table: a fault of the caller.
    """
    names = parts[0].sensitive
    published = [part.published for part in parts if part.published is not None]
    return ClassStatistics(
        np.concatenate([part.sizes for part in parts]),
        {name: _joined_counts([part.sensitive[name] for part in parts], all_of_them) for name in names},
        np.concatenate(published) if len(published) == len(parts) else None,
        _joined_people([part.people for part in parts if part.people is not None]),
        _joined_wishes([part.wished for part in parts]),
        _joined_wishes([part.wished_l for part in parts]),
        _joined_wishes([part.population for part in parts]),
    )


def some_classes(statistics: ClassStatistics, own: slice) -> ClassStatistics:
    """Return the statistics of some classes, with the totals of all; not where people or a population are counted."""
    first, stop, _ = own.indices(statistics.count)
    return ClassStatistics(
        statistics.sizes[first:stop],
        {name: _counts_of_some(counts, first, stop) for name, counts in statistics.sensitive.items()},
    )


def _counts_of_some(counts: SensitiveCounts, first: int, stop: int) -> SensitiveCounts:
    starts = counts.starts[first : stop + 1]
    inside = slice(int(starts[0]), int(starts[-1]))
    return replace(counts, starts=starts - starts[0], values=counts.values[inside], counts=counts.counts[inside])


def _joined_people(parts: Sequence[PeoplesRecords]) -> PeoplesRecords | None:
    if not parts:
        return None
    return PeoplesRecords(
        np.concatenate([part.records for part in parts]), np.concatenate([part.most for part in parts])
    )


def _joined_wishes(parts: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _joined_counts(parts: Sequence[SensitiveCounts], all_of_them: bool) -> SensitiveCounts:
    totals = parts[0].totals
    counted = sum(int(part.counts.sum()) for part in parts)
    if (all_of_them and counted != totals.sum()) or not all(np.array_equal(part.totals, totals) for part in parts):
        raise ValueError("parts must be all of a table, and be counted with its totals")
    return replace(
        parts[0],
        starts=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))]),
        values=np.concatenate([part.values for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
    )


def as_one_class(statistics: ClassStatistics) -> ClassStatistics:
    """Merge all classes into one, which holds every counted record. Cost O(c + v)."""
    merged = {
        name: replace(
            counts,
            starts=np.array([0, len(counts.totals)], dtype=np.int64),
            values=np.arange(len(counts.totals), dtype=np.int32),
            counts=counts.totals,
        )
        for name, counts in statistics.sensitive.items()
    }
    people = statistics.people
    together = people and PeoplesRecords(people.records.sum(keepdims=True), people.most.max(keepdims=True))
    wished, wished_l = (
        None if each is None else each.max(keepdims=True) for each in (statistics.wished, statistics.wished_l)
    )
    size = np.array([statistics.height], dtype=np.int64)
    population = None if statistics.population is None else statistics.population.sum(keepdims=True)
    return ClassStatistics(size, merged, people=together, wished=wished, wished_l=wished_l, population=population)


def number_values(
    attribute: EncodedAttribute, occurrences: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Assign numbers to values that occur: measured values in rising order, others in code order, missing last.

    `attribute`: what the codes mean. `occurrences`: int64 (cardinality,): how often each code occurs. Returns:
    `value_of`: int32 (cardinality,): number of each code's value, −1 for codes that do not occur; `codes`: int64 (v,):
    code of each value.
    """
    order = _rising_codes(attribute)
    codes = order[occurrences[order] > 0]
    value_of = np.full(len(occurrences), -1, dtype=np.int32)
    value_of[codes] = np.arange(len(codes), dtype=np.int32)
    return value_of, codes


def _sensitive_counts(
    class_of: NDArray[np.int32],
    count: int,
    codes: NDArray[np.unsignedinteger],
    attribute: EncodedAttribute,
    whole: NDArray[np.int64] | None,
) -> SensitiveCounts:
    own = histogram(class_of, codes, attribute.cardinality)
    whole = own if whole is None else whole
    value_of, code_of = number_values(attribute, whole)
    totals = whole[code_of]
    starts, values, counts = count_values(class_of, count, codes, value_of, own[code_of])
    return counts_of(attribute, code_of, starts, values, counts, totals)


def counts_of(
    attribute: EncodedAttribute,
    code_of: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> SensitiveCounts:
    """Return counts with what the attribute says of its values; `code_of`, int64 (v,), is the code of each."""
    leaf_of = None
    if attribute.hierarchy is not None:
        leaf_of = np.where(code_of < attribute.size, code_of, -1).astype(np.int32)
    return SensitiveCounts(
        attribute.name, attribute.kind, starts, values, counts, totals, attribute.hierarchy, leaf_of,
        labels=attribute.labels, code_of=code_of,
    )  # fmt: skip


def _rising_codes(attribute: EncodedAttribute) -> NDArray[np.int64]:
    # A hierarchy numbers the codes in its own order, which need not be the order of the numbers or dates.
    codes = np.arange(attribute.cardinality, dtype=np.int64)
    if attribute.hierarchy is None or not is_measured(attribute.kind):
        return codes
    labels = attribute.labels.to_list()
    keys: list[float] | list[str] = [float(label) for label in labels] if attribute.kind is Kind.NUMERIC else labels
    rising = np.array(sorted(range(attribute.size), key=keys.__getitem__), dtype=np.int64)
    return np.concatenate([rising, codes[attribute.size :]])


# Class statistics of a table of which each distinct row is held once, with how many records it stands for.


def counted_statistics(
    class_of: NDArray[np.int32],
    count: int,
    records: NDArray[np.int64],
    sensitive_codes: NDArray[np.unsignedinteger],
    sensitive: Sequence[EncodedAttribute],
    occurrences: Sequence[NDArray[np.int64]] | None = None,
) -> ClassStatistics:
    """Return what :func:`~sfumato.classes.statistics.class_statistics` returns where every row is there that often.

    Letters: m rows, c classes, s sensitive attributes. `class_of`: int32 (m,): class of each row, from 0. `count`:
    number of classes c; every one must have a row. `records`: int64 (m,): how many records each row stands for, at
    least 1; below 2**53 together. `sensitive_codes`, `sensitive`, `occurrences`: as there, for rows; occurrences count
    records.

    Cost O(m log m) per sensitive attribute.
    """
    whole = occurrences or occurrences_of(records, sensitive_codes, sensitive)
    columns = zip(sensitive, sensitive_codes.T, whole, strict=True)
    counts = {each.name: _counts(class_of, count, records, codes, each, known) for each, codes, known in columns}
    return ClassStatistics(_summed(class_of, records, count), counts)


def occurrences_of(
    records: NDArray[np.int64], sensitive_codes: NDArray[np.unsignedinteger], sensitive: Sequence[EncodedAttribute]
) -> list[NDArray[np.int64]]:
    """Count how many records have each code of each sensitive attribute; int64 (cardinality,) each."""
    return [_summed(codes, records, each.cardinality) for each, codes in zip(sensitive, sensitive_codes.T, strict=True)]


def _summed(groups: NDArray[np.integer], records: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    # Sums of whole numbers below 2**53 are exact.
    return np.bincount(groups, weights=records, minlength=count).astype(np.int64)


def _counts(
    class_of: NDArray[np.int32],
    count: int,
    records: NDArray[np.int64],
    codes: NDArray[np.unsignedinteger],
    attribute: EncodedAttribute,
    whole: NDArray[np.int64],
) -> SensitiveCounts:
    value_of, code_of = number_values(attribute, whole)
    pairs, pair_of = np.unique(class_of.astype(np.int64) * len(code_of) + value_of[codes], return_inverse=True)
    starts = np.searchsorted(pairs, np.arange(count + 1, dtype=np.int64) * len(code_of))
    values = (pairs % len(code_of)).astype(np.int32)
    return counts_of(
        attribute, code_of, starts.astype(np.int64), values, _summed(pair_of, records, len(pairs)), whole[code_of]
    )

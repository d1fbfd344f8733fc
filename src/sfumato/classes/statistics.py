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

    Letters: c classes, v values of the attribute that occur in the table, z non-zero (class, value) pairs. Numeric and
    date values are numbered in rising order, so that codes are ranks. `starts`, int64 (c + 1,): class ``i`` owns
    entries ``starts[i] .. starts[i+1]-1`` of `values`, int32 (z,), rising inside a class, and `counts`, int64 (z,): its
    records, or people, with the value. `totals`, int64 (v,): those of the whole table, at least 1. `leaf_of`, int32
    (v,): the leaf of each value in `hierarchy`, −1 for the missing value (right under the root). `people`: in the whole
    table, where somebody may have several values. `labels`: texts that values are named by, the leaves where there is a
    hierarchy; `code_of`, int64 (v,): place of each value among them, the missing value after the last.
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

    `sizes`, int64 (c,): records in each class; people, where these have several records. `sensitive`: counts by
    attribute. `published`, int32 (c, q): for models of single values, a number for what each class publishes, −1 for
    ``*``. `people`: how many records people have; None: every record is a person. `wished`, `wished_l`, int64 (c,): the
    largest k, or l, that somebody in each class wishes for. `population`, int64 (c,): people of a population whom each
    class covers; while classes are sought, so many at least. `presence`: how surely they are in the table, where that
    was worked out.
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

    `occurrences`: for a part of a table, how often each code occurs in the whole one (:func:`value_occurrences`, added
    up over the parts): totals and numbers of values are then those of the whole table, and :func:`join_statistics` puts
    parts together. Values that no counted record has are left out. Cost O(n + v + c) per sensitive attribute, by
    counting.
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


def join_statistics(parts: Sequence[ClassStatistics], *, all_of_them: bool = True) -> ClassStatistics:
    """Put the statistics of parts together, counted with the totals of one table: classes of one after the other's."""
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
    """Return the number of each value that occurs, measured ones rising, missing last (−1: none), and their codes."""
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
    """Return what :func:`class_statistics` returns where row i of m stands for `records`, int64 (m,), at least 1 each.

    Together they are below 2**53. Cost O(m log m) per sensitive attribute.
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

"""Class statistics: sizes and sensitive counts per class, of records and of people. Models are functions of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import class_sizes
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.grouping import count_values, histogram
from sfumato.table.encoding import EncodedAttribute, EncodedSets, EncodedTable, PeopleOfPopulation, PeopleOfTable
from sfumato.table.folding import distinct_numbers, numbered_sets
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

    `occurrences`: for a part of a table, how often each code occurs in the whole one, added up over
    the parts: totals and numbers of values are then those of the whole table, and :func:`join_statistics` puts
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


# People whose records lie in several classes: how many of them somebody is among who is looked for by all records.
#
# Letters: n records, p people, c classes.


_MOST_AT_ONCE = 1 << 22
"""Pairs of sets of classes that are compared at once."""


def people_left(class_of: NDArray[np.int32], people: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count, for each record's person, the people who have a record in every class that the person is in; int64 (n,).

    So many are left to somebody who knows all records of that person, itself among them; 0 for who has no record left.
    With one record each it is the people of the class. Cost O(n log n), and for each set of several classes that
    somebody is in, as much as there are such sets of which one holds the class that fewest of them hold.
    """
    width = int(class_of.max(initial=0)) + 1
    kept = class_of >= 0
    if not kept.any():
        return np.zeros(len(class_of), dtype=np.int64)
    pairs = distinct_numbers(people[kept].astype(np.int64) * width + class_of[kept])
    persons = pairs // width
    starts = np.flatnonzero(np.diff(persons, prepend=-1))
    owner = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pairs))))
    sets, set_of = numbered_sets(pairs % width, owner, len(starts))
    left = _supersets(sets, np.bincount(set_of, minlength=len(sets.starts) - 1), width)
    found = np.zeros(int(people.max()) + 1, dtype=np.int64)
    found[persons[starts]] = left[set_of]
    return found[people]


def _supersets(sets: EncodedSets, weights: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Add up, for each set, the weights of all sets that hold it; int64."""
    lengths = np.diff(sets.starts)
    holder = np.repeat(np.arange(len(lengths)), lengths)
    found = np.bincount(sets.codes, weights=weights[holder], minlength=width).astype(np.int64)[
        sets.codes[sets.starts[:-1]]
    ]
    several = lengths > 1
    found[several] = 0
    # Only sets of several classes can hold one of several.
    keys = np.sort(sets.codes[several[holder]] * len(lengths) + holder[several[holder]])
    first = np.searchsorted(keys, np.arange(width + 1) * len(lengths))
    for some in _in_portions(sets, several, np.diff(first)):
        rarest, holding = _rarest(sets, some, np.diff(first))
        asked = np.repeat(some, holding)
        place = np.arange(len(asked)) - np.repeat(np.cumsum(holding) - holding, holding)
        other = keys[np.repeat(first[rarest], holding) + place] % len(lengths)
        for depth in range(int(lengths[some].max())):
            inside = lengths[asked] > depth
            pairs = sets.codes[sets.starts[:-1][asked[inside]] + depth] * len(lengths) + other[inside]
            at = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
            stays = np.ones(len(asked), dtype=np.bool_)
            stays[inside] = keys[at] == pairs
            asked, other = asked[stays], other[stays]
        found += np.bincount(asked, weights=weights[other], minlength=len(lengths)).astype(np.int64)
    return found


def _in_portions(
    sets: EncodedSets, several: NDArray[np.bool_], holding: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Yield the sets of several classes, so many at a time that few pairs have to be compared at once."""
    chosen = np.flatnonzero(several)
    if not len(chosen):
        return
    _, work = _rarest(sets, chosen, holding)
    portion = (np.cumsum(work) - work) // _MOST_AT_ONCE
    yield from np.split(chosen, np.flatnonzero(np.diff(portion)) + 1)


def _rarest(
    sets: EncodedSets, some: NDArray[np.int64], holding: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each of some sets that fewest sets hold, and how many those are; int64."""
    codes, owner = sets.codes_of(some)
    order = np.lexsort((codes, holding[codes], owner))
    rarest = codes[order[np.flatnonzero(np.diff(owner[order], prepend=-1))]]
    return rarest, holding[rarest]


def statistics_of(table: EncodedTable, class_of: NDArray[np.int32], count: int) -> ClassStatistics:
    """Count classes, none of them empty, and their sensitive values, in people where the table is one of people."""
    if table.apart is not None:
        found = counted_people(class_of, count, table.apart.numbers, table.sensitive_codes, table.sensitive)
        wishes = table.apart.wishes
        return found if wishes is None else replace(found, wished=largest_of(class_of, count, wishes))
    if table.people is None:
        covered = _people_covered(class_of, count, table.population)
        return replace(class_statistics(class_of, count, table.sensitive_codes, table.sensitive), population=covered)
    alone = class_statistics(class_of, count, np.empty((len(class_of), 0), dtype=np.uint8), ())
    counted = {
        attribute.name: _values_of_people(class_of, count, table, table.people, place)
        for place, attribute in enumerate(table.sensitive)
    }
    people = _records_in_classes(class_of, count, table.people.records)
    wished, wished_l = (
        None if wishes is None else largest_of(class_of, count, wishes)
        for wishes in (table.people.wishes, table.people.wished_l)
    )
    return replace(alone, sensitive=counted, people=people, wished=wished, wished_l=wished_l)


def counted_people(
    class_of: NDArray[np.int32],
    count: int,
    people: NDArray[np.int32],
    sensitive_codes: NDArray[np.unsignedinteger],
    sensitive: Sequence[EncodedAttribute],
) -> ClassStatistics:
    """Count the people of each class, their records and their sensitive values from the records themselves.

    Somebody who is in several classes counts in each, and as often in the whole table; equal numbers in different
    classes may be different people. Cost O(n log n) for each sensitive attribute.
    """
    width = int(people.max(initial=0)) + 1
    pairs = class_of.astype(np.int64) * width + people
    kept = class_of >= 0
    members, person_of, records = np.unique(pairs[kept], return_inverse=True, return_counts=True)
    class_of_person = (members // width).astype(np.int32)
    alone = class_statistics(class_of_person, count, np.empty((len(members), 0), dtype=np.uint8), ())
    counted = {}
    for place, attribute in enumerate(sensitive):
        codes = sensitive_codes[kept, place]
        values = int(codes.max(initial=0)) + 1
        owned = distinct_numbers(person_of * values + codes)
        counted[attribute.name] = _counted_once(
            class_of_person[owned // values], count, (owned % values).astype(codes.dtype), attribute, len(members)
        )
    return replace(alone, sensitive=counted, people=_records_in_classes(class_of_person, count, records))


def with_totals_of_all(
    parts: Sequence[ClassStatistics], sensitive: Sequence[EncodedAttribute]
) -> list[ClassStatistics]:
    """Give parts, each counted by itself and none sharing a class, the totals and numbers of values of all of them."""
    counts: list[dict[str, SensitiveCounts]] = [{} for _ in parts]
    for attribute in sensitive:
        own = [part.sensitive[attribute.name] for part in parts]
        occurrences = np.zeros(attribute.cardinality, dtype=np.int64)
        for each in own:
            assert each.code_of is not None
            occurrences[each.code_of] += each.totals
        value_of, code_of = number_values(attribute, occurrences)
        people = sum(each.height for each in own)
        for place, each in enumerate(own):
            assert each.code_of is not None
            values = value_of[each.code_of][each.values]
            found = counts_of(attribute, code_of, each.starts, values, each.counts, occurrences[code_of])
            counts[place][attribute.name] = replace(found, people=people)
    return [replace(part, sensitive=own) for part, own in zip(parts, counts, strict=True)]


def _values_of_people(
    class_of: NDArray[np.int32], count: int, table: EncodedTable, people: PeopleOfTable, place: int
) -> SensitiveCounts:
    codes, owner = people.sets[place].codes_of(table.sensitive_codes[:, place])
    attribute = table.sensitive[place]
    dtype = np.min_scalar_type(attribute.cardinality)
    return _counted_once(class_of[owner], count, codes.astype(dtype), attribute, int(np.count_nonzero(class_of >= 0)))


def _counted_once(
    class_of: NDArray[np.int32],
    count: int,
    codes: NDArray[np.unsignedinteger],
    attribute: EncodedAttribute,
    people: int,
) -> SensitiveCounts:
    """Count the values of people, each of which is given once; and say how many people there are."""
    counts = class_statistics(class_of, count, codes[:, None], (attribute,)).sensitive[attribute.name]
    return replace(counts, people=people)


def _people_covered(
    class_of: NDArray[np.int32], count: int, population: PeopleOfPopulation | None
) -> NDArray[np.int64] | None:
    """Sum what the records of each class stand for; a class may also cover people whom no record is like."""
    if population is None:
        return None
    kept = class_of >= 0
    return np.bincount(class_of[kept], weights=population.shares[kept], minlength=count).astype(np.int64)


def _records_in_classes(class_of: NDArray[np.int32], count: int, records: NDArray[np.int64]) -> PeoplesRecords:
    kept = class_of >= 0
    total = np.bincount(class_of[kept], weights=records[kept], minlength=count).astype(np.int64)
    return PeoplesRecords(total, largest_of(class_of, count, records))


def largest_of(class_of: NDArray[np.int32], count: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest number of each class, int64 (c,); those of suppressed records, class −1, do not count."""
    largest = np.zeros(count, dtype=np.int64)
    np.maximum.at(largest, class_of[class_of >= 0], numbers[class_of >= 0])
    return largest


MOST_SUBSETS = 50_000_000
"""Sets of values that are looked at, at most; somebody with v values has v · (v − 1) · (v − 2) ÷ 6 of three."""
_AT_ONCE = 4_000_000
"""Sets of values that are counted at a time, if those that begin with one value are not more."""


@dataclass(frozen=True, eq=False, repr=False)
class Fingerprints:
    """What somebody finds who looks, in the class of a person, for the people who have some of the person's values."""

    owner_of: NDArray[np.int64]  # (n,): who of the u people each record is about, −1 where it is suppressed
    company: NDArray[np.int64]  # (u,): people in the class of each
    values: NDArray[np.int64]  # (u,): how many different values each has
    # (u,): people of the class who have those `known` values of a person that the fewest have; the person is one of
    # them. Whoever has fewer values is looked for by all of them.
    fewest: NDArray[np.int64]
    # (u,): 1 ÷ the number of people who fit, averaged over all sets of `known` values of the person: the chance that
    # somebody picks the person who knows some of them, whichever they are
    chance: NDArray[np.float64]

    def records_below(self, least: int) -> NDArray[np.bool_]:
        """Tell which records are about people whom fewer than `least` fit; bool (n,)."""
        # The last entry stands for −1, the suppressed records.
        below: NDArray[np.bool_] = np.append(self.fewest < least, False)[self.owner_of]
        return below


def fingerprints(
    class_of: NDArray[np.integer], people: NDArray[np.integer], codes: NDArray[np.integer], known: int
) -> Fingerprints | None:
    """Look for everybody by each set of `known` (1 to 3) values of the person; None: too many sets (MOST_SUBSETS).

    With several attributes in `codes`, a set may have values of any. Exact. Cost O(w log w) for w sets of values, w = z
    where one value is known.
    """
    owner_of, members = _members(class_of, people)
    owner, item = _owned(owner_of, codes)
    lengths = np.bincount(owner, minlength=len(members))
    if sum(_subsets(lengths, size) for size in _sizes(lengths, known)) > MOST_SUBSETS:
        return None
    _, number = np.unique(members[owner] * (int(item.max(initial=0)) + 1) + item, return_inverse=True)
    fewest, chance = np.zeros(len(members), dtype=np.int64), np.zeros(len(members))
    for size in _sizes(lengths, known):
        some = lengths >= known if size == known else lengths == size
        fewest[some], chance[some] = (found[some] for found in _supports(owner, number, lengths, size))
    company = np.bincount(members)[members] if len(members) else members
    return Fingerprints(owner_of, company, lengths, fewest, chance)


def _members(class_of: NDArray[np.integer], people: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who of the people of classes is behind each record, int64 (n,), and the class of each person (u,)."""
    width = int(people.max(initial=0)) + 1
    kept = class_of >= 0
    pairs, numbers = np.unique(class_of[kept].astype(np.int64) * width + people[kept], return_inverse=True)
    owner_of = np.full(len(class_of), -1, dtype=np.int64)
    owner_of[kept] = numbers
    return owner_of, pairs // width


def _owned(owner_of: NDArray[np.int64], codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who has which value, each once, values rising for each person; int64 (z,) twice."""
    kept = owner_of >= 0
    # Values of different attributes are different, whatever they are.
    widths = [int(column.max(initial=0)) + 1 for column in codes.T]
    first = np.append(0, np.cumsum(widths))
    pairs = [owner_of[kept] * first[-1] + first[place] + column[kept] for place, column in enumerate(codes.T)]
    found = distinct_numbers(np.concatenate(pairs).astype(np.int64))
    return found // first[-1], found % first[-1]


def _sizes(lengths: NDArray[np.int64], known: int) -> Sequence[int]:
    """Return the sizes of the sets that somebody is looked for by."""
    return [size for size in range(1, known + 1) if size == known or bool(np.any(lengths == size))]


def _subsets(lengths: NDArray[np.int64], size: int) -> int:
    """Count the sets of that many values that people have."""
    counts = np.bincount(lengths) if len(lengths) else lengths
    return sum(int(count) * math.comb(length, size) for length, count in enumerate(counts) if count)


def _supports(
    owner: NDArray[np.int64], number: NDArray[np.int64], lengths: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each person the people with the rarest set, and the mean of 1 ÷ people over all sets; (u,) twice."""
    people = len(lengths)
    fewest, sums = np.full(people, people, dtype=np.int64), np.zeros(people)
    for rows, keys in _sets(owner, number, np.cumsum(lengths), size):
        _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        support = counts[place]
        np.minimum.at(fewest, owner[rows], support)
        sums += np.bincount(owner[rows], 1.0 / support, minlength=people)
    sets = np.array([math.comb(length, size) for length in range(int(lengths.max(initial=0)) + 1)], dtype=np.float64)
    return fewest, sums / np.maximum(sets[lengths], 1.0)


def _sets(
    owner: NDArray[np.int64], number: NDArray[np.int64], ends: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield all sets of values that people have, those with one first value at once: a row of each, and its number."""
    width = int(number.max(initial=0)) + 1
    order = np.argsort(number, kind="stable")
    after = (ends[owner] - np.arange(len(owner)) - 1)[order]
    begun = after ** (size - 1)
    piece = np.cumsum(begun) // _AT_ONCE
    # A value's rows stay together: they go where the first of them goes.
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    piece = np.repeat(piece[first], np.diff(np.append(first, len(order))))
    for rows in np.split(order, np.flatnonzero(np.diff(piece)) + 1):
        keys = number[rows]
        for _ in range(size - 1):
            _, keys = np.unique(keys, return_inverse=True)
            further = ends[owner[rows]] - rows - 1
            place = np.repeat(np.arange(len(rows)), further)
            offset = np.arange(len(place)) - np.repeat(np.cumsum(further) - further, further)
            rows, keys = rows[place] + 1 + offset, keys[place] * width + number[rows[place] + 1 + offset]
        yield rows, keys

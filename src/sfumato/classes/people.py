"""Class statistics in which people count, not records: for tables in which people have several of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import (
    ClassStatistics,
    PeoplesRecords,
    SensitiveCounts,
    class_statistics,
    counts_of,
    number_values,
)
from sfumato.table.encoding import EncodedAttribute, EncodedSets, EncodedTable, PeopleOfPopulation, PeopleOfTable
from sfumato.table.folding import distinct_numbers, numbered_sets

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

"""Class statistics in which people count, not records: for tables in which people have several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from sfumato.table.encoding import EncodedAttribute, EncodedTable, PeopleOfPopulation, PeopleOfTable
from sfumato.table.folding import distinct_numbers


def statistics_of(table: EncodedTable, class_of: NDArray[np.int32], count: int) -> ClassStatistics:
    """Count classes and their sensitive values, in people where the table is one of people.

    Parameters
    ----------
    table
        The encoded table.
    class_of
        int32 (n,): class of each of its records, −1 where it is suppressed.
    count
        Number of classes; every one must have a record.
    """
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

    Somebody who is in several classes counts in each of them, and counts as often in the whole table.

    Parameters
    ----------
    class_of
        int32 (n,): class of each record, −1 where it is suppressed.
    count
        Number of classes c; every one must have a record.
    people
        int32 (n,): number of each record's person; equal numbers in different classes may be different people.
    sensitive_codes
        Unsigned (n, s).
    sensitive
        What the codes mean, length s.

    Notes
    -----
    Cost O(n log n) for each sensitive attribute.
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
    """Give parts of a table, each counted by itself, the totals and the value numbers of all of them together.

    Parameters
    ----------
    parts
        Of :func:`counted_people`; nobody's class is in two of them.
    sensitive
        What the codes of all parts mean.
    """
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

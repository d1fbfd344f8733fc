"""Compiled rules for people whose records may lie in different classes: kernels count records by who has what.

A search counts places as it counts values; a place is a person, or a value that one person has. Both are numbered anew
for some of the records, so that what a class costs does not depend on how many people the table has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import number_values
from sfumato.kernels.predicates import K_ANONYMITY, LARGEST_SHARE, NEVER, RuleArrays
from sfumato.table.encoding import EncodedAttribute, PeopleApart

Codes = NDArray[np.unsignedinteger]


def of_people_apart(
    rules: RuleArrays, columns: Sequence[tuple[Codes, EncodedAttribute]], people: PeopleApart
) -> tuple[RuleArrays, Codes]:
    """Return rules that read histograms of people and of their values, and the columns that are counted.

    Parameters
    ----------
    rules
        As they are for single values.
    columns
        The codes of each attribute that some rule looks at, unsigned (n,), and what they mean.
    people
        Who the records are about.

    Returns
    -------
    arrays : RuleArrays
    codes : numpy.ndarray
        Unsigned (n, s + 1): the person's value for each attribute, then the person.
    """
    values = [int(np.count_nonzero(np.bincount(codes))) for codes, _ in columns]
    firsts = np.cumsum([0, *values], dtype=np.int64)
    counted, members = [], []
    for (codes, attribute), first in zip(columns, firsts, strict=False):
        value_of, kept = number_values(attribute, np.bincount(codes, minlength=attribute.cardinality))
        pairs, numbered = np.unique(people.numbers.astype(np.int64) * len(kept) + value_of[codes], return_inverse=True)
        counted.append(numbered)
        members.append(pairs % len(kept) + first)
    persons, numbered = np.unique(people.numbers, return_inverse=True)
    wishes = np.zeros(0, dtype=np.int64)
    if people.wishes is not None:
        wishes = np.zeros(len(persons), dtype=np.int64)
        np.maximum.at(wishes, numbered, people.wishes)
    arrays = _laid_out(rules, [*counted, numbered], members)._replace(
        value_offsets=firsts,
        value_totals=np.zeros(firsts[-1], dtype=np.int64),
        scratch_size=rules.scratch_size + int(firsts[-1]),
        wishes=wishes,
        safe_size=_safe_size(rules, numbered),
    )
    return arrays, _narrow([*counted, numbered])


def among(rules: RuleArrays, codes: Codes) -> tuple[RuleArrays, Codes]:
    """Give the places of some records new numbers, so that no place is without any of them.

    Parameters
    ----------
    rules
        Rules in which `codes` are places.
    codes
        Unsigned (m, s + 1): the columns of these records.

    Notes
    -----
    Verdicts about classes of these records stay as they are. Cost O(m log m) for each column.
    """
    found = [np.unique(column, return_inverse=True) for column in codes.T]
    members = [rules.members[rules.offsets[place] + own] for place, (own, _) in enumerate(found[:-1])]
    people = found[-1][0]
    arrays = _laid_out(rules, [numbered for _, numbered in found], members)
    return arrays._replace(wishes=rules.wishes[people] if len(rules.wishes) else rules.wishes), _narrow(
        [numbered for _, numbered in found]
    )


def _laid_out(
    rules: RuleArrays, columns: Sequence[NDArray[np.integer]], members: Sequence[NDArray[np.int64]]
) -> RuleArrays:
    """Put the places of all columns after one another; the last column is that of people."""
    totals = [np.bincount(column) for column in columns]
    return rules._replace(
        offsets=np.cumsum([0, *map(len, totals)], dtype=np.int64),
        totals=np.concatenate(totals).astype(np.int64),
        tree_offsets=np.zeros(len(columns) + 1, dtype=np.int64),
        members=np.concatenate([np.zeros(0, dtype=np.int64), *members]).astype(np.int64),
        apart=len(columns) - 1,
    )


def _narrow(columns: Sequence[NDArray[np.integer]]) -> Codes:
    largest = max(int(column.max(initial=0)) for column in columns)
    return np.column_stack(columns).astype(np.min_scalar_type(largest))


def _safe_size(rules: RuleArrays, numbered: NDArray[np.integer]) -> int:
    """Return so many records that nobody has too large a share of them, if nothing else is asked for."""
    if not np.isin(rules.codes, (K_ANONYMITY, LARGEST_SHARE)).all() or not len(rules.codes):
        return NEVER
    # No more than the largest number of records of one person are anybody's.
    return int(np.bincount(numbered).max()) * math.ceil(float(rules.first.max()))

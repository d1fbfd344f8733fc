"""Compiled rules for tables of people: kernels count people by what they have, and look into it only to decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import number_values
from sfumato.kernels.predicates import K_ANONYMITY, LARGEST_SHARE, NEVER, WISHED_K, WISHED_RECORDS, RuleArrays
from sfumato.models.rule_traits import TRAITS
from sfumato.table.encoding import EncodedAttribute, PeopleOfTable, ValueSets

_SetColumn = tuple[NDArray[np.unsignedinteger], ValueSets, EncodedAttribute]
"""The sets that people have of one attribute, unsigned (n,), what the sets hold, and what its codes mean."""


class _Counted(NamedTuple):
    """One column of what people have.

    codes : int64 (n,), from 0, all of which occur. starts, members : int64, the values of each, counted from 0.
    totals : int64, people who have each value. numbers : int64, what each value stands for; 0 where it is no number.
    """

    codes: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    totals: NDArray[np.int64]
    numbers: NDArray[np.int64]


def of_people(
    rules: RuleArrays, columns: Sequence[_SetColumn], people: PeopleOfTable
) -> tuple[RuleArrays, NDArray[np.unsignedinteger]]:
    """Return rules that read histograms of sets, and the columns that are counted, unsigned (n, s).

    Parameters
    ----------
    rules
        As they are for single values; their totals count people by value.
    columns
        What people have of each attribute that some rule looks at.
    people
        How many records people have, and which k and l they wish for: further columns, where some rule asks.
    """
    counted = [_counted(*column) for column in columns]
    attributes, second = rules.attributes.copy(), rules.second.copy()
    asked = (
        (_about("people", rules), people.records),
        (_about("wishes", rules), people.wishes),
        (_about("wished_l", rules), people.wished_l),
    )
    for asks, numbers in asked:
        if asks.any() and numbers is not None:
            # Where a rule has an attribute already, that of the wishes stands beside it.
            second[asks & (attributes >= 0)] = len(counted)
            attributes[asks & (attributes < 0)] = len(counted)
            counted.append(_of_numbers(numbers))
    if not counted:
        return rules, np.zeros((len(people.records), 0), dtype=np.uint8)
    totals = [np.bincount(column.codes, minlength=len(column.starts) - 1) for column in counted]
    value_totals = np.concatenate([column.totals for column in counted])
    firsts = _offsets([len(column.totals) for column in counted])
    more = len(counted) - len(columns)
    arrays = rules._replace(
        attributes=attributes,
        second=second,
        offsets=_offsets([len(column) for column in totals]),
        totals=np.concatenate(totals),
        tree_offsets=np.pad(rules.tree_offsets, (0, more), mode="edge"),
        scratch_size=rules.scratch_size + len(value_totals),
        member_starts=_offsets([length for column in counted for length in np.diff(column.starts).tolist()]),
        members=np.concatenate([column.members + first for column, first in zip(counted, firsts, strict=False)]),
        value_offsets=firsts,
        value_totals=value_totals,
        numbers=np.concatenate([column.numbers for column in counted]),
        guards=np.pad(rules.guards, (0, len(value_totals) - len(rules.guards))) if len(rules.guards) else rules.guards,
        safe_size=_safe_size(rules, people),
    )
    largest = max(len(column) for column in totals)
    return arrays, np.column_stack([column.codes for column in counted]).astype(np.min_scalar_type(largest))


def _about(trait: str, rules: RuleArrays) -> NDArray[np.bool_]:
    return np.array([getattr(TRAITS[code], trait) for code in rules.codes.tolist()], dtype=np.bool_)


def by_value(counts: NDArray[np.int64], rules: RuleArrays) -> NDArray[np.int64]:
    """Count people by value from how many have each set of values; int64 (w,), empty where no sets are counted."""
    if not len(rules.members):
        return rules.value_totals
    weights = np.repeat(counts, np.diff(rules.member_starts))
    return np.bincount(rules.members, weights=weights, minlength=len(rules.value_totals)).astype(np.int64)


def _counted(codes: NDArray[np.unsignedinteger], sets: ValueSets, attribute: EncodedAttribute) -> _Counted:
    occurring, numbered = np.unique(codes, return_inverse=True)
    values, owner = sets.codes_of(occurring)
    people = np.bincount(numbered, minlength=len(occurring))
    totals = np.bincount(values, weights=people[owner], minlength=attribute.cardinality).astype(np.int64)
    value_of, kept = number_values(attribute, totals)
    starts = _offsets(np.bincount(owner, minlength=len(occurring)).tolist())
    return _Counted(numbered, starts, value_of[values].astype(np.int64), totals[kept], np.zeros(len(kept), np.int64))


def _of_numbers(numbers: NDArray[np.int64]) -> _Counted:
    numbers, numbered, people = np.unique(numbers, return_inverse=True, return_counts=True)
    places = np.arange(len(numbers))
    return _Counted(numbered, np.append(places, len(places)), places, people.astype(np.int64), numbers)


def _safe_size(rules: RuleArrays, people: PeopleOfTable) -> int:
    """Return a size from which on nobody has too many records or wishes for more, if only sizes are asked for."""
    if not np.isin(rules.codes, (K_ANONYMITY, LARGEST_SHARE, WISHED_K, WISHED_RECORDS)).all():
        return NEVER
    most = max(float(rules.first.max()), 0.0 if people.wishes is None else float(people.wishes.max()))
    # Who has most records shares them with people who have one each.
    return math.ceil(int(people.records.max()) * (most - 1)) + 1


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)

"""Compile models to the arrays with which kernels judge classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, counts_of, number_values, statistics_of
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.predicates import (
    K_ANONYMITY,
    LARGEST_SHARE,
    NEVER,
    NO_NUMBERS,
    WISHED_K,
    WISHED_RECORDS,
    RuleArrays,
)
from sfumato.models.protocol import TRAITS, PrivacyModel, Rule, of_population, says
from sfumato.models.reference import View, flat_tree, is_fixed
from sfumato.table.encoding import (
    EncodedAttribute,
    EncodedSets,
    EncodedTable,
    PeopleApart,
    PeopleOfPopulation,
    PeopleOfTable,
)

# Compiled rules for people whose records may lie in different classes: kernels count records by who has what.
#
# A search counts places as it counts values; a place is a person, or a value that one person has. Both are numbered
# anew for some of the records, so that what a class costs does not depend on how many people the table has.


def of_people_apart(
    rules: RuleArrays, columns: Sequence[tuple[Codes, EncodedAttribute]], people: PeopleApart
) -> tuple[RuleArrays, Codes]:
    """Return rules that read histograms of people and their values, and the columns counted, the person last."""
    values = [int(np.count_nonzero(np.bincount(codes))) for codes, _ in columns]
    firsts = np.cumsum([0, *values], dtype=np.int64)
    counted, members = [], []
    for (codes, attribute), first in zip(columns, firsts, strict=False):
        value_of, codes_of_values = number_values(attribute, np.bincount(codes, minlength=attribute.cardinality))
        pairs, numbered = np.unique(
            people.numbers.astype(np.int64) * len(codes_of_values) + value_of[codes], return_inverse=True
        )
        counted.append(numbered)
        members.append(pairs % len(codes_of_values) + first)
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
        safe_size=_safe_size_of_pairs(rules, numbered),
    )
    return arrays, _narrow([*counted, numbered])


def renumber_places(rules: RuleArrays, codes: Codes) -> tuple[RuleArrays, Codes]:
    """Give the places of some records new numbers, so that none is without them; verdicts on their classes stay."""
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


def _safe_size_of_pairs(rules: RuleArrays, numbered: NDArray[np.integer]) -> int:
    """Return so many records that nobody has too large a share of them, if nothing else is asked for."""
    if not np.isin(rules.codes, (K_ANONYMITY, LARGEST_SHARE)).all() or not len(rules.codes):
        return NEVER
    # No more than the largest number of records of one person are anybody's.
    return int(np.bincount(numbered).max()) * math.ceil(float(rules.first.max()))


# Compiled rules for tables of people: kernels count people by what they have, and look into it only to decide.


_SetColumn = tuple[NDArray[np.unsignedinteger], EncodedSets, EncodedAttribute]
"""The sets that people have of one attribute, unsigned (n,), what the sets hold, and what its codes mean."""


class _Counted(NamedTuple):
    """A column: codes, int64 (n,), all occur; starts, members, values of each; totals, people by value; numbers."""

    codes: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    totals: NDArray[np.int64]
    numbers: NDArray[np.int64]


def of_people(
    rules: RuleArrays, columns: Sequence[_SetColumn], people: PeopleOfTable
) -> tuple[RuleArrays, NDArray[np.unsignedinteger]]:
    """Return rules that read histograms of sets, and the columns that are counted, with wishes where a rule asks."""
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


def _counted(codes: NDArray[np.unsignedinteger], sets: EncodedSets, attribute: EncodedAttribute) -> _Counted:
    occurring, numbered = np.unique(codes, return_inverse=True)
    values, owner = sets.codes_of(occurring)
    people = np.bincount(numbered, minlength=len(occurring))
    totals = np.bincount(values, weights=people[owner], minlength=attribute.cardinality).astype(np.int64)
    value_of, codes_of_values = number_values(attribute, totals)
    starts = _offsets(np.bincount(owner, minlength=len(occurring)).tolist())
    return _Counted(
        numbered,
        starts,
        value_of[values].astype(np.int64),
        totals[codes_of_values],
        np.zeros(len(codes_of_values), np.int64),
    )


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


MOST_GUARDS = 62
"""Rules on guarded values, each of which takes a bit of an int64."""
_MOST_PRODUCT = 1 << 62
"""Bound on the products of a number of records and a total, which kernels work out in 64 bits."""

Column = tuple[str, View | None]
"""A sensitive attribute as some rule sees it."""


@dataclass(frozen=True, eq=False, repr=False)
class CompiledRules:
    """All models of a run on one table, ready for kernels."""

    arrays: RuleArrays
    # Uint8, uint16 or uint32 (n, s): value of each record in the columns that some rule looks at, counted from 0 inside
    # each column, as the histograms of `arrays` number them. s is 0 when all rules are on sizes. Where records are
    # people: a set of values, and in a last column how many records a person has if some rule asks.
    codes: NDArray[np.unsignedinteger]
    whole: ClassStatistics  # all records as one class
    sources: tuple[Rule, ...] = ()  # the rules before they were compiled
    # all records as one class, for each of these columns, as the rules on it see them
    sensitive: Mapping[Column, SensitiveCounts] = field(default_factory=dict)

    @property
    def relative(self) -> bool:
        """Whether some rule compares with the published table, which changes when records are left out."""
        return any(TRAITS[rule.code].relative and not is_fixed(rule.column) for rule in self.sources)

    def among(self, kept: NDArray[np.int64]) -> RuleArrays:
        """Return the same rules with these records as the whole table; int64, the records. Cost O(n · s)."""
        arrays, total = self.arrays, len(kept)
        totals = [
            np.bincount(self.codes[kept, place], minlength=stop - start).astype(np.int64)
            for place, (start, stop) in enumerate(pairwise(arrays.offsets))
        ]
        if any(map(is_fixed, self.sensitive)):
            columns = zip(self.sensitive.items(), totals, strict=False)
            left = {key: each if is_fixed(key) else replace(each, totals=own) for (key, each), own in columns}
            scaled, total = _on_one_scale(left, self.sources, total)
            totals[: len(scaled)] = scaled
        joined = np.concatenate([NO_NUMBERS, *totals])
        return arrays._replace(totals=joined, total=total, value_totals=by_value(joined, arrays))


def compile_rules(models: Sequence[PrivacyModel], table: EncodedTable) -> CompiledRules:
    """Compile `models` for a whole table; raises when a model does not fit an attribute, or no search can go by it.

    Records that are suppressed later still count in the whole table here, so distances to it may differ from those in
    the published table, whose own statistics judge the release in the end.
    """
    everybody = np.zeros(table.height, dtype=np.int32)
    whole = statistics_of(table, everybody, 1)
    if table.population is not None and table.population.nodes is not None:
        from sfumato.classes.population import people_at_top

        whole = replace(whole, population=people_at_top(table.population))
    names = [attribute.name for attribute in table.sensitive]
    rules = rules_of(models, table)
    looks = _columns_of(rules, whole)
    arrays = rule_arrays(rules, looks, table.height)
    places = [names.index(name) for name, _ in looks]
    used = [table.sensitive[place] for place in places]
    columns = [table.sensitive_codes[:, place] for place in places]
    if table.apart is not None:
        arrays, codes = of_people_apart(arrays, list(zip(columns, used, strict=True)), table.apart)
        return CompiledRules(arrays, codes, whole, tuple(rules), looks)
    if table.people is None:
        codes = _value_codes(columns, used, table.height, [_places(view, whole, name) for name, view in looks])
        return CompiledRules(*_with_population(arrays, codes, table.population), whole, tuple(rules), looks)
    sets = [table.people.sets[place] for place in places]
    arrays, codes = of_people(arrays, list(zip(columns, sets, used, strict=True)), table.people)
    return CompiledRules(arrays, codes, whole, tuple(rules), looks)


def compile_counted(
    models: Sequence[PrivacyModel], table: EncodedTable, occurrences: Sequence[NDArray[np.int64]]
) -> tuple[RuleArrays, ClassStatistics, list[tuple[int, NDArray[np.int32]]]]:
    """Compile `models` for a table whose sensitive values are counted already, `occurrences` of each code.

    Returns, besides, for each column of :attr:`CompiledRules.codes` its sensitive attribute and the value behind each
    code.
    """
    rules = rules_of(models, table)
    whole, value_of = {}, {}
    for attribute, counted in zip(table.sensitive, occurrences, strict=True):
        value_of[attribute.name], code_of = number_values(attribute, counted)
        totals, every = counted[code_of], np.arange(len(code_of), dtype=np.int32)
        whole[attribute.name] = counts_of(
            attribute, code_of, np.array([0, len(code_of)], dtype=np.int64), every, totals, totals
        )
    names = [attribute.name for attribute in table.sensitive]
    everybody = ClassStatistics(np.array([table.height], dtype=np.int64), whole)
    columns = _columns_of(rules, everybody)
    arrays = rule_arrays(rules, columns, table.height)
    values = [
        (names.index(name), _renumbered(value_of[name], _places(view, everybody, name))) for name, view in columns
    ]
    return arrays, everybody, values


def rules_of(models: Sequence[PrivacyModel], table: EncodedTable) -> list[Rule]:
    """Return all rules that may fail; refuse a model without any, or that merging breaks: no search satisfies it."""
    names = [attribute.name for attribute in table.sensitive]
    problems = [
        f"{model.name}: merging classes may break it, and every search relies on merging; leave the model out"
        for model in models
        if not says(model).survives_merging
    ]
    problems += [
        f"{model.name}: the original records that it compares with are not known here; choose another reference"
        for model in models
        if says(model).needs_original
    ]
    if table.population is None:
        problems += [
            f"{model.name}: speaks of people of a population, who are not known; give the table of the population"
            for model in of_population(models)
        ]
    found: list[Rule] = []
    for model in models:
        rules = model.rules(names)
        problems.extend(says(model).misfits(table.sensitive))
        if not rules:
            problems.append(f"{model.name}: has no rules for a search to use; give it rules that imply it")
        found.extend(rules)
    raise_all(PolicyError, problems)
    several = table.apart is not None or (table.people is not None and bool(np.any(table.people.records > 1)))
    behind = table.apart or table.people
    wishing = behind is not None and behind.wishes is not None
    wishing_l = table.people is not None and table.people.wished_l is not None
    # Where whole regions are published, whoever searches counts the people of each by itself.
    by_region = table.population is not None and table.population.nodes is not None
    traits = [TRAITS[rule.code] for rule in found]
    return [
        rule
        for rule, trait in zip(found, traits, strict=True)
        if (several or not trait.people)
        and (wishing or not trait.wishes)
        and (wishing_l or not trait.wished_l)
        and not (by_region and trait.population)
    ]


def _columns_of(rules: Sequence[Rule], whole: ClassStatistics) -> dict[Column, SensitiveCounts]:
    """Return the columns that rules look at, attribute by attribute, with all records as one class."""
    names = [rule.column for rule in rules if rule.attribute is not None]
    columns = [(name, view) for name in whole.sensitive for own, view in dict.fromkeys(names) if own == name]
    return {
        (name, view): whole.sensitive[name] if view is None else view.seen(whole.sensitive[name])
        for name, view in columns
    }


def _places(view: View | None, whole: ClassStatistics, name: str) -> NDArray[np.int64] | None:
    return None if view is None else view.numbering(whole.sensitive[name]).places


def _renumbered(value_of: NDArray[np.int32], places: NDArray[np.int64] | None) -> NDArray[np.int32]:
    if places is None:
        return value_of
    return np.where(value_of < 0, value_of, places[value_of]).astype(np.int32)


def _on_one_scale(
    sensitive: Mapping[Column, SensitiveCounts], rules: Sequence[Rule], total: int
) -> tuple[list[NDArray[np.int64]], int]:
    """Return the totals of columns so that those compared with add up to one number, and that number."""
    # Kernels know one size of the table. Declared shares add up to whatever they do: each is multiplied, so that
    # nothing is rounded. Refused where products would be too large for 64 bits.
    compared = {rule.column for rule in rules if TRAITS[rule.code].relative}
    masses = {
        column: int(counts.totals.sum()) if is_fixed(column) else total
        for column, counts in sensitive.items()
        if column in compared
    }
    if not any(is_fixed(column) for column in masses):
        return [counts.totals for counts in sensitive.values()], total
    common = math.lcm(*(max(mass, 1) for mass in masses.values()))
    if common * max(total, 1) >= _MOST_PRODUCT:
        raise PolicyError(
            f"reference: the shares are too fine for {total:,} records; round them to fewer digits, or let all models "
            "compare with the same records"
        )
    return [
        counts.totals * (common // max(masses[column], 1)) if column in masses else counts.totals
        for column, counts in sensitive.items()
    ], common


def rule_arrays(rules: Sequence[Rule], sensitive: Mapping[Column, SensitiveCounts], total: int) -> RuleArrays:
    """Lay rules out as arrays; histograms stand in the order of `sensitive`; `total`: records of the whole table."""
    columns = list(sensitive)
    fixed, guards = _marked([_with_code(rule, sensitive) for rule in rules], sensitive)
    trees = [
        flat_tree(counts) if any(TRAITS[rule.code].tree and rule.column == column for rule in fixed) else ([], [])
        for column, counts in sensitive.items()
    ]
    totals, total = _on_one_scale(sensitive, fixed, total)
    return RuleArrays(
        codes=np.array([rule.code for rule in fixed], dtype=np.int64),
        attributes=np.array([-1 if rule.attribute is None else columns.index(rule.column) for rule in fixed], np.int64),
        first=np.array([rule.first for rule in fixed], dtype=np.float64),
        second=np.array([rule.second for rule in fixed], dtype=np.float64),
        offsets=_offsets([len(part) for part in totals]),
        totals=np.concatenate([*totals, np.zeros(0, dtype=np.int64)]),
        total=total,
        tree_offsets=_offsets([len(parents) for parents, _ in trees]),
        parents=np.array([parent for parents, _ in trees for parent in parents], dtype=np.int64),
        weights=np.array([weight for _, weights in trees for weight in weights], dtype=np.float64),
        scratch_size=_scratch_size(fixed, [len(part) for part in totals], [len(parents) for parents, _ in trees]),
        guards=guards,
    )


def _with_code(rule: Rule, sensitive: Mapping[Column, SensitiveCounts]) -> Rule:
    if rule.attribute is None or rule.settle is None:
        return rule
    return replace(rule, code=rule.settle(sensitive[rule.column]))


def _marked(rules: Sequence[Rule], sensitive: Mapping[Column, SensitiveCounts]) -> tuple[list[Rule], NDArray[np.int64]]:
    """Give every rule on guarded values a bit, its `second`, and mark the values with it; int64 (v,), or empty."""
    found: list[Rule] = []
    marking = sum(rule.marks is not None for rule in rules)
    if marking > MOST_GUARDS:
        raise PolicyError(f"models: {marking} bounds on guarded values; at most {MOST_GUARDS} can be compiled")
    guards = {column: np.zeros(len(counts.totals), dtype=np.int64) for column, counts in sensitive.items()}
    for rule in rules:
        if rule.attribute is not None and rule.marks is not None:
            bit = sum(each.marks is not None for each in found)
            guards[rule.column] |= rule.marks(sensitive[rule.column]).astype(np.int64) << bit
            found.append(replace(rule, second=float(bit)))
        else:
            found.append(rule)
    return found, np.concatenate([NO_NUMBERS, *(guards.values() if marking else ())])


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _scratch_size(rules: Sequence[Rule], values: Sequence[int], nodes: Sequence[int]) -> int:
    leading = [min(int(rule.second), max(values)) for rule in rules if TRAITS[rule.code].leading]
    return max([1, *leading, *(2 * count for count in nodes)])


def _value_codes(
    columns: Sequence[NDArray[np.unsignedinteger]],
    attributes: Sequence[EncodedAttribute],
    height: int,
    places: Sequence[NDArray[np.int64] | None],
) -> NDArray[np.unsignedinteger]:
    numbered = []
    for codes, attribute, own in zip(columns, attributes, places, strict=True):
        value_of, _ = number_values(attribute, np.bincount(codes, minlength=attribute.cardinality))
        numbered.append(_renumbered(value_of, own)[codes])
    dtype = np.min_scalar_type(max((int(column.max(initial=0)) for column in numbered), default=0))
    return np.column_stack(numbered).astype(dtype) if numbered else np.zeros((height, 0), dtype=np.uint8)


Codes = NDArray[np.unsignedinteger]


def _with_population(
    rules: RuleArrays, codes: Codes, population: PeopleOfPopulation | None
) -> tuple[RuleArrays, Codes]:
    """Return rules that read a histogram more, of what records stand for, and its column; unchanged if none asks."""
    asks = np.array([TRAITS[code].population for code in rules.codes.tolist()], dtype=np.bool_)
    if population is None or not asks.any():
        return rules, codes
    numbers, numbered, records = np.unique(population.shares, return_inverse=True, return_counts=True)
    place = len(rules.offsets) - 1
    more = len(rules.totals) + len(numbers)
    arrays = rules._replace(
        attributes=np.where(asks, place, rules.attributes),
        offsets=np.append(rules.offsets, more),
        totals=np.append(rules.totals, records).astype(np.int64),
        tree_offsets=np.pad(rules.tree_offsets, (0, 1), mode="edge"),
        numbers=np.concatenate([np.zeros(len(rules.totals), dtype=np.int64), numbers.astype(np.int64)]),
        guards=np.pad(rules.guards, (0, len(numbers))) if len(rules.guards) else rules.guards,
    )
    width = max(int(codes.max(initial=0)), len(numbers))
    dtype = np.min_scalar_type(width)
    return arrays, np.column_stack([codes.astype(dtype), numbered.astype(dtype)])

"""Compiled rules about a population: kernels count how many of its people each record stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.predicates import RuleArrays
from sfumato.models.rule_traits import TRAITS
from sfumato.table.encoding import PeopleOfPopulation

Codes = NDArray[np.unsignedinteger]


def with_population(rules: RuleArrays, codes: Codes, population: PeopleOfPopulation | None) -> tuple[RuleArrays, Codes]:
    """Return rules that read one more histogram, of what records stand for, and its column beside `codes`.

    Both come back unchanged where no rule asks.
    """
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

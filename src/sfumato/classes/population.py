"""The people of a population whom records stand for, and those whom the regions of a generalization cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.partition import distinct_records, group_records
from sfumato.errors import SfumatoError
from sfumato.numbers import counted
from sfumato.table.encoding import EncodedAttribute, EncodedTable, PeopleOfPopulation, encode
from sfumato.table.reading import PopulationError, population_problems, value_keys
from sfumato.table.row_order import canonical_order
from sfumato.table.table import Table


def people_of_regions(
    population: PeopleOfPopulation, places: Sequence[int], levels: Sequence[int], regions: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Count the people of a population in each region, no two alike; int64 (c,). Cost O((c + m) · p) for m distinct."""
    assert population.nodes is not None
    people = np.column_stack(
        [
            population.nodes[place][level][population.codes[:, place]]
            for place, level in zip(places, levels, strict=True)
        ]
    )
    near = (people >= 0).all(axis=1)
    # Classes are numbered by first appearance, and the regions stand first.
    number_of, _ = group_records(np.concatenate([regions.astype(np.int32), people[near]]))
    found = number_of[len(regions) :]
    here = found < len(regions)
    weights = population.weights[near][here]
    return np.bincount(found[here], weights=weights, minlength=len(regions)).astype(np.int64)


def people_at_top(population: PeopleOfPopulation) -> NDArray[np.int64]:
    """Count the people whom the most general region covers; int64 (1,)."""
    assert population.nodes is not None
    places = range(len(population.nodes))
    levels = [len(nodes) - 1 for nodes in population.nodes]
    return people_of_regions(population, places, levels, np.zeros((1, len(levels)), dtype=np.int32))


def among_population(encoded: EncodedTable, table: Table, people: Table) -> EncodedTable:
    """Return an encoded table that knows its population, which must hold everybody who is in the table.

    People with the same values as some records are shared out among these as evenly as whole numbers allow, in an order
    that owes nothing to that of the input. Cost O((n + N) · q) for N people.
    """
    try:
        register = encode(people)
    except SfumatoError as error:
        raise population_problems(error) from None
    translated = [_translated(own, other) for own, other in zip(encoded.attributes, register.attributes, strict=True)]
    own = np.column_stack([codes[register.codes[:, place]] for place, codes in enumerate(translated)])
    near = (own >= 0).all(axis=1)
    numbered, count = group_records(np.concatenate([encoded.codes, own[near].astype(np.uint32)]))
    vector_of, other_of = numbered[: encoded.height], numbered[encoded.height :]
    there = np.bincount(other_of, minlength=count)
    _refuse_missing_people(vector_of, there)
    distinct, weights, _ = distinct_records(register.codes)
    population = PeopleOfPopulation(
        shares=_shared_out(vector_of, there, canonical_order(encoded, table)),
        codes=distinct,
        weights=weights,
        encoded=register.attributes,
    )
    return replace(encoded, population=population)


def _translated(own: EncodedAttribute, other: EncodedAttribute) -> NDArray[np.int64]:
    """Return the table's code of each code of the population, int64 (codes,); −1 where the table lacks the value."""
    codes = {label: code for code, label in enumerate(value_keys(own))}
    missing = own.size if own.has_missing else -1
    return np.array([*(codes.get(label, -1) for label in value_keys(other)), missing], dtype=np.int64)


def _refuse_missing_people(vector_of: NDArray[np.integer], there: NDArray[np.integer]) -> None:
    here = np.bincount(vector_of, minlength=len(there))
    few = (here > there)[vector_of]
    if few.any():
        raise PopulationError(
            f"population: the values of {counted(int(few.sum()), 'record')}, first in row {int(few.argmax()) + 1}, are "
            "in the table more often than in the population; it must hold everybody who is in the table, with values "
            "written in the same way"
        )


def _shared_out(
    vector_of: NDArray[np.integer], there: NDArray[np.integer], order: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Share the people of each vector out among its records, int64 (n,); the first in `order` take the rest."""
    records = np.bincount(vector_of, minlength=len(there))
    sorted_by = order[np.argsort(vector_of[order], kind="stable")]
    starts = np.cumsum(records) - records
    rank = np.empty(len(vector_of), dtype=np.int64)
    rank[sorted_by] = np.arange(len(vector_of)) - starts[vector_of[sorted_by]]
    each, over = np.divmod(there[vector_of], records[vector_of])  # every vector here has a record
    shares: NDArray[np.int64] = each + (rank < over)
    return shares

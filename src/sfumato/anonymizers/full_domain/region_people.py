"""The people of a population in the classes of a node, grouped as the records are.

Whoever has the values of a record is in its class on every node. So the population is grouped by itself, and each class
asks for the group of somebody who is like one of its records: nothing is compared between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.full_domain.weighted_records import (
    Grouping,
    LevelTables,
    WeightedRecords,
    alone,
    grouped,
)
from sfumato.classes.grouping import group_records
from sfumato.hierarchy.lattice import Levels
from sfumato.table.encoding import PeopleOfPopulation

KEPT = 32
"""Nodes on which people stay put together at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class RegionPeople:
    """A population that is laid out like the records of a search.

    Attributes
    ----------
    people : WeightedRecords
        Distinct people, as codes of their own.
    tables : LevelTables
        The table's node of each code on each level, or one more that stands for none.
    like : numpy.ndarray
        Integers (m,): for each record on the bottom of the lattice, somebody with its values.
    kept : dict
        The same with people put together on some levels.
    """

    people: WeightedRecords
    tables: LevelTables
    like: NDArray[np.integer]
    kept: dict[Levels, RegionPeople] = field(default_factory=dict)

    @classmethod
    def of(
        cls, population: PeopleOfPopulation, records: WeightedRecords, domains: tuple[DomainLevels, ...]
    ) -> RegionPeople:
        """Lay a population out whose nodes are known. Cost O((m + people) · q)."""
        assert population.nodes is not None
        nodes = [
            np.where(own < 0, domain.counts[:, None].astype(np.int64), own)
            for own, domain in zip(population.nodes, domains, strict=True)
        ]
        sizes = np.array([own.size for own in nodes], dtype=np.int64)
        tables = LevelTables(
            heights=tuple(domain.height for domain in domains),
            starts=np.cumsum(sizes) - sizes,
            widths=np.array([own.shape[1] for own in nodes], dtype=np.int64),
            nodes=np.concatenate([own.ravel() for own in nodes]),
            bits=tuple(tuple(int(count).bit_length() for count in domain.counts) for domain in domains),
        )
        return cls(alone(population.codes, population.weights), tables, _like(population, records, domains))

    def of_classes(self, records: WeightedRecords, groups: Grouping, levels: Levels) -> NDArray[np.int64]:
        """Count the people of each class on `levels`, int64 (c,). Cost O(people · q + c)."""
        together = self._put_together(records.levels)
        found = grouped(together.people, self.tables, levels)
        counted: NDArray[np.int64] = found.sizes[found.class_of[together.like[records.origin[groups.firsts]]]]
        return counted

    def _put_together(self, levels: Levels) -> RegionPeople:
        """Put people together who are equal on levels on which records have been put together; kept for later."""
        if not any(levels):
            return self
        if levels not in self.kept:
            found = grouped(self.people, self.tables, levels)
            people = self.people.take(found.firsts, found.sizes, levels)
            if len(self.kept) >= KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[levels] = RegionPeople(people, self.tables, found.class_of[self.like])
        return self.kept[levels]


def _like(
    population: PeopleOfPopulation, records: WeightedRecords, domains: tuple[DomainLevels, ...]
) -> NDArray[np.integer]:
    """Find, for each record, somebody of the population with its values, of whom there is one at least."""
    assert population.nodes is not None
    own = np.column_stack([domain.node_of[0][records.codes[:, place]] for place, domain in enumerate(domains)]).astype(
        np.int32
    )
    people = np.column_stack([nodes[0][population.codes[:, place]] for place, nodes in enumerate(population.nodes)])
    near = np.flatnonzero((people >= 0).all(axis=1))
    number_of, count = group_records(np.concatenate([own, people[near].astype(np.int32)]))
    somebody = np.zeros(count, dtype=np.int64)
    somebody[number_of[len(own) :]] = near
    return somebody[number_of[: len(own)]]

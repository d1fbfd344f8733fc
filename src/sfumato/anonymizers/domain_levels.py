"""The levels that an attribute can be published on as a whole, as tables over codes; and solutions made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.classes.regions import Regions
from sfumato.hierarchy.lattice import Lattice
from sfumato.hierarchy.tree import ROOT
from sfumato.table.encoding import EncodedAttribute, EncodedTable

Table = NDArray[np.int32]
Tables = tuple[Table, Table, Table, Table]


@dataclass(frozen=True, eq=False, repr=False)
class DomainLevels:
    """What every code of one attribute becomes on every level.

    An attribute without a hierarchy has two levels, the value and ``*``. The missing value is a node of its own on
    every level below the top, and part of ``*`` on the top.

    Letters: h height, d codes (the missing value's among them where it occurs).

    Attributes
    ----------
    attribute : EncodedAttribute
    node_of : numpy.ndarray
        int32 (h + 1, d): number of the node that each code belongs to, counted on each level from 0 in code order.
    low, high : numpy.ndarray
        int32 (h + 1, d): first and last code of that node, as :class:`~sfumato.classes.regions.Regions` writes them.
    leaves : numpy.ndarray
        int32 (h + 1, d): original values that the node stands for; ``attribute.domain_size`` on the top.
    """

    attribute: EncodedAttribute
    node_of: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    leaves: NDArray[np.int32]

    @property
    def height(self) -> int:
        """Height h of the hierarchy; 1 without one."""
        return len(self.node_of) - 1

    @property
    def counts(self) -> NDArray[np.int32]:
        """Number of nodes on each level, int32 (h + 1,)."""
        counts: NDArray[np.int32] = self.node_of.max(axis=1) + np.int32(1)
        return counts


def domain_levels(table: EncodedTable) -> tuple[DomainLevels, ...]:
    """Return the levels of each quasi-identifying attribute. Cost O(h · d) each."""
    return tuple(_levels(attribute) for attribute in table.attributes)


def lattice_of(domains: Sequence[DomainLevels]) -> Lattice:
    """Return the lattice of all combinations of levels."""
    return Lattice(tuple(domain.height for domain in domains))


def notes_on(domains: Sequence[DomainLevels]) -> tuple[str, ...]:
    """Say which attributes had no hierarchy and were given two levels."""
    return two_level_notes(domain.attribute for domain in domains if domain.attribute.hierarchy is None)


def two_level_notes(bare: Iterable[EncodedAttribute]) -> tuple[str, ...]:
    """Say that attributes without a hierarchy were given two levels; nothing where there are none."""
    names = ", ".join(repr(attribute.name) for attribute in bare)
    if not names:
        return ()
    return (f"No hierarchy for {names}: two levels, the value and *; give one to generalize in smaller steps.",)


def generalized_codes(
    codes: NDArray[np.unsignedinteger], domains: Sequence[DomainLevels], levels: Sequence[int]
) -> NDArray[np.int32]:
    """Replace every code by its node on the chosen level of its attribute; int32 of the shape of `codes` (m, q)."""
    return np.column_stack(
        [
            domain.node_of[level][codes[:, place]]
            for place, (domain, level) in enumerate(zip(domains, levels, strict=True))
        ]
    )


def full_domain_classes(
    table: EncodedTable, domains: Sequence[DomainLevels], levels: Sequence[int]
) -> tuple[NDArray[np.int32], int, Regions]:
    """Group the records of a table that are equal on the chosen levels.

    Returns
    -------
    class_of : numpy.ndarray
        int32 (n,), numbered in order of first appearance.
    count : int
        Number of classes c.
    regions : Regions
        What each class publishes.

    Notes
    -----
    Cost O(n · q).
    """
    class_of, count = group_records(generalized_codes(table.codes, domains, levels))
    firsts = np.empty(count, dtype=np.int64)
    firsts[class_of[::-1]] = np.arange(len(class_of))[::-1]
    return class_of, count, regions_at(table.codes[firsts], domains, [np.full(count, level) for level in levels])


def regions_at(
    codes: NDArray[np.unsignedinteger], domains: Sequence[DomainLevels], levels: Sequence[NDArray[np.integer]]
) -> Regions:
    """Return the regions of classes on levels of their own.

    Parameters
    ----------
    codes
        Unsigned (c, q): codes of one record of each class.
    domains
        Length q.
    levels
        For each attribute, the level of each class, integers (c,).
    """
    columns = list(enumerate(zip(domains, levels, strict=True)))
    low = np.column_stack([domain.low[level, codes[:, place]] for place, (domain, level) in columns])
    high = np.column_stack([domain.high[level, codes[:, place]] for place, (domain, level) in columns])
    missing = np.column_stack([codes[:, place] >= domain.attribute.size for place, (domain, _) in columns])
    steps = np.column_stack([_steps(domain, level) for _, (domain, level) in columns])
    # The missing value stands on no level but the top.
    return Regions(low, high, np.where(missing & (low == high), 0, steps).astype(np.int32))


def without_classes(
    class_of: NDArray[np.int32], kept: NDArray[np.bool_], regions: Regions, notes: tuple[str, ...] = ()
) -> Partition:
    """Return the solution that suppresses every class but the `kept` ones; bool (c,)."""
    everybody = Partition(class_of, len(kept), regions=regions, notes=notes)
    if kept.all():
        return everybody
    number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
    return everybody.renumbered(number, int(np.count_nonzero(kept)))


def _steps(domain: DomainLevels, level: NDArray[np.integer]) -> NDArray[np.integer]:
    hierarchy = domain.attribute.hierarchy
    steps: NDArray[np.integer] = np.minimum(level, hierarchy.height if hierarchy is not None else 0)
    return steps


def _levels(attribute: EncodedAttribute) -> DomainLevels:
    tables = _bare_levels(attribute) if _is_bare(attribute) else _hierarchy_levels(attribute)
    return DomainLevels(attribute, *(_with_missing(*tables, attribute.size) if attribute.has_missing else tables))


def _is_bare(attribute: EncodedAttribute) -> bool:
    return attribute.hierarchy is None or attribute.hierarchy.height == 0


def _bare_levels(attribute: EncodedAttribute) -> Tables:
    values, zeros, size = np.arange(attribute.size, dtype=np.int32), np.zeros(attribute.size, np.int32), attribute.size
    leaves = np.stack([zeros + 1, zeros + attribute.domain_size])
    return np.stack([values, zeros]), np.stack([values, zeros]), np.stack([values, zeros + size]), leaves


def _hierarchy_levels(attribute: EncodedAttribute) -> Tables:
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    starts = [np.asarray(level.starts, dtype=np.int32) for level in hierarchy.levels]
    low = np.stack([start[nodes] for start, nodes in zip(starts, hierarchy.node_of, strict=True)])
    high = np.stack([start[nodes + 1] - 1 for start, nodes in zip(starts, hierarchy.node_of, strict=True)])
    # A root of another name is published by its name, unless it has to cover the missing value too.
    if attribute.has_missing or hierarchy.levels[-1].labels[0] == ROOT:
        high[-1] = attribute.size
    return hierarchy.node_of, low, high, hierarchy.leaf_counts


def _with_missing(node_of: Table, low: Table, high: Table, leaves: Table, size: int) -> Tables:
    """Add the missing value's column: a node of its own, and on the top the node of all."""
    own = node_of.max(axis=1, initial=-1) + 1
    own[-1] = 0
    first, last, alone = (np.full(len(node_of), value, dtype=np.int32) for value in (size, size, 1))
    first[-1] = 0
    alone[-1] = leaves[-1].max(initial=1)
    parts = ((node_of, own), (low, first), (high, last), (leaves, alone))
    node_of, low, high, leaves = (np.column_stack([part, column]).astype(np.int32) for part, column in parts)
    return node_of, low, high, leaves

"""The levels that an attribute can be published on as a whole, as tables over codes; and records grouped on them.

Records are distinct ones with weights. Solutions are made of their classes on a node of the lattice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.partition import Partition, Regions, distinct_records, group_records
from sfumato.hierarchy.lattice_search import Lattice, Levels
from sfumato.hierarchy.tree import ROOT
from sfumato.kernels.full_domain import classes_at
from sfumato.kernels.grouping import KEY_BITS
from sfumato.table.encoding import EncodedAttribute, EncodedTable

Table = NDArray[np.int32]

_Tables = tuple[Table, Table, Table, Table]

Numbers = NDArray[np.int32]

NONE = np.zeros(0, dtype=np.int32)

_NO_LABELS = np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True, eq=False, repr=False)
class DomainLevels:
    """What every code of one attribute becomes on every level: its node, counted in code order, and that one's codes.

    Without a hierarchy there are two, the value and ``*``. The missing value is a node of its own below the top. Each
    int32 (h + 1, d); `leaves`: original values of the node, ``attribute.domain_size`` on the top.
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
    """Group records that are equal on the chosen levels: classes by first appearance, how many, and regions.

    Cost O(n · q).
    """
    class_of, count = group_records(generalized_codes(table.codes, domains, levels))
    firsts = np.empty(count, dtype=np.int64)
    firsts[class_of[::-1]] = np.arange(len(class_of))[::-1]
    return class_of, count, regions_at(table.codes[firsts], domains, [np.full(count, level) for level in levels])


def regions_at(
    codes: NDArray[np.unsignedinteger], domains: Sequence[DomainLevels], levels: Sequence[NDArray[np.integer]]
) -> Regions:
    """Return the regions of classes on `levels` of their own, by the codes of one record of each."""
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


def _bare_levels(attribute: EncodedAttribute) -> _Tables:
    values, zeros, size = np.arange(attribute.size, dtype=np.int32), np.zeros(attribute.size, np.int32), attribute.size
    leaves = np.stack([zeros + 1, zeros + attribute.domain_size])
    return np.stack([values, zeros]), np.stack([values, zeros]), np.stack([values, zeros + size]), leaves


def _hierarchy_levels(attribute: EncodedAttribute) -> _Tables:
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    starts = [np.asarray(level.starts, dtype=np.int32) for level in hierarchy.levels]
    low = np.stack([start[nodes] for start, nodes in zip(starts, hierarchy.node_of, strict=True)])
    high = np.stack([start[nodes + 1] - 1 for start, nodes in zip(starts, hierarchy.node_of, strict=True)])
    # A root of another name is published by its name, unless it has to cover the missing value too.
    if attribute.has_missing or hierarchy.levels[-1].labels[0] == ROOT:
        high[-1] = attribute.size
    return hierarchy.node_of, low, high, hierarchy.leaf_counts


def _with_missing(node_of: Table, low: Table, high: Table, leaves: Table, size: int) -> _Tables:
    """Add the missing value's column: a node of its own, and on the top the node of all."""
    own = node_of.max(axis=1, initial=-1) + 1
    own[-1] = 0
    first, last, alone = (np.full(len(node_of), value, dtype=np.int32) for value in (size, size, 1))
    first[-1] = 0
    alone[-1] = leaves[-1].max(initial=1)
    parts = ((node_of, own), (low, first), (high, last), (leaves, alone))
    node_of, low, high, leaves = (np.column_stack([part, column]).astype(np.int32) for part, column in parts)
    return node_of, low, high, leaves


@dataclass(frozen=True, eq=False, repr=False)
class LevelTables:
    """The level tables of all attributes in one flat array, as kernels read them.

    The node of code ``d`` of attribute ``a`` on level ``h`` stands at ``starts[a] + h · widths[a] + d`` of `nodes`.
    `bits`: those that a node takes.
    """

    heights: Levels
    starts: NDArray[np.int64]
    widths: NDArray[np.int64]
    nodes: NDArray[np.int64]
    bits: tuple[tuple[int, ...], ...]

    def at(self, levels: Sequence[int]) -> NDArray[np.int64]:
        """Return where the rows of the chosen levels begin, int64 (q,)."""
        rows: NDArray[np.int64] = self.starts + np.array(levels, dtype=np.int64) * self.widths
        return rows


def level_tables(domains: Sequence[DomainLevels]) -> LevelTables:
    """Lay the level tables of all attributes out. Cost O(e)."""
    sizes = np.array([domain.node_of.size for domain in domains], dtype=np.int64)
    return LevelTables(
        heights=tuple(domain.height for domain in domains),
        starts=np.cumsum(sizes) - sizes,
        widths=np.array([domain.node_of.shape[1] for domain in domains], dtype=np.int64),
        nodes=np.concatenate([domain.node_of.ravel() for domain in domains]).astype(np.int64),
        bits=tuple(tuple(int(count - 1).bit_length() for count in domain.counts) for domain in domains),
    )


@dataclass(frozen=True, eq=False, repr=False)
class WeightedRecords:
    """Records that may stand for several: equal ones, or those that are equal on `levels`, on which classes are told.

    Each of m has `codes` of one of them, `weights`, sensitive `values` that models look at, which are equal, the number
    of their combination, one `origin` on the bottom, and `labels` that records should agree on. `gone`: records that
    every node that is still looked at suppresses.
    """

    levels: Levels
    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    values: NDArray[np.unsignedinteger]
    vector_of: Numbers
    origin: Numbers
    gone: int = 0
    labels: NDArray[np.unsignedinteger] = field(default_factory=lambda: _NO_LABELS)

    @property
    def height(self) -> int:
        """Number of records m."""
        return len(self.codes)

    def take(self, records: NDArray[np.integer], weights: NDArray[np.int64], levels: Levels) -> WeightedRecords:
        """Return some records with other weights, put together on `levels`."""
        vector_of = self.vector_of[records] if len(self.vector_of) else NONE
        gone = self.gone + int(self.weights.sum()) - int(weights.sum())
        codes, values = np.take(self.codes, records, axis=0), np.take(self.values, records, axis=0)
        labels = self.labels[records] if len(self.labels) else _NO_LABELS
        return WeightedRecords(levels, codes, weights, values, vector_of, self.origin[records], gone, labels)


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """Classes of weighted records: `class_of`, int32 (m,); `firsts`, int32 (c,), first records; `sizes`, int64 (c,)."""

    class_of: Numbers
    firsts: Numbers
    sizes: NDArray[np.int64]


def labelled_records(
    codes: NDArray[np.unsignedinteger], values: NDArray[np.unsignedinteger], labels: NDArray[np.unsignedinteger]
) -> tuple[WeightedRecords, Numbers]:
    """Collapse records as :func:`weighted_records`, but only those of one label; unsigned (n,)."""
    together, record_of = weighted_records(codes, np.column_stack([values, labels]))
    own = np.ascontiguousarray(together.values[:, :-1])
    return replace(together, values=own, labels=together.values[:, -1].astype(np.uint32)), record_of


def weighted_records(
    codes: NDArray[np.unsignedinteger], values: NDArray[np.unsignedinteger]
) -> tuple[WeightedRecords, Numbers]:
    """Collapse records equal in all that counts; and the number of each original record's. Cost O(n · (q + s))."""
    bottom = (0,) * codes.shape[1]
    if not values.shape[1]:
        distinct, weights, record_of = distinct_records(codes)
        return plain_records(distinct, weights), record_of
    distinct, weights, record_of = distinct_records(np.column_stack([codes, values]))
    quasi, sensitive = np.split(distinct, [codes.shape[1]], axis=1)
    vectors = np.ascontiguousarray(sensitive, dtype=np.uint32)
    origin = np.arange(len(quasi), dtype=np.int32)
    return WeightedRecords(bottom, _plain(quasi), weights, vectors, group_records(vectors)[0], origin), record_of


def plain_records(codes: NDArray[np.unsignedinteger], weights: NDArray[np.int64]) -> WeightedRecords:
    """Return distinct records of which no sensitive value is looked at; unsigned (m, q) and int64 (m,)."""
    nothing = np.zeros((len(codes), 0), np.uint32)
    origin = np.arange(len(codes), dtype=np.int32)
    return WeightedRecords((0,) * codes.shape[1], _plain(codes), weights, nothing, NONE, origin)


def _plain(codes: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """Return codes in one of two widths: every width has kernels of its own, which take long to compile."""
    return np.ascontiguousarray(codes, dtype=np.uint32 if codes.itemsize > 2 else np.uint16)


def group_weighted(records: WeightedRecords, tables: LevelTables, levels: Levels) -> Grouping:
    """Group records that are equal on `levels`. Cost O(m · q)."""
    return _grouped(records, tables, levels, NONE, range(len(levels)))


def regroup_weighted(
    records: WeightedRecords, tables: LevelTables, levels: Levels, coarser: Numbers, changed: Sequence[int]
) -> Grouping:
    """Group records on `levels` from their classes on a generalization that differs in the `changed` attributes."""
    return _grouped(records, tables, levels, coarser, changed)


def roll_records_up(records: WeightedRecords, tables: LevelTables, levels: Levels) -> tuple[WeightedRecords, Numbers]:
    """Put records together that are equal on `levels` and in sensitive values; return them, and the first of each."""
    groups = _grouped(records, tables, levels, records.vector_of, range(len(levels)))
    return records.take(groups.firsts, groups.sizes, levels), groups.firsts


def _grouped(
    records: WeightedRecords, tables: LevelTables, levels: Levels, prefix: Numbers, columns: Sequence[int]
) -> Grouping:
    """Group by keys of at most 62 bits; wider ones in several runs, each by the groups of the one before."""
    at = tables.at(levels)
    used = _bits_of(prefix)
    run: list[int] = []
    shifts: list[int] = []
    for column in columns:
        width = tables.bits[column][levels[column]]
        if used + width > KEY_BITS:
            prefix = _run(records, tables, at, prefix, run, shifts, used).class_of
            used, run, shifts = _bits_of(prefix), [], []
        if width:
            run.append(column)
            shifts.append(used)
            used += width
    return _run(records, tables, at, prefix, run, shifts, used)


def _bits_of(prefix: Numbers) -> int:
    return int(prefix.max(initial=0)).bit_length()


def _run(
    records: WeightedRecords,
    tables: LevelTables,
    at: NDArray[np.int64],
    prefix: Numbers,
    columns: list[int],
    shifts: list[int],
    bits: int,
) -> Grouping:
    chosen, places = np.array(columns, dtype=np.int64), np.array(shifts, dtype=np.int64)
    return Grouping(*classes_at(records.codes, records.weights, prefix, chosen, at, places, bits, tables.nodes))

"""Distinct records with weights, and how full-domain generalization groups them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.classes.grouping import distinct_records, group_records
from sfumato.hierarchy.lattice import Levels
from sfumato.kernels.full_domain.full_domain import classes_at
from sfumato.kernels.grouping import KEY_BITS

Numbers = NDArray[np.int32]
NONE = np.zeros(0, dtype=np.int32)
NO_LABELS = np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True, eq=False, repr=False)
class LevelTables:
    """The level tables of all attributes in one flat array, as kernels read them.

    Letters: q attributes, e entries of all tables together.

    Attributes
    ----------
    heights : tuple of int
        Length q.
    starts, widths : numpy.ndarray
        int64 (q,): where the table of each attribute starts, and how many codes it has.
    nodes : numpy.ndarray
        int64 (e,): the node of code ``d`` of attribute ``a`` on level ``h`` stands at
        ``starts[a] + h · widths[a] + d``.
    bits : tuple of tuple of int
        Bits that a node of each attribute takes, on each level.
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
    """Records that may stand for several: equal ones, or those that are equal on some levels.

    Letters: m records here, q quasi-identifying attributes, s sensitive attributes that some model looks at.

    Attributes
    ----------
    levels : tuple of int
        Node of the lattice on which records have been put together; classes can be told on it and above.
    codes : numpy.ndarray
        unsigned (m, q): codes of one original record of each.
    weights : numpy.ndarray
        int64 (m,): original records that each stands for.
    values : numpy.ndarray
        unsigned (m, s): sensitive values, which are equal for all that one stands for.
    vector_of : numpy.ndarray
        int32 (m,): number of the combination of sensitive values; empty without sensitive attributes.
    origin : numpy.ndarray
        int32 (m,): one of the records on the bottom of the lattice that each stands for.
    labels : numpy.ndarray
        unsigned (m,): what records should agree on, which is equal for all that one stands for; empty without.
    gone : int
        Original records that are not among them any more, because every node that is still looked at suppresses them.
    """

    levels: Levels
    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    values: NDArray[np.unsignedinteger]
    vector_of: Numbers
    origin: Numbers
    gone: int = 0
    labels: NDArray[np.unsignedinteger] = field(default_factory=lambda: NO_LABELS)

    @property
    def height(self) -> int:
        """Number of records m."""
        return len(self.codes)

    def take(self, records: NDArray[np.integer], weights: NDArray[np.int64], levels: Levels) -> WeightedRecords:
        """Return some records with other weights, put together on `levels`."""
        vector_of = self.vector_of[records] if len(self.vector_of) else NONE
        gone = self.gone + int(self.weights.sum()) - int(weights.sum())
        codes, values = np.take(self.codes, records, axis=0), np.take(self.values, records, axis=0)
        labels = self.labels[records] if len(self.labels) else NO_LABELS
        return WeightedRecords(levels, codes, weights, values, vector_of, self.origin[records], gone, labels)


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """Classes of weighted records on one node.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (m,).
    firsts : numpy.ndarray
        int32 (c,): first record of each class.
    sizes : numpy.ndarray
        int64 (c,): weight of each class.
    """

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
    """Collapse records that are equal on all attributes and on the sensitive values that models look at.

    Returns the distinct records, and the number of each original record's, int32 (n,). Cost O(n · (q + s)).
    """
    bottom = (0,) * codes.shape[1]
    if not values.shape[1]:
        distinct, weights, record_of = distinct_records(codes)
        return alone(distinct, weights), record_of
    distinct, weights, record_of = distinct_records(np.column_stack([codes, values]))
    quasi, sensitive = np.split(distinct, [codes.shape[1]], axis=1)
    vectors = np.ascontiguousarray(sensitive, dtype=np.uint32)
    origin = np.arange(len(quasi), dtype=np.int32)
    return WeightedRecords(bottom, _plain(quasi), weights, vectors, group_records(vectors)[0], origin), record_of


def alone(codes: NDArray[np.unsignedinteger], weights: NDArray[np.int64]) -> WeightedRecords:
    """Return distinct records of which no sensitive value is looked at; unsigned (m, q) and int64 (m,)."""
    nothing = np.zeros((len(codes), 0), np.uint32)
    origin = np.arange(len(codes), dtype=np.int32)
    return WeightedRecords((0,) * codes.shape[1], _plain(codes), weights, nothing, NONE, origin)


def _plain(codes: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """Return codes in one of two widths: every width has kernels of its own, which take long to compile."""
    return np.ascontiguousarray(codes, dtype=np.uint32 if codes.itemsize > 2 else np.uint16)


def grouped(records: WeightedRecords, tables: LevelTables, levels: Levels) -> Grouping:
    """Group records that are equal on `levels`. Cost O(m · q)."""
    return _grouped(records, tables, levels, NONE, range(len(levels)))


def regrouped(
    records: WeightedRecords, tables: LevelTables, levels: Levels, coarser: Numbers, changed: Sequence[int]
) -> Grouping:
    """Group records on `levels` from their classes on a generalization that differs in the `changed` attributes."""
    return _grouped(records, tables, levels, coarser, changed)


def rolled_up(records: WeightedRecords, tables: LevelTables, levels: Levels) -> tuple[WeightedRecords, Numbers]:
    """Put records together that are equal on `levels` and in their sensitive values.

    Returns the new records, and for each the first old one that it stands for.
    """
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

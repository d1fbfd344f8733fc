"""The regions that cuts leave to classes, from what a partitioning kernel noted of each cut."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.classes.regions import Regions
from sfumato.kernels.boxes import class_boxes
from sfumato.kernels.mondrian.cut_regions import narrow_ranges, narrow_sets, occurring
from sfumato.kernels.space import SET, Space
from sfumato.table.encoding import EncodedAttribute, EncodedTable


def regions_of(table: EncodedTable, partition: Partition, cuts: NDArray[np.int64]) -> Regions:
    """Return what the cuts leave to each class: regions that cover every value of the table's columns together.

    A range between two sides of a cut ends where the hierarchy has its highest border between them, or in the middle of
    the codes that neither side has. Missing values are covered only where a class has one: a class that mixes missing
    and present values covers everything, as always.

    Parameters
    ----------
    table
        n records, q attributes.
    partition
        c classes, numbered as the cuts laid them out.
    cuts
        int64 (b, 4): attribute, first class, first class on the right, end of the classes.

    Notes
    -----
    Cost O(n q + c · depth), for attributes without order times their values; memory two bytes for each class and value
    of an attribute without order.
    """
    space, attributes = space_of(table.attributes), table.attributes
    tight = np.stack(class_boxes(partition.covered_by, table.codes, partition.count)).astype(np.int64)
    low, high = np.zeros_like(tight[0], dtype=np.int32), np.zeros_like(tight[0], dtype=np.int32)
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    high[:] = [attribute.cardinality - 1 for attribute in attributes]
    ranged = space.kinds[cuts[:, 0]] != SET
    narrow_ranges(cuts[ranged], tight, _border_heights(attributes, space), space.offsets, sizes, low, high)
    level = np.zeros_like(low)
    for index, attribute in enumerate(attributes):
        _settle(attribute, tight[:, :, index], low[:, index], high[:, index], level[:, index])
    return Regions(low, high, level, _sets(table, partition, cuts, space), between=True)


def _border_heights(attributes: tuple[EncodedAttribute, ...], space: Space) -> NDArray[np.int32]:
    """Count after each code the levels of the hierarchy on which the next one is in another node."""
    heights = np.zeros(int(space.offsets[-1]), dtype=np.int32)
    for attribute, first in zip(attributes, space.offsets, strict=False):
        if attribute.hierarchy is not None and attribute.size > 1:
            crossed = (np.diff(attribute.hierarchy.node_of, axis=1) != 0).sum(axis=0)
            heights[first : first + attribute.size - 1] = crossed
    return heights


def _settle(
    attribute: EncodedAttribute,
    tight: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    level: NDArray[np.int32],
) -> None:
    """Turn ranges of one attribute into what can be published: nodes, and missing values apart; in place, (c,) each."""
    size = attribute.size
    missing, mixed = tight[0] == size, (tight[0] < size) & (tight[1] == size)
    high[:] = np.minimum(high, max(0, size - 1))
    if attribute.hierarchy is not None:
        inner = np.flatnonzero((low < high) & ~missing)
        level[inner] = attribute.hierarchy.common_ancestor(low[inner], high[inner])
        for step in np.unique(level[inner]):
            there = inner[level[inner] == step]
            starts = np.asarray(attribute.hierarchy.levels[step].starts, dtype=np.int32)
            nodes = attribute.hierarchy.node_of[step, low[there]]
            low[there], high[there] = starts[nodes], starts[nodes + 1] - 1
        level[mixed], level[missing] = attribute.hierarchy.height, 0
    low[mixed], high[mixed] = 0, size
    low[missing] = high[missing] = size


def _sets(
    table: EncodedTable, partition: Partition, cuts: NDArray[np.int64], space: Space
) -> Mapping[int, NDArray[np.bool_]]:
    sets = {}
    for index in np.flatnonzero(space.kinds == SET).tolist():
        width = table.attributes[index].size + 1
        found = np.zeros((partition.count, width), dtype=np.bool_)
        occurring(partition.covered_by, table.codes[:, index], found)
        allowed = np.ones_like(found)
        allowed[:, -1] = table.attributes[index].has_missing
        buffers = np.zeros((2, width), dtype=np.bool_)
        narrow_sets(cuts[cuts[:, 0] == index], found, buffers[0], buffers[1], allowed)
        sets[index] = allowed
    return sets

"""Distances of the clustering kernels, one at a time, as the package computes them within its loops."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.caat import class_gap, enter_hull, new_hulls
from sfumato.kernels.clustering.class_members import ClassLoss, range_loss
from sfumato.kernels.clustering.kaca import _range_of
from sfumato.kernels.clustering.similarity import Chain, Measure, PrefixTree, chain_distances, new_walk, stand_on
from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Codes, Floats, Int64s


@kernel
def box_distances(codes: Codes, members: Int64s, others: Int64s, loss: ClassLoss) -> float:
    """Return the distortion of all records of two classes, int64 records of `codes` (m, q), when they share a box."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low, high = _range_of(codes, members, attribute)
        least, most = _range_of(codes, others, attribute)
        together = range_loss(attribute, min(low, least), max(high, most), loss)
        total += len(members) * (together - range_loss(attribute, low, high, loss))
        total += len(others) * (together - range_loss(attribute, least, most, loss))
    return total


@kernel
def gaps_to_class(codes: Codes, members: Int64s, others: Int64s, rule: int, loss: ClassLoss) -> Floats:
    """Return the distances of the records `others` to the class of the records `members`; float64 (o,)."""
    hulls = new_hulls(1, loss)
    stale = np.zeros(len(loss.kinds), np.bool_)
    for record in members:
        enter_hull(codes, record, 1, 0, rule, loss, hulls, stale)
    gaps = np.empty(len(others))
    for place in range(len(others)):
        gaps[place] = class_gap(codes, others[place], 0, rule, loss, hulls)
    return gaps


@kernel
def distances_from(record: int, tree: PrefixTree, measure: Measure, chain: Chain) -> None:
    """Fill ``measure.apart`` with the distances of all categorical values from those of a distinct record."""
    walk = new_walk(len(measure.own))
    stand_on(record, tree, measure, walk)
    chain_distances(tree, measure, chain, walk)

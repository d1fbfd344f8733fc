"""Distances between two distributions over the values of one attribute."""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.hierarchy.tree import Hierarchy


def total_variation(one: Floats, other: Floats) -> float:
    """Return ½ Σ |p − q|, in [0, 1]: the share of the records that would have to change."""
    return float(np.abs(one - other).sum() / 2)


def earth_mover_over_numbers(one: Floats, other: Floats, numbers: Floats) -> float:
    """Return the work of moving one distribution over rising numbers to the other, over the width of all, in [0, 1]."""
    width = numbers[-1] - numbers[0]
    if width <= 0:
        return 0.0
    ahead = np.abs(np.cumsum(one - other))[:-1]
    return float((ahead * np.diff(numbers)).sum() / width)


def earth_movers(one: Floats, other: Floats, domain: Domain) -> Floats:
    """Return the earth mover's distance of t-closeness between rows of distributions over codes.

    It is over ranks for numbers (codes rise with them), over the hierarchy if there is one, and otherwise any two
    values are equally far apart.

    Parameters
    ----------
    one, other
        float64 (y, size), rows sum to 1.
    domain
        The attribute.

    Returns
    -------
    numpy.ndarray
        float64 (y,), in [0, 1].
    """
    extra = one - other
    if domain.attribute.hierarchy is not None:
        return _over_hierarchy(extra, domain.attribute.hierarchy)
    if domain.attribute.is_numeric:
        steps = max(extra.shape[1] - 1, 1)
        ordered: Floats = np.abs(np.cumsum(extra, axis=1))[:, :-1].sum(axis=1) / steps
        return ordered
    equal: Floats = np.abs(extra).sum(axis=1) / 2
    return equal


def jensen_shannon(one: Floats, other: Floats) -> Floats:
    """Return ½ KL(P‖M) + ½ KL(Q‖M) with M halfway, for rows of distributions; in [0, ln 2], natural logarithm."""
    middle = (one + other) / 2
    return np.maximum((_divergence(one, middle) + _divergence(other, middle)) / 2, 0.0)


def _divergence(one: Floats, other: Floats) -> Floats:
    ratio = np.divide(one, other, out=np.ones(np.broadcast_shapes(one.shape, other.shape)), where=one > 0)
    terms: Floats = (one * np.log(ratio)).sum(axis=-1)
    return terms


def _over_hierarchy(extra: Floats, hierarchy: Hierarchy) -> Floats:
    """Move surplus between the children of each node, level by level; a step at level j costs j over the height."""
    moved = np.zeros(len(extra))
    below = extra
    starts = np.arange(hierarchy.size)
    for level, rung in enumerate(hierarchy.levels[1:], start=1):
        # First child of each node among the nodes one level down.
        first = np.searchsorted(starts, rung.starts[:-1])
        surplus = np.add.reduceat(np.maximum(below, 0), first, axis=1)
        lack = np.add.reduceat(np.maximum(-below, 0), first, axis=1)
        moved += np.minimum(surplus, lack).sum(axis=1) * level / hierarchy.height
        below = np.add.reduceat(below, first, axis=1)
        starts = np.asarray(rung.starts[:-1])
    return moved

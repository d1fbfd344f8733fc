"""How little any k-anonymous local recoding of a table can lose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distances import DISTANCES, Loss
from sfumato.anonymizers.clustering.distinct import collapse_records
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.clustering.region_bound import charged_to_few, cheapest_regions
from sfumato.models.k_anonymity import KAnonymity
from sfumato.parallel import each
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.table import Table

PATIENCE = 2000
"""Choices of limits that are looked at for one record before what is left counts with its own bound."""

FACTOR, _PATIENCE_CHARGING = 3.0, 300
"""A record is charged up to so many times its cheapest region; choices of limits that are looked at for that."""

_BLOCK = 256


def lower_bound(table: Table | EncodedTable, k: int, *, loss: Loss = "ncp", threads: int = 1) -> float:
    """Return a loss that no k-anonymous local recoding of the table can stay below.

    Parameters
    ----------
    table
        n records, encoded or not; attribute weights count.
    k
        Size of the smallest class, at least 1.
    loss
        ``"ncp"``: comparable with :attr:`~sfumato.metrics.Losses.normalized_ncp`. ``"loss"``: with the loss metric LM
        over n times the sum of the weights.
    threads
        Upper bound on threads; never changes the result.

    Returns
    -------
    float
        Mean over all cells, in [0, 1]; 1 for fewer than k records, which can only be suppressed.

    Raises
    ------
    PolicyError
        When k is no whole number of at least 1, or for another loss.

    Notes
    -----
    *Guarantee.* Never above the optimum, whether records are suppressed or not, as long as suppressed ones are charged
    in full. Every record loses at least as much as the cheapest region with it that holds k records: one limit per
    attribute on how far others may be. With a hierarchy that is the cheapest common ancestor; without one a range or
    set costs at least what its furthest member does, so the bound is a little lower than what the region would cost.
    Records that are hard to place are charged more: their classes have k - 1 others, which lose as much as they do,
    however cheap their own regions are, and no class holds two that are charged unless it costs what either is charged.
    The bound is the mean over all records. Regions of different records may well exclude each other, so the optimum
    lies above it, in general.

    *Complexity.* Branch and bound for each distinct record, among the records nearer than a class grown around it; at
    most `PATIENCE` choices each. O(q n) memory.
    """
    raise_all(PolicyError, _mistakes(k, loss))
    if isinstance(table, Table):
        table = encode(table)
    if table.height < k:
        return 1.0
    weight = sum(attribute.weight for attribute in table.attributes)
    (start,) = feasible(Problem(table, [KAnonymity(k)], threads=threads))
    records = collapse_records(start, DISTANCES[loss])
    total = len(records.weights)

    def search(low: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = cheapest_regions(
            records.codes, records.weights, records.tree, records.loss, low, min(total, low + _BLOCK), k, PATIENCE
        )
        return found

    bounds = np.concatenate(each(search, range(0, total, _BLOCK), threads))
    # Cheap ones gain little, and dear ones keep many others from being charged: the usual ones first. No rounding may
    # decide the order.
    costs = records.weights * (bounds > 0)
    usual = round(float((bounds * costs).sum()) / max(1, int(costs.sum())), 6)
    order = np.argsort(np.round(np.abs(bounds - usual), 9), kind="stable")
    extra = charged_to_few(
        records.codes, records.weights, records.tree, records.loss, bounds, order, k, FACTOR, _PATIENCE_CHARGING
    )
    # Sums of the same costs in another order may differ in the last digits.
    return max(0.0, float(bounds @ records.weights + extra.sum()) / (table.height * weight) - 1e-12)


def _mistakes(k: int, loss: str) -> list[str]:
    problems = []
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        problems.append("lower bound: k must be a whole number of at least 1")
    if loss not in ("ncp", "loss"):
        problems.append("lower bound: loss must be 'ncp' or 'loss'")
    return problems

"""How little any k-anonymous local recoding of a table must lose: a bound, by what each record can be charged.

A charge is fair when no class of k records or more is charged more, together, than it loses. All charges then add up to
no more than the best partition loses. Raising them is a linear program with a condition for every class: conditions are
added where charges break them, and what is broken in the end is mended record by record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import DISTANCES, DistinctRecords, Loss, collapse_records
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.clustering.point_bound import nearest_sums, settle_points
from sfumato.kernels.clustering.region_bound import charged_to_few, cheapest_regions, settle_charges
from sfumato.metrics.losses import centred_numbers
from sfumato.models.k_anonymity import KAnonymity
from sfumato.parallel import each
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.schema import Schema
from sfumato.table.table import Table

PATIENCE = 2000
"""Choices of limits that are looked at for one record before what is left counts with its own bound."""

FACTOR, _PATIENCE = 3.0, 300
"""A record is charged up to so many times its cheapest region; choices of limits that are looked at for that."""

_REGIONS_AT_ONCE = 256

_MOST_POINTS, _PATIENCE_POINTS, _SETS = 5_000, 20_000, 8
"""Records whose squared error is bounded; parts of classes that are looked at for one of them; sets that pay a toll."""

_ROUNDING = 1e-10
"""Share of all squared distances that rounding may come to."""

_STEPS = 400
"""Steps towards the best charges under the conditions of a round."""

_BOLDER = 0.5
"""So many times its first charge more is what a record is charged at most, in each round: far jumps teach little."""


def lower_bound(
    table: Any,
    k: int,
    *,
    loss: Loss | Literal["squared-error"] = "ncp",
    rounds: int = 0,
    threads: int = 1,
    schema: Schema | None = None,
) -> float:
    """Return a loss that no k-anonymous local recoding of the table can stay below.

    Parameters
    ----------
    table
        n records, encoded or not; attribute weights count.
    k
        Size of the smallest class, at least 1.
    loss
        ``"ncp"``: comparable with :attr:`~sfumato.metrics.Losses.normalized_ncp`. ``"loss"``: with the loss metric LM
        over n times the sum of the weights. ``"squared-error"``: with
        :attr:`~sfumato.metrics.Losses.squared_error`, 100 · SSE / SST, where all quasi-identifiers are numbers or dates
        without a hierarchy, nothing is missing, and there are 5,000 records at most.
    rounds
        Rounds of raising what records are charged. Any number gives at least what 0 gives; each takes about as long as
        looking at all pairs of distinct records.
    threads
        Upper bound on threads; never changes the result.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.

    Returns
    -------
    float
        Mean over all cells, in [0, 1], or 100 · SSE / SST; 1, or 100, for fewer than k records, which can only be
        suppressed.

    Raises
    ------
    PolicyError
        When k is no whole number of at least 1, rounds none of at least 0, or for another loss.

    Notes
    -----
    *Guarantee.* Never above the optimum, whether records are suppressed or not, as long as suppressed ones are charged
    in full. Every record loses at least as much as the cheapest region with it that holds k records: one limit per
    attribute on how far others may be. With a hierarchy that is the cheapest common ancestor; without one a range or
    set costs at least what its furthest member does, so the bound is a little lower than what the region would cost.
    Records that are hard to place are charged more: their classes have k - 1 others, which lose as much as they do,
    however cheap their own regions are, and no class holds two that are charged unless it costs what either is charged.
    With `rounds`, all records are charged what a linear program finds, and then as much less as it takes that no region
    charges k of its records more than it costs them. The bound is the mean over all records. Regions of different
    records may well exclude each other, so the optimum lies above it, in general.

    *Complexity.* Branch and bound for each distinct record, among the records nearer than a class grown around it; at
    most `PATIENCE` choices each. O(q n) memory.
    """
    raise_all(PolicyError, _mistakes(k, loss, rounds))
    if schema is not None:
        from sfumato.table.reading import read_with

        table = read_with(table, schema)
    encoded: EncodedTable = encode(table) if isinstance(table, Table) else table
    if loss == "squared-error":
        return _squared_error(encoded, k, rounds)
    if encoded.height < k:
        return 1.0
    weight = sum(attribute.weight for attribute in encoded.attributes)
    (start,) = feasible(Problem(encoded, [KAnonymity(k)], threads=threads))
    records = collapse_records(start, DISTANCES[loss])
    total = len(records.weights)

    def search(low: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = cheapest_regions(
            records.codes,
            records.weights,
            records.tree,
            records.loss,
            low,
            min(total, low + _REGIONS_AT_ONCE),
            k,
            PATIENCE,
        )
        return found

    bounds = np.concatenate(each(search, range(0, total, _REGIONS_AT_ONCE), threads))
    # Cheap ones gain little, and dear ones keep many others from being charged: the usual ones first. No rounding may
    # decide the order.
    costs = records.weights * (bounds > 0)
    usual = round(float((bounds * costs).sum()) / max(1, int(costs.sum())), 6)
    order = np.argsort(np.round(np.abs(bounds - usual), 9), kind="stable")
    extra = charged_to_few(
        records.codes, records.weights, records.tree, records.loss, bounds, order, k, FACTOR, _PATIENCE
    )
    total_charge = float(bounds @ records.weights + extra.sum())
    if rounds:
        total_charge = max(total_charge, float(_raised(_of_regions(records, k, bounds), rounds) @ records.weights))
    # Sums of the same costs in another order may differ in the last digits.
    return max(0.0, total_charge / (encoded.height * weight) - 1e-12)


@dataclass(frozen=True, eq=False)
class _Conditions:
    """Classes that charges must not break: copies of members, int64 (c, s), and what the class loses, float64 (c,)."""

    members: NDArray[np.int64]
    copies: NDArray[np.int64]
    costs: NDArray[np.float64]

    def where(self, these: NDArray[np.bool_]) -> _Conditions:
        """Return some of them."""
        return _Conditions(self.members[these], self.copies[these], self.costs[these])

    def and_(self, more: _Conditions) -> _Conditions:
        """Return these and others."""
        return _Conditions(
            np.concatenate([self.members, more.members]),
            np.concatenate([self.copies, more.copies]),
            np.concatenate([self.costs, more.costs]),
        )


@dataclass(frozen=True, eq=False)
class _Charging:
    """Charges that can be raised: of m records, of which there are copies."""

    weights: NDArray[np.int64]  # (m,): -1 for a toll, which is paid back
    start: NDArray[np.float64]  # (m,): fair charges
    steps: NDArray[np.float64]  # (m,): how much more each is charged in a round, times `_BOLDER`
    most: NDArray[np.float64]  # (m,): what each can be charged at all
    # Charges, changed in place, and what is wanted, in some order of records; returns who forbids it.
    settle: Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], _Conditions]


def _of_regions(records: DistinctRecords, k: int, start: NDArray[np.float64]) -> _Charging:
    most = np.full(len(start), records.loss.tops.sum())

    def settle(charges: NDArray[np.float64], wanted: NDArray[np.float64], order: NDArray[np.int64]) -> _Conditions:
        found = settle_charges(records.codes, records.weights, records.loss, charges, wanted, order, k, _PATIENCE)
        return _Conditions(*found)

    return _Charging(records.weights, start, start, most, settle)


def _squared_error(table: EncodedTable, k: int, rounds: int) -> float:
    """Return what 100 · SSE / SST cannot stay below; whoever is suppressed loses the distance to the mean of all."""
    if table.height < k:
        return 100.0
    points = _points(table)
    whole = (points**2).sum(axis=1)
    sums = nearest_sums(points, k)
    alone = np.minimum(sums[:, k - 1] / (2 * k), whole)
    sets = _sets_apart(points, alone, k + 1)
    start = np.append(alone, np.zeros(len(sets)))

    def settle(charges: NDArray[np.float64], wanted: NDArray[np.float64], order: NDArray[np.int64]) -> _Conditions:
        order = order[order < len(points)]
        return _Conditions(*settle_points(points, sums, sets, charges, wanted, order, _PATIENCE_POINTS))

    weights = np.repeat([1, -1], [len(alone), len(sets)])
    steps, most = np.append(alone, alone[sets].sum(axis=1)), np.append(whole, np.full(len(sets), 100.0))
    charging = _Charging(weights, start, steps, most, settle)
    charges = _raised(charging, rounds) if rounds else start
    # Squared distances are sums of as many squares as there are columns; each charge may be too high by their rounding.
    return max(0.0, float(charges @ weights) - 100.0 * _ROUNDING)


def _sets_apart(points: NDArray[np.float64], alone: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return sets of so many points, int64 (s, size), none in two: whoever is hard to place, and its nearest."""
    free = np.ones(len(points), dtype=bool)
    sets = []
    for one in np.argsort(-np.round(alone, 9), kind="stable"):
        near = np.argsort(np.round(((points - points[one]) ** 2).sum(axis=1), 9), kind="stable")[:size]
        if len(near) == size and free[near].all():
            free[near] = False
            sets.append(near)
        if len(sets) == _SETS:
            break
    return np.array(sets, dtype=np.int64).reshape(-1, size)


def _points(table: EncodedTable) -> NDArray[np.float64]:
    """Return the records as points whose squared norms add up to 100, in an order that owes nothing to theirs."""
    problems = []
    columns = []
    for place, attribute in enumerate(table.attributes):
        occurrences = np.bincount(table.codes[:, place], minlength=attribute.size + 1)
        if not attribute.is_measured or occurrences[-1]:
            problems.append(
                f"lower bound: column {attribute.name!r}: a squared error needs numbers or dates, without a hierarchy "
                "and none missing"
            )
            continue
        centres = centred_numbers(attribute, occurrences[:-1])
        total = float(occurrences[:-1] @ centres**2)
        if total > 0.0:
            columns.append(np.append(centres, 0.0)[table.codes[:, place]] / np.sqrt(total))
    if table.height > _MOST_POINTS:
        problems.append(f"lower bound: a squared error is bounded for {_MOST_POINTS:,} records at most")
    raise_all(PolicyError, problems)
    points = np.column_stack([np.zeros(table.height), *columns]) * np.sqrt(100.0 / max(1, len(columns)))
    return np.ascontiguousarray(points[np.lexsort(points.T[::-1])])


def _raised(charging: _Charging, rounds: int) -> NDArray[np.float64]:
    """Return fair charges that add up to as much as is found in so many rounds."""
    start, weights = charging.start, charging.weights
    best = charges = start
    trial = np.minimum(start + _BOLDER * charging.steps, charging.most)
    known, prices = None, np.zeros(0)
    for number in range(1, rounds + 1):
        settled = trial.copy()
        found = charging.settle(settled, trial, np.argsort(-trial, kind="stable"))
        found = found.where((found.copies != 0).any(axis=1))
        if settled @ weights > best @ weights:
            best = settled
        known = found if known is None else known.and_(found)
        limits = np.minimum(start + _BOLDER * number * charging.steps, charging.most)
        charges, prices = _program(known, weights, charges, prices, limits)
        # What has no price is forgotten, until charges break it again.
        known, prices = known.where(prices > 1e-4), prices[prices > 1e-4]
        trial = (charges + best) / 2
    raised = best.copy()
    charging.settle(raised, np.minimum(2.0 * best, charging.most), np.argsort(best, kind="stable"))
    # Where patience runs out, a record may be charged less than before.
    return raised if raised @ weights > best @ weights else best


def _program(
    known: _Conditions, weights: NDArray[np.int64], charges: NDArray[np.float64], prices: NDArray[np.float64],
    limits: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Step towards the most that can be charged under some conditions, by primal and dual steps, from a start."""
    # `charges`, float64 (m,), `prices`, float64 (c,) or fewer: where to begin. `limits`, float64 (m,): what each is
    # charged at most. Returns the mean of the steps, which may break conditions a little.
    prices = np.concatenate([prices, np.zeros(len(known.costs) - len(prices))])
    height = len(weights)
    usual = float(charges[charges > 0].mean()) if charges.any() else 1.0
    flat = known.members.ravel()
    touched = np.abs(known.copies)
    price_step = 1.0 / (usual * np.maximum(1, touched.sum(axis=1)))
    charge_step = usual / np.maximum(1.0, np.bincount(flat, weights=touched.ravel(), minlength=height))
    all_charges, all_prices = np.zeros(height), np.zeros(len(prices))
    for _ in range(_STEPS):
        paid = np.bincount(flat, weights=(known.copies * prices[:, None]).ravel(), minlength=height)
        after = np.clip(charges + charge_step * (weights - paid), 0.0, limits)
        ahead = 2.0 * after - charges
        prices = np.maximum(
            0.0, prices + price_step * ((known.copies * ahead[known.members]).sum(axis=1) - known.costs)
        )
        charges = after
        all_charges += charges
        all_prices += prices
    return all_charges / _STEPS, all_prices / _STEPS


def _mistakes(k: int, loss: str, rounds: int) -> list[str]:
    problems = []
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        problems.append("lower bound: k must be a whole number of at least 1")
    if not isinstance(rounds, int) or isinstance(rounds, bool) or rounds < 0:
        problems.append("lower bound: rounds must be a whole number of at least 0")
    if loss not in ("ncp", "loss", "squared-error"):
        problems.append("lower bound: loss must be 'ncp', 'loss' or 'squared-error'")
    return problems

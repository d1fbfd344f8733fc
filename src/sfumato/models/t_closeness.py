"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.errors import PolicyError
from sfumato.kernels.predicates import T_BY_KIND, T_EQUAL, T_HIERARCHICAL, T_ORDERED
from sfumato.models.protocol import ComparingModel, Rule
from sfumato.models.reference import Reference, View, class_of_pairs, value_paths
from sfumato.options import Limit, Names
from sfumato.table.schema import is_measured


def _equal_distance(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance when any two values are equally far apart: ``½ Σ |p - q|``; float64 (c,)."""
    # All differences sum to zero: half is the sum of the positive ones, which only a class's values can be. Cost O(z).
    total = counts.totals.sum()
    own = sizes[class_of_pairs(counts)]
    above = np.maximum(counts.counts * total - counts.totals[counts.values] * own, 0)
    return _shared(np.add.reduceat(above, counts.starts[:-1]), sizes * float(total))


def _ordered_distance(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance over ranks: ``1/(v-1) Σ_i |Σ_{j≤i} (p_j - q_j)|``; float64 (c,)."""
    # Between two values of a class its cumulative share stays level while the table's rises, so that the absolute
    # differences have one change of sign there: found by bisection, summed from running sums. Cost O(z log v).
    steps = len(counts.totals) - 1
    if steps == 0:
        return np.zeros(len(sizes))
    total = counts.totals.sum()
    table = np.cumsum(counts.totals)
    running = np.concatenate([[0], np.cumsum(table)])
    owner = class_of_pairs(counts)
    own = sizes[owner].astype(np.float64)
    cumulative = np.cumsum(counts.counts)
    level = (cumulative - (cumulative - counts.counts)[counts.starts[owner]]).astype(np.float64) * total
    begin = counts.values.astype(np.int64)
    end = np.append(begin[1:], steps)
    end[counts.starts[1:] - 1] = steps + 1
    turn = np.clip(np.searchsorted(table, level / own, side="right"), begin, end)
    before = level * (turn - begin) - own * (running[turn] - running[begin])
    after = own * (running[end] - running[turn]) - level * (end - turn)
    ahead = running[begin[counts.starts[:-1]]] * sizes
    moved = np.add.reduceat(before + after, counts.starts[:-1]) + ahead
    return _shared(moved, sizes * (float(total) * steps))


def _hierarchical_distance(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance when two leaves are ``level(lowest common ancestor) / H`` apart; float64 (c,)."""
    # From the leaves up each node moves what its children have too much to those that have too little, their surplus
    # less its own. Only nodes above the pairs have a surplus. Cost O(z log z + H · z).
    paths = value_paths(counts)
    height = len(paths) - 1
    total = counts.totals.sum()
    owner = class_of_pairs(counts)
    order = np.lexsort((*paths[:, counts.values], owner))
    owner, values, own = owner[order], counts.values[order], counts.counts[order]
    extra = own * total - counts.totals[values] * sizes[owner]
    cost = np.zeros(len(sizes))
    for level in range(1, height + 1):
        nodes = paths[level, values]
        first = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(nodes, prepend=-1))
        surplus = np.add.reduceat(np.maximum(extra, 0), first)
        owner, values, own = owner[first], values[first], np.add.reduceat(own, first)
        below = np.bincount(paths[level], weights=counts.totals).astype(np.int64)[nodes[first]]
        extra = own * total - below * sizes[owner]
        moved = np.minimum(surplus, surplus - extra)
        cost += np.bincount(owner, weights=moved * (level / height), minlength=len(sizes))
    return _shared(cost, sizes * float(total))


def _shared(moved: NDArray[np.number], scale: NDArray[np.floating]) -> NDArray[np.float64]:
    distance: NDArray[np.float64] = np.divide(moved, scale)
    return distance


_Distance = Literal["equal", "ordered", "hierarchical"]

_CODES: Mapping[str, int] = {"equal": T_EQUAL, "ordered": T_ORDERED, "hierarchical": T_HIERARCHICAL}
_MEASURES: Mapping[int, Callable[[SensitiveCounts, NDArray[np.int64]], NDArray[np.float64]]] = {
    T_EQUAL: _equal_distance,
    T_ORDERED: _ordered_distance,
    T_HIERARCHICAL: _hierarchical_distance,
}


@dataclass(frozen=True)
class TCloseness(ComparingModel):
    """The earth mover's distance from the values of every class to those of the table is at most `t`.

    Guarantee: finding a person's class moves the belief about the sensitive value by `t` at most, as a share of
    probability times the distance that it moves. The whole table consists of the published records. Where people have
    several records, the distributions are of values that people have, each once for each person, so that who has many
    values weighs more.

    Parameters
    ----------
    t
        A number from 0 to 1.
    distance
        How far two values are apart. ``"equal"``: 1. ``"ordered"``: difference of their ranks among the v distinct
        values of the table over v − 1 (numbers, dates, and categories whose order is given; the missing value ranks
        last). ``"hierarchical"``: level of their lowest common ancestor over the height of the hierarchy (the missing
        value hangs right under the root). None takes ordered for numbers and dates and where an order is given,
        hierarchical for other attributes with a hierarchy, else equal.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.protocol.ComparingModel`.
    order
        All categories of the attribute from the first to the last, for the ordered distance. It is part of the promise
        and is published with it. Categories that do not occur take no rank.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.
    """

    t: Annotated[float, Limit(0, 1)]
    distance: _Distance | None = None
    attribute: str | None = None
    reference: Reference = None
    order: Names | None = None

    name: ClassVar[str] = "t-closeness"
    speaks_of: ClassVar = frozenset({"classes", "buckets", "slices", "marginals"})
    in_words: ClassVar[str] = (
        "people who look alike have nearly the sensitive values of the whole table (at most {t} apart)"
    )
    code: ClassVar[int] = T_BY_KIND
    bounded: ClassVar[str] = "t"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise t"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance of each class to the whole table; float64 (c,)."""
        code = distance_code(self._distance_code, counts, ordered=self.order is not None)
        return _MEASURES[code](counts, counts.masses(sizes))

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute; its distance is settled when the rules are compiled."""
        settle = partial(distance_code, self._distance_code, ordered=self.order is not None)
        return [replace(rule, code=self._distance_code, settle=settle) for rule in super().rules(attributes)]

    @property
    def is_special(self) -> bool:
        """Whether it sees values otherwise than they are counted in the published table."""
        return super().is_special or self.order is not None

    def _view(self, name: str) -> View | None:
        view = super()._view(name)
        return view if self.order is None else View(None if view is None else view.shares, self.order)

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.order is not None and self.distance in ("equal", "hierarchical"):
            yield f"{self.name}: order means nothing to the distance {self.distance}; leave one of them out"
        if self.order is not None and self.attribute is None:
            yield f"{self.name}: order is that of one attribute; name it"

    @property
    def _distance_code(self) -> int:
        return T_BY_KIND if self.distance is None else _CODES[self.distance]


def distance_code(code: int, counts: SensitiveCounts, *, ordered: bool = False) -> int:
    """Settle which distance fits the attribute: the one asked for, or by kind; ranks need an order."""
    ordered = ordered or is_measured(counts.kind)
    if code == T_ORDERED and not ordered:
        raise PolicyError(f"t-closeness: {counts.name!r} has no order; give it one, or choose equal or hierarchical")
    if code != T_BY_KIND:
        return code
    if ordered:
        return T_ORDERED
    return T_EQUAL if counts.hierarchy is None else T_HIERARCHICAL

"""Published tables as one estimated joint distribution: parts with counts, linked by what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.utility.domains import Floats
from sfumato.evaluation.utility.spreads import AttributeSpread

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class JointPart:
    """A published table whose rows say which values occur together.

    Letters: r rows.

    Attributes
    ----------
    label_of : mapping of str to numpy.ndarray
        int32 (r,) for each attribute: label of each row.
    counts : numpy.ndarray
        float64 (r,): records behind each row.
    bucket : numpy.ndarray
        int64 (r,): bucket of each row, from 0.
    """

    label_of: Mapping[str, NDArray[np.int32]]
    counts: Floats
    bucket: Rows


@dataclass(frozen=True, eq=False, repr=False)
class Link:
    """How a part is linked to the one above it.

    Attributes
    ----------
    parent : int
        The part above.
    shared : frozenset of str
        Attributes of both.
    groups : int
        Number of groups of rows with equal bucket and equal shared values.
    group_of, group_above : numpy.ndarray
        int64: group of each row of the part, and of each row of the part above; `groups` if the part has no such
        row.
    """

    parent: int
    shared: frozenset[str]
    groups: int
    group_of: Rows
    group_above: Rows

    def average(self, values: Floats, weights: Floats) -> Floats:
        """Return the weighted mean of `values`, one per row, in each group, and over all rows last; 0 without weight.

        The mean over all rows stands for combinations that the part does not have, e.g. because their counts were too
        small to be published.
        """
        sums = np.bincount(self.group_of, weights * values, self.groups + 1)
        totals = np.bincount(self.group_of, weights, self.groups + 1)
        sums[-1], totals[-1] = sums.sum(), totals.sum()
        return np.divide(sums, totals, out=np.zeros(self.groups + 1), where=totals > 0)


@dataclass(frozen=True, eq=False, repr=False)
class Joint:
    """What a recipient can infer about all attributes together.

    Inside a bucket, parts that share nothing are independent; a part that shares attributes with another is independent
    of everything else given those. Each part is linked to the one with which it shares most (a heaviest spanning
    forest), so that what is shared counts once. If the sets of attributes have no cycle, this is the distribution of
    greatest entropy with these tables. If they have one, a shared value outside the link is conditioned on by the
    query's predicate alone.

    Attributes
    ----------
    spreads : mapping of str to Spread
        What the labels of each attribute stand for.
    parts : tuple of Part
    sizes : numpy.ndarray
        float64: records in each bucket.
    links : tuple of Link or None
        One for each part; None for a root.
    order : tuple of int
        Parts, each after its parent.
    """

    spreads: Mapping[str, AttributeSpread]
    parts: tuple[JointPart, ...]
    sizes: Floats
    links: tuple[Link | None, ...]
    order: tuple[int, ...]

    @property
    def total(self) -> float:
        """Number of records."""
        return float(self.sizes.sum())

    @cached_property
    def owner(self) -> Mapping[str, int]:
        """Return the part that counts each attribute's predicate: the highest that has the attribute."""
        owners: dict[str, int] = {}
        for place in self.order:
            for name in self.parts[place].label_of:
                owners.setdefault(name, place)
        return owners

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Return the children of each part."""
        return tuple(
            tuple(child for child in self.order if (link := self.links[child]) and link.parent == place)
            for place in range(len(self.parts))
        )

    @cached_property
    def subtree(self) -> tuple[frozenset[str], ...]:
        """Return the attributes owned by each part or one below it."""
        found: list[frozenset[str]] = [frozenset()] * len(self.parts)
        for place in reversed(self.order):
            own = {name for name, owner in self.owner.items() if owner == place}
            found[place] = frozenset(own.union(*(found[child] for child in self.children[place])))
        return tuple(found)

    @property
    def roots(self) -> tuple[int, ...]:
        """Return the parts without a parent."""
        return tuple(place for place in self.order if self.links[place] is None)

    def smallest_with(self, names: Sequence[str]) -> int | None:
        """Return the part with fewest rows among those that have all these attributes; None if there is none."""
        fitting = [place for place, part in enumerate(self.parts) if all(name in part.label_of for name in names)]
        return min(fitting, key=lambda place: len(self.parts[place].counts), default=None)


def assemble(spreads: Mapping[str, AttributeSpread], parts: Sequence[JointPart], buckets: int) -> Joint:
    """Link parts to trees. Cost O(rows) for each link."""
    totals = [np.bincount(part.bucket, part.counts, buckets) for part in parts]
    sizes = np.max(totals, axis=0)
    parents, order = _forest([frozenset(part.label_of) for part in parts])
    links = tuple(
        None if parent is None else _link(parts[place], parts[parent], parent) for place, parent in enumerate(parents)
    )
    return Joint(spreads, tuple(parts), sizes, links, order)


def _forest(names: Sequence[frozenset[str]]) -> tuple[list[int | None], tuple[int, ...]]:
    """Find the parent of each set: trees that grow by the largest intersection; ties in the given order."""
    parents: list[int | None] = [None] * len(names)
    order: list[int] = []
    outside = list(range(len(names)))
    while outside:
        best, above = 0, None
        chosen = outside[0]
        for place in outside:
            for reached in order:
                if len(names[place] & names[reached]) > best:
                    best, chosen, above = len(names[place] & names[reached]), place, reached
        parents[chosen] = above
        order.append(chosen)
        outside.remove(chosen)
    return parents, tuple(order)


def _link(part: JointPart, above: JointPart, parent: int) -> Link:
    shared = sorted(part.label_of.keys() & above.label_of.keys())
    keys = np.column_stack(
        [np.concatenate([part.bucket, above.bucket])]
        + [np.concatenate([part.label_of[name], above.label_of[name]]) for name in shared]
    )
    together, _ = group_records(keys)
    own, other = together[: len(part.counts)], together[len(part.counts) :]
    present, group_of = np.unique(own, return_inverse=True)
    place = np.minimum(np.searchsorted(present, other), len(present) - 1)
    group_above = np.where(present[place] == other, place, len(present))
    return Link(parent, frozenset(shared), len(present), group_of.astype(np.int64), group_above.astype(np.int64))

"""Published tables as one estimated joint distribution, parts linked by what they share, and what it lets expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.evaluation.utility.domains import Bins, Floats
from sfumato.evaluation.utility.queries import Predicate, Query
from sfumato.evaluation.utility.spreads import AttributeSpread

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class JointPart:
    """A published table whose rows say which values occur together.

    Letters: r rows.

    `label_of`: int32 (r,) for each attribute: label of each row. `counts`: float64 (r,): records behind each row.
    `bucket`: int64 (r,): bucket of each row, from 0.
    """

    label_of: Mapping[str, NDArray[np.int32]]
    counts: Floats
    bucket: Rows


@dataclass(frozen=True, eq=False, repr=False)
class _Link:
    """How a part is linked to the one above it.

    `groups`: Number of groups of rows with equal bucket and equal shared values. `group_of`, `group_above`: int64:
    group of each row of the part, and of each row of the part above; `groups` if the part has no such row.
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

    `spreads`: What the labels of each attribute stand for. `sizes`: float64: records in each bucket. `links`: One for
    each part; None for a root.
    """

    spreads: Mapping[str, AttributeSpread]
    parts: tuple[JointPart, ...]
    sizes: Floats
    links: tuple[_Link | None, ...]
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


def _link(part: JointPart, above: JointPart, parent: int) -> _Link:
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
    return _Link(parent, frozenset(shared), len(present), group_of.astype(np.int64), group_above.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class _Factor:
    """A query's condition on one attribute, label by label.

    `value`: float64 (g,): share of each label's records that match; for the aggregated attribute, times their number.
    `share`: float64 (g,): the share alone.
    """

    value: Floats
    share: Floats


def estimate(joint: Joint, query: Query) -> float:
    """Return the expected answer to a query; NaN for an average over nobody.

    Cost O(rows) for each part that the query involves.
    """
    if query.aggregate == "count":
        return _expected(joint, factors_of(joint, query))
    total = _expected(joint, factors_of(joint, query, added=True))
    if query.aggregate == "sum":
        return total
    records = _expected(joint, factors_of(joint, query))
    return total / records if records > 0 else float("nan")


def factors_of(joint: Joint, query: Query, *, added: bool = False) -> dict[str, _Factor]:
    """Return the factor of every attribute of a query; that of its aggregate is `added`, or requires a value."""
    predicates: dict[str, Predicate | None] = dict.fromkeys(query.attributes)
    predicates |= {predicate.attribute: predicate for predicate in query.where}
    factors = {}
    for name, predicate in predicates.items():
        share = joint.spreads[name].share(predicate)
        value = joint.spreads[name].moment(predicate) if added and name == query.of else share
        factors[name] = _Factor(value, share)
    return factors


def _expected(joint: Joint, factors: Mapping[str, _Factor]) -> float:
    """Return the expected sum over all records of the product of all factors."""
    whole = joint.smallest_with(tuple(factors))
    if whole is not None:
        part = joint.parts[whole]
        return float((part.counts * _product(part, factors, factors)).sum())
    return float(_per_bucket(joint, factors, joint.roots).sum())


def expected_by_label(joint: Joint, factors: Mapping[str, _Factor], name: str) -> Floats:
    """Return the expected sum of the product of all factors over the records under each label of one attribute, (g,).

    `name`: The attribute; each of its labels has its own factor, 1 for that label alone.

    Cost of one query, however many labels there are.
    """
    whole = joint.smallest_with((*factors, name))
    if whole is not None:
        part = joint.parts[whole]
        values = part.counts * _product(part, factors, factors)
    else:
        part = joint.parts[joint.owner[name]]
        values = _row_sums(joint, joint.owner[name], factors)
    return np.bincount(part.label_of[name], values, joint.spreads[name].count).astype(np.float64)


def _row_sums(joint: Joint, place: int, factors: Mapping[str, _Factor], without: int | None = None) -> Floats:
    """Return the expected sum of the product of all factors over the records behind each row of a part.

    Factors owned by the child `without`, and by the parts below it, are left out.
    """
    part, link = joint.parts[place], joint.links[place]
    values = _row_values(joint, place, factors, without)
    if link is None:
        held = np.bincount(part.bucket, part.counts, len(joint.sizes))
        others = _per_bucket(joint, factors, [root for root in joint.roots if root != place])
        share = np.divide(others, held, out=np.zeros_like(others), where=held > 0)
        return part.counts * values * share[part.bucket]
    weights = _conditions(joint, place, link, factors)
    above = _row_sums(joint, link.parent, factors, place)
    per_group = np.bincount(link.group_above, above, link.groups + 1)
    totals = np.bincount(link.group_of, weights, link.groups + 1)
    totals[-1] = weights.sum()
    share = np.divide(per_group, totals, out=np.zeros(link.groups + 1), where=totals > 0)
    sums: Floats = weights * values * (share[link.group_of] + share[-1])
    return sums


def _per_bucket(joint: Joint, factors: Mapping[str, _Factor], roots: Iterable[int]) -> Floats:
    """Return the records of each bucket times the expected product of the factors that some trees own."""
    per_bucket = joint.sizes.copy()
    for place in roots:
        if joint.subtree[place] & factors.keys():
            part = joint.parts[place]
            matched = np.bincount(part.bucket, part.counts * _row_values(joint, place, factors), len(joint.sizes))
            held = np.bincount(part.bucket, part.counts, len(joint.sizes))
            per_bucket *= np.divide(matched, held, out=np.zeros_like(matched), where=held > 0)
    return per_bucket


def _product(part: JointPart, factors: Mapping[str, _Factor], names: Iterable[str]) -> Floats:
    values = np.ones(len(part.counts))
    for name in names:
        values *= factors[name].value[part.label_of[name]]
    return values


def _row_values(joint: Joint, place: int, factors: Mapping[str, _Factor], without: int | None = None) -> Floats:
    """Return for each row of a part the expected product of the factors that it and the parts below it own."""
    part = joint.parts[place]
    own = [name for name in part.label_of if name in factors and joint.owner[name] == place]
    values = _product(part, factors, own)
    for child in joint.children[place]:
        link = joint.links[child]
        if link is not None and child != without and joint.subtree[child] & factors.keys():
            message = link.average(_row_values(joint, child, factors), _conditions(joint, child, link, factors))
            values *= message[link.group_above]
    return values


def _conditions(joint: Joint, place: int, link: _Link, factors: Mapping[str, _Factor]) -> Floats:
    """Return the records behind each row that satisfy predicates of other parts that the link does not carry.

    Other parts of the tree already count these predicates; here they are conditions.
    """
    part = joint.parts[place]
    weights = part.counts
    for name in part.label_of:
        if name in factors and joint.owner[name] != place and name not in link.shared:
            weights = weights * factors[name].share[part.label_of[name]]
    return weights


def records_by_label(joint: Joint, name: str) -> Floats:
    """Count the records under each label of an attribute, (g,)."""
    place = joint.smallest_with((name,))
    assert place is not None
    part = joint.parts[place]
    return np.bincount(part.label_of[name], part.counts, joint.spreads[name].count).astype(np.float64)


def estimate_histogram(joint: Joint, name: str, bins: Bins) -> Floats:
    """Return the expected number of records in each bin of an attribute, the missing ones last, (b + 1,)."""
    return joint.spreads[name].tally(records_by_label(joint, name), bins)


def contingency_table(joint: Joint, one: str, other: str, bins: Mapping[str, Bins]) -> Floats:
    """Return the expected number of records in each pair of bins of two attributes, (b + 1, b' + 1).

    Cost of one query for each bin of the attribute that has fewer bins.
    """
    if bins[other].count < bins[one].count:
        flipped: Floats = contingency_table(joint, other, one, bins).T
        return flipped
    shares = joint.spreads[one].histogram(bins[one])
    labels = [expected_by_label(joint, {one: _Factor(share, share)}, other) for share in shares.T]
    return np.array([joint.spreads[other].tally(counts, bins[other]) for counts in labels])

"""Expected answers and contingency tables under a joint distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.utility.bins import Bins
from sfumato.utility.domains import Floats
from sfumato.utility.joint import Joint, Link
from sfumato.utility.queries import Predicate, Query


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """What a query asks of one attribute, label by label.

    Attributes
    ----------
    value : numpy.ndarray
        float64 (g,): share of each label's records that match; for the attribute that is added, times their number.
    share : numpy.ndarray
        float64 (g,): the share alone.
    """

    value: Floats
    share: Floats


def estimate(joint: Joint, query: Query) -> float:
    """Return the expected answer to a query; NaN for an average over nobody.

    Cost O(rows) for each part that has to do with the query.
    """
    if query.aggregate == "count":
        return expected(joint, factors_of(joint, query))
    total = expected(joint, factors_of(joint, query, added=True))
    if query.aggregate == "sum":
        return total
    records = expected(joint, factors_of(joint, query))
    return total / records if records > 0 else float("nan")


def factors_of(joint: Joint, query: Query, *, added: bool = False) -> dict[str, Factor]:
    """Return the factor of every attribute of a query; the one of its aggregate is `added`, or must not be missing."""
    predicates: dict[str, Predicate | None] = dict.fromkeys(query.attributes)
    predicates |= {predicate.attribute: predicate for predicate in query.where}
    factors = {}
    for name, predicate in predicates.items():
        share = joint.spreads[name].share(predicate)
        value = joint.spreads[name].moment(predicate) if added and name == query.of else share
        factors[name] = Factor(value, share)
    return factors


def expected(joint: Joint, factors: Mapping[str, Factor]) -> float:
    """Return the expected sum over all records of the product of all factors."""
    whole = joint.smallest_with(tuple(factors))
    if whole is not None:
        part = joint.parts[whole]
        values = part.counts.copy()
        for name, factor in factors.items():
            values *= factor.value[part.label_of[name]]
        return float(values.sum())
    roots = [place for place in joint.roots if joint.subtree[place] & factors.keys()]
    per_bucket = joint.sizes.copy()
    for place in roots:
        part = joint.parts[place]
        matched = np.bincount(part.bucket, part.counts * _row_values(joint, place, factors), len(joint.sizes))
        held = np.bincount(part.bucket, part.counts, len(joint.sizes))
        per_bucket *= np.divide(matched, held, out=np.zeros_like(matched), where=held > 0)
    return float(per_bucket.sum())


def _row_values(joint: Joint, place: int, factors: Mapping[str, Factor]) -> Floats:
    """Return for each row of a part the expected product of the factors that it and the parts below it own."""
    part = joint.parts[place]
    values = np.ones(len(part.counts))
    for name in part.label_of:
        if name in factors and joint.owner[name] == place:
            values *= factors[name].value[part.label_of[name]]
    for child in joint.children[place]:
        link = joint.links[child]
        if link is not None and joint.subtree[child] & factors.keys():
            values *= _message(joint, child, link, factors)[link.group_above]
    return values


def _message(joint: Joint, child: int, link: Link, factors: Mapping[str, Factor]) -> Floats:
    """Return what a part says to the one above it: the mean of its rows' values in each group, and over all."""
    part = joint.parts[child]
    weights = part.counts
    for name in part.label_of:
        if name in factors and joint.owner[name] != child and name not in link.shared:
            # Counted already, elsewhere in the tree: here it is a condition.
            weights = weights * factors[name].share[part.label_of[name]]
    return link.average(_row_values(joint, child, factors), weights)


def histogram(joint: Joint, name: str, bins: Bins) -> Floats:
    """Return the expected number of records in each bin of an attribute, the missing ones last, (b + 1,)."""
    place = joint.smallest_with((name,))
    assert place is not None
    part = joint.parts[place]
    spread = joint.spreads[name]
    counts = np.bincount(part.label_of[name], part.counts, spread.count).astype(np.float64)
    return spread.tally(counts, bins)


def contingency(joint: Joint, one: str, other: str, bins: Mapping[str, Bins]) -> Floats:
    """Return the expected number of records in each pair of bins of two attributes, (b + 1, b' + 1).

    Cost O(rows · (b + b')) for each part between the two, and O(buckets · b · b') where they share no tree.
    """
    whole = joint.smallest_with((one, other))
    if whole is not None:
        part = joint.parts[whole]
        return _pairs(part.counts, _profile(joint, whole, one, bins[one]), _profile(joint, whole, other, bins[other]))
    above_one, above_other = (_path_up(joint, joint.owner[name]) for name in (one, other))
    common = next((place for place in above_one if place in above_other), None)
    if common is not None:
        both = [_lifted(joint, name, bins[name], common) for name in (one, other)]
        return _pairs(joint.parts[common].counts, *both)
    shares = [
        _bucket_shares(joint, path[-1], _lifted(joint, name, bins[name], path[-1]))
        for name, path in ((one, above_one), (other, above_other))
    ]
    return _pairs(joint.sizes, *shares)


def _pairs(weights: Floats, one: Floats, other: Floats) -> Floats:
    table: Floats = (one * weights[:, None]).T @ other
    return table


def _path_up(joint: Joint, place: int) -> list[int]:
    path = [place]
    while (link := joint.links[path[-1]]) is not None:
        path.append(link.parent)
    return path


def _profile(joint: Joint, place: int, name: str, bins: Bins) -> Floats:
    return joint.spreads[name].histogram(bins)[joint.parts[place].label_of[name]]


def _lifted(joint: Joint, name: str, bins: Bins, target: int) -> Floats:
    """Return the distribution of an attribute given each row of a part at or above the one that owns it."""
    place = joint.owner[name]
    profile = _profile(joint, place, name, bins)
    while place != target:
        link = joint.links[place]
        assert link is not None
        counts = joint.parts[place].counts
        profile = np.column_stack([link.average(values, counts)[link.group_above] for values in profile.T])
        place = link.parent
    return profile


def _bucket_shares(joint: Joint, place: int, profile: Floats) -> Floats:
    part = joint.parts[place]
    buckets = len(joint.sizes)
    held = np.maximum(np.bincount(part.bucket, part.counts, buckets), 1e-300)
    return np.column_stack([np.bincount(part.bucket, part.counts * values, buckets) / held for values in profile.T])

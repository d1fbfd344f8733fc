"""Expected answers and contingency tables under a joint distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.utility.bins import Bins
from sfumato.evaluation.utility.domains import Floats
from sfumato.evaluation.utility.joint import Joint, JointPart, Link
from sfumato.evaluation.utility.queries import Predicate, Query


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """A query's condition on one attribute, label by label.

    Attributes
    ----------
    value : numpy.ndarray
        float64 (g,): share of each label's records that match; for the aggregated attribute, times their number.
    share : numpy.ndarray
        float64 (g,): the share alone.
    """

    value: Floats
    share: Floats


def estimate(joint: Joint, query: Query) -> float:
    """Return the expected answer to a query; NaN for an average over nobody.

    Cost O(rows) for each part that the query involves.
    """
    if query.aggregate == "count":
        return expected(joint, factors_of(joint, query))
    total = expected(joint, factors_of(joint, query, added=True))
    if query.aggregate == "sum":
        return total
    records = expected(joint, factors_of(joint, query))
    return total / records if records > 0 else float("nan")


def factors_of(joint: Joint, query: Query, *, added: bool = False) -> dict[str, Factor]:
    """Return the factor of every attribute of a query; that of its aggregate is `added`, or requires a value."""
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
        return float((part.counts * _product(part, factors, factors)).sum())
    return float(_per_bucket(joint, factors, joint.roots).sum())


def expected_by_label(joint: Joint, factors: Mapping[str, Factor], name: str) -> Floats:
    """Return the expected sum of the product of all factors over the records under each label of one attribute, (g,).

    Parameters
    ----------
    joint
    factors
        Of other attributes.
    name
        The attribute; each of its labels has its own factor, 1 for that label alone.

    Notes
    -----
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


def _row_sums(joint: Joint, place: int, factors: Mapping[str, Factor], without: int | None = None) -> Floats:
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


def _per_bucket(joint: Joint, factors: Mapping[str, Factor], roots: Iterable[int]) -> Floats:
    """Return the records of each bucket times the expected product of the factors that some trees own."""
    per_bucket = joint.sizes.copy()
    for place in roots:
        if joint.subtree[place] & factors.keys():
            part = joint.parts[place]
            matched = np.bincount(part.bucket, part.counts * _row_values(joint, place, factors), len(joint.sizes))
            held = np.bincount(part.bucket, part.counts, len(joint.sizes))
            per_bucket *= np.divide(matched, held, out=np.zeros_like(matched), where=held > 0)
    return per_bucket


def _product(part: JointPart, factors: Mapping[str, Factor], names: Iterable[str]) -> Floats:
    values = np.ones(len(part.counts))
    for name in names:
        values *= factors[name].value[part.label_of[name]]
    return values


def _row_values(joint: Joint, place: int, factors: Mapping[str, Factor], without: int | None = None) -> Floats:
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


def _conditions(joint: Joint, place: int, link: Link, factors: Mapping[str, Factor]) -> Floats:
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


def histogram(joint: Joint, name: str, bins: Bins) -> Floats:
    """Return the expected number of records in each bin of an attribute, the missing ones last, (b + 1,)."""
    return joint.spreads[name].tally(records_by_label(joint, name), bins)


def contingency(joint: Joint, one: str, other: str, bins: Mapping[str, Bins]) -> Floats:
    """Return the expected number of records in each pair of bins of two attributes, (b + 1, b' + 1).

    Cost of one query for each bin of the attribute that has fewer bins.
    """
    if bins[other].count < bins[one].count:
        flipped: Floats = contingency(joint, other, one, bins).T
        return flipped
    shares = joint.spreads[one].histogram(bins[one])
    labels = [expected_by_label(joint, {one: Factor(share, share)}, other) for share in shares.T]
    return np.array([joint.spreads[other].tally(counts, bins[other]) for counts in labels])

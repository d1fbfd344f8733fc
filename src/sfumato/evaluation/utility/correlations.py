"""Distributions of single attributes, and associations of pairs, before and after publishing, with their distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.utility.joint import Joint, contingency_table, estimate_histogram, expected_by_label, factors_of
from sfumato.evaluation.utility.queries import AttributeDomain, Bins, Floats, Query, Workload, coarse
from sfumato.hierarchy.tree import Hierarchy

_DISTRIBUTION_BINS = 256


_PAIR_BINS, _PAIR_CATEGORIES = 10, 50


@dataclass(frozen=True)
class DistributionKept:
    """How far an attribute's published distribution is from the original one.

    `total_variation`: In [0, 1]; missing values count as a value. `earth_mover`: For numbers, over the width of the
    original ones, in [0, 1]; None for categories.
    """

    attribute: str
    total_variation: float
    earth_mover: float | None


@dataclass(frozen=True)
class Association:
    """φ² of two attributes, in [0, 1], before and after publishing."""

    attributes: tuple[str, str]
    before: float
    after: float

    @property
    def change(self) -> float:
        """Return what publishing added; negative if the association got weaker."""
        return self.after - self.before


@dataclass(frozen=True)
class Correlations:
    """Distributions and associations before and after."""

    distributions: tuple[DistributionKept, ...]
    associations: tuple[Association, ...]

    @property
    def mean_change(self) -> float:
        """Return the mean of |φ² after − φ² before| over all pairs; 0 without pairs."""
        return float(np.mean([abs(pair.change) for pair in self.associations])) if self.associations else 0.0

    @property
    def kept(self) -> float:
        """Return the share of the original association that is left, Σ min(before, after) / Σ before; else 1."""
        before = sum(pair.before for pair in self.associations)
        return sum(min(pair.before, pair.after) for pair in self.associations) / before if before > 0 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "distributions": [asdict(each) for each in self.distributions],
            "associations": [{**asdict(each), "attributes": list(each.attributes)} for each in self.associations],
            "mean_change": self.mean_change,
            "kept": self.kept,
        }


def correlations(original: Joint, published: Joint, domains: Mapping[str, AttributeDomain]) -> Correlations:
    """Compare single attributes and pairs of a release with the original.

    `original`, `published`: The joint distribution of all attributes in both. `domains`: Attributes of the original;
    those that are not published are left out. Single attributes: numbers in at most 256 bins of about equal frequency.
    φ² is Σ (f_ij − f_i f_j)² / (f_i f_j) over min(d₁, d₂) − 1 for d₁ and d₂ values that occur; numbers in at most 10
    bins of about equal frequency, the missing value among the values, all but the 49 most frequent categories joined
    into one.
    """
    names = [name for name in domains if name in published.spreads]
    return Correlations(
        tuple(_distribution(original, published, domains[name]) for name in names),
        _associations(original, published, names, domains),
    )


def pairwise_contingency(table: Floats) -> float:
    """Return φ² of a table of counts or shares; 0 where a side has only one value."""
    held = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    least = min(held.shape, default=0)
    if least < 2:
        return 0.0
    shares = held / held.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(((shares - independent) ** 2 / independent).sum() / (least - 1))


def _distribution(original: Joint, published: Joint, domain: AttributeDomain) -> DistributionKept:
    bins = coarse(domain, _DISTRIBUTION_BINS, domain.attribute.size)
    before, after = (_shares(estimate_histogram(joint, domain.name, bins)) for joint in (original, published))
    if bins.uppers is None or not bins.count:
        return DistributionKept(domain.name, total_variation(before, after), None)
    known = [_shares(shares[:-1]) for shares in (before, after)]
    moved = earth_mover_over_numbers(known[0], known[1], bins.uppers)
    return DistributionKept(domain.name, total_variation(before, after), moved)


def _shares(counts: Floats) -> Floats:
    total = counts.sum()
    return counts / total if total > 0 else counts


def _associations(
    original: Joint, published: Joint, names: Sequence[str], domains: Mapping[str, AttributeDomain]
) -> tuple[Association, ...]:
    bins: dict[str, Bins] = {name: coarse(domains[name], _PAIR_BINS, _PAIR_CATEGORIES) for name in names}
    return tuple(
        Association(
            pair,
            *(pairwise_contingency(contingency_table(joint, *pair, bins=bins)) for joint in (original, published)),
        )
        for pair in combinations(names, 2)
    )


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


def earth_movers(one: Floats, other: Floats, domain: AttributeDomain) -> Floats:
    """Return the earth mover's distance of t-closeness between rows of distributions over codes.

    It is over ranks for numbers (codes rise with them), over the hierarchy if there is one, and otherwise any two
    values are equally far apart. `one`, `other`: float64 (y, size), rows sum to 1. Result: float64 (y,), in [0, 1].
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


# Privacy against utility: the direct comparison of Brickell and Shmatikov, and the measures of Li and Li.


_SENSITIVE_BINS = 64
"""Bins of about equal frequency into which sensitive numbers are divided when populations are compared."""


@dataclass(frozen=True)
class DirectComparison:
    """The gain of an attacker and of a researcher, both over the table without quasi-identifying attributes.

    `baseline`: Accuracy of always naming the most frequent sensitive value. `adversary`: Accuracy of naming, for each
    person, the value that the release makes most likely; among equally likely ones the accuracy of choosing at random.
    `classifier`: Accuracy of a classifier that was trained on the release, on records that were not in it; None without
    one.
    """

    baseline: float
    adversary: float
    classifier: float | None = None

    @property
    def privacy_loss(self) -> float:
        """Return the gain of the attacker's accuracy."""
        return self.adversary - self.baseline

    @property
    def utility_gain(self) -> float | None:
        """Return the gain of the classifier's accuracy; None without one."""
        return None if self.classifier is None else self.classifier - self.baseline


@dataclass(frozen=True)
class TradeOff:
    """Privacy and utility of one release, to be compared with other releases of the same table.

    `privacy_loss`: The largest Jensen-Shannon divergence, over all people, between the sensitive values of the whole
    table and what the release says about the person; in [0, ln 2]. `utility_loss`: The mean, over large populations, of
    the earth mover's distance between the sensitive values that a population has and those that the release says it
    has, in [0, 1]; None if no population is large enough.
    """

    sensitive: str
    direct: DirectComparison
    privacy_loss: float
    utility_loss: float | None
    populations: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        direct = {
            **asdict(self.direct),
            "privacy_loss": self.direct.privacy_loss,
            "utility_gain": self.direct.utility_gain,
        }
        return {**asdict(self), "direct": direct}


def guessing_accuracy(shares: Floats, truth: NDArray[np.integer]) -> Floats:
    """Return each person's chance that the likeliest value is the true one, (m,).

    `shares`: float64 (m, v): the belief about each person; all 0 if there is none. `truth`: Integers (m,): true value;
    −1 if it is not among the v.
    """
    most = shares.max(axis=1, keepdims=True)
    likeliest = (shares >= most - 1e-12) & (most > 0)
    right = np.take_along_axis(likeliest, np.maximum(truth, 0)[:, None], axis=1)[:, 0] & (truth >= 0)
    chance: Floats = right / np.maximum(likeliest.sum(axis=1), 1)
    return chance


def privacy_losses(shares: Floats, prior: Floats) -> Floats:
    """Return the Jensen-Shannon divergence of each person's belief from the prior, (m,); 0 if there is none."""
    has_records = shares.sum(axis=1) > 0
    return np.where(has_records, jensen_shannon(shares, np.broadcast_to(prior, shares.shape)), 0.0)


def utility_loss(
    original: Joint, published: Joint, populations: Workload, sensitive: AttributeDomain, *, support: float
) -> tuple[float | None, int]:
    """Return the mean distance between true and published sensitive distributions of large populations.

    `original`, `published`: The joint distribution of all attributes in both. `populations`: Their predicates, none of
    them on the sensitive attribute, say who belongs to each; aggregates do not matter. `sensitive`: Missing values of
    it are left out. `support`: Least share of the original records that a population must have. Result: The mean, None
    without any population; and the number of populations. If the release has nobody of a population, it says no more
    about it than about the whole table.

    The distance is that of t-closeness: over ranks of numbers, which are divided into at most 64 bins; over the
    hierarchy if there is one; otherwise any two values are equally far apart. Cost one query for each population.
    """
    if not 0 < support <= 1:
        raise InputError("support: must be above 0, at most 1")
    if sensitive.name in populations.attributes:
        raise InputError(f"populations: must not be chosen by {sensitive.name!r} itself")
    before = np.array([_values_of(original, query, sensitive) for query in populations])
    large = before.sum(axis=1) >= max(support * original.total, 1.0)
    if not large.any():
        return None, 0
    chosen = [query for query, is_large in zip(populations, large, strict=True) if is_large]
    after = np.array([_values_of(published, query, sensitive) for query in chosen])
    everybody = _values_of(published, Query(()), sensitive)
    after = np.where(after.sum(axis=1, keepdims=True) > 0, after, everybody)
    moved = earth_movers(_rows(before[large]), _rows(after), sensitive)
    return float(moved.mean()), len(chosen)


def _rows(counts: Floats) -> Floats:
    shares: Floats = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return shares


def _values_of(joint: Joint, query: Query, sensitive: AttributeDomain) -> Floats:
    """Return how many of the records of a query have each value, without the missing one."""
    by_label = expected_by_label(joint, factors_of(joint, query), sensitive.name)
    return joint.spreads[sensitive.name].tally(by_label, _bins(sensitive))[:-1]


def _bins(sensitive: AttributeDomain) -> Bins:
    """Return a bin for each code under a hierarchy, else for each value; numbers in at most 64."""
    if sensitive.attribute.hierarchy is not None:
        return Bins(np.arange(sensitive.attribute.size + 1), None)
    return coarse(sensitive, _SENSITIVE_BINS, sensitive.attribute.size)


def frontier(points: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """Return the places of the points that no other point beats in both privacy loss and utility loss.

    `points`: Privacy loss and utility loss of each release. Result: By rising privacy loss; of equal points only the
    first.

    Cost O(p log p).

    Examples
    --------
    >>> frontier([(0.5, 0.1), (0.2, 0.3), (0.5, 0.2), (0.1, 0.9)])
    (3, 1, 0)
    """
    found: list[int] = []
    for place in sorted(range(len(points)), key=lambda place: (*points[place], place)):
        if not found or points[place][1] < points[found[-1]][1]:
            found.append(place)
    return tuple(found)

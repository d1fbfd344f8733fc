"""Privacy against utility: the direct comparison of Brickell and Shmatikov, and the measures of Li and Li."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.utility.correlations import earth_movers, jensen_shannon
from sfumato.evaluation.utility.domains import AttributeDomain, Bins, Floats, coarse
from sfumato.evaluation.utility.joint import Joint, expected_by_label, factors_of
from sfumato.evaluation.utility.queries import Query, Workload

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
    told = shares.sum(axis=1) > 0
    return np.where(told, jensen_shannon(shares, np.broadcast_to(prior, shares.shape)), 0.0)


def utility_loss(
    original: Joint, published: Joint, populations: Workload, sensitive: AttributeDomain, *, support: float
) -> tuple[float | None, int]:
    """Return the mean distance between true and published sensitive distributions of large populations.

    `original`, `published`: The joint distribution of all attributes in both. `populations`: Their predicates, none of
    them on the sensitive attribute, say who belongs to each; aggregates do not matter. `sensitive`: Missing values of
    it are left out. `support`: Least share of the original records that a population must have. Result: The mean, None
    without any population; and the number of populations.

    If the release has nobody of a population, it says no more about it than about the whole table.

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
    chosen = [query for query, wanted in zip(populations, large, strict=True) if wanted]
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

"""Distributions of single attributes, and associations of pairs, before and after publishing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.evaluation.utility.bins import Bins, coarse
from sfumato.evaluation.utility.distances import earth_mover_over_numbers, total_variation
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.estimates import contingency, histogram
from sfumato.evaluation.utility.joint import Joint

DISTRIBUTION_BINS = 256
PAIR_BINS, PAIR_CATEGORIES = 10, 50


@dataclass(frozen=True)
class Distribution:
    """How far an attribute's published distribution is from the original one.

    Attributes
    ----------
    attribute : str
    total_variation : float
        In [0, 1]; missing values count as a value.
    earth_mover : float or None
        For numbers, over the width of the original ones, in [0, 1]; None for categories.
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
    """Distributions and associations before and after.

    Attributes
    ----------
    distributions : tuple of Distribution
        One per published attribute.
    associations : tuple of Association
        One per pair.
    """

    distributions: tuple[Distribution, ...]
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


def correlations(original: Joint, published: Joint, domains: Mapping[str, Domain]) -> Correlations:
    """Compare single attributes and pairs of a release with the original.

    Parameters
    ----------
    original, published
        The joint distribution of all attributes in both.
    domains
        Attributes of the original; those that are not published are left out.

    Notes
    -----
    Single attributes: numbers in at most 256 bins of about equal frequency. φ² is Σ (f_ij − f_i f_j)² / (f_i f_j) over
    min(d₁, d₂) − 1 for d₁ and d₂ values that occur; numbers in at most 10 bins of about equal frequency, the missing
    value among the values, all but the 49 most frequent categories joined into one.
    """
    names = [name for name in domains if name in published.spreads]
    return Correlations(
        tuple(_distribution(original, published, domains[name]) for name in names),
        _associations(original, published, names, domains),
    )


def mean_square_contingency(table: Floats) -> float:
    """Return φ² of a table of counts or shares; 0 where a side has only one value."""
    held = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    least = min(held.shape, default=0)
    if least < 2:
        return 0.0
    shares = held / held.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(((shares - independent) ** 2 / independent).sum() / (least - 1))


def _distribution(original: Joint, published: Joint, domain: Domain) -> Distribution:
    bins = coarse(domain, DISTRIBUTION_BINS, domain.attribute.size)
    before, after = (_shares(histogram(joint, domain.name, bins)) for joint in (original, published))
    if bins.uppers is None or not bins.count:
        return Distribution(domain.name, total_variation(before, after), None)
    known = [_shares(shares[:-1]) for shares in (before, after)]
    moved = earth_mover_over_numbers(known[0], known[1], bins.uppers)
    return Distribution(domain.name, total_variation(before, after), moved)


def _shares(counts: Floats) -> Floats:
    total = counts.sum()
    return counts / total if total > 0 else counts


def _associations(
    original: Joint, published: Joint, names: Sequence[str], domains: Mapping[str, Domain]
) -> tuple[Association, ...]:
    bins: dict[str, Bins] = {name: coarse(domains[name], PAIR_BINS, PAIR_CATEGORIES) for name in names}
    return tuple(
        Association(
            pair, *(mean_square_contingency(contingency(joint, *pair, bins=bins)) for joint in (original, published))
        )
        for pair in combinations(names, 2)
    )

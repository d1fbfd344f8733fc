"""Columns that may share attributes: each attribute joins every column that it belongs to closely enough."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.slicing.attribute_space import scaled_coordinates
from sfumato.anonymizers.slicing.correlation import Correlation
from sfumato.anonymizers.slicing.fuzzy import FuzzyClusters, FuzzyDistance, fuzzy_c_means
from sfumato.anonymizers.slicing.fuzzy_medoids import fuzzy_c_medoids
from sfumato.anonymizers.slicing.overlapping_medoids import overlapping_medoids
from sfumato.anonymizers.slicing.typicality import typicalities
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.options import Checked, Limit, Share
from sfumato.published.sliced import Columns

Method = Literal["fuzzy", "possibilistic", "medoids"]
Space = Literal["mds", "medoid", "profile"]

_LEAST_SHARE = 1e-9
"""A membership that lies below the threshold by no more than this is one that rounding took there."""


@dataclass(frozen=True)
class OverlappingClustering(Checked):
    """How attributes are put into columns that overlap.

    Attributes
    ----------
    method : {"fuzzy", "possibilistic", "medoids"}
        ``"fuzzy"``: fuzzy c-means, where degrees of membership of an attribute sum to 1. ``"possibilistic"``: what it
        finds is turned into typicalities, which do not. ``"medoids"``: OPC, whose degrees are similarities to centers.
    space : {"mds", "medoid", "profile"}
        What attributes are for fuzzy c-means. ``"mds"``: points that lie as far apart as ``1 - φ²`` says; ``"medoid"``:
        nothing but their distances, centers are attributes; ``"profile"``: rows of the matrix of φ².
    distance : {"euclidean", "dot-product"}
        Of point and center, in ``"mds"`` and ``"profile"``.
    threshold : float or None
        Least degree with which an attribute joins a column, above 0, at most 1; its nearest column it joins always.
        None: one in the number of columns, and half of that for ``"fuzzy"``, where an attribute that belongs to no
        column more than to others has that degree everywhere.
    fuzzifier : float
        m of fuzzy c-means, above 1.
    """

    name: ClassVar[str] = "overlapping-slicing"

    method: Method = "fuzzy"
    space: Space = "mds"
    distance: FuzzyDistance = "euclidean"
    threshold: Share | None = None
    fuzzifier: Annotated[float, Limit(1, above=True)] = 2.0

    def least_degree(self, columns: int) -> float:
        """Return the threshold, or what stands for none."""
        usual = 0.5 if self.method == "fuzzy" else 1.0
        return usual / columns if self.threshold is None else self.threshold


@dataclass(frozen=True, eq=False, repr=False)
class OverlappingColumns:
    """Columns, and how closely each attribute belongs to them.

    Attributes
    ----------
    columns : tuple of tuple of str
        They may be empty or lie inside others, see :func:`without_nested`.
    degrees : tuple of dict of str to float
        For each column the degree of *every* attribute.
    """

    columns: Columns
    degrees: tuple[dict[str, float], ...]


def overlap_columns(
    correlation: Correlation,
    sensitive: Collection[str],
    columns: int,
    clustering: OverlappingClustering,
    *,
    duplicate_sensitive: bool = False,
) -> OverlappingColumns:
    """Cluster attributes by the distance ``1 - φ²``, softly.

    Parameters
    ----------
    correlation
        Of all attributes that are sliced.
    sensitive
        The sensitive ones among them. They stand in their nearest column alone unless `duplicate_sensitive`.
    columns
        How many clusters.
    clustering
        How.

    Raises
    ------
    PolicyError
        When there are more columns than attributes.
    InputError
        With every attribute that has one value only.
    """
    names = correlation.attributes
    problems = []
    if columns > len(names):
        problems.append(
            f"overlapping-slicing: {columns} columns are more than there are attributes ({len(names)}); ask for fewer"
        )
    raise_all(PolicyError, problems)
    raise_all(InputError, _constant_problems(correlation))
    degrees = degrees_of(correlation.values, columns, clustering)
    joins = joined(degrees, clustering.least_degree(columns))
    for place, name in enumerate(names):
        if name in sensitive and not duplicate_sensitive:
            joins[place] = joined(degrees[[place]], np.inf)[0]
    return _named(names, joins, degrees)


def degrees_of(
    correlations: NDArray[np.float64], columns: int, clustering: OverlappingClustering
) -> NDArray[np.float64]:
    """Return how closely each attribute belongs to each column; float64 (a, c) from φ², float64 (a, a)."""
    distances = 1.0 - correlations
    if clustering.method == "medoids":
        return overlapping_medoids(distances, columns, clustering.least_degree(columns))
    found = _fuzzy(correlations, distances, columns, clustering)
    if clustering.method == "possibilistic":
        return typicalities(found, clustering.fuzzifier)
    return found.memberships


def joined(degrees: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Tell which columns each attribute joins: those of a degree of `threshold`, and the first of the highest."""
    joins = degrees >= threshold - _LEAST_SHARE
    joins[np.arange(len(degrees)), degrees.argmax(axis=1)] = True
    return np.asarray(joins)


def _number(value: object) -> float:
    """Return a number, or NaN, which lies between no bounds."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")


def _fuzzy(
    correlations: NDArray[np.float64],
    distances: NDArray[np.float64],
    columns: int,
    clustering: OverlappingClustering,
) -> FuzzyClusters:
    if clustering.space == "medoid":
        return fuzzy_c_medoids(distances, columns, clustering.fuzzifier)
    points = scaled_coordinates(distances) if clustering.space == "mds" else np.asarray(correlations)
    return fuzzy_c_means(points, columns, clustering.fuzzifier, clustering.distance)


def without_nested(found: OverlappingColumns) -> OverlappingColumns:
    """Leave out columns that are empty or lie inside another, which they add nothing to."""
    columns = [set(column) for column in found.columns]
    kept: list[int] = []
    for place in sorted(range(len(columns)), key=lambda place: (-len(columns[place]), place)):
        if columns[place] and not any(columns[place] <= columns[other] for other in kept):
            kept.append(place)
    kept.sort()
    return OverlappingColumns(
        tuple(found.columns[place] for place in kept), tuple(found.degrees[place] for place in kept)
    )


def _named(names: tuple[str, ...], joins: NDArray[np.bool_], degrees: NDArray[np.float64]) -> OverlappingColumns:
    """Name the attributes of clusters, in the order of their first ones."""
    members = [np.flatnonzero(joins[:, place]).tolist() for place in range(joins.shape[1])]
    ordered = sorted(range(len(members)), key=lambda place: (members[place], place))
    columns = tuple(tuple(names[attribute] for attribute in members[place]) for place in ordered)
    by_name = tuple(dict(zip(names, degrees[:, place].tolist(), strict=True)) for place in ordered)
    return OverlappingColumns(columns, by_name)


def _constant_problems(correlation: Correlation) -> Iterator[str]:
    for name, size in zip(correlation.attributes, correlation.sizes, strict=True):
        if size < 2:
            yield (
                f"overlapping-slicing: column {name!r} has one value only, so that it hangs together with nothing; "
                "leave it out, or list the columns"
            )

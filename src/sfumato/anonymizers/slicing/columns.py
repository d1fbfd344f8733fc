"""Attribute clustering: which attributes stand together in a column of a sliced table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.slicing.correlation import Correlation
from sfumato.anonymizers.slicing.medoids import medoids
from sfumato.errors import PolicyError, raise_all
from sfumato.published.sliced import Columns


def cluster_columns(
    correlation: Correlation, sensitive: Collection[str], columns: int, alpha: int | None = None
) -> Columns:
    """Put attributes that hang together into the same column, by k-medoids on the distance ``1 - φ²``.

    Parameters
    ----------
    correlation
        Of all attributes that are sliced.
    sensitive
        The sensitive ones among them.
    columns
        How many columns there are to be.
    alpha
        None: k-medoids over all attributes. A whole number: the sensitive attributes and the ``alpha - 1`` others that
        are nearest to one of them form a column, and k-medoids makes ``columns - 1`` of the rest.

    Returns
    -------
    tuple of tuple of str
        Every attribute once, in the order of `correlation`; columns in the order of their first attributes.

    Raises
    ------
    PolicyError
        When there are more columns than attributes, or `alpha` leaves too few attributes for the others; and with every
        attribute that has one value only.

    Notes
    -----
    Deterministic. The paper uses PAM; :func:`sfumato.anonymizers.slicing.medoids.medoids` says when its answer is exact
    and what it costs.

    *Sources.* Li, Li, Zhang, Molloy, TKDE 2012; Kaufman, Rousseeuw, "Finding groups in data", 1990. The details of
    the sensitive column are ours, as the paper only names it.
    """
    problems = [*_count_problems(correlation, sensitive, columns, alpha), *_constant_problems(correlation)]
    raise_all(PolicyError, problems)
    everyone = np.arange(len(correlation.attributes))
    if alpha is None or not sensitive:
        return _named(correlation, _clusters(correlation.distances, everyone, columns))
    together = _sensitive_column(correlation, sensitive, alpha)
    rest = np.setdiff1d(everyone, together)
    others = _clusters(correlation.distances, rest, columns - 1) if len(rest) else []
    return _named(correlation, [together, *others])


def _sensitive_column(correlation: Correlation, sensitive: Collection[str], alpha: int) -> NDArray[np.int64]:
    own = [place for place, name in enumerate(correlation.attributes) if name in sensitive]
    nearest = correlation.distances[:, own].min(axis=1)
    nearest[own] = np.inf
    order = np.argsort(nearest, kind="stable")
    return np.sort(np.append(own, order[: alpha - 1]))


def _clusters(distances: NDArray[np.float64], places: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    if count == len(places):
        return [places[[place]] for place in range(count)]
    if count == 1:
        return [places]
    among = np.ascontiguousarray(distances[np.ix_(places, places)])
    centers = medoids(among, count)
    labels = among[:, centers].argmin(axis=1)
    labels[centers] = np.arange(count)
    return [places[labels == label] for label in range(count)]


def _named(correlation: Correlation, clusters: Sequence[NDArray[np.int64]]) -> Columns:
    ordered = sorted((sorted(cluster.tolist()) for cluster in clusters), key=lambda places: places[0])
    return tuple(tuple(correlation.attributes[place] for place in places) for places in ordered)


def _count_problems(correlation: Correlation, sensitive: Collection[str], columns: int, alpha: int | None) -> list[str]:
    attributes, private = len(correlation.attributes), len(sensitive)
    if columns > attributes:
        return [f"slicing: {columns} columns are more than there are attributes ({attributes}); ask for fewer"]
    if alpha is None or not sensitive:
        return []
    others = attributes - private
    if alpha - 1 > others:
        return [f"slicing: alpha = {alpha} needs {alpha - 1} attributes beside the sensitive, there are {others}"]
    rest = others - (alpha - 1)
    if rest < columns - 1 or (rest > 0 and columns == 1):
        return [
            f"slicing: alpha = {alpha} leaves {rest} attribute(s) for {columns - 1} other column(s); "
            "change alpha or the number of columns"
        ]
    return []


def _constant_problems(correlation: Correlation) -> list[str]:
    return [
        f"slicing: column {name!r} has one value only, so that it hangs together with nothing; "
        "leave it out, or list the columns"
        for name, size in zip(correlation.attributes, correlation.sizes, strict=True)
        if size < 2
    ]

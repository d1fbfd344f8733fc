"""k-means anonymity the obvious way (section 5 of `algorithms.md`): cluster, merge, replace by the mean.

A table is a list of points, the quasi-identifying numbers of each record. The random start is a parameter: `start`
lists the records that are the first centres, floor(n / k) of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from naive.metrics import z_scores
from naive.mixed import Class, Predicate, need, satisfied

Point = Sequence[float]


def squared_distance(p: Point, q: Point) -> float:
    return sum((a - b) ** 2 for a, b in zip(p, q, strict=True))


def mean(points: Sequence[Point]) -> list[float]:
    return [math.fsum(values) / len(points) for values in zip(*points, strict=True)]


def nearest(point: Point, centres: Sequence[Point]) -> int:
    """Index of the nearest centre, the lowest on ties."""
    return min(range(len(centres)), key=lambda index: squared_distance(point, centres[index]))


def scaled(points: Sequence[Point], scale: str) -> list[list[float]]:
    """Points on the scale on which distances are taken: 'none', 'minmax' or 'zscore'."""
    columns: list[Sequence[float]] = [*zip(*points, strict=True)]
    if scale == "minmax":
        columns = [[(x - min(column)) / ((max(column) - min(column)) or 1) for x in column] for column in columns]
    if scale == "zscore":
        columns = [z_scores(column) for column in columns]
    return [list(point) for point in zip(*columns, strict=True)]


def cluster(
    points: Sequence[Point], centres: Sequence[Point], max_iter: int = 300, tol: float = 1e-9
) -> tuple[list[Class], list[Point]]:
    """Clusters, empty ones dropped, and their centres; an empty cluster keeps its centre while the rounds go on."""
    centres = list(centres)
    for _ in range(max_iter):
        homes = [nearest(point, centres) for point in points]
        clusters = [[record for record, home in enumerate(homes) if home == index] for index in range(len(centres))]
        moved = [
            mean([points[record] for record in members]) if members else centre
            for members, centre in zip(clusters, centres, strict=True)
        ]
        stable = all(math.dist(old, new) <= tol for old, new in zip(centres, moved, strict=True))
        centres = moved
        if stable:
            break
    kept = [index for index, members in enumerate(clusters) if members]
    return [clusters[index] for index in kept], [centres[index] for index in kept]


def merge(points: Sequence[Point], clusters: Sequence[Class], centres: Sequence[Point], done: Predicate) -> list[Class]:
    """The smallest unsatisfied cluster joins the one with the nearest centre, whose centre then moves; and again."""
    clusters, centres = [list(members) for members in clusters], list(centres)
    while len(clusters) > 1 and not all(map(done, clusters)):
        small = min((i for i, members in enumerate(clusters) if not done(members)), key=lambda i: len(clusters[i]))
        members, centre = clusters.pop(small), centres.pop(small)
        into = nearest(centre, centres)
        clusters[into] = sorted(clusters[into] + members)
        centres[into] = mean([points[record] for record in clusters[into]])
    if not all(map(done, clusters)):
        raise ValueError("not even the whole table satisfies")
    return clusters


def kmeans(
    points: Sequence[Point],
    k: int,
    start: Sequence[int],
    scale: str = "none",
    max_iter: int = 300,
    tol: float = 1e-9,
    ok: Predicate | None = None,
) -> list[Class]:
    """Return the classes; with `ok`, clusters merge until they have k records *and* are ok."""
    need(points, k)
    on_scale = scaled(points, scale)
    clusters, centres = cluster(on_scale, [on_scale[record] for record in start], max_iter, tol)
    return merge(on_scale, clusters, centres, lambda members: satisfied(members, k, ok))


def means(points: Sequence[Point], classes: Sequence[Class]) -> list[list[float]]:
    """What each class publishes."""
    return [mean([points[record] for record in members]) for members in classes]

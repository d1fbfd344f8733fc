"""One-pass k-means, OKA (Lin & Wei 2008), the obvious way (section 9 of `algorithms.md`).

What is left to chance is a parameter: the seeds, the order of the records in the pass, and that of the pool. Ties go
to the lowest record, or to the cluster of the first seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from naive.mixed import (
    Class,
    Kind,
    Number,
    Row,
    Tree,
    climbed,
    column,
    difference,
    farthest,
    nearest,
    need,
    ratio,
    sort_key,
)
from naive.recoding import Value


def mode(values: Sequence[Value]) -> Value:
    """Most frequent value; the lowest of several, the missing value last."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], sort_key(value)))


def term(kind: Kind, x: Value, values: Sequence[Value], centre: str) -> Fraction:
    """Distance of a value to the centroid of a cluster's values, between 0 and 1.

    Numbers: to the mean of the present ones; a missing number is at distance 1, or 0 if all are missing. Trees: the
    common ancestor with the centroid, which is the cluster's own common ancestor ('lca') or its 'mode'. Plain
    categories: whether it is the mode.
    """
    if isinstance(kind, Number):
        present = [value for value in values if value is not None]
        if x is None or not present:
            return Fraction(0) if x is None and not present else Fraction(1)
        return ratio(abs(difference(x, sum(map(Fraction, present)) / len(present))), difference(kind.high, kind.low))
    if isinstance(kind, Tree) and centre == "lca":
        return climbed(kind, [*values, x])
    return climbed(kind, [mode(values), x])


def distance(rows: Sequence[Row], kinds: Sequence[Kind], record: int, members: Class, centre: str = "lca") -> Fraction:
    """Sum over the attributes."""
    terms = [term(kind, rows[record][i], column(rows, members, i), centre) for i, kind in enumerate(kinds)]
    return sum(terms, Fraction(0))


def one_pass(
    rows: Sequence[Row], kinds: Sequence[Kind], seeds: Sequence[int], order: Sequence[int], centre: str = "lca"
) -> list[Class]:
    """Each record joins the cluster with the nearest centroid, which moves at once."""
    clusters = [[seed] for seed in seeds]
    for record in order:
        if record not in seeds:
            nearest(clusters, lambda members: distance(rows, kinds, record, members, centre)).append(record)  # noqa: B023
    return clusters


def adjusted(
    rows: Sequence[Row], kinds: Sequence[Kind], clusters: Sequence[Class], k: int, order: Sequence[int], centre: str
) -> list[Class]:
    """Clusters above k give up the records farthest from the centroid they had; these fill up the others, then any.

    The centroids that pool records look at are those of the clusters as they are at that moment.
    """
    clusters = [list(members) for members in clusters]
    pool = []
    for members in clusters:
        full = list(members)
        while len(members) > k:
            far = farthest(sorted(members), lambda record: distance(rows, kinds, record, full, centre))  # noqa: B023
            members.remove(far)
            pool.append(far)
    for record in sorted(pool, key=list(order).index):
        short = [members for members in clusters if len(members) < k]
        nearest(short or clusters, lambda members: distance(rows, kinds, record, members, centre)).append(record)  # noqa: B023
    return clusters


def oka(
    rows: Sequence[Row],
    kinds: Sequence[Kind],
    k: int,
    seeds: Sequence[int],
    order: Sequence[int] | None = None,
    pool_order: Sequence[int] | None = None,
    centre: str = "lca",
) -> list[Class]:
    """Return the classes in the order of the seeds, floor(n / k) distinct records; the orders rank all records.

    Sizes steer the second stage, so no other model can take their place.
    """
    need(rows, k)
    rising = range(len(rows))
    clusters = one_pass(rows, kinds, seeds, rising if order is None else order, centre)
    return adjusted(rows, kinds, clusters, k, rising if pool_order is None else pool_order, centre)

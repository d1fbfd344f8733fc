"""Which columns a table is sliced into, and whether its records as one bucket keep the models then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.correlation import Correlation
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.predicates import SLACK
from sfumato.models import GENERALIZE, promisable
from sfumato.models.protocol import PrivacyModel, SensitiveModel, says
from sfumato.numbers import counted
from sfumato.published import SlicedTable
from sfumato.published.apart import Columns
from sfumato.published.checks.slice_layout import SliceLayout, models_of_rules, reached
from sfumato.published.checks.slices import group_measures
from sfumato.table.encoding import EncodedTable

# Ways to cluster attributes by their distances: k-medoids, fuzzy c-means and c-medoids, overlapping k-medoids.
#
# Letters: a attributes, c clusters, p coordinates.


FuzzyDistance = Literal["euclidean", "dot-product"]

_TOLERANCE = 1e-9

_MOST_ROUNDS = 1000

_MOST_STARTS = 32

_NOTHING = 1e-12
"""Eigenvalues below this share of the largest are rounding."""

# Up to so many sets of medoids are all tried, in a fraction of a second; beyond, PAM exchanges one medoid at a time.
MOST_SETS = 50_000

_SETS_AT_ONCE = 2_000

# Costs that differ by less than rounding errors are ties.
_DECIMALS = 12

_Quality = tuple[int, float]


def medoids(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Choose medoids so that the sum of everybody's distance to the nearest is least; the first set of equal ones.

    Exact while there are at most `MOST_SETS` sets; larger problems are solved by PAM (BUILD, then the best exchange), a
    local optimum. Cost O(sets · a c), or O(c² (a − c) a) for each exchange. *Source.* Kaufman, Rousseeuw, "Finding
    groups in data", 1990. Departure: PAM is replaced by the exact answer where that is affordable.
    """
    search = _best_of_all if comb(len(distances), count) <= MOST_SETS else _by_exchange
    return np.sort(search(distances, count))


def _best_of_all(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    sets = np.array(list(combinations(range(len(distances)), count)), dtype=np.int64)
    parts = [_costs(distances, sets[at : at + _SETS_AT_ONCE]) for at in range(0, len(sets), _SETS_AT_ONCE)]
    best: NDArray[np.int64] = sets[np.concatenate(parts).argmin()]
    return best


def _by_exchange(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    chosen = _build(distances, count)
    cost = _costs(distances, chosen[None, :])[0]
    while True:
        candidates = _exchanges(chosen, len(distances))
        costs = _costs(distances, candidates)
        best = costs.argmin()
        if not costs[best] < cost:
            return chosen
        chosen, cost = candidates[best], costs[best]


def _build(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Add the medoid that lowers the sum most, one after another."""
    chosen: list[int] = []
    for _ in range(count):
        others = [place for place in range(len(distances)) if place not in chosen]
        grown = np.array([[*chosen, place] for place in others])
        chosen.append(others[int(_costs(distances, grown).argmin())])
    return np.array(chosen, dtype=np.int64)


def _exchanges(chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return every set with one medoid exchanged for another member."""
    others = np.setdiff1d(np.arange(size), chosen)
    sets = np.tile(chosen, (len(chosen), len(others), 1))
    for place in range(len(chosen)):
        sets[place, :, place] = others
    return sets.reshape(-1, len(chosen))


def _costs(distances: NDArray[np.float64], sets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum everybody's distance to the nearest medoid, for each set of medoids."""
    nearest = distances[sets].min(axis=1)
    costs: NDArray[np.float64] = nearest.sum(axis=1).round(_DECIMALS)
    return costs


def fuzzy_c_means(
    points: NDArray[np.float64], clusters: int, fuzzifier: float = 2.0, distance: FuzzyDistance = "euclidean"
) -> FuzzyClusters:
    """Find centers and degrees of membership that make ``Σ u_ij^m d_ij²`` small, where degrees of a point sum to 1.

    ``"dot-product"``: ``1 - cos`` of the angle, points and centers brought to length 1 (Klawonn, Keller 1999); of a
    point at the origin the Euclidean distance. No luck: it starts from up to 32 sets of centers, each a point and those
    farthest from all before, and takes the best. A point in the place of centers belongs to these alone, in equal parts
    (Thomas, Raju, Wangmo 2009). Each round costs O(a c p). *Sources.* Dunn 1973; Bezdek 1981. The paper of overlapping
    slicing prints the distance between two points where that of point and center is meant, and the criterion of
    convergence without its minus.
    """
    shaped = _directed(points) if distance == "dot-product" else points
    return _best_of(
        _from_centers(shaped, shaped[start], fuzzifier, distance)
        for start in _farthest_first(_squared_distances(shaped, shaped, "euclidean"), clusters)
    )


@dataclass(frozen=True, eq=False, repr=False)
class FuzzyClusters:
    """Clusters that points belong to by degrees; squared distances from centers; `objective`, ``Σ u^m d²``."""

    memberships: NDArray[np.float64]
    squares: NDArray[np.float64]
    objective: float


def _best_of(outcomes: Iterator[FuzzyClusters]) -> FuzzyClusters:
    """Return the first outcome of smallest objective; those that differ by rounding count as equal."""
    best = next(outcomes)
    for outcome in outcomes:
        if outcome.objective < best.objective - _TOLERANCE * max(1.0, best.objective):
            best = outcome
    return best


def _farthest_first(squares: NDArray[np.float64], count: int, most: int = _MOST_STARTS) -> Iterator[NDArray[np.int64]]:
    """Start from each point in turn, and add the point that is farthest from all before, `count` in all."""
    for first in range(min(len(squares), most)):
        chosen = [first]
        nearest = squares[first].copy()
        while len(chosen) < count:
            nearest[chosen] = -1.0
            chosen.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, squares[chosen[-1]])
        yield np.array(chosen)


def memberships_of(squares: NDArray[np.float64], fuzzifier: float) -> NDArray[np.float64]:
    """Return degrees of membership, float64 (a, c), rows sum to 1, from squared distances of the same shape."""
    on_center = squares == 0
    nearest = squares.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Relative to the nearest center: no power overflows.
        closeness = (nearest / squares) ** (1.0 / (fuzzifier - 1.0))
    closeness = np.where(nearest == 0, on_center, closeness)
    degrees: NDArray[np.float64] = closeness / closeness.sum(axis=1, keepdims=True)
    return degrees


def _squared_distances(
    points: NDArray[np.float64], centers: NDArray[np.float64], distance: FuzzyDistance
) -> NDArray[np.float64]:
    """Return the squared distance of every point from every center; float64 (a, c)."""
    apart = points[:, None, :] - centers[None, :, :]
    euclidean: NDArray[np.float64] = np.einsum("acp,acp->ac", apart, apart)
    if distance == "euclidean":
        return euclidean
    # Of two directions the squared Euclidean distance is 2 (1 - cos).
    directed = (points != 0).any(axis=1)[:, None] & (centers != 0).any(axis=1)[None, :]
    return np.where(directed, euclidean / 2, euclidean)


def _from_centers(
    points: NDArray[np.float64], centers: NDArray[np.float64], fuzzifier: float, distance: FuzzyDistance
) -> FuzzyClusters:
    squares = _squared_distances(points, centers, distance)
    degrees = memberships_of(squares, fuzzifier)
    for _ in range(_MOST_ROUNDS):
        weights = degrees**fuzzifier
        total = weights.sum(axis=0)
        # A center that nobody belongs to stays where it is.
        moved = np.where((total > 0)[:, None], weights.T @ points / np.where(total > 0, total, 1.0)[:, None], centers)
        centers = _directed(moved) if distance == "dot-product" else moved
        squares = _squared_distances(points, centers, distance)
        before, degrees = degrees, memberships_of(squares, fuzzifier)
        if np.abs(degrees - before).max() < _TOLERANCE:
            break
    return FuzzyClusters(degrees, squares, float((degrees**fuzzifier * squares).sum()))


def _directed(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring points to length 1; those at the origin stay."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    directed: NDArray[np.float64] = np.where(lengths > 0, points / np.where(lengths > 0, lengths, 1.0), 0.0)
    return directed


def scaled_coordinates(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place attributes so that they lie about as far from each other as `distances` says: classical scaling, O(a³).

    A coordinate for each positive eigenvalue of ``-J D² J / 2``; the negative ones, where distances are those of no
    points, are left out. *Source.* Torgerson 1952; that attributes are clustered in this space is our choice, as the
    paper of overlapping slicing names none.
    """
    count = len(distances)
    if distances.shape != (count, count) or not np.isfinite(distances).all():
        raise InputError("attribute space: distances must be a square matrix of finite numbers")
    squared = distances**2
    centered = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-(centered + centered.T) / 4)
    kept = values > _NOTHING * max(float(values.max(initial=0.0)), _NOTHING)
    coordinates: NDArray[np.float64] = vectors[:, kept] * np.sqrt(values[kept])
    return coordinates if kept.any() else np.zeros((count, 1))


def fuzzy_c_medoids(distances: NDArray[np.float64], clusters: int, fuzzifier: float = 2.0) -> FuzzyClusters:
    """Find medoids and degrees of membership that make ``Σ u_ij^m d_ij`` small, where degrees of a point sum to 1.

    Distances take the place of squared ones. No luck is involved, see :func:`fuzzy_c_means`. A medoid belongs to its
    own cluster alone. Each round costs O(a² c). *Source.* Krishnapuram, Joshi, Nasraoui, Yi, "Low-complexity fuzzy
    relational clustering", 2001.
    """
    return _best_of(_from_medoids(distances, start, fuzzifier) for start in _farthest_first(distances, clusters))


def _from_medoids(distances: NDArray[np.float64], medoids: NDArray[np.int64], fuzzifier: float) -> FuzzyClusters:
    best = _outcome(distances, medoids, fuzzifier)
    for _ in range(_MOST_ROUNDS):
        medoids = _moved(distances, best.memberships**fuzzifier)
        outcome = _outcome(distances, medoids, fuzzifier)
        # Medoids are few: as long as the objective falls, none comes twice.
        if not outcome.objective < best.objective:
            break
        best = outcome
    return best


def _outcome(distances: NDArray[np.float64], medoids: NDArray[np.int64], fuzzifier: float) -> FuzzyClusters:
    squares = np.ascontiguousarray(distances[:, medoids])
    degrees = memberships_of(squares, fuzzifier)
    return FuzzyClusters(degrees, squares, float((degrees**fuzzifier * squares).sum()))


def _moved(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Take the best medoid of every cluster that is not taken yet."""
    costs = distances @ weights
    chosen: list[int] = []
    for cluster in range(weights.shape[1]):
        costs[chosen, cluster] = np.inf
        chosen.append(int(costs[:, cluster].argmin()))
    return np.array(chosen)


def typicalities(found: FuzzyClusters, fuzzifier: float = 2.0) -> NDArray[np.float64]:
    """Return ``1 / (1 + (d_ij² / η_i)^{1/(m−1)})``, where η_i is the mean squared distance inside cluster i.

    `found`: where fuzzy c-means or c-medoids has converged. `fuzzifier`: m, above 1. Returns: float64 (a, c). Rows need
    not sum to 1: a point far from everything is typical of nothing. A cluster whose points all lie in its center is
    typical of these alone. *Source.* Krishnapuram, Keller, "A possibilistic approach to clustering", 1993, with K = 1;
    the paper of overlapping slicing calls it adaptive.
    """
    weights = found.memberships**fuzzifier
    total = weights.sum(axis=0)
    spread = np.where(total > 0, (weights * found.squares).sum(axis=0) / np.where(total > 0, total, 1.0), 0.0)
    relative = np.where(found.squares == 0, 0.0, np.inf)
    inside = np.broadcast_to(spread > 0, relative.shape)
    np.divide(found.squares, spread[None, :], out=relative, where=inside)
    typical: NDArray[np.float64] = 1.0 / (1.0 + relative ** (1.0 / (fuzzifier - 1.0)))
    return typical


def overlapping_medoids(distances: NDArray[np.float64], clusters: int, similarity: float) -> NDArray[np.float64]:
    """Choose centers whose clusters, all that is at least `similarity` similar, are large and lie far apart.

    Clusters overlap, and some attributes may be in none. Deterministic: starts from each attribute in turn and adds the
    one with the largest product of crowding value and distance from the centers before; then exchanges a center as long
    as the clusters get larger, or as large with centers farther apart. Each round costs O(a² c). *Source.* Chen, Hu,
    "An overlapping cluster algorithm to provide non-exhaustive clustering", EJOR 2006. Its functions are not at hand:
    the two goals are its, the order between them and the exchange are ours. Departures: it draws its starts at random;
    and clusters that are the same count once here.
    """
    largest = float(distances.max(initial=0.0))
    similar = 1.0 - distances / largest if largest > 0 else np.ones_like(distances)
    near = similar >= similarity
    starts = (_crowded(near, distances, first, clusters) for first in range(min(len(near), _MOST_STARTS)))
    outcomes = [_exchanged(near, distances, start) for start in starts]
    best = max(outcomes, key=lambda centers: _quality(near, distances, centers))
    return np.ascontiguousarray(similar[:, sorted(best)])


def _crowded(near: NDArray[np.bool_], distances: NDArray[np.float64], first: int, count: int) -> list[int]:
    crowding = near.sum(axis=1)
    centers = [first]
    while len(centers) < count:
        worth = crowding * distances[centers].min(axis=0)
        worth[centers] = -1.0
        centers.append(int(worth.argmax()))
    return centers


def _exchanged(near: NDArray[np.bool_], distances: NDArray[np.float64], centers: list[int]) -> list[int]:
    quality = _quality(near, distances, centers)
    while True:
        others = [
            [*centers[:place], new, *centers[place + 1 :]]
            for place in range(len(centers))
            for new in range(len(near))
            if new not in centers
        ]
        best = max(others, key=lambda candidate: _quality(near, distances, candidate), default=centers)
        reached = _quality(near, distances, best)
        if not reached > quality:
            return centers
        centers, quality = best, reached


def _quality(near: NDArray[np.bool_], distances: NDArray[np.float64], centers: list[int]) -> _Quality:
    """Objects in different clusters first, then how far apart centers are."""
    apart = float(distances[np.ix_(centers, centers)].sum())
    return int(np.unique(near[centers], axis=0).sum()), round(apart, 9)


_LayOut = Callable[[Columns], SliceLayout]

_MOST_COLUMNS = 5
"""Columns where the number is not said."""


def slice_column_problems(what: str, columns: int | Columns | None, table: EncodedTable) -> Iterator[str]:
    """Say what does not fit between listed columns (or their number) and a table."""
    sensitive = [attribute.name for attribute in table.sensitive]
    known = [*(attribute.name for attribute in table.attributes), *sensitive]
    if not sensitive:
        yield f"{what}: needs a sensitive column, whose values are to be protected; give one that role"
    reserved = SlicedTable.whole_numbers
    yield from (
        f"{what}: publishes a column {name!r} of its own; rename that of the table"
        for name in known
        if name in reserved
    )
    if isinstance(columns, tuple):
        listed = [name for column in columns for name in column]
        for name in listed:
            if name not in known:
                yield f"{what}: columns name {name!r}, which is no quasi-identifying or sensitive attribute"
        for name in known:
            if name not in listed:
                yield f"{what}: columns do not hold {name!r}; every attribute stands in one of them"
    elif columns is not None and columns > len(known):
        yield f"{what}: {columns} columns are more than there are attributes ({len(known)}); ask for fewer"


def model_problems(what: str, advice: str, table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    """Say which models cannot be promised, with `advice` at the end, or do not fit the sensitive columns."""
    names = [attribute.name for attribute in table.sensitive]
    for model in models:
        if "slices" not in says(model).speaks_of:
            yield (
                f"{model.name}: a sliced table has no equivalence classes, and cannot promise it; {what} can promise "
                f"{' and '.join(promisable('slices'))}{advice}; for others {GENERALIZE}"
            )
            continue
        try:
            model.rules(names)
        except PolicyError as error:
            # What is missing is said once, for all models.
            yield from error.problems if names else ()


def single_value_problems(what: str, table: EncodedTable) -> Iterator[str]:
    """Name sensitive attributes that have one value only."""
    for place, attribute in enumerate(table.sensitive):
        codes = table.sensitive_codes[:, place]
        if bool(np.all(codes == codes[0])):
            yield (
                f"{what}: sensitive column {attribute.name!r} has one value only, which everybody has; "
                "nothing can hide it: leave the column out"
            )


def as_column(column: object) -> tuple[str, ...]:
    """Settle one column of a list as a tuple; what is no column becomes an empty one."""
    return tuple(column) if isinstance(column, (list, tuple)) else ()


def usual_columns(attributes: int) -> int:
    """Return how many columns there are where nobody says so."""
    return min(_MOST_COLUMNS, max(2, (attributes + 1) // 2), attributes)


def is_whole_number(value: object, least: int) -> bool:
    """Tell whether an option is a whole number, `least` or above."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumns:
    """Columns that one bucket of all records keeps the models with, and what the steward should know of them."""

    columns: Columns
    layout: SliceLayout
    notes: tuple[str, ...] = ()


def choose_columns(
    problem: Problem, correlation: Correlation, count: int, alpha: int | None, lay_out: _LayOut
) -> ChosenColumns:
    """Cluster the attributes; without `alpha` ever fewer stand beside the sensitive ones until the models hold.

    A value that hangs together with what stands beside it can be guessed in any bucket: the models then fail for all
    records, which no cut mends. Refused when they fail even with the sensitive attributes alone, or with `alpha` in
    those columns.
    """
    sensitive = [attribute.name for attribute in problem.table.sensitive]
    first = cluster_columns(correlation, sensitive, count, alpha)
    layout = lay_out(first)
    found = one_bucket_problems(problem, layout, first)
    if not found:
        return ChosenColumns(first, layout)
    if alpha is not None:
        raise_all(UnsatisfiableError, found)
    for fewer in range(_beside(first, sensitive), 0, -1):
        try:
            columns = cluster_columns(correlation, sensitive, count, fewer)
        except PolicyError:
            continue
        layout = lay_out(columns)
        found = one_bucket_problems(problem, layout, columns)
        if not found:
            most = "No attribute" if fewer == 1 else f"No more than {counted(fewer - 1, 'other attribute')}"
            note = (
                f"{most} may stand beside the sensitive ones (alpha = {fewer}). More of what hangs together with them "
                "would tell their values."
            )
            return ChosenColumns(columns, layout, (note,))
    raise UnsatisfiableError(*found)


def _beside(columns: Columns, sensitive: Sequence[str]) -> int:
    """Return how many other attributes stand in columns of sensitive ones."""
    homes = [column for column in columns if set(column) & set(sensitive)]
    return sum(name not in sensitive for column in homes for name in column)


def one_bucket_problems(problem: Problem, layout: SliceLayout, columns: Columns) -> list[str]:
    """Say which models all records as one bucket break, and what helps."""
    table = problem.table
    names = [attribute.name for attribute in table.sensitive]
    model_of = models_of_rules(problem.models, names)
    problems = []
    for rule, model in enumerate(model_of):
        attribute = int(layout.arrays.rules.attributes[rule])
        home = int(layout.arrays.homes[attribute])
        groups = layout.arrays.parts[:, home] if home >= 0 else np.zeros(table.height, np.int32)
        count = int(groups.max()) + 1
        measures = group_measures(layout.attributes[attribute], model, table, groups, count)
        failing = int((measures > layout.arrays.bounds[rule] + SLACK).sum())
        if failing:
            problems.append(
                _sentence(model, layout.attributes[attribute], columns, names, failing, count, measures.max())
            )
    return problems


def _sentence(
    model: SensitiveModel,
    name: str,
    columns: Columns,
    sensitive: Collection[str],
    failing: int,
    count: int,
    worst: float,
) -> str:
    best = f"{model.bounded} = {reached(model, worst, name).value:.6g}"
    asked = f"{model.bounded} = {getattr(model, model.bounded)}"
    beside = [other for column in columns if name in column for other in column if other not in sensitive]
    what = f"{model.name} on {name!r} asks for {asked}, "
    if not beside:
        return what + f"but all records in one bucket reach only {best}; relax the model"
    return (
        what + f"but {failing} of {counted(count, 'combination')} of the values beside it in its column "
        f"({', '.join(beside)}) break it, the worst with {best}; give it a column of its own (alpha=1), "
        "or relax the model"
    )


def cluster_columns(
    correlation: Correlation, sensitive: Collection[str], columns: int, alpha: int | None = None
) -> Columns:
    """Put attributes that hang together into the same column, by k-medoids on ``1 - φ²``, in order of first attributes.

    With `alpha` the sensitive attributes and the ``alpha - 1`` others nearest to one of them form a column, and
    k-medoids makes ``columns - 1`` of the rest. Deterministic. The paper uses PAM; :func:`medoids` says when its answer
    is exact. *Sources.* Li, Li, Zhang, Molloy, TKDE 2012; Kaufman, Rousseeuw, "Finding groups in data", 1990. The
    details of the sensitive column are ours, as the paper only names it.
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

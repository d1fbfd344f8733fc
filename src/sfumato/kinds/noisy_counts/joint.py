"""Count tables made to agree, and the joint distribution of largest entropy that agrees with them.

It is fitted by iterative proportional fitting, over every combination that the tables allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.published import MarginalTables
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.marginals.marginals import is_acyclic, ordered_sets
from sfumato.table.header import columns_of, exactly

# What count tables say together: the joint distribution of largest entropy that agrees with them.
#
# It is fitted by iterative proportional fitting, over every combination that the tables allow.


_Floats = NDArray[np.float64]
_TOLERANCE = 1e-9
"""Largest difference to a count, as a share of all records, at which fitting ends."""
ROUNDS = 10_000
_MOST_ROWS = 5_000_000
_WEIGHT = "expected"
_ROW = "row of table {}"


@dataclass(frozen=True, eq=False, repr=False)
class _FittedTable:
    """What fitting came to.

    `weights`, float64 (m,): expected records of every combination. `rounds`: passes over all tables. `difference`:
    largest difference to a count that is left, as a share of all records.
    """

    weights: _Floats
    rounds: int
    difference: float

    @property
    def converged(self) -> bool:
        """Whether every count is met."""
        return self.difference <= _TOLERANCE


def fit(cells: Sequence[NDArray[np.integer]], counts: Sequence[_Floats], *, rounds: int = ROUNDS) -> _FittedTable:
    """Fit weights of combinations to count tables, one after the other, until all agree.

    Letters: m combinations that can occur, c cells of a table. `cells`: for each table, integers (m,): the cell that
    every combination falls into. `counts`: for each table, float64 (c,): its counts, above 0; all tables count the same
    records. `rounds`: passes after which it gives up. Returns: of tables whose sets form no circle after two passes; of
    others when the tolerance is reached.

    Starts from equal weights, so that the limit has the largest entropy. Cost O(m) for each table and pass; memory
    O(m). *Source.* W. E. Deming, F. F. Stephan, "On a least squares adjustment of a sampled frequency table when the
    expected marginal totals are known", 1940.
    """
    total = float(counts[0].sum())
    weights = np.full(len(cells[0]), total / max(len(cells[0]), 1))
    difference = np.inf
    done = 0
    while done < rounds and difference > _TOLERANCE:
        for cell, count in zip(cells, counts, strict=True):
            held = np.bincount(cell, weights, len(count))
            weights *= np.divide(count, held, out=np.zeros_like(held), where=held > 0)[cell]
        difference = _largest_difference(weights, cells, counts) / total
        done += 1
    return _FittedTable(weights, done, float(difference))


def _largest_difference(weights: _Floats, cells: Sequence[NDArray[np.integer]], counts: Sequence[_Floats]) -> float:
    return max(
        float(np.abs(np.bincount(cell, weights, len(count)) - count).max(initial=0.0))
        for cell, count in zip(cells, counts, strict=True)
    )


def inferred_joint(published: MarginalTables, *, most: int = _MOST_ROWS) -> pl.DataFrame:
    """Return the joint distribution of largest entropy, over the combinations that all tables allow.

    That is what an attacker concludes who takes what is not published for independent. `published`: count tables that
    agree on what they share. Returns: all attributes, and ``expected``: records that a combination is expected to have.
    Raises ``InputError`` when there are more combinations than `most`, or the tables contradict each other.
    """
    joined: pl.DataFrame | None = None
    for place in ordered_sets(published.columns):
        frame = published.marginals[place].drop(COUNT).with_row_index(_ROW.format(place))
        joined = frame if joined is None else _join(joined, frame, most)
    assert joined is not None
    cells = [joined[_ROW.format(place)].to_numpy() for place in range(len(published.columns))]
    fitted = fit(cells, [frame[COUNT].cast(pl.Float64).to_numpy() for frame in published.marginals])
    if not fitted.converged:
        raise InputError("marginal tables: their counts contradict each other")
    names = [name for name in joined.columns if not name.startswith("row of table")]
    return columns_of(joined, names).with_columns(pl.Series(_WEIGHT, fitted.weights))


def _join(joined: pl.DataFrame, frame: pl.DataFrame, most: int) -> pl.DataFrame:
    shared = [name for name in frame.columns if name in joined.columns]
    size = int(np.dot(*_matches(joined, frame, shared))) if shared else joined.height * frame.height
    if size > most:
        raise InputError(f"marginal tables: together they allow {size:,} combinations, more than {most:,}")
    if not shared:
        return joined.join(frame, how="cross")
    return joined.join(frame, on=exactly(*shared), nulls_equal=True)


def _matches(
    joined: pl.DataFrame, frame: pl.DataFrame, shared: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many rows of either have each combination of what both share."""
    one, other = (each.group_by(exactly(*shared)).len(name) for each, name in ((joined, "one"), (frame, "other")))
    both = one.join(other, on=exactly(*shared), nulls_equal=True)
    return both["one"].cast(pl.Int64).to_numpy(), both["other"].cast(pl.Int64).to_numpy()


# Noisy marginals that contradict each other, made to agree: not negative, equal where they overlap, of one total.
#
# All of it works on noisy counts alone, and so costs no privacy.


Counts = NDArray[np.float64]
Names = tuple[str, ...]
_ROUNDS = 300
_CLOSE = 1e-7
"""Largest change of a cell in a round, as a share of all records, at which the search for agreement ends."""
_FITTING_ROUNDS = 200


def cliques_of(sets: Sequence[Names]) -> list[Names]:
    """Return the largest sets, those that overlap in a circle joined, so that the result overlaps like a tree."""
    left = [set(names) for names in sets if not any(set(names) < set(other) for other in sets)]
    left = [names for place, names in enumerate(left) if names not in left[:place]]
    while not is_acyclic([sorted(names) for names in left]):
        circle = _circle(left)
        joined = set().union(*(left[place] for place in circle))
        left = [names for place, names in enumerate(left) if place not in circle and not names <= joined] + [joined]
    order = list(dict.fromkeys(name for names in sets for name in names))
    return [tuple(name for name in order if name in names) for names in left]


def _circle(sets: Sequence[set[str]]) -> list[int]:
    """Return places of sets in a circle: what cannot be taken away one by one, as far as it hangs together."""
    places, names = list(range(len(sets))), [set(each) for each in sets]
    changed = True
    while changed:
        changed = False
        for place in list(places):
            others = [names[other] for other in places if other != place]
            shared = names[place] & set().union(*others)
            if any(shared <= other for other in others):
                places.remove(place)
                changed = True
                break
    found, reached = [places[0]], set(names[places[0]])
    while more := [place for place in places if place not in found and names[place] & reached]:
        found += more
        reached |= set().union(*(names[place] for place in more))
    return found


def total_of(noisy: Sequence[Counts]) -> float:
    """Estimate the records from all marginals, those of few cells counting more; not below 0."""
    weights = np.array([1 / counts.size for counts in noisy])
    return max(0.0, float(weights @ [counts.sum() for counts in noisy] / weights.sum()))


def make_agree(sets: Sequence[Names], noisy: Sequence[Counts]) -> list[Counts]:
    """Return marginals close to the noisy ones (least squares) that are not negative and agree where they overlap.

    Dykstra's alternating projections: onto counts that are not negative and have the estimated total, and onto counts
    that agree on what two marginals share. After :data:`_ROUNDS` they may still differ a little; what is published is
    computed from one distribution afterwards. Cost O(cells · marginals) a round, and O(cells log cells). *Source.* R.
    Dykstra, "An algorithm for restricted least squares regression", 1983; for agreement by shared columns W. Qardaji,
    W. Yang, N. Li, "PriView: practical differentially private release of marginal contingency tables", 2014.
    """
    total = total_of(noisy)
    counts = [each.astype(np.float64) for each in noisy]
    corrections = [np.zeros_like(each) for each in counts]
    shared = _shared(sets)
    for _ in range(_ROUNDS):
        before = [each.copy() for each in counts]
        for names in shared:
            _agree(counts, sets, names)
        for place, each in enumerate(counts):
            moved = each + corrections[place]
            counts[place] = _not_negative(moved, total)
            corrections[place] = moved - counts[place]
        if max(float(np.abs(one - other).max()) for one, other in zip(before, counts, strict=True)) <= _CLOSE * total:
            break
    return counts


def _shared(sets: Sequence[Names]) -> list[frozenset[str]]:
    found = {frozenset(one) & frozenset(other) for one, other in combinations(sets, 2)}
    return sorted((names for names in found if names), key=lambda names: (len(names), sorted(names)))


def _agree(counts: list[Counts], sets: Sequence[Names], shared: frozenset[str]) -> None:
    """Move marginals as little as possible so that all agree on some columns."""
    names = tuple(sorted(shared))
    places = [place for place, members in enumerate(sets) if shared <= set(members)]
    sums = [sum_over(counts[place], sets[place], names) for place in places]
    cells = [counts[place].size / sums[0].size for place in places]
    weights = np.array([1 / each for each in cells])
    mean = sum(weight * each for weight, each in zip(weights, sums, strict=True)) / weights.sum()
    for place, each, spread in zip(places, sums, cells, strict=True):
        counts[place] = counts[place] + spread_over((mean - each) / spread, names, sets[place])


def _not_negative(counts: Counts, total: float) -> Counts:
    """Return the nearest counts that are not negative and sum to `total`."""
    flat = np.sort(counts.ravel())[::-1]
    above = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    kept = np.flatnonzero(flat > above)
    moved = float(above[kept[-1]] if len(kept) else flat[0])
    return np.asarray(np.maximum(counts - moved, 0.0), dtype=np.float64)


def sum_over(counts: Counts, names: Names, kept: Sequence[str]) -> Counts:
    """Return a marginal of a marginal, its axes in the order of `kept`."""
    gone = tuple(axis for axis, name in enumerate(names) if name not in kept)
    rest = [name for name in names if name in kept]
    return np.transpose(counts.sum(axis=gone), [rest.index(name) for name in kept])


def spread_over(values: Counts, names: Sequence[str], wider: Names) -> Counts:
    """Lay a table of some columns along the axes of a wider one, so that numpy repeats it over the others."""
    kept = [name for name in wider if name in names]
    turned = np.transpose(values, [list(names).index(name) for name in kept])
    sizes = iter(turned.shape)
    return turned.reshape([next(sizes) if name in names else 1 for name in wider])


class FittedJoint:
    """One distribution whose marginals are all consistent: cliques of columns that overlap like a tree.

    `sets`: columns of each noisy marginal. `noisy`: float64, one axis for each column. `sizes`: cells of each column.
    `cliques`: from the root on. `parents`: the clique before each that has all it shares with those before. `tables`:
    float64: expected records of every combination.
    """

    def __init__(self, sets: Sequence[Names], noisy: Sequence[Counts], sizes: dict[str, int]) -> None:
        counts = make_agree(sets, noisy)
        found = cliques_of(sets)
        self.cliques = [found[place] for place in ordered_sets(found)]
        self.parents = [self._parent(place) for place in range(len(self.cliques))]
        self.tables: list[Counts] = []
        for place, clique in enumerate(self.cliques):
            self.tables.append(self._calibrated(place, _fitted(clique, sets, counts, sizes)))

    def separator(self, place: int) -> Names:
        """Return the columns that a clique shares with those before it."""
        seen = {name for clique in self.cliques[:place] for name in clique}
        return tuple(name for name in self.cliques[place] if name in seen)

    def marginal(self, names: Names) -> Counts:
        """Return the counts of a set of columns that is in some clique."""
        place = next(place for place, clique in enumerate(self.cliques) if set(names) <= set(clique))
        return sum_over(self.tables[place], self.cliques[place], names)

    def _parent(self, place: int) -> int | None:
        shared = set(self.separator(place))
        return next((other for other in range(place) if shared and shared <= set(self.cliques[other])), None)

    def _calibrated(self, place: int, table: Counts) -> Counts:
        """Scale a clique so that it agrees exactly with its parent, or with the root's total."""
        parent, names, clique = self.parents[place], self.separator(place), self.cliques[place]
        if place == 0:
            return table
        wanted = (
            np.array(self.tables[0].sum()) if parent is None
            else sum_over(self.tables[parent], self.cliques[parent], names)
        )  # fmt: skip
        own = sum_over(table, clique, names)
        # What the parent has and this clique lacks is spread evenly.
        even = np.where(own > 0, 0.0, wanted * own.size / table.size)
        ratio = np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
        return table * spread_over(ratio, names, clique) + spread_over(even, names, clique)


def _fitted(clique: Names, sets: Sequence[Names], counts: Sequence[Counts], sizes: dict[str, int]) -> Counts:
    """Return the distribution of largest entropy of a clique that agrees with the marginals inside of it."""
    inside = [place for place, names in enumerate(sets) if set(names) <= set(clique)]
    whole = next((place for place in inside if set(sets[place]) == set(clique)), None)
    if whole is not None:
        return sum_over(counts[whole], sets[whole], clique)
    shape = tuple(sizes[name] for name in clique)
    places = np.indices(shape).reshape(len(clique), -1)
    row = dict(zip(clique, places, strict=True))
    cells = [np.ravel_multi_index([row[name] for name in sets[place]], counts[place].shape) for place in inside]
    if not counts[inside[0]].sum():
        return np.zeros(shape)
    fitted = fit(cells, [counts[place].ravel() for place in inside], rounds=_FITTING_ROUNDS)
    return fitted.weights.reshape(shape)

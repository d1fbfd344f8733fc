"""What is to be counted, and from which records: everything that noise is added to, and nothing after it.

The domain of each column is as it was declared, and records are cells of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.hierarchy import Groups, Hierarchy, HierarchyTable, Intervals
from sfumato.hierarchy.specification import number_of, text_of, value_text
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published import MarginalTables
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.marginals.marginals import is_acyclic, ordered_sets
from sfumato.published.checks.private.promises import Mechanism
from sfumato.published.private import MOST_CELLS, NOISY, Domain, cells_of
from sfumato.randomness import permutation
from sfumato.settings import is_finite_number
from sfumato.table.header import columns_of, exactly
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources.protocol import library
from sfumato.table.table import Table

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

    Letters: m combinations that can occur, c cells of a table.

    `cells`: for each table, integers (m,): the cell that every combination falls into. `counts`: for each table,
    float64 (c,): its counts, above 0; all tables count the same records. `rounds`: passes after which it gives up.
    Returns: of tables whose sets form no circle after two passes; of others when the tolerance is reached.

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

    That is what an attacker concludes who takes what is not published for independent.

    Parameters
    ----------
    published
        Count tables that agree on what they share.
    most
        Combinations at most.

    Returns
    -------
    polars.DataFrame
        All attributes, and ``expected``: records that a combination is expected to have.

    Raises
    ------
    InputError
        When there are more combinations than `most`, or the tables contradict each other.
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
    computed from one distribution afterwards. Cost O(cells · marginals) a round, and O(cells log cells).
    *Source.* R. Dykstra, "An algorithm for restricted least squares regression", 1983; for agreement by shared columns
    W. Qardaji, W. Yang, N. Li, "PriView: practical differentially private release of marginal contingency tables",
    2014.
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


# Noise and private choices: all of them drawn by OpenDP's core, and nowhere else.


_TOO_LITTLE = "epsilon: is so small that no noise of this size can be drawn; raise it"
_LARGEST = 1e30
"""Scale up to which noise is drawn; whole numbers of 64 bits end long before."""

CHOICE_SHARE = Fraction(1, 5)
"""Of the budget, for choosing pairs where they are chosen by data."""


def opendp() -> Any:
    """Import OpenDP.

    Raises ``InputError`` when it is not installed, with what installs it.
    """
    core = library("opendp.prelude", extra="dp", what="releases under differential privacy")
    core.enable_features("contrib")
    return core


@dataclass(frozen=True)
class NoiseCore:
    """OpenDP's measurements, for one mechanism and bound on a person's records.

    Costs are in ε for discrete Laplace noise, in ρ (zero-concentrated differential privacy) for discrete Gaussian.
    `dp`: ``opendp.prelude``. `records`: of a person, at most.
    """

    dp: Any
    mechanism: Mechanism
    records: int

    @classmethod
    def of(cls, model: DifferentialPrivacy) -> NoiseCore:
        """Take the mechanism that a model asks for: Gaussian noise where δ is above 0."""
        return cls(opendp(), "discrete Gaussian" if model.delta else "discrete Laplace", model.records)

    def counts_cost(self, marginals: int, scale: float) -> float:
        """Return what noise of a scale on all cells of some marginals costs."""
        return float(self._noise(scale).map(self._distance(marginals)))

    def choice_cost(self, scale: float) -> float:
        """Return what one choice by scores costs, of which a record changes each by at most 1."""
        return float(self._largest(scale).map(self.records))

    def draw(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts with noise, int64 as they came; cost O(cells), about 20 µs for each."""
        return np.array(self._noise(scale)(counts.tolist()), dtype=np.int64)

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return the place of the noisy largest score."""
        return int(self._largest(scale)(scores.tolist()))

    def choose_rising(self, scores: NDArray[np.int64], step: int, scale: float) -> tuple[int, float]:
        """Return the place of the noisy largest score, and what that cost of ε.

        A record changes scores by at most `step`, all in the same direction. Noise is exponential ("permute and flip":
        R. McKenna, D. Sheldon, NeurIPS 2020), whose choice is never worse than that of the exponential mechanism.
        """
        rising = self.dp.linf_distance(T="i64", monotonic=True)
        largest = self.dp.m.make_noisy_max(self._counts, rising, self.dp.max_divergence(), scale=scale)
        return int(largest(scores.tolist())), float(largest.map(step))

    def budget(self, model: DifferentialPrivacy) -> Fraction:
        """Return ε, or the largest ρ that OpenDP turns into (ε, δ) or less."""
        if self.mechanism == "discrete Laplace":
            return Fraction(model.epsilon)
        # The conversion depends on ρ alone, so that any measurement which costs ρ will do. Larger scales cost less.
        low, high = -20.0, 80.0
        if self._epsilon(2.0**high, model.delta) > model.epsilon:
            raise PolicyError(_TOO_LITTLE)
        for _ in range(60):
            middle = (low + high) / 2
            if self._epsilon(2.0**middle, model.delta) <= model.epsilon:
                high = middle
            else:
                low = middle
        return Fraction(float(self._gaussian(2.0**high).map(1.0)))

    def _epsilon(self, scale: float, delta: float) -> float:
        converted = self.dp.c.make_zCDP_to_approxDP(self._gaussian(scale))
        try:
            return float(converted.map(1.0).epsilon(delta))
        except self.dp.OpenDPException:
            # Of so little noise that ε is beyond all numbers.
            return math.inf

    def _noise(self, scale: float) -> Any:
        return self._gaussian(scale) if self.mechanism == "discrete Gaussian" else self._laplace(scale)

    def _distance(self, marginals: int) -> float | int:
        """Return how much a person changes the cells of some marginals together, never rounded down."""
        if self.mechanism == "discrete Laplace":
            return marginals * self.records
        return math.nextafter(math.sqrt(marginals * self.records**2), math.inf)

    def _laplace(self, scale: float) -> Any:
        return self.dp.m.make_laplace(self._counts, self.dp.l1_distance(T="i64"), scale=scale)

    def _gaussian(self, scale: float) -> Any:
        return self.dp.m.make_gaussian(self._counts, self.dp.l2_distance(T="f64"), scale=scale)

    def _largest(self, scale: float) -> Any:
        gaussian = self.mechanism == "discrete Gaussian"
        measure = self.dp.zero_concentrated_divergence() if gaussian else self.dp.max_divergence()
        return self.dp.m.make_noisy_max(self._counts, self.dp.linf_distance(T="i64"), measure, scale=scale)

    @property
    def _counts(self) -> Any:
        return self.dp.vector_domain(self.dp.atom_domain(T="i64"))


def smallest_scale(cost: Callable[[float], Fraction], budget: Fraction, first: float) -> float:
    """Return a scale whose cost, which falls with it, is within a budget: `first`, or a hair above it.

    Raises ``PolicyError`` when the budget asks for more noise than can be drawn.
    """
    scale, step = first, 2.0**-50
    while scale <= _LARGEST and cost(scale) > budget:
        scale, step = scale * (1 + step), 2 * step
    if scale > _LARGEST:
        raise PolicyError(_TOO_LITTLE)
    return scale


Choice = Literal["data", "declared"]

MOST_IN_ALL = 5_000_000
"""Cells of all marginals together: OpenDP takes about 20 µs for each."""

Bins = int | Sequence[float]

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Counting:
    """What is to be counted.

    * `marginals`: sets of columns that the steward names; None: every column, and pairs of them.
    * `two_way`: how many pairs; None: as many as hang together like a tree.
    * `choice`: how pairs are chosen: ``"data"``, privately, those that hang together most; ``"declared"``: by the order
      of the columns alone, sensitive ones first.
    * `complete`: columns without a cell for missing values.
    * `synthetic`: whether records are drawn from the fitted distribution.
    """

    marginals: tuple[Names, ...] | None = None
    two_way: int | None = None
    choice: Choice = "data"
    bins: Mapping[str, Bins] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    complete: tuple[str, ...] = ()
    synthetic: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class PrivateTask:
    """Records as cells of declared domains. Letters: n records that count, a columns.

    `codes`: int64 (n, a); of each person as many records as count. `beyond`: records of people who have more than
    count; they are not in `codes`. Steward only. `incomplete`: records without a value where there is no cell for that;
    not in `codes` either. Steward only.
    """

    codes: NDArray[np.int64]
    domains: Mapping[str, Domain]
    sensitive: tuple[str, ...]
    model: DifferentialPrivacy
    counting: Counting
    beyond: int = 0
    incomplete: int = 0

    def counts(self, names: Names) -> NDArray[np.int64]:
        """Count the records of every cell of a marginal, int64, one axis for each column; no noise yet."""
        listed = list(self.domains)
        shape = tuple(self.domains[name].size for name in names)
        cells = np.ravel_multi_index([self.codes[:, listed.index(name)] for name in names], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    @property
    def pairs(self) -> list[Names]:
        """Pairs of columns that may be counted, in the declared order, those with a sensitive column first."""
        secret = [name for name in self.domains if name in self.sensitive]
        plain = [name for name in self.domains if name not in secret]
        ordered = [*((one, other) for other in secret for one in plain), *combinations(plain, 2)]
        ordered += combinations(secret, 2)
        return [pair for pair in ordered if cells_of(pair, self.domains) <= MOST_CELLS]


def private_task(table: Table, model: DifferentialPrivacy, counting: Counting) -> PrivateTask:
    """Put records into the cells of declared domains, and leave out what a person has beyond the bound.

    Raises ``PolicyError`` with every mistake in what is to be counted, at once. What happens to a record depends on the
    records of its own person alone, so that leaving a person out changes at most `max_records` of the records that
    count. Cost O(n log n).
    """
    problems = list(_setting_problems(table, model, counting))
    columns, found = _columns(table, counting)
    raise_all(PolicyError, [*problems, *found, *_cell_problems(columns, counting)])
    codes = np.column_stack([column.codes(table.frame[column.name]) for column in columns])
    complete = np.asarray((codes >= 0).all(axis=1))
    chosen = bound_people(table, complete, model.records)
    return PrivateTask(
        codes[chosen],
        {column.name: column.domain for column in columns},
        tuple(column.name for column in columns if column.name in table.schema.sensitive),
        model,
        counting,
        int(complete.sum()) - len(chosen),
        int((~complete).sum()),
    )


def in_cells(table: Table, counting: Counting) -> Table:
    """Return the table with each value as the label of its cell; all columns that are counted, and no others.

    Raises ``PolicyError`` when a column has no declared domain.
    """
    columns, problems = _columns(table, counting)
    raise_all(PolicyError, problems)
    frame = pl.DataFrame([column.domain.column(column.name, _shown(column, table)) for column in columns])
    settings = {column.name: Attribute(kind=Kind.CATEGORICAL, domain=column.domain.labels) for column in columns}
    secret = {name: settings[name] for name in table.schema.sensitive if name in settings}
    schema = Schema(
        quasi_identifying={name: setting for name, setting in settings.items() if name not in secret},
        sensitive=secret,
        person=table.schema.person,
    )
    kinds = dict.fromkeys(settings, Kind.CATEGORICAL)
    return Table(frame.cast(pl.Categorical), schema, kinds, table.source, table.people, keyless=table.keyless)


def _shown(column: DeclaredColumn, table: Table) -> pl.Series:
    """Return codes; those of values that count nowhere are null."""
    codes = pl.Series(column.codes(table.frame[column.name]))
    return codes.set(codes < 0, None)


def bound_people(table: Table, complete: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return rows among the `complete` ones: of every person at most so many, drawn at random."""
    rows = np.flatnonzero(complete)
    if table.people is None:
        return rows
    rows = rows[permutation(len(rows), None)]
    people = table.people[rows]
    order = np.argsort(people, kind="stable")
    ordered = people[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    return rows[order[np.arange(len(rows)) - starts < most]]


def _columns(table: Table, counting: Counting) -> tuple[list[DeclaredColumn], list[str]]:
    """Return the columns that are counted, and what is wrong with their domains."""
    attributes = {**table.schema.quasi_identifying, **table.schema.sensitive}
    named = attributes if counting.marginals is None else {name for names in counting.marginals for name in names}
    columns, problems = [], []
    for name, attribute in attributes.items():
        if name not in named:
            continue
        if read_off := kind_problems(table, name, attribute):
            problems += read_off
            continue
        try:
            columns.append(
                DeclaredColumn(
                    name, table.kinds[name], attribute, counting.bins.get(name), counting.levels.get(name),
                    complete=name in counting.complete,
                )
            )  # fmt: skip
        except PolicyError as error:
            problems += error.problems
    return columns, problems


def kind_problems(table: Table, name: str, attribute: Attribute) -> list[str]:
    """Refuse a kind that the values decided."""
    if attribute.kind is not None or name not in table.from_text:
        return []
    told = f"column {name!r}: whether it holds numbers or texts was read off the data, which tells of people"
    return [f"{told}; declare its kind"]


def _setting_problems(table: Table, model: DifferentialPrivacy, counting: Counting) -> Iterator[str]:
    schema = table.schema
    known = [*schema.quasi_identifying, *schema.sensitive]
    if schema.person is None and model.max_records is not None:
        yield "max_records: bounds the records of a person, but no column says who is who; name it, or leave this out"
    if schema.person is not None and model.max_records is None:
        yield "max_records: is missing; say how many records of a person count at most"
    if schema.wished_k is not None or schema.wished_l is not None:
        yield "wishes for a k or an l mean nothing here; leave their columns out"
    for setting in ("bins", "levels", "complete"):
        for name in getattr(counting, setting):
            if name not in known:
                yield f"{setting}: there is no quasi-identifying or sensitive column {name!r}"
    if counting.marginals is None:
        if counting.two_way is not None and not 0 <= counting.two_way < len(known):
            yield f"two_way: must be from 0 to {len(known) - 1}, as more pairs of {len(known)} columns form a circle"
        return
    if counting.two_way is not None:
        yield "two_way: pairs are chosen only where no marginals are named; leave one of them out"
    if not counting.marginals:
        yield "marginals: name at least one"
    for place, names in enumerate(counting.marginals, start=1):
        for name in names:
            if name not in known:
                yield f"marginal {place}: there is no quasi-identifying or sensitive column {name!r}"
        if not names or len(set(names)) < len(names):
            yield f"marginal {place}: must name at least one column, and each once"
    if len({frozenset(names) for names in counting.marginals}) < len(counting.marginals):
        yield "marginals: two of them have the same columns; leave one out"


def _cell_problems(columns: Sequence[DeclaredColumn], counting: Counting) -> Iterator[str]:
    domains = {column.name: column.domain for column in columns}
    sets = [(name,) for name in domains] if counting.marginals is None else counting.marginals
    sizes = [0 if any(name not in domains for name in names) else cells_of(names, domains) for names in sets]
    for place, (names, cells) in enumerate(zip(sets, sizes, strict=True), start=1):
        if cells > MOST_CELLS:
            yield (
                f"marginal {place} ({', '.join(names)}): has {cells:,} cells, more than {MOST_CELLS:,}; take wider "
                "bins, a higher level, or fewer columns"
            )
    if sum(sizes) > MOST_IN_ALL:
        yield f"marginals: have {sum(sizes):,} cells together, more than {MOST_IN_ALL:,}; name fewer, or coarser ones"
    if counting.marginals and all(0 < cells <= MOST_CELLS for cells in sizes):
        for clique in cliques_of(sets):
            if (cells := cells_of(clique, domains)) > MOST_CELLS:
                yield (
                    f"marginals: overlap in a circle whose columns ({', '.join(clique)}) have {cells:,} cells "
                    f"together, more than {MOST_CELLS:,}; leave one out"
                )


class DeclaredColumn:
    """A column with its declared domain, and how values fall into it.

    * `kind`: how the column was read.
    * `attribute`: what the schema declares.
    * `bins`: borders of bins of numbers, or how many of equal width the declared range falls into.
    * `level`: which level of the hierarchy is counted; None or 0: its leaves.
    * `complete`: whether the column has no cell for missing values.

    Raises ``PolicyError`` when no domain is declared, or settings contradict each other. `tree`: of texts that have
    one.
    """

    tree: Hierarchy | None = None

    def __init__(
        self, name: str, kind: Kind, attribute: Attribute, bins: Bins | None, level: int | None, *, complete: bool
    ) -> None:
        self.name, self._kind = name, kind
        self._code_of: Mapping[str, int] = {}
        try:
            self.domain = self._declared(attribute, bins, level, missing=not complete)
        except SfumatoError as error:
            raise PolicyError(*(f"column {name!r}: {problem}" for problem in error.problems)) from None

    def codes(self, column: pl.Series) -> Codes:
        """Return the cell of each value, int64 (n,); -1 for those that have none."""
        outside = len(self.domain.labels) if self.domain.missing else -1
        if self.domain.borders is not None:
            return self._binned(column, outside)
        texts = text_of(column)
        found = texts.replace_strict(
            list(self._code_of), list(self._code_of.values()), default=outside, return_dtype=pl.Int64
        )
        return found.fill_null(outside).to_numpy()

    def _binned(self, column: pl.Series, outside: int) -> Codes:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        inner = np.array(self.domain.borders or (), dtype=np.float64)[1:-1]
        codes = np.searchsorted(inner, numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), outside, codes)

    def _declared(self, attribute: Attribute, bins: Bins | None, level: int | None, *, missing: bool) -> Domain:
        if self.name in (NOISY, COUNT):
            raise PolicyError("is the name of a column of the release; rename that of the table")
        if bins is None and level and isinstance(attribute.hierarchy, Intervals) and attribute.hierarchy.borders:
            steps = attribute.hierarchy.borders
            if not 1 <= level <= len(steps):
                raise PolicyError(f"level must be from 1 to {len(steps)}, those of its hierarchy with bins")
            bins, level = steps[level - 1], None
        if bins is not None:
            if level is not None:
                raise PolicyError("has bins and a level; leave one of them out")
            return of_bins(borders_of(bins, attribute, self._kind), missing=missing)
        if self._kind is Kind.DATE:
            raise PolicyError("is a date, which has no bins here; give the table a column of years, or of months")
        return self._of_values(attribute, level, missing=missing)

    def _of_values(self, attribute: Attribute, level: int | None, *, missing: bool) -> Domain:
        values = _values(attribute, self._kind)
        if values is None:
            raise PolicyError(
                "its domain would have to be read off the data, which tells of people; declare it: a domain that lists "
                "the values, a hierarchy that lists them, or bins of numbers"
            )
        written = [_canonical(value, self._kind) for value in values]
        if attribute.hierarchy is None:
            if level:
                raise PolicyError("has a level but no hierarchy; give it one, or leave the level out")
            self._code_of = {value: place for place, value in enumerate(written)}
            return _of_labels(tuple(written), missing=missing)
        self.tree = attribute.hierarchy.build(_series(written, self._kind), name=self.name)
        return self._of_level(self.tree, level or 0, missing=missing)

    def _of_level(self, tree: Hierarchy, level: int, *, missing: bool) -> Domain:
        if not 0 <= level <= tree.height:
            raise PolicyError(f"level must be from 0 to {tree.height}, those of its hierarchy")
        self._code_of = dict(zip(tree.leaves, tree.node_of[level].tolist(), strict=True))
        return _of_labels(tree.levels[level].labels, missing=missing)


def _of_labels(labels: tuple[str, ...], *, missing: bool) -> Domain:
    if any(not label.strip() or label != label.strip() for label in labels):
        raise PolicyError("its domain lists an empty value, or one with blanks around it; take them away")
    if len(set(labels)) < len(labels):
        raise PolicyError("its domain lists a value twice; list it once")
    return Domain(labels, None, missing)


def of_bins(borders: Sequence[float], *, missing: bool) -> Domain:
    """Return the domain of bins with these borders."""
    ends = [value_text(float(border)) for border in borders]
    labels = [f"[{low}..{high})" for low, high in pairwise(ends)]
    labels[-1] = labels[-1][:-1] + "]"
    return Domain(tuple(labels), tuple(float(border) for border in borders), missing)


def borders_of(bins: Bins, attribute: Attribute, kind: Kind) -> list[float]:
    """Return the borders that are given, or that divide the declared range; PolicyError where there are none."""
    if kind is not Kind.NUMERIC:
        raise PolicyError("has bins but is no column of numbers; declare it as numeric, or leave the bins out")
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 1 <= bins <= MOST_CELLS:
            raise PolicyError(f"bins must be from 1 to {MOST_CELLS:,}, or a list of borders")
        ends = attribute.domain
        if ends is None:
            raise PolicyError("has a number of bins but no range that they divide; declare its domain, low and high")
        low, high = (Fraction(end) for end in ends)
        return [float(low + (high - low) * step / bins) for step in range(bins + 1)]
    listed: list[float] = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
    if len(listed) < 2 or not all(is_finite_number(border) for border in listed):
        raise PolicyError("bins must be a whole number, or a list of at least two borders, each a finite number")
    if not all(low < high for low, high in pairwise(listed)):
        raise PolicyError("borders of bins must rise")
    return [float(border) for border in listed]


def _values(attribute: Attribute, kind: Kind) -> list[str] | None:
    """Return the values that are declared, as text; None if none are."""
    if attribute.domain is not None and all(isinstance(value, str) for value in attribute.domain):
        return [str(value) for value in attribute.domain]
    if isinstance(attribute.hierarchy, HierarchyTable):
        return [row[0] for row in attribute.hierarchy.rows]
    if isinstance(attribute.hierarchy, Groups):
        return list(_members(attribute.hierarchy.members))
    return ["false", "true"] if kind is Kind.BOOLEAN else None


def _members(group: Any) -> Iterator[str]:
    for inner in group.values() if isinstance(group, Mapping) else group:
        if isinstance(inner, str):
            yield inner
        else:
            yield from _members(inner)


def _canonical(value: str, kind: Kind) -> str:
    """Write a declared value as values of the column are written."""
    if kind is Kind.BOOLEAN:
        return value.lower()
    number = number_of(value) if kind is Kind.NUMERIC else None
    return value if number is None else value_text(number)


def _series(values: Sequence[str], kind: Kind) -> pl.Series:
    numbers = [number_of(value) for value in values] if kind is Kind.NUMERIC else [None]
    if all(number is not None for number in numbers):
        return pl.Series(numbers, strict=False)
    return pl.Series(values, dtype=pl.String)

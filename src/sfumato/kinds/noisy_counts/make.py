"""Noisy marginals: the budget is split, pairs are chosen, noise is drawn, and all is made to agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, VerificationError, raise_all
from sfumato.kinds.noisy_counts.check import (
    Budget,
    BudgetStep,
    PrivateMarginals,
    cells_of,
    deviation,
    private_verification,
)
from sfumato.kinds.noisy_counts.policy import Choice, Counting, PrivatePolicy
from sfumato.kinds.noisy_counts.release import PrivateRelease
from sfumato.kinds.private.check import MOST_CELLS, Domain
from sfumato.kinds.private.ledger import PrivacyLedger
from sfumato.kinds.private.make import (
    DeclaredColumn,
    NoiseCore,
    bound_people,
    budget_notes,
    kind_problems,
    opendp,
    policy_of_private_call,
    smallest_scale,
)
from sfumato.kinds.private.policy import Bins
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.progress import Progress, shown, silent
from sfumato.published import MarginalTables
from sfumato.published.apart import COUNT
from sfumato.published.checks.marginals import is_acyclic, ordered_sets
from sfumato.release.problem import repeated_notes
from sfumato.table.header import columns_of, exactly
from sfumato.table.schema import Attribute, Kind, Schema
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
    """What fitting came to: `weights`, float64 (m,); `rounds` over all tables; largest `difference`, as a share."""

    weights: _Floats
    rounds: int
    difference: float

    @property
    def converged(self) -> bool:
        """Whether every count is met."""
        return self.difference <= _TOLERANCE


def fit(cells: Sequence[NDArray[np.integer]], counts: Sequence[_Floats], *, rounds: int = ROUNDS) -> _FittedTable:
    """Fit weights of m combinations that can occur to count tables, one after the other, until all agree.

    `cells`: for each table, integers (m,), the cell of every combination. `counts`: float64 (c,), above 0; all tables
    count the same records. Starts from equal weights, so that the limit has the largest entropy; it ends after two
    passes where sets form no circle, else at the tolerance or after `rounds`. Cost O(m) for each table and pass.
    *Source.* W. E. Deming, F. F. Stephan, "On a least squares adjustment of a sampled frequency table when the expected
    marginal totals are known", 1940.
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
    """Return the joint distribution of largest entropy over what all tables allow, at most `most` combinations.

    So an attacker concludes who takes what is not published for independent. The tables agree on what they share.
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


CHOICE_SHARE = Fraction(1, 5)
"""Of the budget, for choosing pairs where they are chosen by data."""
MOST_IN_ALL = 5_000_000
"""Cells of all marginals together: OpenDP takes about 20 µs for each."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivateTask:
    """Records as cells of declared domains, int64 (n, a), of each person as many as count.

    `beyond`, `incomplete`: records that are not in `codes`, as their person has more, or lack a value. Steward only.
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

    What happens to a record depends on those of its own person alone, so that leaving a person out changes at most
    `max_records` of the records that count. Cost O(n log n).
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
    """Return a table with each value as its cell's label, counted columns alone; PolicyError without a domain."""
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


_Names = tuple[str, ...]
_Counts = NDArray[np.int64]
_DIGITS = 6
"""Places after the point of fitted counts."""
_MOST_RECORDS = 10_000_000
"""Synthetic records at most: of very much noise the fitted total may be anything."""
_Codes = NDArray[np.int64]


@dataclass(frozen=True)
class SolvedMarginals:
    """Noisy marginals, and what they cost."""

    published: PrivateMarginals
    budget: Budget


def solve_private(task: PrivateTask, progress: Progress = silent) -> SolvedMarginals:
    """Draw the noise, by OpenDP, and fit one distribution to the noisy counts.

    All that is known of the records passes through :meth:`NoiseCore.draw` and :meth:`NoiseCore.choose`; everything
    after is computed from what they return. About 20 µs a cell, and fitting.
    """
    core = NoiseCore.of(task.model)
    drawing = _Drawing(core, task, core.budget(task.model))
    progress("drawing noise", 0, 2)
    noisy = drawing.named() if task.counting.marginals is not None else drawing.chosen()
    progress("fitting", 1, 2)
    return SolvedMarginals(_published(task, noisy), Budget(core.mechanism, tuple(drawing.steps)))


class _Drawing:
    """Draws with one budget, and writes down what was spent."""

    def __init__(self, core: NoiseCore, task: PrivateTask, budget: Fraction) -> None:
        self.core, self.task, self.left = core, task, budget
        self.steps: list[BudgetStep] = []

    def named(self) -> dict[_Names, _Counts]:
        """Draw the marginals that the steward names, all at once."""
        sets = tuple(self.task.counting.marginals or ())
        return self._counts(sets, self._scale(len(sets)))

    def chosen(self) -> dict[_Names, _Counts]:
        """Draw every column, and then pairs."""
        task = self.task
        alone = tuple((name,) for name in task.domains)
        rounds = len(alone) - 1 if task.counting.two_way is None else task.counting.two_way
        by_data = task.counting.choice == "data" and 0 < rounds < len(task.pairs)
        scores = self._score_scale(rounds) if by_data else 0.0
        # What choosing will cost is set aside before noise is drawn.
        aside = rounds * Fraction(self.core.choice_cost(scores)) if by_data else Fraction(0)
        scale = self._scale(len(alone), rounds, aside)
        noisy = self._counts(alone, scale)
        pairs = self._by_data(noisy, rounds, scores, scale) if by_data else _declared(task.pairs, rounds)
        return noisy | self._counts(pairs, scale) if pairs else noisy

    def _scale(self, marginals: int, more: int = 0, aside: Fraction = Fraction(0)) -> float:
        """Return the scale that spends what is left on marginals that are drawn in one or two steps."""

        def cost(scale: float) -> Fraction:
            later = Fraction(self.core.counts_cost(more, scale)) if more else Fraction(0)
            return Fraction(self.core.counts_cost(marginals, scale)) + later

        return smallest_scale(cost, self.left - aside, self._first(float(self.left - aside), marginals + more))

    def _score_scale(self, rounds: int) -> float:
        share, records = self.left * CHOICE_SHARE / rounds, self.task.model.records
        gaussian = self.core.mechanism == "discrete Gaussian"
        first = records / float(2 * share) ** 0.5 if gaussian else 2 * records / float(share)
        return smallest_scale(lambda scale: Fraction(self.core.choice_cost(scale)), share, first)

    def _first(self, budget: float, marginals: int) -> float:
        records = self.task.model.records
        if self.core.mechanism == "discrete Gaussian":
            return float(records * (marginals / (2 * budget)) ** 0.5)
        return marginals * records / budget

    def _counts(self, sets: Sequence[_Names], scale: float) -> dict[_Names, _Counts]:
        exact = [self.task.counts(names) for names in sets]
        drawn = self.core.draw(np.concatenate([counts.ravel() for counts in exact]), scale)
        self.steps.append(BudgetStep("counts", len(sets), scale, self.core.counts_cost(len(sets), scale)))
        ends = np.cumsum([counts.size for counts in exact])[:-1]
        parts = np.split(drawn, ends)
        return {names: part.reshape(each.shape) for names, part, each in zip(sets, parts, exact, strict=True)}

    def _by_data(self, noisy: Mapping[_Names, _Counts], rounds: int, scores: float, scale: float) -> list[_Names]:
        """Choose pairs one by one: those whose counts differ most from independence, without a circle."""
        task = self.task
        total = total_of([each.astype(np.float64) for each in noisy.values()])
        scored = {pair: self._score(pair, noisy, total, scale) for pair in task.pairs}
        chosen: list[_Names] = []
        while len(chosen) < rounds and (open_ := _without_circle(list(scored), chosen)):
            place = self.core.choose(np.array([scored[pair] for pair in open_], dtype=np.int64), scores)
            chosen.append(open_[place])
        if chosen:
            cost = self.core.choice_cost(scores)
            self.steps.append(BudgetStep("choice", len(chosen), scores, len(chosen) * cost))
        return chosen

    def _score(self, pair: _Names, noisy: Mapping[_Names, _Counts], total: float, scale: float) -> int:
        """Return by how many records a pair differs from independence, less what noise alone would make of it."""
        # One record changes one count by 1, and so the score by at most 1: what is compared with was drawn with noise.
        one, other = (np.maximum(noisy[name,], 0) for name in pair)
        sums = float(one.sum()) * float(other.sum())
        expected = np.rint(np.outer(one, other) * (total / sums if sums else 0.0)).astype(np.int64)
        counts = self.task.counts(pair)
        noise = counts.size * deviation(self.core.mechanism, scale) * 0.75
        return int(np.abs(counts - expected).sum()) - round(noise)


def _declared(pairs: Sequence[_Names], count: int) -> list[_Names]:
    chosen: list[_Names] = []
    while len(chosen) < count and (open_ := _without_circle(pairs, chosen)):
        chosen.append(open_[0])
    return chosen


def _without_circle(pairs: Sequence[_Names], chosen: Sequence[_Names]) -> list[_Names]:
    """Return the pairs that join columns which no chosen pairs connect yet."""
    group: dict[str, set[str]] = {}
    for one, other in chosen:
        joined = group.get(one, {one}) | group.get(other, {other})
        group.update(dict.fromkeys(joined, joined))
    return [(one, other) for one, other in pairs if other not in group.get(one, {one})]


def _published(task: PrivateTask, noisy: Mapping[_Names, _Counts]) -> PrivateMarginals:
    sets = tuple(noisy)
    drawn = [noisy[names].astype(np.float64) for names in sets]
    joint = FittedJoint(sets, drawn, {name: domain.size for name, domain in task.domains.items()})
    counts = tuple(np.round(joint.marginal(names), _DIGITS) for names in sets)
    records = None
    if task.counting.synthetic:
        count = min(round(float(joint.tables[0].sum())), _MOST_RECORDS)
        records = draw_records(joint, list(task.domains), count)
    return PrivateMarginals(
        dict(task.domains), sets, tuple(noisy[names] for names in sets), counts, task.sensitive, records
    )


def draw_records(joint: FittedJoint, names: Sequence[str], count: int) -> _Codes:
    """Draw records whose marginals in each clique differ from the fitted ones by little more than rounding.

    Clique by clique, records that are alike in what it shares with those before are drawn at even steps along its
    cells, from a random start. Nothing of the table is used, so order and steps need no secure randomness.
    """
    random = np.random.default_rng()
    drawn: dict[str, _Codes] = {}
    for place, clique in enumerate(joint.cliques):
        shared = joint.separator(place)
        own = tuple(name for name in clique if name not in shared)
        table = np.transpose(joint.tables[place], [clique.index(name) for name in (*shared, *own)])
        sizes = table.shape[: len(shared)]
        group = np.zeros(count, dtype=np.int64)
        if shared:
            group = np.ravel_multi_index([drawn[name] for name in shared], sizes)
        cells = _drawn_cells(table.reshape(int(np.prod(sizes, dtype=np.int64)), -1), group, random)
        codes = np.unravel_index(cells, table.shape[len(shared) :])
        drawn |= {name: code.astype(np.int64) for name, code in zip(own, codes, strict=True)}
    order = random.permutation(count)
    return np.column_stack([drawn[name] for name in names])[order]


def _drawn_cells(table: NDArray[np.float64], group: _Codes, random: np.random.Generator) -> _Codes:
    """Draw a cell of its group's row for each record, at even steps; a row without any weight is taken as even."""
    rows = table + np.where(table.sum(axis=1, keepdims=True) > 0, 0.0, 1.0)
    ends = np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1)
    shuffled = random.permutation(len(group))
    order = shuffled[np.argsort(group[shuffled], kind="stable")]
    sorted_groups = group[order]
    sizes = np.bincount(group, minlength=len(rows))
    starts = np.cumsum(sizes) - sizes
    step = (np.arange(len(group)) - starts[sorted_groups] + random.random(len(rows))[sorted_groups]) / np.maximum(
        sizes[sorted_groups], 1
    )
    width = rows.shape[1]
    # Rows one after the other, each on its own unit: one search finds all cells.
    along = (ends + np.arange(len(rows))[:, None]).ravel()
    found = np.searchsorted(along, step + sorted_groups, side="right") - sorted_groups * width
    cells = np.empty(len(group), dtype=np.int64)
    cells[order] = _with_weight(rows, sorted_groups, np.clip(found, 0, width - 1))
    return cells


def _with_weight(rows: NDArray[np.float64], groups: _Codes, cells: _Codes) -> _Codes:
    """Move a draw that rounding put onto a cell without weight to the last one before that has some."""
    place = np.arange(rows.shape[1])
    last = np.maximum.accumulate(np.where(rows > 0, place, -1), axis=1)
    first = np.argmax(rows > 0, axis=1)
    before = last[groups, cells]
    return np.where(before >= 0, before, first[groups])


def publish_privately(
    table: Table,
    model: PrivatePolicy | DifferentialPrivacy,
    *,
    marginals: Sequence[Sequence[str]] | None = None,
    two_way: int | None = None,
    choice: Choice | None = None,
    bins: Mapping[str, Bins] | None = None,
    levels: Mapping[str, int] | None = None,
    complete: Sequence[str] | None = None,
    synthetic: bool | None = None,
    ledger: str | Path | None = None,
    seed: None = None,
    progress: Progress | None = None,
) -> PrivateRelease:
    """Publish counts with noise, so that nobody can tell whether any one person is in the table.

    Parameters
    ----------
    table
        As :func:`sfumato.read_table` returns it. Its schema declares the domain of every column that is counted: a
        list of values, a hierarchy that lists them, or a range of numbers; nothing is read off the data. Its person
        column says who is who where people have several records. Insensitive columns are not published.
    model
        What is promised; or the policy that says it with all of `marginals` to `synthetic`, which are left out then.
    marginals
        Sets of quasi-identifying and sensitive columns to be counted. None: every column, and pairs of them.
    two_way
        How many pairs, where no marginals are named; None: one fewer than there are columns, so that all hang together.
    choice
        ``"data"`` (default): the pairs that differ most from independence, chosen privately with a fifth of the budget;
        ``"declared"``: by the order of the columns alone, sensitive ones first.
    bins
        For columns of numbers: how many bins of equal width their declared range has, or the borders of bins. Numbers
        beyond the ends count in the first or last bin.
    levels
        For columns with a hierarchy: which of its levels is counted; by default the leaves.
    complete
        Columns that have no cell for missing values. Records without a value there count nowhere.
    synthetic
        Whether records are drawn from the fitted distribution, too: as many as it has, and nobody's.
    ledger
        File of a :class:`sfumato.PrivacyLedger`, into which the cost is written before noise is drawn. None: nobody
        adds up what this and other releases of the same people spend.
    seed
        Refused: noise that can be drawn again hides nobody.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    PrivateRelease

    Raises
    ------
    PolicyError
        With every setting that is none, column without a domain, unknown column and marginal that is too large.
    InputError
        When OpenDP is not installed, or the ledger cannot be read or written.
    UnsatisfiableError
        When the ledger has too little left.

    Notes
    -----
    Guarantee: that of :class:`sfumato.DifferentialPrivacy`, for all files of the release together. Assumptions: domains
    and settings were not chosen by looking at the data; without a person column every record is another person; that
    the file can be read as a table with these columns and some record is no secret; nobody but the steward sees notes,
    progress and errors; no other release of these people, or its ε is added.

    What draws noise is OpenDP's core: discrete Laplace for δ = 0, discrete Gaussian (zero-concentrated differential
    privacy) for δ > 0, the same scale for every cell of all marginals; the noisy largest for the choice. Fitted counts
    and synthetic records are computed from noisy counts alone. Cost about 20 µs a cell, and of fitting a few hundred
    passes over all cells.

    *Source.* R. McKenna, G. Miklau, D. Sheldon, "Winning the NIST contest: a scalable and general approach to
    differentially private synthetic data", 2021, for counting columns first and then pairs chosen as a tree.
    *Departures.* One scale for all; pairs chosen one after the other by their distance from independence, less the
    noise they would get; noisy counts made to agree by least squares and our proportional fitting.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 41, 52] * 100, "ill": ["yes", "no", "no"] * 100})
    >>> age, ill = sf.Attribute(domain=(0, 100)), sf.Attribute(domain=("no", "yes"))
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying={"age": age}, sensitive={"ill": ill}))
    >>> release = sf.publish_privately(table, sf.DifferentialPrivacy(1), bins={"age": 10})  # doctest: +SKIP
    """
    said = {
        "marginals": marginals, "two_way": two_way, "choice": choice, "bins": bins, "levels": levels,
        "complete": complete, "synthetic": synthetic,
    }  # fmt: skip
    policy = policy_of_private_call(table, model, PrivatePolicy, said, seed, ledger)
    wanted = policy.to_model()
    task = private_task(table, wanted, policy.to_counting())
    told = progress or shown
    # Before anything is spent it is clear that noise can be drawn.
    opendp()
    series = None if ledger is None else PrivacyLedger.spend(ledger, wanted)
    solved = solve_private(task, told)
    told("verifying", 2, 2)
    verification = private_verification(solved.published, solved.budget, wanted, series)
    if not verification.ok:
        raise VerificationError("the marginals break their promise; nothing is published. Please report this")
    notes = _notes(task, solved, table)
    return PrivateRelease(solved.published, wanted, solved.budget, verification, notes, policy, series)


def _notes(task: PrivateTask, solved: SolvedMarginals, table: Table) -> tuple[str, ...]:
    found = budget_notes(task.model, table)
    if task.beyond:
        found.append(
            f"{counted(task.beyond, 'record')} of people with more than {counted(task.model.records, 'record')} "
            "do not count."
        )
    if task.incomplete:
        found.append(f"{counted(task.incomplete, 'record')} without a value in a complete column do not count.")
    found += repeated_notes(table, None, 1)
    if table.schema.insensitive:
        found.append(f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}.")
    known = [*table.schema.quasi_identifying, *table.schema.sensitive]
    if left := [name for name in known if name not in solved.published.domains]:
        found.append(f"Columns in no marginal are not published: {', '.join(left)}.")
    return tuple(found)

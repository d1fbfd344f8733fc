"""Noisy marginals of a task: the budget is split, pairs are chosen, noise is drawn, and all is made to agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.private.task import CHOICE_SHARE, FittedJoint, NoiseCore, PrivateTask, smallest_scale, total_of
from sfumato.progress import Progress, silent
from sfumato.published.checks.private.promises import Budget, BudgetStep, deviation
from sfumato.published.private import PrivateMarginals

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
    """Draw the noise, and fit one distribution to the noisy counts.

    Raises ``InputError`` when OpenDP is not installed.

    All that is known of the records passes through :meth:`NoiseCore.draw` and :meth:`NoiseCore.choose`; everything
    after that is computed from what they return. Cost that of noise, about 20 µs a cell, and of fitting.
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
        """Return by how many records a pair differs from independence, less what noise alone would make of it.

        One record changes one count by 1, and so the score by at most 1: what is compared with was drawn with noise.
        """
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

    Returns: int64 (count, a): codes of the columns `names`, in random order.

    Clique by clique: records that are alike in what a clique shares with those before are drawn at even steps along its
    cells, from a random start. Nothing of the table is used, so the order and steps need no secure randomness. Cost
    O(count log count) for each clique.
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

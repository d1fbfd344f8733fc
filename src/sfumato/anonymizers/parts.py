"""Large tables in parts: cut into blocks or strata, each solved by itself, and joined; and what that cost.

Blocks are cut by a coarse Mondrian. Strata are records that agree in some columns, which no class mixes with others.
Each part is a problem of its own. What blocks have cost is estimated from a few of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.layout import Records, lay_out_records, space_of
from sfumato.anonymizers.protocol import Problem, Progress, SolvesParts, silent
from sfumato.classes.partition import Partition, group_records
from sfumato.classes.statistics import statistics_of
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import classes_hold, partition_range
from sfumato.metrics import normalized_certainty_penalty
from sfumato.models.compiled import compile_rules
from sfumato.models.k_anonymity import KAnonymity
from sfumato.numbers import counted, figure
from sfumato.options import Checked, Limit
from sfumato.parallel import as_done
from sfumato.randomness import permutation
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable

LARGE = 100_000
"""Records in one piece from which on a run says first that it may take long."""

UNLIMITED = 2**62

MANY = 8
"""Blocks from which on two of them may be solved as one to estimate what cuts cost."""

MOST_TRIALS = 4
"""Pairs of blocks that are solved as one at most."""

SMALL = 2_000
"""Records that are solved once more without anybody noticing."""

_BLIND_BLOCK, _CLASSES_MEANT, _FEWEST_CLASSES = 100, 10, 3
"""Records and smallest classes of a block that is solved blindly, at most; classes that a size must allow there."""

Item = TypeVar("Item")


class RunsParts(Protocol):
    """Whoever solves parts: on threads, one after the other, in other processes, on other machines."""

    def __call__(
        self, solve: Callable[[FeasibleProblem], Partition], parts: Sequence[FeasibleProblem]
    ) -> Iterable[tuple[int, Partition]]:
        """Solve every part, in any order; return each solution with the place of its part."""
        ...


def solve_in_parts(solver: SolvesParts, problem: Problem, run: RunsParts) -> Partition:
    """Solve a problem at once while it has at most `block_size` records, else block by block, by `run`.

    Blocks come from Mondrian cuts that are made when both sides satisfy every model and have at least half of
    `block_size`; what equal values leave too large is halved by relaxed ones. Every block is a problem of its own, with
    the rules of the whole; in it ``threads`` is 1 and nothing more may be suppressed. Where the solver names `strata`,
    each is solved by itself. Where it is `blind` and a model looks at more than sizes, blocks are small, and each is
    solved by sizes alone.

    Neither where blocks are solved nor the order changes the result. Notes say how many there were, and estimate what
    they cost: a few pairs of neighbours are solved as one, and what that saves is extrapolated to all cuts. The cut
    costs O(q n log(n / block_size)).
    """
    # No part of the protocol: an anonymizer of somebody else's that knows no strata solves parts as before.
    names = getattr(solver, "strata", None)
    if names:
        return _solved_in_strata(solver, problem, names, run)
    solve = solver.part_solver(problem)
    blind = getattr(solver, "blind", False)
    solutions = [
        _solved_blindly(start, solve, run) if blind and start.ruled else _solved(start, solver.block_size, solve, run)
        for start in feasible(problem)
    ]
    return solutions[0] if len(solutions) == 1 else least_loss_solution(problem.table, solutions)


def _solved(
    start: FeasibleProblem, block_size: int | None, solve: Callable[[FeasibleProblem], Partition], run: RunsParts
) -> Partition:
    height = start.problem.table.height
    blocks = cut_into_blocks(start, block_size) if block_size and height > block_size else []
    if len(blocks) < 2:
        if height >= LARGE:
            start.problem.progress(f"clustering {height:,} records in one piece, which can take long", 0, height)
        return solve(start)

    def each_solved(some: Sequence[Block], progress: Progress = silent) -> list[Partition]:
        return _in_order(run(solve, [block.start for block in some]), some, progress)

    solutions = each_solved(blocks, start.problem.progress)
    whole = join_blocks(height, blocks, solutions)
    total = normalized_certainty_penalty(recode(start.problem.table, whole, TIGHT, threads=start.problem.threads))
    note = _note(blocks, block_cost(start, blocks, solutions, each_solved), total)
    return replace(whole, notes=(note, *_common_notes(solutions)))


def _solved_in_strata(solver: SolvesParts, problem: Problem, names: Sequence[str], run: RunsParts) -> Partition:
    strata = strata_of(problem, names)
    blocks = strata.cut(solver.block_size)
    parts = run(solver.part_solver(strata.problem), [block.start for block in blocks])
    solutions = _in_order(parts, blocks, problem.progress)
    whole = strata.put_back(join_blocks(len(strata.rows), blocks, solutions), problem.table.height)
    return replace(whole, notes=(strata.note(blocks, problem.table.height), *_common_notes(solutions)))


def _solved_blindly(start: FeasibleProblem, solve: Callable[[FeasibleProblem], Partition], run: RunsParts) -> Partition:
    """Solve small blocks by the size of classes alone, each by the first size with which all its classes hold."""
    # Whoever runs the algorithm again learns of a block that smaller sizes did not do, and of no single class why it is
    # as it is. Cuts between blocks are refused as usual: what is told there is told of many.
    height, least = start.problem.table.height, max(2, start.least_size)
    most = max(_BLIND_BLOCK, _CLASSES_MEANT * least)
    blocks = cut_into_blocks(start, most) if height > most else [Block(np.arange(height), start)]
    solved = run(partial(_by_size, solve, least), [block.start for block in blocks])
    solutions = _in_order(solved, blocks, start.problem.progress)
    whole = sum(solution.count == 1 for solution in solutions)
    note = (
        f"Classes were made without a look at who has which sensitive value, in {counted(len(blocks), 'block')} of "
        f"at most {max(len(block.rows) for block in blocks):,} records. Of these {whole:,} stayed one class."
    )
    return replace(join_blocks(height, blocks, solutions), notes=(note, *_common_notes(solutions)))


def _by_size(solve: Callable[[FeasibleProblem], Partition], least: int, start: FeasibleProblem) -> Partition:
    """Return the solution of a block by the first size of classes with which all hold, or one class."""
    table, size = start.problem.table, least
    counts = table.height if start.kept is None else int(start.kept.sum())
    # Sensitive values are looked at in blocks of many people only, so that what is told is told of these.
    while counts >= _BLIND_BLOCK // 2 and counts >= _FEWEST_CLASSES * size:
        models = (KAnonymity(size),)
        problem = replace(start.problem, models=models)
        found = solve(FeasibleProblem(problem, compile_rules(models, table), start.kept))
        if _all_hold(start, found):
            return replace(found, notes=())
        size += max(1, size // 4)
    return start.partition(np.zeros(table.height, dtype=np.int32), 1)


def _all_hold(start: FeasibleProblem, found: Partition) -> bool:
    """Tell whether all classes satisfy all rules, with the sensitive values of their records."""
    order = np.argsort(found.covered_by, kind="stable")
    records = lay_out_records(start.problem.table, start.rules, collapse=False, kept=start.kept, order=order)
    starts = np.diff(found.covered_by[order], prepend=-1) != 0
    options = _options(start, start.smallest, relaxed=False)
    space = space_of(start.problem.table.attributes)
    return bool(classes_hold(records.codes, records.weights, starts, space, start.rules.arrays, options))


def _in_order(solved: Iterable[tuple[int, Partition]], blocks: Sequence[Block], progress: Progress) -> list[Partition]:
    """Gather the solutions of blocks as they come, and say how many records are done."""
    solutions: dict[int, Partition] = {}
    done, total = 0, sum(len(block.rows) for block in blocks)
    for place, solution in solved:
        solutions[place] = solution
        done += len(blocks[place].rows)
        progress("clustering", done, total)
    return [solutions[place] for place in range(len(blocks))]


def _common_notes(solutions: Sequence[Partition]) -> tuple[str, ...]:
    """Return what every block says."""
    return tuple(note for note in solutions[0].notes if all(note in solution.notes for solution in solutions))


def _note(blocks: Sequence[Block], cost: float | None, total: float) -> str:
    """Tell of the blocks, and of the loss that they cost of the `total`."""
    sizes = sorted(len(block.rows) for block in blocks)
    made = (
        f"The table was cut into {len(blocks):,} blocks of {sizes[0]:,} to {sizes[-1]:,} records, and each was solved "
        "by itself"
    )
    if cost is None:
        return f"{made}; what that cost in loss cannot be estimated, since blocks cannot be cut further."
    if cost <= 0.0:
        return f"{made}; as far as can be estimated, that did not raise the information loss."
    without = max(total - cost, 0.0)
    change = f"from an estimated {figure(without, 3)} to {figure(total, 3)}"
    return f"{made}; that raised the information loss, with tight ends, {change}."


def least_loss_solution(table: EncodedTable, solutions: Sequence[Partition]) -> Partition:
    """Return the solution with the least normalized NCP, as ancestors and sets, suppressed records charged."""
    return min(solutions, key=lambda solution: normalized_certainty_penalty(recode(table, solution, TIGHT)))


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A part of a table that is solved by itself. `rows`: int64: its records in the whole table, in random order."""

    rows: NDArray[np.int64]
    start: FeasibleProblem


def cut_into_blocks(start: FeasibleProblem, block_size: int) -> list[Block]:
    """Cut a problem into blocks of at most `block_size` records where the models allow it."""
    parts = _cut(start, block_size)
    return [Block(rows, part_problem(start, rows, number)) for number, rows in enumerate(parts)]


def join_blocks(height: int, blocks: Sequence[Block], solutions: Sequence[Partition]) -> Partition:
    """Join the solutions of all blocks, their classes numbered one after the other."""
    class_of = np.empty(height, dtype=np.int32)
    cover = np.empty(height, dtype=np.int32)
    count = 0
    for block, solution in zip(blocks, solutions, strict=True):
        assert solution.regions is None, "blocks are for anonymizers that leave the regions to the recoding"
        for whole, part in ((class_of, solution.class_of), (cover, solution.covered_by)):
            whole[block.rows] = np.where(part < 0, part, part + np.int32(count))
        count += solution.count
    covers = any(solution.cover is not None for solution in solutions)
    return Partition(class_of, count, cover if covers else None)


def part_problem(start: FeasibleProblem, rows: NDArray[np.int64], number: int) -> FeasibleProblem:
    """Return the problem of some records, int64 rows, with the rules of the whole one and a seed of its own."""
    problem, rules = start.problem, start.rules
    seed = None if problem.seed is None else problem.seed + number + 1
    part = replace(problem, table=problem.table.take(rows), suppression_limit=0, seed=seed, threads=1, progress=silent)
    kept = None if start.kept is None else start.kept[rows]
    return FeasibleProblem(part, replace(rules, codes=rules.codes[rows]), kept)


def _cut(start: FeasibleProblem, block_size: int) -> list[NDArray[np.int64]]:
    """Cut strictly, then halve what is still too large; int64 rows of every block."""
    table = start.problem.table
    # Halving depends on the order of equal records, and the input's order is nobody's business.
    order = permutation(table.height, start.problem.seed)
    records = lay_out_records(table, start.rules, collapse=False, kept=start.kept, order=order)
    starts = np.zeros(table.height, dtype=np.bool_)
    # Sizes of sides are counted in the records that are kept.
    counted = int(records.weights.sum())
    cut = partial(_cut_range, start, records, starts, max(start.smallest, block_size // 2 * counted // table.height))
    cut(0, table.height, relaxed=False)
    for low, high in _ranges(starts):
        if high - low > block_size and start.kept is None:
            cut(low, high, relaxed=True)
    return [records.rows[low:high].astype(np.int64) for low, high in _ranges(starts)]


def _cut_range(
    start: FeasibleProblem,
    records: Records,
    starts: NDArray[np.bool_],
    smallest: int,
    low: int,
    high: int,
    *,
    relaxed: bool,
) -> None:
    options, table = _options(start, smallest, relaxed=relaxed), start.problem.table
    partition_range(
        records.laid, low, high, np.zeros((len(table.attributes), 2)), UNLIMITED, space_of(table.attributes),
        start.rules.arrays, options, starts,
    )  # fmt: skip


def _options(start: FeasibleProblem, smallest: int, *, relaxed: bool) -> Options:
    return Options(
        smallest=smallest, ruled=start.ruled, relaxed=relaxed, fallback=True, least_loss=not relaxed,
        everywhere=False, regions=False, by_tree=False,
    )  # fmt: skip


def _ranges(starts: NDArray[np.bool_]) -> Iterable[tuple[int, int]]:
    return [(int(low), int(high)) for low, high in pairwise([*np.flatnonzero(starts), len(starts)])]


@dataclass(frozen=True, eq=False, repr=False)
class Strata:
    """The strata of a problem that satisfy every model, each a problem of its own; `rows`: their records, before."""

    problem: Problem
    rows: NDArray[np.int64]
    blocks: list[Block]

    def cut(self, block_size: int | None) -> list[Block]:
        """Return the strata, those of more records than `block_size` cut into blocks."""
        return [part for stratum in self.blocks for part in _parts_of(stratum, block_size)]

    def put_back(self, partition: Partition, height: int) -> Partition:
        """Return the solution for all `height` records of the problem as it was; those of other strata are left out."""
        class_of, cover = (np.full(height, -1, dtype=np.int32) for _ in range(2))
        class_of[self.rows], cover[self.rows] = partition.class_of, partition.covered_by
        return replace(partition, class_of=class_of, cover=None if partition.cover is None else cover)

    def note(self, blocks: Sequence[Block], height: int) -> str:
        """Say how many strata there are, how many were left out, and what blocks were made of them."""
        sizes = sorted(len(stratum.rows) for stratum in self.blocks)
        sentence = f"{_strata(len(sizes))} of {sizes[0]:,} to {sizes[-1]:,} records; no class holds records of two."
        if len(self.rows) < height:
            sentence += (
                f" Strata too small for the models were left out, with {counted(height - len(self.rows), 'record')}."
            )
        if len(blocks) > len(sizes):
            sentence += f" Large strata were cut into blocks, {len(blocks):,} in all, and each was solved by itself."
        return sentence


def strata_of(problem: Problem, names: Sequence[str]) -> Strata:
    """Divide a problem by the values of some columns; what satisfies no model by itself is left out, as a whole.

    Models that compare with the whole table compare with all strata that stay, and judge anew. Cost O(q n) each time.
    """
    raise_all(PolicyError, _problems(problem.table, names))
    places = [place for place, attribute in enumerate(problem.table.attributes) if attribute.name in names]
    rows = np.arange(problem.table.height)
    among = problem
    while True:
        stratum_of, count = group_records(np.ascontiguousarray(among.table.codes[:, places]))
        statistics = statistics_of(among.table, stratum_of, count)
        fits = np.ones(count, dtype=np.bool_)
        for model in among.models:
            fits &= model.holds(statistics)
        if fits.all():
            break
        kept = fits[stratum_of]
        if not fits.any() or problem.table.height - len(rows) + int((~kept).sum()) > problem.suppression_limit:
            raise UnsatisfiableError(_too_small(problem, fits, int((~kept).sum())))
        rows = rows[kept]
        among = replace(problem, table=problem.table.take(rows), suppression_limit=0)
    start = FeasibleProblem(among, among.rules, None)
    by_stratum = np.argsort(stratum_of, kind="stable")
    parts = np.split(by_stratum, np.flatnonzero(np.diff(stratum_of[by_stratum])) + 1)
    return Strata(among, rows, [Block(part, part_problem(start, part, number)) for number, part in enumerate(parts)])


def _parts_of(stratum: Block, block_size: int | None) -> list[Block]:
    if not block_size or len(stratum.rows) <= block_size:
        return [stratum]
    return [Block(stratum.rows[part.rows], part.start) for part in cut_into_blocks(stratum.start, block_size)]


def _problems(table: EncodedTable, names: Sequence[str]) -> Iterator[str]:
    known, sensitive = ([each.name for each in some] for some in (table.attributes, table.sensitive))
    for name in names:
        if name in sensitive:
            yield f"strata: column {name!r} is sensitive, and every class would have one value of it; name another"
        elif name not in known:
            yield (
                f"strata: {name!r} is no quasi-identifying column; give it that role, since whoever sees a class sees "
                "its stratum, or name another column"
            )
    if table.people is not None:
        yield (
            "strata: the records of a person may lie in several strata, and share one class; leave strata out, or let "
            "each record be a person of its own (without the person column)"
        )


def _too_small(problem: Problem, fits: NDArray[np.bool_], records: int) -> str:
    failing = " and ".join(dict.fromkeys(model.name for model in problem.models))
    few = int(np.count_nonzero(~fits))
    many = counted(records, "record")
    advice = "name fewer or coarser columns, or lower the models' parameters"
    if fits.any():
        advice += f", or let {many} or more be left out (suppression limit)"
    return f"strata: {few:,} of {_strata(len(fits))}, with {many}, cannot satisfy {failing} by themselves; {advice}"


def _strata(count: int) -> str:
    return f"{count:,} stratum" if count == 1 else f"{count:,} strata"


EachSolved = Callable[[Sequence[Block]], list[Partition]]


def block_cost(
    start: FeasibleProblem, blocks: Sequence[Block], solutions: Sequence[Partition], each_solved: EachSolved
) -> float | None:
    """Estimate the loss that all cuts together have added, normalized NCP, from what the last ones added.

    A part of twice the size has 2^(1/q) times less border for each record, in q dimensions: cuts cost less by that
    factor with every level further up.
    """
    if len(blocks) >= MANY:
        tried = _neighbours_together(start, blocks, solutions, each_solved)
        nearest_level = 0
    else:
        tried = _cut_once_more(blocks, solutions, each_solved)
        nearest_level = 1
    if not tried:
        return None
    shrinking = 2.0 ** (-1.0 / len(start.problem.table.attributes))
    levels = np.arange(round(math.log2(len(blocks)))) + nearest_level
    added = sum(trial.added for trial in tried) / sum(trial.cuts for trial in tried)
    return float(added * np.sum(shrinking**levels))


@dataclass(frozen=True)
class _Trial:
    """What solving some records apart has added to their loss, times their number, and the cuts, times that."""

    added: float
    cuts: float


def _neighbours_together(
    start: FeasibleProblem, blocks: Sequence[Block], solutions: Sequence[Partition], each_solved: EachSolved
) -> list[_Trial]:
    """Solve some pairs of neighbouring blocks as one, those of middle size."""
    numbers = range(0, len(blocks) - 1, 2)
    chosen = _middle(numbers, [len(blocks[number].rows) + len(blocks[number + 1].rows) for number in numbers])
    together, apart = [], []
    for count, number in enumerate(chosen):
        parts = blocks[number : number + 2]
        rows = np.concatenate([block.rows for block in parts])
        together.append(Block(rows, part_problem(start, rows, len(blocks) + count)))
        inner = np.split(np.arange(len(rows)), [len(parts[0].rows)])
        placed = [Block(places, block.start) for places, block in zip(inner, parts, strict=True)]
        apart.append(join_blocks(len(rows), placed, solutions[number : number + 2]))
    return [
        _Trial(_loss(both, cut) - _loss(both, whole), float(len(both.rows)))
        for both, cut, whole in zip(together, apart, each_solved(together), strict=True)
    ]


def _cut_once_more(blocks: Sequence[Block], solutions: Sequence[Partition], each_solved: EachSolved) -> list[_Trial]:
    """Cut blocks of middle size further: together, neighbouring blocks would be most of the table."""
    trials = []
    for number in _middle(range(len(blocks)), [len(block.rows) for block in blocks]):
        block = blocks[number]
        parts = cut_into_blocks(block.start, max(2, len(block.rows) // 2))
        if len(parts) > 1:
            apart = join_blocks(len(block.rows), parts, each_solved(parts))
            cuts = math.log2(len(parts)) * len(block.rows)
            trials.append(_Trial(_loss(block, apart) - _loss(block, solutions[number]), cuts))
    return trials


def _middle(items: Sequence[Item], sizes: Sequence[int]) -> list[Item]:
    """Return a few items of middle size; more of them where they are small."""
    taken = min(MOST_TRIALS, len(items) if max(sizes) <= SMALL else max(1, len(items) // 8))
    first = (len(items) - taken) // 2
    return [items[place] for place in np.argsort(sizes, kind="stable")[first : first + taken]]


def _loss(block: Block, solution: Partition) -> float:
    """Loss of a block on the scale of the whole table, times its records."""
    return len(block.rows) * normalized_certainty_penalty(recode(block.start.problem.table, solution, TIGHT))


# The base of algorithms that solve one part of a table at a time.


BlockSize = Annotated[int, Limit(2, besides=0, meaning="no blocks")]
"""Records of a block at most. (Options use 0 for no blocks: policy files know no None.)"""


class Partwise(Checked):
    """Base of dataclasses that are :class:`~sfumato.anonymizers.protocol.SolvesParts`; they write `solve_part`."""

    name: ClassVar[str]
    decides_regions: ClassVar[bool] = False
    block_size: int | None
    strata: tuple[str, ...] | None = None
    """Columns in whose values all records of a class agree."""
    blind: bool = False
    """Whether classes are made without a look at who has which sensitive value."""

    def _mistakes(self) -> Iterator[str]:
        if self.blind and self.strata:
            yield f"{self.name}: strata cannot be solved without a look at sensitive values; leave blind or strata out"

    @final
    def solve(self, problem: Problem) -> Partition:
        """Partition the records: large tables in parts, which are spread over the threads of the problem."""
        return solve_in_parts(self, problem, partial(as_done, threads=problem.threads))

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part of a problem."""
        return self.solve_part

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        raise NotImplementedError

"""SBC: similarity-based clustering, for tables without hierarchies (Sarrafi Aghdam 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import DISTANCES, collapse_records
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition, class_sizes
from sfumato.classes.statistics import statistics_of
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.boxes import class_boxes
from sfumato.kernels.clustering.similarity import (
    Chain,
    Measure,
    PrefixTree,
    Progressed,
    grow_similar,
    nearest_similar_classes,
)
from sfumato.numbers import counted
from sfumato.options import ListOfNames, Names
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, is_measured

_Remainder = Literal["last", "nearest", "suppress"]

_STEP = 500
"""Classes that are made between two reports of progress."""

_ChainRule = Literal["previous", "all"]

_Sort = Literal["values", "random"]

_Normalize = Literal["sum", "by-type"]

_FEW = 32
"""Distinct records that are looked at one by one: by measurement, of little influence between 16 and 64."""


@dataclass(frozen=True)
class SBC(Partwise):
    """Take the first record left and the nearest others as a class, measured by how frequent values are together.

    Numbers are as far apart as their difference over the range of the table. Categories need no hierarchy: the values
    of an attribute are ordered by how close their frequency is to that of the first record's value, and the place in
    this order is the distance. Frequencies are counted among the records that are left, and that agree with the first
    record in the attribute before; attributes follow each other by rising number of values.

    Parameters
    ----------
    chain
        Which records frequencies are counted among. ``"previous"``: those with the first record's value in the
        attribute before, and where there are fewer than k of them, also those with the next most similar values.
        ``"all"``: the same with all attributes before together, the nearest combinations of values first.
    remainder
        What becomes of the fewer than k records at the end. ``"last"``: they join the last class. ``"nearest"``: each
        joins the class whose first record is nearest, as it was measured when the class was made. ``"suppress"``: they
        are suppressed where the limit allows it, together with the smallest class, as fewer than k suppressed records
        would point at somebody; else ``"last"``.
    sort
        Which record is the first. ``"values"``: sorted by categories, by rising number of values, then by numbers.
        ``"random"``: a random order.
    sort_by
        Attributes to sort by before all others, where `sort` is ``"values"``.
    normalize
        How distances are added up. ``"sum"``: every attribute counts the same. ``"by-type"``: all categories together
        count as much as all numbers together.
    block_size
        Above that many records a coarse Mondrian cut makes blocks, and each is solved by itself; None for no blocks.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every unknown option.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem. With k-anonymity alone, every class has k records,
    the last one at most 2 k - 1. A class of k records that does not satisfy the other models takes in further nearest
    records until it does. Records left over in the end which no class can be made of join the class that loses least
    and still satisfies the models; where there is none, classes are merged.

    *Complexity.* One search in a tree of prefixes for every class, which leaves out what is too far and finds the same
    records as looking at all; O(V log V) for the distances of V categorical values. O(q n) memory.

    *Sources.* M. R. Sarrafi Aghdam, "Achieving high data utility k-anonymization using similarity-based clustering
    model", thesis, 2017; chapter 3. It leaves open what it sorts by, which rows are merged of more than two, and what
    becomes of ties; the choices here are: as above; by similarity; in the order of the values, records in their order.
    The input's order is never used. A missing value is a value; a missing number is as far as can be from all others.
    Hierarchies are left aside while clustering. Distances that differ by less than 2**-32 are equal.
    """

    name: ClassVar[str] = "sbc"

    chain: _ChainRule = "previous"
    remainder: _Remainder = "last"
    sort: _Sort = "values"
    sort_by: Annotated[tuple[str, ...], ListOfNames(0)] = ()
    normalize: _Normalize = "sum"
    block_size: BlockSize | None = None
    strata: Names | None = None
    blind: bool = False

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.sort_by and self.sort == "random":
            yield "sbc: sort_by has no say where sort is random; leave one of them out"

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part of a problem.

        Raises ``PolicyError`` when attributes to sort by are not there.
        """
        known = {attribute.name for attribute in problem.table.attributes}
        unknown = [name for name in self.sort_by if name not in known]
        raise_all(
            PolicyError, (f"sbc: sort_by names {name!r}, which is no quasi-identifying column" for name in unknown)
        )
        return self.solve_part

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem, in one piece."""
        table = start.problem.table
        rows = np.arange(table.height) if start.kept is None else np.flatnonzero(start.kept)
        laid = similarity_table(
            table, rows, start.smallest, chain=self.chain, sort=self.sort, sort_by=self.sort_by,
            normalize=self.normalize, sensitive=start.rules.codes if start.ruled else None, seed=start.problem.seed,
        )  # fmt: skip
        class_at, count = similar_classes(start, laid.copy())
        left = np.flatnonzero(class_at < 0)
        notes = (_left_over(len(left)),) if len(left) else ()
        if self.remainder == "suppress" and len(left) and start.kept is None:
            suppressed = _suppressed(start, _in_rows(start, laid, class_at), count)
            if suppressed is not None:
                return Partition(*suppressed, notes=notes)
        placed = class_at.copy()
        if 0 < len(left) < start.smallest:
            placed[left] = _nearest_class(laid, class_at, left, count) if self.remainder == "nearest" else count - 1
        if not start.ruled and start.kept is None:
            return Partition(_in_rows(start, laid, placed), count, notes=notes)
        return _repaired(start, [_in_rows(start, laid, each) for each in (placed, class_at)], count, notes)


def similar_classes(start: FeasibleProblem, laid: _SimilarityTable) -> tuple[NDArray[np.int32], int]:
    """Make classes until no more can be made; −1 for records left over. Their records leave `laid`."""
    done = _nothing_done(laid)
    values = start.rules.codes[laid.order]
    report = start.problem.progress
    report("clustering", 0, laid.height)
    while grow_similar(_STEP, laid.tree, laid.measure, laid.chain, values, start.ruled, start.rules.arrays, done):
        report("clustering", laid.height - int(laid.tree.alive[0]), laid.height)
    report("clustering", laid.height, laid.height)
    return done.class_at, int(done.classes[0])


def _nearest_class(
    laid: _SimilarityTable, class_at: NDArray[np.int32], left: NDArray[np.int64], count: int
) -> NDArray[np.int32]:
    """Return the class made around the nearest first record for each record left, int32 (r,), `laid` as before."""
    members = np.argsort(class_at, kind="stable")[len(left) :]
    starts = np.searchsorted(class_at[members], np.arange(count + 1)).astype(np.int64)
    again = laid.copy()
    found: NDArray[np.int32] = nearest_similar_classes(
        members, starts, left, again.tree, again.measure, again.chain, _nothing_done(again)
    )
    return found


def _nothing_done(laid: _SimilarityTable) -> Progressed:
    return Progressed(np.full(laid.height, -1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64))


def _in_rows(start: FeasibleProblem, laid: _SimilarityTable, class_at: NDArray[np.int32]) -> NDArray[np.int32]:
    """Class of each row of the table; −1 also for those that are not kept."""
    class_of = np.full(start.problem.table.height, -1, dtype=np.int32)
    class_of[laid.order] = class_at
    return class_of


def _repaired(
    start: FeasibleProblem, choices: Sequence[NDArray[np.int32]], count: int, notes: tuple[str, ...]
) -> Partition:
    """Return the first choice that needs no merging of classes, or else the last one after it."""
    # Records without a class join the one that loses least and still satisfies the models.
    records = collapse_records(start, DISTANCES["ncp"])
    for class_of in choices:
        completed, remaining = records.completed(class_of[records.rows], count)
        if remaining == count:
            break
    return records.partition(completed, remaining, notes=notes)


def _suppressed(
    start: FeasibleProblem, class_of: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], int] | None:
    """Suppress the records without a class, and the smallest classes until they are enough; None where it may not be.

    Models that compare with the whole table see another one then, so every class is judged anew.
    """
    problem = start.problem
    gone = int(np.count_nonzero(class_of < 0))
    sizes = class_sizes(class_of, count)
    order = _smallest_first(class_of, sizes, problem.table)
    further = int(np.searchsorted(np.cumsum(sizes[order]), start.smallest - gone)) + 1 if gone < start.smallest else 0
    if further >= count or gone + int(sizes[order[:further]].sum()) > problem.suppression_limit:
        return None
    kept = np.ones(count + 1, dtype=np.bool_)
    kept[order[:further]] = kept[-1] = False
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    remaining = number[class_of]
    statistics = statistics_of(problem.table, remaining, count - further)
    holding = all(bool(model.holds(statistics).all()) for model in problem.models)
    return (remaining, count - further) if holding else None


def _smallest_first(class_of: NDArray[np.int32], sizes: NDArray[np.int64], table: EncodedTable) -> NDArray[np.int64]:
    lows, highs = class_boxes(class_of, table.codes, len(sizes))
    order: NDArray[np.int64] = np.lexsort((*highs.T[::-1], *lows.T[::-1], sizes))
    return order


def _left_over(records: int) -> str:
    return f"{counted(records, 'record')} left over in the end, which no class could be made of."


@dataclass(frozen=True, eq=False, repr=False)
class _ValueOrder:
    """The values of an attribute that occur, sorted: `codes`, int64 (v,), and `numbers`, float64 (v,), or None."""

    attribute: EncodedAttribute
    codes: NDArray[np.int64]
    numbers: NDArray[np.float64] | None

    @property
    def width(self) -> float:
        """Largest difference of numbers; 1 where there is none, which nothing is divided by then."""
        if self.numbers is None or not len(present := self.numbers[~np.isnan(self.numbers)]):
            return 1.0
        return float(present.max() - present.min()) or 1.0


@dataclass(frozen=True, eq=False, repr=False)
class _SimilarityTable:
    """What the kernel works on: `levels`, categories by values, then numbers; `order`, int64 (n,): rows by turn."""

    levels: tuple[_ValueOrder, ...]
    order: NDArray[np.int64]
    tree: PrefixTree
    measure: Measure
    chain: Chain

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.order)

    def copy(self) -> _SimilarityTable:
        """Return a table whose records can leave while they stay in this one."""
        tree, chain = self.tree, self.chain
        tree = tree._replace(
            alive=tree.alive.copy(), right=tree.right.copy(), left=tree.left.copy(), gone=tree.gone.copy()
        )
        return replace(
            self, tree=tree, chain=chain._replace(counts=chain.counts.copy(), pair_counts=chain.pair_counts.copy())
        )


def similarity_table(
    table: EncodedTable,
    rows: NDArray[np.int64],
    k: int,
    *,
    chain: _ChainRule = "previous",
    sort: _Sort = "values",
    sort_by: Sequence[str] = (),
    normalize: _Normalize = "sum",
    sensitive: NDArray[np.unsignedinteger] | None = None,
    seed: int | None = None,
) -> _SimilarityTable:
    """Sort some rows of a table and count them for the first time; nothing depends on the order of the input.

    `k`: fewest records that frequencies are taken from; `sensitive`: codes that models look at. O(q n log n) time, O(q
    n) memory.
    """
    levels = _levels(table, rows)
    if seed is not None and (sensitive is not None or sort == "random"):
        # What is shuffled by a seed must not depend on the order of the input.
        known = () if sensitive is None else sensitive[rows].T
        rows = rows[np.lexsort((*known, *_ranks(levels, table, rows).T[::-1]))]
    shuffled = rows[permutation(len(rows), seed)]
    ranks = _ranks(levels, table, shuffled)
    by_values = np.lexsort(ranks.T[::-1])
    ranks = ranks[by_values]
    # Sorting is stable, so that equal records keep their random order either way.
    listed = np.argsort(by_values) if sort == "random" else _sorted_by(sort_by, levels, ranks)
    places = np.empty(len(rows), dtype=np.int64)
    places[listed] = np.arange(len(rows))
    order = shuffled[by_values[listed]]
    tree = _planted(ranks, places)
    measure = _measure(levels, normalize)
    return _SimilarityTable(levels, order, tree, measure, _counted(ranks, tree, measure, k, chain))


def _sorted_by(names: Sequence[str], levels: Sequence[_ValueOrder], ranks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sort records, given in the order of all values, by some attributes first."""
    columns = {level.attribute.name: column for column, level in enumerate(levels)}
    if not names:
        return np.arange(len(ranks))
    order: NDArray[np.int64] = np.lexsort([ranks[:, columns[name]] for name in reversed(names)])
    return order


def _levels(table: EncodedTable, rows: NDArray[np.int64]) -> tuple[_ValueOrder, ...]:
    orders = [
        _value_order(attribute, np.unique(table.codes[rows, place]).astype(np.int64))
        for place, attribute in enumerate(table.attributes)
    ]
    categories = [order for order in orders if order.numbers is None]
    numbers = [order for order in orders if order.numbers is not None]
    return (*sorted(categories, key=lambda order: len(order.codes)), *numbers)


def _value_order(attribute: EncodedAttribute, codes: NDArray[np.int64]) -> _ValueOrder:
    numbers = _numbers_of(attribute)
    present = codes[codes < attribute.size]
    if numbers is None:
        texts = attribute.labels.gather(present).arg_sort().to_numpy()
        return _ValueOrder(attribute, np.concatenate([present[texts], codes[len(present) :]]), None)
    present = present[np.argsort(numbers[present], kind="stable")]
    known = np.concatenate([present, codes[len(present) :]])
    return _ValueOrder(attribute, known, np.append(numbers, np.nan)[known])


def _numbers_of(attribute: EncodedAttribute) -> NDArray[np.float64] | None:
    """Return the number behind each code, float64 (size,), also under a hierarchy; None for categories."""
    if attribute.numbers is not None or not is_measured(attribute.kind):
        return attribute.numbers
    labels = attribute.labels
    if attribute.kind is Kind.DATE:
        numbers = labels.str.to_date(strict=False).to_physical().cast(pl.Float64)
    else:
        numbers = labels.cast(pl.Float64, strict=False)
    return None if numbers.null_count() else numbers.to_numpy()


def _ranks(levels: Sequence[_ValueOrder], table: EncodedTable, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the places of the values of some rows in their order, int32 (n, q), attributes by level."""
    places = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    ranks = np.empty((len(rows), len(levels)), dtype=np.int32)
    for column, level in enumerate(levels):
        rank_of = np.zeros(level.attribute.size + 1, dtype=np.int32)
        rank_of[level.codes] = np.arange(len(level.codes))
        ranks[:, column] = rank_of[table.codes[rows, places[level.attribute.name]]]
    return ranks


def _planted(ranks: NDArray[np.int32], places: NDArray[np.int64]) -> PrefixTree:
    """Build the tree of sorted records; `places` is the place of each."""
    height, width = ranks.shape
    differs = np.zeros(height, dtype=np.bool_)
    differs[0] = True
    starts = [np.zeros(1, dtype=np.int64)]
    parents = [np.full(1, -1, dtype=np.int64)]
    above = np.zeros(height, dtype=np.int64)
    base = 1
    firsts = []
    for level in range(width):
        differs[1:] |= ranks[1:, level] != ranks[:-1, level]
        start = np.flatnonzero(differs)
        nodes = base + np.cumsum(differs) - 1
        firsts.append(nodes[starts[-1]])
        parents.append(above[start])
        starts.append(start)
        above, base = nodes, base + len(start)
    ends = [np.append(start[1:], height) for start in starts]
    return PrefixTree(
        few=_FEW,
        codes=np.concatenate([[0], *(ranks[start, level] for level, start in enumerate(starts[1:]))]).astype(np.int32),
        first=np.concatenate([*firsts, np.full(len(starts[-1]) + 1, base)]).astype(np.int64),
        parents=np.concatenate(parents).astype(np.int32),
        alive=np.concatenate([end - start for start, end in zip(starts, ends, strict=True)]).astype(np.int64),
        right=np.arange(base + 1, dtype=np.int64),
        left=np.arange(base + 1, dtype=np.int64),
        lowest=np.concatenate([np.minimum.reduceat(places, start) for start in starts]).astype(np.int64),
        leaf_low=np.concatenate([above[start] for start in starts]).astype(np.int32),
        leaf_high=np.concatenate([above[end - 1] + 1 for end in ends]).astype(np.int32),
        values=ranks[starts[-1]],
        starts=np.append(starts[-1], height).astype(np.int64),
        places=places.astype(np.int64),
        gone=np.zeros(len(starts[-1]), dtype=np.int64),
        record_at=_record_at(places, above - (base - len(starts[-1]))),
    )


def _record_at(places: NDArray[np.int64], records: NDArray[np.int64]) -> NDArray[np.int32]:
    record_at = np.empty(len(places), dtype=np.int32)
    record_at[places] = records
    return record_at


def _measure(levels: Sequence[_ValueOrder], normalize: _Normalize) -> Measure:
    categories = sum(level.numbers is None for level in levels)
    offsets = np.cumsum([0, *(len(level.codes) for level in levels)], dtype=np.int64)
    empty = [np.zeros(len(level.codes)) if level.numbers is None else level.numbers for level in levels]
    alike = [categories if level.numbers is None else len(levels) - categories for level in levels]
    return Measure(
        categories=categories,
        offsets=offsets,
        apart=np.zeros(offsets[-1]),
        numbers=np.concatenate(empty),
        widths=np.array([level.width for level in levels]),
        weights=1.0 / np.array(alike) if normalize == "by-type" else np.ones(len(levels)),
        own=np.zeros(len(levels), dtype=np.int64),
    )


def _counted(ranks: NDArray[np.int32], tree: PrefixTree, measure: Measure, k: int, rule: _ChainRule) -> Chain:
    """Count values, and pairs of values of neighbours in the chain."""
    offsets, size = measure.offsets, int(measure.offsets[-1])
    weights, distinct = np.diff(tree.starts), ranks[tree.starts[:-1]]
    pair_of = np.zeros((len(distinct), max(measure.categories, 1)), dtype=np.int32)
    befores, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    counts: list[NDArray[np.number]] = [np.zeros(0, dtype=np.int64)]
    for level in range(1, measure.categories if rule == "previous" else 0):
        wide = offsets[level + 1] - offsets[level]
        pairs, numbers = np.unique(distinct[:, level - 1] * wide + distinct[:, level], return_inverse=True)
        pair_of[:, level] = sum(map(len, befores)) + numbers
        befores.append(offsets[level - 1] + pairs // wide)
        values.append(pairs % wide)
        counts.append(np.bincount(numbers, weights))
    own = [
        np.bincount(ranks[:, level], minlength=offsets[level + 1] - offsets[level]) for level in range(len(offsets) - 1)
    ]
    return Chain(
        all_before=rule == "all",
        k=k,
        counts=np.concatenate(own).astype(np.int64),
        pair_starts=np.searchsorted(np.concatenate(befores), np.arange(size + 1)).astype(np.int64),
        pair_values=np.concatenate(values).astype(np.int32),
        pair_counts=np.concatenate(counts).astype(np.int64),
        pair_of=pair_of,
        order=np.zeros(size, dtype=np.int64),
        cards=np.zeros(len(offsets) - 1, dtype=np.int64),
        row=np.zeros(size, dtype=np.int64),
    )

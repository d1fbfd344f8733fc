"""Records as points, for numeric methods: what they can measure, and what becomes of everything else.

Every part of a table lies in the space of the whole. Records are weighted points in it, and lead back to a partition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.parts import BlockSize, Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition, distinct_records
from sfumato.errors import PolicyError
from sfumato.kernels.point_clusters import assign_points, mdav, move_centres, spread_start, v_mdav
from sfumato.kernels.point_tree import PointTree, merge_classes, nearest_items, plant_points
from sfumato.options import Limit, Names
from sfumato.parallel import each
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, is_measured

Scale = Literal["minmax", "zscore", "none"]

Categories = Literal["ranks", "one-hot", "refuse"]

_MOST_CATEGORIES = 64
"""Categories of one attribute that become coordinates of their own at most."""

APART = 2.0
"""Distance of a missing value from the numbers of its attribute, in ranges: further than any two of them."""

_Axis = NDArray[np.float64]


class NumericPartwise(Partwise):
    """Base of dataclasses that make classes of points; they write `classes`."""

    categories: Categories

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part of a problem, in the space of the whole table.

        Raises ``PolicyError`` when columns hold categories that are refused, or too many for one-hot coordinates.
        """
        return partial(self.solve_part, space=self.space(problem.table))

    def solve_part(self, start: FeasibleProblem, space: NumericSpace | None = None) -> Partition:
        """Partition all records of a problem, in one piece; without `space`, in that of its table."""
        records = numeric_records(start, space or self.space(start.problem.table))
        return records.partition(*self.classes(records), records.space.notes)

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are; all satisfy the rules."""
        raise NotImplementedError

    def space(self, table: EncodedTable) -> NumericSpace:
        """Return the coordinates of every value of a table: z-scores."""
        return numeric_space(table, "zscore", self.categories, name=self.name)


@dataclass(frozen=True, eq=False, repr=False)
class NumericRecords:
    """Distinct records as points, in the order of their codes, and the records behind them, equal ones in random order.

    Point ``i`` of `points`, float64 (m, d), stands for the records ``starts[i] .. starts[i+1]-1`` of `rows`, rows of
    the table that are not left out.
    """

    start: FeasibleProblem
    space: NumericSpace
    points: NDArray[np.float64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]

    @property
    def weights(self) -> NDArray[np.int64]:
        """Records of each point, int64 (m,)."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """Point of each record, int64 (n,)."""
        return np.repeat(np.arange(len(self.points)), self.weights)

    @property
    def class_size(self) -> int:
        """Records that every class needs at least, as far as the rules say it by themselves; at most n."""
        return min(len(self.rows), self.start.least_size)

    def merged(self, class_of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], int]:
        """Merge `count` classes, none empty, until every one satisfies the rules. `class_of`: int32 (n,)."""
        class_of = class_of.copy()
        start = self.start
        left = merge_classes(
            self.points, self.owners, start.rules.codes[self.rows], class_of, count, start.ruled, start.smallest,
            start.rules.arrays,
        )  # fmt: skip
        return class_of, int(left)

    def squared_error(self, class_of: NDArray[np.int32], count: int) -> float:
        """Sum of squared distances of all records to the mean of their class."""
        owned = self.points[self.owners]
        sizes = np.bincount(class_of, minlength=count)
        error = 0.0
        for axis in range(owned.shape[1]):
            sums = np.bincount(class_of, weights=owned[:, axis], minlength=count)
            error += float(np.sum((owned[:, axis] - (sums / sizes)[class_of]) ** 2))
        return error

    def partition(self, class_of: NDArray[np.int32], count: int, notes: tuple[str, ...] = ()) -> Partition:
        """Return the solution for the whole table; records that are left out are covered by the nearest class."""
        table, kept = self.start.problem.table, self.start.kept
        cover = np.full(table.height, -1, dtype=np.int32)
        cover[self.rows] = class_of
        if kept is None:
            return Partition(cover, count, notes=notes)
        cover[~kept] = self._nearest(self.space.points(table.codes[~kept]), class_of, count)
        return Partition(np.where(kept, cover, np.int32(-1)), count, cover, notes=notes)

    def _nearest(self, points: NDArray[np.float64], class_of: NDArray[np.int32], count: int) -> NDArray[np.int32]:
        owned = self.points[self.owners]
        sizes = np.bincount(class_of, minlength=count)
        sums = [np.bincount(class_of, weights=owned[:, axis], minlength=count) for axis in range(owned.shape[1])]
        means = np.ascontiguousarray(np.column_stack(sums) / sizes[:, None])
        found: NDArray[np.int32] = nearest_items(points, plant_points(means, np.ones(count, dtype=np.int64)))
        return found


def numeric_records(start: FeasibleProblem, space: NumericSpace) -> NumericRecords:
    """Place the kept records of a problem in a space, equal ones together. Cost O(q n log n)."""
    table = start.problem.table
    order = permutation(table.height, start.problem.seed)
    if start.kept is not None:
        order = order[start.kept[order]]
    distinct, weights, record_of = distinct_records(table.codes[order])
    by_value = np.lexsort(distinct.T[::-1])
    rank = np.empty(len(by_value), dtype=np.int64)
    rank[by_value] = np.arange(len(by_value))
    return NumericRecords(
        start=start,
        space=space,
        points=np.ascontiguousarray(space.points(distinct[by_value])),
        starts=np.concatenate([[0], np.cumsum(weights[by_value])]).astype(np.int64),
        rows=order[np.argsort(rank[record_of], kind="stable")],
    )


@dataclass(frozen=True, eq=False, repr=False)
class NumericSpace:
    """The coordinates of every code of each attribute, the missing value's last; none for one that does not vary."""

    axes: tuple[_Axis, ...]
    notes: tuple[str, ...]

    def points(self, codes: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
        """Place records, unsigned (m, q), in the space; float64 (m, d), d >= 1."""
        columns = [axis[codes[:, place]] for place, axis in enumerate(self.axes)]
        points = np.concatenate([np.zeros((len(codes), 0)), *columns], axis=1)
        return points if points.shape[1] else np.zeros((len(codes), 1))


def numeric_space(table: EncodedTable, scale: Scale, categories: Categories, *, name: str) -> NumericSpace:
    """Give every value of a table its coordinates.

    Numbers and dates are one coordinate each, also under a hierarchy; so are categories as ranks: the order of a
    hierarchy's leaves, else falling frequency. A missing value has the mean, and in a coordinate of its own lies two
    ranges away from all that is present. Each is multiplied by the root of the attribute's weight. ``"minmax"``: range
    1; ``"zscore"``: deviation 1. ``"one-hot"``: any two categories at distance 1 (with ``"zscore"`` variance 1 as a
    whole). All columns that are refused, or of too many categories, are named.
    """
    unmeasured = [attribute for attribute in table.attributes if not is_measured(attribute.kind)]
    if unmeasured and categories == "refuse":
        raise PolicyError(_refusal(name, unmeasured))
    occurrences = [
        np.bincount(table.codes[:, place], minlength=attribute.size + 1)
        for place, attribute in enumerate(table.attributes)
    ]
    if categories == "one-hot":
        _check_width(name, table.attributes, occurrences)
    axes = []
    for attribute, counts in zip(table.attributes, occurrences, strict=True):
        as_numbers = is_measured(attribute.kind) or categories == "ranks"
        axis = _axis(_values(attribute), counts, scale) if as_numbers else _indicators(counts, scale)
        axes.append(axis * math.sqrt(attribute.weight))
    return NumericSpace(tuple(axes), _notes(unmeasured, categories))


def _refusal(name: str, unmeasured: Sequence[EncodedAttribute]) -> str:
    names = ", ".join(attribute.name for attribute in unmeasured)
    return (
        f"{name}: measures numbers and dates; these columns hold categories: {names}; set categories to ranks or "
        "one-hot, or choose another anonymizer"
    )


def _check_width(name: str, attributes: Sequence[EncodedAttribute], occurrences: Sequence[NDArray[np.int64]]) -> None:
    wide = [
        f"{attribute.name} ({np.count_nonzero(counts):,})"
        for attribute, counts in zip(attributes, occurrences, strict=True)
        if not is_measured(attribute.kind) and np.count_nonzero(counts) > _MOST_CATEGORIES
    ]
    if wide:
        raise PolicyError(
            f"{name}: categories=one-hot makes one coordinate for each category, {_MOST_CATEGORIES} for a column at "
            f"most; more are in {', '.join(wide)}; set categories to ranks"
        )


def _notes(unmeasured: Sequence[EncodedAttribute], categories: Categories) -> tuple[str, ...]:
    if not unmeasured:
        return ()
    names = ", ".join(attribute.name for attribute in unmeasured)
    how = "by rank on a line" if categories == "ranks" else "with a coordinate for each category"
    return (f"The method measures numbers; categories were placed {how}: {names}.",)


def _values(attribute: EncodedAttribute) -> NDArray[np.float64]:
    """Return the number behind each code, float64 (size,)."""
    if attribute.numbers is not None:
        return attribute.numbers
    if is_measured(attribute.kind) and attribute.size:
        read = _read(attribute.labels, attribute.kind)
        if read.null_count() == 0:
            return read.to_numpy()
    return np.arange(attribute.size, dtype=np.float64)


def _read(labels: pl.Series, kind: Kind) -> pl.Series:
    """Read the leaves of a hierarchy over numbers or dates."""
    if kind is Kind.DATE:
        labels = labels.str.to_date("%Y-%m-%d", strict=False).to_physical()
    return labels.cast(pl.Float64, strict=False)


def _axis(values: NDArray[np.float64], counts: NDArray[np.int64], scale: Scale) -> _Axis:
    present = counts[:-1] > 0
    if not present.any():
        return np.zeros((len(counts), 0))
    low, high = float(values[present].min()), float(values[present].max())
    mean = float(values @ counts[:-1]) / float(counts[:-1].sum())
    if scale == "minmax":
        shift, divisor = low, high - low
    else:
        records = int(counts[:-1].sum())
        deviation = math.sqrt(float((values - mean) ** 2 @ counts[:-1]) / max(1, records - 1))
        shift, divisor = (mean, deviation) if scale == "zscore" else (0.0, 1.0)
    if low == high:
        return _apart(np.zeros(len(values)), 0.0, counts, 1.0)
    divisor = divisor or 1.0
    return _apart((values - shift) / divisor, (mean - shift) / divisor, counts, (high - low) / divisor)


def _apart(scaled: NDArray[np.float64], mean: float, counts: NDArray[np.int64], width: float) -> _Axis:
    """Add the missing value: its place among the others, and the coordinate that tells it from them."""
    columns = [np.append(scaled, mean)] if scaled.any() or mean else []
    if counts[-1]:
        columns.append(np.append(np.zeros(len(scaled)), APART * width))
    return np.column_stack([np.zeros((len(counts), 0)), *columns])


def _indicators(counts: NDArray[np.int64], scale: Scale) -> _Axis:
    occurring = np.flatnonzero(counts)
    if len(occurring) < 2:
        return np.zeros((len(counts), 0))
    shares = counts / counts.sum()
    height = math.sqrt(0.5) if scale != "zscore" else 1.0 / math.sqrt(1.0 - float(shares @ shares))
    axis = np.zeros((len(counts), len(occurring)))
    axis[occurring, np.arange(len(occurring))] = height
    return axis


# MDAV and V-MDAV: microaggregation by maximum distance to the average vector, with fixed or variable class sizes.


@dataclass(frozen=True)
class MDAV(NumericPartwise):
    """Make classes of k around the record farthest from the mean of all that are left, and around its opposite.

    A method for numbers and dates, on the scale of z-scores; other columns are encoded as numbers, or refused.

    Parameters
    ----------
    categories
        What becomes of columns that hold no numbers. ``"ranks"``: places on a line, in the order of the hierarchy's
        leaves, else of falling frequency. ``"one-hot"``: a coordinate for each category, 64 at most. ``"refuse"``: an
        error that names them.
    block_size
        Records that are clustered at once at most; larger tables are cut into blocks. 0: never.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every option that is unknown; from :meth:`solve` when categories are refused.

    Notes
    -----
    *Guarantee.* Every class satisfies every model. With k-anonymity alone every class has k records but one, which has
    k to 2k − 1; classes that break another model are merged into the class with the nearest mean, the smallest first.

    *Complexity.* The farthest and the nearest records are sought in a tree of shrinking boxes, with the result of
    looking at all: at worst O(d n² / k), on real tables closer to O(d n log n). O(d n) memory.

    *Sources.* Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
    Data Mining and Knowledge Discovery 2005. Departures: of equally far records the one with the lowest values is
    taken; missing values lie apart from all numbers; models besides k-anonymity are enforced by merging. Published
    means are a matter of the recoding: ``Recoding(numeric="mean")``.
    """

    name: ClassVar[str] = "mdav"

    categories: Categories = "ranks"
    block_size: BlockSize = 20_000
    strata: Names | None = None
    blind: bool = False

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are."""
        return records.merged(*mdav(records.points, records.starts, records.class_size))


@dataclass(frozen=True)
class VMDAV(NumericPartwise):
    """Make classes of k from the outside in, and let each grow while a record is much closer to it than to others.

    A method for numbers and dates, on the scale of z-scores; other columns are encoded as numbers, or refused.

    Parameters
    ----------
    gamma
        How close a record must be to join: its distance to the class is below `gamma` times that to the nearest record
        outside. 0 lets no class grow; the paper finds 0.2 good for scattered and 1.1 for clustered tables.
    categories
        What becomes of columns that hold no numbers. ``"ranks"``: places on a line, in the order of the hierarchy's
        leaves, else of falling frequency. ``"one-hot"``: a coordinate for each category, 64 at most. ``"refuse"``: an
        error that names them.
    block_size
        Records that are clustered at once at most; larger tables are cut into blocks. 0: never.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every option that is unknown; from :meth:`solve` when categories are refused.

    Notes
    -----
    *Guarantee.* Every class satisfies every model. With k-anonymity alone classes grow to 2k − 1 records at most; then
    those that are left over, fewer than k, join the class with the nearest mean. Classes that break another model are
    merged into the class with the nearest mean, the smallest first.

    *Complexity.* The nearest records are sought in a tree of shrinking boxes, with the result of looking at all: at
    worst O(d n²), on real tables closer to O(d n log n). O(d n) memory.

    *Sources.* Solanas and Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group size",
    COMPSTAT 2006. Departures: of equally far records the one with the lowest values is taken; missing values lie apart
    from all numbers; models besides k-anonymity are enforced by merging.
    """

    name: ClassVar[str] = "v-mdav"

    gamma: Annotated[float, Limit(0, 1e9, below=True)] = 0.2
    categories: Categories = "ranks"
    block_size: BlockSize = 20_000
    strata: Names | None = None
    blind: bool = False

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are."""
        return records.merged(*v_mdav(records.points, records.starts, records.class_size, float(self.gamma)))


_Start = Literal["random", "k-means++"]

_CHUNK = 4096
"""Points that one thread assigns at a time."""


@dataclass(frozen=True)
class KMeans(NumericPartwise):
    """Cluster into n / k clusters around moving means, then merge clusters that are too small into the nearest.

    A method for numbers and dates; other columns are encoded as numbers, or refused.

    Parameters
    ----------
    start
        Where the centres begin. ``"random"``: any records (the paper's rule). ``"k-means++"``: records drawn one after
        the other, with a chance that grows with the squared distance to those before; outsiders then start more
        clusters, which are too small more often, so that with many small clusters it often loses more.
    starts
        How many beginnings are tried; the result with the least squared error after merging is taken.
    scale
        ``"minmax"``: every attribute has range 1, so that mixed units count alike, as they do in the losses.
        ``"zscore"``: standard deviation 1. ``"none"``: as they are (the paper's); only for columns of one unit.
    categories
        What becomes of columns that hold no numbers. ``"ranks"``: places on a line, in the order of the hierarchy's
        leaves, else of falling frequency. ``"one-hot"``: a coordinate for each category, 64 at most. ``"refuse"``: an
        error that names them.
    max_iterations
        Rounds of assigning and moving at most.
    tolerance
        The rounds end when no centre moves further than that, on the scale chosen.
    block_size
        Records that are clustered at once at most; larger tables are cut into blocks. 0: never.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.
    blind
        Make classes without a look at who has which sensitive value, in small blocks and by their size alone. Whoever
        runs the algorithm again then learns far less of single people, which may cost loss (decision record
        55). No difference where no model looks at sensitive values. Not with `strata`.

    Raises
    ------
    PolicyError
        With every option that is unknown; from :meth:`solve` when categories are refused.

    Notes
    -----
    *Guarantee.* Every class satisfies every model: the smallest class that does not is merged into the one with the
    nearest centre, until all do. Classes have no upper size. Equal records are published equally.

    *Complexity.* Each round finds the nearest of n / k centres in a tree, and only looks at centres that moved where
    that suffices; the result is that of looking at all. Merging c clusters takes O(c log c) steps. O(d n) memory.

    *Sources.* The soccer paper's Algorithms 2 and 3, with the merging order that it leaves open: smallest cluster first
    (ties: lowest number), nearest centre, which then moves to the mean. Departures: ``"k-means++"`` (Arthur and
    Vassilvitskii 2007), several starts and scales are added; missing values lie apart from all numbers; where models
    ask for more records than k, their number takes its place. Published means are a matter of the recoding:
    ``Recoding(numeric="mean")``.
    """

    name: ClassVar[str] = "k-means"

    start: _Start = "random"
    starts: Annotated[int, Limit(1)] = 1
    scale: Scale = "minmax"
    categories: Categories = "ranks"
    max_iterations: Annotated[int, Limit(1)] = 300
    tolerance: Annotated[float, Limit(0)] = 1e-9
    block_size: BlockSize = 50_000
    strata: Names | None = None
    blind: bool = False

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are, from the best beginning."""
        results = [
            classes_from(records, beginning, max_iterations=self.max_iterations, tolerance=self.tolerance)
            for beginning in self._beginnings(records)
        ]
        return results[0] if len(results) == 1 else min(results, key=lambda result: records.squared_error(*result))

    def space(self, table: EncodedTable) -> NumericSpace:
        """Return the coordinates of every value of a table."""
        return numeric_space(table, self.scale, self.categories, name=self.name)

    def _beginnings(self, records: NumericRecords) -> Iterator[NDArray[np.int64]]:
        count = len(records.rows) // records.class_size
        generator = np.random.default_rng(records.start.problem.seed)
        for _ in range(self.starts):
            if self.start == "k-means++":
                yield spread_start(records.points, records.weights, generator.random(count))
            else:
                seed = None if records.start.problem.seed is None else int(generator.integers(2**32))
                yield records.owners[permutation(len(records.rows), seed)[:count]]


def classes_from(
    records: NumericRecords, beginning: NDArray[np.int64], *, max_iterations: int = 300, tolerance: float = 1e-9
) -> tuple[NDArray[np.int32], int]:
    """Cluster from given points, then merge: the class of each record, numbered in the order of first centres."""
    home = _clustered(records, records.points[beginning], max_iterations, tolerance)
    used = np.bincount(home, minlength=len(beginning)) > 0
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return records.merged(np.repeat(number[home], records.weights).astype(np.int32), int(used.sum()))


def _clustered(
    records: NumericRecords, centres: NDArray[np.float64], max_iterations: int, tolerance: float
) -> NDArray[np.int32]:
    """Return the centre of each point when the rounds end, int32 (m,)."""
    points, weights = records.points, records.weights
    home = np.full(len(points), -1, dtype=np.int32)
    apart = np.empty(len(points))
    moves = np.ones(len(centres))
    for done in range(max_iterations):
        records.start.problem.progress("clustering", done, max_iterations)
        every = plant_points(centres, np.ones(len(centres), dtype=np.int64))
        moved = plant_points(centres, (moves > 0).astype(np.int64))

        def assign(low: int, every: PointTree = every, moved: PointTree = moved) -> None:
            assign_points(points, low, min(low + _CHUNK, len(points)), every, moved, home, apart)

        each(assign, range(0, len(points), _CHUNK), records.start.problem.threads)
        moves = move_centres(points, weights, home, centres)
        if np.sqrt(moves.max()) <= tolerance:
            break
    records.start.problem.progress("clustering", max_iterations, max_iterations)
    return home

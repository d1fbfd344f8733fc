"""Tuple partitioning: buckets of records that are cut in two while the check of slicing holds; and what is published.

Where columns share a sensitive attribute, buckets are cut while what the columns say together keeps the models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.bucketization import largest_l, telling_little
from sfumato.anonymizers.dealt import ColumnSource, Dealing, DealtColumn, DealtTable
from sfumato.anonymizers.layout import space_of
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.slicing.columns import as_column
from sfumato.classes.partition import GeneralizedTable
from sfumato.kernels.predicates import SLACK
from sfumato.kernels.slices.cuts import CutSpace
from sfumato.kernels.slices.search import VectorSums, cut_level, cut_level_globally, starting_mass
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.protocol import Subject
from sfumato.options import Checked
from sfumato.published import SlicedTable
from sfumato.published.apart import BUCKET, Columns, labels_of
from sfumato.published.checks.slice_layout import (
    SliceLayout,
    joined_shares,
    largest_shares,
    models_of_rules,
    number_rows,
)
from sfumato.published.checks.slices import judge_slices
from sfumato.randomness import another, permutation
from sfumato.recoding.recode import carried_over, publish
from sfumato.table.encoding import EncodedTable
from sfumato.table.header import columns_of, exactly
from sfumato.table.schema import Schema, is_measured
from sfumato.table.table import Table

BucketCheck = Literal["buckets", "matching"]

BucketSize = Literal["guarded", "smallest"]

Split = Literal["balanced", "median", "blind"]

MOST_MATCHES = 1 << 25
"""Pairs of a bucket and a vector that matches it, which are kept at a time at most."""

MOST_MASS = 1 << 25
"""Numbers that are kept of all vectors at most."""


@dataclass(frozen=True)
class ColumnsApart(Checked):
    """What both ways to slice share: how columns are named, and that their links are broken inside buckets."""

    kind: ClassVar[str] = SlicedTable.kind
    promises: ClassVar[Subject | None] = "slices"

    columns: int | tuple[tuple[str, ...], ...] | None = None

    @property
    def blind(self) -> bool:
        """Whether neither columns nor cuts hang on who has which sensitive value."""
        return bool(getattr(self, "split", "") == "blind")

    def __post_init__(self) -> None:
        """Check the options against each other, and settle lists of columns as tuples."""
        if isinstance(self.columns, (list, tuple)):
            object.__setattr__(self, "columns", tuple(map(as_column, self.columns)))
        super().__post_init__()

    @property
    def by_sensitive_alone(self) -> bool:
        """Whether quasi-identifying values do not matter."""
        return False

    def _blind_mistakes(self, sensitive: Collection[str]) -> Iterator[str]:
        """Say which listed columns blind cuts cannot serve: what stands beside a sensitive attribute needs a look."""
        listed = self.columns if isinstance(self.columns, tuple) else ()
        for column in listed:
            beside = [name for name in column if name not in sensitive]
            if beside and len(beside) < len(column):
                yield (
                    f"{self.name}: blind cuts need sensitive columns apart, and {', '.join(beside)} "
                    "would stand beside one; list the sensitive ones in columns of their own, or take another split"
                )

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Choose columns, cut and permute, for who holds the values."""
        raise NotImplementedError

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Choose columns, generalize and cut, permute."""
        dealing = self.deal(problem, table)
        return Publication(sliced_table(dealing.rows, table), dealing.notes, dealing.figures)


def partition_records(
    problem: Problem,
    layout: SliceLayout,
    columns: Columns,
    split: Split = "balanced",
    check: BucketCheck = "buckets",
    least: int = 1,
) -> BucketPartition:
    """Cut all records, as one bucket that keeps the models, into buckets as small as the check allows.

    ``"median"``: values up to the median of an attribute go to one half. ``"balanced"``: inside each sensitive value,
    the lower half of the records does; buckets become far smaller. Attributes beside a sensitive one are cut at their
    median. ``"buckets"``: the models hold in every bucket, O(q n log n) for each level of cuts. ``"matching"``: for
    every record over all buckets that match it, and in the end for everybody who may be in one; what is kept of vectors
    is bounded, and beyond that the other check cuts. The widest attribute is tried first; buckets of twice `least` are
    cut.
    """
    search = _BucketCutting(problem, layout, cut_space(problem.table, layout, columns, split), least)
    if check == "buckets":
        return search.by_bucket()
    found = search.by_matches()
    if found is not None:
        return found
    note = (
        "More buckets and values match each other than is kept in memory. So every bucket keeps the models by itself, "
        'as with protection="buckets". That is more than was asked for.'
    )
    return replace(search.by_bucket(), notes=(note,))


def guarded_size(problem: Problem) -> int:
    """Return how many records a bucket has for each half that it is cut into, so that comparing buckets teaches little.

    As for dealt buckets, see :func:`sfumato.anonymizers.bucketization.telling_little`; of several attributes the
    largest.
    """
    asked, table = largest_l(problem.models), problem.table
    shares = [np.bincount(codes).max() / table.height for codes in table.sensitive_codes.T]
    return max(telling_little(float(share), asked) for share in shares)


@dataclass(frozen=True, eq=False, repr=False)
class BucketPartition:
    """Which bucket each record is in, the `check` that every cut passed, and how many were joined again (`undone`).

    `cuts`, int64 (c, 3): where, in `order`, the first half starts, the second one, and where it ends; None otherwise.
    """

    bucket_of: NDArray[np.int64]
    count: int
    check: BucketCheck
    undone: int = 0
    notes: tuple[str, ...] = ()
    order: NDArray[np.int64] | None = None
    cuts: NDArray[np.int64] | None = None


def blind_buckets(problem: Problem, least: int) -> BucketPartition:
    """Cut into buckets of at least `least` records as blind Mondrian cuts classes; for sensitive columns apart.

    All rows of a bucket then suggest the same sensitive values, so that a model holds of it as of a class.
    """
    models = [*problem.models, KAnonymity(max(1, min(least, problem.table.height)))]
    found = Mondrian(blind=True).solve(replace(problem, models=models, suppression_limit=0))
    return BucketPartition(found.class_of.astype(np.int64), found.count, "buckets", notes=found.notes)


@dataclass(frozen=True, eq=False, repr=False)
class CutTable:
    """What decides a sliced table, but for the order of its rows.

    `columns`: without insensitive attributes. `recoded`: published values of columns that are generalized, by place.
    """

    columns: Columns
    layout: SliceLayout
    buckets: BucketPartition
    recoded: Mapping[int, GeneralizedTable] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class _BucketCutting:
    problem: Problem
    layout: SliceLayout
    space: CutSpace
    least: int

    @property
    def numbers(self) -> int:
        """A number above every code, stratum and part."""
        largest = (
            self.space.codes.max(initial=0),
            self.space.strata.max(initial=0),
            self.layout.vectors.max(initial=0),
        )
        return int(max(largest)) + 1

    def canonical_order(self) -> NDArray[np.int64]:
        """Order records by their values; equal ones randomly, so that nothing depends on the order of the input."""
        table = self.problem.table
        shuffled = permutation(table.height, self.problem.seed)
        keys = np.column_stack([table.codes[shuffled], table.sensitive_codes[shuffled]])
        return shuffled[np.lexsort(keys.T[::-1])]

    def by_bucket(self) -> BucketPartition:
        """Cut by a check that looks at one bucket at a time."""
        order, starts = self._one_bucket()
        level = self._large(np.array([[0, len(order)]]))
        halves = [level[:0]]
        while len(level):
            self._report(level)
            made = cut_level(
                order, level[:, 0].copy(), level[:, 1].copy(), self.space, self.layout.arrays, self.numbers, starts
            )
            halves.append(made)
            level = self._large(made)
        self._report(level)
        return BucketPartition(
            _bucket_of(order, starts), int(starts.sum()), "buckets", order=order, cuts=_cuts(halves, starts)
        )

    def by_matches(self) -> BucketPartition | None:
        """Cut with the global check; None when its bookkeeping does not fit into memory."""
        standing = self._standing()
        if standing is None:
            return None
        order, starts = self._one_bucket()
        level = self._large(np.array([[0, len(order)]]))
        members = np.arange(len(standing.vectors), dtype=np.int32)
        member_starts = np.array([0, len(members)])
        halves = [level[:0]]
        while len(level):
            if len(members) > MOST_MATCHES:
                return None
            self._report(level)
            level, members, member_starts = cut_level_globally(
                order, level[:, 0].copy(), level[:, 1].copy(), members, member_starts, self.space, self.layout.arrays,
                standing, self.numbers, SLACK, starts,
            )  # fmt: skip
            halves.append(level)
            large = self._is_large(level)
            if not large.all():
                members = members[np.repeat(large, np.diff(member_starts))]
                member_starts = np.concatenate([[0], np.cumsum(np.diff(member_starts)[large])])
                level = level[large]
        self._report(level)
        cut = int(starts.sum())
        self._join_unsettled(order, starts, np.concatenate(halves))
        count = int(starts.sum())
        return BucketPartition(
            _bucket_of(order, starts), count, "matching", undone=cut - count, order=order, cuts=_cuts(halves, starts)
        )

    def _join_unsettled(self, order: NDArray[np.int64], starts: NDArray[np.bool_], halves: NDArray[np.int64]) -> None:
        """Undo cuts until every model holds for everybody who may be in a bucket, counted afresh."""
        # halves : int64 (2 · cuts, 2), both halves of a cut one after the other. It ends: one bucket keeps the models.
        first, second = halves[::2], halves[1::2]
        cut_of = {(low, high): place // 2 for place, (low, high) in enumerate(halves.tolist())}
        while len(unsettled := self._unsettled(_bucket_of(order, starts), int(starts.sum()))):
            lows = np.flatnonzero(starts)
            highs = np.append(lows[1:], len(order))
            for bucket in unsettled.tolist():
                cut = cut_of.get((int(lows[bucket]), int(highs[bucket])))
                if cut is not None:
                    starts[first[cut, 0] + 1 : second[cut, 1]] = False

    def _unsettled(self, bucket_of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        names = [attribute.name for attribute in self.problem.table.sensitive]
        model_of = models_of_rules(self.problem.models, names)
        found = [
            judge_slices(self.layout, rule, model, self.problem.table, bucket_of, count).unsettled
            for rule, model in enumerate(model_of)
        ]
        return np.unique(np.concatenate(found))

    def _large(self, level: NDArray[np.int64]) -> NDArray[np.int64]:
        return level[self._is_large(level)]

    def _is_large(self, level: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which buckets may still be cut."""
        large: NDArray[np.bool_] = level[:, 1] - level[:, 0] >= 2 * self.least
        return large

    def _report(self, level: NDArray[np.int64]) -> None:
        height = self.problem.table.height
        self.problem.progress("cutting buckets", height - int((level[:, 1] - level[:, 0]).sum()), height)

    def _one_bucket(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        starts = np.zeros(self.problem.table.height, dtype=np.bool_)
        starts[0] = True
        return self.canonical_order(), starts

    def _standing(self) -> VectorSums | None:
        layout = self.layout
        if len(layout.vectors) * int(layout.arrays.rules.offsets[-1]) > MOST_MASS:
            return None
        part_starts = np.concatenate([[0], np.cumsum(layout.part_sizes)]).astype(np.int64)
        parts = layout.arrays.parts
        counts = [np.bincount(parts[:, place], minlength=size) for place, size in enumerate(layout.part_sizes)]
        everyone = np.arange(len(parts))
        mass = starting_mass(
            layout.vectors, np.concatenate(counts).astype(np.float64), part_starts, layout.arrays, everyone
        )
        return VectorSums(layout.vectors, layout.vector_of, mass, part_starts)


def cut_space(table: EncodedTable, layout: SliceLayout, columns: Columns, split: str) -> CutSpace:
    """Lay out what cuts look at; only ``"balanced"`` ones look at sensitive values."""
    space = space_of(table.attributes)
    private = {attribute.name for attribute in table.sensitive}
    beside = {name for column in columns if private & set(column) for name in column}
    balanced = [split == "balanced" and attribute.name not in beside for attribute in table.attributes]
    return CutSpace(
        np.ascontiguousarray(table.codes),
        space.positions,
        space.offsets,
        space.scales / space.weights,
        _strata(table, layout),
        np.array(balanced, dtype=np.bool_),
    )


def _strata(table: EncodedTable, layout: SliceLayout) -> NDArray[np.int32]:
    """Give records strata by all that must be spread evenly, then by ever less; the last level is one stratum."""
    # Most values of a number may be rare: neighbouring ones are then taken together, twice as many on each level.
    arrays = layout.arrays
    homes = sorted({int(home) for home in arrays.homes if home >= 0})
    keys = [*arrays.values.T, *(arrays.parts[:, home] for home in homes)]
    finer = [number_rows(np.column_stack(keys[:count])) for count in range(len(keys), 0, -1)]
    kinds = {attribute.name: attribute.kind for attribute in table.sensitive}
    doublings = int(arrays.values[:, 0].max()).bit_length() if is_measured(kinds[layout.attributes[0]]) else 0
    coarser = [arrays.values[:, 0] >> doubling for doubling in range(1, doublings)]
    return np.stack([*finer, *coarser, np.zeros(len(arrays.parts), dtype=np.int32)])


def _cuts(halves: Sequence[NDArray[np.int64]], starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the cuts that stand; `halves` has both halves of every cut one after the other."""
    both = np.concatenate(halves)
    cuts = np.column_stack([both[::2], both[1::2, 1]])
    standing: NDArray[np.int64] = cuts[starts[cuts[:, 1]]]
    return standing


def _bucket_of(order: NDArray[np.int64], starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    bucket_of = np.empty(len(order), dtype=np.int64)
    bucket_of[order] = np.cumsum(starts) - 1
    return bucket_of


def bucket_sizes(buckets: BucketPartition) -> dict[str, float]:
    """Return how many buckets there are and how large, for a report."""
    sizes = np.bincount(buckets.bucket_of)
    return {
        "buckets": buckets.count,
        "smallest_bucket": int(sizes.min()),
        "mean_bucket": float(sizes.mean()),
        "largest_bucket": int(sizes.max()),
    }


def cut_joined(problem: Problem, columns: Columns, bounds: Mapping[str, float], least: int = 1) -> BucketPartition:
    """Cut all records, as one bucket that keeps the bounds, into buckets as small as they allow, but for `least`.

    Each bucket is cut inside each combination of sensitive values: the lower half in the widest attribute goes to one
    half. Where that breaks a bound (largest share that may be learned), the next is tried. A round costs what
    :func:`sfumato.published.checks.slice_layout.joined_shares` does.
    """
    table = problem.table
    order = _canonical_order(table, problem.seed)
    frame = code_frame(table)[order]
    codes = table.codes[order].astype(np.int64)
    strata = np.unique(table.sensitive_codes[order], axis=0, return_inverse=True)[1].ravel()
    bucket_of = np.zeros(table.height, dtype=np.int64)
    open_buckets = np.array([table.height >= 2 * least])
    while open_buckets.any():
        done = int((~open_buckets)[bucket_of].sum())
        problem.progress("cutting buckets", done, table.height)
        bucket_of, open_buckets = _level(frame, codes, strata, bucket_of, open_buckets, columns, bounds)
        open_buckets &= np.bincount(bucket_of) >= 2 * least
    original = np.empty_like(bucket_of)
    original[order] = bucket_of
    return BucketPartition(original, len(open_buckets), "buckets")


def _level(
    frame: pl.DataFrame,
    codes: NDArray[np.int64],
    strata: NDArray[np.int64],
    bucket_of: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    columns: Columns,
    bounds: Mapping[str, float],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Try to cut every waiting bucket once; return the new buckets, and which of them are new."""
    waiting = waiting.copy()
    ranking = _widest_first(codes, bucket_of, len(waiting))
    upper = np.zeros(len(bucket_of), dtype=np.bool_)
    cut = np.zeros(len(waiting), dtype=np.bool_)
    for attempt in range(codes.shape[1]):
        rows = np.flatnonzero(waiting[bucket_of])
        if not len(rows):
            break
        chosen = codes[rows, ranking[bucket_of[rows], attempt]]
        proposed = _upper_half(bucket_of[rows], strata[rows], chosen)
        kept = _kept(frame[rows], bucket_of[rows], proposed, len(waiting), columns, bounds)
        taken = kept[bucket_of[rows]]
        upper[rows[taken]] = proposed[taken]
        cut |= kept
        waiting &= ~kept
    numbers, renumbered = np.unique(2 * bucket_of + upper, return_inverse=True)
    return renumbered.ravel(), cut[numbers // 2]


def _widest_first(codes: NDArray[np.int64], bucket_of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Rank the attributes of each bucket by their share of the range of codes; int64 (count, q)."""
    low = np.full((count, codes.shape[1]), np.iinfo(np.int64).max)
    high = np.full((count, codes.shape[1]), -1)
    np.minimum.at(low, bucket_of, codes)
    np.maximum.at(high, bucket_of, codes)
    widths = (high - low) / np.maximum(codes.max(axis=0) - codes.min(axis=0), 1)
    return np.argsort(-widths, axis=1, kind="stable")


def _upper_half(buckets: NDArray[np.int64], strata: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which rows are in the upper half of their stratum of their bucket."""
    order = np.lexsort((values, strata, buckets))
    keys = np.column_stack([buckets, strata])[order]
    first = np.flatnonzero(np.append(True, (np.diff(keys, axis=0) != 0).any(axis=1)))
    sizes = np.diff(np.append(first, len(keys)))
    place = np.arange(len(keys)) - np.repeat(first, sizes)
    # Of strata with an odd number every other one gives the lower half one more.
    odd = np.repeat(np.arange(len(first)) % 2, sizes)
    upper = np.empty(len(keys), dtype=np.bool_)
    upper[order] = 2 * place + odd >= np.repeat(sizes, sizes)
    return upper


def _kept(
    frame: pl.DataFrame,
    buckets: NDArray[np.int64],
    upper: NDArray[np.bool_],
    count: int,
    columns: Columns,
    bounds: Mapping[str, float],
) -> NDArray[np.bool_]:
    """Tell for which buckets both halves keep every bound; bool (count,)."""
    halves = 2 * buckets + upper
    present = np.bincount(halves, minlength=2 * count) > 0
    good = present[::2] & present[1::2]
    series = pl.Series(BUCKET, halves)
    frames = [frame.select(series, exactly(*column)) for column in columns]
    for name, bound in bounds.items():
        shares = joined_shares(frames, columns, tuple(bounds), name)
        if shares is None:
            return np.zeros(count, dtype=np.bool_)
        largest = largest_shares(shares)
        failing = largest.filter(pl.col("share") > bound + SLACK)[BUCKET].to_numpy()
        good[failing // 2] = False
    return good


def _canonical_order(table: EncodedTable, seed: int | None) -> NDArray[np.int64]:
    """Order records by their values; equal ones randomly, so that nothing depends on the order of the input."""
    shuffled = permutation(table.height, seed)
    keys = np.column_stack([table.codes[shuffled], table.sensitive_codes[shuffled]])
    return shuffled[np.lexsort(keys.T[::-1])]


def code_frame(table: EncodedTable) -> pl.DataFrame:
    """Return the codes of all attributes under their names."""
    named = {attribute.name: table.codes[:, place] for place, attribute in enumerate(table.attributes)}
    private = {attribute.name: table.sensitive_codes[:, place] for place, attribute in enumerate(table.sensitive)}
    return pl.DataFrame({**named, **private})


def publish_slices(
    table: Table,
    columns: Columns,
    bucket_of: NDArray[np.int64],
    seed: int | None,
    recoded: Mapping[int, GeneralizedTable] | None = None,
) -> SlicedTable:
    """Write the table: every column is permuted in every bucket by itself, buckets under random numbers.

    For each column the records are put in a random order of its own and sorted by bucket, stably: all orders inside a
    bucket are equally likely, and those of columns have nothing to do with each other. O(n log n) a column.
    """
    return sliced_table(dealt_slices(columns, bucket_of, seed, recoded), table)


def dealt_slices(
    columns: Columns,
    bucket_of: NDArray[np.integer],
    seed: int | None,
    recoded: Mapping[int, GeneralizedTable] | None = None,
) -> DealtTable:
    """Say which records stand in each row of each column; see :func:`publish_slices`."""
    numbers = permutation(int(bucket_of.max()) + 1, another(seed, 0))[bucket_of].astype(np.int32)
    dealt = [
        DealtColumn(column, labels, partial(_permuted, numbers, another(seed, place + 1)), (recoded or {}).get(place))
        for place, (column, labels) in enumerate(zip(columns, labels_of(columns), strict=True))
    ]
    return DealtTable(tuple(dealt), numbers, leading=True)


def sliced_table(dealt: DealtTable, table: Table) -> SlicedTable:
    """Look up the values of a sliced table; `table` has the records that were dealt."""
    parts = [pl.DataFrame({BUCKET: np.sort(dealt.bucket_of).astype(np.int64)})]
    for column in dealt.columns:
        everybody = np.arange(table.height)
        frame = table.frame if column.generalized is None else publish(column.generalized, table, everybody)
        parts.append(_taken(columns_of(frame, column.names), column.order(), column.labels))
    structure = structure_of(tuple(column.names for column in dealt.columns), table.schema)
    return SlicedTable.assemble({"data": pl.concat(parts, how="horizontal")}, structure)


def structure_of(columns: Columns, schema: Schema) -> dict[str, list[Any]]:
    """Return what a reader must know of a sliced table."""
    held = {name for column in columns for name in column}
    return {
        "columns": [list(column) for column in columns],
        "sensitive": [name for name in schema.sensitive if name in held],
        "insensitive": [name for name in schema.insensitive if name in held],
    }


def with_insensitive(columns: Columns, schema: Schema) -> Columns:
    """Return all columns: insensitive attributes stand in one of their own."""
    return (*columns, tuple(schema.insensitive)) if schema.insensitive else columns


def _permuted(numbers: NDArray[np.int32], seed: int | None) -> NDArray[np.int64]:
    order = permutation(len(numbers), seed)
    return order[np.argsort(numbers[order], kind="stable")]


def _taken(values: pl.DataFrame, order: NDArray[np.int64], labels: Sequence[str]) -> pl.DataFrame:
    taken = values[order]
    return pl.DataFrame(
        [carried_over(series).alias(label) for series, label in zip(taken.get_columns(), labels, strict=True)]
    )

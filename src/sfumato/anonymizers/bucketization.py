"""Bucketization: quasi-identifying values as they are, sensitive ones as counts for each bucket of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import BucketCounts, ColumnSource, CountedTable, Dealing, DealtColumn, DealtTable
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, class_statistics, number_values
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.slices.bucket_making import join_left, largest_first, sorted_by_value
from sfumato.models import GENERALIZE, promisable
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import ProbabilisticLDiversity
from sfumato.models.protocol import TOLERANCE, PrivacyModel, Subject, says
from sfumato.models.reference import class_of_pairs
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.published import BucketizedTables
from sfumato.published.apart import BUCKET, COUNT
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.header import columns_of
from sfumato.table.table import Table

_BUCKETS_IN_A_PART = 2
"""Fewest buckets that a part of alike people has room for."""


@dataclass(frozen=True)
class Bucketization(Checked):
    """Publish two tables that share nothing but the number of a bucket (Anatomy).

    Parameters
    ----------
    members
        Who shares a bucket. ``"dealt"``: the records, sorted by their sensitive value, are dealt out like
        cards, into buckets that are larger than the models ask for, of 128 where that leaves eight; each then
        shows nearly the shares of the whole table, and little can be learnt from comparing them, or by who
        knows other people. ``"random"``: the smallest buckets of different values, from random records of the
        whole table (the paper's). ``"alike"``: the same in parts of people who are alike in their
        quasi-identifying values; counts are most exact, and what comparing buckets teaches is mostly how values
        go together in the population.

    Raises
    ------
    PolicyError
        With an unknown word.

    Notes
    -----
    *Guarantee.* Whoever finds a person's row learns of the sensitive value what the counts of its bucket say, and every
    bucket satisfies every model. Assumptions: the attacker does not know sensitive values of others in the bucket, and
    does not compare buckets. Neither identity nor membership is hidden: quasi-identifying values are published as they
    are.

    *Comparing.* How quasi-identifying values go with the sensitive one can be learnt from all buckets together (Kifer
    2009; :class:`sfumato.evaluation.attacks.definetti.DeFinetti`), which names more values than 1/l where members are
    random. No choice of members bounds that; dealt ones leave it within 1/l on the data of decision record 10, but
    where the sensitive value all but follows from the others, or the most frequent one has a share of nearly 1/l.

    *Complexity.* O(n log v) for n records and v sensitive values; ``"alike"`` takes Mondrian's O(q n log n) besides.

    *Sources.* The paper for ``"random"``; parts of alike people are made with Mondrian's cuts (LeFevre et al. 2006;
    blind, so that none tells anything by missing) where both halves can still be put into buckets. Departures: values
    of which equally many records are left are taken in their order; models that buckets of different values cannot
    satisfy, such as t-closeness, get values that are dealt out, into as many buckets as they allow. ``"dealt"`` is
    ours.

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
    D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
    """

    name: ClassVar[str] = "bucketization"
    kind: ClassVar[str] = BucketizedTables.kind
    promises: ClassVar[Subject | None] = "buckets"

    members: Members = "dealt"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with everything that does not fit: columns and models."""
        raise_all(PolicyError, [*_column_problems(table), *_model_problems(table, models)])

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Make the smallest buckets of their kind that satisfy every model.

        Raises
        ------
        UnsatisfiableError
            When not even all records as one bucket do.

        Notes
        -----
        See :func:`sfumato.anonymizers.bucketization.search_buckets`.
        """
        dealing = self.deal(problem, table)
        return Publication(_tables_of(dealing, problem.table, table), dealing.notes, dealing.figures)

    @property
    def by_sensitive_alone(self) -> bool:
        """Whether quasi-identifying values do not matter."""
        return self.members != "alike"

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Make buckets as :meth:`publish` does, for who holds the values; errors likewise."""
        feasible(problem, may_leave_out=False)
        cut = partial(_alike, problem)
        found = search_buckets(problem.table, problem.models, problem.seed, self.members, cut)
        rows, counts = _dealt_buckets_of(found, problem.table, tuple(table.schema.quasi_identifying), problem.seed)
        structure = {"quasi_identifying": list(table.schema.quasi_identifying), "sensitive": counts.sensitive}
        notes = tuple(_notes(found, table, self.members))
        return Dealing(rows, structure, counts, notes, _figures(found, problem.models))


def _alike(problem: Problem, size: int) -> BucketGroups:
    """Cut the table while both halves can be put into buckets of different values, and keep every model."""
    smallest = KAnonymity(_BUCKETS_IN_A_PART * size)
    if problem.table.height < smallest.k:
        return BucketGroups(np.zeros(problem.table.height, dtype=np.int32), 1)
    models = [*problem.models, smallest, ProbabilisticLDiversity(size)]
    found = Mondrian(blind=True).solve(replace(problem, models=models))
    return BucketGroups(found.class_of, found.count)


def _column_problems(table: EncodedTable) -> Iterator[str]:
    names = [attribute.name for attribute in table.sensitive]
    if len(names) != 1:
        yield (
            f"bucketization: needs exactly one sensitive column, and there are {len(names)}; "
            "give the others another role, or drop them"
        )
    reserved = BucketizedTables.whole_numbers
    for name in (*names, *(attribute.name for attribute in table.attributes)):
        if name in reserved:
            yield f"bucketization: publishes a column {name!r} of its own; rename that of the table"


def _model_problems(table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    names = [attribute.name for attribute in table.sensitive]
    for model in models:
        if "buckets" not in says(model).speaks_of:
            yield (
                f"{model.name}: bucketization publishes quasi-identifying values as they are and cannot promise it; it "
                f"can promise {', '.join(promisable('buckets'))}; for others {GENERALIZE}"
            )
        else:
            try:
                model.rules(names)
            except PolicyError as error:
                yield from error.problems


def _notes(found: CheckedBuckets, table: ColumnSource, members: Members) -> Iterator[str]:
    yield "Neither identity nor membership is hidden: quasi-identifying values are published as they are."
    if table.schema.insensitive:
        yield f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}."
    if found.buckets.parts > 1:
        yield f"Buckets were made inside {found.buckets.parts:,} parts of people who are alike."
    if found.buckets.joined:
        records = counted(found.buckets.joined, "record")
        yield f"{records} had no partners left in the end, and joined buckets that lacked their values."
    if found.buckets.dealt and members != "dealt":
        yield "Buckets of values that all differ cannot satisfy the models here; the values were dealt out evenly."


def _figures(found: CheckedBuckets, models: Sequence[PrivacyModel]) -> dict[str, float]:
    statistics = found.statistics
    (values,) = statistics.sensitive.values()
    shares = [model.l for model in models if isinstance(model, ProbabilisticLDiversity)]
    least = least_reconstruction_error(statistics.height, max(shares)) if shares else None
    return {
        "buckets": statistics.count,
        "smallest_bucket": int(statistics.sizes.min()),
        "largest_bucket": int(statistics.sizes.max()),
        "reconstruction_error": reconstruction_error(values, statistics),
        **({} if least is None else {"least_reconstruction_error": least}),
    }


def _dealt_buckets_of(
    found: CheckedBuckets, encoded: EncodedTable, names: tuple[str, ...], seed: int | None
) -> tuple[DealtTable, CountedTable]:
    """Say what both tables hold, rows and numbers of buckets in random order; `found`: the bucket of each record."""
    count, sensitive = found.buckets.count, encoded.sensitive[0].name
    number_of = permutation(count, another(seed, 1)).astype(np.int32)[found.buckets.bucket_of]
    order = partial(permutation, encoded.height, another(seed, 2))
    pairs = len(found.statistics.sensitive[sensitive].values)
    rows = DealtTable((DealtColumn(names, names, order),), number_of, leading=False)
    return rows, CountedTable(sensitive, pairs, partial(_counts, number_of, count, encoded))


def _tables_of(dealing: Dealing, encoded: EncodedTable, table: Table) -> BucketizedTables:
    """Look up the values of both tables; `encoded` and `table` are the records that were dealt."""
    (column,), counts_of = dealing.rows.columns, dealing.counts
    assert counts_of is not None
    order = column.order()
    numbers = pl.Series(BUCKET, dealing.rows.bucket_of[order].astype(np.int64))
    quasi = columns_of(table.frame, column.names)[order].with_columns(numbers)
    counted, attribute = counts_of.counted(), encoded.sensitive[0]
    codes = encoded.sensitive_codes[:, 0]
    example = np.zeros(attribute.cardinality, dtype=np.int64)
    example[codes] = np.arange(len(codes))
    values = table.frame[attribute.name][example[counted.codes]]
    counts = pl.DataFrame({BUCKET: counted.buckets, attribute.name: values, COUNT: counted.counts})
    return BucketizedTables(quasi, counts, column.names, attribute.name)


def _counts(number_of: NDArray[np.int32], count: int, encoded: EncodedTable) -> BucketCounts:
    attribute = encoded.sensitive[0]
    codes = encoded.sensitive_codes[:, 0]
    counted = class_statistics(number_of, count, encoded.sensitive_codes, (attribute,)).sensitive[attribute.name]
    _, code_of = number_values(attribute, np.bincount(codes, minlength=attribute.cardinality))
    return BucketCounts(class_of_pairs(counted).astype(np.int64), code_of[counted.values], counted.counts)


def reconstruction_error(counts: SensitiveCounts, statistics: ClassStatistics) -> float:
    """Return the RCE: squared distance between each record's value and the distribution of its bucket, summed.

    For a record with value v in bucket G it is ``1 − 2 c(v)/|G| + Σ c²/|G|²``, which sums to ``|G| − Σ c²/|G|`` over
    the bucket. 0 where every bucket has one value. X. Xiao, Y. Tao, "Anatomy: simple and effective privacy
    preservation", VLDB 2006.
    """
    squares = np.bincount(class_of_pairs(counts), weights=counts.counts.astype(np.float64) ** 2)
    return float((statistics.sizes - squares / statistics.sizes).sum())


def least_reconstruction_error(records: int, l: float) -> float:  # noqa: E741 - the letter of the literature
    """Return the RCE that no buckets with shares of at most ``1/l`` can stay below: ``n (1 − 1/l)``."""
    return records * (1 - 1 / l)


Members = Literal["dealt", "alike", "random"]
"""Who shares a bucket; see :class:`sfumato.anonymizers.bucketization.Bucketization`."""

_TELLING_NOBODY, _FEWEST = 128, 8
"""Records of a dealt bucket from which on who knows others gains little (decision 60); buckets that must be left."""

_MOST_TIMES = 16
"""Buckets are dealt no larger than that many times what the models' `l` asks for, unless the models need it."""


def search_buckets(
    table: EncodedTable, models: Sequence[PrivacyModel], seed: int | None, members: Members, cut: Cut
) -> CheckedBuckets:
    """Find buckets for a table with one sensitive attribute whose records as one bucket satisfy every model.

    For a size, buckets of as many different values are tried first, in the whole table or in parts of it, then values
    dealt out evenly (with ``members="dealt"`` these come first, then merged ones). The size starts at what the models'
    `l` asks for, or at :func:`telling_little`, and is doubled, then halved, so that a smaller one that would do may be
    passed over. Cost O(n log v) for each size, and that of `cut`.
    """
    records = sort_records(table.sensitive_codes[:, 0], table.sensitive[0].cardinality, seed)
    asked = largest_l(models)
    least = min(math.ceil(asked - TOLERANCE), table.height)
    search = _SizeSearch(table, models, seed, records, least, cut if members == "alike" else None)
    if members == "dealt":
        low = telling_little(records.most_frequent / records.height, asked)
        if asked > 1:
            low = max(low, min(_TELLING_NOBODY, table.height // _FEWEST))
        low = min(low, table.height)
        return _smallest(partial(search.satisfying, search.large), low, table.height)
    return _smallest(partial(search.satisfying, search.small), least, table.height)


@dataclass(frozen=True, eq=False, repr=False)
class CheckedBuckets:
    """Buckets that satisfy every model, with the counts of their sensitive values."""

    buckets: BucketAssignment
    statistics: ClassStatistics


@dataclass(frozen=True, eq=False, repr=False)
class _SizeSearch:
    """What there is to try for a size. `least` is what the models' `l` asks for."""

    table: EncodedTable
    models: Sequence[PrivacyModel]
    seed: int | None
    records: SortedRecords
    least: int
    cut: Cut | None

    def satisfying(self, candidates: Callable[[int], Iterator[BucketAssignment]], size: int) -> CheckedBuckets | None:
        """Return the first candidate whose buckets satisfy every model."""
        table = self.table
        for buckets in candidates(size):
            statistics = class_statistics(buckets.bucket_of, buckets.count, table.sensitive_codes, table.sensitive)
            if all(bool(model.holds(statistics).all()) for model in self.models):
                return CheckedBuckets(buckets, statistics)
        return None

    def small(self, size: int) -> Iterator[BucketAssignment]:
        """Buckets of different values before dealt ones."""
        distinct = self._distinct(size)
        if distinct is not None:
            yield distinct
        yield dealt_buckets(self.records, self.records.height // size)

    def large(self, size: int) -> Iterator[BucketAssignment]:
        """Dealt buckets before merged ones."""
        yield dealt_buckets(self.records, self.records.height // size)
        distinct = self._distinct(self.least)
        if distinct is not None:
            yield _merged_buckets(distinct, max(1, distinct.count // (size // self.least)))

    def _distinct(self, size: int) -> BucketAssignment | None:
        if not self.records.eligible(size):
            return None
        if self.cut is None:
            return distinct_buckets(self.records, size, self.seed)
        codes, values = self.table.sensitive_codes[:, 0], self.table.sensitive[0].cardinality
        return distinct_buckets(sort_records(codes, values, self.seed, self.cut(size)), size, self.seed)


def _smallest(satisfying: Callable[[int], CheckedBuckets | None], low: int, high: int) -> CheckedBuckets:
    """Find the smallest size by doubling the distance from `low`, then halving; `high` always satisfies."""
    failing, size = low - 1, low
    while (found := satisfying(size)) is None:
        failing, size = size, min(size + max(1, size - low) * 2, high)
    while size - failing > 1:
        middle = (failing + size) // 2
        better = satisfying(middle)
        if better is None:
            failing = middle
        else:
            size, found = middle, better
    return found


def largest_l(models: Sequence[PrivacyModel]) -> float:
    """Return the largest `l` that a model asks for, 1 where none does."""
    return max([1.0, *(float(model.parameters().get("l", 1)) for model in models)])


def telling_little(most_frequent: float, l: float) -> int:  # noqa: E741 - the letter of the literature
    """Return the size from which attackers may learn from buckets with evenly spread values and stay within 1/l.

    A bucket of g records has at most ``g p + 1`` of a value with share p of the table, a share of ``p + 1/g``. What is
    learnt from comparing buckets, too, is of the order of 1/g, as they differ by no more than one record of each value;
    it counts twice here, as more is learnt from more records. So ``3/g`` goes into the room ``1/l - p`` above the most
    frequent value. Where there is hardly any, the size is `MOST_TIMES` times l; without an l it is 1.
    """
    if l <= 1:
        return 1
    most = _MOST_TIMES * l
    room = 1 / l - most_frequent
    return math.ceil((most if room * most <= 3 else 3 / room) - TOLERANCE)


@dataclass(frozen=True, eq=False, repr=False)
class BucketGroups:
    """Parts that share no bucket. `part_of`, int32 (n,): ``0 .. p-1``, none empty; `count`: number of parts p."""

    part_of: NDArray[np.int32]
    count: int


@dataclass(frozen=True, eq=False, repr=False)
class SortedRecords:
    """Records sorted by part and value, those of one value in random order; where each value, and each part, begins."""

    records: NDArray[np.int64]
    starts: NDArray[np.int64]
    parts: NDArray[np.int64]

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.records)

    @property
    def most_frequent(self) -> int:
        """How often the most frequent value of a part occurs there."""
        return int(np.diff(self.starts).max(initial=0))

    def eligible(self, size: int) -> bool:
        """Tell whether no value of any part has more than one record in `size` there."""
        largest = np.maximum.reduceat(np.diff(self.starts), self.parts[:-1])
        return bool((largest <= np.diff(self.starts[self.parts]) // size).all())


@dataclass(frozen=True, eq=False, repr=False)
class BucketAssignment:
    """Which bucket each record is in, int32, from 0, none empty.

    `joined`: records that were left over, and joined buckets without their value. `dealt`: whether a bucket may have a
    value more than once. `parts`: how many parts share no buckets.
    """

    bucket_of: NDArray[np.int32]
    count: int
    joined: int = 0
    dealt: bool = False
    parts: int = 1


def sort_records(
    codes: NDArray[np.unsignedinteger], cardinality: int, seed: int | None, parts: BucketGroups | None = None
) -> SortedRecords:
    """Sort records by part, if any, and value. `codes`: unsigned (n,), below `cardinality`. O(n + v) but for draws."""
    starts = _starts(codes, cardinality)
    records = sorted_by_value(permutation(len(codes), seed), codes, starts)
    if parts is None:
        return SortedRecords(records, starts, np.array([0, cardinality]))
    part_starts = _starts(parts.part_of, parts.count)
    records = sorted_by_value(records, parts.part_of, part_starts)
    changes = (np.diff(codes[records].astype(np.int64)) != 0) | (np.diff(parts.part_of[records]) != 0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(codes)]])
    return SortedRecords(records, starts, np.searchsorted(starts, part_starts))


def distinct_buckets(sorted_records: SortedRecords, size: int, seed: int | None) -> BucketAssignment | None:
    """Make buckets of `size` different values or more: Anatomy's algorithm, in every part.

    As long as `size` values have records left, a bucket takes a random record of each of the `size` values of which
    most are left, ties by code. Then fewer than `size` values have one record left each, and each of these joins a
    random bucket that lacks its value. Returns: None where some value occurs more often in a part of n records than
    there can be buckets, ``n // size``. Cost O(n log v + l b).
    """
    if not sorted_records.height or not sorted_records.eligible(size):
        return None
    starts, parts = sorted_records.starts, sorted_records.parts
    bucket_at, buckets = largest_first(starts, parts, size)
    left = int((bucket_at < 0).sum())
    if left:
        join_left(bucket_at, starts, parts, buckets, permutation(len(bucket_at), another(seed, 3)))
    return BucketAssignment(_by_record(sorted_records, bucket_at), int(buckets[-1]), left, parts=len(parts) - 1)


def dealt_buckets(sorted_records: SortedRecords, count: int) -> BucketAssignment:
    """Deal the records out in the order of their values, one to each bucket in turn: shares stay nearly the table's.

    A value that occurs at most `count` times is in no bucket twice.
    """
    bucket_at = (np.arange(sorted_records.height) % count).astype(np.int32)
    return BucketAssignment(_by_record(sorted_records, bucket_at), count, dealt=True)


def _merged_buckets(distinct: BucketAssignment, count: int) -> BucketAssignment:
    """Merge buckets of different values into `count` by putting one into each in turn."""
    # Where all of them keep shares of at most 1/l, so do the merged ones, however little room the table leaves.
    return BucketAssignment(
        distinct.bucket_of % np.int32(count), count, distinct.joined, dealt=True, parts=distinct.parts
    )


def _starts(codes: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))]).astype(np.int64)


def _by_record(sorted_records: SortedRecords, bucket_at: NDArray[np.int32]) -> NDArray[np.int32]:
    bucket_of = np.empty_like(bucket_at)
    bucket_of[sorted_records.records] = bucket_at
    return bucket_of


Cut = Callable[[int], BucketGroups]
"""Parts of alike people for a size of bucket: no value has more than one record in that many, in any of them."""

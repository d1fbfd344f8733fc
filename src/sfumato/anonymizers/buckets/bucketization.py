"""Bucketization: quasi-identifying values as they are, sensitive ones as counts for each bucket of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.buckets.search import BucketGroups, CheckedBuckets, Members, search_buckets
from sfumato.anonymizers.dealt import BucketCounts, ColumnSource, CountedTable, Dealing, DealtColumn, DealtTable
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, class_statistics, number_values
from sfumato.errors import PolicyError, raise_all
from sfumato.models import promisable
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import ProbabilisticLDiversity
from sfumato.models.protocol import PrivacyModel
from sfumato.models.reference import class_of_pairs
from sfumato.models.says import Subject, says
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.published import BucketizedTables
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET
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
        Who shares a bucket. ``"dealt"``: the records, sorted by their sensitive value, are dealt out like cards, into
        buckets that are larger than the models ask for; each then shows nearly the shares of the whole table, and
        little can be learnt from comparing them. ``"random"``: the smallest buckets of different values, from random
        records of the whole table (the paper's). ``"alike"``: the same in parts of people who are alike in their
        quasi-identifying values; counts are most exact, and what comparing buckets teaches is mostly how values go
        together in the population.

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
        See :func:`sfumato.anonymizers.buckets.search.search_buckets`.
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
                f"can promise {', '.join(promisable('buckets'))}; for others take an anonymizer that generalizes, "
                "such as mondrian"
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
    """Say what both tables hold: buckets get random numbers, and rows a random order.

    * `found`: which bucket each record is in.
    * `encoded`: the same records; the only sensitive attribute is the first.
    * `names`: the quasi-identifying attributes.
    * `seed`: as :func:`sfumato.randomness.permutation` takes it.
    """
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

"""Slicing: correlated attributes stay together, links between the others are broken inside buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import ColumnSource, Dealing
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.columns import (
    ChosenColumns,
    choose_columns,
    is_whole_number,
    model_problems,
    one_bucket_problems,
    single_value_problems,
    slice_column_problems,
    usual_columns,
)
from sfumato.anonymizers.slicing.correlation import BINS, Discretization, correlation
from sfumato.anonymizers.slicing.membership import SliceDisclosure, disclosure_of, membership_disclosure
from sfumato.anonymizers.slicing.partitioning import (
    BucketCheck,
    BucketPartition,
    BucketSize,
    ColumnsApart,
    CutTable,
    Split,
    blind_buckets,
    bucket_sizes,
    dealt_slices,
    guarded_size,
    partition_records,
    structure_of,
    with_insensitive,
)
from sfumato.classes.partition import GeneralizedTable
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import counted
from sfumato.options import Limit
from sfumato.published.apart import Columns
from sfumato.published.checks.slice_layout import SliceLayout, layout_of, number_rows
from sfumato.randomness import another
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

_ADVICE = "; column_k = 5 lets no value of a column occur less than 5 times"


@dataclass(frozen=True)
class Slicing(ColumnsApart):
    """Keep correlated attributes together in columns, and permute each column inside buckets of records.

    Parameters
    ----------
    columns
        How many columns the attributes are clustered into; or the columns themselves, as lists of names that hold every
        quasi-identifying and sensitive attribute once. None: half as many columns as attributes, 2 to 5.
    alpha
        How large the column of the sensitive attributes is: they and the ``alpha - 1`` others that hang together most
        with them; 1 leaves them alone. None clusters them like the others, and takes attributes out of their column
        only where these would give the sensitive values away.
    column_k
        Generalize the values of a column so that each occurs at least so often in it; None leaves them as they are.
        Sensitive values are never generalized.
    bins, discretization
        How numbers and dates are put into categories when correlation is measured, see :func:`sfumato.correlation`.
    split
        ``"balanced"``: cuts spread every sensitive value evenly over both halves. ``"median"``: values up to the median
        of an attribute go to one half (the paper's rule), which ends in far larger buckets where attributes hang
        together with the sensitive ones. ``"blind"``: neither columns nor cuts hang on who has which sensitive value:
        sensitive attributes have a column of their own, and buckets are cut as blind Mondrian cuts classes.
    protection
        ``"buckets"``: the models hold in every bucket by itself, also against somebody who knows which bucket a person
        is in. ``"matching"``: they hold over all buckets that match a person, for every record (the paper's check) and
        for everybody else who may be in a bucket; buckets are somewhat smaller, and single ones may give their
        sensitive value away to somebody who knows more.
    bucket_size
        ``"guarded"``: a bucket is cut only as long as its halves are so large, and so alike in their sensitive values,
        that comparing buckets teaches little beyond the l of the models (decision record 10); models without an l ask
        for nothing. ``"smallest"``: as long as the check allows (the paper's rule), which answers a little better, and
        lets a model that is learnt from all buckets beat 1/l.

    Raises
    ------
    PolicyError
        With every option that is unknown or contradicts another.

    Notes
    -----
    *Guarantee.* For everybody whose values, column by column, stand together in some bucket, the sensitive values that
    the whole table suggests satisfy every model: ``p(t, s) = Σ f(t, B) D(t, B)[s] / Σ f(t, B)``, where f is the product
    of the shares of the person's values in the columns of bucket B, and D the sensitive values of the rows that agree
    with the person in the sensitive column. That holds for every record, and a recipient can recount it. Several
    sensitive attributes are protected one by one; nothing is promised of their combinations.

    *Complexity.* O(a² n) for the correlation of a attributes, O(q n log n) for each level of cuts.

    *Sources.* Li, Li, Zhang, Molloy, "Slicing: a new approach for privacy preserving data publishing", TKDE 2012; the
    slicing paper with marginal publication. Departures: ``split="balanced"``, ``protection="buckets"`` and
    ``bucket_size="guarded"`` are ours, as is the guarantee for everybody who may be in a bucket (decision record 7);
    the attribute next in width is tried where the widest cannot be cut.
    """

    name: ClassVar[str] = "slicing"

    alpha: Annotated[int, Limit(1)] | None = None
    column_k: Annotated[int, Limit(2)] | None = None
    bins: Annotated[int, Limit(2)] = BINS
    discretization: Discretization = "equal-frequency"
    split: Split = "balanced"
    protection: BucketCheck = "buckets"
    bucket_size: BucketSize = "guarded"

    def _mistakes(self) -> Iterator[str]:
        return _column_mistakes(self)

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with everything that does not fit: columns and models."""
        raise_all(
            PolicyError,
            [
                *slice_column_problems(self.name, self.columns, table),
                *model_problems(self.name, _ADVICE, table, models),
                *(self._blind_mistakes([each.name for each in table.sensitive]) if self.blind else ()),
            ],
        )

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Choose columns, generalize and cut, permute as :meth:`publish` does, for who holds the values."""
        raise_all(UnsatisfiableError, single_value_problems(self.name, problem.table))
        chosen, recoded = self._columns(problem, table)
        buckets = self._buckets(problem, chosen)
        columns = with_insensitive(chosen.columns, table.schema)
        rows = dealt_slices(columns, buckets.bucket_of, another(problem.seed, 1), recoded.tables)
        disclosure = disclosure_of(
            chosen.layout, buckets.bucket_of, buckets.count, seed=another(problem.seed, 2),
            progress=problem.progress, threads=problem.threads,
        )  # fmt: skip
        membership = membership_disclosure(
            chosen.layout,
            problem.table,
            chosen.columns,
            buckets.bucket_of,
            buckets.count,
            seed=another(problem.seed, 3),
        )
        notes = (*chosen.notes, *_notes(chosen.columns, recoded, buckets, disclosure, table))
        figures = {**bucket_sizes(buckets), **membership.figures, **disclosure.figures}
        return Dealing(rows, structure_of(columns, table.schema), notes=notes, figures=figures)

    def cut(self, problem: Problem, table: Table) -> CutTable:
        """Choose columns and buckets as :meth:`publish` does, for who knows the algorithm; errors likewise."""
        raise_all(UnsatisfiableError, single_value_problems(self.name, problem.table))
        chosen, recoded = self._columns(problem, table)
        return CutTable(chosen.columns, chosen.layout, self._buckets(problem, chosen), recoded.tables)

    def _buckets(self, problem: Problem, chosen: ChosenColumns) -> BucketPartition:
        least = guarded_size(problem) if self.bucket_size == "guarded" else 1
        if self.blind:
            return blind_buckets(problem, least)
        return partition_records(problem, chosen.layout, chosen.columns, self.split, self.protection, least)

    def _columns(self, problem: Problem, table: ColumnSource) -> tuple[ChosenColumns, _RecodedColumns]:
        recoded: dict[Columns, _RecodedColumns] = {}

        def lay_out(columns: Columns) -> SliceLayout:
            recoded[columns] = _RecodedColumns({}, {})
            if self.column_k is not None:
                recoded[columns] = _generalize_columns(problem, columns, self.column_k)
            return layout_of(problem.table, columns, problem.models, recoded[columns].numbers)

        if isinstance(self.columns, tuple):
            chosen = ChosenColumns(self.columns, lay_out(self.columns))
            raise_all(UnsatisfiableError, one_bucket_problems(problem, chosen.layout, chosen.columns))
        else:
            measured = correlation(table, bins=self.bins, discretization=self.discretization)
            count = self.columns or usual_columns(len(measured.attributes))
            chosen = choose_columns(problem, measured, count, 1 if self.blind else self.alpha, lay_out)
        return chosen, recoded[chosen.columns]


def _column_mistakes(options: Slicing) -> Iterator[str]:
    columns = options.columns
    if isinstance(columns, tuple):
        names = [name for column in columns for name in column]
        if not columns or not all(columns) or not all(isinstance(name, str) for name in names):
            yield "slicing: columns must be a number, or lists of at least one attribute each"
        twice = [name for name, count in Counter(names).items() if count > 1]
        yield from (f"slicing: columns name {name!r} more than once" for name in twice)
        if options.alpha is not None:
            yield "slicing: alpha says which columns are made; leave it out where columns are listed"
    elif columns is not None and not is_whole_number(columns, 1 + options.blind):
        yield f"slicing: columns must be a whole number, {1 + options.blind} or above, or lists of attributes"
    if options.blind and options.alpha not in (None, 1):
        yield "slicing: blind cuts need sensitive columns apart (alpha = 1); leave alpha out, or take another split"
    if options.blind and options.protection == "matching":
        yield 'slicing: protection="matching" looks at single records; leave it out, or take another split than blind'


def _notes(
    columns: Columns,
    recoded: _RecodedColumns,
    buckets: BucketPartition,
    disclosure: SliceDisclosure,
    table: ColumnSource,
) -> Iterator[str]:
    yield f"Columns: {'; '.join(', '.join(column) for column in columns)}."
    if recoded.numbers:
        yield f"{counted(len(recoded.numbers), 'column')} had rare values, which were generalized."
    if table.schema.insensitive:
        yield f"Insensitive columns stand in a column of their own: {', '.join(table.schema.insensitive)}."
    yield from buckets.notes
    if buckets.undone:
        joined = counted(buckets.undone, "bucket")
        yield f"{joined} were joined to others, as the models did not hold for everybody who may be in them."
    if len(table.schema.sensitive) > 1:
        yield "Sensitive attributes are protected one by one; nothing is promised of their combinations."
    if not disclosure.complete:
        records = counted(int(disclosure.weights.sum()), "record")
        yield f"Matching buckets were looked up for {records}, drawn at random: there are too many for all."


@dataclass(frozen=True, eq=False, repr=False)
class _RecodedColumns:
    """Columns whose values were generalized: `numbers`, int32 (n,), of published values; `tables` of attributes."""

    numbers: dict[int, NDArray[np.int32]]
    tables: dict[int, GeneralizedTable]


def _generalize_columns(problem: Problem, columns: Columns, k: int) -> _RecodedColumns:
    """Generalize the quasi-identifying values of every column in which some occur less than `k` times, by Mondrian."""
    # Whoever knows a value that occurs once in its column knows the bucket, and that the person is in the table.
    recoded = _RecodedColumns({}, {})
    place_of = {attribute.name: place for place, attribute in enumerate(problem.table.attributes)}
    for column, names in enumerate(columns):
        own = [place_of[name] for name in names if name in place_of]
        if own and np.bincount(number_rows(problem.table.codes[:, own])).min() < k:
            recoded.tables[column] = _generalized(problem, own, k)
            recoded.numbers[column] = recoded.tables[column].class_of
    return recoded


def _generalized(problem: Problem, own: list[int], k: int) -> GeneralizedTable:
    attributes = tuple(problem.table.attributes[place] for place in own)
    nothing = np.zeros((problem.table.height, 0), dtype=np.uint8)
    alone = EncodedTable(attributes, np.ascontiguousarray(problem.table.codes[:, own]), (), nothing)
    models = (KAnonymity(k),)
    partition = Mondrian().solve(replace(problem, table=alone, models=models, suppression_limit=0))
    return recode(alone, partition)

"""Overlapping slicing: columns share attributes, so that more of what hangs together is kept together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.anonymizers.dealt import ColumnSource, Dealing
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.slicing.choosing import one_bucket_problems
from sfumato.anonymizers.slicing.correlation import BINS, Discretization, correlation
from sfumato.anonymizers.slicing.fitting import (
    as_column,
    bucket_sizes,
    column_problems,
    model_problems,
    single_value_problems,
    usual_columns,
    whole,
)
from sfumato.anonymizers.slicing.fuzzy import FuzzyDistance
from sfumato.anonymizers.slicing.joined_cuts import cut_joined
from sfumato.anonymizers.slicing.membership import membership_disclosure
from sfumato.anonymizers.slicing.overlapping_choice import (
    OverlappingChoice,
    joined_problems,
    least_bound,
    settle_columns,
)
from sfumato.anonymizers.slicing.overlapping_columns import (
    Method,
    OverlappingClustering,
    Space,
    overlap_columns,
)
from sfumato.anonymizers.slicing.partitioning import (
    BucketPartition,
    BucketSize,
    CutTable,
    Split,
    guarded_size,
    partition_records,
)
from sfumato.anonymizers.slicing.publish import dealt_slices, sliced_table, structure_of, with_insensitive
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject, says
from sfumato.options import Checked, Limit, Share
from sfumato.published import SlicedTable
from sfumato.published.checks.slices.joined import linked_columns
from sfumato.published.checks.slices.layout import layout_of
from sfumato.published.checks.slices.sharing import overlap_ratio, places_of, shared_attributes
from sfumato.published.sliced import Columns
from sfumato.randomness import another
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class OverlappingSlicing(Checked):
    """Put attributes that hang together into columns that may share some, and permute each column inside buckets.

    Parameters
    ----------
    columns
        How many columns the attributes are clustered into; columns that lie inside others are left out. Or the columns
        themselves, as lists of names that hold every quasi-identifying and sensitive attribute. None: half as many as
        attributes, 2 to 5.
    method
        ``"fuzzy"``: fuzzy c-means; ``"possibilistic"``: the same, and then how typical an attribute is of a column,
        whatever the others are; ``"medoids"``: everything that is similar enough to a center attribute (OPC).
    space
        What attributes are for fuzzy c-means: ``"mds"``, points about as far apart as ``1 - φ²``; ``"medoid"``, nothing
        but these distances; ``"profile"``, rows of the correlation table.
    distance
        ``"euclidean"``, or ``"dot-product"``: the angle between point and center.
    threshold
        Least degree with which an attribute joins a column, above 0, at most 1 (for ``"medoids"`` the least
        similarity); the column it belongs to most it joins always. None: 1 / columns, and half of that for ``"fuzzy"``.
    fuzzifier
        Above 1; the higher, the more attributes are shared.
    duplicate_sensitive
        Let a sensitive attribute stand in every column that it belongs to closely enough. What is promised then is
        less, see below.
    bins, discretization
        How numbers and dates are put into categories when correlation is measured, see :func:`sfumato.correlation`.
    split, bucket_size
        As in :class:`Slicing`.

    Raises
    ------
    PolicyError
        With every option that is unknown or contradicts another.

    Notes
    -----
    *Guarantee.* A sensitive attribute stands in one column. In every bucket, the rows that agree in what stands beside
    it there satisfy every model by themselves. Whatever an attacker who does not know the algorithm makes of shared
    attributes, and even if he knows the quasi-identifying values of everybody and the bucket of everybody, this is all
    that one bucket tells him of the sensitive value; a recipient can recount it. Who knows the algorithm may rule out
    some assignments of values, as cuts look at them. The paper's rule for shared attributes (conditional fractions)
    only weighs buckets against each other; it depends on the order of the columns, and nothing here rests on it
    (decision record 8).

    With `duplicate_sensitive` the models (probabilistic l-diversity only) hold in every bucket for everybody whose
    values can be joined from the columns: for an attacker who knows one person's values and finds every original table
    that fits equally likely. It is *no* guarantee against somebody who also knows the values of others in the bucket.
    Copies are left out, those that belong least to their columns first, until all records as one bucket pass.

    *Complexity.* O(a² n) for the correlation of a attributes, O(a³) for clustering, O(q n log n) a level of cuts.

    *Sources.* "Slicing with marginal publication"; Li, Li, Zhang, Molloy, TKDE 2012, who name the idea. Neither gives a
    space, a threshold or a check. ``bucket_size="guarded"`` is ours, too (decision record 10). All choices are
    deterministic; nothing but the permutation is random.
    """

    name: ClassVar[str] = "overlapping-slicing"
    kind: ClassVar[str] = SlicedTable.kind
    promises: ClassVar[Subject | None] = "slices"

    columns: int | tuple[tuple[str, ...], ...] | None = None
    method: Method = "fuzzy"
    space: Space = "mds"
    distance: FuzzyDistance = "euclidean"
    threshold: Share | None = None
    fuzzifier: Annotated[float, Limit(1, above=True)] = 2.0
    duplicate_sensitive: bool = False
    bins: Annotated[int, Limit(2)] = BINS
    discretization: Discretization = "equal-frequency"
    split: Split = "balanced"
    bucket_size: BucketSize = "guarded"

    def __post_init__(self) -> None:
        """Check the options against each other, and settle lists of columns as tuples."""
        if isinstance(self.columns, (list, tuple)):
            object.__setattr__(self, "columns", tuple(map(as_column, self.columns)))
        super().__post_init__()

    def _mistakes(self) -> Iterator[str]:
        if isinstance(self.columns, tuple):
            yield from _list_problems(self.columns)
        elif self.columns is not None and not whole(self.columns, 1):
            yield "overlapping-slicing: columns must be a whole number, 1 or above, or lists of attributes"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with everything that does not fit: columns and models."""
        raise_all(
            PolicyError,
            [
                *column_problems(self.name, self.columns, table),
                *model_problems(self.name, "", table, models),
                *_copy_problems(self, table, models),
            ],
        )

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Choose columns, cut, permute.

        Raises
        ------
        PolicyError
            When there are more columns than attributes.
        InputError
            When an attribute that is to be clustered has one value only.
        UnsatisfiableError
            When not even all records as one bucket satisfy the models, or a sensitive attribute has one value only.
        """
        dealing = self.deal(problem, table)
        return Publication(sliced_table(dealing.rows, table), dealing.notes, dealing.figures)

    @property
    def by_sensitive_alone(self) -> bool:
        """Whether quasi-identifying values do not matter."""
        return False

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Choose columns, cut, permute as :meth:`publish` does, for who holds the values."""
        raise_all(UnsatisfiableError, single_value_problems(self.name, problem.table))
        settled = self._settled(problem, table)
        buckets = self._buckets(problem, table, settled.columns)
        columns = with_insensitive(settled.columns, table.schema)
        rows = dealt_slices(columns, buckets.bucket_of, another(problem.seed, 1))
        layout = layout_of(problem.table, settled.columns, problem.models)
        membership = membership_disclosure(
            layout, problem.table, settled.columns, buckets.bucket_of, buckets.count, seed=another(problem.seed, 2)
        )
        figures = {"overlap_ratio": overlap_ratio(settled.columns), **bucket_sizes(buckets), **membership.figures}
        return Dealing(rows, structure_of(columns, table.schema), notes=tuple(_notes(settled, table)), figures=figures)

    def cut(self, problem: Problem, table: Table) -> CutTable:
        """Choose columns and buckets as :meth:`publish` does, for who knows the algorithm; errors likewise."""
        raise_all(UnsatisfiableError, single_value_problems(self.name, problem.table))
        columns = self._settled(problem, table).columns
        return CutTable(
            columns, layout_of(problem.table, columns, problem.models), self._buckets(problem, table, columns)
        )

    def _settled(self, problem: Problem, table: ColumnSource) -> OverlappingChoice:
        def problems(columns: Columns) -> list[str]:
            joined = joined_problems(columns, problem.table, problem.models)
            return joined or one_bucket_problems(problem, layout_of(problem.table, columns, problem.models), columns)

        sensitive = table.schema.sensitive
        if isinstance(self.columns, tuple):
            raise_all(UnsatisfiableError, problems(self.columns))
            return OverlappingChoice(self.columns)
        measured = correlation(table, bins=self.bins, discretization=self.discretization)
        count = self.columns or usual_columns(len(measured.attributes))
        found = overlap_columns(
            measured, sensitive, count, self._clustering(), duplicate_sensitive=self.duplicate_sensitive
        )
        return settle_columns(found, sensitive, problems)

    def _buckets(self, problem: Problem, table: ColumnSource, columns: Columns) -> BucketPartition:
        sensitive = tuple(table.schema.sensitive)
        least = guarded_size(problem) if self.bucket_size == "guarded" else 1
        if any(len(linked_columns(columns, sensitive, name)) > 1 for name in sensitive):
            return cut_joined(problem, columns, {name: least_bound(problem.models, name) for name in sensitive}, least)
        layout = layout_of(problem.table, columns, problem.models)
        return partition_records(problem, layout, columns, self.split, least=least)

    def _clustering(self) -> OverlappingClustering:
        return OverlappingClustering(self.method, self.space, self.distance, self.threshold, self.fuzzifier)


def _list_problems(columns: Columns) -> Iterator[str]:
    names = [name for column in columns for name in column]
    if not columns or not all(columns) or not all(isinstance(name, str) for name in names):
        yield "overlapping-slicing: columns must be a number, or lists of at least one attribute each"
        return
    for place, column in enumerate(columns, start=1):
        if len(set(column)) < len(column):
            yield f"overlapping-slicing: column {place} names an attribute more than once"
        if any(
            set(column) < set(other) or (set(column) == set(other) and before < place)
            for before, other in enumerate(columns, start=1)
        ):
            yield f"overlapping-slicing: column {place} lies inside another and adds nothing; leave it out"


def _copy_problems(options: OverlappingSlicing, table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    if options.duplicate_sensitive:
        yield from (
            f"overlapping-slicing: {model.name} cannot be promised of a sensitive attribute in several columns; "
            "leave duplicate_sensitive out"
            for model in models
            if {"slices", "joins"} & says(model).speaks_of == {"slices"}
        )
    if isinstance(options.columns, tuple) and not options.duplicate_sensitive:
        for attribute in table.sensitive:
            if len(places_of(options.columns, attribute.name)) > 1:
                yield (
                    f"overlapping-slicing: columns name the sensitive {attribute.name!r} more than once, which "
                    "promises less; set duplicate_sensitive if that is meant"
                )


def _notes(settled: OverlappingChoice, table: ColumnSource) -> Iterator[str]:
    sensitive, insensitive = table.schema.sensitive, table.schema.insensitive
    yield f"Columns: {'; '.join(', '.join(column) for column in settled.columns)}."
    shared = shared_attributes(settled.columns)
    yield f"Shared attributes: {', '.join(shared)}." if shared else "No attribute is shared: this is plain slicing."
    if settled.copies_dropped:
        yield f"Copies of sensitive attributes left out, as they would have told values: {settled.copies_dropped}."
    if settled.moved:
        moved = ", ".join(settled.moved)
        yield f"Left the column of a sensitive attribute, as they would have told its values: {moved}."
    if any(name in shared for name in sensitive):
        yield (
            "A sensitive attribute is in several columns: that does not protect against somebody who knows the "
            "values of others in a person's bucket."
        )
    if insensitive:
        yield f"Insensitive columns stand in a column of their own: {', '.join(insensitive)}."
    if len(sensitive) > 1:
        yield "Sensitive attributes are protected one by one; nothing is promised of their combinations."

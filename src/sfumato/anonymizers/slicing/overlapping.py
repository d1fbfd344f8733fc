"""Overlapping slicing: columns share attributes, so that more of what hangs together is kept together.

Each attribute joins every column that it belongs to closely enough. What gives sensitive values away is taken out of
the columns, until all records as one bucket keep the models.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import ColumnSource, Dealing
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.columns import (
    FuzzyClusters,
    FuzzyDistance,
    fuzzy_c_means,
    fuzzy_c_medoids,
    is_whole_number,
    model_problems,
    one_bucket_problems,
    overlapping_medoids,
    scaled_coordinates,
    single_value_problems,
    slice_column_problems,
    typicalities,
    usual_columns,
)
from sfumato.anonymizers.slicing.correlation import BINS, Correlation, Discretization, correlation
from sfumato.anonymizers.slicing.membership import membership_disclosure
from sfumato.anonymizers.slicing.partitioning import (
    BucketPartition,
    BucketSize,
    ColumnsApart,
    CutTable,
    Split,
    blind_buckets,
    bucket_sizes,
    code_frame,
    cut_joined,
    dealt_slices,
    guarded_size,
    partition_records,
    structure_of,
    with_insensitive,
)
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.predicates import SLACK
from sfumato.models.protocol import PrivacyModel, says, speak_of
from sfumato.numbers import figure
from sfumato.options import Checked, Limit, Share
from sfumato.published.apart import BUCKET, Columns
from sfumato.published.checks.slice_layout import (
    joined_shares,
    layout_of,
    linked_columns,
    overlap_ratio,
    places_of,
    shared_attributes,
)
from sfumato.randomness import another
from sfumato.table.encoding import EncodedTable
from sfumato.table.header import exactly
from sfumato.table.table import Table

Problems = Callable[[Columns], list[str]]
"""What all records as one bucket break in some columns; empty where every model holds."""

_Method = Literal["fuzzy", "possibilistic", "medoids"]

_Space = Literal["mds", "medoid", "profile"]

_LEAST_SHARE = 1e-9
"""A membership that lies below the threshold by no more than this is one that rounding took there."""

_MOST_HALVED = 5
"""How often the usual threshold is halved where nothing is shared with it."""


@dataclass(frozen=True)
class OverlappingSlicing(ColumnsApart):
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
        similarity); the column it belongs to most it joins always. None: 1 / columns, and half of that for ``"fuzzy"``;
        where no attribute is shared then, it is halved until one is, five times at most, and at last fuzzy c-means
        chooses the columns; the release says so.
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
    method: _Method = "fuzzy"
    space: _Space = "mds"
    distance: FuzzyDistance = "euclidean"
    threshold: Share | None = None
    fuzzifier: Annotated[float, Limit(1, above=True)] = 2.0
    duplicate_sensitive: bool = False
    bins: Annotated[int, Limit(2)] = BINS
    discretization: Discretization = "equal-frequency"
    split: Split = "balanced"
    bucket_size: BucketSize = "guarded"

    def _mistakes(self) -> Iterator[str]:
        least = 1 + self.blind
        if isinstance(self.columns, tuple):
            yield from _list_problems(self.columns)
        elif self.columns is not None and not is_whole_number(self.columns, least):
            yield f"overlapping-slicing: columns must be a whole number, {least} or above, or lists of attributes"
        if self.blind and self.duplicate_sensitive:
            yield "overlapping-slicing: blind cuts keep sensitive columns apart; leave duplicate_sensitive out"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with everything that does not fit: columns and models."""
        raise_all(
            PolicyError,
            [
                *slice_column_problems(self.name, self.columns, table),
                *model_problems(self.name, "", table, models),
                *_copy_problems(self, table, models),
                *(self._blind_mistakes([each.name for each in table.sensitive]) if self.blind else ()),
            ],
        )

    def deal(self, problem: Problem, table: ColumnSource) -> Dealing:
        """Choose columns, cut, permute as :meth:`publish` does, for who holds the values."""
        raise_all(UnsatisfiableError, single_value_problems(self.name, problem.table))
        choice = self._choose_columns(problem, table)
        buckets = self._buckets(problem, table, choice.columns)
        columns = with_insensitive(choice.columns, table.schema)
        rows = dealt_slices(columns, buckets.bucket_of, another(problem.seed, 1))
        layout = layout_of(problem.table, choice.columns, problem.models)
        membership = membership_disclosure(
            layout, problem.table, choice.columns, buckets.bucket_of, buckets.count, seed=another(problem.seed, 2)
        )
        figures = {"overlap_ratio": overlap_ratio(choice.columns), **bucket_sizes(buckets), **membership.figures}
        notes = (*_notes(choice, table), *buckets.notes)
        return Dealing(rows, structure_of(columns, table.schema), notes=notes, figures=figures)

    def cut(self, problem: Problem, table: Table) -> CutTable:
        """Choose columns and buckets as :meth:`publish` does, for who knows the algorithm; errors likewise."""
        raise_all(UnsatisfiableError, single_value_problems(self.name, problem.table))
        columns = self._choose_columns(problem, table).columns
        return CutTable(
            columns, layout_of(problem.table, columns, problem.models), self._buckets(problem, table, columns)
        )

    def _choose_columns(self, problem: Problem, table: ColumnSource) -> OverlappingChoice:
        def problems(columns: Columns) -> list[str]:
            joined = _joined_problems(columns, problem.table, problem.models)
            return joined or one_bucket_problems(problem, layout_of(problem.table, columns, problem.models), columns)

        sensitive = table.schema.sensitive
        if isinstance(self.columns, tuple):
            raise_all(UnsatisfiableError, problems(self.columns))
            return OverlappingChoice(self.columns)
        known = [*table.schema.quasi_identifying, *(() if self.blind else sensitive)]
        measured = correlation(table, known, bins=self.bins, discretization=self.discretization)
        count = self.columns or usual_columns(len(known) + self.blind * len(sensitive))
        plain = None
        for ways in self._clusterings(count - self.blind):
            found = overlap_columns(
                measured, sensitive, count - self.blind, ways, duplicate_sensitive=self.duplicate_sensitive
            )
            if self.blind:
                found = OverlappingColumns((*found.columns, tuple(sensitive)), (*found.degrees, {}))
            choice = settle_columns(found, sensitive, problems)
            if shared_attributes(choice.columns):
                instead = self.method if ways.method != self.method else None
                return replace(choice, lowered=ways.threshold if plain else None, instead_of=instead)
            plain = plain or choice
        assert plain is not None
        return plain

    def _buckets(self, problem: Problem, table: ColumnSource, columns: Columns) -> BucketPartition:
        sensitive = tuple(table.schema.sensitive)
        least = guarded_size(problem) if self.bucket_size == "guarded" else 1
        if self.blind:
            return blind_buckets(problem, least)
        if any(len(linked_columns(columns, sensitive, name)) > 1 for name in sensitive):
            return cut_joined(problem, columns, {name: _least_bound(problem.models, name) for name in sensitive}, least)
        layout = layout_of(problem.table, columns, problem.models)
        return partition_records(problem, layout, columns, self.split, least=least)

    def _clusterings(self, columns: int) -> Iterator[OverlappingClustering]:
        """Yield what was asked for; where no threshold was, lower ones and at last fuzzy c-means, to share some."""
        asked = OverlappingClustering(self.method, self.space, self.distance, self.threshold, self.fuzzifier)
        yield asked
        for halved in range(1, 1 + _MOST_HALVED if self.threshold is None else 1):
            yield replace(asked, threshold=asked.least_degree(columns) / 2**halved)
        if self.threshold is None and self.method != "fuzzy":
            yield replace(asked, method="fuzzy")


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


def _notes(choice: OverlappingChoice, table: ColumnSource) -> Iterator[str]:
    sensitive, insensitive = table.schema.sensitive, table.schema.insensitive
    yield f"Columns: {'; '.join(', '.join(column) for column in choice.columns)}."
    shared = shared_attributes(choice.columns)
    yield f"Shared attributes: {', '.join(shared)}." if shared else "No attribute is shared: this is plain slicing."
    if choice.instead_of is not None:
        yield f"Fuzzy c-means chose the columns: {choice.instead_of!r} shared nothing, even with lower thresholds."
    if choice.lowered is not None:
        yield f"The threshold is {figure(choice.lowered)}, as nothing was shared with higher ones."
    if choice.copies_dropped:
        yield f"Copies of sensitive attributes left out, as they would have told values: {choice.copies_dropped}."
    if choice.moved:
        moved = ", ".join(choice.moved)
        yield f"Left the column of a sensitive attribute, as they would have told its values: {moved}."
    if any(name in shared for name in sensitive):
        yield (
            "A sensitive attribute is in several columns. That does not protect against somebody who knows the "
            "values of others in a person's bucket."
        )
    if insensitive:
        yield f"Insensitive columns stand in a column of their own: {', '.join(insensitive)}."
    if len(sensitive) > 1:
        yield "Sensitive attributes are protected one by one; nothing is promised of their combinations."


@dataclass(frozen=True)
class OverlappingClustering(Checked):
    """How attributes are put into columns that overlap."""

    name: ClassVar[str] = "overlapping-slicing"

    # ``"fuzzy"``: fuzzy c-means, where degrees of membership of an attribute sum to 1. ``"possibilistic"``: what it
    # finds is turned into typicalities, which do not. ``"medoids"``: OPC, whose degrees are similarities to centers.
    method: _Method = "fuzzy"
    # What attributes are for fuzzy c-means. ``"mds"``: points that lie as far apart as ``1 - φ²`` says; ``"medoid"``:
    # nothing but their distances, centers are attributes; ``"profile"``: rows of the matrix of φ².
    space: _Space = "mds"
    distance: FuzzyDistance = "euclidean"  # of point and center, in ``"mds"`` and ``"profile"``
    # Least degree with which an attribute joins a column, above 0, at most 1; its nearest column it joins always. None:
    # one in the number of columns, and half of that for ``"fuzzy"``, where an attribute that belongs to no column more
    # than to others has that degree everywhere.
    threshold: Share | None = None
    fuzzifier: Annotated[float, Limit(1, above=True)] = 2.0  # m of fuzzy c-means, above 1

    def least_degree(self, columns: int) -> float:
        """Return the threshold, or what stands for none."""
        usual = 0.5 if self.method == "fuzzy" else 1.0
        return usual / columns if self.threshold is None else self.threshold


@dataclass(frozen=True, eq=False, repr=False)
class OverlappingColumns:
    """Columns, which may be empty or nested, and how closely *every* attribute belongs to each."""

    columns: Columns
    degrees: tuple[dict[str, float], ...]


def overlap_columns(
    correlation: Correlation,
    sensitive: Collection[str],
    columns: int,
    clustering: OverlappingClustering,
    *,
    duplicate_sensitive: bool = False,
) -> OverlappingColumns:
    """Cluster attributes by ``1 - φ²``, softly; sensitive ones in their nearest column alone, unless duplicated."""
    names = correlation.attributes
    problems = []
    if columns > len(names):
        problems.append(
            f"overlapping-slicing: {columns} columns are more than there are attributes ({len(names)}); ask for fewer"
        )
    raise_all(PolicyError, problems)
    raise_all(InputError, _constant_problems(correlation))
    degrees = _degrees_of(correlation.values, columns, clustering)
    joins = _joined(degrees, clustering.least_degree(columns))
    for place, name in enumerate(names):
        if name in sensitive and not duplicate_sensitive:
            joins[place] = _joined(degrees[[place]], np.inf)[0]
    return _named(names, joins, degrees)


def _constant_problems(correlation: Correlation) -> Iterator[str]:
    for name, size in zip(correlation.attributes, correlation.sizes, strict=True):
        if size < 2:
            yield (
                f"overlapping-slicing: column {name!r} has one value only, so that it hangs together with nothing; "
                "leave it out, or list the columns"
            )


def _degrees_of(
    correlations: NDArray[np.float64], columns: int, clustering: OverlappingClustering
) -> NDArray[np.float64]:
    """Return how closely each attribute belongs to each column; float64 (a, c) from φ², float64 (a, a)."""
    distances = 1.0 - correlations
    if clustering.method == "medoids":
        return overlapping_medoids(distances, columns, clustering.least_degree(columns))
    found = _fuzzy(correlations, distances, columns, clustering)
    if clustering.method == "possibilistic":
        return typicalities(found, clustering.fuzzifier)
    return found.memberships


def _fuzzy(
    correlations: NDArray[np.float64], distances: NDArray[np.float64], columns: int, clustering: OverlappingClustering
) -> FuzzyClusters:
    if clustering.space == "medoid":
        return fuzzy_c_medoids(distances, columns, clustering.fuzzifier)
    points = scaled_coordinates(distances) if clustering.space == "mds" else np.asarray(correlations)
    return fuzzy_c_means(points, columns, clustering.fuzzifier, clustering.distance)


def _joined(degrees: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Tell which columns each attribute joins: those of a degree of `threshold`, and the first of the highest."""
    joins = degrees >= threshold - _LEAST_SHARE
    joins[np.arange(len(degrees)), degrees.argmax(axis=1)] = True
    return np.asarray(joins)


def _named(names: tuple[str, ...], joins: NDArray[np.bool_], degrees: NDArray[np.float64]) -> OverlappingColumns:
    """Name the attributes of clusters, in the order of their first ones."""
    members = [np.flatnonzero(joins[:, place]).tolist() for place in range(joins.shape[1])]
    ordered = sorted(range(len(members)), key=lambda place: (members[place], place))
    columns = tuple(tuple(names[attribute] for attribute in members[place]) for place in ordered)
    by_name = tuple(dict(zip(names, degrees[:, place].tolist(), strict=True)) for place in ordered)
    return OverlappingColumns(columns, by_name)


@dataclass(frozen=True)
class OverlappingChoice:
    """Columns that one bucket of all keeps the models with, what was dropped, moved, lowered, and not taken."""

    columns: Columns
    copies_dropped: int = 0
    moved: tuple[str, ...] = ()
    lowered: float | None = None
    instead_of: str | None = None


def settle_columns(found: OverlappingColumns, sensitive: Collection[str], problems: Problems) -> OverlappingChoice:
    """Take from columns what gives sensitive values away: first copies of these, then what stands beside them.

    What belongs least to its column goes first, and what stands in another one, too. What is left in none joins the one
    that it belongs to most, or has its own; empty and nested columns go. Refused when even sensitive attributes alone
    break a model.
    """
    copies, moved = 0, []
    while broken := problems(found.columns):
        copy = _weakest_copy(found, sensitive)
        if copy is not None:
            found = _taken(found, *copy)
            copies += 1
            continue
        neighbour = _weakest_neighbour(found, sensitive)
        if neighbour is None:
            raise UnsatisfiableError(*broken)
        found = _moved(_taken(found, *neighbour), neighbour[1], sensitive)
        moved.append(neighbour[1])
    return OverlappingChoice(without_nested(found).columns, copies, tuple(moved))


def _weakest_copy(found: OverlappingColumns, sensitive: Collection[str]) -> tuple[int, str] | None:
    copies = [
        (found.degrees[place][name], place, name)
        for name in sorted(sensitive)
        if len(places_of(found.columns, name)) > 1
        for place in places_of(found.columns, name)
    ]
    return min(copies)[1:] if copies else None


def _weakest_neighbour(found: OverlappingColumns, sensitive: Collection[str]) -> tuple[int, str] | None:
    neighbours = [
        (len(places_of(found.columns, name)) == 1, found.degrees[place][name], place, name)
        for place, column in enumerate(found.columns)
        if set(column) & set(sensitive)
        for name in column
        if name not in sensitive
    ]
    return min(neighbours)[2:] if neighbours else None


def _taken(found: OverlappingColumns, place: int, name: str) -> OverlappingColumns:
    left = tuple(other for other in found.columns[place] if other != name)
    return OverlappingColumns((*found.columns[:place], left, *found.columns[place + 1 :]), found.degrees)


def _moved(found: OverlappingColumns, name: str, sensitive: Collection[str]) -> OverlappingColumns:
    """Give an attribute that stands in no column another one."""
    if places_of(found.columns, name):
        return found
    open_places = [place for place, column in enumerate(found.columns) if not set(column) & set(sensitive)]
    if not open_places:
        return OverlappingColumns((*found.columns, (name,)), (*found.degrees, {**found.degrees[0], name: 1.0}))
    best = max(open_places, key=lambda place: found.degrees[place][name])
    grown = (*found.columns[best], name)
    return OverlappingColumns((*found.columns[:best], grown, *found.columns[best + 1 :]), found.degrees)


def without_nested(found: OverlappingColumns) -> OverlappingColumns:
    """Leave out columns that are empty or lie inside another, which they add nothing to."""
    columns = [set(column) for column in found.columns]
    places: list[int] = []
    for place in sorted(range(len(columns)), key=lambda place: (-len(columns[place]), place)):
        if columns[place] and not any(columns[place] <= columns[other] for other in places):
            places.append(place)
    places.sort()
    return OverlappingColumns(
        tuple(found.columns[place] for place in places), tuple(found.degrees[place] for place in places)
    )


def _joined_problems(columns: Columns, table: EncodedTable, models: Collection[PrivacyModel]) -> list[str]:
    """Say for which sensitive attributes that stand in several columns the joined check fails in one bucket."""
    unknown = [attribute.name for attribute in table.sensitive]
    found = []
    for name in unknown:
        if len(linked_columns(columns, unknown, name)) == 1:
            continue
        shares = joined_shares(_in_one_bucket(code_frame(table), columns), columns, unknown, name)
        if shares is None:
            found.append(
                f"overlapping-slicing: columns that share {name!r} go round in a circle, or are too long to join"
            )
        elif float(shares.to_series(-1).max()) > _least_bound(models, name) + SLACK:  # type: ignore[arg-type]
            found.append(f"overlapping-slicing: columns joined on {name!r} give its values away")
    return found


def _least_bound(models: Collection[PrivacyModel], attribute: str) -> float:
    """Return the largest share of a value of a sensitive attribute that every model admits."""
    bounds = (says(model).allowed_guess(attribute) for model in speak_of("joins", list(models)))
    return min((bound for bound in bounds if bound is not None), default=1.0)


def _in_one_bucket(frame: pl.DataFrame, columns: Columns) -> list[pl.DataFrame]:
    """Return a frame for each column with ``bucket``."""
    bucket = pl.lit(0, pl.Int64).alias(BUCKET)
    return [frame.select(bucket, exactly(*column)) for column in columns]


def _number(value: object) -> float:
    """Return a number, or NaN, which lies between no bounds."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")

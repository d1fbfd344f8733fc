"""Recount a sliced table: what its buckets say about everybody who may be in it, from the published rows alone.

A recipient does not know the records, only who may be in the table: anybody whose values, column by column, are in the
rows of some bucket. If a model holds for all of them, it holds for the records, whatever those are. If it does not, the
records decide, and the table alone shows more only where nobody else can have been in a bucket.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import distinct_records
from sfumato.classes.statistics import class_statistics
from sfumato.kernels.predicates import SLACK
from sfumato.kernels.slices.groups import SliceIndex
from sfumato.models.protocol import Achieved, Check, Outcome, PrivacyModel, SensitiveModel, promise_words, says
from sfumato.numbers import counted
from sfumato.published.apart import BUCKET, Columns, SlicedTable, labels_of
from sfumato.published.checks.slice_layout import (
    SliceLayout,
    as_text,
    joined_shares,
    largest_shares,
    layout_of,
    linked_columns,
    measure_vectors,
    number_rows,
    places_of,
    reached,
    shared_attributes,
    slice_index,
)
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.header import exactly
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema


def check_slices(
    published: SlicedTable, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> list[Check]:
    """Recount every model, one check each; those not about slices are undecidable.

    *holds*: for everybody who may be in the table; *broken*: for some record, whichever the records are; else
    *undecidable*, also where there are too many to try. If columns share attributes, see
    :func:`_check_overlapping_slices`. First come the groups: rows of a bucket that agree on what is beside the
    sensitive attribute. What a table says about somebody is a weighted mean of what their groups say, so if every group
    keeps the model, everybody is safe; O(n log n). Only people who may be in another group are then tried, over all
    buckets that match.
    """
    if shared_attributes(published.columns):
        return _check_overlapping_slices(published, models, sensitive)
    schema = schema_of_slices(published.columns, published.sensitive, published.insensitive, sensitive)
    table = encode(read_written(published.data, schema), order="name")
    numbers = distinct_of(published.data[BUCKET])
    return check_encoded_slices(published.columns, table, numbers.rank_of[numbers.raw], models)


def check_encoded_slices(
    columns: Columns, table: EncodedTable, bucket_of: NDArray[np.int64], models: Sequence[PrivacyModel]
) -> list[Check]:
    """Recount every model of a table whose columns share no attributes; `bucket_of`: rank of each row's bucket."""
    return [_check(model, columns, table, bucket_of) for model in models]


def schema_of_slices(
    columns: Columns, sensitive: Collection[str], insensitive: Collection[str], attributes: Mapping[str, Attribute]
) -> Schema:
    """Return the schema by which a recount reads a sliced table: what is known is text, `attributes` are sensitive."""
    as_text = Attribute(kind=Kind.CATEGORICAL)
    hidden = {*sensitive, *insensitive}
    known = [name for column in columns for name in column if name not in hidden]
    private = {name: attributes.get(name, Attribute()) for name in sensitive}
    return Schema(quasi_identifying=dict.fromkeys(known, as_text), sensitive=private, others="drop")


@dataclass(frozen=True, eq=False, repr=False)
class _SliceVerdict:
    """The outcome of one model on one sensitive attribute."""

    # largest measure (share, or distance) of a group that keeps the model by itself, and of all who may be in others
    worst: float
    # buckets that may hold somebody for whom the model does not hold, or who was not tried
    unsettled: NDArray[np.int64]
    broken: bool  # whether it does not hold for some record, whichever the records are


def judge_slices(
    layout: SliceLayout, rule: int, model: SensitiveModel, table: EncodedTable, bucket_of: NDArray[np.int64], count: int
) -> _SliceVerdict:
    """Decide one rule of a model, at its place, for everybody who may be in a table; rows hold one column's values."""
    attribute = int(layout.arrays.rules.attributes[rule])
    home = int(layout.arrays.homes[attribute])
    parts = layout.arrays.parts[:, home] if home >= 0 else np.zeros(table.height, np.int32)
    group_of = number_rows(np.column_stack([bucket_of, parts]))
    first = np.zeros(int(group_of.max()) + 1, dtype=np.int64)
    first[group_of] = np.arange(table.height)
    measures = group_measures(layout.attributes[attribute], model, table, group_of, len(first))
    bound = layout.arrays.bounds[rule] + SLACK
    failing = np.flatnonzero(measures > bound)
    worst = float(measures[measures <= bound].max(initial=0.0))
    if not len(failing):
        return _SliceVerdict(worst, failing, False)
    index = slice_index(layout.arrays, bucket_of, count, layout.part_sizes)
    buckets = bucket_of[first[failing]]
    candidates = candidates_of(index, buckets, home, parts[first[failing]])
    # The same people may be in many buckets.
    vectors, _, vector_of = distinct_records(candidates.vectors.astype(np.uint32))
    measured = measure_vectors(index, vectors.astype(np.int32)).values[vector_of, rule]
    fails = measured > bound
    unsettled = ~candidates.listed
    unsettled[candidates.group_of[fails]] = True
    everywhere = np.bincount(bucket_of[first], minlength=count)
    broken = _some_record_fails(index, candidates, fails, buckets, everywhere)
    return _SliceVerdict(max(worst, float(measured.max(initial=0.0))), np.unique(buckets[unsettled]), broken)


def _check(model: PrivacyModel, columns: Columns, table: EncodedTable, bucket_of: NDArray[np.int64]) -> Check:
    if "slices" not in says(model).speaks_of or not isinstance(model, SensitiveModel):
        return Check(promise_words(model), Outcome.UNDECIDABLE, detail="a sliced table has no equivalence classes")
    layout = layout_of(table, columns, [model])
    count = int(bucket_of.max()) + 1
    verdicts = [judge_slices(layout, rule, model, table, bucket_of, count) for rule in range(len(layout.arrays.bounds))]
    names = [layout.attributes[attribute] for attribute in layout.arrays.rules.attributes]
    achieved = tuple(
        reached(model, verdict.worst, name)
        for name, verdict in zip(names, verdicts, strict=True)
        if not len(verdict.unsettled)
    )
    unsettled = len(np.unique(np.concatenate([verdict.unsettled for verdict in verdicts])))
    if not unsettled:
        return Check(promise_words(model), Outcome.HOLDS, achieved)
    buckets = f"{unsettled:,} of {counted(count, 'bucket')}"
    if any(verdict.broken for verdict in verdicts):
        detail = f"broken in {buckets}, for some record whichever the records are"
        return Check(promise_words(model), Outcome.BROKEN, achieved, detail)
    detail = f"in {buckets} it does not hold for everybody who may be in them; the records themselves are not published"
    return Check(promise_words(model), Outcome.UNDECIDABLE, achieved, detail)


def group_measures(
    name: str, model: SensitiveModel, table: EncodedTable, group_of: NDArray[np.int32], count: int
) -> NDArray[np.float64]:
    """Return share or distance of each group, by the model itself; float64 (count,)."""
    place = [attribute.name for attribute in table.sensitive].index(name)
    statistics = class_statistics(
        group_of, count, table.sensitive_codes[:, [place]], table.sensitive[place : place + 1]
    )
    measured = model.measure(statistics.sensitive[name], statistics.sizes)
    return 1.0 / measured if model.at_least else measured


def _some_record_fails(
    index: SliceIndex,
    candidates: _Candidates,
    fails: NDArray[np.bool_],
    buckets: NDArray[np.int64],
    groups_in: NDArray[np.int64],
) -> bool:
    """Tell whether the model fails for all who may be in a group or have a bucket's values: somebody is there."""
    safe = np.zeros(len(buckets), dtype=np.bool_)
    safe[candidates.group_of[~fails]] = True
    if bool(np.any(candidates.listed & ~safe)):
        return True
    listed_in = np.bincount(buckets[candidates.listed], minlength=len(groups_in))
    bucket_of = buckets[candidates.group_of]
    whole = (listed_in == groups_in)[bucket_of]
    for column in range(candidates.vectors.shape[1]):
        keys = (
            bucket_of[whole] * (int(index.part_starts[column + 1] - index.part_starts[column]))
            + (candidates.vectors[whole, column])
        )
        values, value_of = np.unique(keys, return_inverse=True)
        if np.any(np.bincount(value_of, weights=~fails[whole], minlength=len(values)) == 0):
            return True
    return False


_MOST_CANDIDATES = 1 << 20
"""Most combinations that are tried."""


@dataclass(frozen=True, eq=False, repr=False)
class _Candidates:
    """Combinations of values that a person may have."""

    vectors: NDArray[np.int32]  # (y, w): parts in each column
    group_of: NDArray[np.int64]  # (y,): which of the requested groups each belongs to
    listed: NDArray[np.bool_]  # (requested groups,): which of them were tried, the smallest first


def candidates_of(
    index: SliceIndex, buckets: NDArray[np.int64], home: int, parts: NDArray[np.int32], most: int = _MOST_CANDIDATES
) -> _Candidates:
    """List everybody who may be in some groups, by bucket and part in column `home` (−1: none), up to `most`."""
    columns = np.arange(len(index.starts))
    held = index.starts[:, buckets + 1] - index.starts[:, buckets]
    numbers = np.prod(np.where((columns == home)[:, None], 1, held).astype(np.float64), axis=0)
    order = np.argsort(numbers, kind="stable")
    listed = np.zeros(len(buckets), dtype=np.bool_)
    listed[order] = np.cumsum(numbers[order]) <= most
    chosen = np.flatnonzero(listed)
    combined = [_combinations(index, int(buckets[group]), home, int(parts[group])) for group in chosen]
    sizes = [len(vectors) for vectors in combined]
    nobody = np.zeros((0, len(columns)), dtype=np.int32)
    return _Candidates(np.concatenate([nobody, *combined]), np.repeat(chosen, sizes), listed)


def _combinations(index: SliceIndex, bucket: int, home: int, part: int) -> NDArray[np.int32]:
    choices = [
        np.array([part], dtype=np.int32) if column == home else index.parts[column, starts[bucket] : starts[bucket + 1]]
        for column, starts in enumerate(index.starts)
    ]
    return np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))


@dataclass(frozen=True)
class _Finding:
    outcome: Outcome
    achieved: Achieved | None = None
    detail: str = ""


def _check_overlapping_slices(
    published: SlicedTable, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> list[Check]:
    """Recount every model, one check each, where some columns share attributes."""
    # *holds*: in every bucket, for all rows that agree in what is beside the sensitive attribute, or, if it is in
    # several columns, for everybody whose values can be joined. *broken*: such rows break it and match no other bucket;
    # or copies of an attribute contradict each other. *undecidable*: they match others too, or columns cannot be
    # joined; models not about slices. :func:`joined_shares` proves why rows that agree decide. What a table says about
    # somebody over several buckets is a weighted mean of what each says, so weights, which depend on the order of
    # columns in a circle, never matter. O(n log n), and the rows joined.
    frames = column_frames(published)
    contradicting = _contradicting_buckets(published.columns, frames)
    if contradicting:
        detail = f"copies of an attribute differ in {counted(contradicting, 'bucket')}"
        return [Check(promise_words(model), Outcome.BROKEN, detail=detail) for model in models]
    return [_check_overlapping(model, published, frames, sensitive) for model in models]


def column_frames(published: SlicedTable) -> list[pl.DataFrame]:
    """Return a frame for each column: ``bucket`` and its attributes under their own names."""
    return [
        published.data.select(BUCKET, *(exactly(label).alias(name) for label, name in zip(labels, column, strict=True)))
        for column, labels in zip(published.columns, labels_of(published.columns), strict=True)
    ]


def _check_overlapping(
    model: PrivacyModel, published: SlicedTable, frames: Sequence[pl.DataFrame], sensitive: Mapping[str, Attribute]
) -> Check:
    if "slices" not in says(model).speaks_of or not isinstance(model, SensitiveModel):
        return Check(promise_words(model), Outcome.UNDECIDABLE, detail="a sliced table has no equivalence classes")
    attributes = {rule.attribute for rule in model.rules(list(published.sensitive))}
    names = [name for name in published.sensitive if name in attributes]
    found = [_finding(model, name, published, frames, sensitive) for name in names]
    achieved = tuple(finding.achieved for finding in found if finding.achieved is not None)
    for outcome in (Outcome.BROKEN, Outcome.UNDECIDABLE):
        if details := [finding.detail for finding in found if finding.outcome is outcome]:
            return Check(promise_words(model), outcome, achieved, "; ".join(details))
    return Check(promise_words(model), Outcome.HOLDS, achieved)


def _finding(
    model: SensitiveModel,
    name: str,
    published: SlicedTable,
    frames: Sequence[pl.DataFrame],
    sensitive: Mapping[str, Attribute],
) -> _Finding:
    unknown = (*published.sensitive, *published.insensitive)
    linked = linked_columns(published.columns, unknown, name)
    if len(linked) > 1:
        return _joined_finding(model, name, published, frames)
    known = [other for other in published.columns[linked[0]] if other not in unknown]
    return _grouped_finding(model, name, frames[linked[0]], known, sensitive.get(name, Attribute()))


def _joined_finding(
    model: SensitiveModel, name: str, published: SlicedTable, frames: Sequence[pl.DataFrame]
) -> _Finding:
    bound = says(model).allowed_guess(name)
    if "joins" not in says(model).speaks_of or bound is None:
        detail = f"{name!r} is in several columns, whose join is recounted for l-diversity alone"
        return _Finding(Outcome.UNDECIDABLE, detail=detail)
    shares = joined_shares(frames, published.columns, (*published.sensitive, *published.insensitive), name)
    if shares is None:
        reason = "columns that form a circle, or has too many rows to join"
        return _Finding(Outcome.UNDECIDABLE, detail=f"{name!r} is in {reason}")
    largest = largest_shares(shares)["share"].to_numpy()
    failing = int((largest > bound + SLACK).sum())
    if not failing:
        return _Finding(Outcome.HOLDS, reached(model, float(largest.max()), name))
    buckets = f"{failing:,} of {counted(len(largest), 'bucket')}"
    detail = f"in {buckets} columns joined on {name!r} disclose it for somebody who may or may not be in them"
    return _Finding(Outcome.UNDECIDABLE, detail=detail)


def _grouped_finding(
    model: PrivacyModel, name: str, frame: pl.DataFrame, known: Sequence[str], attribute: Attribute
) -> _Finding:
    as_text = dict.fromkeys([BUCKET, *known], Attribute(kind=Kind.CATEGORICAL))
    schema = Schema(quasi_identifying=as_text, sensitive={name: attribute}, others="drop")
    encoded = encode(read_written(frame, schema), order="name")
    group_of = number_rows(encoded.codes)
    parts = number_rows(encoded.codes[:, 1:]) if known else np.zeros(encoded.height, np.int32)
    statistics = class_statistics(group_of, int(group_of.max()) + 1, encoded.sensitive_codes, encoded.sensitive)
    holds = model.holds(statistics)
    achieved = next(iter(model.achieved(statistics)))
    if holds.all():
        return _Finding(Outcome.HOLDS, achieved)
    return _failing(holds, group_of, parts, name)


def _failing(holds: NDArray[np.bool_], group_of: NDArray[np.int32], parts: NDArray[np.int32], name: str) -> _Finding:
    part_of_group = np.zeros(len(holds), dtype=np.int64)
    part_of_group[group_of] = parts
    in_buckets = np.bincount(part_of_group)
    failing = int((~holds).sum())
    what = f"{failing:,} of {counted(len(holds), 'group')} of rows that agree beside {name!r}"
    if np.any(in_buckets[part_of_group[~holds]] == 1):
        return _Finding(Outcome.BROKEN, detail=f"{what} break it, and match no other bucket")
    return _Finding(Outcome.UNDECIDABLE, detail=f"{what} break it on their own, but match other buckets, too")


def _contradicting_buckets(columns: Columns, frames: Sequence[pl.DataFrame]) -> int:
    """Count buckets in which copies of an attribute differ."""
    wrong: set[int] = set()
    for name in shared_attributes(columns):
        first, *others = places_of(columns, name)
        for other in others:
            shared = [attribute for attribute in columns[first] if attribute in columns[other]]
            wrong.update(_differing(frames[first], frames[other], [BUCKET, *shared]))
    return len(wrong)


def _differing(first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str]) -> list[int]:
    left = as_text(first).group_by(exactly(*keys)).agg(pl.len().alias("\0left"))
    right = as_text(second).group_by(exactly(*keys)).agg(pl.len().alias("\0right"))
    both = left.join(right, on=exactly(*keys), how="full", coalesce=True, nulls_equal=True)
    return both.filter(pl.col("\0left").ne_missing(pl.col("\0right")))[BUCKET].to_list()

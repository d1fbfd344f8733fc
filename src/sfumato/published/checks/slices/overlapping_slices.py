"""Recounting sliced tables whose columns share attributes, from the published rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import class_statistics
from sfumato.kernels.predicates import SLACK
from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.protocol import Achieved, PrivacyModel
from sfumato.models.says import says
from sfumato.models.sensitive import SensitiveModel
from sfumato.numbers import counted
from sfumato.published.checks.slices.joined import as_text, joined_shares, largest_shares, linked_columns
from sfumato.published.checks.slices.layout import number_rows, reached
from sfumato.published.checks.slices.sharing import places_of, shared_attributes
from sfumato.published.sliced import BUCKET, Columns, SlicedTable, labels_of
from sfumato.table.encoding import encode
from sfumato.table.exact_names import exactly
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema


@dataclass(frozen=True)
class _Finding:
    outcome: Outcome
    achieved: Achieved | None = None
    detail: str = ""


def check_overlapping_slices(
    published: SlicedTable, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> list[Check]:
    """Recount every model, one check each.

    Parameters
    ----------
    published
        A sliced table some of whose columns share attributes.
    models
        What was promised; those that are not about slices are undecidable.
    sensitive
        Sensitive attributes with their kinds and hierarchies.

    Returns
    -------
    list of Check
        *holds*: in every bucket, for all rows that agree in what is beside the sensitive attribute, or, if it is in
        several columns, for everybody whose values can be joined from them. *broken*: such rows break it and match no
        other bucket; or copies of an attribute contradict each other. *undecidable*: they match other buckets too, and
        it is not known which rows belong to whom; or columns cannot be joined.

    Notes
    -----
    Why rows that agree decide: see :func:`sfumato.published.checks.slices.joined.joined_shares`, which proves it. What
    a table says about somebody over several buckets is a weighted mean of what each bucket says, whatever the weights.
    So the weights, which depend on the order of columns if columns form a circle, never matter. Cost O(n log n), and
    the rows joined.
    """
    frames = column_frames(published)
    contradicting = _contradicting_buckets(published.columns, frames)
    if contradicting:
        detail = f"copies of an attribute differ in {counted(contradicting, 'bucket')}"
        return [Check(promise_words(model), Outcome.BROKEN, detail=detail) for model in models]
    return [_check(model, published, frames, sensitive) for model in models]


def column_frames(published: SlicedTable) -> list[pl.DataFrame]:
    """Return a frame for each column: ``bucket`` and its attributes under their own names."""
    return [
        published.data.select(BUCKET, *(exactly(label).alias(name) for label, name in zip(labels, column, strict=True)))
        for column, labels in zip(published.columns, labels_of(published.columns), strict=True)
    ]


def _check(
    model: PrivacyModel, published: SlicedTable, frames: Sequence[pl.DataFrame], sensitive: Mapping[str, Attribute]
) -> Check:
    if "slices" not in says(model).speaks_of or not isinstance(model, SensitiveModel):
        return Check(promise_words(model), Outcome.UNDECIDABLE, detail="a sliced table has no equivalence classes")
    looked_at = {rule.attribute for rule in model.rules(list(published.sensitive))}
    names = [name for name in published.sensitive if name in looked_at]
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

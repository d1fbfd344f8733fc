"""Columns and models of a sliced table as the arrays that kernels read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import distinct_records
from sfumato.errors import PolicyError
from sfumato.kernels.slices.groups import SliceIndex, SlicingArrays, fill_bits, measure_matches
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import TRAITS, Achieved, PrivacyModel, SensitiveModel, mixing, shares
from sfumato.parallel import each
from sfumato.progress import Progress, silent
from sfumato.published.apart import BUCKET, Columns, column_of
from sfumato.table.encoding import EncodedTable
from sfumato.table.header import exactly

# What columns that share a sensitive attribute disclose about it together, bucket by bucket.


_MOST_JOINED = 1 << 23
"""Most rows of a join."""

_WEIGHT = "\0weight"
_SHARE = "\0share"
_LEFT, _RIGHT = "\0left", "\0right"


def linked_columns(columns: Columns, unknown: Collection[str], attribute: str) -> tuple[int, ...]:
    """Return the columns that disclose a sensitive attribute to somebody who knows all others except `unknown`.

    Those that hold it, those that share an unknown attribute with them, and so on. If it is one alone, what it says
    about people who agree in its other attributes is all that there is to learn.
    """
    linked = {place for place, column in enumerate(columns) if attribute in column}
    while True:
        hidden = {name for place in linked for name in columns[place] if name in unknown}
        more = {place for place, column in enumerate(columns) if hidden & set(column)}
        if more <= linked:
            return tuple(sorted(linked))
        linked |= more


def joined_shares(
    frames: Sequence[pl.DataFrame], columns: Columns, unknown: Collection[str], attribute: str, most: int = _MOST_JOINED
) -> pl.DataFrame | None:
    """Return what a sliced table says about everybody whose values may be joined from its columns.

    `frames`: for each column a frame with ``bucket`` and its attributes under their own names. `columns`: attributes of
    each column. `unknown`: attributes that the attacker does not know: the sensitive ones, `attribute` among them, and
    the insensitive. `attribute`: the sensitive attribute. `most`: most rows to join. Returns: a row for each bucket and
    each combination of known values in the linked columns: ``bucket``, those values and, last, the largest share of a
    sensitive value. None if the columns form a circle or there are too many rows, so that nothing is known.

    *Guarantee.* The share is exact for an attacker who knows the values of one person and that the person is in the
    bucket, and to whom every original table that fits the published columns is equally likely. Proof: an original table
    fits if and only if it arises by adding rows of one column after the other, in the order of
    :func:`sfumato.published.checks.slice_layout.join_order`, beside those before, by a bijection inside each class of
    rows that agree in what is shared (what a column shares with all before stands in *one* of them). The number of
    bijections is the same whatever was done before, so they are independent and uniform, and a row is put beside
    another of its class with probability 1 / (size of the class). A person's values are found together with value s
    therefore with weight ``Π n(rows of a column) / Π n(rows that agree in what is shared)``. Columns that are not
    linked have factors that do not depend on s. In a circle, the classes are not independent, and no such product is
    right.

    It is no guarantee against somebody who also knows the values of *others* in the bucket. There is one if a sensitive
    attribute and the unknown ones beside it are in one column alone: exchanging the sensitive values of rows that agree
    in that column's other attributes takes every fitting table to another one. So a person's value is any of these with
    equal probability, whatever else is known of all known attributes. Cost O(rows joined).
    """
    linked = linked_columns(columns, unknown, attribute)
    if join_order(columns) is None:
        return None
    order = join_order(tuple(columns[place] for place in linked))
    if order is None:
        return None
    together = _counted(frames[linked[order[0][0]]], columns[linked[order[0][0]]])
    for step, shared in order[1:]:
        place = linked[step]
        keys = exactly(BUCKET, *shared)
        more = _counted(frames[place], columns[place])
        # Several columns in one expression would make several windows.
        alike = [exactly(name) for name in (BUCKET, *shared)]
        among = pl.col(_WEIGHT) / pl.col(_WEIGHT).sum().over(alike)
        if _rows_joined(together, more, keys) > most:
            return None
        right = more.with_columns(among.alias(_SHARE)).drop(_WEIGHT)
        joint = together.join(right, on=keys, how="inner", nulls_equal=True)
        together = joint.with_columns(pl.col(_WEIGHT) * pl.col(_SHARE)).drop(_SHARE)
    known = [name for name in together.columns if name not in (*unknown, _WEIGHT)]
    of_value = together.group_by(exactly(*known, attribute)).agg(pl.col(_WEIGHT).sum())
    return of_value.group_by(exactly(*known)).agg((pl.col(_WEIGHT).max() / pl.col(_WEIGHT).sum()).alias(_SHARE))


def largest_shares(shares: pl.DataFrame) -> pl.DataFrame:
    """Return ``bucket`` and ``share``: the largest of :func:`joined_shares` in each bucket, sorted by bucket."""
    return shares.group_by(BUCKET).agg(pl.col(_SHARE).max().alias("share")).sort(BUCKET)


def _counted(frame: pl.DataFrame, column: Sequence[str]) -> pl.DataFrame:
    return as_text(frame).group_by(exactly(BUCKET, *column)).agg(pl.len().cast(pl.Float64).alias(_WEIGHT))


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Write all but the bucket as text: copies of an attribute may have been read as different types."""
    return frame.with_columns(pl.exclude(BUCKET).cast(pl.String))


def _rows_joined(left: pl.DataFrame, right: pl.DataFrame, keys: pl.Expr) -> int:
    sizes = left.group_by(keys).agg(pl.len().cast(pl.Int64).alias(_LEFT))
    others = right.group_by(keys).agg(pl.len().cast(pl.Int64).alias(_RIGHT))
    both = sizes.join(others, on=keys, how="inner", nulls_equal=True)
    return int((both[_LEFT] * both[_RIGHT]).sum())


def shared_attributes(columns: Columns) -> tuple[str, ...]:
    """Return the attributes that are in more than one column, in the order of the columns."""
    counts = Counter(name for column in columns for name in column)
    return tuple(name for name, count in counts.items() if count > 1)


def overlap_ratio(columns: Columns) -> float:
    """Return how many columns hold an attribute on average, 1 or above; 1 is plain slicing."""
    named = [name for column in columns for name in column]
    return len(named) / len(set(named)) if named else 1.0


def places_of(columns: Columns, attribute: str) -> tuple[int, ...]:
    """Return the places of all columns that hold an attribute."""
    return tuple(place for place, column in enumerate(columns) if attribute in column)


def join_order(columns: Columns) -> tuple[tuple[int, tuple[str, ...]], ...] | None:
    """Order columns so that they can be joined one by one, and say on which attributes.

    Returns: what a column shares with all before it is in one of them. None if there is no such order: columns form a
    circle, like ``{a, b}, {b, c}, {c, a}``, and joining them on what they share is not enough. Graham's reduction: it
    removes a column whose attributes are either its own or all in one other column. Cost O(w³) for w columns.
    """
    left = list(range(len(columns)))
    taken: list[tuple[int, tuple[str, ...]]] = []
    while left:
        found = next((step for place in reversed(left) if (step := _ear(columns, place, left)) is not None), None)
        if found is None:
            return None
        taken.append(found)
        left.remove(found[0])
    return tuple(reversed(taken))


def _ear(columns: Columns, place: int, left: Sequence[int]) -> tuple[int, tuple[str, ...]] | None:
    others = [set(columns[other]) for other in left if other != place]
    shared = tuple(name for name in columns[place] if any(name in other for other in others))
    if not shared or any(set(shared) <= other for other in others):
        return place, shared
    return None


# Matching buckets: what a sliced table says about somebody whose values are known, counted over all its buckets.


_RARE = 64
"""A part that is in fewer than one of so many buckets has no bit for each bucket."""

_PIECE = 1 << 12
"""Vectors that are measured by one thread at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class _VectorMeasures:
    """What is known about each vector of values."""

    matches: NDArray[np.int64]  # (V,): matching buckets
    # (V, r): for each rule the highest share of a sensitive value (probabilistic l-diversity) or the distance to the
    # whole table (t-closeness); NaN where no bucket matches
    values: NDArray[np.float64]


def slice_index(
    arrays: SlicingArrays, bucket_of: NDArray[np.int64], count: int, part_sizes: NDArray[np.int64]
) -> SliceIndex:
    """Index a sliced table by the bucket of each row; O(w n log n). Only values of one column must be in one row."""
    columns = [_column(arrays.parts[:, place], bucket_of, count, int(size)) for place, size in enumerate(part_sizes)]
    by_part = [np.argsort(parts, kind="stable") for _, parts, _ in columns]
    owners = [np.repeat(np.arange(count), np.diff(starts)) for starts, _, _ in columns]
    held = [np.bincount(parts, minlength=size) for (_, parts, _), size in zip(columns, part_sizes, strict=True)]
    bucket_starts = np.concatenate([[0], np.cumsum(np.concatenate(held))]).astype(np.int64)
    buckets = np.concatenate([owner[order] for owner, order in zip(owners, by_part, strict=True)]).astype(np.int32)
    bits, bits_of = _bits(bucket_starts, buckets, count)
    groups = [_groups(arrays, attribute, bucket_of, count) for attribute in range(len(arrays.homes))]
    return SliceIndex(
        sizes=np.bincount(bucket_of, minlength=count).astype(np.int64),
        starts=_stacked([starts for starts, _, _ in columns], np.int64),
        parts=_stacked([parts for _, parts, _ in columns], np.int32),
        counts=_stacked([counts for _, _, counts in columns], np.int64),
        part_starts=np.concatenate([[0], np.cumsum(part_sizes)]).astype(np.int64),
        bucket_starts=bucket_starts,
        buckets=buckets,
        bits=bits,
        bits_of=bits_of,
        homes=arrays.homes,
        group_starts=_stacked([group[0] for group in groups], np.int64),
        group_parts=_stacked([group[1] for group in groups], np.int32),
        pair_starts=_stacked([group[2] for group in groups], np.int64),
        values=_stacked([group[3] for group in groups], np.int32),
        value_counts=_stacked([group[4] for group in groups], np.int64),
        rules=arrays.rules,
    )


def measure_vectors(
    index: SliceIndex, vectors: NDArray[np.int32], progress: Progress = silent, threads: int = 1
) -> _VectorMeasures:
    """Measure vectors, int32 (V, w), over all buckets that match; O(Σ buckets with the rarest part), memory O(V r)."""
    matches = np.zeros(len(vectors), dtype=np.int64)
    values = np.full((len(vectors), len(index.rules.codes)), np.nan)
    pieces = [slice(start, start + _PIECE) for start in range(0, len(vectors), _PIECE)]
    done = 0

    def run(piece: slice) -> None:
        nonlocal done
        measure_matches(vectors[piece], index, matches[piece], values[piece])
        done += len(vectors[piece])
        progress("matching buckets", done, len(vectors))

    each(run, pieces, threads)
    return _VectorMeasures(matches, values)


def matching_cost(index: SliceIndex, vectors: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many buckets must be checked for each vector; int64 (V,)."""
    held = np.diff(index.bucket_starts)
    return np.asarray(held[vectors + index.part_starts[:-1]].min(axis=1), dtype=np.int64)


def _bits(
    bucket_starts: NDArray[np.int64], buckets: NDArray[np.int32], count: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    frequent = _RARE * np.diff(bucket_starts) >= count
    bits_of = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(np.int32)
    bits = np.zeros((int(frequent.sum()), (count + 63) // 64), dtype=np.uint64)
    fill_bits(bits, bits_of, bucket_starts, buckets)
    return bits, bits_of


def _column(
    parts: NDArray[np.int32], bucket_of: NDArray[np.int64], count: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    keys, counts = np.unique(bucket_of * max(size, 1) + parts, return_counts=True)
    return np.searchsorted(keys, np.arange(count + 1) * max(size, 1)), keys % max(size, 1), counts


def _groups(
    arrays: SlicingArrays, attribute: int, bucket_of: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return group starts of the buckets, parts of the groups, pair starts of the groups, values and their counts."""
    home = int(arrays.homes[attribute])
    parts = arrays.parts[:, home].astype(np.int64) if home >= 0 else np.zeros(len(bucket_of), np.int64)
    values = arrays.values[:, attribute]
    size, most = int(parts.max(initial=0)) + 1, int(values.max(initial=0)) + 1
    groups, group_of = np.unique(bucket_of * size + parts, return_inverse=True)
    pairs, counts = np.unique(group_of.ravel() * most + values, return_counts=True)
    pair_starts = np.searchsorted(pairs, np.arange(len(groups) + 1) * most)
    return np.searchsorted(groups, np.arange(count + 1) * size), groups % size, pair_starts, pairs % most, counts


def _stacked(rows: list[NDArray[np.int64]], dtype: type[Any]) -> NDArray[Any]:
    """Stack rows of different lengths; what is missing at their ends is never read."""
    stacked = np.zeros((len(rows), max((len(row) for row in rows), default=0)), dtype=dtype)
    for place, row in enumerate(rows):
        stacked[place, : len(row)] = row
    return stacked


@dataclass(frozen=True, eq=False, repr=False)
class SliceLayout:
    """What slicing uses of n records: w parts, V distinct vectors of parts, a sensitive attributes of the models."""

    arrays: SlicingArrays  # parts, sensitive values and rules
    attributes: tuple[str, ...]  # the sensitive attributes that some model looks at, length a
    vectors: NDArray[np.int32]  # (V, w): the distinct vectors of parts, in rising order
    weights: NDArray[np.int64]  # (V,): records that have each vector
    vector_of: NDArray[np.int32]  # (n,): vector of each record

    @property
    def part_sizes(self) -> NDArray[np.int64]:
        """How many distinct values each part has; int64 (w,)."""
        sizes: NDArray[np.int64] = self.vectors.max(axis=0, initial=-1).astype(np.int64) + 1
        return sizes


def layout_of(
    table: EncodedTable,
    columns: Columns,
    models: Sequence[PrivacyModel],
    recoded: Mapping[int, NDArray[np.int32]] | None = None,
) -> SliceLayout:
    """Lay out the columns of an encoded table for models of slices; O(n q).

    The part of a column is what an attacker knows of it, its quasi-identifying attributes. `recoded`: for columns that
    are generalized, the number of each record's published value.
    """
    place_of = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    part_of: dict[int, int] = {}
    parts: list[NDArray[np.int32]] = []
    for place, column in enumerate(columns):
        own = [place_of[name] for name in column if name in place_of]
        if own:
            part_of[place] = len(parts)
            known = (recoded or {}).get(place)
            parts.append(number_rows(table.codes[:, own]) if known is None else known)
    stacked = np.ascontiguousarray(np.column_stack(parts), dtype=np.int32)
    rules = compile_rules(models, table)
    if not mixing(rules.arrays):
        raise PolicyError("models: some have rules that cannot be measured over several buckets; leave them out")
    names = [attribute.name for attribute in table.sensitive]
    attributes_of_rules = {rule.attribute for model in models for rule in model.rules(names)}
    attributes = tuple(name for name in names if name in attributes_of_rules)
    homes = [part_of.get(column_of(columns, name), -1) for name in attributes]
    first = rules.arrays.first
    bounds = np.divide(1.0, first, out=first.copy(), where=shares(rules.arrays))
    arrays = SlicingArrays(
        stacked, np.array(homes, np.int64), rules.codes.astype(np.int32), rules.arrays, bounds.astype(np.float64)
    )
    return SliceLayout(arrays, attributes, *_vectors(stacked))


def reached(model: SensitiveModel, worst: float, name: str) -> Achieved:
    """Return the parameter that a model reaches at this worst share or distance."""
    # A parameter that must be reached from below is 1 over a share.
    value = worst if not model.at_least else 1 / worst if worst else math.inf
    return Achieved(model.bounded, value, name)


def models_of_rules(models: Sequence[PrivacyModel], names: Sequence[str]) -> list[SensitiveModel]:
    """Return the model of each rule; slices are checked for models of sensitive attributes only, and keep no wishes."""
    return [
        model
        for model in models
        if isinstance(model, SensitiveModel)
        for rule in model.rules(names)
        if not TRAITS[rule.code].wished_l
    ]


def number_rows(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Give equal rows the same number, by rising value: numbers must not depend on the order of the records."""
    rows, _, number_of = distinct_records(np.ascontiguousarray(codes, dtype=np.uint32))
    rank = np.empty(len(rows), dtype=np.int32)
    rank[np.lexsort(rows.T[::-1])] = np.arange(len(rows), dtype=np.int32)
    return rank[number_of]


def _vectors(parts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    vectors, weights, vector_of = distinct_records(parts.astype(np.uint32))
    order = np.lexsort(vectors.T[::-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(vectors[order].astype(np.int32)), weights[order], rank[vector_of]

"""What columns that share a sensitive attribute disclose about it together, bucket by bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import polars as pl

from sfumato.published.sliced import BUCKET, Columns
from sfumato.table.exact_names import exactly

_MOST_JOINED = 1 << 23
"""Most rows of a join."""

_WEIGHT = "\0weight"
_SHARE = "\0share"
_LEFT, _RIGHT = "\0left", "\0right"


def linked_columns(columns: Columns, unknown: Collection[str], attribute: str) -> tuple[int, ...]:
    """Return the columns that disclose a sensitive attribute to somebody who knows all others except `unknown`.

    Those that hold it, those that share an attribute with them that the attacker does not know either, and so on. If it
    is one column alone, what that column says about people who agree in its other attributes is all that there is to
    learn, whatever the other columns say.
    """
    linked = {place for place, column in enumerate(columns) if attribute in column}
    while True:
        told = {name for place in linked for name in columns[place] if name in unknown}
        more = {place for place, column in enumerate(columns) if told & set(column)}
        if more <= linked:
            return tuple(sorted(linked))
        linked |= more


def joined_shares(
    frames: Sequence[pl.DataFrame], columns: Columns, unknown: Collection[str], attribute: str, most: int = _MOST_JOINED
) -> pl.DataFrame | None:
    """Return what a sliced table says about everybody whose values may be joined from its columns.

    Parameters
    ----------
    frames
        For each column a frame with ``bucket`` and its attributes under their own names.
    columns
        Attributes of each column.
    unknown
        Attributes that the attacker does not know: the sensitive ones, `attribute` among them, and the insensitive.
    attribute
        The sensitive attribute.
    most
        Most rows to join.

    Returns
    -------
    polars.DataFrame or None
        A row for each bucket and each combination of known values in the linked columns: ``bucket``, those values and,
        last, the largest share of a sensitive value. None if the columns form a circle or there are too many rows, so
        that nothing is known.

    Notes
    -----
    *Guarantee.* The share is exact for an attacker who knows the values of one person and that the person is in the
    bucket, and to whom every original table that fits the published columns is equally likely. Proof: an original table
    fits if and only if it arises by adding rows of one column after the other, in the order of
    :func:`sfumato.published.checks.slices.joined.join_order`, beside those before, by a bijection inside each class of
    rows that agree in what is shared (what a column shares with all before stands in *one* of them). The number of
    bijections is the same whatever was done before, so they are independent and uniform, and a row is put beside
    another of its class with probability 1 / (size of the class). A person's values are found together with value s
    therefore with weight ``Π n(rows of a column) / Π n(rows that agree in what is shared)``. Columns that are not
    linked have factors that do not depend on s. In a circle, the classes are not independent, and no such product is
    right.

    It is no guarantee against somebody who also knows the values of *others* in the bucket. There is one if a sensitive
    attribute and the unknown ones beside it are in one column alone: exchanging the sensitive values of rows that agree
    in that column's other attributes takes every fitting table to another one. So a person's value is any of these with
    equal probability, whatever else is known of all known attributes.

    Cost O(rows joined).
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

    Returns
    -------
    tuple of (place, shared attributes) or None
        What a column shares with all before it is in one of them. None if there is no such order: columns form a
        circle, like ``{a, b}, {b, c}, {c, a}``, and joining them on what they share is not enough.

    Notes
    -----
    Graham's reduction: it removes a column whose attributes are either its own or all in one other column.
    Cost O(w³) for w columns.
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

"""Published tables as frames of other libraries, with the order of categories that the original declares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.errors import PolicyError
from sfumato.recoding.notation import MISSING_MEMBER, STAR

if TYPE_CHECKING:
    import pyarrow as pa

_MEMBERS = re.compile(r"((?:\\.|[^|\\])*)(?:\||$)")


def in_declared_order(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return a frame whose categories are listed as `orders` declares, those that do not occur left out.

    Parameters
    ----------
    frame
        Published; categories are Enums that list what is published, and nothing else.
    orders
        Column → the original values, lowest first.

    Notes
    -----
    A set stands by its lowest member, then by its highest; labels of which no member is known (``*``, an inner node of
    a hierarchy) come last. Cost O(n + p log p) for p published labels.
    """
    return pl.DataFrame([_ordered(column, orders.get(column.name)) for column in frame])


def as_pandas(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> Any:
    """Return a frame as pandas has it; categories are ordered where each is an original value of a declared order.

    Raises
    ------
    PolicyError
        When pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise PolicyError("to_pandas: pandas is not installed; pip install pandas") from None
    made = frame.to_pandas()
    for column in frame:
        if isinstance(column.dtype, pl.Enum):
            categories, is_ordered = column.dtype.categories.to_list(), _is_ordered(column, orders)
            made[column.name] = pd.Categorical(column.to_list(), categories=categories, ordered=is_ordered)
    return made


def as_arrow(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return a frame as an Arrow table; dictionaries are ordered where :func:`as_pandas` orders categories."""
    import pyarrow as pa

    made = frame.to_arrow()
    for place, column in enumerate(frame):
        if isinstance(column.dtype, pl.Enum) and not _is_ordered(column, orders):
            chunks = [pa.DictionaryArray.from_arrays(each.indices, each.dictionary) for each in made[place].chunks]
            made = made.set_column(place, column.name, pa.chunked_array(chunks))
    return made


def _is_ordered(column: pl.Series, orders: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether all that a column of categories publishes are original values of a declared order."""
    return isinstance(column.dtype, pl.Enum) and set(column.dtype.categories) <= set(orders.get(column.name, ()))


def _ordered(column: pl.Series, order: Sequence[str] | None) -> pl.Series:
    if order is None or not isinstance(column.dtype, pl.Enum):
        return column
    rank = {value: place for place, value in enumerate(order)}
    labels: list[str] = column.dtype.categories.to_list()
    return column.cast(pl.String).cast(pl.Enum(sorted(labels, key=lambda label: _place(label, rank))))


def _place(label: str, rank: Mapping[str, int]) -> tuple[int, int, str]:
    """Return what a label is sorted by: the places of its lowest and its highest member, and its text."""
    nowhere = len(rank)
    if label in rank:
        return rank[label], rank[label], label
    places = [rank.get(member, nowhere) for member in _members(label)]
    return min(places, default=nowhere), max(places, default=nowhere), label


def _members(label: str) -> list[str]:
    """Return the values of a published set, or nothing if it is none; see :mod:`sfumato.recoding.notation`."""
    if label == STAR or not (label.startswith("{") and label.endswith("}")):
        return []
    written = [match[1] for match in _MEMBERS.finditer(label[1:-1])]
    return [re.sub(r"\\(.)", r"\1", text) for text in written if text not in ("", MISSING_MEMBER)]

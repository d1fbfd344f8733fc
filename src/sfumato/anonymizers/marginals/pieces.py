"""Pieces of an attribute's values that are published as one: how they are cut further, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import ValueSets
from sfumato.recoding.notation import STAR, exact_texts, range_texts, set_texts
from sfumato.table.encoding import EncodedAttribute

Piece = tuple[int, int]
"""First and last code."""

NARROWEST = 256
"""Of numbers without a hierarchy a piece has at least so small a part of the records, unless it is a single value."""


def whole(attribute: EncodedAttribute) -> Piece:
    """Return the piece of all values, the missing one among them."""
    return 0, attribute.cardinality - 1


def cut(attribute: EncodedAttribute, piece: Piece, occurrences: NDArray[np.int64]) -> list[Piece]:
    """Cut a piece; an empty list when it cannot be.

    Where the missing value cannot be joined with some others it is cut off first. Then nodes of a hierarchy fall into
    their children, numbers and dates into halves of the records, and of other categories the most frequent one is cut
    off.

    Parameters
    ----------
    attribute
        What the codes mean.
    piece
        First and last code.
    occurrences
        int64 (cardinality,): records that have each code.
    """
    low, high = piece
    if low == high:
        return []
    if high == attribute.size and (attribute.is_numeric or attribute.hierarchy is not None):
        return [(low, high - 1), (high, high)]
    if attribute.hierarchy is not None:
        return _children(attribute, low, high)
    if not attribute.is_numeric:
        return [(low, low), (low + 1, high)]
    held = np.cumsum(occurrences[low : high + 1])
    if held[-1] * NARROWEST < 2 * occurrences.sum():
        return []
    middle = low + int(np.argmin(np.abs(2 * held[:-1] - held[-1])))
    return [(low, middle), (middle + 1, high)]


def piece_texts(attribute: EncodedAttribute, pieces: Sequence[Piece]) -> pl.Series:
    """Write pieces in the notation of generalized values; the missing value alone is null."""
    low, high = (np.array(ends, dtype=np.int64) for ends in zip(*pieces, strict=True))
    if attribute.hierarchy is not None:
        return pl.Series(attribute.name, [_node_text(attribute, *piece) for piece in pieces], dtype=pl.String)
    if attribute.is_numeric:
        return range_texts(attribute, low, high)
    starts = np.concatenate([[0], np.cumsum(high - low + 1)])
    codes = np.concatenate([np.arange(first, last + 1) for first, last in pieces]).astype(np.int32)
    texts = set_texts(attribute, ValueSets(starts, codes))
    everything = (low == 0) & (high == attribute.size)
    return pl.select(
        pl.when(pl.Series(everything)).then(pl.lit(STAR)).otherwise(texts).alias(attribute.name)
    ).to_series()


def _children(attribute: EncodedAttribute, low: int, high: int) -> list[Piece]:
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    level = int(hierarchy.common_ancestor(np.array([low]), np.array([high]))[0])
    nodes = hierarchy.node_of[level - 1, low : high + 1]
    starts = [low, *(low + 1 + np.flatnonzero(np.diff(nodes))).tolist()]
    return list(zip(starts, [*(start - 1 for start in starts[1:]), high], strict=True))


def _node_text(attribute: EncodedAttribute, low: int, high: int) -> str | None:
    if low < high == attribute.size:
        return STAR
    if low == high:
        text: str | None = exact_texts(attribute, np.array([low])).item()
        return text
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    level = int(hierarchy.common_ancestor(np.array([low]), np.array([high]))[0])
    return hierarchy.levels[level].labels[int(hierarchy.node_of[level, low])]

"""One function per form: from the codes of the classes to a generalized column.

Letters: c classes, g distinct generalized values. Everything after the kernels runs over classes once, to find the
distinct generalized values, and over those afterwards: a label is written once, whatever the number of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form, GeneralizedColumn, ValueSets, known, stars
from sfumato.recoding.ends import rounded_ranges, rounded_texts, with_declared_grid, with_grid
from sfumato.recoding.notation import node_texts, range_texts, set_texts, with_stars
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Kind, text_of

_Codes = NDArray[np.integer]
Indices = NDArray[np.int32]

_DENSE = 1 << 22
_MEAN_DIGITS = 5


def interval_column(
    attribute: EncodedAttribute, low: _Codes, high: _Codes, own: EncodedAttribute | None = None
) -> GeneralizedColumn:
    """Publish each class as the interval from its smallest to its largest value of a number or date."""
    per_class, low, high = _distinct_ranges(attribute, *_widened(attribute, low, high))
    return _intervals(attribute, per_class, partial(range_texts, attribute, low, high), low, high)


def rounded_column(
    attribute: EncodedAttribute, low: _Codes, high: _Codes, own: EncodedAttribute | None = None
) -> GeneralizedColumn:
    """Publish each class as an interval with round ends around its values, by which it loses; one value as it is.

    `own`: the attribute of what is published, whose values decide the grid; None: that of all.
    """
    own = with_grid(own or attribute)
    ranges, low, high = _distinct_ranges(attribute, *_widened(attribute, low, high))
    intervals, low, high = _distinct_ranges(attribute, *rounded_ranges(attribute, low, high, own))
    return _intervals(attribute, intervals[ranges], partial(rounded_texts, attribute, low, high, own), low, high)


def declared_column(
    attribute: EncodedAttribute, low: _Codes, high: _Codes, own: EncodedAttribute | None = None
) -> GeneralizedColumn:
    """Publish each class as one bin, or two neighbouring ones, of a declared grid, as :func:`rounded_column` else."""
    return rounded_column(attribute, low, high, with_declared_grid(own or attribute))


def _intervals(
    attribute: EncodedAttribute, per_class: Indices, written: Callable[[], pl.Series], low: Indices, high: Indices
) -> GeneralizedColumn:
    leaves, level = _codes_between(attribute, low, high), _changed(low, high)
    return GeneralizedColumn(attribute, Form.INTERVAL, per_class, written, low, high, leaves, level)


def ancestor_column(attribute: EncodedAttribute, low: _Codes, high: _Codes) -> GeneralizedColumn:
    """Publish each class as the lowest node over its codes `low` to `high`, unsigned (c,)."""
    ranges, low, high = _distinct_ranges(attribute, *_widened(attribute, low, high))
    low, high, level, labels = _nodes(attribute, low, high)
    # Several ranges may climb to the same node, so the nodes are numbered.
    nodes, low, high = _distinct_ranges(attribute, low, high)
    one_range = np.empty(len(low), dtype=np.int64)
    one_range[nodes] = np.arange(len(nodes))
    labels, level = labels[pl.Series(one_range)], level[one_range]
    leaves = _codes_between(attribute, low, high)
    return GeneralizedColumn(attribute, Form.ANCESTOR, nodes[ranges], known(labels), low, high, leaves, level)


def _nodes(attribute: EncodedAttribute, low: Indices, high: Indices) -> tuple[Indices, Indices, Indices, pl.Series]:
    """Climb from each range to its common ancestor: first and last code, level and label of the node."""
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    first, last, level = low.copy(), high.copy(), np.zeros_like(low)
    inner = (low < high) & (high < attribute.size)
    level[inner] = hierarchy.common_ancestor(low[inner], high[inner])
    for step in np.unique(level[inner]).tolist():
        climbed = np.flatnonzero(level == step)
        starts = np.asarray(hierarchy.levels[step].starts, dtype=np.int32)
        nodes = hierarchy.node_of[step, low[climbed]]
        first[climbed], last[climbed] = starts[nodes], starts[nodes + 1] - 1
    labels = node_texts(attribute, low, level)
    # A root called `*` looks like a cell that mixes missing and present values, so it stands for both.
    whole = (low < high) & ((high == attribute.size) | stars(labels))
    first[whole], last[whole], level[whole] = 0, attribute.size, hierarchy.height
    return first, last, level, with_stars(labels, whole)


def set_column(attribute: EncodedAttribute, per_class: Indices, members: ValueSets) -> GeneralizedColumn:
    """Publish each class as the set of its values, perhaps with the missing one; `level`: of the common ancestor."""
    low = members.codes[members.starts[:-1]]
    high = members.codes[members.starts[1:] - 1]
    level = set_levels(attribute, low, high)
    leaves = np.diff(members.starts).astype(np.int32)
    written = partial(set_texts, attribute, members)
    # A value `*` is written otherwise in a set.
    starred = np.zeros(len(low), dtype=np.bool_)
    return GeneralizedColumn(attribute, Form.SET, per_class, written, low, high, leaves, level, members, starred)


def set_levels(attribute: EncodedAttribute, low: Indices, high: Indices) -> Indices:
    """Return the steps from the members of sets to their ancestor: 1 without a hierarchy, the top with missing ones."""
    level = _changed(low, high)
    if attribute.hierarchy is not None:
        inner = (low >= 0) & (low < high) & (high < attribute.size)
        level[low < high] = attribute.hierarchy.height
        level[inner] = attribute.hierarchy.common_ancestor(low[inner], high[inner])
    return level


def mean_column(
    attribute: EncodedAttribute,
    low: _Codes,
    high: _Codes,
    means: NDArray[np.float64],
    own: EncodedAttribute | None = None,
) -> GeneralizedColumn:
    """Publish each class as the mean of its values; a class of one value keeps it exactly.

    Rounded to a hundred-thousandth of the range of `own`, or all, or finer, never coarser than to whole numbers; dates
    to the nearest day. Its losses are those of the class's range.
    """
    ranges, low, high = _distinct_ranges(attribute, *_widened(attribute, low, high))
    plain = ((low == high) | (high == attribute.size))[ranges]
    rounded = np.where(plain, 0.0, np.round(means, _decimals(own or attribute)))
    values, value = np.unique(rounded, return_inverse=True)
    keys = ranges.astype(np.int64) * len(values) + value
    distinct, per_class = _distinct_keys(keys, len(low) * len(values))
    ranges, value = np.divmod(distinct, len(values))
    low, high = low[ranges], high[ranges]
    labels = pl.select(
        pl.when(pl.Series((low < high) & (high < attribute.size)))
        .then(_mean_texts(attribute, values).gather(value))
        .otherwise(range_texts(attribute, low, high))
        .alias(attribute.name)
    ).to_series()
    leaves = _codes_between(attribute, low, high)
    return GeneralizedColumn(attribute, Form.MEAN, per_class, known(labels), low, high, leaves, _changed(low, high))


def _widened(attribute: EncodedAttribute, low: _Codes, high: _Codes) -> tuple[_Codes, _Codes]:
    """Widen each class that mixes missing and present values to the whole domain."""
    if not attribute.has_missing:
        return low, high
    return np.where(high == attribute.size, np.where(low == attribute.size, low, 0), low), high


def _distinct_ranges(attribute: EncodedAttribute, low: _Codes, high: _Codes) -> tuple[Indices, Indices, Indices]:
    """Return the number of each class's pair (low, high) among the distinct ones, and both ends of those; int32."""
    width = attribute.size + 1
    keys, per_class = _distinct_keys(low.astype(np.int64) * width + high, width * width)
    firsts, lasts = np.divmod(keys, width)
    return per_class, firsts.astype(np.int32), lasts.astype(np.int32)


def _distinct_keys(keys: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int64], Indices]:
    """Return the distinct keys, rising, and the place of each key among them; every key is in ``0 .. bound-1``."""
    if bound > _DENSE:
        distinct, places = np.unique(keys, return_inverse=True)
        return distinct, places.astype(np.int32)
    seen = np.zeros(bound, dtype=np.bool_)
    seen[keys] = True
    distinct = np.flatnonzero(seen)
    place_of = np.empty(bound, dtype=np.int32)
    place_of[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place_of[keys]


def _codes_between(attribute: EncodedAttribute, low: Indices, high: Indices) -> Indices:
    whole = (low < high) & (high == attribute.size)
    return np.where(whole, attribute.domain_size, high - low + 1).astype(np.int32)


def _changed(low: Indices, high: Indices) -> Indices:
    return (low < high).astype(np.int32)


def _decimals(attribute: EncodedAttribute) -> int:
    numbers = attribute.numbers
    assert numbers is not None
    width = float(numbers[-1] - numbers[0]) if len(numbers) > 1 else 0.0
    if attribute.kind is Kind.DATE or width == 0.0:
        return 0
    return int(np.clip(_MEAN_DIGITS - np.floor(np.log10(width)), 0, 15))


def _mean_texts(attribute: EncodedAttribute, means: NDArray[np.float64]) -> pl.Series:
    if attribute.kind is Kind.DATE:
        return text_of(pl.Series(means.astype(np.int32)).cast(pl.Date))
    return text_of(pl.Series(means))

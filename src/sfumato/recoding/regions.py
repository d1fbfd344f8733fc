"""Publishing the regions that an anonymizer chose: nodes of hierarchies, intervals, value sets, ``*``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, GeneralizedColumn, Regions, ValueSets, known, stars
from sfumato.errors import PolicyError, raise_all
from sfumato.hierarchy.tree import Hierarchy
from sfumato.parallel import each
from sfumato.recoding.choice import FIRST_DAY, LAST_DAY, exactly_numbered
from sfumato.recoding.notation import STAR, exact_texts, node_texts, range_texts, set_texts, with_stars
from sfumato.recoding.recode import interval_column, set_column
from sfumato.table.distinct import FEW
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Kind, text_of

_Indices = NDArray[np.int32]


def region_columns(
    attributes: Sequence[EncodedAttribute], regions: Regions, forms: Sequence[Form], *, threads: int = 1
) -> tuple[GeneralizedColumn, ...]:
    """Write the regions of all classes, in the default form of each attribute; refused with every other form.

    Means are not written here: they follow from the records of a class. Cost O(c log c) per attribute, plus the members
    of sets.
    """
    raise_all(PolicyError, form_problems(attributes, forms))

    between = regions.between

    def written(index: int) -> GeneralizedColumn:
        low, high, level = (part[:, index] for part in (regions.low, regions.high, regions.level))
        attribute = attributes[index]
        if attribute.hierarchy is not None:
            return _node_column(attribute, low, high, level)
        if attribute.is_numeric:
            column = interval_column(attribute, low, high)
            borders = partial(border_texts, attribute, column.low, column.high)
            return replace(column, written=borders) if between else column
        if index in regions.sets:
            return _member_column(attribute, regions.sets[index])
        return _code_set_column(attribute, low, high)

    return tuple(each(written, range(len(attributes)), threads))


def form_problems(
    attributes: Sequence[EncodedAttribute], forms: Sequence[Form], *, aggregates: bool = False
) -> list[str]:
    """Find the forms that contradict an anonymizer which decides itself what is published, perhaps with means."""
    return [
        f"recoding, column {attribute.name!r}: this anonymizer decides itself how values are published; "
        f"leave the form {str(form)!r} out"
        for attribute, form in zip(attributes, forms, strict=True)
        if form is not _default(attribute) and not (aggregates and form is Form.MEAN)
    ]


def _default(attribute: EncodedAttribute) -> Form:
    if attribute.hierarchy is not None:
        return Form.ANCESTOR
    return Form.INTERVAL if attribute.is_numeric else Form.SET


def _node_column(attribute: EncodedAttribute, low: _Indices, high: _Indices, level: _Indices) -> GeneralizedColumn:
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    per_class, low, high, level = _distinct_nodes(attribute, low, high, level)
    labels = node_texts(attribute, low, np.where(low < attribute.size, level, 0))
    whole = (high > low) & ((high == attribute.size) | stars(labels))
    low, high = np.where(whole, 0, low).astype(np.int32), np.where(whole, attribute.size, high).astype(np.int32)
    labels = with_stars(labels, whole)
    leaves = np.where(whole, attribute.domain_size, high - low + 1).astype(np.int32)
    level = _lowest_levels(hierarchy, low, level, labels)
    return GeneralizedColumn(attribute, Form.ANCESTOR, per_class, known(labels), low, high, leaves, level)


def _lowest_levels(hierarchy: Hierarchy, low: _Indices, level: _Indices, labels: pl.Series) -> _Indices:
    """Step down while the label stays: a reader of the release cannot distinguish the levels of a repeated node."""
    lowest = level.copy()
    if hierarchy.size + len(low) <= FEW:
        nodes = zip(low.tolist(), level.tolist(), labels.to_list(), strict=True)
        return np.array([_lowest_level(hierarchy, *each) for each in nodes], dtype=level.dtype)
    for step in range(hierarchy.height, 0, -1):
        there = np.flatnonzero((lowest == step) & (low < hierarchy.size))
        below = pl.Series(hierarchy.levels[step - 1].labels, dtype=pl.String)
        same = below.gather(hierarchy.node_of[step - 1, low[there]]).eq_missing(labels.gather(there)).to_numpy()
        lowest[there[same]] = step - 1
    return lowest


def _lowest_level(hierarchy: Hierarchy, low: int, level: int, label: str | None) -> int:
    if low >= hierarchy.size:
        return level
    nodes = hierarchy.node_of[:, low].tolist()
    while level and hierarchy.levels[level - 1].labels[nodes[level - 1]] == label:
        level -= 1
    return level


def _distinct_nodes(
    attribute: EncodedAttribute, low: _Indices, high: _Indices, level: _Indices
) -> tuple[_Indices, _Indices, _Indices, _Indices]:
    """Return the number of each class's node among the distinct ones, then first leaf, last leaf and level of each."""
    width = attribute.size + 1
    keys = (level.astype(np.int64) * width + low) * width + high
    distinct, per_class = np.unique(keys, return_inverse=True)
    rest, last = np.divmod(distinct, width)
    steps, first = np.divmod(rest, width)
    return per_class.astype(np.int32), first.astype(np.int32), last.astype(np.int32), steps.astype(np.int32)


def _code_set_column(attribute: EncodedAttribute, low: _Indices, high: _Indices) -> GeneralizedColumn:
    """Publish ranges of codes of an attribute without order as the sets of their values; the whole domain as ``*``."""
    width = attribute.size + 1
    keys, per_class = np.unique(low.astype(np.int64) * width + high, return_inverse=True)
    first, last = (part.astype(np.int32) for part in np.divmod(keys, width))
    whole = (first < last) & (last == attribute.size)
    sizes = last - first + 1
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = (np.arange(starts[-1]) - np.repeat(starts[:-1] - first, sizes)).astype(np.int32)
    members = ValueSets(starts, codes)
    leaves = np.where(whole, attribute.domain_size, sizes).astype(np.int32)
    level = (first < last).astype(np.int32)
    return GeneralizedColumn(
        attribute, Form.SET, per_class.astype(np.int32), partial(_starred_texts, attribute, members, whole),
        first, last, leaves, level, members, whole,
    )  # fmt: skip


def _member_column(attribute: EncodedAttribute, covered: NDArray[np.bool_]) -> GeneralizedColumn:
    """Publish each row of bool (c, size + 1) as a value set, as ``*`` where it has all values that occur."""
    packed, per_class = np.unique(np.packbits(covered, axis=1), axis=0, return_inverse=True)
    distinct = np.unpackbits(packed, axis=1, count=covered.shape[1]).astype(np.bool_)
    sizes = distinct.sum(axis=1)
    whole = (sizes == attribute.cardinality) & (sizes > 1)
    distinct[whole] = True
    starts = np.concatenate([[0], np.cumsum(distinct.sum(axis=1))]).astype(np.int64)
    members = ValueSets(starts, np.nonzero(distinct)[1].astype(np.int32))
    column = set_column(attribute, per_class.reshape(-1).astype(np.int32), members)
    leaves = np.where(whole, attribute.domain_size, column.leaves).astype(np.int32)
    written = partial(_starred_texts, attribute, members, whole)
    return replace(column, written=written, leaves=leaves, starred=whole)


def _starred_texts(attribute: EncodedAttribute, members: ValueSets, whole: NDArray[np.bool_]) -> pl.Series:
    return with_stars(set_texts(attribute, members), whole)


_Numbers = NDArray[np.float64]

_DIGITS = 17


def border_texts(attribute: EncodedAttribute, low: NDArray[np.int32], high: NDArray[np.int32]) -> pl.Series:
    """Write ranges of codes of a number or date as adjacent intervals; one code exactly, missing ones as ``*``.

    Between two neighbours the border is the roundest number above the lower one, up to the higher; between dates the
    day in the middle. Whole numbers and dates are closed, the next beginning at ``b + 1``; others ``[a..b)``. The
    outermost reach to the ends of the declared domain; where a value lies there, or none is declared, they are rounded
    outward. From 2⁵³ on ends stay values.
    """
    assert attribute.numbers is not None
    texts = exact_texts(attribute, low)
    if attribute.order is not None or not exactly_numbered(attribute):
        return range_texts(attribute, low, high)
    several = np.flatnonzero((low < high) & (high < attribute.size))
    if len(several):
        texts = texts.scatter(several, _intervals(attribute, low[several], high[several]))
    return texts.scatter(np.flatnonzero((low < high) & (high == attribute.size)), STAR)


def _intervals(attribute: EncodedAttribute, low: NDArray[np.int32], high: NDArray[np.int32]) -> pl.Series:
    numbers = attribute.numbers
    assert numbers is not None
    whole = attribute.kind is Kind.DATE or bool((numbers == np.floor(numbers)).all())
    between = _middles(numbers) if attribute.kind is Kind.DATE else roundest(numbers[:-1], numbers[1:])
    bottom, top = _ends(attribute)
    starts, stops = np.append(bottom, between), np.append(between, top)
    outermost = high == attribute.size - 1
    ends = stops[high] - (whole & ~outermost)
    first, last = _texts(attribute, starts[low], whole), _texts(attribute, ends, whole)
    closing = pl.Series(np.where(outermost | whole, "]", ")"))
    return pl.select(pl.concat_str(pl.lit("["), first, pl.lit(".."), last, closing)).to_series()


def roundest(below: _Numbers, above: _Numbers) -> _Numbers:
    """Return for each pair the number with most zeros at its end that is above `below` and not above `above`."""
    found = above.copy()
    open_pairs = np.ones(len(found), dtype=np.bool_)
    top = int(np.ceil(np.log10(max(1.0, np.abs(np.append(below, above)).max(initial=1.0)))))
    for exponent in range(top, top - _DIGITS, -1):
        unit = 10.0 ** abs(exponent)
        with np.errstate(over="ignore"):
            candidate = np.floor(above / unit) * unit if exponent >= 0 else np.floor(above * unit) / unit
        fits = open_pairs & (below < candidate) & (candidate <= above)
        found[fits] = candidate[fits]
        open_pairs &= ~fits
    return found


def _middles(days: _Numbers) -> _Numbers:
    middles: _Numbers = np.floor((days[:-1] + days[1:] + 1) / 2)
    return middles


def _ends(attribute: EncodedAttribute) -> tuple[float, float]:
    """Return the ends of the domain, rounded outward to a digit of its width if a value of the data is there."""
    numbers = attribute.numbers
    assert numbers is not None
    low, high = attribute.domain_low, attribute.domain_low + attribute.domain_width
    unit = 10.0 ** np.floor(np.log10(attribute.domain_width or 1.0))
    if low >= numbers[0]:
        low = float(min(np.floor(numbers[0] / unit) * unit, numbers[0]))
    if high <= numbers[-1]:
        high = float(max(np.ceil(numbers[-1] / unit) * unit, numbers[-1]))
    if attribute.kind is Kind.DATE:
        return max(low, FIRST_DAY), min(high, LAST_DAY)
    return low, high


def _texts(attribute: EncodedAttribute, values: _Numbers, whole: bool) -> pl.Series:
    if attribute.kind is Kind.DATE:
        return text_of(pl.Series(values.astype(np.int32)).cast(pl.Date))
    return text_of(pl.Series(values.astype(np.int64) if whole else values))

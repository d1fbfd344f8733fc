"""Reading published labels back to what they cover.

The inverse of :mod:`sfumato.recoding.notation`. A label is read against the codes of the original attribute; one that
covers no original value, or that is not in the notation at all, is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import (
    Form,
    GeneralizedColumn,
    GeneralizedTable,
    ValueSets,
    class_sizes,
    group_records,
    known,
    stars,
)
from sfumato.errors import InputError, raise_all
from sfumato.hierarchy.tree import Hierarchy, number_of, value_text
from sfumato.kernels.grouping import first_records
from sfumato.recoding.choice import Recoding
from sfumato.recoding.notation import MISSING_MEMBER, STAR
from sfumato.recoding.recode import set_levels
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, text_of

_RANGE = r"^\[(.+)\.\.(.+)([\])])$"
_MEMBER = re.compile(r"(?:[^\\|]|\\.)*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class Coverage:
    """What g labels cover."""

    # `low`, `high`, `leaves`, `level`: (g,), as in :class:`~sfumato.classes.partition.GeneralizedColumn`; meaningless
    # where unreadable
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    leaves: NDArray[np.int32]
    level: NDArray[np.int32]
    readable: NDArray[np.bool_]  # (g,): whether the label is in the notation and covers an original value
    members: ValueSets | None = None  # the codes of each label, for value sets only


def parse(labels: pl.Series, attribute: EncodedAttribute, form: Form) -> Coverage:
    """Read distinct labels of one published attribute, null being missing, against its original codes.

    Half-open intervals are read too, and ends need not be original values. A mean says nothing of its class's range: it
    is read as the values right below and above it, so losses computed from it are far too low.
    """
    if form is Form.SET:
        return _sets(labels, attribute)
    if form is Form.ANCESTOR:
        low, high, level = _ancestors(labels, attribute)
    else:
        low, high = _means(labels, attribute) if form is Form.MEAN else _ranges(labels, attribute)
        level = (low < high).astype(np.int32)
    missing, star = labels.is_null().to_numpy(), labels.eq_missing(STAR).to_numpy()
    low[missing] = high[missing] = attribute.size
    low[star], high[star] = 0, attribute.size
    level[star], level[missing] = attribute.hierarchy.height if attribute.hierarchy is not None else 1, 0
    readable = (low >= 0) & (low <= high) & (attribute.has_missing | ~missing)
    leaves = np.where(star, attribute.domain_size, high - low + 1).astype(np.int32)
    return Coverage(low, high, leaves, level, readable)


def midpoints(labels: pl.Series, kind: Kind) -> NDArray[np.float64]:
    """Read labels of numbers, or dates in days, as one number each: value, mean or middle; else NaN."""
    low, high, _ = written_ends(labels, kind)
    middle: NDArray[np.float64] = (low + high) / 2
    return middle


def written_ends(labels: pl.Series, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Read labels of numbers or dates as written: both ends (NaN for none), and whether the upper is left out."""
    first, last = labels.str.extract(_RANGE, 1), labels.str.extract(_RANGE, 2)
    half_open = (labels.str.extract(_RANGE, 3) == ")").fill_null(False).to_numpy()
    single = first.is_null()
    return _numbers(labels.zip_with(single, first), kind), _numbers(labels.zip_with(single, last), kind), half_open


def _numbers(texts: pl.Series, kind: Kind) -> NDArray[np.float64]:
    if kind is Kind.DATE:
        numbers = texts.str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
    else:
        numbers = texts.cast(pl.Float64, strict=False)
    return numbers.fill_null(np.nan).to_numpy()


def _ranges(labels: pl.Series, attribute: EncodedAttribute) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    first, last = labels.str.extract(_RANGE, 1), labels.str.extract(_RANGE, 2)
    half_open = (labels.str.extract(_RANGE, 3) == ")").fill_null(False).to_numpy()
    single = first.is_null()
    low = _codes(labels.zip_with(single, first), attribute, "left")
    end = labels.zip_with(single, last)
    high = np.where(half_open, _codes(end, attribute, "left"), _codes(end, attribute, "right")) - 1
    return low, high.astype(np.int32)


def _means(labels: pl.Series, attribute: EncodedAttribute) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    below, above = _codes(labels, attribute, "right") - 1, _codes(labels, attribute, "left")
    inside = (below >= 0) & (above >= 0) & (above < attribute.size)
    return np.where(inside, below, -1).astype(np.int32), np.where(inside, above, -1).astype(np.int32)


def _codes(texts: pl.Series, attribute: EncodedAttribute, side: str) -> NDArray[np.int32]:
    """Count the original values below each text's number (`side` left) or up to it (right); -1 if it is not a number.

    A text that is the label of an original value stands for that value, however close the next one is.
    """
    assert attribute.numbers is not None
    values = _numbers(texts, attribute.kind) if attribute.order is None else _places(texts, attribute.order)
    codes = np.searchsorted(attribute.numbers, values, side="left" if side == "left" else "right")
    known = _known_codes(texts, attribute.labels)
    codes = np.where(known >= 0, known + (side == "right"), codes)
    return np.where(np.isfinite(values) | (known >= 0), codes, -1).astype(np.int32)


def _places(texts: pl.Series, order: Sequence[str]) -> NDArray[np.float64]:
    """Return the place of each text in an order, NaN of one that is not in it."""
    places = pl.Series(range(len(order)), dtype=pl.Float64)
    return (
        texts.replace_strict(pl.Series(order), places, default=None, return_dtype=pl.Float64)
        .fill_null(np.nan)
        .to_numpy()
    )


def _known_codes(texts: pl.Series, labels: pl.Series) -> NDArray[np.int64]:
    codes = pl.int_range(len(labels), eager=True, dtype=pl.Int64)
    if labels.is_empty():
        return np.full(len(texts), -1, dtype=np.int64)
    return texts.replace_strict(labels, codes, default=-1, return_dtype=pl.Int64).to_numpy()


def _ancestors(
    labels: pl.Series, attribute: EncodedAttribute
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    assert attribute.hierarchy is not None
    nodes = _nodes_by_label(attribute.hierarchy)
    found = [nodes.get(label) or nodes.get(_plain_number(label), (-1, -1, 0)) for label in labels.to_list()]
    low, high, level = np.array(found, dtype=np.int32).reshape(-1, 3).T
    return low.copy(), high.copy(), level.copy()


def _plain_number(label: str | None) -> str | None:
    """Rewrite a number the way leaves are labelled: a reader may have turned `1` into `1.0`."""
    number = None if label is None else number_of(label)
    return label if number is None else value_text(number)


def _nodes_by_label(hierarchy: Hierarchy) -> Mapping[str | None, tuple[int, int, int]]:
    """Map each label to its first leaf, last leaf and level, the lowest where a node repeats on several levels."""
    nodes: dict[str | None, tuple[int, int, int]] = {}
    for level, rung in enumerate(hierarchy.levels):
        for label, start, stop in zip(rung.labels, rung.starts, rung.starts[1:], strict=False):
            nodes.setdefault(label, (start, stop - 1, level))
    return nodes


def _sets(labels: pl.Series, attribute: EncodedAttribute) -> Coverage:
    code_of: dict[str | None, int] = {label: code for code, label in enumerate(attribute.labels.to_list())}
    if attribute.has_missing:
        code_of[None] = attribute.size
    everything = list(range(attribute.size + 1))
    sets = [
        everything if label == STAR else sorted({code_of.get(value, -1) for value in split_set(label)})
        for label in labels.to_list()
    ]
    sizes = np.array([len(codes) for codes in sets], dtype=np.int64)
    members = ValueSets(np.cumsum([0, *sizes], dtype=np.int64), np.array([c for s in sets for c in s], dtype=np.int32))
    low, high = members.codes[members.starts[:-1]], members.codes[members.starts[1:] - 1]
    star = labels.eq_missing(STAR).to_numpy()
    leaves = np.where(star, attribute.domain_size, sizes).astype(np.int32)
    return Coverage(low, high, leaves, set_levels(attribute, low, high), low >= 0, members)


def split_set(label: str | None) -> list[str | None]:
    r"""Read a label in set form: the members of ``{a|b}``, else the one exact value; None is the missing value."""
    if label is None:
        return [None]
    if not (label.startswith("{") and label.endswith("}")):
        return [label.removeprefix("\\")]
    if "\\" not in label:
        return [*label[1:-1].split("|")]
    written = _split_members(label[1:-1])
    return [None if member == MISSING_MEMBER else _ESCAPED.sub(r"\1", member) for member in written]


def _split_members(text: str) -> list[str]:
    members, position = [], 0
    while position <= len(text):
        found = _MEMBER.match(text, position)
        assert found is not None
        members.append(found.group())
        position = found.end() + 1
    return members


def generalize_published(
    frame: pl.DataFrame, encoded: EncodedTable, recoding: Recoding | None = None
) -> GeneralizedTable:
    """Group equal published rows into classes and read what their labels cover; not aligned with the original.

    The first m entries of `class_of` are rows of `frame`, the others suppressed records, with ``suppressed = "star"``
    rows of nothing but ``*``, too. Metrics and attacks that need whose row is whose refuse it. Refused with every
    column that is absent or has cells that cannot be read, counted, never shown. Cost O(m · q); means: see
    :func:`parse`.
    """
    chosen = recoding or Recoding()
    forms = chosen.forms_of(encoded.attributes)
    raise_all(InputError, _shape_problems(frame, encoded))
    labels, label_of = _numbered_labels(frame, encoded)
    coverages = [parse(*each) for each in zip(labels, encoded.attributes, forms, strict=True)]
    raise_all(InputError, _unreadable(coverages, label_of, encoded))
    rows_in, count = group_records(label_of)
    firsts = first_records(rows_in, count)
    columns = tuple(
        _column(encoded, index, forms[index], labels[index], label_of[firsts, index], coverages[index])
        for index in range(len(forms))
    )
    if chosen.suppressed == "star":
        rows_in, columns = _without_stars(rows_in, columns)
    class_of = np.full(encoded.height, -1, dtype=np.int32)
    class_of[: len(rows_in)] = rows_in
    sizes = class_sizes(rows_in, len(columns[0].per_class))
    return GeneralizedTable(encoded, columns, class_of, sizes, aligned=False)


def _shape_problems(frame: pl.DataFrame, encoded: EncodedTable) -> list[str]:
    problems = [
        f"the published table has no column {attribute.name!r}; it needs every quasi-identifying column"
        for attribute in encoded.attributes
        if attribute.name not in frame.columns
    ]
    if frame.height > encoded.height:
        problems.append(
            f"the published table has {frame.height} rows, the original only {encoded.height}; "
            "give the original that it was made from"
        )
    if not frame.height:
        problems.append("the published table has no rows")
    return problems


def _numbered_labels(frame: pl.DataFrame, encoded: EncodedTable) -> tuple[list[pl.Series], NDArray[np.int32]]:
    """Return the distinct labels of each column, and which one each cell has; int32 (m, q)."""
    labels = []
    label_of = np.empty((frame.height, len(encoded.attributes)), dtype=np.int32)
    for index, attribute in enumerate(encoded.attributes):
        series = frame[attribute.name]
        if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
            series = series.cast(pl.String)
        distinct = series.unique(maintain_order=True)
        numbers = pl.int_range(len(distinct), eager=True, dtype=pl.Int32)
        label_of[:, index] = series.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()
        labels.append(text_of(distinct))
    return labels, label_of


def _unreadable(coverages: Sequence[Coverage], label_of: NDArray[np.int32], encoded: EncodedTable) -> list[str]:
    problems = []
    for coverage, numbers, attribute in zip(coverages, label_of.T, encoded.attributes, strict=True):
        rows = np.flatnonzero(~coverage.readable[numbers])
        if len(rows):
            problems.append(
                f"column {attribute.name!r}: {len(rows)} published cell(s), first in row {rows[0] + 1}, cannot be read "
                "or cover no original value; check the form of the column and that the original is the right one"
            )
    return problems


def _column(
    encoded: EncodedTable, index: int, form: Form, labels: pl.Series, per_class: NDArray[np.int32], coverage: Coverage
) -> GeneralizedColumn:
    return GeneralizedColumn(
        encoded.attributes[index],
        form,
        per_class,
        known(labels),
        coverage.low,
        coverage.high,
        coverage.leaves,
        coverage.level,
        coverage.members,
    )


def _without_stars(
    rows_in: NDArray[np.int32], columns: tuple[GeneralizedColumn, ...]
) -> tuple[NDArray[np.int32], tuple[GeneralizedColumn, ...]]:
    """Turn the class that publishes nothing but `*`, if there is one, into suppressed rows."""
    starred = np.logical_and.reduce([stars(column.labels)[column.per_class] for column in columns])
    number = np.where(starred, -1, np.cumsum(~starred) - 1).astype(np.int32)
    kept = tuple(replace(column, per_class=column.per_class[~starred]) for column in columns)
    return number[rows_in], kept

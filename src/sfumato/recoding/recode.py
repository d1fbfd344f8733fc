"""From a partition to generalized columns. Classes that publish the same labels are one, as every reader sees one.

One function per form comes first. Letters: c classes, g distinct generalized values. Everything after the kernels runs
over classes once, to find the distinct generalized values, and over those afterwards: a label is written once, whatever
the number of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import (
    Form,
    GeneralizedColumn,
    GeneralizedTable,
    Partition,
    ValueSets,
    group_records,
    known,
    stars,
)
from sfumato.errors import InputError, raise_all
from sfumato.kernels.boxes import class_boxes, class_starts, class_sums, group_by_class, value_sets
from sfumato.parallel import each, worth_starting
from sfumato.recoding.choice import (
    Average,
    Recoding,
    of_occurring,
    rounded_ranges,
    rounded_texts,
    with_declared_grid,
    with_grid,
    written_like,
)
from sfumato.recoding.notation import STAR, node_texts, range_texts, set_texts, with_stars
from sfumato.table.distinct import FEW, dense_ranks
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, is_measured, text_of
from sfumato.table.table import Table

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


_INTERVAL_COLUMNS = {"rounded": rounded_column, "tight": interval_column, "declared": declared_column}
_DIGITS = 10
"""Digits after the first that geometric means have."""


def recode(
    encoded: EncodedTable, partition: Partition, recoding: Recoding | None = None, *, threads: int = 1
) -> GeneralizedTable:
    """Decide what each class publishes for each quasi-identifying attribute.

    Published values are tight unless the solution has regions of its own: no node or set covers more than the records
    that its class has or covers, and no interval more than rounding its ends adds. They depend on the values of these
    records alone, never on their order; and no record that is left out decides a grid, or how numbers are written.
    Refused when a form does not fit its attribute, or, with regions, is neither the default nor the mean. Cost O(n · q
    + c · q log c) for c classes; memory 2 c · q codes, and n codes per attribute published as value sets.
    """
    if partition.height != encoded.height:
        raise InputError(
            f"recode: the partition has {partition.height} records, the table {encoded.height}; "
            "give the table that it was made from"
        )
    chosen = recoding or Recoding()
    forms = chosen.forms_of(encoded.attributes)
    sizes = partition.sizes.astype(np.int64, copy=False)
    if partition.regions is not None:
        return GeneralizedTable(encoded, _in_regions(encoded, partition, chosen, threads), partition.class_of, sizes)
    places = [index for index, form in enumerate(forms) if form is not Form.SET]
    ranges = _range_columns(encoded, partition, places, forms, chosen, threads)
    columns = ranges | _set_columns(encoded, partition, forms, sizes, threads)
    return GeneralizedTable(encoded, tuple(columns[index] for index in range(len(forms))), partition.class_of, sizes)


def _in_regions(
    encoded: EncodedTable, partition: Partition, recoding: Recoding, threads: int
) -> tuple[GeneralizedColumn, ...]:
    """Publish what a solution decided, but means of classes where they are wanted instead."""
    from sfumato.recoding.regions import region_columns

    assert partition.regions is not None
    forms = recoding.forms_of(encoded.attributes)
    places = [index for index, form in enumerate(forms) if form is Form.MEAN]
    plain = [Form.INTERVAL if form is Form.MEAN else form for form in forms]
    published = region_columns(encoded.attributes, partition.regions, plain, threads=threads)
    means = _range_columns(encoded, partition, places, forms, recoding, threads)
    return tuple(means.get(index, column) for index, column in enumerate(published))


def _range_columns(
    encoded: EncodedTable,
    partition: Partition,
    places: Sequence[int],
    forms: Sequence[Form],
    recoding: Recoding,
    threads: int,
) -> dict[int, GeneralizedColumn]:
    if not places:
        return {}
    lows, highs = class_boxes(partition.covered_by, encoded.codes, partition.count, places)
    attributes_of = _attributes(encoded, partition)

    def recoded(place: int) -> GeneralizedColumn:
        index, low, high = places[place], lows[:, place], highs[:, place]
        if forms[index] is Form.ANCESTOR:
            return ancestor_column(encoded.attributes[index], low, high)
        attribute, own = attributes_of(index)
        if forms[index] is Form.MEAN:
            column = mean_column(attribute, low, high, _centres(encoded, partition, index, recoding.average), own)
        else:
            ends = "tight" if attribute.order is not None else recoding.labels or recoding.ends
            column = _INTERVAL_COLUMNS[ends](attribute, low, high, own)
        return replace(column, attribute=encoded.attributes[index])

    return dict(zip(places, each(recoded, range(len(places)), threads), strict=True))


def _attributes(
    encoded: EncodedTable, partition: Partition
) -> Callable[[int], tuple[EncodedAttribute, EncodedAttribute]]:
    """Return what gives an attribute as it is written, and the same of what is published alone."""
    kept = partition.class_of >= 0
    everybody = bool(kept.all())

    def attributes_of(index: int) -> tuple[EncodedAttribute, EncodedAttribute]:
        attribute = encoded.attributes[index]
        if everybody or attribute.numbers is None or attribute.order is not None:
            return attribute, attribute
        own = of_occurring(attribute, np.bincount(encoded.codes[kept, index], minlength=attribute.size + 1) > 0)
        return written_like(attribute, own), own

    return attributes_of


def _centres(encoded: EncodedTable, partition: Partition, index: int, average: Average | None) -> NDArray[np.float64]:
    """Return the mean, median, mode or geometric mean of each class, float64 (c,)."""
    codes, numbers = encoded.codes[:, index], encoded.attributes[index].numbers
    assert numbers is not None
    # The missing value adds nothing; a class that has it publishes no mean.
    known = np.append(numbers, 0.0)
    if average is None:
        return class_sums(partition.class_of, codes, known, partition.count) / partition.sizes
    if average == "geometric-mean":
        logarithms = np.append(np.log(numbers), 0.0)
        means = np.exp(class_sums(partition.class_of, codes, logarithms, partition.count) / partition.sizes)
        # Processors differ in the last digits of logarithms.
        unit = 10.0 ** (np.floor(np.log10(means)) - _DIGITS)
        rounded: NDArray[np.float64] = np.round(means / unit) * unit
        return rounded
    kept = np.flatnonzero(partition.class_of >= 0)
    order = kept[np.lexsort((codes[kept], partition.class_of[kept]))]
    rising, sizes = codes[order], partition.sizes.astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    if average == "median":
        middles: NDArray[np.float64] = (
            known[rising[starts + (sizes - 1) // 2]] + known[rising[starts + sizes // 2]]
        ) / 2
        return middles
    modes: NDArray[np.float64] = known[_most_frequent(partition.class_of[order], rising)]
    return modes


def _most_frequent(class_of: NDArray[np.int32], codes: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the code that each class has most often, of several the lowest; for records by class and rising code."""
    begins = np.flatnonzero(np.append(True, (np.diff(class_of) != 0) | (np.diff(codes.astype(np.int64)) != 0)))
    counts = np.diff(np.append(begins, len(codes)))
    owner = class_of[begins]
    firsts = np.flatnonzero(np.append(True, np.diff(owner) != 0))
    most = np.maximum.reduceat(counts, firsts)
    places = np.flatnonzero(counts == most[owner])
    return codes[begins[places[np.unique(owner[places], return_index=True)[1]]]]


def _set_columns(
    encoded: EncodedTable, partition: Partition, forms: Sequence[Form], sizes: NDArray[np.int64], threads: int
) -> dict[int, GeneralizedColumn]:
    places = np.array([index for index, form in enumerate(forms) if form is Form.SET], dtype=np.int64)
    if not len(places):
        return {}
    starts = class_starts(sizes if partition.cover is None else partition.covered_sizes)
    grouped = group_by_class(partition.covered_by, encoded.codes, places, starts)

    attributes_of = _attributes(encoded, partition)

    def recoded(place: int) -> GeneralizedColumn:
        attribute, _ = attributes_of(int(places[place]))
        per_class, bounds, members = value_sets(grouped[:, place], starts, attribute.size + 1)
        column = set_column(attribute, per_class, ValueSets(bounds, members))
        return replace(column, attribute=encoded.attributes[places[place]])

    return dict(zip(places.tolist(), each(recoded, range(len(places)), threads), strict=True))


def recode_as_published(
    encoded: EncodedTable,
    partition: Partition,
    recoding: Recoding | None = None,
    *,
    threads: int = 1,
    by_column: Callable[[GeneralizedColumn], GeneralizedColumn] | None = None,
) -> GeneralizedTable:
    """Recode a partition, merging classes whose published labels are all equal: a recipient sees one.

    Each round, of the cost of :func:`recode`, leaves fewer classes; a second is needed where merging changes a mean.
    `by_column`: for memory one attribute after the other, each handed to it, which may put it away; not with regions.
    """
    threads = worth_starting(threads, encoded.height)
    while True:
        if by_column is not None:
            generalized = _recode_by_column(encoded, partition, recoding or Recoding(), by_column)
        else:
            generalized = recode(encoded, partition, recoding, threads=threads)
        labels = np.column_stack(each(_distinct_labels, generalized.columns, threads))
        merged, count = group_records(labels)
        if count == partition.count:
            return generalized
        partition = partition.renumbered(merged, count)


def _recode_by_column(
    encoded: EncodedTable,
    partition: Partition,
    recoding: Recoding,
    put_away: Callable[[GeneralizedColumn], GeneralizedColumn],
) -> GeneralizedTable:
    columns: list[GeneralizedColumn] = []
    for index, attribute in enumerate(encoded.attributes):
        codes = np.ascontiguousarray(encoded.codes[:, index : index + 1])
        forms = {name: form for name, form in recoding.forms.items() if name == attribute.name}
        alone = replace(encoded, attributes=(attribute,), codes=codes)
        columns += map(put_away, recode(alone, partition, replace(recoding, forms=forms)).columns)
    return GeneralizedTable(encoded, tuple(columns), partition.class_of, partition.sizes.astype(np.int64, copy=False))


def _distinct_labels(column: GeneralizedColumn) -> NDArray[np.int32]:
    """Return a number for each class that is equal where the published text is; int32 (c,)."""
    if column.labels.n_unique() == column.count:
        return column.per_class
    numbers: NDArray[np.int32] = dense_ranks(column.labels).astype(np.int32)[column.per_class]
    return numbers


def publish(
    generalized: GeneralizedTable, table: Table, order: NDArray[np.integer], *, threads: int = 1
) -> pl.DataFrame:
    """Write the frame that a recipient gets, the records in `order`, suppressed ones with ``*``. Cost O(m) a column.

    Quasi-identifying columns hold labels as an Enum; one of numbers, dates or booleans in which no cell was changed
    keeps its type. Others are carried over, categories as an Enum. Every Enum lists the values that occur, sorted, so
    that neither dropped values nor the input order can be read off it. The caller shuffles: this adds no randomness.
    """
    raise_all(InputError, _problems(generalized, table, order))
    classes = generalized.class_of[order]
    complete, records = not np.any(classes < 0), pl.Series(order)
    published = {column.attribute.name: column for column in generalized.columns}

    def written(series: pl.Series) -> pl.Series:
        if series.name not in published:
            return carried_over(series[records])
        return _quasi_identifying(series, published[series.name], records, classes, complete)

    return pl.DataFrame(each(written, table.frame, worth_starting(threads, len(order))))


def _problems(generalized: GeneralizedTable, table: Table, order: NDArray[np.integer]) -> list[str]:
    problems = []
    if generalized.height != table.height:
        problems.append(
            f"publish: the solution has {generalized.height} records, the table {table.height}; "
            "give the table that it was made from"
        )
    if len(order) and (order.min() < 0 or order.max() >= generalized.height):
        problems.append("publish: the order names records that the table does not have")
    return problems


def _quasi_identifying(
    series: pl.Series, column: GeneralizedColumn, records: pl.Series, classes: NDArray[np.int32], complete: bool
) -> pl.Series:
    kind = column.attribute.kind
    if complete and not column.level.any() and (is_measured(kind) or kind is Kind.BOOLEAN):
        return series[records]
    # One more label for the class −1, which indexing from the end finds.
    labels = column.labels if complete else column.labels.extend_constant(STAR, 1)
    label_of = np.append(column.per_class, np.int32(column.count)).astype(np.uint32)[classes]
    occurs = np.zeros(len(labels), dtype=np.bool_)
    occurs[label_of] = True
    occurring = labels if occurs.all() else labels.filter(pl.Series(occurs))
    return labels.cast(_enum_of(occurring), strict=False)[pl.Series(label_of)].alias(series.name)


def carried_over(series: pl.Series) -> pl.Series:
    """Return a column as it is published unchanged: categories as an Enum that lists those that occur, sorted."""
    if not isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        return series
    return series.cast(_enum_of(series if len(series) <= FEW else series.unique().cast(pl.String)))


def _enum_of(labels: pl.Series) -> pl.Enum:
    """Return a type that lists the texts that occur, sorted, so that neither others nor an order can be read off it."""
    if len(labels) <= FEW:
        return pl.Enum(sorted({label for label in labels.to_list() if label is not None}))
    known = labels.drop_nulls() if labels.null_count() else labels
    return pl.Enum((known if known.n_unique() == len(known) else known.unique()).sort())

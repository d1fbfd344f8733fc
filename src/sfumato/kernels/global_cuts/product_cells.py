"""The cells of a product partition: what is left of a table whose attributes are each cut into regions of codes.

Letters: q quasi-identifying attributes, s sensitive attributes that a rule looks at, v values of those together, m
distinct records, M codes of all attributes together (missing values included), r regions, t nodes of all trees.

A region is a range of codes of one attribute; a cell is the set of records that share a region on every attribute.
Cutting a region touches only the records in it: they stand together in the list of records sorted by that attribute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, Flags, Floats, Int32s, Int64s, Space, float64, int64

CLASSES = 0  # how many cells there are, dead ones included
REGIONS = 1  # how many regions there are, cut ones included
VERSION = 2  # how many cuts were made
LEFT = 3  # records that may still be suppressed
LEAST = 4  # records of the smallest cell that is published
REVIVE = 5  # 1: records were suppressed since regions were last given up
SETTLED = 6  # regions that were cut or given up
CUTS = 7  # how many cuts were made and kept
COUNTERS = 8


class SortedAttributes(NamedTuple):
    """The records, sorted by each attribute."""

    codes: Int32s  # (q, m)
    sensitive: Int32s  # (s, m): values as the rules number them
    weights: Int64s  # (m,): original records that each stands for; 0 for those that are covered without being counted
    rows: Int32s  # (q, m): records by rising code
    # (M + q,): records with code ``c`` of attribute ``j`` stand at ``rows[j, starts[offsets[j] + j + c] :
    # starts[offsets[j] + j + c + 1]]``
    starts: Int64s
    sizes: Int64s  # (q,): codes of original values; the missing value's code is the size
    cardinalities: Int64s  # (q,): all codes


class ProductCells(NamedTuple):
    """The cells, and buffers for one region at a time.

    A cell gets a number when it has some, not all, of the records of another: there are fewer than 2 m numbers.
    """

    of_record: Int32s  # (m,): cell of each record, −1 when it is suppressed
    # `sizes`, `records`: (2 m,): original and distinct records of each cell
    sizes: Int64s
    records: Int64s
    loss: Floats  # (2 m,): weighted loss of one record of each cell, over all attributes
    counters: Int64s  # see the constants of this module
    # `touched`, `found`: int32 (m,) and int64 (2 m,): the cells that have records in a part, and how many distinct
    # ones, 0 between uses
    touched: Int32s
    found: Int64s
    part: Int64s  # (2 m,): original records of each cell in the part, 0 between uses
    grouped: Int32s  # (m,): the records of the part, cell by cell, codes rising inside a cell
    ends: Int64s  # (2 m,): where the records of each touched cell end in `grouped`
    fails: Flags  # (m,): whether the part of each touched cell breaks a rule
    target: Int64s  # (2 m,): the number that the part of each cell gets
    # `whole`, `left`, `right`: (v,): sensitive counts
    whole: Int64s
    left: Int64s
    right: Int64s
    scratch: Floats  # for the rules


@kernel
def sorted_rows(codes: Int32s, cardinalities: Int64s) -> Any:
    """Sort the records by each attribute: `rows` and `starts`. Counting, O(q m + M). Capacity: each record once."""
    q, m = codes.shape
    rows = np.empty((q, m), np.int32)
    starts = np.zeros(cardinalities.sum() + q, np.int64)
    first = 0
    for attribute in range(q):
        own = starts[first : first + cardinalities[attribute] + 1]
        for record in range(m):
            own[codes[attribute, record] + 1] += 1
        for code in range(cardinalities[attribute]):
            own[code + 1] += own[code]
        place = own.copy()
        for record in range(m):
            code = codes[attribute, record]
            rows[attribute, place[code]] = record
            place[code] += 1
        first += cardinalities[attribute] + 1
    return rows, starts


@kernel
def start_cells(
    of_record: Int32s, count: int, limit: int, low: Int64s, stop: Int64s,
    layout: SortedAttributes, space: Space, rules: RuleArrays,
) -> ProductCells:  # fmt: skip
    """Start from cells that hold.

    of_record : int32 (m,), −1 for records that are suppressed already. count : how many cells. limit : records that may
    be suppressed beside them. low, stop : int64 (M,), the region of each code.
    """
    m = len(layout.weights)
    v = rules.offsets[-1]
    cells = ProductCells(
        of_record,
        np.zeros(2 * m, np.int64),
        np.zeros(2 * m, np.int64),
        np.zeros(2 * m, np.float64),
        np.zeros(COUNTERS, np.int64),
        np.zeros(m, np.int32),
        np.zeros(2 * m, np.int64),
        np.zeros(2 * m, np.int64),
        np.zeros(m, np.int32),
        np.zeros(2 * m, np.int64),
        np.zeros(m, np.bool_),
        np.zeros(2 * m, np.int64),
        np.zeros(v, np.int64),
        np.zeros(v, np.int64),
        np.zeros(v, np.int64),
        np.zeros(rules.scratch_size + 1, np.float64),
    )
    cells.counters[CLASSES] = count
    cells.counters[LEFT] = limit
    for record in range(m):
        cell = of_record[record]
        if cell < 0:
            continue
        if cells.records[cell] == 0:
            for attribute in range(len(space.kinds)):
                code = space.offsets[attribute] + layout.codes[attribute, record]
                cells.loss[cell] += cell_range_loss(attribute, low[code], stop[code], layout, space)
        cells.records[cell] += 1
        cells.sizes[cell] += layout.weights[record]
    count_least(cells)
    return cells


@inlined
def cell_range_loss(attribute: int, low: int, stop: int, layout: SortedAttributes, space: Space) -> float:
    """Weighted loss of one cell of a table that publishes the codes ``low .. stop-1`` of an attribute.

    0 for one value, 1 for missing and present ones together; else the width of the numbers, or the number of values,
    over that of the domain. A value set of the whole domain is published as ``*``.
    """
    size = layout.sizes[attribute]
    if stop - low <= 1:
        return 0.0
    weight = space.weights[attribute]
    if stop > size or (low == 0 and stop == size and space.kinds[attribute] != NUMERIC):
        return float64(weight)
    if space.kinds[attribute] != NUMERIC:
        return float64(weight * (stop - low) / space.sizes[attribute])
    if space.scales[attribute] == 0:
        return 0.0
    first = space.offsets[attribute]
    return float64(
        weight * (space.positions[first + stop - 1] - space.positions[first + low]) / space.scales[attribute]
    )


@inlined
def bounds_of(attribute: int, low: int, stop: int, layout: SortedAttributes, space: Space) -> tuple[int, int]:
    """Where the records with the codes ``low .. stop-1`` stand in ``layout.rows[attribute]``."""
    first = space.offsets[attribute] + attribute
    return layout.starts[first + low], layout.starts[first + stop]


@kernel
def collect(attribute: int, low: int, stop: int, layout: SortedAttributes, space: Space, cells: ProductCells) -> int:
    """Find the cells of a part: fills `touched`, `found`, `part`; returns how many. Capacity: each cell once."""
    begin, end = bounds_of(attribute, low, stop, layout, space)
    touched = 0
    for place in range(begin, end):
        record = layout.rows[attribute, place]
        cell = cells.of_record[record]
        if cell < 0:
            continue
        if cells.found[cell] == 0:
            cells.touched[touched] = cell
            touched += 1
        cells.found[cell] += 1
        cells.part[cell] += layout.weights[record]
    return touched


@kernel
def group(
    attribute: int, low: int, stop: int, touched: int, layout: SortedAttributes, space: Space, cells: ProductCells
) -> None:
    """Lay the records of a collected part out cell by cell: fills `grouped` and `ends`. Capacity: each once."""
    place = 0
    for index in range(touched):
        cell = cells.touched[index]
        cells.ends[cell] = place
        place += cells.found[cell]
    begin, end = bounds_of(attribute, low, stop, layout, space)
    for place in range(begin, end):
        record = layout.rows[attribute, place]
        cell = cells.of_record[record]
        if cell >= 0:
            cells.grouped[cells.ends[cell]] = record
            cells.ends[cell] += 1


@inlined
def count_in(record: int, counts: Any, layout: SortedAttributes, rules: RuleArrays) -> None:
    """Add a record to a flat histogram of sensitive values, int64 (v,)."""
    for column in range(len(rules.offsets) - 1):
        counts[rules.offsets[column] + layout.sensitive[column, record]] += layout.weights[record]


@kernel
def judge(
    attribute: int, low: int, stop: int, touched: int, smallest: int, ruled: bool, layout: SortedAttributes,
    space: Space, rules: RuleArrays, cells: ProductCells,
) -> None:  # fmt: skip
    """Decide which cells of a collected part break a rule: fills `fails`.

    A cell that lies in the part as a whole holds. Cost O(records of the part + v · cells that are cut).
    """
    if ruled:
        group(attribute, low, stop, touched, layout, space, cells)
    for index in range(touched):
        cell = cells.touched[index]
        cells.fails[index] = False
        if cells.found[cell] == cells.records[cell]:
            continue
        if cells.part[cell] < smallest:
            cells.fails[index] = True
        elif ruled:
            cells.whole[:] = 0
            for place in range(cells.ends[cell] - cells.found[cell], cells.ends[cell]):
                count_in(cells.grouped[place], cells.whole, layout, rules)
            cells.fails[index] = not holds(cells.part[cell], cells.whole, rules, cells.scratch)


@inlined
def clear_part(touched: int, cells: ProductCells) -> None:
    """Set the buffers of a collected part back to zero."""
    for index in range(touched):
        cell = cells.touched[index]
        cells.found[cell] = 0
        cells.part[cell] = 0


@kernel
def move(
    attribute: int, low: int, stop: int, touched: int, parent: float, child: float, layout: SortedAttributes,
    space: Space, cells: ProductCells,
) -> None:  # fmt: skip
    """Make a judged part of a region a region of its own: cells that are cut get a new number, failing ones −1.

    parent, child : weighted losses of the region and of the part.
    """
    for index in range(touched):
        cell = cells.touched[index]
        if cells.found[cell] == cells.records[cell]:
            cells.loss[cell] += child - parent
            cells.target[cell] = cell
        elif cells.fails[index]:
            cells.counters[LEFT] -= cells.part[cell]
            cells.counters[REVIVE] = 1
            cells.target[cell] = -1
        else:
            _number(cell, child - parent, cells)
    begin, end = bounds_of(attribute, low, stop, layout, space)
    for place in range(begin, end):
        record = layout.rows[attribute, place]
        cell = cells.of_record[record]
        if cell >= 0:
            cells.of_record[record] = cells.target[cell]


@inlined
def _number(cell: int, change: float, cells: ProductCells) -> None:
    """Give a part a number. Capacity: cells are cut into two parts or more, so that m records make fewer than 2 m."""
    number = cells.counters[CLASSES]
    cells.counters[CLASSES] += 1
    cells.sizes[number] = cells.part[cell]
    cells.records[number] = cells.found[cell]
    cells.loss[number] = cells.loss[cell] + change
    cells.target[cell] = number
    cells.counters[LEAST] = min(cells.counters[LEAST], cells.part[cell])


@kernel
def count_least(cells: ProductCells) -> None:
    """Count the smallest cell anew, as it takes after a suppression. O(m)."""
    least = int64(2**62)
    for record in range(len(cells.of_record)):
        if cells.of_record[record] >= 0:
            least = min(least, cells.sizes[cells.of_record[record]])
    cells.counters[LEAST] = least

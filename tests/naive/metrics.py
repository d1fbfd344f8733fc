"""Plain twins of the metrics of information loss.

Classes are lists of record indices (from 0); a record in no class is suppressed and is charged the full loss. What a
class publishes for an attribute is described by its *cover*: the values that the generalized value stands for, by
default those of the class itself (tight recoding). Global recodings hand in wider covers, one list per class.
A cover of None is a suppressed cell.

`rule` says how categories with a tree are counted: 'tree' by the leaves under the lowest common ancestor, 'set' by the
distinct values of the cover, as if there were no tree. Without a tree, numbers are measured by their range and
categories by their distinct values.
"""

from __future__ import annotations

import datetime
import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from naive.recoding import Tree, Value, ancestor_level, is_mixed, members

Classes = Sequence[Sequence[int]]
Cover = Sequence[Value] | None


class Attribute(NamedTuple):
    """A quasi-identifying attribute: its original column (None where missing) and what normalizes its losses.

    `domain` is (lowest, highest) for numbers and dates, all values for categories; None takes it from the column.
    `categorical` has numbers treated as mere names.
    """

    column: Sequence[Value]
    tree: Tree | None = None
    domain: Sequence[Value] | None = None
    weight: float = 1.0
    categorical: bool = False


# --- what an attribute is ------------------------------------------------------------------------------------------


def present(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if value is not None]


def is_number(value: Value) -> bool:
    return isinstance(value, int | float | datetime.date) and not isinstance(value, bool)


def is_range(attribute: Attribute) -> bool:
    """Tell whether classes are measured by their range: numbers or dates without a tree."""
    return attribute.tree is None and not attribute.categorical and all(map(is_number, present(attribute.column)))


def on_a_line(value: Value) -> float:
    """Dates count in days."""
    return value.toordinal() if isinstance(value, datetime.date) else value


def range_of(values: Sequence[Value]) -> float:
    line = [on_a_line(value) for value in present(values)]
    return max(line) - min(line) if line else 0


def domain_width(attribute: Attribute) -> float:
    return range_of(attribute.column if attribute.domain is None else attribute.domain)


def height(attribute: Attribute) -> int:
    """Steps from a leaf to the root; without a tree the only step leads to 'anything'."""
    return 1 if attribute.tree is None else len(next(iter(attribute.tree.values()))) - 1


def domain_size(attribute: Attribute, rule: str) -> int:
    """Leaves of the tree, else distinct values; a missing value that occurs is one more distinct value."""
    if attribute.tree is not None and rule == "tree":
        return len(attribute.tree)
    if attribute.domain is None or is_range(attribute):
        return len(set(attribute.column))
    return len(set(attribute.domain) | set(attribute.column))


# --- what a cover is -----------------------------------------------------------------------------------------------


def is_suppressed(attribute: Attribute, cover: Cover) -> bool:
    """A range or a node of a tree cannot hold the missing value next to others: the cell is then suppressed."""
    return cover is None or (is_mixed(cover) and (is_range(attribute) or attribute.tree is not None))


def values_covered(attribute: Attribute, cover: Cover, rule: str) -> set[Value]:
    """Original values that the generalized value may stand for."""
    if is_suppressed(attribute, cover):
        return set(attribute.column) | set(attribute.tree or [])
    assert cover is not None
    if set(cover) == {None}:
        return {None}
    if is_range(attribute):
        return {value for value in present(attribute.column) if min(cover) <= value <= max(cover)}
    if attribute.tree is None or rule == "set":
        return set(cover)
    level = ancestor_level(cover, attribute.tree)
    node = tuple(attribute.tree[cover[0]][level:])
    return {leaf for leaf, path in attribute.tree.items() if tuple(path[level:]) == node}


def size_of(attribute: Attribute, cover: Cover, rule: str) -> int:
    """Number of values covered; the whole domain for a suppressed cell."""
    if is_suppressed(attribute, cover):
        return domain_size(attribute, rule)
    return len(values_covered(attribute, cover, rule))


def width_share(attribute: Attribute, cover: Sequence[Value]) -> float:
    width = domain_width(attribute)
    return range_of(cover) / width if width else 0.0


# --- losses of one cell --------------------------------------------------------------------------------------------


def ncp_cell(attribute: Attribute, cover: Cover, rule: str = "tree") -> float:
    """Normalized certainty penalty (Xu et al. 2006)."""
    if cover is None or is_suppressed(attribute, cover):
        return 1.0
    if is_range(attribute):
        return width_share(attribute, cover)
    size = size_of(attribute, cover, rule)
    return 0.0 if size == 1 else size / domain_size(attribute, rule)


def iloss_cell(attribute: Attribute, cover: Cover, rule: str = "tree") -> float:
    """ILoss (Xiao & Tao 2006); a suppressed cell loses (|D| - 1) / |D|. Ranges count the distinct values inside."""
    return (size_of(attribute, cover, rule) - 1) / domain_size(attribute, rule)


def lm_cell(attribute: Attribute, cover: Cover, rule: str = "tree") -> float:
    """Loss metric (Iyengar 2002)."""
    if cover is None or is_suppressed(attribute, cover):
        return 1.0
    if is_range(attribute):
        return width_share(attribute, cover)
    domain = domain_size(attribute, rule)
    return 0.0 if domain == 1 else (size_of(attribute, cover, rule) - 1) / (domain - 1)


CellLoss = Callable[[Attribute, Cover, str], float]


# --- sums over cells -----------------------------------------------------------------------------------------------


def tight_covers(column: Sequence[Value], classes: Classes) -> list[list[Value]]:
    return [members(column, records) for records in classes]


def cell_covers(attribute: Attribute, classes: Classes, covers: Sequence[Cover] | None = None) -> list[Cover]:
    """Cover of every record's cell, None where the record is suppressed."""
    per_record: list[Cover] = [None] * len(attribute.column)
    for records, cover in zip(classes, covers or tight_covers(attribute.column, classes), strict=True):
        for index in records:
            per_record[index] = cover
    return per_record


def cell_losses(
    loss: CellLoss,
    attribute: Attribute,
    classes: Classes,
    rule: str = "tree",
    covers: Sequence[Cover] | None = None,
) -> list[float]:
    """Loss of each record on one attribute, unweighted."""
    return [loss(attribute, cover, rule) for cover in cell_covers(attribute, classes, covers)]


Table = Mapping[str, Attribute]
Covers = Mapping[str, Sequence[Cover]]


def covers_for(name: str, covers: Covers | None) -> Sequence[Cover] | None:
    return covers.get(name) if covers else None


def attribute_losses(
    loss: CellLoss, table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None
) -> dict[str, float]:
    """Sum over the records for each attribute, unweighted."""
    return {
        name: math.fsum(cell_losses(loss, attribute, classes, rule, covers_for(name, covers)))
        for name, attribute in table.items()
    }


def record_losses(
    loss: CellLoss, table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None
) -> list[float]:
    """Weighted sum over the attributes for each record."""
    columns = [
        [attribute.weight * cell for cell in cell_losses(loss, attribute, classes, rule, covers_for(name, covers))]
        for name, attribute in table.items()
    ]
    return [math.fsum(cells) for cells in zip(*columns, strict=True)]


def table_loss(
    loss: CellLoss, table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None
) -> float:
    """Weighted sum over all cells."""
    return math.fsum(record_losses(loss, table, classes, rule, covers))


def record_count(table: Table) -> int:
    return len(next(iter(table.values())).column)


def normalized_loss(
    loss: CellLoss, table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None
) -> float:
    """Weighted mean over all cells: the sum divided by n times the sum of the weights."""
    weights = math.fsum(attribute.weight for attribute in table.values())
    return table_loss(loss, table, classes, rule, covers) / (record_count(table) * weights)


def ncp(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    return table_loss(ncp_cell, table, classes, rule, covers)


def gcp(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    """Normalized NCP, 0 for the original and 1 for the fully suppressed table."""
    return normalized_loss(ncp_cell, table, classes, rule, covers)


def utility(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    return 1 - gcp(table, classes, rule, covers)


def iloss(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    return table_loss(iloss_cell, table, classes, rule, covers)


def lm(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    return table_loss(lm_cell, table, classes, rule, covers)


# --- metrics of class sizes ----------------------------------------------------------------------------------------


def dm(classes: Classes, n: int, k: int = 1) -> int:
    """Discernibility metric: |E| per record of a class, n per suppressed record or record of a class below k."""
    kept = [len(records) for records in classes if len(records) >= k]
    return sum(size * size for size in kept) + n * (n - sum(kept))


def c_avg(classes: Classes, k: int) -> float:
    """Average class size over k; suppressed records do not count. Undefined without classes."""
    return sum(map(len, classes)) / len(classes) / k


# --- metrics of changed cells --------------------------------------------------------------------------------------


def md(table: Table, classes: Classes, covers: Covers | None = None) -> dict[str, tuple[int, int]]:
    """Minimal distortion per attribute: number of generalized cells, number of suppressed records' cells."""
    result = {}
    for name, attribute in table.items():
        cells = cell_covers(attribute, classes, covers_for(name, covers))
        generalized = sum(1 for cover in cells if cover is not None and len(set(cover)) > 1)
        result[name] = (generalized, sum(1 for cover in cells if cover is None))
    return result


def cm(labels: Sequence[Value], classes: Classes) -> float:
    """Classification metric: share of records that are suppressed or differ from their class's most frequent label."""
    agreeing = sum(max(Counter(members(labels, records)).values()) for records in classes)
    return (len(labels) - agreeing) / len(labels)


def level_of(attribute: Attribute, cover: Cover) -> int:
    """Hierarchy steps climbed; without a tree 0 for one value, else 1."""
    if cover is None or is_suppressed(attribute, cover):
        return height(attribute)
    if attribute.tree is None:
        return int(len(set(cover)) > 1)
    return 0 if set(cover) == {None} else ancestor_level(cover, attribute.tree)


def climbed_share(attribute: Attribute, cover: Cover) -> float:
    if cover is None:
        return 1.0
    return level_of(attribute, cover) / height(attribute) if height(attribute) else 0.0


def prec(table: Table, classes: Classes, levels: Mapping[str, Sequence[int]] | None = None) -> float:
    """Precision (Sweeney 2002): 1 - mean share of the hierarchy climbed.

    `levels` gives the level that each class publishes, for recodings that climb above the lowest common ancestor.
    """
    climbed = []
    for name, attribute in table.items():
        if levels is None or name not in levels:
            climbed += [climbed_share(attribute, cover) for cover in cell_covers(attribute, classes)]
            continue
        kept = sum(map(len, classes))
        climbed += [1.0] * (len(attribute.column) - kept)
        for records, level in zip(classes, levels[name], strict=True):
            climbed += [level / height(attribute)] * len(records)
    return 1 - math.fsum(climbed) / len(climbed)


# --- non-uniform entropy (Gionis & Tassa 2009; de Waal & Willenborg 1999) ------------------------------------------


def entropy_cell(attribute: Attribute, value: Value, cover: Cover, rule: str = "tree") -> float:
    """Bits needed to guess the original value: -log2 of its share among the records that the cover may stand for.

    Counted on the original column.
    """
    covered = values_covered(attribute, cover, rule)
    among = sum(1 for other in attribute.column if other in covered)
    same = sum(1 for other in attribute.column if other == value)
    return math.log2(among / same)


def entropy_of_attribute(
    attribute: Attribute, classes: Classes, rule: str = "tree", covers: Sequence[Cover] | None = None
) -> float:
    cells = cell_covers(attribute, classes, covers)
    return math.fsum(
        entropy_cell(attribute, value, cover, rule) for value, cover in zip(attribute.column, cells, strict=True)
    )


def entropy_loss(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    """Bits lost over the whole table, unweighted."""
    return math.fsum(
        entropy_of_attribute(attribute, classes, rule, covers_for(name, covers)) for name, attribute in table.items()
    )


def normalized_entropy(table: Table, classes: Classes, rule: str = "tree", covers: Covers | None = None) -> float:
    """Bits lost over those of the fully suppressed table; 0 when that has nothing to lose."""
    most = entropy_loss(table, [], rule)
    return entropy_loss(table, classes, rule, covers) / most if most else 0.0


# --- squared errors of means ---------------------------------------------------------------------------------------


def z_scores(column: Sequence[float]) -> list[float]:
    """Deviation from the mean in sample standard deviations; zeros for a constant column."""
    mean = statistics.fmean(column)
    if len(set(column)) == 1:
        return [0.0] * len(column)
    deviation = statistics.stdev(column)
    return [(value - mean) / deviation for value in column]


def squared_error(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def sse_sst(columns: Mapping[str, Sequence[float]], classes: Classes) -> float:
    """100 · squared error within classes / squared error of the table, on z-scores.

    A suppressed record is taken to be published as the mean of the whole table. 0 when all columns are constant.
    """
    within, total = [], []
    kept = {index for records in classes for index in records}
    for column in map(z_scores, columns.values()):
        total.append(squared_error(column))
        within += [squared_error(members(column, records)) for records in classes]
        within += [score * score for index, score in enumerate(column) if index not in kept]
    return 100 * math.fsum(within) / math.fsum(total) if math.fsum(total) else 0.0

"""Losses as whole numbers that can be added up over parts of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import add
from typing import NamedTuple

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.metrics.cells import exact_sum, records_with
from sfumato.metrics.distortion import climbed_cells
from sfumato.metrics.generalization_loss import iloss_cells, iloss_suppressed, lm_cells
from sfumato.metrics.penalty import cell_penalties
from sfumato.metrics.rules import Rule, under_rule


class CellSums(NamedTuple):
    """What the cells of one attribute lost: how many were changed, and losses in units (``metrics.cells.UNIT``)."""

    changed: int
    ncp: int
    iloss: int
    loss_metric: int
    climbed: int


@dataclass(frozen=True)
class LossSums:
    """What losses are worked out from.

    The sums of parts that have whole classes add up to those of the table, whatever the parts and their order are.

    Attributes
    ----------
    records, classes, suppressed : int
    counted, squares : int
        Records in classes that are large enough for `discernibility`, and the squared sizes of these classes.
    cells : mapping of str to CellSums
        By attribute.
    """

    records: int
    classes: int
    suppressed: int
    counted: int
    squares: int
    cells: Mapping[str, CellSums]

    def __add__(self, other: LossSums) -> LossSums:
        """Add the sums of another part of the same table."""
        return LossSums(
            self.records + other.records,
            self.classes + other.classes,
            self.suppressed + other.suppressed,
            self.counted + other.counted,
            self.squares + other.squares,
            {name: CellSums(*map(add, mine, other.cells[name])) for name, mine in self.cells.items()},
        )


def loss_sums(generalized: GeneralizedTable, k: int, rule: Rule = "auto") -> LossSums:
    """Add up what a table, or a part of one that has whole classes, lost.

    Parameters
    ----------
    generalized
        A recoded table or part.
    k
        The class size that DM refers to.
    rule
        How categories are counted; see :func:`~sfumato.metrics.rules.under_rule`. Under ``"set"`` the sums of parts do
        not add up: it counts the values that the records of the table have.

    Notes
    -----
    Cost O(c) per attribute.
    """
    sizes = generalized.sizes
    large = sizes[sizes >= k]
    pairs = zip(generalized.columns, under_rule(generalized, rule).columns, strict=True)
    return LossSums(
        generalized.height,
        len(sizes),
        generalized.suppressed,
        int(large.sum()),
        int(large @ large),
        {column.attribute.name: _cell_sums(generalized, column, ruled) for column, ruled in pairs},
    )


def _cell_sums(generalized: GeneralizedTable, column: GeneralizedColumn, ruled: GeneralizedColumn) -> CellSums:
    """Sum over one attribute, as it was recoded and as the rule counts it."""
    records, suppressed = records_with(column, generalized.sizes), generalized.suppressed
    seen = records if ruled.per_class is column.per_class else records_with(ruled, generalized.sizes)
    return CellSums(
        int(records[column.level > 0].sum()) + suppressed,
        exact_sum(seen, cell_penalties(ruled), suppressed, 1.0),
        exact_sum(seen, iloss_cells(ruled), suppressed, iloss_suppressed(ruled)),
        exact_sum(seen, lm_cells(ruled), suppressed, 1.0),
        exact_sum(records, climbed_cells(column), suppressed, 1.0),
    )

"""All losses of a recoding in one value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import NamedTuple

import numpy as np

from sfumato.classes.generalized import Form, GeneralizedColumn, GeneralizedTable
from sfumato.classes.statistics import SensitiveCounts
from sfumato.errors import InputError, raise_all
from sfumato.metrics.cell_losses import (
    UNIT,
    Rule,
    cell_penalties,
    climbed_cells,
    exact_sum,
    iloss_cells,
    iloss_suppressed,
    lm_cells,
    normalized_entropy,
    records_with,
    squared_error,
    under_rule,
)
from sfumato.numbers import DIGITS, counted, figure, percent

# What the sizes of classes say, and whether their records have one label: DM, C_avg, CM.


def discernibility(generalized: GeneralizedTable, k: int = 1) -> int:
    """Charge every record the number of records that look like it (DM); lower is better.

    `generalized`: n original records. `k`: classes below this size count as suppressed. Returns: the squared sizes of
    the classes, and n for every suppressed record. Bayardo and Agrawal, "Data privacy through optimal k-anonymization",
    ICDE 2005. Cost O(c).
    """
    sizes = generalized.sizes
    large_enough = sizes[sizes >= k]
    return int(np.sum(large_enough * large_enough)) + generalized.height * (
        generalized.height - int(large_enough.sum())
    )


def average_class_size(generalized: GeneralizedTable, k: int = 1) -> float:
    """Divide the mean class size by k (C_avg); 1 is ideal.

    Suppressed records do not count. The result is infinite when no class is left. LeFevre, DeWitt and Ramakrishnan,
    "Mondrian multidimensional k-anonymity", ICDE 2006. Cost O(c).
    """
    classes = len(generalized.sizes)
    return float(generalized.sizes.sum()) / classes / k if classes else math.inf


def classification_metric(generalized: GeneralizedTable, labels: SensitiveCounts) -> float:
    """Return the share of records that are suppressed or lack their class's most frequent label (CM); lower is better.

    `generalized`: n original records. `labels`: how often each label occurs in each of its classes; see
    :func:`~sfumato.classes.counting.class_statistics`. Iyengar, "Transforming data to satisfy privacy constraints", KDD
    2002. If several labels are equally frequent, the choice makes no difference. Cost O(class and label pairs).
    """
    if not len(generalized.sizes):
        return 1.0
    agreeing = int(np.maximum.reduceat(labels.counts, labels.starts[:-1]).sum())
    return (generalized.height - agreeing) / generalized.height


@dataclass(frozen=True)
class Losses:
    """What a recoding lost; suppressed records are charged in every figure.

    * `records`, `classes`, `suppressed`: original records, published classes, suppressed records.
    * `k`: the class size that `discernibility` and `average_class_size` refer to.
    * `rule`: how categories were counted.
    * `discernibility`: DM.
    * `average_class_size`: C_avg; infinite when no class is left.
    * `changed`: cells of each attribute that are not published exactly.
    * `attribute_ncp`: mean NCP of each attribute, in [0, 1].
    * `ncp`: NCP summed over the table, weighted.
    * `normalized_ncp`: the same over its largest possible value: the information loss, in [0, 1].
    * `iloss`: ILoss summed over the table, weighted.
    * `loss_metric`: LM summed over the table, weighted.
    * `precision`: prec, in [0, 1]; higher is better.
    * `entropy`: non-uniform entropy over that of the fully suppressed table, in [0, 1]; None in the sums of parts.
    * `squared_error`: 100 · SSE / SST; None when there are no numbers, or when the rows are not aligned with the
      original.
    * `classification`: CM; None when no labels were handed in.
    """

    records: int
    classes: int
    suppressed: int
    k: int
    rule: Rule
    discernibility: int
    average_class_size: float
    changed: Mapping[str, int]
    attribute_ncp: Mapping[str, float]
    ncp: float
    normalized_ncp: float
    iloss: float
    loss_metric: float
    precision: float
    entropy: float | None
    squared_error: float | None = None
    classification: float | None = None

    @property
    def minimal_distortion(self) -> int:
        """MD: changed cells of all attributes."""
        return sum(self.changed.values())

    @property
    def utility(self) -> float:
        """Return 1 minus the normalized NCP."""
        return 1.0 - self.normalized_ncp

    def __str__(self) -> str:
        """Write what was counted, then :meth:`lines`."""
        counts = (
            f"{counted(self.records, 'record')} in {counted(self.classes, 'class')}, {self.suppressed:,} suppressed"
        )
        return "\n".join([counts, *(f"  {line}" for line in self.lines())])

    def _repr_html_(self) -> str:
        """Show notebooks the losses of attributes as bars, and the figures of the table."""
        from sfumato.metrics.losses_html import loss_parts
        from sfumato.notebook import card

        note = f"{counted(self.records, 'record')} in {counted(self.classes, 'class')}, {self.suppressed:,} suppressed"
        return card("Losses", note, *loss_parts(self))

    def lines(self, digits: int = DIGITS, *, of_classes: bool = False) -> list[str]:
        """Write aligned lines for people: the table's figures, or those `of_classes` alone, then each attribute's."""
        rows = self.rows(digits, of_classes=of_classes)
        width = max(len(name) for name, _ in rows)
        return [f"{name:<{width}}  {text}" for name, text in rows]

    def rows(self, digits: int = DIGITS, *, of_classes: bool = False) -> list[tuple[str, str]]:
        """Return the name of each figure and the figure as text; parameters are those of :meth:`lines`."""
        return self._class_rows(digits) if of_classes else self._rows(digits)

    def _class_rows(self, digits: int) -> list[tuple[str, str]]:
        return [
            ("discernibility (DM)", f"{self.discernibility:,}"),
            (f"average class size / {self.k} (C_avg)", figure(self.average_class_size, digits=digits)),
        ]

    def _rows(self, digits: int) -> list[tuple[str, str]]:
        number, share = partial(figure, digits=digits), partial(percent, digits=digits)
        # Utility from the rounded loss: it would otherwise show more digits of a loss near 1.
        lost = float(f"{self.normalized_ncp:.{digits}g}")
        cells = self.records * len(self.changed)
        # No cell is charged more than the weight of its column; nothing that is lost says nothing of the weights.
        most = number(self.ncp / self.normalized_ncp) if self.normalized_ncp else f"{cells:,}"
        (squares, crowd), (size, mean) = self._class_rows(digits)
        rows = [
            ("information loss (NCP)", f"{share(self.normalized_ncp)}, utility {percent(1.0 - lost)}"),
            (squares, f"{crowd} of at most {self.records**2:,}"),
            (size, f"{mean}; 1 is ideal"),
            ("changed cells (MD)", f"{self.minimal_distortion:,} of {cells:,}"),
            ("ILoss", f"{number(self.iloss)} of at most {most}"),
            ("LM", f"{number(self.loss_metric)} of at most {most}"),
            *([] if self.entropy is None else [("non-uniform entropy", share(self.entropy))]),
            ("precision (Prec)", share(self.precision)),
        ]
        if self.squared_error is not None:
            rows.append(("squared error (SSE/SST)", share(self.squared_error / 100)))
        if self.classification is not None:
            rows.append(("classification (CM)", number(self.classification)))
        return [*rows, *((f"  {name} (NCP)", share(loss)) for name, loss in self.attribute_ncp.items())]


def measure_losses(
    generalized: GeneralizedTable, k: int, *, rule: Rule = "auto", labels: SensitiveCounts | None = None
) -> Losses:
    """Measure everything that a recoding lost; `k`: the class size that DM and C_avg refer to; `labels`: counts for CM.

    Raises when the rule does not fit, and for class means that were read back from a published frame: they do not show
    the ranges of their classes, so every loss would be far too low. Cost O(n) for the entropy and the squared error of
    each attribute, O(c) for everything else.
    """
    raise_all(InputError, _unknown_ranges(generalized))
    weights = {column.attribute.name: column.attribute.weight for column in generalized.columns}
    measured = generalized.aligned and any(column.attribute.is_measured for column in generalized.columns)
    return replace(
        losses_of(loss_sums(generalized, k, rule), weights, k, rule=rule),
        entropy=normalized_entropy(generalized),
        squared_error=squared_error(generalized) if measured else None,
        classification=classification_metric(generalized, labels) if labels is not None else None,
    )


def losses_of(sums: LossSums, weights: Mapping[str, float], k: int, *, rule: Rule = "auto") -> Losses:
    """Work out the losses that sums of a whole table, or of all parts, tell: not the entropy, squared error and CM."""
    cells, records = sums.cells, sums.records
    penalties = {name: cell.ncp / UNIT / records for name, cell in cells.items()}
    penalty = records * sum(weights[name] * share for name, share in penalties.items())
    published = records - sums.suppressed
    return Losses(
        records=records,
        classes=sums.classes,
        suppressed=sums.suppressed,
        k=k,
        rule=rule,
        discernibility=sums.squares + records * (records - sums.counted),
        average_class_size=published / sums.classes / k if sums.classes else math.inf,
        changed={name: cell.changed for name, cell in cells.items()},
        attribute_ncp=penalties,
        ncp=penalty,
        normalized_ncp=penalty / (records * sum(weights.values())),
        iloss=sum(weights[name] * (cell.iloss / UNIT) for name, cell in cells.items()),
        loss_metric=sum(weights[name] * (cell.loss_metric / UNIT) for name, cell in cells.items()),
        precision=1.0 - sum(cell.climbed / UNIT for cell in cells.values()) / (records * len(cells)),
        entropy=None,
    )


def _unknown_ranges(generalized: GeneralizedTable) -> list[str]:
    return [
        f"column {column.attribute.name!r} is published as class means, whose losses cannot be computed from the "
        "published table; read them in the report that was made with it"
        for column in generalized.columns
        if column.form is Form.MEAN and not generalized.aligned
    ]


class _CellSums(NamedTuple):
    """What the cells of one attribute lost: how many were changed, and losses in units (``metrics.cells.UNIT``)."""

    changed: int
    ncp: int
    iloss: int
    loss_metric: int
    climbed: int


@dataclass(frozen=True)
class LossSums:
    """What losses are worked out from: sums of parts with whole classes add up to those of the table, in any order."""

    records: int
    classes: int
    suppressed: int
    # `counted`, `squares`: records in classes that are large enough for `discernibility`, and the squared sizes of
    # these classes
    counted: int
    squares: int
    cells: Mapping[str, _CellSums]  # by attribute

    def __add__(self, other: LossSums) -> LossSums:
        """Add the sums of another part of the same table."""
        return LossSums(
            self.records + other.records,
            self.classes + other.classes,
            self.suppressed + other.suppressed,
            self.counted + other.counted,
            self.squares + other.squares,
            {name: _CellSums(*map(add, mine, other.cells[name])) for name, mine in self.cells.items()},
        )


def loss_sums(generalized: GeneralizedTable, k: int, rule: Rule = "auto") -> LossSums:
    """Add up what a table, or a part of whole classes, lost; under ``"set"`` the sums of parts do not add up."""
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


def _cell_sums(generalized: GeneralizedTable, column: GeneralizedColumn, ruled: GeneralizedColumn) -> _CellSums:
    """Sum over one attribute, as it was recoded and as the rule counts it."""
    records, suppressed = records_with(column, generalized.sizes), generalized.suppressed
    records_of_values = records if ruled.per_class is column.per_class else records_with(ruled, generalized.sizes)
    return _CellSums(
        int(records[column.level > 0].sum()) + suppressed,
        exact_sum(records_of_values, cell_penalties(ruled), suppressed, 1.0),
        exact_sum(records_of_values, iloss_cells(ruled), suppressed, iloss_suppressed(ruled)),
        exact_sum(records_of_values, lm_cells(ruled), suppressed, 1.0),
        exact_sum(records, climbed_cells(column), suppressed, 1.0),
    )

"""What a table lost: certainty penalty, LM, ILoss, distortion, precision, entropy, squared error, in one value.

Every loss is summed over records, exactly; suppressed records are charged. Categories are counted by the leaves of
their hierarchy, or by the values that occur in a class.

Letters: n records, c classes, g distinct generalized values of an attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, GeneralizedColumn, GeneralizedTable, ValueSets, known
from sfumato.classes.statistics import SensitiveCounts
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.kernels.boxes import class_starts, class_sums, group_by_class, value_sets
from sfumato.numbers import DIGITS, counted, figure, percent
from sfumato.table.encoding import EncodedAttribute

_CellLoss = Callable[[GeneralizedColumn], NDArray[np.float64]]
"""Loss of each generalized value, float64 (g,)."""


UNIT = 2**62
"""What a loss of 1 counts: sums are of whole numbers, so that no order and no split of the records changes them."""


def records_with(column: GeneralizedColumn, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the records that publish each generalized value; int64 (g,). sizes : int64 (c,)."""
    # Sums of floats below 2**53 are exact, and cost half as much as adding integers in place.
    return np.bincount(column.per_class, weights=sizes, minlength=column.count).astype(np.int64)


def exact_sum(records: NDArray[np.int64], losses: NDArray[np.float64], suppressed: int = 0, charge: float = 0.0) -> int:
    """Sum losses in [0, 1] of one attribute over the records that publish each value, in units; others at `charge`.

    Exact below 2**31 records, but for losses below 2**-10, which are rounded to the unit.
    """
    units = np.rint(np.ldexp(losses, 62)).astype(np.int64)
    upper, lower = int(records @ (units >> 31)), int(records @ (units & (2**31 - 1)))
    return (upper << 31) + lower + suppressed * round(charge * UNIT)


def _column_sum(
    generalized: GeneralizedTable, column: GeneralizedColumn, losses: NDArray[np.float64], suppressed: float
) -> float:
    """Sum the losses of one attribute over all records, and charge `suppressed` for each suppressed one."""
    return exact_sum(records_with(column, generalized.sizes), losses, generalized.suppressed, suppressed) / UNIT


def _values_covered(column: GeneralizedColumn) -> NDArray[np.int64]:
    """Count the values behind each generalized value; of sets with a hierarchy, the leaves of the common ancestor."""
    hierarchy = column.attribute.hierarchy
    if column.form is not Form.SET or hierarchy is None:
        return column.leaves.astype(np.int64)
    several = column.low < column.high
    mixed = several & (column.high == column.attribute.size)
    covered = np.ones(column.count, dtype=np.int64)
    inner = several & ~mixed
    covered[inner] = hierarchy.leaf_counts[column.level[inner], column.low[inner]]
    covered[mixed] = column.attribute.domain_size
    return covered


def _width_shares(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Divide the width of each range by that of the domain, float64 (g,); 0 in a constant domain, 1 for ``*``."""
    attribute = column.attribute
    assert attribute.numbers is not None
    # The missing value has no place on the line; alone it is as narrow as one value.
    numbers = np.append(attribute.numbers, 0.0)
    widths = numbers[column.high] - numbers[column.low]
    shares = widths / attribute.domain_width if attribute.domain_width else np.zeros(column.count)
    return np.where(column.unrestricted, 1.0, shares)


def _is_ranged(column: GeneralizedColumn) -> bool:
    """Tell whether losses depend on the width of a range, as for intervals and means."""
    return column.form in (Form.INTERVAL, Form.MEAN)


Rule = Literal["auto", "tree", "set"]


def under_rule(generalized: GeneralizedTable, rule: Rule = "auto") -> GeneralizedTable:
    """Return the table as a rule sees it, for any metric of cells.

    ``"auto"`` counts leaves under the common ancestor where an attribute has a hierarchy, members of the value set
    where it has none. ``"tree"`` insists that every category has a hierarchy. ``"set"`` counts the distinct values of a
    class everywhere, over those of the column: refused where ancestors were read back from a published frame. A class
    that mixes missing and present values still loses the whole domain. Numbers and dates without a hierarchy are
    measured by their range. Cost O(n) for each attribute with a hierarchy under ``"set"``, else nothing.
    """
    if rule == "auto":
        return generalized
    if rule == "tree":
        raise_all(PolicyError, _without_tree(generalized))
        return generalized
    if rule != "set":
        raise PolicyError("the rule for losses must be 'auto', 'tree' or 'set'")
    columns = tuple(
        column if column.attribute.hierarchy is None else _as_sets(generalized, index, column)
        for index, column in enumerate(generalized.columns)
    )
    return replace(generalized, columns=columns)


def _without_tree(generalized: GeneralizedTable) -> list[str]:
    return [
        f"column {column.attribute.name!r} has no hierarchy, which the rule 'tree' needs; give one, or choose 'auto'"
        for column in generalized.columns
        if column.attribute.hierarchy is None and not column.attribute.is_numeric
    ]


def _as_sets(generalized: GeneralizedTable, index: int, column: GeneralizedColumn) -> GeneralizedColumn:
    attribute = replace(
        column.attribute,
        hierarchy=None,
        numbers=None,
        domain_size=int(np.count_nonzero(generalized.frequencies[index])),
    )
    if column.form is Form.SET:
        level = (column.low < column.high).astype(np.int32)
        return replace(column, attribute=attribute, level=level)
    if not generalized.aligned:
        raise InputError("the rule 'set' needs the values of every class, which published ancestors do not show")
    starts = class_starts(generalized.sizes)
    codes = group_by_class(generalized.class_of, generalized.original.codes, np.array([index]), starts)[:, 0]
    per_class, bounds, members = value_sets(codes, starts, attribute.size + 1)
    return _set_column(attribute, per_class, ValueSets(bounds, members))


def _set_column(
    attribute: EncodedAttribute, per_class: np.ndarray[tuple[int], np.dtype[np.int32]], members: ValueSets
) -> GeneralizedColumn:
    low, high = members.codes[members.starts[:-1]], members.codes[members.starts[1:] - 1]
    mixed = (low < high) & (high == attribute.size)
    leaves = np.where(mixed, attribute.domain_size, np.diff(members.starts)).astype(np.int32)
    written = known(pl.Series(["*" if each else None for each in mixed.tolist()], dtype=pl.String))
    level = (low < high).astype(np.int32)
    return GeneralizedColumn(attribute, Form.SET, per_class, written, low, high, leaves, level, members, mixed)


def changed_cells(generalized: GeneralizedTable) -> dict[str, int]:
    """Count the cells of each attribute not published exactly, or suppressed; a mean of unlike values changes all."""
    return {
        column.attribute.name: int(_column_sum(generalized, column, (column.level > 0).astype(np.float64), 1.0))
        for column in generalized.columns
    }


def minimal_distortion(generalized: GeneralizedTable) -> int:
    """Count all changed cells (MD); lower is better."""
    return sum(changed_cells(generalized).values())


def precision(generalized: GeneralizedTable) -> float:
    """Return 1 minus the mean share of the hierarchy's levels that cells climbed (Prec); higher is better.

    Without a hierarchy the only step leads to `*`, and every changed cell has taken it. Suppressed cells have climbed
    to the top. Weights do not count. Sweeney, "Achieving k-anonymity privacy protection using generalization and
    suppression", IJUFKS 2002.
    """
    climbed = sum(_column_sum(generalized, column, climbed_cells(column), 1.0) for column in generalized.columns)
    return 1.0 - climbed / (generalized.height * len(generalized.columns))


def climbed_cells(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the share of its hierarchy that each generalized value climbed, float64 (g,)."""
    return column.level / max(column.height, 1)


def entropy_loss(generalized: GeneralizedTable) -> float:
    """Sum −log2 Pr(original value | published value) over all cells, in bits; lower is better.

    The probability is the share of the original value among all records of the original column whose value the
    published one covers; ``*`` and suppressed cells cover every record. A mean covers the range of its class.

    De Waal and Willenborg, "Information loss through global recoding and local suppression", Netherlands Official
    Statistics 1999; Gionis and Tassa, "k-anonymization with minimal loss of information", IEEE TKDE 2009. Departure:
    weights do not count. Cost O(n) to count the original values, then O(c) per attribute: the original values of all
    cells together are the original column, in whatever order the rows are.
    """
    return sum(_column_entropies(generalized)[0])


def normalized_entropy(generalized: GeneralizedTable) -> float:
    """Divide the entropy by that of the fully suppressed table; in [0, 1], and 0 if that table loses nothing."""
    frequencies = generalized.frequencies
    return entropy_share(covered_counts(generalized, frequencies), frequencies, generalized.suppressed)


Covered = tuple[NDArray[np.int64], NDArray[np.int64]]
"""How many records publish something, int64, and how many records of the original table that covers, int64, each once.

Those of parts add up.
"""


def covered_counts(generalized: GeneralizedTable, frequencies: Sequence[NDArray[np.int64]]) -> list[Covered]:
    """Count for each attribute the records by how many original records their published value covers."""
    found = []
    for column, occurrences in zip(generalized.columns, frequencies, strict=True):
        records, covered = records_with(column, generalized.sizes), _covered_records(column, occurrences)
        different, places = np.unique(covered, return_inverse=True)
        found.append((np.bincount(places, weights=records).astype(np.int64), different))
    return found


def entropy_share(covered: Sequence[Covered], frequencies: Sequence[NDArray[np.int64]], suppressed: int) -> float:
    """Return the normalized entropy of a table of which `suppressed` records are left out."""
    lost, most = map(sum, _entropies(covered, frequencies, suppressed))
    return lost / most if most else 0.0


def _column_entropies(generalized: GeneralizedTable) -> tuple[list[float], list[float]]:
    frequencies = generalized.frequencies
    return _entropies(covered_counts(generalized, frequencies), frequencies, generalized.suppressed)


def _entropies(
    covered: Sequence[Covered], frequencies: Sequence[NDArray[np.int64]], suppressed: int
) -> tuple[list[float], list[float]]:
    """Return the bits that each attribute lost, and those that it would lose fully suppressed."""
    lost, most = [], []
    for (records, counts), occurrences in zip(covered, frequencies, strict=True):
        height = int(occurrences.sum())
        known = _bits(occurrences, occurrences)
        bits = float(np.log2(height))
        # Rounding must not turn an unchanged column into a negative loss.
        lost.append(max(_bits(records, counts) + suppressed * bits - known, 0.0))
        most.append(max(height * bits - known, 0.0))
    return lost, most


def _bits(records: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """Sum records times the bits of their counts: equal counts as whole numbers first, so that no order matters."""
    different, places = np.unique(counts, return_inverse=True)
    together = np.bincount(places, weights=records)
    return math.fsum((together * np.log2(np.maximum(different, 1))).tolist())


def _covered_records(column: GeneralizedColumn, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the original records that each generalized value covers, int64 (g,)."""
    if column.members is None:
        return _between(occurrences, column.low, column.high + 1)
    return _between(occurrences[column.members.codes], column.members.starts[:-1], column.members.starts[1:])


def _between(counts: NDArray[np.int64], starts: NDArray[np.integer], stops: NDArray[np.integer]) -> NDArray[np.int64]:
    below = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=below[1:])
    summed: NDArray[np.int64] = below[stops] - below[starts]
    return summed


def iloss(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Sum (values covered − 1) / (values of the domain) over all cells, weighted; lower is better.

    Intervals and means cover the values of the data between their ends; a suppressed cell loses (|D| − 1) / |D|. Xiao
    and Tao, "Personalized privacy preservation", SIGMOD 2006.
    """
    return _weighted_sum(under_rule(generalized, rule), iloss_cells, iloss_suppressed)


def loss_metric(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Sum (values covered − 1) / (values of the domain − 1), or the share of the range, over all cells (LM), weighted.

    Lower is better; a suppressed cell loses 1. Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002.
    """
    return _weighted_sum(under_rule(generalized, rule), lm_cells, lambda column: 1.0)


def _weighted_sum(
    generalized: GeneralizedTable, cells: _CellLoss, suppressed: Callable[[GeneralizedColumn], float]
) -> float:
    return sum(
        column.attribute.weight * _column_sum(generalized, column, cells(column), suppressed(column))
        for column in generalized.columns
    )


def iloss_cells(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the ILoss of each generalized value, float64 (g,)."""
    return (_values_covered(column) - 1) / column.attribute.domain_size


def iloss_suppressed(column: GeneralizedColumn) -> float:
    """Return the ILoss of a suppressed cell."""
    return (column.attribute.domain_size - 1) / column.attribute.domain_size


def lm_cells(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the LM of each generalized value, float64 (g,)."""
    if _is_ranged(column):
        return _width_shares(column)
    shares = (_values_covered(column) - 1) / max(column.attribute.domain_size - 1, 1)
    return np.where(column.unrestricted, 1.0, shares)


def cell_penalties(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return the penalty of each generalized value: its range, or the values covered, over the domain; ``*``: 1."""
    if _is_ranged(column):
        return _width_shares(column)
    covered = _values_covered(column)
    penalties = np.where(covered > 1, covered / column.attribute.domain_size, 0.0)
    return np.where(column.unrestricted, 1.0, penalties)


def attribute_penalties(generalized: GeneralizedTable, rule: Rule = "auto") -> dict[str, float]:
    """Return the mean penalty of each attribute over all original records, in [0, 1]; a suppressed cell is 1."""
    view = under_rule(generalized, rule)
    return {
        column.attribute.name: _column_sum(view, column, cell_penalties(column), 1.0) / generalized.height
        for column in view.columns
    }


def certainty_penalty(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Sum the weighted penalties of all cells (NCP of the table); lower is better.

    Xu, Wang, Pei, Wang, Shi and Fu, "Utility-based anonymization using local recoding", KDD 2006.
    """
    penalties = attribute_penalties(generalized, rule)
    weighted = (column.attribute.weight * penalties[column.attribute.name] for column in generalized.columns)
    return generalized.height * sum(weighted)


def normalized_certainty_penalty(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Divide the NCP of the table by its largest possible value, n times the sum of the weights; in [0, 1].

    Ghinita, Karras, Kalnis and Mamoulis (VLDB 2007) call it GCP. They divide by the number of attributes, with weights
    that already sum to 1, so their figure never reaches 1. Here the divisor is the sum of the weights.
    """
    weights = sum(column.attribute.weight for column in generalized.columns)
    return certainty_penalty(generalized, rule) / (generalized.height * weights)


def peoples_penalty(generalized: GeneralizedTable, people: NDArray[np.int32], rule: Rule = "auto") -> float:
    """Return the mean over people of the mean penalty of each one's records; in [0, 1]. Cost O(n q)."""
    view = under_rule(generalized, rule)
    weights = sum(column.attribute.weight for column in view.columns)
    of_class = sum(column.attribute.weight * cell_penalties(column)[column.per_class] for column in view.columns)
    # The last place is that of suppressed records. Whole numbers add up to the same in every order.
    units = np.rint(np.append(of_class / weights, 1.0) * 2**32)
    records = np.bincount(people)
    own = np.bincount(people, weights=units[generalized.class_of])[records > 0] / records[records > 0]
    return float(np.rint(own).sum() / (len(own) * 2**32))


def utility(generalized: GeneralizedTable, rule: Rule = "auto") -> float:
    """Return 1 minus the normalized NCP; higher is better, 0 for a suppressed table."""
    return 1.0 - normalized_certainty_penalty(generalized, rule)


def squared_error(generalized: GeneralizedTable) -> float:
    """Return 100 · SSE / SST over the numbers and dates without a hierarchy, each on the scale of z-scores.

    A suppressed record, and a class that mixes missing and present values, counts as if the mean of the whole column
    were published; missing values have no error. 0 when every column is constant. Raises ``InputError`` when no
    attribute is a number or date without a hierarchy, or when the table was read back from a published frame, whose
    rows are not aligned with the original.

    Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure control", IEEE
    TKDE 2002. On z-scores every column that varies has the same SST, so that the ratio is the mean of the columns' own
    ratios, whatever the divisor of the variance. Cost O(n) per attribute.
    """
    if not generalized.aligned:
        raise InputError("the squared error cannot be computed from a published table, because its rows are shuffled")
    measured = [index for index, column in enumerate(generalized.columns) if column.attribute.is_measured]
    if not measured:
        raise InputError("the squared error needs a number or date without a hierarchy; there is none")
    found = []
    for index in measured:
        column, occurrences = generalized.columns[index], generalized.frequencies[index][:-1]
        centres = centred_numbers(column.attribute, occurrences)
        codes = generalized.original.codes[:, index]
        sums = class_sums(generalized.class_of, codes, np.append(centres, 0.0), len(generalized.sizes))
        found.append((centres, occurrences, explained(column, sums, generalized.sizes)))
    return error_share(found)


def explained(column: GeneralizedColumn, sums: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
    """Return what the means of classes explain, by their sums and sizes; what those of parts do adds up."""
    restricted = ~column.unrestricted[column.per_class]
    return float(np.sum(sums[restricted] ** 2 / sizes[restricted]))


def error_share(columns: Sequence[tuple[NDArray[np.float64], NDArray[np.int64], float]]) -> float:
    """Return 100 · SSE / SST; of each column the centred numbers, how often each occurs, and what is explained."""
    ratios = []
    for centres, occurrences, told in columns:
        total = float(occurrences @ centres**2)
        # Numbers may be so close that their squared distances, or they themselves as floats, are equal.
        if total != 0.0:
            ratios.append(max(total - told, 0.0) / total)
    return 100.0 * sum(ratios) / len(ratios) if ratios else 0.0


def centred_numbers(attribute: EncodedAttribute, occurrences: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers behind the codes of an attribute less their mean; float64 (size,)."""
    numbers = attribute.numbers
    assert numbers is not None
    return numbers - float(occurrences @ numbers) / max(int(occurrences.sum()), 1)


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

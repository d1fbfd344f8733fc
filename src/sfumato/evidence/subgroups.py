"""What was done to each column, who was suppressed, and who lost most: by attribute, and by subgroup of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form
from sfumato.evaluation.attacks.placement import NOWHERE, SEVERAL, place_people
from sfumato.evaluation.utility.queries import AttributeDomain, Bins, coarse, domains_of
from sfumato.kernels.grouping import first_records
from sfumato.metrics.losses import cell_penalties
from sfumato.published import PublishedTable
from sfumato.recoding import Recoding
from sfumato.recoding.cells import read_cells
from sfumato.recoding.parsing import generalize_published, split_set
from sfumato.table.encoding import EncodedAttribute, encode
from sfumato.table.schema import text_of
from sfumato.table.table import Table

_STAR = "*"
_GROUPS = 6
"""Most subgroups of an attribute that are distinguished."""


@dataclass(frozen=True)
class _Subgroup:
    """A subgroup of people, and how many of them were left out."""

    attribute: str
    group: str
    records: int  # original records
    suppressed: float  # share of them that was left out for sure

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "attribute": self.attribute,
            "group": self.group,
            "records": self.records,
            "suppressed": self.suppressed,
        }


@dataclass(frozen=True)
class _SubgroupLoss:
    """A subgroup, and how much of the information about its records was lost."""

    attribute: str
    group: str
    records: int  # original records whose class can be told
    lost: float  # mean normalized certainty penalty of their values, in [0, 1]; of somebody who was left out, 1
    found: float  # mean chance that one of them is found among the records of her class; of who was left out, 0


class CellChanges(NamedTuple):
    """What was done to the cells of a column: shares of the published records, and how wide what replaced a value is.

    A width is the highest less the lowest number of an interval, in days for dates; of other values how many stand for
    one. `typical` is the median of the cells that were changed and are not ``*``.
    """

    intervals: float
    groups: float
    suppressed: float
    typical: float | None
    largest: float | None

    @property
    def changed(self) -> float:
        """The share of the cells that are no single value any more."""
        return self.intervals + self.groups + self.suppressed


def cell_changes(column: pl.Series, attribute: EncodedAttribute | None) -> CellChanges:
    """Read what was done to a column from its published cells.

    `attribute`: of the original, which tells nodes of a hierarchy from values; None where it may not be looked at. Cost
    O(n + g).
    """
    cells = read_cells(text_of(column))
    records = np.bincount(cells.label_of, minlength=len(cells.labels))
    nodes = {} if attribute is None else _nodes(attribute)
    kind, width = np.zeros(len(records), dtype=np.int64), np.full(len(records), np.nan)
    for place, text in enumerate(cells.labels.to_list()):
        if text == _STAR:
            kind[place] = 3
        elif text is not None and text.startswith("{"):
            kind[place], width[place] = 2, len(split_set(text))
        elif text in nodes:
            kind[place], width[place] = 2, nodes[text]
        elif cells.low[place] < cells.high[place]:
            kind[place], width[place] = 1, cells.high[place] - cells.low[place]
    intervals, groups, suppressed = np.bincount(kind, records, minlength=4)[1:] / max(1, len(column))
    widths = np.repeat(width, records)
    widths = np.sort(widths[~np.isnan(widths)])
    ends = (float(widths[len(widths) // 2]), float(widths[-1])) if len(widths) else (None, None)
    return CellChanges(float(intervals), float(groups), float(suppressed), *ends)


def _nodes(attribute: EncodedAttribute) -> dict[str, int]:
    """Return how many values lie under each label of a hierarchy that is no value itself."""
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return {}
    found: dict[str, int] = {}
    for level in hierarchy.levels[1:]:
        found |= dict(zip(level.labels, np.diff(level.starts).tolist(), strict=True))
    return {label: size for label, size in found.items() if size > 1 and label not in hierarchy.leaves}


def starred_shares(published: PublishedTable) -> dict[str, float]:
    """Return the share of the published records whose value of each quasi-identifying attribute is ``*``."""
    height = max(1, published.data.height)
    return {
        name: float((text_of(published.data[name]) == _STAR).sum() or 0) / height
        for name in published.quasi_identifying
    }


def suppressed_subgroups(
    published: PublishedTable, original: Table, recoding: Recoding, least: int
) -> tuple[_Subgroup, ...]:
    """Count how many people of each subgroup were certainly left out, if any were.

    A person whom no published record covers was left out; records whose quasi-identifying values are all ``*`` cover
    nobody. A person who is covered by the records of others does not count, so the shares are lower bounds; with one
    vocabulary for the whole table they are exact. Nothing is said about class means, which cover nobody with certainty,
    nor about groups of fewer than `least` original records.
    """
    complete = _kept(published)
    if complete.data.height == original.frame.height or recoding.numeric is Form.MEAN:
        return ()
    left_out = np.ones(original.frame.height, dtype=np.bool_)
    if complete.data.height:
        left_out = place_people(complete, original.frame, original.schema, recoding).class_of == NOWHERE
    domains = domains_of(encode(original))
    return tuple(
        group for name in published.quasi_identifying for group in _of_attribute(name, domains[name], left_out, least)
    )


def subgroup_losses(
    published: PublishedTable, original: Table, recoding: Recoding, least: int
) -> tuple[_SubgroupLoss, ...]:
    """Average what is lost over the records of each subgroup, those that lose most first.

    A record is looked for in the published table by its original values, as an attacker does. One that fits several
    classes is not counted. Nothing is said about class means, which cover nobody with certainty, nor about groups of
    fewer than `least` records whose class can be told. Raises ``InputError`` when the original is not the one that the
    release was made from.
    """
    complete = _kept(published)
    if not complete.data.height or recoding.numeric is Form.MEAN:
        return ()
    encoded = encode(original)
    placed = place_people(complete, original.frame, original.schema, recoding)
    classes = generalize_published(complete.data, encoded, recoding)
    of_class = np.mean([cell_penalties(column)[column.per_class] for column in classes.columns], axis=0)
    firsts = first_records(placed.publication.class_of, len(placed.publication.sizes))
    # NOWHERE is the last place: what was left out has lost everything.
    lost = np.append(of_class[classes.class_of[firsts]], 1.0)
    has_class = placed.class_of != SEVERAL
    lost_of = lost[placed.class_of[has_class]]
    found_of = np.append(1 / placed.publication.sizes, 0.0)[placed.class_of[has_class]]
    losses = [
        _SubgroupLoss(name, label, int(records), float(total / records), float(found / records))
        for name, domain in domains_of(encoded).items()
        if name in published.quasi_identifying
        for bins in (coarse(domain, _GROUPS, _GROUPS),)
        for label, records, total, found in zip(
            _labels(domain, bins),
            np.bincount(bins.bin_of[domain.codes][has_class], minlength=bins.count + 1),
            *(
                np.bincount(bins.bin_of[domain.codes][has_class], weights, minlength=bins.count + 1)
                for weights in (lost_of, found_of)
            ),
            strict=True,
        )
        if records >= max(1, least)
    ]
    return tuple(sorted(losses, key=lambda group: -group.lost))


def _kept(published: PublishedTable) -> PublishedTable:
    """Leave out the records of which every quasi-identifying value is ``*``."""
    starred = [(text_of(published.data[name]) == _STAR).fill_null(False) for name in published.quasi_identifying]
    everywhere = pl.Series(np.logical_and.reduce([column.to_numpy() for column in starred]))
    return PublishedTable(published.data.filter(~everywhere), published.quasi_identifying, published.sensitive)


def _of_attribute(name: str, domain: AttributeDomain, left_out: NDArray[np.bool_], least: int) -> list[_Subgroup]:
    bins = coarse(domain, _GROUPS, _GROUPS)
    group_of = bins.bin_of[domain.codes]
    records = np.bincount(group_of, minlength=bins.count + 1)
    gone = np.bincount(group_of[left_out], minlength=bins.count + 1)
    return [
        _Subgroup(name, label, int(all_of_them), float(lost / all_of_them))
        for label, all_of_them, lost in zip(_labels(domain, bins), records, gone, strict=True)
        if all_of_them >= max(1, least)
    ]


def _labels(domain: AttributeDomain, bins: Bins) -> list[str]:
    """Name each bin by its values, and the last bin as that of missing values."""
    texts = domain.attribute.labels.to_list()
    named = []
    for number in range(bins.count):
        codes = np.flatnonzero(bins.bin_of[:-1] == number)
        if domain.numbers is not None:
            codes = codes[np.argsort(domain.numbers[codes], kind="stable")]
            first, last = texts[codes[0]], texts[codes[-1]]
            named.append(first if first == last else f"{first} to {last}")
        else:
            named.append(texts[codes[0]] if len(codes) == 1 else f"{len(codes)} others")
    return [*named, "missing"]

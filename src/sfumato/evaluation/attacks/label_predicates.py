"""Predicates that the labels of a generalized table give away: the region of a class, and a member of one label.

A least label tells that its members occur: every member of a value set, both ends of an interval, at least two children
of a node. Who asks for the region of a class and for its rarest such member often names exactly one person.

Letters: c classes, k records of a class, m members of a label, w the share of a member among those of its label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import Form
from sfumato.evaluation.attacks.downcoding import children_of, label_edges
from sfumato.evaluation.attacks.original_values import TableCells
from sfumato.evaluation.attacks.placement import PublishedClasses, RegisterAttribute, forms_of
from sfumato.evaluation.attacks.protocol import Target

_MOST_WORK = 1 << 24
"""Multiplications for one exact chance; a label that would need more is passed over for another of its class."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelMembers:
    """The member of one label by which each class is asked for.

    `chance`: float64 (c,): that exactly one record of the class has it; −1 where no label tells that a member occurs.
    `attribute`, `low`, `high`: int64 (c,): the attribute, and the codes of the member, ends included.
    """

    chance: NDArray[np.float64]
    attribute: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def holds(
        self, person: NDArray[np.int64], owner: NDArray[np.int64], known: Sequence[RegisterAttribute]
    ) -> NDArray[np.bool_]:
        """Tell of pairs of a person and a class whether the person has the member."""
        codes = np.column_stack([each.codes for each in known])[person, self.attribute[owner]]
        found: NDArray[np.bool_] = (self.low[owner] <= codes) & (codes <= self.high[owner])
        return found


def choose_members(cells: TableCells, others: NDArray[np.bool_], target: Target) -> LabelMembers:
    """Choose for each class the member that most probably isolates one record.

    `others`: bool, people who are not in the data; where there are any, they show how frequent values are, else the
    release does. Chances take the records of a class for draws from these frequencies, given that what the label tells
    holds; see :func:`member_chances`. Cost O(m k²) for each pair of a label and a size.
    """
    publication = cells.publication
    classes = len(publication.sizes)
    found = LabelMembers(np.full(classes, -1.0), *np.zeros((3, classes), dtype=np.int64))
    for place, (known, form) in enumerate(zip(cells.known, forms_of(cells.known, target.recoding), strict=True)):
        edges = "tight" if form is Form.SET else label_edges(target, form, known.attribute)
        if edges != "tight" or getattr(target.anonymizer, "decides_regions", False):
            continue
        shares = _frequencies(known, others, cells.spreads[place].mass * publication.records)
        for rows, codes, size in _cells(publication, place):
            members = _members(form, codes, known)
            weights = np.array([shares[low : high + 1].sum() for low, high in members])
            chances = member_chances(form, weights, shares[codes].sum(), size)
            best = int(chances.argmax())
            better = rows[chances[best] > found.chance[rows]]
            found.chance[better], found.attribute[better] = chances[best], place
            found.low[better], found.high[better] = members[best]
    # Suppressed records are a class that covers everything; its labels are least of nothing.
    found.chance[_covers_everything(cells)] = -1.0
    return found


def _covers_everything(cells: TableCells) -> NDArray[np.bool_]:
    publication = cells.publication
    widths = np.append(0, np.cumsum(publication.high - publication.low + 1))[publication.runs]
    sizes = np.array([each.attribute.size for each in cells.known])
    full: NDArray[np.bool_] = (np.diff(widths)[publication.label_of] >= sizes).all(axis=1)
    return full


def member_chances(form: Form, weights: NDArray[np.float64], total: float, records: int) -> NDArray[np.float64]:
    """Return the chance of each member that exactly one of the records has it, given that the label is least.

    `weights`: float64 (m,): how frequent the members are: the values of a set, the children of a node, the two ends of
    an interval. `total`: how frequent the label is, above 0. `records`: k, 1 or more.

    *Sets*: all members occur. *Nodes*: two children occur at least. *Intervals*: both ends occur. Exact for independent
    draws; O(m k²) for a set, whose rarest member alone is looked at: it has the highest chance.

    Examples
    --------
    >>> member_chances(Form.SET, np.array([0.2, 0.8]), 1.0, 2).round(3).tolist()
    [1.0, 0.0]
    >>> member_chances(Form.ANCESTOR, np.array([0.5, 0.5]), 1.0, 2).tolist()
    [1.0, 1.0]
    """
    shares, none = weights / total, np.zeros(len(weights))
    if form is Form.SET:
        rarest = int(shares.argmin())
        if len(shares) <= records and len(shares) * records**2 <= _MOST_WORK:
            none[rarest] = _one_of_set(np.delete(shares, rarest), float(shares[rarest]), records)
        return none
    once = records * shares * (1 - shares) ** (records - 1)
    if form is Form.ANCESTOR:
        several = 1 - float((shares**records).sum())
        return once / several if several > 0 else none
    other = shares[::-1]
    both = 1 - ((1 - shares) ** records).sum() + (1 - shares.sum()) ** records
    alone = once - records * shares * np.maximum(1 - shares - other, 0.0) ** (records - 1)
    return alone / both if both > 0 else none


def _one_of_set(others: NDArray[np.float64], share: float, records: int) -> float:
    """Return the chance that one record has the member, if it and all others occur: by generating functions."""
    series = np.zeros(records + 1)
    series[0] = 1.0
    powers = np.arange(records + 1)
    down = np.array([1 / factorial(power) if power <= 170 else 0.0 for power in powers.tolist()])
    for each in others.tolist():
        series = np.convolve(series, np.where(powers > 0, each**powers * down, 0.0))[: records + 1]
    once = share * series[records - 1]
    all_occur = float((np.where(powers > 0, share**powers * down, 0.0)[::-1] * series).sum())
    return float(once / all_occur) if all_occur > 0 else 0.0


def _frequencies(known: RegisterAttribute, others: NDArray[np.bool_], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how frequent each code is; one that none of the others has counts half a person."""
    codes = known.codes[others & (known.codes >= 0)]
    if not len(codes):
        return mass + np.finfo(np.float64).tiny
    return np.bincount(codes, minlength=len(mass)).astype(np.float64) + 0.5


def _cells(publication: PublishedClasses, place: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Yield classes with one label and size, the codes of the label, if there are several, and the size."""
    keys = np.column_stack([publication.label_of[:, place].astype(np.int64), publication.sizes])
    pairs, pair_of = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(pair_of.ravel(), kind="stable")
    borders = np.cumsum(np.bincount(pair_of.ravel(), minlength=len(pairs)))[:-1]
    for (label, records), rows in zip(pairs.tolist(), np.split(order, borders), strict=True):
        runs = range(publication.runs[label], publication.runs[label + 1])
        codes = [np.arange(publication.low[run], publication.high[run] + 1) for run in runs]
        covered = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64)
        if len(covered) > 1 and records > 1:
            yield rows, covered, records


def _members(form: Form, codes: NDArray[np.int64], known: RegisterAttribute) -> list[tuple[int, int]]:
    first, last = int(codes[0]), int(codes[-1])
    hierarchy = known.attribute.hierarchy
    if form is Form.ANCESTOR and hierarchy is not None and last < known.attribute.size:
        child_of = children_of(hierarchy, first, last)
        starts = np.flatnonzero(np.append(True, np.diff(child_of) != 0))
        return [
            (first + int(each[0]), first + int(each[-1])) for each in np.split(np.arange(len(child_of)), starts[1:])
        ]
    if form is Form.INTERVAL:
        return [(first, first), (last, last)]
    return [(code, code) for code in codes.tolist()]

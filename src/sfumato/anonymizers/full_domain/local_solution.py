"""From classes on levels of their own to a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.anonymizers.domain_levels import DomainLevels, regions_at
from sfumato.anonymizers.full_domain.lattice_boxes import SearchLimit, SearchProblem
from sfumato.anonymizers.full_domain.leftovers import Boxes, lowest_levels, place_leftovers, record_costs
from sfumato.anonymizers.full_domain.local_levels import local_classes
from sfumato.anonymizers.full_domain.node_loss import CellLoss
from sfumato.anonymizers.full_domain.objective import CellObjective
from sfumato.anonymizers.full_domain.weighted_records import LevelTables, Numbers
from sfumato.anonymizers.protocol import Progress
from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.numbers import figure


def local_solution(
    ground: SearchProblem,
    record_of: Numbers,
    domains: Sequence[DomainLevels],
    budget: SearchLimit,
    measure: str,
    progress: Progress,
) -> tuple[Partition, float] | None:
    """Recode locally, and return what it loses too; None when no node has a class that holds.

    Parameters
    ----------
    ground
        Records, models and an objective of cells.
    record_of
        int32 (n,): the weighted record of each original one.
    domains
        Length q.
    budget
        Nodes to visit, or time to take, at most; what is left then joins the classes there are.
    measure
        What the notes call the objective.
    progress
        Called with what is being done, how much is done, and the total.
    """
    loss, tables = ground.loss, ground.tables
    assert isinstance(loss, CellLoss)
    taken = local_classes(ground.records, tables, ground.rule, loss.objective, budget, progress)
    if not taken.count:
        return None
    boxes = _settled(Boxes(ground.records, taken.class_of, taken.count), ground, loss.objective, domains)
    value = _value(boxes, loss.objective, tables, domains)
    partition = _partition(boxes, record_of, domains)
    note = (
        f"Local recoding: {partition.count:,} classes on levels of their own, from {taken.visited:,} visits of nodes "
        f"of the lattice in rising order of their cost ({measure}: {figure(value)}); not proven to be the best."
    )
    return replace(partition, notes=(note,)), value


def _settled(taken: Boxes, ground: SearchProblem, objective: CellObjective, domains: Sequence[DomainLevels]) -> Boxes:
    """Let what is left join the classes, or suppress it where that is allowed and costs less."""
    rule, records = ground.rule, ground.records
    left = int(records.weights[taken.class_of < 0].sum())
    boxes = Boxes(records, taken.class_of, len(taken.sizes))
    place_leftovers(boxes, domains, ground.tables, objective, rule)
    if rule.relative or not rule.smallest <= left <= rule.limit:
        return boxes
    before, after = (_total(each, objective, ground.tables, domains) for each in (taken, boxes))
    return taken if before + left * float(objective.shares.sum()) < after else boxes


def _total(boxes: Boxes, objective: CellObjective, tables: LevelTables, domains: Sequence[DomainLevels]) -> float:
    owners = np.flatnonzero(boxes.sizes)
    costs = record_costs(domains, tables, objective, boxes.low[owners], boxes.high[owners])
    # Summed exactly enough: the numbers of classes follow the order of the records.
    return float(np.sort(costs * boxes.sizes[owners]).sum())


def _value(boxes: Boxes, objective: CellObjective, tables: LevelTables, domains: Sequence[DomainLevels]) -> float:
    owners = np.flatnonzero(boxes.sizes)
    low = boxes.low[owners]
    levels = lowest_levels(domains, low, boxes.high[owners])
    entries = tables.starts + levels * tables.widths + low
    suppressed = int(boxes.records.weights.sum()) - int(boxes.sizes.sum())
    return objective.value(boxes.sizes[owners] @ objective.costs[entries] + suppressed * objective.full)


def _partition(boxes: Boxes, record_of: Numbers, domains: Sequence[DomainLevels]) -> Partition:
    """Put classes together that publish the same values."""
    owners = np.flatnonzero(boxes.sizes)
    low = boxes.low[owners]
    levels = lowest_levels(domains, low, boxes.high[owners])
    regions = regions_at(low.astype(np.uint32), domains, list(levels.T))
    same, count = group_records(np.column_stack([regions.low, regions.high, regions.level]))
    firsts = np.empty(count, dtype=np.int64)
    firsts[same[::-1]] = np.arange(len(same))[::-1]
    # The last entry stands for −1, the suppressed records.
    number = np.full(len(boxes.sizes) + 1, -1, dtype=np.int32)
    number[owners] = same
    return Partition(number[boxes.class_of][record_of], count, regions=regions.take(firsts))

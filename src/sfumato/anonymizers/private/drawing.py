"""Synthetic records, drawn from a fitted joint distribution: nobody's, and no more than the noisy counts tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.private.consistency import FittedJoint

Codes = NDArray[np.int64]


def draw_records(joint: FittedJoint, names: Sequence[str], count: int) -> Codes:
    """Draw records whose marginals in each clique differ from the fitted ones by little more than rounding.

    Returns
    -------
    numpy.ndarray
        int64 (count, a): codes of the columns `names`, in random order.

    Notes
    -----
    Clique by clique: records that are alike in what a clique shares with those before are drawn at even steps along
    its cells, from a random start. Nothing of the table is used, so the order and steps need no secure randomness.
    Cost O(count log count) for each clique.
    """
    random = np.random.default_rng()
    drawn: dict[str, Codes] = {}
    for place, clique in enumerate(joint.cliques):
        shared = joint.separator(place)
        own = tuple(name for name in clique if name not in shared)
        table = np.transpose(joint.tables[place], [clique.index(name) for name in (*shared, *own)])
        sizes = table.shape[: len(shared)]
        group = np.zeros(count, dtype=np.int64)
        if shared:
            group = np.ravel_multi_index([drawn[name] for name in shared], sizes)
        cells = _drawn_cells(table.reshape(int(np.prod(sizes, dtype=np.int64)), -1), group, random)
        codes = np.unravel_index(cells, table.shape[len(shared) :])
        drawn |= {name: code.astype(np.int64) for name, code in zip(own, codes, strict=True)}
    order = random.permutation(count)
    return np.column_stack([drawn[name] for name in names])[order]


def _drawn_cells(table: NDArray[np.float64], group: Codes, random: np.random.Generator) -> Codes:
    """Draw a cell of its group's row for each record, at even steps; a row without any weight is taken as even."""
    rows = table + np.where(table.sum(axis=1, keepdims=True) > 0, 0.0, 1.0)
    ends = np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1)
    shuffled = random.permutation(len(group))
    order = shuffled[np.argsort(group[shuffled], kind="stable")]
    sorted_groups = group[order]
    sizes = np.bincount(group, minlength=len(rows))
    starts = np.cumsum(sizes) - sizes
    step = (np.arange(len(group)) - starts[sorted_groups] + random.random(len(rows))[sorted_groups]) / np.maximum(
        sizes[sorted_groups], 1
    )
    width = rows.shape[1]
    # Rows one after the other, each on its own unit: one search finds all cells.
    along = (ends + np.arange(len(rows))[:, None]).ravel()
    found = np.searchsorted(along, step + sorted_groups, side="right") - sorted_groups * width
    cells = np.empty(len(group), dtype=np.int64)
    cells[order] = _with_weight(rows, sorted_groups, np.clip(found, 0, width - 1))
    return cells


def _with_weight(rows: NDArray[np.float64], groups: Codes, cells: Codes) -> Codes:
    """Move a draw that rounding put onto a cell without weight to the last one before that has some."""
    place = np.arange(rows.shape[1])
    last = np.maximum.accumulate(np.where(rows > 0, place, -1), axis=1)
    first = np.argmax(rows > 0, axis=1)
    before = last[groups, cells]
    return np.where(before >= 0, before, first[groups])

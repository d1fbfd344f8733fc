"""Places and times at every grain: cells that halve or nodes of a hierarchy, and hours that join to parts of the day.

Both are an :class:`Axis`: levels of which each nests in the next. A label says all of its node, so that whoever holds a
release needs nothing else: a cell its south-west corner and its side in degrees, a time its begin and its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.tree import ROOT, Hierarchy

SMALLEST, LARGEST = 2.0**-14, 1.0
"""Sides of the finest cells, in degrees: from seven metres on."""
WIDTHS = {1: "PT1H", 3: "PT3H", 6: "PT6H", 12: "PT12H", 24: "P1D", 168: "P1W"}
"""Lengths of times in hours, each of which nests in the next, and how ISO 8601 writes them. Weeks begin on Monday."""
_MONDAY = date(1970, 1, 5)
_CELL = re.compile(r"([NS])([0-9.]+) ([EW])([0-9.]+) \+([0-9.]+)")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T([0-9]{2}))?/(P[A-Z0-9]+)")


@dataclass(frozen=True, eq=False, repr=False)
class Axis:
    """Places, or times, at every level. Letters: h + 1 levels, d leaves, of which each occurs."""

    levels: tuple[tuple[str, ...], ...]  # labels of the nodes of each level, the finest first
    node_of: NDArray[np.int32]  # (h + 1, d): the node of each leaf
    shares: NDArray[np.float64]  # (h + 1, d): which share of the places, or of the time, the node covers; 0 for a leaf

    @property
    def height(self) -> int:
        """H."""
        return len(self.levels) - 1


def grid_axis(latitudes: NDArray[np.float64], longitudes: NDArray[np.float64], side: float) -> tuple[Axis, Leaves]:
    """Return the cells of points, and the leaf of each point.

    Cells are squares of degrees (plate carrée): away from the equator narrower than high. Their sides double from level
    to level until one cell holds all. `side`: of the finest cells, a power of two.
    """
    rows = np.minimum((latitudes + 90) // side, 180 / side - 1).astype(np.int64)
    columns = ((longitudes + 180) // side).astype(np.int64) % int(360 / side)
    cells, leaf_of = np.unique(rows << 32 | columns, return_inverse=True)
    row, column = cells >> 32, cells & 0xFFFFFFFF
    levels, nodes, shares = list[tuple[str, ...]](), [], []
    while not levels or (len(levels[-1]) > 1 and side < 256):
        found, node = np.unique(row << 32 | column, return_inverse=True)
        levels.append(tuple(cell_label(at >> 32, at & 0xFFFFFFFF, side) for at in found.tolist()))
        nodes.append(node)
        shares.append(np.bincount(node)[node] / len(cells) if len(levels) > 1 else np.zeros(len(cells)))
        row, column, side = row >> 1, column >> 1, 2 * side
    if len(levels[-1]) > 1:
        levels.append((ROOT,))
        nodes.append(np.zeros(len(cells), dtype=np.int64))
        shares.append(np.ones(len(cells)))
    return Axis(tuple(levels), np.array(nodes, dtype=np.int32), np.array(shares)), leaf_of.astype(np.int32)


Leaves = NDArray[np.int32]
"""The leaf of each point; int32 (z,)."""


def cell_label(row: int, column: int, side: float) -> str:
    """Name the cell of a row and column of a grid with that side."""
    north, east = row * side - 90, column * side - 180
    corner = f"{'S' if north < 0 else 'N'}{degrees(abs(north))} {'W' if east < 0 else 'E'}{degrees(abs(east))}"
    return f"{corner} +{degrees(side)}"


def degrees(number: float) -> str:
    """Write degrees exactly."""
    return f"{number:.14f}".rstrip("0").rstrip(".")


def read_cell(label: str) -> tuple[float, float, float] | None:
    """Return south, west and side of a cell that was published; None where the label is of no cell of the grid."""
    found = _CELL.fullmatch(label)
    if found is None:
        return None
    try:
        south, west, side = float(found[2]), float(found[4]), float(found[5])
    except ValueError:
        return None
    south, west = -south if found[1] == "S" else south, -west if found[3] == "W" else west
    row, column = (south + 90) / side if side else 0.5, (west + 180) / side if side else 0.5
    is_cell = row.is_integer() and column.is_integer() and cell_label(int(row), int(column), side) == label
    return (south, west, side) if is_cell and np.frexp(side)[0] == 0.5 else None


def code_axis(tree: Hierarchy | None, names: tuple[str, ...]) -> Axis:
    """Return the codes of places, and what stands above them; without a hierarchy codes are what they are."""
    if tree is None:
        return Axis((names,), np.arange(len(names), dtype=np.int32)[None, :], np.zeros((1, len(names))))
    counts = tree.leaf_counts / tree.size
    counts[0] = 0
    return Axis(tuple(level.labels for level in tree.levels), tree.node_of, counts)


def time_axis(hours: NDArray[np.int64], finest: int) -> tuple[Axis, Leaves]:
    """Return times, and the leaf of each point.

    `hours`: local hours since Monday, 5 January 1970. `finest`: hours of the finest level. Days begin at midnight, so
    that a night is cut there; both hours of a clock change that have one name are one.
    """
    starts, leaf_of = np.unique(hours // finest, return_inverse=True)
    span = float((starts[-1] - starts[0] + 1) * finest)
    levels, nodes, shares = [], [], []
    for width in (width for width in WIDTHS if width >= finest):
        found, node = np.unique(starts * finest // width, return_inverse=True)
        levels.append(tuple(time_label(start * width, width) for start in found.tolist()))
        nodes.append(node)
        shares.append(np.full(len(starts), min(width / span, 1.0) if len(levels) > 1 else 0.0))
        if len(found) == 1:
            break
    else:
        levels.append((ROOT,))
        nodes.append(np.zeros(len(starts), dtype=np.int64))
        shares.append(np.ones(len(starts)))
    return Axis(tuple(levels), np.array(nodes, dtype=np.int32), np.array(shares)), leaf_of.astype(np.int32)


def time_label(start: int, width: int) -> str:
    """Name the hours from one on."""
    day, hour = divmod(start, 24)
    clock = f"T{hour:02d}" if width < 24 else ""
    return f"{_MONDAY + timedelta(days=day)}{clock}/{WIDTHS[width]}"


def read_time(label: str) -> tuple[int, int] | None:
    """Return begin and length, in hours, of a time that was published; None where the label is of none."""
    found = _TIME.fullmatch(label)
    width = {text: hours for hours, text in WIDTHS.items()}.get(found[3]) if found else None
    if found is None or width is None:
        return None
    try:
        start = (date.fromisoformat(found[1]) - _MONDAY).days * 24 + int(found[2] or 0)
    except ValueError:
        return None
    return (start, width) if start % width == 0 and time_label(start, width) == label else None

"""Draws what clustering methods do to points in the plane; ``python docs/figures/draw.py`` writes the SVG files.

Every drawing shows the library's own result on the same points, k = 4: each record is a dot, joined by a line to the
mean of its class (a ring).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
from sfumato.anonymizers import Anonymizer, Problem
from sfumato.table.encoding import encode

FIGURES: dict[str, Anonymizer] = {
    "k-means": sf.KMeans(),
    "k-member": sf.KMember(),
    "mdav": sf.MDAV(),
    "oka": sf.OKA(),
    "bottom-up": sf.UtilityRecoding("bottom-up"),
    "top-down": sf.UtilityRecoding("top-down"),
    "v-mdav": sf.VMDAV(gamma=1.1),
    "sbc": sf.SBC(),
    "caat": sf.CAAT(ties="first"),
    "kaca": sf.KACA(),
}
"""File name without ending → what is drawn."""

WIDTH, HEIGHT, MARGIN = 560, 400, 20
COLORS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5aa8", "#b8860b", "#4a4e69")


def points() -> NDArray[np.float64]:
    """Draw four heaps of records and some outsiders, float64 (n, 2), with a fixed seed."""
    draw = np.random.default_rng(20)
    heaps = [(0.2, 0.25, 0.06, 11), (0.75, 0.3, 0.09, 13), (0.35, 0.75, 0.07, 10), (0.8, 0.8, 0.05, 9)]
    parts = [draw.normal((x, y), spread, (count, 2)) for x, y, spread, count in heaps]
    return np.clip(np.concatenate([*parts, draw.uniform(0, 1, (5, 2))]), 0, 1).round(3)


def classes(anonymizer: Anonymizer, places: NDArray[np.float64], k: int = 4) -> NDArray[np.int32]:
    """Return the class of each point, int32 (n,)."""
    frame = pl.DataFrame({"x": places[:, 0], "y": places[:, 1]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["x", "y"]))
    return anonymizer.solve(Problem(encode(table), [sf.KAnonymity(k)], seed=1)).class_of


def drawing(name: str) -> str:
    """Return the SVG text of one figure."""
    places = points()
    class_of = classes(FIGURES[name], places)
    shapes = [_class(places[class_of == number], number) for number in range(int(class_of.max()) + 1)]
    title = f"<title>Classes that {name} makes of {len(places)} points, k = 4</title>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    return "\n".join([head, title, *shapes, "</svg>", ""])


def _class(members: NDArray[np.float64], number: int) -> str:
    color = COLORS[number % len(COLORS)]
    x, y = _on_paper(members.mean(axis=0))
    ends = [_on_paper(member) for member in members]
    lines = "".join(f'<path d="M{x} {y}L{to_x} {to_y}"/>' for to_x, to_y in ends)
    dots = "".join(f'<circle cx="{to_x}" cy="{to_y}" r="4"/>' for to_x, to_y in ends)
    return (
        f'<g stroke="{color}" stroke-width="1.2">{lines}</g><g fill="{color}">{dots}</g>'
        f'<circle cx="{x}" cy="{y}" r="6" fill="white" stroke="{color}" stroke-width="2"/>'
    )


def _on_paper(place: NDArray[np.float64]) -> tuple[str, str]:
    x = MARGIN + place[0] * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - place[1] * (HEIGHT - 2 * MARGIN)
    return f"{x:.1f}", f"{y:.1f}"


if __name__ == "__main__":
    for figure in FIGURES:
        (Path(__file__).parent / f"{figure}.svg").write_text(drawing(figure), encoding="utf-8")

"""Panels of a reproduction, drawn in the look of all drawings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sfumato.drawing import curves_svg, style_of

PRINTED_HERE = "printed in the paper"
"""All its marks have one entry of the legend: matplotlib leaves out names that begin with a line."""

HOLLOW = {"color": "#000000", "linestyle": "", "markerfacecolor": "none", "markersize": 9}

VARIANTS = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Panel:
    """One figure or table of the paper, drawn from a tidy table: a curve for each method.

    Attributes
    ----------
    name : str
        Name of the drawing's file, without ending.
    title : str
        What is shown, and which figure of the paper shows it.
    frame : str
        Name of the table.
    across, up : str
        Columns for the two axes.
    axes : tuple of str
        Labels of the axes, with units.
    only : mapping
        Columns that must have these values.
    curves : str
        Column that distinguishes the curves.
    logarithmic : bool
        Whether the vertical axis is logarithmic.
    """

    name: str
    title: str
    frame: str
    across: str
    up: str
    axes: tuple[str, str]
    only: Mapping[str, Any] = field(default_factory=dict)
    curves: str = "method"
    logarithmic: bool = False

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a table that are drawn; none if it lacks the columns."""
        needed = {self.curves, self.across, self.up, *self.only}
        if not needed <= {*frame.columns}:
            return pl.DataFrame(schema={self.curves: pl.String, self.across: pl.Float64, self.up: pl.Float64})
        kept = frame.filter(*(pl.col(name) == value for name, value in self.only.items()))
        return kept.select(self.curves, self.across, self.up).drop_nulls()


def draw_panel(panel: Panel, frame: pl.DataFrame, printed: pl.DataFrame) -> str:
    """Draw the curves of a panel as SVG; hollow black marks are the paper's printed figures.

    Raises
    ------
    PolicyError
        When matplotlib is not installed.
    """
    curves: dict[str, tuple[list[float], list[float]]] = {}
    styles: dict[str, dict[str, Any]] = {}
    rows, told = panel.rows(frame), panel.rows(printed)
    labels = list(dict.fromkeys([*rows[panel.curves].to_list(), *told[panel.curves].to_list()]))
    for label in labels:
        styles[label] = _style(label, labels)
        if label in rows[panel.curves]:
            curves[label] = _points(panel, rows, label)
    for label in (each for each in labels if each in told[panel.curves]):
        name = PRINTED_HERE if PRINTED_HERE not in curves else f"_{label}"
        curves[name] = _points(panel, told, label)
        styles[name] = {**styles[label], **HOLLOW}
    return curves_svg(curves, *panel.axes, styles=styles, logarithmic=panel.logarithmic)


def _points(panel: Panel, rows: pl.DataFrame, label: str) -> tuple[list[float], list[float]]:
    own = rows.filter(pl.col(panel.curves) == label).sort(panel.across)
    return own[panel.across].to_list(), own[panel.up].to_list()


def _style(label: str, labels: list[str]) -> dict[str, Any]:
    """Return the style of a method: one colour for each method, one line for each variant (``mondrian (relaxed)``)."""
    method = _method(label)
    alike = [other for other in labels if _method(other) == method]
    style = style_of(method)
    if len(alike) > 1:
        style["linestyle"] = VARIANTS[alike.index(label) % len(VARIANTS)]
    if label != alike[0]:
        style["markerfacecolor"] = "none"
    return style


def _method(label: str) -> str:
    return label.partition(" (")[0]

"""Drawings of comparisons: one look for all, so that a method has the same colour, line and mark everywhere."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import PolicyError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#7a7a00")
"""Told apart by people who are colour-blind (Okabe and Ito's, the yellow darkened)."""

FEW = 4
"""Names that find room inside a drawing."""

LINES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "d", "p")

AXES = {
    "loss": "information loss (normalized NCP)",
    "discernibility": "discernibility (records²)",
    "count_error": "median relative error of counts",
    "seconds": "time (s)",
    "average_risk": "average prosecutor risk",
    "highest_risk": "highest prosecutor risk",
    "k": "k (records of a class at least)",
    "l": "l (well-represented sensitive values)",
    "t": "t (largest distance to the whole table)",
    "records": "records",
    "attributes": "quasi-identifying attributes",
}

LOGARITHMIC = {"discernibility", "seconds", "k", "records"}


def style_of(label: str) -> dict[str, Any]:
    """Return colour, line and mark of a method; any that is not known takes those that its name leads to."""
    names = [*ANONYMIZERS, *PUBLISHERS]
    place = names.index(label) if label in names else len(names) + sum(map(ord, label))
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": LINES[(place + place // len(COLOURS)) % len(LINES)],
        "marker": MARKS[place % len(MARKS)],
    }


def curves_svg(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    across: str,
    up: str,
    *,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
    logarithmic: bool = False,
) -> str:
    """Draw curves of points; `across` and `up` name the axes, see ``AXES``."""
    figure, axes = canvas(across, up)
    if logarithmic:
        axes.set_yscale("log")
    for label, (places, heights) in curves.items():
        look = (styles or {}).get(label) or style_of(label)
        axes.plot(places, heights, label=label, **look)
    if across not in LOGARITHMIC or len({place for places, _ in curves.values() for place in places}) < 12:
        _tick_at(axes, sorted({place for places, _ in curves.values() for place in places}))
    legend(axes, len(curves))
    return svg_of(figure)


def canvas(across: str, up: str, *, width: float = 7.2, height: float = 4.6) -> tuple[Any, Any]:
    """Return a figure and its axes, in the look of all drawings."""
    figure, (axes,) = canvases(1, 1, width=width, height=height)
    axes.set_xlabel(AXES.get(across, across))
    axes.set_ylabel(AXES.get(up, up))
    if across in LOGARITHMIC:
        axes.set_xscale("log")
    if up in LOGARITHMIC:
        axes.set_yscale("log")
    return figure, axes


def canvases(rows: int, columns: int, *, width: float = 7.2, height: float = 4.6) -> tuple[Any, list[Any]]:
    """Return a figure and the axes of its drawings, row by row, in the look of all drawings."""
    figures = _matplotlib("matplotlib.figure")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    found = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in found:
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure, found


def _tick_at(axes: Any, places: Sequence[float]) -> None:
    ticker = _matplotlib("matplotlib.ticker")
    axes.xaxis.set_major_locator(ticker.FixedLocator(places))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))


def legend(axes: Any, entries: int) -> None:
    """Name the curves: in the drawing where they are few, beside it where they are many."""
    if entries > FEW:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(frameon=False, fontsize="small")


def svg_of(figure: Any, salt: str = "sfumato") -> str:
    """Write a figure as SVG; names inside it come from `salt`, so that several may stand on one page."""
    matplotlib = _matplotlib("matplotlib")
    written = io.StringIO()
    # Text stays text, and nothing of the drawing depends on when or where it was made.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _matplotlib(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise PolicyError(
            "drawings: matplotlib is not installed; install it with: pip install 'sfumato[report]', or draw nothing"
        ) from None

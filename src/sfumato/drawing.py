"""Drawings of comparisons: one look for all, so that a method has the same colour, line and mark everywhere."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.registry import loaded
from sfumato.whole_files import write_whole

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
    names = [name for known in ("ANONYMIZERS", "PUBLISHERS") for name in loaded(f"sfumato.anonymizers:{known}")]
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
        tick_at(axes, sorted({place for places, _ in curves.values() for place in places}))
    legend(axes, len(curves))
    return svg_of(figure)


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """What ``plot()`` of a result returns: a notebook shows it, and :meth:`save` writes it.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        To be changed as any other.
    """

    figure: Any

    def __repr__(self) -> str:
        """Count the drawings."""
        return f"Drawing({len(self.figure.axes)})"

    def _repr_svg_(self) -> str:
        """Show notebooks the drawing."""
        return svg_of(self.figure)

    def save(self, path: str | Path) -> Path:
        """Write the drawing.

        Parameters
        ----------
        path
            Its ending says how: ``.svg``, ``.png`` or ``.pdf``.

        Raises
        ------
        PolicyError
            For another ending.
        InputError
            When the file cannot be written.
        """
        target, written = Path(path), io.BytesIO()
        if target.suffix not in (".svg", ".png", ".pdf"):
            raise PolicyError("path: must end with .svg, .png or .pdf")
        if target.suffix != ".svg":
            self.figure.savefig(written, format=target.suffix[1:], dpi=150)
        try:
            write_whole(target, written.getvalue() or svg_of(self.figure))
        except OSError:
            raise InputError("the drawing cannot be written there; name a place in a folder that exists") from None
        return target


def bars(axes: Any, labels: Sequence[str], sides: Mapping[str, Sequence[float]], across: str) -> None:
    """Draw a bar for each label and side, such as before and after, the first label on top."""
    thick = 0.8 / len(sides)
    for number, (side, widths) in enumerate(sides.items()):
        places = [place + thick * (number - (len(sides) - 1) / 2) for place in range(len(labels))]
        axes.barh(places, widths, height=0.9 * thick, color=COLOURS[number], label=side)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(across)
    if len(sides) > 1:
        axes.legend(frameon=False, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(sides))


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


def tick_at(axes: Any, places: Sequence[float]) -> None:
    """Mark these places across, and no others."""
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

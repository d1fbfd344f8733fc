"""Drawings of a comparison: every figure against what varies, and risk against loss."""

from __future__ import annotations

import polars as pl

from sfumato.comparison.frontier import frontier_of
from sfumato.drawing import canvas, curves_svg, legend, style_of, svg_of


def draw_comparison(means: pl.DataFrame, vary: str) -> dict[str, str]:
    """Draw every figure against what varies, and risk against loss.

    Parameters
    ----------
    means
        One row for each anonymizer and value, with the figures.
    vary
        Name of the column of values.

    Returns
    -------
    dict of str to str
        Name without ending → SVG.

    Raises
    ------
    PolicyError
        When matplotlib is not installed.
    """
    drawn = {}
    for name in ("loss", "discernibility", "count_error", "seconds"):
        rows = means.drop_nulls(name) if name in means.columns else means.clear()
        if rows.height:
            drawn[f"{name}-by-{vary}"] = curves_svg(_curves(rows, vary, name), vary, name)
    for name in ("loss", "count_error"):
        if {"average_risk", name} <= {*means.columns}:
            rows = means.drop_nulls(["average_risk", name])
            if rows.height:
                drawn[f"risk-and-{name}"] = _frontier_svg(rows, "average_risk", name)
    return drawn


def _curves(rows: pl.DataFrame, vary: str, name: str) -> dict[str, tuple[list[float], list[float]]]:
    return {
        str(label): (curve[vary].to_list(), curve[name].to_list())
        for (label,), curve in rows.sort(vary).group_by(["anonymizer"], maintain_order=True)
    }


def _frontier_svg(rows: pl.DataFrame, risk: str, loss: str) -> str:
    figure, axes = canvas(risk, loss)
    for (label,), points in rows.group_by(["anonymizer"], maintain_order=True):
        axes.plot(points[risk], points[loss], label=str(label), **{**style_of(str(label)), "linestyle": ""})
    best = frontier_of(rows, risk, loss)
    axes.step(best[risk], best[loss], where="post", color="#777777", zorder=0, label="efficient frontier")
    axes.set_xscale("log")
    legend(axes, rows["anonymizer"].n_unique() + 1)
    return svg_of(figure)

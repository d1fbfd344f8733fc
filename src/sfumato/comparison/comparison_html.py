"""A comparison as a notebook shows it: losses of each anonymizer as a table and as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.notebook import Cell, Markup, curves, lines, notebook_section, notebook_table, paragraph
from sfumato.numbers import figure

if TYPE_CHECKING:
    from sfumato.comparison.comparison import Comparison


def comparison_parts(comparison: Comparison, titles: dict[str, str], more: list[str]) -> tuple[Markup, ...]:
    """Return a table and a drawing for each of the figures in `titles`, and the sentences in `more`."""
    shown = [(name, title) for name, title in titles.items() if name in comparison.figures]
    first = shown[0][0] if shown else ""
    parts = [
        notebook_section(title, _table(comparison, name), _curves(comparison, name, name == first))
        for name, title in shown
    ]
    return paragraph(comparison.recommendation), *parts, lines(more)


def _table(comparison: Comparison, name: str) -> Markup:
    values = sorted(comparison.frame[comparison.vary].unique().to_list())
    found = {(row["anonymizer"], row[comparison.vary]): row[name] for row in comparison.means().to_dicts()}
    rows = [
        (label, *(_cell(found.get((label, value))) for value in values))
        for label in dict.fromkeys(comparison.frame["anonymizer"].to_list())
    ]
    heads = ["", *(f"{comparison.vary} = {figure(value)}" for value in values)]
    return notebook_table(heads, rows, range(1, len(heads)))


def _cell(value: float | None) -> Cell:
    return "–" if value is None else f"{value:.4g}"


def _curves(comparison: Comparison, name: str, is_first: bool) -> Markup:
    if not is_first:
        return Markup("")
    means = comparison.means().drop_nulls(name).sort(comparison.vary)
    points = {
        str(label): [*zip(rows[comparison.vary].to_list(), rows[name].to_list(), strict=True)]
        for (label,), rows in means.group_by(["anonymizer"], maintain_order=True)
    }
    return curves(points, comparison.vary, name.replace("_", " "))

"""Figures as a page: for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.results import Figure

HEADINGS = ("job", "what", "result", "bar", "", "from")


def print_figures(figures: Sequence[Figure], skipped: Mapping[str, str], facts: Mapping[str, str]) -> None:
    """Print everything to the terminal."""
    console = Console(soft_wrap=False)
    for name, fact in facts.items():
        console.print(f"{name}: {fact}", markup=False, highlight=False)
    table = Table(*HEADINGS, show_lines=True)
    for figure in figures:
        table.add_row(*_cells(figure), style="bold red" if figure.verdict == "MISSED" else None)
    console.print(table)
    for job, reason in skipped.items():
        console.print(f"{job}: skipped: {reason}", markup=False, highlight=False)


def markdown(figures: Sequence[Figure], skipped: Mapping[str, str], facts: Mapping[str, str]) -> str:
    """Write everything as Markdown."""
    rows = [HEADINGS, ("---",) * len(HEADINGS), *map(_cells, figures)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    told = [f"* {name}: {fact}" for name, fact in facts.items()]
    left = [f"* {job} was skipped: {reason}" for job, reason in skipped.items()]
    return "\n".join([*told, "", *lines, *(["", *left] if left else []), ""])


def _cells(figure: Figure) -> tuple[str, ...]:
    return (figure.job, figure.what, figure.text, figure.bar_text, figure.verdict, figure.detail)

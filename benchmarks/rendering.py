"""Figures as a page: for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.results import Figure

HEADINGS = ("what", "result", "bar", "", "from")


def page(figures: Sequence[Figure], skipped: Mapping[str, str], facts: Mapping[str, str]) -> str:
    """Write everything as plain lines, two for each figure."""
    lines = [f"{name}: {fact}" for name, fact in facts.items()]
    for job in _jobs(figures):
        lines += ["", job]
        for figure in (figure for figure in figures if figure.job == job):
            bar = f"  [{figure.verdict}: {figure.bar_text}]" if figure.verdict else ""
            lines += [f"  {figure.text:>8}  {figure.what}{bar}", f"{'':12}{figure.detail}"]
    return "\n".join([*lines, "", *(f"{job}: skipped: {reason}" for job, reason in skipped.items())])


def markdown(figures: Sequence[Figure], skipped: Mapping[str, str], facts: Mapping[str, str]) -> str:
    """Write everything as Markdown, a table for each job."""
    lines = [f"* {name}: {fact}" for name, fact in facts.items()]
    for job in _jobs(figures):
        rows = [_cells(figure) for figure in figures if figure.job == job]
        lines += ["", f"### {job}", "", *map(_row, [HEADINGS, ("---",) * len(HEADINGS), *rows])]
    left = [f"* {job} was skipped: {reason}" for job, reason in skipped.items()]
    return "\n".join([*lines, "", *left]).rstrip() + "\n"


def _jobs(figures: Sequence[Figure]) -> list[str]:
    return list(dict.fromkeys(figure.job for figure in figures))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cells(figure: Figure) -> tuple[str, ...]:
    verdict = f"**{figure.verdict}**" if figure.verdict == "MISSED" else figure.verdict
    return (figure.what, figure.text, figure.bar_text, verdict, figure.detail)

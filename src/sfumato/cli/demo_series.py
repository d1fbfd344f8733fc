"""``sfumato demo series``: twelve monthly releases of the same people, which fall, and series, which stand."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sfumato.papers.monthly import MonthlyStudy
    from sfumato.series.attacks import Played, SeriesAttacks

MARK_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")


def tell(console: Console, study: MonthlyStudy, out: Path) -> None:
    """Print what the attacks found."""
    from sfumato.papers.monthly import MONTHS, K, M

    console.print("[bold]1  People come and stay[/bold]")
    console.print(
        f"Every month the hospital publishes everybody so far, with k-anonymity (k = {K}). Each of the {MONTHS} "
        f"releases keeps its promise: at least {K} records fit whoever is in it. An attacker lays them side by side."
    )
    console.print(_of_rows(study))
    console.print()
    console.print("[bold]2  People come, leave and come back[/bold]")
    console.print(
        f"Now every class has {M} different diseases or more. The attacker looks for the diseases that all releases "
        "with a person leave open."
    )
    console.print(_of_values(study))
    console.print(
        f"The series of m-invariance has {study.counterfeits:.1%} invented records on average, for people who left. "
        "How many each class has is published."
    )
    console.print()
    console.print("[bold]What to look at next[/bold]")
    for what, command in _next_steps(out):
        console.print(textwrap.fill(what, console.width, initial_indent="  ", subsequent_indent="  "), markup=False)
        console.print(f"    {command}", markup=False, soft_wrap=True)
    console.print()


def _table(*names: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    table.add_column("fewer left than promised")
    for name in names:
        table.add_column(name, justify="right")
    return table


def _of_rows(study: MonthlyStudy) -> Table:
    table = _table("separate releases", "append", "grow")
    ways = (study.separate, study.appended, study.grown)
    for number, played in enumerate(study.separate.played):
        if not any(way.played[number].cases for way in ways):
            continue
        table.add_row(_short(played.attack), *(_cell(way, number) for way in ways))
    table.add_row("only one record left, by intersection", *(f"{_alone(way):,}" for way in ways))
    return table


def _of_values(study: MonthlyStudy) -> Table:
    table = _table("separate releases", "m-invariance")
    ways = (study.separate_again, study.invariant)
    table.add_row("intersection", *(_cell(way, 0) for way in ways))
    table.add_row("disease learnt with certainty", *(f"{_alone(way):,}" for way in ways))
    return table


def _short(attack: str) -> str:
    return attack.replace(" of all releases", "").replace(" attack on each two releases", ", each two releases")


def _cell(way: SeriesAttacks, number: int) -> str:
    played: Played = way.played[number]
    if not played.cases:
        return "not played"
    share = f"{played.below:,} of {played.cases:,}"
    return f"{share}, {played.below / played.cases:.0%}" if played.below else f"[bold]{share}[/bold]"


def _alone(way: SeriesAttacks) -> int:
    return way.played[0].alone


def _next_steps(out: Path) -> list[tuple[str, str]]:
    from sfumato.cli.demo import program

    append, grow = (shlex.quote(str(out / way)) for way in ("append", "grow"))
    return [
        ("recount a series, as anybody who gets the folder can", f"{program()} verify {append}"),
        ("what each release brought, and what it lost", f"{program()} series show {grow}"),
        ("publish people of your own every month", f"{program()} series start --help"),
    ]

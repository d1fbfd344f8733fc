"""The report that a steward signs, for a release of 30,000 people, with every attack that can be played."""

from __future__ import annotations

from collections.abc import Iterator

import sfumato as sf
from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import Cost, run_here
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "report"
PEOPLE, FEW = 30_000, 500
SECONDS_BAR, SIZE_BAR = 40.0, 2_000_000
SCHEMA = sf.Schema(quasi_identifying=list(QUASI_IDENTIFYING), sensitive=[SENSITIVE], publish=["region"], others="drop")


def run(settings: Settings) -> Iterator[Figure]:
    """Report on a 5-anonymous release once; a small one before it lets everything compile."""
    _page(FEW)
    yield from reported(PEOPLE)


def reported(people: int) -> Iterator[Figure]:
    """Measure one page with all attacks, and its size."""
    cost, page = _page(people)
    about = f"{people:,} records, {len(QUASI_IDENTIFYING)} quasi-identifying attributes; {cost}"
    share = cost.wall / SECONDS_BAR
    size = len(page.encode()) / SIZE_BAR
    yield Figure(NAME, f"share of {SECONDS_BAR:g} s: the default report", share, f"{share:.1%}", 1.0, True, about)
    yield Figure(NAME, "share of 2 MB: its page", size, f"{size:.1%}", 1.0, True, f"{len(page.encode()):,} bytes")


def _page(people: int) -> tuple[Cost, str]:
    table = sf.read_table(census(people), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(5), seed=1)
    return run_here(lambda: sf.report(release, table, seed=1).html())

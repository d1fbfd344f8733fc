"""Linkage of everybody with everybody, and every attack that can be played against one release of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import Cost, run_repeatedly
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.published import PublishedTable

NAME = "attacks"
EXACT_BAR, NEAREST_BAR, ALL_BAR = 2.0, 20.0, 30.0
"""Seconds."""

PEOPLE, OUTSIDE = 30_000, 6_000
SCHEMA = sf.Schema(quasi_identifying=list(QUASI_IDENTIFYING), sensitive=[SENSITIVE], publish=["region"], others="drop")
RELEASES: Mapping[str, tuple[Any, Any]] = {
    "generalized": (sf.KAnonymity(5), sf.Mondrian()),
    "bucketized": (sf.ProbabilisticLDiversity(3), sf.Bucketization()),
    "sliced": (sf.ProbabilisticLDiversity(3), sf.Slicing()),
}


def run(settings: Settings) -> Iterator[Figure]:
    """Attack the census's first people, with those after them as the control group."""
    frame = census(PEOPLE + OUTSIDE)
    yield from attacked(frame, PEOPLE, settings.repeats)


def attacked(frame: pl.DataFrame, people: int, repeats: int) -> Iterator[Figure]:
    """Link the first `people` rows with themselves, others and a release; then play all attacks on every release."""
    table, control = (sf.read_table(part, SCHEMA) for part in (frame[:people], frame[people:]))
    others = sf.read_table(census(people, seed=7), SCHEMA)
    against = {
        "their own records": PublishedTable(table.frame, QUASI_IDENTIFYING, (SENSITIVE,)),
        "as many other records": PublishedTable(others.frame, QUASI_IDENTIFYING, (SENSITIVE,)),
        "a release": sf.anonymize(table, sf.KAnonymity(5)),
    }
    for attack, bar in (("linkage", EXACT_BAR), ("nearest-linkage", NEAREST_BAR)):
        for what, published in against.items():
            cost, played = run_repeatedly(
                lambda one=published, name=attack: sf.attack(one, table, attacks=name), repeats
            )
            found = f"{people:,} people, {played.results[1].success.share:.1%} found"
            yield _figure(f"{attack} with {what}", cost, bar, found)
    for kind, (model, way) in RELEASES.items():
        release = sf.anonymize(table, model, anonymizer=way, seed=1)
        cost, played = run_repeatedly(partial(sf.attack, release, table, control=control, seed=1), repeats)
        about = f"{people:,} records, {len({result.attack for result in played.results})} attacks"
        yield _figure(f"the default set on a {kind} release", cost, ALL_BAR, about)


def _figure(what: str, cost: Cost, bar: float, about: str) -> Figure:
    share = cost.wall / bar
    return Figure(
        NAME, f"share of {bar:g} s: {what}", share, f"{share:.1%}", 1.0, at_most=True, detail=f"{about}; {cost}"
    )

"""Checking k, l and t of a published table, against pycanon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import polars as pl

import sfumato as sf
from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import Cost, run_here, run_repeatedly
from benchmarks.peers import check_with_pycanon, to_pandas
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.published.checks.generalized import verify_table
from sfumato.table.schema import Attribute, Kind

NAME = "checking"
BAR = 50
PUBLISHED_K = (100, 1000)
"""The tables that are checked: pycanon takes longer the more classes there are, we hardly do."""

MODELS = (sf.KAnonymity(2), sf.DistinctLDiversity(1), sf.TCloseness(1.0))

Check = Callable[..., dict[str, float]]


def run(settings: Settings) -> Iterator[Figure]:
    """Check releases of the synthetic census with its income bands as the sensitive attribute."""
    frame = census(settings.checked_rows)
    for k in PUBLISHED_K:
        yield from compare(published(frame, k), f"released with k={k}", settings.repeats)


def published(frame: pl.DataFrame, k: int) -> pl.DataFrame:
    """Make a table to check; every column is text."""
    schema = sf.Schema(quasi_identifying=list(QUASI_IDENTIFYING), sensitive=[SENSITIVE], publish=["region"])
    release = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(min(k, frame.height)))
    return release.data.with_columns(pl.all().cast(pl.String))


def compare(data: pl.DataFrame, what: str, repeats: int, check: Check = check_with_pycanon) -> Iterator[Figure]:
    """Check the same pandas frame with both, pycanon once."""
    frame = to_pandas(data)
    theirs, their_values = run_here(lambda: check(frame, QUASI_IDENTIFYING, SENSITIVE))
    sensitive = {SENSITIVE: Attribute(kind=Kind.CATEGORICAL)}
    sources = {"the same pandas frame": lambda: pl.from_pandas(frame), "a polars frame": lambda: data}
    for source, table in sources.items():
        ours, verification = run_repeatedly(
            lambda table=table: verify_table(table(), QUASI_IDENTIFYING, sensitive, MODELS), repeats
        )
        values = {value.parameter: value.value for check in verification.checks for value in check.achieved}
        about = f"{data.height:,} records in {verification.classes:,} classes; {_agreement(values, their_values)}"
        yield _figure(f"{what}, from {source}", ours, theirs, about)


def _figure(what: str, ours: Cost, theirs: Cost, about: str) -> Figure:
    ratio = theirs.wall / ours.wall
    detail = f"{about}; {ours} against {theirs}"
    return Figure(
        NAME, f"times faster than pycanon at k, l and t: {what}", ratio, f"{ratio:,.0f} ×", BAR, detail=detail
    )


def _agreement(ours: dict[str, float], theirs: dict[str, float]) -> str:
    told = ", ".join(f"{name}={value:.6g}" for name, value in theirs.items())
    different = [name for name, value in theirs.items() if not math.isclose(ours[name], value, rel_tol=1e-9)]
    if not different:
        return f"same values from both ({told})"
    return "VALUES DIFFER: " + ", ".join(f"{name}: {ours[name]:.6g}, pycanon {theirs[name]:.6g}" for name in different)

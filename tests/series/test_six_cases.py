"""Six small cases, two for each way, with the classes of every release written out: label, then values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf

SCHEMA = sf.Schema(identifying=["name"], quasi_identifying=["age"], sensitive=["disease"])
VARIED = [sf.KAnonymity(2), sf.DistinctLDiversity(2), sf.ProbabilisticLDiversity(2)]
Month = Sequence[tuple[str, int, str]]
Classes = list[tuple[str, str]]


def frame(people: Month) -> pl.DataFrame:
    return pl.DataFrame(people, schema=["name", "age", "disease"], orient="row")


def classes(release: Path) -> Classes:
    """Return the label and the values of each class; with counterfeits, how many it has behind them."""
    found: dict[tuple[str, ...], list[str]] = {}
    with (release / "data.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["age"], row.get("class_number", ""), row.get("counterfeits", "")
            found.setdefault(key, []).append(row["disease"])
    return sorted(
        (age, " ".join([*sorted(values), *([f"+{invented}"] if invented not in ("", "0") else [])]))
        for (age, _, invented), values in found.items()
    )


def published(folder: Path, way: str, models: Sequence[sf.PrivacyModel], months: Sequence[Month]) -> list[Classes]:
    series: sf.Series | None = None
    for month in months:
        if series is None:
            policy = sf.Policy.of(SCHEMA, models, sf.Mondrian(), sf.Recoding(ends="tight"), 0.0, 0)
            series = sf.Series.start(folder / "s", policy, table=frame(month), way=way, seed=1)
        elif way == "m-invariance":
            series.republish(frame(month), most_counterfeits=0.5, seed=1)
        else:
            getattr(series, way)(frame(month), seed=1)
    assert series is not None
    assert series.verify(ledger=True).ok
    return [classes(path) for path in series.releases]


JANUARY = [("a", 20, "flu"), ("b", 21, "cold"), ("c", 40, "flu"), ("d", 41, "cold")]
OF_JANUARY = [("[20..21]", "cold flu"), ("[40..41]", "cold flu")]


CASES: dict[str, tuple[str, list[Month], list[Classes]]] = {
    "append: newcomers are a class of their own": (
        "append",
        [JANUARY, [("e", 22, "flu"), ("f", 42, "gout")]],
        [OF_JANUARY, [("[20..21]", "cold flu"), ("[22..42]", "flu gout"), ("[40..41]", "cold flu")]],
    ),
    "append: one newcomer waits for another": (
        "append",
        [JANUARY, [("e", 22, "flu")], [("f", 23, "gout")]],
        [OF_JANUARY, [("[20..21]", "cold flu"), ("[22..23]", "flu gout"), ("[40..41]", "cold flu")]],
    ),
    "grow: newcomers join a class, which is cut": (
        "grow",
        [[("a", 20, "flu"), ("b", 26, "flu")], [("c", 21, "flu"), ("d", 27, "flu")]],
        [[("[20..26]", "flu flu")], [("[20..21]", "flu flu"), ("[26..27]", "flu flu")]],
    ),
    "grow: values that would be told keep newcomers in a class of their own": (
        "grow",
        [JANUARY, [("e", 22, "flu")], [("f", 43, "gout")]],
        [OF_JANUARY, [("[20..21]", "cold flu"), ("[22..43]", "flu gout"), ("[40..41]", "cold flu")]],
    ),
    "m-invariance: a counterfeit stands for who left": (
        "m-invariance",
        [JANUARY, JANUARY[:3]],
        [OF_JANUARY, [("40", "cold flu +1"), ("[20..21]", "cold flu")]],
    ),
    "m-invariance: a newcomer of the same value takes the place": (
        "m-invariance",
        [JANUARY, [*JANUARY[:3], ("e", 45, "cold")]],
        [OF_JANUARY, [("[20..21]", "cold flu"), ("[40..45]", "cold flu")]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_classes_are_those_that_are_written_out(name: str, tmp_path: Path) -> None:
    way, months, expected = CASES[name]
    models = VARIED if way == "m-invariance" else [sf.KAnonymity(2)]
    assert published(tmp_path, way, models, months) == expected

"""K people of a population: made, recounted, and counted by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.hierarchy import HierarchyTable
from sfumato.kinds.traces.check import trace_verification
from sfumato.kinds.traces.make import PointTable
from sfumato.models.protocol import Outcome
from sfumato.traces import (
    TraceGrain,
    TracePolicy,
    TracePrivacy,
    TraceRelease,
    Traces,
    anonymize_traces,
    read_traces,
    save_traces,
)

PLACES = HierarchyTable(tuple((f"p{number}", f"d{number // 2}", "*") for number in range(4)))
HOURS = (0, 6, 12, 18)


def drawn(draw: random.Random, people: int, points: int = 4) -> pl.DataFrame:
    rows = [
        (f"w{who}", f"p{draw.randrange(4)}", f"2026-03-02T{draw.choice(HOURS):02d}:30", draw.choice("xyz"))
        for who in range(people)
        for _ in range(draw.randrange(1, points + 1))
    ]
    return pl.DataFrame(rows, schema=["who", "where", "when", "ill"], orient="row")


def read(frame: pl.DataFrame, **more: Any) -> Traces:
    how = {"hierarchy": PLACES, "grain": TraceGrain(hours=6), **more}
    return read_traces(frame, person="who", place="where", time="when", zone="UTC", **how)


def within(place: str, time: str, point: tuple[str, int]) -> bool:
    """Tell whether a point lies in a published doublet, from the labels alone."""
    where, hour = point
    places = {where, f"d{int(where[1]) // 2}", "*"}
    wide = {"PT6H": 6, "PT12H": 12, "P1D": 24}
    begin, _, length = time.partition("/")
    first = int(begin.partition("T")[2] or 0)
    return place in places and (time == "*" or first <= hour < first + wide[length])


def fitting(release: TraceRelease, population: pl.DataFrame, l: int) -> list[int]:  # noqa: E741
    """Count the people of a population who fit each combination that is published of somebody."""
    of: dict[str, list[tuple[str, int]]] = {}
    for who, where, when, _ in population.iter_rows():
        of.setdefault(who, []).append((where, int(when[11:13])))
    found = []
    for (_,), rows in release.tables["traces"].group_by("trace"):
        doublets = list(zip(rows["place"], rows["time"], strict=True))
        for size in range(1, l + 1):
            found += [
                sum(all(any(within(*one, point) for point in points) for one in known) for points in of.values())
                for known in combinations(doublets, size)
            ]
    return found


@pytest.mark.parametrize("seed", range(80))
def test_as_many_people_of_the_population_fit(seed: int) -> None:
    draw = random.Random(seed)
    everybody = drawn(draw, draw.randrange(6, 14))
    some = everybody.filter(pl.col("who").is_in([f"w{number}" for number in range(draw.randrange(1, 6))]))
    k, known, share = draw.choice((2, 3, 4)), draw.choice((1, 2, 3, 4)), draw.choice((1, 1, 0.75))
    model = TracePrivacy(k, known, share, "population")
    traces, population = read(some, sensitive="ill"), read(everybody)
    try:
        release = anonymize_traces(traces, model, population=population, suppression_limit=0.99, seed=1)
    except UnsatisfiableError:
        return
    counts = fitting(release, everybody, known)
    assert min(counts) >= k
    found = sf.verify(release, population=population)
    (promise,) = (check for check in found.checks if check.promise.startswith("trace-privacy"))
    assert (promise.outcome, promise.achieved[0].value) == (Outcome.HOLDS, min(counts))
    (alone,) = (check for check in release.recount().checks if check.promise == promise.promise)
    assert (alone.outcome, alone.required) == (Outcome.UNDECIDABLE, False)
    # One more than there are is too much.
    greedy = replace(release.model, k=min(counts) + 1)
    assert not trace_verification(release.published, [greedy], population).ok


def lowest_loss(traces: Traces, population: pl.DataFrame, k: int, known: int) -> float:
    """Try every level of each point, person by person: what others publish changes nothing."""
    table = PointTable.of(traces)
    levels = list(table.all_levels())
    losses = [table.losses(*at)[table.pair_of] for at in levels]
    of: dict[str, list[tuple[str, int]]] = {}
    for who, where, when, _ in population.iter_rows():
        of.setdefault(who, []).append((where, int(when[11:13])))

    def fits(doublets: set[tuple[str, str]]) -> bool:
        return all(
            sum(all(any(within(*one, point) for point in points) for one in held) for points in of.values()) >= k
            for size in range(1, known + 1)
            for held in combinations(sorted(doublets), size)
        )

    total = 0.0
    for person in range(traces.height):
        points = range(traces.starts[person], traces.starts[person + 1])
        best = float(len(points))
        for world in product(range(len(levels) + 1), repeat=len(points)):
            loss = sum(1.0 if at == len(levels) else losses[at][p] for at, p in zip(world, points, strict=True))
            if loss >= best - 1e-12:
                continue
            labels = {
                (traces.place.levels[levels[at][0]][traces.place.node_of[levels[at][0]][traces.places[point]]],
                 traces.time.levels[levels[at][1]][traces.time.node_of[levels[at][1]][traces.times[point]]])
                for at, point in zip(world, points, strict=True) if at < len(levels)
            }  # fmt: skip
            if fits(labels):
                best = loss
        total += best
    return total / len(traces.places)


def test_little_more_is_lost_than_must_be_among_a_population() -> None:
    ratios = []
    for seed in range(12):
        draw = random.Random(seed)
        everybody, known = drawn(draw, 10, 3), 1 + seed % 2
        some = everybody.filter(pl.col("who").is_in(["w0", "w1", "w2"]))
        traces = read(some)
        model = TracePrivacy(3, known, among="population")
        release = anonymize_traces(traces, model, population=read(everybody), suppression_limit=0.9, seed=1)
        best = lowest_loss(traces, everybody, 3, known)
        ratios.append(release.loss.mean / best if best else 1 + release.loss.mean)
    assert min(ratios) >= 1 - 1e-9
    assert median(ratios) <= 1.1


def test_a_population_without_somebody_is_refused() -> None:
    everybody = drawn(random.Random(3), 12)
    traces, model = read(everybody), TracePrivacy(2, 1, among="population")
    release = anonymize_traces(traces, model, population=traces, suppression_limit=0.9, seed=1)
    with pytest.raises(InputError, match="population: has 11 people and the traces 12"):
        sf.verify(release, population=read(everybody.filter(pl.col("who") != "w0")))
    away = everybody.with_columns(pl.col("when").str.replace("2026-03-02", "2026-03-09"))
    with pytest.raises(InputError, match="fit more traces than people of the population"):
        sf.verify(release, population=read(away))
    with pytest.raises(InputError, match="another time zone"):
        sf.verify(release, population=replace(traces, zone="Europe/Rome"))
    with pytest.raises(PolicyError, match="population: the model speaks of people of a population"):
        anonymize_traces(traces, model)
    with pytest.raises(PolicyError, match="population: K people of it are promised by"):
        anonymize_traces(traces, TracePrivacy(2, 1), population=traces)
    plain = anonymize_traces(traces, TracePrivacy(2, 1), suppression_limit=0.9, seed=1)
    with pytest.raises(InputError, match="population: no promise of this release speaks of a population"):
        sf.verify(plain, population=traces)


def test_a_folder_is_recounted_with_the_population(tmp_path: Path) -> None:
    everybody = drawn(random.Random(4), 30).rename({"where": "place"})
    some = everybody.filter(pl.col("who").is_in([f"w{number}" for number in range(5)]))
    everybody.write_csv(tmp_path / "everybody.csv")
    some.write_csv(tmp_path / "some.csv")
    columns = {"person": "who", "place": "place", "time": "when", "zone": "UTC", "hours": 6}
    policy = TracePolicy.from_mapping({
        "model": {"k": 4, "l": 2, "among": "population"}, "suppression-limit": 0.9, "traces": columns,
        "population": str(tmp_path / "everybody.csv"), "change": {"homes": "keep"},
    })  # fmt: skip
    release = anonymize_traces(read_traces(tmp_path / "some.csv", **policy.reading()), policy, seed=1)
    folder = save_traces(release, tmp_path / "release")
    assert "everybody" not in "".join(path.read_text() for path in folder.iterdir())
    assert "achieved" not in (folder / "report.txt").read_text()
    alone = sf.verify(folder)
    assert alone.ok
    assert any(check.of_population and check.outcome is Outcome.UNDECIDABLE for check in alone.checks)
    population = read_traces(tmp_path / "everybody.csv", **policy.reading())
    assert any(
        check.of_population and check.outcome is Outcome.HOLDS
        for check in sf.verify(folder, population=population).checks
    )


def test_the_command_line_reads_a_population(tmp_path: Path) -> None:
    everybody = drawn(random.Random(4), 30)
    everybody.write_csv(tmp_path / "all.csv")
    everybody.filter(pl.col("who").is_in(["w0", "w1", "w2"])).write_csv(tmp_path / "some.csv")

    def said(*words: object) -> tuple[int, str]:
        found = CliRunner().invoke(app, [str(word) for word in words])
        return found.exit_code, " ".join(found.output.split())

    where = ["--person", "who", "--place", "where", "--time", "when", "--zone", "UTC"]
    columns = ["--kind", "traces", *where, "--homes", "keep", "-k", 3, "-l", 2]
    written = [
        "--out",
        tmp_path / "out",
        "--save-policy",
        tmp_path / "policy.toml",
        "--set",
        "policy.suppression-limit=0.9",
    ]
    people, policy = ["--population", tmp_path / "all.csv"], ["--policy", tmp_path / "policy.toml"]
    assert said("anonymize", tmp_path / "some.csv", *columns, *people, *written)[0] == 0
    code, text = said("verify", tmp_path / "out", *people, *policy)
    assert code == 0
    assert "✓ trace-privacy" in text
    assert "among=population k=" in text
    code, text = said("verify", tmp_path / "out")
    assert code == 0
    assert "not verifiable from the release: trace-privacy" in text
    code, text = said("verify", tmp_path / "out", *people)
    assert code == 2
    assert "policy: name the one that made the release" in text
    assert said("verify", tmp_path / "out", "--population", tmp_path / "some.csv", *policy)[0] == 1

"""Record tracing and the composition attack, each held against a twin that goes through rows, and its controls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import HEADER, SCHEMA, Person, covers, people, write_csv
from series.test_grow import read
from series_algorithms.small_releases import labelled, released
from sfumato.cli.app import app
from sfumato.errors import InputError
from sfumato.series.attacks import (
    COMPOSITION,
    TRACING,
    Covering,
    WaysThrough,
    attack_releases,
    attack_with_keys,
    compose,
)

Rows = list[tuple[int, int]]


def boxes_meet(one: list[set[int]], other: list[set[int]]) -> bool:
    return all(left & right for left, right in zip(one, other, strict=True))


def worlds(older: tuple[Rows, list], newer: tuple[Rows, list]) -> Iterator[tuple[int, ...]]:
    """Yield every way in which the older rows can have become newer ones."""
    (old, old_boxes), (new, new_boxes) = older, newer
    for places in permutations(range(len(new)), len(old)):
        if all(
            value == new[place][1] and boxes_meet(old_boxes[label], new_boxes[new[place][0]])
            for (label, value), place in zip(old, places, strict=True)
        ):
            yield places


def traced_by_rows(releases: Sequence[tuple[Rows, list]], values: tuple[int, ...], came: int) -> dict[int, int] | None:
    """Count the rows of each value that are left to somebody, row after row; None where there is no world."""
    steps, new = list[set[tuple[int, int]]](), None
    for number, (older, newer) in enumerate(pairwise(releases), 1):
        found = list(worlds(older, newer))
        if not found:
            return None
        steps.append({(row, place) for world in found for row, place in enumerate(world)})
        if number == came:
            rows = newer[0]
            new = {
                key: rows.count(key) - min(sum(rows[place] == key for place in world) for world in found)
                for key in set(rows)
            }

    def mine(number: int, row: int) -> bool:
        rows, boxes = releases[number]
        return all(value in side for value, side in zip(values, boxes[rows[row][0]], strict=True))

    last = len(releases) - 1
    chains = [[row] for row in range(len(releases[came][0])) if mine(came, row)]
    chains = [chain for chain in chains if new is None or new[releases[came][0][chain[0]]]]
    for number in range(came, last):
        chains = [
            [*chain, place]
            for chain in chains
            for place in range(len(releases[number + 1][0]))
            if (chain[-1], place) in steps[number] and mine(number + 1, place)
        ]
    left: dict[int, list[int]] = {}
    for place in range(len(releases) - came):
        rows = releases[came + place][0]
        there = {chain[place] for chain in chains}
        for value in {value for release, _ in releases for _, value in release}:
            count = sum(rows[row][1] == value for row in there)
            if place == 0 and new is not None:
                count = sum(new[key] for key in {rows[row] for row in there} if key[1] == value)
            left.setdefault(value, []).append(count)
    return {value: min(counts) for value, counts in left.items()}


@pytest.mark.parametrize("nested", [True, False])
def test_tracing_agrees_with_a_twin_that_goes_through_rows(nested: bool) -> None:
    draw = np.random.default_rng(5 + nested)
    tried = narrowed = 0
    for _ in range(150):
        counts = sorted(draw.integers(1, 6, 3).tolist())
        everybody = [(tuple(draw.integers(0, 6, 1).tolist()), int(draw.integers(0, 3))) for _ in range(counts[-1])]
        classes = [draw.integers(0, 2, counts[-1]).tolist() for _ in counts]
        if nested:
            for number in (1, 2):
                classes[number] = [2 * a + b for a, b in zip(classes[number - 1], classes[number], strict=True)]
        tables = [labelled(everybody[:n], each[:n], {0}) for n, each in zip(counts, classes, strict=True)]
        traces = WaysThrough([released(*table) for table in tables])
        for place, (values, _) in enumerate(everybody):
            came = next(number for number, count in enumerate(counts) if place < count)
            covering = [
                np.array([[all(v in side for v, side in zip(values, box, strict=True)) for box in boxes]])
                for _, boxes in tables
            ]
            expected = traced_by_rows(tables, values, came)
            assert expected is not None
            found = traces.left([Covering.of(each) for each in covering], came)[0]
            assert {value: int(found[value]) if value < len(found) else 0 for value in expected} == expected
            tried += 1
            alone = sum(covers[0][label] for covers, (rows, _) in [(covering[-1], tables[-1])] for label, _ in rows)
            narrowed += sum(expected.values()) < alone
    assert tried > 400
    assert narrowed > 50


def test_a_rare_value_is_traced_by_hand() -> None:
    """One fever in each month: whoever is in the class of the second fever has four rows of flu less."""
    first = released([(0, 0), (0, 0), (0, 1), (0, 0)], [[{0, 1, 2, 3}]])
    second = released([(0, 0), (0, 0), (1, 1), (1, 0)], [[{0, 1}], [{2, 3}]])
    traces = WaysThrough([first, second])
    left = traces.left([Covering.of(np.array([each])) for each in ([True], [False, True])], 0)
    assert left.tolist() == [[1, 1]]


def test_releases_that_do_not_belong_together_are_not_traced() -> None:
    first, second = released([(0, 0), (0, 0)], [[{0}]]), released([(0, 0), (0, 1)], [[{0}]])
    with pytest.raises(InputError, match="do not belong together"):
        WaysThrough([first, second])


@pytest.mark.parametrize("way", ["append", "grow"])
def test_series_stand_against_tracing(way: str, tmp_path: Path) -> None:
    batches = [people(60), people(30, first=1000, seed=1), people(30, first=2000, seed=2)]
    tables = [write_csv(tmp_path / f"{number}.csv", batch) for number, batch in enumerate(batches)]
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(4), table=tables[0], way=way)
    for table in tables[1:]:
        getattr(series, way)(table)
    played = {each.attack: each for each in attack_releases(series.releases, tables).played}
    assert played[TRACING].cases == 120
    assert played[TRACING].below == 0
    assert (played[TRACING].least_rows or 0) >= 4
    assert played[COMPOSITION].unplayed == "the releases are of one series, and were made with regard to each other"


def frame(some: Sequence[Person]) -> pl.DataFrame:
    return pl.DataFrame(some, schema=list(HEADER), orient="row")


HOUSES = {"a": sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"]),
          "b": sf.Schema(identifying=["name", "city"], quasi_identifying=["age"], sensitive=["disease"])}  # fmt: skip


@pytest.fixture
def houses(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """Let two houses publish, who share 60 people and do not know of each other; their columns differ."""
    shared = people(60, seed=4)
    tables = [[*shared, *people(40, first=100, seed=5)], [*people(40, first=200, seed=6), *shared]]
    releases, originals = [], []
    for (name, schema), table in zip(HOUSES.items(), tables, strict=True):
        models = [sf.KAnonymity(2), sf.DistinctLDiversity(2)]
        sf.anonymize(sf.read_table(frame(table), schema), models).save(tmp_path / name)
        releases.append(tmp_path / name)
        originals.append(write_csv(tmp_path / f"{name}.csv", table))
    return releases, originals


def composed_by_rows(releases: Sequence[Path], originals: Sequence[Path]) -> dict[str, list[set[str]]]:
    found: dict[str, list[set[str]]] = {}
    for release, table in zip(releases, originals, strict=True):
        rows = read(release)
        for person in pl.read_csv(table).iter_rows(named=True):
            fits = {
                row["disease"]
                for row in rows
                if all(covers(row[name], person[name]) for name in ("age", "city") if name in row)
            }
            found.setdefault(person["name"], []).append(fits)
    return found


def test_composition_agrees_with_a_twin_that_goes_through_rows(houses: tuple[list[Path], list[Path]]) -> None:
    found = compose(*houses, "name")
    (played,) = found.played
    twin = {name: sets for name, sets in composed_by_rows(*houses).items() if len(sets) > 1}
    left = {name: len(set.intersection(*sets)) for name, sets in twin.items()}
    kept = {name for name, sets in twin.items() if min(map(len, sets)) >= 2}
    assert found.promised == 2
    assert played.cases == len(left) == 60
    assert played.least_values == min(left.values())
    assert played.below == played.alone == sum(left[name] < 2 for name in kept) > 0
    assert played.by_one_release == 60 - len(kept)
    assert not found.ok
    assert "composition of independent releases: falls" in str(found)


def test_the_control_takes_somebody_elses_class(houses: tuple[list[Path], list[Path]]) -> None:
    """Everybody's set of the second house is that of the person before."""
    (played,) = compose(*houses, "name").played
    first, second = (composed_by_rows([release], [table]) for release, table in zip(*houses, strict=True))
    names = list(second)
    shifted = {name: second[names[place - 1]][0] for place, name in enumerate(names)}
    expected = 0
    for name in set(first) & set(second):
        if min(len(first[name][0]), len(second[name][0])) >= 2:
            expected += len(first[name][0] & shifted[name]) == 1
    assert played.by_chance == expected


def test_the_true_value_is_what_is_left(houses: tuple[list[Path], list[Path]]) -> None:
    truth = {name: disease for name, _, _, disease in people(60, seed=4)}
    for name, sets in composed_by_rows(*houses).items():
        if len(sets) > 1:
            assert truth[name] in set.intersection(*sets)


def test_what_cannot_be_composed(houses: tuple[list[Path], list[Path]], tmp_path: Path) -> None:
    releases, originals = houses
    other = sf.Schema(identifying=["name", "disease"], quasi_identifying=["age"], sensitive=["city"])
    sf.anonymize(sf.read_table(originals[0], other), sf.KAnonymity(3)).save(tmp_path / "c")
    with pytest.raises(sf.PolicyError, match="no sensitive column is in all releases"):
        compose([releases[0], tmp_path / "c"], [originals[0]] * 2, "name")
    with pytest.raises(sf.InputError, match="needs two releases"):
        compose(releases[:1], originals[:1], "name")
    with pytest.raises(sf.InputError, match="give for each release"):
        compose(releases, originals[:1], "name")
    strangers = write_csv(tmp_path / "d.csv", [("q", 99, "Z", "flu")])
    with pytest.raises(sf.InputError, match="covered by no class"):
        compose(releases, [originals[0], strangers], "name")
    nobody = compose(releases, [write_csv(tmp_path / "e.csv", people(20, seed=4)),
                                write_csv(tmp_path / "f.csv", people(20, first=200, seed=6))], "name")  # fmt: skip
    assert "composition of independent releases: not played, because there is nobody" in str(nobody)


def test_a_series_is_not_composed(tmp_path: Path) -> None:
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(2), sf.ProbabilisticLDiversity(2)]
    pairs: list[Person] = [
        ("a", 20, "A", "flu"),
        ("b", 21, "A", "cold"),
        ("c", 60, "B", "gout"),
        ("d", 61, "B", "none"),
    ]
    series = sf.Series.start(tmp_path / "s", SCHEMA, models, table=frame(pairs), way="m-invariance")
    series.republish(frame(pairs))
    table = write_csv(tmp_path / "t.csv", pairs)
    found = {each.attack: each for each in attack_with_keys(series.releases, [table, table], "name").played}
    assert found[COMPOSITION].unplayed is not None
    assert found[TRACING].unplayed == (
        "with --key people may leave, and a row that is found no more need not be traced elsewhere"
    )


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*map(str, words)], prog_name="sfumato")
    assert result.exit_code == code, result.output
    return result.output


def test_from_the_command_line(houses: tuple[list[Path], list[Path]]) -> None:
    releases, originals = houses
    known = [word for table in originals for word in ("--original", table)]
    told = json.loads(run("attack", *releases, *known, "--key", "name", "--json", code=1))
    assert told["played"][0]["attack"] == COMPOSITION
    assert told["played"][0]["by_chance"] is not None


def test_withdrawals_are_told_apart(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=frame(people(40)))
    series.withdraw(["p7"], most_lost=0.5)
    with pytest.raises(sf.PolicyError, match="people withdrew from these releases"):
        attack_releases(series.releases, [write_csv(tmp_path / "a.csv", people(40))])


def as_written(path: Path, some: Sequence[Person]) -> Path:
    """Write a table as some offices do: semicolons, Latin 1, and a question mark for what is missing."""
    lines = [";".join(map(str, row)) for row in (HEADER, *some)]
    path.write_text("\n".join(lines).replace(";A;", ";Köln;") + "\n", encoding="latin1")
    return path


HOW = ("--set", "source.separator=;", "--set", "source.encoding=latin1")


@pytest.mark.parametrize("way", ["append", "grow"])
def test_tables_are_read_as_they_are_written(way: str, tmp_path: Path) -> None:
    first, second = (
        as_written(tmp_path / "1.csv", people(20)),
        write_csv(
            tmp_path / "2.csv", [(n, a, c.replace("A", "Köln"), d) for n, a, c, d in people(10, first=50, seed=1)]
        ),
    )
    roles = ("--identifying", "name", "--quasi", "age,city", "--sensitive", "disease", "-k", "3", "--quiet")
    run("series", "start", tmp_path / "s", first, *HOW, *roles, "--way", way)
    third = as_written(tmp_path / "3.csv", people(10, first=90, seed=2))
    # The second month is written otherwise; the third one like the first, as the series knows.
    assert "leave source.encoding out" in run("series", "append", tmp_path / "s", second, code=2)
    otherwise = ("--set", "source.separator=,", "--set", "source.encoding=utf-8")
    run("series", "append", tmp_path / "s", second, *otherwise, "--quiet")
    run("series", "append", tmp_path / "s", third, "--quiet")
    series = sf.Series.open(tmp_path / "s")
    assert len(series.releases) == 3
    assert series.verify(ledger=True).ok
    again = as_written(
        tmp_path / "4.csv", [(n, a, c.replace("Köln", "A"), d) for n, a, c, d in people(10, first=50, seed=1)]
    )
    told = run("attack", tmp_path / "s", *(w for path in (first, again, third) for w in ("--original", path)), *HOW)
    assert "record tracing through all releases: stands" in told
    assert "refused" not in told
    wrong = run("attack", tmp_path / "s", *(w for path in (first, again, third) for w in ("--original", path)), code=2)
    assert "source.encoding=cp1252" in wrong


def test_a_form_of_dates_of_one_month(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["name"], quasi_identifying=["born"], sensitive=["disease"])
    days = [(f"p{n}", f"19{50 + n}-03-0{1 + n % 9}", "flu") for n in range(12)]
    table = write_csv(tmp_path / "a.csv", days, ("name", "born", "disease"))
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(3), table=table)
    german = [(f"q{n}", f"0{1 + n % 9}.04.19{50 + n}", "flu") for n in range(12)]
    other = write_csv(tmp_path / "b.csv", german, ("name", "born", "disease"))
    run("series", "append", series.folder, other, "--quiet", code=2)
    run("series", "append", series.folder, other, "--set", "column.born.dates=dd.mm.yyyy", "--quiet")
    assert series.verify(ledger=True).ok
    assert "none that the series reads" in run(
        "series", "append", series.folder, other, "--set", "column.x.dates=dd.mm.yyyy", code=2
    )
    found = run("attack", series.folder, "--original", table, "--original", write_csv(
        tmp_path / "c.csv", [(f"q{n}", f"19{50 + n}-04-0{1 + n % 9}", "flu") for n in range(12)],
        ("name", "born", "disease")))  # fmt: skip
    assert "intersection of all releases: stands" in found


def test_a_release_of_a_series_by_itself_says_what_it_cannot_tell(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "a.csv", people(20))
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=table)
    original = sf.read_table(table, SCHEMA)
    told = sf.attack(series.releases[0], original, progress=lambda *_: None).unplayed
    assert told["record tracing"] == "needs the other releases of the series: sfumato attack plays it"
    assert "record tracing" not in sf.attack(sf.anonymize(original, sf.KAnonymity(3)), original).unplayed
    report = sf.report(series.releases[0], original, progress=lambda *_: None)
    assert "record tracing" in str(report.to_dict())

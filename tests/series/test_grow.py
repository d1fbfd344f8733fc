"""Growing series end to end: recounted over all worlds by a program that has nothing but the CSV files."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import HEADER, SCHEMA, Person, chain_is_whole, covers, people, rows_of, write_csv
from sfumato.cli.app import app
from sfumato.hierarchy import HierarchySpecification
from sfumato.models.protocol import PrivacyModel
from sfumato.series.grow_making import GrowingState
from sfumato.series.ledger import Ledger
from sfumato.series.people import tags_of

Row = dict[str, str]


BARE = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], others="drop")
"""Rows publish nothing beside their class."""


def read(release: Path) -> list[Row]:
    with (release / "data.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_range(label: str, number: int) -> bool:
    low, _, high = label.strip("[]").partition("..")
    return int(low) <= number <= int(high or low)


def fits(row: Row, person: Person, came: int) -> bool:
    return covers(row["age"], person[1]) and covers(row["city"], person[2]) and in_range(row["arrived"], came)


def joinable(older: Row, newer: Row) -> bool:
    """Tell whether the rows can be one person's: the same value, and labels that overlap."""
    ages = any(covers(older["age"], age) and covers(newer["age"], age) for age in range(100))
    cities = any(covers(older["city"], city) and covers(newer["city"], city) for city in "ABC")
    months = any(in_range(older["arrived"], number) and in_range(newer["arrived"], number) for number in range(1, 9))
    return older.get("disease") == newer.get("disease") and ages and cities and months


def worlds(older: Sequence[Row], newer: Sequence[Row]) -> list[tuple[int, ...]]:
    """Return every way in which the older rows can have become newer ones."""
    may = [[place for place, row in enumerate(newer) if joinable(each, row)] for each in older]
    found: list[tuple[int, ...]] = [()]
    for places in may:
        found = [(*world, place) for world in found for place in places if place not in world]
    return found


def label(row: Row) -> tuple[str, ...]:
    return row["age"], row["city"], row["arrived"]


def left_to(person: Person, came: int, number: int, older: Sequence[Row], newer: Sequence[Row]) -> int:
    """Count the rows that two releases leave to somebody, whatever the class is that the person is really in."""
    found = worlds(older, newer)
    assert found
    here = {label(row) for row in newer if fits(row, person, came)}
    least = len(newer)
    if came > number:
        for name in here:
            places = {place for place, row in enumerate(newer) if label(row) == name}
            new = {place for world in found for place in places - set(world)}
            least = min(least, len(new) or least)
        return least
    there = {label(row) for row in older if fits(row, person, came)}
    for first in there:
        for second in here:
            pairs = {
                (place, world[place])
                for world in found
                for place in range(len(older))
                if label(older[place]) == first and label(newer[world[place]]) == second
            }
            for side in (0, 1):
                least = min(least, len({pair[side] for pair in pairs}) or least)
    return least


@pytest.mark.parametrize("seed", range(12))
def test_all_worlds_leave_everybody_k_rows(seed: int, tmp_path: Path) -> None:
    # Rows publish nothing beside their class, so that recipients can recount every pair of classes.
    everybody = people(9, seed=seed)
    months = [everybody[:4], everybody[4:7], everybody[7:]]
    series = sf.Series.start(tmp_path / "s", BARE, sf.KAnonymity(2), way="grow")
    came, number = dict[str, int](), 0
    waiting: list[Person] = []
    for month in months:
        waiting += month
        step = series.grow(pl.DataFrame(month, schema=list(HEADER), orient="row"))
        if step.number is not None:
            number = step.number
            came |= {str(name): number for name, *_ in waiting}
            waiting = []
    releases = [read(path) for path in series.releases]
    for newer in range(2, number + 1):
        for older in range(1, newer):
            for person in everybody:
                if person[0] in came and came[person[0]] <= newer:
                    assert left_to(person, came[person[0]], older, releases[older - 1], releases[newer - 1]) >= 2
    assert series.verify(ledger=True).ok


def real_classes(series: sf.Series, names: Sequence[str]) -> list[dict[str, tuple[str, ...]]]:
    """Return what the ledger says: the labels of the class of each person, release by release."""
    ledger = Ledger.read(series.ledger)
    tags = dict(zip(tags_of(pl.Series(names), ledger.key).to_list(), names, strict=True))
    found = []
    for path, people_of in zip(series.releases, ledger.people(), strict=True):
        labels = sorted({label(row) for row in read(path)})
        found.append(
            {tags[tag]: labels[number] for tag, number in zip(people_of.tags, people_of.class_of, strict=True)}
        )
    return found


@pytest.mark.parametrize("seed", range(12))
def test_all_worlds_leave_everybody_k_rows_of_the_own_classes(seed: int, tmp_path: Path) -> None:
    # Rows publish values, too: then the classes in which people really are count, as the ledger knows them.
    everybody = people(11, seed=100 + seed)
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(2), way="grow")
    for month in (everybody[:5], everybody[5:8], everybody[8:]):
        series.grow(pl.DataFrame(month, schema=list(HEADER), orient="row"))
    assert len(series.releases) == 3
    classes = real_classes(series, [str(person[0]) for person in everybody])
    releases = [read(path) for path in series.releases]
    for older, newer in ((0, 1), (0, 2), (1, 2)):
        found = worlds(releases[older], releases[newer])
        assert found
        for name, second in classes[newer].items():
            here = {place for place, row in enumerate(releases[newer]) if label(row) == second}
            if name not in classes[older]:
                assert len({place for world in found for place in here - set(world)}) >= 2
                continue
            there = [place for place, row in enumerate(releases[older]) if label(row) == classes[older][name]]
            pairs = {(place, world[place]) for world in found for place in there if world[place] in here}
            assert len({place for place, _ in pairs}) >= 2
            assert len({place for _, place in pairs}) >= 2


@pytest.mark.parametrize("seed", range(3))
def test_everybody_stays_with_the_own_record_and_every_class_keeps_its_promise(seed: int, tmp_path: Path) -> None:
    models = [sf.KAnonymity(4), sf.DistinctLDiversity(2)]
    first = write_csv(tmp_path / "0.csv", people(60, seed=seed))
    series = sf.Series.start(tmp_path / "s", SCHEMA, models, table=first, way="grow", seed=1)
    there = people(60, seed=seed)
    for month in (1, 2, 3):
        batch = people(25, first=100 * month, seed=10 * seed + month)
        there += batch
        assert series.grow(write_csv(tmp_path / f"{month}.csv", batch), seed=1).published == 25
        rows = read(series.releases[-1])
        assert Counter(row["disease"] for row in rows) == Counter(person[3] for person in there)
        for members in ([row for row in rows if label(row) == name] for name in {label(row) for row in rows}):
            assert len(members) >= 4
            assert len({row["disease"] for row in members}) >= 2
    found = series.verify(ledger=True)
    assert found.ok
    assert chain_is_whole(series.folder)
    assert {each.way for each in found.releases} == {"grow"}
    for person in there:
        assert any(covers(row["age"], person[1]) and covers(row["city"], person[2]) for row in rows)


def test_the_order_of_the_rows_decides_nothing(tmp_path: Path) -> None:
    found = []
    for turn in (1, -1):
        folder = tmp_path / str(turn)
        folder.mkdir()
        series = sf.Series.start(
            folder / "s", SCHEMA, sf.KAnonymity(3), table=write_csv(folder / "0.csv", people(40)[::turn]), way="grow",
            seed=3,
        )  # fmt: skip
        series.grow(write_csv(folder / "1.csv", people(20, first=100)[::turn]), seed=4)
        found.append([(path / "data.csv").read_bytes() for path in series.releases])
    assert found[0] == found[1]


@pytest.fixture
def grown(tmp_path: Path) -> sf.Series:
    first = write_csv(tmp_path / "0.csv", people(60))
    series = sf.Series.start(tmp_path / "s", BARE, sf.KAnonymity(4), table=first, way="grow")
    series.grow(write_csv(tmp_path / "1.csv", people(30, first=100, seed=1)))
    return series


def test_folders_alone_suffice_where_rows_publish_no_value(grown: sf.Series) -> None:
    found = grown.verify()
    assert found.ok
    (_, beside) = found.releases[1].beside
    assert str(beside.outcome) == "holds", beside
    assert "forward and cross" in beside.detail
    assert "the pairs of classes that leave too few rows are those in which nobody is" in found.attested


def test_a_release_that_lets_a_newcomer_be_subtracted_is_refused(grown: sf.Series) -> None:
    from sfumato.models.protocol import Outcome
    from sfumato.series.grow_recount import recount_grown
    from sfumato.series.reading import ReadRelease

    older, newer = map(ReadRelease.of, grown.releases)
    # One more row in a class of the first release: the class less its old rows is the newcomer's.
    data = pl.read_csv(grown.releases[0] / "data.csv", infer_schema=False)
    name = data.row(0, named=True)
    alike = (pl.col("age") == name["age"]) & (pl.col("city") == name["city"])
    joined = data.with_columns(pl.when(alike).then(pl.lit("[1..2]")).otherwise("arrived").alias("arrived"))
    joined = pl.concat([joined, joined.filter(alike).head(1)])
    path = grown.folder.parent / "forged"
    shutil.copytree(newer.path, path)
    joined.write_csv(path / "data.csv")
    (_, check) = recount_grown([older], ReadRelease.of(path))
    assert check.outcome is Outcome.BROKEN
    (_, fine) = recount_grown([older], newer)
    assert fine.outcome is Outcome.HOLDS


def test_a_lost_row_breaks_the_recount(grown: sf.Series) -> None:
    from sfumato.models.protocol import Outcome
    from sfumato.series.grow_recount import recount_grown
    from sfumato.series.reading import ReadRelease

    older, newer = map(ReadRelease.of, grown.releases)
    path = grown.folder.parent / "forged"
    shutil.copytree(newer.path, path)
    short = pl.read_csv(older.path / "data.csv", infer_schema=False)[1:]
    short.write_csv(path / "data.csv")
    (_, check) = recount_grown([older], ReadRelease.of(path))
    assert check.outcome is Outcome.BROKEN
    assert "1 rows of the older release have no row" in check.detail


@pytest.mark.parametrize(
    ("quasi", "models", "said"),
    [
        ({"age": None, "arrived": None}, sf.KAnonymity(3), "column 'arrived': grow publishes a column of this name"),
        (
            {"age": None, "city": sf.prefixes(1)},
            sf.KAnonymity(3),
            "column 'city': this hierarchy is built from the values",
        ),
        ({"age": None}, sf.GuardedValues(["flu"], 0.5, attribute="disease"), "models: grow needs a smallest class"),
        ({"age": None}, sf.TCloseness(0.2), "t-closeness does not judge each class by itself"),
    ],
)
def test_what_cannot_grow_is_refused_at_the_start(
    quasi: dict[str, HierarchySpecification | None], models: PrivacyModel, said: str, tmp_path: Path
) -> None:
    attributes = {name: sf.Attribute(hierarchy=tree) for name, tree in quasi.items()}
    schema = sf.Schema(identifying=["name"], quasi_identifying=attributes, sensitive=["disease"])
    with pytest.raises(sf.PolicyError, match=said):
        sf.Series.start(tmp_path / "s", schema, models, way="grow")
    assert not (tmp_path / "s").exists()


def test_people_again_and_few_people(grown: sf.Series, tmp_path: Path) -> None:
    before = rows_of(grown.releases[-1])
    with pytest.raises(sf.InputError, match="2 people of 2 are in an earlier release"):
        grown.grow(write_csv(tmp_path / "again.csv", people(2)))
    with pytest.raises(sf.PolicyError, match="use sfumato series append, or in Python grow"):
        grown.append(write_csv(tmp_path / "more.csv", people(9, first=500)))
    step = grown.grow(write_csv(tmp_path / "two.csv", people(2, first=700)))
    assert (step.number, step.waiting) == (None, 2)
    assert rows_of(grown.releases[-1]) == before
    assert len(grown.releases) == 2
    assert grown.grow(write_csv(tmp_path / "six.csv", people(6, first=800))).published == 8
    assert grown.verify(ledger=True).ok


def test_new_values_and_missing_ones_come_later(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "0.csv", people(40))
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=first, way="grow")
    others = [(name, 95 if number % 3 else None, "D{|}" if number % 2 else "A", disease)
              for number, (name, _, _, disease) in enumerate(people(20, first=100))]  # fmt: skip
    series.grow(pl.DataFrame(others, schema=list(HEADER), orient="row"))
    series.grow(write_csv(tmp_path / "2.csv", people(20, first=200)))
    assert series.verify(ledger=True).ok
    assert any("D" in row["city"] for row in read(series.releases[-1]))


@pytest.mark.parametrize("count", [2, 12])
@pytest.mark.parametrize("started", [False, True])
def test_huge_numbers_are_refused_before_a_label_hides_them(started: bool, count: int, tmp_path: Path) -> None:
    """Beside missing values all of them are published as ``*``, which two releases can be compared by; later not."""
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), way="grow", key="name", seed=1)
    if started:
        series.grow(write_csv(tmp_path / "0.csv", people(40)))
    ages = [2**53 if number % 3 else None for number in range(count)]
    rows = [(name, age, city, ill) for age, (name, _, city, ill) in zip(ages, people(count, first=100), strict=True)]
    with pytest.raises(sf.InputError, match=r"column\(s\) 'age': newcomers have numbers of 2\^53 or more") as refused:
        series.grow(pl.DataFrame(rows, schema=list(HEADER), orient="row"))
    assert str(2**53) not in str(refused.value)
    assert len(series.releases) == started
    # Nobody of them waits.
    step = series.grow(write_csv(tmp_path / "1.csv", people(20, first=200)))
    assert (step.published, step.waiting) == (20, 0)
    assert series.verify(ledger=True).ok


def test_what_the_ledger_keeps_is_private_and_checked(grown: sf.Series, tmp_path: Path) -> None:
    (kept,) = grown.ledger.glob("kept-*")
    assert kept.stat().st_mode & 0o077 == 0
    state = GrowingState.read(kept.read_bytes())
    assert state.records.height == 90
    assert "name" not in state.records.columns
    with pytest.raises(sf.VerificationError, match="cannot be read"):
        GrowingState.read(kept.read_bytes()[:-100])
    with pytest.raises(sf.VerificationError, match="cannot be read"):
        GrowingState.read(b"not a file")
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(sf.VerificationError, match="was changed or is damaged"):
        grown.grow(write_csv(tmp_path / "more.csv", people(9, first=500)))
    shutil.rmtree(grown.ledger)
    with pytest.raises(sf.InputError, match="there is no ledger"):
        grown.grow(tmp_path / "more.csv")
    assert grown.verify().ok


def test_from_the_command_line(tmp_path: Path) -> None:
    run, folder = CliRunner().invoke, tmp_path / "s"
    first, second = write_csv(tmp_path / "0.csv", people(50)), write_csv(tmp_path / "1.csv", people(20, first=100))
    roles = ["--identifying", "name", "--quasi", "age,city", "--sensitive", "disease"]
    started = run(
        app,
        ["series", "start", str(folder), str(first), *roles, "-k", "4", "-l", "1.5", "--way", "grow"],
    )
    assert started.exit_code == 0, started.output
    assert "entropy-l-diversity" in (folder / "series.json").read_text()
    refused = run(app, ["series", "republish", str(folder), str(second)])
    assert refused.exit_code != 0
    grown = run(app, ["series", "append", str(folder), str(second), "--json", "--quiet"])
    assert grown.exit_code == 0, grown.output
    assert json.loads(grown.stdout)["published"] == 20
    verified = run(app, ["verify", str(folder), "--ledger", str(tmp_path / "s.ledger")])
    assert verified.exit_code == 0, verified.output
    assert "beside release 1: forward, cross and backward attack" in " ".join(verified.output.split())
    shown = run(app, ["series", "show", str(folder)])
    assert "20 newcomers" in shown.output
    assert Ledger.read(tmp_path / "s.ledger").way == "grow"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_columns_of_all_types_grow_in_both_formats(format: str, tmp_path: Path) -> None:
    from datetime import date, timedelta

    def batch(first: int, count: int) -> pl.DataFrame:
        numbers = range(first, first + count)
        return pl.DataFrame(
            {
                "id": [f"0{number}" for number in numbers],
                "born": [date(1950, 1, 1) + timedelta(days=97 * (number % 83)) for number in numbers],
                "height": [1.5 + number % 37 / 100 for number in numbers],
                "member": [number % 3 == 0 for number in numbers],
                "zip": [f"0{number % 7}" for number in numbers],
                "dose": [[0.5, 1.0, None][number % 3] for number in numbers],
                "note": [["", "a,b", None, '"q"'][number % 4] for number in numbers],
                "seen": [date(2020, 1, 1 + number % 2) for number in numbers],
            }
        )

    schema = sf.Schema(
        identifying=["id"], quasi_identifying=["born", "height", "member", "zip"], sensitive=["dose"], others="keep"
    )
    policy = sf.Policy.of(schema, [sf.KAnonymity(4)], sf.Mondrian(), sf.Recoding(), 0.0, 0)
    policy = policy.model_copy(update={"output": policy.output.model_copy(update={"format": format})})
    series = sf.Series.start(tmp_path / "s", policy, table=batch(0, 60), way="grow")
    for first in (100, 200):
        assert series.grow(batch(first, 25)).published == 25
    assert (series.releases[-1] / f"data.{format}").exists()
    found = series.verify(ledger=True)
    assert found.ok, str(found)
    assert series.verify().ok


def test_people_who_waited_are_told_apart_by_the_release_with_which_they_came(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "0.csv", people(30))
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(4), table=first, way="grow")
    series.grow(write_csv(tmp_path / "1.csv", people(3, first=100)))
    series.grow(write_csv(tmp_path / "2.csv", people(5, first=200)))
    rows = read(series.releases[-1])
    assert len(series.releases) == 2
    assert sum(row["arrived"] != "1" for row in rows) >= 8
    assert {row["arrived"] for row in rows} <= {"1", "2", "[1..2]"}


def test_categories_that_look_like_intervals_are_refused(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "0.csv", [(f"p{n}", 30, "[1..2]" if n % 2 else "[2..3]", "flu") for n in range(20)])
    with pytest.raises(sf.VerificationError, match=r"'city'.*look like intervals"):
        sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(4), table=table, way="grow")
    assert not (tmp_path / "s").exists()
    assert not (tmp_path / "s.ledger").exists()


@pytest.mark.parametrize("arrived", ["5", "[0..1]", "x", "*", "", "[2..1]"])
def test_arrivals_that_cannot_be_are_told(arrived: str, grown: sf.Series) -> None:
    path = grown.releases[1] / "data.csv"
    rows = pl.read_csv(path, infer_schema=False)
    rows.with_columns(pl.lit(arrived).alias("arrived")).write_csv(path)
    found = grown.verify()
    assert not found.ok
    assert any(str(check.outcome) == "broken" for check in found.releases[1].beside)


def test_months_of_arrival_are_told_only_where_rows_publish_nothing_else(tmp_path: Path, grown: sf.Series) -> None:
    first, second = (write_csv(tmp_path / f"{number}.csv", people(30, first=30 * number)) for number in range(2))
    passing: dict = {"identifying": ["name"], "quasi_identifying": ["age", "city"]}
    assert {row["arrived"] for row in read(grown.releases[1])} > {"1", "2"}
    for number, values in enumerate(
        ({"sensitive": ["disease"]}, {"insensitive": ["disease"]}, {"publish": ["disease"]})
    ):
        schema = sf.Schema(**passing, **values)
        series = sf.Series.start(tmp_path / f"s{number}", schema, sf.KAnonymity(4), table=first, way="grow")
        series.grow(second)
        assert [{row["arrived"] for row in read(path)} for path in series.releases] == [{"1"}, {"[1..2]"}]
        found = series.verify(ledger=True)
        assert found.ok
        assert str(found.releases[1].beside[1]) == "holds: beside published values, months of arrival tell nothing"


def test_exact_months_of_an_older_version_are_told(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "first.csv", people(30))
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(4), table=first, way="grow")
    from sfumato.models.protocol import Outcome
    from sfumato.series.grow_recount import recount_grown
    from sfumato.series.reading import ReadRelease

    series.grow(write_csv(tmp_path / "second.csv", people(30, first=30)))
    older, newer = map(ReadRelease.of, series.releases)
    path = tmp_path / "exact"
    shutil.copytree(newer.path, path)
    rows = pl.read_csv(path / "data.csv", infer_schema=False)
    rows.with_columns(pl.lit("[1..2]").alias("arrived")).write_csv(path / "data.csv")
    assert recount_grown([older], ReadRelease.of(path))[1].outcome is Outcome.HOLDS
    some = pl.when(pl.col("age") == rows["age"][0]).then(pl.lit("1")).otherwise("arrived")
    rows.with_columns(some.alias("arrived")).write_csv(path / "data.csv")
    (_, told, *_) = recount_grown([older], ReadRelease.of(path))
    assert told.outcome is Outcome.UNDECIDABLE
    assert not told.required
    assert "can tell more than is counted" in told.detail


def test_a_series_with_exact_months_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As versions made it that published exact months beside values."""
    from sfumato.series import grow_making

    made = grow_making.grow
    monkeypatch.setattr(grow_making, "grow", lambda *given, **how: made(*given, **{**how, "exact_months": True}))
    first, second, third = (
        write_csv(tmp_path / f"{number}.csv", people(30, first=30 * number, seed=number)) for number in range(3)
    )
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(4), table=first, way="grow", accept_gap=True)
    series.grow(second)
    monkeypatch.undo()
    series.grow(third)
    shown = [{row["arrived"] for row in read(path)} for path in series.releases]
    assert shown[1] != {"[1..2]"}
    assert shown[2] == {"[1..3]"}
    found = series.verify(ledger=True)
    assert found.ok, str(found)
    assert [str(each.beside[1].outcome) for each in found.releases] == [
        "holds", "not verifiable from the release", "holds"
    ]  # fmt: skip

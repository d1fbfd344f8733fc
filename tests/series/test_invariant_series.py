"""Series of m-invariance: people come, stay, leave and come back; recounted from the files alone."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import HEADER, SCHEMA, covers, write_csv
from series.test_bad_input import listing
from sfumato.cli.app import app
from sfumato.models.protocol import Outcome
from sfumato.release.reports import Report
from sfumato.series.description import SeriesFolder
from sfumato.series.grow_recount import attest_invariant, recount_invariant
from sfumato.series.ledger import Ledger
from sfumato.series.people import PeopleOfRelease, tags_of
from sfumato.series.reading import ReadRelease

WAY = "m-invariance"
VALUES = ("flu", "cold", "gout", "none", "asthma", "angina", "ulcer", "croup")
Person = tuple[str, int, str, str]
Worlds = list[dict[str, str]]


def models(m: int) -> list[sf.PrivacyModel]:
    return [sf.KAnonymity(m), sf.DistinctLDiversity(m), sf.ProbabilisticLDiversity(m)]


def invented(count: int, values: Sequence[str], drawn: random.Random) -> list[Person]:
    return [(f"p{number}", drawn.randint(20, 79), drawn.choice("ABC"), drawn.choice(values)) for number in range(count)]


def months(everybody: Sequence[Person], first: int, moving: int, drawn: random.Random) -> Iterator[list[Person]]:
    """Let people come, leave and come back each month; `moving` of them at most for each."""
    inside, new, away = list(everybody[:first]), list(everybody[first:]), list[Person]()
    while True:
        yield list(inside)
        gone = drawn.sample(inside, min(moving, len(inside) - 1))
        back = drawn.sample(away, min(moving // 2, len(away)))
        inside = [person for person in inside if person not in gone] + back + new[:moving]
        away = [person for person in (*away, *gone) if person not in back]
        new = new[moving:]


def rows_of(release: Path) -> list[dict[str, str]]:
    with (release / "data.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_class(release: Path) -> dict[str, list[dict[str, str]]]:
    found = defaultdict(list)
    for row in rows_of(release):
        found[row["class_number"]].append(row)
    return found


def classes_of_people(series: sf.Series, number: int, people: Sequence[Person]) -> dict[str, str]:
    """Return the class of everybody in a release, as the strongest attacker knows it."""
    ledger = Ledger.open(series.ledger, SeriesFolder.open(series.folder))
    tags = tags_of(pl.Series([person[0] for person in people]), ledger.key).to_list()
    there = ledger.people()[number - 1]
    known = dict(zip(there.tags.to_list(), map(str, there.class_of.tolist()), strict=True))
    return {person[0]: known[tag] for person, tag in zip(people, tags, strict=True)}


def check_release(series: sf.Series, number: int, people: Sequence[Person], m: int) -> dict[str, frozenset[str]]:
    """Recount one release; return everybody's signature."""
    classes = by_class(series.releases[number - 1])
    class_of = classes_of_people(series, number, people)
    inside = Counter(class_of.values())
    for name, rows in classes.items():
        diseases = [row["disease"] for row in rows]
        assert len(set(diseases)) == len(diseases) >= m
        assert len({(row["age"], row["city"]) for row in rows}) == 1
        assert {row["counterfeits"] for row in rows} == {str(len(rows) - inside[name])}
        assert inside[name] > 0
    for name, age, city, disease in people:
        rows = classes[class_of[name]]
        assert disease in {row["disease"] for row in rows}
        assert covers(rows[0]["age"], age)
        assert covers(rows[0]["city"], city)
    return {name: frozenset(row["disease"] for row in classes[there]) for name, there in class_of.items()}


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exception is None or isinstance(found.exception, SystemExit)
    return found.exit_code, found.output


def start_words(folder: Path, table: Path, m: int, sensitive: str = "disease") -> list[object]:
    roles = ["--identifying", "name", "--quasi", "age,city", "--sensitive", sensitive]
    return ["series", "start", folder, table, "--way", WAY, "-m", m, *roles]


def test_four_months_from_the_command_line(tmp_path: Path) -> None:
    drawn = random.Random(4)
    walk = months(invented(500, VALUES, drawn), 240, 24, drawn)
    folder, kept = tmp_path / "s", dict[str, frozenset[str]]()
    for number in range(1, 5):
        people = next(walk)
        table = write_csv(tmp_path / f"{number}.csv", people)
        words = start_words(folder, table, 4) if number == 1 else ["series", "republish", folder, table]
        code, told = run(*words, "--json")
        assert code == 0, told
        series = sf.Series.open(folder)
        signatures = check_release(series, number, people, 4)
        assert all(kept.get(name, signature) == signature for name, signature in signatures.items())
        kept |= signatures
        assert sf.verify(series.releases[-1]).ok
    assert len(kept) > 300
    code, told = run("verify", folder, "--ledger", series.ledger)
    assert code == 0, told
    assert "holds: every class has at least 4 rows, all with different sensitive values" in told
    assert (
        "holds: everybody in release 4 who was in an earlier one is in a class of the same sensitive values"
        in " ".join(told.split())
    )
    assert "240 people in" in run("series", "show", folder)[1]


def worlds(people: set[str], releases: Sequence[tuple[Mapping[str, str], Mapping[str, frozenset[str]]]]) -> Worlds:
    """Enumerate everybody's values that fit all releases: in each class the people have different values of it."""
    found: Worlds = [{}]
    for name in sorted(people):
        mine = [(class_of, values) for class_of, values in releases if name in class_of]
        grown: Worlds = []
        for world in found:
            for value in set.intersection(*(set(values[class_of[name]]) for class_of, values in mine)):
                others = (
                    other
                    for class_of, _ in mine
                    for other in world
                    if class_of.get(other) == class_of[name] and world[other] == value
                )
                if next(others, None) is None:
                    grown.append({**world, name: value})
        found = grown
    return found


def surest(found: Worlds) -> float:
    """Return the largest share of worlds in which somebody has one value."""
    return max(max(Counter(world[name] for world in found).values()) for name in found[0]) / len(found)


def small_series(
    seed: int, m: int, place: Path, again: Callable[[Path, list[Person]], sf.Series | None], *, moves: bool = False
) -> float:
    """Publish a tiny series of three months; return how sure somebody is of somebody else's value.

    With `moves`, quasi-identifying values change from month to month; the attacker knows everybody's class anyway.
    """
    drawn = random.Random(seed)
    walk = months(invented(20, VALUES[: m + 1], drawn), 3 * m, 2, drawn)
    everybody, seen = set[str](), []
    for _ in range(3):
        people = next(walk)
        if moves:
            people = [(name, drawn.randint(20, 79), drawn.choice("ABC"), value) for name, _, _, value in people]
        series = again(place, people)
        if series is None:
            continue
        number = len(series.releases)
        values = {
            name: frozenset(row["disease"] for row in rows) for name, rows in by_class(series.releases[-1]).items()
        }
        seen.append((classes_of_people(series, number, people), values))
        everybody |= {person[0] for person in people}
    return surest(worlds(everybody, seen)) if seen else 0.0


def frame(people: Sequence[Person]) -> pl.DataFrame:
    return pl.DataFrame(people, schema=list(HEADER), orient="row")


@pytest.mark.parametrize("m", [2, 3])
def test_in_all_worlds_together_nobody_is_known_above_1_in_m(m: int, tmp_path: Path) -> None:
    def next_month(place: Path, people: list[Person]) -> sf.Series | None:
        try:
            if (place / "s").exists():
                series = sf.Series.open(place / "s")
                series.republish(frame(people), most_counterfeits=0.7, threads=1)
                return series
            return sf.Series.start(place / "s", SCHEMA, models(m), table=frame(people), way=WAY, threads=1)
        except sf.UnsatisfiableError:
            return None

    def independent(place: Path, people: list[Person]) -> sf.Series | None:
        place.mkdir(exist_ok=True)
        fresh = place / str(len(list(place.iterdir())))
        fresh.mkdir()
        return next_month(fresh, people)

    played = [small_series(seed, m, tmp_path / f"a{seed}", with_room(next_month)) for seed in range(12)]
    assert max(played) <= 1 / m + 1e-9
    assert sum(sure > 0 for sure in played) > 6
    moving = [small_series(seed, m, tmp_path / f"c{seed}", with_room(next_month), moves=True) for seed in range(8)]
    assert max(moving) <= 1 / m + 1e-9
    assert sum(sure > 0 for sure in moving) > 3
    # The same months, each published by itself, tell more.
    assert max(small_series(seed, m, tmp_path / f"b{seed}", with_room(independent)) for seed in range(6)) > 1 / m + 0.1


def with_room(
    again: Callable[[Path, list[Person]], sf.Series | None],
) -> Callable[[Path, list[Person]], sf.Series | None]:
    def made(place: Path, people: list[Person]) -> sf.Series | None:
        place.mkdir(exist_ok=True)
        return again(place, people)

    return made


PAIRS: list[Person] = [
    ("a", 20, "A", "flu"),
    ("b", 21, "A", "cold"),
    ("c", 60, "B", "gout"),
    ("d", 61, "B", "none"),
]


@pytest.fixture
def series(tmp_path: Path) -> sf.Series:
    return sf.Series.start(tmp_path / "s", SCHEMA, models(2), table=frame(PAIRS), way=WAY)


def test_who_left_is_replaced_by_a_counterfeit_and_finds_the_signature_again(series: sf.Series) -> None:
    first = check_release(series, 1, PAIRS, 2)
    without = [person for person in PAIRS if person[0] != "b"]
    step = series.republish(frame(without), most_counterfeits=0.5)
    assert (step.number, step.published, step.waiting) == (2, 3, 0)
    assert "1 person of earlier releases is not in it; 1 counterfeit in 4 rows (25%)" in step.notes[0]
    assert sum(row["counterfeits"] == "1" for row in rows_of(series.releases[1])) == 2
    series.republish(frame(PAIRS))
    assert check_release(series, 3, PAIRS, 2) == first
    assert {row["counterfeits"] for row in rows_of(series.releases[2])} == {"0"}
    assert series.verify(ledger=True).ok


def test_who_has_other_quasi_identifying_values_keeps_the_signature(series: sf.Series) -> None:
    first = check_release(series, 1, PAIRS, 2)
    moved = changed(2, 1, 25)
    step = series.republish(frame(moved))
    assert step.notes[0].endswith("; 1 person with other quasi-identifying values than before")
    assert check_release(series, 2, moved, 2) == first
    assert "other quasi-identifying" not in series.republish(frame(moved)).notes[0]
    assert series.verify(ledger=True).ok


def test_a_newcomer_of_the_same_value_takes_the_place(series: sf.Series) -> None:
    (value,) = {person[3] for person in PAIRS if person[0] == "b"}
    people = [*(person for person in PAIRS if person[0] != "b"), ("e", 25, "C", value)]
    assert "0 counterfeits in 4 rows" in series.republish(frame(people)).notes[0]
    check_release(series, 2, people, 2)


def test_counterfeits_are_charged(series: sf.Series) -> None:
    whole = series.republish(frame(PAIRS)).report
    less = series.republish(frame(PAIRS[:3]), most_counterfeits=0.5).report
    assert isinstance(whole, Report)
    assert isinstance(less, Report)
    assert (whole.losses.suppressed, less.losses.suppressed) == (0, 1)
    assert less.losses.ncp >= len(SCHEMA.quasi_identifying)


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    drawn = random.Random(2)
    people = invented(60, VALUES, drawn)
    texts = []
    for place in ("one", "two"):
        made = sf.Series.start(tmp_path / place, SCHEMA, models(3), table=frame(people[:50]), way=WAY, seed=1)
        made.republish(frame(people[5:]), seed=2, most_counterfeits=0.5)
        texts.append([(release / "data.csv").read_text() for release in made.releases])
        people = [*reversed(people[:5]), *reversed(people[5:50]), *reversed(people[50:])]
    assert texts[0] == texts[1]


def changed(number: int, place: int, value: object) -> list[Person]:
    people = list(PAIRS)
    row = list(people[number])
    row[place] = value
    people[number] = tuple(row)  # type: ignore[assignment]
    return people


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (changed(0, 3, "cold"), "1 person with another sensitive value than in an earlier release"),
        (changed(0, 3, "gout"), "1 person with another sensitive value than in an earlier release"),
        (changed(2, 3, None), "column 'disease': 1 record without a value"),
        ([*PAIRS, PAIRS[0]], "1 record of 5 with a key that another one has"),
        (
            [*PAIRS, ("e", 30, "A", "flu"), ("f", 31, "A", "flu"), ("g", 31, "A", "none")],
            "Of these 1 would have to wait",
        ),
        (PAIRS[:1], "1 counterfeits are needed, more than the 5.0% of rows"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(people: list[Person], words: str, series: sf.Series) -> None:
    before = listing(series)
    with pytest.raises(sf.SfumatoError) as caught:
        series.republish(frame(people))
    assert listing(series) == before
    assert words in str(caught.value).replace("1 counterfeit is", "1 counterfeits are")
    assert series.verify(ledger=True).ok


def test_ways_do_not_mix(series: sf.Series, tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match="is a series of the way 'm-invariance'; use sfumato series republish"):
        series.append(frame([("x", 30, "A", "flu"), ("y", 31, "A", "cold")]))
    other = sf.Series.start(tmp_path / "o", SCHEMA, models(2), table=frame(PAIRS))
    with pytest.raises(sf.PolicyError, match="is a series of the way 'append'; use sfumato series append"):
        other.republish(frame(PAIRS))
    waits = sf.Series.start(tmp_path / "w", SCHEMA, models(2))
    assert waits.append(frame(PAIRS[:1])).waiting == 1
    with pytest.raises(sf.PolicyError, match="is a series of the way 'append'"):
        waits.republish(frame(PAIRS))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sensitive", "disease,city", "--quasi", "age"], "sensitive columns: m-invariance protects one"),
        (["--sensitive", "age", "--quasi", "city", "--others", "drop"], "sensitive column 'age': is numeric"),
        (
            ["--sensitive", "disease", "--quasi", "age", "--set", "columns.insensitive=city"],
            "insensitive columns: 1 would be",
        ),
        (["--model", "entropy-l-diversity:l=2"], "models: entropy-l-diversity is not what m-invariance keeps"),
        (["--model", "t-closeness:t=0.5"], "models: t-closeness does not judge each class by itself"),
        (["--anonymizer", "k-member"], "anonymizer: m-invariance makes its classes itself"),
        (["--most-counterfeits", "2"], "most counterfeits: must be a share"),
        (["--way", "republish", "-k", "2"], "'republish' is not one of 'append', 'grow', 'm-invariance'"),
        (["--way", "append"], "-m: belongs to m-invariance"),
        (["-m", "1"], "needs an m of 2 or more"),
        (["-m", "5"], "there are not 5 people of different sensitive values"),
    ],
)
def test_a_start_that_cannot_be_leaves_nothing(words: list[str], told: str, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", PAIRS)
    roles = [] if "--quasi" in words else ["--quasi", "age,city", "--sensitive", "disease"]
    said = ["--way", WAY] if "--way" not in words else []
    m = [] if {"-m", "-k"} & {*words} else ["-m", "2"]
    code, output = run("series", "start", tmp_path / "s", table, "--identifying", "name", *roles, *said, *m, *words)
    assert code != 0
    assert told in " ".join(output.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


def test_more_than_a_share_of_one_value_is_refused_with_how_many(tmp_path: Path) -> None:
    people = [(f"p{number}", 20 + number, "A", "flu") for number in range(6)] + [("x", 30, "A", "cold")]
    with pytest.raises(sf.UnsatisfiableError, match=r"more than 1/2 of the newcomers. Of these 5 would have to wait"):
        sf.Series.start(tmp_path / "s", SCHEMA, models(2), table=frame(people), way=WAY)
    assert list(tmp_path.iterdir()) == []


def broken(release: ReadRelease, data: pl.DataFrame) -> list[str]:
    with TemporaryDirectory() as folder:
        copy = shutil.copytree(release.path, Path(folder) / "copy")
        data.write_csv(copy / "data.csv")
        found = recount_invariant([], ReadRelease.of(copy))
    return [check.promise for check in found if check.outcome is Outcome.BROKEN]


def test_a_release_that_is_not_m_unique_is_told(series: sf.Series) -> None:
    release = ReadRelease.of(series.releases[0])
    data = release.published.data.with_columns(pl.all().cast(pl.String))
    assert broken(release, data) == []
    one = pl.lit("flu").alias("disease")
    assert "every class has at least 2 rows, all with different sensitive values" in broken(
        release, data.with_columns(one)
    )
    assert broken(release, data.with_columns(pl.lit("2").alias("counterfeits"))) == [
        "each class has one number of counterfeits, and a row that is none"
    ]
    assert "the rows of a class publish the same quasi-identifying values" in broken(
        release, data.with_columns(pl.lit("1").alias("class_number"))
    )
    assert len(broken(release, data.with_columns(pl.lit("x").alias("class_number")))) == 1


def test_a_ledger_whose_people_changed_their_signature_is_told(series: sf.Series) -> None:
    series.republish(frame(PAIRS))
    older, newer = map(ReadRelease.of, series.releases)
    first, second = Ledger.open(series.ledger, SeriesFolder.open(series.folder)).people()
    assert all(check.outcome is Outcome.HOLDS for check in attest_invariant([older], newer, [first, second]))
    numbers = np.where(second.class_of == second.class_of.min(), second.class_of.max(), second.class_of.min())
    fits, kept = attest_invariant([older], newer, [first, PeopleOfRelease(second.tags, numbers.astype(np.uint32))])
    assert (fits.outcome, kept.outcome) == (Outcome.HOLDS, Outcome.BROKEN)
    assert kept.detail == "4 people of 4 changed it"
    few = PeopleOfRelease(second.tags[:3], second.class_of[:3])
    assert attest_invariant([older], newer, [first, few])[0].outcome is Outcome.BROKEN


def test_the_folder_says_which_columns_count_counterfeits(series: sf.Series) -> None:
    said = json.loads((series.releases[0] / "release.json").read_text())
    assert said["structure"]["class_number"] == "class_number"
    assert said["structure"]["counterfeits"] == "counterfeits"
    assert said["series"]["way"] == WAY
    for path in series.folder.rglob("*"):
        assert not path.is_file() or '"a"' not in path.read_text()


def test_attacks_that_know_nothing_of_counterfeits_are_not_played(series: sf.Series, tmp_path: Path) -> None:
    """Their verdict would be about other releases: who stays in all of them."""
    from sfumato.series.attacks import attack_releases

    table = tmp_path / "now.csv"
    frame(PAIRS).write_csv(table)
    with pytest.raises(sf.PolicyError, match="not people who leave and come back, nor counterfeits"):
        attack_releases([series.releases[0], series.releases[0]], [table])

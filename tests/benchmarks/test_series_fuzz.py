"""The reader that recounts small series over all worlds: hand cases, a few series of each way, and what is broken."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from benchmarks.series_fuzz import WAYS, Fuzz, main
from benchmarks.series_recount import (
    GrownWorlds,
    Person,
    Row,
    TooManyError,
    appended_left,
    covers,
    dated_left,
    grown_left,
    invariant_surest,
    keeps,
    keeps_people,
    label,
    new_rows,
    people_left,
)

from series.tables import people


def row(age: str, disease: str, *, city: str = "A", arrived: str = "1") -> Row:
    return {"age": age, "city": city, "disease": disease, "arrived": arrived}


def test_a_few_series_of_each_way_keep_their_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--first", "100000", "--series", "2"]) == 0
    told = capsys.readouterr().out
    assert "0 below the promise" in told
    assert all(way in told for way in WAYS)


@pytest.mark.parametrize("seed", range(30))
def test_worlds_of_a_batch_are_those_of_all_orders(seed: int) -> None:
    """Sets of rows say the same as going through every order of the rows."""
    batch: list[Person] = [(name, int(str(age)), city, disease) for name, age, city, disease in people(5, seed=seed)]
    bounds = sorted(person[1] for person in batch)
    labels = [f"[{bounds[0]}..{bounds[2]}]", f"[{bounds[1]}..{bounds[4]}]", "*"]
    rows = [row(labels[(seed + n) % 3], person[3], city="*") for n, person in enumerate(batch)]
    worlds = [
        places
        for places in permutations(range(5))
        if all(covers(rows[place], person) for place, person in zip(places, batch, strict=True))
    ]
    if not worlds:
        with pytest.raises(AssertionError, match="no world fits"):
            appended_left(batch, rows, {})
        return
    for number, left in enumerate(appended_left(batch, rows, {})):
        assert left == Counter(rows[place]["disease"] for place in {world[number] for world in worlds})


@pytest.mark.parametrize("seed", range(30))
def test_worlds_of_people_are_those_of_all_orders(seed: int) -> None:
    """Every order of the rows that covers all records, and keeps those of a person in one class."""
    drawn = random.Random(seed)
    owners = [*"aab", *drawn.choices("abc", k=3)]
    batch: dict[str, list[Person]] = {}
    for owner in owners:
        batch.setdefault(owner, []).append((owner, drawn.randint(20, 23), "A", ""))
    rows = [
        row(*drawn.choice((("[20..21]", "flu"), ("[20..23]", "cold"), ("[20..23]", "gout"))), city="*") for _ in owners
    ]
    records = [(owner, record) for owner, own in batch.items() for record in own]
    worlds = []
    for places in permutations(range(len(rows))):
        mine = {owner: [rows[place] for place, (whose, _) in zip(places, records, strict=True) if whose == owner]
                for owner in batch}  # fmt: skip
        fits = all(covers(rows[place], record) for place, (_, record) in zip(places, records, strict=True))
        if fits and all(len({label(each) for each in own}) == 1 for own in mine.values()):
            worlds.append({place: owner for place, (owner, _) in zip(places, records, strict=True)})
    if not worlds:
        with pytest.raises(AssertionError, match="no world fits"):
            people_left(batch, rows, {})
        return
    for owner, left in people_left(batch, rows, {}).items():
        chances = [sum(world[place] == owner for world in worlds) for place in range(len(rows))]
        possible = [place for place, chance in enumerate(chances) if chance]
        assert left.surest == Fraction(max(chances), len(worlds))
        assert left.people == {world[place] for world in worlds for place in possible}
        assert left.values == {rows[place]["disease"] for place in possible}


def test_whoever_came_again_would_be_below_the_promise() -> None:
    """Why records of people who are there already are refused: two halves are three quarters."""
    months = [["flu", "cold"], ["flu", "gout"]], [["p", "q"], ["p", "r"]]
    worlds = [
        dict(zip(names, order, strict=True))
        for values, names in zip(*months, strict=True)
        for order in permutations(values)
    ]
    january, march = worlds[:2], worlds[2:]
    for month, (values, names) in zip((january, march), zip(*months, strict=True), strict=True):
        rows = [row("[20..39]", value) for value in values]
        for left in people_left({name: [(name, 30, "A", "")] for name in names}, rows, {}).values():
            assert keeps_people(left, 2, 2, 2)
        assert Fraction(sum(world["p"] == "flu" for world in month), len(month)) == Fraction(1, 2)
    ever = sum("flu" in (one["p"], other["p"]) for one in january for other in march)
    assert Fraction(ever, 4) == Fraction(3, 4)
    # Whoever knows that the illness stays is certain.
    assert {one["p"] for one in january} & {other["p"] for other in march} == {"flu"}


def test_the_example_of_the_explanation() -> None:
    """E: 3 flu, 2 fever; F: 4 flu, 1 fever: four rows are left together."""
    older = [row("[20..39]", each) for each in ("flu",) * 3 + ("fever",) * 2]
    newer = [row("[20..29]", each, arrived="[1..2]") for each in ("flu",) * 4 + ("fever",)]
    newer += [row("[30..39]", each, arrived="[1..2]") for each in ("fever",) * 2]
    classes = [{"x": label(older[0])}, {"x": label(newer[0]), "new": label(newer[0])}]
    found = dict(grown_left([older, newer], classes))
    assert found["x"] == {"flu": 3, "fever": 1}
    # At least three of the four flu are old: one is left to who came later, and the fever may be new.
    assert found["new"] == {"flu": 1, "fever": 1}


def test_a_single_newcomer_in_an_old_class_is_found() -> None:
    older = [row("[20..39]", each) for each in ("flu", "flu", "fever")]
    newer = [row("[20..39]", each, arrived="[1..2]") for each in ("flu", "flu", "fever", "ulcer")]
    classes = [{}, {"new": label(newer[0])}]
    left = dict(grown_left([older, newer], classes))["new"]
    assert left == {"ulcer": 1}
    assert not keeps(left, 2, 1)


def test_exact_months_beside_values_tell_more_than_the_recount_takes_from_them() -> None:
    """The class of old people alone has the cold, so the third old row is a flu; months that are all alike hide it."""
    older = [row("[20..24]", each) for each in ("flu", "flu", "cold")]
    newer = [row("24", each, arrived="[1..2]") for each in ("flu", "flu", "cold")]
    newer += [row("[20..23]", each) for each in ("cold", "flu")]
    classes = [{"x": label(older[0])}, {"x": label(newer[0]), "new": label(newer[0])}]
    assert dict(grown_left([older, newer], classes))["x"] == {"flu": 2, "cold": 1}
    found = dict(dated_left([older, newer], classes, exact_months=True))
    assert found["x"] == {"flu": 2}
    assert found["new"] == {"flu": 2, "cold": 1}
    alike = [{**each, "arrived": "[1..2]"} for each in newer]
    classes = [classes[0], {"x": label(alike[0]), "new": label(alike[0])}]
    # What can be the person's at all, then what can be at once: one of three flu is new.
    assert list(dated_left([older, alike], classes, exact_months=False)) == [
        ("x", {"flu": 2, "cold": 1}), ("x", {"flu": 2, "cold": 1}),
        ("new", {"flu": 2, "cold": 1}), ("new", {"flu": 1, "cold": 1}),
    ]  # fmt: skip


def test_what_three_releases_tell_and_no_two_do_is_found() -> None:
    """The cold of January is 29 years old, so who came in February has the flu of the class of 29."""
    ages = ("[29..31]", ["cold", "flu", "gout"]), ("[26..29]", ["cold", "cold", "flu"]), ("[30..31]", ["flu", "gout"])
    first, *second = ([row(age, each) for each in values] for age, values in ages)
    third = [row(age, each) for age in ("29", "[30..31]") for each in ("flu", "cold" if age == "29" else "gout")]
    third += [row("[25..26]", "cold"), row("[25..26]", "cold"), *(row("30", each) for each in ("flu", "flu", "cold"))]
    releases = [
        [{**each, "arrived": f"[1..{number}]"} for each in rows]
        for number, rows in enumerate((first, [*second[0], *second[1]], third), 1)
    ]
    classes = [{}, {"new": label(releases[1][0])}, {"new": label(releases[2][0])}]
    assert all(keeps(left, 2, 2) for _, left in grown_left(releases, classes))
    told = [+left for _, left in dated_left(releases, classes, exact_months=False)]
    assert told[-2:] == [{"flu": 1}, {"flu": 1}]


def test_both_ends_of_arrivals_are_somebodys() -> None:
    """A class of two, one of each month: the old one can have no cold, so the newcomer has it."""
    older = [row("[20..39]", "flu") for _ in range(3)]
    newer = [row("[20..29]", each, arrived="[1..2]") for each in ("flu", "cold")]
    newer += [row("[30..39]", "flu", arrived="[1..2]") for _ in range(3)]
    classes = [{}, {"new": label(newer[0])}]
    assert dict(grown_left([older, newer], classes))["new"] == {"flu": 1, "cold": 1}
    assert dict(dated_left([older, newer], classes, exact_months=True))["new"] == {"cold": 1}
    assert ("new", {"flu": 1, "cold": 1}) in dated_left([older, newer], classes, exact_months=False)


def test_months_of_arrival_bind() -> None:
    """A class of newcomers alone takes no old row, though its label would."""
    older = [row("[20..39]", "flu"), row("[20..39]", "flu")]
    newer = [*older, row("[20..39]", "flu", arrived="2")]
    assert len(GrownWorlds([older, newer], [1, 2], dated=True).worlds("flu")) == 1


def test_values_that_are_exchanged_are_equally_likely() -> None:
    classes = {"a": "1", "b": "1"}, {"1": frozenset({"flu", "cold"})}
    assert invariant_surest([classes]) == Fraction(1, 2)
    other = {"a": "1", "c": "1"}, {"1": frozenset({"flu", "gout"})}
    assert invariant_surest([classes, other]) == 1


def test_too_many_worlds_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.series_recount.MOST_WORLDS", 1)
    with pytest.raises(TooManyError):
        invariant_surest([({"a": "1", "b": "1"}, {"1": frozenset({"flu", "cold"})})])
    fuzz = Fuzz(tmp_path)
    fuzz.try_one("m-invariance", 0)
    assert fuzz.outcomes["m-invariance: too many worlds"] == 1


def test_new_rows_are_those_that_are_there_more_often() -> None:
    one, other = row("20", "flu"), row("30", "flu")
    assert new_rows([one], [one, one, other]) == [one, other]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_broken_is_found(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a promise that no series made, people are below it."""
    monkeypatch.setattr("benchmarks.series_fuzz.keeps", lambda left, k, least: keeps(left, k + 6, least))
    monkeypatch.setattr("benchmarks.series_fuzz.invariant_surest", lambda seen: 2 * invariant_surest(seen))
    asked = lambda left, k, wished, least: keeps_people(left, k + 6, wished, least)  # noqa: E731
    monkeypatch.setattr("benchmarks.series_fuzz.keeps_people", asked)
    fuzz = Fuzz(tmp_path)
    for number in range(4):
        fuzz.try_one(way, number)
    assert fuzz.broken

"""The reader that recounts releases by people agrees with the plain twins, and finds what is broken."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.people_fuzz import Fuzz, Way, main, policy, promises, published, rows_of, variants, ways, wrongs
from benchmarks.people_recount import Row, broken
from benchmarks.people_tables import SENSITIVE, drawn_table

from guarantees import recount
from guarantees.peoples_tables import holds
from sfumato.models.protocol import PrivacyModel

DESCRIBED = {"ill": recount.Sensitive(labels="xyz"), "num": recount.Sensitive(ordered=True)}


def some_rows(seed: int) -> list[Row]:
    chance = random.Random(seed)
    few = chance.choice([("x",), ("x", "y"), ("x", "y", "z", None)])
    labels = chance.choice(["a", "ab", "ab*"])
    return [
        (
            f"p{chance.randrange(8)}",
            (chance.choice(labels), chance.choice("a*")),
            (chance.choice(few), chance.randint(0, chance.choice([0, 1, 3]))),
        )
        for _ in range(chance.randint(1, 25))
    ]


def by_twins(model: PrivacyModel, rows: list[Row]) -> bool:
    columns: dict[str, Any] = {f"q{place}": [shown[place] for _, shown, _ in rows] for place in range(2)}
    for place, name in enumerate(SENSITIVE):
        columns[name] = [values[place] for _, _, values in rows]
    told = {"name": model.name, **{key: each for key, each in model.parameters().items() if each is not None}}
    return holds(told, columns, ["q0", "q1"], DESCRIBED, [person for person, _, _ in rows])


def told(model: PrivacyModel) -> Mapping[str, Any]:
    return {"name": model.name, **model.parameters()}


def test_the_reader_agrees_with_the_plain_twins():
    seen = set()
    for seed in range(150):
        rows = some_rows(seed)
        for model in {model for promise in promises(1 + seed % 3) for model in promise}:
            right = by_twins(model, rows)
            assert (broken(told(model), rows, SENSITIVE) is None) == right, (seed, model)
            seen.add((model.name, right))
    names = {model.name for promise in promises(2) for model in promise}
    assert seen == {(name, right) for name in names for right in (True, False)}


def test_no_table_in_any_of_some_ways_is_broken(tmp_path: Path):
    log = tmp_path / "log"
    for first in ("5", "6"):
        assert main(["--first", first, "--tables", "1", "--methods", "mdav", "--log", str(log)]) == 0
    told = log.read_text().splitlines()
    assert [line.split(": ")[0] for line in told] == ["tables 5..5", "tables 6..6"]
    assert all(" releases, 0 broken, 0 failed" in line for line in told)


def test_what_one_table_refuses_is_tried_with_the_next():
    """Whoever has no value to guard is refused, and that says nothing of others; what hangs on settings is not."""
    fuzz = Fuzz([Way("mdav", "together"), Way("mondrian", "apart")], places=(7, 11))
    without = next(number for number in range(200) if "x" not in drawn_table(number).frame["ill"])
    assert fuzz.tried([without]).outcomes["refused"] == 2
    assert {(way.rows, place) for way, place, _ in fuzz.refused} <= {("apart", 7)}
    found = fuzz.tried([number for number in range(200) if "x" in drawn_table(number).frame["ill"]][:10])
    assert found.outcomes["released"] > 0
    assert found.outcomes["refused"] == 0


def test_other_settings_are_tried():
    found = Fuzz([way for way in variants() if way.method != "best"], places=(0, 3)).tried([10])
    assert found.right
    assert len(found.released) == len(variants()) - 1


@pytest.mark.parametrize(("what", "why"), [("broken", "BROKEN"), ("published", "FAILED")])
def test_what_is_broken_or_fails_is_told(
    what: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def wrong(*_: object) -> str:
        if what == "broken":
            return "1 people"
        raise ZeroDivisionError

    monkeypatch.setattr(f"benchmarks.people_fuzz.{what}", wrong)
    assert main(["--first", "5", "--tables", "1", "--methods", "mdav", "--log", str(tmp_path / "log")]) == 1
    said = [line for line in (tmp_path / "log").read_text().splitlines() if why in line and "table 5, mdav" in line]
    assert said
    assert set(said) <= set(capsys.readouterr().out.splitlines())


def test_equal_releases_are_recounted_once(monkeypatch: pytest.MonkeyPatch):
    """The counts of what is found stay the same."""
    recounted: list[object] = []

    def counting(model: Mapping[str, Any], rows: tuple[Row, ...], names: tuple[str, ...]) -> str | None:
        recounted.append((tuple(sorted(model.items(), key=str)), rows))
        return broken(model, rows, names)

    monkeypatch.setattr("benchmarks.people_fuzz.broken", counting)
    found = Fuzz([Way("mondrian", "together"), Way("mdav", "together")]).tried([10])
    assert found.outcomes["released"] > len({rows for _, rows in recounted})
    assert len({str(each) for each in recounted}) == len(recounted)


def test_what_is_broken_is_found():
    """A release recounted with other people than its own breaks what it promised."""
    table, other = drawn_table(8), drawn_table(7)
    way = Way("mondrian", "together")
    asked = policy(way, 2, 0, 0.0, "remove", table.tree_of_days)
    data = published(table, way, asked, 1, guarded=False)
    assert not list(wrongs(rows_of(data, table), table, way, asked))
    object.__setattr__(table, "people", [other.people[0]] * data.height)
    assert "1 people" in list(wrongs(rows_of(data, table), table, way, asked))


def test_every_way_is_tried():
    assert {way.rows for way in ways()} == {"together", "apart"}
    assert Fuzz(ways()).ways == ways()
    assert Way("mondrian", "apart") in ways()
    assert len(ways()) == 20

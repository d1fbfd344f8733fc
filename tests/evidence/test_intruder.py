"""The task for a person: a perfect answer, guesses, an empty form; what is in the package, and what is not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.evidence.intruder import make_task, score_answers

SCHEMA = sf.Schema(quasi_identifying={"age": sf.intervals(10), "town": None}, sensitive=["ill"], others="drop")


def table(shift: int, rows: int = 60) -> sf.Table:
    return sf.read_table(
        pl.DataFrame(
            {
                "age": [20 + (7 * i + shift) % 50 for i in range(rows)],
                "town": ["AB"[(i + shift) % 2] for i in range(rows)],
                "ill": ["flu", "cough", "rash"][: 3 - shift % 2] * (rows // (3 - shift % 2)),
            }
        ),
        SCHEMA,
    )


@pytest.fixture
def task(tmp_path: Path) -> tuple[Path, Path, Path]:
    release = sf.anonymize(table(0), sf.KAnonymity(4), anonymizer=sf.Datafly(), seed=1)
    release.save(tmp_path / "release")
    made = make_task(
        tmp_path / "release", table(0), table(1), tmp_path / "task", tmp_path / "key.json", people=20, seed=3
    )
    assert "20 people" in made
    return tmp_path / "release", tmp_path / "task", tmp_path / "key.json"


def fill(folder: Path, answers: dict[str, dict[str, Any]], separator: str = ",") -> Path:
    form = folder / "answers.csv"
    rows = list(csv.DictReader(form.read_text().splitlines()))
    names = list(rows[0])
    lines = [separator.join(str(answers.get(row["person"], {}).get(name, row[name])) for name in names) for row in rows]
    form.write_text("\n".join([separator.join(names), *lines]) + "\n")
    return form


def test_whoever_knows_the_key_is_right_as_far_as_rows_can_tell(task):
    _, folder, key = task
    persons = json.loads(key.read_text())["people"]
    answers = {
        one["name"]: {"in_data": "yes", "row": one["rows"][0][0], "guess_ill": one["truth"]["ill"][0]}
        if one["is_in_data"]
        else {"in_data": "no"}
        for one in persons
    }
    found = score_answers(fill(folder, answers), key)
    assert (found["people"], found["in_data"]) == (20, 10)
    assert found["rates"]["in the data"]["share"] == found["rates"]["ill"]["share"] == 1
    assert found["rates"]["in the data"]["baseline"] == 0.5
    published = pl.read_csv(folder / "release" / "data.csv")
    register = {row["person"]: row for row in csv.DictReader((folder / "register.csv").read_text().splitlines())}
    share = chance = 0.0
    for one in persons:
        if one["is_in_data"]:
            fits = [
                number
                for number, (age, town, _) in enumerate(published.iter_rows(), 1)
                if covers(age, register[one["name"]]["age"]) and town in (register[one["name"]]["town"], "*")
            ]
            right = [number for number in fits if published["ill"][number - 1] == one["truth"]["ill"][0]]
            assert one["rows"] == [right]
            share, chance = share + 1 / len(right), chance + 1 / len(fits)
    assert found["rates"]["row"]["share"] == pytest.approx(share / 10)
    assert found["rates"]["row"]["baseline"] == pytest.approx(chance / 10)
    assert share > chance  # k = 4 hides which of several; knowing the illness as well leaves fewer
    # A key of an earlier version has one record, without a list around it.
    content = json.loads(key.read_text())
    flat = [
        {
            **one,
            "rows": [row for alike in one["rows"] for row in alike],
            "truth": {name: said[0] for name, said in one["truth"].items()},
        }
        for one in persons
    ]
    key.write_text(json.dumps({**content, "people": flat}))
    assert score_answers(folder / "answers.csv", key) == found


def covers(label: str, age: str) -> bool:
    if label == "*":
        return True
    low, high = label.strip("[]()").replace("..", " ").replace(",", " ").replace("-", " ").split()[:2]
    return float(low) <= float(age) < float(high) + (label.endswith("]"))


def test_a_package_holds_no_truth_of_anybody(task):
    release, folder, key = task
    assert {path.name for path in folder.iterdir()} == {"release", "register.csv", "answers.csv", "rules.txt"}
    assert {path.name for path in (folder / "release").iterdir()} == {path.name for path in release.iterdir()}
    assert (folder / "register.csv").read_text().startswith("person,age,town\n")
    assert not any(word in (folder / "register.csv").read_text() for word in ("flu", "cough", "rash"))
    assert key.stat().st_mode & 0o077 == 0
    again = make_task(release, table(0), table(1), folder.parent / "b", folder.parent / "b.json", people=20, seed=4)
    assert (folder.parent / "b" / "register.csv").read_text() != (folder / "register.csv").read_text(), again
    turned = [sf.read_table(table(shift).frame.reverse(), SCHEMA) for shift in (0, 1)]
    make_task(release, *turned, folder.parent / "c", folder.parent / "c.json", people=20, seed=3)
    assert (folder.parent / "c" / "register.csv").read_text() == (folder / "register.csv").read_text()


def test_guesses_and_silence(task):
    _, folder, key = task
    assert score_answers(folder / "answers.csv", key)["sentences"][-1] == "No answer was given."
    persons = [one["name"] for one in json.loads(key.read_text())["people"]]
    form = fill(folder, {name: {"in_data": "Yes"} for name in persons}, ";")
    found = score_answers(form, key)["rates"]
    assert (found["in the data"]["share"], found["in the data"]["baseline"]) == (0.5, 0.5)
    assert found["in the data"]["low"] < 0.5 < found["in the data"]["high"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"in_data": "perhaps"}, "line 2: in_data must be yes, no or empty"),
        ({"row": "first"}, "line 2: row must be a whole number or empty"),
        ({"person": "P999"}, "line 2: person is not one of the register"),
    ],
)
def test_answers_that_cannot_be_read_are_named(task, cells, message):
    _, folder, key = task
    form = fill(folder, {"P001": cells})
    with pytest.raises(sf.InputError, match=message):
        score_answers(form, key)


def test_a_changed_package_and_another_key_are_refused(task):
    release, folder, key = task
    make_task(release, table(0), table(1), folder.parent / "b", folder.parent / "b.json", people=20, seed=4)
    with pytest.raises(sf.InputError, match="was changed, or is not of this key"):
        score_answers(folder / "answers.csv", folder.parent / "b.json")
    (folder / "register.csv").write_text("person\n")
    with pytest.raises(sf.InputError, match=r"register\.csv: was changed"):
        score_answers(folder / "answers.csv", key)


def test_all_that_is_wrong_is_said_at_once(task):
    release, folder, _ = task
    with pytest.raises(sf.InputError) as caught:
        make_task(release, table(0), table(1), folder, folder / "key.json", people=4)
    assert len(caught.value.problems) == 3


def test_the_evidence_says_what_was_found(task, tmp_path):
    release, folder, key = task
    roles = sf.Policy.from_mapping(
        {
            "columns": {
                "quasi-identifying": {"age": {"hierarchy": {"kind": "intervals", "widths": [10]}}, "town": {}},
                "sensitive": ["ill"],
                "others": "drop",
            },
            "models": [{"name": "k-anonymity", "k": 4}],
            "anonymizer": {"name": "datafly"},
        }
    )
    roles.to_file(tmp_path / "policy.toml")
    persons = [one["name"] for one in json.loads(key.read_text())["people"]]
    form = fill(folder, {name: {"in_data": "yes"} for name in persons})
    words = ["evidence", "score", str(form), "--key", str(key), "--out", str(tmp_path / "intruder.json")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, words).exit_code == 2
    made = sf.report(release, table(0), attacks=False, intruder=tmp_path / "intruder.json", seed=1)
    line = "In the data: 50% of 20 answers are right (29.9% to 70.1%), by guessing 50%."
    assert line in str(made)
    assert line in made.html()
    assert line not in made.html("public")
    answer = next(
        one
        for standard in made.to_dict()["standards"]
        for one in standard["questions"]
        if one["question"] == "iso-27559 8.2.3 d"
    )
    assert answer["status"] == "answered by the recount"
    table(0).frame.write_csv(tmp_path / "people.csv")
    table(1).frame.write_csv(tmp_path / "others.csv")
    words = ["evidence", "task", str(release), "--original", str(tmp_path / "people.csv"), "--control"]
    words += [str(tmp_path / "others.csv"), "--out", str(tmp_path / "c"), "--key", str(tmp_path / "c.json")]
    done = CliRunner().invoke(app, [*words, "--policy", str(tmp_path / "policy.toml")])
    assert done.exit_code == 0, done.output
    with pytest.raises(sf.InputError, match="is no result"):
        sf.report(release, attacks=False, intruder=key)


def test_people_with_several_records_stand_on_several_lines(task, tmp_path):
    """Any of their records counts; whoever names a row of those that fit is right as often as theirs are among them."""
    release, _, _ = task
    roles = sf.Schema(quasi_identifying=SCHEMA.quasi_identifying, sensitive=["ill"], person="who", others="drop")
    whose = [f"w{(i * 7) % 60 // 2}" for i in range(60)]
    two = sf.read_table(table(0).frame.with_columns(who=pl.Series(whose)), roles)
    key = tmp_path / "k.json"
    made = make_task(release, two, table(1), tmp_path / "t", key, people=20, sources="the newspaper", seed=1)
    assert "20 people" in made
    assert "the newspaper" in score_answers(tmp_path / "t" / "answers.csv", key)["rules"]
    register = pl.read_csv(tmp_path / "t" / "register.csv")
    persons = json.loads(key.read_text())["people"]
    lines = register.group_by("person", maintain_order=True).len()
    assert lines["person"].to_list() == [one["name"] for one in persons]
    assert lines["len"].to_list() == [2 if one["is_in_data"] else 1 for one in persons]
    rows = table(0).frame.rows()
    held = [[row for row, who in zip(rows, whose, strict=True) if who == one] for one in set(whose)]
    inside = [one for one in persons if one["is_in_data"]]
    for one in inside:
        known = {line[1:] for line in register.filter(person=one["name"]).iter_rows()}
        told = set(one["truth"]["ill"])
        assert any({row[:2] for row in mine} == known and {row[2] for row in mine} == told for mine in held)
    answers = {one["name"]: {"row": one["rows"][1][0], "guess_ill": one["truth"]["ill"][-1]} for one in inside}
    rates = score_answers(fill(tmp_path / "t", answers), key)["rates"]
    shares = [min(1, sum(1 / len(alike) for alike in one["rows"] if one["rows"][1][0] in alike)) for one in inside]
    assert rates["row"]["share"] == pytest.approx(sum(shares) / len(inside))
    assert rates["row"]["baseline"] == pytest.approx(sum(min(1, 2 / one["fitting"]) for one in inside) / len(inside))
    assert rates["ill"]["share"] == 1

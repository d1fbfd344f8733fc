"""Keys that several columns make: who is who by each part, in every door, as one column of both would say it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.policy.policy import Policy
from sfumato.studio.draft import Draft
from sfumato.table.large.coding import KeyFiles
from sfumato.table.person_keys import KINDS, _folded, folded, key_in, keys_of_tables, one_key, person_keys
from table.test_keys_of_sources import SOURCES, in_postgresql

KEY = ("clinic", "number")
PEOPLE = [("A", "1"), ("A", "2"), ("B", "1"), ("B", "2"), ("A", "1.0"), ("A ", "1"), ("AB", "1"), ("A", "B1")]
NUMBERS = [0, 1, 2, 3, 0, 0, 4, 5]


def table_of(pairs: list[tuple[Any, Any]]) -> pl.DataFrame:
    clinics, numbers = zip(*pairs, strict=True)
    return pl.DataFrame({"clinic": clinics, "number": numbers, "age": list(range(len(pairs)))}, strict=False)


def read(source: object, form: str | None = None, **where: Any) -> sf.Table:
    return sf.read_table(source, sf.Schema(person=KEY, quasi_identifying=["age"], key_form=form), **where)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rows = [(f"C{person % 3}", person // 3, 20 + person % 7, "flu" if person % 2 else "cold") for person in range(60)]
    rows = [row for person, row in enumerate(rows) for _ in range(1 + person % 3)]
    pl.DataFrame(rows, ["clinic", "number", "age", "ill"], orient="row").write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_counts_the_same_people(kind: str, tmp_path: Path) -> None:
    _counts_people(SOURCES[kind](table_of(PEOPLE), tmp_path))


def test_postgresql_counts_the_same_people(postgresql: Any) -> None:
    _counts_people(in_postgresql(table_of(PEOPLE), postgresql))


def _counts_people(source: object) -> None:
    table = read(source, **({"table": "t"} if "://" in str(source) else {}))
    assert table.people is not None
    assert table.people.tolist() == NUMBERS


def test_parts_are_never_joined_ambiguously() -> None:
    tricky = ["", "a", "\x1f", "a\x1f", "\x1fa", "a\x1fb", "\x1c", "\x1c0", "a\x1c1b", "a\x1c0b", "b"]
    pairs = [(one, other) for one in tricky for other in tricky]
    keys = person_keys(key_in(table_of(pairs), KEY), "exact").to_list()
    parts = [tuple(_folded(part, []) for part in pair) for pair in pairs]
    assert len({*keys}) == len({*parts})
    # No key of one column is taken for one of several.
    alone = [_folded(key, []) for key in keys]
    assert not {*keys} & {*alone}


def test_each_part_is_folded_by_itself() -> None:
    pairs = [
        ("A", "007"),
        ("a", "7"),
        ("\uff21", "7.0"),
        ("A\u200b", "+7"),
        ("a7", ""),
        ("a", "\u00e9"),
        ("a", "e\u0301"),
    ]
    keys = person_keys(key_in(table_of(pairs), KEY), "exact")
    for kinds in ([], ["capitals"], ["zeros"], [*KINDS]):
        naive = [tuple(_folded(part, kinds) for part in pair) for pair in pairs]
        found = folded(keys, kinds).to_list()
        assert [found.index(key) for key in found] == [naive.index(key) for key in naive]


def test_the_question_counts_keys_and_names_all_columns(tmp_path: Path) -> None:
    pairs = [("A", "1"), ("a", "1"), ("A", "2"), ("B", "03"), ("B", "3")]
    files = KeyFiles(tmp_path)
    files.add(key_in(table_of(pairs), KEY))
    for ask in (lambda: read(table_of(pairs)), files.people):
        with pytest.raises(sf.InputError, match=r"columns 'clinic', 'number'.* 2 .*capitals.* 2 .*zeros"):
            ask()
    assert len(np.unique(read(table_of(pairs), "fold").people)) == 3  # type: ignore[arg-type]


def test_a_key_without_a_part_is_missing_in_memory_and_on_disk(tmp_path: Path) -> None:
    pairs = [("A", None), ("A", None), (None, "1"), ("A", "1"), ("A", "1"), (None, None)]
    table = read(table_of(pairs))
    assert table.people.tolist() == [0, 1, 2, 3, 3, 4]  # type: ignore[union-attr]
    assert table.keyless_note is not None
    assert "4 records of 6 have no value in columns 'clinic', 'number'" in table.keyless_note
    files = KeyFiles(tmp_path)
    for start in (0, 3):
        files.add(key_in(table_of(pairs)[start : start + 3], KEY))
    on_disk = files.people()
    assert (on_disk.numbers.tolist(), on_disk.keyless) == ([0, 1, 2, 3, 3, 4], 4)


def test_keys_of_two_tables_agree_whatever_their_types() -> None:
    one, other = table_of([("A", 7.0), ("B", 8.0)]), table_of([("A", "7"), ("A", "8")])
    keys = keys_of_tables([key_in(one, KEY), key_in(other, KEY)], None)
    assert keys[0][0] == keys[1][0]
    assert keys[0][1] != keys[1][1]


def test_one_column_in_a_list_is_that_column() -> None:
    schema = sf.Schema(person=["clinic"], quasi_identifying=["age"])
    assert schema.person == "clinic"
    assert schema == sf.Schema(person="clinic", quasi_identifying=["age"])
    column = pl.Series("id", ["a"])
    assert one_key([column]) is column


@pytest.mark.parametrize("person", [[], ["a", "a"], ["a", 1], 5, {"a": 1}])
def test_wrong_keys_are_refused(person: Any) -> None:
    with pytest.raises(sf.SchemaError, match="person must be the name of a column, or a list"):
        sf.Schema(person=person, quasi_identifying=["age"])


def policy_in(text: str, folder: Path) -> Policy:
    (folder / "policy.toml").write_text(text)
    return Policy.from_file(folder / "policy.toml")


def test_a_policy_names_both_and_reads_back(tmp_path: Path) -> None:
    text = """
    [columns]
    person = ["clinic", "number"]
    quasi-identifying = ["age"]
    [[models]]
    name = "k-anonymity"
    k = 3
    """
    policy = policy_in(text, tmp_path)
    assert policy.to_schema().person == KEY
    assert policy_in(policy.to_toml(), tmp_path) == policy
    with pytest.raises(sf.PolicyError, match="column 'clinic' is named 2 times"):
        policy_in(text.replace('"number"', '"clinic"'), tmp_path)
    with pytest.raises(sf.PolicyError, match="person: is an empty list"):
        policy_in(text.replace('["clinic", "number"]', "[]"), tmp_path)


def test_memory_and_disk_publish_the_people_that_one_joined_column_gives(visits: Path, tmp_path: Path) -> None:
    joined = pl.read_csv(visits).with_columns(who=pl.concat_str("clinic", pl.lit("/"), "number"))
    joined.drop("clinic", "number").write_csv(tmp_path / "joined.csv")
    common = ["--quasi", "age", "--sensitive", "ill", "-k", "4", "--seed", "1", "--suppression", "0.3"]
    made = {}
    for name, source, person, more in (
        ("memory", visits, "clinic,number", []),
        ("disk", visits, "clinic,number", ["--engine", "disk"]),
        ("one", tmp_path / "joined.csv", "who", []),
        ("numbered", visits, "clinic,number", ["--pseudonyms", "published"]),
    ):
        out = tmp_path / name
        words = ["anonymize", str(source), "--person", person, *common, *more, "--out", str(out)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        release = json.loads((out / "release.json").read_text())
        made[name] = release.get("people"), release.get("structure")
        audit = [] if name == "numbered" else ["--audit", f"{out}.audit.json"]
        checked = CliRunner().invoke(app, ["verify", str(out), *audit])
        assert checked.exit_code == 0, checked.output
        assert "clinic" not in (out / "data.csv").read_text()
    assert made["memory"] == made["one"] == made["disk"]


def test_household_rows_and_private_releases_count_the_same_people(visits: Path) -> None:
    schema = sf.Schema(person=KEY, quasi_identifying=["age"], sensitive=["ill"])
    joined = pl.read_csv(visits).with_columns(who=pl.concat_str("clinic", pl.lit("/"), "number"))
    alone = sf.Schema(person="who", quasi_identifying=["age"], sensitive=["ill"], others="drop")
    households = [
        sf.anonymize(table, sf.KAnonymity(3), people=sf.People(rows="household"), suppression_limit=0.9, seed=1)
        for table in (sf.read_table(visits, schema), sf.read_table(joined, alone))
    ]
    assert households[0].data.equals(households[1].data)


def test_ratings_and_sets_take_several_columns(tmp_path: Path) -> None:
    held = pl.DataFrame({"clinic": ["A", "A", "B"], "number": [1, 1, 1], "item": ["x", "y", "x"]})
    assert sf.read_sets(held, person=["clinic", "number"], item="item").height == 2
    rated = held.with_columns(rating=pl.Series([1, 2, 3]))
    assert sf.read_ratings(rated, user=["clinic", "number"], issue="item", rating="rating").height == 2
    with pytest.raises(sf.InputError, match="already has one"):
        sf.read_ratings(rated.drop("item"), form="wide", user=["clinic", "number"])
    with pytest.raises(sf.InputError, match="there is no column 'nobody'"):
        sf.read_sets(held, person=["clinic", "nobody"], item="item")
    pl.concat([held, held.with_columns(number=pl.lit(2, pl.Int64))]).write_csv(tmp_path / "s.csv")
    words = [
        "sets",
        "anonymize",
        str(tmp_path / "s.csv"),
        "--person",
        "clinic,number",
        "--item",
        "item",
        "-k",
        "2",
        "-m",
        "1",
    ]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out"), "--save-policy", str(tmp_path / "p.toml")])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(
        app,
        [
            "sets",
            "anonymize",
            str(tmp_path / "s.csv"),
            "--policy",
            str(tmp_path / "p.toml"),
            "--out",
            str(tmp_path / "again"),
        ],
    )
    assert again.exit_code == 0, again.output


def test_attacks_with_a_register_match_by_both_columns(visits: Path) -> None:
    schema = sf.Schema(person=KEY, quasi_identifying=["age"], sensitive=["ill"], others="drop")
    table = sf.read_table(visits, schema)
    release = sf.anonymize(table, sf.KAnonymity(3), suppression_limit=0.5)
    register = pl.read_csv(visits).unique(["clinic", "number"]).drop("ill")
    found = sf.attack(
        release, original=pl.read_csv(visits), schema=schema, register=register, attacks=["linkage"], seed=1
    )
    assert "60" in str(found)


def test_checks_and_risk_count_people_of_both_columns(visits: Path) -> None:
    for words in (["check"], ["risk"]):
        done = CliRunner().invoke(app, [*words, str(visits), "--quasi", "age", "--person", "clinic,number", "--json"])
        assert done.exit_code == 0, done.output
        assert '"people": 60' in done.output, done.output


def test_a_check_takes_the_answer_about_spellings(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,age\nA,1\na,1\nb,2\n")
    words = ["check", str(tmp_path / "t.csv"), "--quasi", "age", "--person", "id"]
    assert CliRunner().invoke(app, words).exit_code == 2
    assert CliRunner().invoke(app, [*words, "--key-form", "fold"]).exit_code == 0


def test_a_series_knows_people_by_both_columns(tmp_path: Path) -> None:
    def month(first: int) -> Path:
        rows = [(f"C{number % 2}", number // 2, 30 + number % 5, "flu") for number in range(first, first + 12)]
        path = tmp_path / f"{first}.csv"
        pl.DataFrame(rows, ["clinic", "number", "age", "ill"], orient="row").write_csv(path)
        return path

    schema = sf.Schema(person=KEY, quasi_identifying=["age"], sensitive=["ill"])
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(3), table=month(0))
    series = sf.Series.open(tmp_path / "s")
    with pytest.raises(sf.InputError, match="columns 'clinic', 'number': 4 people of 12 are in an earlier release"):
        series.append(month(8))
    assert series.append(month(8), leave_out_known=True).number == 2
    with pytest.raises(sf.InputError, match="as a tuple"):
        series.withdraw(["C0"])
    assert series.withdraw([("C0", 0)], most_lost=0.5).number == 3
    assert series.verify(ledger=True).ok
    grown = sf.Series.start(
        tmp_path / "g", sf.Schema(identifying=KEY, quasi_identifying=["age"], sensitive=["ill"]), sf.KAnonymity(3),
        key=KEY, table=month(0), way="grow",
    )  # fmt: skip
    assert grown is not None
    with pytest.raises(sf.InputError, match="4 people of 12 are in an earlier release"):
        sf.Series.open(tmp_path / "g").grow(month(8))


def test_studio_takes_a_second_column_only_where_it_is_asked_for() -> None:
    draft = (
        Draft.of_columns(["visit", "clinic", "number", "age"])
        .with_role("visit", "person")
        .with_role("clinic", "person")
    )
    assert draft.key_columns == ["clinic"]
    draft = draft.with_role("number", "and-person").with_setting("clinic", "key-form", "fold")
    assert draft.mapping()["columns"]["person"] == ["clinic", "number"]
    draft = draft.with_role("visit", "left out").with_role("age", "quasi-identifying")
    draft = draft.with_rest("models", [{"name": "k-anonymity", "k": 2}])
    again = Draft.of_policy(draft.policy(), ["visit", "clinic", "number", "age"])
    assert (again.roles["clinic"], again.roles["number"], again.key_form) == ("person", "and-person", "fold")

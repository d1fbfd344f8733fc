"""The review of a table: what columns mean, what is found, and that no value of the table is told."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.findings.meaning import Meaning
from sfumato.policy.proposal import proposed_policy

PEOPLE = 200


def visits() -> pl.DataFrame:
    rows = range(PEOPLE)
    return pl.DataFrame(
        {
            "name": [
                f"{first} {last}" for first, last in zip(names("Ana Bo Cy Di Ed"), names("Alt Berg Carl"), strict=True)
            ],
            "age": [str(18 + i * 7 % 70) if i else "999" for i in rows],
            "sex": [str(1 + i % 2) for i in rows],
            "zip": [f"{10000 + i * 37 % 9000:05}" for i in rows],
            "severity": [("mild", "moderate", "severe", "NA")[i % 4] for i in rows],
            "disease": [("flu", "Flu", "angina", "gout", "flu ")[i % 5] for i in rows],
            "remark": [f"was seen on day {i} and felt well again" for i in rows],
        }
    )


def names(words: str) -> list[str]:
    syllables = words.split()
    return [f"{syllables[i % len(syllables)]}{chr(97 + i % 26)}{chr(97 + i // 26)}a" for i in range(PEOPLE)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    visits().write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


def test_each_column_is_understood(table: Path) -> None:
    found = sf.review(table)
    assert found.records == PEOPLE
    assert {column.name: column.meaning for column in found.columns} == {
        "name": Meaning.IDENTIFIER,
        "age": Meaning.NUMBER,
        "sex": Meaning.CODE,
        "zip": Meaning.PLACE,
        "severity": Meaning.ORDERED,
        "disease": Meaning.TEXT,
        "remark": Meaning.FREE_TEXT,
    }
    assert {column.name: str(column.role.role) for column in found.columns if column.role} == {
        "name": "identifying",
        "age": "quasi-identifying",
        "sex": "quasi-identifying",
        "zip": "quasi-identifying",
        "disease": "sensitive",
        "remark": "identifying",
    }


def test_what_is_odd_is_found_and_counted(table: Path) -> None:
    found = {finding.name: finding for finding in sf.review(table).findings}
    assert found["sentinels"].columns == ("age",)
    assert found["sentinels"].counts == {"records": 1}
    assert found["missing-marks"].columns == ("severity",)
    assert found["missing-marks"].counts == {"records": PEOPLE // 4}
    assert found["spellings"].counts == {"labels": 2, "groups": 1, "records": 40}
    assert found["orders"].columns == ("severity",)
    assert found["codes"].columns == ("sex", "zip")


def test_severity_follows_the_role(table: Path) -> None:
    published = sf.Schema(
        quasi_identifying=["age", "sex"], sensitive=["disease"], insensitive=["name", "remark"], others="drop"
    )
    assert {(one.name, one.columns) for one in sf.review(table, published).severe} == {
        ("identifier", ("name",)),
        ("free-text", ("remark",)),
        ("spellings", ("disease",)),
    }
    removed = sf.Schema(quasi_identifying=["age"], identifying=["name", "remark"], others="drop")
    assert sf.review(table, removed).severe == ()


def test_rows_without_values_and_totals_are_counted(tmp_path: Path) -> None:
    lines = [
        "ward,age,pay",
        *(f"w{i % 5},{20 + i},{100 + i}" for i in range(60)),
        "Total,2970,7770",
        "NA,NA,NA",
        "NA,NA,NA",
        ",,",
    ]
    (tmp_path / "wards.csv").write_text("\n".join(lines) + "\n")
    reviewed = sf.review(tmp_path / "wards.csv", reading=sf.Reading(missing="NA"))
    found = {finding.name: finding.counts for finding in reviewed.findings}
    assert found["empty-rows"] == {"records": 2}
    assert found["totals"] == {"records": 1}
    assert "1 row of nothing but separators was left out." in str(reviewed)


def test_typed_columns_are_reviewed_alike() -> None:
    frame = pl.DataFrame(
        {
            "id": range(1, 61),
            "diag": pl.Series(["a", "b", "c"] * 20, dtype=pl.Categorical),
            "born": pl.date_range(pl.date(1950, 1, 1), pl.date(2009, 1, 1), "1y", eager=True),
            "ok": [True, False] * 30,
            "empty": pl.Series([None] * 60, dtype=pl.String),
        }
    )
    found = sf.review(frame)
    assert [column.meaning for column in found.columns] == ["identifier", "categories", "date", "yes or no", "empty"]


def test_answers_on_one_scale_are_seen_over_columns() -> None:
    answers = {f"item{i}": [1 + (row * (i + 3) + row // 7) % 5 for row in range(100)] for i in range(4)}
    found = sf.review(pl.DataFrame(answers))
    assert {column.meaning for column in found.columns} == {Meaning.ORDERED}


MARKED = "Zq7Wx"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [f"{MARKED}1", f"{MARKED} 2", f"{MARKED}@x.org", f"+49 30 {MARKED}", f"<{MARKED}>", "7", "NA", ""]
        ),
        min_size=3,
        max_size=60,
    )
)
def test_no_value_of_the_table_is_told(values: list[str]) -> None:
    found = sf.review(pl.DataFrame({"a": values, "email": values[::-1], "pay": values}))
    told = [str(found), json.dumps(found.to_dict()), found._repr_html_(), repr(found), proposed_policy(found)]
    assert not any(MARKED in text for text in told)


def test_the_order_of_records_decides_nothing(table: Path) -> None:
    frame = visits()
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=3)
    assert sf.review(frame).to_dict() == sf.review(mixed).to_dict()


def test_a_proposed_policy_runs_at_once_and_says_what_it_has_answered(table: Path) -> None:
    days = [f"{1 + i % 12:02}/{1 + i % 9:02}/1980" for i in range(PEOPLE)]
    frame = visits().with_columns(birth=pl.Series(days), plz=pl.Series(["01067", "1068"] * (PEOPLE // 2)))
    frame.write_csv(table)
    policy_file = table.with_name("policy.toml")
    policy_file.write_text(proposed_policy(sf.review(table)))
    policy = sf.Policy.from_file(policy_file)
    assert policy == sf.Policy.propose(table)
    told = policy_file.read_text()
    for line in ("# Merged: disease: ", "# Left out until somebody answers: birth: ", "# Guessed: plz: "):
        assert line in told
    release = sf.anonymize(sf.read_table(table, policy), policy, seed=1)
    assert [str(model) for model in policy.to_models()] != []
    assert release.report.verification.ok
    assert set(release.data.columns) == {"age", "sex", "zip", "plz", "disease"}
    assert not release.data["disease"].cast(pl.String).str.contains("F").any()
    policy_file.write_text(told.replace('spellings = "merge"', ""))
    with pytest.raises(sf.SfumatoError, match="spellings:disease"):
        sf.anonymize(table, sf.Policy.from_file(policy_file))


def test_numbers_that_hardly_repeat_are_told_as_if_they_did(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    plain = [f"{pay:.2f}" for pay in draw.lognormal(10, 1, 12_000)]
    columns = {
        "plain": plain, "gaps": ["" if i % 7 == 0 else pay for i, pay in enumerate(plain)],
        "marked": ["n/a" if i % 50 == 0 else pay for i, pay in enumerate(plain)],
        "alike": [f"{pay}0" if i % 2 else plain[i - 1] if i else pay for i, pay in enumerate(plain)],
        "sentinel": ["-999" if i % 90 == 0 else pay for i, pay in enumerate(plain)],
    }  # fmt: skip
    table = pl.DataFrame(columns)
    table.write_csv(tmp_path / "numbers.csv")
    quick = sf.review(tmp_path / "numbers.csv").to_dict()
    monkeypatch.setattr("sfumato.findings.review.repeats", lambda column: True)
    slow = sf.review(tmp_path / "numbers.csv").to_dict()
    assert quick == slow


@pytest.mark.parametrize("name", ["count", "v", "c", "len", "value", "literal", "records", "unit", "index", "part"])
def test_a_column_may_have_any_name(name: str, tmp_path: Path) -> None:
    texts = {
        "words": ["flu", "gout", "NA"], "units": ["5 kg", "7,5 kg", "8 kg"], "days": ["3. May 1980", "4. May 1981"] * 2,
        "numbers": ["1", "2", "999"], "codes": ["01067", "04109", "10115"], "orders": ["low", "medium", "high"],
    }  # fmt: skip
    for cells in texts.values():
        pl.DataFrame({name: (cells * 20)[:60], "other": range(60)}).write_csv(tmp_path / "table.csv")
        assert sf.review(tmp_path / "table.csv")[name].name == name


def test_addresses_of_mail_in_a_file_are_an_identifier_and_infinity_is_no_fault(tmp_path: Path) -> None:
    rows = [f"ab{i}@x.org,{'inf' if i in (3, 9) else i * 7 % 60}" for i in range(48)]
    (tmp_path / "people.csv").write_text("contact,visits\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = sf.review(tmp_path / "people.csv")
    assert [found[name].meaning for name in ("contact", "visits")] == [Meaning.IDENTIFIER, Meaning.NUMBER]
    assert [finding.name for finding in found.of("contact")] == ["identifier"]


def test_numbers_that_a_typed_source_holds_as_text_are_named() -> None:
    day = pl.date(1950, 1, 1) + pl.duration(days=pl.int_range(60, dtype=pl.Int64) * 97)
    table = pl.select(
        day.cast(pl.String).alias("born"), pl.int_range(20, 80).cast(pl.String).alias("age"),
        (pl.int_range(60) * 37 + 10_000).cast(pl.String).alias("zip"),
        (pl.int_range(60) % 9).cast(pl.String).alias("ward"),
    )  # fmt: skip
    noted = [
        each
        for each in sf.read_table(table, sf.Schema(quasi_identifying=table.columns)).remarks
        if "all numbers" in each
    ]
    assert [each.partition(":")[0] for each in noted] == ["Column 'age'"]
    kinds = {name: sf.Attribute(kind=kind) for name, kind in (("born", None), ("age", "numeric"))}
    read = sf.read_table(table, sf.Schema(quasi_identifying={**kinds, "zip": sf.Attribute(), "ward": sf.Attribute()}))
    assert read.frame["born"].dtype == pl.Date
    assert read.frame["age"].to_list() == [*range(20, 80)]


def test_codes_among_numbers_are_proposed_as_text_and_not_as_missing(table: Path) -> None:
    rows = range(PEOPLE)
    diagnoses = ["V57" if i % 20 == 5 else ["428", "250.01", "410", "786", "276", "491", "493.2"][i % 7] for i in rows]
    ages = ["K57" if i == 50 else str(18 + i * 7 % 70) for i in rows]
    pl.DataFrame({"diag": diagnoses, "age": ages}).write_csv(table)
    found = sf.review(table)
    first = {finding.columns[0]: finding.answers[0].effect for finding in found.findings if finding.name == "strays"}
    assert first == {"diag": "Keep all as text", "age": "Count them as missing"}
    columns = tomllib.loads(proposed_policy(found))["columns"]
    settings = {**columns.get("sensitive", {}), **columns.get("quasi-identifying", {})}
    assert settings["diag"]["kind"] == "categorical"
    assert settings["age"]["strays"] == "missing"

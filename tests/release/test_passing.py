"""What passes through is looked at: asked about where nobody has given a role, told where somebody has."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SchemaError

PEOPLE = 120
COLUMNS = {
    "age": [20 + number % 50 for number in range(PEOPLE)],
    "sex": ["f", "m"] * (PEOPLE // 2),
    "disease": [("flu", "cough", "ulcer")[number % 3] for number in range(PEOPLE)],
    "visits": [number % 4 for number in range(PEOPLE)],
    "ssn": [f"{100 + number}-{10 + number % 80}-{1000 + number}" for number in range(PEOPLE)],
    "note": [f"Mrs Secret{number} called again about her leg" for number in range(PEOPLE)],
    "lat": [49 + number / 1000 for number in range(PEOPLE)],
    "wage": [30_000 + 17 * number for number in range(PEOPLE)],
    "code": [f"Q{number}Z" for number in range(PEOPLE)],
}
SUSPICIOUS = ("ssn", "note", "lat", "wage", "code")


def released(columns: tuple[str, ...], **roles: object) -> sf.Release:
    frame = pl.DataFrame({name: COLUMNS[name] for name in ("age", "sex", "disease", *columns)})
    schema = sf.Schema(**{"quasi_identifying": ["age", "sex"], "sensitive": ["disease"], **roles})
    return sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3), seed=1)


def refusals(columns: tuple[str, ...], **roles: object) -> tuple[str, ...]:
    with pytest.raises(SchemaError) as refused:
        released(columns, **roles)
    assert not any("Secret" in problem or "Q1Z" in problem for problem in refused.value.problems)
    return refused.value.problems


def test_columns_without_a_role_are_asked_about_each() -> None:
    problems = refusals(("visits", *SUSPICIOUS), others="keep")
    assert [problem.split("'")[1] for problem in problems] == list(SUSPICIOUS)
    assert all("--publish" in problem and "--identifying" in problem for problem in problems)


def test_columns_that_tell_nothing_are_kept() -> None:
    release = released(("visits",), others="keep")
    assert "visits" in release.data.columns
    assert "unprotected, published as they are: visits" in str(release.report)


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_to_be_published_is_enough(name: str) -> None:
    for others in ("keep", "error"):
        release = released((name,), others=others, publish=[name])
        assert sorted(release.data[name]) == sorted(COLUMNS[name])
        assert not any(name in note for note in release.report.notes)


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_a_declared_role_is_obeyed_and_told(name: str) -> None:
    release = released((name,), insensitive=[name])
    assert any(f"Column '{name}' is insensitive" in note for note in release.report.notes)
    assert not any("Secret" in note for note in release.report.notes)


def test_of_sensitive_columns_identifiers_and_free_text_are_told() -> None:
    notes = released(SUSPICIOUS, sensitive=["disease", *SUSPICIOUS]).report.notes
    assert [note.split("'")[1] for note in notes if note.startswith("Column")] == ["ssn", "note"]


def test_nothing_of_it_is_written_into_the_release(tmp_path: Path) -> None:
    released(("ssn",), insensitive=["ssn"]).save(tmp_path / "release")
    assert "look like" not in "".join(file.read_text() for file in (tmp_path / "release").iterdir())


def test_sets_of_codes_are_refused_with_advice() -> None:
    for name in ("code", "ssn", "note"):
        (problem,) = refusals((name,), quasi_identifying=["age", "sex", name])
        assert f"column '{name}' is quasi-identifying without a hierarchy" in problem
        assert "sfumato hierarchy" in problem


def test_sets_of_identifiers_are_refused_however_often_they_repeat() -> None:
    frame = pl.DataFrame({"age": COLUMNS["age"], "contact": [f"a{number % 5}@b.de" for number in range(PEOPLE)]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "contact"]))
    with pytest.raises(SchemaError, match="e-mail addresses"):
        sf.anonymize(table, sf.KAnonymity(2))


def test_codes_with_a_hierarchy_or_a_decision_are_published() -> None:
    masked = {"age": None, "sex": None, "code": sf.prefixes(2, 1)}
    assert released(("code",), quasi_identifying=masked).report.smallest_class >= 3
    assert released(("code",), quasi_identifying=["age", "sex", "code"], publish=["code"]).report.smallest_class >= 3
    assert released(("lat", "wage"), quasi_identifying=["age", "sex", "lat", "wage"]).report.smallest_class >= 3


def test_few_records_are_never_nearly_unique() -> None:
    frame = pl.DataFrame({"age": range(10), "code": [f"Q{number}" for number in range(10)]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "code"]))
    assert sf.anonymize(table, sf.KAnonymity(2)).report.smallest_class >= 2


def test_other_kinds_of_release_ask_as_well() -> None:
    frame = pl.DataFrame({name: COLUMNS[name] for name in ("age", "disease", "ssn")})
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], others="keep")
    with pytest.raises(SchemaError, match="ssn"):
        sf.anonymize(sf.read_table(frame, schema), sf.DistinctLDiversity(2), anonymizer=sf.Bucketization())


def test_a_policy_holds_the_decision_and_the_release_agrees_with_it(tmp_path: Path) -> None:
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "table.csv")
    policy = sf.Policy.from_mapping(
        {
            "models": [{"name": "k-anonymity", "k": 3}],
            "columns": {
                "quasi-identifying": ["age", "sex"],
                "sensitive": ["disease"],
                "others": "drop",
                "publish": ["ssn"],
            },
        }
    )
    assert sf.Policy.from_mapping(policy.to_mapping()) == policy
    release = sf.anonymize(sf.read_table(tmp_path / "table.csv", policy), policy)
    release.save(tmp_path / "release")
    assert sf.verify(tmp_path / "release").ok
    assert sf.verify(tmp_path / "release").roles.unprotected == ("ssn",)


def test_a_table_that_was_read_with_another_decision_is_refused() -> None:
    columns = {"quasi-identifying": ["age"], "others": "drop"}
    said = {"models": [{"name": "k-anonymity", "k": 3}], "columns": {**columns, "publish": ["ssn"]}}
    table = sf.read_table(pl.DataFrame(COLUMNS), sf.Schema(quasi_identifying=["age"], others="drop"))
    with pytest.raises(sf.PolicyError, match="publish"):
        sf.anonymize(table, sf.Policy.from_mapping(said))


def test_a_series_asks_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"person": [f"p{number}" for number in range(PEOPLE)], **COLUMNS})
    frame.write_csv(tmp_path / "january.csv")
    columns = {"quasi-identifying": ["age", "sex"], "person": "person", "others": "keep"}
    policy = sf.Policy.from_mapping({"models": [{"name": "k-anonymity", "k": 3}], "columns": columns})
    with pytest.raises(SchemaError, match="ssn"):
        sf.Series.start(tmp_path / "monthly", policy, table=tmp_path / "january.csv")


@pytest.mark.parametrize("roles", [{"identifying": ["ssn"]}, {"person": "ssn"}], ids=["identifying", "person"])
def test_what_is_never_published_is_told_of_where_somebody_says_that_it_is(roles: dict[str, object]) -> None:
    release = released(("ssn",), publish=["ssn"], **roles)
    assert "ssn" not in release.data.columns
    (role,) = roles
    told = f"Column 'ssn' is never published: its role is {role}. publish='ssn' does not change that."
    assert told in release.report.notes

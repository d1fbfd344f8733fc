"""Spellings that a steward takes for one: the column is published in one form, and everything sees only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.errors import SchemaError
from sfumato.release.on_disk import anonymize_on_disk
from sfumato.table.columns import folded_label

ROWS = range(120)
ILL = ["Flu", "FLU", " flu", "flu.", "Gout", "gout", "angina", "Angina"]
MERGED = {"flu", "gout", "angina"}
MODELS = [sf.KAnonymity(4), sf.DistinctLDiversity(2)]
COUNTED = [sf.KAnonymity(4), sf.EntropyLDiversity(2)]


def visits(seed: int = 0) -> pl.DataFrame:
    """Return visits; with another seed other spellings of the same illnesses."""
    ill = [ILL[(i * 5) % 8 - (i * 5 % 2 if seed and i * 5 % 8 > 3 else 0)] for i in ROWS]
    return pl.DataFrame({"age": [20 + i * 7 % 60 for i in ROWS], "sex": ["fm"[i // 3 % 2] for i in ROWS], "ill": ill})


def schema(**more: Any) -> sf.Schema:
    return sf.Schema(
        quasi_identifying=["age", "sex"], sensitive={"ill": sf.Attribute(spellings="merge")}, accept=(), **more
    )


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_merged_column_is_published_in_one_form_and_the_folder_says_so_without_a_list(tmp_path: Path) -> None:
    release = sf.anonymize(visits(), MODELS, schema=schema(), seed=1, anonymizer=sf.Mondrian())
    assert set(release.data["ill"].unique().to_list()) == MERGED
    folder = release.save(tmp_path / "release")
    assert sf.verify(folder).ok
    policy = (folder / "policy.toml").read_text()
    assert 'spellings = "merge"' in policy
    for path in folder.iterdir():
        assert not any(spelling in path.read_text() for spelling in ("FLU", "Flu", "Gout", "Angina"))
    assert sf.open_release(folder).data.height == len(ROWS)


def test_models_and_attacks_see_only_the_merged_form() -> None:
    apart = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ill"], accept=["spellings:ill"])
    # Two spellings in every class are two values, but one illness.
    ages = [20 + i // 4 for i in ROWS]
    table = visits().with_columns(pl.Series("age", ages), pl.Series("ill", [("Flu", "FLU")[i % 2] for i in ROWS]))
    assert sf.anonymize(table, MODELS, schema=apart, seed=1).report.verification.ok
    with pytest.raises(sf.UnsatisfiableError):
        sf.anonymize(table, MODELS, schema=schema(), seed=1)
    release = sf.anonymize(visits(), COUNTED, schema=schema(), seed=1, anonymizer=sf.Mondrian())
    assert {*sf.read_table(visits(), schema()).frame["ill"].cast(pl.String)} == MERGED
    assert release.report.verification.ok


def test_no_question_is_left_and_its_answer_names_the_setting(tmp_path: Path) -> None:
    asked = sf.review(visits(), sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ill"]))
    [finding] = [each for each in asked.findings if each.name == "spellings"]
    assert "--set column.ill.spellings=merge" in [answer.option for answer in finding.answers]
    assert not [each for each in sf.review(visits(), schema()).findings if each.name == "spellings"]


def test_two_originals_that_are_published_alike_give_the_same_folder(tmp_path: Path) -> None:
    one, other = (
        sf.anonymize(visits(seed), MODELS, schema=schema(), seed=1, anonymizer=sf.Mondrian()) for seed in (0, 1)
    )
    assert visits(0)["ill"].n_unique() != visits(1)["ill"].n_unique()
    assert files(one.save(tmp_path / "one")) == files(other.save(tmp_path / "other"))


def test_the_disk_engine_merges_alike(tmp_path: Path) -> None:
    visits().write_csv(tmp_path / "visits.csv")
    table = sf.read_table(tmp_path / "visits.csv", schema())
    policy = sf.Policy.of(schema(), MODELS, sf.Mondrian(), sf.Recoding(), 0)
    in_memory = sf.anonymize(table, policy, seed=1).save(tmp_path / "memory")
    on_disk = anonymize_on_disk(tmp_path / "visits.csv", policy, tmp_path / "disk", seed=1)
    assert on_disk is not None
    assert (in_memory / "data.csv").read_bytes() == (tmp_path / "disk" / "data.csv").read_bytes()


@given(st.text(max_size=12))
@examples(200)
def test_the_one_form_is_its_own(text: str) -> None:
    assert folded_label(folded_label(text)) == folded_label(text)


@pytest.mark.parametrize(
    ("one", "other"), [("A-", "A"), ("A+", "A-"), ("-5", "5"), ("1-3", "13"), ("हि", "ह"), ("กิน", "กน"), ("1.5", "15")]
)
def test_what_differs_in_more_than_form_stays_apart(one: str, other: str) -> None:
    assert folded_label(one) != folded_label(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Self-emp", "self emp"), ("St. Gallen", "st gallen"), ("flu ", "Flu."), ("Kö\u200bln", "KÖLN")]
)
def test_what_differs_in_form_alone_is_one(one: str, other: str) -> None:
    assert folded_label(one) == folded_label(other)


def test_only_categories_have_spellings() -> None:
    with pytest.raises(SchemaError, match="spellings is for categories"):
        sf.Attribute(kind="numeric", spellings="merge")
    with pytest.raises(SchemaError, match="'merge'"):
        sf.Attribute(spellings="other")  # type: ignore[arg-type]

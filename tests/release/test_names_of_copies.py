"""Columns that are named like a copy of another are read as what they are."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf

DIVERSE = sf.ProbabilisticLDiversity(2)
OVERLAPPING = (("income (2)", "zip"), ("income (2)", "age"), ("income",))


@pytest.fixture(scope="module")
def table() -> sf.Table:
    draw = random.Random(3)
    columns = {
        "income": [draw.randrange(9) for _ in range(60)],
        "income (2)": [draw.choice("mf") for _ in range(60)],
        "age": [draw.randrange(20, 24) for _ in range(60)],
        "zip": [draw.choice("ab") for _ in range(60)],
    }
    return sf.read_table(
        pl.DataFrame(columns), sf.Schema(quasi_identifying=["income (2)", "age", "zip"], sensitive=["income"])
    )


@pytest.mark.parametrize(
    ("anonymizer", "model"),
    [
        (sf.Mondrian(), sf.KAnonymity(2)),
        (sf.Bucketization(), DIVERSE),
        (sf.Slicing(), DIVERSE),
        (sf.OverlappingSlicing(columns=OVERLAPPING), DIVERSE),
    ],
)
def test_a_text_column_named_like_a_copy_of_a_number(table, anonymizer, model, tmp_path):
    release = sf.anonymize(table, [model], anonymizer=anonymizer, seed=1)
    assert sf.verify(release.save(tmp_path / "out")).ok


def test_a_copy_passes_over_the_name_of_another_attribute(tmp_path):
    draw = random.Random(3)
    frame = pl.DataFrame({name: [draw.choice("wxyz") for _ in range(60)] for name in ("a", "a (2)", "b", "s")})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["a", "a (2)", "b"], sensitive=["s"]))
    columns = (("a", "b"), ("a", "a (2)"), ("s",))
    release = sf.anonymize(table, [DIVERSE], anonymizer=sf.OverlappingSlicing(columns=columns), seed=1)
    assert release.data.columns == ["bucket", "a", "b", "a (3)", "a (2)", "s"]
    assert sf.verify(release.save(tmp_path / "out")).ok


def test_a_numeric_attribute_and_its_copy_are_both_numbers(tmp_path):
    draw = random.Random(3)
    frame = pl.DataFrame(
        {"a": [draw.choice("xy") for _ in range(60)], "b": ["z"] * 60, "s": [draw.randrange(9) for _ in range(60)]}
    )
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["a", "b"], sensitive=["s"]))
    columns = (("a", "s"), ("b", "s"))
    slicing = sf.OverlappingSlicing(columns=columns, duplicate_sensitive=True)
    release = sf.anonymize(table, [sf.ProbabilisticLDiversity(1.1)], anonymizer=slicing, seed=1)
    assert sf.verify(release.save(tmp_path / "out")).ok

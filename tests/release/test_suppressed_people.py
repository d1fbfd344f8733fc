"""Suppression of people who have several records: whole, and within the limit in people and in records."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf


def stays(seed: int) -> sf.Table:
    """Sixty people, 31 of whom have the disease x; one in four has two stays."""
    drawn = random.Random(seed)
    rows = [
        (person, 20 + person, "x" if person < 31 else "yzuv"[person % 4])
        for person in range(60)
        for _ in range(drawn.choice([1, 1, 1, 2]))
    ]
    frame = pl.DataFrame(rows, schema=["who", "age", "ill"], orient="row")
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"], person="who"))


@pytest.mark.parametrize("seed", range(7))
def test_fewer_people_are_left_out_where_the_first_choice_has_too_many_records(seed: int) -> None:
    """Two of those with x must go. Six people may, but in some tables the six that are chosen have too many records."""
    table = stays(seed)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), suppression_limit=0.1, seed=1)
    assert 0 < release.report.suppressed <= 0.1 * table.height
    assert sf.verify(release).ok


def test_a_model_explains_itself_under_its_own_name() -> None:
    frame = pl.DataFrame({"who": [1] * 9 + [2, 3, 4], "age": range(12), "ill": list("abcdefghijkl")})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"], person="who"))
    with pytest.raises(sf.UnsatisfiableError, match="alpha-k-anonymity asks for k = 2, but one person has 9") as no:
        sf.anonymize(table, sf.AlphaKAnonymity(1.0, 2))
    assert "shares" not in str(no.value)
    with pytest.raises(sf.UnsatisfiableError, match="shares=False"):
        sf.anonymize(table, sf.KAnonymity(2))

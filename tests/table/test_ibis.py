"""Ibis expressions are frames like others: they hand over Arrow."""

from __future__ import annotations

import ibis
import polars as pl

import sfumato as sf

SCHEMA = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ill"])


def test_an_expression_is_anonymized_as_the_frame_that_it_stands_for() -> None:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 50 for i in range(500)],
            "sex": ["m", "f"] * 250,
            "ill": ["flu", "cold", "gout", "burn"] * 125,
        }
    )
    people = ibis.polars.connect({"people": frame.lazy()}).table("people")
    release = sf.anonymize(people.filter(people.age > 25), sf.KAnonymity(5), schema=SCHEMA, seed=1)
    expected = sf.anonymize(frame.filter(pl.col("age") > 25), sf.KAnonymity(5), schema=SCHEMA, seed=1)
    assert release.data.equals(expected.data)

"""Columns that tell which records are of one person, though nobody gave them that role."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

import sfumato as sf


def notes_of(**roles: Any) -> str:
    drawn = random.Random(1)
    who = [drawn.randrange(200) for _ in range(400)]
    frame = pl.DataFrame(
        {
            "who": who,
            "age": [20 + person % 40 for person in who],
            "sex": ["fm"[person % 2] for person in who],
            "link": [f"x{7 * person}" for person in who],
            "note": [drawn.choice("ab") for _ in who],
        }
    )
    schema = sf.Schema(quasi_identifying=["age", "sex"], **roles)
    return " ".join(sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3), anonymizer=sf.Mondrian()).report.notes)


def test_an_insensitive_column_links_the_records_of_a_person() -> None:
    found = notes_of(person="who", insensitive=["link", "note"])
    assert "'link' is published unchanged" in found
    assert "'note'" not in found
    assert notes_of(person="who", insensitive=["note"], others="drop") == ""


def test_an_identifying_or_dropped_column_repeats() -> None:
    identifying = notes_of(identifying=["who", "link"], insensitive=["note"])
    assert "repeats: 400 records have" in identifying
    assert "the smallest class has" in identifying
    dropped = notes_of(others="drop")
    assert "repeats: 400 records have" in dropped
    assert "'note'" not in dropped

"""The benchmark of databases on a small census; nothing here looks at a time."""

from __future__ import annotations

from typing import Any

from benchmarks.census import census
from benchmarks.databases_job import compare

import sfumato as sf


def test_a_census_goes_through_a_database(postgresql: Any) -> None:
    (figure,) = compare(postgresql, census(3000), repeats=1)
    assert figure.value > 0
    assert "3,000 records of 10 columns" in figure.detail
    assert sf.verify(postgresql.url(), schema="release").ok
    postgresql.run("DROP SCHEMA release CASCADE", "DROP TABLE people, floor")

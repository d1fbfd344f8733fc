"""What the first release fixes for all others."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from series.tables import new_rows

DATES = ["2024-01-03", "2024-02-11", "2024-03-05", "2024-04-20", "2024-05-01", "2024-07-09"]
FIRSTS = ["2025-01-01", "2025-02-01"]


def table(first: int, values: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"name": range(first, first + len(values)), "value": values})


def labels(first: list[object], later: list[object], folder: Path) -> set[str]:
    """Start a series with some values, append others, and return the labels of these."""
    kind = "date" if isinstance(first[0], str) else "numeric"
    schema = sf.Schema(identifying=["name"], quasi_identifying={"value": sf.Attribute(kind=kind)})
    series = sf.Series.start(folder / "s", schema, sf.KAnonymity(2), table=table(0, first))
    series.append(table(1000, later))
    assert series.verify(ledger=True).ok
    return {label for (label,) in new_rows(series.folder, 2)}


@pytest.mark.parametrize(
    ("first", "later", "inside"),
    [
        # By themselves these ages are counted in tens, and end at 20 and 59; in the series they are counted in years.
        ([*range(20, 80)], [30, 40], "[30..44]"),
        # The other way round: the series counts in tens.
        ([*range(20, 200, 10)], [33, 34], "[20..39]"),
        # The first of a month, where the series counts in days.
        (DATES, FIRSTS, "[2025-01-01..2025-02-28]"),
        # Values without fractions, where the series has halves.
        ([value / 2 for value in range(40, 160)], [30.0, 31.0], "[30..31.5)"),
    ],
)
def test_intervals_end_on_the_grid_of_the_first_release(
    first: list[object], later: list[object], inside: str, tmp_path: Path
) -> None:
    assert labels(first, later, tmp_path) == {inside}


def test_few_values_leave_the_grid_open_for_those_who_come(tmp_path: Path) -> None:
    """Of two values nobody knows what they are counted in; the next people decide, and are followed."""
    schema = sf.Schema(identifying=["name"], quasi_identifying=["value"])
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(2), table=table(0, [40, 40, 40]))
    series.append(table(100, [*range(20, 80)]))
    series.append(table(300, [30, 40]))
    assert {label for (label,) in new_rows(series.folder, 3)} == {"[30..44]"}


def test_kinds_are_those_of_the_first_table(tmp_path: Path) -> None:
    """Codes that look like numbers in March stay codes, as in January some had letters."""
    schema = sf.Schema(identifying=["name"], quasi_identifying=["value"])
    first = tmp_path / "first.csv"
    first.write_text("name,value\na,A1\nb,A1\nc,17\nd,17\n")
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(2), table=first)
    (tmp_path / "b.csv").write_text("name,value\ne,18\nf,19\n")
    series.append(tmp_path / "b.csv")
    assert {label for (label,) in new_rows(series.folder, 2)} == {"{18|19}"}


def test_columns_may_come_in_another_order(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["name"], quasi_identifying=["value"], insensitive=["note"])
    first = table(0, [30, 30]).with_columns(note=pl.lit("x"))
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(2), table=first)
    series.append(table(100, [31, 31]).with_columns(note=pl.lit("y")).select("note", "value", "name"))
    assert series.verify(ledger=True).ok
    assert (series.releases[1] / "data.csv").read_text().startswith("value,note\n")


def test_columns_that_others_keep_are_kept_for_all(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["name"], quasi_identifying=["value"], others="keep")
    first = table(0, [30, 30]).with_columns(note=pl.lit("x"))
    series = sf.Series.start(tmp_path / "s", schema, sf.KAnonymity(2), table=first)
    with pytest.raises(sf.SchemaError, match=r"missing column\(s\): 'note'"):
        series.append(table(100, [31, 31]))
    series.append(table(100, [31, 31]).with_columns(note=pl.lit("y")))
    assert series.verify(ledger=True).ok


def test_a_sensitive_hierarchy_grows_with_the_values_that_are_published(tmp_path: Path) -> None:
    tree = sf.groups({"lung": ["flu", "cold"], "other": ["gout", "none"]})
    schema = sf.Schema(identifying=["name"], quasi_identifying=["value"], sensitive={"disease": tree})
    models = [sf.KAnonymity(2), sf.GuardedValues(["lung"], 0.7)]
    first = table(0, [30, 31]).with_columns(disease=pl.Series(["flu", "none"]))
    series = sf.Series.start(tmp_path / "s", schema, models, table=first)
    series.append(table(100, [40, 41]).with_columns(disease=pl.Series(["cold", "gout"])))
    assert series.verify(ledger=True).ok
    assert all(sf.verify(path).ok for path in series.releases)

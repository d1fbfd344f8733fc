"""Days that a spreadsheet counts: asked about where they are days, and nowhere else; the answer reads them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from openpyxl.utils.datetime import to_excel

import sfumato as sf
from sfumato.table.written_forms import date_form

DRAW = random.Random(7)
PEOPLE = 300
Column = list[object]


def days(first: int, last: int) -> list[date]:
    return [date(first, 1, 1) + timedelta(DRAW.randrange(365 * (last - first))) for _ in range(PEOPLE)]


def counts(first: int, last: int) -> Column:
    return [int(to_excel(each)) for each in days(first, last)]


def numbers(draw: Callable[[], float]) -> Column:
    return [int(draw()) for _ in range(PEOPLE)]


def among(form: str, often: int) -> Column:
    pairs = enumerate(zip(days(2018, 2024), counts(2018, 2024), strict=True))
    return [count if place % often == 0 else f"{day:{form}}" for place, (day, count) in pairs]


NAMES = [
    "birth_date", "Geburtsdatum", "DOB", "AdmissionDate", "fecha_ingreso", "date_naissance", "data_nascita",
    "visitdate", "生年月日", "datum_opname", "dato_død", "tarih", "дата",
]  # fmt: skip
DAYS = {
    **{name: {name: counts(1950, 2020)} for name in NAMES},
    "with a time": {"timestamp": [count + 0.25 for count in counts(2019, 2024)]},  # type: ignore[operator]
    "beside": {"start": days(2019, 2024), "until": counts(2019, 2024)},
    "among ISO": {"visit": among("%Y-%m-%d", 9)},
    "among others": {"visit": among("%d.%m.%Y", 3)},
    "few among others": {"visit": among("%d.%m.%Y", 60)},
}
NONE = {
    "salaries": {"salary": numbers(lambda: DRAW.gauss(40_000, 5_000)), "birth_date": days(1950, 2000)},
    "round salaries": {"salary": numbers(lambda: 100 * round(DRAW.gauss(430, 9))), "hired": days(2012, 2022)},
    "narrow salaries": {"salary": numbers(lambda: DRAW.gauss(43_000, 3_000)), "hired": days(2014, 2022)},
    "incomes": {"income": numbers(lambda: DRAW.gauss(44_000, 2_500)), "admission_date": days(2016, 2023)},
    "kilometres": {"mileage": numbers(lambda: DRAW.randrange(1_000, 90_000))},
    "years": {"birth_date": numbers(lambda: DRAW.randrange(1940, 2005))},
    "weights": {"birth_weight": numbers(lambda: DRAW.randrange(1_800, 4_600))},
    "counts": {"update_count": numbers(lambda: DRAW.randrange(30_000, 50_000))},
    "inhabitants": {"population": numbers(lambda: DRAW.randrange(10_000, 60_000)), "founded": days(1850, 1990)},
    "steps": {"steps": numbers(lambda: DRAW.randrange(3_000, 30_000)), "day": days(2022, 2024)},
    "ages": {"age": numbers(lambda: DRAW.randrange(18, 90)), "date": days(2020, 2024)},
    "megabytes": {"data_usage": numbers(lambda: DRAW.randrange(20_000, 50_000))},
    "votes": {"candidate_votes": numbers(lambda: DRAW.randrange(20_000, 50_000))},
    "prices": {"price": numbers(lambda: DRAW.randrange(900, 60_000)), "listed": days(2015, 2024)},
    "regions": {"region": numbers(lambda: DRAW.randrange(43_001, 45_999)), "visit": days(2018, 2024)},
    "towns": {"ort": numbers(lambda: DRAW.randrange(43_001, 45_999)), "visit": days(2018, 2024)},
    "stays": {"length_of_stay_days": numbers(lambda: DRAW.randrange(1, 90)), "admission": days(2020, 2022)},
}


def asked(source: object, columns: dict[str, Column]) -> str:
    try:
        sf.read_table(source, sf.Schema(quasi_identifying=list(columns)))
    except sf.InputError as error:
        return str(error)
    return ""


def written(columns: dict[str, Column], path: Path) -> Path:
    pl.DataFrame({name: [str(value) for value in values] for name, values in columns.items()}).write_csv(path)
    return path


@pytest.mark.parametrize("columns", DAYS.values(), ids=DAYS.keys())
def test_counts_of_days_are_asked_about_and_the_answer_reads_them(columns: dict[str, Column], tmp_path: Path) -> None:
    path = written(columns, tmp_path / "people.csv")
    assert "excel" in asked(path, columns)
    assert any("excel" in finding.question for finding in sf.review(path).findings)
    name, values = next(reversed(columns.items()))
    if all(isinstance(value, int) for value in values):
        assert "excel" in asked(pl.DataFrame(columns), columns)
    forms = ["%Y-%m-%d", "%d.%m.%Y"]
    form = next(
        (form for form in ("yyyy-mm-dd", "dd.mm.yyyy") if any(date_form(form).fits(str(v)) for v in values)), ""
    )
    declared = {**dict.fromkeys(columns, None), name: sf.Attribute(dates=("excel", form) if form else "excel")}
    read = sf.read_table(path, sf.Schema(quasi_identifying=declared)).frame[name]
    first = values[0]
    assert read[0] == (date(1899, 12, 30) + timedelta(int(first)))  # type: ignore[call-overload]
    texts = [each for each in values if isinstance(each, str)]
    if texts:
        at = values.index(texts[0])
        assert any(f"{read[at]:{each}}" == texts[0] for each in forms)


@pytest.mark.parametrize("columns", NONE.values(), ids=NONE.keys())
def test_other_numbers_are_not_asked_about(columns: dict[str, Column], tmp_path: Path) -> None:
    assert asked(written(columns, tmp_path / "people.csv"), columns) == ""
    assert asked(pl.DataFrame(columns), columns) == ""


def test_counts_are_read_as_spreadsheets_and_other_programs_mean_them() -> None:
    moments = [datetime(1931, 1, 1) + timedelta(seconds=DRAW.randrange(3_000_000_000)) for _ in range(300)]
    texts = pl.Series([str(to_excel(moment)) for moment in moments])
    assert date_form("excel").read(texts).to_list() == [moment.date() for moment in moments]
    since = pl.Series(["-1", "0", "365", "99999999", "x", "1e4"])
    days_of_1970 = [date(1969, 12, 31), date(1970, 1, 1), date(1971, 1, 1), None, None, None]
    assert date_form("days since 1970-01-01").read(since).to_list() == days_of_1970
    seconds = pl.Series([str(int((moment - datetime(1970, 1, 1)).total_seconds())) for moment in moments])
    assert date_form("seconds since 1970-01-01").read(seconds).to_list() == [moment.date() for moment in moments]
    with pytest.raises(sf.InputError, match="followed by a day"):
        date_form("days since 1970-02-30")


@pytest.mark.parametrize("unit", ["seconds", "milliseconds"])
def test_seconds_of_computers_are_asked_about(unit: str, tmp_path: Path) -> None:
    a_second = 1 if unit == "seconds" else 1000
    columns: dict[str, Column] = {
        "visit_date": numbers(lambda: DRAW.randrange(1_200_000_000, 1_700_000_000) * a_second)
    }
    assert f"{unit} since 1970-01-01" in asked(written(columns, tmp_path / "people.csv"), columns)
    assert f"{unit} since 1970-01-01" in asked(pl.DataFrame(columns), columns)
    amounts = {"balance": columns["visit_date"]}
    # Thirteen digits each are hardly amounts; codes and numbers are offered beside.
    told = "since" in asked(written(amounts, tmp_path / "amounts.csv"), amounts)
    assert told is (unit == "milliseconds")

"""Forms of numbers and dates: read as a plain twin reads them, and declared without contradictions."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import polars as pl
import pytest

import sfumato as sf
from sfumato.table.columns import ask, proposals
from sfumato.table.written_forms import NumberForm, WrittenForm, date_form

DRAW = random.Random(7)
MOMENTS = [datetime(1931, 1, 1) + timedelta(seconds=DRAW.randrange(3_000_000_000)) for _ in range(300)]
TWINS = {
    "dd.mm.yyyy": "%d.%m.%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "yyyy/mm/dd": "%Y/%m/%d",
    "dd-mon-yyyy": "%d-%b-%Y",
    "mon dd, yyyy": "%B %d, %Y",
    "ddmonyyyy": "%d%b%Y",
    "yyyymmdd": "%Y%m%d",
    "yyyy-mm-dd hh:mm:ss": "%Y-%m-%dT%H:%M:%S",
    "dd.mm.yyyy hh:mm": "%d.%m.%Y %H:%M",
    "mm/dd/yyyy hh:mm am": "%m/%d/%Y %I:%M %p",
    "yyyy-mm-dd hh:mm:ssz": "%Y-%m-%d %H:%M:%S+02:00",
}


@pytest.mark.parametrize(("form", "twin"), TWINS.items())
def test_days_are_read_as_they_were_written(form: str, twin: str) -> None:
    texts = pl.Series([moment.strftime(twin) for moment in MOMENTS])
    assert date_form(form).read(texts).to_list() == [moment.date() for moment in MOMENTS]


def test_times_are_minutes_and_seconds_after_midnight() -> None:
    minutes = [moment.hour * 60 + moment.minute for moment in MOMENTS]
    twelve = pl.Series([moment.strftime("%I:%M %p") for moment in MOMENTS])
    assert date_form("hh:mm am").read(twelve).to_list() == minutes
    seconds = pl.Series([moment.strftime("%H:%M:%S.123") for moment in MOMENTS])
    assert date_form("hh:mm:ss").read(seconds).to_list() == [
        60 * each + moment.second for each, moment in zip(minutes, MOMENTS, strict=True)
    ]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("dd.mm.yyyy", "31.02.2000"),
        ("dd.mm.yyyy", "13.13.2000"),
        ("dd.mm.yyyy", "01.01.200"),
        ("dd.mm.yyyy", "x01.01.2000"),
        ("dd-mon-yyyy", "01-abc-2000"),
        ("hh:mm", "24:00"),
        ("hh:mm am", "13:00 pm"),
        ("yyyy-mm-dd hh:mm", "2000-01-01 12:60"),
    ],
)
def test_what_is_no_day_and_no_time_is_none(form: str, text: str) -> None:
    assert date_form(form).read(pl.Series([text])).to_list() == [None]


def test_years_of_two_digits_have_a_fixed_century_or_a_declared_one() -> None:
    texts = pl.Series(["01.01.29", "01.01.30"])
    assert date_form("dd.mm.yy").read(texts).to_list() == [date(2029, 1, 1), date(1930, 1, 1)]
    assert date_form("dd.mm.19yy").read(texts).to_list() == [date(1929, 1, 1), date(1930, 1, 1)]


@pytest.mark.parametrize("form", ["", "dd.mm", "yyyy", "dd.dd.yyyy", "tt.mm.jjjj", "dd.mm.yyyy hh", "%d.%m.%Y", "z"])
def test_forms_without_a_whole_day_or_time_are_refused(form: str) -> None:
    with pytest.raises(sf.InputError, match=r"must be a form such as dd\.mm\.yyyy"):
        date_form(form)


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("thousands", [None, ".", ",", " ", "'"])
@pytest.mark.parametrize("unit", [None, "€", "kg"])
def test_numbers_are_read_as_they_were_written(decimal: str, thousands: str | None, unit: str | None) -> None:
    if decimal == thousands:
        return
    numbers = [DRAW.randrange(-(10**9), 10**9) / 100 for _ in range(300)]
    texts = [
        f"{number:,.2f}".replace(",", "_").replace(".", decimal).replace("_", thousands or "") for number in numbers
    ]
    texts = [
        text if unit is None else f"{text} {unit}" if place % 2 else f"{unit}{text}" for place, text in enumerate(texts)
    ]
    plain = NumberForm(decimal, thousands, unit).plain(pl.Series(texts))
    assert plain.cast(pl.Float64).to_list() == numbers


@pytest.mark.parametrize("text", ["1,23,4", "1.2.3", "12,3456,7", "", "-", ",", "1,5 €", "1e", "0x10", "一"])
def test_what_is_no_number_of_the_form_is_none(text: str) -> None:
    assert NumberForm(",", ".").plain(pl.Series([text])).to_list() == [None]


def test_contradictory_settings_are_refused() -> None:
    for settings in (
        {"decimal": ";"},
        {"thousands": "_"},
        {"decimal": ",", "thousands": ","},
        {"unit": "12"},
        {"unit": " "},
        {"dates": "dd"},
        {"dates": [1]},
        {"strays": "drop"},
    ):
        with pytest.raises(sf.InputError):
            WrittenForm(**settings)  # type: ignore[arg-type]
        with pytest.raises(sf.SchemaError):
            sf.Attribute(**settings)  # type: ignore[arg-type]
    for settings in (
        {"decimal": ",", "dates": "hh:mm"},
        {"decimal": ",", "kind": "categorical"},
        {"dates": "dd.mm.yyyy", "kind": "boolean"},
        {"strays": "missing", "kind": "categorical"},
    ):
        with pytest.raises(sf.SchemaError):
            sf.Attribute(**settings)  # type: ignore[arg-type]


def test_a_proposal_reads_every_text_and_no_message_shows_one() -> None:
    for texts in (
        ["1.234,50", "7,25", "12"],
        ["06.08.2000", "31.12.1999"],
        ["1,234", "5,678"],
        ["3/4/2020", "5/6/2020"],
    ):
        found = proposals(pl.Series(texts))
        assert found
        for proposal in found:
            assert not proposal.way.read(pl.Series(texts)).has_nulls()
        said = str(ask("name", found))
        assert not any(text in said for text in texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["HS-grad", "Some-college"],
        ["20-29", "30-39"],
        ["V43", "250.83"],
        ["1994-05", "1994-06"],
        ["[20..30)", "[30..40)"],
        ["10.0.0.1", "10.0.0.2"],
        ["1,5", "2.5"],
        ["12 Main St", "7 Elm St"],
        ["3 kg", "4 cm"],
        ["2*", "13***"],
    ],
)
def test_texts_of_no_form_are_left_alone(texts: list[str]) -> None:
    assert proposals(pl.Series(texts)) == []


def test_two_declared_forms_that_mean_different_days_are_asked_about(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "people.csv"
    path.write_text("born\n" + "".join(f"0{i}/0{9 - i}/2000\n" for i in range(1, 9)))
    schema = sf.Schema(quasi_identifying=["born"])
    with pytest.raises(sf.InputError, match=r"\.dates=dd/mm/yyyy or --set column\.born\.dates=mm/dd/yyyy"):
        sf.read_table(path, schema, dates=["dd/mm/yyyy", "mm/dd/yyyy"])
    days = sf.read_table(path, sf.Schema(quasi_identifying={"born": sf.Attribute(dates="mm/dd/yyyy")})).frame["born"]
    assert days[0] == date(2000, 1, 8)


def test_strays_and_dropped_times_are_told_of_in_the_report(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "people.csv"
    path.write_text("pay,at\nunknown,2000-01-01 10:00\n" + "".join(f"{i},2000-01-0{i} 12:30\n" for i in range(1, 9)))
    attributes = {"pay": sf.Attribute(strays="missing"), "at": sf.Attribute(dates="yyyy-mm-dd hh:mm")}
    table = sf.read_table(path, sf.Schema(quasi_identifying=attributes))
    assert table.frame["pay"].to_list() == [None, *range(1, 9)]
    notes = sf.anonymize(table, sf.KAnonymity(2), seed=1).report.notes
    assert any("'pay': 1 record of 9 held text that is no number" in note for note in notes)
    assert any("'at': of timestamps the day was read" in note for note in notes)
    assert not any("unknown" in note for note in notes)


def test_text_of_a_frame_is_read_only_in_forms_that_are_no_text() -> None:
    frame = pl.DataFrame(
        {"born": ["06.08.2000", "31.12.1999"] * 5, "code": ["12", "13"] * 5, "iso": ["2000-01-01", "2000-01-02"] * 5}
    )
    schema = sf.Schema(quasi_identifying=["born", "code", "iso"])
    table = sf.read_table(frame, schema)
    assert len(table.remarks) == 2
    assert "'born': every value was read as a date, written as dd.mm.yyyy" in table.remarks[0]
    assert "'iso': every value was read as a date, written as yyyy-mm-dd" in table.remarks[1]
    kinds = {name: str(kind) for name, kind in table.kinds.items()}
    assert kinds == {"born": "date", "code": "categorical", "iso": "date"}
    asked = {"iso": sf.Attribute(kind="categorical")}  # type: ignore[arg-type]
    assert str(sf.read_table(frame, sf.Schema(quasi_identifying=asked, others="drop")).kinds["iso"]) == "categorical"


def test_whole_numbers_that_a_float_cannot_tell_apart_are_no_numbers(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "people.csv"
    path.write_text("no\n" + "".join(f"{10**20 + i}\n" for i in range(9)))
    schema = sf.Schema(quasi_identifying={"no": sf.Attribute(kind="numeric")})  # type: ignore[arg-type]
    with pytest.raises(sf.InputError, match="more digits than 64 bits can distinguish"):
        sf.read_table(path, schema)
    path.write_text("no\n" + "".join(f"{10**20 * i}\n" for i in range(1, 9)))
    assert sf.read_table(path, schema).frame["no"][0] == 1e20

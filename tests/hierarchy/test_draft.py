"""Drafts: what they propose for each kind of column, and that they are files one can edit and use."""

from __future__ import annotations

import tomllib
from datetime import date
from importlib import resources
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.errors import HierarchyError
from sfumato.hierarchy import (
    draft_hierarchy,
    draft_rule,
    hierarchy_from_policy,
    prefixes,
    read_hierarchy,
    write_hierarchy,
)


def widths(tree_labels: tuple[str, ...]) -> set[float]:
    pairs = [label.strip("[)").split("..") for label in tree_labels]
    return {round(float(high) - float(low), 9) for low, high in pairs}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pl.Series(range(17, 91)), [5, 10, 20]),
        (pl.Series([0, 150]), [10, 50]),
        (pl.Series([0, 36]), [2, 10]),
        (pl.Series([1000, 250_000]), [20_000, 100_000]),
        (pl.Series([0.5, 3.25, 9.75]), [0.5, 1, 2]),
        (pl.Series([1, 2, 12]), [5]),
        (pl.Series([0, 8]), [2]),
        (pl.Series([0, 4]), []),
        (pl.Series([1, 2]), []),
        (pl.Series([5, 5, 5]), []),
        (pl.Series([-1e308, 1e308]), []),
    ],
)
def test_numbers_get_few_round_widths(values: pl.Series, expected: list[float]) -> None:
    tree = draft_hierarchy(values)
    assert [widths(level.labels) for level in tree.levels[1:-1]] == [{width} for width in expected]


@given(st.lists(st.integers(-10_000, 10_000), min_size=2, unique=True))
@examples(60)
def test_no_level_has_more_than_about_twenty_intervals_and_none_is_as_good_as_the_root(numbers: list[int]) -> None:
    span = max(numbers) - min(numbers)
    for level in draft_hierarchy(pl.Series(numbers)).levels[1:-1]:
        [width] = widths(level.labels)
        assert span / 20 <= width <= span / 2


def test_dates_and_codes() -> None:
    assert draft_hierarchy(pl.Series([date(1994, 5, 6)])).paths[0][1:] == ("1994-05", "1994", "1990s", "*")
    iso = pl.Series(["1994-05-06", "1994-05-07", None, "2001-01-01"])
    assert draft_hierarchy(iso).paths[0][1:] == ("1994-05", "1994", "1990s", "*")
    codes = draft_hierarchy(pl.Series(["12345", "12346", "99999"]))
    assert codes.paths[0] == ("12345", "1234*", "123**", "12***", "1****", "*")
    assert draft_hierarchy(pl.Series(["A0000000000", "A0000000001", "B1234567890"])).height == 5


def test_categories_come_by_falling_frequency_each_its_own_group() -> None:
    values = pl.Series(["rare", "often", "often", None, "also", "often", "also"]).cast(pl.Categorical)
    assert draft_hierarchy(values).paths == [("often",) * 2 + ("*",), ("also",) * 2 + ("*",), ("rare",) * 2 + ("*",)]


def test_a_column_called_like_the_count_does_no_harm() -> None:
    assert draft_hierarchy(pl.Series("records", ["a", "b", "c"])).size == 3


def test_two_values_need_no_groups() -> None:
    assert draft_hierarchy(pl.Series([True, False])).height == 1
    assert draft_hierarchy(pl.Series(["m", "f", "m"])).height == 1


def test_an_edited_draft_is_a_hierarchy(tmp_path: Path) -> None:
    column = pl.Series("work", ["city", "state", "shop", "city", "none"])
    file = tmp_path / "work.csv"
    write_hierarchy(draft_hierarchy(column), file)
    assert file.read_text() == "city;city;*\nnone;none;*\nshop;shop;*\nstate;state;*\n"
    file.write_text(file.read_text().replace("city;city", "city;public").replace("state;state", "state;public"))
    tree = read_hierarchy(file).build(column, name="work")
    assert tree.levels[1].labels == ("public", "none", "shop")


@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1).map(lambda v: pl.Series(v, dtype=pl.Int64)),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1).map(pl.Series),
        st.lists(st.dates(), min_size=1).map(pl.Series),
        st.lists(st.booleans(), min_size=1).map(pl.Series),
        st.lists(st.text("0123456789", min_size=5, max_size=5), min_size=1).map(pl.Series),
        st.lists(st.text(min_size=1).filter(lambda text: text != "*"), min_size=1).map(pl.Series),
    )
)
@examples(120)
def test_every_draft_fits_its_column_after_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, values: pl.Series
) -> None:
    tree = draft_hierarchy(values)
    assert tree.height <= 5
    file = tmp_path_factory.getbasetemp() / "draft.csv"
    write_hierarchy(tree, file)
    assert read_hierarchy(file, separator=";").build(values, name="x") == tree


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([None, None], dtype=pl.String),
        pl.Series([], dtype=pl.Int64),
        pl.Series([1.0, float("inf"), float("nan")]),
        pl.Series(["", "secret", "hidden"]),
        pl.Series(["*", "secret", "hidden"]),
    ],
)
def test_columns_without_a_draft_get_an_error_without_a_value(values: pl.Series) -> None:
    with pytest.raises(HierarchyError) as caught:
        draft_hierarchy(values.alias("x"))
    assert "'x'" in str(caught.value)
    assert not any(text in str(caught.value) for text in ("secret", "hidden", "inf ", "nan"))


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["06.08.2000", "31.12.1999", "1.2.1999"], ("1.2.1999", "1999", "1990s", "*")),
        (["08/06/2000", "12/31/1999", "02/01/2000"], ("12/31/1999", "1999", "1990s", "*")),
        (["2000/08/06 12:30", "1999/12/31 00:00", "2001/01/01 01:00"], ("1999/12/31 00:00", "1999", "1990s", "*")),
    ],
)
def test_texts_that_are_days_keep_their_year_whatever_their_order(texts: list[str], first: tuple[str, ...]) -> None:
    assert draft_hierarchy(pl.Series(texts)).paths[0] == first


SYSTEMS = {
    "atc": (["A10BA02", "C09AA05", "N02BE01"], ["A10BA**", "A10B***", "A10****", "A******"]),
    "icd": (["E11", "E11.9", "I25.10"], ["E11*", "E*"]),
    "nace": (["A01.11", "C10.71", "C10.7"], ["A01.1*", "A01*", "A*"]),
    "industry": (["01.11", "10.71", "47.11"], ["01.1*", "01***"]),
    "address": (["10.0.3.4", "192.168.1.20", "10.0.0.1"], ["10.0.3.*", "10.0.*", "10.*"]),
    "postcode": (["SW1A 1AA", "EC1A 1BB", "M1 1AE"], ["SW1A *"]),
    "canada": (["K1A 0B1", "H0H 0H0", "M5V 2T6"], ["K1A****", "K******"]),
    "netherlands": (["1012 AB", "1013CD", "9711 AA"], ["1012*", "10*", "1*"]),
    "poland": (["00-001", "31-002", "80-001"], ["00****", "0*****"]),
    "brazil": (["01310-100", "20040-020", "70040-010"], ["01310****", "013******", "01*******", "0********"]),
    "japan": (["100-0001", "530-0001", "060-0001"], ["100*****", "10******", "1*******"]),
    "commune": (["75056", "2A004", "69123"], ["75***"]),
    "county": (["01001", "01003", "06037"], ["01***"]),
    "nuts": (["DE111", "FR101", "DE1", "ITC4"], ["DE11*", "DE1*", "DE*"]),
    "isco": (["2211", "5120", "2212"], ["221*", "22**", "2***"]),
    "zip": (["4711", "4750", "8010"], ["471*", "47**", "4***"]),
    "atc of all levels": (["A10", "A10B", "A10BA02", "C09"], ["A10BA*", "A10B*", "A10*", "A*"]),
    "icd of Germany": (["E11.90", "E11.-", "I10.90", "C50.9+"], ["E11*", "E*"]),
    "icd 9": (["250.00", "V58.61", "401.9"], ["250*"]),
    "isco of all levels": (["2211", "22", "512"], ["221*", "22*", "2*"]),
    "isced field": (["0912", "0913", "0611"], ["091*", "09**"]),
    "month": (["2019-03", "2020-11", "2019-12"], ["2019***", "201****"]),
    "network": (["10.0.3.0/24", "192.168.1.0/24", "10.0.0.0/16"], ["10.0.3.*", "10.0.*", "10.*"]),
    "region of a country": (["DE-BY", "DE-NW", "US-CA"], ["DE***"]),
    "india": (["110 001", "400 001", "110 020"], ["110****", "11*****", "1******"]),
    "luxembourg": (["L-1234", "L-1250", "L-4010"], ["L-123*", "L-12**", "L-1***"]),
    "postcode without a blank": (["SW1A1AA", "EC1A1BB", "M11AE"], ["SW1A*", "SW*"]),
    "outward": (["SW1A", "EC1A", "M1"], ["SW1A*", "SW*"]),
}


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_codes_get_the_levels_of_their_system(name: str) -> None:
    codes, levels = SYSTEMS[name]
    column = pl.Series(name, codes)
    rule = draft_rule(column)
    assert rule is not None
    assert hierarchy_from_policy(rule.to_policy()) == rule
    tree = draft_hierarchy(column)
    (path,) = [
        path for path in tree.paths if path[0] == max(codes, key=lambda code: (code[:3] == codes[0][:3], len(code)))
    ]
    assert list(path[1:-1]) == levels
    # A label is one node: it stands for the same codes wherever it is seen.
    covered: dict[str, set[str]] = {}
    for level in range(1, len(tree.levels)):
        for label in {path[level] for path in tree.paths}:
            below = {path[0] for path in tree.paths if path[level] == label}
            assert covered.setdefault(label, below) == below


@pytest.mark.parametrize(
    ("name", "codes", "drafted"),
    [
        ("country", ["DE", "FR", "US"], True),
        ("born", ["DEU", "FRA", "JPN"], True),
        ("state", ["CA", "DE", "IN"], False),
        ("country", ["DE", "FR", "XX"], False),
    ],
)
def test_countries_get_the_regions_of_the_world(name: str, codes: list[str], drafted: bool) -> None:
    rule = draft_rule(pl.Series(name, codes))
    assert (rule is not None) == drafted
    if drafted:
        above = {path[0]: path[1:] for path in draft_hierarchy(pl.Series(name, codes)).paths}
        assert above[codes[1]] == ("Western Europe", "Europe", "*")


def test_every_country_stands_once_with_both_codes() -> None:
    regions = tomllib.loads((resources.files("sfumato.hierarchy") / "regions.toml").read_text(encoding="utf-8"))
    parts_of = {name: parts for name, parts in regions.items() if name not in ("names", "numbers")}
    codes = [code for parts in parts_of.values() for each in parts.values() for code in each.split()]
    assert len(codes) == len(set(codes)) == 2 * 248  # all but Antarctica
    assert {len(code) for code in codes[::2]} == {2}
    assert {len(code) for code in codes[1::2]} == {3}


def test_days_in_other_forms_are_no_codes() -> None:
    days = pl.Series("day", ["06.08.2000", "31.12.1999", "01.02.2003"])
    assert draft_rule(days) is None
    assert [path[1] for path in draft_hierarchy(days).paths] == ["1999", "2000", "2003"]


@pytest.mark.parametrize("wrong", [{"rest": "some"}, {"mark": ""}, {"mark": "ab"}, {"mark": "1"}, {"mark": "*"}])
def test_wrong_ends_of_prefixes_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(HierarchyError, match="prefixes"):
        prefixes(2, 1, **wrong)


MONTHS = tomllib.loads((resources.files("sfumato") / "months.toml").read_text(encoding="utf-8"))["months"]


@pytest.mark.parametrize("language", sorted(MONTHS.keys() - {"roman"}))
def test_months_have_quarters_and_halves_in_every_language(language: str) -> None:
    names = [max(ways.split("|"), key=len) for ways in MONTHS[language].split()]
    quarters = {name: f"Q{place // 3 + 1}" for place, name in enumerate(names)}
    assert {path[0]: path[1] for path in draft_hierarchy(pl.Series("month", names)).paths} == quarters


def test_roman_numbers_are_no_months() -> None:
    assert draft_hierarchy(pl.Series(["I", "II", "III", "IV"])).height == 2


def test_levels_of_education_are_those_of_isced() -> None:
    labels = ["Preschool", "7th-8th", "12th", "HS-grad", "Some-college", "Bachelors", "Doctorate"]
    broad = {path[0]: path[-2] for path in draft_hierarchy(pl.Series(labels)).paths}
    assert [broad[label] for label in labels] == ["low", "low", "low", "medium", "medium", "high", "high"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("country", ["de", "at", "jp"]), ("citizenship", ["276", "040", "392"]), ("geo", ["DEU", "AUT", "JPN"]),
        ("land", ["Germany", "AUSTRIA", "Japan"]), ("x", ["Germany", "Austria", "Japan"]),
    ],
)  # fmt: skip
def test_countries_by_code_number_and_name(name: str, values: list[str]) -> None:
    parts = {path[0]: path[1:3] for path in draft_hierarchy(pl.Series(name, values)).paths}
    west, east = ("Western Europe", "Europe"), ("Eastern Asia", "Asia")
    assert [parts[value] for value in values] == [west, west, east]


def test_a_country_that_nobody_knows_is_elsewhere_where_the_name_says_that_there_are_countries() -> None:
    values = ["Cuba", "Italy", "France", "Spain", "Peru", "Chile", "Japan", "China", "India", "Atlantis"]
    assert draft_hierarchy(pl.Series("native-country", values)).paths[-1][-2] in ("Elsewhere", "Europe", "Asia")
    assert ("Atlantis", "Elsewhere, or unknown", "Elsewhere", "*") in draft_hierarchy(
        pl.Series("country", values)
    ).paths
    assert draft_hierarchy(pl.Series("x", values)).height == 2


def test_every_code_of_a_country_has_a_number_and_a_name() -> None:
    table = tomllib.loads((resources.files("sfumato.hierarchy") / "regions.toml").read_text(encoding="utf-8"))
    names, numbers = table.pop("names"), table.pop("numbers")["m49"].split()
    codes = {code for parts in table.values() for each in parts.values() for code in each.split() if len(code) == 2}
    assert {*numbers[::2]} == codes == {*names}
    assert len({*numbers[1::2]}) == len(codes)


def test_addresses_of_the_sixth_version() -> None:
    values = ["2001:db8:85a3:0:0:8a2e:370:7334", "2001:db8:85a3::1", "fe80::1"]
    paths = {path[0]: path[1:] for path in draft_hierarchy(pl.Series(values)).paths}
    assert paths["2001:db8:85a3::1"] == ("2001:db8:85a3:*", "2001:db8:*", "2001:*", "*")
    assert draft_hierarchy(pl.Series(["12:30:45", "12:31:45", "13:00:00"])).paths[0][-2] != "12:*"


def test_numbers_of_a_system_that_the_name_speaks_of_are_no_quantities() -> None:
    assert draft_rule(pl.Series("isco08", [2211, 2212, 5120])) == sf.prefixes(3, 2, 1)
    assert draft_rule(pl.Series("income", [2211, 2212, 5120])) != sf.prefixes(3, 2, 1)


def test_levels_of_isced_by_their_numbers() -> None:
    tree = draft_hierarchy(pl.Series("education", [f"ISCED {level}" for level in range(9)]))
    broad = {path[0][-1]: path[2] for path in tree.paths}
    assert broad == {**dict.fromkeys("012", "low"), **dict.fromkeys("34", "medium"), **dict.fromkeys("5678", "high")}


def test_levels_of_isced_without_a_word_and_labels_called_as_their_group() -> None:
    for values in ([*range(9)], [*"012345678"]):
        paths = {str(path[0]): path[2] for path in draft_hierarchy(pl.Series("isced_level", values)).paths}
        assert [paths[level] for level in "028"] == ["low", "low", "high"]
    words = ["primary school", "lower secondary", "upper secondary", "bachelor", "doctorate"]
    paths = {path[0]: path[1] for path in draft_hierarchy(pl.Series("education", words)).paths}
    assert paths["upper secondary"] not in words


def test_german_municipalities_and_diagnoses_with_stars() -> None:
    assert draft_rule(pl.Series("ags", ["01001000", "05315000", "09162000"])) == sf.prefixes(5, 3, 2)
    stars = draft_rule(pl.Series("icd", ["A17.0", "A17.1*", "G01.0*", "H32.*", "I41.-"]))
    assert stars == sf.prefixes(3, 1, rest="one")
    # What is written as the label of a level would be one.
    draft_hierarchy(pl.Series("icd", ["G01*", "G01.1", "A17.0", "A18.1"]))

"""Marks of missing values, sentinels, spellings and far outliers, each beside what is none of them."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.findings.meaning import Values
from sfumato.findings.oddities import (
    below_zero,
    copies,
    days_for_nothing,
    equal_records,
    farthest_decide,
    left_by_programs,
    may_count_seconds,
    missing_marks,
    mistyped,
    names_that_are_values,
    numbers_in_texts,
    of_two_units,
    rows_that_add_up,
    same_words,
    sentinels,
    spelling_variants,
    with_lost_digits,
    written_as_codes,
)
from sfumato.table.columns import folded_label
from sfumato.table.schema import Kind


def ones(count: int) -> np.ndarray:
    return np.ones(count, dtype=np.int64)


def sentinel_values(numbers: list[float]) -> list[float]:
    values = np.array(sorted(set(numbers)), dtype=float)
    return values[sentinels(values, ones(len(values)))].tolist()


@pytest.mark.parametrize("mark", ["NA", "n/a", "?", "unknown", "keine Angabe", "-", "NULL", "ns/nc", "不明"])
def test_usual_marks_are_found_among_words(mark: str) -> None:
    texts = pl.Series(["flu", "angina pectoris", mark])
    found = [one.value for one in missing_marks(texts, ones(3), numeric=False)]
    assert found == [mark]


def test_none_may_be_an_answer_among_words_and_is_none_among_numbers() -> None:
    words = missing_marks(pl.Series(["None", "Several", "Most"]), ones(3), numeric=False)
    assert [(one.value, one.sure) for one in words] == [("None", False)]
    numbers = missing_marks(pl.Series(["None", "1", "2"]), ones(3), numeric=True)
    assert [(one.value, one.sure) for one in numbers] == [("None", True)]


def test_short_codes_beside_short_codes_are_no_marks() -> None:
    assert missing_marks(pl.Series(["x", "y", "z", "w"]), ones(4), numeric=False) == []


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([*range(18, 90), 999], [999]),
        ([*range(0, 30), -8], [-8]),
        ([*range(0, 30), -9, -8], [-9, -8]),
        ([*range(0, 17), 97], [97]),
        ([1000, 1500, 2000, 4000, 99999], [99999]),
        ([0, 1, 2, 3, 4, 5, 6, 7, 99], [99]),
        ([*range(18, 100)], []),
        ([*range(0, 40, 2), 88], [88]),
        ([10, 20, 30, 50, 99], []),
        ([-20, -9, -3, 4, 17], []),
        ([-1, 0, 1], []),
        ([*range(0, 5)], []),
        ([100, 250, 777, 900, 1200], []),
    ],
)
def test_sentinels_are_told_from_values(numbers: list[float], expected: list[float]) -> None:
    assert sentinel_values(numbers) == expected


def test_spellings_of_one_label() -> None:
    texts = ["flu", "Flu", "FLU", "flu ", "f\u200blu", "cold", "hay fever", "hay-fever"]
    found = spelling_variants(texts, np.array([9, 1, 1, 1, 1, 5, 4, 2]))
    assert found is not None
    assert (found.labels, len(found.groups), found.records) == (7, 2, 6)


@pytest.mark.parametrize("texts", [["-1.5", "1.5"], ["A1", "A.1x"], ["1.5", "15"], ["no", "nope"], ["2-3", "23"]])
def test_what_differs_is_no_spelling(texts: list[str]) -> None:
    assert spelling_variants(texts, ones(len(texts))) is None


@given(st.text(max_size=12))
def test_folding_a_folded_label_changes_nothing(text: str) -> None:
    assert folded_label(folded_label(text)) == folded_label(text)


def test_one_far_value_decides_a_range_and_a_long_tail_does_not() -> None:
    ages = np.append(np.arange(20.0, 90.0), 999.0)
    counts = np.append(np.full(70, 10), 1)
    found = farthest_decide(ages, counts)
    assert found is not None
    assert found[0] == 1
    assert found[1] == pytest.approx(979 / 69)
    assert farthest_decide(ages[:-1], counts[:-1]) is None
    assert farthest_decide(np.array([1.0, 2.0]), np.array([500, 500])) is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["yes", "no", "Y", "N"], 2),
        (["ja", "nein", "J"], 1),
        (["1", "0", "Yes", "no"], 2),
        (["female", "male", "m"], 1),
        (["weiblich", "männlich", "w", "m", "divers"], 2),
        (["yes", "no"], 0),
        (["Yes", "yes", "no"], 0),
        (["f", "g", "y", "s"], 0),
        (["low", "no", "n/a"], 0),
        (["north", "south", "yes", "no", "y", "n", "maybe"], 0),
    ],
)
def test_labels_that_say_the_same_in_other_words(labels: list[str], expected: int) -> None:
    assert same_words(labels) == expected


@pytest.mark.parametrize(
    ("texts", "counts", "expected"),
    [
        (["cardiology", "cardiolgy", "surgery"], [40, 2, 30], 2),
        (["cardiology", "cardiolgy", "surgery"], [40, 30, 30], 0),
        (["Zurich", "Zürich", "Basel"], [50, 1, 9], 1),
        (["ward 1", "ward 2", "ward 3"], [50, 1, 9], 0),
        (["flu", "fly", "gout"], [50, 1, 9], 0),
        (["asthma", "Asthma", "gout"], [50, 1, 9], 0),
    ],
)
def test_a_rare_label_beside_a_frequent_one(texts: list[str], counts: list[int], expected: int) -> None:
    assert mistyped(texts, np.array(counts)) == expected


def heights(unit: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(7)
    cells = np.round(drawn.normal(171, 8, 400))
    other = drawn.random(400) < share
    cells[other] = np.round(cells[other] / unit)
    return np.unique(cells, return_counts=True)


def test_two_units_are_seen_by_their_gap_and_their_factor() -> None:
    found = of_two_units(*heights(2.54, 0.2))
    assert found is not None
    assert sum(found) == 400
    assert found[0] < found[1]
    assert of_two_units(*heights(2.54, 0.0)) is None
    # Children are smaller, and no unit of anything.
    assert of_two_units(*heights(1.45, 0.3)) is None
    assert of_two_units(*np.unique(np.random.default_rng(1).lognormal(5, 2, 300), return_counts=True)) is None


def test_temperatures_of_two_scales() -> None:
    cells = np.round(np.random.default_rng(3).normal(37.1, 0.5, 200), 1)
    cells[::4] = np.round(cells[::4] * 1.8 + 32, 1)
    assert of_two_units(*np.unique(cells, return_counts=True)) == (150, 50)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("R&amp;D", "markup"),
        ("<b>x</b>", "markup"),
        ("K\ufffdln", "lost-letters"),
        ("MÃ¼nchen", "lost-letters"),
        ('="01067"', "formulas"),
        ("'01067", "formulas"),
        ("4.1E+12", "exponents"),
        ("４２", "other-digits"),
        ('Nord"haus', "quotes"),
        ("a\x00b", "controls"),
        ("10-Oct", "damaged-ranges"),
    ],
)
def test_what_programs_left_is_found_and_plain_texts_have_none(text: str, name: str) -> None:
    plain = (
        ["20-29", "30-39", "40-49"] if name == "damaged-ranges" else ["Ärger & Co", "a < b", "1e", "O'Hara", "5 = 5"]
    )
    assert left_by_programs(pl.Series(plain), ones(len(plain))) == ()
    assert left_by_programs(pl.Series([*plain, text]), np.array([1] * len(plain) + [3])) == ((name, 3),)


def test_days_that_stand_for_nothing_lie_far_from_all_others() -> None:
    days = [date(2015, 1, 1) + timedelta(3 * step) for step in range(100)]
    assert days_for_nothing(pl.Series([*days, date(9999, 12, 31)]), ones(101)) == 1
    assert days_for_nothing(pl.Series([date(1900, 1, 1), *days]), ones(101)) == 1
    assert days_for_nothing(pl.Series(days), ones(100)) == 0
    near = [date(1969, 6, 1) + timedelta(3 * step) for step in range(100)]
    assert days_for_nothing(pl.Series([*near, date(1970, 1, 1)]).sort(), ones(101)) == 0


def test_negative_ages_lost_digits_and_seconds() -> None:
    assert below_zero("age", np.array([-12.0, *range(60)]), ones(61)) == 1
    assert below_zero("balance", np.array([-12.0, *range(60)]), ones(61)) == 0
    assert below_zero("age", np.arange(-30.0, 30.0), ones(60)) == 0
    long = pl.Series([1_234_567_890_123_000 + 1000 * step for step in range(20)])
    assert with_lost_digits(long, ones(20)) == 20
    assert with_lost_digits(long + 7, ones(20)) == 0
    for unit, parts in (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9)):
        assert may_count_seconds(parts * np.arange(1_600_000_000.5, 1_600_900_000, 3600)) == unit
    assert not may_count_seconds(np.arange(20_000.0, 90_000, 350))


def test_names_that_are_values_show_a_missing_header() -> None:
    words, numbers = pl.Series(["north", "south"]), pl.Series([1, 2, 3])
    assert names_that_are_values([("north", words), ("2", numbers)]) == 2
    assert names_that_are_values([("region", words), ("2019", numbers), ("2020", numbers)]) == 0
    assert names_that_are_values([("12", numbers), ("7", numbers)]) == 2


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
def test_copies_are_columns_that_map_one_to_one(rows: list[tuple[int, int, int]]) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").with_columns(d=10 - pl.col("a"))
    values = []
    for name in frame.columns:
        counted = frame[name].value_counts().sort(name)
        values.append(Values(name, counted[name], counted["count"].cast(pl.Int64).to_numpy(), Kind.NUMERIC, len(rows)))
    found = {frozenset(names) for names in copies(values, frame.get_column)}
    enough = [name for name in frame.columns if 5 <= frame[name].n_unique() < len(rows)]
    same = {
        frozenset((one, other)) for one in enough for other in enough if one < other
        and frame.select(one, other).n_unique() == frame[one].n_unique() == frame[other].n_unique()
    }  # fmt: skip
    assert {frozenset(pair) for names in found for pair in combinations(names, 2)} == same


def test_records_twice_are_counted_where_chance_makes_none() -> None:
    drawn = np.random.default_rng(5)
    frame = pl.DataFrame({name: drawn.integers(0, 1000, 200) for name in "abc"})
    twice = pl.concat([frame, frame.head(7)])

    def values_of(table: pl.DataFrame) -> list[Values]:
        counts = [table[name].value_counts().sort(name) for name in table.columns]
        return [
            Values(
                each.columns[0], each.to_series(0), each["count"].cast(pl.Int64).to_numpy(), Kind.NUMERIC, len(table)
            )
            for each in counts
        ]

    assert equal_records(twice.iter_columns(), values_of(twice), 207) == 7
    assert equal_records(frame.iter_columns(), values_of(frame), 200) == 0
    few = pl.DataFrame({name: drawn.integers(0, 3, 200) for name in "abc"})
    assert equal_records(few.iter_columns(), values_of(few), 200) == 0


TWENTY = range(1, 21)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("{0} ml/min/1.73m²", "measures"), ("~{0}", "measures"), ("{0} a", "measures"), ("{0}° 7′ N", "measures"),
        ("week {0} of 2024", "periods"), ("KW {0}/2024", "periods"), ("S{0} 2024", "periods"), ("3Q{0:02}", "periods"),
        ("FY19{0:02}", "periods"), ("FY{0:02}/{0:02}", "periods"), ("Mon {0}:30", "periods"),
        ("{0:04} AB", None), ("2024-W{0:02}", None), ("A{0}", None), ("Ward {0}", None), ("{0}-{0}", None),
    ],
)  # fmt: skip
def test_texts_with_a_number_in_each_are_told_of_and_labels_are_not(form: str, name: str | None) -> None:
    texts = pl.Series([form.format(number) for number in TWENTY])
    assert numbers_in_texts(texts, ones(20)) == (() if name is None else ((name, 20),))


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["3.9", "3.10", "3.11", "2.7", "12.1"], "parts"),
        ([f"{number % 4}.{number:02}" for number in range(1, 31)], "parts"),
        ([f"2024{month:02}" for month in range(1, 13)], "periods"),
        (["0.982", "9.80", "12.5", "1.25", "3.75"], None),
        ([f"{number % 4}.{number * 3:02}" for number in range(4, 34)], None),
        ([f"0.{number:02}" for number in range(1, 31)], None),
        (["3.9", "3.1", "3.11", "2.7", "12.1"], None),
    ],
)
def test_numbers_written_as_rooms_and_versions_are_told_of(texts: list[str], name: str | None) -> None:
    found = written_as_codes(pl.Series(texts), ones(len(texts)))
    assert found == (() if name is None else ((name, len(texts)),))


@pytest.mark.parametrize(
    ("rows", "likely", "expected"),
    [
        ([[1, 10], [2, 20], [3, 30]], [2], 1),
        ([[1, 10], [2, 20], [3, 30], [4, 1], [5, 1], [9, 2], [12, 32]], [2, 5, 6], 3),
        ([[1, 10], [2, 20], [3, 31]], [2], 0),
        ([[1, 10], [1, 10]], [1], 0),
        ([[0, 0], [0, 0], [0, 0]], [2], 0),
        ([[1, np.nan], [2, 5], [3, np.nan]], [2], 0),
        ([[1, np.nan], [2, 5], [4, 5], [7, np.nan]], [3], 1),
    ],
)
def test_rows_that_add_up_those_above(rows: list[list[float]], likely: list[int], expected: int) -> None:
    assert rows_that_add_up([np.array(column, dtype=float) for column in zip(*rows, strict=True)], likely) == expected


GENES = ["TP53", "BRCA1", "EGFR", "KRAS", "MYC", "PTEN", "RB1", "CDK4", "APC"]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([*GENES, "2-Sep"], 1),
        ([*GENES, "1-Mar", "2021-03-01 00:00:00"], 2),
        ([*GENES, "KRT-18"], 0),
        (["2-Sep", "3-Sep", "4-Sep", "5-Oct", "TP53", "1-Jan", "2-Feb", "7-Mar", "8-Apr", "9-May"], 0),
        (["2-Sep", *map(str, range(20))], 0),
    ],
)
def test_days_among_names_are_what_a_spreadsheet_made(texts: list[str], found: int) -> None:
    left = dict(left_by_programs(pl.Series(texts), ones(len(texts))))
    assert left.get("damaged-ranges", 0) == found


def test_letters_of_two_scripts_in_one_word() -> None:
    left = dict(left_by_programs(pl.Series(["астма", "aстма", "asthma", "5 мг"]), ones(4)))
    assert left == {"mixed-letters": 1}


def test_digits_that_no_clock_denies_are_told_of() -> None:
    times = pl.Series([f"{hour:02}{minute:02}" for hour in range(24) for minute in (0, 15, 30, 45)])
    assert numbers_in_texts(times, ones(96)) == (("periods", 96),)
    assert written_as_codes(times.cast(pl.Int64).cast(pl.String), ones(96)) == (("periods", 96),)
    ages = pl.Series([str(age) for age in range(59)])
    assert written_as_codes(ages, ones(59)) == ()
    assert numbers_in_texts(pl.Series([f"{code:04}" for code in range(0, 2400, 7)]), ones(343)) == ()

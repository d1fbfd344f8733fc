"""Marks of missing values, sentinels, spellings and far outliers, each beside what is none of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.findings.review import farthest_decide, folded_label, missing_marks, sentinels, spelling_variants


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

"""The slicing twin against the worked example of the sheet: the table of eight records of the slicing paper."""

from __future__ import annotations

from fractions import Fraction

import pytest

from naive.slicing import (
    candidates,
    disclosed,
    distribution,
    fakes,
    fractions,
    is_diverse,
    match,
    matches,
    matching_buckets,
    phi_squared,
)

EIGHT = [
    (22, "M", 47906, "dyspepsia"),
    (22, "F", 47906, "flu"),
    (33, "F", 47905, "flu"),
    (52, "F", 47905, "bronchitis"),
    (54, "M", 47302, "flu"),
    (60, "M", 47302, "dyspepsia"),
    (60, "M", 47304, "dyspepsia"),
    (64, "F", 47304, "gastritis"),
]
BUCKETS = [EIGHT[:4], EIGHT[4:]]
PLAIN = [(0, 1), (2, 3)]
BUCKETIZED = [(0, 1, 2), (3,)]
DISEASE = 3


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(0, 1, "3/4"), (0, 2, "5/6"), (0, 3, "8/9"), (1, 2, "1/2"), (1, 3, "2/3"), (2, 3, "1/3")],
)
def test_correlations_of_the_eight_records(first: int, second: int, expected: str) -> None:
    by_attribute = list(zip(*EIGHT, strict=True))
    assert phi_squared(by_attribute[first], by_attribute[second]) == Fraction(expected)


def test_a_constant_attribute_is_correlated_with_nothing() -> None:
    assert phi_squared("aaaa", "abab") == 0


def test_the_first_record_matches_its_own_bucket_only() -> None:
    assert match(EIGHT[0], BUCKETS[0], PLAIN, DISEASE) == Fraction(1, 8)
    assert matches(EIGHT[0], BUCKETS, PLAIN, DISEASE) == [1, 0]
    assert matching_buckets(EIGHT[0], BUCKETS, PLAIN, DISEASE) == [0]
    assert disclosed(EIGHT[0], BUCKETS, PLAIN, DISEASE) == {
        "dyspepsia": Fraction(1, 2),
        "flu": Fraction(1, 2),
        "bronchitis": 0,
    }


def test_the_sixth_record() -> None:
    assert fractions(EIGHT[5], BUCKETS[1], PLAIN, DISEASE) == [Fraction(1, 2), Fraction(1, 2)]


def test_the_slices_are_two_diverse_and_no_more() -> None:
    assert all(max(disclosed(person, BUCKETS, PLAIN, DISEASE).values()) == Fraction(1, 2) for person in EIGHT)
    assert is_diverse(BUCKETS, PLAIN, DISEASE, 2)
    assert not is_diverse(BUCKETS, PLAIN, DISEASE, 3)


def test_bucketization_as_slicing() -> None:
    assert distribution(EIGHT[0], BUCKETS[0], BUCKETIZED, DISEASE) == {
        "dyspepsia": Fraction(1, 4),
        "flu": Fraction(1, 2),
        "bronchitis": Fraction(1, 4),
    }
    assert is_diverse(BUCKETS, BUCKETIZED, DISEASE, 2)
    assert not is_diverse(BUCKETS, BUCKETIZED, DISEASE, 3)


def test_candidates_and_fakes() -> None:
    assert [len(candidates([bucket], PLAIN)) for bucket in BUCKETS] == [16, 12]
    assert len(candidates(BUCKETS, PLAIN)) == 28
    assert len(fakes(BUCKETS, PLAIN)) == 20


def test_a_shared_attribute_counts_once() -> None:
    """Age, sex and disease, and age and zip: of the two records of age 22 both live in 47906."""
    columns = [(0, 1, 3), (0, 2)]
    assert fractions(EIGHT[0], BUCKETS[0], columns, DISEASE) == [Fraction(1, 4), 1]
    assert candidates(BUCKETS, columns) < candidates(BUCKETS, [(0, 1, 3), (2,)])


def test_a_sensitive_attribute_in_two_columns_is_joined() -> None:
    """A man of 22 has dyspepsia in the first column; of the two of zip 47906 the other has flu: only one joins."""
    columns = [(0, 1, 3), (2, 3)]
    assert distribution(EIGHT[0], BUCKETS[0], columns, DISEASE) == {"dyspepsia": 1, "flu": 0, "bronchitis": 0}
    assert distribution(EIGHT[5], BUCKETS[1], [(1, 3), (2, 3)], DISEASE) == {
        "flu": Fraction(1, 2),
        "dyspepsia": Fraction(1, 2),
        "gastritis": 0,
    }

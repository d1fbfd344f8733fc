"""Ranges of numbers as one distribution, held against plain sums over single numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import descriptives as naive
from sfumato.evaluation.utility.spreads import MOST_WHOLE_NUMBERS, NumberSpread, Pieces, number_spread

RANGES = st.lists(st.tuples(st.integers(-6, 12), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=8).filter(
    lambda ranges: any(records for _, _, records in ranges)
)


def spread_of(ranges, *, whole):
    low, width, records = (np.array(each, dtype=np.float64) for each in zip(*ranges, strict=True))
    return number_spread(Pieces(low, low + width, records), whole=whole)


def whole_numbers(ranges):
    return [
        (Fraction(low + step), Fraction(records, width + 1))
        for low, width, records in ranges
        for step in range(width + 1)
        if records
    ]


def even_steps(ranges, steps):
    """Cut every range into steps, each of which is its middle."""
    found = []
    for low, width, records in ranges:
        count = steps if width else 1
        found += [
            (low + Fraction(width * (2 * step + 1), 2 * count), Fraction(records, count))
            for step in range(count)
            if records
        ]
    return found


def shares_hold(spread: NumberSpread, masses, close):
    for share in (Fraction(1, 5), Fraction(2, 3), Fraction(9, 10)):
        assert spread.share_of_lowest([float(share)]) == [close(naive.lowest(masses, share))]
    assert spread.gini == close(naive.gini(masses))
    assert sum(spread.fifths) == pytest.approx(1)
    assert list(spread.fifths) == pytest.approx(sorted(spread.fifths))


@examples(60)
@given(RANGES)
def test_whole_numbers_are_counted_one_by_one(ranges):
    spread, masses = spread_of(ranges, whole=True), whole_numbers(ranges)

    def close(value):
        return pytest.approx(float(value), rel=1e-9, abs=1e-9)

    assert (spread.records, spread.total) == (close(naive.people(masses)), close(naive.total(masses)))
    assert list(spread.central_moments) == [close(naive.central_moment(masses, order)) for order in (2, 3, 4)]
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(2, 7)):
        assert spread.quantiles([float(share)]) == [close(naive.quantile(masses, share))]
    if min(masses)[0] >= 0 and max(masses)[0] > 0:
        shares_hold(spread, masses, close)
    else:
        assert spread.gini is None
        assert spread.fifths is None
    positive = min(masses)[0] > 0
    assert spread.geometric_mean == (close(naive.geometric_mean(masses)) if positive else None)


@examples(25)
@given(RANGES)
def test_other_numbers_fill_their_ranges_evenly(ranges):
    spread, masses = spread_of(ranges, whole=False), even_steps(ranges, 40)

    def close(value):
        return pytest.approx(float(value), rel=2e-3, abs=2e-2)

    assert (spread.records, spread.total) == (close(naive.people(masses)), close(naive.total(masses)))
    assert list(spread.central_moments[:2]) == [close(naive.central_moment(masses, order)) for order in (2, 3)]
    assert np.all(spread.pieces.high[:-1] <= spread.pieces.low[1:])
    if spread.ends[0] > 0:
        assert spread.geometric_mean == close(naive.geometric_mean(masses))
    if min(masses)[0] >= 0 and max(masses)[0] > 0:
        shares_hold(spread, masses, close)


def test_worked_by_hand():
    spread = number_spread(Pieces(np.array([0.0, 2.0]), np.array([4.0, 2.0]), np.array([2.0, 1.0])), whole=False)
    # Two records are anywhere between 0 and 4, one is 2.
    assert spread.pieces.low.tolist() == [0, 2, 2]
    assert spread.pieces.high.tolist() == [2, 2, 4]
    assert spread.pieces.records.tolist() == [1, 1, 1]
    assert (spread.mean, spread.ends) == (2, (0, 4))
    assert spread.quantiles([1 / 6, 0.5, 5 / 6]) == pytest.approx([1, 2, 3])
    assert spread.central_moments[0] == pytest.approx(2 / 3 * 16 / 12)
    four = number_spread(Pieces(*(np.array(each, dtype=float) for each in ([1, 2, 3, 4],) * 2), np.ones(4)), whole=True)
    assert four.gini == pytest.approx(0.25)
    assert four.geometric_mean == pytest.approx(24 ** (1 / 4))
    # Between 1 and e the mean logarithm is 1 / (e - 1); the series and the closed form agree where they meet.
    wide = number_spread(Pieces(np.array([1.0]), np.array([np.e]), np.ones(1)), whole=False)
    assert wide.geometric_mean == pytest.approx(np.exp(1 / (np.e - 1)))
    for length in (0.0019, 0.0021):
        near = number_spread(Pieces(np.array([1.0]), np.array([1 + length]), np.ones(1)), whole=False)
        assert near.geometric_mean == pytest.approx(1 + length / 2 - length**2 / 24, abs=1e-8)
    assert four.fifths == pytest.approx((0.08, 0.14, 0.2, 0.26, 0.32))
    assert four.quantiles([0.25, 0.5, 0.75]) == [1.5, 2.5, 3.5]


def test_a_quantile_does_not_hang_on_the_rounding_of_sums():
    """Ten tenths are not one in floats; the median is between the fifth and the sixth number all the same."""
    for weight in (1.0, 0.1, 1 / 3, 7e5):
        numbers = np.arange(10.0)
        assert number_spread(Pieces(numbers, numbers, np.full(10, weight)), whole=True).quantiles([0.5]) == [4.5]


def test_a_wide_range_of_whole_numbers_is_filled_evenly():
    wide = float(4 * MOST_WHOLE_NUMBERS)
    spread = number_spread(Pieces(np.array([0.0]), np.array([wide]), np.array([3.0])), whole=True)
    assert len(spread.pieces.low) == 1
    assert spread.quantiles([0.25]) == pytest.approx([wide / 4])


def test_nobody_has_a_number():
    nothing = number_spread(Pieces(np.array([1.0]), np.array([2.0]), np.array([0.0])), whole=True)
    assert nothing.records == 0
    assert nothing.gini is None

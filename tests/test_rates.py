from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.rates import Rate


def test_wilson_interval_of_a_published_example() -> None:
    # Newcombe 1998, table I: 81 of 263 and 0 of 20, score method without continuity correction.
    assert Rate(81, 263, 0.0).interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert Rate(0, 20, 0.0).interval == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert Rate(1, 29, 0.0).interval == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_nobody_was_tried() -> None:
    assert Rate(0, 0, 0.0).share == 0.0
    assert Rate(0, 0, 0.0).interval == (0.0, 1.0)


@examples(50)
@given(st.integers(1, 10_000).flatmap(lambda people: st.tuples(st.floats(0, people), st.just(people))))
def test_the_interval_holds_the_share_and_stays_inside(counts: tuple[float, int]) -> None:
    rate = Rate(*counts, 0.0)
    low, high = rate.interval
    assert 0.0 <= low <= rate.share + 1e-12
    assert rate.share - 1e-12 <= high <= 1.0
    assert low < high


def test_more_people_make_it_narrower() -> None:
    widths = [high - low for low, high in (Rate(people / 4, people, 0.0).interval for people in (40, 400, 4000))]
    assert widths == sorted(widths, reverse=True)


def test_texts_and_plain_values() -> None:
    rate = Rate(7, 10, 0.25)
    assert str(rate) == "7 of 10, 70.0 % (39.7 to 89.2 %, by guessing 25 %)"
    assert rate.to_dict() == {
        "successes": 7,
        "people": 10,
        "share": 0.7,
        "low": pytest.approx(0.3968, abs=5e-5),
        "high": pytest.approx(0.8922, abs=5e-5),
        "baseline": 0.25,
    }


def test_ends_of_all_and_of_none_are_exact() -> None:
    for people in range(1, 600):
        assert Rate(0, people, 0.0).interval[0] == 0
        assert Rate(people, people, 0.0).interval[1] == 1

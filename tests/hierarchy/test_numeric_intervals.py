"""Intervals of numbers: labels, borders, nesting, order, and bad input."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.errors import HierarchyError
from sfumato.hierarchy import Intervals, hierarchy_from_policy, intervals

DECIMALS = st.integers(-10_000, 10_000).map(lambda cents: cents / 100)
LABEL = re.compile(r"(?:\[(-?[0-9.]+?)\.\.(-?[0-9.]+?)\)|<(-?[0-9.]+)|>=(-?[0-9.]+))")


def bounds(label: str) -> tuple[Fraction | None, Fraction | None]:
    found = LABEL.fullmatch(label)
    assert found is not None, label
    low, high, under, over = (None if text is None else Fraction(text) for text in found.groups())
    return (low if over is None else over, high if under is None else under)


def assert_inside(text: str, label: str) -> None:
    low, high = bounds(label)
    assert low is None or low <= Fraction(text)
    assert high is None or Fraction(text) < high


def test_equal_widths_of_whole_numbers() -> None:
    tree = intervals(10).build(pl.Series([39, 20, 19, 30, -1]), name="age")
    assert tree.paths == [
        ("-1", "[-10..0)", "*"),
        ("19", "[10..20)", "*"),
        ("20", "[20..30)", "*"),
        ("30", "[30..40)", "*"),
        ("39", "[30..40)", "*"),
    ]


def test_nested_widths_from_another_start() -> None:
    tree = intervals(5, 10, 20, start=1).build(pl.Series([1, 5, 6, 20, 21]), name="age")
    assert tree.levels[1].labels == ("[1..6)", "[6..11)", "[16..21)", "[21..26)")
    assert tree.levels[3].labels == ("[1..21)", "[21..41)")


def test_given_borders_put_a_value_on_a_border_to_the_right() -> None:
    tree = intervals([18, 30, 45, 65], [18, 65]).build(pl.Series([18, 29, 30, 45, 64]), name="age")
    assert [path[1] for path in tree.paths] == ["[18..30)", "[18..30)", "[30..45)", "[45..65)", "[45..65)"]
    assert tree.levels[2].labels == ("[18..65)",)


def test_open_ends() -> None:
    tree = intervals([18, 65], [18], open_ends=True).build(pl.Series([3, 18, 64, 65, 99]), name="age")
    assert tree.levels[1].labels == ("<18", "[18..65)", ">=65")
    assert tree.levels[2].labels == ("<18", ">=18")


def test_decimal_borders_are_exact() -> None:
    tree = intervals(0.1, 0.5).build(pl.Series([0.3, 0.29, 0.7, 1.0]), name="dose")
    assert [path[:3] for path in tree.paths] == [
        ("0.29", "[0.2..0.3)", "[0..0.5)"),
        ("0.3", "[0.3..0.4)", "[0..0.5)"),
        ("0.7", "[0.7..0.8)", "[0.5..1)"),
        ("1", "[1..1.1)", "[1..1.5)"),
    ]


def test_extreme_numbers_do_no_harm() -> None:
    tree = intervals(1).build(pl.Series([-1e300, 5e-324, 2.0**62, 1e17]), name="x")
    assert tree.leaves == ("-1e+300", "5e-324", "100000000000000000", "4611686018427387904")
    assert tree.levels[1].labels[1] == "[0..1)"


def test_missing_and_repeated_values_are_no_leaves() -> None:
    tree = intervals(10).build(pl.Series([5, None, 5, 17]), name="age")
    assert tree.leaves == ("5", "17")


@given(
    st.lists(st.one_of(st.integers(-500, 500), DECIMALS), min_size=1), st.sampled_from([(1, 10), (0.25, 0.5, 5), (7,)])
)
@examples(80)
def test_every_value_lies_in_its_interval(numbers: list[float], widths: tuple[float, ...]) -> None:
    tree = intervals(*widths, start=0.05).build(pl.Series(numbers, dtype=pl.Float64), name="x")
    assert len(tree.leaves) == len(set(numbers))
    assert [float(text) for text in tree.leaves] == sorted(set(numbers))
    for text, *labels, root in tree.paths:
        assert root == "*"
        for label, width in zip(labels, widths, strict=True):
            assert_inside(text, label)
            low, high = bounds(label)
            assert low is not None
            assert high is not None
            assert high - low == Fraction(str(width))


@given(st.lists(DECIMALS, min_size=1), st.lists(st.integers(-90, 90), min_size=1, max_size=8, unique=True), st.data())
@examples(80)
def test_every_value_lies_between_its_borders(numbers: list[float], borders: list[int], data: st.DataObject) -> None:
    fine = sorted(borders)
    coarse = [border for border in fine if data.draw(st.booleans())]
    lists = [fine, coarse] if 0 < len(coarse) < len(fine) else [fine]
    tree = intervals(*lists, open_ends=True).build(pl.Series(numbers), name="x")
    for text, *labels, _ in tree.paths:
        for label in labels:
            assert_inside(text, label)
    sizes = [len(level.labels) for level in tree.levels]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("make", "problems"),
    [
        (lambda: intervals(), 1),
        (lambda: intervals(10, 15), 1),
        (lambda: intervals(10, 10), 1),
        (lambda: intervals(-5), 1),
        (lambda: intervals(0), 1),
        (lambda: intervals(float("nan")), 1),
        (lambda: intervals(True), 1),
        (lambda: intervals("10"), 1),  # type: ignore[arg-type]
        (lambda: intervals(None), 1),  # type: ignore[arg-type]
        (lambda: intervals(10, [1, 2]), 1),
        (lambda: intervals([1, 2], start=3), 1),
        (lambda: intervals(10, open_ends=True), 1),
        (lambda: intervals(10, start=float("inf"), open_ends=1), 2),  # type: ignore[arg-type]
        (lambda: intervals([18]), 1),
        (lambda: intervals([]), 1),
        (lambda: intervals([30, 18, 65]), 1),
        (lambda: intervals([18, 30, 65], [18, 40, 65]), 1),
        (lambda: intervals([18, 30, 65], [18, 30]), 1),
        (lambda: intervals([18, 30, 65], [65, 18], [18, 65]), 3),
        (lambda: Intervals(widths=5), 1),  # type: ignore[arg-type]
        (lambda: Intervals(borders=(1, "a")), 1),  # type: ignore[arg-type]
    ],
)
def test_contradictory_descriptions(make: Any, problems: int) -> None:
    with pytest.raises(HierarchyError) as caught:
        make()
    assert len(caught.value.problems) == problems


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pl.Series([7171, 20, 8050, 8100]), "2 value(s) lie below the first border and 1 on or above the last one"),
        (pl.Series(["7171"]), "need a column of numbers"),
        (pl.Series([True]), "need a column of numbers"),
        (pl.Series([float("inf"), 1.0, float("nan")]), "2 value(s) are not finite"),
        (pl.Series([None, None], dtype=pl.Int64), "only missing values"),
    ],
)
def test_columns_that_do_not_fit_are_counted_never_shown(values: pl.Series, said: str) -> None:
    described = intervals([8000, 8100])
    with pytest.raises(HierarchyError) as caught:
        described.build(values, name="income")
    assert said in str(caught.value)
    assert "'income'" in str(caught.value)
    assert not any(text in str(caught.value) for text in ("7171", "8050", "8100"))


def test_descriptions_are_equal_by_value_and_survive_a_policy() -> None:
    assert intervals(10) == intervals(width=10.0)
    assert hash(intervals(10)) == hash(intervals(10.0))
    for described in (
        intervals(0.5, 5, start=2),
        intervals([1, 2.5, 9], [1, 9]),
        intervals([1, 2], [2], open_ends=True),
    ):
        assert hierarchy_from_policy(described.to_policy()) == described
    assert hierarchy_from_policy({"kind": "intervals", "borders": [18, 65]}) == intervals([18, 65])


@pytest.mark.parametrize("key", ["open-ends", "open_ends"])
def test_keys_of_several_words_have_hyphens_and_are_known_with_underscores(key: str) -> None:
    described = intervals([18, 65], open_ends=True)
    assert "open-ends" in described.to_policy()
    assert hierarchy_from_policy({"kind": "intervals", "borders": [18, 65], key: True}) == described

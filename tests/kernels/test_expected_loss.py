"""The least-expected-loss cut against its plain twin, and what every partition must satisfy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive import expected_loss as naive

from examples import examples
from sfumato.kernels.bits import how_many, lowest, single
from sfumato.kernels.expected_loss import WEIGHT, exact_loss, expected_loss, find_items, new_items, spread_table
from sfumato.kernels.mondrian.cuts import LaidRecords, Options
from sfumato.kernels.mondrian.mondrian import partition_range
from sfumato.kernels.predicates import DISTINCT, K_ANONYMITY, RuleArrays
from sfumato.kernels.types import NUMERIC, SET, TREE, Space

EMPTY = np.zeros(0, np.int64)
NO_RULES = RuleArrays(
    EMPTY, EMPTY, np.zeros(0), np.zeros(0), np.zeros(1, np.int64), EMPTY, 0, np.zeros(1, np.int64), EMPTY, np.zeros(0),
    0,
)  # fmt: skip
UNLIMITED = 2**62
PATHS = (("a", "x", "1"), ("a", "x", "2"), ("a", "y", "3"), ("b", "z", "4"), None)
TREE_OF_FOUR = naive.Tree(PATHS)
AXIS_OF_FOUR = naive.Axis((0.0, 1.0, 5.0, 10.0, 20.0), 10.0)  # the last code is the missing value


def tree_nodes(tree: naive.Tree) -> list[tuple[int, int, int, float]]:
    """Nodes below the root as (first code, last + 1, parent, drop), parents first; chains are one node."""
    leaves = [path for path in tree.paths if path is not None]
    nodes: list[tuple[int, int, int, float]] = []
    above = dict.fromkeys(range(len(leaves)), -1)
    for depth in range(1, len(leaves[0]) + 1):
        for prefix in dict.fromkeys(path[:depth] for path in leaves):
            codes = [code for code, path in enumerate(leaves) if path[:depth] == prefix]
            parent = above[codes[0]]
            low, high = (0, len(leaves)) if parent < 0 else nodes[parent][:2]
            if high - low == len(codes):
                continue
            loss = len(codes) / len(leaves) if len(codes) > 1 else 0.0
            above.update(dict.fromkeys(codes, len(nodes)))
            nodes.append((codes[0], codes[-1] + 1, parent, (high - low) / len(leaves) - loss))
    return nodes


def space_of(attributes: list[naive.Attribute]) -> Space:
    kinds, positions, scales, sizes, trees = [], [], [], [], []
    for attribute in attributes:
        trees.append(tree_nodes(attribute) if isinstance(attribute, naive.Tree) else [])
        if isinstance(attribute, naive.Axis):
            kinds.append(NUMERIC)
            positions.append(np.array(attribute.places))
            scales.append(attribute.width)
            sizes.append(1.0)
        else:
            size = attribute.size if isinstance(attribute, naive.ValueSet) else len(attribute.paths)
            kinds.append(SET if isinstance(attribute, naive.ValueSet) else TREE)
            positions.append(np.arange(size, dtype=np.float64))
            scales.append(size - 1.0)
            sizes.append(float(size))
    starts = np.cumsum([0, *(len(tree) for tree in trees)])
    nodes = np.array(
        [
            (a, b, p if p < 0 else p + start, d)
            for tree, start in zip(trees, starts, strict=False)
            for a, b, p, d in tree
        ]
    ).reshape(-1, 4)
    return Space(
        np.cumsum([0, *(len(axis) for axis in positions)]).astype(np.int64), np.array(kinds, np.int64),
        np.concatenate(positions), np.array(scales, np.float64), np.array(sizes),
        np.array([attribute.weight for attribute in attributes]), starts.astype(np.int64), nodes[:, 0].astype(np.int64),
        nodes[:, 1].astype(np.int64), nodes[:, 2].astype(np.int64), nodes[:, 3].copy(),
    )  # fmt: skip


def packed(records: Any, dtype: Any = np.uint8) -> tuple[Any, Any]:
    table = np.asarray(records)
    per_word = 8 // np.dtype(dtype).itemsize
    words = np.zeros((len(table), -(-table.shape[1] // per_word)), np.uint64)
    codes = words.view(dtype)
    codes[:, : table.shape[1]] = table
    return codes, words


def partition(
    records: Any, attributes: list[naive.Attribute], smallest: int, *, weights: Any = None, everywhere: bool = False,
    most_cuts: int = UNLIMITED, rules: RuleArrays = NO_RULES, dtype: Any = np.uint8,
) -> Any:  # fmt: skip
    """Class of every record; codes of sensitive attributes stand behind the quasi-identifying ones."""
    codes, words = packed(records, dtype)
    rows = np.arange(len(codes), dtype=np.int32)
    weight = np.ones(len(codes), np.int32) if weights is None else np.array(weights, np.int32)
    starts = np.zeros(len(codes), np.bool_)
    options = Options(smallest, len(rules.codes) > 0, False, True, True, everywhere, False, False)
    region = np.zeros((len(attributes), 2))
    space = space_of(attributes)
    partition_range(
        LaidRecords(codes, words, weight, rows), 0, len(codes), region, most_cuts, space, rules, options, starts
    )
    classes = np.empty(len(codes), np.int64)
    classes[rows] = np.cumsum(starts) - 1
    return classes


def diversity(values: int, smallest: int, least: int, total: int) -> RuleArrays:
    """k-anonymity and distinct l-diversity over one sensitive attribute."""
    return RuleArrays(
        np.array([K_ANONYMITY, DISTINCT]), np.array([-1, 0]), np.array([float(smallest), float(least)]), np.zeros(2),
        np.array([0, values]), np.ones(values, np.int64), total, np.zeros(2, np.int64), EMPTY, np.zeros(0), values,
    )  # fmt: skip


# --- tables --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Small:
    records: list[list[int]]
    weights: list[int]
    attributes: list[naive.Attribute]
    smallest: int


@st.composite
def tables(draw: Any, most_records: int = 9, most_smallest: int = 3) -> Small:
    kinds = [AXIS_OF_FOUR, naive.ValueSet(5, 2.0), naive.ValueSet(3), TREE_OF_FOUR, naive.Axis((3.0,), 0.0)]
    attributes = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    ranges = [st.integers(0, number_of_codes(attribute) - 1) for attribute in attributes]
    records = draw(st.lists(st.tuples(*ranges), min_size=1, max_size=most_records, unique=True))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(records), max_size=len(records)))
    return Small([list(r) for r in records], weights, attributes, draw(st.integers(1, most_smallest)))


def number_of_codes(attribute: naive.Attribute) -> int:
    if isinstance(attribute, naive.Axis):
        return len(attribute.places)
    return attribute.size if isinstance(attribute, naive.ValueSet) else len(attribute.paths)


def assert_valid(classes: Any, records: Any, weights: Any, smallest: int) -> None:
    sizes = np.bincount(classes, weights=weights)
    assert sizes.min() >= min(smallest, sum(weights))
    vectors = {}
    for record, label in zip(np.asarray(records).tolist(), classes, strict=True):
        assert vectors.setdefault(tuple(record), label) == label


# --- formulas ------------------------------------------------------------------------------------------------------


class Looked:
    """One attribute's codes, seen through items, and the two formulas on them."""

    def __init__(self, codes: list[int], weights: list[int], attribute: naive.Attribute) -> None:
        self.space = space_of([attribute])
        self.items, shown, self.finder = new_items(self.space, len(codes))
        table, _ = packed([[code] for code in codes], np.uint16)
        self.active, self.total, self.heaviest = find_items(
            table, np.array(weights, np.int32), 0, len(codes), self.space, self.items, shown, self.finder
        )

    def expected(self, draws: int) -> float:
        kind = self.space.kinds[0]
        return expected_loss(0, kind, WEIGHT, self.total, draws, spread_table(draws), self.items)

    def exact(self) -> float:
        return exact_loss(0, self.space.kinds[0], WEIGHT, self.items)


@examples(60)
@given(
    st.sampled_from([AXIS_OF_FOUR, naive.ValueSet(5, 2.0), TREE_OF_FOUR, naive.Tree(PATHS, 3.0)]),
    st.lists(st.integers(0, 4), min_size=2, max_size=12).filter(lambda codes: len(set(codes)) > 1),
    st.integers(1, 5),
    st.sampled_from([1, 40]),
)
def test_formulas_equal_the_enumeration(attribute: naive.Attribute, codes: list[int], draws: int, weight: int) -> None:
    # 40: totals beyond the tabulated powers.
    looked = Looked(codes, [weight] * len(codes), attribute)
    assert looked.active == 1
    assert looked.heaviest == weight
    assert looked.expected(draws) == pytest.approx(naive.expected_loss(codes, [1] * len(codes), draws, attribute))
    assert looked.exact() == pytest.approx(naive.exact_loss(codes, attribute))


def test_one_value_is_no_active_attribute() -> None:
    assert Looked([2, 2, 2], [1, 1, 1], naive.ValueSet(5)).active == 0


@pytest.mark.parametrize("size", [200, 5000])
def test_many_codes_become_few_items_with_nearly_the_same_loss(size: int) -> None:
    generator = np.random.default_rng(5)
    codes = np.append(generator.integers(0, size, 600), np.full(200, size // 3)).tolist()
    axis = naive.Axis(tuple(float(place) for place in range(size)), size - 1.0)
    looked = Looked(codes, [1] * len(codes), axis)
    draws = 8
    place = np.sort(codes)
    below = np.arange(1, len(codes)) / len(codes)
    expected = float(np.sum(np.diff(place) * (1 - below**draws - (1 - below) ** draws))) / axis.width
    assert looked.expected(draws) == pytest.approx(expected, rel=0.02)
    assert looked.exact() == pytest.approx((place[-1] - place[0]) / axis.width)
    values = Looked(codes, [1] * len(codes), naive.ValueSet(size))
    share = np.bincount(codes) / len(codes)
    distinct = float(np.sum(1 - (1 - share) ** draws - share**draws)) / size
    assert values.expected(draws) == pytest.approx(distinct, rel=0.02)
    assert values.exact() == pytest.approx(len(set(codes)) / size)
    alone = values.items.numbers[WEIGHT].max()
    assert alone == codes.count(size // 3)
    assert not values.finder.tally.any()
    assert not values.finder.marks.any()


@given(st.integers(0, 63), st.integers(0, 63))
def test_sets_in_a_word(first: int, second: int) -> None:
    word = np.uint64(single(first)) | np.uint64(single(second))
    assert lowest(word) == min(first, second)
    assert how_many(word) == len({first, second})


# --- the cut -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("everywhere", [False, True])
@examples(120)
@given(table=tables())
def test_first_cut_is_a_best_candidate_of_the_twin(everywhere: bool, table: Small) -> None:
    allowed = naive.candidates(table.records, table.weights, table.attributes, table.smallest, everywhere)
    if not allowed:  # trees: the twin of the second attempt
        allowed = naive.candidates(table.records, table.weights, table.attributes, table.smallest, True)
    classes = partition(
        table.records, table.attributes, table.smallest, weights=table.weights, everywhere=everywhere, most_cuts=1
    )
    if not allowed:
        assert classes.max() == 0
        return
    halves = [frozenset(np.flatnonzero(classes == label).tolist()) for label in (0, 1)]
    assert any(half in allowed for half in halves)
    settled = (table.records, table.weights, table.attributes, table.smallest)
    best = max(naive.score(cut, *settled) for cut in allowed)
    assert naive.score(halves[0], *settled) == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("everywhere", [False, True])
@examples(60)
@given(table=tables(most_records=30, most_smallest=5))
def test_partition_is_valid_and_weights_equal_duplicates(everywhere: bool, table: Small) -> None:
    classes = partition(table.records, table.attributes, table.smallest, weights=table.weights, everywhere=everywhere)
    assert_valid(classes, table.records, table.weights, table.smallest)
    duplicates = np.repeat(np.array(table.records), table.weights, axis=0)
    repeated = partition(duplicates, table.attributes, table.smallest, everywhere=everywhere)
    assert groups(np.repeat(classes, table.weights)) == groups(repeated)


def groups(classes: Any) -> set[tuple[int, ...]]:
    return {tuple(np.flatnonzero(classes == label).tolist()) for label in np.unique(classes)}


@pytest.mark.parametrize("everywhere", [False, True])
@examples(60)
@given(table=tables(most_records=25), least=st.integers(2, 3), seed=st.integers(0, 9))
def test_rules_hold_in_every_class(everywhere: bool, table: Small, least: int, seed: int) -> None:
    sensitive = np.random.default_rng(seed).integers(0, 4, len(table.records))
    if len(set(sensitive.tolist())) < least or sum(table.weights) < table.smallest:
        return
    rules = diversity(4, table.smallest, least, sum(table.weights))
    records = np.column_stack([table.records, sensitive])
    classes = partition(
        records, table.attributes, table.smallest, weights=table.weights, everywhere=everywhere, rules=rules
    )
    assert_valid(classes, table.records, table.weights, table.smallest)
    for label in np.unique(classes):
        assert len(set(sensitive[classes == label].tolist())) >= least
    # Nothing that could be cut in two by some candidate is left.
    for label in np.unique(classes):
        inside = np.flatnonzero(classes == label)
        rest = [table.records[i] for i in inside]
        weights = [table.weights[i] for i in inside]
        for cut in naive.candidates(rest, weights, table.attributes, table.smallest, True):
            values = [
                {int(sensitive[i]) for place, i in enumerate(inside) if (place in cut) is left} for left in (0, 1)
            ]
            assert min(map(len, values)) < least


def test_missing_numbers_are_cut_off_first() -> None:
    # The missing value (last code) lies one domain width above the highest.
    records = [[code] for code in (0, 1, 2, 3, 0, 1, 2, 3, 4, 4, 4, 4)]
    classes = partition(records, [AXIS_OF_FOUR], 2, everywhere=True, most_cuts=1)
    assert groups(classes) == {(0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11)}


def test_constant_table_is_one_class() -> None:
    classes = partition([[1, 0]] * 50, [naive.ValueSet(3), AXIS_OF_FOUR], 2)
    assert classes.max() == 0


def mixed_table(rows: int, seed: int = 1) -> tuple[Any, list[naive.Attribute]]:
    """Numbers of many values, a large value set, a skewed small one and a tree."""
    generator = np.random.default_rng(seed)
    axis = naive.Axis(tuple(float(place) ** 1.5 for place in range(9000)), 8999.0**1.5)
    leaves = tuple((f"{code // 60}", f"{code // 6}", f"{code}") for code in range(240))
    columns = [
        generator.integers(0, 9000, rows),
        np.minimum(generator.geometric(0.01, rows), 699),
        np.minimum(generator.geometric(0.5, rows), 6) - 1,
        generator.integers(0, 240, rows),
    ]
    return np.column_stack(columns), [axis, naive.ValueSet(700), naive.ValueSet(6), naive.Tree(leaves)]


@pytest.mark.slow
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("smallest", [3, 40])
def test_large_table_with_many_codes(everywhere: bool, smallest: int) -> None:
    records, attributes = mixed_table(5000)
    classes = partition(records, attributes, smallest, everywhere=everywhere, dtype=np.uint16)
    assert_valid(classes, records, [1] * len(records), smallest)
    assert len(records) / (classes.max() + 1) < 1.8 * smallest


def test_rules_on_a_large_table() -> None:
    records, attributes = mixed_table(4000)
    sensitive = np.random.default_rng(2).integers(0, 8, len(records))
    rules = diversity(8, 3, 5, len(records))
    classes = partition(np.column_stack([records, sensitive]), attributes, 3, rules=rules, dtype=np.uint16)
    distinct = [len(set(sensitive[classes == label].tolist())) for label in range(classes.max() + 1)]
    assert min(distinct) >= 5
    assert len(distinct) > 200


def test_values_that_the_sample_misses() -> None:
    # Three rare values among thousands of equal records: only a look at every record finds the cut.
    codes = np.zeros(4096, np.int64)
    codes[[1, 2, 3]] = 1
    classes = partition(codes[:, None], [naive.ValueSet(2)], 3)
    assert groups(classes) == {(1, 2, 3), tuple(np.flatnonzero(codes == 0).tolist())}


def test_sampled_cut_is_checked_on_all_records() -> None:
    # Every fourth record is looked at: there value 1 seems to occur often enough, in truth it occurs twice.
    codes = np.zeros(4096, np.int64)
    codes[[0, 4]] = 1
    assert partition(codes[:, None], [naive.ValueSet(2)], 3).max() == 0


@pytest.mark.parametrize("everywhere", [False, True])
def test_same_input_same_result(everywhere: bool) -> None:
    records, attributes = mixed_table(600)
    first = partition(records, attributes, 5, everywhere=everywhere, dtype=np.uint16)
    again = partition(records, attributes, 5, everywhere=everywhere, dtype=np.uint16)
    assert np.array_equal(first, again)


PLAIN_RUN = """
import json, sys
import numpy as np
from tests.kernels.test_expected_loss import mixed_table, partition
records, attributes = mixed_table(130)
records[:, 0] = records[:, 0] % 80
print(json.dumps([partition(records, attributes, 4, everywhere=e, dtype=np.uint16).tolist() for e in (False, True)]))
"""


def test_plain_python_makes_the_same_partition() -> None:
    outputs = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PLAIN_RUN],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(json.loads(done.stdout))
    assert outputs[0] == outputs[1]
    assert max(outputs[0][0]) > 10


# --- real data -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with the Adult data")
def test_adult_loses_less_than_five_percent() -> None:
    records, attributes = adult()
    nearest = partition(records, attributes, 10)
    everywhere = partition(records, attributes, 10, everywhere=True)
    assert_valid(nearest, records, [1] * len(records), 10)
    assert_valid(everywhere, records, [1] * len(records), 10)
    assert information_loss(nearest, records, attributes) < 0.05
    assert information_loss(everywhere, records, attributes) < 0.045


def adult() -> tuple[Any, list[naive.Attribute]]:
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    frame = pl.read_csv(path, has_header=False, infer_schema=False).with_columns(pl.all().str.strip_chars())
    frame = frame.select(frame.columns[place] for place in (0, 1, 3, 5, 6, 8, 9, 13))
    frame = frame.filter(~pl.any_horizontal(pl.all() == "?")).drop_nulls()
    frame = frame.with_columns(pl.first().cast(pl.Int64))
    values = [np.unique(column.to_numpy(), return_inverse=True) for column in frame]
    ages = tuple(float(age) for age in values[0][0])
    sets: list[naive.Attribute] = [naive.ValueSet(len(distinct)) for distinct, _ in values[1:]]
    return np.column_stack([codes for _, codes in values]), [naive.Axis(ages, ages[-1] - ages[0]), *sets]


def information_loss(classes: Any, records: Any, attributes: list[naive.Attribute]) -> float:
    frame = pl.DataFrame({str(place): records[:, place] for place in range(records.shape[1])})
    grouped = frame.with_columns(label=pl.Series(classes)).group_by("label")
    spans = grouped.agg(pl.len(), *(pl.col(name).unique().alias(f"{name}_codes") for name in frame.columns))
    total = 0.0
    for size, *codes in spans.drop("label").iter_rows():
        total += size * sum(attribute.loss(set(own)) for attribute, own in zip(attributes, codes, strict=True))
    return total / records.size

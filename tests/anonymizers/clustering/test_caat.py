"""CAAT against its plain twin, the example by hand, and its promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering.clustering_tables import PATHS, encoded, many, many_codes, problem, tables
from anonymizers.clustering.distance_kernels import gaps_to_class
from examples import examples
from naive.caat import caat
from naive.mixed import Category, Kind, Number, Tree, kinds_of
from sfumato.anonymizers.clustering.distinct import DistinctRecords, HeightDistance, collapse_records
from sfumato.anonymizers.clustering.greedy import _INTERVALS, CAAT, caat_classes
from sfumato.anonymizers.feasibility import feasible
from sfumato.table.encoding import EncodedTable, encode

RULES = ["widen", "midpoint", "nearest", "mean"]


def kinds(data: Sequence[Any], table: EncodedTable) -> list[Kind]:
    _, place, colour = kinds_of(data, [Number, Tree(list(PATHS.values())), Category])
    number = table.attributes[0]
    return [Number(number.domain_low, number.domain_low + number.domain_width), place, colour]


def contents(class_of: np.ndarray, count: int) -> list[list[int]]:
    return [np.flatnonzero(class_of == place).tolist() for place in range(count)]


def diverse(secrets: Sequence[str], least: int) -> Callable[[list[int]], bool]:
    return lambda members: len({secrets[row] for row in members}) >= least


@pytest.mark.parametrize("interval", RULES)
@pytest.mark.parametrize("ties", ["all", "first"])
@given(tables(least=2, most=24), st.integers(1, 4), st.booleans(), st.integers(1, 2), st.data())
@examples(60)
def test_it_equals_the_row_by_row_search(interval, ties, data, k, frozen, least, draw):
    k = min(k, len(data))
    secrets = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    least = min(least, len(set(secrets)))
    models = [sf.KAnonymity(k), *([sf.DistinctLDiversity(least)] if least > 1 else [])]
    (start,) = feasible(problem(encoded(data, secrets), *models))
    records = collapse_records(start, HeightDistance())
    rows = [data[row] for row in records.rows]
    first = draw.draw(st.integers(0, len(records.weights) - 1))
    found = caat_classes(records, first, interval, ties, frozen=frozen)
    ok = diverse([secrets[row] for row in records.rows], least) if least > 1 else None
    row = int(np.flatnonzero(records.record_of == first)[0])
    plain = caat(rows, kinds(data, start.problem.table), k, row, interval, ties, frozen, ok)
    assert contents(found.class_of, found.count) == [sorted(members) for members in plain]


SEARCHES = [
    pytest.param(interval, ties, rows_of, marks=pytest.mark.slow if rows_of is many_codes and place else ())
    for rows_of in (many, many_codes)
    for place, (interval, ties) in enumerate(product(RULES, ["all", "first"]))
]


@pytest.mark.parametrize(("interval", "ties", "rows_of"), SEARCHES)
def test_searches_that_leave_out_branches_find_the_same(interval, ties, rows_of):
    data = rows_of(RULES.index(interval))
    (start,) = feasible(problem(encoded(data), sf.KAnonymity(3)))
    records = collapse_records(start, HeightDistance())
    found = caat_classes(records, 5, interval, ties, frozen=False)
    row = int(np.flatnonzero(records.record_of == 5)[0])
    rows = [data[row] for row in records.rows]
    plain = caat(rows, kinds(data, start.problem.table), 3, row, interval, ties)
    assert contents(found.class_of, found.count) == [sorted(members) for members in plain]
    assert found.looked < len(data) ** 2 / 2


# ------------------------------------------------------------------------------------ the example of section 7

PEOPLE = [(20, "HS"), (22, "Voc"), (21, "HS"), (40, "MSc"), (42, "PhD"), (45, "BSc"), (23, "BSc")]


@pytest.fixture(scope="module")
def people() -> DistinctRecords:
    frame = pl.DataFrame(PEOPLE, schema=["age", "degree"], orient="row")
    tree = sf.groups({"Sec": ["HS", "Voc"], "High": ["BSc", "MSc", "PhD"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying={"age": None, "degree": tree}))
    (start,) = feasible(problem(encode(table), sf.KAnonymity(3)))
    return collapse_records(start, HeightDistance())


def place_of(records: DistinctRecords, person: int) -> int:
    return int(np.flatnonzero(records.rows == person - 1)[0])


def apart(records: DistinctRecords, person: int, members: Sequence[int], interval: Any = "widen") -> float:
    places = np.array([place_of(records, member) for member in members])
    gaps = gaps_to_class(
        records.codes, places, np.array([place_of(records, person)]), _INTERVALS[interval], records.loss
    )
    (found,) = gaps / records.loss.tops.sum()
    return float(found)


@pytest.mark.parametrize("interval", RULES)
def test_distances_of_records(people, interval):
    found = [apart(people, other, [1], interval) for other in range(2, 8)]
    assert found == pytest.approx([0.29, 0.02, 0.90, 0.94, 1.00, 0.56], abs=1e-12)
    assert found == pytest.approx([apart(people, 1, [other], interval) for other in range(2, 8)], abs=1e-12)


@pytest.mark.parametrize(
    ("person", "members", "widen", "nearest"),
    [
        (2, [1, 3], 0.28, 0.27),
        (6, [1, 3, 2], 0.98, 0.96),
        (5, [6], 0.31, 0.31),
        (4, [6, 5], 0.195, 0.165),
        (7, [1, 3, 2], 0.54, 0.52),
        (7, [6, 5, 4], 0.515, 0.465),
    ],
)
def test_distances_to_classes(people, person, members, widen, nearest):
    assert apart(people, person, members) == pytest.approx(widen, abs=1e-12)
    assert apart(people, person, members, "nearest") == pytest.approx(nearest, abs=1e-12)


@pytest.mark.parametrize("interval", RULES)
@pytest.mark.parametrize("ties", ["all", "first"])
@pytest.mark.parametrize("frozen", [False, True])
def test_the_classes_of_the_example(people, interval, ties, frozen):
    found = caat_classes(people, place_of(people, 1), interval, ties, frozen=frozen)
    classes = contents(found.class_of, found.count)
    assert [sorted(people.rows[members] + 1) for members in classes] == [[1, 2, 3], [4, 5, 6, 7]]


# ------------------------------------------------------------------------------------ promises


@given(tables(least=4, most=20), st.data())
@examples(60)
def test_the_order_of_the_input_does_not_matter(data, draw):
    """Equal records may change places; what a class is made of may not."""
    secret = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(min(2, len(set(secret))))]
    rows = list(zip(data, secret, strict=True))
    anonymizer = CAAT(draw.draw(st.sampled_from(RULES)), draw.draw(st.sampled_from(["all", "first"])))
    found = []
    for order in (rows, draw.draw(st.permutations(rows))):
        solution = anonymizer.solve(problem(encoded([row for row, _ in order], [text for _, text in order]), *models))
        classes = contents(solution.class_of, solution.count)
        found.append(sorted(sorted(repr(order[row]) for row in members) for members in classes))
    assert found[0] == found[1]


@given(tables(least=2, most=40), st.integers(1, 5), st.sampled_from(RULES), st.booleans())
@examples(60)
def test_one_at_a_time_keeps_classes_below_2k(data, k, interval, frozen):
    k = min(k, len(data))
    solution = CAAT(interval, frozen=frozen).solve(problem(encoded(data), sf.KAnonymity(k)))
    assert solution.count == len(data) // k
    assert (solution.sizes >= k).all()
    assert solution.sizes.max() <= 2 * k - 1


def test_ten_equal_records_are_one_class_or_several():
    table = encoded([(1.0, "aa", "red")] * 10)
    assert CAAT(ties="all").solve(problem(table, sf.KAnonymity(3))).sizes.tolist() == [10]
    assert sorted(CAAT().solve(problem(table, sf.KAnonymity(3))).sizes.tolist()) == [3, 3, 4]


@pytest.mark.parametrize(
    "rows",
    [
        [(None, None, None)] * 7,
        [(1.0, "aa", "red")] * 7,
        [(1.0, "aa", "red"), (None, None, None)] * 4,
        [(float(number), "ba", None) for number in range(9)],
    ],
    ids=["all missing", "all equal", "half missing", "one attribute varies"],
)
@pytest.mark.parametrize("k", [1, 3, "all"])
@pytest.mark.parametrize("ties", ["first", "all"])
def test_odd_tables(rows, k, ties):
    k = len(rows) if k == "all" else k
    solution = CAAT(ties=ties).solve(problem(encoded(rows), sf.KAnonymity(k)))
    assert solution.sizes.min() >= k
    assert solution.suppressed == 0


def test_more_records_asked_for_than_there_are():
    with pytest.raises(sf.UnsatisfiableError):
        CAAT().solve(problem(encoded([(1.0, "aa", "red")] * 3), sf.KAnonymity(4)))


def test_blocks_progress_and_threads():
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"a": draw.integers(0, 99, 2000), "b": draw.integers(0, 99, 2000)})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["a", "b"])))
    seen: list[tuple[str, int, int]] = []
    whole = CAAT(block_size=None).solve(problem(table, sf.KAnonymity(4), progress=lambda *step: seen.append(step)))
    assert seen[-1] == ("clustering", 2000, 2000)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    one, two = (CAAT(block_size=300).solve(problem(table, sf.KAnonymity(4), threads=threads)) for threads in (1, 2))
    assert one.class_of.tolist() == two.class_of.tolist()
    assert whole.notes == ()
    assert "blocks" in one.notes[0]


@pytest.mark.parametrize(
    "options", [{"interval": "middle"}, {"ties": "last"}, {"frozen": 1}, {"block_size": 1, "interval": None}]
)
def test_unknown_options_are_refused(options):
    with pytest.raises(sf.PolicyError) as caught:
        CAAT(**options)
    assert len(caught.value.problems) == len(options)

"""KACA against its plain twin, the examples by hand, and its promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering.clustering_tables import PATHS, encoded, many, many_codes, problem, tables
from anonymizers.clustering.distance_kernels import box_distances
from examples import examples
from naive.kaca import kaca
from naive.mixed import Category, Kind, Number, Tree, kinds_of
from sfumato.anonymizers.clustering.distinct import WeightedHierarchyDistance, collapse_records
from sfumato.anonymizers.clustering.kaca import KACA, kaca_classes
from sfumato.anonymizers.feasibility import feasible
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy.tree import hierarchy_from_paths
from sfumato.table.encoding import EncodedTable, encode


def kinds(data: Sequence[Any], table: EncodedTable) -> list[Kind]:
    _, place, colour = kinds_of(data, [Number, Tree(list(PATHS.values())), Category])
    number = table.attributes[0]
    return [Number(number.domain_low, number.domain_low + number.domain_width), place, colour]


def contents(class_of: np.ndarray, count: int) -> list[list[int]]:
    return [np.flatnonzero(class_of == place).tolist() for place in range(count)]


def diverse(secrets: Sequence[str], least: int) -> Callable[[list[int]], bool]:
    return lambda members: len({secrets[row] for row in members}) >= least


@pytest.mark.parametrize(("weights", "beta"), [("uniform", 1), ("height", 1), ("height", 2)])
@pytest.mark.parametrize("stub", [True, False])
@given(tables(least=2, most=24), st.integers(1, 5), st.integers(1, 2), st.integers(0, 99), st.data())
@examples(60)
def test_it_equals_the_row_by_row_search(weights, beta, stub, data, k, least, seed, draw):
    k = min(k, len(data))
    secrets = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    least = min(least, len(set(secrets)))
    models = [sf.KAnonymity(k), *([sf.DistinctLDiversity(least)] if least > 1 else [])]
    (start,) = feasible(problem(encoded(data, secrets), *models, seed=seed))
    records = collapse_records(start, KACA(weights=weights, beta=beta).distance)
    rows = [data[row] for row in records.rows]
    ok = diverse([secrets[row] for row in records.rows], least) if least > 1 else None
    found = kaca_classes(records, stub=stub)
    plain = kaca(rows, kinds(data, start.problem.table), k, found.picks.tolist(), weights, beta, stub, ok)
    assert sorted(contents(found.class_of, found.count)) == plain


@pytest.mark.parametrize("stub", [True, False])
@pytest.mark.parametrize("weights", ["uniform", "height"])
@pytest.mark.parametrize("rows_of", [many, pytest.param(many_codes, marks=pytest.mark.slow)])
def test_searches_that_leave_out_branches_find_the_same(stub, weights, rows_of):
    data = rows_of(int(stub))
    (start,) = feasible(problem(encoded(data), sf.KAnonymity(4)))
    records = collapse_records(start, KACA(weights=weights).distance)
    found = kaca_classes(records, stub=stub)
    rows = [data[row] for row in records.rows]
    plain = kaca(rows, kinds(data, start.problem.table), 4, found.picks.tolist(), weights, 1, stub)
    assert sorted(contents(found.class_of, found.count)) == plain


# ------------------------------------------------------------------------------------ the figures of section 8


def steps(height: int) -> Hierarchy:
    """Two leaves for each node but the root's."""
    return hierarchy_from_paths(
        [[*(f"{leaf >> level}/{level}" for level in range(height)), "*"] for leaf in range(1 << height)]
    )


@pytest.mark.parametrize(
    ("height", "level", "beta", "cost"),
    [
        (5, 1, 0, 0.2),
        (5, 1, 1, 0.0875912),
        (5, 1, 2, 0.0273297),
        (5, 2, 0, 0.4),
        (5, 2, 1, 0.1970803),
        (1, 1, 0, 1),
        (1, 1, 2, 1),
        (4, 1, 0, 0.25),
        (4, 1, 1, 0.12),
    ],
)
def test_weighted_hierarchical_distances(height, level, beta, cost):
    found = WeightedHierarchyDistance(beta).tree_steps(steps(height), np.array([level]), np.array([2]))
    assert found[0] == pytest.approx(cost, abs=5e-8)


GROUPS = {"Sec": ["HS", "Voc"], "High": ["BSc", "MSc", "PhD"]}
DEGREES = ["HS", "HS", "HS", "HS", "BSc", "MSc"]


def degrees(values: Sequence[str], k: int, **options: Any) -> Any:
    tree = sf.groups(GROUPS)
    table = sf.read_table(pl.DataFrame({"degree": values}), sf.Schema(quasi_identifying={"degree": tree}))
    (start,) = feasible(problem(encode(table), sf.KAnonymity(k)))
    return collapse_records(start, KACA(**options).distance)


@pytest.mark.parametrize(
    ("members", "others", "options", "distance"),
    [
        (["BSc"], ["MSc"], {}, 1),
        (["BSc"], ["HS"] * 4, {}, 5),
        (["BSc", "MSc"], ["HS"] * 4, {}, 5),
        (["BSc"], ["MSc"], {"weights": "height"}, 2 / 3),
    ],
)
def test_distances_weigh_the_records_of_both_classes(members, others, options, distance):
    records = degrees(DEGREES, 1, **options)
    rows = [DEGREES[row] for row in records.rows]

    def places(values: Sequence[str]) -> np.ndarray:
        return np.array([records.record_of[rows.index(value)] for value in values])

    found = box_distances(records.codes, places(members), places(others), records.loss)
    assert float(found) == pytest.approx(distance)


def test_a_stub_is_taken_where_both_classes_stay_large():
    def sizes(values: Sequence[str], **options: Any) -> list[int]:
        found = kaca_classes(degrees(values, 3), **{"stub": True, **options})
        return sorted(len(members) for members in contents(found.class_of, found.count))

    assert sizes(DEGREES) == [3, 3]
    assert sizes(DEGREES, stub=False) == [6]
    assert sizes(DEGREES[1:]) == [5]


def test_a_stub_is_undone_where_both_classes_come_to_publish_the_same():
    values = ["MSc", "BSc", "HS", "PhD"]
    records = degrees(values, 2)
    rows = [(values[row],) for row in records.rows]
    tree = Tree([(value, group, "*") for group, inside in GROUPS.items() for value in inside])
    # Three degrees with HS publish `*`; the one that is left takes a stub of them, publishes `*`, too, and they merge.
    counts = set()
    for seed in range(30):
        start = replace(records.start, problem=replace(records.start.problem, seed=seed))
        found = kaca_classes(replace(records, start=start), stub=True)
        assert sorted(contents(found.class_of, found.count)) == kaca(rows, [tree], 2, found.picks.tolist())
        counts.add(found.count)
    assert counts == {1, 2}


# ------------------------------------------------------------------------------------ promises


@given(tables(least=4, most=20), st.data())
@examples(60)
def test_the_order_of_the_input_does_not_matter(data, draw):
    """Equal records may change places; what a class is made of may not."""
    secret = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(min(2, len(set(secret))))]
    rows = list(zip(data, secret, strict=True))
    anonymizer = KACA(draw.draw(st.sampled_from(["uniform", "height"])), stub=draw.draw(st.booleans()))
    found = []
    for order in (rows, draw.draw(st.permutations(rows))):
        solution = anonymizer.solve(problem(encoded([row for row, _ in order], [text for _, text in order]), *models))
        classes = contents(solution.class_of, solution.count)
        found.append(sorted(sorted(repr(order[row]) for row in members) for members in classes))
    assert found[0] == found[1]


@given(tables(least=2, most=40), st.integers(1, 5))
@examples(40)
def test_every_class_has_k_records(data, k):
    k = min(k, len(data))
    assert KACA().solve(problem(encoded(data), sf.KAnonymity(k))).sizes.min() >= k


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
def test_odd_tables(rows, k):
    k = len(rows) if k == "all" else k
    solution = KACA().solve(problem(encoded(rows), sf.KAnonymity(k)))
    assert solution.sizes.min() >= k
    assert solution.suppressed == 0


def test_more_records_asked_for_than_there_are():
    with pytest.raises(sf.UnsatisfiableError):
        KACA().solve(problem(encoded([(1.0, "aa", "red")] * 3), sf.KAnonymity(4)))


def test_blocks_progress_and_threads():
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"a": draw.integers(0, 99, 2000), "b": draw.integers(0, 99, 2000)})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["a", "b"])))
    seen: list[tuple[str, int, int]] = []
    whole = KACA(block_size=None).solve(problem(table, sf.KAnonymity(4), progress=lambda *step: seen.append(step)))
    assert seen[-1][1] == seen[-1][2]
    assert len(seen) > 2
    one, two = (KACA(block_size=300).solve(problem(table, sf.KAnonymity(4), threads=threads)) for threads in (1, 2))
    assert one.class_of.tolist() == two.class_of.tolist()
    (on_intervals,) = whole.notes
    assert "'a', 'b'" in on_intervals
    assert "blocks" in one.notes[0]
    assert one.notes[1:] == whole.notes


@pytest.mark.parametrize(
    "options", [{"weights": "depth"}, {"beta": -1}, {"beta": math.nan}, {"stub": 1}, {"block_size": 1, "beta": "1"}]
)
def test_unknown_options_are_refused(options):
    with pytest.raises(sf.PolicyError) as caught:
        KACA(**options)
    assert len(caught.value.problems) == len(options)

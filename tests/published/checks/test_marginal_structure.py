"""Sets without circles, what their tables fix, fitting, and discovery."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import marginals as naive
from sfumato.anonymizers.marginals import discovered_sets
from sfumato.errors import InputError
from sfumato.kinds.noisy_counts.make import fit, inferred_joint
from sfumato.published import MarginalTables
from sfumato.published.checks.marginals import is_acyclic, ordered_sets, repeated_sets


def test_trees_and_circles():
    assert is_acyclic([("a", "b")])
    assert is_acyclic([("a", "b"), ("b", "c"), ("c", "d")])
    assert is_acyclic([("a", "b"), ("c",)])
    assert is_acyclic([("a", "b", "c"), ("a", "b"), ("b", "c"), ("a", "c")])
    assert not is_acyclic([("a", "b"), ("b", "c"), ("a", "c")])
    assert not is_acyclic([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    assert not is_acyclic([("a", "b", "x"), ("b", "c", "y"), ("a", "c", "z"), ("q",)])
    assert ordered_sets([("a", "b"), ("c", "d"), ("b", "c")]) == [0, 2, 1]
    assert repeated_sets([("a", "s"), ("b", "s"), ("t",)], ["s", "t"]) == ["s"]


COUNTS = st.lists(st.sampled_from([0, 0, 2, 3, 4]), min_size=8, max_size=8)


@given(COUNTS)
@examples(40)
def test_tables_without_a_circle_fix_no_smaller_count_than_they_show(counts):
    """The differencing attack by brute force: every group of combinations, every table that could be behind."""
    support = naive.full_support(["ab", "cd", "ef"])
    joint = {cell: count for cell, count in zip(support, counts, strict=True) if count}
    if not joint:
        return
    tables = {places: naive.project(joint, places) for places in ((0, 1), (1, 2))}
    shown = min(count for table in tables.values() for count in table.values())
    fixed = naive.fixed_counts(support, tables)
    assert all(count == 0 or count >= shown for count in fixed)


@given(COUNTS)
@examples(40)
def test_small_counts_of_sensitive_values_fix_no_small_group_of_people(counts):
    """The middle table is of a and b; the other one tells the sensitive value of a, in counts down to one."""
    support = naive.full_support(["ab", "cd", "st"])
    joint = {cell: count // 2 for cell, count in zip(support, counts, strict=True) if count}
    if not joint:
        return
    tables = {places: naive.project(joint, places) for places in ((0, 1), (0, 2))}
    shown = min(tables[0, 1].values())
    people = sorted({cell[:2] for cell in support})
    joints = [dict(zip(support, each, strict=True)) for each in naive.consistent(support, tables)]
    for size in range(1, len(people) + 1):
        for group in combinations(people, size):
            told = {sum(count for cell, count in each.items() if cell[:2] in group) for each in joints}
            assert len(told) > 1 or told <= {0} or min(told) >= shown


def test_a_circle_can_fix_a_single_person():
    """Every pair of values has three or more, and still one combination is certain to have one."""
    support = naive.full_support(["ab", "cd", "ef"])
    more = {("a", "c", "e"): 3, ("a", "d", "f"): 3, ("b", "c", "f"): 3, ("a", "c", "f"): 1}
    tables = {places: naive.project(more, places) for places in ((0, 1), (1, 2), (0, 2))}
    assert min(count for table in tables.values() for count in table.values()) == 3
    assert 1 in naive.fixed_counts(support, tables)


@given(COUNTS, st.booleans())
@examples(40)
def test_fitting_agrees_with_plain_fitting(counts, circle):
    support = naive.full_support(["ab", "cd", "ef"])
    joint = {cell: count + 1 for cell, count in zip(support, counts, strict=True)}
    sets = ((0, 1), (1, 2), (0, 2)) if circle else ((0, 1), (1, 2))
    tables = {places: naive.project(joint, places) for places in sets}
    keys = {places: sorted(table) for places, table in tables.items()}
    cells = [
        np.array([keys[places].index(tuple(cell[place] for place in places)) for cell in support]) for places in sets
    ]
    found = fit(cells, [np.array([float(tables[places][key]) for key in keys[places]]) for places in sets])
    assert found.converged
    assert circle or found.rounds <= 2
    expected = naive.fitted(support, tables)
    assert found.weights == pytest.approx([expected[cell] for cell in support], abs=1e-6)


def tables_of(frame: pl.DataFrame, *columns: tuple[str, ...]) -> MarginalTables:
    return MarginalTables(tuple(frame.group_by(each).len("count").sort(each) for each in columns), columns, ("s",))


def test_what_is_inferred_of_a_sensitive_value_is_what_its_table_says():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({name: rng.integers(0, 3, 500) for name in "abcs"})
    published = tables_of(frame, ("a", "b"), ("b", "s"), ("b", "c"))
    joint = inferred_joint(published)
    assert joint["expected"].sum() == pytest.approx(500)
    shares = joint.with_columns(share=pl.col("expected") / pl.col("expected").sum().over("a", "b", "c"))
    told = published.marginals[1].with_columns(told=pl.col("count") / pl.col("count").sum().over("b"))
    both = shares.join(told, on=["b", "s"])
    assert both["share"].to_numpy() == pytest.approx(both["told"].to_numpy(), abs=1e-9)


def test_queries_are_answered_as_fitting_says():
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, 400)
    frame = pl.DataFrame(
        {
            "a": first,
            "b": (first + rng.integers(0, 2, 400)) % 3,
            "c": rng.integers(0, 3, 400),
            "s": rng.integers(0, 2, 400),
        }
    ).with_columns(pl.all().cast(pl.String))
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["a", "b", "c"], sensitive=["s"]))
    published = tables_of(table.frame, ("a", "b"), ("b", "c"), ("a", "s"))
    joint = inferred_joint(published).with_columns(pl.exclude("expected").cast(pl.String))
    for a, c, s in (("0", "1", "0"), ("2", "2", "1")):
        fitted = joint.filter(pl.col("a") == a, pl.col("c") == c, pl.col("s") == s)["expected"].sum()
        query = sf.Query((sf.Among("a", (a,)), sf.Among("c", (c,)), sf.Among("s", (s,))))
        assert sf.answer(query, table, published) == pytest.approx([fitted])


def test_unconnected_tables_missing_values_and_too_many_combinations():
    frame = pl.DataFrame({"a": ["x", None, "x", None], "b": ["u", "v", "v", "u"], "s": ["p", "p", "q", "q"]})
    joint = inferred_joint(tables_of(frame, ("a", "b"), ("s",)))
    assert joint.height == 8
    assert joint["expected"].to_list() == pytest.approx([0.5] * 8)
    joint = inferred_joint(tables_of(frame, ("a", "b"), ("a", "s")))
    assert joint.filter(pl.col("a").is_null())["expected"].sum() == pytest.approx(2)
    with pytest.raises(InputError, match="8 combinations"):
        inferred_joint(tables_of(frame, ("a", "b"), ("s",)), most=7)


def test_tables_that_contradict_each_other():
    one = pl.DataFrame({"a": ["x", "y"], "b": ["u", "u"], "count": [5, 5]})
    other = pl.DataFrame({"a": ["x", "y"], "s": ["p", "p"], "count": [9, 1]})
    with pytest.raises(InputError, match="contradict"):
        inferred_joint(MarginalTables((one, other), (("a", "b"), ("a", "s")), ("s",)))


@given(st.integers(1, 6), st.integers(0, 2), st.integers(1, 4), st.integers(0, 99))
@examples(80)
def test_found_sets_form_no_circle_and_hold_everything(quasi, secret, size, seed):
    names = [f"q{place}" for place in range(quasi)] + [f"s{place}" for place in range(secret)]
    drawn = np.random.default_rng(seed).random((len(names), len(names)))
    sensitive = names[quasi:]
    found = discovered_sets(names, (drawn + drawn.T) / 2, sensitive, size, None)
    assert {name for each in found for name in each} == set(names)
    assert is_acyclic(found)
    assert repeated_sets(found, sensitive) == []
    assert all(1 <= len(each) <= size for each in found)
    assert not any(set(one) <= set(other) for one, other in combinations(found, 2))
    for count in range(1, len(found) + 1):
        assert discovered_sets(names, (drawn + drawn.T) / 2, sensitive, size, count) == found[:count]
        assert is_acyclic(found[:count])


def test_sets_of_two_are_the_tree_of_largest_strength():
    strengths = np.eye(4)
    for one, other, strength in ((0, 1, 0.1), (0, 2, 0.9), (1, 2, 0.5), (1, 3, 0.4), (2, 3, 0.3)):
        strengths[one, other] = strengths[other, one] = strength
    assert discovered_sets("abcd", strengths, [], 2, None) == (("a", "c"), ("c", "b"), ("b", "d"))

"""Cuts of item trees and items left out, against brute force over all of them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.sets import Items, Path, cuts, fitting, is_anonymous, k_of, penalty, published
from sfumato.errors import UnsatisfiableError
from sfumato.hierarchy import HierarchyTable
from sfumato.kernels import jit

PATHS: list[Path] = [("a1", "A", "*"), ("a2", "A", "*"), ("b1", "B", "*"), ("b2", "B", "*")]
PAPERS = [frozenset(text.split()) for text in ("a1 b1 b2", "a2 b1", "a2 b1 b2", "a1 a2 b2")]


@st.composite
def trees(draw: st.DrawFn) -> list[Path]:
    """Draw a tree of three levels over at most six items, some of its nodes with a single child."""
    groups = sorted(draw(st.lists(st.integers(0, 2), min_size=2, max_size=6)))
    above = {group: draw(st.integers(0, 1)) if group else 0 for group in (0, 1, 2)}
    return [
        (f"i{number}", f"g{group}", f"h{sorted(above.values())[group]}", "*") for number, group in enumerate(groups)
    ]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Items], list[Path], int, int]:
    paths = draw(trees())
    names = [path[0] for path in paths]
    sets = draw(st.lists(st.frozensets(st.sampled_from(names)), min_size=1, max_size=12))
    assume(any(sets))
    return sets, paths, draw(st.integers(1, 5)), draw(st.integers(1, max(map(len, sets))))


def frame_of(sets: list[Items]) -> pl.DataFrame:
    rows = [(number, item) for number, items in enumerate(sets) for item in [None, *sorted(items)]]
    return pl.DataFrame(rows, schema={"person": pl.Int64, "item": pl.String}, orient="row")


def read(sets: list[Items], paths: list[Path] | None = None) -> sf.Sets:
    return sf.read_sets(frame_of(sets), hierarchy=None if paths is None else HierarchyTable(tuple(paths)))


def anonymized(sets: list[Items], paths: list[Path] | None, k: int, m: int, method: Any = "apriori") -> sf.SetRelease:
    method = method if paths else "suppress"
    return sf.anonymize_sets(read(sets, paths), sf.KmAnonymity(k, m), method=method, seed=1)


def shown(release: sf.SetRelease) -> list[Items]:
    """Return the published sets in the order of the original."""
    names, found = release.published.names, release.published
    rows = [
        frozenset(names[item] for item in found.items[low:high])
        for low, high in zip(found.starts[:-1].tolist(), found.starts[1:].tolist(), strict=True)
    ]
    return [row for _, row in sorted(zip(release.origin.tolist(), rows, strict=True), key=lambda pair: pair[0])]


def test_the_example_of_the_literature_generalizes_one_node_alone():
    for method in ("apriori", "optimal"):
        release = anonymized(PAPERS, PATHS, 2, 2, method)
        assert shown(release) == published(PAPERS, {"a1": "A", "a2": "A", "b1": "b1", "b2": "b2"})
        # Five of eleven occurrences may be any of two items of four.
        assert release.loss.ncp == pytest.approx(5 / 11 / 2)


@given(problems())
@examples(100)
def test_the_optimal_cut_loses_least_of_all_cuts(drawn: tuple[list[Items], list[Path], int, int]):
    sets, paths, k, m = drawn
    fitting_cuts = [cut for cut in cuts(paths) if is_anonymous(published(sets, cut), k, m)]
    if len(sets) < k or not fitting_cuts:
        with pytest.raises(UnsatisfiableError):
            anonymized(sets, paths, k, m, "optimal")
        return
    release = anonymized(sets, paths, k, m, "optimal")
    assert shown(release) in [published(sets, cut) for cut in fitting_cuts]
    assert release.loss.ncp == pytest.approx(min(penalty(sets, cut, paths) for cut in fitting_cuts))


@given(problems())
@examples(300)
def test_generalizing_step_by_step_gives_a_cut_below_which_none_holds(drawn: tuple[list[Items], list[Path], int, int]):
    sets, paths, k, m = drawn
    fitting_cuts = [cut for cut in cuts(paths) if is_anonymous(published(sets, cut), k, m)]
    if len(sets) < k or not fitting_cuts:
        with pytest.raises(UnsatisfiableError):
            anonymized(sets, paths, k, m)
        return
    release = anonymized(sets, paths, k, m)
    rows = shown(release)
    assert is_anonymous(rows, k, m)
    mine = [cut for cut in fitting_cuts if published(sets, cut) == rows]
    assert mine
    assert release.loss.ncp == pytest.approx(min(penalty(sets, cut, paths) for cut in mine))
    # Items that nobody has may be published anyhow.
    assert any(not any(is_anonymous(published(sets, each), k, m) for each in splits(cut, paths)) for cut in mine)


def splits(cut: dict[str, str], paths: list[Path]) -> list[dict[str, str]]:
    """Return the cuts in which one node is split into its children."""
    found = []
    for node in {*cut.values()}:
        under = [path for path in paths if cut[path[0]] == node]
        level = under[0].index(node)
        while level and len({path[level] for path in under}) == 1:
            level -= 1
        if len(under) > 1:
            found.append({**cut, **{path[0]: path[level] for path in under}})
    return found


@given(problems())
@examples(300)
def test_items_are_generalized_or_left_out(drawn: tuple[list[Items], list[Path], int, int]):
    sets, paths, k, m = drawn
    try:
        release = anonymized(sets, paths, k, m, "mixed")
    except UnsatisfiableError:
        # Then not even the coarsest item could be, for all.
        assert sum(map(bool, sets)) < k
        return
    rows, place = shown(release), {path[0]: path for path in paths}
    assert is_anonymous(rows, k, m)
    labels = frozenset(release.published.names)
    # Every item is published in one way, and if it is not, then nowhere.
    for items, row in zip(sets, rows, strict=True):
        assert row == {label for item in items for label in labels if label in place[item]}
    for item in place:
        assert len(labels & {*place[item]}) <= 1
    lost = sum(not labels & {*place[item]} for items in sets for item in items)
    assert release.loss.removed == lost
    assert sf.verify(release).ok


def test_one_rare_item_does_not_drag_all_others_to_the_root():
    sets = [frozenset(("a1", "b1"))] * 9 + [frozenset(("a1", "b1", "c1"))]
    paths = [("a1", "A", "*"), ("b1", "B", "*"), ("c1", "C", "*")]
    assert {*anonymized(sets, paths, 2, 2, "apriori").published.names} == {"*"}
    assert {*anonymized(sets, paths, 2, 2, "mixed").published.names} == {"a1", "b1"}


@given(problems())
@examples(300)
def test_items_are_left_out_until_none_could_come_back(drawn: tuple[list[Items], list[Path], int, int]):
    sets, _, k, m = drawn
    names = sorted(frozenset().union(*sets))
    kept = [each for size in range(1, len(names) + 1) for each in combinations(names, size)]
    possible = [each for each in kept if is_anonymous(published(sets, dict(zip(each, each, strict=True))), k, m)]
    if len(sets) < k or not possible:
        with pytest.raises(UnsatisfiableError):
            anonymized(sets, None, k, m)
        return
    release = anonymized(sets, None, k, m)
    rows = shown(release)
    stayed = frozenset(release.published.names)
    assert rows == [items & stayed for items in sets]
    assert is_anonymous(rows, k, m)
    for item in set(names) - stayed:
        assert not is_anonymous([items & (stayed | {item}) for items in sets], k, m)


@given(problems(), st.randoms(use_true_random=False))
@examples(100)
def test_the_order_of_records_decides_nothing(drawn: tuple[list[Items], list[Path], int, int], random: Any):
    sets, paths, k, m = drawn
    other = sets.copy()
    random.shuffle(other)
    try:
        release = anonymized(sets, paths, k, m)
    except UnsatisfiableError:
        with pytest.raises(UnsatisfiableError):
            anonymized(other, paths, k, m)
        return
    assert release.to_frame().equals(anonymized(other, paths, k, m).to_frame())


@given(problems())
@examples(100)
def test_whoever_knows_m_items_finds_k_records(drawn: tuple[list[Items], list[Path], int, int]):
    sets, paths, k, m = drawn
    try:
        release = anonymized(sets, paths, k, m)
    except UnsatisfiableError:
        return
    rows = shown(release)
    above = {path[0]: path for path in paths}
    labels = frozenset(release.published.names)
    for items in sets:
        for known in combinations(sorted(items), min(m, len(items))):
            seen = frozenset(next(name for name in above[item] if name in labels) for item in known)
            assert not known or fitting(rows, seen) >= k


def test_nothing_changes_where_the_promise_holds_already():
    sets = [frozenset("ab"), frozenset("ab"), frozenset()]
    for paths in (None, [("a", "*"), ("b", "*")]):
        release = anonymized(sets, paths, 2, 2, "mixed")
        assert shown(release) == sets
        assert release.loss.ncp == 0
        assert "no item was changed" in str(release)
    assert k_of(sets, 2) == 2


def test_the_greedy_cut_is_near_the_best_on_skewed_baskets():
    draw, chances = np.random.default_rng(3), 1 / np.arange(1, 13)
    drawn = [draw.choice(12, 3, replace=False, p=chances / chances.sum()) for _ in range(200)]
    sets = [frozenset(f"i{number:02}" for number in numbers) for numbers in drawn]
    paths: list[Path] = [(f"i{number:02}", f"g{number // 3}", "*") for number in range(12)]
    greedy, least = (anonymized(sets, paths, 5, 2, method).loss.ncp for method in ("apriori", "optimal"))
    assert 0 < least <= greedy <= 1.2 * least


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mixed", "apriori", "optimal", "suppress"])
def test_compiled_and_interpreted_kernels_publish_the_same(method: str):
    draw = np.random.default_rng(5)
    sets = [frozenset(f"i{number:02}" for number in draw.choice(20, 5)) for _ in range(150)]
    paths: list[Path] = [(f"i{number:02}", f"g{number // 5}", "*") for number in range(20)]
    frames = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            frames.append(anonymized(sets, None if method == "suppress" else paths, 6, 3, method).to_frame())
    assert frames[0].equals(frames[1])

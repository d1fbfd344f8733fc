"""Bounds on uniques and on people of a population: the search against every node, however records are put together."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.full_domain.test_objectives import without_missing
from anonymizers.full_domain.test_optimal import HIERARCHIES, LEAVES, NAMES, drawn_tables
from examples import examples
from naive import full_domain as naive
from naive.risk import zayatz
from sfumato.anonymizers.full_domain import lattice_boxes
from sfumato.anonymizers.full_domain.optimal import Optimal
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.population import among_population
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.reading import read_population

SCHEMA = sf.Schema(quasi_identifying=dict(zip(NAMES, map(HierarchyTable, HIERARCHIES), strict=True)))
ANY = naive.model("k-anonymity", k=1)


def frame_of(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(NAMES), orient="row")


def searched(table: EncodedTable, model: Any, limit: int, worthwhile: int) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lattice_boxes, "WORTHWHILE", worthwhile)
        try:
            return Optimal().search(Problem(table, [model], limit))
        except sf.UnsatisfiableError:
            return None


def without_uniques(rows, limit, too_many):
    """Score every node within the limit, its sample uniques left out where `too_many` says so of its class sizes."""
    problem = naive.Problem(naive.collapse(rows), HIERARCHIES, [ANY], limit)
    scores = {}
    for node in naive.lattice(HIERARCHIES):
        recoding = naive.full_domain(HIERARCHIES, node)
        classes = naive.classes_of(problem.table, recoding)
        sizes = [naive.count(problem.table, vectors) for vectors in classes]
        alone = [vectors for vectors, size in zip(classes, sizes, strict=True) if size == 1]
        gone = alone if too_many(sizes) else []
        outcome = naive.Outcome(
            recoding, [own for own in classes if own not in gone], [vector for own in gone for vector in own]
        )
        if naive.within_limit(problem, outcome):
            scores[node] = naive.arithmetic(problem, outcome)
    return scores


@given(drawn=drawn_tables(), share=st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), worthwhile=st.sampled_from([1, 6]))
@examples(60)
def test_uniques_are_left_out_for_good(drawn, share, worthwhile):
    rows = without_missing(drawn).rows
    scores = without_uniques(rows, drawn.limit, lambda sizes: sizes.count(1) > share * len(rows) + 1e-9)
    found = searched(encode(sf.read_table(frame_of(rows), SCHEMA)), sf.SampleUniques(share), drawn.limit, worthwhile)
    assert (found is None) == (not scores)
    if found is not None:
        assert (found.chosen, found.loss) == (naive.best_of(scores), pytest.approx(min(scores.values()), abs=1e-12))


@given(
    drawn=drawn_tables(),
    share=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    fraction=st.sampled_from([0.05, 0.4, 1.0]),
    worthwhile=st.sampled_from([1, 6]),
)
@examples(60)
def test_boxes_with_too_many_uniques_for_zayatz_hold_no_solution(drawn, share, fraction, worthwhile):
    rows = without_missing(drawn).rows
    scores = without_uniques(rows, drawn.limit, lambda sizes: zayatz(sizes, fraction) > share + 1e-9)
    model = sf.PopulationUniques(share, fraction, "zayatz")
    found = searched(encode(sf.read_table(frame_of(rows), SCHEMA)), model, drawn.limit, worthwhile)
    assert (found is None) == (not scores)
    if found is not None:
        assert (found.chosen, found.loss) == (naive.best_of(scores), pytest.approx(min(scores.values()), abs=1e-12))


@given(drawn=drawn_tables(), k=st.integers(1, 12), worthwhile=st.sampled_from([1, 6]), data=st.data())
@examples(60)
def test_people_are_counted_beside_records_that_are_put_together(drawn, k, worthwhile, data):
    rows = without_missing(drawn).rows
    everybody = [*rows, *data.draw(st.lists(st.tuples(*map(st.sampled_from, LEAVES)), max_size=40))]
    table = sf.read_table(frame_of(rows), SCHEMA)
    encoded = among_population(encode(table), table, read_population(frame_of(everybody), table))
    problem = naive.Problem(naive.collapse(rows), HIERARCHIES, [ANY], drawn.limit)
    scores = {}
    for node in naive.lattice(HIERARCHIES):
        recoding = naive.full_domain(HIERARCHIES, node)
        kept, gone = [], []
        for vectors in naive.classes_of(problem.table, recoding):
            image = naive.image_of(vectors[0], recoding)
            like = sum(all(value in leaves for value, leaves in zip(each, image, strict=True)) for each in everybody)
            (kept if like >= k else gone).append(vectors)
        outcome = naive.Outcome(recoding, kept, [vector for own in gone for vector in own])
        if naive.within_limit(problem, outcome):
            scores[node] = naive.arithmetic(problem, outcome)
    found = searched(encoded, sf.KMap(k), drawn.limit, worthwhile)
    assert (found is None) == (not scores)
    if found is not None:
        assert (found.chosen, found.loss) == (naive.best_of(scores), pytest.approx(min(scores.values()), abs=1e-12))

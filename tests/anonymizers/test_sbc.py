"""SBC against the definition, the thesis's examples and figures, and its promises."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering_tables import encoded, problem, tables
from sfumato.anonymizers.clustering.sbc import SBC, similar_classes
from sfumato.anonymizers.clustering.similarity import similarity_table, value_distances
from sfumato.anonymizers.feasibility import feasible
from sfumato.table.encoding import EncodedTable, encode

ADULT = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")
CHAINS = ["previous", "all"]

Record = tuple[Any, ...]


def in_order(values: Sequence[Any]) -> list[Any]:
    return sorted(set(values), key=lambda value: (value is None, value))


def similar(rows: Sequence[Record], column: int, counts: Counter[Any], first: Any) -> dict[Any, Fraction]:
    """Distance of each value of a column from the first record's, the most similar first."""
    known = in_order([row[column] for row in rows])
    others = sorted((v for v in known if v != first), key=lambda value: abs(counts[value] - counts[first]))
    return {value: Fraction(index, max(len(known) - 1, 1)) for index, value in enumerate([first, *others])}


def chained(rows: Sequence[Record], first: Record, categories: Sequence[int], k: int, chain: str) -> list[Any]:
    """Distances of the values of all categorical columns, one after the other."""
    found: list[dict[Any, Fraction]] = []
    for place, column in enumerate(categories):
        before = list(categories[:place]) if chain == "all" else list(categories[max(place - 1, 0) : place])
        tables = found[place - len(before) : place]

        def key(row: Record, before: list[int] = before) -> Record:
            return tuple(row[other] for other in before)

        def far(row: Record, before: list[int] = before, tables: list[Any] = tables) -> tuple[Any, ...]:
            apart = sum((table[row[other]] for other, table in zip(before, tables, strict=True)), Fraction(0))
            return apart, tuple((row[other] is None, row[other]) for other in before)

        counted: Counter[Any] = Counter()
        for combination in sorted({key(row): far(row) for row in rows}.items(), key=lambda item: item[1]):
            counted.update(row[column] for row in rows if key(row) == combination[0])
            if counted.total() >= k:
                break
        found.append(similar(rows, column, counted, first[column]))
    return found


def plain_sbc(
    rows: Sequence[Record], categories: Sequence[int], k: int, chain: str, normalize: str
) -> tuple[list[list[int]], list[int]]:
    """Classes and remainder of rows that stand in their order, as places."""
    numbers = [column for column in range(len(rows[0])) if column not in categories]
    ranges = {column: _range([row[column] for row in rows]) for column in numbers}
    left, classes = list(range(len(rows))), []
    while len(left) >= k:
        first = rows[left[0]]
        apart = chained([rows[place] for place in left], first, categories, k, chain)

        def distance(place: int, first: Record = first, apart: list[Any] = apart) -> Fraction:
            named = sum((t[rows[place][c]] for c, t in zip(categories, apart, strict=True)), Fraction(0))
            measured = sum((_gap(rows[place][c], first[c], ranges[c]) for c in numbers), Fraction(0))
            if normalize == "sum":
                return named + measured
            return named / max(len(categories), 1) + measured / max(len(numbers), 1)

        classes.append(sorted(left, key=distance)[:k])
        left = [place for place in left if place not in classes[-1]]
    return classes, left


def _range(values: Sequence[Any]) -> Fraction:
    present = [Fraction(value) for value in values if value is not None]
    return max(present) - min(present) if present else Fraction(0)


def _gap(one: Any, other: Any, width: Fraction) -> Fraction:
    if one == other:
        return Fraction(0)
    if one is None or other is None:
        return Fraction(1)
    return abs(Fraction(one) - Fraction(other)) / width


mixed = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, 5, 9, None]),
        st.sampled_from("abcde"),
        st.sampled_from([0, 3, 4]),
        st.sampled_from(["u", "v", "w", None]),
        st.sampled_from("mf"),
    ),
    min_size=1,
    max_size=25,
)


def mixed_table(rows: Sequence[Record]) -> EncodedTable:
    kinds = [pl.Int64, pl.String, pl.Int64, pl.String, pl.String]
    columns = zip(*rows, strict=True)
    frame = pl.DataFrame([pl.Series(f"q{i}", c, dtype=k) for i, (c, k) in enumerate(zip(columns, kinds, strict=True))])
    named = {f"q{i}": sf.Attribute(kind="numeric" if i in (0, 2) else "categorical") for i in range(5)}
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=named)))


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("sort", ["values", "random"])
@given(mixed, st.integers(1, 6), st.sampled_from(["sum", "by-type"]), st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_it_equals_the_search_through_every_record(chain, sort, rows, k, normalize, seed):
    k = min(k, len(rows))
    table = mixed_table(rows)
    (start,) = feasible(problem(table, sf.KAnonymity(k)))
    laid = similarity_table(
        table, np.arange(len(rows)), k, chain=chain, sort=sort, normalize=normalize, seed=seed
    )  # fmt: skip
    categories = sorted((1, 3, 4), key=lambda column: len({row[column] for row in rows}))
    ordered = [rows[row] for row in laid.order]
    if sort == "values":
        keys = [tuple((row[c] is None, row[c]) for c in (*categories, 0, 2)) for row in ordered]
        assert keys == sorted(keys)
    classes, left = plain_sbc(ordered, categories, k, chain, normalize)
    class_at, count = similar_classes(start, laid)
    assert count == len(classes)
    assert [np.flatnonzero(class_at == number).tolist() for number in range(count)] == [sorted(c) for c in classes]
    assert np.flatnonzero(class_at < 0).tolist() == left

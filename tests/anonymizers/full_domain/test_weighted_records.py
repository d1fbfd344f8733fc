"""Grouping weighted records on levels: equal to looking every value up."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.full_domain import levels as module
from sfumato.anonymizers.full_domain.levels import (
    domain_levels,
    generalized_codes,
    group_weighted,
    level_tables,
    regroup_weighted,
    roll_records_up,
    weighted_records,
)
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.table.encoding import encode

PATHS = tuple((f"v{value}", f"p{value // 3}", f"g{value // 9}", "*") for value in range(27))
TABLE = HierarchyTable(PATHS)
SPARSE = 5000
"""Records that are so many and so different that keys are hashed."""


def records_of(cells: np.ndarray, sensitive: np.ndarray):
    names = [f"a{place}" for place in range(cells.shape[1])]
    frame = pl.DataFrame({name: [f"v{cell}" for cell in cells[:, place]] for place, name in enumerate(names)})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=dict.fromkeys(names, TABLE))))
    return table, *weighted_records(table.codes, sensitive)


def canonical(class_of: np.ndarray) -> list[int]:
    seen: dict[int, int] = {}
    return [seen.setdefault(owner, len(seen)) for owner in class_of.tolist()]


def expected(table, record_of, domains, levels) -> list[int]:
    rows = [tuple(row) for row in generalized_codes(table.codes, domains, levels).tolist()]
    seen: dict[tuple[int, ...], int] = {}
    return canonical(np.array([seen.setdefault(row, len(seen)) for row in rows]))


@pytest.mark.parametrize("bits", [62, 9, 5])
@given(data=st.data())
@examples(25)
def test_groups_are_those_of_equal_nodes(bits, data):
    width = data.draw(st.integers(1, 4))
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 26)] * width, st.integers(0, 2)), min_size=1, max_size=40))
    cells = np.array(rows)
    table, records, record_of = records_of(cells[:, :-1], cells[:, -1:].astype(np.uint8))
    domains = domain_levels(table)
    tables = level_tables(domains)
    low = tuple(data.draw(st.integers(0, 3)) for _ in range(width))
    high = tuple(data.draw(st.integers(level, 3)) for level in low)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "KEY_BITS", bits)
        groups, coarse = group_weighted(records, tables, low), group_weighted(records, tables, high)
        changed = [place for place in range(width) if low[place] != high[place]]
        fine = regroup_weighted(records, tables, low, coarse.class_of, changed)
        rolled, firsts = roll_records_up(records, tables, low)
        above = group_weighted(rolled, tables, high)
    wanted = expected(table, record_of, domains, low)
    assert canonical(groups.class_of[record_of]) == wanted
    assert canonical(fine.class_of[record_of]) == wanted
    assert groups.sizes.tolist() == np.bincount(groups.class_of[record_of]).tolist()
    assert canonical(groups.class_of[groups.firsts]) == list(range(len(groups.sizes)))
    assert (rolled.weights.sum(), rolled.gone) == (len(rows), 0)
    assert sorted(above.sizes.tolist()) == sorted(coarse.sizes.tolist())
    assert np.array_equal(records.values[firsts], rolled.values)


def test_many_different_records_are_grouped_by_hashing():
    draw = np.random.default_rng(3)
    cells = draw.integers(0, 27, (SPARSE, 6))
    table, records, record_of = records_of(cells, np.zeros((SPARSE, 0), dtype=np.uint8))
    domains = domain_levels(table)
    for levels in ((0,) * 6, (1, 0, 2, 0, 1, 0)):
        groups = group_weighted(records, level_tables(domains), levels)
        assert canonical(groups.class_of[record_of]) == expected(table, record_of, domains, levels)


def test_records_that_are_taken_out_are_counted():
    cells = np.array([[0], [0], [1], [2]])
    _, records, _ = records_of(cells, np.zeros((4, 0), dtype=np.uint8))
    kept = np.array([0])
    assert records.take(kept, records.weights[kept], (0,)).gone == 2

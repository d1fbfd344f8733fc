"""Blocks: what they hold, that models hold in each, and that a solution does not depend on threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from sfumato.anonymizers.clustering.kaca import KACA
from sfumato.anonymizers.clustering.numeric import MDAV
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.parts import Partwise, cut_into_blocks, solve_in_parts
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError
from sfumato.models import DistinctLDiversity, KAnonymity, ProbabilisticLDiversity, TCloseness
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import encode
from sfumato.table.schema import Kind, Schema
from sfumato.table.table import Table


def table(rows: int, *, values: int = 1000) -> Table:
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "a": draw.integers(0, values, rows),
            "b": draw.integers(0, values, rows),
            "s": pl.Series(draw.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1]), dtype=pl.Categorical),
        }
    )
    kinds = {"a": Kind.NUMERIC, "b": Kind.NUMERIC, "s": Kind.CATEGORICAL}
    return Table(frame, Schema(quasi_identifying=["a", "b"], sensitive=["s"]), kinds)


def problem(rows: int, models: Sequence[PrivacyModel], threads: int = 1, limit: int = 0, values: int = 1000) -> Problem:
    return Problem(encode(table(rows, values=values)), models, limit, seed=3, threads=threads)


@dataclass(frozen=True)
class OneClass(Partwise):
    """Each part is a class."""

    name: ClassVar[str] = "one-class"
    block_size: int | None

    def solve_part(self, start: FeasibleProblem) -> Partition:
        height = start.problem.table.height
        return start.partition(np.zeros(height, dtype=np.int32), 1)


class Quarters(OneClass):
    """Four classes by rank in the first attribute, which depend on no order of records."""

    def solve_part(self, start: FeasibleProblem) -> Partition:
        codes = start.problem.table.codes[:, 0].astype(np.int64)
        class_of = np.searchsorted(np.quantile(codes, [0.25, 0.5, 0.75]), codes).astype(np.int32)
        return start.partition(class_of, int(class_of.max()) + 1)


def test_blocks_are_disjoint_cover_everything_and_are_at_most_as_large_as_asked():
    (start,) = feasible(problem(5000, [KAnonymity(5)]))
    blocks = cut_into_blocks(start, 600)
    assert sorted(np.concatenate([block.rows for block in blocks]).tolist()) == list(range(5000))
    assert {300 <= len(block.rows) <= 600 for block in blocks} == {True}


def test_equal_records_are_halved_too():
    (start,) = feasible(problem(5000, [KAnonymity(5)], values=1))
    sizes = [len(block.rows) for block in cut_into_blocks(start, 600)]
    assert sum(sizes) == 5000
    assert max(sizes) <= 600


@pytest.mark.parametrize("models", [[TCloseness(0.05)], [DistinctLDiversity(3), KAnonymity(4)]])
def test_every_block_satisfies_the_models_of_the_whole_table(models):
    whole = problem(3000, models)
    solution = OneClass(200).solve(whole)
    assert solution.count > 1
    codes, attributes = whole.table.sensitive_codes, whole.table.sensitive
    statistics = class_statistics(solution.class_of, solution.count, codes, attributes)
    assert all(model.holds(statistics).all() for model in models)
    assert len(solution.notes) == 1
    assert f"{solution.count} blocks" in solution.notes[0]


def test_rules_of_a_block_compare_with_the_whole_table():
    (start,) = feasible(problem(3000, [TCloseness(0.3)]))
    for block in cut_into_blocks(start, 500):
        assert block.start.rules.arrays.total == 3000
        assert block.start.rules.arrays.totals.sum() == 3000
        assert len(block.start.rules.codes) == len(block.rows) == block.start.problem.table.height


def test_the_result_is_the_same_on_any_number_of_threads():
    one, two = (Quarters(300).solve(problem(3000, [KAnonymity(3)], threads)) for threads in (1, 3))
    assert one.class_of.tolist() == two.class_of.tolist()
    assert one.notes == two.notes
    assert "estimated" in one.notes[0]


@pytest.mark.parametrize("size", [None, 0, 3000])
def test_tables_that_fit_are_solved_at_once(size):
    solution = OneClass(size).solve(problem(3000, [KAnonymity(3)]))
    assert solution.count == 1
    assert solution.notes == ()


def test_records_that_are_left_out_stay_covered():
    # Half of the records may have x, so that some of it has to go.
    whole = problem(2000, [ProbabilisticLDiversity(2)], limit=900)
    solution = OneClass(300).solve(whole)
    assert 0 < solution.suppressed <= 900
    assert solution.count > 1
    assert (solution.covered_by >= 0).all()
    last_first = solve_in_parts(
        OneClass(300), whole, lambda solve, parts: [(place, solve(parts[place])) for place in range(len(parts))[::-1]]
    )
    assert last_first.class_of.tolist() == solution.class_of.tolist()
    assert last_first.covered_by.tolist() == solution.covered_by.tolist()
    assert last_first.notes == solution.notes


def test_progress_counts_records():
    seen: list[tuple[str, int, int]] = []
    encoded = encode(table(1000))
    OneClass(200).solve(Problem(encoded, [KAnonymity(2)], progress=lambda *step: seen.append(step)))
    assert seen[-1] == ("clustering", 1000, 1000)
    assert len(seen) > 4


def test_a_large_table_in_one_piece_is_announced(monkeypatch):
    calls: list[str] = []
    monkeypatch.setattr("sfumato.anonymizers.parts.LARGE", 100)
    whole = replace(problem(100, [KAnonymity(5)]), progress=lambda what, done, total: calls.append(what))
    OneClass(0).solve(whole)
    assert [what for what in calls if "100 records in one piece" in what]
    calls.clear()
    OneClass(30).solve(whole)
    assert not [what for what in calls if "in one piece" in what]


def test_block_size_is_checked():
    assert [MDAV(block_size=size).block_size for size in (0, 2)] == [0, 2]
    assert KACA(block_size=None).block_size is None
    for wrong in (1, -1, 2.5, True, "many"):
        with pytest.raises(PolicyError) as caught:
            MDAV(block_size=wrong)
        assert caught.value.problems == ("mdav: block_size must be a whole number of at least 2, or 0 for no blocks",)

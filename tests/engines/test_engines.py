"""Engines: wherever parts are solved and in whatever order, the release folder is the same to the byte."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from golden.runs import BLOCKS, TABLES
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.parts import RunsParts, cut_into_blocks, solve_in_parts
from sfumato.anonymizers.protocol import Anonymizer, Problem, SolvesParts
from sfumato.classes.partition import GeneralizedTable, Partition
from sfumato.engines import Engine, LocalEngine
from sfumato.published import PublishedTable
from sfumato.release.anonymize import made
from sfumato.release.task import Arguments, Task
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.table import Table

MODELS = [sf.KAnonymity(4), sf.DistinctLDiversity(2)]
Solve = Callable[[FeasibleProblem], Partition]


def last_first(solve: Solve, parts: Sequence[FeasibleProblem]) -> Iterator[tuple[int, Partition]]:
    return ((place, solve(parts[place])) for place in reversed(range(len(parts))))


def elsewhere(solve: Solve, parts: Sequence[FeasibleProblem]) -> list[tuple[int, Partition]]:
    """Solve parts in another process, which begins with nothing and is handed the algorithm and a part."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return list(enumerate(pool.map(solve, parts)))


@dataclass
class OtherEngine:
    """Codes in a file, parts solved by a runner, columns written one after the other; it notes what it was asked."""

    run: RunsParts
    folder: Path
    asked: list[str] = field(default_factory=list)

    def encode(self, table: Table) -> EncodedTable:
        self.asked.append("encode")
        encoded = encode(table)
        np.save(self.folder / "codes.npy", encoded.codes)
        return replace(encoded, codes=np.load(self.folder / "codes.npy", mmap_mode="r"))

    def solve(self, anonymizer: Anonymizer, problem: Problem) -> Partition:
        self.asked.append("solve")
        assert isinstance(anonymizer, SolvesParts)
        return solve_in_parts(anonymizer, problem, self.run)

    def write(self, classes: GeneralizedTable, table: Table, order: Any, *, threads: int) -> PublishedTable:
        self.asked.append("write")
        return LocalEngine().write(classes, table, order, threads=1)


def task(name: str, engine: Engine, threads: int = 1) -> Task:
    table = sf.read_table(*TABLES["town"])
    return Task(table, Arguments(MODELS, BLOCKS[name]).policy(table, seed=7), seed=7, threads=threads, engine=engine)


def folder_of(release: sf.Release, folder: Path) -> dict[str, bytes]:
    release.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", BLOCKS)
def test_another_engine_makes_the_same_release(name: str, tmp_path: Path) -> None:
    other = OtherEngine(last_first, tmp_path)
    found = folder_of(made(task(name, other)), tmp_path / "other")
    assert other.asked == ["encode", "solve", "write"]
    for threads in (1, 3):
        release = made(task(name, LocalEngine(), threads))
        assert folder_of(release, tmp_path / f"{threads}") == found
        assert any("blocks" in note for note in release.report.notes)


def test_parts_are_solved_in_another_process(tmp_path: Path) -> None:
    name = next(name for name in BLOCKS if name.startswith("MDAV"))
    releases = [made(task(name, engine)) for engine in (OtherEngine(elsewhere, tmp_path), LocalEngine())]
    assert folder_of(releases[0], tmp_path / "0") == folder_of(releases[1], tmp_path / "1")


@pytest.mark.parametrize("name", BLOCKS)
def test_algorithms_and_parts_can_be_sent_elsewhere(name: str) -> None:
    problem = Problem(encode(sf.read_table(*TABLES["town"])), MODELS, seed=3)
    (start,) = feasible(problem)
    solve = BLOCKS[name].part_solver(problem)
    sent = pickle.loads(pickle.dumps(solve))
    blocks = cut_into_blocks(start, 150)
    assert len(blocks) > 1
    for block in blocks:
        here, there = solve(block.start), sent(pickle.loads(pickle.dumps(block.start)))
        assert here.class_of.tolist() == there.class_of.tolist()
        assert here.notes == there.notes


def test_the_first_exception_of_a_part_ends_the_run(tmp_path: Path) -> None:
    def failing(solve: Solve, parts: Sequence[FeasibleProblem]) -> Iterator[tuple[int, Partition]]:
        yield 0, solve(parts[0])
        raise OSError("a worker is gone")

    with pytest.raises(OSError, match="a worker is gone"):
        made(task(next(iter(BLOCKS)), OtherEngine(failing, tmp_path)))

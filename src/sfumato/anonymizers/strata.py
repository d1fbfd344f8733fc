"""Strata: records that agree in some columns, which no class mixes with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.blocks import Block, blocks_of, part_of
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.classes.people import statistics_of
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.numbers import counted
from sfumato.table.encoding import EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class Strata:
    """The strata of a problem that satisfy every model, each a problem of its own.

    Attributes
    ----------
    problem : Problem
        Of the records in these strata.
    rows : numpy.ndarray
        int64, rising: these records in the problem as it was.
    blocks : list of Block
        One for each stratum, its records counted in `problem`.
    """

    problem: Problem
    rows: NDArray[np.int64]
    blocks: list[Block]

    def cut(self, block_size: int | None) -> list[Block]:
        """Return the strata, those of more records than `block_size` cut into blocks."""
        return [part for stratum in self.blocks for part in _parts_of(stratum, block_size)]

    def put_back(self, partition: Partition, height: int) -> Partition:
        """Return the solution for all `height` records of the problem as it was; those of other strata are left out."""
        class_of, cover = (np.full(height, -1, dtype=np.int32) for _ in range(2))
        class_of[self.rows], cover[self.rows] = partition.class_of, partition.covered_by
        return replace(partition, class_of=class_of, cover=None if partition.cover is None else cover)

    def note(self, blocks: Sequence[Block], height: int) -> str:
        """Say how many strata there are, how many were left out, and what blocks were made of them."""
        sizes = sorted(len(stratum.rows) for stratum in self.blocks)
        told = f"{_strata(len(sizes))} of {sizes[0]:,} to {sizes[-1]:,} records; no class holds records of two."
        if len(self.rows) < height:
            told += (
                f" Strata too small for the models were left out, with {counted(height - len(self.rows), 'record')}."
            )
        if len(blocks) > len(sizes):
            told += f" Large strata were cut into blocks, {len(blocks):,} in all, and each was solved by itself."
        return told


def strata_of(problem: Problem, names: Sequence[str]) -> Strata:
    """Divide a problem by the values of some columns; what satisfies no model by itself is left out.

    Parameters
    ----------
    problem
        Its suppression limit is for whole strata.
    names
        Quasi-identifying attributes.

    Raises
    ------
    PolicyError
        When a name is no quasi-identifying attribute, or records are people.
    UnsatisfiableError
        When strata break a model and hold more records than may be left out.

    Notes
    -----
    Models that compare with the whole table compare with all strata that stay. Where some are left out, the others are
    judged anew. Cost O(q n) for each time that some are left out.
    """
    raise_all(PolicyError, _problems(problem.table, names))
    places = [place for place, attribute in enumerate(problem.table.attributes) if attribute.name in names]
    rows = np.arange(problem.table.height)
    among = problem
    while True:
        stratum_of, count = group_records(np.ascontiguousarray(among.table.codes[:, places]))
        statistics = statistics_of(among.table, stratum_of, count)
        fits = np.ones(count, dtype=np.bool_)
        for model in among.models:
            fits &= model.holds(statistics)
        if fits.all():
            break
        kept = fits[stratum_of]
        if not fits.any() or problem.table.height - len(rows) + int((~kept).sum()) > problem.suppression_limit:
            raise UnsatisfiableError(_too_small(problem, fits, int((~kept).sum())))
        rows = rows[kept]
        among = replace(problem, table=problem.table.take(rows), suppression_limit=0)
    start = FeasibleProblem(among, among.rules, None)
    by_stratum = np.argsort(stratum_of, kind="stable")
    parts = np.split(by_stratum, np.flatnonzero(np.diff(stratum_of[by_stratum])) + 1)
    return Strata(among, rows, [Block(part, part_of(start, part, number)) for number, part in enumerate(parts)])


def _parts_of(stratum: Block, block_size: int | None) -> list[Block]:
    if not block_size or len(stratum.rows) <= block_size:
        return [stratum]
    return [Block(stratum.rows[part.rows], part.start) for part in blocks_of(stratum.start, block_size)]


def _problems(table: EncodedTable, names: Sequence[str]) -> Iterator[str]:
    known, sensitive = ([each.name for each in some] for some in (table.attributes, table.sensitive))
    for name in names:
        if name in sensitive:
            yield f"strata: column {name!r} is sensitive, and every class would have one value of it; name another"
        elif name not in known:
            yield (
                f"strata: {name!r} is no quasi-identifying column; give it that role, since whoever sees a class sees "
                "its stratum, or name another column"
            )
    if table.people is not None:
        yield (
            "strata: the records of a person may lie in several strata, and share one class; leave strata out, or let "
            "each record be a person of its own (without the person column)"
        )


def _too_small(problem: Problem, fits: NDArray[np.bool_], records: int) -> str:
    failing = " and ".join(dict.fromkeys(model.name for model in problem.models))
    few = int(np.count_nonzero(~fits))
    many = counted(records, "record")
    advice = "name fewer or coarser columns, or lower the models' parameters"
    if fits.any():
        advice += f", or let {many} or more be left out (suppression limit)"
    return f"strata: {few:,} of {_strata(len(fits))}, with {many}, cannot satisfy {failing} by themselves; {advice}"


def _strata(count: int) -> str:
    return f"{count:,} stratum" if count == 1 else f"{count:,} strata"

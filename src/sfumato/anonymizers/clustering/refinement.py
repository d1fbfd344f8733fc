"""Refinement: a last step for any partition that moves records between neighbouring classes while the loss falls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import DISTANCES, DistinctRecords, Loss, collapse_records, neighbours_of
from sfumato.anonymizers.clustering.numeric import NumericSpace
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.refinement import Schedule, Surroundings, anneal, anneal_points, total_loss
from sfumato.kernels.jit import run_repeatedly
from sfumato.options import Checked, Limit
from sfumato.parallel import each

_NEAR = 16
"""Nearest records of each that proposals are made with."""

ROUNDS = 100
"""Proposals for each record, unless something else is said."""

_STRETCH = 4
"""Proposals for each record between two cuts of the table into pieces."""

PIECE = 15_000
"""Records of a piece: what one thread works on alone."""

_HOT, _COLD = 2.0, 0.02
"""Loss that is accepted with probability 1/e at the start and at the end, over a record's average loss at the start."""

_FAR, _COOL = 32, 0.05
"""Nearest records, and the loss accepted at the end, where time is counted and not rounds: more to choose from, and
less time for what hardly changes."""

_HOT_POINTS, _COLD_POINTS = 0.2, 0.002
"""The same of the squared error, which exchanges of near records change less."""

_MODULUS = 2**31 - 1


@dataclass(frozen=True)
class RefinementLimit(Checked):
    """How long to refine.

    `rounds`: proposals for each record; 0 for no refinement. Not read when there is a time limit. `seconds`: time
    limit. The result then depends on the speed of the machine. Raises ``PolicyError`` with every value that is no
    number of at least 0.
    """

    name: ClassVar[str] = "refinement"

    rounds: Annotated[int, Limit(0)]
    seconds: Annotated[float, Limit(0, unit="seconds")] | None = None

    @property
    def none(self) -> bool:
        """Whether nothing is to be done."""
        return not self.seconds if self.seconds is not None else self.rounds == 0

    def stretches(self) -> Iterator[tuple[float, float]]:
        """Yield for each stretch of proposals where it starts and ends, as shares of the whole effort."""
        if self.seconds is None:
            count = -(-self.rounds // _STRETCH)
            yield from ((number / count, (number + 1) / count) for number in range(count))
            return
        begun = time.monotonic()
        share = spent = 0.0
        while share < 1.0:
            yield share, min(1.0, share + spent)
            now = (time.monotonic() - begun) / self.seconds
            share, spent = now, now - share


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """A partition of the rows of distinct records: the class of each row, int32 (n,), ``0 .. count-1``."""

    class_of: NDArray[np.int32]
    count: int


def refine(
    problem: Problem,
    partition: Partition,
    *,
    loss: Loss = "ncp",
    rounds: int = ROUNDS,
    seconds: float | None = None,
    space: NumericSpace | None = None,
) -> Partition:
    """Lower the loss of a partition without breaking a model.

    * `problem`: what the partition solves.
    * `partition`: every class satisfies every model. One that suppresses records or decides what classes publish comes
      back as it is, with a note.
    * `loss`: what is lowered: ``"ncp"``, ``"loss"`` (LM) or ``"height"``.
    * `rounds`: proposals for each record.
    * `seconds`: time limit instead of `rounds`; the result then depends on the speed of the machine.
    * `space`: where records are points: the squared error of the classes there is lowered instead of `loss`.

    Returns: never with a higher loss, or squared error. See :func:`refine_classes`.
    """
    if partition.regions is not None or partition.suppressed:
        note = "Refinement left out: it needs a partition without suppressed records that leaves publishing open."
        return replace(partition, notes=(*partition.notes, note))
    start = feasible(problem)[0]
    records = collapse_records(start, DISTANCES[loss])
    classes = Classes(partition.class_of[records.rows], partition.count)
    points = None if space is None else _points(records, space)
    better, notes = refine_classes(records, classes, RefinementLimit(rounds, seconds), points)
    return records.partition(better.class_of, better.count, (*partition.notes, *notes))


def refine_classes(
    records: DistinctRecords, classes: Classes, effort: RefinementLimit, points: NDArray[np.float64] | None = None
) -> tuple[Classes, tuple[str, ...]]:
    """Lower the loss by simulated annealing over small changes; returns the classes and what to tell the steward.

    A record moves to the class of a record near it, or changes places with a member of that class; a whole class is
    dissolved into those around; a class is founded of near records that their classes can spare. A change that makes
    the loss grow is accepted now and then, ever more rarely. Every class satisfies every model all the time.

    The table is cut into pieces of neighbouring classes, which share nothing, so that threads can take one each; after
    every stretch of proposals it is cut elsewhere. Where it is cut and what is proposed does not depend on the threads.
    With `points`, float64 (m, d) of the distinct records, the squared error is lowered, and no class is dissolved or
    founded. With `rounds` the result is the same on every machine. Cost O(q) for most proposals, O(q g k) with g near
    records where classes are dissolved; O((q + g) n) memory. The result is never worse than what was handed in.
    """
    if effort.none or records.height == 0:
        return classes, ()
    problem = records.start.problem
    before = _loss(records, classes, points)
    if before <= 0.0:
        return classes, ()
    near = neighbours_of(records, _NEAR if effort.seconds is None else _FAR, 1).near
    better = classes
    end = _COLD if effort.seconds is None else _COOL
    hot, cold = (_HOT, end) if points is None else (_HOT_POINTS, _COLD_POINTS)
    for number, (share, until) in enumerate(effort.stretches()):
        heat = tuple(hot * (cold / hot) ** part * before / records.height for part in (share, until))
        with run_repeatedly(
            anneal if points is None else anneal_points, round((1.0 - share) / (until - share)) if until > share else 1
        ):
            better = _stretch(records, better, near, number, (heat[0], heat[1]), points)
        problem.progress("refining", round(100 * until), 100)
    after = _loss(records, better, points)
    if after >= before:
        return classes, ()
    saved = 100 * (1 - after / before)
    what = "loss" if points is None else "squared error"
    return better, (f"Refinement lowered the {what} by {saved:.1f} %, from {classes.count} classes to {better.count}.",)


def _points(records: DistinctRecords, space: NumericSpace) -> NDArray[np.float64]:
    """Place the distinct records, float64 (m, d)."""
    table = records.start.problem.table
    first = np.cumsum(records.weights) - records.weights
    return np.ascontiguousarray(space.points(table.codes[records.rows[first]]))


def _squared_error(points: NDArray[np.float64], classes: Classes) -> float:
    """Sum squared distances of all rows to the mean of their class; points : float64 (n, d)."""
    sizes = np.bincount(classes.class_of, minlength=classes.count)
    error = 0.0
    for axis in points.T:
        means = np.bincount(classes.class_of, weights=axis, minlength=classes.count) / sizes
        error += float(np.sum((axis - means[classes.class_of]) ** 2))
    return error


def _loss(records: DistinctRecords, classes: Classes, points: NDArray[np.float64] | None) -> float:
    if points is not None:
        return _squared_error(points[records.record_of], classes)
    rules = records.start.rules.arrays
    return float(
        total_loss(
            records.codes, records.values, records.record_of, classes.class_of, classes.count, records.loss, rules
        )
    )


def _stretch(
    records: DistinctRecords,
    classes: Classes,
    near: NDArray[np.int32],
    number: int,
    heat: tuple[float, float],
    points: NDArray[np.float64] | None,
) -> Classes:
    """Make some proposals for each record, piece by piece."""
    record_of = records.record_of
    pieces = _pieces(records, classes, number)
    class_of = classes.class_of.copy()
    start = records.start

    def work(place: int) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
        rows = pieces[place]
        own, local = np.unique(class_of[rows], return_inverse=True)
        number_of = local.astype(np.int32)
        room = max(len(own), len(rows) // start.smallest) + 2
        starts = np.searchsorted(record_of[rows], np.arange(len(records.weights) + 1))
        own_part = (
            records.codes, records.values, record_of[rows], number_of, room, Surroundings(starts, near), start.smallest,
            start.ruled, Schedule(_STRETCH * len(rows), *heat, _seed(number, place)), records.loss, start.rules.arrays,
        )  # fmt: skip
        if points is None:
            anneal(*own_part)
        else:
            anneal_points(points, *own_part)
        return rows, number_of, room

    taken = 0
    for rows, local, room in each(work, range(len(pieces)), start.problem.threads):
        class_of[rows] = local + np.int32(taken)
        taken += room
    present, numbers = np.unique(class_of, return_inverse=True)
    return Classes(numbers.astype(np.int32), len(present))


def _pieces(records: DistinctRecords, classes: Classes, number: int) -> list[NDArray[np.int64]]:
    """Cut the classes into pieces of neighbours; the rows of each piece, rising.

    They are put in order by the search tree, or by the mean code of one attribute and then the tree, another one every
    time, so that classes which a border parts are together the next time.
    """
    record_of = records.record_of
    count = max(1, round(len(record_of) / PIECE))
    if count == 1:
        return [np.arange(len(record_of))]
    sizes = np.bincount(classes.class_of, minlength=classes.count)
    width = records.codes.shape[1]
    columns = [record_of, *(records.codes[record_of, place] for place in range(width))]
    keys = [columns[0]] if number % (width + 1) == 0 else [columns[0], columns[number % (width + 1)]]
    means = [np.bincount(classes.class_of, weights=key, minlength=classes.count) / sizes for key in keys]
    order = np.lexsort(means)
    piece_of = np.empty(classes.count, dtype=np.int64)
    piece_of[order] = (np.cumsum(sizes[order]) - sizes[order]) * count // len(record_of)
    of_row = piece_of[classes.class_of]
    by_piece = np.argsort(of_row, kind="stable")
    return [rows for rows in np.split(by_piece, np.searchsorted(of_row[by_piece], np.arange(1, count))) if len(rows)]


def _seed(number: int, place: int) -> int:
    return 1 + (48271 * (1 + 104729 * number + 1299709 * place)) % (_MODULUS - 1)

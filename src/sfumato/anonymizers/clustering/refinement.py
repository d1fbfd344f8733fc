"""Refinement: a last step for any partition that moves records between neighbouring classes while the loss falls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.distinct import DISTANCES, DistinctRecords, Loss, collapse_records, neighbours_of
from sfumato.anonymizers.clustering.numeric import NumericSpace
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.kernels.clustering.rebuilding import rebuild, rebuild_ranges
from sfumato.kernels.clustering.refinement import Schedule, Surroundings, anneal, total_loss
from sfumato.kernels.jit import run_repeatedly
from sfumato.options import Checked, Limit
from sfumato.parallel import each

_NEAR = 16
"""Nearest records of each that changes are made with."""

ROUNDS = 100
"""Proposals for each record, unless something else is said."""

_STRETCHES, _LATER = 7, 9
"""Stretches of a cooling, between which the table is cut. `ROUNDS` has room for four coolings of points; of ranges for
the first and a later one, which has so many stretches of single changes and as many in which classes are built."""

_STRETCH = 4
"""Rounds of a stretch of the first two coolings of ranges; each later one is twice as long as the one before."""

_SHARED = 0.4
"""Share of the records that are built anew in a round, which then takes as long as one of single changes."""

PIECE, PIECE_OF_POINTS = 15_000, 3_000
"""Records of a piece: what one thread works on alone. Every class of points there is looked at for its neighbours."""

_HEATS = ((2.0, 0.02), (0.8, 0.2))
"""Loss that is accepted with probability 1/e at the start of a cooling and at its end, over a record's average loss
when it begins: of single changes in the first cooling, and in those that classes built anew will follow."""

_HEAT_BUILT, _HEATS_POINTS = (0.2, 0.01), ((1.5, 0.05), (1.5, 0.1))
"""The same of classes built anew, over the average of the classes that a change is about; and of points, in turn."""

_MODULUS = 2**31 - 1


@dataclass(frozen=True)
class RefinementLimit(Checked):
    """How long to refine: `rounds` for each record, or `seconds`: the machine's speed then decides what comes out."""

    name: ClassVar[str] = "refinement"

    rounds: Annotated[int, Limit(0)]
    seconds: Annotated[float, Limit(0, unit="seconds")] | None = None

    @property
    def none(self) -> bool:
        """Whether nothing is to be done."""
        return not self.seconds if self.seconds is not None else self.rounds == 0

    def stretches(self, points: bool) -> Iterator[Stretch]:
        """Yield the stretches that the effort has room for: always the first ones of the same row."""
        begun, done = time.monotonic(), 0
        for number, (kind, rounds, part) in enumerate(_row_of_points() if points else _row_of_ranges()):
            spent = time.monotonic() - begun
            # The next stretch takes as long for each round as all before did.
            ends = spent * (1 + rounds / (2 * done)) if done else 0.0
            share = ends / self.seconds if self.seconds else done / self.rounds
            if share >= 1.0:
                return
            done += rounds
            yield Stretch(number, kind, rounds, done, part, share)


def _row_of_points() -> Iterator[tuple[int, int, tuple[float, float]]]:
    """Yield kind, rounds and part of a cooling of each stretch, without end."""
    for cooling in count():
        yield from ((cooling % 2, 2**cooling, part) for part in _parts(_STRETCHES))


def _row_of_ranges() -> Iterator[tuple[int, int, tuple[float, float]]]:
    """Yield the same for ranges: at first single changes alone, for which a new machine has to compile less."""
    yield from ((0, _STRETCH, part) for part in _parts(_STRETCHES))
    for cooling in count():
        for kind in (1, 2):
            yield from ((kind, _STRETCH * 2**cooling, part) for part in _parts(_LATER))


def _parts(many: int) -> Iterator[tuple[float, float]]:
    return ((place / many, (place + 1) / many) for place in range(many))


@dataclass(frozen=True)
class Stretch:
    """Rounds between two cuts of the table."""

    number: int
    kind: int  # of changes: the one with this number
    rounds: int
    done: int  # rounds, with these and all before
    part: tuple[float, float]  # of a cooling
    share: float  # of the effort, before

    @property
    def renews(self) -> bool:
        """Whether it begins anew from the best classes so far."""
        return self.part[0] == 0.0 and self.kind < 2  # 2 goes on from what single changes left


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
    """Lower the loss of a partition without breaking a model; see :func:`refine_classes`.

    One that suppresses records or decides what classes publish comes back as it is, with a note. With `space` the
    squared error is lowered in place of `loss`. Never with a higher one. With `seconds` the result depends on the speed
    of the machine.
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
    """Lower the loss by simulated annealing over changes of near classes; returns classes and notes for the steward.

    A record moves to the class of a record near it, or changes places with a member of that class; a whole class is
    dissolved into those around; a class is founded of near records that their classes can spare. Then two to five near
    classes are thrown together and built anew; with `points`, float64 (m, d) of the distinct records, that is all, and
    the squared error is lowered. A change that makes the loss grow is accepted now and then, ever more rarely. Such a
    cooling begins again from the best classes so far, twice as long each time. Every class satisfies every model all
    the time.

    The table is cut into pieces of neighbouring classes, which share nothing, so that threads can take one each; after
    every stretch it is cut elsewhere. Where it is cut and what is proposed depends neither on the threads nor on the
    effort: a larger one makes the same changes first and goes on, and so never loses more. With `rounds` the result is
    the same on every machine. Cost O(q) for most single changes, O(q g k) with g near records where classes are
    dissolved; O(q k²), for points O(k² + k d), for each record that is shared out. O((q + g) n) memory. The result is
    never worse than what was handed in.
    """
    if effort.none or records.height == 0:
        return classes, ()
    before = _loss(records, classes, points)
    if before <= 0.0:
        return classes, ()
    changes = _of_ranges(records) if points is None else _of_points(records, points)
    least, better, now, done = before, classes, classes, 0
    for stretch in effort.stretches(points is not None):
        records.start.problem.progress("refining", round(100 * stretch.share), 100)
        if stretch.renews:
            now, average = better, least / records.height
        now = _stretch(records, now, stretch, changes[stretch.kind], average)
        after, done = _loss(records, now, points), stretch.done
        if after < least:
            least, better = after, now
    records.start.problem.progress("refining", 100, 100)
    if least >= before:
        return classes, ()
    saved = 100 * (1 - least / before)
    what = "loss" if points is None else "squared error"
    timed = [f"Refinement took {done} rounds; as many give the same again."] if effort.seconds is not None else []
    return better, (
        f"Refinement lowered the {what} by {saved:.1f} %, from {classes.count} classes to {better.count}.", *timed
    )  # fmt: skip


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


@dataclass(frozen=True)
class _Changes:
    """A kind of changes: what makes them, for records of a piece, their classes, the number of these and a schedule."""

    kernel: Callable[..., object]
    piece: int
    heat: tuple[float, float]  # at the start of a cooling and at its end
    absolute: bool  # whether that is over the average loss of all
    make: Callable[[NDArray[np.int32], NDArray[np.int32], int, Schedule], object]


def _of_ranges(records: DistinctRecords) -> list[_Changes]:
    start, values = records.start, records.values.astype(np.int32)
    near = neighbours_of(records, _NEAR, 1).near
    rules, loss = start.rules.arrays, records.loss

    def around(owners: NDArray[np.int32]) -> Surroundings:
        return Surroundings(np.searchsorted(owners, np.arange(len(records.weights) + 1)), near)

    def propose(owners: NDArray[np.int32], class_of: NDArray[np.int32], count: int, schedule: Schedule) -> None:
        anneal(
            records.codes, records.values, owners, class_of, max(count, len(owners) // start.smallest) + 2,
            around(owners), start.smallest, start.ruled, schedule, loss, rules,
        )  # fmt: skip

    def build(owners: NDArray[np.int32], class_of: NDArray[np.int32], count: int, schedule: Schedule) -> int:
        shared = schedule._replace(steps=math.ceil(_SHARED * schedule.steps))
        return rebuild_ranges(
            records.codes, owners, class_of, count, around(owners), start.smallest, start.ruled, shared, loss, values,
            rules,
        )  # fmt: skip

    single = [_Changes(anneal, PIECE, heat, True, propose) for heat in _HEATS]
    return [*single, _Changes(rebuild_ranges, PIECE, _HEAT_BUILT, False, build)]


def _of_points(records: DistinctRecords, points: NDArray[np.float64]) -> list[_Changes]:
    start, values = records.start, records.values.astype(np.int32)

    def make(owners: NDArray[np.int32], class_of: NDArray[np.int32], count: int, schedule: Schedule) -> int:
        return rebuild(
            points, values, owners, class_of, count, start.smallest, start.ruled, schedule, start.rules.arrays
        )

    return [_Changes(rebuild, PIECE_OF_POINTS, heat, False, make) for heat in _HEATS_POINTS]


def _stretch(
    records: DistinctRecords, classes: Classes, stretch: Stretch, changes: _Changes, average: float
) -> Classes:
    """Make some changes for each record, piece by piece; `average`: loss of a record when the cooling began."""
    record_of = records.record_of
    pieces = _pieces(records, classes, stretch.number, changes.piece)
    class_of = classes.class_of.copy()
    hot, cold = changes.heat
    warm, cool = ((average if changes.absolute else 1.0) * hot * (cold / hot) ** part for part in stretch.part)

    def work(place: int) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
        rows = pieces[place]
        own, local = np.unique(class_of[rows], return_inverse=True)
        number_of = local.astype(np.int32)
        schedule = Schedule(stretch.rounds * len(rows), warm, cool, _seed(stretch.number, place))
        changes.make(record_of[rows], number_of, len(own), schedule)
        return rows, number_of, int(number_of.max()) + 1

    taken = 0
    with run_repeatedly(changes.kernel, len(pieces)):
        for rows, local, room in each(work, range(len(pieces)), records.start.problem.threads):
            class_of[rows] = local + np.int32(taken)
            taken += room
    present, numbers = np.unique(class_of, return_inverse=True)
    return Classes(numbers.astype(np.int32), len(present))


def _pieces(records: DistinctRecords, classes: Classes, number: int, size: int) -> list[NDArray[np.int64]]:
    """Cut the classes into pieces of neighbours; the rows of each piece, rising."""
    # They are put in order by the search tree, or by the mean code of one attribute and then the tree, another one
    # every time, so that classes which a border parts are together the next time.
    record_of = records.record_of
    count = max(1, round(len(record_of) / size))
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

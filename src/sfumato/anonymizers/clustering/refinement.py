"""Refinement: a last step for any partition that moves records between neighbouring classes while the loss falls."""

from __future__ import annotations

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
from sfumato.kernels.clustering.rebuilding import rebuild
from sfumato.kernels.clustering.refinement import Schedule, Surroundings, anneal, total_loss
from sfumato.kernels.jit import run_repeatedly
from sfumato.options import Checked, Limit
from sfumato.parallel import each

_NEAR, _FAR = 16, 32
"""Nearest records of each that proposals are made with; so many where time is counted and not rounds."""

ROUNDS = 100
"""Proposals for each record, unless something else is said."""

_STRETCH = 4
"""Proposals for each record between two cuts of the table into pieces."""

_STRETCHES = 7
"""Stretches of each cooling, between which the table is cut; of one round in the first, then twice as long each time.
Four coolings are what `ROUNDS` has room for."""

PIECE, PIECE_OF_POINTS = 15_000, 3_000
"""Records of a piece: what one thread works on alone. Every class of points there is looked at for its neighbours."""

_HOT, _COLD, _COOL = 2.0, 0.02, 0.05
"""Loss that is accepted with probability 1/e at the start of a cooling and at its end, over a record's average loss at
the start of all; the last where time is counted, and less is spent on what hardly changes."""

_HOT_POINTS, _COLD_POINTS = 1.5, 0.05
"""The same of the squared error, over the average of the classes that a change is about."""

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

    def stretches(self) -> Iterator[Stretch]:
        """Yield the stretches that the effort has room for: always the first ones of the same row."""
        begun, done = time.monotonic(), 0
        for number in count():
            cooling, part = divmod(number, _STRETCHES)
            rounds = 2**cooling
            spent = time.monotonic() - begun
            # The next stretch takes as long for each round as all before did.
            ends = spent * (1 + rounds / (2 * done)) if done else 0.0
            share = ends / self.seconds if self.seconds else done / self.rounds
            if share >= 1.0:
                return
            done += rounds
            yield Stretch(number, rounds, done, (part / _STRETCHES, (part + 1) / _STRETCHES), share)

    def one_cooling(self) -> Iterator[Stretch]:
        """Yield the stretches of one cooling that is as long as the effort."""
        total = -(-self.rounds // _STRETCH)
        begun, share, spent = time.monotonic(), 0.0, 0.0
        for number in count():
            until = (number + 1) / total if self.seconds is None else min(1.0, share + spent)
            yield Stretch(number, _STRETCH, (number + 1) * _STRETCH, (share, until), share)
            reached = until if self.seconds is None else (time.monotonic() - begun) / self.seconds
            if reached >= 1.0:
                return
            share, spent = reached, reached - share


@dataclass(frozen=True)
class Stretch:
    """Rounds between two cuts of the table."""

    number: int
    rounds: int
    done: int  # rounds, with these and all before
    part: tuple[float, float]  # of a cooling
    share: float  # of the effort, before


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
    """Lower the loss by simulated annealing over changes of near classes; returns classes and notes for the steward.

    A record moves to the class of a record near it, or changes places with a member of that class; a whole class is
    dissolved into those around; a class is founded of near records that their classes can spare. With `points`, float64
    (m, d) of the distinct records, the squared error is lowered: two to five near classes are thrown together and built
    anew. A change that makes the loss grow is accepted now and then, ever more rarely. One such cooling is as long as
    the effort; with `points` it begins again from the best classes so far, twice as long each time. Every class
    satisfies every model all the time.

    The table is cut into pieces of neighbouring classes, which share nothing, so that threads can take one each; after
    every stretch it is cut elsewhere. Where it is cut and what is proposed does not depend on the threads. With
    `points` it does not depend on the effort either: a larger one makes the same changes first and goes on, and so
    never loses more. With `rounds` the result is the same on every machine. Cost O(q) for most proposals, O(q g k) with
    g near records where classes are dissolved; for points O(d) for each class of the piece and O(k² + k d) for each
    record that is shared out. O((q + g) n) memory. The result is never worse than what was handed in.
    """
    if effort.none or records.height == 0:
        return classes, ()
    before = _loss(records, classes, points)
    if before <= 0.0:
        return classes, ()
    changes = _proposals(records, effort, before / records.height) if points is None else _rebuilding(records, points)
    least, better, now, done = before, classes, classes, 0
    for stretch in effort.one_cooling() if points is None else effort.stretches():
        records.start.problem.progress("refining", round(100 * stretch.share), 100)
        now = _stretch(records, now if stretch.part[0] or points is None else better, stretch, changes)
        after, done = _loss(records, now, points), stretch.done
        if after < least or points is None:
            least, better = after, now
    records.start.problem.progress("refining", 100, 100)
    if least >= before:
        return classes, ()
    saved = 100 * (1 - least / before)
    what = "loss" if points is None else "squared error"
    return better, (
        f"Refinement lowered the {what} by {saved:.1f} %, from {classes.count} classes to {better.count}.",
        *(
            [f"Refinement took {done} rounds; as many give the same again."]
            if effort.seconds is not None and points is not None
            else []
        ),
    )


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
    make: Callable[[NDArray[np.int32], NDArray[np.int32], int, Schedule], object]


def _proposals(records: DistinctRecords, effort: RefinementLimit, average: float) -> _Changes:
    start, timed = records.start, effort.seconds is not None
    near = neighbours_of(records, _FAR if timed else _NEAR, 1).near

    def make(owners: NDArray[np.int32], class_of: NDArray[np.int32], count: int, schedule: Schedule) -> None:
        around = Surroundings(np.searchsorted(owners, np.arange(len(records.weights) + 1)), near)
        anneal(
            records.codes, records.values, owners, class_of, max(count, len(owners) // start.smallest) + 2, around,
            start.smallest, start.ruled, schedule, records.loss, start.rules.arrays,
        )  # fmt: skip

    return _Changes(anneal, PIECE, (_HOT * average, (_COOL if timed else _COLD) * average), make)


def _rebuilding(records: DistinctRecords, points: NDArray[np.float64]) -> _Changes:
    start, values = records.start, records.values.astype(np.int32)

    def make(owners: NDArray[np.int32], class_of: NDArray[np.int32], count: int, schedule: Schedule) -> int:
        return rebuild(
            points, values, owners, class_of, count, start.smallest, start.ruled, schedule, start.rules.arrays
        )

    return _Changes(rebuild, PIECE_OF_POINTS, (_HOT_POINTS, _COLD_POINTS), make)


def _stretch(records: DistinctRecords, classes: Classes, stretch: Stretch, changes: _Changes) -> Classes:
    """Make some changes for each record, piece by piece."""
    record_of = records.record_of
    pieces = _pieces(records, classes, stretch.number, changes.piece)
    class_of = classes.class_of.copy()
    hot, cold = changes.heat
    warm, cool = (hot * (cold / hot) ** part for part in stretch.part)

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
    """Cut the classes into pieces of neighbours; the rows of each piece, rising.

    They are put in order by the search tree, or by the mean code of one attribute and then the tree, another one every
    time, so that classes which a border parts are together the next time.
    """
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

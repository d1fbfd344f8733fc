"""The engine of a Spark cluster: records counted there, classes found here by the unchanged algorithms.

Parts of a problem as tasks on Spark's workers.

A task is a pure function of one part. It may be lost, repeated, or run twice at the same time: every attempt finds the
same solution, and nothing is drawn in it but from the seed that the part brings along.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem, SolvesParts
from sfumato.classes.partition import Partition
from sfumato.engines import LocalEngine
from sfumato.errors import InputError, SfumatoError
from sfumato.table.large.batches import NO_TYPES, ROWS
from sfumato.table.sources.spark import COUNT, NO_WORKERS, SparkSource, asking_spark

# A table on Spark as batches of rows: counted there where that is all that a release needs of it.
#
# Letters: n records, m distinct ones.


@dataclass(frozen=True, eq=False, repr=False)
class SparkBatches:
    """The records of a table on Spark; see :class:`~sfumato.table.large.batches.BatchSource`.

    Spark counts how many records are alike in all columns, the m counts come here, and each is given back as so many
    records. Records that are alike are interchangeable, and stand together. They come once, so that nothing can change
    between two passes; there must be as many as Spark has said before.
    """

    source: SparkSource
    repeats: bool = True  # whether records are worth counting; else they are streamed as they are
    # whether records stand in rising order of their values, column by column; else the order is any
    sorted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.source.names

    @property
    def is_text(self) -> bool:
        """Whether every value arrives as text."""
        return self.source.is_text

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time. Raises ``InputError`` when Spark goes away or fails."""
        if not self.repeats and not self.sorted:
            for frame in self.source.streamed(names):
                if frame.height:
                    yield _named(frame, names, texts)
            return
        for counted in self.source.counted(names, sorted=self.sorted):
            counts = counted.drop_in_place(COUNT).to_numpy()
            columns = _named(counted, names, texts)
            for groups in spread_counts(counts, ROWS):
                yield [column.gather(groups) for column in columns]


def spread_counts(counts: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Yield the number of each group as often as it counts, at most so many at a time; int64."""
    stops = np.cumsum(counts)
    for start in range(0, int(stops[-1]) if len(stops) else 0, most):
        stop = min(start + most, int(stops[-1]))
        first, last = np.searchsorted(stops, (start, stop - 1), side="right")
        within = np.clip(stops[first : last + 1], start, stop)
        yield np.repeat(np.arange(first, last + 1), np.diff(within, prepend=start))


def _named(frame: pl.DataFrame, names: Sequence[str], texts: Mapping[str, pl.DataType]) -> list[pl.Series]:
    columns = [column.alias(name) for column, name in zip(frame.get_columns(), names, strict=True)]
    return [
        column.cast(texts[column.name]) if column.name in texts and column.dtype == pl.String else column
        for column in columns
    ]


Part = TypeVar("Part")
Result = TypeVar("Result")

WAVE = 48 << 20
"""Bytes of parts that are sent at a time, about."""
SCHEMA = "place bigint, solution binary, trouble string"
LIBRARIES = ("sfumato", "numpy", "numba", "polars")

_ABSENT, _UNEQUAL, _REFUSED = "absent", "unequal", "refused"
_TOLD = {
    _ABSENT: "Spark's workers do not have sfumato; nothing was published. Install there the version that is here",
    _UNEQUAL: "Spark's workers have other versions of Python, sfumato, numpy, numba or polars than are here. "
    "Classes might differ, so nothing was published. Install equal versions",
}


def library_versions() -> tuple[str, ...]:
    """Return what must be equal here and on workers, so that ties of floating-point numbers are broken alike."""
    return (".".join(platform.python_version_tuple()[:2]), *map(_version, LIBRARIES))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def run_on_spark(
    session: Any, solve: Callable[[Part], Result], parts: Iterable[Part], *, wave: int = WAVE
) -> Iterator[tuple[int, Result]]:
    """Solve parts on Spark's workers; each solution comes with the place of its part.

    `solve`: can be pickled. `parts`: can be pickled, each by itself; asked for as they are sent. `wave`: bytes that are
    sent at a time, about. Raises ``InputError`` when workers have no sfumato, or another version, or cannot do it, or
    when Spark goes away. Raises ``SfumatoError``: what solving raises.
    """
    sent: list[tuple[int, bytes]] = []
    solver = pickle.dumps(solve)
    for place, part in enumerate(parts):
        sent.append((place, pickle.dumps(part)))
        if sum(len(payload) for _, payload in sent) >= wave:
            yield from _solved(session, solver, sent)
            sent = []
    if sent:
        yield from _solved(session, solver, sent)


def _solved(session: Any, solve: bytes, sent: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    import pyarrow as pa

    places, payloads = zip(*sent, strict=True)
    with asking_spark(NO_WORKERS):
        frame = session.createDataFrame(pa.table({"place": places, "part": payloads}))
        # By value, which every attempt deals alike; as many partitions as parts, or one task would solve all.
        spread = frame.repartition(len(sent), "place")
        solutions = spread.mapInArrow(_task(solve, library_versions()), SCHEMA).toArrow().to_pylist()
    if sorted(solution["place"] for solution in solutions) != list(places):
        raise InputError(NO_WORKERS)
    for solution in solutions:
        if solution["trouble"] == _REFUSED:
            raise _error(solution["solution"])
        if solution["trouble"]:
            raise InputError(_TOLD[solution["trouble"]])
        yield solution["place"], pickle.loads(solution["solution"])


def _error(payload: bytes) -> SfumatoError:
    kind, problems = pickle.loads(payload)
    error: SfumatoError = kind(*problems)
    return error


def _task(solve: bytes, names: tuple[str, ...]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    absent, unequal, refused = _ABSENT, _UNEQUAL, _REFUSED

    # Sent by value, so that a worker without sfumato can run it, and say so.
    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pickle

        import pyarrow as pa

        trouble, solver = "", None
        try:
            # Its own module by name: what a worker has, not what was sent.
            from sfumato.engines.spark import library_versions
            from sfumato.errors import SfumatoError

            trouble = "" if library_versions() == names else unequal
        except ImportError:
            trouble = absent

        def solved(payload: bytes) -> tuple[bytes, str]:
            nonlocal solver
            if trouble:
                return b"", trouble
            solver = solver or pickle.loads(solve)
            try:
                return pickle.dumps(solver(pickle.loads(payload))), ""
            except SfumatoError as error:
                return pickle.dumps((type(error), error.problems)), refused

        for batch in batches:
            for place, payload in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                solution, note = solved(payload)
                columns = [pa.array([place], pa.int64()), pa.array([solution], pa.binary()), pa.array([note])]
                yield pa.RecordBatch.from_arrays(columns, ["place", "solution", "trouble"])

    return task


# The engine whose parts are solved by Spark's workers.


@dataclass(frozen=True, eq=False, repr=False)
class SparkEngine(LocalEngine):
    """Encode and write here, and have parts solved on workers; see :class:`~sfumato.engines.Engine`."""

    session: Any

    def solve(self, anonymizer: Anonymizer, problem: Problem) -> Partition:
        """Solve a problem: its blocks on workers, else here."""
        if not isinstance(anonymizer, SolvesParts):
            return anonymizer.solve(problem)
        from sfumato.anonymizers.parts import solve_in_parts

        return solve_in_parts(anonymizer, problem, partial(run_on_spark, self.session))

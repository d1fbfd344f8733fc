"""Parts of a problem as tasks on Spark's workers.

A task is a pure function of one part. It may be lost, repeated, or run twice at the same time: every attempt finds the
same solution, and nothing is drawn in it but from the seed that the part brings along.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from sfumato.errors import InputError, SfumatoError
from sfumato.table.sources.spark import NO_WORKERS, asking_spark

Part = TypeVar("Part")
Result = TypeVar("Result")

WAVE = 48 << 20
"""Bytes of parts that are sent at a time, about."""
SCHEMA = "place bigint, solution binary, trouble string"
LIBRARIES = ("sfumato", "numpy", "numba", "polars")

_ABSENT, _UNEQUAL, _REFUSED = "absent", "unequal", "refused"
_TOLD = {
    _ABSENT: "Spark's workers do not have sfumato; nothing was published. Install there the version that is here",
    _UNEQUAL: "Spark's workers have other versions of Python, sfumato, numpy, numba or polars than are here, so that "
    "classes might differ; nothing was published. Install equal versions",
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

    Parameters
    ----------
    session
        A session of Spark.
    solve
        Can be pickled.
    parts
        Can be pickled, each by itself; asked for as they are sent.
    wave
        Bytes that are sent at a time, about.

    Raises
    ------
    InputError
        When workers have no sfumato, or another version, or cannot do it, or when Spark goes away.
    SfumatoError
        What solving raises.
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


def _task(solve: bytes, wanted: tuple[str, ...]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    absent, unequal, refused = _ABSENT, _UNEQUAL, _REFUSED

    # Sent by value, so that a worker without sfumato can run it, and say so.
    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pickle

        import pyarrow as pa

        trouble, solver = "", None
        try:
            from sfumato.engines.spark.tasks import library_versions
            from sfumato.errors import SfumatoError

            trouble = "" if library_versions() == wanted else unequal
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
                solution, told = solved(payload)
                columns = [pa.array([place], pa.int64()), pa.array([solution], pa.binary()), pa.array([told])]
                yield pa.RecordBatch.from_arrays(columns, ["place", "solution", "trouble"])

    return task

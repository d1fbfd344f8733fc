"""Frames of Spark: named columns that lie on other machines, asked for through what Spark Connect offers.

Nothing that Spark says is repeated: its messages show values, paths and parts of queries.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.errors import InputError, SfumatoError, raise_all

COUNT = "count"
CELLS = 1 << 20
"""Cells of a result that comes here at once, about."""
TOGETHER = 1 << 17
"""Rows that are handed on at a time, at least."""
GONE = (
    "the Spark server does not answer any more; nothing was published. See that it runs and can be reached, and run "
    "again"
)
FAILED = (
    "Spark could not do what it was asked; nothing was published. See whether it can read this table by itself, and "
    "what its own log says"
)
NO_WORKERS = (
    "the Python of Spark's workers could not do its part; nothing was published. It must be of the same minor version "
    "as the one here, and have pyarrow"
)

CHANGED = "the table on Spark changed while it was read; nothing was published. Have it left alone, and run again"


@dataclass(frozen=True, eq=False, repr=False)
class SparkSource:
    """A frame of Spark."""

    frame: Any
    names: tuple[str, ...]
    is_text: bool = False  # whether it was read from text, so that kinds must be read off it

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Take columns over the network into memory, and no others; ``InputError`` when Spark goes away or fails."""
        with asking_spark():
            table = self.chosen(names).toArrow()
        return [pl.Series(name, pl.from_arrow(table.column(place))) for place, name in enumerate(names)]

    def chosen(self, names: Sequence[str]) -> Any:
        """Return a frame of some columns, which are called by their places from 0 on."""
        return self.frame.select(*[self.frame[_quoted(name)].alias(str(place)) for place, name in enumerate(names)])

    def counted(self, names: Sequence[str], *, sorted: bool) -> Iterator[pl.DataFrame]:
        """Yield the distinct rows of some columns, and last how many records have each.

        `sorted`: whether they shall stand in rising order, missing values first; else the order is any. Raises
        ``InputError`` as :meth:`read`; also when there are other records than there were before.
        """
        with asking_spark():
            chosen = self.chosen(names)
            groups = chosen.groupBy(*chosen.columns).count()
            if sorted:
                groups = groups.orderBy(*[groups[_quoted(name)].asc_nulls_first() for name in chosen.columns])
            records = int(chosen.count())
        for frame in _whole(groups) if sorted else in_slices(groups, *chosen.columns):
            records -= int(frame[COUNT].sum())
            yield frame
        raise_all(InputError, [CHANGED] if records else [])

    def streamed(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of some columns, a batch at a time. Raises ``InputError`` as :meth:`counted`."""
        with asking_spark():
            chosen = self.chosen(names)
            records = int(chosen.count())
        for frame in _in_batches(chosen):
            records -= frame.height
            yield frame
        raise_all(InputError, [CHANGED] if records else [])


def in_slices(frame: Any, *keys: str, cells: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the rows of a frame in several results, each far below what a server allows of one; it is computed once.

    `keys`: columns by whose hash rows are shared out. `cells`: of a result, about; 0 takes the usual number.
    """
    with held_there(frame) as held:
        with asking_spark():
            slices = max(1, -(-int(held.count()) * len(frame.columns) // (cells or CELLS)))
        for number in range(slices):
            yield from _whole(held if slices == 1 else held.where(_share(keys, slices) == number))


def _share(keys: Sequence[str], slices: int) -> Any:
    from pyspark.sql import functions

    return functions.pmod(functions.xxhash64(*(_quoted(key) for key in keys)), functions.lit(slices))


@contextmanager
def held_there(frame: Any) -> Iterator[Any]:
    """Have a frame kept on the disks of the cluster for a while; what is lost there is computed again."""
    from pyspark import StorageLevel

    with asking_spark():
        held = frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield held
    finally:
        # A server that is gone keeps nothing.
        with suppress(InputError), asking_spark():
            held.unpersist()


def _in_batches(frame: Any) -> Iterator[pl.DataFrame]:
    """Yield the rows of a frame as its partitions come; all at once where workers have no Python for that."""
    import pyarrow as pa

    began, held = False, list[pl.DataFrame]()
    try:
        with asking_spark(NO_WORKERS):
            for batch in pa.RecordBatchReader.from_stream(frame):
                rows = pl.from_arrow(batch)
                assert isinstance(rows, pl.DataFrame)
                began = True
                held.append(rows)
                # Servers send some thousand rows at a time, which are hardly worth a step.
                if sum(each.height for each in held) >= TOGETHER:
                    yield pl.concat(held)
                    held = []
        if held:
            yield pl.concat(held)
    except InputError:
        if began:
            raise
        yield from _whole(frame)


def _whole(frame: Any) -> Iterator[pl.DataFrame]:
    with asking_spark():
        rows = pl.from_arrow(frame.toArrow())
    assert isinstance(rows, pl.DataFrame)
    yield rows


def spark_source(frame: Any, *, is_text: bool = False, failed: str = FAILED) -> SparkSource:
    """Open a frame of Spark. Raises ``InputError`` when its columns cannot be asked for; `failed` says so."""
    if not hasattr(frame, "toArrow"):
        raise InputError("this client of Spark is too old; frames need version 4.0 or later")
    with asking_spark(failed):
        names = tuple(frame.columns)
    if not names:
        raise InputError("Spark finds no columns there; check the path, or the name of the table")
    return SparkSource(frame, names, is_text)


@contextmanager
def asking_spark(failed: str = FAILED) -> Iterator[None]:
    """Say in one sentence what went wrong while Spark was asked, with nothing of what Spark said of it.

    Raises ``InputError`` when anything did; `failed` is said of whatever is not the way to the server.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
            yield
    except SfumatoError:
        raise
    except (Exception, SystemExit) as error:
        # The client ends the program where it believes itself to be under test.
        raise InputError(GONE if _is_gone(error) else _stopped(error) or failed) from None


LIMITS = {
    "spark.driver.maxResultSize": "raise it where the server is started",
    "spark.connect.grpc.maxInboundMessageSize": "raise it where the server is started",
    "spark.rpc.message.maxSize": "raise it where the server is started",
    "spark.sql.broadcastTimeout": "raise it on the server",
    "spark.kryoserializer.buffer.max": "raise it where the server is started",
    "spark.executor.memoryOverhead": "workers need more memory",
    "spark.driver.memory": "the server needs more memory",
}
"""Settings of Spark that stop a job, and what is to be done."""


def _stopped(error: BaseException) -> str:
    """Say which setting of the server stopped a job, if Spark names one; of what it says nothing else is repeated."""
    said = str(error)
    for setting, cure in LIMITS.items():
        if setting.lower() in said.lower():
            return f"the Spark server stopped the job because of its setting {setting}; nothing was published; {cure}"
    return ""


def _is_gone(error: BaseException) -> bool:
    # The client wraps what its transport raises, or does not.
    message = f"{type(error).__name__} {error}"
    return any(
        sign in message for sign in ("UNAVAILABLE", "failed to connect", "Connection refused", "RETRIES_EXCEEDED")
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

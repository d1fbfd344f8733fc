"""Frames of Spark: named columns that lie on other machines, asked for through what Spark Connect offers.

Nothing that Spark says is repeated: its messages show values, paths and parts of queries.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.errors import InputError, SfumatoError, raise_all

COUNT = "count"
AT_ONCE = 3_000_000
"""Records whose counts are asked for at once; those of more come partition by partition."""
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
        at_once = sorted or records <= AT_ONCE
        for frame in _whole(groups) if at_once else _in_batches(groups):
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
        raise InputError(GONE if _is_gone(error) else failed) from None


def _is_gone(error: BaseException) -> bool:
    # The client wraps what its transport raises, or does not.
    message = f"{type(error).__name__} {error}"
    return any(
        sign in message for sign in ("UNAVAILABLE", "failed to connect", "Connection refused", "RETRIES_EXCEEDED")
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

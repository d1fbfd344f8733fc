"""Frames of polars, pandas and Arrow, and files of Parquet and Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import InputError, SfumatoError, raise_together
from sfumato.table.header import Header, repeated
from sfumato.table.sources.protocol import Family, Given, TableSource

# The order that a frame declares for the categories of a column: small before medium before large.


def with_declared_order(column: pl.Series, native: Any) -> pl.Series:
    """Return a column as polars has it, as an Enum where the library that it comes from declares an order.

    `native`: the same column in its own library: an ordered categorical of pandas or dictionary of Arrow has an order.
    """
    order = _categories(native) if isinstance(column.dtype, pl.Categorical) else None
    if order is None or not all(isinstance(category, str) for category in order):
        return column
    return column.cast(pl.Enum(order))


def _categories(native: Any) -> list[Any] | None:
    """Return the categories of a column in their declared order, or None if they have none."""
    dtype = getattr(native, "dtype", None)
    if dtype is not None and hasattr(dtype, "categories"):
        return list(dtype.categories) if getattr(dtype, "ordered", False) else None
    if not getattr(getattr(native, "type", None), "ordered", False):
        return None
    unified = native.unify_dictionaries() if hasattr(native, "unify_dictionaries") else native
    return list(unified.chunk(0).dictionary.to_pylist()) if unified.num_chunks else None


# The index of a pandas frame, which Arrow tables and Parquet files keep as columns like others.
#
# An index numbers the records in the order of the original, or names people. Nobody gave it a role, so that it is never
# published, not even where columns without a role are kept; a schema may name it like any column.


def index_columns(metadata: Mapping[Any, Any] | None) -> frozenset[str]:
    """Return the columns that were the index of a pandas frame, as the metadata of an Arrow schema say."""
    written = (metadata or {}).get("pandas") or (metadata or {}).get(b"pandas")
    try:
        columns = json.loads(written or "{}").get("index_columns", [])
    except (ValueError, AttributeError):
        return frozenset()
    return frozenset(name for name in columns if isinstance(name, str))


def without_index(source: Any, roles: Collection[str]) -> tuple[str, ...]:
    """Return the names of a source's columns but for those of an index that have no role."""
    index: frozenset[str] = getattr(source, "index", frozenset())
    return tuple(name for name in source.names if name in roles or name not in index)


@dataclass(frozen=True, eq=False, repr=False)
class FrameSource:
    """Names of the columns of a frame, and how to get them."""

    column: Callable[[str], pl.Series]  # takes a name, returns the column as polars has it
    names: tuple[str, ...]
    index: frozenset[str] = frozenset()  # those that were the index of a pandas frame

    is_text = False
    """Values have types of their own."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Convert columns to polars. Raises ``InputError``: naming every column whose values are of mixed types."""
        columns, errors = [], list[SfumatoError]()
        for name in names:
            try:
                # Not by selecting: a name like `*` would be taken for a pattern.
                columns.append(self.column(name))
            except Exception:
                # pandas and Arrow raise many kinds of errors here, and most of their messages show values.
                text = f"column {name!r} has values of mixed types; convert it to one type"
                errors.append(InputError(text))
        raise_together(errors)
        return columns


def frame_source(frame: object) -> FrameSource:
    """Accept a frame that narwhals knows; ``InputError`` when it is none, or names of columns are not text."""
    frame = _collected(frame)
    names = list(getattr(frame, "column_names", getattr(frame, "columns", [])))
    if not all(isinstance(name, str) for name in names):
        raise InputError("the names of the columns must be text; rename the columns")
    several = repeated(names)
    if several:
        # By number: a frame that was read from a file without header has a record for names.
        listed = Header(tuple(names), frozenset()).listed([i for i, name in enumerate(names) if name in several])
        raise InputError(f"several columns have the same name: {listed}; rename them")
    if isinstance(frame, pl.DataFrame):
        return FrameSource(frame.get_column, tuple(names))
    import narwhals as nw  # only where it is needed: importing it takes as long as importing half of numpy

    named = _index_names(frame)
    if named:
        frame = frame.reset_index()  # type: ignore[attr-defined]
        names = [*named, *names]
    try:
        native = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise InputError(
            "not a table: give the path of a CSV or Parquet file, or a polars, pandas or Arrow frame"
        ) from None

    def column(name: str) -> pl.Series:
        values = native.get_column(name)
        plain = _plain_pandas(values.to_native())
        return with_declared_order(values.to_polars(), values.to_native()) if plain is None else plain.alias(name)

    index = index_columns(getattr(getattr(frame, "schema", None), "metadata", None))
    return FrameSource(column, tuple(names), index | {name for name in named if name in names})


def _collected(frame: Any) -> Any:
    """Return a frame of what holds its records otherwise: a lazy frame, an array of NumPy, columns or records."""
    if isinstance(frame, pl.LazyFrame):
        try:
            return frame.collect()
        except Exception:
            # A query may fail in many ways, and messages may show values.
            raise InputError("the query of the lazy frame failed; run its .collect() by itself") from None
    fields = getattr(getattr(frame, "dtype", None), "names", None)
    try:
        if fields and isinstance(frame, np.ndarray):
            return pl.DataFrame(dict(_fields(frame)))
        if (isinstance(frame, Mapping) and frame) or _are_records(frame):
            return pl.DataFrame(frame, infer_schema_length=None)
    except Exception:
        raise InputError(
            "columns have values of mixed types, or are not equally long; make each column one type"
        ) from None
    return pl.from_arrow(frame) if type(frame).__name__ == "RecordBatch" else frame


def _fields(array: Any, before: str = "") -> Iterator[tuple[str, pl.Series]]:
    """Yield the fields of a structured array of NumPy, those inside of others as ``who.age``."""
    for name in array.dtype.names:
        values = array[name]
        if values.dtype.names:
            yield from _fields(values, f"{before}{name}.")
            continue
        mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        plain = np.asarray(values)
        # Polars knows days, and spans and moments of some units alone.
        if plain.dtype.kind in "mM" and np.datetime_data(plain.dtype)[0] != "D":
            plain = plain.astype(f"{plain.dtype.kind}8[us]")
        series = pl.Series(plain.astype(plain.dtype.newbyteorder("=")))
        yield f"{before}{name}", series if mask is None else series.set(pl.Series(mask), None)


def _are_records(frame: object) -> bool:
    return isinstance(frame, list) and bool(frame) and all(isinstance(record, Mapping) for record in frame)


def _index_names(frame: object) -> list[str]:
    """Return the names of the index of a pandas frame, none where a part of it has no name or that of a column."""
    index = getattr(frame, "index", None)
    names = list(getattr(index, "names", ()))
    columns = list(getattr(frame, "columns", ()))
    return names if all(isinstance(name, str) and name not in columns for name in names) else []


def _plain_pandas(values: Any) -> pl.Series | None:
    """Return intervals of pandas as their text, and periods as their first day; None for all else."""
    kind = type(getattr(values, "dtype", None)).__name__
    if str(getattr(values, "type", "")).startswith("run_end_encoded"):
        import pyarrow.compute as pc  # few tables of Arrow have runs

        return pl.concat([pl.Series(pc.run_end_decode(part)) for part in values.chunks])
    if kind == "SparseDtype":
        return pl.Series(np.asarray(values))
    if kind.startswith("Object") and len({str(value.tzinfo) for value in values if hasattr(value, "tzinfo")}) > 1:
        raise TypeError  # one type for all would move some to another day
    categories = getattr(getattr(values, "dtype", None), "categories", None)
    if kind == "PeriodDtype":
        return pl.Series(values.dt.start_time.dt.date.to_list(), dtype=pl.Date)
    if kind == "IntervalDtype" or type(getattr(categories, "dtype", None)).__name__ == "IntervalDtype":
        texts = [None if value != value else str(value) for value in values.to_list()]
        order = [str(category) for category in categories] if categories is not None else None
        return pl.Series(texts, dtype=pl.Enum(order) if order else pl.String)
    return None


FRAMES = Family(recognizes=lambda given: given.path is None, open=lambda given: frame_source(given.value))


# Files of Arrow (Feather): the file form and the stream form.


_FILE, _OLD, _STREAM = b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"


@dataclass(frozen=True, eq=False, repr=False)
class ArrowFileSource:
    """Names of the columns of an Arrow file, and how to read them."""

    path: Path
    names: tuple[str, ...]
    is_stream: bool

    is_text = False
    """Values have types of their own."""
    is_columnar = True
    """Columns cost no more one by one than together."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns, raising InputError when the file is damaged."""
        frame = _read(self.path, [self.names.index(name) for name in names], is_stream=self.is_stream)
        return [frame.get_column(name) for name in names]


def _read(path: Path, columns: list[int] | None, *, is_stream: bool, rows: int | None = None) -> pl.DataFrame:
    try:
        if is_stream:
            return pl.read_ipc_stream(path, columns=columns, n_rows=rows)
        return pl.read_ipc(path, columns=columns, n_rows=rows)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError("the Arrow file is damaged or cut off; get a whole copy") from None


def _open(given: Given) -> TableSource:
    if given.start.startswith(_OLD):
        raise InputError("this is a Feather file of the first version; write it again with a newer library")
    is_stream = given.start.startswith(_STREAM)
    return ArrowFileSource(given.file, tuple(_read(given.file, None, is_stream=is_stream, rows=0).columns), is_stream)


ARROW = Family(recognizes=lambda given: given.start.startswith((_FILE, _OLD, _STREAM)), open=_open, layout=frozenset())


_MAGIC = b"PAR1"


@dataclass(frozen=True, eq=False, repr=False)
class ParquetSource:
    """Names of the columns of a Parquet file, and how to read them."""

    path: Path
    names: tuple[str, ...]
    index: frozenset[str] = frozenset()  # those that were the index of a pandas frame

    is_text = False
    """Values have types of their own."""
    is_columnar = True
    """Columns cost no more one by one than together."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns. Raises ``InputError`` when the file is damaged."""
        try:
            # By number, for the same reason.
            numbers = [self.names.index(name) for name in names]
            return pl.read_parquet(self.path, columns=numbers, glob=False).get_columns()
        except (pl.exceptions.PolarsError, OSError):
            raise _damaged() from None


def parquet_source(path: Path) -> ParquetSource:
    """Open a Parquet file and read the names of its columns. Raises ``InputError`` when the file is damaged."""
    try:
        return ParquetSource(path, tuple(pl.read_parquet_schema(path)), index_columns(pl.read_parquet_metadata(path)))
    except (pl.exceptions.PolarsError, OSError):
        raise _damaged() from None


def _damaged() -> InputError:
    return InputError("the Parquet file is damaged or cut off; get a whole copy")


PARQUET = Family(
    recognizes=lambda given: given.start.startswith(_MAGIC),
    open=lambda given: parquet_source(given.file),
    layout=frozenset(),
)

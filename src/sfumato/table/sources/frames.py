"""Frames of polars, pandas and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.table.declared_order import with_declared_order
from sfumato.table.header import Header, repeated
from sfumato.table.pandas_index import index_columns
from sfumato.table.problems import raise_together
from sfumato.table.sources.protocol import Family


@dataclass(frozen=True, eq=False, repr=False)
class FrameSource:
    """Names of the columns of a frame, and how to get them.

    Attributes
    ----------
    column : callable
        Takes a name, returns the column as polars has it.
    names : tuple of str
    index : frozenset of str
        Those that were the index of a pandas frame.
    """

    column: Callable[[str], pl.Series]
    names: tuple[str, ...]
    index: frozenset[str] = frozenset()

    is_text = False
    """Values have types of their own."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Convert columns to polars.

        Raises
        ------
        InputError
            Naming every column whose values are of mixed types.
        """
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
    """Accept a frame of any library that narwhals knows.

    Raises
    ------
    InputError
        When it is not a frame, or has columns whose names are not text.
    """
    if isinstance(frame, pl.LazyFrame):
        raise InputError("a lazy frame holds no records yet; call .collect() on it")
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

    try:
        native = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise InputError(
            "not a table: give the path of a CSV or Parquet file, or a polars, pandas or Arrow frame"
        ) from None

    def column(name: str) -> pl.Series:
        values = native.get_column(name)
        return with_declared_order(values.to_polars(), values.to_native())

    return FrameSource(column, tuple(names), index_columns(getattr(getattr(frame, "schema", None), "metadata", None)))


FAMILY = Family(recognizes=lambda given: given.path is None, open=lambda given: frame_source(given.value))

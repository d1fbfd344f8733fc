"""Cells that begin like a formula: a spreadsheet may run them when somebody opens a published CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.numbers import counted
from sfumato.published import Published
from sfumato.published.protocol import named

Formulas = Literal["keep", "escape", "refuse"]

BEGINS = "=, +, -, @, a tab or a carriage return"
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def formula_problems(formulas: object) -> list[str]:
    """Say what is wrong with a setting of what is to be done about formulas."""
    return [] if formulas in get_args(Formulas) else ["formulas must be 'keep', 'escape' or 'refuse'"]


def formula_cells(published: Published) -> dict[str, int]:
    """Count the cells of all tables that begin like a formula; see :func:`cells_like_formulas`."""
    return cells_like_formulas(published.tables.values())


def cells_like_formulas(frames: Iterable[pl.DataFrame], *, names: bool = True) -> dict[str, int]:
    """Count the cells of text columns that begin like a formula and are no number, with `names` those of columns."""
    found: dict[str, int] = {}
    for frame in frames:
        for column in frame:
            cells = _cells(column) if isinstance(column.dtype, _TEXTS) else 0
            if count := cells + (len(names_like_formulas([column.name])) if names else 0):
                found[column.name] = found.get(column.name, 0) + count
    return found


def names_like_formulas(names: Iterable[str]) -> list[str]:
    """Return the names of columns that begin like a formula."""
    listed = list(names)
    return pl.Series(listed, dtype=pl.String).filter(_begins(pl.Series(listed, dtype=pl.String))).to_list()


def values_like_formulas(values: Mapping[str, pl.Series]) -> dict[str, NDArray[np.bool_]]:
    """Tell which values of each text column begin like a formula; columns of which none does are left out."""
    begins = {name: _begins(column) for name, column in values.items() if isinstance(column.dtype, _TEXTS)}
    return {name: found.to_numpy() for name, found in begins.items() if found.any()}


def formula_lines(cells: Mapping[str, int]) -> list[str]:
    """Say how many cells begin like a formula, without showing any."""
    return [
        f"column {named([name])}: {counted(count, 'cell')} beginning with {BEGINS}, which a spreadsheet may run"
        for name, count in cells.items()
    ]


def without_formulas(published: Published, formulas: Formulas) -> Published:
    """Return the tables as they are to be written: as they are, or with ``'`` before every cell that is like a formula.

    Raises ``PolicyError`` when formulas are refused and there are some; when a column's name is like one, which cannot
    be escaped; or when an escaped value is one that the column has already.
    """
    tables = published.tables
    without = frames_without_formulas(tables, formulas)
    return published if without is tables else type(published).assemble(without, published.structure)


def frames_without_formulas(tables: Mapping[str, pl.DataFrame], formulas: Formulas) -> Mapping[str, pl.DataFrame]:
    """Return tables as :func:`without_formulas` does; the same mapping where nothing is like a formula, or is kept."""
    cells = {} if formulas == "keep" else cells_like_formulas(tables.values())
    if not cells:
        return tables
    if formulas == "refuse":
        raise PolicyError(*(f"{line}; correct them, or escape them" for line in formula_lines(cells)))
    escaped = {name: pl.DataFrame([_escaped(column) for column in frame]) for name, frame in tables.items()}
    raise_all(
        PolicyError,
        [
            f"column {named([column.name])}: its name begins like a formula, or an escaped value is there already; "
            "rename it, or correct its values"
            for name, frame in tables.items()
            for column, new in zip(frame, escaped[name], strict=True)
            if _begins(pl.Series([column.name])).any() or column.n_unique() != new.n_unique()
        ],
    )
    return escaped


def escaped_rows(rows: list[list[Any]]) -> list[list[Any]]:
    """Escape the values of a hierarchy's rows as the cells are escaped."""
    leaves = _escaped(pl.Series("leaf", [row[0] for row in rows], dtype=pl.String)).to_list()
    return [[leaf, *row[1:]] for leaf, row in zip(leaves, rows, strict=True)]


def _cells(column: pl.Series) -> int:
    """Count the cells that begin like a formula, looking at each distinct text once."""
    if isinstance(column.dtype, pl.Enum) and not _begins(column.dtype.categories).any():
        return 0
    counts = column.alias("text").value_counts(name="cells")
    return int(counts["cells"].filter(_begins(counts["text"])).sum())


def _begins(column: pl.Series) -> pl.Series:
    texts = column.cast(pl.String)
    return (texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)).fill_null(False)


def _escaped(column: pl.Series) -> pl.Series:
    if not isinstance(column.dtype, _TEXTS):
        return column
    begins = _begins(column)
    if not begins.any():
        return column
    texts = column.cast(pl.String)
    return pl.select(pl.when(begins).then("'" + texts).otherwise(texts).alias("cells")).to_series().alias(column.name)

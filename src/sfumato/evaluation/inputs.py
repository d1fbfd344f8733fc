"""What measures take beside an original: a generalized table, sampling weights, sensitive columns to encode."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.numbers import counted
from sfumato.published import PublishedTable
from sfumato.published.protocol import structure_names
from sfumato.release.description import Description
from sfumato.release.opening import OpenedRelease, ReleaseFolder
from sfumato.release.release import Release
from sfumato.release.table_files import refuse_too_large
from sfumato.table.schema import Schema
from sfumato.table.table import Table


def generalized_table(release: Release | OpenedRelease) -> PublishedTable:
    """Return the table of a release, or raise InputError when it is of another kind."""
    if not isinstance(release.published, PublishedTable):
        raise InputError(_refusal(release.published.kind))
    return release.published


def generalized_file(folder: ReleaseFolder) -> Path:
    """Return the data file of a release folder, or the folder of its parts.

    Raises InputError when the release is of another kind, or its parts do not fit into memory.
    """
    if folder.description.kind != PublishedTable.kind:
        raise InputError(f"{folder.path}: {_refusal(folder.description.kind)}")
    if "data" not in folder.files:
        raise VerificationError("release.json: is damaged; it names no data file")
    refuse_too_large(folder.path, folder.files["data"])
    return folder.path / folder.files["data"].file


def quasi_identifying_of(description: Description) -> tuple[str, ...]:
    """Return the quasi-identifying columns of a generalized table, or raise VerificationError."""
    try:
        return structure_names(description.structure, "quasi_identifying")
    except ValueError:
        raise VerificationError("release.json: is damaged; it names no quasi-identifying columns") from None


def _refusal(kind: str) -> str:
    return f"the release is of kind {kind}; this needs a generalized table, with its equivalence classes"


def positive_weights(column: pl.Series) -> NDArray[np.float64]:
    """Read a column of sampling weights, float64 (n,).

    Raises InputError when a record has no weight, or one that is not a finite number above 0.
    """
    values = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    numbers = values.fill_null(math.nan).to_numpy()
    problems = []
    for wrong, what, advice in (
        (np.isnan(numbers), "no number", "give every record its weight"),
        (np.isfinite(numbers) & (numbers <= 0), "a weight that is not above 0", "weights count people"),
        (np.isinf(numbers), "an infinite weight", "weights count people"),
    ):
        if wrong.any():
            count, first = counted(int(wrong.sum()), "record"), int(wrong.argmax()) + 1
            problems.append(f"weights: column {column.name!r} has {count} with {what}, first in row {first}; {advice}")
    raise_all(InputError, problems)
    return numbers


def weights_in(frame: pl.DataFrame, name: str, where: str) -> NDArray[np.float64]:
    """Read the weights of a frame's records.

    Raises InputError when the frame has no such column, or not every record has a weight above 0.
    """
    if name not in frame.columns:
        raise InputError(f"weights: column {name!r} is not in {where}; give it a role, such as insensitive")
    return positive_weights(frame[name])


def private_part(table: Table) -> Table:
    """Return the sensitive columns alone, as columns to encode."""
    # One by one: polars takes a name like `*` for a pattern when it selects.
    columns = pl.DataFrame([table.frame.get_column(name) for name in table.schema.sensitive])
    kinds = {name: table.kinds[name] for name in table.schema.sensitive}
    return Table(columns, Schema(quasi_identifying=table.schema.sensitive), kinds, table.source)

"""From pieces to count tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.marginals.pieces import piece_texts
from sfumato.anonymizers.marginals.search import PublishedValues
from sfumato.classes.grouping import group_records
from sfumato.kernels.grouping import first_records
from sfumato.published.bucketized import COUNT
from sfumato.published.marginal import MarginalTables
from sfumato.table.encoding import EncodedTable
from sfumato.table.exact_names import exactly
from sfumato.table.table import Table


def publish_marginals(
    columns: Sequence[tuple[str, ...]], cut: PublishedValues, encoded: EncodedTable, table: Table
) -> MarginalTables:
    """Write a table for each set, its rows sorted by what they say.

    Attributes none of whose values were joined are published as they are; sensitive ones always.
    """
    names = {name for column in columns for name in column}
    sensitive = tuple(attribute.name for attribute in encoded.sensitive if attribute.name in names)
    frames = tuple(_counted(column, cut, encoded, table) for column in columns)
    return MarginalTables(frames, tuple(columns), sensitive)


def _counted(column: tuple[str, ...], cut: PublishedValues, encoded: EncodedTable, table: Table) -> pl.DataFrame:
    place_of = {attribute.name: place for place, attribute in enumerate(encoded.attributes)}
    secret_of = {attribute.name: place for place, attribute in enumerate(encoded.sensitive)}
    keys = [
        cut.piece_of[:, place_of[name]] if name in place_of else encoded.sensitive_codes[:, secret_of[name]]
        for name in column
    ]
    cells, count = group_records(np.column_stack([key.astype(np.int64) for key in keys]))
    example = first_records(cells, count)
    written = [
        _written(place_of[name], example, cut, encoded, table) if name in place_of else table.frame[name][example]
        for name in column
    ]
    frame = pl.DataFrame(written).with_columns(pl.Series(COUNT, np.bincount(cells, minlength=count).astype(np.int64)))
    texts = [
        exactly(name).cast(pl.String) if frame.schema[name] == pl.Categorical else exactly(name) for name in column
    ]
    return frame.sort(texts, nulls_last=True)


def _written(
    place: int, example: NDArray[np.int64], cut: PublishedValues, encoded: EncodedTable, table: Table
) -> pl.Series:
    attribute = encoded.attributes[place]
    used = np.unique(cut.piece_of[:, place]).tolist()
    if all(low == high for low, high in (cut.pieces[place][piece] for piece in used)):
        return table.frame[attribute.name][example]
    texts = piece_texts(attribute, cut.pieces[place])
    written: pl.Series = texts[cut.piece_of[example, place]]
    return written.alias(attribute.name)

"""A table on disk as its published records show it: those that were left out leave no trace in types and kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engines.disk.laying_out import BLOCK
from sfumato.release.own_types import own_values
from sfumato.table.large.coding import LargeTable
from sfumato.table.large.values import CodedColumn
from sfumato.table.schema import text_of


def kept_of(large: LargeTable, class_of: NDArray[np.int32]) -> LargeTable:
    """Return the table with the values, counts and types that its published records have.

    Parameters
    ----------
    large
        All records; their codes stay where they are.
    class_of
        int32 (n,): -1 for records that are left out.

    Notes
    -----
    One pass over the codes. Values that only left out records have become null.
    """
    quasi = _kept(large, large.quasi_identifying, large.codes, class_of)
    sensitive = _kept(large, large.sensitive, large.sensitive_codes, class_of)
    return replace(large, quasi_identifying=tuple(quasi), sensitive=tuple(sensitive))


def kept_texts_of(kept: LargeTable) -> Callable[[str], pl.Series]:
    """Return what gives the values of a quasi-identifying column, each once; `kept` is from :func:`kept_of`."""
    values = {column.attribute.name: column.values for column in kept.quasi_identifying}
    return lambda name: text_of(values[name].unique())


def _kept(
    large: LargeTable, columns: Sequence[CodedColumn], codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32]
) -> Iterator[CodedColumn]:
    for place, column in enumerate(columns):
        occurrences = _occurrences(codes, place, class_of, column.attribute.size + 1)
        # Of a Boolean mask polars takes null where nothing occurs.
        values = column.values.set(pl.Series(occurrences == 0), None)
        attribute = column.attribute
        if attribute.name in large.from_text:
            values, kind = own_values(values, attribute.kind, large.schema.sensitive.get(attribute.name))
            attribute = replace(attribute, kind=kind)
        yield replace(column, attribute=attribute, values=values, occurrences=occurrences[: attribute.cardinality])


def _occurrences(
    codes: NDArray[np.unsignedinteger], place: int, class_of: NDArray[np.int32], count: int
) -> NDArray[np.int64]:
    found = np.zeros(count, dtype=np.int64)
    for start in range(0, len(codes), BLOCK):
        own = codes[start : start + BLOCK, place]
        found += np.bincount(own[class_of[start : start + BLOCK] >= 0], minlength=count)
    return found

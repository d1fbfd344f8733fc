"""An order of sets that depends on nothing but what everybody has."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.row_order import in_name_order
from sfumato.table.sets.sets import Sets


def settled(sets: Sets) -> tuple[Sets, NDArray[np.int64]]:
    """Sort items by name where no hierarchy orders them, and records by their items, then by what stands beside them.

    Returns
    -------
    Sets
        The same for every order of records: those that stay tied are alike in everything.
    numpy.ndarray
        int64 (n,): the number of each record in the input.

    Notes
    -----
    Cost O(z log z).
    """
    by_name = _items_by_name(sets)
    packed = by_name.items.astype(">i4").tobytes()
    held = [packed[first:last] for first, last in pairwise((4 * by_name.starts).tolist())]
    if sets.beside is None:
        order = sorted(range(sets.height), key=held.__getitem__)
    else:
        texts = sets.beside.frame.select(pl.all().cast(pl.String))
        beside = [tuple((text is not None, text or "") for text in row) for row in texts.iter_rows()]
        order = sorted(range(sets.height), key=lambda record: (held[record], beside[record]))
    origin = np.array(order, dtype=np.int64)
    return by_name.take(origin), origin


def _items_by_name(sets: Sets) -> Sets:
    if sets.hierarchy is not None:
        return sets
    found = in_name_order(sets.starts, sets.items, sets.names)
    return replace(sets, items=found.labels, names=tuple(sets.names[place] for place in found.order))

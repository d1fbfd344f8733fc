"""An order of records that depends only on what they hold, not on the order in which they were read.

Letters: n records, q quasi-identifying and s sensitive attributes.

Records stand in the order of a hash of their codes. It is a hash rather than the codes themselves so that the first
records of any set of them are a fair sample of it. The hash depends on the numbers, whatever width they are stored in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from sfumato.randomness import GOLDEN, hashed
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

# Labels of records, such as items and rated issues, numbered by their names and not as they came.


class NameOrder(NamedTuple):
    """Rows of labels numbered by name: the number that each label had, and where each entry stood; none goes."""

    order: NDArray[np.int64]
    labels: NDArray[np.int32]
    places: NDArray[np.int64]


def in_name_order(starts: NDArray[np.int64], labels: NDArray[np.int32], names: Sequence[str]) -> NameOrder:
    """Sort labels by name, O(m log m + z). starts: int64 (n + 1,). labels: int32 (z,). names: length m."""
    from sfumato.kernels.ratings.rows import rows_of  # most tables have no such labels

    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    number_of = np.empty(len(order), dtype=np.int32)
    number_of[order] = np.arange(len(order))
    records = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    _, places = rows_of(records, number_of[labels], len(starts) - 1, len(order))
    return NameOrder(order, number_of[labels[places]], places)


_BLOCK = 1 << 13
"""Records that are hashed at a time, so that they stay in the cache."""
_COMPARED = 1 << 16
"""Records that are compared at a time."""


def content_hash(codes: NDArray[np.unsignedinteger]) -> NDArray[np.uint64]:
    """Return a fixed 64-bit hash of every row, equal in every version, on every machine, for every type; O(n · q)."""
    columns = np.arange(1, codes.shape[1] + 1, dtype=np.uint64)
    factors = hashed(columns * np.uint64(GOLDEN)) | np.uint64(1)
    hashes = np.empty(len(codes), dtype=np.uint64)
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        hashes[start : start + _BLOCK] = _mixed(block.astype(np.uint64) @ factors + np.uint64(GOLDEN))
    return hashes


def canonical_order(encoded: EncodedTable, table: Table | None = None) -> NDArray[np.int64]:
    """Return the records in an order that depends only on what they hold; int64 (n,).

    By the hash of quasi-identifying codes, of sensitive ones, the person where people count, then the codes, and last
    the insensitive columns of `table`. Equal quasi-identifying codes stand together. Records equal in everything keep
    their order. O(n (q + s)) and two sorts of n numbers.
    """
    rows = _sorted_inside(_unsorted(encoded.height), content_hash(encoded.codes))
    codes = encoded.codes
    if encoded.sensitive:
        rows = _sorted_inside(rows, content_hash(encoded.sensitive_codes))
        codes = np.concatenate([codes, encoded.sensitive_codes], axis=1)
    if encoded.apart is not None:
        # People are numbered by what their records hold.
        people = encoded.apart.numbers.astype(np.uint32)[:, None]
        rows = _sorted_inside(rows, content_hash(people))
        codes = np.concatenate([codes, people], axis=1)
    rows = _in_order(rows, codes)
    insensitive = [table.frame[name] for name in table.schema.insensitive] if table is not None else []
    return _settled_by_columns(rows, insensitive) if insensitive else rows.order


def order_rows(table: Table) -> Table:
    """Return a table whose records stand in an order that depends only on what they hold, its names included.

    So does what is drawn of them. Any stretch of them is a fair sample. Cost that of sorting all columns.
    """
    return table.take(settled_order(table.frame, table.people))


def settled_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a frame in such an order."""
    return frame[settled_order(frame)]


def settled_order(frame: pl.DataFrame, people: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
    """Order rows by a hash of their rank among all, equal ones by what all rows of their person hold; int64 (n,).

    people : integers (n,), a number for the person behind each row, which itself decides nothing; None: not told.
    """
    rank = _ranks(frame)
    hashes = _mixed(rank + np.uint64(GOLDEN))
    if people is None:
        return np.argsort(hashes, kind="stable")
    _, own = np.unique(people, return_inverse=True)
    held = np.zeros(int(own.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(held, own, hashes)
    # Of two people who hold the same, one comes first in all rows.
    place = np.empty(len(held), dtype=np.int64)
    place[np.argsort(held, kind="stable")] = np.arange(len(held))
    return np.lexsort((place[own], hashes))


def _ranks(frame: pl.DataFrame) -> NDArray[np.uint64]:
    """Return the place of each row among all, sorted by all columns, the same for equal ones; uint64 (n,)."""
    # Categories are compared as texts: their numbers may follow the order of the input.
    keys = frame.with_columns(cs.categorical().cast(pl.String))
    keys.columns = [str(place) for place in range(keys.width)]
    rows = keys.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64)).sort(keys.columns)
    alike = rows.select(pl.all_horizontal(pl.exclude("row").eq_missing(pl.exclude("row").shift(1))))
    rank = np.empty(frame.height, dtype=np.uint64)
    rank[rows["row"].to_numpy()] = np.cumsum(~alike.to_series().to_numpy())
    return rank


def rising_order(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Order numbers from 0 to below 2**32; equal ones keep their order; int64 (n,).

    Sixteen bits at a time are sorted by counting, which for dense numbers takes a third of the time of comparing them.
    """
    order = np.argsort((numbers & 0xFFFF).astype(np.uint16), kind="stable")
    if int(numbers.max(initial=0)) >> 16:
        order = order[np.argsort((numbers >> 16).astype(np.uint16)[order], kind="stable")]
    return order


def hash_order(codes: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
    """Order rows by hash, then by codes; equal ones keep their order; int64 (n,)."""
    return _in_hash_order(codes)[0]


def collapsed(
    codes: NDArray[np.unsignedinteger],
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64], NDArray[np.int32]]:
    """Collapse equal rows into one with a weight, in the order of :func:`hash_order`; and the row of each record.

    O(n · q) and a sort of n plain numbers; rows are compared whole. Memory 20 n bytes besides.
    """
    order, is_new = _in_hash_order(codes)
    record_of = np.empty(len(codes), dtype=np.int32)
    record_of[order] = np.cumsum(is_new, dtype=np.int32) - 1
    firsts = np.flatnonzero(is_new)
    return codes.take(order[firsts], axis=0), np.diff(np.append(firsts, len(codes))), record_of


def _in_hash_order(codes: NDArray[np.unsignedinteger]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Order rows by hash, then by codes, then as they came; and tell which are unlike the row before them."""
    order, is_new = _by_leading_bits(content_hash(codes))
    near = np.flatnonzero(~is_new)
    unlike = _unlike(codes, order, near)
    if unlike.any():
        # Other rows have the same leading bits: theirs are sorted by the whole hash and the codes.
        run, rows = _runs_at(near[unlike], np.flatnonzero(is_new), len(order))
        among = order[rows]
        own = codes[among]
        order[rows] = among[np.lexsort((among, *own.T[::-1], content_hash(own), run))]
        near = rows[~is_new[rows]]
        unlike = _unlike(codes, order, near)
    is_new[near] = unlike
    return order, is_new


def _runs_at(
    places: NDArray[np.int64], starts: NDArray[np.int64], height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all places of the runs that some places lie in, and the number of the run of each, int64."""
    runs = np.unique(np.searchsorted(starts, places, side="right")) - 1
    sizes = np.append(starts[1:], height)[runs] - starts[runs]
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(runs, sizes), np.repeat(starts[runs], sizes) + inside


def _by_leading_bits(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Order rows by as many bits of their hashes as their numbers leave room for; the hashes are overwritten."""
    # Plain numbers are sorted several times faster than places by their keys. Returns int64 (n,), and which rows differ
    # from the one before them in these bits, bool (n,).
    width = np.uint64(max(0, len(hashes) - 1).bit_length())
    hashes >>= width
    hashes <<= width
    hashes |= np.arange(len(hashes), dtype=np.uint64)
    hashes.sort()
    is_new = np.ones(len(hashes), dtype=np.bool_)
    np.greater(hashes[1:] ^ hashes[:-1], (np.uint64(1) << width) - np.uint64(1), out=is_new[1:])
    hashes &= (np.uint64(1) << width) - np.uint64(1)
    return hashes.view(np.int64), is_new


def _unlike(codes: NDArray[np.unsignedinteger], order: NDArray[np.int64], near: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which rows differ from the one before them, of those at some places of an order; bool."""
    unlike = np.empty(len(near), dtype=np.bool_)
    for start in range(0, len(near), _COMPARED):
        places = near[start : start + _COMPARED]
        # Several times faster than to index with places.
        rows, before = (codes.take(order[each], axis=0) for each in (places, places - 1))
        unlike[start : start + _COMPARED] = (rows != before).any(axis=1)
    return unlike


class _Rows(NamedTuple):
    """Rows while they are sorted. order: int64 (n,). run: uint64 (n,), rising, the same for rows still alike."""

    order: NDArray[np.int64]
    run: NDArray[np.uint64]

    @property
    def tied(self) -> NDArray[np.int64]:
        """Return the places of rows that are like a neighbour."""
        same = self.run[1:] == self.run[:-1]
        return np.flatnonzero(np.append(same, False) | np.append(False, same))


def _unsorted(height: int) -> _Rows:
    return _Rows(np.arange(height), np.zeros(height, dtype=np.uint64))


def _sorted_inside(rows: _Rows, keys: NDArray[np.uint64]) -> _Rows:
    """Sort alike rows by as many leading bits of their keys as the number of the run leaves room for."""
    taken = np.uint64(int(rows.run.max(initial=0)).bit_length())
    # Numpy shifts everything out where 64 bits are left.
    joined = rows.run << (np.uint64(64) - taken) | keys[rows.order] >> taken
    place = np.argsort(joined)
    return _Rows(rows.order[place], _runs_of(joined[place]))


def _runs_of(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.cumsum(np.append(False, keys[1:] != keys[:-1])[: len(keys)], dtype=np.uint64)


def _in_order(rows: _Rows, codes: NDArray[np.unsignedinteger]) -> _Rows:
    """Sort alike rows by their codes, and equal ones by their places in the table."""
    tied = rows.tied
    if not len(tied):
        return rows
    order, run = rows.order.copy(), rows.run
    among, alike = order[tied], run[tied]
    own = codes.take(among, axis=0)
    if np.any((own[1:] != own[:-1]).any(axis=1) & (alike[1:] == alike[:-1])):
        order[tied] = among[np.lexsort((among, *own.T[::-1], alike))]
        laid = codes.take(order, axis=0)
        differs = (laid[1:] != laid[:-1]).any(axis=1) | (run[1:] != run[:-1])
        return _Rows(order, np.cumsum(np.append(False, differs), dtype=np.uint64))
    # Plain numbers are sorted several times faster than places by their keys.
    width = np.uint64(len(order).bit_length())
    joined = alike << width | among.astype(np.uint64)
    joined.sort()
    order[tied] = joined & ((np.uint64(1) << width) - np.uint64(1))
    return _Rows(order, run)


def _settled_by_columns(rows: _Rows, columns: Sequence[pl.Series]) -> NDArray[np.int64]:
    """Sort alike rows by columns of any kind."""
    tied = rows.tied
    if not len(tied):
        return rows.order
    among = rows.order[tied]
    # Categories are compared as texts: their numbers may follow the order of the input.
    keys = [column[among].cast(pl.String) if column.dtype == pl.Categorical else column[among] for column in columns]
    named = [key.alias(str(place)) for place, key in enumerate(keys)]
    frame = pl.DataFrame([pl.Series("run", rows.run[tied]), *named, pl.Series("row", among)])
    order = rows.order.copy()
    order[tied] = frame.sort(frame.columns)["row"].to_numpy()
    return order


def _mixed(sums: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Stir sums in place (the last step of MurmurHash3); no two of them become equal."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        sums ^= sums >> np.uint64(33)
        sums *= np.uint64(factor)
    sums ^= sums >> np.uint64(33)
    return sums

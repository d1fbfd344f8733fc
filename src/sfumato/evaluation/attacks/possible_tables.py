"""All tables that agree with everything published, as an integer program of scipy, an optional dependency.

Letters: g groups of people with equal known values, b buckets, v sensitive values, x variables: how many of a group are
in a bucket with a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.pieces import Piece, alike, together
from sfumato.kernels.grouping import first_records

NODES = 2000
"""Most branches of one program; which ones are tried does not depend on the time there is."""


@dataclass(frozen=True, eq=False, repr=False)
class PossibleTables:
    """The program whose solutions are the tables that agree with a release.

    Attributes
    ----------
    group_of : numpy.ndarray
        int64 (m,): the group of each person.
    members : numpy.ndarray
        int64 (g,): people in each group.
    group, value : numpy.ndarray
        int64 (x,): of each variable.
    row, column : numpy.ndarray
        int64: the ones of the matrix of constraints.
    wanted : numpy.ndarray
        float64: what each constraint adds up to.
    """

    group_of: NDArray[np.int64]
    members: NDArray[np.int64]
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    wanted: NDArray[np.float64]

    def solution(self, cost: NDArray[np.float64] | None = None) -> NDArray[np.int64] | None:
        """Return one table, the cheapest by a cost of each variable; None if there is none, or it was not found.

        Returns
        -------
        numpy.ndarray or None
            int64 (x,).
        """
        if not len(self.group):
            return None
        optimize, sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
        shape = len(self.wanted), len(self.group)
        matrix = sparse.csr_array((np.ones(len(self.row)), (self.row, self.column)), shape=shape)
        found: Any = optimize.milp(
            np.zeros(len(self.group)) if cost is None else cost,
            integrality=np.ones(len(self.group)),
            bounds=optimize.Bounds(0, self.members[self.group]),
            constraints=optimize.LinearConstraint(matrix, self.wanted, self.wanted),
            options={"node_limit": NODES},
        )
        return np.rint(found.x).astype(np.int64) if found.status == 0 else None

    def certain(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Find the groups all of whose people have one value in every table.

        Returns
        -------
        tuple of numpy.ndarray or None
            int64 (g,) each: the value, −1 where several are possible or too many branches would have to be tried; and
            a value of each group in one of the tables. None if no table agrees.

        Notes
        -----
        One program for each group that has one value in the table that was found first.
        """
        first = self.solution()
        if first is None:
            return None
        named = np.full(len(self.members), -1, dtype=np.int64)
        width = int(self.value.max(initial=0)) + 1
        counts = added(self.group * width + self.value, first, len(self.members) * width).reshape(-1, width)
        likeliest: NDArray[np.int64] = counts.argmax(axis=1)
        open_groups = np.flatnonzero(counts.max(axis=1) == self.members)
        for group in open_groups:
            if named[group] >= 0 or counts[group, likeliest[group]] < self.members[group]:
                continue
            mine = (self.group == group) & (self.value == likeliest[group])
            fewest = self.solution(mine.astype(np.float64))
            if fewest is None:
                continue
            if fewest[mine].sum() == self.members[group]:
                named[group] = likeliest[group]
            else:
                # Whoever has another value in this table is settled, too.
                others = added(self.group * width + self.value, fewest, counts.size).reshape(counts.shape)
                counts = np.minimum(counts, others)
        return named, likeliest


def needed() -> None:
    """Raise PolicyError if scipy is not installed."""
    try:
        import_module("scipy.optimize")
    except ImportError:
        raise PolicyError(
            "reconstruction: integer programs need scipy, which is not installed; install sfumato[utility], which "
            "brings it"
        ) from None


def possible_tables(
    pieces: Sequence[Piece], people: pl.DataFrame, names: Sequence[str], sensitive: str, values: Sequence[str | None],
    most: int,
) -> PossibleTables | None:  # fmt: skip
    """Set up the program; None if it has more than `most` variables.

    Parameters
    ----------
    pieces
        The release: tables of values that share rows, inside buckets.
    people
        Everybody who is in it, with the values of `names`.
    names
        The known attributes.
    sensitive
        The attribute to find.
    values
        Its published values.

    Notes
    -----
    A variable is left out where a piece has no such row in the bucket. Each vector of a piece in each bucket gives one
    constraint: as many people as records. Cost O(g · b · v) at most, in vectors.
    """
    codes = [together(people[name], people[name])[0] for name in names]
    group_of, count = group_records(np.column_stack(codes).astype(np.uint32))
    one_of = people[first_records(group_of, count).tolist()]
    buckets = 1 + max(int(piece.bucket.max(initial=0)) for piece in pieces)
    held = [_held(piece, one_of, names, sensitive, values, buckets) for piece in pieces]
    there = np.ones((count, buckets, len(values)), dtype=np.bool_) if count * buckets * len(values) <= _CELLS else None
    if there is None:
        return None
    for each in held:
        there &= each.there(count)
    group, bucket, value = np.nonzero(there)
    if len(group) > most:
        return None
    members = np.bincount(group_of, minlength=count).astype(np.int64)
    rows, columns, wanted = [group.astype(np.int64)], [np.arange(len(group))], [members.astype(np.float64)]
    start = count
    for each in held:
        rows.append(start + each.cell(group, bucket, value))
        columns.append(np.arange(len(group)))
        wanted.append(each.records)
        start += len(each.records)
    return PossibleTables(
        group_of.astype(np.int64), members, group.astype(np.int64), value.astype(np.int64),
        np.concatenate(rows), np.concatenate(columns), np.concatenate(wanted),
    )  # fmt: skip


_CELLS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class _Held:
    """What a piece shows: records of each bucket and vector, and with each value if it has the sensitive attribute.

    vector : int64 (g,), the vector of each group. buckets, vectors, values : how many there are; one value if the piece
    does not have the sensitive attribute. records : float64 (buckets · vectors · values,).
    """

    vector: NDArray[np.int64]
    buckets: int
    vectors: int
    values: int
    records: NDArray[np.float64]

    def cell(self, group: NDArray[np.int64], bucket: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
        told = value if self.values > 1 else np.zeros_like(value)
        found: NDArray[np.int64] = (bucket * self.vectors + self.vector[group]) * self.values + told
        return found

    def there(self, groups: int) -> NDArray[np.bool_]:
        shown = self.records.reshape(self.buckets, self.vectors, self.values) > 0
        found: NDArray[np.bool_] = shown[:, self.vector[:groups], :].transpose(1, 0, 2)
        return found


def _held(
    piece: Piece, groups: pl.DataFrame, names: Sequence[str], sensitive: str, values: Sequence[str | None], buckets: int
) -> _Held:
    known = tuple(name for name in names if name in piece.label_of)
    rows, vector = alike(piece, groups, known)
    vectors = int(max(rows.max(initial=0), vector.max(initial=0))) + 1
    width, told = 1, np.zeros(len(rows), dtype=np.int64)
    if sensitive in piece.label_of and len(values) > 1:
        code_of = {text: code for code, text in enumerate(values)}
        width = len(values)
        told = np.array(
            [code_of[text] for text in piece.frame[piece.label_of[sensitive]].cast(pl.String).to_list()], dtype=np.int64
        )
    cells = (piece.bucket * vectors + rows) * width + told
    return _Held(vector, buckets, vectors, width, added(cells, piece.records, buckets * vectors * width))

"""What is believed of people with several records, from what is believed of each of these records.

Letters: m people, g groups, v published values.

Known records of one person that fit the same published records are a group: as many of these published records are the
person's, and nobody knows which. The chance that a value is among them is that of drawing it at least once without
putting back. Groups of one person are taken to be independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

_NONE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class RecordGroups:
    """Groups of known records.

    Attributes
    ----------
    person : numpy.ndarray
        int64 (g,): whose they are, rising; everybody has one.
    times : numpy.ndarray
        int64 (g,): known records of each group.
    shares : numpy.ndarray
        float64 (g, v): of the published records that fit the group, the share with each value; 0 if none fits.
    candidates : numpy.ndarray
        float64 (g,): published records that fit.
    group_of : numpy.ndarray
        int64 (r,): the group of each known record.
    """

    person: NDArray[np.int64]
    times: NDArray[np.int64]
    shares: NDArray[np.float64]
    candidates: NDArray[np.float64]
    group_of: NDArray[np.int64]

    def believed(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the chance that each value is among the person's, float64 (m, v).

        out : bool (m, v), values that the person certainly does not have.
        """
        shares, candidates = self.shares, self.candidates
        if out is not None:
            shares = np.where(out[self.person], 0.0, shares)
            left = shares.sum(axis=1)
            shares, candidates = shares / np.where(left > 0, left, 1)[:, None], candidates * left
        missed = 1 - shares
        for drawn in range(1, int(self.times.max(initial=1))):
            some = np.flatnonzero(self.times > drawn)
            held = shares[some] * candidates[some, None]
            others = np.maximum(candidates[some, None] - drawn - held, 0.0)
            missed[some] *= np.where(held > _NONE, others / np.maximum(others + held, _NONE), 1.0)
        believed: NDArray[np.float64] = 1 - np.multiply.reduceat(missed, self._starts, axis=0)
        # One minus one minus a share need not be the share.
        single = (self.known == 1)[self.person]
        believed[self.person[single]] = shares[single]
        return believed

    def under(self, node_of: NDArray[np.int64], nodes: int) -> RecordGroups:
        """Return the groups with nodes of a hierarchy for values; node_of : int64 (v,)."""
        return replace(self, shares=sums_under(self.shares, node_of, nodes))

    @property
    def rows(self) -> NDArray[np.float64]:
        """Return the chance that one of the person's records, drawn at random, has each value; float64 (m, v)."""
        sums = np.add.reduceat(self.shares * self.times[:, None], self._starts, axis=0)
        rows: NDArray[np.float64] = sums / self.known[:, None]
        return rows

    @property
    def owners(self) -> NDArray[np.int64]:
        """Return the person of each known record, int64 (r,)."""
        return self.person[self.group_of]

    @property
    def known(self) -> NDArray[np.int64]:
        """Return how many records are known of each person, int64 (m,)."""
        return np.add.reduceat(self.times, self._starts)

    @property
    def fitting(self) -> NDArray[np.float64]:
        """Return the published records that fit each person's groups, float64 (m,)."""
        return np.add.reduceat(self.candidates, self._starts)

    @property
    def _starts(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.append(True, self.person[1:] != self.person[:-1]))


def sums_under(shares: NDArray[np.float64], node_of: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
    """Add up the shares of the values under each node, float64 (rows, nodes)."""
    return np.stack([shares[:, node_of == node].sum(axis=1) for node in range(nodes)], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class OwnValues:
    """The sensitive values of m people, for scoring: a claim is right if any of a person's records has it.

    Attributes
    ----------
    person : numpy.ndarray
        int64 (n,): whose value each is.
    column : polars.Series
        n values.
    people : int
        m.
    """

    person: NDArray[np.int64]
    column: pl.Series
    people: int

    @classmethod
    def of_each(cls, column: pl.Series) -> OwnValues:
        """Return the values of people who have one record each."""
        return cls(np.arange(len(column)), column, len(column))

    def any(self, holds: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return 1 for whom it holds for any of their values, else 0; bool (n,) to float64 (m,)."""
        found: NDArray[np.float64] = (np.bincount(self.person[holds], minlength=self.people) > 0).astype(np.float64)
        return found

    def right(self, codes: NDArray[np.int64], claims: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return 1 for whom the claimed value, int64 (m,), is one of theirs, int64 (n,); else 0."""
        return self.any(codes == claims[self.person])

    def matrix(self, codes: NDArray[np.int64], values: int) -> NDArray[np.bool_]:
        """Tell which values each person has, bool (m, values); codes below 0 are none of them."""
        has = np.zeros((self.people, values), dtype=np.bool_)
        there = codes >= 0
        has[self.person[there], codes[there]] = True
        return has

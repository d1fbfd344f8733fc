"""How each combination of columns distinguishes and separates people. Letters: c classes, q columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.risk.adversaries import Keys
from sfumato.kernels.risk import combination_counts, minimal_uniques
from sfumato.numbers import counted, percent
from sfumato.parallel import each
from sfumato.randomness import GOLDEN, hashed

# Special uniques: records that a few columns single out (SUDA2), and their scores.


MOST_COLUMNS = 62
"""Most columns: a set of them fits into one machine word."""


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques of up to `size` columns, and the scores of the records that have them.

    `record`, `columns`: int64 (u,), of each, as bits. `estimate`: DIS: probability that a match with a sample unique is
    right.
    """

    names: tuple[str, ...]
    size: int
    records: int
    record: NDArray[np.int64]
    columns: NDArray[np.int64]
    estimate: float | None

    def __repr__(self) -> str:
        """Count what was found."""
        return f"SpecialUniques({len(self.record)} minimal uniques of up to {self.size} columns)"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of columns of each minimal unique, int64 (u,)."""
        return np.bitwise_count(self.columns).astype(np.int64)

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """SUDA score of each record, float64 (n,); 0 for records without a minimal unique.

        A minimal unique of k of the q columns counts (q − k)(q − k − 1) … (q − size): the fewer columns, the higher. A
        factor that would be 0 (if `size` is q) counts as 1.
        """
        scores: NDArray[np.float64] = np.bincount(self.record, weights=self._values, minlength=self.records)  # type: ignore[assignment]
        return scores

    @cached_property
    def contributions(self) -> NDArray[np.float64]:
        """Share of the sum of all scores to which each column contributes, float64 (q,); shares overlap."""
        total = max(float(self._values.sum()), 1.0)
        holding = [(self.columns >> column) & 1 for column in range(len(self.names))]
        return np.array([float((held * self._values).sum()) / total for held in holding])

    @cached_property
    def dis_scores(self) -> NDArray[np.float64] | None:
        """DIS-SUDA score of each record, float64 (n,) in [0, 1), or None without a sampling fraction.

        A record of score s gets a s / (1 + a s), with the one a that makes the mean over the records with a minimal
        unique equal to DIS.
        """
        if self.estimate is None:
            return None
        positive = self.scores > 0
        levels, counts = np.unique(self.scores[positive], return_counts=True)
        return _calibrated(self.scores, levels, counts, self.estimate)

    def of_size(self, size: int) -> tuple[int, int]:
        """Return how many minimal uniques have that many columns, and how many records have one of them."""
        chosen = self.sizes == size
        return int(chosen.sum()), len(np.unique(self.record[chosen]))

    def of_record(self, row: int) -> list[tuple[str, ...]]:
        """Return the columns of every minimal unique of the record with that row number (from 1)."""
        chosen = self.columns[self.record == row - 1]
        return [tuple(name for bit, name in enumerate(self.names) if int(bits) >> bit & 1) for bits in chosen]

    @property
    def found(self) -> int:
        """Number of records with a minimal unique."""
        return int(np.count_nonzero(self.scores))

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        width = len(self.names)
        value = [prod(max(1, width - factor) for factor in range(size, self.size + 1)) for size in range(self.size + 1)]
        return np.array(value, dtype=np.float64)[self.sizes]


def find_special_uniques(
    names: tuple[str, ...],
    columns: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    record_of: NDArray[np.int32],
    size: int,
    fraction: float | None,
) -> SpecialUniques:
    """Find every minimal sample unique of up to `size` columns.

    `names`: Names of the q columns, at most 62. `columns`: Unsigned (q, m): codes of the distinct records, one row for
    each column. `weights`: int64 (m,): records behind each. `record_of`: int32 (n,): distinct record of each record.
    `size`: 1 to q. `fraction`: Sampling fraction, for DIS; None leaves it out. Exact. Sets of columns are visited so
    that subsets come first. Each class splits the class of a shorter set, and is left alone once it holds one distinct
    record. Cost O(t · m) at most for t sets.

    *Departures.* The score is that of the manual of SUDA (Elliot and others, 2005) for a largest size that the user
    picks. DIS is Skinner and Elliot's θ = π n₁ / (π n₁ + 2 (1 − π) n₂) from the uniques n₁ and pairs n₂ of the table;
    spreading it over records is an addition here: see :attr:`SpecialUniques.dis_scores`.

    A. M. Manning, D. J. Haglin, J. A. Keane, "A recursive search algorithm for statistical disclosure assessment",
    2008; M. Elliot and others, "SUDA: a program for detecting special uniques", 2005; C. J. Skinner, M. J. Elliot, "A
    measure of disclosure risk for microdata", 2002.
    """
    owner, bits = minimal_uniques(columns, weights, size, int(columns.max(initial=0)) + 1)
    # A unique record is the only one behind its distinct record.
    row_of = np.empty(len(weights), dtype=np.int64)
    row_of[record_of] = np.arange(len(record_of))
    order = np.lexsort((bits, row_of[owner]))
    return SpecialUniques(names, size, len(record_of), row_of[owner][order], bits[order], _estimate(weights, fraction))


def _estimate(weights: NDArray[np.int64], fraction: float | None) -> float | None:
    if fraction is None:
        return None
    uniques, pairs = np.count_nonzero(weights == 1), np.count_nonzero(weights == 2)
    likely = fraction * uniques
    return float(likely / (likely + 2 * (1 - fraction) * pairs)) if likely else 0.0


def _calibrated(
    scores: NDArray[np.float64], levels: NDArray[np.float64], counts: NDArray[np.int64], mean: float
) -> NDArray[np.float64]:
    if not len(levels) or mean <= 0:
        return np.zeros(len(scores))
    if mean >= 1:
        return (scores > 0).astype(np.float64)
    low, high = 1e-300, 1e300
    for _ in range(200):
        middle = float(np.sqrt(low) * np.sqrt(high))
        odds = levels * middle
        reached = float((counts * (odds / (1 + odds))).sum()) / int(counts.sum())
        low, high = (middle, high) if reached < mean else (low, middle)
    odds = scores * low
    return odds / (1 + odds)


MOST = 2_000_000
"""Most combinations that are measured: nobody would read more."""


@dataclass(frozen=True)
class Combination:
    """How well some columns together distinguish records: distinct values per record, pairs that differ, uniques."""

    columns: tuple[str, ...]
    distinction: float
    separation: float
    uniques: int


@dataclass(frozen=True, eq=False, repr=False)
class Combinations:
    """Every combination of up to `size` of the columns, bool (t, q), and what :class:`Combination` says of it."""

    names: tuple[str, ...]
    size: int
    members: NDArray[np.bool_]
    distinction: NDArray[np.float64]
    separation: NDArray[np.float64]
    uniques: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of combinations."""
        return len(self.members)

    def ranked(self, most: int | None = None) -> list[Combination]:
        """Return combinations, at most `most`: first those that distinguish most; of equal ones, small ones first."""
        sizes = self.members.sum(axis=1)
        order = np.lexsort((np.arange(len(self)), sizes, -self.separation, -self.distinction))
        return [self[int(place)] for place in order[:most]]

    def smallest(self, distinction: float) -> list[Combination]:
        """Return the combinations that reach a distinction while none of their parts does."""
        reached = self.distinction >= distinction
        found: list[Combination] = []
        kept: list[NDArray[np.bool_]] = []
        for place in sorted(np.flatnonzero(reached), key=lambda place: int(self.members[place].sum())):
            members = self.members[place]
            if not any((members | other == members).all() for other in kept):
                kept.append(members)
                found.append(self[int(place)])
        return found

    def __getitem__(self, place: int) -> Combination:
        """Return one combination."""
        columns = tuple(self.names[column] for column in np.flatnonzero(self.members[place]))
        return Combination(
            columns, float(self.distinction[place]), float(self.separation[place]), int(self.uniques[place])
        )


def combination_count(columns: int, size: int) -> int:
    """Return the number of combinations of 1 to `size` of `columns` columns."""
    return sum(comb(columns, count) for count in range(1, size + 1))


def measure_combinations(
    names: tuple[str, ...],
    columns: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    size: int,
    threads: int = 1,
) -> Combinations:
    """Measure every combination of up to `size` columns.

    `names`: Names of the q columns. `columns`: Unsigned (q, m): codes of the distinct records, one row for each column.
    `weights`: int64 (m,): records behind each. `size`: 1 to q. `threads`: Combinations with different highest columns
    are counted at the same time. Every combination is counted exactly. The classes of a combination split those of the
    combination without its lowest column, and a class of one distinct record is never split again: cost O(t · m) at
    most, memory O(size · m) a thread.

    R. Motwani, Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", 2007: a column set is an
    α-distinct or α-separation quasi-identifier if these figures reach α.
    """
    members, parents = _tree(len(names), size)
    counts = np.zeros((len(members), 5), dtype=np.int64)
    offsets = _offsets(len(names), size)
    codes = int(columns.max(initial=0)) + 1

    def count(column: int) -> None:
        combination_counts(columns, weights, offsets, column, column + 1, codes, counts)

    # The largest branches come first, so that no thread is left with one of them at the end.
    each(count, reversed(range(len(names))), threads)
    _inherit(counts, members.sum(axis=1), parents)
    records = int(weights.sum())
    pairs = records * (records - 1) // 2
    classes = counts[:, 0] + counts[:, 2]
    together = counts[:, 1] + counts[:, 3]
    return Combinations(
        names,
        size,
        members,
        classes / records,
        1.0 - together / pairs if pairs else np.ones(len(members)),
        counts[:, 4],
    )


def _offsets(columns: int, size: int) -> NDArray[np.int64]:
    """Count nodes between a combination that may grow by r columns and its child with column j; int64 (q, s + 1)."""
    offsets = np.zeros((columns, size + 1), dtype=np.int64)
    for room in range(1, size + 1):
        below = [1 + combination_count(column, room - 1) for column in range(columns)]
        offsets[:, room] = np.cumsum([0, *below[:-1]])
    return offsets


def _tree(columns: int, size: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """List the columns of each combination in the order of the tree, and the combination that each extends."""
    members = np.zeros((combination_count(columns, size), columns), dtype=np.bool_)
    parents = np.full(len(members), -1, dtype=np.int64)
    node = 0
    todo = [(-1, column, size) for column in reversed(range(columns))]
    while todo:
        parent, column, room = todo.pop()
        if parent >= 0:
            members[node] = members[parent]
        members[node, column] = True
        parents[node] = parent
        if room > 1:
            todo.extend((node, lower, room - 1) for lower in reversed(range(column)))
        node += 1
    return members, parents


def _inherit(counts: NDArray[np.int64], sizes: NDArray[np.int64], parents: NDArray[np.int64]) -> None:
    """Pass classes of one distinct record on to all longer combinations of their branch."""
    for size in range(2, int(sizes.max(initial=1)) + 1):
        nodes = np.flatnonzero(sizes == size)
        counts[nodes, 2:] += counts[parents[nodes], 2:]


_HEADING = "many columns: leave out those that are not needed, first those without which fewest records are unique"


MANY = 10
"""Columns from which on it is asked."""


ENOUGH = 0.05
"""Share of unique records at which nothing more need be left out."""


_MOST_WORK = 3 * 10**7
"""Numbers that are sorted for it at most, but for the first column."""


_MOST_LINES = 15


@dataclass(frozen=True)
class LeftOut:
    """One more column that was left out, and how many records are unique then."""

    column: str
    uniques: int


def leave_out(keys: Keys) -> tuple[LeftOut, ...]:
    """Leave out columns one after the other, each time the one without which fewest records are unique.

    Fewer than :data:`MANY`, and tables with few unique records, are left. Of equal columns the one goes that tells most
    apart by itself. Cost O(c log c) for each at each step. Values are compared by 64-bit sums: two of a million classes
    are taken for one with a chance below 10⁻⁷ a try.
    """
    return tuple(_steps(keys)) if len(keys.names) >= MANY else ()


def leaving_out_lines(steps: tuple[LeftOut, ...], records: int) -> list[str]:
    """Write what was left out as lines of text."""
    if not steps:
        return []
    widest = max(len(step.column) for step in steps[:_MOST_LINES])
    lines = [
        f"  {'and ' if number else ''}without {step.column:<{widest + (0 if number else 4)}}  "
        f"{counted(step.uniques, 'record')} unique ({percent(step.uniques / records, 3)})"
        for number, step in enumerate(steps[:_MOST_LINES])
    ]
    lines += [f"  and {len(steps) - _MOST_LINES} more"] if len(steps) > _MOST_LINES else []
    return [_HEADING, *lines]


def _steps(keys: Keys) -> Iterator[LeftOut]:
    hashes = [_hashed(values, number) for number, values in enumerate(keys.columns)]
    whole: NDArray[np.uint64] = np.sum(hashes, axis=0, dtype=np.uint64)
    left, work = list(range(len(hashes))), 0
    alone = [_entropy(np.bincount(values, weights=keys.records)) for values in keys.columns]
    uniques = _uniques(whole, keys.records)
    while len(left) > 1:
        work += len(left) * keys.count
        if uniques <= ENOUGH * keys.height or (work > _MOST_WORK and len(left) < len(hashes)):
            return
        without = {column: _uniques(whole - hashes[column], keys.records) for column in left}
        gone = min(left, key=lambda column: (without[column], -alone[column]))
        whole, uniques = whole - hashes[gone], without[gone]
        left.remove(gone)
        yield LeftOut(keys.names[gone], uniques)


def _entropy(counts: NDArray[np.number]) -> float:
    """Return the entropy of a column in bits, rounded so that the order of its values does not matter."""
    shares = counts[counts > 0] / counts.sum()
    return round(float(-(shares * np.log2(shares)).sum()), 9)


def _hashed(values: NDArray[np.unsignedinteger], column: int) -> NDArray[np.uint64]:
    """Give every value of a column a number of 64 bits."""
    return hashed((values.astype(np.uint64) + np.uint64((column + 1) << 32)) * np.uint64(GOLDEN))


def _uniques(hashes: NDArray[np.uint64], records: NDArray[np.int64]) -> int:
    """Count the records whose number no other record has."""
    single = np.sort(hashes[records == 1])
    if len(single) == 0:
        return 0
    shared = np.zeros(len(single), dtype=np.bool_)
    shared[1:] = single[1:] == single[:-1]
    shared[:-1] |= shared[1:]
    alone = single[~shared]
    return len(alone) - int(np.isin(alone, hashes[records > 1]).sum())

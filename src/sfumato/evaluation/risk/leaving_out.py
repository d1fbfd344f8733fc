"""Which of many columns to leave out: without them fewest records are unique.

Letters: c classes, q columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.risk.keys import Keys
from sfumato.hashing import GOLDEN, hashed
from sfumato.numbers import counted, percent

HEADING = "many columns: leave out those that are not needed, first those without which fewest records are unique"
MANY = 10
"""Columns from which on it is asked."""
ENOUGH = 0.05
"""Share of unique records at which nothing more need be left out."""
MOST_WORK = 3 * 10**7
"""Numbers that are sorted for it at most, but for the first column."""
MOST_LINES = 15


@dataclass(frozen=True)
class LeftOut:
    """One more column that was left out, and how many records are unique then."""

    column: str
    uniques: int


def leave_out(keys: Keys) -> tuple[LeftOut, ...]:
    """Leave out columns one after the other, each time the one without which fewest records are unique.

    Fewer than :data:`MANY` columns, and tables with few unique records, are left as they are. Of equal columns the one
    goes that tells most apart by itself (by its entropy); so it is as long as everybody is unique.

    Notes
    -----
    Cost O(c log c) for each column at each step. Values are compared by 64-bit sums: the chance that two of a million
    classes are taken for one is below 10⁻⁷ at each try, and makes a count wrong by two.
    """
    return tuple(_steps(keys)) if len(keys.names) >= MANY else ()


def leaving_out_lines(steps: tuple[LeftOut, ...], records: int) -> list[str]:
    """Write what was left out as lines of text."""
    if not steps:
        return []
    widest = max(len(step.column) for step in steps[:MOST_LINES])
    lines = [
        f"  {'and ' if number else ''}without {step.column:<{widest + (0 if number else 4)}}  "
        f"{counted(step.uniques, 'record')} unique ({percent(step.uniques / records, 3)})"
        for number, step in enumerate(steps[:MOST_LINES])
    ]
    lines += [f"  and {len(steps) - MOST_LINES} more"] if len(steps) > MOST_LINES else []
    return [HEADING, *lines]


def _steps(keys: Keys) -> Iterator[LeftOut]:
    hashes = [_hashed(values, number) for number, values in enumerate(keys.columns)]
    whole: NDArray[np.uint64] = np.sum(hashes, axis=0, dtype=np.uint64)
    left, work = list(range(len(hashes))), 0
    alone = [_entropy(np.bincount(values, weights=keys.records)) for values in keys.columns]
    uniques = _uniques(whole, keys.records)
    while len(left) > 1:
        work += len(left) * keys.count
        if uniques <= ENOUGH * keys.height or (work > MOST_WORK and len(left) < len(hashes)):
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

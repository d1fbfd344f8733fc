"""Which of many columns to leave out: without them fewest records are unique.

Letters: c classes, q columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.risk.keys import Keys
from sfumato.numbers import counted, percent

HEADING = "many columns: leave out those that are not needed, first those without which fewest records are unique"
MANY = 10
"""Columns from which on it is asked."""
ENOUGH = 0.05
"""Share of unique records at which nothing more need be left out."""
MOST_STEPS, MOST_WORK = 12, 10**8
"""Columns that are left out at most, and numbers that are sorted for it, but for the first one."""


@dataclass(frozen=True)
class LeftOut:
    """One more column that was left out, and how many records are unique then."""

    column: str
    uniques: int


def leave_out(keys: Keys) -> tuple[LeftOut, ...]:
    """Leave out columns one after the other, each time the one without which fewest records are unique.

    Fewer than :data:`MANY` columns, and tables with few unique records, are left as they are. Of equal columns the last
    one goes.

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
    widest = max(len(step.column) for step in steps)
    lines = [
        f"  {'and ' if number else ''}without {step.column:<{widest + (0 if number else 4)}}  "
        f"{counted(step.uniques, 'record')} unique ({percent(step.uniques / records, 3)})"
        for number, step in enumerate(steps)
    ]
    return [HEADING, *lines]


def _steps(keys: Keys) -> Iterator[LeftOut]:
    hashes = [_hashed(values, number) for number, values in enumerate(keys.columns)]
    whole: NDArray[np.uint64] = np.sum(hashes, axis=0, dtype=np.uint64)
    left, work = list(range(len(hashes))), 0
    uniques = _uniques(whole, keys.records)
    for _ in range(min(MOST_STEPS, len(left) - 1)):
        work += len(left) * keys.count
        if uniques <= ENOUGH * keys.height or (work > MOST_WORK and len(left) < len(hashes)):
            return
        without = {column: _uniques(whole - hashes[column], keys.records) for column in left}
        gone = min(reversed(left), key=lambda column: without[column])
        whole, uniques = whole - hashes[gone], without[gone]
        left.remove(gone)
        yield LeftOut(keys.names[gone], uniques)


def _hashed(values: NDArray[np.unsignedinteger], column: int) -> NDArray[np.uint64]:
    """Give every value of a column a number of 64 bits, with the steps of splitmix64."""
    with np.errstate(over="ignore"):
        mixed = (values.astype(np.uint64) + np.uint64((column + 1) << 32)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


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

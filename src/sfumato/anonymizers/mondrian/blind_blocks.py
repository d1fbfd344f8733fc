"""Cutting blocks of records so that a refused cut does not tell whose sensitive values refused it.

Inside a block, sensitive values are counted for ranges as a whole, which a release shows anyway: the values of a range
are those of its classes together. Whether a range is cut follows from these counts, the quasi-identifying values, and
one margin for the block. So whoever runs the algorithm again learns of the block that smaller margins did not do, and
nothing of any single cut (decision record 11).

Letters: m records, q quasi-identifying attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.records import Records
from sfumato.kernels.mondrian.blind import classes_hold
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import partition_range
from sfumato.kernels.mondrian.ranges import LaidRecords
from sfumato.kernels.space import Space
from sfumato.models.rule_traits import relative
from sfumato.parallel import each

CERTAIN = 1e9
MARGINS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0)
"""Standard deviations by which a part is thought to have more of a value than chance gives it, tried in this order."""

FEWEST_RECORDS, FEWEST_CLASSES = 100, 5
"""Records that a block has at least, and classes that a margin must make to be tried: what is told is told of them."""

CLASSES_MEANT = 20
"""Smallest classes that fill a block."""

UNLIMITED = 2**62


@dataclass(frozen=True, eq=False, repr=False)
class _Cut:
    """A block that was cut: copies of its records as they now stand, where classes start, and the cuts made."""

    words: NDArray[np.uint64]
    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int32]
    rows: NDArray[np.int32]
    starts: NDArray[np.bool_]
    made: NDArray[np.int32]


def block_size(smallest: int) -> int:
    """Return how many records both sides of a cut must have for sensitive values to be looked at."""
    return max(FEWEST_RECORDS, CLASSES_MEANT * smallest)


def cut_blocks(
    records: Records, space: Space, rules: Any, options: Options, starts: NDArray[np.bool_], made: NDArray[np.int32],
    threads: int,
) -> str:  # fmt: skip
    """Cut every block by the first margin with which all its classes satisfy the rules.

    Small blocks, those of few classes, and those for which no margin does, are cut where no way to share their
    sensitive values out could break a rule; not at all if a rule compares classes with the whole table.

    Parameters
    ----------
    records, space, rules, options
        As kernels read them; records are moved inside their blocks.
    starts
        bool (m,): set at the first record of every block, then of every class.
    made
        int32 (m, 3) or (0, 3): see :func:`sfumato.kernels.mondrian.mondrian.partition_range`.
    threads
        Upper bound; never changes the result.

    Returns
    -------
    str
        A note for the steward.
    """
    bounds = [(int(low), int(high)) for low, high in pairwise([*np.flatnonzero(starts), records.height])]

    def run(block: tuple[int, int]) -> bool:
        cut, is_certain = _cut(*block, records, space, rules, options, len(made) > 0)
        _put_back(block[0], cut, records, starts, made)
        return is_certain

    certain = each(run, bounds, threads)
    return (
        f"Cuts did not look at who has which sensitive value, in {len(certain):,} blocks; in {sum(certain):,} of them "
        "only those were made for which no sensitive value could matter."
    )


def _cut(
    low: int, high: int, records: Records, space: Space, rules: Any, options: Options, keeps_cuts: bool
) -> tuple[_Cut, bool]:
    def by(margin: float) -> _Cut:
        return _cut_by(low, high, records, space, rules, options._replace(margin=margin), keeps_cuts)

    if records.weights[low:high].sum() >= FEWEST_RECORDS:
        for margin in MARGINS:
            cut = by(margin)
            # Counted before the classes are judged: it follows from what is public, and so tells nothing.
            if np.count_nonzero(cut.starts) < FEWEST_CLASSES:
                break
            if classes_hold(cut.codes, cut.weights, cut.starts, space, rules, options):
                return cut, False
    cut = by(CERTAIN)
    if relative(rules):
        # The least diverse part is not always the one that is farthest from the whole table.
        cut.starts[1:] = False
    return cut, True


def _cut_by(
    low: int, high: int, records: Records, space: Space, rules: Any, options: Options, keeps_cuts: bool
) -> _Cut:
    size = high - low
    words = records.words[low:high].copy()
    cut = _Cut(
        words, words.view(records.codes.dtype), records.weights[low:high].copy(), records.rows[low:high].copy(),
        np.zeros(size, dtype=np.bool_), np.zeros((size if keeps_cuts else 0, 3), dtype=np.int32),
    )  # fmt: skip
    partition_range(
        LaidRecords(cut.codes, cut.words, cut.weights, cut.rows), 0, size, np.zeros((len(space.kinds), 2)), UNLIMITED,
        space, rules, options, cut.starts, cut.made,
    )  # fmt: skip
    return cut


def _put_back(low: int, cut: _Cut, records: Records, starts: NDArray[np.bool_], made: NDArray[np.int32]) -> None:
    block = slice(low, low + len(cut.rows))
    records.words[block], records.weights[block], records.rows[block] = cut.words, cut.weights, cut.rows
    starts[block] = cut.starts
    if len(made):
        # The first record keeps the cut that made the block.
        inside = np.flatnonzero(cut.starts)[1:]
        made[low + inside] = cut.made[inside] + np.array([0, low, low], dtype=np.int32)

"""Stars that match every value: a few starred records serve all others of their group.

Letters: m distinct records, p patterns, g groups; see :mod:`sfumato.kernels.stars.starring`.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.stars.starring import Choices
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, int64


@kernel
def star_until_compatible(weights: Int64s, choices: Choices, counts: Int32s, worthwhile: Floats, first: int) -> None:
    """Star records until each is compatible with k records, when a star matches every value.

    weights : int64 (m,). counts : int32 (m, p), out, empty before. worthwhile : float64, falling to 0: in each sweep
    the groups are starred where that satisfies at least so many records for one unit of cost; with 0 everybody is
    satisfied. first : the first group that is looked at; those from it on must have every record.
    Cost O(z k) a sweep for z memberships.
    """
    plain = weights.copy()
    compatible = weights.copy()
    for bound in worthwhile:
        for group in range(first, len(choices.pattern_of)):
            cost = choices.cost[choices.pattern_of[group]]
            if cost == 0.0:
                continue
            start, stop = choices.starts[group], choices.starts[group + 1]
            members = choices.members[start:stop]
            before = _unsatisfied(members, plain, compatible, choices.k)
            if before == 0:
                continue
            kept = compatible[members]
            chosen = _star(members, plain, compatible, choices.k)
            starred = int64(0)
            for place in range(len(members)):
                if chosen[place]:
                    starred += plain[members[place]]
            if before < bound * cost * starred:
                compatible[members] = kept
                continue
            for place in range(len(members)):
                if chosen[place]:
                    record = members[place]
                    counts[record, choices.pattern_of[group]] += plain[record]
                    plain[record] = 0
    counts[:, 0] += plain.astype(np.int32)


@inlined
def _unsatisfied(members: Int32s, plain: Int64s, compatible: Int64s, k: int) -> int:
    records = int64(0)
    for record in members:
        if compatible[record] < k:
            records += plain[record]
    return records


@inlined
def _star(members: Int32s, plain: Int64s, compatible: Int64s, k: int) -> Flags:
    """Choose members to star, the neediest first, until the others are satisfied; `compatible` follows."""
    chosen = np.zeros(len(members), dtype=np.bool_)
    while True:
        neediest = -1
        for place in range(len(members)):
            record = members[place]
            if chosen[place] or plain[record] == 0 or compatible[record] >= k:
                continue
            if neediest < 0 or compatible[record] < compatible[members[neediest]]:
                neediest = place
        if neediest < 0:
            return chosen
        chosen[neediest] = True
        for place in range(len(members)):
            if place != neediest:
                compatible[members[place]] += plain[members[neediest]]

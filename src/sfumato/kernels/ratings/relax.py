"""Taking back changes that nobody needs: around a record there must be k others, which need not be near each other.

Letters: b records that rated the same c issues, s ratings on the scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.ratings.worth import MISSING
from sfumato.kernels.types import int64


@kernel
def relax_codes(now: NDArray[np.int16], before: NDArray[np.int16], k: int, steps: int, passes: int) -> None:
    """Bring codes back towards what they were as long as each record has k records around it; `now` in place.

    now : int16 (b, c), such that every record has k around it, itself counted. before : int16 (b, c), ``MISSING`` where
    a rating was invented, which stays. Codes are taken in the order of records and issues, each as far back as goes.
    Cost O(b² · c + passes · changed codes · b · s) and 2 · b² bytes.
    """
    records = len(now)
    apart = np.zeros((records, records), dtype=np.int16)
    around = np.ones(records, dtype=np.int64)
    for one in range(records):
        for other in range(one):
            far = 0
            for issue in range(now.shape[1]):
                far += abs(int64(now[one, issue]) - int64(now[other, issue])) > steps
            apart[one, other] = apart[other, one] = far
            around[one] += far == 0
            around[other] += far == 0
    for _ in range(passes):
        moved = False
        for record in range(records):
            for issue in range(now.shape[1]):
                code, target = int64(now[record, issue]), int64(before[record, issue])
                if target == MISSING:
                    continue
                way = 1 if code > target else -1
                while target != code and not _may_move(record, issue, target, now, apart, around, k, steps):
                    target += way
                if target != code:
                    _move(record, issue, target, now, apart, around, steps)
                    moved = True
        if not moved:
            break


@inlined
def _may_move(record: int, issue: int, code: int, now: Any, apart: Any, around: Any, k: int, steps: int) -> bool:
    """Tell whether everybody still has k around when a code becomes another."""
    left = around[record]
    for other in range(len(now)):
        if other == record or apart[record, other] > 1:
            continue
        was = abs(int64(now[other, issue]) - int64(now[record, issue])) <= steps
        stays = abs(int64(now[other, issue]) - code) <= steps
        if was and not stays and apart[record, other] == 0:
            if around[other] <= k:
                return False
            left -= 1
        elif stays and not was and apart[record, other] == 1:
            left += 1
    return bool(left >= k)


@inlined
def _move(record: int, issue: int, code: int, now: Any, apart: Any, around: Any, steps: int) -> None:
    for other in range(len(now)):
        if other == record:
            continue
        was = abs(int64(now[other, issue]) - int64(now[record, issue])) <= steps
        stays = abs(int64(now[other, issue]) - code) <= steps
        if was == stays:
            continue
        near = apart[record, other] == 0
        apart[record, other] += 1 if was else -1
        apart[other, record] = apart[record, other]
        change = int(apart[record, other] == 0) - int(near)
        around[record] += change
        around[other] += change
    now[record, issue] = code

"""How alike the sets of issues are that records rated."""

from __future__ import annotations

import math

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Floats, Int32s, Int64s


@kernel
def shared_weight(center: int, records: Int64s, starts: Int64s, issues: Int32s, weights: Floats) -> Floats:
    """Return the cosine between what one record rated and what each of some others rated; float64 (records,).

    starts, issues : compressed rows. weights : float64 (m,), of issues. Cost O(their ratings + m).
    """
    rated = np.zeros(len(weights), dtype=np.bool_)
    own = 0.0
    for place in range(starts[center], starts[center + 1]):
        rated[issues[place]] = True
        own += weights[issues[place]]
    found = np.zeros(len(records))
    for row in range(len(records)):
        shared, whole = 0.0, 0.0
        for place in range(starts[records[row]], starts[records[row] + 1]):
            weight = weights[issues[place]]
            whole += weight
            if rated[issues[place]]:
                shared += weight
        if shared > 0:
            found[row] = shared / math.sqrt(own * whole)  # never 0: what is shared is in both
    return found

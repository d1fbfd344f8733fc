"""How many records a class needs at least."""

from __future__ import annotations

import math

from sfumato.anonymizers.feasibility import Feasible
from sfumato.kernels.predicates import ALPHA, DISTINCT, ENTROPY, PROBABILISTIC, RECURSIVE


def least_size(start: Feasible) -> int:
    """Return a number of records that every class must have, whatever its values.

    The largest k and l among the models, and 1 over the smallest share that a value may have. Algorithms that form
    classes of a given size ask for this one, so that less is left to repair where k alone says little.
    """
    rules = start.rules.arrays
    least = float(start.smallest)
    for code, first, second in zip(rules.codes, rules.first, rules.second, strict=True):
        if code in (DISTINCT, PROBABILISTIC, ENTROPY):
            least = max(least, float(first))
        elif code == RECURSIVE:
            least = max(least, float(second))
        elif code == ALPHA:
            least = max(least, 1.0 / float(first))
    return math.ceil(least - 1e-9)

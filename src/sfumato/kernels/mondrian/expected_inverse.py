"""The expected inverse of a negative binomial count."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Floats, float64

_LARGE = 64  # from here on few terms of the series are enough for any share
_TINY = 1e-17


@kernel
def expected_inverse(counts: Floats, shares: Floats) -> Floats:
    """Return E(1/F) of each class, F trials until `counts` successes of probability `shares`; float64 (c,).

    counts : float64 (c,), whole numbers ≥ 1. shares : float64 (c,), above 0; 1 and more stand for certainty, F = f.
    With q = 1 − p it is the integral of p u^(f−1) / (p + q u) over 0 .. 1. One count f follows from the one before,
    r(f+1) = (p / q) (1/f − r(f)) from r(1) = (p / q) log(1/p), which loses no digits while p < q; otherwise, and for
    many records, the series (p / f) Σ i! f! / (i+f)! q^i ends soon.
    """
    inverse = np.empty(len(counts), dtype=np.float64)
    for place in range(len(counts)):
        count, share = counts[place], shares[place]
        if share >= 1:
            inverse[place] = 1 / count  # never 0: counts are 1 or more
        elif share >= 0.5 or count >= _LARGE:
            inverse[place] = _series(count, share)
        else:
            inverse[place] = _recurrence(count, share)
    return inverse


@inlined
def _recurrence(count: float, share: float) -> float:
    odds = share / (1 - share)  # never 0: shares are below 0.5 here
    inverse = -odds * np.log(share)
    for smaller in range(1, int(count)):
        inverse = odds * (1 / smaller - inverse)  # never 0: it starts at 1
    return float64(inverse)


@inlined
def _series(count: float, share: float) -> float:
    term = total = 1.0
    step = 0.0
    while term > _TINY:
        step += 1
        term *= step / (step + count) * (1 - share)  # never 0: both are 1 or more
        total += term
    return share / count * total  # never 0: counts are 1 or more

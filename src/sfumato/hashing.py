"""Numbers that look random, made of numbers: for hash tables, sums that tell sets apart, and repeatable draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GOLDEN = 0x9E3779B97F4A7C15
"""2⁶⁴ over the golden ratio, made odd: multiples of it spread neighbouring numbers before they are hashed."""


def hashed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 bits for each number, each of which depends on all of its bits; different ones for different numbers.

    The last steps of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
    Whoever knows the result can compute the number: this hides nothing.

    Examples
    --------
    >>> hashed(np.array([1, 2], dtype=np.uint64)) >> np.uint64(60)
    array([ 5, 13], dtype=uint64)
    """
    bits = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))

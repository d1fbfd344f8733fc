"""The order of a release: shuffled with real randomness, so that it says nothing about the input."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


def permutation(count: int, seed: int | None) -> NDArray[np.int64]:
    """Return a random order of ``0 .. count-1``.

    Parameters
    ----------
    count
        How many.
    seed
        None draws a 64-bit key for each item from the operating system and sorts by them: unlike the state of a
        generator, such keys cannot be recovered from the order. A seed is for tests and studies alone.

    Returns
    -------
    numpy.ndarray
        int64 (count,).
    """
    if seed is not None:
        return np.random.default_rng(seed).permutation(count)
    keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return np.argsort(keys)

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
    # The place of an item takes the low bits of its key: sorting plain integers is several times faster than sorting
    # places by their keys.
    places = np.uint64((1 << max(count - 1, 0).bit_length()) - 1)
    keys = _random_keys(count) & ~places | np.arange(count, dtype=np.uint64)
    keys.sort()
    _settle_ties(keys, places)
    return (keys & places).astype(np.int64)


def _random_keys(count: int) -> NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def _settle_ties(keys: NDArray[np.uint64], places: np.uint64) -> None:
    """Put items whose random bits are equal, which stand in the order of their places, in a random order by new keys."""
    drawn = keys & ~places
    equal = drawn[1:] == drawn[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    keys[tied] = keys[tied][np.lexsort((_random_keys(len(tied)), drawn[tied]))]

"""Random orders that nothing can be read off: real randomness, or a seed for tests and studies."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


def seed_problems(seed: object) -> list[str]:
    """Say what is wrong with a seed, if anything is."""
    if seed is None or (isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0):
        return []
    return ["seed: must be a whole number, 0 or above, or None"]


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
    drawn = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    # The place of an item takes the low bits of its key: sorting plain integers is several times faster than sorting
    # places by their keys.
    low_bits = np.uint64((1 << max(count - 1, 0).bit_length()) - 1)
    keys = drawn & ~low_bits | np.arange(count, dtype=np.uint64)
    keys.sort()
    places = (keys & low_bits).astype(np.int64)
    _settle_ties(places, keys & ~low_bits, drawn)
    return places


def another(seed: int | None, number: int) -> int | None:
    """Return a seed for the `number`-th further choice of a run, unlike all others; None stays None."""
    if seed is None:
        return None
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def _settle_ties(places: NDArray[np.int64], high_bits: NDArray[np.uint64], drawn: NDArray[np.uint64]) -> None:
    """Sort items whose high bits are equal, and which stand in input order because of that, by the whole keys drawn."""
    equal = high_bits[1:] == high_bits[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    among = places[tied]
    places[tied] = among[np.argsort(drawn[among])]


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

"""Random numbers from the operating system, or from a seed for tests and studies.

The state of a numpy generator can be recovered from enough of its output, so privacy rests on none: without a seed,
every number here is made of bytes that the operating system drew.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BITS = 53
"""Bits of a float64 between 0 and 1."""


def draw_bits(count: int, seed: int | None) -> NDArray[np.uint64]:
    """Return `count` random 64-bit numbers, uint64 (count,)."""
    if seed is not None:
        return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def draw_uniform(count: int, seed: int | None) -> Floats:
    """Return `count` numbers, evenly distributed over [0, 1); float64 (count,), multiples of 2⁻⁵³."""
    return (draw_bits(count, seed) >> np.uint64(64 - _BITS)).astype(np.float64) * 2.0**-_BITS


def draw_normal(count: int, seed: int | None) -> Floats:
    """Return `count` numbers of the standard normal distribution; float64 (count,).

    By Box and Muller: a random direction, and a random squared radius of the exponential distribution.
    """
    half = (count + 1) // 2
    uniform = draw_uniform(2 * half, seed)
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:half]))
    angle = 2.0 * np.pi * uniform[half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]

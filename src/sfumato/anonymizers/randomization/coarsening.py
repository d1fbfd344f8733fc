"""Rounding to multiples of a base, and coding what lies beyond two bounds as the bounds."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.randomization.draws import draw_uniform

Numbers = TypeVar("Numbers", NDArray[np.int64], NDArray[np.float64])


def rounded(values: Numbers, base: float, *, unbiased: bool, seed: int | None) -> Numbers:
    """Round to multiples of `base`.

    Parameters
    ----------
    values
        int64 or float64 (n,), none missing.
    base
        Above 0; a whole number where values are.
    unbiased
        True: to one of the two multiples around a value, at random and the nearer one the more often, so that
        expected values stay what they were. False: to the nearer one, upwards from the middle.
    seed
        None draws from the operating system.

    Returns
    -------
    numpy.ndarray
        Of the type of `values`.
    """
    step = values.dtype.type(base)
    below = np.floor_divide(values, step)
    above = (values - below * step) / float(base)
    threshold = 1.0 - draw_uniform(len(values), seed) if unbiased else np.full(len(values), 0.5)
    result: Numbers = ((below + (above >= threshold)) * step).astype(values.dtype)
    return result


def bounds_of(values: NDArray[np.generic], bottom: float, top: float) -> tuple[Any, Any]:
    """Return the values that have a share `bottom` of all values, 0 or above, below them and `top` above, or less."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    low = min(int(bottom * len(ordered) + 1e-9), last)
    high = max(last - int(top * len(ordered) + 1e-9), low)
    return ordered[low], ordered[high]

"""Numbers of 64 bits: to numba, and where kernels run, numpy's; to mypy numbers like any other.

A whole number is made one where compiled code must not take a smaller kind or where an element of an array is an
argument; a float stays one of numpy's, which does not raise where it is divided by zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    float64 = float
    int64 = int
else:
    float64 = np.float64
    int64 = np.int64

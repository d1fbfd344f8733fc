"""Numbers and arrays of kernels: what their parameters are declared as.

A number of 64 bits is numpy's to numba and where kernels run, and like any other to mypy. A whole number is made one
where compiled code must not take a smaller kind or where an element of an array is an argument; a float stays one of
numpy's, which does not raise where it is divided by zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    float64 = float
    int64 = int
else:
    float64 = np.float64
    int64 = np.int64

Codes = NDArray[np.unsignedinteger]
"""Codes of records: uint8, uint16 or uint32."""
Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Sets of up to 64 small numbers, or bits of any other kind."""

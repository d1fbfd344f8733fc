"""How kernels are compiled that only borrow arrays: no array is made or kept, so none is counted.

A compiled function otherwise counts a reference to every array that it is handed, which costs more than the work on a
range of twenty records.
"""

from __future__ import annotations

from typing import Any, cast

import numba

from sfumato.kernels.jit import Function

FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def borrowing(function: Function) -> Function:
    """Compile a helper that other kernels call and that allocates nothing; it is not cached by itself."""
    return cast(Function, numba.njit(function, **FLAGS))

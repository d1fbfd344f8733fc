"""The one place that knows how kernels are compiled.

Set ``SFUMATO_CACHE=0`` to keep compiled kernels out of the on-disk cache, as several processes that compile at the same
time must. ``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python, for coverage and for debugging.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

CACHED = os.environ.get("SFUMATO_CACHE", "1") != "0"


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the interpreter lock, and keep the result on disk."""
    return cast(Function, numba.njit(function, cache=CACHED, nogil=True, error_model="numpy"))


def inlined(function: Function) -> Function:
    """Compile a small helper that other kernels call; it is not cached by itself."""
    return cast(Function, numba.njit(function, nogil=True, error_model="numpy"))

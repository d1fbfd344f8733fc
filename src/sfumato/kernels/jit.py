"""The one place that knows how kernels are compiled.

Set ``SFUMATO_CACHE=0`` to keep compiled kernels out of the on-disk cache, as several processes that compile at the same
time must. ``NUMBA_DISABLE_JIT=1`` runs every kernel as plain Python, for coverage and for debugging.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

_njit: Any = numba.njit  # its types leave some switches out

_IMPORTED = re.compile(rb"^\s*from sfumato\.kernels\.([\w.]+) import", re.MULTILINE)

CACHED = os.environ.get("SFUMATO_CACHE", "1") != "0"


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the interpreter lock, and keep the result on disk."""
    compiled = numba.njit(function, cache=CACHED, nogil=True, error_model="numpy")
    _stamp(compiled)
    return cast(Function, compiled)


def inlined(function: Function) -> Function:
    """Compile a small helper that other kernels call; it is not cached by itself."""
    return cast(Function, numba.njit(function, nogil=True, error_model="numpy"))


def borrowing(function: Function) -> Function:
    """Compile a helper that makes and keeps no array, without counting references to those that it is handed.

    Counting costs more than the work on a range of twenty records. Where numba no longer knows the switch, references
    are counted, which is slower and as right.
    """
    try:
        return cast(Function, _njit(function, nogil=True, error_model="numpy", _nrt=False))
    except (TypeError, KeyError):
        return inlined(function)


def _stamp(compiled: Any) -> None:
    """Tie a cached kernel to the source of its file and of every kernel file that this one imports, near or far.

    numba compares only the file of the function itself, so that a change in a function which it calls from another file
    would leave the old code in use.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = source_digest(compiled.py_func.__module__.removeprefix("sfumato.kernels."))


@cache
def source_digest(module: str) -> str:
    """Return the sha256 of the source of a kernel module and of those that it stands on."""
    digest = hashlib.sha256()
    for name in sorted(_reached(module)):
        digest.update(_source(name))
    return digest.hexdigest()


def _reached(module: str) -> set[str]:
    """Return the kernel modules that a module stands on, itself and this one among them."""
    found, left = {"jit"}, [module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(match.decode() for match in _IMPORTED.findall(_source(name)))
    return found


@cache
def _source(module: str) -> bytes:
    return Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py").read_bytes()

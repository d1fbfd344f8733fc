"""Arrays that lie in files: the system keeps of them in memory what there is room for."""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray


def mapped(path: Path, dtype: Any, shape: tuple[int, ...], *, new: bool = False) -> NDArray[Any]:
    """Map a file; what is written to the array goes to the file.

    Parameters
    ----------
    path, dtype, shape
        The file, and what it holds.
    new
        Make the file, full of zeros. Its room is taken at once: where a disk is full, writing to a mapped array would
        end the program.

    Raises
    ------
    OSError
        When there is no room for it.
    """
    if new and hasattr(os, "posix_fallocate"):
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with path.open("wb") as file:
            if size:
                os.posix_fallocate(file.fileno(), 0, size)
        return mapped(path, dtype, shape)
    # As a plain array that may be written to: compiled functions know no other.
    return np.asarray(np.memmap(path, dtype=dtype, mode="w+" if new else "r+", shape=shape))


def let_go(array: NDArray[Any]) -> None:
    """Tell the system that nobody needs a mapped array in memory for now; an array in memory stays as it is."""
    found: Any = array
    while isinstance(found, np.ndarray):
        found = found.base
    if isinstance(found, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        found.madvise(mmap.MADV_DONTNEED)


def write_out(array: NDArray[Any], file: BinaryIO) -> None:
    """Append an array to a file, row by row; unlike ``tofile``, the error of a full disk says that it is full."""
    if array.size:
        file.write(np.ascontiguousarray(array).data)

"""A private folder for what does not fit into memory: original values lie in it, so it never outlives its run.

It belongs to its owner alone (0700) and is locked while its run goes on. It is removed at the end, also after an error
or Ctrl-C. A run that is killed leaves it behind, unlocked; the next one that spills to the same place takes it away,
and so does ``sfumato settle``.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.whole_files import SPILL, beside, lock_folder, new_locked_folder

# Arrays that lie in files: the system keeps of them in memory what there is room for.


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


# Rows that belong together, collected in files while a table goes by.


HELD, HELD_FOR_A_PART = 16 << 20, 128 << 10
"""Bytes of rows that are held, at least, before they are written to the files of their parts."""


class PartFiles:
    """Collects the rows of each part in files, several batches at a time.

    Parameters
    ----------
    folder
        Where files are made.
    parts
        How many parts there are.
    name
        What their names begin with.
    """

    def __init__(self, folder: Path, parts: int, name: str = "part") -> None:
        self._folder, self._name = folder, name
        self._most = max(HELD, parts * HELD_FOR_A_PART)
        self._held: list[pl.DataFrame] = []
        self._files: list[list[Path]] = [[] for _ in range(parts)]

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows whose column ``part`` says where they go."""
        self._held.append(rows)
        if sum(held.estimated_size() for held in self._held) >= self._most:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are still held."""
        if not self._held:
            return
        together = pl.concat(self._held)
        self._held = []
        for (part,), rows in together.partition_by("part", as_dict=True, include_key=False).items():
            files = self._files[int(part)]
            path = self._folder / f"{self._name}-{part}-{len(files)}"
            rows.write_ipc(path, compression="lz4")
            files.append(path)

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of each part that has any, in the order in which they came, and take its files away."""
        self.flush()
        for files in self._files:
            if files:
                yield pl.concat([pl.read_ipc(path) for path in files])
            for path in files:
                path.unlink()


_NAME = re.compile(rf"\..+\.[0-9a-f]{{8}}\.{SPILL}|\.sfumato-spill-[0-9a-f]{{16}}")
"""Of such folders, also of earlier versions."""


@contextmanager
def spill_folder(target: Path) -> Iterator[Path]:
    """Give a new private folder beside `target`; first take away those that killed runs have left there.

    Raises
    ------
    InputError
        When it cannot be made, or the disk is full.
    """
    target = Path(os.path.realpath(target))
    try:
        with _locked_folder(beside(target, SPILL)) as folder:
            yield folder
    except OSError as error:
        reason = f" ({os.strerror(error.errno)})" if error.errno else ""
        raise InputError(
            f"{target.parent}: what does not fit into memory cannot be written there{reason}; nothing was published; "
            "make room, or write the release to another disk"
        ) from None


@contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """Give a private folder, by default where the system has room for such files; see :func:`spill_folder`.

    Raises
    ------
    InputError
        When the system's own place is full, or cannot be written.
    """
    if within is not None:
        # Who handed the folder in says what is wrong with it.
        with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as made:
            yield Path(made)
        return
    scratch = beside(Path(tempfile.gettempdir()) / "sfumato", SPILL)
    try:
        with _locked_folder(scratch) as folder:
            yield folder
    except OSError as error:
        if not str(error.filename or scratch).startswith(str(scratch)):
            raise
        reason = f" ({os.strerror(error.errno)})" if error.errno else ""
        raise InputError(
            f"{scratch.parent}: what does not fit into memory cannot be written there{reason}; make room, or "
            "name another folder for temporary files in the environment variable TMPDIR"
        ) from None


@contextmanager
def _locked_folder(folder: Path) -> Iterator[Path]:
    _clean(folder.parent)
    lock = new_locked_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _clean(place: Path) -> None:
    """Take away what killed runs of this user have left; what a run has locked goes on."""
    with suppress(OSError), os.scandir(place) as entries:
        found = [entry for entry in entries if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
        for entry in found if hasattr(os, "getuid") else []:
            if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            lock = lock_folder(Path(entry))
            if lock is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)

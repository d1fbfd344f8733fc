"""How much memory there is, how much a table would take, and a private folder for what does not fit.

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
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, system_reason
from sfumato.whole_files import CODED, SPILL, beside, lock_folder, new_locked_folder, unfinished

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

SHARE = 0.6
"""Share of the free memory that a run may take."""
LEAST = 256 << 20
"""Bytes that every run takes, about: compiled code, libraries, one batch."""

CSV_FACTOR = 4.0
"""Bytes that a run in memory takes for each byte of a CSV file, about; ``benchmarks/disk_job.py`` measures it."""
CELL = 32
"""Bytes that it takes for each cell of a Parquet file, which are packed more or less well."""
PACKED_FACTOR = 20.0
"""Bytes that it takes for each byte of a compressed file, about."""


OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
"""Which control groups this program is in, and where these are."""
_FIRST = "memory.limit_in_bytes", "memory.usage_in_bytes"
_SECOND = "memory.max", "memory.current"
STATUS = Path("/proc/self/status")
"""Where Linux says what this program holds."""
NO_LIMIT = 1 << 62
"""From so many bytes on, the first version of control groups means that there is no limit."""


def memory_size(text: str) -> int:
    """Read a size such as ``4GB`` or ``2GiB``; bytes. ``PolicyError`` when it is none, or less than any run takes."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if found is None or found[2] not in _UNITS:
        raise PolicyError("memory: must be a size such as 4GB or 500MB")
    size = int(float(found[1]) * _UNITS[found[2]])
    if size < LEAST:
        raise PolicyError(f"memory: must be at least {LEAST >> 20}MiB, which every run takes")
    return size


def gigabytes(size: int) -> str:
    """Write a number of bytes as messages do."""
    return f"{size / 1e9:,.1f} GB"


def free_memory() -> int | None:
    """Return the bytes that this program may still take, as the system and its limits say; None where nobody says."""
    found = [size for size in (_system(), _group(), _limit()) if size is not None]
    return min(found, default=None)


_highest = [0]
"""Most bytes that were seen since somebody watches."""


def watch_memory() -> None:
    """Look twenty times a second, from now on, what this program holds; where the system does not say, do nothing."""

    def look() -> None:
        while (held := _held_now()) is not None:
            _highest[0] = max(_highest[0], held)
            time.sleep(0.05)

    threading.Thread(target=look, name="sfumato-memory", daemon=True).start()


def _held_now() -> int | None:
    """Return the bytes in memory that are not pages of files, which the system takes back when it needs them."""
    with suppress(OSError):
        found = re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", STATUS.read_text(encoding="ascii"), re.MULTILINE)
        return sum(map(int, found)) << 10 if found else None
    return None


def peak_memory() -> int | None:
    """Return the most bytes that this program and its largest child had in memory; None where nobody counts them.

    Without mapped pages of files where :func:`watch_memory` was called in time.
    """
    own = _highest[0] or _peak_of_program()
    if sys.platform == "win32":
        return own
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    if own is None:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def _peak_of_program() -> int | None:
    # Elsewhere Linux counts what the program held that started this one, too.
    with suppress(OSError):
        found = re.search(r"^VmHWM:\s+(\d+) kB$", STATUS.read_text(encoding="ascii", errors="replace"), re.MULTILINE)
        return int(found[1]) << 10 if found else None
    return None


def estimated_need(files: Sequence[Path]) -> int:
    """Return the bytes that anonymizing a table in memory takes, about."""
    return LEAST + sum(map(_need, files))


def need_of_cells(cells: int) -> int:
    """Return the bytes that anonymizing a table of so many cells in memory takes, about."""
    return LEAST + CELL * cells


def _need(path: Path) -> int:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start == b"PAR1" and (cells := _cells(path)) is not None:
        return CELL * cells
    packed = start.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"))
    return int((PACKED_FACTOR if packed else CSV_FACTOR) * path.stat().st_size)


def _cells(path: Path) -> int | None:
    """Return rows times columns of a Parquet file, as its footer says; None where it is damaged."""
    try:
        scan = pl.scan_parquet(path, glob=False)
        return int(scan.select(pl.len()).collect().item()) * len(scan.collect_schema())
    except (pl.exceptions.PolarsError, OSError):
        return None


def _system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    return sizes[0] if sizes else None


def _group() -> int | None:
    """Return what the control groups of this program have left: its own, and those around it."""
    found = [size for group in _groups() if (size := _left_in(*group)) is not None]
    return min(found, default=None)


def _groups() -> Iterator[tuple[Path, str, str]]:
    """Yield each group's folder, and the files of its limit and of what is used."""
    try:
        lines = OWN_GROUPS.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        lines = []
    for line in ("0::/", *lines):
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, *files = (GROUPS, *_SECOND) if not controllers else (GROUPS / "memory", *_FIRST)
        folder = root / path.strip("/")
        # Inside of a container the group has another name than it says; then its folder is the root.
        for place in (folder, *(above for above in folder.parents if above.is_relative_to(root))):
            yield place, files[0], files[1]


def _left_in(folder: Path, most: str, used: str) -> int | None:
    try:
        limit = (folder / most).read_text(encoding="ascii").strip()
        taken = int((folder / used).read_text(encoding="ascii"))
        # Files that were read are counted, too, and are given back before anything is refused.
        cached = re.search(r"^(?:total_)?inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
        taken -= int(cached[1]) if cached else 0
        return None if limit == "max" or int(limit) >= NO_LIMIT else max(0, int(limit) - max(0, taken))
    except (OSError, ValueError):
        return None


def _limit() -> int | None:
    """Return what the limit on this program's address space leaves it."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


# Arrays that lie in files: the system keeps of them in memory what there is room for.


def mapped(path: Path, dtype: Any, shape: tuple[int, ...], *, new: bool = False) -> NDArray[Any]:
    """Map a file, `new` full of zeros: its room is taken at once, as writing to a full disk would end the program."""
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
    if sys.platform != "win32" and isinstance(found, mmap.mmap):
        found.madvise(mmap.MADV_DONTNEED)


def write_out(array: NDArray[Any], file: BinaryIO) -> None:
    """Append an array to a file, row by row; unlike ``tofile``, the error of a full disk says that it is full."""
    if array.size:
        file.write(np.ascontiguousarray(array).data)


def stored_array(array: NDArray[Any], folder: Path) -> NDArray[Any]:
    """Return the same array, mapped from a new file of a private folder."""
    if not array.size:
        return array
    handle, path = tempfile.mkstemp(dir=folder)
    with open(handle, "wb") as file:
        write_out(array, file)
    return mapped(Path(path), array.dtype, array.shape)


def stored_texts(texts: pl.Series, folder: Path) -> pl.Series:
    """Return the same texts, mapped from a new file of a private folder."""
    # Arrow is not needed by tables that fit into memory.
    import pyarrow as pa

    if texts.is_empty():
        return texts
    handle, path = tempfile.mkstemp(dir=folder)
    with open(handle, "wb") as file:
        texts.to_frame().write_ipc(file, compression="uncompressed", record_batch_size=len(texts))
    with pa.memory_map(path) as source:
        found = pl.from_arrow(pa.ipc.open_file(source).read_all())
    assert isinstance(found, pl.DataFrame)
    return found.to_series()


# Rows that belong together, collected in files while a table goes by.


HELD, HELD_FOR_A_PART = 16 << 20, 128 << 10
"""Bytes of rows that are held, at least, before they are written to the files of their parts."""


class PartFiles:
    """Collects the rows of each of `parts` in files, several batches at a time, under names that begin with `name`."""

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
    """Give a private folder beside `target`: that of a killed run which had codes, or a new one.

    Other folders of killed runs are removed. Raises ``InputError`` where there can be none.
    """
    target = Path(os.path.realpath(target))
    try:
        for left in unfinished(target):
            if (left / CODED).is_file() and _is_own(left) and (lock := lock_folder(left)) is not None:
                _clean(left.parent)
                with _removed_at_end(left, lock):
                    yield left
                return
        with _locked_folder(beside(target, SPILL)) as folder:
            yield folder
    except OSError as error:
        reason = f" ({found})" if (found := system_reason(error)) else ""
        raise InputError(
            f"{target.parent}: what does not fit into memory cannot be written there{reason}; nothing was published; "
            "make room, or write the release to another disk"
        ) from None


@contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """Give a private folder, by default where the system has room for such files; see :func:`spill_folder`.

    Raises ``InputError`` when the system's own place is full, or cannot be written.
    """
    if within is not None:
        # Who handed the folder in says what is wrong with it.
        with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as made:
            yield Path(made)
        return
    scratch = beside(Path(tempfile.gettempdir()) / "sfumato", SPILL)
    try:
        with _locked_folder(scratch) as folder:
            # Who puts a folder in place locks the one that it lies in, which is therefore not the one locked here.
            inner = folder / "work"
            inner.mkdir()
            yield inner
    except OSError as error:
        if not str(error.filename or scratch).startswith(str(scratch)):
            raise
        reason = f" ({found})" if (found := system_reason(error)) else ""
        raise InputError(
            f"{scratch.parent}: what does not fit into memory cannot be written there{reason}; make room, or "
            "name another folder for temporary files in the environment variable TMPDIR"
        ) from None


@contextmanager
def _locked_folder(folder: Path) -> Iterator[Path]:
    _clean(folder.parent)
    with _removed_at_end(folder, new_locked_folder(folder)):
        yield folder


@contextmanager
def _removed_at_end(folder: Path, lock: int | None) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _is_own(folder: Path) -> bool:
    """Tell whether a folder belongs to who runs this program, and to nobody else."""
    found = folder.lstat()
    return sys.platform == "win32" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)


def _clean(place: Path) -> None:
    """Take away what killed runs of this user have left; what a run has locked goes on."""
    with suppress(OSError), os.scandir(place) as entries:
        found = [entry for entry in entries if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
        for entry in found:
            if not _is_own(Path(entry)):
                continue
            lock = lock_folder(Path(entry))
            if lock is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)

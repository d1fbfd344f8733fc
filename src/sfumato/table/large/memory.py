"""How much memory there is, and how much a table would take."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from sfumato.errors import PolicyError

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
    """Read a size such as ``4GB``, ``500 MB`` or ``2GiB``; bytes.

    Raises
    ------
    PolicyError
        When it is none, or less than any run takes.
    """
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


def peak_memory() -> int | None:
    """Return the most bytes that this program and its largest child had in memory; None where nobody counts them.

    Mapped pages of files count, which the system takes back when it needs them.
    """
    own = _peak_of_program()
    try:
        import resource
    except ImportError:
        return own
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


def _need(path: Path) -> int:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start == b"PAR1" and (cells := _cells(path)) is not None:
        return CELL * cells
    packed = start.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))
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
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft

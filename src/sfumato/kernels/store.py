"""The folder where compiled kernels are kept between runs, named by what they were compiled from.

``SFUMATO_CACHE_DIR`` names it; else it is ``sfumato`` in the user's cache folder. No file is named by a path of the
source, so that several installs share what they have in common. Files are written whole and then renamed, each alone.
Of several processes that want the same kernel one compiles it, and the others wait for its file. Where there is no safe
folder, kernels are compiled in memory, and this is said once.

The files hold pickled machine code: whoever can write them can run code as the user. A folder that belongs to somebody
else, or that others may write to, is not used.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import re
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

# Which source a kernel stands on, as one digest: compiled code is looked up by it.


_IMPORTED = re.compile(r"^from (sfumato\.kernels\.[\w.]+) import", re.MULTILINE)
_ALWAYS = "sfumato.kernels.compiled"  # how kernels are compiled


@cache
def source_digest(module: str) -> str | None:
    """Return the sha256 of the source of a kernel module and of those that it stands on; None without source."""
    digest = hashlib.sha256()
    for name in sorted(_reached(module)):
        source = _source(name)
        if source is None:
            return None
        digest.update(f"{name}\n{len(source)}\n{source}".encode())
    return digest.hexdigest()


def _reached(module: str) -> set[str]:
    """Return the kernel modules that a module stands on, itself among them."""
    found, left = {_ALWAYS}, [module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(_IMPORTED.findall(_source(name) or ""))
    return found


@cache
def _source(module: str) -> str | None:
    loaded = sys.modules.get(module)
    spec = loaded.__spec__ if loaded else find_spec(module)
    reader = getattr(spec.loader if spec else None, "get_source", None)
    try:
        return reader(module) if reader else None
    except (OSError, ImportError, UnicodeDecodeError):
        return None


LOG = logging.getLogger("sfumato.kernels")

_HEAD = b"sfumato kernel 1\n"
_DIGEST_SIZE = 32
PATIENCE = 120.0
"""Seconds that a process waits for what another one compiles, before it compiles it itself."""
_GLANCE = 0.02
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Store:
    """Compiled kernels as files of the `folder` of one Python, numba, llvmlite and kind of processor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The process of lowest priority waits for others and lets nobody wait: on a busy machine it may take hours.
        self.gives_way = False

    def has(self, name: str) -> bool:
        """Tell whether a file of this name is there; it need not be sound."""
        return (self.folder / name).exists()

    def read(self, name: str) -> bytes | None:
        """Return what was written under a name; None where nothing is there, or something else."""
        try:
            data = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _say_once(f"compiled kernels cannot be read from {self.folder} ({error.strerror}); compiling in memory")
            return None
        head, digest, body = data[: len(_HEAD)], data[len(_HEAD) :][:_DIGEST_SIZE], data[len(_HEAD) + _DIGEST_SIZE :]
        if head == _HEAD and digest == hashlib.sha256(body).digest():
            return body
        say_rubbish(self.folder)
        return None

    def turn(self, name: str) -> int | None:
        """Wait until no other process compiles what will have this name; None where nobody keeps turns.

        What is returned keeps the turn until :meth:`end_turn`, or the end of this process; a store that gives way keeps
        none. A process that waits holds no turn of a kernel that the other one needs: kernels call each other in one
        direction.
        """
        if sys.platform == "win32":
            return None
        import fcntl

        end = time.monotonic() + PATIENCE
        with suppress(OSError):
            descriptor = os.open(self.folder / f"{name}.turn", os.O_RDWR | os.O_CREAT, 0o600)
            while time.monotonic() < end:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    time.sleep(_GLANCE)
                else:
                    if not self.gives_way:
                        return descriptor
                    self.end_turn(name, descriptor)
                    return None
            os.close(descriptor)
        return None

    def end_turn(self, name: str, turn: int | None) -> None:
        """Let others have what was compiled."""
        if turn is not None:
            with suppress(OSError):
                os.unlink(self.folder / f"{name}.turn")
            os.close(turn)

    def write(self, name: str, body: bytes) -> bool:
        """Keep `body` under a name; where that fails it is said once, and False."""
        try:
            handle, temporary = tempfile.mkstemp(prefix=f"{name[:40]}.", suffix=".tmp", dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_HEAD + hashlib.sha256(body).digest() + body)
                os.replace(temporary, self.folder / name)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as error:
            _say_once(f"compiled kernels cannot be kept in {self.folder} ({error.strerror}); they stay in memory")
            return False
        return True


@cache
def store() -> Store | None:
    """Return the store of this process; None where nothing can be or may be kept."""
    if os.environ.get("SFUMATO_CACHE", "1") == "0":
        return None
    root = cache_folder()
    if root is None:
        _say_once("there is no folder for compiled kernels (SFUMATO_CACHE_DIR names one); they stay in memory")
        return None
    folder = root / _surroundings()
    try:
        for made in (root, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_safe(made):
                _say_once(f"{made} belongs to or can be written by others; compiled kernels stay in memory")
                return None
    except OSError as error:
        _say_once(f"compiled kernels cannot be kept in {folder} ({error.strerror}); they stay in memory")
        return None
    return Store(folder)


def cache_folder() -> Path | None:
    """Return the folder that settings and the system name; it need not exist."""
    named = os.environ.get("SFUMATO_CACHE_DIR")
    if named:
        return Path(named).absolute()
    base = _user_folder()
    return Path(base) / "sfumato" if base and os.path.isabs(base) else None


def _user_folder() -> str | None:
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The standard says that a relative path is to be ignored.
    return given if os.path.isabs(given) else os.path.expanduser("~/.cache")


def _is_safe(folder: Path) -> bool:
    if sys.platform == "win32":
        return True
    found = folder.stat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS


def _surroundings() -> str:
    """Name what compiled code depends on beside its source; numba need not be loaded for it."""
    words = [sys.implementation.cache_tag or "python", platform.system(), platform.machine(), _processor()]
    words += [f"{package} {_version(package)}" for package in ("numba", "llvmlite", "numpy")]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    """Name the processor and what it can do, as well as the system says."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].split("\n")
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    return platform.processor()


def say_rubbish(folder: Path) -> None:
    """Say that a file of the folder is not what was written there."""
    _say_once(f"a file in {folder} is no compiled kernel; compiling again")


@cache
def _say_once(message: str) -> None:
    LOG.warning(message)


Description = tuple[Any, ...]

_SCALARS = {bool: ("bool",), float: ("float64",), type(None): ("none",)}


def described(values: Sequence[Any]) -> Description | None:
    """Describe the types of a call's arguments; None where one of them is of another kind."""
    found = tuple(_of(value) for value in values)
    return None if None in found else found


def _of(value: Any) -> Description | None:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        if not flags.aligned or not value.dtype.isnative or value.dtype.kind not in "biuf":
            return None
        return ("array", value.dtype.name, value.ndim, layout, flags.writeable)
    if type(value) is int:
        return ("int64",) if -(1 << 63) <= value < 1 << 63 else ("uint64",) if 0 <= value < 1 << 64 else None
    known = _SCALARS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, np.generic):
        return (value.dtype.name,) if value.dtype.kind in "biuf" else None
    if isinstance(value, tuple):
        return _of_tuple(value)
    return None


def _of_tuple(value: tuple[Any, ...]) -> Description | None:
    parts = described(value)
    if parts is None:
        return None
    kind = type(value)
    if hasattr(kind, "_fields"):
        return ("named", kind.__module__, kind.__qualname__, parts)
    return ("tuple", parts) if kind is tuple else None


def elements(values: Sequence[Any]) -> int:
    """Count the elements of all arrays among the arguments, those in tuples included."""
    count = 0
    for value in values:
        if isinstance(value, np.ndarray):
            count += value.size
        elif isinstance(value, tuple):
            count += elements(value)
    return count


def longest(values: Sequence[Any]) -> int:
    """Return the length of the longest array among the arguments."""
    lengths = [longest(value) if isinstance(value, tuple) else _length(value) for value in values]
    return max(lengths, default=0)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, np.ndarray) and value.ndim else 0


def signature_text(description: Description) -> str:
    """Write a description as JSON."""
    return json.dumps(description, separators=(",", ":"))


def from_text(text: str) -> Description:
    """Read what :func:`signature_text` wrote."""
    found: Description = _tuples(json.loads(text))
    return found


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value

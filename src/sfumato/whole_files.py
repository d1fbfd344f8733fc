"""Reading regular files alone; writing a file so that it is whole or as it was, mostly for its owner alone; locks."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

PRIVATE, PUBLIC = 0o600, 0o666

PART, SPILL = "part", "spill"
CODED = "coded-table"  # a file in a folder of the second kind, by which another run goes on from its codes
"""How names of unfinished work end: of files and folders that are to take a place, and of what only a run needs."""

UNENDING = "it is a pipe, a device or a socket; save its content to a file, and name that"

MOST_BYTES = 4 * 2**30
"""What a file beside the table may hold: far more than any hierarchy or audit file of a real table."""


def read_regular(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """Read a file that stands beside a table; a device, a pipe or a socket is refused before anything is read.

    `path`: links are followed. `most`: more bytes are refused. Raises ``OSError``: its ``strerror`` says in words what
    is wrong.
    """
    # Without O_NONBLOCK, opening a pipe waits for somebody who writes; opening a device may do something.
    _check_regular(os.stat(path), path, most)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        # Another file may have taken its place in the meantime.
        _check_regular(os.fstat(descriptor), path, most)
        content = file.read(most + 1) if most < MOST_BYTES else file.read()
    if len(content) > most:
        raise _too_large(path, most)
    return content


def read_regular_text(path: str | os.PathLike[str], encoding: str = "utf-8", errors: str = "strict") -> str:
    """Read the text of such a file, with every line end as one character."""
    text = str(read_regular(path), encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_regular(found: os.stat_result, path: str | os.PathLike[str], most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, UNENDING, os.fspath(path))
    if found.st_size > most:
        raise _too_large(path, most)


def _too_large(path: str | os.PathLike[str], most: int) -> OSError:
    problem = f"it has more than the {most:,} bytes that such a file may have; check that it is the file that was meant"
    return OSError(errno.EFBIG, problem, os.fspath(path))


def write_whole(path: str | os.PathLike[str], content: str | bytes, mode: int = PRIVATE) -> None:
    """Write bytes, or a text as UTF-8, beside their place, and move them there once they are on the disk.

    What killed runs have left beside the same place is removed.

    `path`: what a link leads to is replaced; pipes and the like are written as they are. `content`: line ends of a text
    stay as they are. `mode`: who may read the file, as far as the user's mask allows it. Raises ``OSError``.
    """
    target = Path(os.path.realpath(path))
    written = content.encode() if isinstance(content, str) else content
    if target.exists() and not target.is_file():
        target.write_bytes(written)
        return
    for left in unfinished(target):
        if left.is_file():
            remove_unless_used(left)
    part, descriptor = _new_part(target, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":
                # Nobody can rename an open file there. Elsewhere it is locked for as long as it is open.
                file.close()
            part.replace(target)
        sync(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _new_part(target: Path, mode: int) -> tuple[Path, int]:
    """Make a file beside its place, and lock it, so that nobody takes it for the rest of a killed run."""
    while True:
        part = beside(target)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        if sys.platform == "win32":
            return part, descriptor
        import fcntl

        with suppress(OSError):  # there are no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Until its lock was there, somebody may have taken it away.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(part), os.fstat(descriptor)):
                return part, descriptor
        os.close(descriptor)


def beside(path: Path, ending: str = PART) -> Path:
    """Return a name for unfinished work beside its place, which nobody has."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{ending}")


def unfinished(path: Path) -> list[Path]:
    """Return the unfinished work beside a place, of runs that go on or were killed; links are none of it."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.({PART}|{SPILL})")
    earlier = f".{path.name}.{PART}"  # files alone, of earlier versions
    with suppress(OSError), os.scandir(path.parent) as entries:
        found = [Path(each) for each in entries if each.name == earlier or name.fullmatch(each.name)]
        return sorted(each for each in found if not each.is_symlink() and (each.name != earlier or each.is_file()))
    return []


def remove_unless_used(file: Path) -> bool:
    """Remove an unfinished file unless a program that is running writes it; tell whether it is gone."""
    if (lock := lock_folder(file)) is None:
        return False
    file.unlink(missing_ok=True)
    os.close(lock)
    return True


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, put on the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock_folder(folder: Path) -> int | None:
    """Lock a folder or file until the end, or until closed; None where it is taken, or there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None


def new_locked_folder(folder: Path) -> int | None:
    """Make a folder for its owner alone and lock it; return the lock, or None where the system has none."""
    for _ in range(5):
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        # Until its lock is there, whoever ends interrupted runs may take it for the work of one, and away.
        lock = lock_folder(folder)
        if lock is not None and folder.exists():
            return lock
        if lock is not None:
            os.close(lock)
        time.sleep(0.01)
    folder.mkdir(mode=0o700, exist_ok=True)
    return None

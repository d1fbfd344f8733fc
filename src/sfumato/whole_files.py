"""Reading regular files alone; writing a file so that it is whole or as it was, mostly for its owner alone; locks."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

PRIVATE, PUBLIC = 0o600, 0o666

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
        problem = "it is a pipe, a device or a socket; save its content to a file, and name that"
        raise OSError(errno.EINVAL, problem, os.fspath(path))
    if found.st_size > most:
        raise _too_large(path, most)


def _too_large(path: str | os.PathLike[str], most: int) -> OSError:
    problem = f"it has more than the {most:,} bytes that such a file may have; check that it is the file that was meant"
    return OSError(errno.EFBIG, problem, os.fspath(path))


def write_whole(path: str | os.PathLike[str], content: str | bytes, mode: int = PRIVATE) -> None:
    """Write bytes, or a text as UTF-8, beside their place first.

    `path`: what a link leads to is replaced; pipes and the like are written as they are. `content`: line ends of a text
    stay as they are. `mode`: who may read the file, as far as the user's mask allows it. Raises ``OSError``.
    """
    target = Path(os.path.realpath(path))
    written = content.encode() if isinstance(content, str) else content
    if target.exists() and not target.is_file():
        target.write_bytes(written)
        return
    part = target.with_name(f".{target.name}.part")
    with suppress(FileNotFoundError):
        part.unlink()
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "wb") as file:
            file.write(written)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def lock_folder(folder: Path) -> int | None:
    """Lock a folder until the program ends, or what is returned is closed.

    None where another program has it, or there are no locks.
    """
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

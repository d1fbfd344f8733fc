"""One append at a time: a lock on the ledger, and what is known of a run that was killed while it held it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import InputError
from sfumato.series.private_files import said_plainly
from sfumato.whole_files import PRIVATE

FILE = "lock"


@contextmanager
def locked(ledger: Path) -> Iterator[str | None]:
    """Hold the lock of a ledger for a block; give a sentence about a run that was killed before, if there was one.

    The system takes the lock from a program that ends, however it ends, so that no lock is left behind. Windows has
    none of this kind; there the file itself is the lock, and a killed run leaves it: the refusal says what to do.

    Raises
    ------
    InputError
        When another program holds it.
    """
    path = ledger / FILE
    alone = os.O_EXCL if sys.platform == "win32" else 0
    with said_plainly(path):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | alone, PRIVATE)
        except FileExistsError:
            raise InputError(_busy(ledger, _said(path), f"; if none is, delete {path}")) from None
    try:
        before = _said(path)
        if not _taken(descriptor):
            raise InputError(_busy(ledger, before, ""))
        _say(descriptor, f"process {os.getpid()} on {socket.gethostname()}")
        try:
            yield f"an earlier run ({before}) was killed; the series is whole" if before else None
        finally:
            _say(descriptor, "")
    finally:
        os.close(descriptor)
        if alone:
            path.unlink(missing_ok=True)


def _busy(ledger: Path, owner: str, cure: str) -> str:
    named = f" ({owner})" if owner else ""
    return f"{ledger}: another run is working on this series{named}; start again when it has ended{cure}"


def _said(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:200]
    except OSError:
        return ""


def _say(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode())


def _taken(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

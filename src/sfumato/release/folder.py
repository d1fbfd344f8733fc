"""Writing a folder so that it is either whole or not there: beside the target first, then one rename.

A run that is killed leaves its folder beside the target; the next run takes it away. Where the system cannot exchange
two folders in one step, a kill can leave the old release under another name; the next run puts it back.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import InputError
from sfumato.table.databases.address import is_database_path
from sfumato.whole_files import lock_folder

MARK = "release.json"
"""The file by which a release folder is known."""
_NO_DATABASE = "the URL of a database stands where only a folder can; name a folder"
SERIES = "series.json"
"""The file by which a folder of releases is known; see :mod:`sfumato.series`."""


def no_release(folder: Path) -> str | None:
    """Say why `folder` is not a release folder, or return None."""
    if is_database_path(folder):
        return _NO_DATABASE
    if not folder.exists():
        return f"{folder}: no such release folder"
    if (folder / SERIES).is_file():
        return f"{folder}: is a series of releases; recount it with sfumato series verify, or name a folder in it"
    if not (folder / MARK).is_file():
        return f"{folder}: holds no {MARK}, so it is not a release folder"
    return None


@contextmanager
def whole_folder(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a new folder beside `target`; it takes the target's place when the block ends well, and vanishes otherwise.

    Parameters
    ----------
    target
        The folder to write.
    overwrite
        Replace a release folder that is already there. Anything else is never replaced.

    Raises
    ------
    InputError
        When the target exists and may not be replaced, when its parent is missing, or when the disk is full or
        refuses.
    """
    with _said_plainly(target):
        check_target(target, overwrite=overwrite)
        # A link to a release stays, and what it leads to is replaced.
        target = Path(os.path.realpath(target))
    token = secrets.token_hex(4)
    part = target.with_name(f".{target.name}.{token}.part")
    try:
        with _said_plainly(target):
            part.mkdir()
            with _in_use(part):
                yield part
                _sync(part)
                _take_place(part, target, target.with_name(f".{target.name}.{token}.old"))
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _said_plainly(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise InputError(f"{target}: the release cannot be written ({reason}); nothing was changed") from None


def check_target(target: Path, *, overwrite: bool) -> None:
    """Raise InputError when a release could not be written to `target`, before any work is done."""
    if is_database_path(target):
        raise InputError(_NO_DATABASE)
    if "\0" in str(target):
        raise InputError("the name of the folder holds a character that no name may have")
    recover(Path(os.path.realpath(target)))
    target = Path(os.path.abspath(target))
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: there is no such folder; make it first")
    if target.is_symlink() and not target.exists():
        raise InputError(f"{target}: is a link that leads nowhere; name another folder")
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(f"{target}: is a file; name a folder for the release")
    if any(target.iterdir()):
        if not (target / MARK).is_file():
            raise InputError(f"{target}: is not empty and not a release; name another folder")
        if not overwrite:
            raise InputError(
                f"{target}: already holds a release; name another folder, or replace it with overwrite=True "
                "(on the command line --overwrite)"
            )


def recover(target: Path) -> None:
    """Put back the release that a killed run had moved away, and remove what killed runs have left of others."""
    with suppress(OSError):
        name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.(part|old)")
        left = sorted(path for path in target.parent.iterdir() if name.fullmatch(path.name))
        for path in left:
            if path.suffix == ".old" and not target.exists() and not _is_used(path.with_suffix(".part")):
                path.rename(target)
        for path in left:
            if not _is_used(path.with_suffix(".part")):
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _in_use(folder: Path) -> Iterator[None]:
    """Lock a folder until the block, or the program, ends."""
    descriptor = lock_folder(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _is_used(folder: Path) -> bool:
    """Tell whether a program that is running writes a folder; where that cannot be known, it may."""
    if not folder.exists():
        return False
    if (descriptor := lock_folder(folder)) is not None:
        os.close(descriptor)
    return descriptor is None


def _take_place(part: Path, target: Path, old: Path) -> None:
    """Put `part` in the place of `target`, and what was there in that of `part`."""
    if not target.exists():
        part.rename(target)
    elif not _exchanged(part, target):
        try:
            target.rename(old)
            part.rename(target)
        finally:
            # Wherever it was interrupted: the old release goes only when the new one stands in its place.
            if old.exists():
                old.rename(part if target.exists() else target)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, so that a kill finds either; False where the system cannot."""
    if sys.platform != "linux":
        return False
    here, exchange = -100, 2
    with suppress(OSError, AttributeError):
        return not ctypes.CDLL(None).renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange)
    return False


def _sync(folder: Path) -> None:
    """Have the operating system put the files on the disk before they get their final name."""
    for path in folder.rglob("*"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

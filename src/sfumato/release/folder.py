"""Writing a folder so that it is either whole or not there: beside the target first, then one rename."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import InputError

MARK = "release.json"
"""The file by which a release folder is known."""


def no_release(folder: Path) -> str | None:
    """Say why `folder` is not a release folder, or return None."""
    if not folder.exists():
        return f"{folder}: no such release folder"
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
    if "\0" in str(target):
        raise InputError("the name of the folder holds a character that no name may have")
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


def _take_place(part: Path, target: Path, old: Path) -> None:
    try:
        if target.exists():
            target.rename(old)
        part.rename(target)
    finally:
        # Wherever it was interrupted: the old release goes only when the new one stands in its place.
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif old.exists():
            old.rename(target)


def _sync(folder: Path) -> None:
    """Have the operating system put the files on the disk before they get their final name."""
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""Writing a folder so that it is either whole or not there: where it may lie, and what killed runs have left.

How it takes its place: :mod:`sfumato.release.transaction`.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unicodedata import category

from sfumato.errors import InputError
from sfumato.release.transaction import interrupted, is_used, settle, together
from sfumato.table.databases.address import is_database_path

log = logging.getLogger(__name__)

MARK = "release.json"
"""The file by which a release folder is known."""
_NO_DATABASE = "the URL of a database stands where only a folder can; name a folder"
SERIES = "series.json"
"""The file by which a folder of releases is known; see :mod:`sfumato.series`."""


_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\..*)?", re.IGNORECASE | re.DOTALL)
_NEVER = frozenset('<>:"|?*\\')


def no_release(folder: Path) -> str | None:
    """Say why `folder` is not a release folder, or return None."""
    if is_database_path(folder):
        return _NO_DATABASE
    if not folder.exists():
        return interrupted(folder) or f"{folder}: no such release folder"
    if (folder / SERIES).is_file():
        return f"{folder}: is a series of releases; recount it with sfumato series verify, or name a folder in it"
    if not (folder / MARK).is_file():
        return f"{folder}: holds no {MARK}, so it is not a release folder"
    return None


@contextmanager
def whole_folder(target: Path, *, overwrite: bool = False, around: Path | None = None) -> Iterator[Path]:
    """Give a new folder outside of `target`; it takes the target's place when the block ends well, or vanishes.

    `target`: the folder to write. `overwrite`: replace a release folder that is already there. Anything else is never
    replaced. `around`: a folder around the target that is given away: unfinished work lies beside that one. Raises
    ``InputError`` when the target exists and may not be replaced, when its parent is missing, or when the disk is full
    or refuses.
    """
    with folder_and_audit(target, None, overwrite=overwrite, around=around) as (part, _):
        yield part


@contextmanager
def folder_and_audit(
    target: Path, audit: Path | None, *, overwrite: bool = False, around: Path | None = None
) -> Iterator[tuple[Path, Path]]:
    """Give a new folder and a private file; both take their places in one transaction, see :func:`whole_folder`."""
    with _said_plainly(target):
        check_target(target, overwrite=overwrite)
        # A link to a release stays, and what it leads to is replaced.
        target = Path(os.path.realpath(target))
        with together(target, audit, around, overwrite=overwrite) as (part, secret):
            yield part, secret


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
    try:
        os.fsencode(target)
    except UnicodeEncodeError:
        raise InputError(
            "the name of the folder has letters that this system does not write in file names; set LC_ALL=C.UTF-8 or "
            "PYTHONUTF8=1, or name another"
        ) from None
    recover(Path(os.path.realpath(target)))
    target = Path(os.path.abspath(target))
    # A release of an earlier version may have any name, and may be replaced.
    if not (target / MARK).is_file() and (reason := unportable(target.name)):
        raise InputError(f"{target.name!r}: {reason}, which not every system can hold; name another folder")
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


def unportable(name: str) -> str | None:
    """Say why a file or folder of that name could not be copied to every system, or return None."""
    if found := _DEVICE.fullmatch(name):
        return f"is the name of a device ({found[1].upper()})"
    if any(letter in _NEVER or category(letter) in ("Cc", "Zl", "Zp") for letter in name):
        return "holds a colon, a line end or another such character"
    if name != name.rstrip().rstrip("."):
        return "ends in a blank or a dot"
    return None


def recover(target: Path) -> None:
    """Finish or take back what a killed run has left, and say so; also what earlier versions left beside a target."""
    for line in settle(target):
        log.warning("%s", line)
    with suppress(OSError):
        name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.old")
        left = sorted(path for path in target.parent.iterdir() if name.fullmatch(path.name))
        for path in left:
            if not target.exists() and not is_used(path.with_suffix(".part")):
                path.rename(target)
        for path in left:
            if path.is_dir() and not is_used(path.with_suffix(".part")):
                shutil.rmtree(path, ignore_errors=True)

"""One transaction: a release folder and the private file that belongs to it change together, or neither does.

Unfinished work lies in a *holder*, a folder of mode 0700 beside the target: ``new`` is to become the target, ``plan``
says what belongs together. The audit file has a holder beside its own place, which names the first. Once all of it is
on the disk a ``journal`` is put there: from then on the step is decided. A kill before leaves what was, a kill
after what is to be; :func:`settle` brings either to its end.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import InputError
from sfumato.whole_files import lock_folder

NEW, OLD, PLAN, JOURNAL, OF = "new", "old", "plan", "journal", "of"
PATIENCE = 60.0
"""Seconds that a run waits for another one that puts its release in place in the same folder."""

log = logging.getLogger(__name__)


@contextmanager
def together(target: Path, audit: Path | None, around: Path | None, *, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """Give a new folder, and the path of a private file to write; both take their places when the block ends well.

    Parameters
    ----------
    target
        The folder, without links.
    audit
        The private file; None when there is none.
    around
        A folder around the target that is given away: unfinished work lies beside it.
    overwrite
        Replace what is there.
    """
    holder = _holder(_beside(target, around))
    lock = _made(holder)
    private = None if audit is None else _holder(audit)
    try:
        _write(holder / PLAN, _plan(holder, target, audit, private))
        if private is not None:
            with _locked(private):
                _write(private / OF, os.path.relpath(holder, private.parent))
        (holder / NEW).mkdir()
        written = holder / "audit" if private is None else private / NEW
        if private is not None:
            os.close(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield holder / NEW, written
        _sync(holder)
        if private is not None:
            _sync(private)
        with _alone(target.parent):
            if not overwrite and target.is_dir() and any(target.iterdir()):
                raise InputError(f"{target}: another run wrote a release there meanwhile; name another folder")
            _decide(holder)
            _end(holder)
    finally:
        # Whatever interrupted it: what was decided is finished, all else taken back.
        _end(holder)
        if lock is not None:
            os.close(lock)


@contextmanager
def private_file(path: Path) -> Iterator[Path]:
    """Give a private file to write beside `path`; it takes that place when the block ends well."""
    holder = _holder(path)
    with _locked(holder):
        try:
            os.close(os.open(holder / NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield holder / NEW
            _sync(holder)
            (holder / NEW).replace(path)
            sync(path.parent)
        finally:
            shutil.rmtree(holder, ignore_errors=True)


def settle(path: Path) -> list[str]:
    """Bring what a killed run has left of a folder or private file to its end; say what became of it."""
    found = []
    for holder in left(path):
        main = _main(holder)
        if main is not None and main.is_dir():
            if is_used(main):
                continue
            decided = (main / JOURNAL).is_file()
            _end(main)
            done = "it was finished" if decided else "it was taken back"
            found.append(f"{path}: a run was interrupted here; {done}")
        if holder.is_dir() and not is_used(holder):
            shutil.rmtree(holder, ignore_errors=True)
    return found


def left(path: Path) -> list[Path]:
    """Return the holders of runs that ended before their time, beside a path or the folder around it."""
    path = Path(os.path.realpath(path))
    return [holder for place in (path, path.parent) for holder in _holders(place) if not is_used(holder)]


def interrupted(path: Path) -> str | None:
    """Say that a run was interrupted at a path and what to do, or return None; changes nothing."""
    if not left(path):
        return None
    return f"{path}: a run was interrupted here; sfumato settle {path} finishes it or takes it back"


def is_used(folder: Path) -> bool:
    """Tell whether a program that is running writes a folder; where that cannot be known, it may."""
    if not folder.exists():
        return False
    if (descriptor := lock_folder(folder)) is not None:
        os.close(descriptor)
    return descriptor is None


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, put on the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, so that a kill finds either; False where the system cannot."""
    if sys.platform != "linux":
        return False
    here, exchange = -100, 2
    with suppress(OSError, AttributeError):
        return not ctypes.CDLL(None).renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange)
    return False


def _beside(target: Path, around: Path | None) -> Path:
    """Return beside what to work: only inside of one file system can a folder be renamed."""
    if around is None:
        return target
    outer = Path(os.path.realpath(around))
    same = outer.parent.stat().st_dev == outer.stat().st_dev and os.access(outer.parent, os.W_OK)
    return outer if same else target


def _holder(path: Path) -> Path:
    path = Path(os.path.abspath(path))
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _holders(path: Path) -> list[Path]:
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        return sorted(each for each in path.parent.iterdir() if name.fullmatch(each.name) and each.is_dir())
    return []


def _made(holder: Path) -> int | None:
    holder.mkdir(mode=0o700)
    return lock_folder(holder)


@contextmanager
def _locked(holder: Path) -> Iterator[None]:
    lock = _made(holder)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other run puts a release in place in a folder."""
    until = time.monotonic() + PATIENCE
    lock = lock_folder(folder)
    while lock is None and sys.platform != "win32" and time.monotonic() < until:
        time.sleep(0.02)
        lock = lock_folder(folder)
    if lock is None and sys.platform != "win32":
        raise InputError(f"{folder}: another run writes there; wait until it has ended, and start again")
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _plan(holder: Path, target: Path, audit: Path | None, private: Path | None) -> str:
    """Name what belongs together, relative to the holder, so that all of it may be moved."""
    names = {"target": target, "audit": audit, "private": private}
    return json.dumps({name: path and os.path.relpath(path, holder.parent) for name, path in names.items()})


def _read(holder: Path) -> dict[str, Path]:
    for name in (JOURNAL, PLAN):
        with suppress(OSError, ValueError, AttributeError, TypeError):
            listed = json.loads((holder / name).read_text(encoding="utf-8"))
            return {
                key: Path(os.path.normpath(holder.parent / value))
                for key, value in listed.items()
                if isinstance(value, str)
            }
    return {}


def _main(holder: Path) -> Path | None:
    """Return the holder of the folder that a holder belongs to: itself, or what the one of a private file names."""
    with suppress(OSError, ValueError):
        named = (holder / OF).read_text(encoding="utf-8")
        return Path(os.path.normpath(holder.parent / named))
    return None if (holder / OF).exists() else holder


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Put files on the disk, then the folders that name them."""
    for path in (*sorted(folder.rglob("*"), reverse=True), folder, folder.parent):
        sync(path)


def _decide(holder: Path) -> None:
    """Turn the plan into a journal, with the mark by which the new folder is known wherever it lies."""
    content = json.loads((holder / PLAN).read_text(encoding="utf-8"))
    next_one = holder / "next"
    _write(next_one, json.dumps({**content, "inode": (holder / NEW).stat().st_ino}))
    next_one.replace(holder / JOURNAL)
    sync(holder)


def _end(holder: Path) -> None:
    """Finish what was decided, take back all else, and leave nothing."""
    if not holder.is_dir():
        return
    names = _read(holder)
    if (holder / JOURNAL).is_file() and "target" in names:
        inode = json.loads((holder / JOURNAL).read_text(encoding="utf-8"))["inode"]
        try:
            _arrive(holder, names["target"], inode)
        except BaseException:
            # Interrupted, or the system refuses: what has not arrived is not to.
            if _arrived(names["target"], inode):
                raise
            (holder / JOURNAL).unlink()
            _take_away(holder, names)
            raise
        if "private" in names and (new := names["private"] / NEW).is_file():
            new.replace(names["audit"])
            sync(names["audit"].parent)
        _take_private(names)
        (holder / JOURNAL).unlink()
        sync(holder)
    _take_away(holder, names)


def _arrive(holder: Path, target: Path, inode: int) -> None:
    """Put the new folder in the place of the target, unless it stands there."""
    new, old = holder / NEW, holder / OLD
    if _arrived(target, inode):
        return
    if not target.exists():
        new.rename(target)
    elif not exchanged(new, target):
        try:
            target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise
    sync(target.parent)
    sync(holder)


def _arrived(target: Path, inode: int) -> bool:
    return target.exists() and target.stat().st_ino == inode


def _take_private(names: dict[str, Path]) -> None:
    if "private" in names:
        shutil.rmtree(names["private"], ignore_errors=True)


def _take_away(holder: Path, names: dict[str, Path]) -> None:
    _take_private(names)
    # The plan goes last: without it nobody knew of the private file's holder.
    for path in (holder / NEW, holder / OLD):
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(holder, ignore_errors=True)

"""One transaction: a folder, and the private file that belongs to it, are written whole, or nothing is there.

Unfinished work lies in a *holder*, a folder of mode 0700 beside the target: ``new`` is to become the target, ``plan``
says what belongs together. The audit file has a holder beside its own place, which names the first. Once all of it is
on the disk a ``journal`` is put there: from then on the step is decided. A kill before leaves what was, a kill
after what is to be; :func:`settle` brings either to its end.

Of a release in a database only the audit file has a holder. Its journal is written before the database commits, and
says which release that is: whether the database holds it decides.

How it takes its place: :mod:`sfumato.release.transaction`.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import re
import shlex
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unicodedata import category

from sfumato.errors import InputError, SfumatoError, write_errors
from sfumato.table.databases.address import is_database_path
from sfumato.whole_files import (
    CODED,
    SPILL,
    beside,
    lock_folder,
    new_locked_folder,
    remove_unless_used,
    sync,
    unfinished,
)

NEW, OLD, PLAN, JOURNAL, OF = "new", "old", "plan", "journal", "of"
AUDIT, RECEIPT = ".audit.json", "-receipt.html"
"""How the names of an audit file and a receipt end that lie beside their release."""
PATIENCE = 60.0
"""Seconds that a run waits for another one that puts its release in place in the same folder."""

WRITTEN: deque[tuple[str, Path | None]] = deque(maxlen=8)
"""Releases that this program has put in place, and their folders, for who is interrupted afterwards."""
SPENT: deque[str] = deque(maxlen=8)
"""Ledgers of budgets into which it has written what a release costs."""
BEGUN: list[Path] = []
"""What it is about to write."""

log = logging.getLogger(__name__)


@contextmanager
def together(target: Path, audit: Path | None, around: Path | None, *, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """Give a new folder, and the path of a private file to write; both take their places when the block ends well."""
    holder = _holder(_beside(target, around))
    lock = new_locked_folder(holder)
    private = None if audit is None else _holder(audit)
    inode = None
    BEGUN.append(target)
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
        with alone(target.parent, *([] if audit is None else [audit.parent])):
            if not overwrite and target.is_dir() and any(target.iterdir()):
                raise InputError(f"{target}: another run wrote a release there meanwhile; name another folder")
            _refuse_taken(audit, overwrite=overwrite)
            inode = (holder / NEW).stat().st_ino
            _decide(holder, {"inode": inode})
            _end(holder)
    finally:
        # Whatever interrupted it: what was decided is finished, all else taken back.
        try:
            _end(holder)
            BEGUN.remove(target)
        finally:
            if inode is not None and _arrived(target, inode):
                WRITTEN.append((str(target), target))
            if lock is not None:
                os.close(lock)


Decide = Callable[[dict[str, Any]], None]
"""What is called with the release that a database is about to commit."""


@contextmanager
def beside_database(audit: Path, file: tuple[str, str] | None, *, overwrite: bool) -> Iterator[tuple[Path, Decide]]:
    """Give a private file to write, and what decides; it takes its place when the database holds what was decided.

    Of a database in a `file` what a kill leaves ends, too. Nobody else puts an audit file there meanwhile.
    """
    holder = _holder(audit)
    with _locked(holder), ExitStack() as stack:

        def decide(release: dict[str, Any]) -> None:
            stack.enter_context(alone(audit.parent))
            _refuse_taken(audit, overwrite=overwrite)
            _sync(holder)
            _decide(holder, {"database": release})

        try:
            _write(holder / PLAN, json.dumps({"audit": audit.name, "file": file}))
            os.close(os.open(holder / NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield holder / NEW, decide
        except BaseException:
            # The database may have committed before it went away: where it cannot be asked, a later command does.
            with suppress(SfumatoError):
                _end(holder)
            raise
        _put_audit(holder, audit)
        _take_away(holder, {})


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give the path of a file that is not there; what is written to it takes its place when the block ends well."""
    holder = _holder(path)
    with _locked(holder):
        try:
            yield holder / NEW
            _sync(holder)
            _put(holder / NEW, path)
            sync(path.parent)
        finally:
            shutil.rmtree(holder, ignore_errors=True)


def settle(path: Path, *, codes: bool = True) -> list[str]:
    """Bring what a killed run has left to its end, and say what became of it; or say what must be there again.

    `codes`: also the folders from whose codes another run may go on.
    """
    found, aside = [], False
    for holder in left(path):
        if not codes and (holder / CODED).is_file():
            continue
        if holder.is_file() or holder.suffix == f".{SPILL}":
            aside |= _removed(holder)
            continue
        main = _main(holder)
        if holder.is_dir() and not main.is_dir():
            raise InputError(
                f"{path}: a run was interrupted here, and {main}, where it left its release, is gone; put that back, "
                f"or delete {holder}"
            )
        # While it is brought to its end, no other command does the same.
        if (lock := lock_folder(main)) is None:
            continue
        try:
            decided = _end(main)
        finally:
            os.close(lock)
        found.append(f"{path}: a run was interrupted here; it was {'finished' if decided else 'taken back'}")
    if aside and not found:
        # Whether that run had come to its end nobody can tell from it.
        found.append(f"{path}: a run was interrupted here; what it had put aside was removed")
    return list(dict.fromkeys(found))


def _removed(work: Path) -> bool:
    """Remove a file that has not got its name, or a folder that only a run needs; tell whether it is gone."""
    if work.is_file():
        return remove_unless_used(work)
    if (lock := lock_folder(work)) is None:
        return False
    shutil.rmtree(work, ignore_errors=True)
    os.close(lock)
    return True


def left(path: Path) -> list[Path]:
    """Return what runs left that ended before their time, beside a path or the folder around it: holders and the like.

    Beside a release, too, of which the path is the audit file or receipt by its name: its holder comes a moment later.
    """
    path = Path(os.path.realpath(path))
    release = path.name.removesuffix(AUDIT).removesuffix(RECEIPT)
    places = dict.fromkeys((path, path.parent, path.parent / release))
    return [found for place in places for found in unfinished(place) if not is_used(found)]


def interrupted(path: Path) -> str | None:
    """Say that a run was interrupted at a path and what to do, or return None; changes nothing."""
    return line_of(path) if left(path) else None


def line_of(path: Path, *more: str | Path) -> str:
    """Return the line that names what brings an interrupted run to its end, as it can be typed."""
    command = shlex.join(["sfumato", "settle", str(path), *map(str, more)])
    return f"{path}: a run was interrupted here; {command} finishes it or takes it back"


def is_used(folder: Path) -> bool:
    """Tell whether a program that is running writes a folder; where that cannot be known, it may."""
    if not folder.exists():
        return False
    if (descriptor := lock_folder(folder)) is not None:
        os.close(descriptor)
    return descriptor is None


def new_command() -> None:
    """Forget what an earlier command of this program has done."""
    for done in (WRITTEN, SPENT):
        done.clear()


def after_stop() -> str | None:
    """Say what an interruption has found done or begun; None where there is nothing."""
    written = [name for name, folder in WRITTEN if folder is None or folder.exists()]
    sentences = [f"{name} was written before" for name in written] or ["no release was written"]
    sentences += [f"what it was to cost stays spent in {name}" for name in SPENT]
    sentences += [f"{shlex.join(['sfumato', 'settle', str(target)])} ends what was begun" for target in BEGUN]
    return "; ".join(sentences) if WRITTEN or SPENT or BEGUN else None


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
    return beside(Path(os.path.abspath(path)))


@contextmanager
def _locked(holder: Path) -> Iterator[None]:
    lock = new_locked_folder(holder)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def alone(*folders: Path) -> Iterator[None]:
    """Wait until no other run puts something in place in some folders (``InputError``), and keep others out."""
    until = time.monotonic() + PATIENCE
    with ExitStack() as stack:
        # In one order for all runs, so that no two wait for each other.
        for folder in sorted({Path(os.path.realpath(folder)) for folder in folders}):
            lock = lock_folder(folder)
            while lock is None and sys.platform != "win32" and time.monotonic() < until:
                time.sleep(0.02)
                lock = lock_folder(folder)
            if lock is not None:
                stack.callback(os.close, lock)
            elif sys.platform != "win32":
                raise InputError(f"{folder}: another run writes there; wait until it has ended, and start again")
        yield


def _refuse_taken(audit: Path | None, *, overwrite: bool) -> None:
    if audit is not None and not overwrite and audit.exists():
        raise InputError(f"{audit.name}: another run wrote this file meanwhile; name another place")


def _put(new: Path, path: Path) -> None:
    """Give a file its name, which nobody else has taken in the meantime."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise InputError(f"{path.name}: another program has made this file meanwhile; start again") from None
    except OSError:  # no links on that file system
        new.rename(path)


def _plan(holder: Path, target: Path, audit: Path | None, private: Path | None) -> str:
    """Name what belongs together, relative to the holder, so that all of it may be moved."""
    names = {"target": target, "audit": audit, "private": private}
    return json.dumps({name: path and os.path.relpath(path, holder.parent) for name, path in names.items()})


def _read(holder: Path) -> dict[str, Any]:
    """Return what the journal says, or the plan: paths by name, and what else there is."""
    for name in (JOURNAL, PLAN):
        with suppress(OSError, ValueError, AttributeError, TypeError):
            listed = json.loads((holder / name).read_text(encoding="utf-8"))
            paths = {
                key: Path(os.path.normpath(holder.parent / listed[key]))
                for key in ("target", "audit", "private")
                if isinstance(listed.get(key), str)
            }
            return {**listed, **paths}
    return {}


def _main(holder: Path) -> Path:
    """Return the holder of the folder that a holder belongs to: itself, or what the one of a private file names."""
    with suppress(OSError, ValueError):
        named = (holder / OF).read_text(encoding="utf-8")
        # What was killed while it wrote the name had begun nothing else there.
        return Path(os.path.normpath(holder.parent / named)) if named else holder
    return holder


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


def _decide(holder: Path, mark: dict[str, Any]) -> None:
    """Turn the plan into a journal, with the mark by which what is new is known."""
    content = json.loads((holder / PLAN).read_text(encoding="utf-8"))
    next_one = holder / "next"
    _write(next_one, json.dumps({**content, **mark}))
    next_one.replace(holder / JOURNAL)
    sync(holder)


def _end(holder: Path) -> bool:
    """Finish what was decided, take back all else, and leave nothing; tell whether it was finished."""
    if not holder.is_dir():
        return False
    journal, decided = _read(holder), (holder / JOURNAL).is_file()
    if decided and "database" in journal:
        decided = _end_beside_database(holder, journal)
    elif decided and "target" in journal:
        try:
            _arrive(holder, journal["target"], journal["inode"])
        except BaseException:
            # Interrupted, or the system refuses: what has not arrived is not to.
            if _arrived(journal["target"], journal["inode"]):
                raise
            (holder / JOURNAL).unlink()
            _take_away(holder, journal)
            raise
        if isinstance(journal.get("private"), Path) and (new := journal["private"] / NEW).is_file():
            new.replace(journal["audit"])
            sync(journal["audit"].parent)
    elif journal.get("file"):
        from sfumato.release.stored import end_in_file

        # A database that is not there any more, or is in use, has nothing to do with a run that is taken back.
        with suppress(SfumatoError):
            end_in_file(*journal["file"])
    if decided:
        (holder / JOURNAL).unlink()
        sync(holder)
    _take_away(holder, journal)
    return decided


def _end_beside_database(holder: Path, journal: dict[str, Any]) -> bool:
    """Put the audit file in place if the database holds its release."""
    # Only such a run needs what reads databases.
    from sfumato.release.stored import holds_release

    found = holds_release(**journal["database"])
    if found:
        _put_audit(holder, journal["audit"])
    else:
        (holder / JOURNAL).unlink()
    return found


def _put_audit(holder: Path, audit: Path) -> None:
    if (holder / NEW).is_file():
        (holder / NEW).replace(audit)
        sync(holder.parent)


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


def _take_private(journal: dict[str, Any]) -> None:
    if isinstance(journal.get("private"), Path):
        shutil.rmtree(journal["private"], ignore_errors=True)


def _take_away(holder: Path, journal: dict[str, Any]) -> None:
    for path in (holder / NEW, holder / OLD):
        shutil.rmtree(path, ignore_errors=True)
    # Once this is gone, nobody who has the audit file alone knows of the rest: no more than the plan.
    _take_private(journal)
    # The plan goes last: without it nobody knew of the private file's holder.
    shutil.rmtree(holder, ignore_errors=True)


MARK = "release.json"
"""The file by which a release folder is known."""
_NO_DATABASE = "the URL of a database stands where only a folder can; name a folder"
# A path made of it has lost a slash. One letter is a drive.
_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NO_STORE = "the address of a store stands where only a folder can; name a folder, and copy the release to the store"
SIGNATURE = "signature.json"
"""The signed statement about a release folder; see :mod:`sfumato.release.signature`."""
UNCHECKED = "signed, key not checked"
"""What is said of it to whoever gives no key."""
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
        return f"{folder}: is a series of releases; recount it with sfumato verify, or name a folder in it"
    if not (folder / MARK).is_file():
        return f"{folder}: holds no {MARK}, so it is not a release folder"
    return None


@contextmanager
def whole_folder(target: Path, *, overwrite: bool = False, around: Path | None = None) -> Iterator[Path]:
    """Give a new folder outside of `target`; it takes the target's place when the block ends well, or vanishes.

    A release may be replaced, never anything else. `around`: a given folder around it, beside which unfinished work
    lies.
    """
    with folder_and_audit(target, None, overwrite=overwrite, around=around) as (part, _):
        yield part


@contextmanager
def folder_and_audit(
    target: Path, audit: Path | None, *, overwrite: bool = False, around: Path | None = None
) -> Iterator[tuple[Path, Path]]:
    """Give a new folder and a private file; both take their places in one transaction, see :func:`whole_folder`."""
    with write_errors(f"{target}: the release", "; nothing was changed"):
        check_target(target, overwrite=overwrite)
        # Who goes on from the codes of a killed run has locked them by now.
        recover(Path(os.path.realpath(target)), codes=True)
        # A link to a release stays, and what it leads to is replaced.
        target = Path(os.path.realpath(target))
        with together(target, audit, around, overwrite=overwrite) as (part, secret):
            yield part, secret


def check_target(target: Path, *, overwrite: bool) -> None:
    """Raise InputError when a release could not be written to `target`, before any work is done."""
    if is_database_path(target):
        raise InputError(_NO_DATABASE)
    if _STORE.match(os.fspath(target)) and not target.parent.is_dir():
        raise InputError(_NO_STORE)
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


def recover(target: Path, *, codes: bool = False) -> None:
    """Finish or take back what a killed run has left, and say so; also what earlier versions left beside a target.

    `codes`: as :func:`settle` takes it.
    """
    for line in settle(target, codes=codes):
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

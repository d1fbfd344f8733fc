"""A private folder for what does not fit into memory: original values lie in it, so it never outlives its run.

It belongs to its owner alone (0700) and is locked while its run goes on. It is removed at the end, also after an error
or Ctrl-C. A run that is killed leaves it behind, unlocked; the next one that spills to the same place takes it away.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import InputError
from sfumato.whole_files import lock_folder

_NAME = re.compile(r"\.sfumato-spill-[0-9a-f]{16}")


@contextmanager
def spill_folder(beside: Path) -> Iterator[Path]:
    """Give a new private folder inside `beside`; first take away those that killed runs have left there.

    Raises
    ------
    InputError
        When it cannot be made, or the disk is full.
    """
    _clean(beside)
    folder = beside / f".sfumato-spill-{secrets.token_hex(8)}"
    lock: int | None = None
    try:
        folder.mkdir(mode=0o700)
        lock = lock_folder(folder)
        yield folder
    except OSError as error:
        reason = f" ({os.strerror(error.errno)})" if error.errno else ""
        raise InputError(
            f"{beside}: what does not fit into memory cannot be written there{reason}; nothing was published; "
            "make room, or write the release to another disk"
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _clean(beside: Path) -> None:
    with suppress(OSError):
        for path in sorted(path for path in beside.iterdir() if _NAME.fullmatch(path.name)):
            lock = None if path.is_symlink() else lock_folder(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


@contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """Give a private folder, by default where the system has room for such files; for what is published anyway.

    Raises
    ------
    InputError
        When the system's own place is full, or cannot be written.
    """
    made: str | None = None
    try:
        with tempfile.TemporaryDirectory(prefix="sfumato-", dir=within) as made:
            yield Path(made)
    except OSError as error:
        # Of a folder that was handed in, who handed it in says what is wrong with it.
        lies_here = made is None or str(error.filename or made).startswith(made)
        if within is not None or not lies_here:
            raise
        reason = f" ({os.strerror(error.errno)})" if error.errno else ""
        raise InputError(
            f"{tempfile.gettempdir()}: what does not fit into memory cannot be written there{reason}; make room, or "
            "name another folder for temporary files in the environment variable TMPDIR"
        ) from None

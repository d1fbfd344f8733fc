"""Writing a file so that it is whole or as it was, for its owner alone unless it is to be given away; locks."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

PRIVATE, PUBLIC = 0o600, 0o666


def write_whole(path: str | os.PathLike[str], content: str | bytes, mode: int = PRIVATE) -> None:
    """Write bytes, or a text as UTF-8, beside their place first.

    Parameters
    ----------
    path
        What a link leads to is replaced; pipes and the like are written as they are.
    content
        Line ends of a text stay as they are.
    mode
        Who may read the file, as far as the user's mask allows it.

    Raises
    ------
    OSError
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

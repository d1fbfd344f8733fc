"""Compiling beside the work: a process of its own, of lowest priority, for the next run.

It is handed names of kernels and types of arguments, nothing else, and writes to the store alone. One runs at a time;
a second one gives up. ``SFUMATO_BACKGROUND=0`` keeps it from starting, ``1`` starts it even where a test or a build
machine is at work.

    python -m sfumato.kernels.beside FOLDER
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from sfumato.kernels import jit
from sfumato.kernels.store import Description, from_text, signature_text, store

LOG = logging.getLogger("sfumato.kernels")

LOCK = "compiling.lock"
WANTED = "wanted.json"
WORTH_COMPILING = 0.02
"""Seconds that a kernel must have run interpreted to be compiled for the next run."""


def wanted() -> list[tuple[str, str, str]]:
    """Return the kernels that ran interpreted for a while and are not in the store: module, name and types."""
    return [
        (kernel.__module__, kernel.__name__, signature_text(types))
        for (kernel, types), account in list(jit.TAKEN.interpreted.items())
        if account.seconds >= WORTH_COMPILING and not jit.is_kept(kernel, types)
    ]


def start_beside() -> bool:
    """Start compiling what was wanted and return at once; False if nothing was; later wants are handed over."""
    if not _may_start() or jit.setting() != "auto":
        return False
    place, names = store(), wanted()
    if place is None or not names:
        return False
    if not place.write(WANTED, json.dumps(names).encode()):
        return False
    command = [sys.executable, "-m", "sfumato.kernels.beside", str(place.folder)]
    quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    try:
        # It keeps no terminal and no open file of this process, and does not die with it.
        child = subprocess.Popen(command, **quiet, **_detached(), cwd=place.folder, env=_environment())
    except OSError:
        return False
    child.returncode = 0  # nobody waits for it: without this, Python would complain
    LOG.debug("compiling %d kernel(s) beside the work", len(names))
    return True


@cache
def at_exit() -> None:
    """Start compiling when this process ends, should anything be missing by then."""
    atexit.register(start_beside)


def _may_start() -> bool:
    named = os.environ.get("SFUMATO_BACKGROUND")
    if named is not None:
        return named == "1"
    return not (os.environ.get("CI") or "pytest" in sys.modules)


def _detached() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.DETACHED_PROCESS | subprocess.IDLE_PRIORITY_CLASS}
    return {"start_new_session": True}


def _environment() -> dict[str, str]:
    """Return the environment of the process: it finds this package, and compiles whatever it is told to."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "SFUMATO_BACKGROUND": "0"}


def compile_wanted(folder: Path) -> int:
    """Compile what :func:`start_beside` left in the folder of the store; return how many; None while another does."""
    with _alone(folder / LOCK) as alone:
        if not alone:
            return 0
        place = store()
        if place is not None:
            place.gives_way = True
        done: set[str] = set()
        while place is not None and place.folder == folder:
            # Another process may hand over more while this one compiles.
            text = place.read(WANTED)
            names = [entry for entry in json.loads(text or b"[]") if json.dumps(entry) not in done]
            if not names:
                break
            for entry in names:
                done.add(json.dumps(entry))
                with suppress(Exception):  # such as a kernel of a newer version
                    compile_one(entry[0], entry[1], from_text(entry[2]))
        return len(done)


def compile_one(module: str, name: str, types: Description) -> None:
    """Compile a kernel, should the store not hold it; only kernels of this package are known by name."""
    if not module.startswith("sfumato.kernels."):
        return
    kernel = getattr(import_module(module), name)
    if not jit.is_kept(kernel, types):
        kernel.compiled(types)
        jit.mark(kernel, types)


def take_lowest_priority() -> None:
    """Let everything else on the machine go before this process, and before its session."""
    if hasattr(os, "nice"):
        os.nice(19)
    # Linux shares the processor out among sessions first: nice counts only within this process's own session.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19", encoding="ascii")
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


@contextmanager
def _alone(lock: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process; False where another process holds it."""
    with lock.open("a+b") as file:
        held = _take(file)
        yield held


def _take(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    take_lowest_priority()
    compile_wanted(Path(sys.argv[1]))

"""How long work is steered and watched: the number of threads, and a callback for progress."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from sfumato.errors import PolicyError

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and the total."""
Result = TypeVar("Result")

BEAT = 0.5
"""Seconds between two calls for work that says nothing itself."""
WAITING = 100
"""Lines that wait to be called back before some are left out."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


def shown(what: str, done: int, total: int) -> None:
    """Draw a bar under the cell of a notebook; report nothing anywhere else."""
    if "IPython" in sys.modules:
        from sfumato.notebook import show

        show(what, done, total)


def beating(progress: Progress, what: str, work: Callable[[Progress], Result]) -> Result:
    """Do work that may be silent for long, and call back twice a second until it is done.

    `progress`: called in the thread of the caller, so that it may raise: the caller then goes on at once, and the work
    ends where it next tells something. Of :func:`silent` and :func:`shown` outside of notebooks nothing is made.
    `what`: what is being done until the work says it. `work`: takes a callback of its own, for its steps; it runs in
    another thread. While a kernel is compiled, which holds the interpreter, the calls come late.
    """
    if progress is silent or (progress is shown and "IPython" not in sys.modules):
        return work(silent)
    beats = _Beats(what)
    done: Future[Result] = Future()
    context = copy_context()
    threading.Thread(target=lambda: context.run(_do, work, beats, done), daemon=True, name="sfumato-work").start()
    try:
        is_over = False
        while not is_over:
            # Looked at before, so that what was told at the end is called back, too.
            is_over = done.done()
            for line in beats.taken():
                progress(*line)
            if not is_over and not beats.wait():
                progress(*beats.last)
    except BaseException:
        beats.unwanted = True
        raise
    return done.result()


class _Beats:
    """What work told, between the thread that works and the one that waits."""

    def __init__(self, what: str) -> None:
        self.last, self.unwanted = (what, 0, 1), False
        self._lines: list[tuple[str, int, int]] = []
        self._lock = threading.Lock()
        self.told = threading.Event()

    def tell(self, what: str, done: int, total: int) -> None:
        if self.unwanted:
            raise _UnwantedError
        with self._lock:
            # To a callback that is slow, the latest of a step is enough.
            if len(self._lines) >= WAITING and self._lines[-1][0] == what:
                self._lines.pop()
            self.last = what, done, total
            self._lines.append(self.last)
        self.told.set()

    def wait(self) -> bool:
        """Wait until something is told, or for a beat; tell whether something was."""
        was_told = self.told.wait(BEAT)
        self.told.clear()
        return was_told

    def taken(self) -> list[tuple[str, int, int]]:
        """Return what is not yet called back."""
        with self._lock:
            lines, self._lines = self._lines, []
        return lines


class _UnwantedError(Exception):
    """Nobody waits for the work any more."""


def _do(work: Callable[[Progress], Result], beats: _Beats, done: Future[Result]) -> None:
    try:
        done.set_result(work(beats.tell))
    except BaseException as error:
        done.set_exception(error)
    beats.told.set()


def thread_count(threads: int | None) -> int:
    """Resolve `threads`: argument, ``SFUMATO_THREADS``, else every core; PolicyError unless a whole number ≥ 1."""
    if threads is None:
        given = os.environ.get("SFUMATO_THREADS", "")
        if not given:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not given.isdigit() or int(given) < 1:
            raise PolicyError("SFUMATO_THREADS: must be a whole number, 1 or above")
        return int(given)
    if not isinstance(threads, int) or threads < 1:
        raise PolicyError("threads: must be a whole number, 1 or above")
    return threads

"""Progress on stderr: bars of the work and of compiling on a terminal; elsewhere a line of JSON at a time."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal

from sfumato.cli import interrupted, outcome
from sfumato.cli.outcome import complain, say, say_fitted
from sfumato.kernels.announcing import compiling

if TYPE_CHECKING:
    from rich.progress import Progress


Told = Literal["bar", "json"]

OFTEN, SELDOM = 0.1, 1.0
"""Seconds between two lines: at least, unless the work changes its name, and at most."""
_GLANCE = 0.05
"""Seconds between two looks at what is compiled."""
_live: list[Progress] = []
"""Bars that are drawn at the moment: no two may be on one terminal."""
_hushed: list[bool] = []
"""One entry for each command that draws nothing."""


@contextmanager
def progress_bar(*, quiet: bool = False, told: Told | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """Return a callback (what, done, total) that tells progress.

    A bar is drawn unless `quiet` or off a terminal; lines of JSON are written whatever else is quiet. `told` says
    which of them; None: as the command line does.
    """
    if (told or outcome.PROGRESS[0]) == "json":
        with _hush(), _lines() as callback:
            yield callback
        return
    if quiet or interrupted.is_on() or not sys.stderr.isatty():
        with _hush(quiet or interrupted.is_on()):
            yield lambda what, done, total: None
        return
    with _bar() as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@contextmanager
def _hush(is_quiet: bool = True) -> Iterator[None]:
    """Draw no bars of compiling either, if that is so."""
    _hushed.append(is_quiet)
    try:
        yield
    finally:
        _hushed.pop()


def draw_compiling(kernel: str, seconds: float) -> None:
    """Draw a bar for a kernel until it is compiled, which takes so many seconds, about."""
    if sys.stderr.isatty() and not any(_hushed):
        threading.Thread(target=_draw_compiling, args=(kernel, seconds), daemon=True, name="sfumato-bar").start()


def restore_terminal() -> None:
    """Show the cursor, and clear the lines of bars, of a program that ends without ending its bars."""
    for bar in _live:
        bar.console.quiet = True  # its own thread draws on
        sys.stderr = sys.__stderr__ or sys.stderr  # not the console, which prints above the bars
        above = "\x1b[1A\x1b[2K" * (len(bar.tasks) - 1)
        print(f"\r\x1b[2K{above}\x1b[?25h", end="", file=sys.stderr)


def _draw_compiling(kernel: str, seconds: float) -> None:
    begun = time.monotonic()
    time.sleep(2 * _GLANCE)  # it is announced just before
    with ExitStack() as own:
        bar = _live[-1] if _live else own.enter_context(_bar())
        task = bar.add_task(f"compiling {kernel}", total=seconds)
        while kernel in compiling:
            # An estimate: the last hundredth is kept for its end.
            bar.update(task, completed=min(time.monotonic() - begun, 0.99 * seconds))
            time.sleep(_GLANCE)
        bar.remove_task(task)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        _live.append(bar)
        try:
            yield bar
        finally:
            _live.remove(bar)


@contextmanager
def _lines() -> Iterator[Callable[[str, int, int], None]]:
    """Write what is told; a thread repeats it while an algorithm says nothing."""
    lines, ended = _Lines(), threading.Event()

    def repeat() -> None:
        while not ended.wait(SELDOM / 2):
            lines.repeat()

    watch = threading.Thread(target=repeat, daemon=True, name="sfumato-progress")
    watch.start()
    try:
        yield lines.tell
    finally:
        ended.set()
        watch.join()


class _Lines:
    """What was told last, and when it was written."""

    def __init__(self) -> None:
        self._begun = self._written = time.monotonic()
        self._last = ("starting", 0, 0)
        self._lock = threading.Lock()

    def tell(self, what: str, done: int, total: int) -> None:
        """Take what is told, and write it unless a line was written just now."""
        with self._lock:
            is_due = what != self._last[0] or time.monotonic() - self._written >= OFTEN
            self._last = what, int(done), int(total)
            if is_due:
                self._write()

    def repeat(self) -> None:
        """Write the last line again if none was written for a while."""
        with self._lock:
            if time.monotonic() - self._written >= SELDOM / 2:
                self._write()

    def _write(self) -> None:
        what, done, total = self._last
        self._written = time.monotonic()
        line = {"progress": what, "done": done, "total": total, "seconds": round(self._written - self._begun, 1)}
        print(json.dumps(line), file=sys.stderr, flush=True)


# What a command says about its kernels: that it compiles, and how they ran.


def say_json(result: dict[str, Any]) -> None:
    """Print a result as JSON, with how the kernels ran: for the steward, never part of a release."""
    from sfumato.kernels.jit import TAKEN

    say(json.dumps({**result, "kernels": TAKEN.to_dict()}, indent=2))


def say_result(result: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result as JSON or as text."""
    if as_json:
        say_json(result)
    else:
        say_fitted(text)


def announce_compiling() -> None:
    """Say once on stderr, before the first long compilation, why the command takes longer; draw a bar for each."""
    said: list[str] = []

    def listen(kernel: str, seconds: float) -> None:
        if not said:
            said.append(kernel)
            complain(["compiling, once on this machine, for a job of this size; sfumato warm does it in advance"])
        draw_compiling(kernel, seconds)

    from sfumato.kernels.announcing import listeners

    listeners.append(listen)

"""Progress bars on stderr, if stderr is a terminal: of the work, and of kernels that are compiled for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from sfumato.kernels.announcing import compiling

if TYPE_CHECKING:
    from rich.progress import Progress

_GLANCE = 0.05
"""Seconds between two looks at what is compiled."""
_live: list[Progress] = []
"""Bars that are drawn at the moment: no two may be on one terminal."""
_hushed: list[bool] = []
"""One entry for each command that draws nothing."""


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Return a callback (what, done, total) that draws a bar; it draws nothing if `quiet` or not on a terminal."""
    if quiet or not sys.stderr.isatty():
        _hushed.append(quiet)
        try:
            yield lambda what, done, total: None
        finally:
            _hushed.pop()
        return
    with _bar() as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def draw_compiling(kernel: str, seconds: float) -> None:
    """Draw a bar for a kernel until it is compiled, which takes so many seconds, about."""
    if sys.stderr.isatty() and not any(_hushed):
        Thread(target=_draw_compiling, args=(kernel, seconds), daemon=True, name="sfumato-bar").start()


def restore_terminal() -> None:
    """Show the cursor, and clear the line of a bar, of a program that ends without ending its bars."""
    if _live and sys.stderr.isatty():
        print("\r\x1b[2K\x1b[?25h", end="", file=sys.stderr)


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

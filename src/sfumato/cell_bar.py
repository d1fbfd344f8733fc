"""A bar under the cell of a notebook that runs long; it goes when the cell is done."""

from __future__ import annotations

import sys
import threading
import time
from html import escape
from importlib import import_module
from typing import Any

PATIENCE = 1.0
"""Seconds of work before a bar is drawn, so that short work leaves nothing behind."""
EVERY = 0.2
"""Seconds between two drawings."""


class CellBar:
    """The bar of one kernel: drawn late, redrawn seldom, and taken away when its cell has run.

    `shell`: IPython's shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._began: float | None = None
        self._drawn = 0.0
        self._handle: Any = None

    def show(self, what: str, done: int, total: int) -> None:
        """Draw what is being done, if it has been going on for long enough."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
            self._shell.events.register("post_run_cell", self._end)
        if now - self._began < PATIENCE or now - self._drawn < EVERY:
            return
        self._drawn = now
        self._put(_html(what, done / max(1, total), now - self._began))

    def _put(self, html: str) -> None:
        shown: Any = import_module("IPython.display")
        if self._handle is None:
            self._handle = shown.display(shown.HTML(html), display_id=True)
        else:
            self._handle.update(shown.HTML(html))

    def _end(self, *_: object) -> None:
        """Take the bar away after the cell, whether it was finished, failed or was interrupted."""
        self._shell.events.unregister("post_run_cell", self._end)
        if self._handle is not None:
            self._put("")
        self._began, self._handle = None, None


_bars: dict[int, CellBar] = {}


def show(what: str, done: int, total: int) -> None:
    """Draw a bar if a kernel of Jupyter runs this, on the thread that runs its cells; else do nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None or threading.current_thread() is not threading.main_thread():
        return
    _bars.setdefault(id(shell), CellBar(shell)).show(what, done, total)


def _html(what: str, share: float, seconds: float) -> str:
    percent = 100 * min(max(share, 0.0), 1.0)
    return (
        '<div style="display:flex;gap:.8em;align-items:center;font-size:.875rem;max-width:40rem">'
        f'<span style="flex:1">{escape(what)}</span>'
        '<span style="flex:1;height:.5em;border-radius:3px;background:rgba(128,128,128,.25)">'
        f'<span style="display:block;height:100%;width:{percent:.0f}%;border-radius:3px;background:#3f7fd0"></span>'
        f'</span><span style="opacity:.7">{seconds:.0f} s</span></div>'
    )

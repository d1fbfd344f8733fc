"""Loading numba while a table is still being read: a thread that works where the reader waits."""

from __future__ import annotations

import sys
from threading import Thread

from sfumato.kernels.choice import setting

LARGE = 100_000
"""Records from which on some kernel is sure to be compiled or read."""


def load_ahead(records: int) -> None:
    """Begin to load what compiled kernels need, if so many records are sure to need them; return at once."""
    if records >= LARGE and setting() != "interpreted" and "numba" not in sys.modules:
        Thread(target=_load, name="sfumato-kernels").start()


def _load() -> None:
    from sfumato.kernels.compiled import ready

    ready()

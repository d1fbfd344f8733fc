"""How long work is steered and watched: the number of threads, and a callback for progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from sfumato.errors import PolicyError

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and the total."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


def shown(what: str, done: int, total: int) -> None:
    """Draw a bar under the cell of a notebook; report nothing anywhere else."""
    if "IPython" in sys.modules:
        from sfumato.cell_bar import show

        show(what, done, total)


def thread_count(threads: int | None) -> int:
    """Resolve the `threads` setting: argument, then ``SFUMATO_THREADS``, then every core that may be used.

    Raises
    ------
    PolicyError
        When it is no whole number, 1 or above.
    """
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

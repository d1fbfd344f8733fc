"""Ctrl-C while the program is loaded: it ends with a sentence. Nothing that takes long to load is imported here."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

from sfumato.cli import log_lines

STOPPED = 130
SENTENCE = "stopped; no release was written"

_BEGAN = time.monotonic()


def end_at_interrupt() -> None:
    """End the program at an interruption, until somebody else takes care of it.

    An exception that is raised while a library is loaded may be printed, be lost, or become another one.
    """
    with suppress(ValueError):  # another thread than the main one
        if is_default():
            signal.signal(signal.SIGINT, _end)


def is_default() -> bool:
    """Tell whether an interruption is neither ignored, as behind nohup, nor somebody else's."""
    return signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _end)


def _end(number: int, frame: FrameType | None) -> None:
    if log_lines.OPTION in sys.argv:
        log_lines.start()
        log_lines.log([SENTENCE], is_error=True)
        log_lines.log_end("", STOPPED, _BEGAN)
    else:
        with suppress(OSError):
            os.write(2, f"sfumato: {SENTENCE}\n".encode())
    os._exit(STOPPED)

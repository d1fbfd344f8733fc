"""Ctrl-C while the program is loaded: it ends with a sentence. Nothing that takes long to load is imported here."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import FrameType

from sfumato.errors import without_credentials

# ``--log-json``: everything that goes to stderr as JSON, one object a line, for those who collect logs.


OPTION = "--log-json"
LOG = logging.getLogger("sfumato.cli")


class _Lines(logging.Handler):
    """Writes records to stderr; what it cannot write is lost rather than shown otherwise."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record: fields are for machines, the message for people."""
        written = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_credentials(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        with contextlib.suppress(OSError, ValueError):
            print(json.dumps(written), file=sys.stderr, flush=True)


def start_log_lines() -> None:
    """Write what the library logs, from now on."""
    root = logging.getLogger("sfumato")
    if not is_on():
        root.addHandler(_Lines())
    root.setLevel(logging.INFO)
    root.propagate = False


def is_on() -> bool:
    """Tell whether messages are logged as JSON."""
    return any(isinstance(handler, _Lines) for handler in logging.getLogger("sfumato").handlers)


def log(lines: Sequence[str], *, is_error: bool) -> None:
    """Log lines that people would read on stderr."""
    for line in lines:
        LOG.log(logging.ERROR if is_error else logging.INFO, "%s", line)


def log_end(command: str, code: int, began: float) -> None:
    """Log how a command ended."""
    fields = {"command": command, "exit_code": code, "seconds": round(time.monotonic() - began, 3)}
    LOG.info("ended with exit code %d", code, extra={"fields": fields})


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
    if OPTION in sys.argv:
        start_log_lines()
        log([SENTENCE], is_error=True)
        log_end("", STOPPED, _BEGAN)
    else:
        with suppress(OSError):
            os.write(2, f"sfumato: {SENTENCE}\n".encode())
    os._exit(STOPPED)

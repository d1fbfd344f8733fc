"""Ctrl-C while kernels are compiled: it ends the program, whichever thread compiles."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import suppress
from types import FrameType

from sfumato.cli.interrupted import STOPPED, is_default
from sfumato.cli.outcome import complain, explained
from sfumato.cli.progress import restore_terminal
from sfumato.kernels.announcing import compiling

PATIENCE = 0.1
"""Seconds for the main thread to take the interruption by itself."""


def stop_compiling_at_interrupt() -> None:
    """Watch for interruptions; call it from the main thread.

    The interpreter passes an interruption to the main thread alone, once that runs Python again. The main thread may be
    waiting for another thread, or be inside the compiler for many seconds. The compiler itself calls Python: an
    exception that is raised there is printed and forgotten, or becomes another one. So the program ends without one.
    """
    with suppress(ValueError, OSError):
        heard, told = socket.socketpair()
        told.setblocking(False)
        signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        if is_default():
            signal.signal(signal.SIGINT, _interrupted)
        threading.Thread(target=_watch, args=(heard, told), daemon=True, name="sfumato-stop").start()


def _interrupted(number: int, frame: FrameType | None) -> None:
    """End the program while it compiles; else let it end itself."""
    _end_if_compiling()
    signal.default_int_handler(number, frame)


def _end_if_compiling() -> None:
    if compiling:
        with suppress(RuntimeError):  # the main thread may be printing
            restore_terminal()
            complain(explained(KeyboardInterrupt())[0], is_error=True)
        os._exit(STOPPED)


def _watch(heard: socket.socket, told: socket.socket) -> None:
    while number := heard.recv(1):
        if number[0] == signal.SIGINT:
            time.sleep(PATIENCE)
            _end_if_compiling()
    told.close()

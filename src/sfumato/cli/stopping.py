"""Ctrl-C while kernels are compiled: it ends the program, whichever thread compiles."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import suppress

from sfumato.cli.outcome import STOPPED, complain, explained
from sfumato.kernels.announcing import compiling

PATIENCE = 0.5
"""Seconds for the program to end by itself, as it does if no other thread compiles."""


def stop_compiling_at_interrupt() -> None:
    """Watch for interruptions; call it from the main thread.

    The interpreter passes an interruption to the main thread alone, once that runs Python again. The main thread may be
    waiting for another thread, or be inside the compiler for many seconds.
    """
    with suppress(ValueError, OSError):
        heard, told = socket.socketpair()
        told.setblocking(False)
        signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(heard, told), daemon=True, name="sfumato-stop").start()


def _watch(heard: socket.socket, told: socket.socket) -> None:
    while number := heard.recv(1):
        if number[0] == signal.SIGINT:
            time.sleep(PATIENCE)
            if compiling:
                complain(explained(KeyboardInterrupt())[0], is_error=True)
                os._exit(STOPPED)
    told.close()

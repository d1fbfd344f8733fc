"""Which kernels are compiled right now, and who wants to know; it loads nothing, so that a program may ask early."""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[str, float], None]] = []
"""Called with a kernel's name and the estimated seconds before a compilation that takes a while."""

compiling: list[str] = []
"""Names of the kernels that threads of this process compile, or read, at the moment."""

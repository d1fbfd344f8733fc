"""Whether a kernel runs as it is written or compiled: a rule of costs, which never changes a result.

Loading numba, reading compiled code and compiling cost a known time; running interpreted costs what the arguments'
sizes say, corrected by what calls took before. A kernel is compiled, or read from the store, once what its calls have
cost and what the next one will cost reach that price; so a wrong estimate at most doubles it. What ran interpreted for
want of compiled code is remembered, for :mod:`sfumato.kernels.beside` to compile.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sfumato.kernels.announcing import compiling, listeners
from sfumato.kernels.store import Description, described, elements, longest, signature_text, source_digest, store

if TYPE_CHECKING:
    from sfumato.kernels.jit import Kernel

LOG = logging.getLogger("sfumato.kernels")

STEP = 1.5e-6
"""Seconds for one step of an interpreted kernel, until calls have shown better."""
TRUST = 0.01
"""Seconds of calls that weigh as much as that: what a few short calls took says little."""
SLOW = 14.0
"""Steps for one element of an array, in a kernel that does not say how many it takes."""
MANY = 2000
"""Records from which on such a kernel is taken to cost more for each of them."""
LOADING = 0.6
"""Seconds that loading numba takes, its tables of functions included."""
READING = 0.015
"""Seconds that reading one compiled kernel takes."""
COMPILING = 0.4
"""Seconds that compiling any kernel takes, beside its code."""
COMPILING_BYTE = 1.0e-3
"""Seconds that compiling takes for each byte of Python's code in a kernel and all that it calls."""
WORTH_WAITING = 2.0
"""Seconds of compiling from which on it is announced."""


class NotCompiled(Exception):
    """A dispatcher was called with types for which it holds no compiled code."""


@dataclass
class Account:
    """What the interpreted calls of a kernel with arguments of certain types took."""

    seconds: float = 0.0
    steps: float = 0.0


@dataclass
class Taken:
    """How the kernels of this process ran."""

    # (kernel, types) → what it took; those that were compiled later are there too
    interpreted: dict[tuple[Any, Description], Account]
    # `read`, `compiled`: name of a kernel → seconds that it took to get it
    read: dict[str, float]
    compiled: dict[str, float]
    next_start: float = 1.0  # seconds of interpreted calls after which what is missing is compiled beside

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: names of kernels and rounded seconds."""
        ran: dict[str, float] = {}
        for (kernel, _), account in self.interpreted.items():
            ran[label(kernel)] = ran.get(label(kernel), 0.0) + account.seconds
        return {
            way: {name: round(seconds, 3) for name, seconds in sorted(found.items())}
            for way, found in (("interpreted", ran), ("read", self.read), ("compiled", self.compiled))
        }


TAKEN = Taken({}, {}, {})
"""Of this process."""

_forced: list[str] = []


@contextmanager
def always(way: str) -> Iterator[None]:
    """Run all kernels of this process ``compiled`` or ``interpreted`` for a while."""
    _forced.append(way)
    try:
        yield
    finally:
        _forced.pop()


def setting() -> str:
    """Return ``auto``, ``compiled``, ``checked`` or ``interpreted``."""
    return _forced[-1] if _forced else _from_environment()


@cache
def _from_environment() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "interpreted"
    named = os.environ.get("SFUMATO_KERNELS", "auto")
    return named if named in ("compiled", "checked", "interpreted") else "auto"


def checks_bounds() -> bool:
    """Tell whether what this process compiles looks at every index: slower, and an IndexError where one is wrong."""
    return _from_environment() == "checked"


def run(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Run a kernel for which no compiled code is loaded."""
    way, types = setting(), described(arguments)
    if types is None:
        return kernel.interpreted(arguments)
    if way in ("compiled", "checked") or (way == "auto" and _pays(kernel, types, arguments)):
        found = _compiled(kernel, types)
        try:
            return found(*arguments)
        except NotCompiled:
            # Numba sees other types than the description has: it decides, and nothing has run so far.
            return kernel.compiled_as_given(arguments)(*arguments)
    return _watched(kernel, types, arguments)


def _pays(kernel: Kernel, types: Description, arguments: tuple[Any, ...]) -> bool:
    """Tell whether calls so far, this one and those announced cost as much as compiled code does."""
    account = TAKEN.interpreted.get((kernel, types), Account())
    step = (account.seconds + TRUST) / (account.steps + TRUST / STEP)
    due = account.seconds + step * kernel.times * _steps(kernel, arguments)
    loading = 0.0 if "numba" in sys.modules else LOADING
    everything = due + _spent() - account.seconds
    if due < READING or everything < READING + loading:
        return False
    price = READING if is_kept(kernel, types) else compiling_seconds(kernel)
    return due >= price and everything >= price + loading


def _steps(kernel: Kernel, arguments: tuple[Any, ...]) -> float:
    if kernel.steps:
        return max(1.0, kernel.steps(*arguments))
    return SLOW * max(1, elements(arguments)) * max(1.0, longest(arguments) / MANY)


def _watched(kernel: Kernel, types: Description, arguments: tuple[Any, ...]) -> Any:
    account = TAKEN.interpreted.get((kernel, types))
    if account is None:
        account = TAKEN.interpreted.setdefault((kernel, types), Account())
    steps = _steps(kernel, arguments)  # before the call: it may change what it is handed
    _ = kernel.plain  # making it is no part of what a call takes
    start = time.thread_time()
    result = kernel.interpreted(arguments)
    account.seconds += time.thread_time() - start
    account.steps += steps
    _compile_beside()
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s runs interpreted: %.3g steps, %.4f s so far", label(kernel), steps, account.seconds)
    return result


def _compile_beside() -> None:
    """Hand over what is missing when this process ends, and whenever a second, two, four have been spent."""
    from sfumato.kernels import beside

    beside.at_exit()
    if _spent() >= TAKEN.next_start:
        TAKEN.next_start = 2 * _spent()
        beside.start_beside()


def _spent() -> float:
    return sum(account.seconds for account in list(TAKEN.interpreted.values()))


def _compiled(kernel: Kernel, types: Description) -> Callable[..., Any]:
    kept = is_kept(kernel, types)
    seconds = compiling_seconds(kernel)
    if not kept and seconds >= WORTH_WAITING:
        LOG.info("compiling %s, about %.0f s", label(kernel), seconds)
        for listener in listeners:
            listener(label(kernel), seconds)
    start = time.thread_time()
    compiling.append(label(kernel))
    try:
        found = kernel.compiled(types)
    finally:
        compiling.remove(label(kernel))
    took = time.thread_time() - start
    (TAKEN.read if kept else TAKEN.compiled)[label(kernel)] = took
    LOG.debug("%s %s in %.3f s", label(kernel), "was read" if kept else "was compiled", took)
    if not kept:
        mark(kernel, types)
    return found


def is_kept(kernel: Kernel, types: Description) -> bool:
    """Tell whether the store holds the kernel compiled for such arguments."""
    place, name = store(), _mark(kernel, types)
    return place is not None and name is not None and place.has(name)


def mark(kernel: Kernel, types: Description) -> None:
    """Leave word in the store that a kernel was compiled for such arguments: numba is not needed to read it."""
    place, name = store(), _mark(kernel, types)
    if place is not None and name is not None:
        place.write(name, b"")


@cache
def _mark(kernel: Kernel, types: Description) -> str | None:
    digest = source_digest(kernel.__module__)
    if digest is None:
        return None
    words = f"{kernel.__module__}|{kernel.__qualname__}|{digest}|{signature_text(types)}{'|checked' * checks_bounds()}"
    return f"{kernel.__name__}-{hashlib.sha256(words.encode()).hexdigest()[:32]}.ready"


@cache
def compiling_seconds(kernel: Kernel) -> float:
    """Estimate how long compiling takes, from the size of all code that it reaches."""
    from sfumato.kernels.jit import Kernel as Compilable

    reached, left = {kernel}, [kernel]
    while left:
        function: Any = left.pop().function
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        new = {other for other in called if isinstance(other, Compilable)} - reached
        reached |= new
        left.extend(new)
    code: Any = [other.function for other in reached]
    return COMPILING + COMPILING_BYTE * sum(len(function.__code__.co_code) for function in code)


def label(kernel: Kernel) -> str:
    """Return the short name of a kernel."""
    return f"{kernel.__module__.removeprefix('sfumato.kernels.')}.{kernel.__name__}"

"""Kernels: functions that run as they are written, or compiled, with the same result to the byte.

A kernel is called like any function. :mod:`sfumato.kernels.jit` decides at each call whether compiled code is worth
having; nothing is compiled, and numba is not loaded, before that. ``SFUMATO_KERNELS=compiled`` or ``interpreted`` sets
it for all calls; so does ``NUMBA_DISABLE_JIT=1``, for coverage and for debugging. ``SFUMATO_KERNELS=checked`` compiles
what looks at every index, which is slower.

Whether it runs as it is written is a rule of costs, which never changes a result. Loading numba, reading compiled code
and compiling cost a known time; running interpreted costs what the arguments' sizes say, corrected by what calls took
before. A kernel is compiled, or read from the store, once what its calls have cost and what the next one will cost
reach that price; so a wrong estimate at most doubles it. What ran interpreted for want of compiled code is remembered,
for :mod:`sfumato.kernels.beside` to compile.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from sfumato.kernels.announcing import compiling, listeners
from sfumato.kernels.store import Description, described, elements, longest, signature_text, source_digest, store

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Make a kernel: compiled without the interpreter lock, once, and kept on disk."""
    return cast(Function, Kernel(function, kept=True))


def linear(function: Function) -> Function:
    """Make a kernel that looks at every element of its arrays a few times and no more."""
    return cast(Function, Kernel(function, kept=True, steps=lambda *arguments: elements(arguments)))


def sized(steps: Callable[..., float]) -> Callable[[Function], Function]:
    """Make a kernel that says how long it takes: `steps` is called with its arguments.

    A step is what a :func:`linear` kernel does with one element of an array. It decides whether the kernel is compiled,
    never a result. Kernels that say nothing are taken to be slow, and slower than linear on many records.
    """

    def make(function: Function) -> Function:
        return cast(Function, Kernel(function, kept=True, steps=steps))

    return make


def inlined(function: Function) -> Function:
    """Make a small helper that kernels call; it is not kept by itself."""
    return cast(Function, Kernel(function))


def borrowing(function: Function) -> Function:
    """Make a helper that makes and keeps no array: references to those that it is handed are not counted.

    Counting costs more than the work on a range of twenty records.
    """
    return cast(Function, Kernel(function, counted=False))


def interpreted_as(kernel: Function) -> Callable[[Function], Function]:
    """Give a kernel another form for runs without compiled code: the same result to the byte, on whole arrays."""

    def take(function: Function) -> Function:
        cast(Any, kernel).python = function
        return function

    return take


@contextmanager
def run_repeatedly(kernel: Callable[..., object], times: int) -> Iterator[None]:
    """Say that a kernel is about to be called so many times: compiling it may pay though no single call is long."""
    known = cast(Kernel, kernel)
    known.times = max(1, times)
    try:
        yield
    finally:
        known.times = 1


class Plain:
    """Something that kernels call, with its form in Python and its type for numba."""

    plain: Callable[..., Any]  # what interpreted kernels call


class Kernel(Plain):
    """A function with a compiled form that is made when it is needed.

    * `function`: As it is written.
    * `python`: What runs where it is interpreted.
    * `times`: Calls like the next one that are to come, as far as is known.
    """

    times: int = 1
    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        counted: bool = True,
        kept: bool = False,
        steps: Callable[..., float] | None = None,
    ) -> None:
        self.function = function
        self.python = function
        self.steps = steps
        self._counted = counted
        self._kept = kept
        self._count = cast(FunctionType, function).__code__.co_argcount
        self._entry: Any = None  # called from Python
        self._inner: Any = None  # called from other kernels; numba holds no reference to it
        self._lock = RLock()
        update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the kernel, one way or the other."""
        if named or len(arguments) != self._count:
            arguments = self._all(arguments, named)
        if self._entry is not None:
            try:
                return self._entry(*arguments)
            except NotCompiled:
                pass
        return run(self, arguments)

    def interpreted(self, arguments: tuple[Any, ...]) -> Any:
        """Run the function as it is written; as silent as compiled code, and with the same kinds of numbers."""
        with np.errstate(all="ignore"):
            # A float of Python raises where it is divided by zero.
            boxed = [np.float64(value) if type(value) is float else value for value in arguments]
            return _unboxed(self.plain(*boxed))

    def compiled(self, types: Description) -> Callable[..., Any]:
        """Return the function compiled for such arguments, from the store where it is there."""
        from sfumato.kernels import compiled

        with self._lock:
            if self._entry is None:
                self._entry = compiled.dispatcher_of(self.function, counted=self._counted, kept=True)
            self._entry.compile(compiled.numba_types(types))
        return cast(Callable[..., Any], self._entry)

    def compiled_as_given(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the function compiled for the types that numba gives these arguments."""
        from sfumato.kernels import compiled

        with self._lock:
            self._entry.compile(compiled.types_of(arguments))
        return cast(Callable[..., Any], self._entry)

    @cached_property
    def plain(self) -> Callable[..., Any]:  # type: ignore[override]
        """The function with other kernels as plain functions, so that they cost a call and no more."""
        with _BUILDING:
            function = cast(FunctionType, self.python)
            namespace = _plain_namespace(function.__globals__)
            return FunctionType(function.__code__, namespace, None, function.__defaults__, function.__closure__)

    @cached_property
    def _numba_type_(self) -> Any:
        """What numba asks for where a kernel that it compiles calls this one."""
        from sfumato.kernels import compiled

        with self._lock:
            self._inner = compiled.dispatcher_of(self.function, counted=self._counted, kept=self._kept)
            if self._kept and self._entry is None:
                self._entry = self._inner
        return compiled.type_of_dispatcher(self._inner)

    def _all(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        bound = inspect.signature(self.function).bind(*arguments, **named)
        bound.apply_defaults()
        return bound.args


_BUILDING = RLock()
_namespaces: dict[str, dict[str, Any]] = {}


def _plain_namespace(names: dict[str, Any]) -> dict[str, Any]:
    """Return a module's names with the plain form of every kernel."""
    module = names["__name__"]
    if module not in _namespaces:
        # It is known before it is full: modules, and kernels of one module, may call each other.
        namespace = _namespaces[module] = dict(names)
        namespace.update({name: value.plain for name, value in names.items() if isinstance(value, Plain)})
    return _namespaces[module]


def _unboxed(result: Any) -> Any:
    """Turn numpy's numbers into Python's, as compiled code does when it returns."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        parts = [_unboxed(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result


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
    reached, left = {kernel}, [kernel]
    while left:
        function: Any = left.pop().function
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        new = {other for other in called if isinstance(other, Kernel)} - reached
        reached |= new
        left.extend(new)
    code: Any = [other.function for other in reached]
    return COMPILING + COMPILING_BYTE * sum(len(function.__code__.co_code) for function in code)


def label(kernel: Kernel) -> str:
    """Return the short name of a kernel."""
    return f"{kernel.__module__.removeprefix('sfumato.kernels.')}.{kernel.__name__}"

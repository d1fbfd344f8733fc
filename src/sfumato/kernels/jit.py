"""Kernels: functions that run as they are written, or compiled, with the same result to the byte.

A kernel is called like any function. :mod:`sfumato.kernels.choice` decides at each call whether compiled code is worth
having; nothing is compiled, and numba is not loaded, before that. ``SFUMATO_KERNELS=compiled`` or ``interpreted`` sets
it for all calls; so does ``NUMBA_DISABLE_JIT=1``, for coverage and for debugging. ``SFUMATO_KERNELS=checked`` compiles
what looks at every index, which is slower.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from sfumato.kernels import choice
from sfumato.kernels.store import Description, elements

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
            except choice.NotCompiled:
                pass
        return choice.run(self, arguments)

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

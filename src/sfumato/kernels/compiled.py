"""The one place that knows how kernels are compiled, and the only one, with the instructions of sets, to load numba.

It is imported when a compiled kernel is really taken.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Thread
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, compiler
from numba.core import types as numba_kinds
from numba.core.caching import _Cache
from numba.core.registry import cpu_target
from numba.core.serialize import dumps as numba_dumps
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from sfumato.kernels.jit import NotCompiled, checks_bounds, setting
from sfumato.kernels.store import Description, Store, say_rubbish, source_digest, store

# Loading numba while a table is still being read: a thread that works where the reader waits.


LARGE = 100_000
"""Records from which on some kernel is sure to be compiled or read."""


def load_ahead(records: int) -> None:
    """Begin to load what compiled kernels need, if so many records are sure to need them; return at once."""
    if records >= LARGE and setting() != "interpreted" and "numba" not in sys.modules:
        Thread(target=_load, name="sfumato-kernels").start()


def _load() -> None:

    ready()


# Their types leave switches and functions out.
_njit: Any = numba.njit
types: Any = numba_kinds
dumps: Any = numba_dumps
typeof: Any = numba.typeof
CompileResult: Any = compiler.CompileResult

_MODE = {"nogil": True, "error_model": "numpy"}


def ready() -> None:
    """Load numba's tables of functions, which the first kernel would do otherwise."""
    cpu_target.target_context.refresh()


def dispatcher_of(function: Callable[..., Any], *, counted: bool, kept: bool) -> Any:
    """Return numba's dispatcher of a function; nothing is compiled yet.

    counted : count references to arrays; a helper that makes and keeps none need not. Where numba no longer knows the
    switch, references are counted, which is slower and as right. kept : look for compiled code in the store, and leave
    it there.
    """
    found = _njit(function, **_MODE, boundscheck=checks_bounds()) if counted else _uncounted(function)
    place = store() if kept else None
    digest = source_digest(function.__module__) if place else None
    if place and digest:
        found._cache = CompiledKernels(function, place, digest)
    # A call with new types must not compile by itself: whether that pays is decided elsewhere.
    found._compile_for_args = _refuse
    return found


def _uncounted(function: Callable[..., Any]) -> Any:
    try:
        return _njit(function, **_MODE, boundscheck=checks_bounds(), _nrt=False)
    except (TypeError, KeyError):
        return _njit(function, **_MODE, boundscheck=checks_bounds())


def _refuse(*_: Any, **__: Any) -> Any:
    raise NotCompiled


def type_of_dispatcher(dispatcher: Any) -> Any:
    """Return numba's type of a function that kernels call."""
    return types.Dispatcher(dispatcher)


def types_of(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return the types that numba itself gives a call's arguments."""
    return tuple(typeof(value) for value in arguments)


def numba_types(description: Description) -> tuple[Any, ...]:
    """Return numba's types of described arguments."""
    return tuple(_type_of(part) for part in description)


def _type_of(part: Description) -> Any:
    kind = part[0]
    if kind == "array":
        _, dtype, dimensions, layout, writeable = part
        return types.Array(from_dtype(np.dtype(dtype)), dimensions, layout, readonly=not writeable)
    if kind == "named":
        _, module, name, fields = part
        return types.BaseTuple.from_types(numba_types(fields), getattr(import_module(module), name))
    if kind == "tuple":
        return types.BaseTuple.from_types(numba_types(part[1]))
    return types.none if kind == "none" else from_dtype(np.dtype(kind))


class CompiledKernels(_Cache):
    """What numba asks for compiled code of one function, answered by the store: one file for each signature."""

    def __init__(self, function: Callable[..., Any], place: Store, digest: str) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._store = place
        self._digest = digest
        self._enabled = True
        self._turns: dict[str, int | None] = {}

    @property
    def cache_path(self) -> str:
        """Folder of the files."""
        return str(self._store.folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function of a signature, or None: then it is this process that compiles it."""
        if not self._enabled:
            return None
        target_context.refresh()
        name = self._file(sig, target_context.codegen())
        found = self._read(name, target_context)
        if found is not None:
            return found
        self._end_turn(name)  # of a compilation that failed
        self._turns[name] = self._store.turn(name)
        found = self._read(name, target_context)
        if found is not None:
            self._end_turn(name)
        return found

    def _read(self, name: str, target_context: Any) -> Any:
        data = self._store.read(name)
        if data is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:
            say_rubbish(self._store.folder)
            return None

    def _end_turn(self, name: str) -> None:
        self._store.end_turn(name, self._turns.pop(name, None))

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep a compiled function, where it can be kept."""
        name = self._file(sig, cres.codegen)
        bound_to_process = cres.library.has_dynamic_globals or any(not part.can_cache for part in cres.lifted)
        if self._enabled and not bound_to_process:
            self._store.write(name, dumps(cres._reduce()))
        self._end_turn(name)

    def enable(self) -> None:
        """Read and write from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: files are named by what they hold, none is ever wrong."""

    def _file(self, sig: Any, codegen: Any) -> str:
        words = (self._name, self._digest, str(sig), repr(codegen.magic_tuple()), *["checked"] * checks_bounds())
        return f"{self._name.rpartition('.')[2]}-{hashlib.sha256('|'.join(words).encode()).hexdigest()[:32]}.code"


def instruction(name: str, *, non_zero: bool) -> Any:
    """Return numba's type of a function that is one machine instruction on a 64-bit word, maybe never on 0."""

    def of_word(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(arguments[0], *([cgutils.true_bit] if non_zero else []))

        return types.int64(types.uint64), generate

    context = cpu_target.typing_context
    made = intrinsic(of_word)
    context.refresh()
    return context.resolve_value_type(made)

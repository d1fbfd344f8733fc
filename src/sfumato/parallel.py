"""Independent parts of a job on several threads, results in order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Part = TypeVar("Part")
Result = TypeVar("Result")
Other = TypeVar("Other")
Key = TypeVar("Key", bound=Hashable)
Owner = TypeVar("Owner")

SMALL = 100_000
"""Records below which a part of the work on one column is over before a thread has started."""


def worth_starting(threads: int, records: int) -> int:
    """Return how many of `threads` to use for parts that each look once at `records` records: 1 in a small table."""
    return threads if records >= SMALL else 1


def each(function: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """Apply `function` to every part, on up to `threads` threads; results stand in the order of the parts.

    The first exception is raised once running parts have ended. Worth it where the work leaves the interpreter's lock:
    kernels, and polars.
    """
    if threads <= 1:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="sfumato") as pool:
        return list(pool.map(function, parts))


def as_done(function: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> Iterator[tuple[int, Result]]:
    """Apply `function` to every part, on up to `threads` threads; each result comes with the place of its part.

    Results come as they are done, in any order. After an exception, or when nobody asks for more, nothing new is
    started, and what runs is waited for.
    """
    if threads <= 1:
        yield from enumerate(map(function, parts))
        return
    with thread_pool(threads) as pool:
        place_of = {pool.submit(function, part): place for place, part in enumerate(parts)}
        for future in as_completed(place_of):
            yield place_of[future], future.result()


@contextmanager
def thread_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Make a pool that starts nothing new after an exception or an interruption, and waits for what runs."""
    pool = ThreadPoolExecutor(max_workers=max(1, threads), thread_name_prefix="sfumato")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def both(one: Callable[[], Result], other: Callable[[], Other], threads: int) -> tuple[Result, Other]:
    """Call two functions side by side where there are two threads; raises once both ended, the first's error first."""
    if threads <= 1:
        return one(), other()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="sfumato") as pool:
        beside = pool.submit(other)
        return one(), beside.result()


class Once(Generic[Key, Result]):
    """Results by key, each worked out by the thread that first asks for it, while others that ask wait.

    What raises is not kept: the next one tries again.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: dict[Key, Lock] = {}
        self._results: dict[Key, Result] = {}

    def of(self, key: Key, work: Callable[[], Result]) -> Result:
        """Return the result of a key; `work` finds it where there is none yet."""
        with self._lock:
            own = self._locks.setdefault(key, Lock())
        with own:
            if key not in self._results:
                self._results[key] = work()
            return self._results[key]

    def forget(self, key: Key) -> None:
        """Drop the result of a key, if there is one."""
        self._results.pop(key, None)


class OnceForEach(Generic[Owner, Key, Result]):
    """Results that are worked out of an object, kept for as long as that object lives."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Owner, Once[Key, Result]] = WeakKeyDictionary()

    def of(self, owner: Owner, key: Key, work: Callable[[], Result]) -> Result:
        """Return the result of a key for an object; `work` finds it where there is none yet."""
        return self._known.setdefault(owner, Once()).of(key, work)

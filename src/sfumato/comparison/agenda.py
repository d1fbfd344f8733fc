"""Choose which run comes next: long and short runs go on at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

from sfumato.comparison.plan import Run


class Agenda:
    """Runs that wait, and how long each anonymizer is known to take.

    A long run spends most of its time in kernels, a short one in the interpreter, which only one thread can use at a
    time, so two short runs would wait for each other. Therefore as many long runs go on as short ones. Each kind starts
    from its own end of the list, so the runs of medium length are left for the end.

    Parameters
    ----------
    runs
        In the order in which runs of one anonymizer are begun. All of one repetition come before those of the next.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._waiting = list(runs)
        self._seconds: dict[str, float] = {}
        self._balance = 0
        self._is_long: dict[Run, int] = {}
        self._lock = Lock()

    def begin(self) -> Run:
        """Take a run of an anonymizer with unknown times, else a long or a short run, whichever are fewer now.

        Raises
        ------
        IndexError
            When none is left.
        """
        with self._lock:
            now = self._waiting[0].repetition
            own = [run for run in self._waiting if run.repetition == now]
            firsts = {run.anonymizer: run for run in reversed(own)}
            unknown = [run for run in own if run.anonymizer not in self._seconds]
            chosen = unknown[0] if unknown else self._chosen(list(firsts.values()))
            self._waiting.remove(chosen)
            return chosen

    def end(self, run: Run, seconds: float) -> None:
        """Note how long a run took."""
        with self._lock:
            self._seconds[run.anonymizer] = seconds
            self._balance -= self._is_long.pop(run, 0)

    def _chosen(self, firsts: list[Run]) -> Run:
        long = self._balance <= 0
        chosen = (max if long else min)(firsts, key=lambda run: self._seconds[run.anonymizer])
        self._is_long[chosen] = 1 if long else -1
        self._balance += self._is_long[chosen]
        return chosen

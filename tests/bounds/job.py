"""Every kernel with bounds checked, over generated tables: ``python -m bounds COUNT [FIRST [PROCESSES]]``.

``SFUMATO_KERNELS=checked`` compiles the kernels with bounds checked; ``interpreted`` runs them guarded
(:mod:`bounds.guarded`). Says after every few tables how far it is; prints what came of the tables, which kernels ran in
the fewest and which did not, and every fault with the number of its table. ``python -m bounds 1 NUMBER`` repeats that
table. Ends with 1 where there is a fault, or where a kernel did not run over 1,000 interpreted tables or more. Every
other interpreted table runs with lower sizes (``guarded.LOWERED``), so that small ones reach kernels for large ones;
where a kernel has another form on whole arrays, that runs in one of four rounds (``doors.is_whole``).
"""

from __future__ import annotations

import faulthandler
import os
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from time import monotonic

ENOUGH = 1000
"""Interpreted tables from which on every kernel must have run."""

PATIENCE = 300
"""Seconds of the processor after which a table counts as one that never ends."""

STANDSTILL = 2 * PATIENCE
"""The same after which a process is ended, with its stack, that hears no signal: in a compiled kernel."""

PART = 100
"""Tables that a process runs before it hands over what it found."""

PARTS = 100
"""Parts after which a process makes room for a new one."""


@dataclass
class Findings:
    """What came of some tables: how often each outcome and each fault was there, and in how many each kernel ran."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    ran: Counter[str] = field(default_factory=Counter)

    def add(self, other: Findings) -> None:
        for fault, example in other.examples.items():
            if fault not in self.examples:
                self.examples[fault] = example
                print(example, flush=True)
        self.outcomes += other.outcomes
        self.faults += other.faults
        self.ran += other.ran

    def add_fault(self, table: int, fault: str, where: str = "") -> None:
        self.faults[fault] += 1
        self.examples.setdefault(fault, f"table {table}: {fault}{where and chr(10)}{where}")


def main(count: int, first: int, processes: int) -> int:
    began, found, done, told = monotonic(), Findings(), 0, 0
    starts = range(first, first + count, PART)
    for part in run_beside(starts, first + count, processes) if processes > 1 else run_here(starts, first + count):
        found.add(part)
        done += sum(part.outcomes.values()) + sum(part.faults.values())
        if told < done // 1000 * 1000 < count:
            told = done // 1000 * 1000
            rate = done / (monotonic() - began)
            print(f"{done:,} tables, {rate:.2f} a second, {sum(found.faults.values())} faults", flush=True)
    return summed_up(count, found)


def run_here(starts: range, stop: int) -> Iterator[Findings]:
    prepare()
    for start in starts:
        yield run_part(start, min(stop, start + PART))


def run_beside(starts: range, stop: int, processes: int) -> Iterator[Findings]:
    """Run parts in several processes; where one dies, what was not handed over runs again, each part by itself."""
    again = list[int]()
    with _pool(processes) as pool:
        parts = {pool.submit(run_part, start, min(stop, start + PART)): start for start in starts}
        for part in as_completed(parts):
            try:
                yield part.result()
            except BrokenProcessPool:
                again.append(parts[part])
    for start in sorted(again):
        with _pool(1) as pool:
            try:
                yield pool.submit(run_part, start, min(stop, start + PART)).result()
            except BrokenProcessPool:
                died = Findings()
                died.add_fault(start, f"the process died in it or in one of the {PART - 1} tables after it")
                yield died


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, get_context("spawn"), initializer=prepare, max_tasks_per_child=PARTS)


def prepare() -> None:
    from bounds import guarded

    guarded.limit()
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    signal.signal(signal.SIGPROF, _late)
    faulthandler.register(signal.SIGVTALRM, chain=True)


def is_interpreted() -> bool:
    return os.environ.get("SFUMATO_KERNELS") == "interpreted"


def run_part(first: int, stop: int) -> Findings:
    from bounds import guarded
    from bounds.doors import is_whole, knock

    found = Findings()
    for number in range(first, stop):
        guarded.RAN.clear()
        if is_interpreted():
            if number == first or is_whole(number) != is_whole(number - 1):
                guarded.guard(whole=is_whole(number))
            guarded.lower(number % 2 == 1)
        signal.setitimer(signal.ITIMER_VIRTUAL, STANDSTILL)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            found.outcomes[knock(number)] += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "sfumato" in frame.filename][-1:]
            where = [f"{frame.filename}:{frame.lineno}" for frame in (*ours, frames[-1])]
            told = "".join(traceback.format_exception(error)) if os.environ.get("VERBOSE") else ""
            found.add_fault(number, f"{type(error).__name__}: {error} at {where}", told)
        signal.setitimer(signal.ITIMER_PROF, 0)
        found.ran.update(guarded.RAN)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return found


def summed_up(count: int, found: Findings) -> int:
    from bounds import guarded

    print(*(f"{times:7} {outcome}" for outcome, times in sorted(found.outcomes.items())), sep="\n")
    missing: list[str] = []
    if is_interpreted():
        guarded.guard()
        everything = guarded.names()
        missing = sorted(everything - set(found.ran))
        print(f"{len(found.ran)} of {len(everything)} kernels ran")
        if count >= ENOUGH or os.environ.get("VERBOSE"):
            print("in the fewest tables:", *(f"{name} {times}" for name, times in found.ran.most_common()[:-20:-1]))
            print(f"not these {len(missing)}:", *missing)
    print(f"{count} tables, {sum(found.faults.values())} faults of {len(found.faults)} kinds")
    return int(bool(found.faults) or (bool(missing) and count >= ENOUGH))


def _late(*_: object) -> None:
    raise TimeoutError("no end in sight")

"""What an action costs: in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_ENVIRONMENT_OF_CHILDREN = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


@dataclass(frozen=True)
class Cost:
    """What one run took.

    Attributes
    ----------
    wall, cpu : float
        Seconds; `cpu` is that of all threads.
    peak : int
        Largest resident memory, bytes; 0 where it was not measured.
    """

    wall: float
    cpu: float
    peak: int = 0

    def __str__(self) -> str:
        return f"{self.wall:.3g} s ({self.cpu:.3g} s CPU)"


def run_here(action: Callable[[], Any]) -> tuple[Cost, Any]:
    """Measure one call in this process, and return what it returned."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu), result


def run_repeatedly(action: Callable[[], Any], repeats: int) -> tuple[Cost, Any]:
    """Measure `repeats` calls after one that is not counted; the medians, and what the last returned."""
    action()
    runs = [run_here(action) for _ in range(repeats)]
    return median([cost for cost, _ in runs]), runs[-1][1]


def run_child(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Measure ``python ARGUMENTS`` as a process of its own, from start to end.

    A small process in between starts it: what the system counts as a process's peak memory begins with that of the
    process that started it.

    Raises
    ------
    RuntimeError
        When it fails, with what it said.
    """
    with tempfile.TemporaryFile("w+") as answer:
        subprocess.run(
            [sys.executable, str(Path(__file__)), sys.executable, *arguments],
            env={**os.environ, **_ENVIRONMENT_OF_CHILDREN, **(environment or {})},
            cwd=ROOT,
            stdout=answer,
            check=True,
        )
        answer.seek(0)
        said = json.load(answer)
    if said["code"]:
        raise RuntimeError(f"{' '.join(arguments[:4])} … ended with {said['code']}: {said['output'][-2000:]}")
    return Cost(said["wall"], said["cpu"], said["peak"])


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of each part."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        max(cost.peak for cost in costs),
    )


def mean(costs: Sequence[Cost]) -> Cost:
    """Return the means of each part."""
    return Cost(
        statistics.fmean(cost.wall for cost in costs),
        statistics.fmean(cost.cpu for cost in costs),
        max(cost.peak for cost in costs),
    )


def _start(command: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryFile("w+") as output:
        wall = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), stream) for stream in (1, 2)]
        child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, used = os.wait4(child, 0)
        wall = time.perf_counter() - wall
        output.seek(0)
        # The system counts peak memory in KiB, macOS in bytes.
        peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return {
            "wall": wall,
            "cpu": used.ru_utime + used.ru_stime,
            "peak": peak,
            "code": os.waitstatus_to_exitcode(status),
            "output": output.read(),
        }


if __name__ == "__main__":
    print(json.dumps(_start(sys.argv[1:])))

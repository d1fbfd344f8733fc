"""Compare what every anonymizer and publisher publishes with what is on file, or write it down anew.

``PYTHONPATH=src:tests python -m golden`` names what differs and ends with 1 if anything does; ``--write`` rewrites
``golden.json``. A commit that does so says why.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from golden.runs import RUNS, outcome

FILE = Path(__file__).with_name("golden.json")


def outcomes(threads: int) -> dict[str, Any]:
    """Make every release, and return what is kept of each by the name of its run."""
    return {run.name: outcome(run, threads) for run in RUNS}


def differing(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Say in what two sets of outcomes differ, a line for each run."""
    return [
        f"{name}: {_how(found.get(name), wanted.get(name))}"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]


def _how(found: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None) -> str:
    if found is None or wanted is None:
        return "is not run any more" if found is None else "is not on file"
    return ", ".join(part for part in sorted({*found, *wanted}) if found.get(part) != wanted.get(part))


def on_file() -> dict[str, Any]:
    """Return what `golden.json` says."""
    known: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return known


def main() -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite golden.json")
    one = outcomes(threads=1)
    if parser.parse_args().write:
        FILE.write_text(json.dumps(one, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    lines = [*differing(one, on_file()), *(f"two threads, {line}" for line in differing(outcomes(threads=2), one))]
    print("\n".join(lines) or f"{len(RUNS)} runs, one thread and two: as on file")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

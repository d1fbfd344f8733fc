"""Mutate places of the package one by one, and tell how many of them the short tests find.

``PYTHONPATH=tests python -m mutations --other CHECKOUT`` draws 60 places among functions of the other checkout that
stand in this one, too (:mod:`mutations.places`), and mutates them here. It first runs the short tests once to see which
lines each reaches, and keeps that in ``--reach``. Then each mutant meets the tests that reach its line, those of files
with few such tests first, until one fails. ``--mutate CHECKOUT`` mutates another checkout at the same places, so that
two versions are compared; give it a ``--reach`` of its own.

A mutant is *found* where a test fails, or takes longer than ``--seconds``. One that no test reaches is not found.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import coverage

from mutations.places import Place, drawn, mutated
from mutations.reaching import FOLDER

HERE = Path(__file__).resolve().parents[2]
Reach = dict[str, dict[int, list[str]]]


def main(words: Sequence[str] | None = None) -> int:
    """Mutate, and print each mutant and the share that was found."""
    asked = _asked(words)
    first, second = (checkout / "src" / "sfumato" for checkout in (HERE, asked.other))
    places = drawn(second, first, asked.places, asked.seed)
    checkout = asked.mutate or HERE
    if asked.list:
        for place in places:
            path, _, told, lines = mutated(checkout / "src" / "sfumato", place)
            print(f"{path.relative_to(checkout)}:{lines.start}  {place.function}: {told}")
        return 0
    reach = reach_of(checkout, asked.reach, asked.tests, asked.workers)
    found = [result_of(checkout, place, reach, asked.seconds) for place in places]
    often = Counter(found)
    hit = often["found"] + often["took too long"]
    print(f"{hit} of {len(found)} found ({hit / len(found):.0%}):", ", ".join(f"{n} {how}" for how, n in often.items()))
    return 0


def _asked(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutations", description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="checkout of the version to compare with")
    parser.add_argument("--mutate", type=Path, help="checkout that is mutated and tested; default this one")
    parser.add_argument("--places", type=int, default=60)
    parser.add_argument("--seed", type=int, default=35)
    parser.add_argument("--seconds", type=float, default=600, help="that the tests of one mutant may take")
    parser.add_argument("--workers", type=int, default=2, help="processes that see which lines tests reach")
    parser.add_argument("--reach", type=Path, default=Path("build/reach.json"), help="kept for the next run")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="files or folders of tests, from the checkout")
    parser.add_argument("--list", action="store_true", help="only say what would be mutated")
    return parser.parse_args(words)


def reach_of(checkout: Path, kept: Path, tests: Sequence[str], workers: int) -> Reach:
    """Return the tests that reach each line of each file, as they were kept, or by running them once."""
    if not kept.exists():
        with TemporaryDirectory() as place:
            kept.parent.mkdir(parents=True, exist_ok=True)
            more = {FOLDER: place, "PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(HERE / "tests")])}
            _pytest(checkout, ["-p", "mutations.reaching", "-n", str(workers), *tests], more)
            kept.write_text(json.dumps(_lines(Path(place), checkout)))
    loaded = json.loads(kept.read_text())
    return {file: {int(line): names for line, names in lines.items()} for file, lines in loaded.items()}


def _lines(place: Path, checkout: Path) -> Reach:
    whole: Reach = {}
    for path in sorted(place.iterdir()):
        data = coverage.CoverageData(str(path))
        data.read()
        for file in data.measured_files():
            lines = whole.setdefault(str(Path(file).relative_to(checkout)), {})
            for line, contexts in data.contexts_by_lineno(file).items():
                lines.setdefault(line, []).extend(name for name in contexts if name)
    return whole


def result_of(checkout: Path, place: Place, reach: Reach, seconds: float) -> str:
    """Mutate one place in a copy, run the tests that reach it, and say what came of it."""
    path, text, told, lines = mutated(checkout / "src" / "sfumato", place)
    file = str(path.relative_to(checkout))
    tests = sorted({name for line in lines for name in reach.get(file, {}).get(line, [])})
    how = _met(checkout, path, text, tests, seconds) if tests else "not reached"
    print(f"{how:14} {len(tests):5} tests  {file}:{lines.start}  {place.function}: {told}", flush=True)
    return how


def _met(checkout: Path, path: Path, text: str, tests: Sequence[str], seconds: float) -> str:
    with TemporaryDirectory() as place:
        source = Path(place) / "src"
        shutil.copytree(checkout / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / path.relative_to(checkout / "src")).write_text(text, encoding="utf-8")
        listed = Path(place) / "tests"
        listed.write_text("\n".join(_quick_first(tests)) + "\n")
        more = {"PYTHONPATH": str(source), "SFUMATO_CACHE_DIR": str(Path(place) / "kernels")}
        try:
            code = _pytest(checkout, ["-x", "-n", "0", "-p", "no:randomly", f"@{listed}"], more, seconds)
        except subprocess.TimeoutExpired:
            return "took too long"
    return {0: "NOT FOUND", 1: "found", 2: "found"}.get(code, f"pytest ended with {code}")


def _quick_first(tests: Sequence[str]) -> list[str]:
    """Put tests of files with few of them first: they are about what they test."""
    often = Counter(name.partition("::")[0] for name in tests)
    return sorted(tests, key=lambda name: (often[name.partition("::")[0]], name))


def _pytest(checkout: Path, words: Sequence[str], more: dict[str, str], seconds: float | None = None) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *words]
    done = subprocess.run(
        command, cwd=checkout, env={**os.environ, **more}, timeout=seconds, stdout=subprocess.DEVNULL, check=False
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

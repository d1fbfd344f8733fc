"""How soon a program starts: whole commands in processes of their own, without and with compiled kernels on the disk.

CPU time of a whole process is held against a number of seconds, as a share of it: it is what somebody waits for who has
never called the program before.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.adult import QUASI_IDENTIFYING, read_adult
from benchmarks.measuring import Cost, run_child
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.policy.policy import Policy

NAME = "start"

FIRST = {
    "mondrian": 2.5, "k-member": 12.0, "mdav": 4.0, "caat": 4.0,
    "kaca": 4.0, "slicing": 4.0, "risk": 4.0, "attack": 4.0,
}  # fmt: skip
"""Job on 1,000 records → CPU seconds of its first call ever."""
ADULT, WARM, HELP, VERIFY = 15.0, 1.2, 0.3, 0.6
TIMES_IMPORTING = 1.5

_OTHERS = ("--sensitive", "occupation", "--others", "drop")
_KEYS = ",".join(name for name in QUASI_IDENTIFYING if name != "occupation")


def run(settings: Settings) -> Iterator[Figure]:
    """Measure the program's start; without Adult there is nothing to start with."""
    adult = read_adult(settings.adult_file())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        whole, some = place / "adult.csv", place / "some.csv"
        adult.write_csv(whole)
        adult.head(1000).write_csv(some)
        yield from _first_calls(place, whole, some)
        yield from _warm(place, some)


def _first_calls(place: Path, whole: Path, some: Path) -> Iterator[Figure]:
    for name, bar in FIRST.items():
        yield _share(
            f"first call ever, 1,000 records: {name}", _command(place, _words(name, some, place), new=True), bar
        )
    words = [*_words("mondrian", whole, place), "-l", "3"]
    yield _share("first call ever, Adult, 7 attributes: mondrian", _command(place, words, new=True), ADULT)


def _warm(place: Path, some: Path) -> Iterator[Figure]:
    words = _words("mondrian", some, place)
    _command(place, ["warm", "mondrian"])
    cost = _command(place, words)
    floor = run_child(["-c", "import polars, numpy, numba"])
    yield _share("warm, 1,000 records: mondrian", cost, WARM)
    ratio = cost.cpu / floor.cpu
    detail = f"{cost}; importing alone {floor}"
    yield Figure(NAME, "warm ÷ importing", ratio, f"{ratio:.2f} ×", TIMES_IMPORTING, at_most=True, detail=detail)
    yield _share("sfumato --help", _command(place, ["--help"]), HELP)
    yield _share("sfumato verify", _command(place, ["verify", str(place / "release")]), VERIFY)


def _words(name: str, table: Path, place: Path) -> list[str]:
    keys = [str(table), "--quasi", _KEYS]
    if name == "risk":
        return ["risk", *keys]
    if name == "attack":
        policy = place / "policy.toml"
        columns = {"quasi-identifying": _KEYS.split(","), "sensitive": ["occupation"], "others": "drop"}
        Policy.from_mapping({"columns": columns, "models": [{"name": "k-anonymity", "k": 5}]}).to_file(policy)
        return ["attack", str(table), "--policy", str(policy), "--hold-out", "0.2"]
    model = ["--model", "probabilistic-l-diversity:l=3"] if name == "slicing" else ["-k", "5"]
    out = ["--out", str(place / "release"), "--overwrite"]
    return ["anonymize", *keys, *_OTHERS, *model, "--anonymizer", name, *out]


def _command(place: Path, words: list[str], *, new: bool = False) -> Cost:
    """Run a command; `new`: without anything compiled, and without compiling for the next one."""
    cache = tempfile.mkdtemp(dir=place) if new else str(place / "cache")
    surroundings = {"SFUMATO_CACHE_DIR": cache, "SFUMATO_BACKGROUND": "0", "SFUMATO_KERNELS": "auto"}
    return run_child(["-m", "sfumato.cli", *words], surroundings)


def _share(what: str, cost: Cost, bar: float) -> Figure:
    share = cost.cpu / bar
    return Figure(NAME, f"share of {bar:g} CPU s: {what}", share, f"{share:.0%}", 1, at_most=True, detail=str(cost))


if __name__ == "__main__":
    for figure in run(Settings(data=Path(sys.argv[1]))):
        print(figure.text, figure.verdict, figure.what, figure.detail, flush=True)

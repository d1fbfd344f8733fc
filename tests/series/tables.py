"""Small tables of people for series, and an independent recount of a series: nothing of the library but the files."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import sfumato as sf

HEADER = ("name", "age", "city", "disease")
SCHEMA = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"])
Person = tuple[str, object, str, str]


def write_csv(path: Path, people: Iterable[Sequence[object]], header: Sequence[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *people])
    return path


def people(count: int, *, first: int = 0, seed: int = 0) -> list[Person]:
    """Invent people named by number from `first` on."""
    drawn = random.Random(seed)
    return [
        (f"p{number}", drawn.randint(20, 79), drawn.choice("ABC"), drawn.choice(("flu", "cold", "gout", "none")))
        for number in range(first, first + count)
    ]


def rows_of(release: Path) -> Counter[tuple[str, ...]]:
    """Count the published rows, each as its texts in the order of the header's names."""
    with (release / "data.csv").open(newline="", encoding="utf-8") as file:
        return Counter(tuple(row[name] for name in sorted(row)) for row in csv.DictReader(file))


def new_rows(series: Path, number: int) -> Counter[tuple[str, ...]]:
    """Return the rows of a release that are not those of the one before, which have to be there."""
    newer = rows_of(series / f"{number:04d}")
    older = rows_of(series / f"{number - 1:04d}") if number > 1 else Counter()
    assert not older - newer
    return newer - older


def classes(
    rows: Counter[tuple[str, ...]], names: Sequence[str], labels: Sequence[str]
) -> list[Counter[tuple[str, ...]]]:
    """Group rows by their labels; each class counts what its rows have in all other columns."""
    places = [sorted(names).index(name) for name in labels]
    others = [place for place in range(len(names)) if place not in places]
    found: dict[tuple[str, ...], Counter[tuple[str, ...]]] = {}
    for row, count in rows.items():
        label = tuple(row[place] for place in places)
        found.setdefault(label, Counter())[tuple(row[place] for place in others)] += count
    return list(found.values())


def chain_is_whole(series: Path) -> bool:
    """Follow the hashes from ``series.json`` on."""
    previous, number = hashlib.sha256((series / "series.json").read_bytes()).hexdigest(), 1
    said = json.loads((series / "series.json").read_text())
    while (mark := series / f"{number:04d}" / "release.json").exists():
        place = json.loads(mark.read_text())["series"]
        if (place["id"], place["number"], place["previous"]) != (said["id"], number, previous):
            return False
        previous, number = hashlib.sha256(mark.read_bytes()).hexdigest(), number + 1
    return number > 1


def covers(label: str, value: object) -> bool:
    """Tell whether a published label stands for a value: an interval of whole numbers, a set, or the value itself."""
    if label == "*":
        return True
    if label.startswith("["):
        low, high = label[1:-1].split("..")
        return float(low) <= float(str(value)) <= float(high)
    return str(value) in (label[1:-1].split("|") if label.startswith("{") else [label])

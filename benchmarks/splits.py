"""Measures what splits that do not look at sensitive values cost; ``python -m benchmarks.splits``.

The four tables of the job *overlapping*, each at its two l, sliced with guarded buckets that are cut evenly inside each
sensitive value (``balanced``) or at the median of an attribute. Printed are medians over five seeds with their ranges:
the records of a bucket, the associations that are kept, the median error of counts, and how often deFinetti is right
about the surest tenth. The tables are looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from statistics import median

import sfumato as sf
from benchmarks.overlapping_data import examples
from benchmarks.overlapping_default import SEEDS, figures
from benchmarks.overlapping_job import LOW
from benchmarks.settings import Settings
from sfumato.anonymizers.protocol import Publisher

WAYS: dict[str, Publisher] = {
    "slicing, balanced": sf.Slicing(),
    "slicing, median": sf.Slicing(split="median"),
    "overlapping, balanced": sf.OverlappingSlicing(),
    "overlapping, median": sf.OverlappingSlicing(split="median"),
}


def told(name: str, figures: list[float]) -> str:
    """Return a median with its range; shares in percent."""
    low, middle, high = min(figures), median(figures), max(figures)
    if name == "size":
        return f"{middle:.1f} ({low:.1f} to {high:.1f})"
    return f"{100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Print the table."""
    print("| table | l | way | records a bucket | φ² kept | error of counts | right of the surest tenth |")
    print("|---|---|---|---|---|---|---|")
    for example in examples(Settings(data=Path(os.environ["SFUMATO_DATA"]))):
        for diversity in (example.diversity, LOW):
            for name, way in WAYS.items():
                rows = [figures(replace(example, diversity=diversity), way, seed)[1:] for seed in SEEDS]
                columns = zip(("size", "kept", "error", "tenth"), map(list, zip(*rows, strict=True)), strict=True)
                shown = " | ".join(told(what, column) for what, column in columns)
                print(f"| {example.name} | {diversity:g} | {name} | {shown} |", flush=True)


if __name__ == "__main__":
    main()

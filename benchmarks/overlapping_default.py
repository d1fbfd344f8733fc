"""Measures what the default of overlapping slicing costs and gains; ``python -m benchmarks.overlapping_default``.

The four tables of the job *overlapping*, each at its two l. Printed are medians over five seeds with their ranges: the
ratio of overlap, the records of a bucket, the associations that are kept, the median error of counts, and how often
deFinetti is right about the surest tenth. The tables are looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import sfumato as sf
from benchmarks.overlapping_data import Example, examples
from benchmarks.overlapping_job import COLUMNS, ERROR, KEPT, LOW, QUERIES, kept
from benchmarks.settings import Settings
from sfumato.anonymizers.protocol import Publisher

SEEDS = (1, 2, 3, 4, 5)
MEASURED = ("overlap", "size", "kept", "error", "tenth")
WAYS: dict[str, Publisher] = {
    "before: threshold 1/5, smallest": sf.OverlappingSlicing(threshold=1 / COLUMNS, bucket_size="smallest"),
    "threshold 1/10, smallest": sf.OverlappingSlicing(bucket_size="smallest"),
    "threshold 1/5, guarded": sf.OverlappingSlicing(threshold=1 / COLUMNS),
    "default: threshold 1/10, guarded": sf.OverlappingSlicing(),
    "slicing, guarded": sf.Slicing(),
}


def figures(example: Example, way: Publisher, seed: int) -> tuple[float, ...]:
    """Publish once; overlap, records of a bucket, associations kept, error of counts, right about the surest tenth."""
    table = example.drawn(seed)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(example.diversity), anonymizer=way, seed=seed)
    result = sf.attack(release, table, attacks="definetti", seed=seed).results[0]
    assert result.curve is not None
    tenth = next(look for look in result.curve.looks if look.share == 0.1).inside.share
    told, measured = release.report.figures, kept(release.published, table, QUERIES, seed)
    size = told.get("mean_bucket", table.height / told["buckets"])
    return told.get("overlap_ratio", 1.0), size, measured[KEPT], measured[ERROR], tenth


def told(name: str, column: list[float]) -> str:
    """Return a median with its range; shares in percent."""
    low, middle, high = min(column), median(column), max(column)
    if name == "size":
        return f"{middle:.1f} ({low:.1f} to {high:.1f})"
    if name == "overlap":
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return f"{100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def print_table(ways: Mapping[str, Publisher]) -> None:
    """Print what was measured of every table, l and way, a line as soon as it is known."""
    print("| table | l | way | overlap | records a bucket | φ² kept | error of counts | right of the surest tenth |")
    print("|---|---|---|---|---|---|---|---|")
    for example in examples(Settings(data=Path(os.environ["SFUMATO_DATA"]))):
        for diversity in (example.diversity, LOW):
            for name, way in ways.items():
                rows = [figures(replace(example, diversity=diversity), way, seed) for seed in SEEDS]
                columns = zip(MEASURED, map(list, zip(*rows, strict=True)), strict=True)
                shown = " | ".join(told(what, column) for what, column in columns)
                print(f"| {example.name} | {diversity:g} | {name} | {shown} |", flush=True)


if __name__ == "__main__":
    print_table(WAYS)

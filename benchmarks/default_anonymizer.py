"""Loss, error of counts and time of `auto` beside Mondrian's defaults, over the real tables in a folder.

python -m benchmarks.default_anonymizer FOLDER [RECORDS [COLUMNS]]
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import polars as pl

import sfumato as sf

WAYS = {
    "mondrian": sf.Mondrian(),
    "anywhere": sf.Mondrian(split_rule="anywhere"),
    "k-member": sf.KMember(),
    "auto": sf.Auto(),
}
FIGURES = ("loss", "count_error", "cpu_seconds")
SMALLEST, LARGEST_FILE = 500, 30_000_000


def frame_of(path: Path, records: int, columns: int) -> pl.DataFrame:
    """Read the first records and columns that tell people apart, and are no keys."""
    head = path.open(errors="replace").readline()
    frame = pl.read_csv(
        path, separator=max(",;", key=head.count), infer_schema_length=None, null_values=["NA"], ignore_errors=True
    )
    named = [name for name in frame.columns if name.strip() and 2 <= frame[name].n_unique() <= 0.9 * frame.height]
    return frame.select(named[:columns]).drop_nulls()[:records]


def measured(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the figures of every way; its first run is left out, as it may compile."""
    schema = sf.Schema(quasi_identifying=frame.columns, publish=frame.columns)
    table = sf.read_table(frame, schema)
    for _ in range(2):
        found = sf.compare(
            table, anonymizers=WAYS, vary={"k": [5]}, seed=1, threads=1, figures=sf.Figures(queries=1000)
        )
    return {row["anonymizer"]: {name: row[name] for name in FIGURES} for row in found.frame.to_dicts()}


def main(folder: Path, records: int = 2500, columns: int = 8) -> None:
    """Print the figures of each table, and the medians of what they are of Mondrian's."""
    shares: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for path in sorted(folder.rglob("*.csv")):
        frame = frame_of(path, records, columns) if path.stat().st_size < LARGEST_FILE else pl.DataFrame()
        if frame.height < SMALLEST or frame.width < min(columns, 6):
            continue
        found = measured(frame)
        usual = found["mondrian"]
        print(path.name, frame.height, {way: round(each["cpu_seconds"], 2) for way, each in found.items()}, flush=True)
        for way, each in found.items():
            # Of a table in which nothing can be asked, errors say nothing.
            error = each["count_error"] / usual["count_error"] if usual["count_error"] else 1.0
            shares[way].append((each["loss"] / usual["loss"], error))
    for way, pairs in shares.items():
        loss, error = (statistics.median(figures) for figures in zip(*pairs, strict=True))
        print(f"{way:10} loss {loss:.2f}, error of counts {error:.2f}, median of {len(pairs)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))

"""Plays somebody who knows the algorithm in every world of a few records; ``python -m benchmarks.small_worlds``.

A world says who has which sensitive value; all with the same values are equally likely beforehand. In each of them the
release is made, with several seeds where seeds are drawn. Somebody who knows everybody's quasi-identifying values and
the algorithm, not the seed, believes each world that leads to the release they see as much as it leads to it. Counted
are the releases after which a person's value is believed above 1/l, those of them where it is certain, and the highest
belief. Where seeds are drawn, beliefs are estimated: a release counts only if 1/l lies five standard deviations below,
and the worlds of 8 records are left out, as they take hours.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import sqrt
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.published import BucketizedTables, Published, PublishedTable, SlicedTable

L = 2
SEEDS = 15
DEVIATIONS = 5
WAYS: Mapping[str, tuple[Any, int]] = {
    "mondrian": (sf.Mondrian(), 1),
    "mondrian, blind": (sf.Mondrian(blind=True), 1),
    "bucketization": (sf.Bucketization(), SEEDS),
    "bucketization, random members": (sf.Bucketization(members="random"), SEEDS),
    "slicing": (sf.Slicing(), SEEDS),
    "slicing, smallest": (sf.Slicing(bucket_size="smallest"), SEEDS),
    "overlapping slicing": (sf.OverlappingSlicing(), SEEDS),
    "overlapping slicing, smallest": (sf.OverlappingSlicing(bucket_size="smallest"), SEEDS),
}
PEOPLE: Mapping[str, Sequence[tuple[int, str, str]]] = {
    "6": [(20, "f", "a"), (21, "m", "a"), (30, "f", "b"), (31, "m", "b"), (40, "f", "a"), (41, "m", "b")],
    "8": [(20 + 5 * place, "fm"[place % 2], "ab"[place // 4]) for place in range(8)],
}
VALUES: Mapping[str, Sequence[str]] = {"6": ("uuuvvv", "uuvvww"), "8": ("uuuuvvvv",)}


@dataclass(frozen=True)
class Found:
    """What came out for one way and one table of people.

    worlds, releases : how many were tried. above, certain : releases after which somebody is believed above 1/l, and
    for certain. highest : the highest belief; 0 where none is surely above 1/l and beliefs are estimated.
    """

    worlds: int
    releases: int
    above: int
    certain: int
    highest: float


def played(way: Any, seeds: int, people: Sequence[tuple[int, str, str]], values: str) -> Found | None:
    """Make a release in every world; None where the models cannot be met in any."""
    worlds = sorted(set(permutations(values)))
    seen: dict[Hashable, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for world in worlds:
        for seed in range(seeds):
            release = made(way, people, world, seed)
            if release is not None:
                seen[signature(release)][world] += 1
    if not seen:
        return None
    beliefs = [highest(counts, seeds == 1) for counts in seen.values()]
    above = sum(belief > 1 / L + 1e-9 for belief in beliefs)
    certain = sum(belief > 1 - 1e-9 for belief in beliefs)
    return Found(len(worlds), len(seen), above, certain, max(beliefs))


def made(way: Any, people: Sequence[tuple[int, str, str]], world: Sequence[str], seed: int) -> Published | None:
    """Return the published tables, or None where the model cannot be met."""
    frame = pl.DataFrame(people, schema=["age", "sex", "ward"], orient="row").with_columns(ill=pl.Series(list(world)))
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex", "ward"], sensitive=["ill"]))
    try:
        return sf.anonymize(table, sf.ProbabilisticLDiversity(L), anonymizer=way, seed=seed, threads=1).published
    except sf.UnsatisfiableError:
        return None


def signature(published: Published) -> Hashable:
    """Return what a recipient reads, whatever the order of rows and the numbers of buckets."""
    if isinstance(published, PublishedTable):
        return tuple(sorted(map(str, published.data.cast(pl.String).rows())))
    if isinstance(published, BucketizedTables):
        quasi, counts = (_by_bucket(frame) for frame in (published.quasi, published.counts))
        return tuple(sorted((quasi[bucket], counts.get(bucket, ())) for bucket in quasi))
    assert isinstance(published, SlicedTable)
    start, parts = 1, []
    for column in published.columns:
        names = ["bucket", *published.data.columns[start : start + len(column)]]
        parts.append(_by_bucket(published.data.select(names)))
        start += len(column)
    return published.columns, tuple(sorted(tuple(part[bucket] for part in parts) for bucket in parts[0]))


def _by_bucket(frame: pl.DataFrame) -> dict[Any, tuple[str, ...]]:
    rows: dict[Any, list[str]] = defaultdict(list)
    for row in frame.iter_rows(named=True):
        rows[row["bucket"]].append(str([value for name, value in row.items() if name != "bucket"]))
    return {bucket: tuple(sorted(each)) for bucket, each in rows.items()}


def highest(counts: Counter[tuple[str, ...]], exact: bool) -> float:
    """Return the highest belief in a person's value after a release that was seen in some worlds, so often in each.

    Where it is estimated, only a belief that is surely above 1/l counts.
    """
    total = counts.total()
    best = 0.0
    for person in range(len(next(iter(counts)))):
        told: Counter[str] = Counter()
        for world, times in counts.items():
            told[world[person]] += times
        most = max(told.values())
        spread = 0.0 if exact else DEVIATIONS * sqrt((1 - 1 / L) / (L * total))
        if most / total > 1 / L + spread or exact:
            best = max(best, most / total)
    return best


def lines(names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each way and table of people."""
    for name in names or tuple(WAYS):
        way, seeds = WAYS[name]
        for size, people in PEOPLE.items():
            for values in VALUES[size] if seeds == 1 or size == "6" else ():
                found = played(way, seeds, people, values)
                told = (
                    "the model cannot be met"
                    if found is None
                    else f"{found.worlds} worlds, {found.releases} releases; above 1/{L} after {found.above}, "
                    f"{found.certain} of them for certain; highest {found.highest:.2f}"
                )
                yield f"{name}, {size} records {values}: {told}"


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line, flush=True)

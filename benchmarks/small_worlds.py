"""Plays somebody who knows the algorithm in every world of six or eight records; ``python -m benchmarks.small_worlds``.

Six tables of people are drawn. A world says who has which sensitive value; all with the same values are equally likely
beforehand. In each of them the release is made, with two seeds where seeds are drawn. Somebody who knows everybody's
quasi-identifying values and the algorithm, not the seed, believes each world that leads to the release they see as much
as it leads to it. Counted are the releases after which a person's value is believed above 1/l, those of them where it
is certain, and the highest belief. Where what is drawn decides between releases, beliefs are estimated: a release
counts only if 1/l lies five standard deviations below.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.published import BucketizedTables, Published, PublishedTable, SlicedTable

L = 2
SEEDS = 2
DEVIATIONS = 5
WAYS: Mapping[str, tuple[Any, int]] = {
    "mondrian": (sf.Mondrian(), 1),
    "mondrian, blind": (sf.Mondrian(blind=True), 1),
    "bucketization": (sf.Bucketization(), SEEDS),
    "bucketization, random members": (sf.Bucketization(members="random"), SEEDS),
    "slicing": (sf.Slicing(), SEEDS),
    "slicing, smallest": (sf.Slicing(bucket_size="smallest"), SEEDS),
    "slicing, blind": (sf.Slicing(split="blind"), SEEDS),
    "overlapping slicing": (sf.OverlappingSlicing(), SEEDS),
    "overlapping slicing, smallest": (sf.OverlappingSlicing(bucket_size="smallest"), SEEDS),
    "overlapping slicing, blind": (sf.OverlappingSlicing(split="blind"), SEEDS),
}
VALUES = ("uuuvvv", "uuvvww", "uuuuvvvv")
TABLES = range(1, 7)

Person = tuple[int, str, str]


def drawn(records: int, seed: int) -> list[Person]:
    """Draw the quasi-identifying values of some people: age, sex, ward."""
    generator = np.random.default_rng(seed)
    ages, sexes, wards = generator.integers(20, 60, records), *(generator.integers(0, most, records) for most in (2, 3))
    return [(int(age), "fm"[sex], "abc"[ward]) for age, sex, ward in zip(ages, sexes, wards, strict=True)]


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


def played(way: Any, seeds: int, people: Sequence[Person], values: str) -> Found | None:
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
    # Where a world leads to one release whatever is drawn, beliefs are exact.
    reached = {world for counts in seen.values() for world in counts}
    exact = len(seen) == 1 or sum(map(len, seen.values())) == len(reached)
    beliefs = [highest(counts, exact) for counts in seen.values()]
    above = sum(belief > 1 / L + 1e-9 for belief in beliefs)
    certain = sum(belief > 1 - 1e-9 for belief in beliefs)
    return Found(len(worlds), len(seen), above, certain, max(beliefs))


def made(way: Any, people: Sequence[Person], world: Sequence[str], seed: int) -> Published | None:
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
    """Yield a line for each way and choice of values, over all tables."""
    for name in names or tuple(WAYS):
        way, seeds = WAYS[name]
        for values in VALUES:
            found = [
                one for seed in TABLES if (one := played(way, seeds, drawn(len(values), seed), values)) is not None
            ]
            told = ", ".join(f"{one.above} of {one.releases}" for one in found)
            certain, most = sum(one.certain for one in found), max((one.highest for one in found), default=0.0)
            yield f"{name}, {values}: above 1/{L} after {told} releases; {certain} certain; highest {most:.2f}"


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line, flush=True)

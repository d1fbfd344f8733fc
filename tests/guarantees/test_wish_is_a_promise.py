"""A wish is a promise: whoever wishes for k is among k people, and has at most one in k of the rows of the class.

What is published is recounted here by a reader who knows who is who and what everybody wishes for, and nothing of the
code: rows that show the same are a class, and shares are compared as fractions.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.policy.parts import People
from sfumato.published.checks import generalized
from sfumato.release import people as people_behind

QUASI = ("age", "city")
TREES = {"age": sf.intervals(5, 10, 20, 60), "city": sf.flat()}
TOGETHER = ("mondrian", "k-member", "k-means", "mdav", "v-mdav", "oka", "caat", "kaca", "utility-recoding", "sbc")
APART = ("mondrian", "optimal", "incognito", "datafly", "samarati", "global-mondrian", "value-generalization")
WAYS = (*((name, "together") for name in TOGETHER), *((name, "apart") for name in APART))


@dataclass(frozen=True)
class Stays:
    """A drawn table: a row is (person, age, city, what the row says of the person's wish)."""

    rows: tuple[tuple[str, int, str, int | None], ...]

    @classmethod
    def drawn(cls, seed: int) -> Stays:
        chance = random.Random(seed)
        people = chance.randint(12, 36)
        several, wishing = chance.choice([0.2, 0.5, 0.8]), chance.choice([0.05, 0.15, 0.3])
        rows = []
        for number in range(people):
            own = chance.choice([2, 3, 3, 4, 5, 7]) if chance.random() < wishing else None
            stays = 1 + (chance.choice([1, 1, 1, 2, 3]) if chance.random() < several else 0)
            age = chance.randint(20, 59)
            for stay in range(stays):
                moved = min(59, age + chance.choice([0, 0, 0, 1, 9]))
                # The wish may stand in any row of the person.
                said = own if stay == 0 or chance.random() < 0.5 else None
                rows.append((f"p{number}", moved, chance.choice("abc"), said))
        chance.shuffle(rows)
        return cls(tuple(rows))

    @property
    def frame(self) -> pl.DataFrame:
        names, types = ("who", "age", "city", "own"), {"own": pl.Int64}
        # A reader is told which row is which by what it publishes as a sensitive value.
        numbered = pl.Series("row", [f"r{place}" for place in range(len(self.rows))])
        return pl.DataFrame(self.rows, names, orient="row", schema_overrides=types).with_columns(numbered)

    @property
    def wishes(self) -> dict[str, int]:
        return {who: max(own or 1 for other, *_, own in self.rows if other == who) for who, *_ in self.rows}


def found_too_surely(published: Sequence[Mapping[str, str]], stays: Stays) -> Iterator[str]:
    """Yield whoever is found with a higher chance than the person's own k allows, and promises that are not kept."""
    classes, wishes = defaultdict(list), stays.wishes
    for row in published:
        classes[tuple(row[name] for name in QUASI)].append(row)
    for label, rows in classes.items():
        people = Counter(stays.rows[int(row["row"][1:])][0] for row in rows)
        for person, own in people.items():
            allowed = Fraction(1, wishes[person])
            if Fraction(own, len(rows)) > allowed:
                yield f"{person} has {own} of {len(rows)} rows of {label} and wishes for {wishes[person]}"
            if Fraction(1, len(people)) > allowed:
                yield f"{person} is one of {len(people)} people of {label} and wishes for {wishes[person]}"
        (promised,) = {int(row["promised_k"]) for row in rows}
        if promised < max(wishes[person] for person in people):
            yield f"{label} promises less than somebody wishes for"
        if promised > len(people) or Fraction(max(people.values()), len(rows)) > Fraction(1, promised):
            yield f"{label} does not keep what it promises"


def policy_of(way: tuple[str, str], chance: random.Random, pseudonyms: Any = None) -> sf.Policy:
    """Return what is asked for: a way, how much may be left out, and where it stands who is who."""
    method, rows = way
    some = {name: TREES[name] for name in QUASI} if rows == "apart" else dict.fromkeys(QUASI)
    schema = sf.Schema(
        quasi_identifying={name: sf.Attribute(hierarchy=tree) for name, tree in some.items()},
        sensitive=["row"], person="who", wished_k="own",
    )  # fmt: skip
    recoding = sf.Recoding(suppressed=chance.choice(["remove", "star"]))
    limit = 0.0 if method == "samarati" else chance.choice([0.0, 0.2, 0.4])
    people = People(rows=rows, pseudonyms=pseudonyms or chance.choice(["audit", "published"]))  # type: ignore[arg-type]
    models = [sf.KAnonymity(chance.choice([1, 1, 2, 3]))]
    return sf.Policy.of(schema, models, ANONYMIZERS[method](), recoding, limit, 0, people)


def release_of(seed: int, way: tuple[str, str]) -> sf.Release | None:
    """Make a release of a drawn table; None where the table has none."""
    policy = policy_of(way, random.Random(seed))
    try:
        return sf.anonymize(sf.read_table(Stays.drawn(seed).frame, policy), policy, seed=seed, threads=1)
    except sf.UnsatisfiableError:
        return None


def shown(release: sf.Release) -> list[dict[str, str]]:
    return [{name: str(cell) for name, cell in row.items()} for row in release.data.iter_rows(named=True)]


def checked(way: tuple[str, str], first: int, count: int) -> int:
    """Recount so many releases of drawn tables; in how many of them a class promises more than the table's k."""
    released = wished = 0
    for seed in itertools.count(first):
        release = release_of(seed, way)
        if release is not None:
            assert not list(found_too_surely(shown(release), Stays.drawn(seed))), seed
            (own,) = sf.verify(release).wishes
            assert own.kept == own.classes
            released += 1
            wished += own.promising > 0
        if released == count:
            return wished
    raise AssertionError


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_nobody_is_found_more_surely_than_the_own_k_allows(way: tuple[str, str]) -> None:
    assert checked(way, 0, 3) > 1


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_nobody_is_in_five_thousand_releases(way: tuple[str, str]) -> None:
    count = -(-5_000 // len(WAYS))
    assert checked(way, 100, count) > count / 2


def test_the_twin_finds_what_is_too_sure() -> None:
    """Of eight rows one person has four and wishes for five, in a class that says so: the release of before."""
    people = ["a"] * 4 + list("bcde")
    stays = Stays(tuple((who, 30, "a", 5 if who == "a" else None) for who in people))
    rows = [{"age": "30", "city": "a", "row": f"r{place}", "promised_k": "5"} for place in range(8)]
    assert list(found_too_surely(rows, stays)) == [
        "a has 4 of 8 rows of ('30', 'a') and wishes for 5",
        "('30', 'a') does not keep what it promises",
    ]


@pytest.mark.parametrize("engine", ["disk", "spark"])
def test_other_engines_keep_wishes(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    elsewhere: Any = sf.anonymize_on_disk
    if engine == "spark":
        request.getfixturevalue("monkeypatch").setenv("SPARK_REMOTE", request.getfixturevalue("spark_server"))
        elsewhere = sf.anonymize_on_spark
    released = 0
    for seed in range(12 if engine == "disk" else 4):
        stays, folder = Stays.drawn(seed), tmp_path / f"out-{seed}"
        policy = policy_of(("mondrian", "together"), random.Random(seed), "audit")
        stays.frame.write_parquet(tmp_path / f"{seed}.parquet")
        try:
            elsewhere(str(tmp_path / f"{seed}.parquet"), policy, folder, seed=seed, threads=1)
        except sf.UnsatisfiableError:
            continue
        released += 1
        rows = list(pl.read_csv(folder / "data.csv", infer_schema=False).iter_rows(named=True))
        assert not list(found_too_surely(rows, stays))
        (own,) = sf.verify(folder, audit=tmp_path / f"out-{seed}.audit.json").wishes
        assert own.kept == own.classes
        (attested,) = sf.verify(folder).wishes
        assert attested.kept is None
    assert released > 1


@pytest.mark.parametrize("pseudonyms", ["audit", "published"])
def test_a_promise_about_shares_is_recounted(pseudonyms: Any, tmp_path: Path) -> None:
    """A promise that the people of a class keep, and the shares of its rows do not, is broken for who can recount."""
    rows = [(f"p{number}", 30, "a", None) for number in range(5) for _ in range(4 if number == 0 else 1)]
    rows += [(f"q{number}", 50, "b", 2) for number in range(4)]
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["row"], person="who", wished_k="own")
    policy = sf.Policy.of(
        schema, [sf.KAnonymity(2)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People(pseudonyms=pseudonyms)
    )
    folder = tmp_path / "release"
    sf.anonymize(sf.read_table(Stays(tuple(rows)).frame, policy), policy, seed=1).save(folder)
    audit = None if pseudonyms == "published" else tmp_path / "release.audit.json"
    assert "2 of 2 classes" not in str(sf.verify(folder, audit=audit))
    published = pl.read_csv(folder / "data.csv", infer_schema=False)
    # Five people of eight rows are promised to be five.
    raised = pl.when(pl.col("city") == "a").then(pl.lit("5")).otherwise(pl.col("promised_k")).alias("promised_k")
    text = published.with_columns(raised).write_csv()
    (folder / "data.csv").write_text(text, encoding="utf-8")
    if audit is not None:
        rebound(audit, folder / "data.csv")
    found = sf.verify(folder, audit=audit)
    assert "1 of 2 classes with 5 people break it" in str(found)
    assert "kept by 1 of 2, counted in people, and in shares of rows" in str(found)


def rebound(audit: Path, table: Path) -> None:
    """Bind an audit file to a table that was changed."""
    content = json.loads(audit.read_text(encoding="utf-8"))
    content["sha256"] = hashlib.sha256(table.read_bytes()).hexdigest()
    audit.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("seed", range(3))
def test_series_of_people_keep_wishes(seed: int, tmp_path: Path) -> None:
    """Who comes later may lie under the label of an earlier month: the own k is kept in what a reader sees then."""
    months = [
        Stays(tuple((f"m{month}{who}", age, city, own) for who, age, city, own in Stays.drawn(10 * seed + month).rows))
        for month in range(3)
    ]
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["row"], person="who", wished_k="own")
    frames = []
    for stays in months:
        place = sum(frame.height for frame in frames)
        frames.append(stays.frame.with_columns(row=pl.format("r{}", pl.int_range(pl.len()) + place)))
    all_stays = Stays(tuple(row for stays in months for row in stays.rows))
    series = sf.Series.start(
        tmp_path / "s", schema, sf.KAnonymity(2), table=frames[0], seed=1, progress=lambda *_: None
    )
    for frame in frames[1:]:
        series.append(frame, seed=2, progress=lambda *_: None)
    assert series.verify(ledger=True).ok
    for folder in series.releases:
        rows = list(pl.read_csv(folder / "data.csv", infer_schema=False).iter_rows(named=True))
        # A class of several months has the promises of each of them; the largest is what it says.
        largest: dict[tuple[str, ...], int] = defaultdict(int)
        for row in rows:
            label = tuple(row[name] for name in QUASI)
            largest[label] = max(largest[label], int(row["promised_k"]))
        one = [{**row, "promised_k": str(largest[tuple(row[name] for name in QUASI)])} for row in rows]
        assert not [each for each in found_too_surely(one, all_stays) if "does not keep" not in each]


def test_what_rounding_costs_is_noted() -> None:
    rows = [
        (f"p{number}", 20 + number // 2, "ab"[number % 2], 11 if number in (0, 42) else None) for number in range(80)
    ]
    frame = Stays(tuple(rows)).frame
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["row"], person="who", wished_k="own")

    def figures(pattern: str) -> list[float]:
        report = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(2), seed=1).report
        return [float(figure) for figure in re.findall(pattern, str(report))]

    lost = r"information loss \(NCP\) +([0-9.]+)%"
    noted = r"not rounded up to the steps that classes publish, lose ([0-9.]+)% \(NCP\)"
    [rounded], [told] = figures(lost), figures(noted)
    # As if each wish were a step.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people_behind, "STEPS", range(1, 12))
        patch.setattr(generalized, "STEPS_OF", {"promised": range(1, 12)})
        assert figures(lost) == [pytest.approx(told, rel=0.01)]
        assert figures(noted) == []
    assert told < rounded

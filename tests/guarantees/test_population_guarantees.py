"""Promises about a population, recounted by hand from the published file, and searches against every node there is."""

from __future__ import annotations

import csv
import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from guarantees.combinations import SETTINGS
from sfumato.anonymizers.full_domain.incognito import Incognito
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.population import among_population
from sfumato.hierarchy.lattice_search import SATISFYING
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.models.checks import Outcome
from sfumato.table.encoding import encode
from sfumato.table.population import read_population

TOWNS = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"), ("e", "e+", "*"))
JOBS = (("x", "xy", "any"), ("y", "xy", "any"), ("z", "z+", "any"))
AGES = range(20, 36)
NAMES = ["town", "job", "age"]
PATHS: list[dict[Any, tuple[str, ...]]] = [
    {path[0]: path for path in TOWNS},
    {path[0]: path for path in JOBS},
    {age: (str(age), f"[{age // 4 * 4}..{age // 4 * 4 + 4})", "*") for age in AGES},
]
SCHEMA = sf.Schema(
    quasi_identifying={
        "town": HierarchyTable(TOWNS),
        "job": HierarchyTable(JOBS),
        "age": sf.intervals(4),
    },
    sensitive=["illness"],
)
Person = tuple[Any, ...]


def world(seed: int, people: int = 120, records: int = 25) -> tuple[list[Person], list[Person], sf.Table]:
    """A population, the people of a table drawn from it, and that table."""
    chance = random.Random(seed)
    everybody: list[Person] = [
        (chance.choice("aaabcde"), chance.choice("xxyz"), min(35, 20 + int(chance.expovariate(0.15))))
        for _ in range(people)
    ]
    sample = chance.sample(everybody, records)
    frame = pl.DataFrame(sample, schema=NAMES, orient="row")
    ill = pl.Series("illness", [chance.choice(["flu", "cold", "ulcer"]) for _ in sample])
    return everybody, sample, sf.read_table(frame.with_columns(ill), SCHEMA)


def frame_of(people: list[Person]) -> pl.DataFrame:
    return pl.DataFrame(people, schema=NAMES, orient="row")


def covers(label: str, value: Any, paths: dict[Any, tuple[str, ...]]) -> bool:
    """Tell whether a published label stands for a value: a node above it, a range of numbers, or a set of labels."""
    if label == "*" or label in paths[value]:
        return True
    if label.startswith("[") and label.endswith("]") and ".." in label:
        low, high = label[1:-1].split("..")
        return float(low) <= value <= float(high)
    if label.startswith("{"):
        return any(covers(part, value, paths) for part in label[1:-1].split("|"))
    return False


def published_rows(release: sf.Release, folder: Path) -> list[tuple[str, ...]]:
    release.save(folder)
    with (folder / "data.csv").open(newline="") as file:
        return [tuple(row[name] for name in NAMES) for row in csv.DictReader(file)]


def fitting(row: tuple[str, ...], people: list[Person]) -> int:
    """Count the people whom a published row stands for."""
    return sum(
        all(covers(label, value, paths) for label, value, paths in zip(row, person, PATHS, strict=True))
        for person in people
    )


DEFAULTS = [name for name, setting in SETTINGS.items() if setting == type(setting)()]


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize(("seed", "k", "limit"), [(1, 8, 0.0), (2, 15, 0.3), (3, 3, 0.2)])
def test_every_row_fits_k_people_of_the_population(name, seed, k, limit, tmp_path):
    everybody, _, table = world(seed)
    models = [sf.KMap(k), sf.DistinctLDiversity(2)] if seed == 3 else [sf.KMap(k)]
    population = frame_of(everybody)

    release = sf.anonymize(
        table, models, anonymizer=SETTINGS[name], population=population, suppression_limit=limit, seed=7, threads=1
    )

    found = [fitting(row, everybody) for row in published_rows(release, tmp_path / "r")]
    assert min(found) >= k
    check = release.report.verification.checks[0]
    assert check.achieved[0].value == min(found)
    register = sf.read_table(population, sf.Schema(quasi_identifying=SCHEMA.quasi_identifying))
    recounted = sf.verify(tmp_path / "r", population=register)
    assert recounted.ok
    [again] = [each for each in recounted.checks if each.promise.startswith("k-map")]
    assert (again.outcome, again.achieved) == (Outcome.HOLDS, check.achieved)


def test_without_the_population_nothing_is_said_to_hold(tmp_path):
    everybody, _, table = world(4)
    sf.anonymize(table, sf.KMap(5), population=frame_of(everybody), seed=1).save(tmp_path / "r")
    [check] = [each for each in sf.verify(tmp_path / "r").checks if each.promise.startswith("k-map")]
    assert check.outcome is Outcome.UNDECIDABLE
    assert not check.achieved
    assert "achieved k" not in (tmp_path / "r" / "report.txt").read_text()


def test_a_broken_promise_is_found(tmp_path):
    everybody, _, table = world(5)
    sf.anonymize(table, sf.KMap(2), population=frame_of(everybody), seed=1, anonymizer=sf.Optimal()).save(
        tmp_path / "r"
    )
    for name in ("release.json", "policy.toml"):
        text = (tmp_path / "r" / name).read_text()
        (tmp_path / "r" / name).write_text(text.replace('"k": 2', '"k": 100').replace("k = 2", "k = 100"))
    register = sf.read_table(frame_of(everybody), sf.Schema(quasi_identifying=SCHEMA.quasi_identifying))
    [check] = [each for each in sf.verify(tmp_path / "r", population=register).checks if "k-map" in each.promise]
    assert check.outcome is Outcome.BROKEN


# --- every node of the lattice, by hand ----------------------------------------------------------------------------


def image(person: Person, levels: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(paths[value][level] for value, paths, level in zip(person, PATHS, levels, strict=True))


def value_of(levels: tuple[int, ...], kept: int, records: int) -> float:
    """Share of the hierarchies that is climbed, by record and attribute; suppressed records climb to the top."""
    climbed = sum(level / 2 for level in levels) / 3
    return (kept * climbed + (records - kept)) / records


def k_map_kept(sample, everybody, levels, k):
    """Records that stay on a node, by hand."""
    people = Counter(image(person, levels) for person in everybody)
    return sum(people[image(person, levels)] >= k for person in sample)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", [0.0, 0.25])
def test_the_optimal_search_finds_what_trying_every_node_finds(seed, limit):
    everybody, sample, table = world(seed, people=80)
    k = 3 + 4 * (seed % 4)
    values = [
        (value_of(levels, kept, len(sample)), levels)
        for levels in product(range(3), repeat=3)
        if (kept := k_map_kept(sample, everybody, levels, k)) > 0 and len(sample) - kept <= limit * len(sample)
    ]
    best = min(round(value, 9) for value, _ in values)

    release = sf.anonymize(
        table, sf.KMap(k), anonymizer=sf.Optimal(objective="precision"), population=frame_of(everybody),
        suppression_limit=limit, seed=1,
    )  # fmt: skip

    assert 1 - release.report.losses.precision == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_incognito_finds_every_node_that_satisfies(seed):
    everybody, sample, table = world(seed, people=80)
    model, limit = sf.KMap(6), 5
    encoded = among_population(encode(table), table, read_population(frame_of(everybody), table))

    found = Incognito().search(Problem(encoded, [model], limit))

    for number, levels in enumerate(found.lattice.nodes()):
        by_hand = len(sample) - k_map_kept(sample, everybody, levels, 6) <= limit
        assert (found.states[found.lattice.number(levels)] in SATISFYING) == by_hand, number


# --- bad input -----------------------------------------------------------------------------------------------------


def wrong(table, population, models=None, **settings) -> str:
    with pytest.raises(sf.SfumatoError) as raised:
        sf.anonymize(table, models or sf.KMap(3), population=population, **settings)
    text = str(raised.value)
    for value in ("'a'", "'x'", "flu"):
        assert value not in text
    return text


def test_bad_populations_get_a_sentence():
    everybody, sample, table = world(6)
    assert "must hold everybody who is in the table" in wrong(table, frame_of(everybody[:10]))
    lacking = [person for person in everybody if person != sample[0]]
    assert "more often in the table than in the population" in wrong(table, frame_of(lacking))
    without = frame_of(everybody).select("town")
    assert wrong(table, without).count("population:") >= 1
    assert "'job'" in wrong(table, without)
    assert "'age'" in wrong(table, without)
    unknown = frame_of(everybody).with_columns(town=pl.lit("nowhere"))
    assert "population" in wrong(table, unknown)
    assert "give the table of them" in wrong(table, None)
    assert "leave it out" in wrong(table, frame_of(everybody), sf.KAnonymity(2))
    bare = sf.read_table(table.frame, sf.Schema(quasi_identifying=NAMES, sensitive=["illness"]))
    assert "class means" in wrong(bare, frame_of(everybody), recoding=sf.Recoding(numeric="mean"))


def test_too_few_people_cannot_be_made_more():
    everybody, _, table = world(7)
    for anonymizer in (sf.Mondrian(), sf.Optimal(), sf.Incognito()):
        with pytest.raises(sf.UnsatisfiableError, match="k-map asks for k = 500"):
            sf.anonymize(
                table, sf.KMap(500), population=frame_of(everybody), anonymizer=anonymizer, suppression_limit=0.5
            )


def test_an_estimate_needs_its_fraction():
    with pytest.raises(sf.PolicyError, match="needs the sampling fraction"):
        sf.KMap(5, estimate="poisson")
    with pytest.raises(sf.PolicyError, match="belong to an estimate"):
        sf.KMap(5, fraction=0.1)

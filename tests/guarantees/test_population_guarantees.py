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
from sfumato.models.protocol import Outcome
from sfumato.release.on_disk import not_on_disk
from sfumato.table.encoding import encode
from sfumato.table.reading import read_population

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


# --- presence ------------------------------------------------------------------------------------------------------

APART = [name for name in DEFAULTS if getattr(SETTINGS[name], "shares_nobody", False)]


def chances(rows: list[tuple[str, ...]], people: list[Person]) -> list[float]:
    """How surely each person is in the table: records ÷ people, over the classes whose values fit."""
    classes = Counter(rows)
    return [
        sum(
            records / fitting(row, people)
            for row, records in classes.items()
            if all(covers(label, value, paths) for label, value, paths in zip(row, person, PATHS, strict=True))
        )
        for person in people
    ]


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize(("seed", "most", "limit"), [(1, 0.4, 0.0), (2, 0.3, 0.2), (3, 0.6, 0.1)])
def test_nobody_is_in_the_table_more_surely_than_promised(name, seed, most, limit, tmp_path):
    setting = SETTINGS[name]
    # Where only people count whose values some record has, there must be more of them.
    everybody, _, table = world(seed, people=120 if getattr(setting, "knows_regions", False) else 900)
    if setting.name == "samarati" and limit:
        with pytest.raises(sf.PolicyError, match="samarati: with a suppression limit"):
            presence(table, everybody, sf.DeltaPresence(most), setting, limit)
        return

    release = presence(table, everybody, sf.DeltaPresence(most), setting, limit)

    found = chances(published_rows(release, tmp_path / "r"), everybody)
    assert max(found) <= most + 1e-9
    low, high = release.report.verification.checks[0].achieved
    assert (low.value, high.value) == (pytest.approx(min(found)), pytest.approx(max(found)))


def test_published_classes_that_share_people_are_found_out():
    frame = pl.DataFrame({"town": [*"aaaabbcc"], "illness": ["flu"] * 8})
    people = pl.DataFrame({"town": [*"aaaabbcc"] * 2})
    towns = HierarchyTable((("a", "ab", "*"), ("b", "ab", "*"), ("c", "c+", "*")))
    table = sf.read_table(frame, sf.Schema(quasi_identifying={"town": towns}, sensitive=["illness"]))
    models = [sf.KAnonymity(4), sf.DeltaPresence(0.5)]
    with pytest.raises(sf.UnsatisfiableError, match="whose chances then add up"):
        sf.anonymize(table, models, population=people, seed=1)
    assert sf.anonymize(table, models, population=people, seed=1, anonymizer=sf.Optimal()).report.classes == 1


def presence(table, everybody, model, anonymizer, limit=0.0):
    return sf.anonymize(
        table, model, anonymizer=anonymizer, population=frame_of(everybody), suppression_limit=limit, seed=3, threads=1
    )


def presence_kept(sample, everybody, levels, low, high):
    """Records that stay on a node, by hand; none where somebody of the population is left outside."""
    people = Counter(image(person, levels) for person in everybody)
    records = Counter(image(person, levels) for person in sample)
    good = {each for each, count in records.items() if low - 1e-12 <= count / people[each] <= high + 1e-12}
    if low and good != set(people):
        return 0
    return sum(records[each] for each in good)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", [0.0, 0.25])
def test_the_optimal_search_finds_the_best_node_for_presence(seed, limit):
    everybody, sample, table = world(seed, people=60, records=25)
    low, high = [(0.0, 0.5), (0.0, 0.6), (0.2, 0.7), (0.35, 0.5)][seed % 4]
    values = [
        value_of(levels, kept, len(sample))
        for levels in product(range(3), repeat=3)
        if (kept := presence_kept(sample, everybody, levels, low, high)) > 0
        and len(sample) - kept <= limit * len(sample)
    ]
    release = presence(table, everybody, sf.DeltaPresence(high, low), sf.Optimal(objective="precision"), limit)
    assert 1 - release.report.losses.precision == pytest.approx(min(values), abs=1e-9)
    for anonymizer in (sf.Incognito(selection="loss"), sf.Datafly()):
        made = presence(table, everybody, sf.DeltaPresence(high, low), anonymizer, limit)
        assert made.report.verification.checks[0].outcome is Outcome.HOLDS


@pytest.mark.parametrize("name", [name for name in DEFAULTS if name not in APART])
def test_presence_is_refused_where_classes_share_people(name):
    everybody, _, table = world(1)
    with pytest.raises(sf.PolicyError, match="whose chances add up"):
        presence(table, everybody, sf.DeltaPresence(0.5), SETTINGS[name])


def test_other_settings_that_presence_refuses():
    everybody, _, table = world(1)
    with pytest.raises(sf.PolicyError, match="does not know whom no class covers"):
        presence(table, everybody, sf.DeltaPresence(0.5, 0.1), sf.Mondrian())
    with pytest.raises(sf.PolicyError) as raised:
        sf.anonymize(
            table, sf.DeltaPresence(0.5), anonymizer=sf.Optimal(local_recoding=True), refine=10,
            recoding=sf.Recoding(suppressed="star"),
        )  # fmt: skip
    assert len(raised.value.problems) == 4
    with pytest.raises(sf.PolicyError, match="must not be above delta_max"):
        sf.DeltaPresence(0.1, 0.2)
    with pytest.raises(sf.UnsatisfiableError, match=r"delta-presence asks for chances up to 0\.1"):
        presence(table, everybody, sf.DeltaPresence(0.1), sf.Optimal())


# --- a research subset ---------------------------------------------------------------------------------------------


def test_a_subset_is_published_as_from_the_whole_table(tmp_path):
    everybody, _, _ = world(9)
    marked = frame_of(everybody).with_columns(
        illness=pl.lit("flu"), study=pl.Series(["yes"] * 30 + ["no"] * (len(everybody) - 30))
    )
    roles = {"quasi_identifying": SCHEMA.quasi_identifying, "sensitive": ["illness"], "insensitive": ["study"]}
    whole = sf.read_table(marked, sf.Schema(**roles))
    settings = {"anonymizer": sf.Optimal(), "seed": 4}

    release = sf.anonymize(whole, sf.KMap(10), subset=marked["study"] == "yes", **settings)

    rows = published_rows(release, tmp_path / "r")
    assert len(rows) == 30
    assert min(fitting(row, everybody) for row in rows) >= 10
    alone = sf.read_table(marked.head(30), sf.Schema(**roles))
    other = sf.anonymize(alone, sf.KMap(10), population=frame_of(everybody), **settings)
    assert other.data.rows() == release.data.rows()
    policy = sf.Policy.of(whole.schema, [sf.KMap(10)], sf.Optimal(), sf.Recoding(), 0.0)
    named = sf.Policy.from_mapping({**policy.to_mapping(), "subset": {"column": "study", "value": "yes"}})
    assert sf.anonymize(whole, named, seed=4).data.rows() == release.data.rows()
    assert "subset" not in named.published()
    # Without a model that speaks of a population, the others are just not published.
    assert sf.anonymize(whole, sf.KAnonymity(2), subset=marked["study"] == "yes").report.original == 30


def test_bad_subsets_get_a_sentence():
    _, _, table = world(9)
    nobody = [False] * table.height
    assert "no record is in it" in wrong(table, None, subset=nobody)
    assert "true or false of each" in wrong(table, None, subset=[True])
    assert "the table itself" in wrong(table, table.frame, subset=[True] * table.height)


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
    assert "in the table more often than in the population" in wrong(table, frame_of(lacking))
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


def test_people_with_several_records_are_refused():
    everybody, _, table = world(6)
    named = table.frame.with_columns(id=pl.Series([str(i // 2) for i in range(table.height)]))
    roles = {"quasi_identifying": SCHEMA.quasi_identifying, "sensitive": ["illness"], "person": "id"}
    of_people = sf.read_table(named, sf.Schema(**roles))
    assert "every record for a person of its own" in wrong(of_people, frame_of(everybody))
    with pytest.raises(sf.PolicyError, match="every record for a person of its own"):
        sf.anonymize(of_people, sf.KMap(3, "poisson", 0.1))


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


def test_the_disk_engine_refuses_what_it_does_not_count():
    columns = {"quasi-identifying": ["town"], "sensitive": ["illness"]}
    asked = {"k-map": {"k": 3}, "average-risk": {"risk": 0.2}}
    for name, settings in asked.items():
        policy = sf.Policy.from_mapping({"columns": columns, "models": [{"name": name, **settings}]})
        assert any("in memory" in problem for problem in not_on_disk(policy))
    plain = {"columns": columns, "models": [{"name": "k-anonymity", "k": 3}]}
    assert not not_on_disk(sf.Policy.from_mapping(plain))
    assert not_on_disk(sf.Policy.from_mapping({**plain, "subset": {"column": "town", "value": "a"}}))

"""Risk thresholds as models: recounted by hand, and the searches against every node of the lattice."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

import sfumato as sf
from guarantees.combinations import SETTINGS
from guarantees.test_population_guarantees import (
    DEFAULTS,
    fitting,
    frame_of,
    image,
    published_rows,
    value_of,
    world,
)
from naive import risk as naive
from sfumato.classes.population_uniqueness import population_uniqueness
from sfumato.models.protocol import Outcome

FRACTION = 0.2


def figure(model, sizes: list[int], people: list[int]) -> float:
    """The bounded figure of classes of these sizes, which cover so many people."""
    records = sum(sizes)
    if model.name == "sample-uniques":
        return sizes.count(1) / records
    if model.name == "population-uniques":
        return estimate(sizes, model.estimator)
    counts = sizes if model.adversary in (None, "prosecutor") else people
    if model.name == "highest-risk":
        return max(1 / count for count in counts)
    average = sum(size / count for size, count in zip(sizes, counts, strict=True)) / records
    return max(average, len(sizes) / sum(people)) if model.adversary == "journalist" else average


def estimate(sizes: list[int], estimator: str | None) -> float:
    """What the estimators say, which have tests of their own."""
    if estimator == "zayatz":
        return naive.zayatz(sizes, FRACTION)
    found = population_uniqueness(np.array(sizes), FRACTION)
    answer = found.share if estimator is None else getattr(found, estimator)
    return 1.0 if answer is None else answer


MODELS = [
    sf.AverageRisk(0.4),
    sf.AverageRisk(0.05, "marketer"),
    sf.AverageRisk(0.06, "journalist"),
    sf.HighestRisk(0.3),
    sf.HighestRisk(0.1, "journalist"),
    sf.SampleUniques(0.2),
    sf.SampleUniques(0.0),
]
ESTIMATED = [sf.PopulationUniques(0.05, FRACTION, each) for each in (None, "pitman", "zayatz", "snb")]


def asked(table, models, everybody, **settings):
    population = frame_of(everybody) if any(model.needs_population for model in models) else None
    return sf.anonymize(table, models, population=population, seed=5, threads=1, **settings)


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("model", [*MODELS, ESTIMATED[1]], ids=str)
def test_every_anonymizer_keeps_the_bound(name, model, tmp_path):
    limit = 0.3 if model.name in ("sample-uniques", "highest-risk") else 0.0
    everybody, _, table = world(11, people=400, records=40)
    if SETTINGS[name].name == "samarati" and (limit or not getattr(model, "steady", True)):
        limit = 0.0
        if not getattr(model, "steady", True):
            with pytest.raises(sf.PolicyError, match="generalizing may break"):
                asked(table, [model], everybody, anonymizer=SETTINGS[name])
            return

    release = asked(table, [model], everybody, anonymizer=SETTINGS[name], suppression_limit=limit)

    classes = Counter(published_rows(release, tmp_path / "r"))
    found = figure(model, list(classes.values()), [fitting(row, everybody) for row in classes])
    bound = model.risk if hasattr(model, "risk") else model.share
    assert found <= bound + 1e-9
    [achieved] = release.report.verification.checks[0].achieved
    assert achieved.value == pytest.approx(found, abs=1e-7)
    again = {check.promise: check for check in sf.verify(tmp_path / "r").checks}
    [own] = [check for promise, check in again.items() if promise.startswith(model.name)]
    assert own.outcome is (Outcome.UNDECIDABLE if model.needs_population else Outcome.HOLDS)


GAMES = [sf.Profitability(10, 30, 8, 2), sf.Profitability(10, 90, 12, 2, "journalist", attack=False)]


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("model", GAMES, ids=str)
def test_every_anonymizer_keeps_what_a_game_asks(name, model, tmp_path):
    everybody, _, table = world(11, people=400, records=40)

    release = asked(table, [model], everybody, anonymizer=SETTINGS[name])

    classes = Counter(published_rows(release, tmp_path / "r"))
    for row, size in classes.items():
        k = fitting(row, everybody) if model.needs_population else size
        attacked = model.gain / k > model.cost
        assert not attacked or (model.attack is not False and model.loss / k < model.benefit)
    again = {check.promise: check for check in sf.verify(tmp_path / "r").checks}
    [own] = [check for promise, check in again.items() if promise.startswith("profitability")]
    assert own.outcome is (Outcome.UNDECIDABLE if model.needs_population else Outcome.HOLDS)


# --- every node, by hand -------------------------------------------------------------------------------------------


def kept_by_hand(model, sample, everybody, levels, least_out=0) -> int:
    """Records that stay: the smallest classes go first (those with the fewest people), all alike at a time."""
    records = Counter(image(person, levels) for person in sample)
    people = Counter(image(person, levels) for person in everybody)
    bound = model.risk if hasattr(model, "risk") else model.share
    register = getattr(model, "adversary", None) in ("journalist", "marketer")
    weakness = people if register else records
    kept = dict(records)
    while kept and figure(model, [*kept.values()], [people[each] for each in kept]) > bound + 1e-12:
        least = min(weakness[each] for each in kept)
        kept = {each: count for each, count in kept.items() if weakness[each] > least}
    while kept and 0 < len(sample) - sum(kept.values()) < least_out:
        del kept[min(kept, key=lambda each: kept[each])]
    return sum(kept.values())


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("limit", [0.0, 0.3])
@pytest.mark.parametrize("model", [*MODELS, *ESTIMATED[:3]], ids=str)
def test_the_optimal_search_finds_what_trying_every_node_finds(model, limit, seed):
    everybody, sample, table = world(seed, people=150, records=30)
    # Who is left out must be as many as k, or nobody: k-anonymity by another name.
    least = math.ceil(1 / model.risk) if model.name == "highest-risk" and not model.needs_population else 0
    values = [
        value_of(levels, kept, len(sample))
        for levels in product(range(3), repeat=3)
        if (kept := kept_by_hand(model, sample, everybody, levels, least)) > 0
        and len(sample) - kept <= limit * len(sample)
    ]

    release = asked(table, [model], everybody, anonymizer=sf.Optimal(objective="precision"), suppression_limit=limit)

    assert 1 - release.report.losses.precision == pytest.approx(min(values), abs=1e-9)
    for anonymizer in (sf.Incognito(selection="loss"), sf.Datafly()):
        made = asked(table, [model], everybody, anonymizer=anonymizer, suppression_limit=limit)
        assert made.report.verification.checks[0].outcome is Outcome.HOLDS


def test_an_average_costs_less_than_a_bound_for_each():
    _, _, table = world(2, records=60)
    average = sf.anonymize(table, sf.AverageRisk(0.2), seed=1).report
    highest = sf.anonymize(table, sf.HighestRisk(0.2), seed=1).report
    assert average.losses.normalized_ncp < highest.losses.normalized_ncp
    assert average.smallest_class < 5 <= highest.smallest_class


def test_bad_bounds_and_tables_get_a_sentence():
    _, _, table = world(1)
    with pytest.raises(sf.UnsatisfiableError, match="average-risk asks for risk = 0"):
        sf.anonymize(table, sf.AverageRisk(0.001))
    with pytest.raises(sf.UnsatisfiableError, match="average-risk asks for risk = 0"):
        sf.anonymize(table, sf.AverageRisk(0.001), anonymizer=sf.Optimal())
    with pytest.raises(sf.UnsatisfiableError, match="highest-risk asks for risk = 0"):
        sf.anonymize(table, sf.HighestRisk(0.001), anonymizer=sf.Optimal())
    with pytest.raises(sf.PolicyError, match="give the table of them"):
        sf.anonymize(table, sf.AverageRisk(0.1, "marketer"))
    for make in (lambda: sf.AverageRisk(0), lambda: sf.SampleUniques(1.5), lambda: sf.HighestRisk(0.1, "marketer")):
        with pytest.raises(sf.PolicyError):
            make()
    assert math.isclose(sf.anonymize(table, sf.AverageRisk(1.0), seed=1).report.classes, table.height, rel_tol=0.5)

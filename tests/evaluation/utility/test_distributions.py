"""Distances between distributions, associations before and after, privacy against utility."""

from __future__ import annotations

import math
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import correlations as naive
from sfumato.errors import InputError
from sfumato.evaluation.utility.answers import large_populations
from sfumato.evaluation.utility.joint import (
    Original,
    contingency_table,
    estimate,
    estimate_histogram,
    expected_by_label,
    factors_of,
    original_joint,
    read_joint,
)
from sfumato.evaluation.utility.measure import (
    DirectComparison,
    TradeOff,
    correlations,
    earth_mover_over_numbers,
    earth_movers,
    frontier,
    guessing_accuracy,
    jensen_shannon,
    pairwise_contingency,
    privacy_losses,
    total_variation,
    utility_loss,
)
from sfumato.evaluation.utility.queries import (
    Among,
    AttributeDomain,
    Query,
    Range,
    Workload,
    coarse,
    domains_of,
    single_values,
)
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.table.encoding import encode

NAMES = ("age", "town", "illness")


def people(count: int, seed: int) -> list[tuple[int | None, str, str]]:
    draw = random.Random(seed)
    found: list[tuple[int | None, str, str]] = []
    for _ in range(count):
        town = draw.choice(["ulm", "bonn", "kiel"])
        ill = draw.choice(["flu", "cold"]) if town == "ulm" else draw.choice(["flu", "asthma", "gout"])
        found.append((None if draw.random() < 0.1 else draw.randint(20, 27) + 5 * (ill == "flu"), town, ill))
    return found


def table_of(rows: list[tuple[int | None, str, str]]) -> sf.Table:
    schema = sf.Schema(quasi_identifying=["age", "town"], sensitive=["illness"])
    return sf.read_table(pl.DataFrame(rows, schema=NAMES, orient="row"), schema)


ROWS = people(120, 1)
TABLE = table_of(ROWS)
DOMAINS = domains_of(encode(TABLE))
ORIGINAL = original_joint(DOMAINS)
FRAME = pl.DataFrame(ROWS, schema=NAMES, orient="row")
RELEASED = PublishedTable(FRAME, ("age", "town"), ("illness",))
STARRED = PublishedTable(FRAME.with_columns(age=pl.lit("*"), town=pl.lit("*")), ("age", "town"), ("illness",))


def bucketized(buckets: int) -> BucketizedTables:
    frame = FRAME.with_columns(bucket=pl.int_range(pl.len()) % buckets)
    counts = frame.group_by("bucket", "illness").len("count")
    return BucketizedTables(frame.drop("illness"), counts, ("age", "town"), "illness")


def sliced(columns: tuple[tuple[str, ...], ...]) -> SlicedTable:
    frame = FRAME.with_columns(bucket=pl.int_range(pl.len()) % 3).sort("bucket")
    names = [name for column in columns for name in column]
    copies = {f"{name} (2)": frame[name] for name in names if names.count(name) > 1}
    return SlicedTable(frame.with_columns(**copies), columns, ("illness",))


EXACT: list[Published] = [
    RELEASED,
    RandomizedTable(FRAME, ("age", "town"), ("illness",)),
    sliced((NAMES,)),
    MarginalTables((FRAME.group_by(NAMES).len("count"),), (NAMES,), ("illness",)),
    bucketized(120),
]


@pytest.mark.parametrize("published", EXACT, ids=lambda published: published.kind)
def test_what_is_published_exactly_is_kept_exactly(published):
    kept = correlations(ORIGINAL, read_joint(published, DOMAINS), DOMAINS)
    assert [each.attribute for each in kept.distributions] == list(NAMES)
    assert all(each.total_variation == pytest.approx(0, abs=1e-12) for each in kept.distributions)
    assert kept.distributions[0].earth_mover == pytest.approx(0, abs=1e-12)
    assert kept.distributions[1].earth_mover is None
    assert kept.mean_change == pytest.approx(0, abs=1e-12)
    assert kept.kept == pytest.approx(1)


@pytest.mark.parametrize(("one", "other"), [("age", "town"), ("age", "illness"), ("town", "illness")])
def test_associations_are_the_mean_square_contingency(one, other):
    places = NAMES.index(one), NAMES.index(other)
    bins = {name: single_values(DOMAINS[name]) for name in NAMES}
    found = pairwise_contingency(contingency_table(ORIGINAL, one, other, bins))
    assert found == pytest.approx(naive.phi_squared([(row[places[0]], row[places[1]]) for row in ROWS]))


def test_the_worked_associations():
    rows = [
        (22, "M", "47906", "dyspepsia"),
        (22, "F", "47906", "flu"),
        (33, "F", "47905", "flu"),
        (52, "F", "47905", "bronchitis"),
        (54, "M", "47302", "flu"),
        (60, "M", "47302", "dyspepsia"),
        (60, "M", "47304", "dyspepsia"),
        (64, "F", "47304", "gastritis"),
    ]
    wanted = {(0, 1): 0.75, (0, 2): 0.833333, (0, 3): 0.888889, (1, 2): 0.5, (1, 3): 0.666667, (2, 3): 0.333333}
    for (one, other), value in wanted.items():
        pairs = [(row[one], row[other]) for row in rows]
        assert naive.phi_squared(pairs) == pytest.approx(value, abs=1e-6)
        lefts, rights = (sorted({str(pair[side]) for pair in pairs}) for side in (0, 1))
        table = np.zeros((len(lefts), len(rights)))
        for left, right in pairs:
            table[lefts.index(str(left)), rights.index(str(right))] += 1
        assert pairwise_contingency(table) == pytest.approx(value, abs=1e-6)


def test_contingencies_follow_from_single_queries():
    """Every cell of a table of pairs is the answer to a count of its two values."""
    kinds = [
        sliced((("age", "town"), ("town", "illness"))),
        sliced((("age",), ("town",), ("illness",))),
        bucketized(7),
        STARRED,
    ]
    bins = {name: single_values(DOMAINS[name]) for name in NAMES}
    for published in kinds:
        joint = read_joint(published, DOMAINS)
        table = contingency_table(joint, "town", "illness", bins)
        assert table.sum() == pytest.approx(120)
        for row, town in enumerate(DOMAINS["town"].attribute.labels.to_list()):
            for column, illness in enumerate(DOMAINS["illness"].attribute.labels.to_list()):
                query = Query((Among("town", (town,)), Among("illness", (illness,))))
                assert table[row, column] == pytest.approx(estimate(joint, query))
        for name in NAMES:
            assert estimate_histogram(joint, name, bins[name]) == pytest.approx(
                contingency_table(joint, name, "town" if name != "town" else "age", bins).sum(axis=1)
            )


def test_what_is_suppressed_is_gone():
    kept = correlations(ORIGINAL, read_joint(STARRED, DOMAINS), DOMAINS)
    assert [pair.after for pair in kept.associations] == pytest.approx([0, 0, 0], abs=1e-12)
    assert kept.kept == pytest.approx(0, abs=1e-9)
    assert kept.distributions[2].total_variation == 0
    assert set(kept.to_dict()) == {"distributions", "associations", "mean_change", "kept"}


def test_apart_in_one_bucket_is_independent():
    published = MarginalTables(
        tuple(FRAME.group_by(name).len("count") for name in NAMES), tuple((name,) for name in NAMES), ("illness",)
    )
    kept = correlations(ORIGINAL, read_joint(published, DOMAINS), DOMAINS)
    assert [pair.after for pair in kept.associations] == pytest.approx([0, 0, 0], abs=1e-12)
    assert all(each.total_variation == pytest.approx(0, abs=1e-12) for each in kept.distributions)


def test_bins_hold_every_value():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.integers(0, 1000, 3000), "c": [f"v{place}" for place in rng.integers(0, 90, 3000)]})
    domains = domains_of(encode(sf.read_table(frame, sf.Schema(quasi_identifying=["x", "c"]))))
    numbers = coarse(domains["x"], 10, 50)
    counts = np.bincount(numbers.bin_of[domains["x"].codes])
    assert numbers.count == 10
    assert counts.min() > 250
    categories = coarse(domains["c"], 10, 20)
    assert categories.count == 20
    counts = np.bincount(categories.bin_of[domains["c"].codes])
    frequencies = sorted(np.bincount(domains["c"].codes).tolist(), reverse=True)
    assert counts.tolist() == [*frequencies[:19], sum(frequencies[19:])]


def two_shares(size: int) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return st.tuples(weights, weights)


def normalized(weights: list[int]) -> np.ndarray:
    return np.array(weights) / sum(weights)


@examples(80)
@given(st.integers(2, 6).flatmap(two_shares))
def test_distances_equal_their_twins(pair):
    p, q = (normalized(weights) for weights in pair)
    assert jensen_shannon(p[None], q[None])[0] == pytest.approx(naive.jensen_shannon(p, q), abs=1e-12)
    assert total_variation(p, q) == pytest.approx(naive.equal(p, q))
    ranks = np.arange(len(p), dtype=float)
    assert earth_mover_over_numbers(p, q, ranks) == pytest.approx(naive.ordered(p, q))
    categories, numbers = domain_of([f"v{place}" for place in range(len(p))]), domain_of(list(range(len(p))))
    assert earth_movers(p[None], q[None], categories)[0] == pytest.approx(naive.equal(p, q))
    assert earth_movers(p[None], q[None], numbers)[0] == pytest.approx(naive.ordered(p, q))


def domain_of(values: list[object], hierarchy: object = None) -> AttributeDomain:
    setting = sf.Attribute(hierarchy=hierarchy) if hierarchy is not None else None  # type: ignore[arg-type]
    return domains_of(encode(sf.read_table(pl.DataFrame({"x": values}), sf.Schema(quasi_identifying={"x": setting}))))[
        "x"
    ]


TREE = {"st": {"gu": None, "ga": None, "sc": None}, "re": {"flu": None, "pn": None, "br": None}}


def diseases() -> AttributeDomain:
    grouped = sf.groups({"st": ["gu", "ga", "sc"], "re": ["flu", "pn", "br"]})
    return domain_of(["gu", "ga", "sc", "flu", "pn", "br"], grouped)


def test_the_worked_distances_over_a_hierarchy():
    domain = diseases()
    whole = {"gu": 1 / 9, "ga": 2 / 9, "sc": 1 / 9, "flu": 2 / 9, "pn": 1 / 9, "br": 2 / 9}
    labels = domain.attribute.labels.to_list()
    for values, wanted in ((("gu", "ga", "sc"), 5 / 9), (("ga", "flu", "br"), 2 / 9), (("br", "pn", "sc"), 1 / 3)):
        own = dict.fromkeys(values, 1 / 3)
        assert naive.hierarchical(own, whole, TREE, 2) == pytest.approx(wanted)
        rows = [np.array([[shares.get(label, 0.0) for label in labels]]) for shares in (own, whole)]
        assert earth_movers(*rows, domain)[0] == pytest.approx(wanted)


def test_divergence_of_equal_and_of_disjoint_beliefs():
    p = np.array([[0.5, 0.5, 0.0, 0.0]])
    assert jensen_shannon(p, p)[0] == 0
    assert jensen_shannon(p, p[:, ::-1])[0] == pytest.approx(math.log(2))


def test_privacy_losses():
    prior = np.array([0.5, 0.25, 0.25])
    shares = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = privacy_losses(shares, prior)
    assert found[0] == 0
    assert found[1] == pytest.approx(naive.jensen_shannon([1, 0, 0], [0.5, 0.25, 0.25]))
    assert found[2] == 0


def test_guessing_shares_ties():
    shares = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert guessing_accuracy(shares, np.array([0, 2, 1, -1, 0])).tolist() == [0.5, 1.0, 0.0, 0.0, 0.0]


def test_utility_loss_of_the_original_and_of_the_suppressed_table():
    populations = large_populations(Original.of(TABLE), ["age", "town"], 30, seed=1)
    assert {"illness"} & set(populations.attributes) == set()
    loss, count = utility_loss(ORIGINAL, read_joint(RELEASED, DOMAINS), populations, DOMAINS["illness"], support=0.05)
    assert loss == pytest.approx(0)
    assert count > 10
    worse, same = utility_loss(ORIGINAL, read_joint(STARRED, DOMAINS), populations, DOMAINS["illness"], support=0.05)
    assert same == count
    assert worse is not None
    assert worse > 0.1


def test_utility_loss_by_hand():
    query = Query((Among("town", ("ulm",)),))
    inside = [row[2] for row in ROWS if row[1] == "ulm"]
    labels = DOMAINS["illness"].attribute.labels.to_list()
    own = [inside.count(label) / len(inside) for label in labels]
    whole = [sum(row[2] == label for row in ROWS) / len(ROWS) for label in labels]
    found = utility_loss(ORIGINAL, read_joint(STARRED, DOMAINS), Workload((query,)), DOMAINS["illness"], support=0.01)
    assert found == (pytest.approx(naive.equal(own, whole)), 1)


def test_populations_that_are_none():
    query = Query((Among("town", ("nowhere",)),))
    joint = read_joint(STARRED, DOMAINS)
    assert utility_loss(ORIGINAL, joint, Workload((query,)), DOMAINS["illness"], support=0.01) == (None, 0)
    with pytest.raises(InputError, match="by 'illness' itself"):
        utility_loss(
            ORIGINAL, joint, Workload((Query((Among("illness", ("flu",)),)),)), DOMAINS["illness"], support=0.01
        )
    with pytest.raises(InputError, match="support"):
        utility_loss(ORIGINAL, joint, Workload((query,)), DOMAINS["illness"], support=0)


def test_the_direct_comparison_is_over_the_baseline():
    direct = DirectComparison(0.4, 0.7, 0.5)
    assert (direct.privacy_loss, direct.utility_gain) == (pytest.approx(0.3), pytest.approx(0.1))
    assert DirectComparison(0.4, 0.7).utility_gain is None
    plain = TradeOff("illness", direct, 0.2, None, 0).to_dict()
    assert plain["direct"]["privacy_loss"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    "published",
    [STARRED, sliced((("age", "town"), ("town", "illness"))), sliced((("age",), ("town", "illness"))), bucketized(7)],
    ids=["generalized", "overlapping", "sliced", "bucketized"],
)
@pytest.mark.parametrize("name", NAMES)
def test_the_records_under_each_label_are_answers_to_single_queries(published, name):
    joint = read_joint(published, DOMAINS)
    query = Query((Among("town", ("ulm", "kiel")),)) if name != "town" else Query((Among("illness", ("flu",)),))
    found = joint.spreads[name].tally(
        expected_by_label(joint, factors_of(joint, query), name), single_values(DOMAINS[name])
    )
    for code, label in enumerate(DOMAINS[name].attribute.labels.to_list()):
        also = Range(name, float(label), float(label)) if name == "age" else Among(name, (label,))
        assert found[code] == pytest.approx(estimate(joint, Query((*query.where, also))))


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_the_frontier_holds_what_nothing_beats(points):
    found = frontier(points)
    for place, point in enumerate(points):
        beaten = any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
        first = points.index(point) == place
        assert (place in found) is (first and not beaten)
    assert list(found) == sorted(found, key=lambda place: points[place])

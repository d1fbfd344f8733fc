"""What a least label tells: chances are those of all draws, and certain ones are true."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import target
from examples import examples
from sfumato.classes.partition import Form
from sfumato.evaluation.attacks.original_values import table_cells
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.singling_out import choose_members, end_chances, member_chances
from sfumato.published import PublishedTable
from sfumato.recoding.choice import Recoding

SHARES = st.lists(st.integers(1, 9), min_size=2, max_size=4)


@given(SHARES, st.integers(1, 5))
@examples(80)
def test_chances_are_those_of_all_draws(weights: list[int], records: int) -> None:
    """All draws of k values are listed, and those kept of which the label is the least one."""
    shares = np.array(weights, dtype=float)
    for form in (Form.SET, Form.ANCESTOR):
        members = list(range(len(weights)))
        alone, least = np.zeros(len(members)), 0.0
        for draw in product(range(len(weights)), repeat=records):
            occurs = set(draw)
            if len(occurs) < (len(weights) if form is Form.SET else 2):
                continue
            chance = float(np.prod(shares[list(draw)] / shares.sum()))
            least += chance
            alone += [chance * (draw.count(member) == 1) for member in members]
        found = member_chances(form, shares[members], float(shares.sum()), records)
        if least == 0:
            assert not found.any() or form is Form.ANCESTOR
            continue
        expected = alone / least
        if form is Form.SET:
            rarest = int(shares.argmin())
            assert found[rarest] == pytest.approx(expected[rarest])
            assert expected[rarest] == pytest.approx(expected.max())
            continue
        assert found == pytest.approx(expected)


@given(SHARES, SHARES, st.integers(0, 5), st.integers(2, 5))
@examples(60)
def test_chances_of_ends_are_those_of_all_draws(left: list[int], right: list[int], middle: int, records: int) -> None:
    """Both sides of an interval have records; the attacker asks for a part of the left one, from its end on."""
    weights = np.array([*left, middle, *right], dtype=float) / (sum(left) + middle + sum(right))
    sides, both, alone = len(left), 0.0, np.zeros(len(left))
    for counts in product(range(records + 1), repeat=len(left) + 2):
        if sum(counts) != records or not sum(counts[:sides]) or not counts[-1]:
            continue
        shares = [*weights[: sides + 1], weights[sides + 1 :].sum()]
        parts = [share**count / factorial(count) for share, count in zip(shares, counts, strict=True)]
        chance = factorial(records) * np.prod(parts)
        both += chance
        alone += [chance * (sum(counts[: part + 1]) == 1) for part in range(sides)]
    inner = np.cumsum(weights[:sides])
    assert end_chances(inner, inner[-1], weights[sides + 1 :].sum(), records) == pytest.approx(alone / both)


def test_chances_of_large_classes_are_those_of_a_binomial() -> None:
    """Two members of 1,000 records: the rare one occurs once, given that both occur; no figure underflows."""
    share, records = 0.002, 1000
    once = records * share * (1 - share) ** (records - 1)
    both = 1 - (1 - share) ** records - share**records
    found = member_chances(Form.SET, np.array([share, 1 - share]), 1.0, records)
    assert found[0] == pytest.approx(once / both)


def test_without_others_a_member_is_not_certain_by_its_rarity() -> None:
    frame = pl.DataFrame({"age": [1] * 30 + [2] * 30, "kind": ["a"] * 29 + ["b"] + ["a"] * 30})
    original = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "kind"]))
    shown = frame.select(pl.col("age").cast(pl.String), kind=pl.Series(["{a|b}"] * 30 + ["a"] * 30))
    release = PublishedTable(shown, ("age", "kind"), ())
    cells = table_cells(release, original, ("age", "kind"), Recoding())
    chance = choose_members(cells, np.zeros(60, dtype=np.bool_), target(release, original)).chance.max()
    assert 0.3 < chance < 0.999


def test_as_many_members_as_records_are_one_each() -> None:
    frame = pl.DataFrame({"age": [20, 21, 40, 40, 41], "sex": ["f", "m", "f", "m", "m"]})
    schema = sf.Schema(quasi_identifying=["age", "sex"])
    original = sf.read_table(frame, schema)
    ages = ["[20..21]"] * 2 + ["[40..41]"] * 3
    release = PublishedTable(pl.DataFrame({"age": ages, "sex": ["{f|m}"] * 5}), ("age", "sex"), ())
    cells = table_cells(release, original, ("age", "sex"), Recoding())
    found = choose_members(cells, np.zeros(5, dtype=np.bool_), target(release, original))
    two = int(cells.publication.sizes.argmin())
    assert found.chance[two] == pytest.approx(1)
    assert found.chance[1 - two] < 1


@pytest.mark.parametrize("ends", ["tight", "rounded"])
def test_a_star_over_missing_values_tells_of_no_lowest_and_highest_value(ends) -> None:
    frame = pl.DataFrame({"age": [*range(20, 59), None] * 2, "sex": ["f"] * 40 + ["m"] * 40})
    original = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
    shown = pl.DataFrame({"age": ["*"] * 40 + ["[20..59]"] * 40, "sex": frame["sex"]})
    release, recoding = PublishedTable(shown, ("age", "sex"), ()), Recoding(ends=ends)
    cells = table_cells(release, original, ("age", "sex"), recoding)
    found = choose_members(cells, np.ones(80, dtype=np.bool_), Target(release, original, recoding=recoding))
    starred = int(cells.publication.class_of[0])
    assert found.chance[starred] == -1
    assert found.chance[1 - starred] > 0


def test_regions_tell_nothing_of_members() -> None:
    """What the anonymizer decides for the whole table has no least labels."""
    frame = pl.DataFrame({"age": [20, 21, 40, 41] * 5, "sex": ["f", "m"] * 10})
    original = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
    release = sf.anonymize(original, [sf.KAnonymity(4)], anonymizer=sf.Mondrian(extent="region"))
    cells = table_cells(release.published, original, ("age", "sex"), Recoding())
    on = Target(release.published, original, anonymizer=sf.Mondrian(extent="region"))
    assert (choose_members(cells, np.zeros(20, dtype=np.bool_), on).chance == -1).all()


# A strictly finer table that follows from the labels (Cohen's score).


def finer(release: sf.Release, table: sf.Table, control: sf.Table | None = None) -> dict[str, float]:
    (result,) = sf.attack(release, table, control=control, attacks="singling-out", seed=1).results
    return {name: share for name, share in result.figures.items() if name.startswith("finer")}


def test_pairs_under_nodes_of_two_are_recovered_row_by_row() -> None:
    """Construction: a tree of pairs of leaves, one person on each leaf. Two-anonymity merges each pair, and tells both.

    Every minimal node has both children occupied, so that every row is told, to the leaf: the share is 1 whatever the
    algorithm does, as long as it merges siblings.
    """
    leaves = [f"{pair}{side}" for pair in range(20) for side in "ab"]
    groups = sf.groups({str(pair): [f"{pair}a", f"{pair}b"] for pair in range(20)})
    schema = sf.Schema(quasi_identifying={"place": groups})
    table = sf.read_table(pl.DataFrame({"place": leaves}), schema)
    for anonymizer in (sf.Mondrian(), sf.KMember()):
        release = sf.anonymize(table, sf.KAnonymity(2), anonymizer=anonymizer, seed=1)
        assert release.report.classes == 20
        assert finer(release, table) == {"finer_rows": 1.0, "finer_cells": 1.0, "finer_true": 1.0}


def test_sets_of_as_many_members_as_records_tell_every_row_one_attribute() -> None:
    """Construction: people differ in all of d attributes; classes of two tell one attribute of each row for certain."""
    generator = np.random.default_rng(1)
    columns = [f"c{number}" for number in range(4)]
    frame = pl.DataFrame({name: [f"v{value}" for value in generator.permutation(200)] for name in columns})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=columns, publish=columns))
    release = sf.anonymize(table, sf.KAnonymity(2), anonymizer=sf.MDAV(), seed=1)
    found = finer(release, table)
    assert found["finer_true"] == 1
    assert found["finer_rows"] >= 0.98
    assert found["finer_cells"] == pytest.approx(found["finer_rows"] / 4)


@given(st.integers(0, 10_000))
@examples(15)
def test_what_follows_from_least_labels_is_true(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frame = pl.DataFrame({"age": generator.integers(0, 40, 60), "job": generator.choice(list("abcde"), 60)})
    table = sf.read_table(
        frame, sf.Schema(quasi_identifying={"age": None, "job": sf.groups({"x": ["a", "b"], "y": ["c", "d", "e"]})})
    )
    for recoding in (Recoding(), Recoding(ends="tight")):
        release = sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.Mondrian(), recoding=recoding, seed=1)
        found = finer(release, table)
        assert found.get("finer_true", 1.0) == 1
        assert found.get("finer_cells", 0.0) == pytest.approx(found.get("finer_rows", 0.0) / 2)


def test_regions_that_need_not_be_full_tell_nothing() -> None:
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(10, 20, 40)})
    table = sf.read_table(pl.DataFrame({"age": list(range(40)) * 3}), schema)
    release = sf.anonymize(table, sf.KAnonymity(10), anonymizer=sf.Incognito(), seed=1)
    assert finer(release, table) == {}


# Two constructions after Cohen's, in our own form: who reads minimal labels rebuilds records that they hide.

SPREAD, ATTRIBUTES = 0.25, 100
"""Chance that somebody of a cluster is spread, and how many attributes people have."""


def clustered(clusters: int, k: int, seed: int) -> tuple[pl.DataFrame, dict[str, object]]:
    """Draw clusters of k to 2 k − 1 people: most on one leaf everywhere, some spread over two."""
    generator = np.random.default_rng(seed)
    rows = []
    for cluster in range(clusters):
        for _ in range(int(generator.integers(k, 2 * k))):
            far = (generator.random(ATTRIBUTES) < 0.5) & (generator.random() < SPREAD)
            rows.append([f"{cluster}{'b' if one else 'a'}" for one in far])
    frame = pl.DataFrame(rows, [f"x{number}" for number in range(ATTRIBUTES)], orient="row")
    tree = sf.groups({f"{cluster}": [f"{cluster}a", f"{cluster}b"] for cluster in range(clusters)})
    return frame, dict.fromkeys(frame.columns, tree)


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.KMember()], ids=lambda way: way.name)
@pytest.mark.parametrize("k", [2, 3])
def test_a_constant_share_of_clustered_records_is_rebuilt_whole(anonymizer, k) -> None:
    """A cluster that cannot be cut is a class. One spread person lifts half of the labels, two lift three quarters.

    So about a half tells of one, and who reads the labels knows everybody in the class: the spread person has the other
    leaf just where the label is a node. Expected: the records in clusters with one spread person.
    """
    frame, trees = clustered(30, k, seed=5)
    table = sf.read_table(frame, sf.Schema(quasi_identifying=trees))
    release = sf.anonymize(table, sf.KAnonymity(k), anonymizer=anonymizer, seed=1)
    originals, rebuilt, wrong = Counter(frame.rows()), 0, 0
    for labels, size in Counter(release.data.rows()).items():
        nodes = [not label.endswith("a") for label in labels]
        if "*" in labels or not 0.35 <= sum(nodes) / ATTRIBUTES <= 0.62:
            continue
        one = tuple(f"{label}b" if node else label for label, node in zip(labels, nodes, strict=True))
        others = tuple(f"{label}a" if node else label for label, node in zip(labels, nodes, strict=True))
        wrong += originals[one] != 1 or originals[others] != size - 1
        rebuilt += size
    sizes = np.arange(k, 2 * k)
    alone = sizes * SPREAD * (1 - SPREAD) ** (sizes - 1)
    expected = float((sizes * alone).sum() / sizes.sum())
    assert wrong == 0
    assert rebuilt / frame.height == pytest.approx(expected, abs=0.2)
    assert finer(release, table)["finer_true"] == 1


@pytest.mark.parametrize("k", [2, 3, 5])
def test_three_quarters_of_every_records_attributes_are_rebuilt(k) -> None:
    """Everybody has a number of their own out of n² / α, and in each attribute it or 0, by tossing a coin.

    With a chance of 1 − α no two numbers are the same. Then a set tells who of the class has 0 there: whose number is
    missing. An attribute stays as it was only where all have 0, a share of 2^−k: at most a quarter. By Chernoff
    everybody loses above 3 / 8.
    """
    records, alpha = 60, 0.01
    generator = np.random.default_rng(7)
    own = generator.integers(1, int(records**2 / alpha) + 1, records)
    drawn = own[:, None] * generator.integers(0, 2, (records, 60))
    frame = pl.DataFrame(drawn.astype(str), [f"x{number}" for number in range(60)])
    table = sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns, publish=frame.columns))
    release = sf.anonymize(table, sf.KAnonymity(k), anonymizer=sf.MDAV(), seed=1)
    assert len(np.unique(own)) == records
    rebuilt, hidden = [], []
    for labels, size in Counter(release.data.rows()).items():
        sets = [set(label.strip("{}").split("|")) for label in labels]
        numbers = set.union(*sets) - {"0"}
        assert len(numbers) == size
        rebuilt += [tuple(number if number in told else "0" for told in sets) for number in numbers]
        hidden += [np.mean([len(told) > 1 for told in sets])] * size
    assert Counter(rebuilt) == Counter(frame.rows())
    assert min(hidden) > 3 / 8
    assert np.mean(hidden) == pytest.approx(1 - 2.0**-k, abs=0.05)

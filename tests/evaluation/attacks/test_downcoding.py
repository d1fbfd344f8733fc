"""Downcoding, and what the form of a cell tells, against every draw of records."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.algorithm_attacks import cell_belief
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.downcoding import (
    Downcoding,
    branching_belief,
    rounded_belief,
    tight_belief,
    uncut_belief,
    uncut_region_belief,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.published import PublishedTable, SlicedTable
from sfumato.recoding import TIGHT, Recoding
from sfumato.table.reading import read_table
from sfumato.table.table import Table


def people(count: int, seed: int, high: int = 1000) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    return pl.DataFrame({"income": generator.integers(0, high, count), "disease": generator.choice(["a", "b"], count)})


def table_of(frame: pl.DataFrame, setting: object = None) -> Table:
    schema = sf.Schema(quasi_identifying={"income": setting}, sensitive=["disease"])  # type: ignore[dict-item]
    return read_table(frame, schema)


def played(
    table: Table,
    k: int,
    *,
    anonymizer: object = None,
    attack: Downcoding | None = None,
    control: Table | None = None,
    recoding: Recoding | None = None,
) -> tuple[AttackResult, ...]:
    algorithm = anonymizer or sf.Mondrian()
    release = sf.anonymize(table, sf.KAnonymity(k), anonymizer=algorithm, recoding=recoding, seed=1)  # type: ignore[arg-type]
    target = Target(
        PublishedTable(release.data, tuple(table.schema.quasi_identifying), ("disease",)),
        table,
        control=control,
        models=({"name": "k-anonymity", "k": k},),
        anonymizer=algorithm,
        seed=1,
        recoding=recoding or Recoding(),
    )
    return (attack or Downcoding()).play(target)


class TestWhereItMustWork:
    def test_tight_intervals_print_two_values_of_every_class(self) -> None:
        (result,) = played(table_of(people(500, 1)), 5, recoding=TIGHT)
        assert result.succeeds
        assert result.success.share > 2 * result.success.baseline
        assert result.figures["printed_ends"] > 0.2

    def test_pairs_are_half_known(self) -> None:
        (result,) = played(table_of(people(300, 2, high=10**6)), 2, recoding=TIGHT)
        assert result.success.share > 0.3
        assert result.success.baseline == 0

    def test_a_class_that_was_not_cut_shares_its_middle_value(self) -> None:
        """Nine of thirteen have one value, which must be an inner one, as the lowest cannot occur nine times."""
        frame = pl.DataFrame({"income": [1, 2] + [5] * 9 + [8, 9], "disease": ["a"] * 13})
        control = table_of(pl.DataFrame({"income": [1] * 30 + [5] * 25 + [9] * 20, "disease": ["a"] * 75}))
        results = [
            played(table_of(frame), 3, control=control, attack=Downcoding(tight=tight), recoding=TIGHT)
            for tight in (True, False)
        ]
        # That it was not cut is known whether its ends occur or not.
        assert [result.success.successes for (result,) in results] == [9, 9]
        assert [result.success.baseline for (result,) in results] == [1 / 13, 1 / 13]

    def test_a_node_is_not_published_for_one_child_alone(self) -> None:
        # In pairs over two children one record each is under either: the rare child's only value is half of them.
        groups = sf.groups({"common": ["a", "b", "c", "d"], "rare": ["e"]})
        schema = sf.Schema(quasi_identifying={"job": groups}, sensitive=["disease"])
        data = pl.DataFrame({"job": ["*", "*"], "disease": ["x", "y"]})
        original = read_table(pl.DataFrame({"job": ["a", "e"], "disease": ["x", "y"]}), schema)
        population = ["a"] * 5 + ["b"] * 5 + ["c"] * 5 + ["d"] * 5 + ["e"]
        control = read_table(pl.DataFrame({"job": population, "disease": ["x"] * 21}), schema)
        (result,) = Downcoding().play(Target(PublishedTable(data, ("job",), ("disease",)), original, control=control))
        assert result.success.successes == 1
        # The guess of a population would have been the first record's value, right for one as well.
        assert result.success.baseline == 0.5

    def test_a_region_that_was_not_cut_shares_its_middle_value(self) -> None:
        frame = pl.DataFrame({"income": [1, 2] + [5] * 9 + [8, 9], "disease": ["a"] * 13})
        control = table_of(pl.DataFrame({"income": [1] * 30 + [5] * 25 + [9] * 20, "disease": ["a"] * 75}))
        (result,) = played(table_of(frame), 6, control=control, anonymizer=sf.Mondrian(extent="region"))
        # No cut leaves six on both sides, so that nearly all have one value; the ends need not occur.
        assert result.success.successes == 9
        assert result.success.baseline == 1 / 13
        assert "printed_ends" not in result.figures

    def test_outer_bins_are_not_empty(self) -> None:
        """[10..29] in bins of five: both records are in outer ones, though usual people are not."""
        frame = pl.DataFrame({"income": [10, 27], "disease": ["a", "b"]})
        control = table_of(pl.DataFrame({"income": [10] + [17] * 30 + [27], "disease": ["a"] * 32}))
        (result,) = played(table_of(frame), 2, control=control)
        assert result.success.successes == 1
        assert result.success.baseline == 0
        assert "printed_ends" not in result.figures


class TestWhereItCannot:
    def test_rounded_ends_print_nobody(self) -> None:
        tables = table_of(people(500, 1)), table_of(people(500, 9))
        for algorithm in (sf.Mondrian(), sf.KMember(), sf.MDAV()):
            tight, rounded = (
                played(tables[0], 5, control=tables[1], anonymizer=algorithm, recoding=recoding)[0]
                for recoding in (TIGHT, None)
            )
            assert tight.succeeds
            assert not rounded.succeeds
            low, high = rounded.success.interval
            assert low <= rounded.success.baseline <= high

    def test_regions_of_cuts_print_nobody(self) -> None:
        tables = table_of(people(500, 1)), table_of(people(500, 9))
        for k in (2, 5):
            tight, region = (
                played(tables[0], k, control=tables[1], anonymizer=sf.Mondrian(extent=extent), recoding=recoding)[0]
                for extent, recoding in (("tight", TIGHT), ("region", None))
            )
            assert tight.succeeds
            assert not region.succeeds
            low, high = region.success.interval
            assert low <= region.success.baseline <= high

    def test_fixed_intervals(self) -> None:
        (result,) = played(table_of(people(2000, 1), sf.intervals(100)), 5)
        assert result.success.people == 1000
        assert not result.succeeds
        low, high = result.success.interval
        assert low <= result.success.baseline <= high

    def test_regions_that_do_not_depend_on_the_class(self) -> None:
        (result,) = played(table_of(people(1000, 3)), 5, anonymizer=sf.GlobalMondrian())
        assert "printed_ends" not in result.figures
        assert result.success.share == result.success.baseline
        assert not result.succeeds

    def test_value_sets_are_left_alone(self) -> None:
        schema = sf.Schema(quasi_identifying={"disease": None}, sensitive=["income"])
        table = read_table(people(100, 1).with_columns(pl.col("income") % 3), schema)
        release = sf.anonymize(table, sf.KAnonymity(2))
        (result,) = Downcoding().play(Target(PublishedTable(release.data, ("disease",), ("income",)), table))
        assert result.success.people == 0
        assert result.notes == ("no attribute is published as intervals or nodes of a hierarchy",)

    def test_one_value_for_all(self) -> None:
        (result,) = played(table_of(pl.DataFrame({"income": [7] * 20, "disease": ["a", "b"] * 10})), 2)
        assert (result.success.people, result.figures["generalized"]) == (0, 0)
        assert not result.succeeds


class TestWithAPopulation:
    def test_control_tells_how_usual_values_are(self) -> None:
        table, control = table_of(people(500, 1)), table_of(people(5000, 2))
        (result,) = played(table, 5, control=control, recoding=TIGHT)
        assert result.succeeds
        assert result.control is None

    def test_control_with_a_hierarchy_and_values_that_nobody_has(self) -> None:
        table = table_of(people(300, 1, high=200), sf.intervals(10))
        control = table_of(people(300, 2, high=400).with_columns(pl.col("income").cast(pl.Float64)), sf.intervals(10))
        (result,) = played(table, 20, control=control)
        assert result.success.people > 0

    def test_missing_values_are_neither_guessed_nor_scored(self) -> None:
        frame = people(300, 1).with_columns(
            income=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("income"))
        )
        (result,) = played(table_of(frame), 5)
        assert 0 < result.success.people <= frame["income"].drop_nulls().len()


def test_bad_options_and_another_kind() -> None:
    with pytest.raises(PolicyError, match="tight"):
        Downcoding(tight="yes")  # type: ignore[arg-type]
    sliced = SlicedTable(pl.DataFrame({"bucket": [0], "income": [1]}), (("income",),), ())
    with pytest.raises(InputError, match="downcoding"):
        Downcoding().play(Target(sliced, table_of(people(5, 1))))


def test_plain_values_hold_no_value_of_the_table() -> None:
    (result,) = played(table_of(people(50, 1).with_columns(pl.col("income") + 123_000)), 5)
    assert "123" not in json.dumps(result.to_dict())[:200]
    assert json.loads(json.dumps(result.to_dict()))["attack"] == "downcoding"


populations = st.lists(st.floats(0.05, 1.0), min_size=2, max_size=5).map(lambda raw: np.array(raw) / sum(raw))


@examples(40)
@given(populations, st.integers(2, 5))
def test_tight_ends(shares: np.ndarray, records: int) -> None:
    last = len(shares) - 1
    plain = cell_belief(shares.tolist(), records, possible=lambda drawn: min(drawn) == 0 and max(drawn) == last)
    assert tight_belief(shares, records) == pytest.approx(plain)


@examples(60)
@given(populations, st.integers(2, 5), st.data())
def test_outer_bins_are_not_empty(shares: np.ndarray, records: int, data: st.DataObject) -> None:
    width = len(shares)
    first = data.draw(st.integers(1, width - 1))
    last = data.draw(st.integers(1, width - first))
    plain = cell_belief(
        shares.tolist(), records, possible=lambda drawn: min(drawn) < first and max(drawn) >= width - last
    )
    assert rounded_belief(shares, first, last, records) == pytest.approx(plain)
    # A single bin tells nothing.
    assert rounded_belief(shares, width, width, records) == pytest.approx(shares)


@examples(60)
@given(populations, st.integers(2, 6), st.integers(1, 3))
def test_no_cut_was_possible(shares: np.ndarray, records: int, smallest: int) -> None:
    last = len(shares) - 1

    def possible(drawn: tuple[int, ...]) -> bool:
        if min(drawn) > 0 or max(drawn) < last:
            return False
        lefts = [sum(value <= cut for value in drawn) for cut in range(last)]
        return not any(left >= smallest and records - left >= smallest for left in lefts)

    plain = cell_belief(shares.tolist(), records, possible=possible)
    # With classes of one record anything can be cut: what is published is then impossible, and tells nothing more.
    assert uncut_belief(shares, records, smallest) == pytest.approx(shares if plain is None else plain)


@examples(40)
@given(populations, st.integers(2, 5), st.data())
def test_a_node_is_the_lowest_that_covers_the_class(shares: np.ndarray, records: int, data: st.DataObject) -> None:
    parents = sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(shares), max_size=len(shares))))
    child_of = np.array([sorted(set(parents)).index(each) for each in parents])
    plain = cell_belief(
        shares.tolist(), records, possible=lambda drawn: len({int(child_of[value]) for value in drawn}) > 1
    )
    assert branching_belief(shares, child_of, records) == pytest.approx(shares if plain is None else plain)


def test_large_classes_do_not_vanish() -> None:
    shares = np.full(50, 0.02)
    shares[7] = 0.021
    belief = uncut_belief(shares / shares.sum(), 3000, 5)
    assert belief.sum() == pytest.approx(1)
    # All but eight records at most share one value, and among so many the most usual one is it.
    assert belief.argmax() == 7
    assert belief[7] > 0.99


@examples(60)
@given(populations, st.integers(2, 6), st.integers(1, 3))
def test_no_cut_of_a_region_was_possible(shares: np.ndarray, records: int, smallest: int) -> None:
    def possible(drawn: tuple[int, ...]) -> bool:
        lefts = [sum(value <= border for value in drawn) for border in range(len(shares) - 1)]
        return all(min(left, records - left) < smallest for left in lefts)

    if records < 2 * smallest:
        # Such a class is never cut, whatever its values.
        assert uncut_region_belief(shares, records, smallest) == pytest.approx(shares)
        return
    plain = cell_belief(shares.tolist(), records, possible=possible)
    assert uncut_region_belief(shares, records, smallest) == pytest.approx(plain)


def test_a_table_of_missing_values_alone_is_attacked() -> None:
    """No published cell is a run of codes then."""
    frame = pl.DataFrame({"age": pl.Series([None] * 8, dtype=pl.Float64), "disease": ["flu", "cold"] * 4})
    schema = sf.Schema(quasi_identifying={"age": sf.Attribute(kind="numeric")}, sensitive=["disease"])
    table = sf.read_table(frame, schema)
    played = sf.attack(sf.anonymize(table, sf.KAnonymity(2), seed=1), table, attacks="downcoding", seed=1)
    assert "no such claim was made" in str(played)

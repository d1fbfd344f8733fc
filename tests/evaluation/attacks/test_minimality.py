"""The minimality attack where it must work, and where it cannot, and against a plain twin that tries every world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.algorithm_attacks import believed
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.evaluation.attacks.minimality import (
    Minimality,
    WorldTally,
    every_world,
    survivors,
    world_cells,
    world_count,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.models.protocol import PrivacyModel
from sfumato.published import MarginalTables, PublishedTable
from sfumato.recoding import TIGHT, publish, recode_as_published
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.row_order import canonical_order
from sfumato.table.table import Table

SCHEMA = sf.Schema(quasi_identifying=["place"], sensitive=["disease"])

WONG = pl.DataFrame({"place": [1, 1, 2, 2, 2, 2, 2], "disease": ["HIV", "HIV", "a", "b", "c", "d", "e"]})
"""The idea of the paper's table 2: both with the sensitive disease live at the first of two places."""

TWO = ({"name": "probabilistic-l-diversity", "l": 2},)


def target(table: Table, models: Sequence[PrivacyModel], anonymizer: Any = None, **settings: Any) -> Target:
    """Publish a table as the algorithm says, in the order of the input, and attack it."""
    algorithm = sf.Mondrian() if anonymizer is None else anonymizer
    encoded = encode(table)
    partition = algorithm.solve(Problem(encoded, models, seed=1))
    generalized = recode_as_published(encoded, partition, TIGHT)
    data = publish(generalized, table, np.arange(table.height))
    return Target(
        PublishedTable(data, tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive)),
        table,
        models=tuple({"name": model.name, **model.parameters()} for model in models),
        anonymizer=algorithm,
        seed=1,
        recoding=TIGHT,
        **settings,
    )


def people(count: int, seed: int) -> Table:
    generator = np.random.default_rng(seed)
    return read_table(
        pl.DataFrame(
            {
                "age": generator.integers(20, 60, count),
                "zip": generator.integers(0, 30, count),
                "disease": generator.choice(list("abcde"), count, p=[0.7, 0.1, 0.1, 0.05, 0.05]),
            }
        ),
        sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]),
    )


@dataclass(frozen=True)
class Blind:
    """Cuts by quasi-identifying values alone, every so many records."""

    size: int

    name = "blind"
    decides_regions = False

    def solve(self, problem: Any) -> Partition:
        order = np.lexsort(problem.table.codes.T)
        class_of = np.empty(len(order), dtype=np.int32)
        count = max(1, len(order) // self.size)
        class_of[order] = np.minimum(np.arange(len(order)) // self.size, count - 1)
        return Partition(class_of, count)


class TestWhereItMustWork:
    @pytest.mark.parametrize("attack", [Minimality(), Minimality(exhaustive=0, worlds=400)])
    def test_two_merged_places_give_both_away(self, attack: Minimality) -> None:
        """Had one of the two lived at the other place, two-diverse places would have been published as they are."""
        (result,) = attack.play(target(read_table(WONG, SCHEMA), [sf.ProbabilisticLDiversity(2)]))
        assert (result.success.successes, result.success.people) == (2, 2)
        assert result.success.baseline == pytest.approx(2 / 7)
        assert result.figures["average_certainty_by_class"] == pytest.approx(9 / 49)
        if attack.exhaustive:
            # Certain of two, one in five for the others; 120 of the 2520 different worlds are left.
            assert result.figures["average_certainty"] == pytest.approx(3 / 7)
            assert (result.figures["worlds"], result.figures["worlds_left"]) == (2520, 120)

    @pytest.mark.slow
    def test_full_domain_generalization_as_in_the_paper(self) -> None:
        schema = sf.Schema(quasi_identifying={"place": sf.groups({"both": ["1", "2"]})}, sensitive=["disease"])
        table = read_table(WONG.with_columns(pl.col("place").cast(pl.String)), schema)
        for algorithm in (sf.Optimal(), sf.Incognito(), sf.Datafly()):
            (result,) = Minimality().play(target(table, [sf.ProbabilisticLDiversity(2)], algorithm))
            assert (result.success.successes, result.success.people) == (2, 2)

    def test_a_large_table(self) -> None:
        table = people(1500, 1)
        (result,) = Minimality().play(target(table, [sf.DistinctLDiversity(2)]))
        assert result.succeeds
        assert result.success.share > result.success.baseline + 0.05
        assert result.figures["average_certainty"] > result.figures["average_certainty_by_class"]

    def test_a_release_made_and_attacked_as_a_user_does(self) -> None:
        table = people(1500, 1)
        release = sf.anonymize(table, sf.DistinctLDiversity(2), anonymizer=sf.Mondrian(), recoding=TIGHT)
        (result,) = sf.attack(release, table, attacks="minimality", seed=1)["minimality"]
        assert result.succeeds

    def test_a_seed_repeats_it_on_any_number_of_threads(self) -> None:
        played = [
            Minimality(worlds=10).play(target(people(500, 2), [sf.DistinctLDiversity(2)], threads=threads))
            for threads in (1, 2)
        ]
        assert played[0] == played[1]


class TestWhereItCannot:
    @pytest.mark.parametrize("attack", [Minimality(), Minimality(exhaustive=0)])
    def test_an_algorithm_that_does_not_look_at_sensitive_values(self, attack: Minimality) -> None:
        table = people(60, 3)
        (result,) = attack.play(target(table, [sf.DistinctLDiversity(1)], Blind(6)))
        assert (result.success.people, result.figures["claimed"]) == (0, 0)
        assert result.figures["average_certainty"] == pytest.approx(result.figures["average_certainty_by_class"])
        assert not result.succeeds

    def test_a_model_of_sizes_alone(self) -> None:
        (result,) = Minimality().play(target(people(100, 1), [sf.KAnonymity(5)]))
        assert result.notes == (
            "no promised model looks at sensitive values, so that the algorithm tells nothing of them",
        )
        assert result.success.people == 0

    def test_another_algorithm_than_the_release_was_made_with(self) -> None:
        made = target(people(100, 1), [sf.DistinctLDiversity(2)])
        (result,) = Minimality().play(replace(made, anonymizer=Blind(100)))
        assert "does not bring back" in result.notes[0]
        assert not result.succeeds

    def test_an_algorithm_that_takes_too_long(self) -> None:
        made = target(people(300, 1), [sf.DistinctLDiversity(2)])
        (result,) = Minimality(effort=1199, exhaustive=0).play(made)
        assert (result.unplayed or "").startswith("the algorithm takes too long")
        assert Minimality(effort=1200, exhaustive=0).play(made)[0].figures["worlds"] == 20
        assert Minimality(effort=1, worlds=20).play(made)[0].figures["worlds"] == 20

    def test_an_algorithm_that_fails_is_no_world(self) -> None:
        class Failing(Blind):
            def solve(self, problem: Any) -> Partition:
                raise UnsatisfiableError("never")

        made = target(people(30, 1), [sf.DistinctLDiversity(2)])
        (result,) = Minimality().play(replace(made, anonymizer=Failing(3)))
        assert not result.succeeds

    def test_one_value_for_all_and_classes_of_one(self) -> None:
        table = read_table(WONG.with_columns(disease=pl.lit("flu")), SCHEMA)
        (result,) = Minimality().play(target(table, [sf.DistinctLDiversity(1)]))
        assert result.figures["average_certainty"] == 1
        assert not result.succeeds

    def test_nobody_in_a_sure_class(self) -> None:
        table = read_table(WONG, SCHEMA)
        data = pl.DataFrame({"place": ["[1..2]"] * 3 + ["*"] * 4, "disease": WONG["disease"]})
        (result,) = Minimality().play(
            Target(PublishedTable(data, ("place",), ("disease",)), table, models=TWO, anonymizer=sf.Mondrian())
        )
        assert result.notes[-1].startswith("nobody is in one sure class")
        assert result.notes[0] == "7 records of no sure class left out"


class TestWorlds:
    def test_every_world_once(self) -> None:
        classes, kinds = np.array([0, 0, 0, 1, 1], dtype=np.int32), np.array([4, 4, 5, 5, 6])
        worlds = [tuple(kinds[world]) for world in every_world(classes, kinds)]
        assert len(worlds) == len(set(worlds)) == 6
        cells = world_cells(classes, np.zeros((5, 1), dtype=np.int64), kinds, 7)
        assert world_count(cells, 100) == 6
        assert world_count(cells, 5) == 6
        assert world_count(cells, 3) == 4

    def test_survivors(self) -> None:
        classes = np.array([0, 0, 1, 1, 2], dtype=np.int32)
        again = [
            ([5, 5, 3, 3, 0], [True, True, True]),
            ([0, 0, 1, 2, 3], [True, False, True]),
            ([0, 0, 1, 1, 1], [True, False, False]),
            ([-1, -1, 0, 0, 1], [False, True, True]),
        ]
        for given_classes, expected in again:
            numbers = np.unique([one for one in given_classes if one >= 0], return_inverse=True)[1]
            class_of = np.array(given_classes, dtype=np.int32)
            class_of[class_of >= 0] = numbers
            partition = Partition(class_of, int(class_of.max()) + 1)
            people = np.arange(5, dtype=np.uint64) << np.uint64(33)
            assert survivors(classes, partition, people).tolist() == expected

    def test_records_of_equal_content_may_change_places(self) -> None:
        classes, content = np.array([0, 0, 1, 1], dtype=np.int32), np.array([7, 8, 7, 9], dtype=np.uint64)
        changed = Partition(np.array([1, 0, 0, 1], dtype=np.int32), 2)
        assert survivors(classes, changed, content).tolist() == [True, True]
        twice = Partition(np.array([0, 1, 0, 1], dtype=np.int32), 2)
        assert survivors(classes, twice, content).tolist() == [False, False]
        # Two classes that hold the same, of which one comes back: which one, nobody can tell.
        alike = np.array([7, 8, 7, 8], dtype=np.uint64)
        assert survivors(classes, Partition(np.array([0, 0, 1, 2], dtype=np.int32), 3), alike).tolist() == [False] * 2

    def test_a_class_of_which_every_world_is_accepted_tells_its_shares_alone(self) -> None:
        classes, values = np.zeros(4, dtype=np.int32), np.array([0, 0, 0, 1])
        tally = WorldTally.of(world_cells(classes, np.arange(4)[:, None], values, 2))
        for _ in range(3):
            tally.add(values, np.array([True]))
        assert tally.drawn_belief == pytest.approx(np.array([[0.75, 0.25]] * 4))
        assert tally.doubt == pytest.approx(0)


records = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=3, max_size=6)


@examples(25)
@given(records, st.sampled_from([sf.ProbabilisticLDiversity(1.5), sf.DistinctLDiversity(2), sf.EntropyLDiversity(1.7)]))
def test_the_same_as_trying_every_order(rows: list[tuple[int, str]], model: PrivacyModel) -> None:
    frame = pl.DataFrame(rows, schema={"place": pl.Int64, "disease": pl.String}, orient="row")
    table = read_table(frame, SCHEMA)
    try:
        made = target(table, [model])
    except UnsatisfiableError:
        assume(False)
    (result,) = Minimality().play(made)
    encoded = encode(table)
    code_of = {label: code for code, label in enumerate(encoded.sensitive[0].labels.to_list())}

    def again(world: Sequence[str]) -> list[int]:
        codes = np.array([[code_of[value]] for value in world], dtype=encoded.sensitive_codes.dtype)
        return sf.Mondrian().solve(Problem(replace(encoded, sensitive_codes=codes), [model])).class_of.tolist()

    class_of = again(frame["disease"].to_list())
    beliefs = believed(class_of, frame["place"].to_list(), frame["disease"].to_list(), again)
    shares = [Counter(row[1] for row, other in zip(rows, class_of, strict=True) if other == one) for one in class_of]
    own = [belief.get(row[1], 0.0) for belief, row in zip(beliefs, rows, strict=True)]
    usual = [share[row[1]] / share.total() for share, row in zip(shares, rows, strict=True)]
    assert result.figures["average_certainty"] == pytest.approx(np.mean(own))
    assert result.figures["average_certainty_by_class"] == pytest.approx(np.mean(usual))


MAKERS = ("mdav", "v-mdav", "k-member", "caat", "sbc", "utility-recoding", "oka", "kaca", "k-means", "best")
"""Clusterings and local recodings that run fast: what runs again is played."""


@pytest.mark.parametrize("name", MAKERS)
def test_every_maker_is_run_in_every_world_as_the_plain_twin_does(name: str) -> None:
    solver, model, generator = ANONYMIZERS[name](), sf.ProbabilisticLDiversity(2), np.random.default_rng(3)
    played = 0
    for _ in range(3):
        frame = pl.DataFrame({"place": generator.integers(1, 4, 6), "disease": generator.permutation(list("aabbcc"))})
        table = read_table(frame, SCHEMA)

        def again(values: Sequence[str], table: Table = table) -> list[int]:
            encoded = encode(replace(table, frame=table.frame.with_columns(disease=pl.Series(values))))
            order = canonical_order(encoded)
            try:
                class_of = solver.solve(Problem(encoded.take(order), [model], seed=1)).put_back(order).class_of
            except UnsatisfiableError:
                return list(range(len(values)))
            return as_read(class_of.tolist(), table.frame["place"].to_list())

        release = sf.anonymize(table, model, anonymizer=solver, seed=1)
        (result,) = sf.attack(release, table, attacks="minimality", seed=1)["minimality"]
        if result.unplayed is not None:
            continue
        played += 1
        own = frame["disease"].to_list()
        # Nobody can tell apart who agrees in class and place.
        alike = list(zip(again(own), frame["place"].to_list(), strict=True))
        beliefs = believed(again(own), frame["place"].to_list(), own, again)
        certainty = [
            np.mean([belief.get(value, 0.0) for belief, other in zip(beliefs, alike, strict=True) if other == one])
            for one, value in zip(alike, own, strict=True)
        ]
        assert result.figures["average_certainty"] == pytest.approx(np.mean(certainty))
    assert played


def as_read(class_of: Sequence[int], places: Sequence[int]) -> list[int]:
    """Number classes by their lowest and highest place: those with equal labels are one."""
    ends = [
        (min(inside), max(inside))
        for one in class_of
        for inside in [[place for place, other in zip(places, class_of, strict=True) if other == one]]
    ]
    return [sorted(set(ends)).index(each) for each in ends]


def test_where_hardly_a_class_comes_back_nothing_was_learnt() -> None:
    """Refined classes hang on every value, so that drawn worlds make others: no proof that they tell nothing."""
    table = people(300, 1)
    release = sf.anonymize(table, sf.DistinctLDiversity(2), recoding=TIGHT, seed=1)
    assert "refine=" in release.report.anonymizer
    with patch("sfumato.evaluation.attacks.minimality.FEWEST_BACK", 20.5):
        (result,) = sf.attack(release, table, attacks=Minimality(worlds=20, exhaustive=0), seed=1).results
    assert "drawn worlds on average, and 20.5 are needed" in (result.unplayed or "")
    assert not result.succeeds
    assert result.verdict == "undecided"


def test_few_worlds_are_drawn_where_many_would_take_too_long() -> None:
    made = target(people(300, 1), [sf.DistinctLDiversity(2)])
    played = [Minimality(exhaustive=0, effort=effort).play(made)[0] for effort in (6_000, 30_000, 1_000_000)]
    assert [result.figures["worlds"] for result in played] == [20, 100, 500]


class TestBadInput:
    def played(self, **changes: Any) -> tuple[AttackResult, ...]:
        return Minimality().play(replace(target(read_table(WONG, SCHEMA), [sf.ProbabilisticLDiversity(2)]), **changes))

    def test_what_is_not_known(self) -> None:
        with pytest.raises(PolicyError, match="give it as anonymizer"):
            self.played(anonymizer=None)
        with pytest.raises(PolicyError, match="give it as anonymizer"):
            self.played(anonymizer=sf.Mondrian)
        with pytest.raises(PolicyError, match="give the models"):
            self.played(models=())
        with pytest.raises(PolicyError, match="1 promised model"):
            self.played(models=({"name": "secrecy"},))
        with pytest.raises(PolicyError, match="1 promised model"):
            self.played(models=({"name": "k-anonymity", "size": 3},))

    def test_another_kind_and_no_secret(self) -> None:
        counts = MarginalTables((pl.DataFrame({"place": [1], "count": [1]}),), (("place",),), ())
        with pytest.raises(InputError, match="not a marginal-tables"):
            self.played(published=counts)
        with pytest.raises(InputError, match="no sensitive attribute"):
            self.played(published=PublishedTable(pl.DataFrame({"place": ["1"]}), ("place",), ()))

    @pytest.mark.parametrize(
        "options",
        [
            {"worlds": 0},
            {"worlds": 1.5},
            {"exhaustive": -1},
            {"rise": 0},
            {"rise": 2},
            {"rise": "high"},
            {"effort": 0},
        ],
    )
    def test_options(self, options: dict[str, Any]) -> None:
        with pytest.raises(PolicyError, match=next(iter(options))):
            Minimality(**options)


@pytest.mark.slow
def test_rounded_ends_hide_nobody_from_whoever_runs_the_algorithm() -> None:
    """Intervals that overlap do not tell who is in which class; the same algorithm on everybody does."""
    table = people(600, 1)
    claims = []
    for recoding in (TIGHT, None):
        release = sf.anonymize(table, sf.DistinctLDiversity(2), recoding=recoding)
        (result,) = sf.attack(release, table, attacks="minimality", seed=1)["minimality"]
        claims.append((result.success.successes, result.success.people))
    assert claims[0] == claims[1]
    assert claims[0][1] > 0

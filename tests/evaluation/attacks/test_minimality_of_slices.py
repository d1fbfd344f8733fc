"""Minimality on slices and buckets: against every world of small tables, and where it is not played."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers import bucketization as making
from sfumato.anonymizers.protocol import Problem
from sfumato.evaluation.attacks.minimality import Minimality, SliceGame, open_slice_game, random_worlds, same_slices
from sfumato.kernels.slices.cuts import Exchanging, exchange, place_borders
from sfumato.published import SlicedTable
from sfumato.table.encoding import encode

SCHEMA = sf.Schema(quasi_identifying=["age", "ward"], sensitive=["ill"])
TWO = sf.ProbabilisticLDiversity(2)
SMALLEST = sf.Slicing(columns=(("age",), ("ward", "ill")), bucket_size="smallest")


def table_of(rows: Sequence[tuple[int, str, str]]) -> sf.Table:
    return sf.read_table(pl.DataFrame(rows, schema=["age", "ward", "ill"], orient="row"), SCHEMA)


def drawn(count: int, seed: int) -> sf.Table:
    """Draw people of whom older ones have other diseases than younger ones."""
    generator = np.random.default_rng(seed)
    age = generator.integers(20, 80, count)
    ill = np.clip((age + generator.normal(0, 15, count)) // 12, 0, 6).astype(int)
    frame = pl.DataFrame({"age": age, "zip": generator.integers(0, 40, count), "ill": [f"d{one}" for one in ill]})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["ill"]))


def game_of(table: sf.Table, way: Any, models: Sequence[Any] = (TWO,)) -> SliceGame:
    published = sf.anonymize(table, models, anonymizer=way, seed=3).published
    assert isinstance(published, SlicedTable)
    game = open_slice_game(way, Problem(encode(table), tuple(models), seed=5), table, published)
    assert isinstance(game, SliceGame)
    return game


def content(published: Any) -> Any:
    """Return what slices say, plainly."""
    place, parts = 1, []
    for column in published.columns:
        of_bucket = defaultdict(list)
        for row in published.data.rows():
            of_bucket[row[0]].append(row[place : place + len(column)])
        parts.append(of_bucket)
        place += len(column)
    told = [tuple(tuple(sorted(part[bucket])) for part in parts) for bucket in sorted(parts[0])]
    return published.columns, sorted(told)


def every_world(rows: Sequence[tuple[int, str, str]], bucket_of: Sequence[int]) -> Iterator[list[str]]:
    """Exchange diseases between all who share a bucket and a ward, in every way."""
    groups = defaultdict(list)
    for place, (row, bucket) in enumerate(zip(rows, bucket_of, strict=True)):
        groups[bucket, row[1]].append(place)
    for orders in product(*(permutations(members) for members in groups.values())):
        world = [row[2] for row in rows]
        for members, order in zip(groups.values(), orders, strict=True):
            for place, source in zip(members, order, strict=True):
                world[place] = rows[source][2]
        yield world


class TestSmallTables:
    @examples(25)
    @given(
        st.lists(st.tuples(st.integers(20, 26), st.sampled_from("ab"), st.sampled_from("uvw")), min_size=6, max_size=7)
    )
    def test_what_is_believed_is_what_every_world_says(self, rows: list[tuple[int, str, str]]) -> None:
        table = table_of(rows)
        try:
            release = sf.anonymize(table, TWO, anonymizer=SMALLEST, seed=1)
        except (sf.UnsatisfiableError, sf.InputError):
            assume(False)
        (result,) = sf.attack(release, table, attacks="minimality", seed=1).results
        game = game_of(table, SMALLEST)
        seen, left = content(release.published), [Counter[str]() for _ in rows]
        worlds = Counter(tuple(world) for world in every_world(rows, game.made.buckets.bucket_of.tolist()))
        for world in worlds:
            again = table_of([(*row[:2], value) for row, value in zip(rows, world, strict=True)])
            try:
                same = content(sf.anonymize(again, TWO, anonymizer=SMALLEST, seed=2).published) == seen
            except sf.UnsatisfiableError:
                same = False
            for counts, value in zip(left, world, strict=True):
                counts[value] += same
        assert result.figures["worlds"] == len(worlds)
        # Those who are alike to the attacker are believed alike.
        alike = defaultdict(Counter)
        groups = [(int(bucket), *row[:2]) for bucket, row in zip(game.made.buckets.bucket_of, rows, strict=True)]
        for group, counts in zip(groups, left, strict=True):
            alike[group].update(counts)
        certain = [alike[group][row[2]] / alike[group].total() for group, row in zip(groups, rows, strict=True)]
        assert result.figures["average_certainty"] == pytest.approx(np.mean(certain))

    def test_half_of_the_worlds_are_ruled_out(self) -> None:
        """A younger one with u is on the right of an older one with v: either both buckets are exchanged or none."""
        table = table_of([(20, "a", "u"), (50, "a", "v"), (30, "a", "u"), (60, "a", "v")])
        release = sf.anonymize(table, TWO, anonymizer=SMALLEST, seed=1)
        assert release.published.data["bucket"].n_unique() == 2
        (result,) = sf.attack(release, table, attacks="minimality", seed=1).results
        assert (result.figures["worlds"], result.figures["worlds_left"]) == (4, 2)


class TestEvenCuts:
    @examples(15)
    @given(st.integers(0, 10_000), st.sampled_from(["guarded", "smallest"]))
    def test_the_truth_is_on_the_right_sides(self, seed: int, size: Any) -> None:
        game = game_of(drawn(80, seed), sf.Slicing(bucket_size=size))
        even = game._even_cuts()
        assume(even is not None)
        assert even is not None
        strata, count = game._strata
        borders = np.full((len(even.attribute_of), count), -1, dtype=np.int32)
        assert place_borders(even, strata, borders) == 0

    @examples(15)
    @given(st.integers(0, 10_000))
    def test_borders_are_where_fewest_are_wrong(self, seed: int) -> None:
        game = game_of(drawn(60, seed), sf.Slicing(bucket_size="smallest"))
        even = game._even_cuts()
        assume(even is not None)
        assert even is not None
        strata, count = game._strata
        (world,) = random_worlds(game.group_of[:, 0], 1, np.random.default_rng(seed))
        borders = np.full((len(even.attribute_of), count), -1, dtype=np.int32)
        least = 0
        for cut, attribute in enumerate(even.attribute_of):
            inside = slice(even.firsts[cut], even.firsts[cut + 1])
            rows, sides = even.rows[inside], even.sides[inside]
            for stratum in np.unique(strata[world][rows]):
                own = rows[strata[world][rows] == stratum]
                second = sides[strata[world][rows] == stratum] == 1
                codes = even.codes[own, attribute]
                least += min(
                    int((codes[~second] > border).sum() + (codes[second] < border).sum()) for border in [-1, *codes]
                )
        assert place_borders(even, strata[world], borders) == least

    def test_exchanges_keep_what_a_bucket_shows_and_come_to_rest(self) -> None:
        game = game_of(drawn(400, 1), sf.Slicing(bucket_size="smallest"))
        even = game._even_cuts()
        assert even is not None
        strata, count = game._strata
        group_of = game.group_of[:, 0].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(group_of))])
        borders = np.full((len(even.attribute_of), count), -1, dtype=np.int32)
        (world,) = random_worlds(game.group_of[:, 0], 1, np.random.default_rng(1))
        state = Exchanging(strata[world].copy(), group_of, starts, np.argsort(group_of, kind="stable"), borders)
        drawn_from = np.array([7], dtype=np.int64)
        wrong = [place_borders(even, state.strata, state.borders)]
        for _ in range(60):
            exchange(even, state, game.records, 6.0, drawn_from)
            wrong.append(place_borders(even, state.strata, state.borders))
        assert wrong[-1] < wrong[0] / 2
        before, after = (Counter(zip(group_of, each, strict=True)) for each in (strata, state.strata))
        assert before == after


class TestLargerTables:
    def test_smallest_buckets_of_even_halves_give_values_away(self) -> None:
        table = drawn(2000, 1)
        release = sf.anonymize(table, TWO, anonymizer=sf.Slicing(bucket_size="smallest"), seed=1)
        (result,) = sf.attack(release, table, attacks="minimality", seed=1).results
        assert result.succeeds
        assert result.success.share > result.success.baseline + 0.15
        assert result.figures["average_certainty"] > result.figures["average_certainty_by_class"] + 0.1

    @pytest.mark.parametrize("way", [sf.Slicing(split="median"), sf.OverlappingSlicing(split="median")])
    def test_medians_are_tried_in_drawn_worlds(self, way: Any) -> None:
        table = drawn(600, 2)
        release = sf.anonymize(table, sf.ProbabilisticLDiversity(3), anonymizer=way, seed=1)
        (result,) = sf.attack(release, table, attacks=[Minimality(worlds=40)], seed=1).results
        assert result.unplayed is None
        assert result.figures["worlds_left"] > 0
        assert result.figures["claimed"] < 0.1

    def test_the_same_seed_gives_the_same_result(self) -> None:
        table = drawn(300, 3)
        release = sf.anonymize(table, TWO, anonymizer=sf.Slicing(), seed=1)
        one, other = (sf.attack(release, table, attacks="minimality", seed=4).results[0] for _ in range(2))
        assert one.to_dict() == other.to_dict()


class TestNotPlayed:
    def reason(self, release: Any, table: sf.Table, way: Any = None) -> str | None:
        target = release if way is None else release.__class__(**{**vars(release), "anonymizer": way})
        (result,) = sf.attack(target, table, attacks="minimality", seed=1).results
        return result.unplayed

    @pytest.mark.parametrize(
        ("members", "reason"), [("dealt", "drawn"), ("random", "drawn"), ("alike", "alike people")]
    )
    def test_buckets(self, members: Any, reason: str) -> None:
        table = drawn(200, 1)
        release = sf.anonymize(table, TWO, anonymizer=sf.Bucketization(members=members), seed=1)
        assert reason in str(self.reason(release, table))

    def test_sensitive_values_in_several_columns(self) -> None:
        rows = [(age, ward, ill) for age in (20, 30) for ward in "ab" for ill in "uvwx"]
        table = table_of(rows * 3)
        way = sf.OverlappingSlicing(columns=(("age", "ill"), ("ward", "ill")), duplicate_sensitive=True)
        release = sf.anonymize(table, TWO, anonymizer=way, seed=1)
        assert "several columns" in str(self.reason(release, table))

    def test_another_algorithm(self) -> None:
        table = drawn(300, 1)
        game = game_of(table, sf.Slicing())
        problem = Problem(encode(table), (TWO,), seed=5)
        assert "bring back" in str(open_slice_game(sf.Slicing(split="median"), problem, table, game.published))
        assert "makes no slices" in str(open_slice_game(sf.Mondrian(), problem, table, game.published))
        assert "finds no slices" in str(open_slice_game(sf.Slicing(columns=9), problem, table, game.published))

    def test_two_sensitive_attributes_cut_evenly(self) -> None:
        frame = drawn(300, 1).frame.with_columns(pay=pl.Series([str(place % 7) for place in range(300)]))
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["ill", "pay"]))
        release = sf.anonymize(table, TWO, anonymizer=sf.Slicing(), seed=1)
        results = sf.attack(release, table, attacks="minimality", seed=1).results
        assert [result.unplayed is not None for result in results] == [True, True]
        assert "evenly" in str(results[0].unplayed)


def test_slices_are_the_same_whatever_the_numbers_and_orders() -> None:
    table = drawn(200, 1)
    one, other, third = (sf.anonymize(table, TWO, anonymizer=sf.Slicing(), seed=seed).published for seed in (1, 2, 3))
    assert same_slices(one, other)
    shifted = one.data.with_columns(pl.col("ill").shift(1, fill_value=pl.col("ill").last()))
    changed = SlicedTable(shifted, one.columns, one.sensitive, one.insensitive)
    assert same_slices(one, third)
    assert same_slices(one, changed) == (content(one) == content(changed))
    assert not same_slices(one, changed)


@pytest.mark.parametrize("members", ["dealt", "random"])
def test_every_division_into_buckets_is_equally_likely_whoever_has_what(
    members: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all orders that may be drawn: so that it is right that there is nothing to play on buckets."""
    chances: dict[Any, dict[Any, int]] = defaultdict(dict)
    for world in sorted(set(permutations("uuvvw"))):
        codes = np.array(["uvw".index(value) for value in world], dtype=np.uint8)
        counted: Counter[Any] = Counter()
        for order in permutations(range(5)):
            # Who is left over joins a random bucket: whichever is drawn, orders alone decide who that is.
            for left in [range(5), (3, 1, 4, 0, 2)] if members == "random" else [order]:
                orders = iter([np.array(order), np.array(left)])
                monkeypatch.setattr(making, "permutation", lambda count, seed, orders=orders: next(orders)[:count])
                records = making.sort_records(codes, 3, None)
                made = making.dealt_buckets(records, 2)
                if members == "random":
                    found = making.distinct_buckets(records, 2, None)
                    assert found is not None
                    made = found
                told = sorted(tuple(np.flatnonzero(made.bucket_of == one).tolist()) for one in range(made.count))
                shown = [tuple(sorted(world[place] for place in bucket)) for bucket in told]
                counted[tuple(told), tuple(shown)] += 1
        for release, times in counted.items():
            chances[release][world] = times
    # Whoever has what: all worlds with the same counts in the same buckets lead there equally often.
    assert len(chances) >= 10
    assert all(len(set(times.values())) == 1 for times in chances.values())
    for (buckets, shown), times in chances.items():
        fitting = {
            world
            for world in permutations("uuvvw")
            if all(
                tuple(sorted(world[place] for place in bucket)) == values
                for bucket, values in zip(buckets, shown, strict=True)
            )
        }
        assert fitting == set(times)

"""Record order: unshuffled releases of every kind give themselves away, shuffled ones do not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, people
from evaluation.attacks.record_order import RecordOrder
from sfumato.errors import InputError
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.published import BucketizedTables, PublishedTable, RandomizedTable, SlicedTable

QUASI = ("age", "sex", "zip")


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read_table(people(2000, 21).drop("name"), SCHEMA)


def played(published: object, table: sf.Table) -> tuple[AttackResult, ...]:
    return sf.attack(published, table, attacks=RecordOrder()).results  # type: ignore[arg-type]


def in_input_order(table: sf.Table) -> pl.DataFrame:
    """Publish age by decade, and the rest as it is, in the order of the original."""
    low = pl.col("age") // 10 * 10
    decade = pl.format("[{}..{}]", low, low + 9)
    return table.frame.with_columns(age=decade, zip=pl.lit("{10001|10002|20001|20002}"))


def bucketized(table: sf.Table, order: np.ndarray) -> BucketizedTables:
    frame = table.frame.with_columns(bucket=pl.int_range(pl.len()) // 5)
    counts = frame.group_by("bucket", "disease").len("count").sort("bucket", "disease")
    return BucketizedTables(frame.drop("disease")[order.tolist()], counts, QUASI, "disease")


def sliced(table: sf.Table, permuted: bool) -> SlicedTable:
    frame = table.frame.with_columns(bucket=pl.int_range(pl.len()) // 5)
    disease = frame["disease"]
    if permuted:
        generator = np.random.default_rng(3)
        places = np.concatenate([start + generator.permutation(5) for start in range(0, 2000, 5)])
        disease = disease[places.tolist()]
    data = frame.select("bucket", *QUASI).with_columns(disease)
    return SlicedTable(data, (QUASI, ("disease",)), ("disease",))


class TestWhereItMustWork:
    def test_an_unshuffled_release(self, table: sf.Table) -> None:
        pairs, places = played(PublishedTable(in_input_order(table), QUASI, ("disease",)), table)
        assert pairs.succeeds
        assert pairs.success.share > 0.55
        assert places.success.share == 1
        assert places.success.baseline < 0.3

    def test_only_classes_are_shuffled(self, table: sf.Table) -> None:
        """Sorted by class, but in the order of the original inside each."""
        data = in_input_order(table).sort("age", "sex", maintain_order=True)
        _, places = played(PublishedTable(data, QUASI, ("disease",)), table)
        assert places.success.share == 1

    def test_buckets_numbered_in_the_order_of_the_original(self, table: sf.Table) -> None:
        (pairs,) = played(bucketized(table, np.arange(2000)), table)
        assert pairs.succeeds

    def test_slices_without_permutation(self, table: sf.Table) -> None:
        (rows,) = played(sliced(table, permuted=False), table)
        assert rows.succeeds
        assert rows.success.share > 0.3


class TestWhereItCannot:
    def test_what_sfumato_publishes(self, table: sf.Table) -> None:
        for anonymizer in (sf.Mondrian(), sf.Datafly()):
            release = sf.anonymize(table, sf.KAnonymity(5), anonymizer=anonymizer, suppression_limit=1, seed=4)
            for result in played(release, table):
                assert not result.succeeds
                low, high = result.success.interval
                assert low <= result.success.baseline <= high

    def test_shuffled_buckets_and_permuted_slices(self, table: sf.Table) -> None:
        order = np.random.default_rng(8).permutation(2000)
        for published in (bucketized(table, order), sliced(table, permuted=True)):
            (result,) = played(published, table)
            low, high = result.success.interval
            assert low <= result.success.baseline <= high

    def test_a_shuffled_table_of_single_values(self, table: sf.Table) -> None:
        data = table.frame.sample(fraction=1, shuffle=True, seed=7)
        for result in played(RandomizedTable(data, QUASI, ("disease",)), table):
            assert not result.succeeds


def test_places_are_what_a_look_at_every_class_finds(table: sf.Table) -> None:
    data = in_input_order(table).sample(fraction=1, shuffle=True, seed=7)
    _, places = played(PublishedTable(data, QUASI, ("disease",)), table)
    right = chance = 0.0
    original = table.frame.with_columns(decade=in_input_order(table)["age"])
    for (decade, sex), rows in data.group_by("age", "sex", maintain_order=True):
        alike = original.filter((pl.col("decade") == decade) & (pl.col("sex") == sex))["disease"]
        right += (rows["disease"].cast(pl.String) == alike.cast(pl.String)).sum()
        counts = rows["disease"].value_counts()["count"].to_numpy()
        chance += float((counts**2).sum() / counts.sum())
    assert places.success.successes == right
    assert places.success.baseline == pytest.approx(chance / 2000)


def test_nothing_to_join(table: sf.Table) -> None:
    data = table.frame.with_columns(bucket=pl.int_range(pl.len()) // 5)
    published = SlicedTable(data, ((*QUASI, "disease"),), ("disease",))
    with pytest.raises(InputError, match="share the column of the sensitive one"):
        played(published, table)


def test_former_names_are_left_out_with_a_warning(table: sf.Table) -> None:
    release = sf.anonymize(table, sf.KAnonymity(5), seed=4)
    with pytest.warns(FutureWarning, match="'record-order' is left out: it tries how this program draws"):
        played_others = sf.attack(release, table, attacks=["record-order", "homogeneity"], seed=1)
    assert {result.attack for result in played_others.results} == {"homogeneity"}
    with pytest.warns(FutureWarning, match="seed-guessing"), pytest.raises(sf.PolicyError, match="name at least one"):
        sf.attack(release, table, attacks="seed-guessing")

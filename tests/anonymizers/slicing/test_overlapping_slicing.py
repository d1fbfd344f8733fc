"""Overlapping slicing: the promise against all tables that fit, what is published, and bad input."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.worlds import informed_posteriors, posteriors, worlds
from published.checks.slices.eight_records import eight_records
from sfumato.anonymizers.slicing import overlapping
from sfumato.anonymizers.slicing.overlapping import (
    OverlappingChoice,
    OverlappingClustering,
    OverlappingColumns,
    settle_columns,
)
from sfumato.published.apart import BUCKET
from sfumato.published.checks.slice_layout import overlap_ratio, places_of
from sfumato.published.checks.slices import column_frames

REAL = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")
NAMES = ("a", "b", "c", "s")
LISTED = [
    (("a", "b"), ("b", "c"), ("s",)),
    (("a", "s"), ("a", "b"), ("b", "c")),
    (("a", "b"), ("b", "c"), ("a", "c"), ("s",)),
    (("a", "b", "s"), ("b", "c")),
]
TWICE = [(("a", "s"), ("b", "s"), ("c",)), (("a", "b", "s"), ("b", "c", "s"))]
record = st.tuples(st.sampled_from("uv"), st.integers(0, 9), st.sampled_from(["x", "y", None]), st.sampled_from("1234"))
records = st.lists(record, min_size=4, max_size=30)


SHARES = (("age", 0.9), ("town", 0.8), ("work", 0.6), ("home", 0.5), ("car", 0.3))


def table_of(rows) -> sf.Table:
    types = (pl.String, pl.Int64, pl.String, pl.String)
    frame = pl.DataFrame(rows, schema=dict(zip(NAMES, types, strict=True)), orient="row")
    return sf.read_table(frame, sf.Schema(quasi_identifying=["a", "b", "c"], sensitive=["s"]))


def released(rows, model, **options) -> sf.Release | None:
    try:
        return sf.anonymize(table_of(rows), model, anonymizer=sf.OverlappingSlicing(**options), seed=1)
    except sf.UnsatisfiableError:
        return None


def buckets_of(published):
    """List the rows of every column, bucket by bucket."""
    frames = column_frames(published)
    return [
        [frame.filter(pl.col(BUCKET) == number).drop(BUCKET).rows() for frame in frames]
        for number in published.data[BUCKET].unique().sort()
    ]


@examples(60)
@given(records, st.sampled_from(LISTED), st.sampled_from([1.5, 2, 3]), st.sampled_from(["balanced", "median"]))
def test_whoever_knows_everybody_learns_no_more_than_promised(rows, columns, ell, split) -> None:
    release = released(rows, sf.ProbabilisticLDiversity(ell), columns=columns, split=split, bucket_size="smallest")
    if release is None:
        return
    for bucket in buckets_of(release.published):
        if len(bucket[0]) > 4:
            continue
        tables = list(worlds(release.published.columns, bucket))
        assert tables
        for told in informed_posteriors(tables, ["s"], "s"):
            assert max(told.values()) <= 1 / ell + 1e-9


@examples(60)
@given(records, st.sampled_from(TWICE), st.sampled_from([1.5, 2]))
def test_a_sensitive_attribute_in_two_columns(rows, columns, ell) -> None:
    options = {"columns": columns, "duplicate_sensitive": True, "bucket_size": "smallest"}
    release = released(rows, sf.ProbabilisticLDiversity(ell), **options)
    if release is None:
        return
    for bucket in buckets_of(release.published):
        if len(bucket[0]) > 4:
            continue
        for told in posteriors(list(worlds(release.published.columns, bucket)), ["s"], "s").values():
            assert max(told.values()) <= 1 / ell + 1e-9


@examples(60)
@given(records, st.sampled_from([*LISTED, *TWICE]))
def test_every_column_holds_the_values_of_the_records(rows, columns) -> None:
    rows = [*rows, ("u", 1, "x", "1"), ("u", 1, "x", "2")]
    slicing = sf.OverlappingSlicing(columns=columns, duplicate_sensitive=True)
    release = sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(1), anonymizer=slicing, seed=1)
    for frame, column in zip(column_frames(release.published), columns, strict=True):
        own = [tuple(row[NAMES.index(name)] for name in column) for row in rows]
        assert Counter(frame.drop(BUCKET).rows()) == Counter(own)


@pytest.mark.parametrize("size", ["guarded", "smallest"])
@pytest.mark.parametrize("options", [{}, {"columns": LISTED[0]}, {"columns": TWICE[0], "duplicate_sensitive": True}])
def test_the_order_of_the_input_shows_nowhere(options, size) -> None:
    draw = np.random.default_rng(3)
    rows = [
        ("uv"[draw.integers(2)], int(draw.integers(5)), "xy"[draw.integers(2)], "1234"[draw.integers(4)])
        for _ in range(60)
    ]
    contents = []
    for order in (rows, rows[::-1], sorted(rows)):
        release = released(order, sf.ProbabilisticLDiversity(1.3), **options, bucket_size=size)
        assert release is not None
        published = release.published
        contents.append(
            (
                published.columns,
                Counter(tuple(tuple(sorted(map(str, rows))) for rows in b) for b in buckets_of(published)),
            )
        )
    assert contents[0] == contents[1] == contents[2]


def test_the_worked_example() -> None:
    release = sf.anonymize(
        eight_records(),
        sf.ProbabilisticLDiversity(2),
        anonymizer=sf.OverlappingSlicing(columns=2, threshold=0.3),
        seed=1,
    )
    # Age and sex tell the disease: they leave its column, which they share with another or not.
    assert set(release.published.columns) == {("age", "zip", "sex"), ("disease",)}
    assert any("Left the column" in note for note in release.report.notes)


class TestSettling:
    """Problems are made up: columns are refused as long as they hold something."""

    COLUMNS = (("a", "b", "s"), ("b", "c", "s"), ("d", "s"))
    DEGREES = (
        {"a": 0.9, "b": 0.5, "c": 0.1, "d": 0.1, "s": 0.5},
        {"a": 0.05, "b": 0.5, "c": 0.8, "d": 0.2, "s": 0.3},
        {"a": 0.05, "b": 0.0, "c": 0.1, "d": 0.7, "s": 0.2},
    )

    def settled(self, refused):
        found = OverlappingColumns(self.COLUMNS, self.DEGREES)
        return settle_columns(found, ["s"], lambda columns: ["no"] if refused(columns) else [])

    def test_nothing_is_taken_without_need(self) -> None:
        assert self.settled(lambda columns: False) == OverlappingChoice(self.COLUMNS)

    def test_copies_go_by_their_degree(self) -> None:
        found = self.settled(lambda columns: len(places_of(columns, "s")) > 2)
        assert found == OverlappingChoice((("a", "b", "s"), ("b", "c", "s"), ("d",)), copies_dropped=1)
        found = self.settled(lambda columns: len(places_of(columns, "s")) > 1)
        assert found == OverlappingChoice((("a", "b", "s"), ("b", "c"), ("d",)), copies_dropped=2)

    def test_then_what_stands_elsewhere_too_and_then_the_rest(self) -> None:
        found = self.settled(lambda columns: columns[0] != ("a", "s"))
        assert found == OverlappingChoice((("a", "s"), ("b", "c"), ("d",)), 2, ("b",))
        found = self.settled(lambda columns: columns[0] != ("s",))
        assert found == OverlappingChoice((("s",), ("b", "c", "a"), ("d",)), 2, ("b", "a"))

    def test_alone_it_is_not_enough(self) -> None:
        with pytest.raises(sf.UnsatisfiableError, match="no"):
            self.settled(lambda columns: True)

    def test_what_has_no_other_column_gets_one(self) -> None:
        found = settle_columns(
            OverlappingColumns((("a", "s"),), ({"a": 1.0, "s": 1.0},)),
            ["s"],
            lambda columns: ["no"] if len(columns) < 2 else [],
        )
        assert found == OverlappingChoice((("s",), ("a",)), 0, ("a",))


def test_listed_columns_that_tell_are_refused() -> None:
    with pytest.raises(sf.UnsatisfiableError, match="joined on 'disease' give its values away"):
        sf.anonymize(
            eight_records(),
            sf.ProbabilisticLDiversity(2),
            anonymizer=sf.OverlappingSlicing(
                columns=[["age", "disease"], ["zip", "sex", "disease"]], duplicate_sensitive=True
            ),
        )


def test_a_folder_is_verified_and_a_changed_one_is_not(tmp_path: Path) -> None:
    rows = [("uv"[at % 2], at % 5, "xy"[at // 3 % 2], "1234"[at % 4]) for at in range(40)]
    for columns in (LISTED[0], TWICE[0]):
        release = released(rows, sf.ProbabilisticLDiversity(2), columns=columns, duplicate_sensitive=True)
        assert release is not None
        release.save(tmp_path / "release", overwrite=True)
        assert sf.verify(tmp_path / "release").ok
    changed = release.published.data.with_columns(pl.col("s (2)").shuffle(seed=1))
    with pytest.raises(AssertionError):
        assert sf.verify(
            dataclasses.replace(release, published=dataclasses.replace(release.published, data=changed))
        ).ok


def adult() -> sf.Table:
    names = "age workclass fnlwgt education number marital occupation relation race sex gain loss hours country pay"
    frame = pl.read_csv(
        Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data", has_header=False, new_columns=names.split()
    )
    frame = frame.with_columns(pl.col(pl.String).str.strip_chars()).filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    quasi = ["age", "workclass", "education", "marital", "race", "sex", "country"]
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["occupation"], others="drop"))


GUARDED = [((("age",), ("town",), ("ill",)), 2, 12), ((("age", "ill"), ("town", "ill")), 1.1, 5)]


@pytest.mark.parametrize(("columns", "ell", "least"), GUARDED)
def test_guarded_buckets_are_large_enough_to_teach_little(columns, ell, least) -> None:
    """With a most frequent value of a quarter, 3 / (1/2 - 1/4) = 12 records, or 4.6: twice as many are cut."""
    chance = np.random.default_rng(3)
    ages, towns = chance.integers(20, 24, 240), chance.choice(list("xyz"), 240)
    frame = pl.DataFrame({"age": ages, "town": towns, "ill": np.repeat(["a", "b", "c", "d"], 60)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["ill"]))
    sizes = {}
    for size in ("guarded", "smallest"):
        way = sf.OverlappingSlicing(columns=columns, duplicate_sensitive=True, bucket_size=size)
        release = sf.anonymize(table, sf.ProbabilisticLDiversity(ell), anonymizer=way, seed=1)
        sizes[size] = release.data["bucket"].value_counts()["count"].to_numpy()
    assert sizes["guarded"].min() >= least / 2
    assert sizes["smallest"].min() < least / 2
    assert sizes["guarded"].mean() > sizes["smallest"].mean()


@pytest.mark.parametrize(("columns", "ell", "least"), GUARDED)
def test_a_table_that_is_too_small_for_guarded_halves_is_one_bucket(columns, ell, least) -> None:
    rows = {"age": [1, 2], "town": ["x", "x"], "ill": ["a", "b"]}
    frame = pl.concat([pl.DataFrame(rows).with_columns(ill=pl.lit(name)) for name in "abcd"]).head(2 * least - 1)
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["ill"]))
    way = sf.OverlappingSlicing(columns=columns, duplicate_sensitive=True)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(ell), anonymizer=way, seed=1)
    assert release.data["bucket"].n_unique() == 1


@pytest.mark.parametrize(("method", "least"), [("fuzzy", 0.1), ("possibilistic", 0.2), ("medoids", 0.2)])
def test_the_default_threshold(method, least) -> None:
    assert OverlappingClustering(method).least_degree(5) == pytest.approx(least)
    assert OverlappingClustering(method, threshold=0.3).least_degree(5) == 0.3


@pytest.mark.parametrize("method", ["fuzzy", "possibilistic", "medoids"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_method_that_may_overlap_does_by_default(method, seed) -> None:
    """The threshold is the highest of those with which something is shared, and is said where it is not the usual."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 4, 600)
    noisy = {name: np.where(rng.random(600) < share, base, rng.integers(0, 4, 600)) for name, share in SHARES}
    frame = pl.DataFrame(noisy | {"ill": rng.integers(0, 6, 600)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=list(noisy), sensitive=["ill"]))

    def overlap(**options: float) -> tuple[float, tuple[str, ...]]:
        way = sf.OverlappingSlicing(method=method, columns=3, **options)
        report = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=way, seed=1).report
        return report.figures["overlap_ratio"], tuple(note for note in report.notes if note.startswith("The threshold"))

    usual = OverlappingClustering(method).least_degree(3)
    tried = [overlap(threshold=usual / 2**halved)[0] for halved in range(6)]
    sharing = next(place for place, ratio in enumerate(tried) if ratio > 1)
    found, notes = overlap()
    assert found == tried[sharing] > 1
    assert bool(notes) == (sharing > 0)
    assert overlap(threshold=1.0)[0] == pytest.approx(1)


def test_fuzzy_means_choose_where_a_method_shares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clustering that shares nothing, whatever the threshold, gives way, unless a threshold was asked for."""
    whole = overlapping.overlap_columns

    def apart(correlation, sensitive, columns, clustering, **options):
        lone = replace(clustering, threshold=1.0) if clustering.method == "possibilistic" else clustering
        return whole(correlation, sensitive, columns, lone, **options)

    monkeypatch.setattr(overlapping, "overlap_columns", apart)
    rng = np.random.default_rng(2)
    names = [f"a{number}" for number in range(5)]
    frame = pl.DataFrame({name: rng.integers(0, 3, 400) for name in names} | {"ill": rng.integers(0, 6, 400)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=names, sensitive=["ill"]))

    def publish(**options: object) -> sf.Release:
        way = sf.OverlappingSlicing(columns=3, **options)
        return sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=way, seed=1)

    found, fuzzy, asked = publish(method="possibilistic"), publish(), publish(method="possibilistic", threshold=0.1)
    assert found.report.figures["overlap_ratio"] > 1
    assert found.published.columns == fuzzy.published.columns
    assert any("'possibilistic' shared nothing" in note for note in found.report.notes)
    assert asked.report.figures["overlap_ratio"] == 1
    assert any("plain slicing" in note for note in asked.report.notes)


@REAL
def test_the_default_shares_attributes() -> None:
    for ell in (2, 5):
        release = sf.anonymize(adult(), sf.ProbabilisticLDiversity(ell), anonymizer=sf.OverlappingSlicing(), seed=1)
        assert release.report.figures["overlap_ratio"] > 1
        assert release.report.figures["mean_bucket"] >= 3 / (1 / ell - 0.134)


@pytest.mark.slow
@REAL
@pytest.mark.parametrize("options", [{"threshold": 0.1}, {"space": "profile", "threshold": 0.1}])
def test_adult(options) -> None:
    slicing = sf.OverlappingSlicing(columns=5, bucket_size="smallest", **options)
    release = sf.anonymize(adult(), sf.ProbabilisticLDiversity(5), anonymizer=slicing, seed=1)
    figures = release.report.figures
    assert figures["overlap_ratio"] == overlap_ratio(release.published.columns) > 1
    assert figures["buckets"] > 1000
    assert 0.5 <= figures["membership_auc"] <= figures["membership_auc_high"]


@pytest.mark.slow
@REAL
def test_adult_with_two_copies_of_the_sensitive_attribute() -> None:
    columns = [["age", "marital"], ["race", "occupation"], ["sex", "occupation"], ["workclass", "education", "country"]]
    slicing = sf.OverlappingSlicing(columns=columns, duplicate_sensitive=True)
    release = sf.anonymize(adult(), sf.ProbabilisticLDiversity(2), anonymizer=slicing, seed=1)
    assert release.report.figures["buckets"] > 100


@REAL
def test_polish_survey() -> None:
    quasi = ["sex", "age", "placesize", "region", "edu", "marital", "trust"]
    frame = pl.read_csv(Path(os.environ["SFUMATO_DATA"]) / "SD2011" / "SD2011.csv", infer_schema_length=None)
    table = sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["socprof"], others="drop"))
    slicing = sf.OverlappingSlicing(columns=3, method="medoids", threshold=0.1)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=slicing, seed=1)
    assert release.report.figures["overlap_ratio"] > 1
    assert sf.verify(release).ok


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"columns": 0}, "columns must be a whole number"),
            ({"columns": [["a"], []]}, "at least one attribute each"),
            ({"columns": [["a", "a"]]}, "more than once"),
            ({"columns": [["a", "b"], ["a"]]}, "column 2 lies inside another"),
            ({"columns": [["a"], ["a"]]}, "column 2 lies inside another"),
            ({"method": "hard"}, "method must be one of"),
            ({"space": "flat"}, "space must be one of"),
            ({"distance": "far"}, "distance must be one of"),
            ({"threshold": 0}, "threshold must be"),
            ({"fuzzifier": 1}, "fuzzifier must be"),
            ({"duplicate_sensitive": "yes"}, "true or false"),
            ({"bins": 1}, "bins must be"),
            ({"split": "third"}, "split must be one of"),
            ({"bucket_size": "some"}, "bucket_size must be one of"),
        ],
    )
    def test_options(self, options, message) -> None:
        with pytest.raises(sf.PolicyError, match=message):
            sf.OverlappingSlicing(**options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"columns": [["a", "b"], ["s"]]}, "do not hold 'c'"),
            ({"columns": [["a", "b", "c", "d"], ["s"]]}, "name 'd'"),
            ({"columns": 9}, "9 columns are more"),
            ({"columns": TWICE[0]}, "the sensitive 's' more than once"),
        ],
    )
    def test_columns_and_tables(self, options, message) -> None:
        with pytest.raises(sf.PolicyError, match=message):
            released([("u", 1, "x", "1"), ("v", 2, "y", "2")], sf.ProbabilisticLDiversity(1), **options)

    def test_models(self) -> None:
        rows = [("u", 1, "x", "1"), ("v", 2, "y", "2")]
        with pytest.raises(sf.PolicyError, match="no equivalence classes"):
            released(rows, sf.KAnonymity(2))
        with pytest.raises(sf.PolicyError, match="t-closeness cannot be promised"):
            released(rows, sf.TCloseness(0.5), duplicate_sensitive=True)

    def test_a_sensitive_attribute_of_one_value(self) -> None:
        with pytest.raises(sf.UnsatisfiableError, match="'s' has one value only"):
            sf.anonymize(
                table_of([("u", 1, "x", "1"), ("v", 2, "y", "1")]),
                sf.ProbabilisticLDiversity(1),
                anonymizer=sf.OverlappingSlicing(),
            )

    def test_a_table_that_is_not_eligible(self) -> None:
        with pytest.raises(sf.UnsatisfiableError, match=r"reach only l = 1\.5"):
            sf.anonymize(
                table_of([("u", 1, "x", "1"), ("v", 2, "y", "1"), ("v", 2, "y", "2")]),
                sf.ProbabilisticLDiversity(2),
                anonymizer=sf.OverlappingSlicing(),
            )

"""Slicing: the promise by the plain twin, what is published, the records' disclosure, and bad input."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
import sfumato.anonymizers.slicing.partitioning as partitioning
from examples import examples
from naive.slicing import candidates, disclosed, is_diverse, matching_buckets
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.membership import disclosure_of
from sfumato.anonymizers.slicing.partitioning import partition_records
from sfumato.published.checks.slice_layout import layout_of
from sfumato.table.encoding import encode

ADULT = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")
NAMES = ("a", "b", "c", "s")
COLUMNS = [
    (("a",), ("b",), ("c",), ("s",)),
    (("a", "b"), ("c", "s")),
    (("a", "b"), ("c",), ("s",)),
    (("a", "b", "c"), ("s",)),
    (("a", "s"), ("b", "c")),
]
record = st.tuples(st.sampled_from("uv"), st.integers(0, 9), st.sampled_from(["x", "y", None]), st.sampled_from("1234"))
records = st.lists(record, min_size=2, max_size=40)


def table_of(rows, sensitive=("s",)) -> sf.Table:
    frame = pl.DataFrame(
        rows, schema=dict(zip(NAMES, (pl.String, pl.Int64, pl.String, pl.String), strict=True)), orient="row"
    )
    quasi = [name for name in NAMES if name not in sensitive]
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=list(sensitive)))


def places(columns):
    return [tuple(NAMES.index(name) for name in column) for column in columns]


def cut(rows, columns, model, split="balanced", check="buckets", seed=1):
    table = encode(table_of(rows))
    layout = layout_of(table, columns, [model])
    found = partition_records(Problem(table, [model], seed=seed), layout, columns, split, check)
    return layout, found, [[rows[at] for at in np.flatnonzero(found.bucket_of == b)] for b in range(found.count)]


@given(
    records, st.sampled_from(COLUMNS), st.sampled_from([1, 1.5, 2, 3]), st.sampled_from(["balanced", "median"]),
    st.sampled_from(["buckets", "matching"]),
)  # fmt: skip
@examples(150)
def test_nobody_who_may_be_in_a_bucket_tells_more_than_asked(rows, columns, ell, split, check):
    slicing = sf.Slicing(columns=columns, split=split, protection=check)
    where = places(columns)
    bound = Fraction(1) / Fraction(str(ell))
    try:
        release = sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(ell), anonymizer=slicing, seed=3)
    except sf.UnsatisfiableError:
        single = len({row[3] for row in rows}) == 1
        assert single or any(max(disclosed(row, [rows], where, 3).values()) > bound for row in rows)
        return
    _, _, buckets = cut(rows, columns, sf.ProbabilisticLDiversity(ell), split, check)
    assert Counter(row for bucket in buckets for row in bucket) == Counter(rows)
    for person in candidates(buckets, where) | set(rows):
        assert max(disclosed(person, buckets, where, 3).values()) <= bound
    assert release.published.columns == columns


@given(records, st.sampled_from(COLUMNS[:4]))
@examples(60)
def test_whoever_knows_the_bucket_learns_no_more_by_default(rows, columns):
    try:
        sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(2), anonymizer=sf.Slicing(columns=columns), seed=3)
    except sf.UnsatisfiableError:
        return
    _, _, buckets = cut(rows, columns, sf.ProbabilisticLDiversity(2))
    for bucket in buckets:
        for person in bucket:
            assert max(disclosed(person, [bucket], places(columns), 3).values()) <= Fraction(1, 2)


@given(records, st.sampled_from(["balanced", "median"]))
@examples(60)
def test_columns_keep_their_rows_and_buckets(rows, split):
    columns = (("a", "b"), ("c", "s"))
    slicing = sf.Slicing(columns=columns, split=split)
    try:
        release = sf.anonymize(table_of(rows), sf.TCloseness(1.0, "equal"), anonymizer=slicing, seed=5)
    except sf.UnsatisfiableError:
        return
    data = release.data
    assert data["bucket"].to_list() == sorted(data["bucket"].to_list())
    for column in columns:
        where = [NAMES.index(name) for name in column]
        published = Counter(map(tuple, data.select(pl.col(column).cast(pl.String)).rows()))
        texts = [tuple(None if row[at] is None else str(row[at]) for at in where) for row in rows]
        assert published == Counter(texts)


@given(records, st.sampled_from(["buckets", "matching"]))
@examples(40)
def test_buckets_do_not_depend_on_the_order_of_the_records(rows, check):
    columns = COLUMNS[2]
    model = sf.TCloseness(0.6, "equal")
    if not len({row[3] for row in rows}) > 1:
        return
    made = [
        sorted(sorted(map(str, bucket)) for bucket in cut(given, columns, model, "balanced", check)[2])
        for given in (rows, rows[::-1])
    ]
    assert made[0] == made[1]


@given(records, st.sampled_from(COLUMNS))
@examples(60)
def test_disclosure_of_every_record_is_the_twin_s(rows, columns):
    layout, found, buckets = cut(rows, columns, sf.ProbabilisticLDiversity(1))
    disclosure = disclosure_of(layout, found.bucket_of, found.count, seed=1)
    where = places(columns)
    for row, vector in zip(rows, layout.vector_of, strict=True):
        assert disclosure.matches[vector] == len(matching_buckets(row, buckets, where, 3))
        share = max(disclosed(row, buckets, where, 3).values())
        assert disclosure.measures["highest_share_s"][vector] == pytest.approx(float(share), abs=1e-12)
    assert disclosure.weights.sum() == len(rows)


def test_disclosure_of_too_many_records_is_drawn():
    layout, found, _ = cut(CROSSED, COLUMNS[0], sf.ProbabilisticLDiversity(2))
    some = disclosure_of(layout, found.bucket_of, found.count, seed=1, most=30)
    assert not some.complete
    assert 0 < len(some.matches) < len(layout.vectors)


CROSSED = [(a, b, c, s) for a in "uv" for b in range(6) for c in "xy" for s in "1234"]


def test_the_global_check_allows_more_buckets_than_each_by_itself():
    counts = [
        cut(CROSSED, COLUMNS[0], sf.ProbabilisticLDiversity(3), "median", check)[1].count
        for check in ("buckets", "matching")
    ]
    assert counts[1] >= counts[0] > 1


def test_the_global_check_sees_what_other_buckets_say():
    # Two buckets of one value each match everybody alike, so that nobody can tell which value is whose.
    rows = [("u", 0, "x", "1"), ("u", 0, "x", "2")]
    _, found, buckets = cut(rows * 8, COLUMNS[2], sf.ProbabilisticLDiversity(2), check="matching")
    assert found.count == 1  # nothing to cut along
    assert is_diverse(buckets, places(COLUMNS[2]), 3, 2)


def test_what_does_not_fit_into_memory_is_cut_bucket_by_bucket(monkeypatch):
    monkeypatch.setattr(partitioning, "MOST_MATCHES", 3)
    _, found, _ = cut(CROSSED, COLUMNS[0], sf.ProbabilisticLDiversity(2), check="matching")
    assert found.check == "buckets"
    assert "memory" in found.notes[0]
    monkeypatch.setattr(partitioning, "MOST_MASS", 3)
    assert cut(CROSSED, COLUMNS[0], sf.ProbabilisticLDiversity(2), check="matching")[1].check == "buckets"


def test_several_sensitive_attributes_are_protected_one_by_one():
    table = table_of(CROSSED, sensitive=("c", "s"))
    models = [sf.ProbabilisticLDiversity(2), sf.TCloseness(0.5, "equal", attribute="s")]
    release = sf.anonymize(table, models, anonymizer=sf.Slicing(columns=(("a", "c"), ("b", "s"))), seed=1)
    assert [str(value) for value in release.report.verification.checks[0].achieved] == ["l=2 on c", "l=4 on s"]
    assert any("one by one" in note for note in release.report.notes)


def test_insensitive_columns_stand_in_a_column_of_their_own():
    frame = pl.DataFrame(CROSSED, schema=NAMES, orient="row").with_columns(pl.Series("visits", range(len(CROSSED))))
    schema = sf.Schema(quasi_identifying=["a", "b", "c"], sensitive=["s"], insensitive=["visits"])
    for protection in ("buckets", "matching"):
        slicing = sf.Slicing(columns=3, protection=protection)
        release = sf.anonymize(sf.read_table(frame, schema), sf.ProbabilisticLDiversity(3), anonymizer=slicing, seed=1)
        assert release.published.columns[-1] == ("visits",)
        assert sorted(release.data["visits"]) == list(range(len(CROSSED)))


def test_rare_values_of_a_column_are_generalized():
    rows = [*CROSSED, ("u", 99, "x", "1"), ("v", -40, "y", "2")]
    slicing = sf.Slicing(columns=(("a",), ("b", "c"), ("s",)), column_k=8)
    release = sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(3), anonymizer=slicing, seed=1)
    counts = release.data.group_by("b", "c").len()["len"]
    assert counts.min() >= 8
    assert release.data["a"].unique().sort().to_list() == ["u", "v"]
    assert "1 column had rare values, which were generalized." in release.report.notes


def test_attributes_leave_the_sensitive_column_where_they_tell_too_much():
    rows = [(a, b, "x" if s in "12" else "y", s) for a in "uv" for b in range(6) for s in "1234"]
    release = sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(3), anonymizer=sf.Slicing(columns=3), seed=1)
    assert ("s",) in release.published.columns
    assert any("(alpha = 1)" in note for note in release.report.notes)
    with pytest.raises(sf.UnsatisfiableError, match="beside it in its column \\(c\\)"):
        sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(3), anonymizer=sf.Slicing(columns=3, alpha=2))


def test_what_no_columns_can_mend_is_said_of_all_records() -> None:
    rows = [(a, b, "x" if s in "12" else "y", s) for a in "uv" for b in range(6) for s in "1123"]
    said = "all records in one bucket reach only l = 2; relax the model"
    with pytest.raises(sf.UnsatisfiableError, match=said):
        sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(3), anonymizer=sf.Slicing(columns=3), seed=1)


def test_seeds_repeat_a_release_and_without_one_no_two_are_alike():
    def published(seed):
        slicing = sf.Slicing(columns=COLUMNS[0])
        return sf.anonymize(table_of(CROSSED), sf.ProbabilisticLDiversity(2), anonymizer=slicing, seed=seed).data

    assert published(7).equals(published(7))
    assert not published(7).equals(published(8))
    assert not published(None).equals(published(None))


def test_permutations_of_columns_and_buckets_are_independent():
    table = table_of([("u", b, "x", s) for b in range(2) for s in "12"] * 500)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=sf.Slicing(columns=COLUMNS[0]), seed=1)
    data = release.data.filter(pl.col("b") == release.data["b"][0])
    assert 0.4 < (data["s"] == "1").mean() < 0.6


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"columns": 0}, 1),
        ({"columns": True}, 1),
        ({"columns": [["a"], []]}, 1),
        ({"columns": [["a", "b"], ["a"]]}, 1),
        ({"columns": [["a"]], "alpha": 1}, 1),
        ({"alpha": 0, "column_k": 1, "bins": 1, "discretization": "no", "split": "no", "protection": "no"}, 6),
    ],
)
def test_options_that_mean_nothing_are_refused_together(options, count):
    with pytest.raises(sf.PolicyError) as error:
        sf.Slicing(**options)
    assert len(error.value.problems) == count


def refused(table, model=None, error=sf.PolicyError, **options):
    with pytest.raises(error) as found:
        sf.anonymize(table, model or sf.ProbabilisticLDiversity(2), anonymizer=sf.Slicing(**options))
    return found.value.problems


def test_what_does_not_fit_the_table_is_named():
    table = table_of(CROSSED)
    assert "more than there are attributes (4)" in refused(table, columns=5)[0]
    assert len(refused(table, columns=[["a", "nobody"], ["s"]])) == 3
    assert "column_k" in refused(table, sf.KAnonymity(2))[0]
    assert "no sensitive attribute 'x'" in refused(table, sf.ProbabilisticLDiversity(2, "x"))[0]
    assert "needs a sensitive column" in refused(table_of(CROSSED, sensitive=()))[0]
    few = sf.Slicing(columns=COLUMNS[0], column_k=7)
    with pytest.raises(sf.UnsatisfiableError, match="only 6 record"):
        sf.anonymize(table_of(CROSSED[:3] + CROSSED[40:43]), sf.ProbabilisticLDiversity(1), anonymizer=few)


def test_a_column_named_bucket_is_refused():
    frame = pl.DataFrame({"bucket": [1, 2], "s": ["1", "2"]})
    assert "rename" in refused(sf.read_table(frame, sf.Schema(quasi_identifying=["bucket"], sensitive=["s"])))[0]


def test_what_cannot_be_met_says_so():
    (problem,) = refused(table_of(CROSSED), sf.ProbabilisticLDiversity(5), sf.UnsatisfiableError)
    assert "asks for l = 5" in problem
    assert "l = 4" in problem
    same = [("u", b, "x", "1") for b in range(4)]
    assert "one value only" in refused(table_of(same), error=sf.UnsatisfiableError)[0]


def test_constant_attributes_cannot_be_clustered():
    rows = [("u", b, c, s) for b in range(3) for c in "xy" for s in "12"]
    assert "'a' has one value only" in refused(table_of(rows))[0]
    listed = sf.Slicing(columns=COLUMNS[0])
    assert sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(2), anonymizer=listed, seed=1).data.height == 12


def test_progress_is_told_and_ends():
    told = []
    sf.anonymize(
        table_of(CROSSED), sf.ProbabilisticLDiversity(2), anonymizer=sf.Slicing(columns=COLUMNS[0]),
        progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert any(what == "cutting buckets" and done == total for what, done, total in told)


def test_a_folder_is_verified_and_a_changed_one_is_not(tmp_path: Path):
    slicing = sf.Slicing(columns=COLUMNS[0])
    release = sf.anonymize(table_of(CROSSED), sf.ProbabilisticLDiversity(4), anonymizer=slicing, seed=1)
    release.save(tmp_path / "release")
    assert sf.verify(tmp_path / "release").ok


@pytest.mark.slow
@ADULT
@pytest.mark.parametrize("protection", ["buckets", "matching"])
def test_adult_in_five_columns(protection):
    names = "age workclass fnlwgt education number marital occupation relation race sex gain loss hours country pay"
    frame = pl.read_csv(
        Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data", has_header=False, new_columns=names.split()
    )
    frame = frame.with_columns(pl.col(pl.String).str.strip_chars()).filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    quasi = ["age", "workclass", "education", "marital", "race", "sex", "country"]
    table = sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["occupation"], others="drop"))
    release = sf.anonymize(
        table,
        sf.ProbabilisticLDiversity(5),
        anonymizer=sf.Slicing(columns=5, protection=protection, bucket_size="smallest"),
        seed=1,
    )
    assert release.report.figures["buckets"] > 4000
    assert release.report.figures["highest_share_occupation"] <= 0.2 + 1e-12
    assert len(release.published.columns) == 5


def test_numbers_that_nearly_all_differ_are_spread_evenly_too():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 60, 600)
    frame = pl.DataFrame({"age": age, "town": rng.integers(0, 9, 600), "wage": age * 1000 + np.arange(600)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["wage"]))
    slicing = {
        split: sf.Slicing(columns=(("age",), ("town",), ("wage",)), split=split) for split in ("balanced", "median")
    }
    counts = {
        split: sf.anonymize(table, sf.TCloseness(0.1), anonymizer=anonymizer, seed=1).report.figures["buckets"]
        for split, anonymizer in slicing.items()
    }
    assert counts["balanced"] > 4 * counts["median"]


@pytest.mark.parametrize("protection", ["buckets", "matching"])
def test_guarded_buckets_are_large_enough_to_teach_little(protection):
    """With a most frequent value of a quarter, 3 / (1/2 - 1/4) = 12 records: 24 are cut, 23 are not."""
    chance = np.random.default_rng(3)
    disease = np.repeat(["a", "b", "c", "d"], 60)
    frame = pl.DataFrame({"age": chance.integers(20, 70, 240), "town": chance.choice(list("xyz"), 240), "ill": disease})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["ill"]))
    sizes = {}
    for size in ("guarded", "smallest"):
        way = sf.Slicing(columns=(("age",), ("town",), ("ill",)), protection=protection, bucket_size=size)
        release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=way, seed=1)
        sizes[size] = release.data["bucket"].value_counts()["count"].to_numpy()
    assert sizes["guarded"].max() < 24
    assert sizes["guarded"].min() >= 6
    assert sizes["guarded"].mean() > 2 * sizes["smallest"].mean()
    assert sizes["smallest"].max() < 12


@pytest.mark.parametrize("protection", ["buckets", "matching"])
def test_a_table_that_is_too_small_for_guarded_halves_is_one_bucket(protection):
    frame = pl.DataFrame({"age": range(20, 40), "town": list("xyzw") * 5, "ill": list("abcd") * 5})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["ill"]))
    way = sf.Slicing(columns=(("age",), ("town",), ("ill",)), protection=protection)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=way, seed=1)
    assert release.data["bucket"].n_unique() == 1


def test_models_without_an_l_ask_for_no_guard():
    chance = np.random.default_rng(3)
    frame = pl.DataFrame({"age": chance.integers(20, 70, 200), "ill": chance.choice(list("abcd"), 200)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"]))
    made = [
        sf.anonymize(table, sf.TCloseness(0.3), anonymizer=sf.Slicing(columns=2, bucket_size=size), seed=1).data
        for size in ("guarded", "smallest")
    ]
    assert made[0].equals(made[1])


BLIND = [sf.Slicing(split="blind"), sf.OverlappingSlicing(split="blind")]


@pytest.mark.parametrize("slicing", BLIND, ids=lambda slicing: slicing.name)
def test_blind_columns_and_buckets_hang_on_nobody_s_value(slicing):
    """Of few people nothing is looked at: every world has the same columns, buckets and refusals."""
    draw = np.random.default_rng(3)
    rows = [(str(draw.choice(["u", "v"])), int(draw.integers(0, 9)), str(draw.choice(["x", "y"]))) for _ in range(60)]
    values = ["1"] * 20 + ["2"] * 20 + ["3"] * 20
    model, found = sf.ProbabilisticLDiversity(2), set()
    for world in range(8):
        # The first world gives values away by the other columns: who looks keeps them apart.
        mixed = sorted(values) if world == 0 else draw.permutation(values).tolist()
        table = table_of([(*row, value) for row, value in zip(sorted(rows), mixed, strict=True)])
        made = slicing.cut(Problem(encode(table), [model], seed=1), table)
        found.add((made.columns, tuple(made.buckets.bucket_of.tolist())))
    assert len(found) == 1
    ((columns, _),) = found
    assert columns[-1] == ("s",)


@pytest.mark.parametrize("slicing", BLIND, ids=lambda slicing: slicing.name)
@given(st.integers(0, 99), st.sampled_from([sf.ProbabilisticLDiversity(2), sf.TCloseness(0.4)]))
@examples(4)
def test_blind_buckets_keep_the_models_and_their_size(slicing, seed, model):
    draw = np.random.default_rng(seed)
    drawn = ((draw.choice(["u", "v"]), draw.integers(0, 90), draw.integers(4)) for _ in range(400))
    rows = [(str(a), int(b), "xy"[b % 2], str(s)) for a, b, s in drawn]
    release = sf.anonymize(table_of(rows), model, anonymizer=slicing, seed=seed)
    table = encode(table_of(rows))
    buckets = slicing.cut(Problem(table, [model], seed=seed), table_of(rows)).buckets
    sizes, least = np.bincount(buckets.bucket_of), partitioning.guarded_size(Problem(table, [model]))
    assert len(sizes) > 1
    assert sizes.min() >= least
    assert any("did not look at who" in note for note in release.report.notes)


def test_blind_slices_refuse_what_would_look_all_the_same():
    for maker, options, words in (
        (sf.Slicing, {"alpha": 2}, "alpha = 1"),
        (sf.Slicing, {"protection": "matching"}, "looks at single records"),
        (sf.Slicing, {"columns": 1}, "2 or above"),
        (sf.OverlappingSlicing, {"columns": 1}, "2 or above"),
        (sf.OverlappingSlicing, {"duplicate_sensitive": True}, "leave duplicate_sensitive out"),
    ):
        with pytest.raises(sf.PolicyError, match=words):
            maker(split="blind", **options)
    rows = [("u", number, "x", "12"[number % 2]) for number in range(8)]
    for maker in (sf.Slicing, sf.OverlappingSlicing):
        way = maker(split="blind", columns=[["a"], ["b", "s"], ["c"]])
        with pytest.raises(sf.PolicyError, match="b would stand beside one"):
            sf.anonymize(table_of(rows), sf.ProbabilisticLDiversity(2), anonymizer=way)

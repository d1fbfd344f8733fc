"""Bucketization from a table to its release: the paper's example, what is refused, what is enforced."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import buckets as naive
from sfumato.anonymizers import Publisher
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.release.reports import KindReport

ILLNESSES = ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"]


def example() -> sf.Table:
    frame = pl.DataFrame(
        {
            "age": [22, 22, 33, 52, 54, 60, 60, 64],
            "sex": list("MFFFMMMF"),
            "zip": ["47906", "47906", "47905", "47905", "47302", "47302", "47304", "47304"],
            "disease": ILLNESSES,
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease"]))


def bucketized(table: sf.Table, *models: object, seed: int | None = 1, members: str = "random") -> sf.Release:
    return sf.anonymize(table, models, anonymizer=sf.Bucketization(members=members), seed=seed)


def values_of(release: sf.Release) -> list[list[object]]:
    """The sensitive values of every bucket, repeated as often as counted."""
    name = release.published.sensitive
    found: dict[int, list[object]] = {}
    for row in release.tables["sensitive"].iter_rows(named=True):
        found.setdefault(row["bucket"], []).extend([row[name]] * row["count"])
    return list(found.values())


def people(values: list[object]) -> sf.Table:
    frame = pl.DataFrame({"age": range(len(values)), "ill": values}, strict=False)
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"]))


def test_it_is_a_publisher():
    assert isinstance(sf.Bucketization(), Publisher)
    assert sf.Bucketization() == sf.Bucketization(members="dealt")


@pytest.mark.parametrize("members", ["Alike", "", None, 3, ["alike"]])
def test_members_of_an_unknown_kind(members):
    with pytest.raises(sf.PolicyError, match="members must be one of dealt, alike, random"):
        sf.Bucketization(members=members)


def test_the_worked_example():
    release = bucketized(example(), sf.ProbabilisticLDiversity(2))
    groups, left = naive.groups_of_values(dict(sorted(Counter(ILLNESSES).items())), 2)
    assert left == []
    assert sorted(map(sorted, values_of(release))) == sorted(map(sorted, groups))
    assert sorted(map(sorted, groups)) == [
        ["bronchitis", "dyspepsia"],
        ["dyspepsia", "flu"],
        ["dyspepsia", "flu"],
        ["flu", "gastritis"],
    ]
    assert release.report.figures == {
        "buckets": 4,
        "smallest_bucket": 2,
        "largest_bucket": 2,
        "reconstruction_error": 4.0,
        "least_reconstruction_error": 4.0,
    }
    with pytest.raises(sf.UnsatisfiableError, match=r"l = 3, but .* only l = 2\.66667"):
        bucketized(example(), sf.ProbabilisticLDiversity(3))


def test_rows_are_the_records_without_their_value():
    table = example()
    release = bucketized(table, sf.ProbabilisticLDiversity(2))
    quasi = release.tables["quasi_identifying"]
    assert quasi.columns == ["age", "sex", "zip", "bucket"]
    assert Counter(quasi.drop("bucket").rows()) == Counter(table.frame.drop("disease").rows())
    assert release.tables["sensitive"].columns == ["bucket", "disease", "count"]
    assert Counter(value for values in values_of(release) for value in values) == Counter(ILLNESSES)


SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(SIZES, st.integers(1, 4), st.one_of(st.none(), st.integers(0, 50)))
@examples(80)
def test_l_is_kept_exactly_when_it_can_be(counts, l, seed):  # noqa: E741
    values = [f"v{place}" for place, count in enumerate(counts) for _ in range(count)]
    if not naive.eligible(values, l):
        with pytest.raises(sf.UnsatisfiableError):
            bucketized(people(values), sf.ProbabilisticLDiversity(l), seed=seed)
        return
    release = bucketized(people(values), sf.ProbabilisticLDiversity(l), seed=seed)
    buckets = values_of(release)
    assert all(len(set(bucket)) == len(bucket) >= l for bucket in buckets)
    assert len(buckets) == len(values) // l
    error = release.report.figures["reconstruction_error"]
    assert error == pytest.approx(float(naive.reconstruction_error(buckets)))
    least = release.report.figures["least_reconstruction_error"]
    assert least <= error + 1e-9
    assert error <= least * (1 + 1 / len(values)) + 1e-9


MODELS = [
    sf.DistinctLDiversity(3),
    sf.EntropyLDiversity(2.4),
    sf.RecursiveLDiversity(1.0, 3),
    sf.ProbabilisticLDiversity(2.3),
    sf.TCloseness(0.25),
    sf.BasicBetaLikeness(1.0),
    sf.EnhancedBetaLikeness(0.8),
    sf.DeltaDisclosure(0.7),
]


@pytest.mark.parametrize("members", ["dealt", "alike", "random"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_model_that_is_promised_is_enforced(model, members):
    values = (["a"] * 30 + ["b"] * 25 + ["c"] * 20 + ["d"] * 10 + ["e"] * 5) * 4
    release = bucketized(people(values), model, members=members)
    assert sf.verify(release).ok
    assert release.report.figures["buckets"] > 1


def test_several_models_are_enforced_together():
    values = ["a"] * 30 + ["b"] * 25 + ["c"] * 20 + ["d"] * 10 + ["e"] * 5
    release = bucketized(people(values), *MODELS)
    checks = sf.verify(release).checks
    assert [str(check.outcome) for check in checks[: len(MODELS)]] == ["holds"] * len(MODELS)
    assert "dealt out evenly" in " ".join(release.report.notes)


def test_models_of_the_whole_table_get_values_that_are_dealt_out():
    release = bucketized(people(list(range(100))), sf.TCloseness(0.1))
    buckets = values_of(release)
    # Ordered values that are spread evenly: 5 of 100 lie at most a twentieth away.
    assert len(buckets) >= 10
    assert max(bucket[0] for bucket in map(sorted, buckets)) < 100 / 5


def test_the_smallest_size_is_found_where_l_alone_does_not_say_it():
    values = ["a", "b", "c", "d", "e", "f", "g", "h"] * 6
    release = bucketized(people(values), sf.RecursiveLDiversity(0.5, 3))
    # 1 < 0.5 (g − 2) from g = 5 on.
    assert release.report.figures["smallest_bucket"] == 5


def test_a_real_l_takes_the_next_whole_number_of_values():
    release = bucketized(people(["a", "b", "c", "d"] * 9), sf.ProbabilisticLDiversity(2.5))
    assert release.report.figures["smallest_bucket"] == 3
    # Two of five: no three different values for everybody, but one bucket of all.
    release = bucketized(people(["a", "a", "b", "b", "c"]), sf.ProbabilisticLDiversity(2.5))
    assert release.report.figures["buckets"] == 1


def test_missing_values_are_values_of_their_own():
    frame = pl.DataFrame({"age": [None, 1, None, 2], "zip": ["a", None, None, "b"], "ill": ["x", None, None, "x"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["ill"]))
    release = bucketized(table, sf.DistinctLDiversity(2))
    assert sorted(sorted(map(str, values)) for values in values_of(release)) == [["None", "x"]] * 2
    assert Counter(release.tables["quasi_identifying"].drop("bucket").rows()) == Counter(frame.drop("ill").rows())
    assert sf.verify(release).ok


@pytest.mark.parametrize("values", [[1.5, 2.5], [True, False], ["2020-01-01", "2021-05-05"], [7, -7]])
def test_values_of_every_kind(values, tmp_path):
    release = bucketized(people(values * 4), sf.ProbabilisticLDiversity(2))
    for format in ("csv", "parquet"):
        verification = sf.verify(release.save(tmp_path / format, format=format))
        assert verification.ok, str(verification)
        in_memory = sf.verify(release).checks
        assert tuple(check for check in verification.checks if check in in_memory) == in_memory


# who shares a bucket


def linked(rows: int, likely: float) -> sf.Table:
    """Six diseases, one for each group of people, who have it as often as `likely` says and any of the six otherwise.

    Everybody is in one of six groups, twelve towns and two age bands; the groups alone tell something.
    """
    draw = np.random.default_rng(1)
    disease = draw.integers(0, 6, rows)
    group = np.where(draw.random(rows) < likely, disease, draw.integers(0, 6, rows))
    town, old = draw.integers(0, 12, rows), draw.integers(0, 2, rows)
    frame = pl.DataFrame({"group": group, "town": town, "old": old, "ill": disease}).with_columns(
        pl.col("group", "town", "old", "ill").cast(pl.String)
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["group", "town", "old"], sensitive=["ill"]))


class TestComparingBuckets:
    """What groups of people have can be learnt from all buckets (Kifer): whether more than 1/l comes of it."""

    def success(self, members: str, likely: float) -> AttackResult:
        table = linked(3000, likely)
        release = bucketized(table, sf.ProbabilisticLDiversity(3), members=members)
        return sf.attack(release, table, attacks="definetti").results[0]

    @pytest.mark.parametrize("members", ["random", "alike"])
    def test_small_buckets_give_away_more_than_they_say(self, members):
        found = self.success(members, 0.5)
        assert found.allowed == pytest.approx(1 / 3)
        assert found.success.interval[0] > found.allowed + 0.1

    @pytest.mark.parametrize("likely", [0.0, 0.3, 0.5])
    def test_dealt_ones_do_not(self, likely):
        found = self.success("dealt", likely)
        assert found.success.interval[1] < found.allowed

    def test_dealt_ones_leave_nothing_to_learn_where_nothing_is_linked(self):
        found = self.success("dealt", 0.0)
        assert found.success.interval[0] < max(found.success.baseline, 1 / 6)

    def test_dealt_ones_do_where_the_value_all_but_follows(self):
        """Nine in ten of every group have its disease: even small differences between buckets tell."""
        found = self.success("dealt", 0.9)
        assert found.success.share < self.success("random", 0.9).success.share


@given(SIZES, st.integers(2, 4), st.sampled_from(["dealt", "alike", "random"]))
@examples(60)
def test_every_kind_of_member_is_published_and_satisfies(counts, l, members):  # noqa: E741
    values = [f"v{place}" for place, count in enumerate(counts) for _ in range(count)]
    if not naive.eligible(values, l):
        return
    table = people(values)
    release = bucketized(table, sf.ProbabilisticLDiversity(l), members=members, seed=None)
    buckets = values_of(release)
    assert all(max(Counter(bucket).values()) * l <= len(bucket) for bucket in buckets)
    assert Counter(value for bucket in buckets for value in bucket) == Counter(values)
    quasi = release.tables["quasi_identifying"]
    assert sorted(quasi["age"]) == list(range(len(values)))
    held = release.tables["sensitive"].group_by("bucket").agg(pl.sum("count"))
    assert Counter(quasi["bucket"]) == Counter(dict(held.rows()))
    assert sf.verify(release).ok


def test_alike_people_share_buckets():
    values = ["a", "b", "c", "d"] * 100
    release = bucketized(people(values), sf.ProbabilisticLDiversity(2), members="alike")
    spans = release.tables["quasi_identifying"].group_by("bucket").agg(span=pl.max("age") - pl.min("age"))["span"]
    # The smallest part that is not cut has seven people at most, whose ages follow one another.
    assert spans.max() <= 6
    assert "parts of people who are alike" in " ".join(release.report.notes)


def test_dealt_buckets_take_at_most_the_room_up_to_the_promise():
    values = ["a"] * 36 + ["b"] * 24 + ["c"] * 24 + ["d"] * 36
    release = bucketized(people(values), sf.ProbabilisticLDiversity(2), members="dealt")
    # 3 / (1/2 - 3/10)
    assert release.report.figures["smallest_bucket"] == 15
    shares = [max(Counter(bucket).values()) / len(bucket) for bucket in values_of(release)]
    assert max(shares) <= 0.3 + 1 / 15
    assert "dealt out evenly" not in " ".join(release.report.notes)


@pytest.mark.parametrize(("rows", "size"), [(100, 12), (800, 100), (2000, 133)])
def test_dealt_buckets_leave_who_knows_others_little_where_eight_remain(rows, size):
    """128 records and more; where fewer than eight buckets would be left, an eighth of the records, or what l asks."""
    values = [f"v{place % 10}" for place in range(rows)]
    release = bucketized(people(values), sf.ProbabilisticLDiversity(2), members="dealt")
    assert release.report.figures["smallest_bucket"] == size
    close = bucketized(people(values), sf.TCloseness(0.9), members="dealt")
    assert close.report.figures["smallest_bucket"] == 1


@pytest.mark.parametrize("rows", [256, 259])
def test_dealt_buckets_stay_small_where_there_is_no_room(rows):
    """Sixteen times l, although hardly any way to deal half of the records out leaves half of them in each bucket."""
    values = ["a"] * (rows // 2) + ["b"] * (rows // 4)
    values += ["c"] * (rows - len(values))
    release = bucketized(people(values), sf.ProbabilisticLDiversity(2), members="dealt")
    assert 32 <= release.report.figures["smallest_bucket"] <= 34


def test_the_order_of_the_input_decides_nothing_about_parts():
    table = linked(400, 0.3)
    other = sf.read_table(table.frame.sample(fraction=1.0, shuffle=True, seed=3), table.schema)

    def parts(table: sf.Table) -> str:
        return bucketized(table, sf.DistinctLDiversity(2), members="alike", seed=None).report.notes[1]

    assert "parts of people who are alike" in parts(table)
    assert parts(table) == parts(other)


@pytest.mark.parametrize("members", ["dealt", "alike"])
def test_threads_change_nothing(members):
    table = linked(3000, 0.3)

    def tables(threads: int) -> list[tuple[object, ...]]:
        release = sf.anonymize(
            table,
            sf.ProbabilisticLDiversity(3),
            anonymizer=sf.Bucketization(members=members),
            seed=5,
            threads=threads,
        )
        return [row for frame in release.tables.values() for row in frame.rows()]

    assert tables(1) == tables(2)


# what is refused


def refused(table: sf.Table, *models: object, **more: object) -> tuple[str, ...]:
    with pytest.raises(sf.PolicyError) as caught:
        sf.anonymize(table, models, anonymizer=sf.Bucketization(), **more)
    return caught.value.problems


@pytest.mark.parametrize(
    "model", [sf.KAnonymity(2), sf.AlphaKAnonymity(0.5, 2), sf.SubsetKAnonymity(2, 1), sf.WildcardKAnonymity(2)]
)
def test_models_of_classes_are_refused_by_name(model):
    (problem,) = refused(example(), model)
    assert problem.startswith(f"{model.name}: bucketization publishes quasi-identifying values as they are")
    assert "probabilistic-l-diversity" in problem
    assert "mondrian" in problem


def test_everything_that_does_not_fit_is_said_at_once():
    frame = pl.DataFrame({"bucket": [1, 2], "ill": ["a", "b"], "count": [3, 4]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["bucket"], sensitive=["ill", "count"]))
    problems = refused(
        table,
        sf.KAnonymity(2),
        sf.DistinctLDiversity(2, attribute="height"),
        recoding=sf.Recoding(numeric="mean"),
        refine=5,
        bound=True,
        suppression_limit=0.1,
    )
    starts = ["recoding", "refine", "bound", "suppression_limit", "bucketization", "bucketization", "bucketization"]
    assert [problem.partition(":")[0] for problem in problems] == [*starts, "k-anonymity", "distinct-l-diversity"]
    assert "exactly one sensitive column, and there are 2" in " ".join(problems)


def test_no_sensitive_column_and_no_model():
    table = sf.read_table(pl.DataFrame({"age": [1, 2]}), sf.Schema(quasi_identifying=["age"]))
    problems = refused(table, sf.ProbabilisticLDiversity(2))
    assert "there are 0" in problems[0]
    assert refused(example()) == ("models: name at least one privacy model, e.g. KAnonymity(5)",)


def test_a_constant_value_satisfies_no_l():
    with pytest.raises(sf.UnsatisfiableError, match="only l = 1"):
        bucketized(people(["a"] * 9), sf.ProbabilisticLDiversity(2))
    assert bucketized(people(["a"] * 9), sf.TCloseness(0)).report.figures["buckets"] >= 1


# what could give records away


def test_same_seed_same_tables_and_no_seed_other_ones():
    table = people(["a", "b", "c"] * 40)

    def tables(seed: int | None) -> list[tuple[object, ...]]:
        release = bucketized(table, sf.ProbabilisticLDiversity(2), seed=seed)
        return [row for frame in release.tables.values() for row in frame.rows()]

    assert tables(3) == tables(3)
    assert tables(3) != tables(4)
    assert tables(None) != tables(None)


def test_neither_rows_nor_buckets_show_the_order_of_the_input():
    rows = 4000
    table = people(["a", "b", "c", "d"] * (rows // 4))
    quasi = bucketized(table, sf.ProbabilisticLDiversity(2), seed=None).tables["quasi_identifying"]
    bound = 6 / math.sqrt(rows)
    for one, other in (("row", "age"), ("age", "bucket"), ("row", "bucket")):
        assert abs(quasi.with_row_index("row").select(pl.corr(one, other)).item()) < bound


def test_a_value_of_the_most_frequent_is_in_any_bucket_that_has_it():
    """Who is with whom is chance: over many runs the first record shares buckets with every other value."""
    table = people(["a"] * 4 + ["b", "c", "d", "e"])
    met = set()
    for _ in range(60):
        release = bucketized(table, sf.ProbabilisticLDiversity(2), seed=None)
        quasi = release.tables["quasi_identifying"]
        bucket = quasi.filter(pl.col("age") == 0)["bucket"].item()
        met |= set(release.tables["sensitive"].filter(pl.col("bucket") == bucket)["ill"])
    assert met == {"a", "b", "c", "d", "e"}


def test_insensitive_columns_stay_out_and_the_steward_is_told():
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab"), "visits": [5, 6, 7, 8]})
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["ill"], others="keep")
    release = bucketized(sf.read_table(frame, schema), sf.ProbabilisticLDiversity(2))
    assert not [name for name, frame in release.tables.items() if "visits" in frame.columns]
    assert "Insensitive columns are not published: visits." in release.report.notes


def test_the_report_says_what_is_not_hidden():
    report = bucketized(example(), sf.ProbabilisticLDiversity(2)).report
    assert isinstance(report, KindReport)
    assert "somebody who knows them finds a person's row" in str(report)
    assert "Neither identity nor membership is hidden" in str(report)
    assert "somebody who knows them finds a person's row" in str(report.for_release())


def adult() -> sf.Table:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA is not set: the Adult file is not at hand")
    names = ["age", "work", "weight", "education", "years", "marital", "job", "relation", "race", "sex"]
    names += ["gain", "loss", "hours", "country", "salary"]
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    frame = pl.read_csv(path, has_header=False, new_columns=names, infer_schema=False).with_columns(
        pl.all().str.strip_chars()
    )
    quasi = ["age", "work", "education", "marital", "race", "sex", "country"]
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["job"], others="drop"), missing="?")


def test_adult_by_occupation(tmp_path):
    table = adult()
    release = bucketized(table, sf.ProbabilisticLDiversity(7), seed=None)
    counts = Counter(table.frame["job"])
    assert 7 * max(counts.values()) <= table.height
    assert release.report.figures["buckets"] == table.height // 7
    assert all(len(set(values)) == len(values) for values in values_of(release))
    assert sf.verify(release.save(tmp_path / "out")).ok
    with pytest.raises(sf.UnsatisfiableError):
        bucketized(table, sf.ProbabilisticLDiversity(8))

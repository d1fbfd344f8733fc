"""Recounting from the published tables alone: what holds, what is broken, what cannot be decided."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

import sfumato as sf
from sfumato.models import MODELS, promisable
from sfumato.models.protocol import Outcome
from sfumato.published import BucketizedTables
from sfumato.published.checks.parts import bucket_statistics, check_buckets
from sfumato.table.schema import Attribute, Kind


def tables(counts: Sequence[tuple[int, object, int]], records: Sequence[int] | None = None) -> BucketizedTables:
    """Tables with these buckets, values and counts; `records` overrides the buckets of the rows."""
    rows = [bucket for bucket, _, count in counts for _ in range(count)] if records is None else records
    quasi = pl.DataFrame({"age": range(len(rows)), "bucket": rows})
    frame = pl.DataFrame(counts, schema=["bucket", "ill", "count"], orient="row", strict=False)
    return BucketizedTables(quasi, frame, ("age",), "ill")


GOOD = [(0, "flu", 1), (0, "gout", 1), (1, "flu", 2), (1, "gout", 1), (1, "rash", 1)]


def outcome(published: BucketizedTables, model: object, attribute: Attribute | None = None) -> Outcome:
    (check,) = check_buckets(published, [model], {"ill": attribute or Attribute()})
    return check.outcome


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (sf.ProbabilisticLDiversity(2), "holds"),
        (sf.ProbabilisticLDiversity(2.1), "broken"),
        (sf.DistinctLDiversity(2), "holds"),
        (sf.DistinctLDiversity(3), "broken"),
        (sf.EntropyLDiversity(2), "holds"),
        (sf.EntropyLDiversity(2.5), "broken"),
        (sf.RecursiveLDiversity(1.5, 2), "holds"),
        (sf.RecursiveLDiversity(0.5, 2), "broken"),
        (sf.TCloseness(1 / 6), "holds"),
        (sf.TCloseness(0.16), "broken"),
        (sf.BasicBetaLikeness(1), "holds"),
        (sf.BasicBetaLikeness(0.1), "broken"),
        (sf.KAnonymity(1), "not verifiable from the release"),
        (sf.AlphaKAnonymity(1, 1), "not verifiable from the release"),
        (sf.SubsetKAnonymity(1, 1), "not verifiable from the release"),
        (sf.WildcardKAnonymity(1), "not verifiable from the release"),
    ],
)
def test_every_model_is_recounted_bucket_by_bucket(model, expected):
    assert str(outcome(tables(GOOD), model)) == expected


def test_every_model_of_the_library_is_either_recounted_or_undecided():
    of_records = {"k-anonymity", "alpha-k-anonymity", "subset-k-anonymity", "wildcard-k-anonymity"}
    of_population = {"k-map", "delta-presence", "average-risk", "highest-risk", "profitability"}
    of_population |= {"sample-uniques", "population-uniques"}
    assert of_records | of_population == {*MODELS} - {*promisable("buckets")}


def test_the_detail_counts_buckets_and_records():
    (check,) = check_buckets(tables([(5, "flu", 3), (9, "flu", 1), (9, "gout", 1)]), [sf.DistinctLDiversity(2)], ILL)
    assert check.outcome is Outcome.BROKEN
    assert check.detail == "1 of 2 buckets with 3 records break it"
    assert str(check.achieved[0]) == "l=1 on ill"


ILL = {"ill": Attribute()}


def test_a_value_named_twice_in_a_bucket_counts_summed():
    published = tables([(0, "flu", 1), (0, "flu", 1), (0, "gout", 1)])
    (check,) = check_buckets(published, [sf.ProbabilisticLDiversity(2)], ILL)
    assert check.outcome is Outcome.BROKEN
    assert check.achieved[0].value == 1.5


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0), (-7, 2**62), (5, -5)])
def test_the_numbers_and_the_order_of_buckets_mean_nothing(numbers):
    rows = [(numbers[bucket], value, count) for bucket, value, count in GOOD]
    for counts in (rows, rows[::-1]):
        statistics = bucket_statistics(tables(counts), Attribute())
        assert sorted(statistics.sizes.tolist()) == [2, 4]
        assert outcome(tables(counts), sf.ProbabilisticLDiversity(2)) is Outcome.HOLDS


def test_a_missing_value_is_a_value():
    assert outcome(tables([(0, "flu", 1), (0, None, 1)]), sf.ProbabilisticLDiversity(2)) is Outcome.HOLDS
    assert outcome(tables([(0, None, 2)]), sf.DistinctLDiversity(2)) is Outcome.BROKEN


def test_numbers_are_ranked_by_value_and_not_as_text():
    counts = [(0, 9, 1), (0, 10, 1), (0, 11, 1), (1, 3, 1), (1, 100, 1), (1, 4, 1)]
    ordered = Attribute(kind=Kind.NUMERIC)
    (check,) = check_buckets(tables(counts), [sf.TCloseness(1)], {"ill": ordered})
    # The bucket has ranks 2, 3, 4 of 0 … 5: cumulated differences of 1, 2, 1, 0, 1 sixths over five steps.
    assert check.achieved[0].value == pytest.approx(5 / 6 / 5)


def test_a_hierarchy_counts():
    tree = Attribute(hierarchy=sf.groups({"lungs": ["flu", "cold"], "skin": ["rash", "burn"]}))
    near = [(0, "flu", 1), (0, "rash", 1), (1, "cold", 1), (1, "burn", 1)]
    far = [(0, "flu", 1), (0, "cold", 1), (1, "rash", 1), (1, "burn", 1)]
    model = sf.TCloseness(1, "hierarchical")
    reached = [check_buckets(tables(counts), [model], {"ill": tree})[0].achieved[0].value for counts in (near, far)]
    assert reached == [0.25, 0.5]


# tables that contradict themselves are never put together


@pytest.mark.parametrize(
    ("counts", "records", "says"),
    [
        ([(0, "flu", 1), (0, "gout", 1)], [0], "same numbers of records"),
        ([(0, "flu", 1), (0, "gout", 1)], [0, 1], "same numbers of records"),
        ([(0, "flu", 1), (1, "gout", 1)], [0, 0], "same numbers of records"),
        ([(0, "flu", 2), (0, "gout", 0)], [0, 0], "1 or more"),
        ([(0, "flu", 3), (0, "gout", -1)], [0, 0], "1 or more"),
        ([(0, "flu", 2**62), (0, "gout", 2**62)], [0, 0], "at most the number"),
        ([(0, "flu", 1), (0, "gout", None)], [0], "needs its bucket"),
        ([(0, "flu", 1), (None, "gout", 1)], [0, 0], "needs its bucket"),
        ([(0, "flu", 1), (0, "gout", 1)], [0, None], "needs its bucket"),
        ([(0, "flu", 0.5), (0, "gout", 0.5)], [0], "whole numbers"),
        ([(0.5, "flu", 1), (0.5, "gout", 1)], [0, 0], "whole numbers"),
        ([("a", "flu", 1), ("a", "gout", 1)], ["a", "a"], "whole numbers"),
    ],
)
def test_counts_that_cannot_be(counts, records, says):
    with pytest.raises(sf.InputError, match=says):
        tables(counts, records)


def test_columns_that_do_not_belong_there():
    published = tables(GOOD)
    quasi, counts = published.quasi, published.counts
    wrong = [
        (quasi.with_columns(ill=pl.lit("flu")), counts, ("age",), "ill"),
        (quasi, counts.with_columns(age=pl.lit(3)), ("age",), "ill"),
        (quasi.drop("bucket"), counts, ("age",), "ill"),
        (quasi, counts.drop("count"), ("age",), "ill"),
        (quasi, counts, ("age", "age"), "ill"),
        (quasi, counts, ("age", "bucket"), "ill"),
        (quasi, counts, ("age",), "bucket"),
        (quasi, counts, ("age",), "count"),
        (quasi, counts, ("height",), "ill"),
    ]
    for parts in wrong:
        with pytest.raises(sf.InputError):
            BucketizedTables(*parts)

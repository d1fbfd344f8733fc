"""Worlds of a few records: what is counted there, and that reports say so where somebody exceeds 1/l."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from benchmarks.small_worlds import WAYS, drawn, highest, played, signature

import sfumato as sf
from sfumato.published import BucketizedTables, PublishedTable, SlicedTable

PEOPLE = [(20, "f", "a"), (21, "m", "a"), (30, "f", "b"), (31, "m", "b"), (40, "f", "a"), (41, "m", "b")]


def test_beliefs_are_shares_of_the_worlds_that_lead_there() -> None:
    assert highest(Counter({("u", "v"): 1, ("v", "u"): 1}), True) == 0.5
    assert highest(Counter({("u", "v", "v"): 1, ("v", "u", "v"): 2}), True) == 1
    # Twice is not often enough to be sure, a hundred times is.
    assert highest(Counter({("u", "v"): 2}), False) == 0
    assert highest(Counter({("u", "v"): 100}), False) == 1
    assert highest(Counter({("u", "v"): 55, ("v", "u"): 45}), False) == 0


def test_order_and_numbers_of_buckets_make_no_difference() -> None:
    quasi = pl.DataFrame({"x": [1, 2, 3, 4], "bucket": [0, 0, 1, 1]})
    counts = pl.DataFrame({"bucket": [0, 0, 1], "s": ["u", "v", "u"], "count": [1, 1, 2]})
    turned = quasi.with_columns(bucket=1 - pl.col("bucket")).reverse()
    one = BucketizedTables(quasi, counts, ("x",), "s")
    other = BucketizedTables(turned, counts.with_columns(bucket=1 - pl.col("bucket")), ("x",), "s")
    assert signature(one) == signature(other)
    assert signature(one) != signature(BucketizedTables(turned, counts, ("x",), "s"))
    table = PublishedTable(pl.DataFrame({"x": ["[1..2]", "[3..4]"], "s": ["u", "v"]}), ("x",), ("s",))
    assert signature(table) == signature(PublishedTable(table.data.reverse(), ("x",), ("s",)))
    slices = pl.DataFrame({"bucket": [0, 0, 1], "x": [1, 2, 3], "s": ["u", "v", "u"]})
    one = SlicedTable(slices, (("x",), ("s",)), ("s",))
    assert signature(one) == signature(SlicedTable(slices.reverse(), (("x",), ("s",)), ("s",)))
    swapped = slices.with_columns(s=pl.Series(["v", "u", "u"]))
    assert signature(one) == signature(SlicedTable(swapped, (("x",), ("s",)), ("s",)))
    together = tuple(signature(SlicedTable(frame, (("x", "s"),), ("s",))) for frame in (slices, swapped))
    assert together[0] != together[1]


def test_cuts_that_were_refused_tell_and_blind_ones_do_not() -> None:
    found = played(sf.Mondrian(), 1, PEOPLE, "uuvvww")
    blind = played(sf.Mondrian(blind=True), 1, PEOPLE, "uuuvvv")
    assert found is not None
    assert blind is not None
    assert (found.worlds, blind.worlds) == (90, 20)
    assert found.certain > 0
    assert (blind.above, blind.highest <= 0.5) == (0, True)


def test_slices_that_share_attributes_tell_too() -> None:
    """The sixth table: the bound of one half does not hold against somebody who knows how columns were chosen."""
    found = played(sf.OverlappingSlicing(), 1, drawn(6, 6), "uuuvvv")
    assert found is not None
    assert (found.worlds, found.releases, found.above, found.certain) == (20, 3, 2, 1)


@pytest.mark.parametrize("name", WAYS)
def test_reports_say_that_who_knows_the_algorithm_may_learn_more(name: str) -> None:
    frame = pl.DataFrame(PEOPLE, schema=["age", "sex", "ward"], orient="row")
    frame = frame.with_columns(ill=pl.Series(list("uvuvuv")))
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex", "ward"], sensitive=["ill"]))
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=WAYS[name][0], seed=1)
    warned = "who knows the algorithm may learn more" in str(release.report)
    assert warned != getattr(WAYS[name][0], "blind", False)

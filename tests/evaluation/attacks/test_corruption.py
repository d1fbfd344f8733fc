"""Corruption: against all worlds, and where it must succeed and cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, people
from evaluation.attacks.inference_tables import target
from examples import examples
from naive.corrupted import beliefs
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks import Corruption
from sfumato.evaluation.attacks.corruption import groups_of, taken_out
from sfumato.published import BucketizedTables, PublishedTable
from sfumato.recoding import Recoding

PEOPLE = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("uvw"), st.booleans()), min_size=2, max_size=6)
TYPED = sf.Schema(quasi_identifying={"x": sf.Attribute(kind="numeric")}, sensitive=["s"])


def kinds(drawn: list[tuple[int, str, bool]]) -> dict[str, PublishedTable | BucketizedTables]:
    """Two classes of a generalized table, or two buckets of different people."""
    values = pl.Series("s", [value for _, value, _ in drawn])
    labels = pl.Series("x", [f"[{10 * group}..{10 * group + 9}]" for group, _, _ in drawn])
    buckets = pl.Series("bucket", [group for group, _, _ in drawn])
    quasi = pl.DataFrame([pl.Series("x", [10 * group + place for place, (group, _, _) in enumerate(drawn)]), buckets])
    counts = pl.DataFrame([buckets, values]).group_by("bucket", "s").len("count").sort("bucket", "s")
    return {
        "generalized": PublishedTable(pl.DataFrame([labels, values]), ("x",), ("s",)),
        "bucketized": BucketizedTables(quasi, counts, ("x",), "s"),
    }


@pytest.mark.parametrize("kind", ["generalized", "bucketized"])
@given(PEOPLE)
@examples(60)
def test_beliefs_are_shares_of_the_worlds_that_are_left(kind: str, drawn: list[tuple[int, str, bool]]) -> None:
    group_of, values = [group for group, _, _ in drawn], [value for _, value, _ in drawn]
    known = np.array([told for _, _, told in drawn])
    frame = pl.DataFrame({"x": [10 * group + place for place, group in enumerate(group_of)], "s": values})
    groups = groups_of(kinds(drawn)[kind], sf.read_table(frame, TYPED), "s", Recoding())
    assert groups is not None
    truth = np.array([groups.values.index(value) for value in values])
    everybody = np.arange(len(drawn))
    for told in (known, np.ones(len(drawn), dtype=bool), np.zeros(len(drawn), dtype=bool)):
        found = taken_out(groups, truth, told).beliefs(everybody, truth)
        for victim in everybody:
            # In a bucket of equal rows nobody knows which row is whose; here all are different.
            expected = beliefs(group_of, values, told.tolist(), int(victim))
            best = max(expected.values())
            named = [value for value, share in expected.items() if share == best]
            assert found.belief[victim] == pytest.approx(float(best))
            assert found.right[victim] == pytest.approx((values[victim] in named) / len(named))


def test_equal_rows_of_several_buckets_are_spread() -> None:
    """Two rows of 1, in a bucket with u and v, and in one with v and w; one of the two has u: the other has v or w."""
    quasi = pl.DataFrame({"x": [1, 5, 1, 7], "bucket": [0, 0, 1, 1]})
    counts = pl.DataFrame({"bucket": [0, 0, 1, 1], "s": ["u", "v", "v", "w"], "count": [1, 1, 1, 1]})
    published = BucketizedTables(quasi, counts, ("x",), "s")
    table = sf.read_table(pl.DataFrame({"x": [1, 5, 1, 7], "s": ["u", "v", "v", "w"]}), TYPED)
    groups = groups_of(published, table, "s", Recoding())
    assert groups is not None
    assert groups.values == ("u", "v", "w")
    left = taken_out(groups, np.array([0, 1, 1, 2]), np.array([True, False, False, False]))
    assert left.taken.tolist() == [[1, 0, 0], [0, 0, 0]]
    found = left.beliefs(np.array([1, 2]), np.array([0, 1, 1, 2]))
    assert found.belief.tolist() == [1, 0.5]
    assert found.right.tolist() == [1, 0.5]


@pytest.fixture(scope="module")
def parts() -> tuple[sf.Table, sf.Table]:
    frame = people(900, 4).drop("name")
    return sf.read_table(frame[:700], SCHEMA), sf.read_table(frame[700:], SCHEMA)


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Bucketization(members="random")])
def test_the_more_is_known_the_more_is_told(parts, anonymizer) -> None:
    table, control = parts
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(3), anonymizer=anonymizer, seed=1)
    shares = []
    for corrupted in (0.1, 0.5, 0.9, 1.0):
        (played,) = sf.attack(release, table, control=control, attacks=Corruption(corrupted), seed=1).results
        shares.append(played.success.share)
        assert played.allowed is None
        assert played.control is not None
        # Nothing of people who are not in the data is in any group.
        assert played.control.interval[0] < 0.25
        assert played.success.people == (700 if corrupted == 1 else 700 - round(700 * corrupted))
    assert shares == sorted(shares)
    assert shares[0] < 0.4
    assert shares[-1] > 0.85
    assert played.succeeds
    assert "everybody else" in played.knows


def test_one_class_of_everybody_keeps_it() -> None:
    """Half of the values of one large class say nothing of the other half; all others say everything."""
    table = sf.read_table(people(400, 4).drop("name"), SCHEMA)
    stars = table.frame.with_columns(**{name: pl.lit("*") for name in ("age", "sex", "zip")})
    published = PublishedTable(stars, ("age", "sex", "zip"), ("disease",))
    half, whole = sf.attack(published, table, attacks=[Corruption(0.5), Corruption(1)], seed=1).results
    assert not half.succeeds
    assert whole.success.share == 1
    assert whole.figures["certain_and_right"] == 1


def test_a_value_that_was_not_published() -> None:
    frame = people(100, 4).drop("name")
    release = sf.anonymize(sf.read_table(frame, SCHEMA), sf.KAnonymity(4), seed=1)
    other = sf.read_table(frame.with_columns(disease=pl.lit("another")), SCHEMA)
    (played,) = sf.attack(release, other, attacks="corruption", seed=1).results
    assert played.success.successes == 0


def test_where_it_is_not_played() -> None:
    frame = people(60, 4).drop("name")
    table = sf.read_table(frame, SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    assert "an assumption" in sf.attack(release, table).unplayed["corruption"]
    several = replace(table, people=np.repeat(np.arange(30, dtype=np.int32), 2))
    assert "several records" in str(Corruption().play(target(release.published, several))[0].unplayed)
    schema = sf.Schema(quasi_identifying=["height"], sensitive=["disease"])
    strangers = sf.read_table(frame.select(height="age", disease="disease"), schema)
    with pytest.raises(InputError, match="share no"):
        Corruption().play(target(release.published, strangers))


@pytest.mark.parametrize("share", [0, -1, 1.5, True, "half"])
def test_bad_options(share: object) -> None:
    with pytest.raises(PolicyError, match="corruption: corrupted"):
        Corruption(share)  # type: ignore[arg-type]

"""Picking from the class that covers least: against a plain twin, where it is the truth, and within 1/k."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, people
from examples import examples
from naive import densest as naive
from naive.linkage import fits
from sfumato.evaluation.attacks import Linkage
from sfumato.evaluation.attacks.linkage import (
    densest_pairs,
    list_pairs,
    picks_of,
    read_links,
    spread_originals,
    strange_rows,
)
from sfumato.evaluation.attacks.people import OwnRecords, Victims
from sfumato.published import PublishedTable
from sfumato.recoding import Recoding

LABELS = st.tuples(
    st.sampled_from(["[0..3]", "[2..6]", "[0..9]", "4", "*"]), st.sampled_from(["a", "{a|b}", "{b|c}", "*"])
)
ROWS = st.lists(st.tuples(LABELS, st.sampled_from("uv")), min_size=1, max_size=14)
PEOPLE = st.lists(
    st.tuples(st.integers(0, 9) | st.none(), st.sampled_from("abc"), st.sampled_from("uvw")), min_size=2, max_size=10
)
QUASI = sf.Schema(quasi_identifying={"x": sf.Attribute(kind="numeric"), "c": None})


@given(ROWS, PEOPLE)
@example(
    [(("[0..3]", "a"), "u"), (("[0..3]", "{a|b}"), "u")],
    # One of the first key was left out, and somebody with a key that no row has.
    [(0, "a", "u"), (0, "a", "u"), (None, "a", "v"), (0, "b", "u")],
)
@examples(80)
def test_what_is_picked_and_how_it_is_judged(rows, asked) -> None:
    labels, keys = [label for label, _ in rows], [key for _, key in rows]
    published = pl.DataFrame(
        [(*label, key) for label, key in rows], schema=dict.fromkeys("xcs", pl.String), orient="row"
    )
    frame = pl.DataFrame(asked, schema={"x": pl.Int64, "c": pl.String, "s": pl.String}, orient="row")
    each = np.arange(frame.height)
    victims = Victims(frame, QUASI, each, OwnRecords(frame, each, frame["s"].alias("key")))
    reading = read_links(published, victims, ("x", "c"), published["s"], Recoding())
    pairs = list_pairs(reading.publication, reading.known)
    assert pairs is not None
    best = densest_pairs(reading.publication, pairs)
    first = {int(owner): labels[row] for row, owner in reversed(list(enumerate(reading.publication.class_of)))}
    known = [(one[0], one[1]) for one in asked]
    # What nobody's value is known of is no label's: the twin reads texts, the attack codes.
    readable = any(x is not None for x, _ in known)
    where = spread_originals(reading, pairs)
    chances = naive.spread(labels, keys, known, [one[2] for one in asked], 500)
    for place, person in enumerate(known):
        if not readable:
            continue
        mine = pairs.vector == pairs.vector_of[place]
        found = {first[int(owner)] for owner in pairs.owner[mine & best]}
        assert found == set(naive.densest(labels, person, known))
        sorts = where.sort == where.sort_of[place]
        spread = {
            first[int(owner)]: share for owner, share in zip(where.owner[sorts], where.chance[sorts], strict=True)
        }
        for label in set(labels):
            # Records that cannot all be somewhere have no spread that fits; both then stop at the same round.
            assert spread.get(label, 0.0) == pytest.approx(min(chances[place].get(label, 0.0), 1.0), abs=1e-3)
    if readable:
        shown = Counter(zip(labels, keys, strict=True))
        fitting = {
            (label, key): sum(one[2] == key and all(map(fits, label, one[:2])) for one in asked) for label, key in shown
        }
        strange = (shown - Counter(fitting)).total()
        told = strange_rows(reading, pairs)
        assert (told is None) if not strange else (told or "").startswith(f"no original record fits {strange} row")
    picks = picks_of(reading, reading, each)
    if picks is not None:
        total = sum(picks.own[picks.rows > 0] / picks.rows[picks.rows > 0])
        assert total <= len(set(labels)) + 1e-6


def test_two_classes_fit_and_the_smaller_one_is_it() -> None:
    """Somebody of 3 fits both; two of three records with 3 are in the small class."""
    table = PublishedTable(pl.DataFrame({"x": ["[3..4]"] * 2 + ["[0..9]"] * 4, "s": list("abcdef")}), ("x",), ("s",))
    original = pl.DataFrame({"x": [3, 4, 0, 3, 8, 9], "s": list("abcdef")})
    schema = sf.Schema(quasi_identifying=["x"], sensitive=["s"])
    (_, alike), (_, weighed) = (
        sf.attack(table, original, schema=schema, attacks=Linkage(weighs=weighs)).results for weighs in (False, True)
    )
    assert alike.success.successes == pytest.approx(3 / 6 + 3 / 4)
    # The records of 3 and 4: half of each small class of two; d looks there in vain.
    assert weighed.success.successes == pytest.approx(2 / 2 + 3 / 4)
    assert weighed.figures["picking_from_all_that_fit"] == pytest.approx((3 / 6 + 3 / 4) / 6)
    assert "covers least" in weighed.goal
    assert "covers least" not in alike.goal


def test_it_is_judged_by_what_is_true_even_if_keys_are_not_told_apart() -> None:
    """With a key for each record the spread is the truth; with few keys it comes near."""
    frame = people(600, 4).drop("name").with_columns(number=pl.int_range(600))
    shares = []
    for kept in (["number"], []):
        schema = replace(SCHEMA, insensitive=tuple(kept), others="drop")
        table = sf.read_table(frame, schema)
        release = sf.anonymize(table, sf.KAnonymity(5), anonymizer=sf.KMember(), seed=1)
        result = sf.attack(release, table, attacks="linkage").results[1]
        assert result.is_allowed
        assert result.success.share <= 0.2
        shares.append((result.success.share, result.figures["picking_from_all_that_fit"]))
    (true, alike), (judged, alike_again) = shares
    assert alike == pytest.approx(alike_again)
    assert true > alike * 1.02
    assert judged == pytest.approx(true, abs=0.01)


def test_a_register_of_some_people_is_judged_by_all_records() -> None:
    frame = people(300, 4)
    named = sf.Schema(identifying=["name"], quasi_identifying=SCHEMA.quasi_identifying, sensitive=["disease"])
    release = sf.anonymize(sf.read_table(frame, named), sf.KAnonymity(4), anonymizer=sf.KMember(), seed=1)
    whole = sf.attack(release, frame, schema=named, register=frame, attacks="linkage").results[1]
    rates = []
    for part in (frame[:150], frame[150:]):
        # Somebody who is not in the data is in the register, too.
        stranger = frame[:1].with_columns(name=pl.lit("nobody"))
        register = pl.concat([part, stranger])
        result = sf.attack(release, frame, schema=named, register=register, attacks="linkage").results[1]
        assert result.success.people == 150
        rates.append(result.success.share)
    # A part has fewer values to count, so that volumes differ a little.
    assert np.mean(rates) == pytest.approx(whole.success.share, abs=0.03)


def test_where_classes_do_not_overlap_nothing_changes() -> None:
    table = sf.read_table(people(200, 4).drop("name"), SCHEMA)
    stars = table.frame.with_columns(age=pl.lit("*"))
    played = [
        sf.attack(PublishedTable(stars, ("age", "sex", "zip"), ("disease",)), table, attacks=Linkage(weighs=weighs))
        for weighs in (False, True)
    ]
    assert played[0].results[1] == played[1].results[1]


@pytest.mark.parametrize("attack", ["linkage", "nearest-linkage"])
def test_a_release_of_others_links_nobody(attack: str) -> None:
    """Plain values link its own people; those of others fit many records, too, and none is theirs."""
    table, others = (sf.read_table(people(300, seed).drop("name"), SCHEMA) for seed in (1, 2))
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=sf.Bucketization(), seed=1)
    own, strange = (sf.attack(release, one, attacks=attack).results[0] for one in (table, others))
    assert own.succeeds
    assert own.notes == ()
    assert not strange.succeeds
    assert strange.success.successes > 0
    assert strange.notes[0].startswith("no original record fits")

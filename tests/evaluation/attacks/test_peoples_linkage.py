"""Linking people who have several records: against the plain twin, and by hand."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.linked_people import linked_apart, linked_together
from sfumato.evaluation.attacks.linkage import Linkage
from sfumato.evaluation.attacks.people import known_records
from sfumato.evaluation.attacks.play import rows_of_people
from sfumato.evaluation.attacks.protocol import RowsOfPeople, Target
from sfumato.published import PublishedTable
from sfumato.release.verify import read_release

SCHEMA = sf.Schema(person="who", quasi_identifying=["age", "ward"], sensitive=["ill"])
AGES = st.integers(20, 26)
WARDS = st.sampled_from("ABC")
RECORDS = st.lists(st.tuples(st.integers(0, 4), AGES, WARDS, st.sampled_from(["flu", "cold"])), min_size=1, max_size=9)
TOGETHER = RowsOfPeople(promised=True, together=True)


@st.composite
def published_records(draw: st.DrawFn) -> tuple[list[tuple[int, int, str, str]], list[tuple[str, str, str]]]:
    """Records of people, and rows whose labels cover them, or anything else."""
    records = draw(RECORDS)
    rows = []
    for _, age, ward, ill in records:
        low, high = age - draw(st.integers(0, 3)), age + draw(st.integers(0, 3))
        wards = "".join(sorted({ward, *draw(st.sets(WARDS, max_size=2))}))
        rows.append((f"[{low}..{high}]", "{" + "|".join(wards) + "}", ill))
    dropped = draw(st.integers(0, len(rows) - 1))
    return records, rows[dropped:]


def frame_of(records: list[tuple[int, int, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(records, schema=["who", "age", "ward", "ill"], orient="row")


def release_of(rows: list[tuple[str, str, str]]) -> PublishedTable:
    return PublishedTable(pl.DataFrame(rows, schema=["age", "ward", "ill"], orient="row"), ("age", "ward"), ("ill",))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("told", ["all", "one", 2])
@given(published_records())
@examples(40)
def test_people_are_found_as_often_as_by_looking_at_every_row(together, told, drawn):
    records, rows = drawn
    table = sf.read_table(frame_of(records), SCHEMA)
    several = len({who for who, *_ in records}) < len(records)
    target = Target(release_of(rows), table, rows=TOGETHER if together else RowsOfPeople(), seed=1, records_known=told)
    sole, picked = Linkage(weighs=False).play(target)
    chosen = known_records(target, table).places.tolist()
    known, own = defaultdict(list), defaultdict(list)
    for place, (who, age, ward, ill) in enumerate(records):
        known[who] += [(age, ward)] if place in chosen else []
        own[who].append(((age, ward), ill))
    most = {"all": len(records), "one": 1, 2: 2}[told]
    assert all(len(known[who]) == min(most, len(own[who])) for who in own)
    labels, keys = [row[:2] for row in rows], [row[2] for row in rows]
    # Where everybody has one record, it makes no difference where rows lie.
    linked = linked_together if together or not several else linked_apart
    found = [linked(labels, keys, known[who], own[who]) for who in known]
    assert picked.success.people == sole.success.people == len(known)
    assert picked.success.successes == pytest.approx(float(sum((chance for chance, _ in found), Fraction(0))))
    assert sole.success.successes == sum(alone for _, alone in found)


def stays(seed: int, people: int = 150) -> pl.DataFrame:
    """Stays of people, whose ages rise a little and whose wards change."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), generator.integers(1, 7, people))
    generator.shuffle(who)
    return pl.DataFrame(
        {
            "who": [f"P{number}" for number in who],
            "age": 3 * who + generator.integers(0, 2, len(who)),
            "ward": generator.choice(list("ABC"), len(who)),
            "ill": generator.choice(["flu", "cold", "gout"], len(who)),
        }
    )


@pytest.mark.parametrize("k", [2, 4])
def test_who_knows_all_records_beats_a_release_of_records_and_not_one_of_people(k):
    frame = stays(1)
    table = sf.read_table(frame, SCHEMA)
    of_people = sf.anonymize(table, sf.KAnonymity(k), seed=1)
    plain = sf.Schema(quasi_identifying=["age", "ward"], sensitive=["ill"], others="drop")
    of_records = sf.anonymize(sf.read_table(frame, plain), sf.KAnonymity(k), seed=1)
    kept, beaten = (sf.attack(each, table, attacks="linkage", seed=1)["linkage"][1] for each in (of_people, of_records))
    assert kept.success.people == beaten.success.people == 150
    assert kept.allowed == 1 / k
    assert kept.success.share <= 1 / k
    assert kept.is_allowed
    # The promise to records says nothing of people, and is exceeded.
    assert beaten.allowed is None
    assert beaten.success.share > 1 / k
    assert beaten.succeeds
    one = sf.attack(of_records, table, attacks="linkage", records_known="one", seed=1)["linkage"][1]
    alone = sf.attack(of_records, sf.read_table(frame, plain), attacks="linkage", seed=1)["linkage"][1]
    assert alone.success.share <= 1 / k
    assert alone.success.share < one.success.share < beaten.success.share


def test_a_person_who_fills_a_class_is_found_for_certain():
    frame = pl.DataFrame({"who": ["a"] * 3 + ["b", "c", "d"], "age": [30] * 3 + [50] * 3, "ward": "A", "ill": "flu"})
    table = sf.read_table(frame, SCHEMA)
    release = PublishedTable(frame.drop("who").cast(pl.String), ("age", "ward"), ("ill",))
    played = sf.attack(release, table, attacks="linkage")
    sole, picked = played["linkage"]
    assert sole.success.successes == 1
    assert picked.success.successes == pytest.approx(1 + 3 / 3)
    assert "4 people with 6 records" in str(played)
    assert "all records of theirs" in str(played)


@pytest.mark.parametrize("seed", range(3))
def test_a_release_of_people_is_read_as_one_whose_rows_lie_together(seed):
    """More records of somebody exclude classes that one record, or each by itself, would leave."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(40), 2)
    wards = generator.choice(list("ABC"), 80)
    frame = pl.DataFrame({"who": who, "age": generator.integers(20, 70, 80), "ward": wards, "ill": "flu"})
    table = sf.read_table(frame, SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.MDAV(), seed=1)
    labels = release.data.select("age", "ward").cast(pl.String).rows()
    records = frame.select("age", "ward").rows()
    found = [
        linked_together(labels, ["flu"] * len(labels), known, [(record, "flu") for record in known])
        for known in (records[place : place + 2] for place in range(0, 80, 2))
    ]
    picked = sf.attack(release, table, attacks="linkage", seed=1)["linkage"][1].success
    assert picked.successes == pytest.approx(float(sum((chance for chance, _ in found), Fraction(0))))
    # Where a class covers all of them, the chances of single records add up to most there.
    apart = Linkage().play(Target(release.published, table, seed=1))[1].success
    assert apart.successes == pytest.approx(picked.successes)


def test_what_a_release_says_of_the_rows_of_a_person():
    frame = stays(7, people=30)
    of_people = sf.anonymize(sf.read_table(frame, SCHEMA), sf.KAnonymity(3), seed=1)
    plain = sf.Schema(quasi_identifying=["age", "ward"], sensitive=["ill"], others="drop")
    of_records = sf.anonymize(sf.read_table(frame, plain), sf.KAnonymity(3), seed=1)
    apart = sf.anonymize(sf.read_table(frame, SCHEMA), sf.KAnonymity(3), people=sf.People(rows="apart"), seed=1)
    assert rows_of_people(read_release(of_people)) == TOGETHER
    assert rows_of_people(read_release(of_records)) == rows_of_people(None) == RowsOfPeople()
    assert rows_of_people(read_release(apart)) == RowsOfPeople(promised=True)


@pytest.mark.parametrize("seed", range(3))
def test_rows_apart_stand_against_somebody_who_knows_one_record(seed):
    table = sf.read_table(stays(seed, people=40), SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(3), people=sf.People(rows="apart"), seed=seed)
    for result in sf.attack(release, table, attacks="linkage", records_known="one", seed=1)["linkage"]:
        assert result.success.share <= 1 / 3


def test_shares_are_allowed_only_where_they_are_promised():
    table = sf.read_table(stays(2), SCHEMA)
    plain = sf.anonymize(table, sf.KAnonymity(3, shares=False), seed=1)
    assert sf.attack(plain, table, attacks="linkage", seed=1)["linkage"][1].allowed is None


@pytest.mark.parametrize("known", ["one", 2, "all"])
def test_it_does_not_matter_in_which_order_records_stand(known):
    frame = stays(3)
    release = sf.anonymize(sf.read_table(frame, SCHEMA), sf.KAnonymity(3), seed=1)
    shares = {
        tuple(
            round(result.success.successes, 6)
            for result in sf.attack(
                release,
                sf.read_table(frame.sample(fraction=1, shuffle=True, seed=order), SCHEMA),
                attacks=["linkage", "homogeneity"],
                records_known=known,
                seed=7,
            ).results
        )
        for order in range(3)
    }
    assert len(shares) == 1


def test_a_register_names_a_person_once():
    frame = stays(4)
    release = sf.anonymize(sf.read_table(frame, SCHEMA), sf.KAnonymity(3), seed=1)
    few = frame.filter(pl.col("who").is_in([f"P{number}" for number in range(40)])).drop("ill")
    others = few.with_columns(pl.format("Q{}", "who").alias("who"))
    played = sf.attack(release, frame, schema=SCHEMA, attacks="linkage", register=pl.concat([few, others]))
    assert [result.success.people for result in played["linkage"]] == [40, 40]
    assert played["linkage"][0].figures["register_not_in_the_data"] == 40
    everybody = sf.attack(release, frame, schema=SCHEMA, attacks="linkage", register=frame.drop("ill"))
    same = sf.attack(release, sf.read_table(frame, SCHEMA), attacks="linkage")
    for one, other in zip(everybody["linkage"], same["linkage"], strict=True):
        assert one.success.successes == pytest.approx(other.success.successes)
        assert one.success.people == other.success.people


def test_names_that_repeat_need_a_person_column():
    frame = stays(5).rename({"who": "name"})
    schema = sf.Schema(identifying=["name"], quasi_identifying=["age", "ward"], sensitive=["ill"])
    release = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3), seed=1)
    with pytest.raises(sf.InputError, match=r"repeat an earlier one.*person"):
        sf.attack(release, frame, schema=schema, attacks="linkage", register=frame.drop("ill"))


@pytest.mark.parametrize("wrong", [0, -1, True, "two", 1.5, None])
def test_what_cannot_be_a_number_of_records(wrong):
    frame = stays(6)
    table = sf.read_table(frame, SCHEMA)
    release = sf.anonymize(table, sf.KAnonymity(3), seed=1)
    with pytest.raises(sf.InputError, match="records_known"):
        sf.attack(release, table, attacks="linkage", records_known=wrong)


@given(published_records(), st.booleans())
@examples(40)
def test_the_linking_attack_of_the_interface(drawn, together):
    records, rows = drawn
    frame = frame_of(records)
    result = sf.linking_attack(release_of(rows).data, frame.drop("ill"), SCHEMA, truth=frame, together=together)
    people = {who for who, *_ in records}
    assert (result.people, result.known, result.in_table) == (len(people), len(records), len(people))
    labels = [row[:2] for row in rows]
    certainty = Fraction(0)
    for person in people:
        known = [(age, ward) for who, age, ward, _ in records if who == person]
        own = [(record, None) for record in known]
        linked = linked_together if together or len(people) == len(records) else linked_apart
        chance, _ = linked(labels, [None] * len(rows), known, own)
        certainty += chance if linked is linked_together else _believed(labels, known)
    assert result.certainty.successes == pytest.approx(float(certainty))


def _believed(labels: list[tuple[str, ...]], known: list[tuple[int, str]]) -> Fraction:
    """The densest chance, as the attacker sees it."""
    from naive.linked_people import covers

    fitting = [[label for label in labels if covers(label, record)] for record in known]
    chances = [sum((Fraction(1, len(rows)) for rows in fitting if label in rows), Fraction(0)) for label in set(labels)]
    return min(Fraction(1), max(chances, default=Fraction(0)))

"""People below a limit are withdrawn whole, until nobody is and every model holds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import fingerprints as naive
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.policy.policy import Policy
from sfumato.release.people import PeopleBehind, PeoplesLimit, withdrawn, within_fingerprint_limit
from sfumato.release.task import Task

Rows = Sequence[tuple[int, int, int, int]]
"""Class, number of the person inside of it, and two sensitive values of each record."""


def task_of(rows: Rows, limit: float, models: Sequence[sf.KAnonymity], asked: sf.People, suppressed: str) -> Task:
    frame = pl.DataFrame(
        {
            "who": [f"{place}/{person}" for place, person, *_ in rows],
            "age": [place for place, *_ in rows],
            "ill": [f"v{one}" for _, _, one, _ in rows],
            "drug": [f"v{other}" for *_, other in rows],
        }
    )
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["ill", "drug"], person="who")
    recoding = sf.Recoding(suppressed=suppressed)  # type: ignore[arg-type]
    policy = Policy.of(schema, models, sf.Mondrian(), recoding, limit, people=asked)
    return Task(sf.read_table(frame, schema), policy)


def problem_of(task: Task) -> tuple[Problem, Partition]:
    problem = task.problem(task.encoded())
    ages = task.table.frame["age"].to_numpy()
    _, class_of = np.unique(ages, return_inverse=True)
    return problem, Partition(class_of.astype(np.int32), int(class_of.max()) + 1)


def published(known: int, least: int) -> sf.People:
    return sf.People(pseudonyms="published", known_values=known, fingerprint_k=least)


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=60
)


SMALL = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 2), st.integers(0, 1)), min_size=4, max_size=40
)


@given(SMALL, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans(), st.sampled_from([0.3, 0.6, 1.0]))
@examples(200)
def test_just_those_go_who_must(rows, known, least, k, shares, limit):
    """Where what is left out is removed, and is as many people as a class has, or nobody."""

    def holds(members):
        most = max(members.count(person) for person in set(members))
        return len(set(members)) >= k and (not shares or most * k <= len(members))

    classes = [[row for row, own in enumerate(rows) if own[0] == place] for place in sorted({own[0] for own in rows})]
    people = [own[:2] for own in rows]
    columns = [[own[place] for own in rows] for place in (2, 3)]
    must = naive.withdrawn(classes, people, columns, known, least, holds)
    task = task_of(rows, limit, [sf.KAnonymity(k, shares=shares)], published(known, least), "remove")
    problem, partition = problem_of(task)
    may = math.floor(limit * len(set(people)) + 1e-9), math.floor(limit * len(rows) + 1e-9)
    gone_records = sum(person in must for person in people)
    fits = len(must) <= may[0] and gone_records <= may[1] and len(must) < len(set(people))
    try:
        found = within_fingerprint_limit(partition, problem, PeopleBehind.of(task), task)
    except sf.UnsatisfiableError:
        assert not fits or 0 < len(must) < k
        return
    gone = {people[row] for row in np.flatnonzero(found.class_of < 0)}
    assert {people[row] for row in np.flatnonzero(found.class_of >= 0)}.isdisjoint(gone)
    assert fits
    assert must <= gone
    assert gone == must or 0 < len(must) < k


@given(ROWS, st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.sampled_from([0.3, 0.6, 0.9]))
@examples(200)
def test_stars_are_a_class_like_the_others(rows, known, least, k, limit):
    people = [own[:2] for own in rows]
    task = task_of(rows, limit, [sf.KAnonymity(k, shares=False)], published(known, least), "star")
    problem, partition = problem_of(task)
    try:
        found = within_fingerprint_limit(partition, problem, PeopleBehind.of(task), task)
    except sf.UnsatisfiableError:
        return
    shown = [np.flatnonzero(found.class_of == place).tolist() for place in range(-1, found.count)]
    for members in filter(None, shown):
        assert len({people[row] for row in members}) >= k
        for place in (2, 3):
            fewest = naive.fewest([members], people, [own[place] for own in rows], known)
            assert min(fewest.values()) >= least


def test_a_class_that_is_left_with_too_few_goes_as_well():
    """Of four people two share a value; who is left of the class after the others went is below k = 3."""
    rows = [(0, person, value, 0) for person, value in enumerate((0, 0, 1, 2))]
    rows += [(1, person, 0, 0) for person in range(4)]
    task = task_of(rows, 0.5, [sf.KAnonymity(3)], published(1, 2), "remove")
    problem, partition = problem_of(task)
    found = within_fingerprint_limit(partition, problem, PeopleBehind.of(task), task)
    assert found.class_of.tolist() == [-1] * 4 + [0] * 4


def test_with_models_of_the_whole_table_classes_are_judged_by_what_is_left():
    """When people go, the distribution of the table changes; t-closeness is asked for of every class that stays."""
    draw = random.Random(3)
    rows = [(draw.randrange(6), draw.randrange(9), int(6 * draw.random() ** 3), 0) for _ in range(200)]
    judged = 0
    for t in (0.1, 0.2, 0.3, 0.4):
        frame = task_of(rows, 0.9, [sf.KAnonymity(2, shares=False)], published(2, 3), "remove").table
        try:
            release = sf.anonymize(
                frame, [sf.KAnonymity(2, shares=False), sf.TCloseness(t, attribute="ill")], suppression_limit=0.9,
                people=published(2, 3),
            )  # fmt: skip
        except sf.UnsatisfiableError:
            continue
        judged += release.report.suppressed > 0
        assert sf.verify(release).ok
    assert judged


def test_any_limit_of_people_will_do():
    """The mask says who is below; all records of these go, and those whose company they were are asked again."""
    rows = [(0, person, 0, 0) for person in range(5) for _ in range(2)]
    task = task_of(rows, 0.8, [sf.KAnonymity(1)], sf.People(), "remove")
    problem, partition = problem_of(task)
    assert task.table.people is not None
    numbers, asked = task.table.people, []

    def below(class_of):
        asked.append(class_of.copy())
        left = len(set(numbers[class_of >= 0].tolist()))
        return (class_of >= 0) & (numbers == numbers[class_of >= 0].max()) & (left > 2)

    found = withdrawn(problem, partition, PeopleBehind(numbers, None), PeoplesLimit("two are left", below, "x"), task)
    assert found.class_of.tolist() == [0] * 4 + [-1] * 6
    assert len(asked) >= 4
    assert sf.People() == task.people


def test_the_refusal_counts_and_shows_no_value():
    rows = [(0, person, person, 0) for person in range(6)]
    task = task_of(rows, 0.2, [sf.KAnonymity(2)], published(1, 2), "remove")
    problem, partition = problem_of(task)
    with pytest.raises(sf.UnsatisfiableError) as no:
        within_fingerprint_limit(partition, problem, PeopleBehind.of(task), task)
    told = str(no.value)
    assert "6 people with 6 records would have to be suppressed" in told
    assert "the limit allows 1 person with 1 record" in told
    assert "fingerprint_k" in told
    assert "v0" not in told


def test_the_limit_counts_the_people_who_are_in_the_table():
    """Two of ten people may go, three would have to; that a larger table had a hundred people changes nothing."""
    many = [(person, "a") for person in range(7) for _ in range(10)]
    alone = [(97, "b"), (98, "c"), (99, "d")]
    others = [(person, "a") for person in range(7, 97)]
    frame = pl.DataFrame(
        {"id": [who for who, _ in many + alone + others], "age": 1, "ill": [ill for _, ill in many + alone + others]}
    )
    whole = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"], person="id"))
    some = whole.take(slice(len(many) + len(alone)))
    people = sf.People(pseudonyms="published", fingerprint_k=2)
    model = sf.KAnonymity(1, shares=False)
    with pytest.raises(sf.UnsatisfiableError, match=r"3 people with 3 records .* the limit allows 2 people"):
        sf.anonymize(some, model, people=people, suppression_limit=0.2)
    assert sf.anonymize(some, model, people=people, suppression_limit=0.3).report.suppressed == 3

"""Folding and counting people against plain dictionaries, and the compiled rules over sets against the models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from kernels.test_predicates import judged
from models.small_tables import CASES, Column, encode, members, memberships
from naive import people as twins
from sfumato.anonymizers.feasibility import balanced_records
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.statistics import ClassStatistics, counted_people, statistics_of
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedTable
from sfumato.table.encoding import encode as encoded
from sfumato.table.folding import FoldedTable, fold
from sfumato.table.schema import Kind


def numbers(picks: list[int | None]) -> Column:
    return Column("s", Kind.NUMERIC, tuple(picks))


@st.composite
def of_people(draw: st.DrawFn) -> tuple[list[int], list[int], list[int | None]]:
    """The class of each record, nobody in two of them; whom it is about; and a pick from six values or none."""
    class_of, picks = draw(memberships())
    own = draw(st.integers(1, 8))
    people = [10 * owner + draw(st.integers(0, own - 1)) + 10 for owner in class_of]
    return class_of, people, picks


def folded(column: Column, people: list[int]) -> FoldedTable:
    table = encode(column)
    quasi = Column("q", Kind.CATEGORICAL, (0,) * table.height)
    attribute, codes = quasi.attribute(), quasi.codes()[:, None]
    return fold(replace(table, attributes=(attribute,), codes=codes), np.array(people, dtype=np.int32))


def classes_of_people(found: FoldedTable, class_of: list[int]) -> np.ndarray:
    owners = np.empty(found.table.height, dtype=np.int32)
    owners[found.person_of] = class_of
    return owners


def same(one: ClassStatistics, two: ClassStatistics) -> bool:
    assert one.people is not None
    assert two.people is not None
    first, second = one.sensitive["s"], two.sensitive["s"]
    return (
        one.sizes.tolist() == two.sizes.tolist()
        and one.people.records.tolist() == two.people.records.tolist()
        and one.people.most.tolist() == two.people.most.tolist()
        and first.people == second.people
        and all(
            getattr(first, name).tolist() == getattr(second, name).tolist()
            for name in ("starts", "values", "counts", "totals")
        )
    )


@given(of_people())
@examples(200)
def test_folded_as_dictionaries_say(drawn):
    _, people, picks = drawn
    column = numbers(picks)
    found = folded(column, people)
    codes = dict(zip(column.values, column.codes().tolist(), strict=True))
    of_record = found.person_of.tolist()
    # Two records share a folded record exactly if they are one person's.
    assert (
        len(set(zip(people, of_record, strict=True))) == len(set(people)) == len(set(of_record)) == found.table.height
    )
    sets = twins.folded_sets(people, column.values)
    assert found.table.people is not None
    for person, place in set(zip(people, of_record, strict=True)):
        assert found.table.people.records[place] == people.count(person)
        number = found.table.sensitive_codes[place, :1]
        held = found.table.people.sets[0].codes_of(number)[0].tolist()
        assert held == sorted(codes[value] for value in sets[person])


@given(of_people(), st.randoms(use_true_random=False))
@examples(200)
def test_folding_does_not_depend_on_the_order_of_records_or_the_numbers_of_people(drawn, chance):
    _, people, picks = drawn
    rows = chance.sample(range(len(people)), len(people))
    other = {person: place for place, person in enumerate(chance.sample(sorted(set(people)), len(set(people))))}
    one = folded(numbers(picks), people)
    two = folded(numbers([picks[row] for row in rows]), [other[people[row]] for row in rows])
    assert one.table.people is not None
    assert two.table.people is not None
    assert one.table.sensitive_codes.tolist() == two.table.sensitive_codes.tolist()
    assert one.table.people.records.tolist() == two.table.people.records.tolist()
    assert one.table.people.sets[0].codes.tolist() == two.table.people.sets[0].codes.tolist()
    assert one.table.people.sets[0].starts.tolist() == two.table.people.sets[0].starts.tolist()


@given(of_people())
@examples(200)
def test_people_are_counted_alike_from_records_and_from_folded_ones(drawn):
    class_of, people, picks = drawn
    column = numbers(picks)
    count = max(class_of) + 1
    found = folded(column, people)
    from_records = counted_people(
        np.array(class_of, dtype=np.int32),
        count,
        np.array(people, dtype=np.int32),
        column.codes()[:, None],
        (column.attribute(),),
    )
    assert same(from_records, statistics_of(found.table, classes_of_people(found, class_of), count))
    for place, rows in enumerate(members(class_of)):
        told = [(people[row], picks[row]) for row in rows]
        assert from_records.sizes[place] == len(twins.people_of(told))
        assert from_records.people.records[place] == len(rows)
        assert from_records.people.most[place] / len(rows) == float(twins.largest_share(told))
        own = slice(from_records.sensitive["s"].starts[place], from_records.sensitive["s"].starts[place + 1])
        assert from_records.sensitive["s"].counts[own].sum() == len(twins.values_once(told))


# Promises about a population count records alone.
@pytest.mark.parametrize("name", [name for name in CASES if name != "k-map"])
@given(data=st.data())
@examples(60)
def test_models_and_their_compiled_rules_over_people(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES[name])
    class_of, people, picks = data.draw(of_people())
    # The compiled form knows the whole table only, so here nobody is suppressed.
    class_of = [owner + 1 for owner in class_of] if -1 in class_of else class_of
    column = case.column(picks)
    found = folded(column, people)
    owners = classes_of_people(found, class_of)

    compiled = judged(compile_rules([case.model], found.table), owners.tolist())

    statistics = statistics_of(found.table, owners, max(class_of) + 1)
    assert compiled == case.model.holds(statistics).tolist()
    parameters = dict(case.twin_parameters)
    assert compiled == twins.holds_per_class(case.twin, members(class_of), people, column.values, **parameters)


@given(data=st.data())
@examples(60)
def test_several_rules_at_once_over_people(data: st.DataObject) -> None:
    class_of, people, picks = data.draw(of_people())
    class_of = [owner + 1 for owner in class_of] if -1 in class_of else class_of
    found = folded(numbers(picks), people)
    owners = classes_of_people(found, class_of)
    k = data.draw(st.integers(1, 4))
    wanted: list[PrivacyModel] = [
        sf.KAnonymity(k, shares=data.draw(st.sampled_from([None, False]))),
        sf.ProbabilisticLDiversity(data.draw(st.sampled_from([1.0, 1.5, 2.0]))),
        sf.TCloseness(data.draw(st.sampled_from([0.3, 0.6, 1.0]))),
    ]
    compiled = judged(compile_rules(wanted, found.table), owners.tolist())
    statistics = statistics_of(found.table, owners, max(class_of) + 1)
    assert compiled == np.logical_and.reduce([model.holds(statistics) for model in wanted]).tolist()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 5), st.booleans())
@examples(200)
def test_a_class_of_the_safe_size_never_breaks_k_anonymity(records: list[int], k: int, plain: bool) -> None:
    """Every set of people of that size, by brute force: the worst has whoever has most and those who have least."""
    arrays = compile_rules([sf.KAnonymity(k, shares=not plain)], folded_of(records)).arrays
    for size in range(1, len(records) + 1):
        for start in range(len(records) - size + 1):
            chosen = [max(records), *sorted(records)[start : start + size - 1]] if size > 1 else [max(records)]
            holds = size >= k and (plain or max(chosen) * k <= sum(chosen))
            assert holds or size < arrays.safe_size


def folded_of(records: list[int]) -> EncodedTable:
    people = [person for person, many in enumerate(records) for _ in range(many)]
    return folded(numbers([0] * len(people)), people).table


@given(of_people(), st.integers(1, 4), st.sampled_from([None, False]))
@examples(200)
def test_merging_classes_keeps_k_anonymity_over_people(drawn, k, shares):
    class_of, people, _ = drawn
    model = sf.KAnonymity(k, shares=shares)
    count = max(class_of) + 1
    for one in range(count):
        for two in range(one):
            told = {
                place: [(people[row], None) for row, owner in enumerate(class_of) if owner in place]
                for place in ((one,), (two,), (one, two))
            }
            both = [twins.holds_k(told[place], [], k=k, shares=shares) for place in ((one,), (two,))]
            merged = [two if owner == one else owner for owner in class_of]
            numbered = np.unique([owner for owner in merged if owner >= 0], return_inverse=True)[1]
            renumbered = np.full(len(merged), -1, dtype=np.int32)
            renumbered[np.array(merged) >= 0] = numbered
            statistics = counted_people(
                renumbered, count - 1, np.array(people, dtype=np.int32), np.empty((len(people), 0), np.uint8), ()
            )
            held = model.holds(statistics)[numbered[[o for o in merged if o >= 0].index(two)]]
            assert held == twins.holds_k(told[one, two], [], k=k, shares=shares)
            assert held or not all(both)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=8), st.integers(2, 4))
@examples(200)
def test_as_few_people_as_possible_are_left_out(records: list[int], k: int) -> None:
    table = folded_of(records)
    choices = balanced_records(Problem(table, (sf.KAnonymity(k),), table.height, 1, 1))
    fewest = twins.fewest_to_leave_out(records, k)
    if fewest == len(records):
        assert not choices
    else:
        assert table.height - len(choices[0]) == fewest


def test_a_person_who_changes_is_covered_whole():
    """What is folded to two columns is published as what covers all records of a person."""
    frame = pl.DataFrame({"id": [1, 1, 2, 2], "age": [10, 90, 20, 30], "row": range(4)})
    table = sf.read_table(frame, sf.Schema(person="id", quasi_identifying=["age"], insensitive=["row"]))
    found = fold(encoded(table), table.people)
    assert [attribute.weight for attribute in found.table.attributes] == [0.5, 0.5]
    assert found.table.codes.tolist() in ([[0, 3], [1, 2]], [[1, 2], [0, 3]])
    release = sf.anonymize(table, sf.KAnonymity(1), anonymizer=sf.MDAV(), recoding=sf.Recoding(ends="tight"))
    shown = dict(zip(release.data["row"], release.data["age"], strict=True))
    assert shown[0] == shown[1] == "[10..90]"
    assert shown[2] == shown[3] == "[20..30]"

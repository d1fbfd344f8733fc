"""m-invariance: hand cases, properties, and all worlds of small series."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.kernels import jit
from sfumato.kernels.series.exchanging import class_losses
from sfumato.kernels.series.growing import loss_of
from sfumato.series import invariant_making
from sfumato.series.grow_moves import axes_of
from sfumato.series.invariant_making import (
    Present,
    _divided,
    _exchanged,
    _places,
    assign,
    balance,
    keep_invariant,
    surplus,
)
from sfumato.table.encoding import encode


def table_of(ages):
    return encode(sf.read_table(pl.DataFrame({"age": ages}), sf.Schema(quasi_identifying=["age"])))


def present(ages, values, signature_of=None, signatures=()):
    none = np.full(len(ages), -1, dtype=np.int64)
    return Present(
        table_of(ages), np.array(values), none if signature_of is None else np.array(signature_of), signatures
    )


def classes_of(found):
    return sorted(np.flatnonzero(found.class_of == label).tolist() for label in range(found.count))


def test_nothing_changes_identical_partition():
    ages, values = [30, 31, 50, 51, 70, 71], [1, 2, 2, 1, 1, 2]
    first = keep_invariant(present(ages, values), 2)
    again = keep_invariant(present(ages, values, first.signature_of, first.signatures), 2)
    assert classes_of(first) == classes_of(again) == [[0, 1], [2, 3], [4, 5]]
    assert len(again.counterfeit_class) == 0
    assert again.signatures == ((1, 2),)


def test_a_partner_who_leaves_is_replaced_by_a_counterfeit():
    first = keep_invariant(present([30, 31], [1, 2]), 2)
    second = keep_invariant(present([30], [1], first.signature_of[:1], first.signatures), 2, most_counterfeits=0.5)
    assert second.class_of.tolist() == [0]
    assert (second.counterfeit_class.tolist(), second.counterfeit_value.tolist()) == ([0], [2])
    assert second.counterfeits.tolist() == [1]


def test_a_newcomer_takes_the_place():
    first = keep_invariant(present([30, 31], [1, 2]), 2)
    signatures = [first.signature_of[0], -1]
    second = keep_invariant(present([30, 33], [1, 2], signatures, first.signatures), 2)
    assert second.class_of.tolist() == [0, 0]
    assert len(second.counterfeit_class) == 0
    assert second.signature_of.tolist() == [0, 0]


def test_a_newcomer_takes_the_place_among_others():
    first = keep_invariant(present([30, 31], [1, 2]), 2)
    signatures = [first.signature_of[0], -1, -1, -1]
    second = keep_invariant(present([30, 33, 40, 41], [1, 2, 1, 2], signatures, first.signatures), 2)
    assert len(second.counterfeit_class) == 0


def test_who_comes_back_has_the_old_signature():
    first = keep_invariant(present([30, 31, 60, 61], [1, 2, 3, 4]), 2)
    second = keep_invariant(present([60, 61], [3, 4], first.signature_of[2:], first.signatures), 2)
    third = keep_invariant(present([30, 31, 60, 61], [1, 2, 3, 4], first.signature_of, second.signatures), 2)
    assert third.signature_of.tolist() == first.signature_of.tolist()


def test_a_changed_value_is_refused():
    first = keep_invariant(present([30, 31], [1, 2]), 2)
    with pytest.raises(InputError, match="1 people have another sensitive value"):
        keep_invariant(present([30, 31], [1, 3], first.signature_of, first.signatures), 2)


def test_bad_bounds():
    with pytest.raises(PolicyError, match="at least 2"):
        keep_invariant(present([30, 31], [1, 2]), 1)
    with pytest.raises(UnsatisfiableError, match="lower m"):
        keep_invariant(present([30, 31], [1, 2]), 3)


def months(draw, m, values, size, number):
    """Yield presents of a series: who comes, stays, leaves and comes back, with the ledger's signatures."""
    ages, value_of = draw.integers(0, 20, size), draw.integers(0, values, size)
    signature_of, signatures = np.full(size, -1, dtype=np.int64), ()
    for _ in range(number):
        here = np.flatnonzero(draw.random(size) < 0.7)
        if not len(here):
            continue
        try:
            found = keep_invariant(
                present(ages[here].tolist(), value_of[here], signature_of[here], signatures), m, most_counterfeits=1.0
            )
        except UnsatisfiableError:
            continue
        signature_of[here], signatures = found.signature_of, found.signatures
        yield here, value_of, found


@pytest.mark.parametrize("from_", [0.0, 15.0])
def test_every_release_is_unique_and_signatures_stay(from_, monkeypatch):
    monkeypatch.setattr(invariant_making, "FREELY_FROM", from_)
    draw = np.random.default_rng(6)
    with jit.always("interpreted"):
        for _ in range(30):
            m = int(draw.integers(2, 5))
            kept = {}
            for here, value_of, found in months(draw, m, int(draw.integers(m, 8)), 40, 5):
                for label in range(found.count):
                    people = here[found.class_of == label]
                    invented = found.counterfeit_value[found.counterfeit_class == label]
                    values = sorted([*value_of[people].tolist(), *invented.tolist()])
                    assert len(people) > 0
                    assert len(set(values)) == len(values) >= m
                    for person in people.tolist():
                        assert kept.setdefault(person, values) == values


def chances(series, people):
    """Return for each person the chance of each value over all worlds, of the classes of all releases."""
    counts, worlds = {}, 0
    for world in possible(series, people):
        worlds += 1
        for person, value in world.items():
            counts[person, value] = counts.get((person, value), 0) + 1
    return {key: Fraction(count, worlds) for key, count in counts.items()}


def possible(series, people):
    """Yield who has which value: in every class of every release different values of those that the class shows."""
    classes = [each for release in series for each in release]

    def onward(at, known):
        if at == len(classes):
            yield known
            return
        members, values = classes[at]
        open_members = [person for person in members if person not in known]
        taken = [known[person] for person in members if person in known]
        if len(set(taken)) < len(taken) or not set(taken) <= set(values):
            return
        for chosen in permutations([value for value in values if value not in taken], len(open_members)):
            yield from onward(at + 1, {**known, **dict(zip(open_members, chosen, strict=True))})

    yield from onward(0, {})


@pytest.mark.parametrize("from_", [0.0, 15.0])
@pytest.mark.parametrize("number", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_value_is_known_above_one_in_m_over_all_worlds(number, from_, monkeypatch):
    monkeypatch.setattr(invariant_making, "FREELY_FROM", from_)
    draw, seen, fakes = np.random.default_rng(number), 0, 0
    with jit.always("interpreted"):
        for _ in range(number):
            m = int(draw.integers(2, 4))
            series = []
            for here, value_of, found in months(draw, m, int(draw.integers(m, 5)), 7, 3):
                release = []
                for label in range(found.count):
                    people = here[found.class_of == label].tolist()
                    invented = found.counterfeit_value[found.counterfeit_class == label].tolist()
                    release.append((people, [*value_of[people].tolist(), *invented]))
                    fakes += len(invented)
                series.append(release)
            if len(series) > 1:
                seen += 1
                assert max(chances(series, 7).values()) <= Fraction(1, m)
    assert seen > number // 3
    assert fakes > number // 3


@pytest.mark.parametrize(("values", "m"), [(3, 2), (3, 3), (5, 2), (5, 3), (8, 2), (8, 3)])
def test_newcomers_who_are_eligible_are_all_published(values, m):
    draw = np.random.default_rng(values + m)
    with jit.always("interpreted"):
        for _ in range(40):
            value_of = draw.integers(0, values, int(draw.integers(m, 30)))
            if m * np.bincount(value_of).max() <= len(value_of):
                found = keep_invariant(present(draw.integers(0, 9, len(value_of)).tolist(), value_of), m)
                assert (found.class_of >= 0).all()


def test_few_wait_and_nobody_needs_counterfeits_for_it():
    found = keep_invariant(present([1, 2, 3, 4, 5], [1, 1, 1, 1, 2]), 2)
    assert (found.class_of >= 0).sum() == 2
    assert len(found.counterfeit_class) == 0


def places_of(draw, frame, values, m):
    """Return where people stand before exchanges; a third was published before, with counterfeits."""
    schema = sf.Schema(quasi_identifying={"age": sf.Attribute(), "area": sf.Attribute(), "sex": sf.Attribute()})
    table, old = encode(sf.read_table(frame, schema)), np.full(len(values), -1, dtype=np.int64)
    here = np.flatnonzero(draw.random(len(values)) < 0.5)
    first = keep_invariant(Present(table.take(here), values[here], old[here]), m)
    old[here] = first.signature_of
    now = np.flatnonzero(draw.random(len(values)) < 0.8)
    before = Present(table.take(now), values[now], old[now], first.signatures)
    order = np.arange(len(now))
    buckets, newcomers = _divided(before, before.value_of, order)
    balance(buckets, newcomers, m)
    assign(buckets, surplus(newcomers, m), m)
    numbers = {signature: number for number, signature in enumerate(first.signatures)}
    axes = axes_of(table.attributes)
    return _places(before, buckets, numbers, axes), axes, before.value_of, order


@pytest.mark.parametrize("m", [2, 3])
def test_exchanges_lose_less_and_keep_what_must_stay(m, monkeypatch):
    monkeypatch.setattr(invariant_making, "FREELY_FROM", 0.0)
    draw = np.random.default_rng(m)
    for _ in range(12):
        frame = pl.DataFrame(
            {"age": draw.integers(0, 30, 60), "area": draw.choice(list("pqrs"), 60), "sex": draw.choice(list("fm"), 60)}
        )
        places, axes, value_of, order = places_of(draw, frame, draw.integers(0, 6, 60), m)
        class_losses(places, axes)
        start = places.losses.sum()
        old, before = places.signatures >= 0, [sorted(each) for each in places.values.tolist()]
        signature_of = np.where(places.bound, places.signatures[places.class_of], -1)
        sizes, fakes = (places.values >= 0).sum(axis=1), ((places.members < 0) & (places.values >= 0)).sum()
        _exchanged(places, axes, order)
        losses = [
            len(rows) * loss_of(places.codes[rows], np.ones(len(rows), dtype=np.bool_), axes)
            for rows in (people[people >= 0] for people in places.members)
        ]
        assert np.allclose(places.losses, losses)
        assert sum(losses) < start
        there = np.argwhere(places.members >= 0)
        assert sorted(places.members[places.members >= 0]) == np.flatnonzero(places.class_of >= 0).tolist()
        for number, slot in there.tolist():
            person = places.members[number, slot]
            assert (places.class_of[person], places.slot_of[person]) == (number, slot)
            assert places.values[number, slot] == value_of[person]
        assert ((places.members >= 0).any(axis=1)).all()
        assert ((places.values >= 0).sum(axis=1) == sizes).all()
        assert ((places.members < 0) & (places.values >= 0)).sum() == fakes
        assert all(len({*each[each >= 0]}) == (each >= 0).sum() >= m for each in places.values)
        assert [sorted(each) for each in places.values[old].tolist()] == [
            b for b, o in zip(before, old, strict=True) if o
        ]
        assert (signature_of == np.where(places.bound, places.signatures[places.class_of], -1)).all()

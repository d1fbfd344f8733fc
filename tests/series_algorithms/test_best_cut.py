"""The best cut of a few people, against a plain twin that tries every cut."""

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernels import jit
from sfumato.kernels.series.growing import (
    MOST_MOVED,
    ChainArrays,
    HistoryArrays,
    PeopleArrays,
    best_cut,
    loss_of,
    part_allowed,
)
from sfumato.models.compiled import compile_rules
from sfumato.series.grow_moves import NO_CHAINS, axes_of, tight_boxes
from sfumato.series.recount import Boxes
from sfumato.table.encoding import encode


def plain_loss(table, rows):
    """Return the loss of a class, from the values that it has."""
    total = 0.0
    for index, attribute in enumerate(table.attributes):
        codes = table.codes[rows, index].astype(int)
        if len(set(codes.tolist())) == 1:
            continue
        if attribute.hierarchy is not None:
            level = next(level for level in attribute.hierarchy.node_of if len(set(level[codes].tolist())) == 1)
            total += (level == level[codes[0]]).sum() / attribute.hierarchy.size
        elif attribute.is_numeric:
            total += np.ptp(attribute.numbers[codes]) / attribute.domain_width
        else:
            total += len(set(codes.tolist())) / attribute.domain_size
    return total * len(rows)


def plain_cuts(table):
    """Yield attribute and codes on the left, in the order in which they are tried."""
    for index, attribute in enumerate(table.attributes):
        column = table.codes[:, index].astype(int).tolist()
        present = sorted(set(column))
        is_set = attribute.hierarchy is None and not attribute.is_numeric
        orders = [present]
        if is_set and len(present) > 2:
            orders.append(sorted(present, key=lambda code: -column.count(code)))
        for order in orders:
            for place in range(1, len(order)):
                yield index, set(order[:place])
        if is_set and len(present) > 2:
            for code in present[:-1]:
                yield index, {code}


def ranged(attribute):
    return attribute.hierarchy is not None or attribute.is_numeric


def codes_of(table, rows, index):
    return set(table.codes[rows, index].astype(int).tolist())


def covered(table, part, index):
    codes = codes_of(table, part, index)
    return set(range(min(codes), max(codes) + 1)) if ranged(table.attributes[index]) else codes


class PlainPeople:
    """What a part must satisfy, of lists and sets."""

    def __init__(self, table, value_of, group_of, left, least, smallest, class_of, chains):
        self.table, self.value_of, self.group_of, self.left, self.least = table, value_of, group_of, left, least
        self.smallest, self.class_of, self.chains = smallest, class_of, chains

    def wanted(self, part):
        """Return who of the others helps a part, None if it is allowed."""
        others = [person for person in range(self.table.height) if person not in part]
        if len(part) < self.smallest:
            return others
        values = [self.value_of[person] for person in part]
        for group in sorted({self.group_of[person] for person in part}):
            left = self.left[group]
            if sum(min(values.count(value), left[value]) for value in range(len(left))) < self.least:
                return [p for p in others if values.count(self.value_of[p]) < left[self.value_of[p]]]
        for end, sides in self.chains:
            if end in {self.class_of[person] for person in part}:
                for index, side in enumerate(sides):
                    if not covered(self.table, part, index) & side:
                        return [p for p in others if int(self.table.codes[p, index]) in side]
        return None

    def distance(self, person, part):
        total = 0.0
        for index, attribute in enumerate(self.table.attributes):
            code, codes = int(self.table.codes[person, index]), codes_of(self.table, part, index)
            if code in codes:
                continue
            if attribute.is_numeric:
                numbers = attribute.numbers[sorted(codes)]
                outside = max(0.0, numbers.min() - attribute.numbers[code], attribute.numbers[code] - numbers.max())
                total += outside / attribute.domain_width
            else:
                total += 1 / (attribute.hierarchy.size if attribute.hierarchy is not None else attribute.domain_size)
        return total

    def mended(self, right):
        """Return who goes right in the end, None where the parts cannot be mended."""
        right, moved = set(right), set()
        if min(len(right), self.table.height - len(right)) + MOST_MOVED < self.smallest:
            return None
        for _ in range(MOST_MOVED + 1):
            parts = set(range(self.table.height)) - right, right
            to = next((side for side in (1, 0) if self.wanted(sorted(parts[side])) is not None), None)
            if to is None:
                return right
            wanted = [person for person in self.wanted(sorted(parts[to])) if person not in moved]
            if len(parts[1 - to]) <= self.smallest or not wanted:
                return None
            nearest = min(wanted, key=lambda person: round(self.distance(person, sorted(parts[to])), 9))
            moved.add(nearest)
            right = right | {nearest} if to else right - {nearest}
        return None


def plain_best(people):
    table = people.table
    everybody = list(range(table.height))
    whole, best, found = plain_loss(table, everybody), 0.0, None

    def gain(right):
        left = [person for person in everybody if person not in right]
        share = min(max(len(right), people.smallest), len(everybody) - people.smallest) / len(everybody)
        even = -(share * math.log2(share) + (1 - share) * math.log2(1 - share))
        return (whole - plain_loss(table, left) - plain_loss(table, sorted(right))) / even

    for index, codes in plain_cuts(table) if len(everybody) >= 2 * people.smallest else ():
        by_code = {person for person in everybody if int(table.codes[person, index]) not in codes}
        if gain(by_code) <= best + 1e-9:
            continue
        right = people.mended(by_code)
        if right is not None and gain(right) > best + 1e-9:
            best, found = gain(right), (index, right, by_code)
    return best, found


def as_kernels_read(chains, class_of, table):
    low, high = (np.zeros((len(chains), len(table.attributes)), dtype=np.int64) for _ in range(2))
    sets = {}
    for index, attribute in enumerate(table.attributes):
        if ranged(attribute):
            low[:, index] = [min(sides[index]) for _, sides in chains]
            high[:, index] = [max(sides[index]) for _, sides in chains]
        else:
            sets[index] = np.array([[code in sides[index] for code in range(attribute.size)] for _, sides in chains])
    shapes = Boxes(low, high, sets).shapes
    return ChainArrays(class_of, np.array([end for end, _ in chains]), low, high, shapes.members, shapes.words)


def drawn_side(draw, attribute):
    size = attribute.size
    if ranged(attribute):
        first = int(draw.integers(0, size))
        return set(range(first, int(draw.integers(first, size)) + 1))
    return {int(code) for code in draw.choice(size, draw.integers(1, size + 1), replace=False)}


@pytest.mark.parametrize("way", ["interpreted", pytest.param("compiled", marks=pytest.mark.slow)])
def test_the_best_cut_is_that_of_a_plain_search(way):
    draw = np.random.default_rng(7)
    areas = sf.groups({"north": ["a", "b"], "south": ["c", "d", "e"]})
    refused = mended = 0
    for number in range(80):
        people = int(draw.integers(4, 16))
        frame = pl.DataFrame(
            {
                "age": draw.integers(0, 9, people),
                "town": draw.choice(["r", "s", "t", "u"], people),
                "area": draw.choice(list("abcde"), people),
            }
        )
        schema = sf.Schema(quasi_identifying={"age": None, "town": None, "area": areas})
        table = encode(sf.read_table(frame, schema))
        value_of, group_of = draw.integers(0, 2, people), draw.integers(0, 2, people)
        left, smallest = draw.integers(1, 6, (2, 2)), int(draw.integers(1, 4))
        class_of = draw.integers(-1, 2, people)
        ends = sorted(draw.integers(0, 2, number % 3).tolist())
        chains = [(end, [drawn_side(draw, attribute) for attribute in table.attributes]) for end in ends]
        known = as_kernels_read(chains, class_of, table) if chains else NO_CHAINS
        rules = compile_rules([sf.KAnonymity(smallest)], table).arrays
        right = np.zeros((2, people), dtype=np.bool_)
        codes = table.codes.astype(np.int64)
        kernels = PeopleArrays(
            codes, np.zeros((people, 0), np.int64), HistoryArrays(group_of, value_of, left, 2), known, rules, smallest
        )
        with jit.always(way):
            found = best_cut(kernels, axes_of(table.attributes), right)
            whole = people * loss_of(codes, np.ones(people, dtype=np.bool_), axes_of(table.attributes))
        assert whole == pytest.approx(plain_loss(table, np.arange(people)))
        plain = PlainPeople(
            table, value_of.tolist(), group_of.tolist(), left.tolist(), 2, smallest, class_of.tolist(), chains
        )
        best, expected = plain_best(plain)
        refused += expected is None
        if expected is None:
            assert found == -1
            continue
        index, there, by_code = expected
        mended += there != by_code
        assert found == index
        assert set(np.flatnonzero(right[0]).tolist()) == there
        assert set(np.flatnonzero(right[1]).tolist()) == by_code
        assert best > 0
        for part in (right[0], ~right[0]):
            assert part_allowed(part, kernels)
            assert plain.wanted(np.flatnonzero(part).tolist()) is None
    assert 0 < refused < 60
    assert mended > 5


def test_boxes_are_what_classes_publish():
    areas = sf.groups({"north": ["a", "b"], "south": ["c", "d"]})
    frame = pl.DataFrame({"age": [30, None, 40, 50], "town": ["s", "t", "s", "s"], "area": ["a", "b", "c", "c"]})
    schema = sf.Schema(quasi_identifying={"age": None, "town": None, "area": areas})
    table = encode(sf.read_table(frame, schema))
    boxes = tight_boxes(table.attributes, table.codes, np.array([0, 0, 1, 1]), 2)
    # Missing and present: everything. The node of a and b; c alone.
    assert (boxes.low[:, 0].tolist(), boxes.high[:, 0].tolist()) == ([0, 1], [3, 2])
    assert boxes.sets[1].sum(axis=1).tolist() == [2, 1]
    assert (boxes.low[:, 2].tolist(), boxes.high[:, 2].tolist()) == ([0, 2], [1, 2])

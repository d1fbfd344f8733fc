"""The best cut of a few people, against a plain twin that tries every cut."""

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernels import choice
from sfumato.kernels.series.growing import Histories, best_cut, loss_of
from sfumato.models.compiled import compile_rules
from sfumato.series.growing_ground import axes_of, tight_boxes
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


def plain_best(table, value_of, group_of, left, least, smallest):
    everybody = np.arange(table.height)
    whole, best, found = plain_loss(table, everybody), 0.0, None
    for index, codes in plain_cuts(table):
        side = np.array([code not in codes for code in table.codes[:, index].astype(int).tolist()])
        parts = [everybody[~side], everybody[side]]
        share = len(parts[0]) / table.height
        if min(map(len, parts)) < smallest:
            continue
        even = -(share * math.log2(share) + (1 - share) * math.log2(1 - share))
        gain = (whole - sum(plain_loss(table, part) for part in parts)) / even
        fits = all(
            np.minimum(np.bincount(value_of[part], minlength=left.shape[1]), left[group]).sum() >= least
            for part in parts
            for group in set(group_of[part].tolist())
        )
        if gain > best + 1e-9 and fits:
            best, found = gain, (index, side)
    return best, found


@pytest.mark.parametrize("way", ["interpreted", pytest.param("compiled", marks=pytest.mark.slow)])
def test_the_best_cut_is_that_of_a_plain_search(way):
    draw = np.random.default_rng(7)
    areas = sf.groups({"north": ["a", "b"], "south": ["c", "d", "e"]})
    refused = 0
    for _ in range(40):
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
        rules = compile_rules([sf.KAnonymity(smallest)], table).arrays
        right = np.zeros(people, dtype=np.bool_)
        codes = table.codes.astype(np.int64)
        histories = Histories(group_of, value_of, left, 2)
        with choice.always(way):
            found = best_cut(
                codes, np.zeros((people, 0), np.int64), histories, axes_of(table.attributes), rules, smallest, right
            )
            whole = people * loss_of(codes, np.ones(people, dtype=np.bool_), axes_of(table.attributes))
        assert whole == pytest.approx(plain_loss(table, np.arange(people)))
        best, expected = plain_best(table, value_of, group_of, left, 2, smallest)
        refused += expected is None
        if expected is None:
            assert found == -1
        else:
            index, side = expected
            assert found == index
            assert np.array_equal(right, side)
            assert best > 0
    assert 0 < refused < 40


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

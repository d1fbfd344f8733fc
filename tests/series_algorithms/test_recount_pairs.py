"""Two releases: the recount agrees with all worlds, gone through one by one."""

from collections import Counter

import numpy as np
import pytest

from naive.release_worlds import pair_counts, pair_worlds
from series_algorithms.small_releases import drawn_series, released
from sfumato.errors import InputError
from sfumato.kernels import jit
from sfumato.series.recount import Boxes, meeting, recount_pair

SERIES = 1500


def counted(found):
    both = Counter()
    for pair, value, rows in zip(found.both.class_of, found.both.value_of, found.both.rows, strict=True):
        both[int(found.older[pair]), int(found.newer[pair]), int(value)] = int(rows)
    new = Counter()
    for label, value, rows in zip(found.new.class_of, found.new.value_of, found.new.rows, strict=True):
        new[int(label), int(value)] = int(rows)
    return both, new


@pytest.mark.parametrize("nested", [True, False])
def test_counts_are_those_of_all_worlds(nested):
    draw = np.random.default_rng(5)
    flows = 0
    with jit.always("interpreted"):
        for _ in range(SERIES):
            older, newer, ranged, width = drawn_series(draw, nested)
            sets = set(range(width)) - ranged
            found = recount_pair(released(*older, sets), released(*newer, sets))
            assert counted(found) == pair_counts(older, newer)
            flows += found.flows
            if found.nested:
                assert found.flows == 0
    assert nested or flows > 20


def test_same_compiled():
    draw = np.random.default_rng(9)
    series = [drawn_series(draw, False)[:2] for _ in range(60)]
    series = [pair for pair in series if pair_counts(*pair)]
    seen = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            seen.append([counted(recount_pair(*(released(*each) for each in pair))) for pair in series])
    assert seen[0] == seen[1]


def test_the_hand_example():
    """E: 3 flu, 2 fever; F: 4 flu, 1 fever: both 5-anonymous, and 4 together. Two newcomers stand anywhere."""
    older = [(0, 0)] * 3 + [(0, 1)] * 2
    newer = [(0, 0)] * 4 + [(0, 1)] + [(1, 1)] * 2
    everywhere = [[{0, 1, 2, 3}]]
    found = recount_pair(released(older, everywhere), released(newer, [[{0, 1}], [{2, 3}]]))
    assert found.both_rows.tolist() == [4, 2]
    assert found.nested
    assert found.new_rows.tolist() == [2, 1]
    assert found.least == 1


def test_one_newcomer_gives_the_value_away():
    older = [(0, 0)] * 3 + [(0, 1)] * 2
    found = recount_pair(released(older, [[{0, 1}]]), released([*older, (0, 2)], [[{0, 1}]]))
    assert found.both_rows.tolist() == [5]
    assert found.new_rows.tolist() == [1]
    assert found.least == 1


def test_appended_people_are_left_alone():
    older = [(0, 0)] * 3 + [(0, 1)] * 2
    newer = [*older, (1, 0), (1, 1), (1, 1)]
    found = recount_pair(released(older, [[{0, 1}, {1}]]), released(newer, [[{0, 1}, {1}], [{0, 1}, {2}]]))
    assert (found.both_rows.tolist(), found.new_rows.tolist(), found.least) == ([5], [0, 3], 3)


def test_releases_that_do_not_belong_together():
    with pytest.raises(InputError, match="1 rows of the older release"):
        recount_pair(released([(0, 0), (0, 1)], [[{0}]]), released([(0, 0), (0, 0)], [[{0}]]))
    # Counts alone fit; the flow finds that the two rows would need the same place.
    older = ([(0, 0), (1, 0)], [[{0}], [{1}]])
    newer = ([(0, 0), (1, 0)], [[{0, 1}], [{2, 3}]])
    assert not list(pair_worlds(older, newer))
    with pytest.raises(InputError, match="do not belong together"):
        recount_pair(released(*older), released(*newer))


def test_value_sets_meet_by_their_members():
    older, newer = [(0, 0)] * 2, [(0, 0)] * 2 + [(1, 0)] * 2
    boxes = [[{0, 3}]], [[{0, 3}], [{1, 2}]]
    assert len(recount_pair(released(older, boxes[0], {0}), released(newer, boxes[1], {0})).older) == 1
    assert len(recount_pair(released(older, boxes[0]), released(newer, boxes[1])).older) == 2


def test_meeting_classes_are_found_in_large_releases():
    """Against all pairs, where cells are cut many times."""
    draw = np.random.default_rng(1)
    sides = []
    for count in (700, 900):
        low = draw.integers(0, 60, (count, 3))
        sides.append(Boxes(low, low + draw.integers(0, 9, (count, 3))))
    first, second = meeting(*sides)
    found = np.zeros((700, 900), dtype=np.bool_)
    found[first, second] = True
    assert len(first) == found.sum()
    lows = np.maximum(sides[0].low[:, None], sides[1].low[None])
    assert np.array_equal(found, (lows <= np.minimum(sides[0].high[:, None], sides[1].high[None])).all(axis=2))


def test_what_somebody_finds_who_knows_everybody():
    """Ten rows are left to four people, whose value is certain for who knows how many of ten are in which class."""
    older = [(0, 0)] * 5 + [(0, 1)] * 5
    newer = [(0, 0)] * 5 + [(0, 1)] * 5 + [(1, 0)] + [(1, 1)] * 9
    found = recount_pair(released(older, [[{0, 1, 2, 3}]]), released(newer, [[{0, 1}], [{2, 3}]]))
    assert found.both_rows.tolist() == [10, 6]
    values_of_four = {
        (first, 4 - first)
        for first in range(5)
        if 5 - first <= 1 and 5 - (4 - first) <= 9  # the other six, of whom class two has one row and nine
    }
    assert values_of_four == {(4, 0)}


def test_a_coarser_newer_release_never_leaves_fewer_rows():
    """Merging two newer classes: what the paper's search relies on."""
    draw, tried = np.random.default_rng(12), 0
    with jit.always("interpreted"):
        for _ in range(400):
            older, (rows, boxes), *_ = drawn_series(draw, bool(draw.integers(0, 2)))
            if len(boxes) < 2:
                continue
            sets, merged = set(range(len(boxes[0]))), [[a | b for a, b in zip(*boxes[:2], strict=True)], *boxes[2:]]
            number = [0, 0, *range(1, len(boxes))]
            fine = counted(recount_pair(released(*older, sets), released(rows, boxes, sets)))
            coarse_rows = [(number[label], value) for label, value in rows]
            coarse = counted(recount_pair(released(*older, sets), released(coarse_rows, merged, sets)))
            tried += 1
            assert all(
                coarse[0][first, number[second], value] >= left for (first, second, value), left in fine[0].items()
            )
            assert all(coarse[1][number[label], value] >= left for (label, value), left in fine[1].items())
    assert tried > 200

"""All releases together: what is left where steps can follow each other is left in worlds of all releases at once."""

import numpy as np
import pytest

from naive.release_worlds import joint_counts
from series_algorithms.small_releases import labelled, released
from sfumato.kernels import jit
from sfumato.series.recount import (
    Chains,
    any_month,
    chains_to,
    dated,
    follow_all,
    follow_chains,
    history_steps,
    join_releases,
)


def drawn_series(draw, months=3):
    """Return releases of up to eight people of few ages, and everybody's class in each; classes overlap anyhow."""
    sizes = np.cumsum([int(draw.integers(2, 5)), *(int(draw.integers(0, 3)) for _ in range(months - 1))])
    people = [
        ((int(draw.integers(0, 6)), int(draw.integers(0, 3))), int(draw.integers(0, 3))) for _ in range(sizes[-1])
    ]
    series, classes = [], np.full((sizes[-1], months), -1, dtype=np.int32)
    for number, size in enumerate(sizes):
        drawn = draw.integers(0, 3, size)
        classes[:size, number] = np.unique(drawn, return_inverse=True)[1]
        series.append(labelled(people[:size], drawn.tolist(), {0}))
    return series, classes


def test_no_more_is_counted_than_worlds_of_all_releases_leave():
    """Whoever has a history is left at least so many rows at once; where chains break, nothing is said."""
    draw, said, broken = np.random.default_rng(7), 0, 0
    with jit.always("interpreted"):
        for _ in range(500):
            series, classes = drawn_series(draw)
            releases = [released(*each, sets={1}) for each in series]
            if any(follow_chains(releases[: number + 1], classes[:, : number + 1])[1].any() for number in (1, 2)):
                broken += 1
                continue
            found = follow_all(releases, classes, as_they_went=True)
            worlds = joint_counts(series)
            for person, history in enumerate(found.history_of.tolist()):
                trail = tuple((at, int(label)) for at, label in enumerate(classes[person]) if label >= 0)
                mine = found.left.class_of == history
                for value, rows in zip(found.left.value_of[mine], found.left.rows[mine], strict=True):
                    said += 1
                    assert worlds[trail, int(value)] >= rows
    assert said > 1000
    assert broken > 100


def test_what_three_releases_tell_and_no_two_do():
    """The cold of the first class has to be in the second release's, and cannot be in the class of 25 to 26."""
    first = released([(0, 0), (0, 1), (0, 2)], [[{29, 30, 31}]])
    second = released([(0, 0), (0, 2), (0, 0), (1, 1), (1, 2)], [[{26, 29}], [{30, 31}]])
    third = released([(0, 0), (0, 2), (1, 0), (1, 0), (2, 1), (2, 2)], [[{29}], [{25, 26}], [{30, 31}]])
    classes = np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2], [-1, 0, 0], [-1, 0, 1], [-1, -1, 1]], dtype=np.int32)
    chains, empty = follow_chains([first, second, third], classes)
    older, newer = history_steps(classes[:, 1], classes[:, 2])
    assert list(zip(older.tolist(), newer.tolist(), empty.tolist(), strict=True)) == [
        (0, 0, False), (0, 1, True), (1, 2, False)
    ]  # fmt: skip
    assert sorted(chains.class_of.tolist()) == [0, 1, 2]


def test_chains_narrow_down_to_what_labels_have_in_common():
    first = released([(0, 0), (1, 0)], [[{0, 5}, {0, 1}], [{3, 7}, {1, 2}]], sets={1})
    second = released([(0, 0)] * 3, [[{2, 6}, {1, 2}]], sets={1})
    chains = chains_to([first, second], np.array([[0, 0], [1, 0], [-1, 0]], dtype=np.int32))
    assert chains.class_of.tolist() == [0, 0]
    assert sorted(zip(chains.boxes.low[:, 0].tolist(), chains.boxes.high[:, 0].tolist(), strict=True)) == [
        (2, 5), (3, 6)
    ]  # fmt: skip
    assert {tuple(np.flatnonzero(row)) for row in chains.boxes.sets[1]} == {(1,), (1, 2)}


def test_a_class_of_newcomers_begins_chains_of_its_own():
    first, second = released([(0, 0)], [[{0, 1}]]), released([(0, 0), (1, 0)], [[{0, 1}], [{4, 5}]])
    chains, empty = Chains.first(first).onward(
        (np.array([0]), np.array([0])), second.boxes, np.array([1], dtype=np.int64)
    )
    assert chains.class_of.tolist() == [0, 1]
    assert not empty.any()


@pytest.mark.parametrize(("last", "told"), [(1, True), (0, False)])
def test_months_that_tell_something_are_seen(last, told):
    shape = released([(0, 0)], [[{0}]])
    months = any_month(last, 1)
    second = type(shape)(shape.class_of, shape.value_of, dated(shape.boxes, months))
    first = type(shape)(shape.class_of, shape.value_of, dated(shape.boxes, any_month(0, 1)))
    assert join_releases([first, second]) is told


def test_steps_are_those_that_somebody_went():
    before, now = np.array([0, 0, 2, -1, 1], dtype=np.int32), np.array([1, 1, 0, 1, -1], dtype=np.int32)
    assert [each.tolist() for each in history_steps(before, now)] == [[2, 0], [0, 1]]

"""Which classes meet: against a comparison of all pairs, where space is halved and where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.kernels import jit
from sfumato.series.recount import Boxes, meeting

MEMBERS = {1: 70, 3: 9}


def drawn(count: int, draw: np.random.Generator) -> Boxes:
    low = draw.integers(0, 20, (count, 5)).astype(float)
    high = low + draw.integers(0, 6, (count, 5))
    star = draw.random(count) < 0.05
    low[star, 2], high[star, 2] = -1e300, 2e300
    sets = {}
    for index, size in MEMBERS.items():
        members = draw.random((count, size)) < 2 / size
        members[np.arange(count), draw.integers(0, size, count)] = True
        sets[index] = members
    return Boxes(low, high, sets)


def plain(older: Boxes, newer: Boxes) -> list[tuple[int, int]]:
    alike = np.ones((newer.count, older.count), dtype=bool)
    for index in range(older.width):
        if index in MEMBERS:
            alike &= (newer.sets[index].astype(int) @ older.sets[index].T.astype(int)) > 0
        else:
            low = np.maximum(newer.low[:, index, None], older.low[None, :, index])
            alike &= low <= np.minimum(newer.high[:, index, None], older.high[None, :, index])
    second, first = np.nonzero(alike)
    return list(zip(first.tolist(), second.tolist(), strict=True))


@pytest.mark.parametrize(("way", "counts"), [("interpreted", (0, 1, 7, 500)), ("compiled", (0, 1, 7, 500, 1200))])
def test_pairs_are_those_of_a_look_at_all(way: str, counts: tuple[int, ...]) -> None:
    draw = np.random.default_rng(3)
    found = 0
    with jit.always(way):
        for count in counts:
            older, newer = drawn(count, draw), drawn(count + 3, draw)
            pairs = [(int(one), int(other)) for one, other in zip(*meeting(older, newer), strict=True)]
            assert pairs == plain(older, newer)
            found += len(pairs)
    assert found > 0


def test_other_attributes_are_refused() -> None:
    draw = np.random.default_rng(5)
    one = drawn(3, draw)
    with pytest.raises(InputError, match="publish different attributes"):
        meeting(one, Boxes(one.low, one.high, {1: one.sets[1], 3: one.sets[3][:, :8] | True}))

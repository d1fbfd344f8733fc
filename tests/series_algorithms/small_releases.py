"""Small releases to recount, drawn or written down."""

import numpy as np

from sfumato.series.recount import Boxes, Released


def released(rows, boxes, sets=()):
    """Return the release of rows (class, value) and boxes of whole numbers."""
    low = np.array([[min(values) for values in box] for box in boxes])
    high = np.array([[max(values) for values in box] for box in boxes])
    domain = 8
    members = {
        index: np.array([[value in box[index] for value in range(domain)] for box in boxes], dtype=np.bool_)
        for index in sets
    }
    return Released(
        np.array([label for label, _ in rows], dtype=np.int64), np.array([value for _, value in rows], dtype=np.int64),
        Boxes(low, high, members),
    )  # fmt: skip


def run_of(values):
    return set(range(min(values), max(values) + 1))


def labelled(people, class_of, ranged):
    """Return rows and boxes of people (values, sensitive value); classes numbered from 0."""
    names = sorted(set(class_of))
    boxes = []
    for name in names:
        members = [values for (values, _), label in zip(people, class_of, strict=True) if label == name]
        sides = [set(each) for each in zip(*members, strict=True)]
        boxes.append([run_of(side) if index in ranged else side for index, side in enumerate(sides)])
    return [(names.index(label), value) for (_, value), label in zip(people, class_of, strict=True)], boxes


def drawn_series(draw, nested):
    """Return two releases of up to five people, then up to eight."""
    old, width = int(draw.integers(1, 6)), int(draw.integers(1, 3))
    everybody = old + int(draw.integers(0, 4))
    values = int(draw.integers(1, 4))
    people = [(tuple(draw.integers(0, 6, width).tolist()), int(draw.integers(0, values))) for _ in range(everybody)]
    if nested:
        cut = int(draw.integers(0, 6))
        first = [int(person[0][0] > cut) for person in people]
        second = [2 * side + int(draw.integers(0, 2)) for side in first]
    else:
        first, second = (draw.integers(0, 3, everybody).tolist() for _ in range(2))
    ranged = {0} if width == 1 or draw.integers(0, 2) else {0, 1}
    return labelled(people[:old], first[:old], ranged), labelled(people, second, ranged), ranged, width

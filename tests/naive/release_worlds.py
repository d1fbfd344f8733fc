"""All worlds that releases leave open, one by one: which row of each release is which row of the next.

Plain twin of the recount. A release is a list of rows (class, value) and a list of boxes, one for each class; a box is
a list of sets of values, one for each attribute.
"""

from collections import Counter


def meets(box, other):
    return all(values & others for values, others in zip(box, other, strict=True))


def pair_worlds(older, newer):
    """Yield for each world the row of the newer release that each row of the older one became."""
    rows, boxes = older
    new_rows, new_boxes = newer

    def place(at, taken):
        if at == len(rows):
            yield tuple(taken)
            return
        label, value = rows[at]
        for number, (other, other_value) in enumerate(new_rows):
            if number not in taken and value == other_value and meets(boxes[label], new_boxes[other]):
                yield from place(at + 1, [*taken, number])

    yield from place(0, [])


def pair_counts(older, newer):
    """Return the most rows of each (older class, newer class, value) and the most new rows of each (class, value)."""
    both, new, found = Counter(), Counter(), False
    for world in pair_worlds(older, newer):
        found = True
        together = Counter(
            (older[0][row][0], newer[0][became][0], older[0][row][1]) for row, became in enumerate(world)
        )
        fresh = Counter(row for number, row in enumerate(newer[0]) if number not in world)
        both |= together
        new |= fresh
    return (both, new) if found else None


def histories(releases):
    """Yield for each world of several releases the history of every row of the last: its classes, from its first on."""

    def onward(at, trails):
        if at == len(releases) - 1:
            yield trails
            return
        for world in pair_worlds(releases[at], releases[at + 1]):
            new = [((at + 1, label),) for label, _ in releases[at + 1][0]]
            for row, became in enumerate(world):
                new[became] = (*trails[row], (at + 1, releases[at + 1][0][became][0]))
            yield from onward(at + 1, new)

    yield from onward(0, [((0, label),) for label, _ in releases[0][0]])


def history_counts(releases):
    """Return the most rows of the last release with each history and value, over all worlds."""
    most = Counter()
    for trails in histories(releases):
        most |= Counter((trail, row[1]) for trail, row in zip(trails, releases[-1][0], strict=True))
    return most


def joint_counts(releases):
    """The same over the worlds in which somebody can have all labels of each history."""
    most = Counter()
    for trails in histories(releases):
        boxes = [[releases[at][1][label] for at, label in trail] for trail in trails]
        if all(all(set.intersection(*map(set, sides)) for sides in zip(*each, strict=True)) for each in boxes):
            most |= Counter((trail, row[1]) for trail, row in zip(trails, releases[-1][0], strict=True))
    return most

"""The moves of a growing table: newcomers go down the tree, classes are mixed and cut, small subtrees are made anew.

Every move mixes the people of some classes and divides them again. It is made when each part satisfies the models and
leaves everybody in it rows enough of what was published of them before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.series.growing import best_cut, mended
from sfumato.kernels.types import NUMERIC
from sfumato.series.growing_ground import Ground, ranged, small_releases
from sfumato.series.growing_tree import Node, Standing, cut
from sfumato.series.recount.pair import recount_pair

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]

MOST_MIXED = 70
"""People of a subtree that is made anew, in smallest classes of ten: seven times k."""
WORTH = 0.97
"""Share of the loss that must be left at most after a subtree was made anew."""

LEFT, RIGHT, HERE = 0, 1, 2


def send_down(ground: Ground, root: Node, rows: Numbers) -> None:
    """Send newcomers, who may be a class, as far down as they may be classes without anybody else."""
    waiting = [(root, rows)]
    while waiting:
        node, rows = waiting.pop()
        parts = divided(ground, node, rows) if node.children else None
        if parts is None:
            node.receive(Standing(rows, ground.begin()))
            continue
        for side, part in parts:
            if side == HERE:
                node.receive(Standing(part, ground.begin()))
            else:
                waiting.append((node.children[side], part))


def divided(ground: Ground, node: Node, rows: Numbers) -> list[tuple[int, Numbers]] | None:
    """Divide people by the cut of a node, so that each part may be a class; None where they all stay.

    Where one side has too few of them, the nearest of the other side stay at the node with them.
    """
    side = np.where(node.left[ground.codes[rows, node.attribute]], LEFT, RIGHT)
    counts = np.bincount(side, minlength=2)
    if counts.min() == 0:
        return [(int(counts.argmax()), rows)]
    if not ground.allows(rows, [side == LEFT, side == RIGHT]):
        if not ground.nothing_but_k and len(rows) >= 2 * ground.smallest:
            right = side == RIGHT
            if mended(ground.people(rows), ground.axes, right):
                return [(LEFT, rows[~right]), (RIGHT, rows[right])]
        fewer = int(counts.argmin())
        short = ground.smallest - counts[fewer]
        if short > 0 and len(rows) >= 2 * ground.smallest:
            others = np.flatnonzero(side != fewer)
            near = others[np.argsort(_distances(ground, rows[side == fewer], rows[others]), kind="stable")]
            side[near[:short]] = side[side == fewer] = HERE
        if not (side == HERE).any() or not ground.allows(rows, [side == 1 - fewer, side == HERE]):
            return None
    return [(each, rows[side == each]) for each in (LEFT, RIGHT, HERE) if (side == each).any()]


def _distances(ground: Ground, some: Numbers, others: Numbers) -> NDArray[np.float64]:
    """Return how much each of the others would widen the class of some people."""
    axes, found = ground.axes, np.zeros(len(others))
    for attribute in range(ground.codes.shape[1]):
        own, codes = ground.codes[some, attribute], ground.codes[others, attribute]
        if axes.kinds[attribute] == NUMERIC:
            places = axes.positions[axes.offsets[attribute] :]
            low, high = places[own.min()], places[own.max()]
            found += np.maximum(0.0, np.maximum(low - places[codes], places[codes] - high))
        else:
            found += ~np.isin(codes, own) * 1.5 * axes.units[attribute]
    return found


def settle(ground: Ground, root: Node) -> None:
    """Mix and cut the classes at every node to which somebody came, from the root down."""
    for node in root.below():
        # Children come after their parent has sent them what it sends.
        if node.touched and node.classes:
            if not node.children:
                _cut_leaf(ground, node)
            if node.children:
                _push(ground, node)


def _choices(classes: Sequence[Standing]) -> Iterator[list[Standing]]:
    """Yield what may be mixed: all, each two, each alone."""
    yield list(classes)
    if len(classes) > 2:
        yield from ([*pair] for pair in combinations(classes, 2))
    if len(classes) > 1:
        yield from ([each] for each in classes)


def _cut_leaf(ground: Ground, node: Node) -> None:
    """Cut a leaf where that saves most, mixing all its classes or some of them."""
    for mixed in _choices(node.classes):
        rows = np.concatenate([each.rows for each in mixed])
        found = _best(ground, rows) if len(rows) >= 2 * ground.smallest else None
        if found is None:
            continue
        attribute, right, by_code = found
        ground.remember(node)
        _cut_node(ground, node, attribute, rows, by_code)
        origin = node.cut_by = ground.join([each.origin for each in mixed])
        for child, part in zip(node.children, (rows[~right], rows[right]), strict=True):
            child.receive(Standing(part, origin))
        node.give(mixed)
        return


def _best(ground: Ground, rows: Numbers) -> tuple[int, Marks, Marks] | None:
    """Return the attribute of the best cut, who goes right, and whose code does."""
    right = np.zeros((2, len(rows)), dtype=np.bool_)
    attribute = best_cut(ground.people(rows), ground.axes, right)
    return (attribute, *right) if attribute >= 0 else None


def _cut_node(ground: Ground, node: Node, attribute: int, rows: Numbers, right: Marks) -> None:
    codes = ground.codes[rows, attribute]
    cut(node, attribute, codes[~right], codes[right], bool(ranged(ground.axes)[attribute]), ground.width)


def _push(ground: Ground, node: Node) -> None:
    """Send classes of a node to its children: mixed, if they may be divided, or as they are."""
    going = True
    while going and node.classes:
        going = False
        for mixed in _choices(node.classes):
            rows = np.concatenate([each.rows for each in mixed])
            parts = divided(ground, node, rows)
            if parts is None or (len(mixed) == 1 and parts[0][0] == HERE):
                continue
            origin = ground.join([*(each.origin for each in mixed), node.cut_by])
            node.give(mixed)
            sent = [(parts[0][0], each) for each in mixed] if len(parts) == 1 else []
            sent += [(side, Standing(part, origin)) for side, part in parts if len(parts) > 1]
            for side, each in sent:
                (node if side == HERE else node.children[side]).receive(each)
            going = all(side != HERE for side, _ in parts)
            break


class _Trial(NamedTuple):
    """A subtree that may be made anew.

    Attributes
    ----------
    node : Node
        Its root.
    below : list of Node
        Of the subtree.
    classes : list of Standing
        In it, all nodes together.
    free : Node
        The root of the new subtree.
    leaves : list of numpy.ndarray
        People of each new class.
    """

    node: Node
    below: list[Node]
    classes: list[Standing]
    free: Node
    leaves: list[Numbers]


def make_anew(ground: Ground, root: Node) -> None:
    """Cut small subtrees anew that have people above their leaves, where all can be mixed and much loss is saved."""
    for node in reversed(list(root.below())):
        node.touched |= any(child.touched for child in node.children)
    waiting = [root]
    while waiting:
        # Those that wait are apart from each other, so that all are recounted at once.
        waiting = [node for node in waiting if node.children and node.touched]
        trials = [trial for node in waiting if node.classes and (trial := _tried(ground, node))]
        made = {id(trial.node) for trial in _withstanding(ground, trials) if _make_anew(ground, trial)}
        waiting = [child for node in waiting if id(node) not in made for child in node.children]


def _tried(ground: Ground, node: Node) -> _Trial | None:
    below = list(node.below())
    classes = [each for part in below for each in part.classes]
    people = sum(len(each.rows) for each in classes)
    if people > MOST_MIXED * max(1, ground.smallest) // 10 or people < 2 * ground.smallest or len(classes) < 2:
        return None
    free = Node(classes=[Standing(np.concatenate([each.rows for each in classes]), -1)])
    leaves = _cut_freely(ground, free)
    now = sum(ground.loss(each.rows) for each in classes)
    if sum(ground.loss(each) for each in leaves) > WORTH * now:
        return None
    return _Trial(node, below, classes, free, leaves)


def _withstanding(ground: Ground, trials: Sequence[_Trial]) -> list[_Trial]:
    """Return those after which old and new classes leave everybody enough rows."""
    if not trials:
        return []
    older, part_of = small_releases(ground, [[each.rows for each in trial.classes] for trial in trials])
    newer, new_part_of = small_releases(ground, [trial.leaves for trial in trials])
    found = recount_pair(older, newer)
    least = np.full(len(trials), ground.smallest, dtype=np.int64)
    for rows, parts in ((found.both_rows, part_of[found.older]), (found.new_rows, new_part_of)):
        np.minimum.at(least, parts[rows > 0], rows[rows > 0])
    return [trial for trial, rows in zip(trials, least.tolist(), strict=True) if rows >= ground.smallest]


def _make_anew(ground: Ground, trial: _Trial) -> Node:
    """Put the new subtree into the place of the old one."""
    node, free = trial.node, trial.free
    origin = ground.join([*(each.origin for each in trial.classes), *(part.cut_by for part in trial.below)])
    ground.remember(node)
    for part in trial.below:
        part.classes = []
    node.attribute, node.left, node.children, node.classes = free.attribute, free.left, free.children, free.classes
    node.cut_by = origin
    for part in node.below():
        for each in part.classes:
            each.origin = origin
    return node


def _cut_freely(ground: Ground, root: Node) -> list[Numbers]:
    leaves, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        rows = node.classes[0].rows
        found = _best(ground, rows) if len(rows) >= 2 * ground.smallest else None
        if found is None:
            leaves.append(rows)
            continue
        attribute, right, by_code = found
        _cut_node(ground, node, attribute, rows, by_code)
        node.classes = []
        for child, part in zip(node.children, (rows[~right], rows[right]), strict=True):
            child.classes = [Standing(part, -1)]
            waiting.append(child)
    return leaves

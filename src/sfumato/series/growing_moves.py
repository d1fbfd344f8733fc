"""The moves of a growing table: newcomers go down the tree, classes are mixed and cut, small subtrees are made anew.

Every move mixes the people of some classes and divides them again. It is made when each part satisfies the models and
leaves everybody in it rows enough of what was published of them before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.series.growing import best_cut
from sfumato.kernels.space import NUMERIC
from sfumato.series.growing_ground import Ground, ranged, small_release
from sfumato.series.growing_tree import Node, Standing, cut
from sfumato.series.recount.pair import recount_pair

Numbers = NDArray[np.int64]

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
        attribute, right = found
        ground.remember(node)
        _cut_node(ground, node, attribute, rows, right)
        origin = node.cut_by = ground.join([each.origin for each in mixed])
        for child, part in zip(node.children, (rows[~right], rows[right]), strict=True):
            child.receive(Standing(part, origin))
        node.give(mixed)
        return


def _best(ground: Ground, rows: Numbers) -> tuple[int, NDArray[np.bool_]] | None:
    right = np.zeros(len(rows), dtype=np.bool_)
    attribute = best_cut(
        ground.codes[rows], ground.sensitive[rows], ground.histories(rows), ground.axes, ground.rules,
        ground.smallest, right,
    )  # fmt: skip
    return (attribute, right) if attribute >= 0 else None


def _cut_node(ground: Ground, node: Node, attribute: int, rows: Numbers, right: NDArray[np.bool_]) -> None:
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


def make_anew(ground: Ground, root: Node) -> None:
    """Cut small subtrees anew that have people above their leaves, where all can be mixed and much loss is saved."""
    for node in reversed(list(root.below())):
        node.touched |= any(child.touched for child in node.children)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not node.children or not node.touched:
            continue
        if node.classes and _made_anew(ground, node):
            continue
        waiting.extend(node.children)


def _made_anew(ground: Ground, node: Node) -> bool:
    below = list(node.below())
    classes = [each for part in below for each in part.classes]
    people = sum(len(each.rows) for each in classes)
    if people > MOST_MIXED * max(1, ground.smallest) // 10 or people < 2 * ground.smallest or len(classes) < 2:
        return False
    rows = np.concatenate([each.rows for each in classes])
    free = Node(classes=[Standing(rows, -1)])
    leaves = _cut_freely(ground, free)
    now = sum(ground.loss(each.rows) for each in classes)
    if sum(ground.loss(each) for each in leaves) > WORTH * now:
        return False
    found = recount_pair(small_release(ground, [each.rows for each in classes]), small_release(ground, leaves))
    if found.least is not None and found.least < ground.smallest:
        return False
    origin = ground.join([*(each.origin for each in classes), *(part.cut_by for part in below)])
    ground.remember(node)
    for part in below:
        part.classes = []
    node.attribute, node.left, node.children, node.classes = free.attribute, free.left, free.children, free.classes
    node.cut_by = origin
    for part in node.below():
        for each in part.classes:
            each.origin = origin
    return True


def _cut_freely(ground: Ground, root: Node) -> list[Numbers]:
    leaves, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        rows = node.classes[0].rows
        found = _best(ground, rows) if len(rows) >= 2 * ground.smallest else None
        if found is None:
            leaves.append(rows)
            continue
        attribute, right = found
        _cut_node(ground, node, attribute, rows, right)
        node.classes = []
        for child, part in zip(node.children, (rows[~right], rows[right]), strict=True):
            child.classes = [Standing(part, -1)]
            waiting.append(child)
    return leaves

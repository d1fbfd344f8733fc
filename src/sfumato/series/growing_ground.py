"""What the moves of a growing table read: codes, what is left to everybody, and what parts must satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.layout import space_of
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.series.growing import Axes, Histories, People, loss_of, part_allowed
from sfumato.kernels.types import NUMERIC, SET, TREE
from sfumato.series.growing_chains import NO_CHAINS, KnownChains
from sfumato.series.growing_tree import Node
from sfumato.series.recount.released import Boxes, Places, Released, runs
from sfumato.table.encoding import EncodedAttribute

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Ground:
    """The table, and what was published of it before.

    Letters: n people, q attributes, a attributes that rules look at.

    Attributes
    ----------
    attributes : sequence of EncodedAttribute
    axes : Axes
    codes, sensitive : numpy.ndarray
        int64 (n, q) and (n, a).
    value_of : numpy.ndarray
        int64 (n,): all that a row publishes beside its class.
    group_of : numpy.ndarray
        int64 (n,): people with one history, −1 newcomers.
    left : Places
        What is left to each group.
    rules : RuleArrays
    smallest : int
    known : KnownChains or None
        What every part has to meet, where all releases are counted together.
    joined : list of int
        For each origin one that it was mixed with, itself if none: what must be taken back together.
    moved : set of int
        Origins that were mixed, divided or sent down.
    cut : list of (Node, Node)
        The nodes that were cut, each with a copy from before, in order.
    """

    attributes: Sequence[EncodedAttribute]
    axes: Axes
    codes: Numbers
    sensitive: Numbers
    value_of: Numbers
    group_of: Numbers
    left: Places
    rules: RuleArrays
    smallest: int
    known: KnownChains | None = None
    joined: list[int] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)
    cut: list[tuple[Node, Node]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Codes of the attribute that has most, the missing value among them."""
        return 1 + max((attribute.size for attribute in self.attributes), default=0)

    def loss(self, rows: Numbers) -> float:
        """Return the loss of some people as one class, summed over them."""
        return len(rows) * loss_of(self.codes[rows], np.ones(len(rows), dtype=np.bool_), self.axes)

    def histories(self, rows: Numbers) -> Histories:
        """Return what is left to some people who may be mixed; newcomers among them have each other."""
        if self.nothing_but_k:
            nobody = np.zeros(len(rows), dtype=np.int64)
            return Histories(nobody, nobody, np.full((1, 1), len(rows)), self.smallest)
        groups, group_of = np.unique(self.group_of[rows], return_inverse=True)
        values, value_of = np.unique(self.value_of[rows], return_inverse=True)
        left = np.zeros((len(groups), len(values)), dtype=np.int64)
        known = groups >= 0
        owner, place = runs(self.left.starts[groups[known]], np.diff(self.left.starts)[groups[known]])
        value = self.left.value_of[place]
        at = np.minimum(np.searchsorted(values, value), len(values) - 1)
        same = values[at] == value
        left[np.flatnonzero(known)[owner[same]], at[same]] = self.left.rows[place[same]]
        if not known[0]:
            left[0] = np.bincount(value_of[group_of == 0], minlength=len(values))
        return Histories(group_of, value_of, left, self.smallest)

    def people(self, rows: Numbers) -> People:
        """Return some people who may be mixed."""
        chains = NO_CHAINS if self.known is None else self.known.to(rows)
        return People(self.codes[rows], self.sensitive[rows], self.histories(rows), chains, self.rules, self.smallest)

    def with_newcomers(self, classes: Sequence[Numbers]) -> Ground:
        """Return the same ground with newcomers in groups, as if they had been published alone."""
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *classes])
        class_of = np.repeat(np.arange(len(classes)), [len(each) for each in classes])
        alone = Released(class_of, self.value_of[rows], Boxes(*np.zeros((2, len(classes), 1)))).places
        group_of = self.group_of.copy()
        group_of[rows] = self.left.count + class_of
        left = Places(
            np.append(self.left.class_of, alone.class_of + self.left.count),
            np.append(self.left.value_of, alone.value_of), np.append(self.left.rows, alone.rows),
            self.left.count + alone.count,
        )  # fmt: skip
        return replace(self, group_of=group_of, left=left)

    def allows(self, rows: Numbers, parts: Sequence[NDArray[np.bool_]]) -> bool:
        """Tell whether people who are mixed may be divided into some parts: each bool (rows,), not everybody in one."""
        if min(int(part.sum()) for part in parts) < self.smallest:
            return False
        if self.nothing_but_k and self.known is None:
            return True
        people = self.people(rows)
        return all(part_allowed(part, people) for part in parts)

    @cached_property
    def nothing_but_k(self) -> bool:
        """Whether only sizes matter: every row publishes the same beside its class, and no rule reads values.

        Then everybody always has a history of k rows or more, and a part of k people leaves as many.
        """
        return not self.sensitive.shape[1] and not (self.value_of != self.value_of[:1]).any()

    def begin(self) -> int:
        """Return a new origin."""
        self.joined.append(len(self.joined))
        return len(self.joined) - 1

    def origin_of(self, origin: int) -> int:
        """Return the origin that stands for all that were mixed with one."""
        while self.joined[origin] != origin:
            origin = self.joined[origin]
        return origin

    def join(self, origins: Sequence[int]) -> int:
        """Note that origins were mixed; return the one that stands for them."""
        heads = sorted({self.origin_of(origin) for origin in origins if origin >= 0})
        for head in heads:
            self.joined[head] = heads[0]
        self.moved.add(heads[0])
        return heads[0]

    def forget(self, nodes: Iterable[Node]) -> list[tuple[Node, int, Numbers]]:
        """Begin anew: what stands now is what is gone back to. Return it: nodes, origins, people."""
        self.joined.clear()
        self.moved.clear()
        self.cut.clear()
        standing = []
        for node in nodes:
            node.cut_by = -1
            for each in node.classes:
                each.origin = self.begin()
                standing.append((node, each.origin, each.rows))
        return standing

    def remember(self, node: Node) -> None:
        """Keep what a node was before it is cut."""
        self.cut.append((node, Node(node.attribute, node.left, node.children, cut_by=node.cut_by)))


def axes_of(attributes: Sequence[EncodedAttribute]) -> Axes:
    """Return losses of codes as kernels read them."""
    space = space_of(attributes)
    owner = np.repeat(np.arange(len(attributes)), np.diff(space.offsets))
    scales = np.where(space.scales > 0, space.scales, 1.0)
    trees = [attribute.hierarchy for attribute in attributes]
    heights = [0 if tree is None else tree.height + 1 for tree in trees]
    width = 1 + max((attribute.size for attribute in attributes), default=0)
    nodes, losses = np.full((sum(heights), width), -1, dtype=np.int32), np.zeros((sum(heights), width))
    levels = np.cumsum([0, *heights])
    for index, tree in enumerate(trees):
        if tree is not None:
            rows = slice(levels[index], levels[index + 1])
            nodes[rows, : tree.size] = tree.node_of
            part = tree.leaf_counts / tree.size
            losses[rows, : tree.size] = np.where(tree.leaf_counts > 1, part, 0.0) * attributes[index].weight
    return Axes(
        space.kinds, space.offsets, space.positions / scales[owner] * space.weights[owner],
        space.weights / np.maximum(space.sizes, 1.0), levels, nodes, losses,
    )  # fmt: skip


def tight_boxes(
    attributes: Sequence[EncodedAttribute], codes: NDArray[np.integer], class_of: NDArray[np.integer], count: int
) -> Boxes:
    """Return what classes publish when nothing is rounded: ranges, nodes, value sets; of codes.

    A class that mixes missing and present values of a number or of a hierarchy publishes ``*``.
    """
    low, high = np.zeros((count, len(attributes)), dtype=np.int64), np.zeros((count, len(attributes)), dtype=np.int64)
    sets = {}
    kinds = space_of(attributes).kinds
    order = np.argsort(class_of, kind="stable")
    order = order[np.searchsorted(class_of[order], 0) :]
    starts = np.searchsorted(class_of[order], np.arange(count))
    for index, attribute in enumerate(attributes):
        column = codes[order, index].astype(np.int64)
        low[:, index], high[:, index] = np.minimum.reduceat(column, starts), np.maximum.reduceat(column, starts)
        if kinds[index] == SET:
            members = np.zeros((count, attribute.size + 1), dtype=np.bool_)
            members[class_of[order], column] = True
            sets[index] = members
            continue
        mixed = (high[:, index] == attribute.size) & (low[:, index] < attribute.size)
        if attribute.hierarchy is not None and kinds[index] == TREE:
            _climb(attribute, low[:, index], high[:, index])
        low[mixed, index] = 0
    return Boxes(low, high, sets)


def _climb(attribute: EncodedAttribute, low: Numbers, high: Numbers) -> None:
    """Widen ranges of leaves to the nodes that cover them, in place."""
    tree = attribute.hierarchy
    inner = np.flatnonzero((low < high) & (high < attribute.size))
    if tree is None or not len(inner):
        return
    level = tree.common_ancestor(low[inner], high[inner])
    for step in np.unique(level):
        some = inner[level == step]
        starts = np.asarray(tree.levels[step].starts, dtype=np.int64)
        node = tree.node_of[step, low[some]]
        low[some], high[some] = starts[node], starts[node + 1] - 1


def alike(boxes: Boxes) -> tuple[Numbers, Numbers]:
    """Give equal boxes one number, in order of first occurrence; also return where each occurs first.

    int64 (c,) and (distinct,).
    """
    everything = np.column_stack([boxes.low, boxes.high, *boxes.sets.values()]).astype(np.float64)
    everything[:, [index + side for index in boxes.sets for side in (0, boxes.width)]] = 0
    _, firsts, label_of = np.unique(everything, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    number = np.empty(len(firsts), dtype=np.int64)
    number[order] = np.arange(len(firsts))
    return number[label_of.ravel()], firsts[order]


def ranged(axes: Axes) -> NDArray[np.bool_]:
    """Tell which attributes have codes in an order; bool (q,)."""
    return np.asarray((axes.kinds == NUMERIC) | (axes.kinds == TREE))


def small_releases(ground: Ground, parts: Sequence[Sequence[Numbers]]) -> tuple[Released, Numbers]:
    """Return the classes of several parts of a table as recipients would hold them, and the part of each class.

    Parts have nobody in common, and so no two of them meet: the number of the part is one more attribute.
    """
    classes = [rows for part in parts for rows in part]
    part_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    rows = np.concatenate(classes)
    class_of = np.repeat(np.arange(len(classes)), [len(each) for each in classes])
    boxes = tight_boxes(ground.attributes, ground.codes[rows], class_of, len(classes))
    apart = Boxes(np.column_stack([boxes.low, part_of]), np.column_stack([boxes.high, part_of]), boxes.sets)
    return Released(class_of, ground.value_of[rows], apart), part_of

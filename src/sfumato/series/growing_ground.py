"""What the moves of a growing table read: codes, what is left to everybody, and what parts must satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.layout import space_of
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.series.growing import Axes, ChainArrays, HistoryArrays, PeopleArrays, loss_of, part_allowed
from sfumato.kernels.types import NUMERIC, SET, TREE
from sfumato.series.recount.histories import Chains as Joined
from sfumato.series.recount.released import Boxes, Places, Released, row_runs
from sfumato.table.encoding import EncodedAttribute, EncodedTable

# Chains of classes as the moves of a growing table read them, so that no cut is tried that would break one.
#
# The recount decides about chains (:mod:`sfumato.series.recount.histories`); what is here only keeps moves from being
# made that it would take back.


_NO_LIST, _NO_TABLE = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
NO_CHAINS = ChainArrays(_NO_LIST, _NO_LIST, _NO_TABLE, _NO_TABLE, np.zeros((0, 0), dtype=np.uint64), _NO_LIST)


@dataclass(frozen=True, eq=False, repr=False)
class KnownChains:
    """Chains of classes to the last release, in codes of the table.

    Letters: n people, c classes of the last release, h chains.

    Attributes
    ----------
    class_of : numpy.ndarray
        int64 (n,): class in the last release, −1 newcomers.
    starts : numpy.ndarray
        int64 (c + 1,): where the chains to each class start.
    boxes : Boxes
        What each covers, h of them.
    """

    class_of: Numbers
    starts: Numbers
    boxes: Boxes

    @classmethod
    def of(
        cls, chains: Joined, class_of: Numbers, points: Boxes, holders: Numbers, attributes: Sequence[EncodedAttribute]
    ) -> KnownChains:
        """Read chains in codes.

        Parameters
        ----------
        chains
            To the last release.
        class_of
            See the class.
        points
            What some people would publish alone.
        holders
            int64 (attributes, codes): which of them has the code, −1 nobody.
        attributes
            Of the table.
        """
        order = np.argsort(chains.class_of, kind="stable")
        starts = np.searchsorted(chains.class_of[order], np.arange(int(class_of.max(initial=-1)) + 2))
        boxes = chains.boxes.take(order)
        low, high = (np.zeros((len(order), len(attributes)), dtype=np.int64) for _ in range(2))
        sets = {}
        for index, kind in enumerate(space_of(attributes).kinds.tolist()):
            covered = np.zeros((len(order), attributes[index].size + 1), dtype=np.bool_)
            codes = np.flatnonzero(holders[index] >= 0)
            covered[:, codes] = boxes.covers(points.take(holders[index, codes]), index)
            # A chain between two codes, or of codes that nobody has alone: the recount will tell.
            covered[~covered.any(axis=1)] = True
            if kind == SET:
                sets[index] = covered
            else:
                low[:, index] = covered.argmax(axis=1)
                high[:, index] = covered.shape[1] - 1 - covered[:, ::-1].argmax(axis=1)
        return cls(class_of, starts.astype(np.int64), Boxes(low, high, sets))

    @cached_property
    def _ends(self) -> tuple[Numbers, Numbers]:
        low, high = self.boxes.hulls
        return low.astype(np.int64), high.astype(np.int64)

    def to(self, rows: Numbers) -> ChainArrays:
        """Return the chains to the classes of some people."""
        classes, local = np.unique(self.class_of[rows], return_inverse=True)
        newcomers = int(len(classes) > 0 and classes[0] < 0)
        classes = classes[newcomers:]
        ends, chain = row_runs(self.starts[classes], np.diff(self.starts)[classes])
        low, high = self._ends
        shapes = self.boxes.shapes
        return ChainArrays(local - newcomers, ends, low[chain], high[chain], shapes.members[chain], shapes.words)


def holders_of(table: EncodedTable) -> tuple[Numbers, NDArray[np.int32]]:
    """Choose somebody for each code of each attribute.

    Returns which of those who were chosen has the code, int64 (attributes, codes), −1 nobody; and a class for each
    of them alone, int32 (n,), −1 for all others.
    """
    width = 1 + max((attribute.size for attribute in table.attributes), default=0)
    holders = np.full((len(table.attributes), width), -1, dtype=np.int64)
    alone, count = np.full(table.height, -1, dtype=np.int32), 0
    for index in range(len(table.attributes)):
        free = np.flatnonzero(alone < 0)
        codes, first = np.unique(table.codes[free, index], return_index=True)
        holders[index, codes] = np.arange(count, count + len(codes))
        alone[free[first]] = holders[index, codes]
        count += len(codes)
    return holders, alone


# The cuts of a growing table: a tree that says where newcomers belong, and the classes that stand at its nodes.
#
# A class stands at a node when the cuts above it are the only ones that it was divided by. Most stand at leaves; people
# who were too few for the leaves wait together at the nodes above, as classes of their own.


Marks = NDArray[np.bool_]


@dataclass(eq=False)
class Standing:
    """A class while the next release is made.

    Attributes
    ----------
    rows : numpy.ndarray
        int64: its people.
    origin : int
        One of the classes, of the last release or of newcomers alone, that it was made of.
    """

    rows: Numbers
    origin: int


@dataclass(eq=False)
class Node:
    """A node of the tree.

    Attributes
    ----------
    attribute : int
        Which attribute is cut here; −1 at a leaf.
    left : numpy.ndarray
        bool: which codes of it go left.
    children : tuple of Node
        Left and right, or none.
    classes : list of Standing
    cut_by : int
        An origin for which the node was cut in this month, −1.
    touched : bool
        Whether a class came to it in this month.
    """

    attribute: int = -1
    left: Marks = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    children: tuple[Node, ...] = ()
    classes: list[Standing] = field(default_factory=list)
    cut_by: int = -1
    touched: bool = False

    def receive(self, standing: Standing) -> None:
        """Take in a class."""
        self.classes.append(standing)
        self.touched = True

    def give(self, some: Sequence[Standing]) -> None:
        """Let go of some classes."""
        self.classes = [each for each in self.classes if not any(each is other for other in some)]

    def below(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first, left before right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(frozen=True, eq=False, repr=False)
class CutTree:
    """The tree as arrays, to be kept in the private ledger: it tells how the table was cut.

    Letters: t nodes, w codes of the attribute that has most. Nodes are numbered as :meth:`Node.below` yields them.

    Attributes
    ----------
    attribute : numpy.ndarray
        int64 (t,): which attribute is cut, −1 at leaves.
    left : numpy.ndarray
        bool (t, w): which codes go left.
    right_child : numpy.ndarray
        int64 (t,): the right child; the left one is the next node. −1 at leaves.
    """

    attribute: Numbers
    left: Marks
    right_child: Numbers


def frozen(root: Node, width: int) -> tuple[CutTree, list[Node]]:
    """Return the tree as arrays, and its nodes in the order of their numbers; `width`: codes of an attribute."""
    nodes = list(root.below())
    number = {id(node): place for place, node in enumerate(nodes)}
    left = np.zeros((len(nodes), width), dtype=np.bool_)
    for place, node in enumerate(nodes):
        left[place, : len(node.left)] = node.left
    return CutTree(
        np.array([node.attribute for node in nodes], dtype=np.int64),
        left,
        np.array([number[id(node.children[1])] if node.children else -1 for node in nodes], dtype=np.int64),
    ), nodes


def thawed(tree: CutTree) -> list[Node]:
    """Return the nodes of a tree in the order of their numbers, without classes; the root is the first."""
    nodes = [Node(int(attribute), left) for attribute, left in zip(tree.attribute, tree.left, strict=True)]
    for place, right in enumerate(tree.right_child.tolist()):
        if right >= 0:
            nodes[place].children = (nodes[place + 1], nodes[right])
    return nodes


def common_tree_node(tree: CutTree, first: Numbers, last: Numbers) -> Numbers:
    """Return the lowest node above some nodes, of which the first and the last number are given; int64."""
    found = np.zeros(len(first), dtype=np.int64)
    for place, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        node = 0
        while node != low and tree.right_child[node] >= 0:
            right = int(tree.right_child[node])
            if low < right <= high:
                break
            node = node + 1 if high < right else right
        found[place] = node
    return found


def tree_of_cuts(cuts: Numbers, members: Sequence[Numbers], codes: Numbers, ranged: Marks, width: int) -> Node:
    """Return the tree of cuts that a search made of a whole table.

    Parameters
    ----------
    cuts
        int64 (b, 4): see :meth:`~sfumato.anonymizers.mondrian.Mondrian.solve_with_cuts`.
    members
        The people of each class; their numbers become origins.
    codes
        int64 (n, q)
    ranged
        bool (q,): attributes whose codes have an order, so that what neither side has goes to the nearer one.
    width
        Codes of an attribute, at most.
    """
    by_range = {(first, end): (attribute, middle) for attribute, first, middle, end in cuts.tolist()}
    root = Node()
    waiting = [(root, 0, len(members))]
    while waiting:
        node, first, end = waiting.pop()
        if end - first == 1:
            node.classes.append(Standing(members[first], first))
            continue
        attribute, middle = by_range[first, end]
        sides = [np.concatenate(members[start:stop]) for start, stop in ((first, middle), (middle, end))]
        lefts, rights = (codes[side, attribute] for side in sides)
        cut(node, attribute, lefts, rights, bool(ranged[attribute]), width)
        waiting += [(node.children[0], first, middle), (node.children[1], middle, end)]
    return root


def cut(node: Node, attribute: int, lefts: Numbers, rights: Numbers, is_ranged: bool, width: int) -> None:
    """Cut a leaf between the codes of its sides; a code of neither goes to the nearer side, or to the right."""
    node.attribute, node.children = attribute, (Node(), Node())
    node.left = np.zeros(width, dtype=np.bool_)
    node.left[lefts] = True
    if is_ranged:
        node.left = nearest_left(lefts, rights, width)


def nearest_left(lefts: Numbers, rights: Numbers, width: int) -> Marks:
    """Tell which codes are nearer to one of the left side than to any of the right side; bool (width,)."""
    if not len(lefts) or not len(rights):
        return np.full(width, len(lefts) > 0)
    every = np.arange(width)
    return np.asarray(_distance(every, np.unique(lefts)) < _distance(every, np.unique(rights)))


def _distance(codes: Numbers, to: Numbers) -> Numbers:
    at = np.searchsorted(to, codes)
    before, after = to[np.maximum(at - 1, 0)], to[np.minimum(at, len(to) - 1)]
    return np.asarray(np.minimum(np.abs(codes - before), np.abs(codes - after)))


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

    def histories(self, rows: Numbers) -> HistoryArrays:
        """Return what is left to some people who may be mixed; newcomers among them have each other."""
        if self.nothing_but_k:
            nobody = np.zeros(len(rows), dtype=np.int64)
            return HistoryArrays(nobody, nobody, np.full((1, 1), len(rows)), self.smallest)
        groups, group_of = np.unique(self.group_of[rows], return_inverse=True)
        values, value_of = np.unique(self.value_of[rows], return_inverse=True)
        left = np.zeros((len(groups), len(values)), dtype=np.int64)
        known = groups >= 0
        owner, place = row_runs(self.left.starts[groups[known]], np.diff(self.left.starts)[groups[known]])
        value = self.left.value_of[place]
        at = np.minimum(np.searchsorted(values, value), len(values) - 1)
        same = values[at] == value
        left[np.flatnonzero(known)[owner[same]], at[same]] = self.left.rows[place[same]]
        if not known[0]:
            left[0] = np.bincount(value_of[group_of == 0], minlength=len(values))
        return HistoryArrays(group_of, value_of, left, self.smallest)

    def people(self, rows: Numbers) -> PeopleArrays:
        """Return some people who may be mixed."""
        chains = NO_CHAINS if self.known is None else self.known.to(rows)
        return PeopleArrays(
            self.codes[rows], self.sensitive[rows], self.histories(rows), chains, self.rules, self.smallest
        )

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

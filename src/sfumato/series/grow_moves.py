"""Grow: classes take newcomers in and are cut again, so that nobody is narrowed down by all releases together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import Problem, feasible
from sfumato.anonymizers.layout import space_of
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.kernels.jit import run_repeatedly
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.series.growing import (
    Axes,
    ChainArrays,
    HistoryArrays,
    PeopleArrays,
    best_cut,
    loss_of,
    mended,
    part_allowed,
)
from sfumato.kernels.types import NUMERIC, SET, TREE
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel, smallest
from sfumato.series.recount import (
    Boxes,
    Chains,
    Followed,
    PairRecount,
    Places,
    Released,
    SensitiveValues,
    any_month,
    chains_to,
    check_models,
    dated,
    follow,
    history_steps,
    holds_on,
    join_releases,
    recount_pair,
    row_runs,
)
from sfumato.series.recount import Chains as Joined
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.row_order import hash_order

# Chains of classes as the moves of a growing table read them, so that no cut is tried that would break one.
#
# The recount decides about chains (:mod:`sfumato.series.recount`); what is here only keeps moves from being
# made that it would take back.


_NO_LIST, _NO_TABLE = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
NO_CHAINS = ChainArrays(_NO_LIST, _NO_LIST, _NO_TABLE, _NO_TABLE, np.zeros((0, 0), dtype=np.uint64), _NO_LIST)


@dataclass(frozen=True, eq=False, repr=False)
class KnownChains:
    """Chains of classes to the last release, h of them, in codes of the table; n people, c classes."""

    class_of: Numbers  # int64 (n,): class in the last release, −1 newcomers
    starts: Numbers  # int64 (c + 1,): where the chains to each class start
    boxes: Boxes  # what each covers, h of them

    @classmethod
    def of(
        cls, chains: Joined, class_of: Numbers, points: Boxes, holders: Numbers, attributes: Sequence[EncodedAttribute]
    ) -> KnownChains:
        """Read chains to the last release in codes; `holders`: who of those in `points` has each code, −1 nobody."""
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
    """Choose somebody for each code of each attribute, −1 nobody; and a class for each of them alone."""
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
    """A class while the next release is made."""

    rows: Numbers  # int64: its people
    origin: int  # one of the classes, of the last release or of newcomers alone, that it was made of


@dataclass(eq=False)
class Node:
    """A node of the tree."""

    attribute: int = -1  # which attribute is cut here; −1 at a leaf
    left: Marks = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))  # bool: which codes of it go left
    children: tuple[Node, ...] = ()  # left and right, or none
    classes: list[Standing] = field(default_factory=list)
    cut_by: int = -1  # an origin for which the node was cut in this month, −1
    touched: bool = False  # whether a class came to it in this month

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
    """

    attribute: Numbers  # int64 (t,): which attribute is cut, −1 at leaves
    left: Marks  # bool (t, w): which codes go left
    right_child: Numbers  # Int64 (t,): the right child; the left one is the next node. −1 at leaves.


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
    """Return the tree of cuts that a search made of a whole table; members' numbers become origins.

    `ranged`: attributes whose codes have an order, so that what neither side has goes to the nearer one.
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
    """The table of n people, and what was published of it before; q attributes, of which rules look at a."""

    attributes: Sequence[EncodedAttribute]
    axes: Axes
    # `codes`, `sensitive`: int64 (n, q) and (n, a)
    codes: Numbers
    sensitive: Numbers
    value_of: Numbers  # int64 (n,): all that a row publishes beside its class
    group_of: Numbers  # int64 (n,): people with one history, −1 newcomers
    left: Places  # what is left to each group
    rules: RuleArrays
    smallest: int
    known: KnownChains | None = None  # what every part has to meet, where all releases are counted together
    # for each origin one that it was mixed with, itself if none: what must be taken back together
    joined: list[int] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)  # origins that were mixed, divided or sent down
    # the nodes that were cut, each with a copy from before, in order
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
    """Give equal boxes one number, by first occurrence, int64 (c,); also return where each occurs first."""
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


# The recount decides about a release that grew: what it does not bear is taken back.


ROUNDS = 8
"""Recounts, at most; before the last, everything that is still mixed is taken back."""


_UNCOVERED = (
    "series: the labels of an earlier release do not cover everybody who is in its classes; the ledger, the folder or "
    "the labels were changed"
)


@dataclass(frozen=True, eq=False, repr=False)
class HistoryGuard:
    """What a candidate is recounted with."""

    earlier: Sequence[Released]
    models: Sequence[PrivacyModel]
    values: SensitiveValues
    classes: NDArray[np.int32]  # (n, releases): the class of everybody in each of them, −1 for who was not published
    before: Followed  # up to the last release
    # those to the last release, where all releases are counted together; None: each two of them are
    chains: Chains | None
    # makes the candidate of a tree: as recipients will hold it, and the class of everybody
    released: Callable[[Node], tuple[Released, NDArray[np.int32]]]

    def broken(self, left: Places) -> Marks:
        """Tell which lists of rows break a model."""
        return ~holds_on(left, self.models, self.values)


def taken_back(
    ground: Ground,
    root: Node,
    before: Sequence[tuple[Node, int, Numbers]],
    guard: HistoryGuard,
    *,
    all_pairs: bool = True,
) -> tuple[int, Followed]:
    """Recount a candidate against every earlier release, or the last, and take back what fails until nothing does."""
    count = 0
    for number in range(ROUNDS):
        failing, followed = _failing(*guard.released(root), guard, all_pairs)
        if not failing.any():
            return count, followed
        mixed = _mixed(ground, root, followed.class_of)
        groups = {head for label in np.flatnonzero(failing).tolist() for head in mixed.get(label, ())}
        if not groups or number == ROUNDS - 2:
            groups = {head for heads in mixed.values() for head in heads}
        if not groups:
            break
        count += len(groups)
        _take_back(ground, root, before, groups)
    raise InputError(
        "series: the earlier releases alone leave somebody less than the models ask for; they were not made by this "
        "series, or their labels or columns were changed: start a new series"
    )


def _failing(
    candidate: Released, class_of: NDArray[np.int32], guard: HistoryGuard, all_pairs: bool
) -> tuple[Marks, Followed]:
    """Tell of which classes, or of others that meet what they meet, too little is left."""
    if guard.chains is not None:
        return _failing_together(candidate, class_of, guard, guard.chains)
    found = recount_pair(guard.earlier[-1], candidate)
    failing = _of_pair(found, _people_of(found, guard.classes[:, -1], class_of), guard)
    failing, followed = _along(found, failing, class_of, guard)
    if all_pairs and not failing.any():
        # What the last release refuses goes back before the others are asked.
        for release, classes in zip(guard.earlier[:-1], guard.classes.T, strict=False):
            found = recount_pair(release, candidate)
            failing |= _of_pair(found, _people_of(found, classes, class_of), guard)
    return failing, followed


def _failing_together(
    candidate: Released, class_of: NDArray[np.int32], guard: HistoryGuard, chains: Chains
) -> tuple[Marks, Followed]:
    """Tell of which classes too little is left by all releases together, or some chain has nothing in common."""
    before = guard.classes[:, -1]
    steps = history_steps(before, class_of)
    came = np.unique(class_of[(before < 0) & (class_of >= 0)]).astype(np.int64)
    found = recount_pair(guard.earlier[-1], candidate, steps)
    if Chains.first(guard.earlier[-1]).onward(steps, candidate.boxes, came)[1].any():
        raise InputError(_UNCOVERED)
    _, empty = chains.onward(steps, candidate.boxes, came)
    everywhere = np.ones(len(steps[0]), dtype=np.bool_), np.isin(np.arange(candidate.boxes.count), came)
    failing = _of_pair(found, everywhere, guard, empty)
    return _along(found, failing, class_of, guard)


def _along(
    found: PairRecount, failing: Marks, class_of: NDArray[np.int32], guard: HistoryGuard
) -> tuple[Marks, Followed]:
    """Follow everybody into the candidate; classes in which too little is left to somebody's history fail, too."""
    followed = follow(guard.before, found, class_of)
    broken = guard.broken(followed.left)
    failing[class_of[(class_of >= 0) & broken[followed.history_of]]] = True
    return failing, followed


def _people_of(found: PairRecount, before: NDArray[np.int32], now: NDArray[np.int32]) -> tuple[Marks, Marks]:
    """Tell in which pairs of classes somebody is, and to which newer classes somebody came; bool (p,), bool (c,)."""
    width = int(found.older.max(initial=0)) + 1
    stays = (before >= 0) & (now >= 0)
    keys = np.unique(now[stays].astype(np.int64) * width + before[stays])
    pairs = found.newer * width + found.older
    if not np.isin(keys, pairs).all() or before[stays].max(initial=0) >= width:
        raise InputError(_UNCOVERED)
    return np.isin(pairs, keys), np.isin(np.arange(found.new.count), now[before < 0])


def _of_pair(
    found: PairRecount, people: tuple[Marks, Marks], guard: HistoryGuard, empty: Marks | bool = False
) -> Marks:
    both, new = (guard.broken(left) & some for left, some in zip((found.both, found.new), people, strict=True))
    both |= empty
    suspects = np.zeros(int(found.older.max(initial=0)) + 1, dtype=np.bool_)
    suspects[found.older[both | new[found.newer]]] = True
    # What fails may be the work of a neighbour: all that meet the older class are asked.
    failing = new.copy()
    failing[found.newer[suspects[found.older]]] = True
    return failing


def _mixed(ground: Ground, root: Node, class_of: NDArray[np.int32]) -> dict[int, set[int]]:
    """Return for each class the origins that stand for its groups, where something was mixed or divided."""
    moved = {ground.origin_of(origin) for origin in ground.moved}
    found: dict[int, set[int]] = {}
    for each in (each for node in root.below() for each in node.classes):
        if (head := ground.origin_of(each.origin)) in moved:
            found.setdefault(int(class_of[each.rows[0]]), set()).add(head)
    return found


def _take_back(ground: Ground, root: Node, before: Sequence[tuple[Node, int, Numbers]], groups: set[int]) -> None:
    """Put the classes of some groups back to where they stood, and make the cuts of these groups undone."""
    for node in root.below():
        node.classes = [each for each in node.classes if ground.origin_of(each.origin) not in groups]
    for node, old in reversed(ground.cut):
        if node.cut_by >= 0 and ground.origin_of(node.cut_by) in groups:
            node.attribute, node.left, node.children = old.attribute, old.left, old.children
            node.cut_by = old.cut_by
    for node, origin, rows in before:
        if ground.origin_of(origin) in groups:
            node.classes.append(Standing(rows, origin))
    members = [origin for origin in range(len(ground.joined)) if ground.origin_of(origin) in groups]
    for origin in members:
        ground.joined[origin] = origin
    ground.moved.difference_update(members)


# The moves of a growing table: newcomers go down the tree, classes are mixed and cut, small subtrees are made anew.
#
# Every move mixes the people of some classes and divides them again. It is made when each part satisfies the models and
# leaves everybody in it rows enough of what was published of them before.


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


def settle_newcomers(ground: Ground, root: Node) -> None:
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
    """A subtree that may be made anew."""

    node: Node  # its root
    below: list[Node]
    classes: list[Standing]  # in it, all nodes together
    free: Node  # the root of the new subtree
    leaves: list[Numbers]  # people of each new class


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


Labels = Callable[[NDArray[np.int32], int], Boxes]


@dataclass(frozen=True, eq=False, repr=False)
class Roster:
    """Everybody who is in the table now: those of the last release, unchanged, and newcomers. Letters: n people."""

    table: EncodedTable  # codes must mean the same in every month: domains are frozen when the series starts
    # integers (n,), from 0, the same in every month: all that a row publishes beside its class
    value_of: NDArray[np.integer]
    values: SensitiveValues  # what these numbers say of sensitive attributes
    # (n, releases): class in each earlier release, the oldest first, −1 where a person was not published
    classes: NDArray[np.int32]
    came: Numbers  # int64 (n,): number of the release with which each person was first published, from 0; −1 before
    history_of: Numbers  # int64 (n,): what was returned of it for the last release; −1 before

    @property
    def class_of(self) -> NDArray[np.int32]:
        """Class in the last release, −1 for newcomers and whoever waits; int32 (n,)."""
        if not self.classes.shape[1]:
            return np.full(len(self.classes), -1, dtype=np.int32)
        return self.classes[:, -1]


@dataclass(frozen=True, eq=False, repr=False)
class GrownClasses:
    """The next release, and what the ledger keeps for the one after it."""

    class_of: NDArray[np.int32]  # (n,): class of each person, −1 who waits for more newcomers
    count: int  # classes c
    came: Numbers  # int64 (n,): as in the roster, with this release
    # what each class publishes, and as a last attribute the first and last release with which somebody in it came
    boxes: Boxes
    tree: CutTree  # how the table was cut; private
    node_of: Numbers  # int64 (c,): the node of the tree where each class stands; private
    history_of: Numbers  # int64 (n,): people who were always in one class with each other have one number; private
    left: Places  # what all releases together leave to the people of each such history; private
    taken_back: int = 0  # moves that the recount did not bear; what they had mixed stands as it was


def grow(
    roster: Roster,
    models: Sequence[PrivacyModel],
    earlier: Sequence[Released] = (),
    last: GrownClasses | None = None,
    *,
    labels: Labels | None = None,
    exact_months: bool = False,
) -> GrownClasses:
    """Make the next release of a growing table.

    * `roster`: everybody.
    * `models`: every class must satisfy them, and so must what all releases together leave of a class.
    * `earlier`: all earlier releases as recipients hold them, the oldest first, boxes with the months of arrival as
      their last attribute; classes of the last one are numbered as `last` numbers them.
    * `last`: what was returned for the last release; None: this is the first.
    * `labels`: makes the boxes that classes will publish, months of arrival apart; None: tight ones.
    * `exact_months`: classes publish the first and the last release with which somebody in them came. Only where rows
      publish nothing beside their class: with values the months would tell more than is counted. Else every class says
      the same, from the first release to this one, which tells nothing.

    Raises ``PolicyError`` for models that mean nothing for a series, and tables in which people have several records.
    Raises ``UnsatisfiableError`` when not even all people of the first release satisfy the models. Raises
    ``InputError`` when the earlier releases do not belong together, or not with the roster.

    *Guarantee.* Every class satisfies every model, and every pair of an earlier release and this one is recounted: to
    nobody remain fewer rows than k, or rows that break a model, against an attacker who knows the person's
    quasi-identifying values and the month in which the person came (decision 35 on the months that classes publish).
    The same holds along everybody's history. Counted are pairs and histories of classes in which somebody is, which the
    ledger knows; folders alone tell as much where rows publish nothing beside their class. If the recount fails
    somewhere, what was mixed there is taken back; in the end newcomers are appended, which always holds. Against
    somebody who knows the values of *everybody*, only classes that are never divided stand: append (explanation *What
    two releases tell*). What refused cuts tell is not hidden (decision record 11).

    *Who waits.* Newcomers who are too few to be a class anywhere are not published. All others are: those who are too
    few for the leaves of the tree stand above them, as classes of their own, until enough came.

    *Complexity.* O(m log m) for m people in subtrees to which somebody came, and a recount for each earlier release.

    *Sources.* §1B of Byun et al. 2006 and Pei et al. 2007; the recount is Fung et al. 2008. The tree with classes above
    its leaves, and subtrees that are made anew, are ours (decision record 22).
    """
    _check(roster, models)
    _check_people(roster, earlier)
    order = hash_order(_contents(roster))
    people = _sorted(roster, order)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    # Whoever makes labels has the people in their own order.
    make = labels and (lambda classes, count: labels(classes[back], count))
    shows = _Shows(make, exact_months)
    grown = _first(people, models, shows) if last is None else _next(people, models, earlier, last, shows)
    return replace(grown, class_of=grown.class_of[back], came=grown.came[back], history_of=grown.history_of[back])


class _Shows(NamedTuple):
    """What classes publish: labels made by a callable, or tight ones, and the months of arrival, exact or not."""

    labels: Labels | None
    exact_months: bool

    def boxes(self, table: EncodedTable, class_of: NDArray[np.int32], count: int) -> Boxes:
        """Return what classes publish, without months."""
        if self.labels is not None:
            return self.labels(class_of, count)
        return tight_boxes(table.attributes, table.codes, class_of, count)

    def together(self, earlier: Sequence[Released]) -> bool:
        """Tell whether all releases are counted together, and not each two of them."""
        return not self.exact_months and join_releases(earlier)


def _check(roster: Roster, models: Sequence[PrivacyModel]) -> None:
    check_models(models, [attribute.name for attribute in roster.table.sensitive])
    if roster.table.apart is not None or (roster.table.people is not None and (roster.table.people.records > 1).any()):
        raise_all(PolicyError, ["series: a table that grows counts rows, so that nobody may have several records"])


def _check_people(roster: Roster, earlier: Sequence[Released]) -> None:
    if roster.classes.shape[1] != len(earlier):
        raise InputError("series: the ledger must say everybody's class in each earlier release, and in no other")
    for number, (release, classes) in enumerate(zip(earlier, roster.classes.T, strict=True), start=1):
        counted = np.bincount(classes[classes >= 0], minlength=release.boxes.count)
        if len(counted) > release.boxes.count or (counted != release.sizes).any():
            missing = max(0, int(release.sizes.sum() - counted.sum()))
            raise InputError(
                f"series: release {number} and the ledger do not agree about classes ({missing:,} people are missing); "
                "a table that grows keeps everybody: start an m-invariant series where people leave"
            )


def _contents(roster: Roster) -> NDArray[np.unsignedinteger]:
    """Return what decides where a person stands while the release is made: everything, and nothing else."""
    columns = [roster.table.codes, roster.value_of[:, None], roster.classes + 1, roster.came[:, None] + 1]
    return np.concatenate([column.astype(np.uint64) for column in columns], axis=1)


def _sorted(roster: Roster, order: Numbers) -> Roster:
    return replace(
        roster,
        table=roster.table.take(order),
        value_of=roster.value_of[order].astype(np.int64),
        classes=roster.classes[order],
        came=roster.came[order],
        history_of=roster.history_of[order],
    )


def _first(people: Roster, models: Sequence[PrivacyModel], shows: _Shows) -> GrownClasses:
    """Cut everybody, and keep the cuts."""
    start = feasible(Problem(people.table, models), may_leave_out=False)[0]
    partition, cuts = Mondrian().solve_with_cuts(start, keeps=True)
    none = np.zeros(0, dtype=np.int64)
    ground = _ground(people, models, Places(none, none, none, 0))
    order = np.argsort(partition.class_of, kind="stable")
    members = np.split(order, np.cumsum(partition.sizes)[:-1])
    root = tree_of_cuts(cuts, members, ground.codes, ranged(ground.axes), ground.width)
    grown = _finished(people, ground, root, 0, shows)
    return replace(grown, history_of=grown.class_of.astype(np.int64), left=_shown(people, grown).places)


def _shown(people: Roster, grown: GrownClasses) -> Released:
    """Return a release as its recipients will hold it."""
    shown = grown.class_of >= 0
    return Released(grown.class_of[shown], people.value_of[shown], grown.boxes)


def _next(
    people: Roster, models: Sequence[PrivacyModel], earlier: Sequence[Released], last: GrownClasses, shows: _Shows
) -> GrownClasses:
    chains = chains_to(earlier, people.classes) if shows.together(earlier) else None
    ground = replace(
        _ground(people, models, last.left), known=None if chains is None else _known(people, chains, shows)
    )
    nodes = thawed(last.tree)
    for node, rows in zip(last.node_of.tolist(), _members(people.class_of, last.count), strict=True):
        nodes[node].classes.append(Standing(rows, ground.begin()))
    newcomers = np.flatnonzero(people.class_of < 0)
    if ground.allows(newcomers, [np.ones(len(newcomers), dtype=np.bool_)]):
        send_down(ground, nodes[0], newcomers)
    ground = ground.with_newcomers([each.rows for node in nodes for each in node.classes if each.origin >= last.count])

    def released(root: Node) -> tuple[Released, NDArray[np.int32]]:
        grown = _finished(people, ground, root, len(earlier), shows)
        return _shown(people, grown), grown.class_of

    before = Followed(people.history_of, people.class_of, last.left)
    guard = HistoryGuard(earlier, models, people.values, people.classes, before, chains, released)
    back = 0
    standing = ground.forget(nodes[0].below())
    for move, is_last in ((settle_newcomers, False), (make_anew, True)):
        if is_last and chains is not None:
            # All was counted: what stands now is what is gone back to.
            standing = ground.forget(nodes[0].below())
        with ExitStack() as stack:
            for kernel in (best_cut, loss_of, mended, part_allowed):
                stack.enter_context(run_repeatedly(kernel, len(standing)))
            move(ground, nodes[0])
        more, followed = taken_back(ground, nodes[0], standing, guard, all_pairs=is_last)
        back += more
    grown = _finished(people, ground, nodes[0], len(earlier), shows)
    return replace(grown, taken_back=back, history_of=followed.history_of, left=followed.left)


def _known(people: Roster, chains: Chains, shows: _Shows) -> KnownChains:
    """Return chains in codes: for every code somebody who has it is looked at alone."""
    table = people.table
    holders, alone = holders_of(table)
    points = shows.boxes(table, alone, int(alone.max(initial=-1)) + 1)
    return KnownChains.of(chains, people.class_of.astype(np.int64), points, holders, table.attributes)


def _members(class_of: NDArray[np.int32], count: int) -> list[Numbers]:
    order = np.argsort(class_of, kind="stable")
    starts = np.searchsorted(class_of[order], np.arange(count + 1))
    return [order[start:stop] for start, stop in pairwise(starts.tolist())]


def _ground(people: Roster, models: Sequence[PrivacyModel], left: Places) -> Ground:
    rules = compile_rules(models, people.table)
    return Ground(
        attributes=people.table.attributes,
        axes=axes_of(people.table.attributes),
        codes=people.table.codes.astype(np.int64),
        sensitive=rules.codes.astype(np.int64),
        value_of=people.value_of.astype(np.int64),
        group_of=people.history_of.astype(np.int64),
        left=left,
        rules=rules.arrays,
        smallest=smallest(rules.arrays),
    )


def _finished(people: Roster, ground: Ground, root: Node, number: int, shows: _Shows) -> GrownClasses:
    """Give classes the numbers in which the tree has them, and say what they publish; those that look alike are one."""
    tree, nodes = frozen(root, ground.width)
    class_of = np.full(people.table.height, -1, dtype=np.int32)
    places: list[int] = []
    for place, node in enumerate(nodes):
        for each in node.classes:
            class_of[each.rows] = len(places)
            places.append(place)
    node_of = np.array(places, dtype=np.int64)
    came = np.where((people.came < 0) & (class_of >= 0), number, people.came)
    boxes = shows.boxes(people.table, class_of, len(node_of))
    months = _months(class_of, came, number, boxes.count) if shows.exact_months else any_month(number, boxes.count)
    boxes = dated(boxes, months)
    label_of, firsts = alike(boxes)
    if len(firsts) < len(node_of):
        # To a recipient they are one class, and so they are to the recount.
        class_of = np.append(label_of, -1).astype(np.int32)[class_of]
        first, last = np.full(len(firsts), len(nodes), dtype=np.int64), np.zeros(len(firsts), dtype=np.int64)
        np.minimum.at(first, label_of, node_of)
        np.maximum.at(last, label_of, node_of)
        node_of, boxes = common_tree_node(tree, first, last), boxes.take(firsts)
    return GrownClasses(class_of, len(node_of), came, boxes, tree, node_of, people.history_of, ground.left)


def _months(class_of: NDArray[np.int32], came: Numbers, number: int, count: int) -> tuple[Numbers, Numbers]:
    """Return the first and the last release with which somebody in each class came."""
    months = np.full(count, number), np.zeros(count, dtype=np.int64)
    shown = class_of >= 0
    np.minimum.at(months[0], class_of[shown], came[shown])
    np.maximum.at(months[1], class_of[shown], came[shown])
    return months

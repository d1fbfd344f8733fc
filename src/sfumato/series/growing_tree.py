"""The cuts of a growing table: a tree that says where newcomers belong, and the classes that stand at its nodes.

A class stands at a node when the cuts above it are the only ones that it was divided by. Most stand at leaves; people
who were too few for the leaves wait together at the nodes above, as classes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
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


def common_node(tree: CutTree, first: Numbers, last: Numbers) -> Numbers:
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

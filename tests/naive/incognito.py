"""Incognito (LeFevre et al. 2005; thesis S4, section 2.5), from `algorithms.md`, section 11; no roll-up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from naive.full_domain import (
    Node,
    Objective,
    Problem,
    Value,
    Vector,
    at_node,
    best_of,
    is_below,
    lattice,
    minimal,
    within_limit,
)


class Subset(NamedTuple):
    """What Incognito knows of one subset of the attributes."""

    candidates: list[Node]
    checked: list[Node]
    survivors: list[Node]


def project(problem: Problem, attributes: Sequence[int]) -> Problem:
    table: dict[Vector, list[Value]] = {}
    for vector, values in problem.table.items():
        table.setdefault(tuple(vector[a] for a in attributes), []).extend(values)
    return problem._replace(table=table, hierarchies=[problem.hierarchies[a] for a in attributes], weights=None)


def search_subset(problem: Problem, candidates: Sequence[Node]) -> Subset:
    """Breadth-first from the bottom: what lies above a survivor survives unchecked."""
    checked: list[Node] = []
    survivors: list[Node] = []
    for node in sorted(candidates, key=lambda node: (sum(node), node)):
        if not any(is_below(other, node) for other in survivors):
            checked.append(node)
            if not within_limit(problem, at_node(problem, node, complementary=False)):
                continue
        survivors.append(node)
    return Subset(sorted(candidates), checked, sorted(survivors))


def incognito_subsets(problem: Problem) -> dict[tuple[int, ...], Subset]:
    """Every subset of the attributes, smaller ones first (section 11).

    A node of a subset is a candidate if leaving out any one attribute leads to a survivor. That finds everything for
    every monotone model as long as nothing may be suppressed. With a limit above 0 it does only for k-anonymity and
    distinct l-diversity, where a class with a part that satisfies the model satisfies it: elsewhere a class to be
    suppressed can make one that is not break the model when they are merged, so a subset may have to suppress more.
    """
    found: dict[tuple[int, ...], Subset] = {}
    attributes = range(len(problem.hierarchies))
    for size in range(1, len(problem.hierarchies) + 1):
        for subset in itertools.combinations(attributes, size):
            own = project(problem, subset)
            candidates = [
                node
                for node in lattice(own.hierarchies)
                if size == 1
                or all(
                    (*node[:i], *node[i + 1 :]) in found[(*subset[:i], *subset[i + 1 :])].survivors for i in range(size)
                )
            ]
            found[subset] = search_subset(own, candidates)
    return found


def incognito(problem: Problem) -> list[Node]:
    """All satisfying nodes, in lexicographic order.

    Complementary suppression is not monotone (an ancestor may have to give up a larger class), so it is looked at
    last, among the survivors.
    """
    survivors = incognito_subsets(problem)[tuple(range(len(problem.hierarchies)))].survivors
    return [node for node in survivors if within_limit(problem, at_node(problem, node))]


def choose_by_height(problem: Problem, nodes: Sequence[Node]) -> Node:
    """Least sum of levels, then most classes, then first in lexicographic order."""
    return min(nodes, key=lambda node: (sum(node), -len(at_node(problem, node).classes), node))


def choose_like_toolbox(problem: Problem, nodes: Sequence[Node]) -> Node:
    """UTD: among the minimal nodes the one with the most classes, then least sum of levels, then lexicographic."""
    return min(minimal(nodes), key=lambda node: (-len(at_node(problem, node).classes), sum(node), node))


def choose_by_objective(problem: Problem, nodes: Sequence[Node], objective: Objective) -> Node:
    """Lowest score, then first in lexicographic order."""
    best: Node = best_of({node: objective(problem, at_node(problem, node)) for node in sorted(nodes)})
    return best

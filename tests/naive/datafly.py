"""Datafly (Sweeney 2002; thesis S4, section 2.5), from `algorithms.md`, section 10."""

from __future__ import annotations

from naive.full_domain import Node, Outcome, Problem, Recoding, Table, at_node, count, full_domain


def cardinalities(table: Table, recoding: Recoding) -> list[int]:
    """Distinct published values of each attribute, suppressed records counting."""
    return [len({own[vector[a]].leaves for vector in table}) for a, own in enumerate(recoding)]


def datafly(problem: Problem, allowed: int | None = None, complementary: bool = True) -> tuple[Node, Outcome] | None:
    """Datafly (section 10); None if even the top of the lattice leaves more than `allowed` records.

    While more than `allowed` (the largest k, if not given) records would be suppressed, the attribute with the most
    distinct values climbs one level, the first one on ties. Sweeney's and the thesis's variant suppress the same
    records, the one publishing them as `*` and the other leaving them out; the toolbox of UTD has no complementary
    suppression and publishes the suppressed records as one class more. `problem.limit` plays no part.
    """
    allowed = max(each.k for each in problem.models) if allowed is None else allowed
    node = tuple(0 for _ in problem.hierarchies)
    while count(problem.table, at_node(problem, node, complementary=False).suppressed) > allowed:
        distinct = cardinalities(problem.table, full_domain(problem.hierarchies, node))
        if max(distinct) == 1:
            return None
        highest = distinct.index(max(distinct))
        node = (*node[:highest], node[highest] + 1, *node[highest + 1 :])
    return node, at_node(problem, node, complementary)

"""Samarati's search the obvious way: every node of the lattice is judged, and those of the least height are kept."""

from __future__ import annotations

from naive import full_domain as twin


def failing(problem: twin.Problem, node: twin.Node) -> int:
    """Records in classes that break a model."""
    classes = twin.classes_of(problem.table, twin.full_domain(problem.hierarchies, node))
    return sum(twin.count(problem.table, own) for own in twin.breaking(problem.table, classes, problem.models))


def satisfying(problem: twin.Problem) -> list[twin.Node]:
    return [node for node in twin.lattice(problem.hierarchies) if failing(problem, node) <= problem.limit]


def lowest(problem: twin.Problem) -> list[twin.Node]:
    """Nodes of the least height that has any."""
    found = satisfying(problem)
    return [node for node in found if sum(node) == min(map(sum, found))]


def chosen(problem: twin.Problem, selection: str) -> twin.Node:
    """The first node that can be published, by rising height and then as the selection says."""

    def order(node: twin.Node) -> tuple[float, ...]:
        recoding = twin.full_domain(problem.hierarchies, node)
        classes = twin.classes_of(problem.table, recoding)
        good = len(classes) - len(twin.breaking(problem.table, classes, problem.models))
        shares = sum(
            level / twin.height(tree)
            for level, tree in zip(node, problem.hierarchies, strict=True)
            if twin.height(tree)
        )
        least = {"relative": round(shares, 12), "classes": -good, "suppression": failing(problem, node)}
        return (sum(node), least[selection], *node)

    ways = sorted(satisfying(problem), key=order)
    outcomes = {node: twin.suppress(problem, twin.full_domain(problem.hierarchies, node)) for node in ways}
    return next(node for node in ways if twin.within_limit(problem, outcomes[node]))

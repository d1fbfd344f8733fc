"""Single-dimensional recoding the obvious way: equal original values of an attribute publish equally.

Global Mondrian's cuts are in `naive.mondrian` (`single_dimensional_cuts`, section 4 of `algorithms.md`); here is what
they publish. For hierarchies: every way to generalize each subtree or not, and the best of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from naive.full_domain import (
    Hierarchy,
    Image,
    Objective,
    Outcome,
    Problem,
    Recoding,
    best_of,
    height,
    suppress,
    within_limit,
)
from naive.hierarchy import under
from naive.mondrian import Column, Number, Rows, cells, ratio, slabs, spread
from naive.recoding import Value, determines

# --- global Mondrian -----------------------------------------------------------------------------------------------


def slab_losses(column: Column, cuts: Sequence[Number], categorical: bool) -> list[float]:
    """NCP of each record: range, or distinct values, of its slab over that of the whole column."""
    losses = [0.0] * len(column)
    everyone = range(len(column))
    for rows in slabs(column, cuts):
        distinct = len({column[row] for row in rows})
        width = (distinct if distinct > 1 else 0) if categorical else spread(column, rows)
        whole = len(set(column)) if categorical else spread(column, everyone)
        for row in rows:
            losses[row] = ratio(width, whole)
    return losses


def published_loss(columns: Sequence[Column], cuts: Sequence[Sequence[Number]], categorical: Sequence[bool]) -> float:
    """GCP of the table as it is published: every value as its whole slab, not as tight as its class would allow."""
    losses = [slab_losses(*each) for each in zip(columns, cuts, categorical, strict=True)]
    return sum(map(sum, losses)) / (len(columns) * len(columns[0]))


def discernibility(classes: Sequence[Rows]) -> int:
    return sum(len(rows) ** 2 for rows in classes)


def classes_of_cuts(columns: Sequence[Column], cuts: Sequence[Sequence[Number]]) -> list[Rows]:
    return sorted(sorted(rows) for rows in cells(columns, cuts))


# --- the checker ---------------------------------------------------------------------------------------------------


def is_single_dimensional(
    original: Mapping[str, Sequence[Value]], published: Mapping[str, Sequence[Value]], suppressed: Sequence[int] = ()
) -> bool:
    """Equal original values publish equally, attribute by attribute; suppressed records (from 0) don't count."""
    left_out = set(suppressed)

    def kept(column: Sequence[Value]) -> list[Value]:
        return [value for record, value in enumerate(column) if record not in left_out]

    return all(determines(kept(original[name]), kept(published[name])) for name in original)


# --- subtree generalization ----------------------------------------------------------------------------------------

Cut = frozenset[frozenset[str]]  # nodes, as their leaves, that share all leaves out among them


def cuts_below(hierarchy: Hierarchy, level: int, label: str) -> set[Cut]:
    """Every cut of one subtree: the node itself, or a cut of each of its children."""
    node = under(hierarchy, level, label)
    found = {frozenset([node])}
    if level > 0:
        children = {path[level - 1] for path in hierarchy if path[level] == label}
        options = [cuts_below(hierarchy, level - 1, child) for child in sorted(children)]
        found |= {frozenset().union(*choice) for choice in itertools.product(*options)}
    return found


def cuts_of(hierarchy: Hierarchy) -> list[Cut]:
    """Every cut of a hierarchy, in a fixed order: fewest nodes first."""
    found = cuts_below(hierarchy, height(hierarchy), hierarchy[0][-1])
    return sorted(found, key=lambda cut: (len(cut), sorted(sorted(node) for node in cut)))


def cut_images(hierarchy: Hierarchy, cut: Cut) -> dict[Value, Image]:
    """Image of every leaf; the missing value is one of its own unless the cut is the root."""
    found: dict[Value, Image] = {}
    top = height(hierarchy)
    for node in cut:
        [leaf, *_] = [path for path in hierarchy if path[0] in node]
        level = next(level for level in range(top + 1) if under(hierarchy, level, leaf[level]) == node)
        image = Image(node, level / top if top else 0.0)
        found |= dict.fromkeys(node, image)
    found[None] = next(iter(found.values())) if len(cut) == 1 else Image(frozenset([None]), 0.0)
    return found


def best_cuts(problem: Problem, objective: Objective) -> tuple[list[Cut], float, Outcome] | None:
    """The best choice of a cut for every attribute, its score and outcome; None if none satisfies. Tiny trees only."""
    outcomes: dict[tuple[Cut, ...], Outcome] = {}
    for choice in itertools.product(*map(cuts_of, problem.hierarchies)):
        recoding: Recoding = [cut_images(*each) for each in zip(problem.hierarchies, choice, strict=True)]
        outcome = suppress(problem, recoding)
        if within_limit(problem, outcome):
            outcomes[choice] = outcome
    if not outcomes:
        return None
    scores = {choice: objective(problem, outcome) for choice, outcome in outcomes.items()}
    best: tuple[Cut, ...] = best_of(scores)
    return list(best), scores[best], outcomes[best]

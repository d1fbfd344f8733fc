"""Plain twins of the privacy models: lists, dictionaries and exact fractions, nothing fast.

Words: `values` are the sensitive values of the records of one equivalence class, `whole` those of all published
records. A missing value is None and counts as a value of its own. A tree is a dictionary from each leaf to its labels
from level 0 (the leaf itself) to the root, all of one length.

Every model comes in two forms: ``achieves_...`` gives the value that the class really has, ``holds_...`` compares it
with a bound. Shares are fractions, so the only rounding is the last step to a float.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

Value = Any
Tree = Mapping[Any, Sequence[str]]

TOLERANCE = 1e-12


def at_most(value: float, bound: float) -> bool:
    return value <= bound + TOLERANCE


def at_least(value: float, bound: float) -> bool:
    return value >= bound - TOLERANCE


def below(value: float, bound: float) -> bool:
    """Strictly below: a value that equals the bound but for rounding is not below it."""
    return value < bound - TOLERANCE


# --- shares --------------------------------------------------------------------------------------------------------


def counts_falling(values: Sequence[Value]) -> list[int]:
    return sorted(Counter(values).values(), reverse=True)


def share(value: Value, values: Sequence[Value]) -> Fraction:
    return Fraction(sum(1 for other in values if other == value), len(values))


def shares(values: Sequence[Value]) -> dict[Value, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def ranked(values: Sequence[Value]) -> list[Value]:
    """Distinct values in rising order; the missing value comes last."""
    present = sorted({value for value in values if value is not None})
    return [*present, None] if None in values else present


# --- k-anonymity and (alpha, k)-anonymity (Wong et al. 2006) -------------------------------------------------------


def achieves_k(values: Sequence[Value], whole: Sequence[Value]) -> int:
    return len(values)


def holds_k_anonymity(values: Sequence[Value], whole: Sequence[Value], *, k: int) -> bool:
    return len(values) >= k


def achieves_alpha(values: Sequence[Value], whole: Sequence[Value]) -> float:
    """Share of the most frequent value."""
    return float(max(shares(values).values()))


def holds_alpha_k(values: Sequence[Value], whole: Sequence[Value], *, alpha: float, k: int) -> bool:
    return len(values) >= k and at_most(achieves_alpha(values, whole), alpha)


# --- guarded values ------------------------------------------------------------------------------------------------


def text(value: Value) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def is_guarded(value: Value, labels: Sequence[str], tree: Tree | None) -> bool:
    if tree is None:
        return text(value) in labels
    return not set(tree_with_missing(tree, [None])[text(value)]).isdisjoint(labels)


def achieves_guarded(
    own: Sequence[Value], whole: Sequence[Value], *, values: Sequence[str], tree: Tree | None
) -> float:
    """Share of the values that are, or lie under, one of the labels `values`."""
    return float(Fraction(sum(is_guarded(value, values, tree) for value in own), len(own)))


def holds_guarded(
    own: Sequence[Value], whole: Sequence[Value], *, values: Sequence[str], p: float, tree: Tree | None
) -> bool:
    return at_most(achieves_guarded(own, whole, values=values, tree=tree), p)


# --- l-diversity (Machanavajjhala et al. 2006) ---------------------------------------------------------------------


def achieves_distinct(values: Sequence[Value], whole: Sequence[Value]) -> int:
    return len(set(values))


def holds_distinct(values: Sequence[Value], whole: Sequence[Value], *, l: float) -> bool:  # noqa: E741
    return at_least(len(set(values)), l)


def achieves_probabilistic(values: Sequence[Value], whole: Sequence[Value]) -> float:
    """1 / share of the most frequent value."""
    return float(1 / max(shares(values).values()))


def holds_probabilistic(values: Sequence[Value], whole: Sequence[Value], *, l: float) -> bool:  # noqa: E741
    return at_most(achieves_alpha(values, whole), 1 / l)


def entropy(values: Sequence[Value]) -> float:
    """In nats."""
    return math.fsum(-p * math.log(p) for p in shares(values).values())


def achieves_entropy(values: Sequence[Value], whole: Sequence[Value]) -> float:
    return math.exp(entropy(values))


def holds_entropy(values: Sequence[Value], whole: Sequence[Value], *, l: float) -> bool:  # noqa: E741
    return at_least(entropy(values), math.log(l))


def achieves_recursive(values: Sequence[Value], whole: Sequence[Value], *, l: int) -> float:  # noqa: E741
    """Ratio of the largest count to the sum of the l-th and all smaller ones; every c *above* it holds."""
    counts = counts_falling(values)
    tail = sum(counts[l - 1 :])
    return math.inf if len(counts) < l else float(Fraction(counts[0], tail))


def holds_recursive(values: Sequence[Value], whole: Sequence[Value], *, c: float, l: int) -> bool:  # noqa: E741
    return below(achieves_recursive(values, whole, l=l), c)


# --- t-closeness (Li, Li, Venkatasubramanian 2007) -----------------------------------------------------------------


def emd_equal(values: Sequence[Value], whole: Sequence[Value]) -> float:
    """Earth mover's distance when every two values are equally far apart."""
    return float(sum(abs(share(value, values) - share(value, whole)) for value in set(whole)) / 2)


def emd_ordered(values: Sequence[Value], whole: Sequence[Value], order: Sequence[Value] | None = None) -> float:
    """Earth mover's distance over ranks: neighbours among the m distinct values of `whole` are 1/(m-1) apart.

    `order` lists these values in rising order; None sorts them, the missing value last.
    """
    order = ranked(whole) if order is None else order
    if len(order) == 1:
        return 0.0
    carried = Fraction(0)
    cost = Fraction(0)
    for value in order:
        carried += share(value, values) - share(value, whole)
        cost += abs(carried)
    return float(cost / (len(order) - 1))


def tree_with_missing(tree: Tree, whole: Sequence[Value]) -> dict[Value, tuple[Any, ...]]:
    """Add the missing value, where it occurs, as a leaf whose only ancestor is the root."""
    paths = {leaf: tuple(path) for leaf, path in tree.items()}
    if None in whole:
        some = next(iter(paths.values()))
        paths[None] = (*[("missing", level) for level in range(len(some) - 1)], some[-1])
    return paths


def emd_hierarchical(values: Sequence[Value], whole: Sequence[Value], tree: Tree) -> float:
    """Earth mover's distance when two leaves are level(lowest common ancestor) / height apart.

    At each inner node the surplus of its children is moved to those in deficit; what is left over goes up.
    """
    paths = tree_with_missing(tree, whole)
    height = len(next(iter(paths.values()))) - 1
    if height == 0:
        return 0.0
    # A node is named by its labels up to the root. Begin with the surplus of every leaf, then climb level by level.
    extra = {path: share(leaf, values) - share(leaf, whole) for leaf, path in paths.items()}
    cost = Fraction(0)
    for level in range(1, height + 1):
        children: dict[tuple[Any, ...], list[Fraction]] = {}
        for node, surplus in extra.items():
            children.setdefault(node[1:], []).append(surplus)
        for surpluses in children.values():
            giving = sum((s for s in surpluses if s > 0), Fraction(0))
            taking = -sum((s for s in surpluses if s < 0), Fraction(0))
            cost += Fraction(level, height) * min(giving, taking)
        extra = {node: sum(surpluses, Fraction(0)) for node, surpluses in children.items()}
    return float(cost)


def achieves_t(
    values: Sequence[Value],
    whole: Sequence[Value],
    *,
    distance: str = "equal",
    order: Sequence[Value] | None = None,
    tree: Tree | None = None,
) -> float:
    if distance == "equal":
        return emd_equal(values, whole)
    if distance == "ordered":
        return emd_ordered(values, whole, order)
    assert distance == "hierarchical"
    assert tree is not None
    return emd_hierarchical(values, whole, tree)


def holds_t_closeness(
    values: Sequence[Value],
    whole: Sequence[Value],
    *,
    t: float,
    distance: str = "equal",
    order: Sequence[Value] | None = None,
    tree: Tree | None = None,
) -> bool:
    return at_most(achieves_t(values, whole, distance=distance, order=order, tree=tree), t)


# --- beta-likeness (Cao & Karras 2012) -----------------------------------------------------------------------------


def gains(values: Sequence[Value], whole: Sequence[Value]) -> dict[Value, float]:
    """Relative gain (q - p) / p of every value that is more frequent in the class (q) than in the table (p)."""
    table = shares(whole)
    return {value: float((q - table[value]) / table[value]) for value, q in shares(values).items() if q > table[value]}


def achieves_basic_beta(values: Sequence[Value], whole: Sequence[Value]) -> float:
    return max(gains(values, whole).values(), default=0.0)


def holds_basic_beta(values: Sequence[Value], whole: Sequence[Value], *, beta: float) -> bool:
    return all(at_most(gain, beta) for gain in gains(values, whole).values())


def achieves_enhanced_beta(values: Sequence[Value], whole: Sequence[Value]) -> float:
    """Largest gain; infinite when a gain passes -ln p, which no beta allows."""
    table = shares(whole)
    found = gains(values, whole)
    if any(not at_most(gain, -math.log(table[value])) for value, gain in found.items()):
        return math.inf
    return max(found.values(), default=0.0)


def holds_enhanced_beta(values: Sequence[Value], whole: Sequence[Value], *, beta: float) -> bool:
    table = shares(whole)
    return all(at_most(gain, min(beta, -math.log(table[value]))) for value, gain in gains(values, whole).items())


# --- delta-disclosure privacy (Brickell & Shmatikov 2008) ----------------------------------------------------------


def achieves_delta(values: Sequence[Value], whole: Sequence[Value]) -> float:
    """Largest |ln(share in class / share in table)| over the values of the table; every delta *above* it holds."""
    inside = shares(values)
    if set(inside) != set(whole):
        return math.inf
    return max(abs(math.log(q / p)) for value, p in shares(whole).items() for q in [inside[value]])


def holds_delta(values: Sequence[Value], whole: Sequence[Value], *, delta: float) -> bool:
    return below(achieves_delta(values, whole), delta)


# --- about single published values ---------------------------------------------------------------------------------

STAR = "*"


def supports_subsets(rows: Sequence[Sequence[Value]], *, m: int) -> float:
    """Records that have the rarest combination of up to `m` values without a star; infinite where there is none."""
    least = math.inf
    for row in rows:
        shown = [place for place, value in enumerate(row) if value != STAR]
        for size in range(1, min(m, len(row)) + 1):
            for chosen in combinations(shown, size):
                least = min(least, sum(all(other[place] == row[place] for place in chosen) for other in rows))
    return least


def supports_wildcards(rows: Sequence[Sequence[Value]]) -> float:
    """Records that the loneliest record is compatible with, itself included, when a star may be any value."""
    return min(
        sum(all(x == y or STAR in (x, y) for x, y in zip(row, other, strict=True)) for other in rows) for row in rows
    )


@cache
def needed_records(k: int, estimate: str, fraction: float, significance: float | None = None) -> int:
    """Fewest records that come together, if k people are alike, with a chance of `significance` at most; at most k."""
    mean, alpha = k * fraction, 0.05 if significance is None else significance
    term, chances = math.exp(-mean), []
    for size in range(150):
        chances.append(term)
        term *= mean / (size + 1)
    if estimate == "zero-truncated-poisson":
        chances = [0.0, *(chance / (1 - chances[0]) for chance in chances[1:])]
    enough = next(size for size in range(150) if sum(chances[:size]) >= 1 - alpha)
    return max(1, min(k, enough))


def holds_k_map(own: Sequence[Value], whole: Sequence[Value], k: int, **estimate: Any) -> bool:
    return len(own) >= needed_records(k, **estimate)


def achieves_k_map(own: Sequence[Value], whole: Sequence[Value], **estimate: Any) -> float:
    """The largest k that a class may be taken for, looked for one by one as far as anybody asks."""
    k = 0
    while k < 10_000 and len(own) >= needed_records(k + 1, **estimate):
        k += 1
    return k


ROW_MODELS: dict[str, Callable[..., float]] = {"subset-k": supports_subsets, "wildcard-k": supports_wildcards}


# --- over a whole table --------------------------------------------------------------------------------------------


class Twin(NamedTuple):
    """One model: its predicate, its measure, and which achieved value is the worst (min or max)."""

    holds: Callable[..., bool]
    achieves: Callable[..., float]
    worst: Callable[..., float]


MODELS: dict[str, Twin] = {
    "k-anonymity": Twin(holds_k_anonymity, achieves_k, min),
    "alpha-k": Twin(holds_alpha_k, achieves_alpha, max),
    "distinct": Twin(holds_distinct, achieves_distinct, min),
    "probabilistic": Twin(holds_probabilistic, achieves_probabilistic, min),
    "entropy": Twin(holds_entropy, achieves_entropy, min),
    "recursive": Twin(holds_recursive, achieves_recursive, max),
    "t-closeness": Twin(holds_t_closeness, achieves_t, max),
    "basic-beta": Twin(holds_basic_beta, achieves_basic_beta, max),
    "enhanced-beta": Twin(holds_enhanced_beta, achieves_enhanced_beta, max),
    "delta": Twin(holds_delta, achieves_delta, max),
    "guarded": Twin(holds_guarded, achieves_guarded, max),
    "k-map": Twin(holds_k_map, achieves_k_map, min),
}


def equivalence_classes(quasi: Mapping[str, Sequence[Value]]) -> list[list[int]]:
    """Record indices (from 0) of each class: records equal on all published values, missing equal to missing.

    In order of first appearance.
    """
    classes: dict[tuple[Value, ...], list[int]] = {}
    for index, vector in enumerate(zip(*quasi.values(), strict=True)):
        classes.setdefault(vector, []).append(index)
    return list(classes.values())


def sensitive_by_class(classes: Sequence[Sequence[int]], sensitive: Sequence[Value]) -> list[list[Value]]:
    return [[sensitive[index] for index in members] for members in classes]


def published_only(classes: Sequence[Sequence[int]], sensitive: Sequence[Value]) -> list[Value]:
    """Sensitive values of the records that are in some class; suppressed records are not part of the release."""
    return [sensitive[index] for members in classes for index in members]


def holds_per_class(
    name: str, classes: Sequence[Sequence[int]], sensitive: Sequence[Value], **parameters: Any
) -> list[bool]:
    whole = published_only(classes, sensitive)
    return [MODELS[name].holds(values, whole, **parameters) for values in sensitive_by_class(classes, sensitive)]


def table_holds(name: str, quasi: Mapping[str, Sequence[Value]], sensitive: Sequence[Value], **parameters: Any) -> bool:
    """Tell whether every class of the published table satisfies the model; an empty table does."""
    return all(holds_per_class(name, equivalence_classes(quasi), sensitive, **parameters))


def table_achieves(
    name: str, quasi: Mapping[str, Sequence[Value]], sensitive: Sequence[Value], **parameters: Any
) -> float:
    """Return the achieved value of the worst class; the table has at least one record."""
    classes = equivalence_classes(quasi)
    whole = published_only(classes, sensitive)
    model = MODELS[name]
    return model.worst(model.achieves(values, whole, **parameters) for values in sensitive_by_class(classes, sensitive))

"""Full-domain generalization the obvious way: every node of the lattice, one class at a time.

Written from `algorithms.md` (sections 1 to 3 and 25) and the thesis S4 (section 2.5), not from any program.

A hierarchy is a tuple of paths from the leaf to the root, all of one length; level 0 is the leaf. A vector is one
record's quasi-identifying values (leaves, None where missing). A table is collapsed: a dictionary from each distinct
vector to the sensitive values of its records. A node is a tuple of levels, one per attribute.

A missing value is a value of its own below the top level and is published like every other at the top.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from naive.hierarchy import under
from naive.models import MODELS

Value = Any
Vector = tuple[Value, ...]
Table = Mapping[Vector, Sequence[Value]]
Hierarchy = tuple[tuple[str, ...], ...]
Node = tuple[int, ...]

TIE = 1e-12  # objectives closer than this are equal


class Image(NamedTuple):
    """What a value is published as: the leaves it may stand for, and the share of the hierarchy it climbed."""

    leaves: frozenset[Value]
    climbed: float


Recoding = Sequence[Mapping[Value, Image]]


class Model(NamedTuple):
    """A predicate on the sensitive values of a class and of all published records; its k, 1 if it has none."""

    holds: Callable[[Sequence[Value], Sequence[Value]], bool]
    k: int = 1


class Problem(NamedTuple):
    """A table to publish; `limit` is the most records that may be suppressed; weights are 1 if not given."""

    table: Table
    hierarchies: Sequence[Hierarchy]
    models: Sequence[Model]
    limit: int = 0
    weights: Sequence[float] | None = None


class Outcome(NamedTuple):
    """A recoding of a table: the classes that stay, each as its vectors, and the vectors that are suppressed."""

    recoding: Recoding
    classes: list[list[Vector]]
    suppressed: list[Vector]


def model(name: str, **parameters: Any) -> Model:
    """One of the twins in `naive.models`."""
    return Model(lambda values, whole: MODELS[name].holds(values, whole, **parameters), int(parameters.get("k", 1)))


def collapse(rows: Sequence[Sequence[Value]], sensitive: Sequence[Value] | None = None) -> dict[Vector, list[Value]]:
    table: dict[Vector, list[Value]] = {}
    for row, value in zip(rows, sensitive or [None] * len(rows), strict=True):
        table.setdefault(tuple(row), []).append(value)
    return table


def count(table: Table, vectors: Sequence[Vector] | None = None) -> int:
    """Records with one of these vectors, or of the table."""
    return sum(len(table[vector]) for vector in (table if vectors is None else vectors))


# --- recoding ------------------------------------------------------------------------------------------------------


def height(hierarchy: Hierarchy) -> int:
    return len(hierarchy[0]) - 1


def generalize(value: Value, hierarchy: Hierarchy, level: int) -> str | None:
    """Label of the value at a level."""
    if value is None:
        return hierarchy[0][level] if level == height(hierarchy) else None
    [path] = [path for path in hierarchy if path[0] == value]
    return path[level]


@cache
def images(hierarchy: Hierarchy, level: int) -> dict[Value, Image]:
    """Image of every leaf and of the missing value at a level."""
    top = height(hierarchy)
    climbed = level / top if top else 0.0
    found: dict[Value, Image] = {path[0]: Image(under(hierarchy, level, path[level]), climbed) for path in hierarchy}
    found[None] = found[hierarchy[0][0]] if level == top else Image(frozenset([None]), climbed)
    return found


def full_domain(hierarchies: Sequence[Hierarchy], node: Node) -> Recoding:
    return [images(hierarchy, level) for hierarchy, level in zip(hierarchies, node, strict=True)]


def image_of(vector: Vector, recoding: Recoding) -> tuple[frozenset[Value], ...]:
    return tuple(own[value].leaves for own, value in zip(recoding, vector, strict=True))


def classes_of(table: Table, recoding: Recoding) -> list[list[Vector]]:
    """Vectors with the same image, in the order of the table."""
    found: dict[tuple[frozenset[Value], ...], list[Vector]] = {}
    for vector in table:
        found.setdefault(image_of(vector, recoding), []).append(vector)
    return list(found.values())


# --- record suppression --------------------------------------------------------------------------------------------


def sensitive_of(table: Table, vectors: Sequence[Vector]) -> list[Value]:
    return [value for vector in vectors for value in table[vector]]


def breaking(table: Table, classes: Sequence[list[Vector]], models: Sequence[Model]) -> list[list[Vector]]:
    """Classes that break a model, these classes being all that is published."""
    whole = [value for vectors in classes for value in sensitive_of(table, vectors)]
    return [
        vectors for vectors in classes if not all(each.holds(sensitive_of(table, vectors), whole) for each in models)
    ]


def smallest_first(problem: Problem, recoding: Recoding, vectors: Sequence[Vector]) -> tuple[int, list[int]]:
    """Sorts classes: fewest records, then the place in its hierarchy of each published node's first leaf."""
    places = []
    for hierarchy, leaves in zip(problem.hierarchies, image_of(vectors[0], recoding), strict=True):
        order = [*(path[0] for path in hierarchy), None]
        places.append(min(order.index(leaf) for leaf in leaves))
    return count(problem.table, vectors), places


def suppress(problem: Problem, recoding: Recoding, complementary: bool = True) -> Outcome:
    """Suppress all classes that break a model, until none does among those that stay.

    `complementary`: the number of suppressed records must be 0 or at least the largest k, else the smallest class
    goes too, and so on.
    """
    table, models = problem.table, problem.models
    staying = classes_of(table, recoding)
    gone: list[Vector] = []
    while staying:
        going = breaking(table, staying, models)
        if not going and complementary and 0 < count(table, gone) < max(each.k for each in models):
            going = [min(staying, key=lambda vectors: smallest_first(problem, recoding, vectors))]
        if not going:
            break
        gone += [vector for vectors in going for vector in vectors]
        staying = [vectors for vectors in staying if vectors not in going]
    return Outcome(recoding, staying, gone)


def within_limit(problem: Problem, outcome: Outcome) -> bool:
    """Something is published, and not too many records are suppressed."""
    return bool(outcome.classes) and count(problem.table, outcome.suppressed) <= problem.limit


# --- objectives: the lower, the better ------------------------------------------------------------------------------

Cell = Callable[[Problem, int, Value, Image | None], float]  # attribute, original value, image (None: suppressed)


def loss_cell(problem: Problem, attribute: int, value: Value, image: Image | None) -> float:
    """Leaves less one, over the leaves of the hierarchy less one."""
    domain = len(problem.hierarchies[attribute])
    if image is None:
        return 1.0
    return (len(image.leaves) - 1) / (domain - 1) if domain > 1 else 0.0


def ncp_cell(problem: Problem, attribute: int, value: Value, image: Image | None) -> float:
    """Leaves over the leaves of the hierarchy, unless it is one."""
    if image is None:
        return 1.0
    return len(image.leaves) / len(problem.hierarchies[attribute]) if len(image.leaves) > 1 else 0.0


def climb_cell(problem: Problem, attribute: int, value: Value, image: Image | None) -> float:
    """Share of the hierarchy climbed."""
    return 1.0 if image is None else image.climbed


def attribute_averages(problem: Problem, outcome: Outcome, cell: Cell) -> list[float]:
    """Mean over all records, one per attribute."""
    kept = [vector for vectors in outcome.classes for vector in vectors]
    averages = []
    for attribute, own in enumerate(outcome.recoding):
        cells = [(vector, own[vector[attribute]]) for vector in kept]
        everything = [*cells, *((vector, None) for vector in outcome.suppressed)]
        total = math.fsum(
            len(problem.table[vector]) * cell(problem, attribute, vector[attribute], image)
            for vector, image in everything
        )
        averages.append(total / count(problem.table))
    return averages


def weights_of(problem: Problem) -> Sequence[float]:
    return problem.weights or [1.0] * len(problem.hierarchies)


def weighted_mean(problem: Problem, averages: Sequence[float]) -> float:
    weights = weights_of(problem)
    return math.fsum(w * average for w, average in zip(weights, averages, strict=True)) / math.fsum(weights)


def arithmetic(problem: Problem, outcome: Outcome) -> float:
    return weighted_mean(problem, attribute_averages(problem, outcome, loss_cell))


def geometric(problem: Problem, outcome: Outcome) -> float:
    """Geometric mean of 1 + average loss, less 1; a weight is an exponent."""
    factors = [1 + average for average in attribute_averages(problem, outcome, loss_cell)]
    weights = weights_of(problem)
    product = math.prod(factor**w for factor, w in zip(factors, weights, strict=True))
    return float(product ** (1 / math.fsum(weights)) - 1)


def ncp(problem: Problem, outcome: Outcome) -> float:
    return weighted_mean(problem, attribute_averages(problem, outcome, ncp_cell))


def precision_lost(problem: Problem, outcome: Outcome) -> float:
    """1 - Prec."""
    return weighted_mean(problem, attribute_averages(problem, outcome, climb_cell))


def discernibility(problem: Problem, outcome: Outcome) -> float:
    """|class| per record, and n per suppressed record."""
    sizes = [count(problem.table, vectors) for vectors in outcome.classes]
    return sum(size * size for size in sizes) + count(problem.table) * count(problem.table, outcome.suppressed)


def class_size(problem: Problem, outcome: Outcome) -> float:
    """C_avg: mean size of a class over the largest k."""
    sizes = [count(problem.table, vectors) for vectors in outcome.classes]
    return sum(sizes) / len(sizes) / max(each.k for each in problem.models)


def entropy(problem: Problem, outcome: Outcome) -> float:
    """Non-uniform entropy: bits lost over the bits that the fully suppressed table loses.

    A cell loses -log2 of its original value's share among the records whose value has the same image.
    """
    n = count(problem.table)
    lost, most = [], []
    for attribute, (weight, own) in enumerate(zip(weights_of(problem), outcome.recoding, strict=True)):
        same: Counter[Value] = Counter()
        for vector, values in problem.table.items():
            same[vector[attribute]] += len(values)
        among: Counter[Image] = Counter()
        for value, number in same.items():
            among[own[value]] += number
        gone = set(outcome.suppressed)
        for vector, values in problem.table.items():
            value = vector[attribute]
            standing = n if vector in gone else among[own[value]]
            lost.append(weight * len(values) * math.log2(standing / same[value]))
            most.append(weight * len(values) * math.log2(n / same[value]))
    return math.fsum(lost) / math.fsum(most) if math.fsum(most) else 0.0


Objective = Callable[[Problem, Outcome], float]

OBJECTIVES: dict[str, Objective] = {
    "arithmetic": arithmetic,
    "geometric": geometric,
    "ncp": ncp,
    "prec": precision_lost,
    "dm": discernibility,
    "c_avg": class_size,
    "entropy": entropy,
}


# --- the whole lattice ---------------------------------------------------------------------------------------------


def lattice(hierarchies: Sequence[Hierarchy]) -> Iterator[Node]:
    """All nodes in lexicographic order."""
    return itertools.product(*(range(height(hierarchy) + 1) for hierarchy in hierarchies))


def at_node(problem: Problem, node: Node, complementary: bool = True) -> Outcome:
    return suppress(problem, full_domain(problem.hierarchies, node), complementary)


def satisfying(problem: Problem) -> dict[Node, Outcome]:
    """Every node that satisfies the models within the limit, in lexicographic order."""
    found = {node: at_node(problem, node) for node in lattice(problem.hierarchies)}
    return {node: outcome for node, outcome in found.items() if within_limit(problem, outcome)}


def is_below(node: Node, other: Node) -> bool:
    """Nowhere higher, and another node."""
    return node != other and all(own <= its for own, its in zip(node, other, strict=True))


def minimal(nodes: Sequence[Node]) -> list[Node]:
    """Nodes with no other one of them below, in lexicographic order."""
    return sorted(node for node in nodes if not any(is_below(other, node) for other in nodes))


def best_of(scores: Mapping[Any, float]) -> Any:
    """First key, in the order of the dictionary, whose score is the lowest but for rounding."""
    lowest = min(scores.values())
    return next(key for key, score in scores.items() if score <= lowest + TIE * max(1.0, abs(lowest)))


def optimum(problem: Problem, objective: Objective) -> tuple[Node, float] | None:
    """Lexicographically first of the best nodes and its score; None if no node satisfies."""
    scores = {node: objective(problem, outcome) for node, outcome in satisfying(problem).items()}
    if not scores:
        return None
    best = best_of(scores)
    return best, scores[best]


# --- how attributes are taken together, how suppression counts, and the publisher's game ---------------------------


def information_cell(problem: Problem, attribute: int, value: Value, image: Image | None) -> float:
    """Log of the leaves over the log of the leaves of the hierarchy."""
    domain = len(problem.hierarchies[attribute])
    if image is None:
        return 1.0
    return math.log(len(image.leaves)) / math.log(domain) if domain > 1 else 0.0


def balanced_averages(problem: Problem, outcome: Outcome, cell: Cell, balance: float) -> list[float]:
    """Means over all records: below a half suppressed cells cost less than in full, above it generalized ones do."""
    kept, left_out = min(1.0, 2 * (1 - balance)), min(1.0, 2 * balance)
    published = attribute_averages(problem, outcome._replace(suppressed=[]), cell)
    gone = count(problem.table, outcome.suppressed) / count(problem.table)
    return [kept * average + left_out * gone for average in published]


def together(problem: Problem, averages: Sequence[float], mean: str) -> float | tuple[float, ...]:
    weights = weights_of(problem)
    if mean == "sum":
        return math.fsum(w * average for w, average in zip(weights, averages, strict=True))
    if mean in ("maximum", "rank"):
        falling = sorted((w * each / max(weights) for w, each in zip(weights, averages, strict=True)), reverse=True)
        return falling[0] if mean == "maximum" else tuple(falling)
    if mean == "geometric":
        product = math.prod((1 + average) ** w for w, average in zip(weights, averages, strict=True))
        return float(product ** (1 / math.fsum(weights)) - 1)
    return weighted_mean(problem, averages)


def area(problem: Problem, outcome: Outcome, vector: Vector) -> int:
    """Possible records that one which publishes this vector stands for."""
    return math.prod(len(own[value].leaves) for own, value in zip(outcome.recoding, vector, strict=True))


def ambiguity(problem: Problem, outcome: Outcome) -> float:
    """Mean share of all possible records that a record stands for; a suppressed one might be any."""
    possible = math.prod(map(len, problem.hierarchies))
    kept = [vector for vectors in outcome.classes for vector in vectors]
    total = sum(len(problem.table[vector]) * area(problem, outcome, vector) / possible for vector in kept)
    return (total + count(problem.table, outcome.suppressed)) / count(problem.table)


def divergence(problem: Problem, outcome: Outcome) -> float:
    """Bits of the original distribution over what its classes say, each spread evenly over what it stands for."""
    n = count(problem.table)
    groups = [(vectors, area(problem, outcome, vectors[0])) for vectors in outcome.classes]
    groups.append((outcome.suppressed, math.prod(map(len, problem.hierarchies))))
    found = 0.0
    for vectors, possible in groups:
        for vector in vectors:
            share = len(problem.table[vector]) / n
            found += share * math.log2(share / (count(problem.table, vectors) / n / possible))
    return found


def wrong_labels(problem: Problem, outcome: Outcome) -> float:
    """Share of records that are suppressed or lack the most frequent sensitive value of their class."""
    agreeing = sum(Counter(sensitive_of(problem.table, vectors)).most_common(1)[0][1] for vectors in outcome.classes)
    return 1 - agreeing / count(problem.table)


class Game(NamedTuple):
    """What a publisher gets for a record, loses and an attacker gains by finding its person, and pays for trying."""

    benefit: float
    loss: float
    gain: float
    cost: float

    def payoff(self, lost: float, people: int) -> float:
        """Of one record that looks like that of so many people, and has lost a share of its information."""
        attacked = self.gain / people > self.cost * (1 + 1e-12)
        return self.benefit * (1 - lost) - (self.loss / people if attacked else 0.0)


def information_lost(problem: Problem, recoding: Recoding, vector: Vector) -> float:
    """Share of the bits of one record."""
    lost = [math.log(len(own[value].leaves)) for own, value in zip(recoding, vector, strict=True)]
    return math.fsum(lost) / math.fsum(math.log(len(hierarchy)) for hierarchy in problem.hierarchies)


People = Callable[[Recoding, Sequence[Vector]], int]


def payout_outcome(problem: Problem, recoding: Recoding, game: Game, people: People) -> Outcome:
    """Suppress classes that break a model or are worth nothing, and the smallest while too few are suppressed."""
    staying, gone = classes_of(problem.table, recoding), list[Vector]()
    least = max(each.k for each in problem.models)
    while staying:
        worthless = [
            vectors
            for vectors in staying
            if game.payoff(information_lost(problem, recoding, vectors[0]), people(recoding, vectors)) <= 0
        ]
        going = [*breaking(problem.table, staying, problem.models), *worthless]
        if not going and 0 < count(problem.table, gone) < least:
            going = [min(staying, key=lambda vectors: smallest_first(problem, recoding, vectors))]
        if not going:
            break
        gone += [vector for vectors in staying if vectors in going for vector in vectors]
        staying = [vectors for vectors in staying if vectors not in going]
    return Outcome(recoding, staying, gone)


def payout(problem: Problem, outcome: Outcome, game: Game, people: People) -> float:
    """The share of the largest payout that is lost."""
    gained = math.fsum(
        count(problem.table, vectors)
        * game.payoff(information_lost(problem, outcome.recoding, vectors[0]), people(outcome.recoding, vectors))
        for vectors in outcome.classes
    )
    return 1 - gained / (game.benefit * count(problem.table))

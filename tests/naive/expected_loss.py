"""Plain twin of the least-expected-loss cut: definitions by enumeration, for tables of a few records.

A record is a list of codes; `weights` says how many original records it stands for. An attribute is one of
`Axis` (place of each code, domain width), `ValueSet` (domain size) or `Tree` (path of each code from the root down,
None for the missing value). A cut is the set of the records on its left side.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Record = Sequence[int]


@dataclass(frozen=True)
class Axis:
    places: tuple[float, ...]
    width: float
    weight: float = 1.0

    def loss(self, codes: set[int]) -> float:
        places = [self.places[code] for code in codes]
        return (max(places) - min(places)) / self.width if len(codes) > 1 else 0.0


@dataclass(frozen=True)
class ValueSet:
    size: int
    weight: float = 1.0

    def loss(self, codes: set[int]) -> float:
        return len(codes) / self.size if len(codes) > 1 else 0.0


@dataclass(frozen=True)
class Tree:
    paths: tuple[tuple[str, ...] | None, ...]
    weight: float = 1.0

    def loss(self, codes: set[int]) -> float:
        """Leaves under the lowest common ancestor over all leaves; missing next to present loses everything."""
        if len(codes) == 1:
            return 0.0
        paths = [self.paths[code] for code in codes]
        if None in paths:
            return 1.0
        shared = 0
        while len({path[: shared + 1] for path in paths if path is not None}) == 1:
            shared += 1
        prefix = (paths[0] or ())[:shared]
        leaves = [path for path in self.paths if path is not None]
        return sum(path[:shared] == prefix for path in leaves) / len(leaves)


Attribute = Axis | ValueSet | Tree


def shares(codes: Sequence[int], weights: Sequence[int]) -> dict[int, float]:
    count: Counter[int] = Counter()
    for code, weight in zip(codes, weights, strict=True):
        count[code] += weight
    return {code: number / count.total() for code, number in count.items()}


def expected_loss(codes: Sequence[int], weights: Sequence[int], draws: int, attribute: Attribute) -> float:
    """Mean loss of all classes that `draws` draws with replacement can make, each with its probability."""
    share = shares(codes, weights)
    return math.fsum(
        attribute.weight * attribute.loss(set(drawn)) * math.prod(share[code] for code in drawn)
        for drawn in itertools.product(share, repeat=draws)
    )


def exact_loss(codes: Sequence[int], attribute: Attribute) -> float:
    return attribute.weight * attribute.loss(set(codes))


def side_cost(
    records: Sequence[Record], weights: Sequence[int], attributes: Sequence[Attribute], smallest: int, whole: bool
) -> float:
    """Loss of a side over its records: as one class if it cannot be cut any more, else of a random class."""
    draws = max(2, math.floor(1.6 * smallest + 0.5))
    final = sum(weights) < 2 * smallest and not whole
    total = 0.0
    for position, attribute in enumerate(attributes):
        codes = [record[position] for record in records]
        total += exact_loss(codes, attribute) if final else expected_loss(codes, weights, draws, attribute)
    return sum(weights) * total


def evenness(left: int, total: int) -> float:
    """Entropy of the split to the power 0.7, the share taken in steps of 1/1024."""
    share = min(1023, max(1, math.floor(1024 * (left / total) + 0.5))) / 1024
    return (-share * math.log2(share) - (1 - share) * math.log2(1 - share)) ** 0.7


def score(
    left: frozenset[int],
    records: Sequence[Record],
    weights: Sequence[int],
    attributes: Sequence[Attribute],
    smallest: int,
) -> float:
    sides = [sorted(left), [index for index in range(len(records)) if index not in left]]
    cost = math.fsum(
        side_cost([records[i] for i in side], [weights[i] for i in side], attributes, smallest, False) for side in sides
    )
    gain = side_cost(records, weights, attributes, smallest, True) - cost
    return gain / evenness(sum(weights[i] for i in left), sum(weights)) if gain > 0 else gain


def orders(codes: Sequence[int], weights: Sequence[int], attribute: Attribute) -> Iterator[list[int]]:
    """Code order, and for value sets of more than two values falling frequency, ties by code."""
    share = shares(codes, weights)
    yield sorted(share)
    if isinstance(attribute, ValueSet) and len(share) > 2:
        yield sorted(share, key=lambda code: (-round(share[code] * sum(weights)), code))


def children(codes: Sequence[int], tree: Tree) -> list[list[int]]:
    """The codes that occur, by child of their common ancestor: together they lose less than all of them."""
    occurring = sorted(set(codes))
    top = tree.loss(set(occurring))
    found: list[list[int]] = []
    for code in occurring:
        mates = next((child for child in found if tree.loss({child[0], code}) < top), None)
        if mates is None:
            found.append([code])
        else:
            mates.append(code)
    return found


def between_children(codes: Sequence[int], weights: Sequence[int], tree: Tree, smallest: int) -> list[frozenset[int]]:
    """Each child alone, then the run of first children that is nearest to half."""
    parts = children(codes, tree)
    if len(parts) < 2:
        return []

    def cut_of(values: Sequence[int]) -> frozenset[int]:
        return frozenset(i for i, code in enumerate(codes) if code in values)

    def allowed(cuts: list[frozenset[int]]) -> list[frozenset[int]]:
        return [cut for cut in cuts if smallest <= sum(weights[i] for i in cut) <= sum(weights) - smallest]

    runs = allowed([cut_of([code for part in parts[: length + 1] for code in part]) for length in range(len(parts))])
    nearest = sorted(runs, key=lambda cut: abs(2 * sum(weights[i] for i in cut) - sum(weights)))[:1]
    return allowed([cut_of(part) for part in parts]) + nearest


def cuts_between_children(
    tree: Tree, codes: Sequence[int], weights: Sequence[int], smallest: int
) -> list[frozenset[int]]:
    """Each child of the common ancestor against the others, and the run of first children that is nearest to half."""
    if len(set(codes)) < 2:
        return []
    paths = [tree.paths[code] for code in codes]
    shared = 0
    while None not in paths and len({(path or ())[: shared + 1] for path in paths}) == 1:
        shared += 1
    child = [(path or ("missing",))[: shared + 1] for path in paths]
    children = list(dict.fromkeys(child[i] for i in sorted(range(len(codes)), key=lambda i: codes[i])))
    alone = [{name} for name in children]
    runs = [set(children[: length + 1]) for length in range(len(children) - 1)]
    total = sum(weights)

    def allowable(names: list[set[tuple[str, ...]]]) -> list[frozenset[int]]:
        cuts = [frozenset(i for i, name in enumerate(child) if name in group) for group in names]
        return [cut for cut in cuts if smallest <= sum(weights[i] for i in cut) <= total - smallest]

    nearest = sorted(allowable(runs), key=lambda cut: abs(2 * sum(weights[i] for i in cut) - total))[:1]
    return allowable(alone) + nearest


def candidates(
    records: Sequence[Record],
    weights: Sequence[int],
    attributes: Sequence[Attribute],
    smallest: int,
    everywhere: bool,
) -> list[frozenset[int]]:
    """All allowable cuts of the rule, in the order that settles ties."""
    found: list[frozenset[int]] = []
    total = sum(weights)
    for position, attribute in enumerate(attributes):
        codes = [record[position] for record in records]
        if isinstance(attribute, Tree) and not everywhere:
            found += between_children(codes, weights, attribute, smallest)
            continue
        for order in orders(codes, weights, attribute):
            prefixes = [order[: length + 1] for length in range(len(order) - 1)]
            cuts = [frozenset(i for i, code in enumerate(codes) if code in prefix) for prefix in prefixes]
            cuts = [cut for cut in cuts if smallest <= sum(weights[i] for i in cut) <= total - smallest]
            if cuts and not everywhere:
                cuts = [min(cuts, key=lambda cut: abs(2 * sum(weights[i] for i in cut) - total))]
            found += cuts
        if everywhere and not isinstance(attribute, Axis):
            singles = [frozenset(i for i, code in enumerate(codes) if code == value) for value in sorted(set(codes))]
            found += [cut for cut in singles if smallest <= sum(weights[i] for i in cut) <= total - smallest]
    return found

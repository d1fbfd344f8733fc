"""The lattice of full-domain generalizations: one level per attribute, ordered attribute by attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

Levels = tuple[int, ...]
"""A node: the level of each attribute, in declared order."""


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels.

    Nodes are also numbered, ``0 .. size-1``: the levels are the digits of the number, the last attribute's the lowest.
    A node's number is smaller than those of all its generalizations.

    Parameters
    ----------
    heights
        Height of each attribute's hierarchy, length q, each 0 or above.

    Raises
    ------
    ValueError
        When there is no attribute or a height is negative: a fault of the caller.
    """

    heights: Levels

    def __post_init__(self) -> None:
        """Check the heights."""
        if not self.heights or min(self.heights) < 0:
            raise ValueError("a lattice needs one height of 0 or above for each attribute")

    @property
    def size(self) -> int:
        """Number of nodes; a Python integer of any size."""
        return math.prod(height + 1 for height in self.heights)

    @property
    def height(self) -> int:
        """Steps from the bottom to the top."""
        return sum(self.heights)

    @property
    def bottom(self) -> Levels:
        """The node that generalizes nothing."""
        return (0,) * len(self.heights)

    @property
    def top(self) -> Levels:
        """The node that generalizes every attribute to the top of its hierarchy."""
        return self.heights

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Return the value of one level of each attribute in a node's number."""
        worth = [1]
        for height in self.heights[:0:-1]:
            worth.append(worth[-1] * (height + 1))
        return tuple(reversed(worth))

    def number(self, levels: Sequence[int]) -> int:
        """Return the number of a node."""
        return sum(level * place for level, place in zip(levels, self.places, strict=True))

    def levels(self, number: int) -> Levels:
        """Return the node with that number."""
        return tuple(number // place % (height + 1) for place, height in zip(self.places, self.heights, strict=True))

    def nodes(self) -> Iterator[Levels]:
        """Yield every node in the order of their numbers."""
        return product(*(range(height + 1) for height in self.heights))

    def successors(self, levels: Levels) -> Iterator[Levels]:
        """Yield the direct generalizations: one attribute one level higher."""
        for place, (level, height) in enumerate(zip(levels, self.heights, strict=True)):
            if level < height:
                yield (*levels[:place], level + 1, *levels[place + 1 :])

    def predecessors(self, levels: Levels) -> Iterator[Levels]:
        """Yield the direct specializations: one attribute one level lower."""
        for place, level in enumerate(levels):
            if level > 0:
                yield (*levels[:place], level - 1, *levels[place + 1 :])


def generalizes(upper: Levels, lower: Levels) -> bool:
    """Tell whether `upper` is `lower` or one of its generalizations."""
    return all(above >= below for above, below in zip(upper, lower, strict=True))

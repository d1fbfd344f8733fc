"""The result of a search of the lattice: what is known of every node, and which one was chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

# The lattice of full-domain generalizations: one level per attribute, ordered attribute by attribute.


Levels = tuple[int, ...]
"""A node: the level of each attribute, in declared order."""


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels, by the height of each attribute; nodes are numbered, the last one's digit lowest.

    A node's number is smaller than those of all its generalizations.
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

    def predecessors(self, levels: Levels) -> Iterator[Levels]:
        """Yield the direct specializations: one attribute one level lower."""
        for place, level in enumerate(levels):
            if level > 0:
                yield (*levels[:place], level - 1, *levels[place + 1 :])


def generalizes(upper: Levels, lower: Levels) -> bool:
    """Tell whether `upper` is `lower` or one of its generalizations."""
    return all(above >= below for above, below in zip(upper, lower, strict=True))


_DENSE = 1 << 22
"""Largest lattice whose states are kept in an array; a larger one keeps the nodes that were visited."""

_SHOWN = 5
"""Minimal nodes that are printed before the rest is only counted."""

_TOLD = 10_000
"""Nodes that are told one by one in JSON, unless another number is asked for."""

States = NDArray[np.int8] | dict[int, int]


class NodeState(IntEnum):
    """What is known of a node, and how."""

    UNKNOWN = 0
    """Never evaluated, and nothing follows for it from other nodes."""
    SATISFIES = 1
    """Counted: satisfies the models within the suppression limit."""
    FAILS = 2
    """Counted: does not."""
    INFERRED_SATISFIES = 3
    """Not counted: satisfies because a node below it does."""
    INFERRED_FAILS = 4
    """Not counted: fails because a node above it, or its projection on fewer attributes, does."""
    NOT_BETTER = 5
    """Not counted: it cannot lose less than a node that satisfies."""

    @property
    def words(self) -> str:
        """Return the state as it is printed."""
        return _WORDS[self]

    @property
    def key(self) -> str:
        """Return the state as JSON has it."""
        return self.name.lower().replace("_", "-")


_WORDS = {
    NodeState.UNKNOWN: "not known",
    NodeState.SATISFIES: "satisfies",
    NodeState.FAILS: "fails",
    NodeState.INFERRED_SATISFIES: "satisfies (inferred)",
    NodeState.INFERRED_FAILS: "fails (inferred)",
    NodeState.NOT_BETTER: "cannot lose less",
}

SATISFYING = (NodeState.SATISFIES, NodeState.INFERRED_SATISFIES)


def blank_states(lattice: Lattice) -> States:
    """Return states of which nothing is known yet: int8 (size,) up to `DENSE` nodes, else an empty dictionary."""
    return np.zeros(lattice.size, dtype=np.int8) if lattice.size <= _DENSE else {}


@dataclass(frozen=True, eq=False, repr=False)
class LatticeSearch:
    """The lattice of full-domain generalizations after a search. It holds levels and counts, no value of the data.

    * `attributes`: names of the attributes, length q, in the order of the levels.
    * `states`: a :class:`NodeState` for each node number: int8 (size,) for lattices of at most `DENSE` nodes, otherwise
      a dictionary of the nodes of which something is known.
    * `chosen`: levels of the chosen node; None when no node satisfies.
    * `minimal`: satisfying nodes none of whose specializations is known to satisfy, in the order of their numbers.
      Empty for a search that does not look for them.
    * `path`: nodes that led the search to the chosen one, the chosen one last.
    * `evaluated`: nodes of the full lattice whose classes were counted.
    * `projections`: nodes over fewer attributes whose classes were counted besides.
    * `losses`: information loss of the nodes where it was measured, by node number.
    * `loss_name`: what `losses` measures; empty when there are none.
    * `loss_bound`: no satisfying node loses less than this; the chosen node's own loss when it is proven to be the
      best. None when the search proves nothing about losses.

    Raises ``ValueError`` when names, states or nodes do not fit the lattice: a fault of an anonymizer.
    """

    lattice: Lattice
    attributes: tuple[str, ...]
    states: States
    chosen: Levels | None
    minimal: tuple[Levels, ...] = ()
    path: tuple[Levels, ...] = ()
    evaluated: int = 0
    projections: int = 0
    losses: Mapping[int, float] = field(default_factory=dict)
    loss_name: str = ""
    loss_bound: float | None = None

    def __post_init__(self) -> None:
        """Check that everything belongs to one lattice."""
        if len(self.attributes) != len(self.lattice.heights):
            raise ValueError("a search needs one attribute name for each height of its lattice")
        if not isinstance(self.states, dict) and self.states.shape != (self.lattice.size,):
            raise ValueError("a search needs one state for each node of its lattice")
        for node in (*self.minimal, *self.path, *([] if self.chosen is None else [self.chosen])):
            if len(node) != len(self.attributes) or any(
                not 0 <= level <= height for level, height in zip(node, self.lattice.heights, strict=True)
            ):
                raise ValueError("a search names a node outside of its lattice")

    def state(self, levels: Levels) -> NodeState:
        """Return what is known of a node."""
        number = self.lattice.number(levels)
        known = self.states.get(number, 0) if isinstance(self.states, dict) else self.states[number]
        return NodeState(int(known))

    def count(self, *states: NodeState) -> int:
        """Return how many nodes are in one of these states; a Python integer of any size."""
        if not isinstance(self.states, dict):
            return int(np.isin(self.states, states).sum())
        found = sum(1 for state in self.states.values() if state in states)
        return found + (self.lattice.size - len(self.states) if NodeState.UNKNOWN in states else 0)

    def satisfying(self) -> Iterator[Levels]:
        """Yield every node that is known to satisfy, in the order of their numbers."""
        for number in self._known():
            if self._state_of(number) in SATISFYING:
                yield self.lattice.levels(number)

    @property
    def loss(self) -> float | None:
        """Return the information loss of the chosen node, or None if it was not measured."""
        return None if self.chosen is None else self.losses.get(self.lattice.number(self.chosen))

    def to_frame(self) -> pl.DataFrame:
        """Return one row for each node of which something is known, in the order of their numbers.

        Returns: ``"level of NAME"`` for each attribute (Int32), ``height`` (Int32), ``state`` (String), ``loss``
        (Float64, null where not measured), ``minimal``, ``on_path`` and ``chosen`` (Boolean).
        """
        numbers = self._known()
        nodes = [self.lattice.levels(number) for number in numbers]
        levels = {
            f"level of {name}": pl.Series([node[place] for node in nodes], dtype=pl.Int32)
            for place, name in enumerate(self.attributes)
        }
        minimal, path = set(self.minimal), set(self.path)
        return pl.DataFrame(
            {
                **levels,
                "height": pl.Series([sum(node) for node in nodes], dtype=pl.Int32),
                "state": pl.Series([self._state_of(number).words for number in numbers], dtype=pl.String),
                "loss": pl.Series([self.losses.get(number) for number in numbers], dtype=pl.Float64),
                "minimal": pl.Series([node in minimal for node in nodes], dtype=pl.Boolean),
                "on_path": pl.Series([node in path for node in nodes], dtype=pl.Boolean),
                "chosen": pl.Series([node == self.chosen for node in nodes], dtype=pl.Boolean),
            }
        )

    def to_dict(self, *, most: int = _TOLD) -> dict[str, Any]:
        """Return plain values, for JSON; it holds levels and counts, no value of the data.

        `most`: nodes that are told one by one, at most: the chosen one, the minimal ones and those of the path first,
        then in the order of their numbers. How many more are known is said.
        """
        numbers = self._known()
        first = {self.lattice.number(node) for node in (*self._chosen_nodes(), *self.minimal, *self.path)}
        first_numbers = sorted(numbers, key=lambda number: (number not in first, number))[:most]
        return {
            "attributes": [
                {"name": name, "height": height}
                for name, height in zip(self.attributes, self.lattice.heights, strict=True)
            ],
            "nodes": self.lattice.size,
            "counts": {state.key: self.count(state) for state in NodeState},
            "evaluated": self.evaluated,
            "projections": self.projections,
            "chosen": None if self.chosen is None else list(self.chosen),
            "loss": self.loss,
            "loss_name": self.loss_name,
            "loss_bound": self.loss_bound,
            "minimal": [list(node) for node in self.minimal],
            "path": [list(node) for node in self.path],
            "known": [
                {
                    "levels": list(self.lattice.levels(number)),
                    "state": self._state_of(number).key,
                    "loss": self.losses.get(number),
                }
                for number in sorted(first_numbers)
            ],
            "left_out": len(numbers) - len(first_numbers),
        }

    def _chosen_nodes(self) -> tuple[Levels, ...]:
        return () if self.chosen is None else (self.chosen,)

    def _repr_html_(self) -> str:
        """Show notebooks what :meth:`__str__` writes."""
        from sfumato.notebook import card, lines

        first, *others = str(self).splitlines()
        return card("Lattice", first, lines(line.strip() for line in others))

    def __str__(self) -> str:
        """Print how many nodes are in each state, the minimal ones and the chosen one."""
        lines = [f"lattice of {self.lattice.size:,} nodes over {', '.join(self.attributes)}"]
        counts = [(state.words, self.count(state)) for state in NodeState]
        lines += [f"  {words:<22}{count:>12,}" for words, count in counts if count]
        lines.append(f"  {'counted':<22}{self.evaluated:>12,}" + self._projections_in_words())
        lines += self._minimal_in_words()
        lines.append("chosen: " + ("none" if self.chosen is None else self._in_words(self.chosen)))
        return "\n".join(lines)

    def _projections_in_words(self) -> str:
        return f", and {self.projections:,} nodes over fewer attributes" if self.projections else ""

    def _minimal_in_words(self) -> list[str]:
        if not self.minimal:
            return []
        more = len(self.minimal) - _SHOWN
        lines = ["minimal:", *(f"  {self._in_words(node)}" for node in self.minimal[:_SHOWN])]
        return [*lines, f"  and {more:,} more"] if more > 0 else lines

    def _in_words(self, levels: Levels) -> str:
        words = ", ".join(f"{name} {level}" for name, level in zip(self.attributes, levels, strict=True))
        loss = self.losses.get(self.lattice.number(levels))
        return words if loss is None else f"{words} ({self.loss_name or 'loss'} {loss:.4f})"

    def _known(self) -> list[int]:
        if isinstance(self.states, dict):
            return sorted(self.states)
        known: list[int] = np.flatnonzero(self.states).tolist()
        return known

    def _state_of(self, number: int) -> NodeState:
        return NodeState(int(self.states[number]))

"""Datafly: generalize the attribute with most distinct values until few records are left to suppress (Sweeney 1998)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sfumato.anonymizers.full_domain.frequency_sets import FrequencySearch, FrequencySet, LatticeNodes
from sfumato.classes.partition import Partition
from sfumato.hierarchy.lattice_search import LatticeSearch, Levels, NodeState, blank_states
from sfumato.numbers import counted

_Allowance = Literal["limit", "k"]


@dataclass(frozen=True)
class Datafly(FrequencySearch):
    """Climb one path through the lattice, always in the attribute that has most distinct values.

    While too many records are in classes that break a model, the attribute with most distinct values among the classes
    goes up one level (of several the first). Then these classes are suppressed.

    Parameters
    ----------
    allowance
        How many records may be left for suppression when it stops. ``"limit"``: as many as the suppression limit
        allows. ``"k"``: at most k, for the largest k of the models, as in the paper and in the thesis; and no more than
        the limit, which outranks it. With a limit of 0, the default, both go on until nothing has to be suppressed.

    Raises
    ------
    PolicyError
        When the allowance is unknown.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem, judged in the published table. "Small" classes of the
    paper are those that break any of the models. Suppressed records are none or at least k (complementary suppression:
    the smallest classes go too); where that would exceed the limit, it goes on generalizing. It ends, because all
    records at the top of the lattice are one class.

    *Complexity.* At most as many steps as the hierarchies have levels together; each rolls the counts of the last one
    up, only the first visits the records.

    *Sources.* L. Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system", 1997; "Achieving
    k-anonymity privacy protection using generalization and suppression", 2002. The variant of the thesis is the same.
    The UTD Anonymization Toolbox publishes the suppressed records as one class of ``*``, which is
    ``Recoding(suppressed="star")`` here. Departures: the suppression limit is the problem's; any list of models.
    """

    name: ClassVar[str] = "datafly"

    allowance: _Allowance = "limit"

    def _search(self, nodes: LatticeNodes) -> tuple[LatticeSearch, Partition] | None:
        climb = _Climb(nodes)
        allowed = nodes.room if self.allowance == "limit" else min(nodes.room, nodes.start.smallest)
        for node in climb.path():
            if climb.failing(node) <= allowed:
                partition = nodes.solution(node.levels)
                if partition is not None:
                    return climb.as_search(), partition
        return None

    def _account(self, search: LatticeSearch) -> str:
        steps, size = counted(len(search.path) - 1, "step"), counted(search.lattice.size, "generalization")
        return f"Datafly took {steps} through a lattice of {size}."


class _Climb:
    """One way up the lattice, and what was found on it."""

    def __init__(self, nodes: LatticeNodes) -> None:
        self._nodes = nodes
        self._path: list[Levels] = []
        self._losses: dict[int, float] = {}
        self._states = blank_states(nodes.lattice)

    def path(self) -> Iterator[FrequencySet]:
        """Yield the nodes from the bottom up, each counted."""
        node: FrequencySet | None = self._nodes.bottom
        while node is not None:
            self._path.append(node.levels)
            self._nodes.start.problem.progress("generalizing", sum(node.levels), self._nodes.lattice.height)
            yield node
            node = self._one_higher(node)

    def _one_higher(self, node: FrequencySet) -> FrequencySet | None:
        """Generalize the attribute with most distinct values one level, the first of several; None at the top."""
        distinct = [
            len(np.unique(node.codes[:, place])) if level < domain.height else 0
            for place, (level, domain) in enumerate(zip(node.levels, self._nodes.domains, strict=True))
        ]
        highest = max(distinct)
        if not highest:
            return None
        raised = distinct.index(highest)
        levels = tuple(level + (place == raised) for place, level in enumerate(node.levels))
        return self._nodes.at(node, node.places, levels)

    def failing(self, node: FrequencySet) -> int:
        """Count the records in classes that break a model, and note what is found."""
        verdict, number = self._nodes.verdict(node), self._nodes.lattice.number(node.levels)
        self._states[number] = NodeState.SATISFIES if verdict.failing <= self._nodes.room else NodeState.FAILS
        self._losses[number] = self._nodes.loss(node, verdict.kept)
        return verdict.failing

    def as_search(self) -> LatticeSearch:
        """Return the way so far as a value; its last node is the chosen one."""
        path = tuple(self._path)
        return self._nodes.as_search(self._states, self._losses, chosen=path[-1], path=path, evaluated=len(path))

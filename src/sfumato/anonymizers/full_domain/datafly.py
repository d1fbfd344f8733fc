"""Datafly: generalize the attribute with most distinct values until few records are left to suppress (Sweeney 1998)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sfumato.anonymizers.domain_levels import DomainLevels, domain_levels, lattice_of, notes_on
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.full_domain.frequency_sets import Counts, FrequencySet
from sfumato.anonymizers.full_domain.level_losses import LOSS_NAME, LevelLosses
from sfumato.anonymizers.full_domain.region_population import by_region
from sfumato.anonymizers.full_domain.search_outcome import Outcome, best_outcome, levels_in_words, room_of, settled
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition
from sfumato.hierarchy.lattice import Levels
from sfumato.hierarchy.lattice_search import LatticeSearch, NodeState, blank_states
from sfumato.numbers import counted
from sfumato.options import Checked

Allowance = Literal["limit", "k"]


@dataclass(frozen=True)
class Datafly(Checked):
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
    decides_regions: ClassVar[bool] = True
    aggregates: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True
    knows_regions: ClassVar[bool] = True

    allowance: Allowance = "limit"

    def solve(self, problem: Problem) -> Partition:
        """Generalize the whole table to the node where the path ends.

        Raises
        ------
        UnsatisfiableError
            When not even the top of the lattice satisfies the models within the suppression limit.
        """
        return self._outcome(problem)[1]

    def search(self, problem: Problem) -> LatticeSearch:
        """Return the path through the lattice; errors as :meth:`solve`."""
        return self._outcome(problem)[0]

    def _outcome(self, problem: Problem) -> Outcome:
        problem = by_region(problem)
        domains = domain_levels(problem.table)
        return best_outcome(problem, (self._climbed(start, domains) for start in feasible(problem)))

    def _climbed(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> Outcome | None:
        climb = _Climb(start, domains)
        allowed = climb.room if self.allowance == "limit" else min(climb.room, start.smallest)
        for node in climb.nodes():
            if climb.failing(node) <= allowed:
                partition = settled(start, domains, node.levels, start.problem.suppression_limit)
                if partition is not None:
                    search = climb.search()
                    return search, replace(partition, notes=_notes(search, domains))
        return None


class _Climb:
    """One way up the lattice, and what was found on it."""

    def __init__(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> None:
        self.room = room_of(start)
        self._lattice = lattice_of(domains)
        self._domains = domains
        self._counts = Counts(start, domains)
        self._losses = LevelLosses(domains, start.problem.table.height)
        self._progress = start.problem.progress
        self._path: list[Levels] = []
        self._found: dict[int, float] = {}
        self._states = blank_states(self._lattice)

    def nodes(self) -> Iterator[FrequencySet]:
        """Yield the nodes from the bottom up, each counted."""
        counted: FrequencySet | None = self._counts.bottom
        while counted is not None:
            self._path.append(counted.levels)
            self._progress("generalizing", sum(counted.levels), self._lattice.height)
            yield counted
            counted = self._one_higher(counted)

    def failing(self, counted: FrequencySet) -> int:
        """Count the records in classes that break a model, and note what is found."""
        verdict, number = self._counts.verdict(counted), self._lattice.number(counted.levels)
        self._states[number] = NodeState.SATISFIES if verdict.failing <= self.room else NodeState.FAILS
        self._found[number] = self._losses.of(counted, verdict.kept)
        return verdict.failing

    def search(self) -> LatticeSearch:
        """Return the way so far as a value; its last node is the chosen one."""
        return LatticeSearch(
            self._lattice,
            tuple(domain.attribute.name for domain in self._domains),
            self._states,
            chosen=self._path[-1],
            path=tuple(self._path),
            evaluated=len(self._path),
            losses=self._found,
            loss_name=LOSS_NAME,
        )

    def _one_higher(self, counted: FrequencySet) -> FrequencySet | None:
        """Generalize the attribute with most distinct values one level, the first of several; None at the top."""
        distinct = [
            len(np.unique(counted.codes[:, place])) if level < domain.height else 0
            for place, (level, domain) in enumerate(zip(counted.levels, self._domains, strict=True))
        ]
        highest = max(distinct)
        if not highest:
            return None
        raised = distinct.index(highest)
        levels = tuple(level + (place == raised) for place, level in enumerate(counted.levels))
        return self._counts.at(counted, counted.places, levels)


def _notes(search: LatticeSearch, domains: Sequence[DomainLevels]) -> tuple[str, ...]:
    steps = counted(len(search.path) - 1, "step")
    taken = f"Datafly took {steps} through a lattice of {counted(search.lattice.size, 'generalization')}."
    return (taken, levels_in_words(search), *notes_on(domains))

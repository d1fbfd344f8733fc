"""Incognito: all full-domain generalizations that satisfy the models (LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from sfumato.anonymizers.domain_levels import DomainLevels, domain_levels, lattice_of, notes_on
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.full_domain.apriori import NodeStates, search_subsets
from sfumato.anonymizers.full_domain.frequency_sets import Counts, FrequencySet
from sfumato.anonymizers.full_domain.level_losses import LOSS_NAME, LevelLosses
from sfumato.anonymizers.full_domain.region_population import by_region
from sfumato.anonymizers.full_domain.search_outcome import Outcome, best_outcome, levels_in_words, room_of, settled
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, raise_all
from sfumato.hierarchy.lattice import Lattice, Levels
from sfumato.hierarchy.lattice_search import SATISFYING, LatticeSearch
from sfumato.options import Checked

Selection = Literal["height", "classes", "loss"]

LARGEST = 1 << 20
"""Nodes over all subsets of the attributes that a search may have at most."""


@dataclass(frozen=True)
class Incognito(Checked):
    """Find every node of the lattice of full-domain generalizations that satisfies the models, and take one.

    Subsets of the attributes are searched from small to large: a node over several attributes can only satisfy the
    models when its projections on fewer attributes do. Each lattice is searched breadth first from below; what is above
    a node that satisfies needs no counting, and the counts of a node are rolled up from those of a node below it.

    Parameters
    ----------
    selection
        Which of the minimal nodes (those with no satisfying node below) is taken. ``"loss"``: the one with the least
        normalized NCP; where records may be suppressed, which are charged in full, of all nodes that satisfy.
        ``"height"``: the lowest, of several the one with the most classes (the paper's measure). ``"classes"``: the one
        with the most classes, of several the lowest, as the UTD Anonymization Toolbox does. Remaining ties go to the
        node that generalizes the first attributes less.

    Raises
    ------
    PolicyError
        When the selection is unknown.

    Notes
    -----
    *Satisfying.* Without suppression a node satisfies when all its classes do. With a limit it satisfies when at most
    that many records are in classes that break a model, each class being compared with the whole original table.

    *Guarantee.* Without suppression the states of all nodes are exact for every list of models of the library: all are
    monotone when classes merge, and projections have the totals of the whole table. With suppression they are exact
    too; pruning then rests only on what is monotone, the number of records in classes that have fewer than k records
    or fewer than l distinct values, and for other models all nodes that are left are counted, but for those above a
    node where nothing has to be suppressed. The chosen node is judged again with its suppressed classes gone, until all
    others satisfy every model as parts of the published table. When that, or complementary suppression, takes more
    records than the limit, the node cannot be published, and the first that can is taken of all nodes that satisfy.

    *Complexity.* Exponential in the number of attributes in the worst case; only the first frequency set visits the
    records.

    *Sources.* LeFevre, DeWitt, Ramakrishnan, "Incognito: efficient full-domain k-anonymity", SIGMOD 2005. Departures:
    any list of models; first nodes are rolled up from the distinct records, not counted from the table; candidates are
    boolean lattices joined along their axes, not generated edge by edge, which finds the same ones; the least loss
    decides between minimal nodes, as steps of different hierarchies are no common measure.
    """

    name: ClassVar[str] = "incognito"
    decides_regions: ClassVar[bool] = True
    aggregates: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True
    knows_regions: ClassVar[bool] = True

    selection: Selection = "loss"

    def solve(self, problem: Problem) -> Partition:
        """Generalize the whole table to the chosen node.

        Raises
        ------
        UnsatisfiableError
            When not even the top of the lattice satisfies the models within the suppression limit.
        PolicyError
            When the lattice is too large to search.
        """
        return self._best(problem)[1]

    def search(self, problem: Problem) -> LatticeSearch:
        """Return what is found of every node, and the chosen one; errors as :meth:`solve`."""
        return self._best(problem)[0]

    def _best(self, problem: Problem) -> Outcome:
        problem = by_region(problem)
        domains = domain_levels(problem.table)
        raise_all(PolicyError, _size_problems(lattice_of(domains)))
        return best_outcome(problem, (self._outcome(start, domains) for start in feasible(problem)))

    def _outcome(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> Outcome | None:
        if self.selection != "loss" or not room_of(start):
            found = _Findings(start, domains, exhaustive=False)
            outcome = self._first(found, found.minimal, most=1)
            if outcome is not None:
                return outcome
        found = _Findings(start, domains, exhaustive=True)
        return self._first(found, tuple(found.measures), most=len(found.measures))

    def _first(self, found: _Findings, numbers: Sequence[int], most: int) -> Outcome | None:
        """Return the first node that can be published, of the `most` that are best."""
        for number in sorted(numbers, key=lambda node: (*self._order(found.measures[node]), node))[:most]:
            partition = found.settled(number)
            if partition is not None:
                search = found.search(number)
                return search, replace(partition, notes=_notes(search, found.domains))
        return None

    def _order(self, measure: _Measure) -> tuple[float, ...]:
        if self.selection == "height":
            return (measure.height, -measure.classes)
        # Losses that differ in rounding only are equal.
        return (-measure.classes, measure.height) if self.selection == "classes" else (round(measure.loss, 12),)


@dataclass(frozen=True)
class _Measure:
    """What selection rules look at."""

    height: int
    classes: int
    loss: float


class _Findings:
    """One search of the lattice; an exhaustive one also counts what satisfies by inference and may lose less."""

    def __init__(self, start: FeasibleProblem, domains: Sequence[DomainLevels], *, exhaustive: bool) -> None:
        self.domains = domains
        self.lattice = lattice_of(domains)
        self.measures: dict[int, _Measure] = {}
        self._names = tuple(domain.attribute.name for domain in domains)
        self._start = start
        self._room = room_of(start)
        self._exhaustive = exhaustive
        self._counts = Counts(start, domains)
        self._losses = LevelLosses(domains, start.problem.table.height)
        self._walk, self._projections = search_subsets(
            self._counts, self.lattice, self._passes, self._decides, start.problem.progress
        )
        self.minimal = self._walk.minimal

    def settled(self, number: int) -> Partition | None:
        """Return the solution of a node, None when it cannot be published within the limit."""
        limit = self._start.problem.suppression_limit
        return settled(self._start, self.domains, self.lattice.levels(number), limit)

    def search(self, chosen: int) -> LatticeSearch:
        """Return the search as a value."""
        return LatticeSearch(
            self.lattice,
            self._names,
            self._walk.states,
            chosen=self.lattice.levels(chosen),
            minimal=tuple(self.lattice.levels(number) for number in self.minimal),
            path=_path(self._walk, chosen),
            evaluated=len(self._walk.reached),
            projections=self._projections,
            losses={number: measure.loss for number, measure in self.measures.items()},
            loss_name=LOSS_NAME,
        )

    def _passes(self, counted: FrequencySet) -> tuple[bool, bool]:
        failing = (
            self._counts.lost(counted)
            if self._room or not self._counts.steady
            else self._counts.verdict(counted).failing
        )
        passes = failing <= self._room
        return passes, passes

    def _decides(self, counted: FrequencySet) -> tuple[bool, bool]:
        verdict = self._counts.verdict(counted)
        satisfies = verdict.failing <= self._room
        if satisfies:
            loss = self._losses.of(counted, verdict.kept)
            measure = _Measure(sum(counted.levels), verdict.classes, loss)
            self.measures[self.lattice.number(counted.levels)] = measure
        implied = satisfies and self._counts.lasting and not self._exhaustive
        return satisfies, implied or (verdict.failing == 0 and self._counts.steady)


def _path(walk: NodeStates, chosen: int) -> tuple[Levels, ...]:
    """Return the nodes that the chosen one was rolled up from, the lowest first."""
    path: list[Levels] = []
    number: int | None = chosen
    while number is not None:
        path.append(walk.lattice.levels(number))
        number = walk.reached[number]
    return tuple(reversed(path))


def _notes(search: LatticeSearch, domains: Sequence[DomainLevels]) -> tuple[str, ...]:
    satisfying = search.count(*SATISFYING)
    return (
        f"Incognito counted {search.evaluated:,} of {search.lattice.size:,} generalizations, and "
        f"{search.projections:,} of fewer attributes: {satisfying:,} satisfy the models, {len(search.minimal):,} of "
        f"them minimal.",
        levels_in_words(search),
        *notes_on(domains),
    )


def _size_problems(lattice: Lattice) -> list[str]:
    subsets = math.prod(height + 2 for height in lattice.heights)
    if subsets <= LARGEST:
        return []
    return [
        f"incognito: {len(lattice.heights)} attributes with {lattice.size:,} generalizations are too many to search "
        f"with all their subsets; give fewer quasi-identifying attributes or hierarchies of fewer levels, or take "
        f"another anonymizer, such as datafly"
    ]

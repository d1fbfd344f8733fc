"""Samarati's search: a full-domain generalization of the least height, found by bisection (Samarati, TKDE 2001)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from sfumato.anonymizers.domain_levels import DomainLevels, domain_levels, lattice_of, notes_on
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.full_domain.frequency_sets import Counts
from sfumato.anonymizers.full_domain.level_losses import LOSS_NAME, LevelLosses
from sfumato.anonymizers.full_domain.region_population import by_region
from sfumato.anonymizers.full_domain.search_outcome import Outcome, best_outcome, levels_in_words, room_of, settled
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, raise_all
from sfumato.hierarchy.lattice import Lattice, Levels
from sfumato.hierarchy.lattice_search import LatticeSearch, NodeState, blank_states
from sfumato.models.compiled import rules_of
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS
from sfumato.options import Checked

Selection = Literal["relative", "classes", "suppression", "loss"]

LARGEST = 1 << 20
"""Nodes that a lattice may have at most."""


@dataclass(frozen=True)
class Samarati(Checked):
    """Find the least height of the lattice at which some node satisfies the models, and take a node there.

    The height of a node is the sum of its levels. What is above a node that satisfies does so, too; so the heights
    that have such a node are all from the least one on, and bisection finds that one.

    Parameters
    ----------
    selection
        Which node of that height is taken; the first three are the paper's. ``"relative"``: the one that climbs the
        smallest shares of the hierarchies, summed. ``"classes"``: the one with the most classes. ``"suppression"``:
        the one that leaves the fewest records in classes that break a model. ``"loss"``: the one with the least
        normalized NCP. Ties go to the node that generalizes the first attributes less.

    Raises
    ------
    PolicyError
        When the selection is unknown.

    Notes
    -----
    *Satisfying.* At most as many records as the suppression limit allows are in classes that break a model.

    *Guarantee.* Every class satisfies every model, judged in the published table. No node of a lower height satisfies
    the models; the chosen one need not lose least. Suppressed records are none or at least k (complementary
    suppression); where that exceeds the limit at every node of the height, the next height is taken.

    *Which models.* Bisection needs that generalizing never puts more records into classes that break a model. With a
    suppression limit this is true of k-anonymity and distinct l-diversity alone; other models are refused then.

    *Complexity.* Every node of a height without a satisfying one is counted, for about log₂ of the heights, and every
    node of the least height. Only the first frequency set visits the records.

    *Sources.* P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    Departures: classes are counted by frequency sets, not from a matrix of distance vectors; other models than
    k-anonymity; complementary suppression.
    """

    name: ClassVar[str] = "samarati"
    decides_regions: ClassVar[bool] = True
    aggregates: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True
    knows_regions: ClassVar[bool] = True

    selection: Selection = "relative"

    def solve(self, problem: Problem) -> Partition:
        """Generalize the whole table to the chosen node.

        Raises
        ------
        UnsatisfiableError
            When not even the top of the lattice satisfies the models.
        PolicyError
            When the lattice is too large, or a model cannot be searched for by heights.
        """
        return self._best(problem)[1]

    def search(self, problem: Problem) -> LatticeSearch:
        """Return what is found of the nodes that were counted, and the chosen one; errors as :meth:`solve`."""
        return self._best(problem)[0]

    def _best(self, problem: Problem) -> Outcome:
        problem = by_region(problem)
        domains = domain_levels(problem.table)
        raise_all(PolicyError, [*_unsearchable(problem), *_size_problems(lattice_of(domains))])
        return best_outcome(problem, (self._outcome(start, domains) for start in feasible(problem)))

    def _outcome(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> Outcome | None:
        heights = _Heights(start, domains)
        least = heights.least()
        for height in range(least, heights.lattice.height + 1):
            for levels in sorted(heights.satisfying(height), key=lambda node: (self._order(heights.of(node)), node)):
                partition = settled(start, domains, levels, start.problem.suppression_limit)
                if partition is not None:
                    search = heights.search(levels, least)
                    return search, replace(partition, notes=_notes(search, domains))
        return None

    def _order(self, measure: _Measure) -> float:
        # Sums that differ in rounding only are equal.
        return round(float(getattr(measure, self.selection)), 12)


@dataclass(frozen=True)
class _Measure:
    """What is known of a counted node; of every measure less is better."""

    satisfies: bool
    relative: float
    classes: int
    suppression: int
    loss: float


class _Heights:
    """The nodes of a lattice by height, counted when they are asked for."""

    def __init__(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> None:
        self.lattice = lattice_of(domains)
        self._names = tuple(domain.attribute.name for domain in domains)
        self._room = room_of(start)
        self._counts = Counts(start, domains)
        self._losses = LevelLosses(domains, start.problem.table.height)
        self._progress = start.problem.progress
        self._found: dict[Levels, _Measure] = {}

    def least(self) -> int:
        """Return the least height at which some node satisfies; the top always does."""
        low, high = 0, self.lattice.height
        while low < high:
            self._progress("generalizing", self.lattice.height - (high - low), self.lattice.height)
            middle = (low + high) // 2
            if next(self.satisfying(middle), None) is not None:
                high = middle
            else:
                low = middle + 1
        return low

    def satisfying(self, height: int) -> Iterator[Levels]:
        """Yield the nodes of a height that satisfy, counting one after the other."""
        return (node for node in self.lattice.nodes() if sum(node) == height and self.of(node).satisfies)

    def of(self, node: Levels) -> _Measure:
        """Count a node, once."""
        if node not in self._found:
            bottom = self._counts.bottom
            counted = self._counts.at(bottom, bottom.places, node) if any(node) else bottom
            verdict = self._counts.verdict(counted)
            shares = (level / top for level, top in zip(node, self.lattice.heights, strict=True) if top)
            loss = self._losses.of(counted, verdict.kept)
            satisfies = verdict.failing <= self._room
            self._found[node] = _Measure(satisfies, sum(shares), -verdict.classes, verdict.failing, loss)
        return self._found[node]

    def search(self, chosen: Levels, least: int) -> LatticeSearch:
        """Return what was found as a value."""
        states = blank_states(self.lattice)
        for node, measure in self._found.items():
            states[self.lattice.number(node)] = NodeState.SATISFIES if measure.satisfies else NodeState.FAILS
        return LatticeSearch(
            self.lattice,
            self._names,
            states,
            chosen=chosen,
            minimal=tuple(self.satisfying(least)),
            path=(chosen,),
            evaluated=len(self._found),
            losses={self.lattice.number(node): measure.loss for node, measure in self._found.items()},
            loss_name=LOSS_NAME,
        )


def _unsearchable(problem: Problem) -> list[str]:
    """Name the models that generalizing may break where records may be suppressed."""
    return [
        f"samarati: with a suppression limit, generalizing may break {model.name}, and the search by heights could "
        "miss what satisfies it; allow no suppression, or take another anonymizer, such as incognito"
        for model in problem.models
        if problem.suppression_limit and not _lasts(model, problem)
    ] + [
        f"samarati: generalizing may break {model.name}, and the search by heights could miss what satisfies it; take "
        "another anonymizer, such as incognito"
        for model in problem.whole
        if problem.suppression_limit or not model.steady
    ]


def _lasts(model: PrivacyModel, problem: Problem) -> bool:
    """Tell whether a class that satisfies a model still does after any addition."""
    rules = rules_of([model], problem.table)
    return all(TRAITS[rule.code].lasting for rule in rules) and bool(getattr(model, "lasting", True))


def _notes(search: LatticeSearch, domains: Sequence[DomainLevels]) -> tuple[str, ...]:
    least = sum(search.minimal[0])
    return (
        f"Samarati's search counted {search.evaluated:,} of {search.lattice.size:,} generalizations: no height below "
        f"{least} has one that satisfies the models, and it has {len(search.minimal):,}.",
        levels_in_words(search),
        *notes_on(domains),
    )


def _size_problems(lattice: Lattice) -> list[str]:
    if lattice.size <= LARGEST:
        return []
    return [
        f"samarati: {lattice.size:,} generalizations are too many to go through by height; give fewer "
        "quasi-identifying attributes or hierarchies of fewer levels, or take another anonymizer, such as datafly"
    ]

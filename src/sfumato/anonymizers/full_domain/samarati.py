"""Samarati's search: a full-domain generalization of the least height, found by bisection (Samarati, TKDE 2001)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.anonymizers.full_domain.frequency_sets import LARGEST, FrequencySearch, LatticeNodes
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.hierarchy.lattice_search import Lattice, LatticeSearch, Levels, NodeState, blank_states
from sfumato.models.compiled import rules_of
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS

_Selection = Literal["relative", "classes", "suppression", "loss"]


@dataclass(frozen=True)
class Samarati(FrequencySearch):
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

    selection: _Selection = "relative"

    def _unsearchable(self, problem: Problem, lattice: Lattice) -> Sequence[str]:
        problems = [
            f"samarati: with a suppression limit, generalizing may break {model.name}, and the search by heights could "
            "miss what satisfies it; allow no suppression, or take another anonymizer, such as incognito"
            for model in problem.models
            if problem.suppression_limit and not _lasts(model, problem)
        ]
        problems += [
            f"samarati: generalizing may break {model.name}, and the search by heights could miss what satisfies it; "
            "take another anonymizer, such as incognito"
            for model in problem.whole
            if problem.suppression_limit or not model.steady
        ]
        if lattice.size > LARGEST:
            problems.append(
                f"samarati: {lattice.size:,} generalizations are too many to go through by height; give fewer "
                "quasi-identifying attributes or hierarchies of fewer levels, or take another anonymizer, such as "
                "datafly"
            )
        return problems

    def _search(self, nodes: LatticeNodes) -> tuple[LatticeSearch, Partition] | None:
        heights = _Heights(nodes)
        least = heights.least()
        for height in range(least, nodes.lattice.height + 1):
            for levels in sorted(heights.satisfying(height), key=lambda node: (self._order(heights.of(node)), node)):
                partition = nodes.solution(levels)
                if partition is not None:
                    return heights.as_search(levels, least), partition
        return None

    def _account(self, search: LatticeSearch) -> str:
        return (
            f"Samarati's search counted {search.evaluated:,} of {search.lattice.size:,} generalizations: no height "
            f"below {sum(search.minimal[0])} has one that satisfies the models, and it has {len(search.minimal):,}."
        )

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

    def __init__(self, nodes: LatticeNodes) -> None:
        self._nodes, self._lattice = nodes, nodes.lattice
        self._found: dict[Levels, _Measure] = {}

    def least(self) -> int:
        """Return the least height at which some node satisfies; the top always does."""
        low, high = 0, self._lattice.height
        while low < high:
            done = self._lattice.height - (high - low)
            self._nodes.start.problem.progress("generalizing", done, self._lattice.height)
            middle = (low + high) // 2
            if next(self.satisfying(middle), None) is not None:
                high = middle
            else:
                low = middle + 1
        return low

    def satisfying(self, height: int) -> Iterator[Levels]:
        """Yield the nodes of a height that satisfy, counting one after the other."""
        return (node for node in self._lattice.nodes() if sum(node) == height and self.of(node).satisfies)

    def of(self, node: Levels) -> _Measure:
        """Count a node, once."""
        if node not in self._found:
            bottom = self._nodes.bottom
            counted = self._nodes.at(bottom, bottom.places, node) if any(node) else bottom
            verdict = self._nodes.verdict(counted)
            shares = (level / top for level, top in zip(node, self._lattice.heights, strict=True) if top)
            loss = self._nodes.loss(counted, verdict.kept)
            satisfies = verdict.failing <= self._nodes.room
            self._found[node] = _Measure(satisfies, sum(shares), -verdict.classes, verdict.failing, loss)
        return self._found[node]

    def as_search(self, chosen: Levels, least: int) -> LatticeSearch:
        """Return what was found as a value."""
        states = blank_states(self._lattice)
        for node, measure in self._found.items():
            states[self._lattice.number(node)] = NodeState.SATISFIES if measure.satisfies else NodeState.FAILS
        minimal = tuple(self.satisfying(least))
        losses = {self._lattice.number(node): measure.loss for node, measure in self._found.items()}
        return self._nodes.as_search(
            states, losses, chosen=chosen, minimal=minimal, path=(chosen,), evaluated=len(self._found)
        )


def _lasts(model: PrivacyModel, problem: Problem) -> bool:
    """Tell whether a class that satisfies a model still does after any addition."""
    rules = rules_of([model], problem.table)
    return all(TRAITS[rule.code].lasting for rule in rules) and bool(getattr(model, "lasting", True))

"""Full-domain generalization under any information loss: the best, or by heuristics.

The best full-domain generalization under any information loss, proven to be the best.

Full-domain generalization by searches that look at some nodes and stop: top down, bottom up, genetic.
"""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.full_domain.lattice_boxes import (
    EvaluatedNode,
    SearchLimit,
    SearchProblem,
    SearchResult,
    as_lattice_search,
    search_boxes,
)
from sfumato.anonymizers.full_domain.levels import (
    DomainLevels,
    LevelTables,
    Numbers,
    domain_levels,
    group_weighted,
    labelled_records,
    lattice_of,
    level_tables,
    notes_on,
    regions_at,
    weighted_records,
    without_classes,
)
from sfumato.anonymizers.full_domain.losses import (
    EVEN,
    CellLoss,
    CellObjectiveName,
    ClassObjectiveName,
    Convention,
    Mean,
    NodeLoss,
    ObjectiveName,
    Payout,
    label_codes,
    node_loss,
    only_game,
    record_loss,
)
from sfumato.anonymizers.full_domain.suppression import RegionPeople, by_region, suppression_rule
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.hierarchy.lattice_search import Lattice, LatticeSearch, Levels
from sfumato.numbers import counted, figure
from sfumato.options import Checked, Limit

_Codes = NDArray[np.unsignedinteger]

_LISTABLE = 1 << 22
"""Largest lattice that is searched to the end unless a budget is given."""

NODES = 10_000
"""Nodes of a larger lattice that are evaluated unless a budget is given."""

_OF_CELLS = ("loss", "ncp", "precision", "entropy", "information")
OF_RECORDS = ("ambiguity", "kullback-leibler", "classification")
_NOT_OF_CELLS = ("discernibility", "average-class-size", "payout", *OF_RECORDS)
_NO_OBJECTIVES = {
    "squared-error": (
        "full-domain generalization publishes nodes of hierarchies, which have no distance to a number; "
        "best(objective='squared-error') minimizes it where class means are published"
    ),
    "height": "levels of different hierarchies cannot be added; precision takes them as shares of their heights",
}
"""What is known elsewhere by these names, and why it is not minimized."""


@dataclass(frozen=True)
class Optimal(Checked):
    """Choose one level for each attribute, so that no other choice loses less.

    Parameters
    ----------
    objective
        What is minimized. Over cells: ``"loss"``, (leaves − 1) / (leaves of the domain − 1), the LM metric with the
        tree rule; ``"ncp"``; ``"precision"``, 1 − Prec; ``"entropy"``, non-uniform entropy as a share of that of the
        suppressed table; ``"information"``, log(leaves) / log(leaves of the domain), which is ARX's entropy-based loss.
        Over classes: ``"discernibility"`` (DM) and ``"average-class-size"`` (C_avg). ``"payout"``: the share of the
        largest payout that the publisher loses in the game of a :class:`~sfumato.models.record_risk.Profitability`
        model, which has to be among the models; classes that are worth nothing are suppressed. Over records:
        ``"ambiguity"``, the mean share of all possible records that a published one stands for; ``"kullback-leibler"``,
        the divergence, in bits, of the records from what is published, every class spread evenly over what it stands
        for; ``"classification"``, CM: the share of records that are suppressed or lack their class's most frequent
        `label`. Suppressed records are charged as in the metrics of that name; attribute weights count in everything
        over cells.
    mean
        How losses of cells are taken together over attributes: ``"arithmetic"``; ``"geometric"``, the mean of 1 + the
        attribute's loss, less 1, which is what ARX calls its geometric mean; ``"sum"``; ``"maximum"``, the attribute
        that loses most; ``"rank"``, that one, and of nodes where it is equal the one whose next loses least, and so on.
    label
        The sensitive attribute whose values classes should agree on, for ``"classification"``.
    balance
        0 to 1, in hundredths: whether to suppress or to generalize. At a half both are charged in full; below,
        suppressed records are charged less, at 0 nothing; above, generalized values are. For objectives over cells but
        entropy, and discernibility.
    time_limit
        Seconds after which the search ends with the best that it has; None is never. What comes out then depends on
        the machine. With `local_recoding` each of its two steps may take so long.
    node_limit
        Nodes after which it ends; None is never in a lattice of up to 4 194 304 nodes, else 10 000.
    local_recoding
        Give each class levels of its own instead, unless a node of the lattice loses as little. Nodes are visited in
        rising order of their cost, and each takes the records that make up classes there and that no cheaper node has
        taken; what is left in the end joins the classes that it makes dearer by the least. Only with an objective of
        cells; not proven to be the best.
    convention
        ``"arx"`` charges suppressed records as ARX does: like others on the same levels, and in addition for twice the
        balance, at most 1, of what is missing to the full cost. At a balance of 0 that is what ARX calls a monotonic
        objective, of entropy and discernibility as well. In the average class size they are one class, and k divides
        nothing.
    levels
        The level that a column must be published on, for each name; those that are not named are searched. If all are
        named, that node alone is published, or nothing.

    Raises
    ------
    PolicyError
        With every option that is unknown, out of range or without effect.

    Notes
    -----
    *Guarantee.* Every class satisfies every model. What a node suppresses is stated in
    :class:`~sfumato.anonymizers.full_domain.suppression.SuppressionRule`; it does not assume that models stay
    true when records are suppressed. Unless a limit ends the search, no node within the suppression limit has a lower
    value; of nodes of equal value (but for 1e-12) the first in the lattice's numbering is taken. The notes of the
    solution say how many nodes were counted, and that it is proven or how far from the best it may be.

    *Method.* Branch and bound over boxes of the lattice. The high corner of a box is counted. Records of classes that
    are too small there are too small, and so suppressed, on every node of the box; everything else costs at least what
    it costs on the low corner, which is known from histograms of single attributes. Classes are counted on distinct
    weighted records, from the classes of the node above and from records that are put together on the low corner.

    *Complexity.* O(m) for each node that is counted, for m distinct records; at worst all nodes.

    *Sources.* The problem is that of Samarati (IEEE TKDE 2001) and LeFevre et al. (SIGMOD 2005); objectives and
    suppression are those of ARX's Flash (Kohlmayer, Prasser et al., PASSAT 2012), which finds the same optimum. The
    search by boxes is ours.
    """

    name: ClassVar[str] = "optimal"
    decides_regions: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True

    objective: ObjectiveName = "loss"
    mean: Mean = "arithmetic"
    balance: Annotated[float, Limit(0, 1)] = EVEN
    time_limit: Annotated[float, Limit(0, above=True, unit="seconds")] | None = None
    node_limit: Annotated[int, Limit(0, above=True)] | None = None
    local_recoding: bool = False
    label: str | None = None
    convention: Convention | None = None
    levels: Mapping[str, int] | None = field(default=None, hash=False)

    @property
    def aggregates(self) -> bool:
        """Whether classes may publish means instead of the numbers that they cover."""
        return not self.local_recoding

    @property
    def shares_nobody(self) -> bool:
        """Whether no two classes cover the same values."""
        return not self.local_recoding

    @property
    def knows_regions(self) -> bool:
        """Whether classes are judged by what they publish."""
        return not self.local_recoding

    def _mistakes(self) -> Iterator[str]:
        yield from _level_problems(self)
        if reason := _NO_OBJECTIVES.get(str(self.objective)):
            yield f"optimal: {self.objective!r} is no objective here: {reason}"
        if (self.objective == "classification") != (self.label is not None):
            yield "optimal: label says what classes should agree on, for objective='classification'; give both or none"
        if self.objective in _NOT_OF_CELLS:
            if self.mean != "arithmetic":
                yield f"optimal: mean={self.mean!r} is over attributes, of which {self.objective!r} knows nothing"
            if self.local_recoding is True:
                yield f"optimal: local_recoding needs an objective of cells, which {self.objective!r} is not"
        if self.balance != EVEN and self.objective in (*(() if self.convention else ("entropy",)), *_NOT_OF_CELLS[1:]):
            yield f"optimal: balance means nothing to {self.objective!r}; leave it out, or take another objective"
        if self.convention is not None:
            yield from self._convention_mistakes()
        if self.local_recoding is True and (self.balance != EVEN or self.mean in ("sum", "maximum", "rank")):
            yield "optimal: local_recoding takes means, and suppressed records in full; leave out one or the other"

    def _convention_mistakes(self) -> Iterator[str]:
        if self.local_recoding is True or self.objective in ("payout", *OF_RECORDS):
            yield f"optimal: convention={self.convention!r} is for objectives over cells and classes; leave it out"
        if (self.balance > EVEN and self.objective != "loss") or (
            self.balance not in (0, EVEN) and self.objective == "discernibility"
        ):
            yield f"optimal: by the convention of {self.convention} {self.objective} has no balance of {self.balance:g}"

    def solve(self, problem: Problem) -> Partition:
        """Search the lattice and group the records on the best node.

        Raises
        ------
        UnsatisfiableError
            When no node satisfies the models within the suppression limit.
        """
        # Classes on levels of their own cover each other's people: what records stand for is counted for them.
        problem = problem if self.local_recoding else by_region(problem)
        domains = domain_levels(problem.table)
        ground, record_of = self._ground(problem, domains)
        if self.local_recoding and ground.rule.satisfiable:
            return self._solve_locally(problem, ground, record_of, domains)
        return self._solution(ground, record_of, domains, self._found(problem, ground))

    def _solve_locally(
        self, problem: Problem, ground: SearchProblem, record_of: Numbers, domains: tuple[DomainLevels, ...]
    ) -> Partition:
        """Recode locally, and look whether any node loses as little: then that is the solution."""
        from sfumato.anonymizers.full_domain.local_recoding import local_solution

        local = local_solution(ground, record_of, domains, self._limits, _measure(self), problem.progress)
        if local is None:
            return self._solution(ground, record_of, domains, self._found(problem, ground))
        partition, value = local
        lattice = Lattice(ground.tables.heights)
        found = search_boxes(ground, self._budget(lattice), progress_of(problem, ground), value)
        if found.best is not None:
            return self._solution(ground, record_of, domains, found)
        compared = ("It is proven that no single node loses as little.",) if found.proven else ()
        return replace(partition, notes=(*notes_on(domains), *partition.notes, *compared))

    def _solution(
        self, ground: SearchProblem, record_of: Numbers, domains: tuple[DomainLevels, ...], found: SearchResult
    ) -> Partition:
        assert found.best is not None
        paid = (ground.loss.in_words(found.best.value or 0.0),) if isinstance(ground.loss, Payout) else ()
        notes = (*notes_on(domains), *_notes(self, domains, found), *paid)
        return _partition(ground, record_of, domains, found.best.levels, notes)

    def search(self, problem: Problem) -> LatticeSearch:
        """Return what is found of every node, and the best one; errors as :meth:`solve`."""
        problem = by_region(problem)
        domains = domain_levels(problem.table)
        found = self._found(problem, self._ground(problem, domains)[0])
        if self.levels:
            # Nodes on other levels were not looked at.
            found = replace(found, proven=False)
        names = tuple(domain.attribute.name for domain in domains)
        return as_lattice_search(found, lattice_of(domains), names, _measure(self))

    def _found(self, problem: Problem, ground: SearchProblem) -> SearchResult:
        lattice = Lattice(ground.tables.heights)
        found = search_boxes(ground, self._budget(lattice), progress_of(problem, ground))
        if found.best is None:
            raise unsatisfiable(problem, found, given=bool(self.levels))
        return found

    def _ground(self, problem: Problem, domains: tuple[DomainLevels, ...]) -> tuple[SearchProblem, Numbers]:
        game = only_game((*problem.models, *problem.whole)) if self.objective == "payout" else None
        rule, tables = suppression_rule(problem), level_tables(domains)
        values = rule.rules.codes
        if self.label is None:
            records, record_of = weighted_records(problem.table.codes, values)
        else:
            records, record_of = labelled_records(problem.table.codes, values, label_codes(problem.table, self.label))
        codes, limit = problem.table.codes, problem.suppression_limit
        if rule.regions.population is not None:
            rule = replace(rule, covered=RegionPeople.of(rule.regions.population, records, domains))
        loss = self._loss(domains, tables, codes, rule.smallest, limit)
        if game is not None:
            assert isinstance(loss, CellLoss)
            loss = Payout(game, loss, len(codes))
            rule = replace(rule, worth=loss)
        return SearchProblem(records, tables, rule, loss, *_corners(self.levels or {}, domains)), record_of

    def _loss(
        self, domains: tuple[DomainLevels, ...], tables: LevelTables, codes: _Codes, smallest: int, limit: int
    ) -> NodeLoss:
        match self.objective:
            case "ambiguity" | "kullback-leibler" | "classification":
                return record_loss(self.objective, domains, tables, codes, limit)
            case objective:
                # What the payout loses of information is charged as that.
                name: CellObjectiveName | ClassObjectiveName = "information" if objective == "payout" else objective
                return node_loss(
                    name, self.mean, domains, tables, codes, smallest, limit, self.balance, self.convention
                )

    @property
    def _limits(self) -> SearchLimit:
        return SearchLimit(self.node_limit, self.time_limit)

    def _budget(self, lattice: Lattice) -> SearchLimit:
        unlimited = self.node_limit is None and self.time_limit is None
        return SearchLimit(NODES) if unlimited and lattice.size > _LISTABLE else self._limits


def progress_of(problem: Problem, ground: SearchProblem) -> Callable[[int], None]:
    """Return what is called with the number of nodes that were counted."""
    lattice = Lattice(ground.tables.heights)
    return lambda done: problem.progress("searching the lattice", done, lattice.size)


def _level_problems(options: Optimal) -> Iterator[str]:
    given = options.levels
    if given is None:
        return
    if not isinstance(given, Mapping) or not all(type(level) is int and level >= 0 for level in given.values()):
        yield f"{options.name}: levels must be a whole number of at least 0 for the name of each column"
    if options.local_recoding is True:
        yield f"{options.name}: with local_recoding classes have levels of their own; leave out levels"


def _corners(given: Mapping[str, int], domains: tuple[DomainLevels, ...]) -> tuple[Levels, Levels]:
    """Return the lowest and the highest node that has the given levels."""
    heights = {domain.attribute.name: domain.height for domain in domains}
    problems = [
        f"levels: {name!r} is not a quasi-identifying column"
        if name not in heights
        else f"levels: {name!r} has the levels 0 to {heights[name]}"
        for name, level in given.items()
        if level > heights.get(name, -1)
    ]
    raise_all(PolicyError, problems)
    return tuple(given.get(name, 0) for name in heights), tuple(given.get(name, top) for name, top in heights.items())


def unsatisfiable(problem: Problem, found: SearchResult, *, given: bool = False) -> UnsatisfiableError:
    """Say why there is no solution: the models' own words, when not even all records as one class satisfy them."""
    try:
        feasible(problem, may_leave_out=False)
    except UnsatisfiableError as error:
        return UnsatisfiableError(*error.problems)
    if given:
        fewest = min(node.suppressed for node in found.evaluated)
        return UnsatisfiableError(
            f"levels: the promises do not hold on the given levels. At least {counted(fewest, 'record')} would have to "
            f"be left out, and {problem.suppression_limit:,} may be. Take coarser levels, raise the suppression limit "
            "or lower the models' parameters"
        )
    return UnsatisfiableError(f"none of the {len(found.evaluated)} nodes that were counted is a solution")


def _partition(
    ground: SearchProblem, record_of: Numbers, domains: tuple[DomainLevels, ...], levels: Levels, notes: tuple[str, ...]
) -> Partition:
    groups = group_weighted(ground.records, ground.tables, levels)
    kept = ground.rule.apply(ground.records, ground.tables, levels, groups).kept
    steps = [np.full(len(kept), level) for level in levels]
    regions = regions_at(ground.records.codes[groups.firsts], domains, steps)
    return without_classes(groups.class_of[record_of], kept, regions, notes)


def _measure(options: Optimal) -> str:
    means = options.mean in ("arithmetic", "geometric")
    over = f", {options.mean}{' mean' if means else ''}" if options.objective in _OF_CELLS else ""
    over += "" if options.label is None else f" by {options.label}"
    over += "" if options.convention is None else f" by the convention of {options.convention}"
    return options.objective + over + ("" if options.balance == EVEN else f", balance {options.balance:g}")


def _notes(options: Optimal, domains: tuple[DomainLevels, ...], found: SearchResult) -> tuple[str, ...]:
    best = found.best
    assert best is not None
    assert best.value is not None
    levels = ", ".join(f"{domain.attribute.name} {level}" for domain, level in zip(domains, best.levels, strict=True))
    measure = _measure(options)
    looked = f"{len(found.evaluated):,} of {lattice_of(domains).size:,} nodes of the lattice were counted"
    node = "node with the given levels" if options.levels else "node"
    if found.proven:
        proof = f"{looked}; it is proven that no {node} loses less ({measure}: {figure(best.value)})."
    else:
        proof = (
            f"{looked}, then the search ended at its limit; the node is not proven to be the best. It loses "
            f"{figure(best.value)} ({measure}), and no {node} can lose less than {figure(found.bound)}: none is better "
            f"by more than {figure(best.value - found.bound)}."
        )
    return (f"Levels: {levels}.", proof)


_Strategy = Literal["top-down", "bottom-up", "genetic"]
_NODES = 1000
"""Nodes that are counted where no limit is given."""
_PEOPLE = 50
"""Nodes of a generation of the genetic search."""
_BOXES = 100
"""Nodes that are counted for a bound at the end, at most."""
_WALKED = 0.8
"""Part of the limits that is spent before the neighbours of the best node are looked at."""
_ELITE = 10
"""Of these, the best, which go on as they are."""


@dataclass(frozen=True)
class Heuristic(Optimal):
    """Choose one level for each attribute by looking at some nodes of the lattice: a node that is good, not the best.

    For comparison, and for lattices in which :class:`Optimal` has no time to prove anything: that one finds as good a
    node or a better one in nearly every table, and says more closely how far from the best it may be.

    Parameters
    ----------
    objective, mean, balance, label, convention
        As for :class:`Optimal`.
    time_limit
        Seconds after which the search ends with the best that it has; what comes out then depends on the machine.
    node_limit
        Nodes after which it ends; 1,000 where neither limit is given.
    local_recoding, levels
        Must stay as they are.
    strategy
        ``"top-down"``: from the top, always on below the best node whose neighbours below are not all known.
        ``"bottom-up"``: from the bottom, always on above the node that is the best solution, or suppresses least.
        ``"genetic"``: generations of 50 nodes, levels crossed and changed at random, the ten best kept.

    Raises
    ------
    PolicyError
        With every option that is unknown, out of range or without effect.

    Notes
    -----
    *Guarantee.* Every class satisfies every model. The node need not be the best one; the notes of the solution say
    which value no node can be below, by the bound that :class:`Optimal` has after a hundred nodes. A search that has
    looked at every node has proven its result.

    *Complexity.* O(m) for each node that is counted, for m distinct records.

    *Sources.* ARX's heuristic searches have these names (F. Prasser et al., "Flexible data anonymization using ARX",
    Software: Practice and Experience 2020; T. Meurers et al., "A scalable software solution for anonymizing
    high-dimensional biomedical data", GigaScience 2021). *Departure.* Steps, and the genetic search's numbers, are
    ours.
    """

    name: ClassVar[str] = "heuristic"

    strategy: _Strategy = "top-down"

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.local_recoding is True:
            yield "heuristic: local_recoding belongs to optimal; leave it out"
        if self.levels is not None:
            yield "heuristic: levels belong to optimal; leave them out"

    def _found(self, problem: Problem, ground: SearchProblem) -> SearchResult:
        unlimited = self.node_limit is None and self.time_limit is None
        limits = SearchLimit(_NODES) if unlimited else self._limits
        walk = _Walk(ground, _part_of(limits), progress_of(problem, ground))
        if self.strategy == "genetic":
            walk.evolve(random.SystemRandom() if problem.seed is None else random.Random(problem.seed))
        else:
            walk.step(1 if self.strategy == "bottom-up" else -1)
        walk.budget = limits
        walk.settle()
        found = walk.result()
        if found.best is None:
            raise unsatisfiable(problem, found)
        return found


@dataclass(eq=False, repr=False)
class _Walk:
    """Nodes that were looked at, and the best of them."""

    ground: SearchProblem
    budget: SearchLimit
    progress: Callable[[int], None]
    seen: dict[Levels, EvaluatedNode] = field(default_factory=dict)
    path: list[EvaluatedNode] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Look at the top, which says whether there is any solution."""
        self.lattice = Lattice(self.ground.tables.heights)
        top = self.look(self.lattice.top)
        self.hopeless = top.hopeless

    @property
    def spent(self) -> bool:
        """Tell whether the budget is used up, or there is nothing to look at."""
        nodes, seconds = self.budget.nodes, self.budget.seconds
        if self.hopeless or len(self.seen) >= self.lattice.size:
            return True
        return (nodes is not None and len(self.seen) >= nodes) or (
            seconds is not None and time.monotonic() - self.started >= seconds
        )

    def look(self, levels: Levels) -> EvaluatedNode:
        """Count a node, unless it is known."""
        if levels in self.seen:
            return self.seen[levels]
        ground, records = self.ground, self.ground.records
        node = ground.evaluate(ground.count(levels, records, group_weighted(records, ground.tables, levels)))
        self.seen[levels] = node
        if node.beats(self.path[-1] if self.path else None):
            self.path.append(node)
        self.progress(len(self.seen))
        return node

    def step(self, direction: int) -> None:
        """Go from one end of the lattice to the other, on from the best; down, below nothing that is hopeless."""
        start = self.lattice.bottom if direction > 0 else self.lattice.top
        heap = [] if self.spent else [(_urgency(self.look(start)), start)]
        while heap and not self.spent:
            for levels in self._neighbours(heapq.heappop(heap)[1], direction):
                if levels in self.seen and levels != self.lattice.top:
                    continue
                if self.spent:
                    return
                node = self.look(levels)
                if direction > 0 or not node.hopeless:
                    heapq.heappush(heap, (_urgency(node), levels))

    def settle(self) -> None:
        """Go on from the best node to one that is better, a step or two away, up or down, as long as there is one."""
        best = None
        while self.path and self.path[-1] is not best:
            best = self.path[-1]
            near = [levels for way in (-1, 1) for levels in self._neighbours(best.levels, way)]
            further = (levels for one in near for way in (-1, 1) for levels in self._neighbours(one, way))
            for levels in dict.fromkeys((*near, *further)):
                if self.spent:
                    return
                self.look(levels)
                if self.path[-1] is not best:
                    break

    def _neighbours(self, levels: Levels, direction: int) -> Iterator[Levels]:
        for place, (level, height) in enumerate(zip(levels, self.lattice.heights, strict=True)):
            if 0 <= level + direction <= height:
                yield (*levels[:place], level + direction, *levels[place + 1 :])

    def evolve(self, draw: random.Random) -> None:
        """Cross and change nodes at random; half of the first are near the bottom, half near the top."""
        if self.spent:
            return
        heights = self.lattice.heights
        nodes = [
            tuple(sorted((draw.randint(0, height), draw.randint(0, height)))[place % 2] for height in heights)
            for place in range(_PEOPLE)
        ]
        idle = 0
        while not self.spent and idle < _PEOPLE:
            before, found = len(self.seen), []
            for levels in nodes:
                if self.spent:
                    return
                found.append(self.look(levels))
            found.sort(key=lambda node: (_urgency(node), node.levels))
            parents = list(dict.fromkeys(node.levels for node in found))
            nodes = parents[:_ELITE] + [self._child(parents, draw) for _ in range(_PEOPLE - min(_ELITE, len(parents)))]
            # Generations of known nodes alone cost nothing, and after many of them there is nothing new to find.
            idle = idle + 1 if len(self.seen) == before else 0

    def _child(self, parents: list[Levels], draw: random.Random) -> Levels:
        half = parents[: max(1, len(parents) // 2)]
        one, other = draw.choice(half), draw.choice(half)
        levels = [draw.choice(pair) for pair in zip(one, other, strict=True)]
        place = draw.randrange(len(levels))
        levels[place] = min(max(levels[place] + draw.choice((-1, 1)), 0), self.lattice.heights[place])
        return tuple(levels)

    def result(self) -> SearchResult:
        """Return what was found, and a bound by boxes after as many nodes; proven if all were looked at."""
        nodes, best = list(self.seen.values()), self.path[-1] if self.path else None
        if len(nodes) >= self.lattice.size or self.hopeless:
            return SearchResult(nodes, self.path, math.inf if best is None else best.value or 0.0, True)
        boxes = search_boxes(self.ground, SearchLimit(min(_BOXES, len(nodes))), lambda _: None)
        return SearchResult(nodes, self.path, boxes.bound, False)


def _part_of(limits: SearchLimit) -> SearchLimit:
    """Return what the walk may spend; the rest is for the neighbours of the best node."""
    nodes, seconds = limits.nodes, limits.seconds
    return SearchLimit(
        None if nodes is None else math.ceil(_WALKED * nodes), None if seconds is None else _WALKED * seconds
    )


def _urgency(node: EvaluatedNode) -> tuple[bool, float]:
    """Return what is looked at first: the best solution, then the node that suppresses least."""
    return (True, float(node.suppressed)) if node.value is None else (False, node.value)

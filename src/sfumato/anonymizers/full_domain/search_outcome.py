"""From a node of the lattice to a solution: what has to be suppressed there, and whether it may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels, full_domain_classes, generalized_codes
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.full_domain.region_population import RegionModels
from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.selection import least_loss
from sfumato.classes.partition import Partition
from sfumato.classes.people import statistics_of
from sfumato.classes.regions import Regions
from sfumato.errors import UnsatisfiableError
from sfumato.hierarchy.lattice import Levels
from sfumato.hierarchy.lattice_search import LatticeSearch

Outcome = tuple[LatticeSearch, Partition]
"""What a search found, and the solution that it chose."""


def settled(start: FeasibleProblem, domains: Sequence[DomainLevels], levels: Levels, limit: int) -> Partition | None:
    """Generalize to a node and suppress the classes that break a model, or return None when that is not allowed.

    Models that compare with the whole table compare with the published one, which is another table whenever classes
    go; so every class that is left is judged again until all of them hold. When fewer records than the smallest class
    may have are suppressed, the smallest classes go too (Sweeney's complementary suppression; classes of one size in
    the order of their codes), so that the number of suppressed records points at nobody.

    Parameters
    ----------
    start
        The records that count, and the models. Records that were left out beforehand are suppressed too.
    domains, levels
        The node.
    limit
        Records that may be suppressed at most.

    Notes
    -----
    Cost O(n · q), and O(n) for every time that classes go.
    """
    class_of, count, regions = full_domain_classes(start.problem.table, domains, levels)
    among = np.ones(len(class_of), dtype=np.bool_) if start.kept is None else start.kept
    sizes = np.bincount(class_of[among], minlength=count)
    firsts = np.unique(class_of, return_index=True)[1]
    nodes = generalized_codes(start.problem.table.codes[firsts], domains, levels)
    people = RegionModels.of(start.problem).people(range(len(domains)), levels, nodes)
    kept = _lasting(start, class_of, among, sizes, regions, limit, people)
    if kept is None:
        return None
    number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
    cover = number[class_of]
    taken = regions.take(np.flatnonzero(kept))
    if start.kept is None:
        return Partition(cover, int(kept.sum()), regions=taken)
    return Partition(np.where(among, cover, np.int32(-1)), int(kept.sum()), cover, taken)


def room_of(start: FeasibleProblem) -> int:
    """Return how many records may still be suppressed besides those that were left out beforehand."""
    left_out = 0 if start.kept is None else int(np.count_nonzero(~start.kept))
    return max(0, start.problem.suppression_limit - left_out)


def best_outcome(problem: Problem, outcomes: Iterable[Outcome | None]) -> Outcome:
    """Return the outcome that loses least among those of all choices of records.

    Raises
    ------
    UnsatisfiableError
        When there is none.
    """
    found = [outcome for outcome in outcomes if outcome is not None]
    if not found:
        raise UnsatisfiableError(
            f"suppression: some records have to be left out, and with no levels may they be within the limit of "
            f"{problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
        )
    if len(found) == 1:
        return found[0]
    best = least_loss(problem.table, [partition for _, partition in found])
    return next(outcome for outcome in found if outcome[1] is best)


def levels_in_words(search: LatticeSearch) -> str:
    """Name the chosen levels for the steward's report."""
    assert search.chosen is not None
    levels = zip(search.attributes, search.chosen, strict=True)
    return f"Levels: {', '.join(f'{name} {level}' for name, level in levels)}."


def _lasting(
    start: FeasibleProblem,
    class_of: NDArray[np.int32],
    among: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    regions: Regions,
    limit: int,
    people: NDArray[np.int64] | None,
) -> NDArray[np.bool_] | None:
    """Find the classes to keep, bool (c,)."""
    kept, whole = sizes > 0, RegionModels.of(start.problem)
    while True:
        suppressed = len(class_of) - int(sizes[kept].sum())
        if suppressed > limit or not kept.any():
            return None
        failing = _failing(start, class_of, among, kept, people)
        if failing.any():
            kept[np.flatnonzero(kept)[failing]] = False
        elif 0 < suppressed < start.smallest:
            kept[_smallest(kept, sizes, regions, start.smallest - suppressed)] = False
        else:
            left = whole.left(sizes, people, kept, limit - suppressed)
            if left.sum() == kept.sum():
                return kept
            kept = left


def _failing(
    start: FeasibleProblem,
    class_of: NDArray[np.int32],
    among: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    people: NDArray[np.int64] | None,
) -> NDArray[np.bool_]:
    """Tell which of the kept classes break a model in the table of the kept classes; bool (kept classes,)."""
    number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
    count = int(kept.sum())
    published = np.where(among, number[class_of], np.int32(-1)).astype(np.int32)
    statistics = statistics_of(start.problem.table, published, count)
    if people is not None:
        statistics = replace(statistics, population=people[kept])
    failing = np.zeros(count, dtype=np.bool_)
    for model in start.problem.models:
        failing |= ~model.holds(statistics)
    return failing


def _smallest(kept: NDArray[np.bool_], sizes: NDArray[np.int64], regions: Regions, needed: int) -> NDArray[np.int64]:
    """Return the fewest of the smallest kept classes that have `needed` records together."""
    classes = np.flatnonzero(kept)
    order = classes[np.lexsort((*regions.low[classes].T[::-1], sizes[classes]))]
    enough = int(np.searchsorted(np.cumsum(sizes[order]), needed)) + 1
    return order[:enough]

"""The satisfaction problem: whether ratings, as they are, satisfy (k, ε, l)-anonymity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.ratings.proximate import (
    PackedVectors,
    grow_trees,
    order_columns,
    packed_rows,
    pairwise_balls,
    slicing_balls,
    tree_balls,
)
from sfumato.kernels.ratings.rows import public_codes, public_counts
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.parallel import each
from sfumato.progress import Progress, silent, thread_count
from sfumato.published.checks.ratings.measures import (
    Measures,
    ProximityQuery,
    Search,
    Sums,
    Vectors,
    each_record,
    measured,
    one_vector,
    sizes_alone,
    sums_of,
    trimmed,
    vectors_of,
)
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.table.ratings.ratings import Ratings

# The default search: only records that rated the same issues are compared, with a search tree.
#
# For ε < r, a missing and a given rating are never proximate, so proximate records have rated exactly the same
# non-sensitive issues. Records are grouped by that set, and equal records become one vector with a weight. Among the
# vectors of a set, a search tree finds those within ε.


_PART = 2048
"""Vectors that one thread looks around at a time."""

_ROOM = 1 << 20
"""Members that are listed at a time, or the vectors of the largest mask if these are more."""

_ALL = 1 << 62


@dataclass(frozen=True, eq=False, repr=False)
class VectorForest:
    """Trees over the vectors of every mask that has several; they are numbered anew, by leaves.

    Letters: v vectors here, b masks.

    Attributes
    ----------
    vectors : numpy.ndarray
        int64 (v,): number among all vectors.
    mask_of : numpy.ndarray
        int32 (v,).
    words, places, lane, roots, nodes, weights
        As :func:`~sfumato.kernels.ratings.proximate.tree_balls` takes them.
    largest : int
        Vectors of the largest mask.
    """

    vectors: NDArray[np.int64]
    mask_of: NDArray[np.int32]
    words: NDArray[np.uint64]
    places: NDArray[np.int64]
    lane: int
    roots: NDArray[np.int64]
    nodes: NDArray[np.int32]
    weights: NDArray[np.int64]
    largest: int


def by_masks(question: ProximityQuery) -> Measures:
    """Find what is around every record among those that rated the same issues.

    Cost O(z + n log n) if sets of rated issues separate most records; among v vectors of one set, a power of v
    between 1 and 2 that depends on how selective ε is, and at least the number of proximate pairs of vectors.
    """
    if question.covers_all:
        return _around(question, one_vector(question.ratings.height))
    return _around(question, vectors_of(question.ratings))


def _around(question: ProximityQuery, vectors: Vectors) -> Measures:
    is_shared = np.bincount(vectors.mask_of)[vectors.mask_of] > 1
    sums = None
    if question.needs_spread:
        sums = sums_of(question.ratings, vectors, is_shared | (vectors.weights > 1))
    alone = np.flatnonzero(~is_shared)
    starts = np.arange(len(alone) + 1)
    found = [(alone, measured(question, starts, alone, vectors.weights, sums))]
    if len(alone) < len(is_shared):
        forest = _grown(question, vectors, np.flatnonzero(is_shared))
        found.extend(_searched(question, vectors, forest, sums))
    return _joined(found, len(is_shared)).at(vectors.vector_of)


def _grown(question: ProximityQuery, vectors: Vectors, shared: NDArray[np.int64]) -> VectorForest:
    ratings, scale = question.ratings, question.ratings.scale
    rows = (ratings.starts, ratings.issues)
    starts_mask = np.flatnonzero(np.diff(vectors.mask_of[shared], prepend=-1))
    starts = np.append(starts_mask, len(shared)).astype(np.int64)
    heights = np.diff(starts)
    examples = vectors.example[shared]
    widths = public_counts(examples[starts_mask], *rows, ratings.sensitive)
    codes = public_codes(examples, int((widths * heights).sum()), *rows, ratings.codes, ratings.sensitive)
    codes = order_columns(codes, starts, widths, question.steps, scale.size)
    order, roots, nodes = grow_trees(codes, starts, widths, question.steps, scale.size)
    mask_of = np.repeat(np.arange(len(widths), dtype=np.int32), heights)
    lane = (scale.size - 1).bit_length() + 1
    words, places = packed_rows(codes, order, starts, widths, lane)
    numbers = shared[order]
    weights = vectors.weights[numbers]
    return VectorForest(numbers, mask_of, words, places, lane, roots, nodes, weights, int(heights.max()))


def _searched(
    question: ProximityQuery, vectors: Vectors, forest: VectorForest, sums: Sums | None
) -> Iterator[tuple[NDArray[np.int64], Measures]]:
    """Look around all vectors of a forest, part by part, and report after each round of threads."""
    count = len(forest.vectors)
    parts = [(first, min(first + _PART, count)) for first in range(0, count, _PART)]
    threads = min(question.threads, len(parts))
    at_a_time = max(1, 4 * threads)
    for first in range(0, len(parts), at_a_time):
        question.progress("looking around records", parts[first][0], count)
        several = parts[first : first + at_a_time]
        found = each(lambda part: _part(question, vectors, forest, sums, *part), several, threads)
        for (low, high), measures in zip(several, found, strict=True):
            yield forest.vectors[low:high], measures
    question.progress("looking around records", count, count)


def _part(
    question: ProximityQuery, vectors: Vectors, forest: VectorForest, sums: Sums | None, first: int, last: int
) -> Measures:
    enough = 0 if question.needs_members else _ALL if question.whole else question.model.k
    room = np.empty(0 if enough else max(_ROOM, forest.largest), dtype=np.int64)
    found = []
    while first < last:
        starts, sizes, evaluations = _balls(question, forest, first, last, enough, room)
        if enough:
            found.append(sizes_alone(sizes, evaluations))
        else:
            members = forest.vectors[room[: starts[-1]]]
            groups = trimmed(question, starts, members, vectors.example)
            found.append(measured(question, *groups, vectors.weights, sums).with_evaluations(evaluations))
        first += len(sizes)
    return _chained(found)


def _balls(
    question: ProximityQuery, forest: VectorForest, first: int, last: int, enough: int, room: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    packed = PackedVectors(
        forest.mask_of, forest.words, forest.places, forest.lane, question.null, forest.roots, forest.nodes,
        forest.weights,
    )  # fmt: skip
    return tree_balls(first, last, packed, question.steps, enough, room, forest.largest)


def _chained(found: list[Measures]) -> Measures:
    return Measures(
        np.concatenate([one.sizes for one in found]),
        np.concatenate([one.spreads for one in found]),
        np.concatenate([one.flattest for one in found]),
        sum(one.evaluations for one in found),
    )


def _joined(found: list[tuple[NDArray[np.int64], Measures]], count: int) -> Measures:
    """Bring measures of some vectors each into the order of all vectors."""
    order = np.empty(count, dtype=np.int64)
    order[np.concatenate([places for places, _ in found])] = np.arange(count)
    return _chained([measures for _, measures in found]).at(order)


# The paper's two searches, for study and for comparison with the default one.


def pairwise(question: ProximityQuery) -> Measures:
    """Find what is around every record from the distances of all pairs. Cost O(n · z)."""
    return _measured(question, *pairwise_balls(*question.public, question.steps, question.null))


def slicing_search(question: ProximityQuery) -> Measures:
    """Find what is around every record by cutting candidates issue by issue (the paper's algorithm 1).

    Cost O(n² · p) at worst for p non-sensitive issues.
    """
    width = len(question.ratings.names)
    return _measured(question, *slicing_balls(*question.public, question.steps, question.null, width))


def _measured(
    question: ProximityQuery, starts: NDArray[np.int64], members: NDArray[np.int64], evaluations: int
) -> Measures:
    ratings = question.ratings
    records = each_record(ratings.height)
    everybody = np.ones(ratings.height, dtype=np.bool_)
    sums = sums_of(ratings, records, everybody) if question.needs_spread else None
    groups = trimmed(question, starts, members, records.example)
    return measured(question, *groups, records.weights, sums).with_evaluations(evaluations)


SearchName = Literal["masks", "slicing", "pairwise"]

SEARCHES: dict[SearchName, Search] = {"masks": by_masks, "slicing": slicing_search, "pairwise": pairwise}
"""Searches by name; all find the same answer."""


def check_ratings(
    ratings: Ratings,
    model: RatingAnonymity,
    *,
    search: SearchName = "masks",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Satisfaction:
    """Decide whether ratings satisfy (k, ε, l)-anonymity as they are, and say why not.

    Parameters
    ----------
    ratings
        As :func:`sfumato.read_ratings` returns them.
    model
        The model to decide.
    search
        ``"masks"`` compares only records that rated the same issues. ``"slicing"`` and ``"pairwise"`` are the paper's,
        for study: they take a few thousand records. All give the same answer.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    Satisfaction
        The verdict and the witnesses against it. Figures that need more counting are computed on request.

    Raises
    ------
    PolicyError
        When a setting is invalid, or `l` asks for the deviation of sensitive issues and none was chosen.

    Notes
    -----
    Cost: that of the search, see :mod:`sfumato.published.checks.ratings.check`. With l = 0 (and ``group="ball"``)
    counting around a record stops at k.
    """
    problems = []
    if not isinstance(ratings, Ratings):
        problems.append("ratings must be Ratings; read them with sfumato.read_ratings(...)")
    if not isinstance(model, RatingAnonymity):
        problems.append("model must be a RatingAnonymity; make one with sfumato.RatingAnonymity(k, epsilon, l)")
    if search not in SEARCHES:
        problems.append(f"search must be one of {', '.join(get_args(SearchName))}")
    raise_all(PolicyError, problems)
    if model.l > 0 and not ratings.sensitive.any():
        raise PolicyError("l asks how far sensitive ratings deviate, but no issue is sensitive; choose some, or drop l")
    question = ProximityQuery(ratings, model, threads=thread_count(threads), progress=progress or silent)
    return Satisfaction(question, SEARCHES[search])

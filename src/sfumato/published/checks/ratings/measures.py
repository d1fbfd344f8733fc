"""What is around every record: how many records, and how far their sensitive ratings deviate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ratings.proximate import trimmed_balls
from sfumato.kernels.ratings.rows import hash_masks, hash_vectors, number_vectors, summed_ratings
from sfumato.kernels.ratings.worth import DIVIDED_BY_ALL, LITERAL, SKIP, measure_groups
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.progress import Progress, silent
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.scale import Scale

# Records that rated the same non-sensitive issues in the same way, and the sums of their sensitive ratings.


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """Sums over the sensitive ratings of the records of each vector, as compressed rows.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (v + 1,).
    issues : numpy.ndarray
        int32 (entries,): number of the sensitive issue, ``0 .. q-1``.
    sums : numpy.ndarray
        int64 (entries, 3): ratings, sum of their codes, sum of the squares of their codes.
    """

    starts: NDArray[np.int64]
    issues: NDArray[np.int32]
    sums: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """Records by their ratings of the non-sensitive issues.

    Letters: n records, v vectors, b masks (sets of issues that somebody rated).

    Attributes
    ----------
    vector_of : numpy.ndarray
        Integers (n,): vector of each record.
    mask_of : numpy.ndarray
        Integers (v,), rising: mask of each vector.
    example : numpy.ndarray
        int64 (v,): a record with that vector.
    weights : numpy.ndarray
        int64 (v,): records with that vector.
    """

    vector_of: NDArray[np.integer]
    mask_of: NDArray[np.integer]
    example: NDArray[np.int64]
    weights: NDArray[np.int64]


def vectors_of(ratings: Ratings) -> Vectors:
    """Group records by what they rated, and by how.

    Hashes only say which records are compared: groups are exact. Cost O(z + n log n); 40 bytes a record.
    """
    # Any keys give the same groups, but predictable ones would let somebody make input that is slow to group.
    keys = np.random.default_rng().integers(0, 1 << 62, size=len(ratings.names), dtype=np.int64)
    keys[ratings.sensitive] = 0
    arrays = (ratings.starts, ratings.issues, ratings.codes, ratings.sensitive)
    masks = hash_masks(ratings.starts, ratings.issues, keys)
    by_mask = np.argsort(masks, kind="stable")
    shared = _shared(masks[by_mask])
    hashes = np.zeros(ratings.height, dtype=np.int64)
    hashes[by_mask[shared]] = hash_vectors(by_mask[shared], *arrays)
    order = by_mask.copy()
    among = by_mask[shared]
    order[shared] = among[np.lexsort((hashes[among], masks[among]))]
    vector_of, mask_of, example = _numbered(*number_vectors(order, masks, hashes, *arrays))
    return Vectors(vector_of, mask_of, example, np.bincount(vector_of, minlength=len(example)).astype(np.int64))


def _shared(rising: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which of some rising numbers occur more than once."""
    repeated = np.zeros(len(rising), dtype=np.bool_)
    equal = rising[1:] == rising[:-1]
    repeated[1:] |= equal
    repeated[:-1] |= equal
    return repeated


def _numbered(
    vector_of: NDArray[np.integer], mask_of: NDArray[np.integer], example: NDArray[np.int64]
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.int64]]:
    """Renumber vectors so that those of a mask are adjacent if masks share a hash."""
    if np.all(mask_of[1:] >= mask_of[:-1]):
        return vector_of, mask_of, example
    by_mask = np.argsort(mask_of, kind="stable")
    place_of = np.empty_like(by_mask)
    place_of[by_mask] = np.arange(len(by_mask))
    return place_of[vector_of], mask_of[by_mask], example[by_mask]


def one_vector(height: int) -> Vectors:
    """Take all records as one vector, which is right if a missing and a given rating are proximate."""
    nothing = np.zeros(1, dtype=np.int64)
    return Vectors(np.zeros(height, dtype=np.int64), nothing, nothing, np.array([height], dtype=np.int64))


def each_record(height: int) -> Vectors:
    """Take every record as a vector of its own."""
    places = np.arange(height)
    return Vectors(places, places, places, np.ones(height, dtype=np.int64))


def sums_of(ratings: Ratings, vectors: Vectors, wanted: NDArray[np.bool_]) -> Sums:
    """Sum the sensitive ratings of the vectors that are `wanted`, bool (v,); the others get none.

    Cost O(n + ratings of the wanted vectors).
    """
    members = np.argsort(vectors.vector_of, kind="stable")
    kept = wanted[vectors.vector_of[members]]
    starts = np.append(0, np.cumsum(np.where(wanted, vectors.weights, 0)))
    number_of = np.where(ratings.sensitive, np.cumsum(ratings.sensitive) - 1, -1).astype(np.int32)
    count = int(ratings.sensitive.sum())
    return Sums(
        *summed_ratings(
            starts.astype(np.int64), members[kept], ratings.starts, ratings.issues, ratings.codes, number_of, count
        )
    )


NULLS = {"skip": SKIP, "g": DIVIDED_BY_ALL, "literal": LITERAL}
CLOSE = 1e-12
"""By how much a standard deviation may miss l because of rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class ProximityQuery:
    """The question to a search.

    Attributes
    ----------
    ratings : Ratings
    model : RatingAnonymity
    whole : bool
        Whether to count everything, and not only as much as the verdict needs.
    threads : int
    progress : callable
    """

    ratings: Ratings
    model: RatingAnonymity
    whole: bool = False
    threads: int = 1
    progress: Progress = field(default=silent)

    @property
    def steps(self) -> int:
        """Return how many steps of the scale proximate ratings may be apart; `null` if everything is proximate."""
        scale = self.ratings.scale
        return self.null if self.covers_all else scale.steps_within(self.model.epsilon)

    @property
    def covers_all(self) -> bool:
        """Whether ε reaches r, so that all records are proximate."""
        return self.ratings.scale.covers_all(self.model.epsilon)

    @property
    def null(self) -> int:
        """Return the dissimilarity of a missing and a given rating, in steps of the scale."""
        return self.ratings.scale.size

    @cached_property
    def public(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int16]]:
        """The ratings of the non-sensitive issues as compressed rows, with codes of one type on every scale."""
        ratings = self.ratings
        kept = ~ratings.sensitive[ratings.issues]
        starts = np.append(0, np.cumsum(kept))[ratings.starts].astype(np.int64)
        return starts, ratings.issues[kept], ratings.codes[kept].astype(np.int16)

    @property
    def needs_spread(self) -> bool:
        """Tell whether deviations are needed, and there are sensitive issues."""
        return (self.whole or self.model.l > 0) and bool(self.ratings.sensitive.any())

    @property
    def needs_members(self) -> bool:
        """Tell whether it matters which records are around a record, and not only how many."""
        return self.needs_spread or self.model.group == "trimmed"


@dataclass(frozen=True, eq=False, repr=False)
class Measures:
    """What was counted around each record, or each vector.

    Letters: n records (or vectors).

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (n,): records around each, itself included; if counting stopped early, at least k.
    spreads : numpy.ndarray
        float64 (n,): smallest standard deviation of a sensitive issue; infinite if none was needed.
    flattest : numpy.ndarray
        int32 (n,): number of the first sensitive issue with that deviation; −1 if none was needed.
    evaluations : int
        Dissimilarities of single issues that were evaluated.
    """

    sizes: NDArray[np.int64]
    spreads: NDArray[np.float64]
    flattest: NDArray[np.int32]
    evaluations: int = 0

    def at(self, places: NDArray[np.integer]) -> Measures:
        """Return the measures at some places."""
        return Measures(self.sizes[places], self.spreads[places], self.flattest[places], self.evaluations)

    def with_evaluations(self, evaluations: int) -> Measures:
        """Return the same measures, with another number of evaluations."""
        return replace(self, evaluations=evaluations)

    def is_large(self, k: float) -> NDArray[np.bool_]:
        """Tell which records have `k` records around them; bool (n,)."""
        return self.sizes >= k

    def is_spread(self, l: float) -> NDArray[np.bool_]:  # noqa: E741
        """Tell around which records every sensitive issue deviates by `l`; bool (n,)."""
        return self.spreads >= l - CLOSE


Search = Callable[[ProximityQuery], Measures]


def sizes_alone(sizes: NDArray[np.int64], evaluations: int = 0) -> Measures:
    """Return measures without deviations."""
    return Measures(sizes, np.full(len(sizes), np.inf), np.full(len(sizes), -1, dtype=np.int32), evaluations)


def trimmed(
    question: ProximityQuery, starts: NDArray[np.int64], members: NDArray[np.int64], example: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Trim balls to the groups that the model means; compressed rows of members."""
    if question.model.group == "ball" or question.covers_all:
        return starts, members
    rows, _, codes = question.public
    return trimmed_balls(starts, members, example, rows, codes, question.steps)


def measured(
    question: ProximityQuery,
    starts: NDArray[np.int64],
    members: NDArray[np.int64],
    weights: NDArray[np.int64],
    sums: Sums | None,
) -> Measures:
    """Measure groups, compressed rows of members with `weights`; no deviations without `sums`."""
    scale, model = question.ratings.scale, question.model
    if sums is None:
        filled = np.append(0, np.cumsum(weights[members]))
        return sizes_alone((filled[starts[1:]] - filled[starts[:-1]]).astype(np.int64))
    count = int(question.ratings.sensitive.sum())
    settings = (count, NULLS[model.nulls], scale.low, scale.step)
    return Measures(*measure_groups(starts, members, weights, sums.starts, sums.issues, sums.sums, *settings))


def units(scale: Scale, steps: int) -> float:
    """Return a number of steps in the units of the scale; the number of its ratings is `Scale.span`."""
    return steps * scale.step

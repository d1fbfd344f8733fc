"""Whether ratings satisfy (k, ε, l)-anonymity, decided from the ratings alone; and the recount of a folder of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, VerificationError, raise_all
from sfumato.kernels.ratings.proximate import (
    PackedVectors,
    grow_trees,
    order_columns,
    packed_rows,
    pairwise_balls,
    slicing_balls,
    tree_balls,
    trimmed_balls,
)
from sfumato.kernels.ratings.rows import (
    hash_masks,
    hash_vectors,
    number_vectors,
    public_codes,
    public_counts,
    summed_ratings,
)
from sfumato.kernels.ratings.worth import DIVIDED_BY_ALL, LITERAL, SKIP, measure_groups
from sfumato.kinds.ratings.ratings import Ratings, Scale
from sfumato.kinds.ratings.reading import read_ratings
from sfumato.models.of_kinds import RatingAnonymity
from sfumato.models.protocol import Check, Outcome, promise_words
from sfumato.numbers import counted, figure, percent
from sfumato.options import check_arguments
from sfumato.parallel import each
from sfumato.progress import Progress, silent, thread_count
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import Roles
from sfumato.release.description import listed_names, number_of_records
from sfumato.release.own_kinds import OwnDescription, OwnKind

# Records that rated the same non-sensitive issues in the same way, and the sums of their sensitive ratings.


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """Sums over the sensitive ratings of the records of each vector, as compressed rows."""

    starts: NDArray[np.int64]  # (v + 1,)
    issues: NDArray[np.int32]  # (entries,): number of the sensitive issue, ``0 .. q-1``.
    sums: NDArray[np.int64]  # (entries, 3): ratings, sum of their codes, sum of the squares of their codes


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """The n records by ratings of non-sensitive issues: v vectors, b masks (sets of issues that somebody rated)."""

    vector_of: NDArray[np.integer]  # integers (n,): vector of each record
    mask_of: NDArray[np.integer]  # integers (v,), rising: mask of each vector
    example: NDArray[np.int64]  # (v,): a record with that vector
    weights: NDArray[np.int64]  # (v,): records with that vector


def vectors_of(ratings: Ratings) -> Vectors:
    """Group records by what they rated, and how, exactly; hashes only choose. O(z + n log n); 40 bytes each."""
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
    """Sum the sensitive ratings of the vectors `wanted`, bool (v,), others get none; O(n + ratings of those)."""
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
    """The question to a search."""

    ratings: Ratings
    model: RatingAnonymity
    whole: bool = False  # whether to count everything, and not only as much as the verdict needs
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
    """What was counted around each record, or each vector. Letters: n records (or vectors)."""

    sizes: NDArray[np.int64]  # (n,): records around each, itself included; if counting stopped early, at least k
    spreads: NDArray[np.float64]  # (n,): smallest standard deviation of a sensitive issue; infinite if none was needed
    flattest: NDArray[np.int32]  # (n,): number of the first sensitive issue with that deviation; −1 if none was needed
    evaluations: int = 0  # dissimilarities of single issues that were evaluated

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


KS = (2, 3, 5, 10, 20, 50, 100)
"""The k of a curve by default."""
_MOST_EPSILONS = 24
_LISTED = 10


@dataclass(frozen=True)
class Witness:
    """A record around which the model does not hold."""

    record: int  # its number, from 1: users in the order in which they first appear
    around: int  # records within ε, itself included
    reasons: tuple[str, ...]  # ``"few"``: fewer than k; ``"flat"``: a sensitive issue deviates by less than l
    # smallest standard deviation of a sensitive issue around it; None where l asks for none
    spread: float | None = None
    issue: str | None = None  # the sensitive issue that has it


@dataclass(frozen=True, eq=False, repr=False)
class Satisfaction:
    """Whether ratings satisfy (k, ε, l)-anonymity; made by :func:`sfumato.check_ratings`.

    What the verdict does not need (`largest_k`, `smallest_epsilon`, `largest_l`, `curve`) is computed on request, and
    may take longer than the verdict did.

    Attributes
    ----------
    question : Question
        Ratings and model.
    search : callable
        How it is answered.
    """

    question: ProximityQuery
    search: Search

    def __post_init__(self) -> None:
        """Count what the verdict needs, so that errors and waiting happen here."""
        _ = self.measures

    @property
    def model(self) -> RatingAnonymity:
        """What was asked."""
        return self.question.model

    @cached_property
    def measures(self) -> Measures:
        """What was counted around each record."""
        return self.search(self.question)

    @property
    def holds(self) -> bool:
        """The verdict: whether the model holds around every record."""
        return self.satisfied == self.records

    @property
    def records(self) -> int:
        """Number of records."""
        return self.question.ratings.height

    @property
    def satisfied(self) -> int:
        """Records around which the model holds."""
        return int(np.count_nonzero(_holds(self.measures, self.model)))

    @property
    def too_few(self) -> int:
        """Records with fewer than k records around them."""
        return int(np.count_nonzero(~self.measures.is_large(self.model.k)))

    @property
    def too_flat(self) -> int:
        """Records around which a sensitive issue deviates by less than l."""
        return int(np.count_nonzero(~self.measures.is_spread(self.model.l)))

    @property
    def evaluations(self) -> int:
        """Dissimilarities of single issues that the search evaluated."""
        return self.measures.evaluations

    def witnesses(self, limit: int | None = _LISTED) -> list[Witness]:
        """Return the first records around which the model does not hold; all of them when `limit` is None."""
        return [self._witness(record) for record in self._failing()[:limit].tolist()]

    def failures(self) -> pl.DataFrame:
        """Return a row for every record around which the model does not hold.

        Columns: ``record`` (from 1), ``around``, ``few``, ``flat``, ``spread``, ``issue``; see :class:`Witness`.
        """
        failing, measures = self._failing(), self.measures
        told = measures.at(failing)
        names = pl.Series(self._sensitive_names(), dtype=pl.String)
        asked = told.flattest >= 0
        return pl.DataFrame(
            {
                "record": failing + 1,
                "around": told.sizes,
                "few": ~told.is_large(self.model.k),
                "flat": ~told.is_spread(self.model.l),
                "spread": pl.Series(np.where(asked, told.spreads, np.nan)).fill_nan(None),
                "issue": names.gather(pl.Series(np.where(asked, told.flattest, -1)).replace(-1, None)),
            }
        )

    @cached_property
    def largest_k(self) -> int | None:
        """The largest k that holds with the same ε and l; None where l itself does not hold."""
        whole = self._whole
        return int(whole.sizes.min()) if whole.is_spread(self.model.l).all() else None

    @cached_property
    def largest_l(self) -> float | None:
        """The largest l that holds with the same k and ε; None where k does not hold or no issue is sensitive."""
        whole = self._whole
        smallest = float(whole.spreads.min())
        return smallest if whole.is_large(self.model.k).all() and math.isfinite(smallest) else None

    @cached_property
    def smallest_epsilon(self) -> float | None:
        """The smallest ε, in whole steps of the scale, that holds with the same k and l; None where none does.

        A larger ε takes more records in and may lower the deviation of a group: what holds at this ε need not hold at a
        larger one. The largest that is tried is r, where all records are proximate. It counts again for up to as many ε
        as there are ratings on the scale; for l = 0, the logarithm of that.
        """
        candidates = [units(self.question.ratings.scale, steps) for steps in range(self.question.null + 1)]
        first = self._first_with_k(candidates) if self.model.group == "ball" else 0
        later = candidates[first:]
        return next((epsilon for epsilon in later if self._holds_at(epsilon, self.model.l)), None)

    def curve(self, ks: Sequence[int] = KS, epsilons: Sequence[float] | None = None) -> pl.DataFrame:
        """Count satisfied records over k and ε, with the same l.

        Parameters
        ----------
        ks
            Whole numbers ≥ 1.
        epsilons
            Numbers ≥ 0; None takes every step of the scale (a few of them on a fine scale), and r.

        Returns
        -------
        polars.DataFrame
            Columns ``epsilon``, ``k``, ``l``, ``satisfied``, ``share``; a row for each pair.

        Raises
        ------
        PolicyError
            When a k or an ε is invalid.
        """
        if not len(ks):
            raise PolicyError("ks: name at least one")
        rows = []
        for epsilon in self._epsilons() if epsilons is None else epsilons:
            models = [replace(self.model, k=k, epsilon=epsilon) for k in ks]
            measures = self._asked(replace(models[0], k=max(model.k for model in models)))
            for model in models:
                satisfied = int(np.count_nonzero(_holds(measures, model)))
                rows.append((float(epsilon), model.k, float(model.l), satisfied, satisfied / self.records))
        return pl.DataFrame(rows, schema=["epsilon", "k", "l", "satisfied", "share"], orient="row")

    def notes(self) -> list[str]:
        """Return what a reader should know about the answer."""
        found = []
        if self.question.covers_all:
            found.append(
                f"epsilon reaches r = {figure(self.question.ratings.scale.span)}, the dissimilarity of a missing and a "
                "given rating: every record is proximate to every other"
            )
        if self.question.ratings.times is not None:
            found.append("times of ratings were read, but no model bounds what an attacker learns from them")
        return found

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as plain values, for JSON."""
        return {
            "model": dict(self.model.parameters()),
            "holds": self.holds,
            "records": self.records,
            "satisfied": self.satisfied,
            "too_few": self.too_few,
            "too_flat": self.too_flat,
            "witnesses": [vars(witness) for witness in self.witnesses()],
            "notes": self.notes(),
        }

    def __repr__(self) -> str:
        """Show the verdict and counts."""
        return f"Satisfaction({self.model}: {'holds' if self.holds else 'does not hold'}, {self._share()})"

    def __str__(self) -> str:
        """Return the verdict, the reasons against it, and the first witnesses."""
        lines = [f"{self.model} {'holds' if self.holds else 'does not hold'}: {self._share()}"]
        lines += [f"  {line}" for line in self._reasons()]
        lines += [f"  {self._told(witness)}" for witness in self.witnesses()]
        left = self.records - self.satisfied - _LISTED
        lines += [f"  and {counted(left, 'more record')}"] if left > 0 else []
        return "\n".join([*lines, *(f"  {note}" for note in self.notes())])

    def _share(self) -> str:
        share = percent(self.satisfied / self.records, 3)
        return f"{self.satisfied:,} of {counted(self.records, 'record')} satisfied ({share})"

    def _reasons(self) -> list[str]:
        model, found = self.model, []
        if self.too_few:
            found.append(f"{counted(self.too_few, 'record')} with fewer than {model.k} within {figure(model.epsilon)}")
        if self.too_flat:
            least = f"deviates by less than {figure(model.l)}"
            found.append(f"{counted(self.too_flat, 'record')} around which a sensitive issue {least}")
        return found

    def _told(self, witness: Witness) -> str:
        flat = "flat" in witness.reasons
        about = f", {witness.issue!r} deviates by {figure(witness.spread or 0.0)}" if flat else ""
        return f"record {witness.record}: {counted(witness.around, 'record')} around it{about}"

    def _failing(self) -> NDArray[np.intp]:
        return np.flatnonzero(~_holds(self.measures, self.model))

    def _witness(self, record: int) -> Witness:
        measures = self.measures.at(np.array([record]))
        few, flat = not measures.is_large(self.model.k)[0], not measures.is_spread(self.model.l)[0]
        reasons = (*(["few"] if few else []), *(["flat"] if flat else []))
        around, issue = int(measures.sizes[0]), int(measures.flattest[0])
        if issue < 0:
            return Witness(record + 1, around, reasons)
        return Witness(record + 1, around, reasons, float(measures.spreads[0]), self._sensitive_names()[issue])

    def _sensitive_names(self) -> list[str]:
        ratings = self.question.ratings
        return [ratings.names[place] for place in np.flatnonzero(ratings.sensitive)]

    @cached_property
    def _whole(self) -> Measures:
        return self.search(replace(self.question, whole=True))

    def _asked(self, model: RatingAnonymity) -> Measures:
        return self.search(replace(self.question, model=model))

    def _holds_at(self, epsilon: float, l: float) -> bool:  # noqa: E741
        model = replace(self.model, epsilon=epsilon, l=l)
        return bool(_holds(self._asked(model), model).all())

    def _first_with_k(self, candidates: Sequence[float]) -> int:
        """Return the place of the first ε with k records around every record; larger ones have no fewer."""
        low, high = 0, len(candidates)
        while low < high:
            middle = (low + high) // 2
            if self._holds_at(candidates[middle], 0):
                high = middle
            else:
                low = middle + 1
        return low

    def _epsilons(self) -> list[float]:
        scale = self.question.ratings.scale
        steps = np.unique(np.linspace(0, scale.size, min(scale.size + 1, _MOST_EPSILONS)).astype(np.int64))
        return [units(scale, int(step)) for step in steps]


def _holds(measures: Measures, model: RatingAnonymity) -> NDArray[np.bool_]:
    """Tell around which records the model holds; bool (n,)."""
    return measures.is_large(model.k) & measures.is_spread(model.l)


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
    """Trees over the v vectors of every mask, of b, that has several; they are numbered anew, by leaves."""

    vectors: NDArray[np.int64]  # (v,): number among all vectors
    mask_of: NDArray[np.int32]  # (v,)
    # `words`, `places`, `lane`, `roots`, `nodes`, `weights`: as :func:`~sfumato.kernels.ratings.proximate.tree_balls`
    # takes them
    words: NDArray[np.uint64]
    places: NDArray[np.int64]
    lane: int
    roots: NDArray[np.int64]
    nodes: NDArray[np.int32]
    weights: NDArray[np.int64]
    largest: int


def by_masks(question: ProximityQuery) -> Measures:
    """Find what is around every record among those that rated the same issues.

    Cost O(z + n log n) if sets of rated issues separate most records; among v vectors of one set, a power of v between
    1 and 2 that depends on how selective ε is, and at least the number of proximate pairs of vectors.
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
    """Find what is around every record by cutting candidates issue by issue (algorithm 1); O(n² · p) at worst."""
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


@check_arguments
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
    Cost: that of the search, see :mod:`sfumato.kinds.ratings.check`. With l = 0 (and ``group="ball"``)
    counting around a record stops at k.
    """
    if model.l > 0 and not ratings.sensitive.any():
        raise PolicyError("l asks how far sensitive ratings deviate, but no issue is sensitive; choose some, or drop l")
    question = ProximityQuery(ratings, model, threads=thread_count(threads), progress=progress or silent)
    return Satisfaction(question, SEARCHES[search])


def rating_verification(ratings: Ratings, checks: list[Check]) -> Verification:
    """Put together what became of every promise; of issues that nobody has a published rating of nothing is said."""
    vectors = vectors_of(ratings)
    hidden = np.array(ratings.names, dtype=object)[(ratings.raters > 0) & ratings.sensitive]
    roles = Roles(sensitive=tuple(hidden.tolist()))
    return Verification(tuple(checks), ratings.height, len(np.unique(vectors.mask_of)), "issue set", roles)


def decided(answer: Satisfaction) -> Check:
    """Say what became of the promise, and what a reader must know to tell what it is worth."""
    ratings = answer.question.ratings
    rated = ratings.raters > 0
    hidden = int(np.count_nonzero(rated & ratings.sensitive))
    told = [f"{hidden} of {counted(int(np.count_nonzero(rated)), 'issue')} sensitive", *answer.notes()]
    if not answer.holds:
        failing = answer.records - answer.satisfied
        told.insert(0, f"it fails around {failing:,} of {counted(answer.records, 'record')}")
    outcome = Outcome.HOLDS if answer.holds else Outcome.BROKEN
    return Check(promise_words(answer.model), outcome, detail="; ".join(told))


# The kind as its verifier knows it: what ``release.json`` says of ratings, and how they are put together.


TABLE = "ratings"
TIME = "time"

MOST_SILENT = 20_000_000
"""Records without a published rating that a verifier believes in: they take memory, but no line of a file."""


@dataclass(frozen=True)
class RatingStructure:
    """What ``release.json`` says: records, also those without a published rating; the scale; sensitive issues."""

    records: int
    scale: Scale
    sensitive: tuple[str, ...]


class RatingKind(OwnKind[RatingStructure, Ratings]):
    """One table with a line for each rating."""

    name = TABLE
    model = RatingAnonymity
    numbers: ClassVar = {"rating": pl.Float64}
    optional = frozenset({TIME})
    suppresses = True
    evidence = "sfumato.kinds.ratings.attack:evidence"
    release = "sfumato.kinds.ratings.release:RatingRelease"
    compares = True
    meaning = "what people rated, a record for each person in random order; ratings are moved or left out"
    promise = "Whoever knows, to within {epsilon:g}, how a person rated finds {k} records at least that fit."
    unplayed: ClassVar = {"linkability": "releases of ratings are not joined with others"}
    tallies = frozenset({"record"})

    def read_structure(self, content: Mapping[str, Any]) -> RatingStructure:
        """Read how many records there are, the scale, and the sensitive issues."""
        structure = content["structure"]
        scale, records = Scale(**structure["scale"]), number_of_records(structure["records"])
        return RatingStructure(records, scale, listed_names(content["sensitive"]))

    def columns(self, structure: RatingStructure) -> dict[str, tuple[str, ...]]:
        """Return the only table and its columns."""
        return {TABLE: ("record", "issue", "rating")}

    def assemble(self, tables: Mapping[str, pl.DataFrame], description: OwnDescription[RatingStructure]) -> Ratings:
        """Return what is published, with the records that have no rating."""
        frame, told = tables[TABLE], description.structure
        if not frame.height:
            raise_all(VerificationError, _count_problems(0, told))
            starts, nothing = np.zeros(told.records + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
            return Ratings(starts, nothing, np.empty(0, dtype=np.uint8), (), np.empty(0, dtype=np.bool_), told.scale)
        ratings = read_ratings(frame, user="record", issue="issue", rating="rating", scale=told.scale)
        raise_all(VerificationError, _count_problems(ratings.height, told))
        hidden = set(told.sensitive)
        if strangers := hidden.difference(ratings.names):
            raise VerificationError(
                f"release.json: names {counted(len(strangers), 'sensitive issue')} that nobody rated"
            )
        silent = np.full(told.records - ratings.height, ratings.starts[-1], dtype=np.int64)
        sensitive = np.array([name in hidden for name in ratings.names], dtype=np.bool_)
        return replace(ratings, starts=np.concatenate([ratings.starts, silent]), sensitive=sensitive)

    def recount(self, shown: Ratings, models: Sequence[Any], structure: RatingStructure) -> Verification:
        """Decide every model on the published ratings."""
        return rating_verification(shown, [decided(check_ratings(shown, model)) for model in models])


def _count_problems(found: int, told: RatingStructure) -> list[str]:
    if found > told.records:
        return ["release.json: counts fewer records than there are; it was changed"]
    if told.records - found > MOST_SILENT:
        return ["release.json: counts more records without ratings than can be believed; it was changed"]
    return []


RATINGS = RatingKind()

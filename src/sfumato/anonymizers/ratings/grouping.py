"""Making ratings anonymous: groups found by what making them proximate costs, or by the plan of the literature.

Nothing is handed on before it satisfies the model; changes that the model does not need are taken back. Ratings are put
into an order that nothing can be read off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.task import (
    STRICT,
    ChangedRatings,
    ProximityGroups,
    RatingBlock,
    RatingTask,
    block_of,
    group_numbers,
    groups_from,
    merging_rules,
    rating_blocks,
    unify_ratings,
)
from sfumato.kernels.ratings.groups import (
    greedy_cliques,
    improve_groups,
    merge_flat,
    merge_patterns,
    near_raters,
    relax_codes,
    start_groups,
)
from sfumato.kernels.ratings.worth import MISSING, dense_codes
from sfumato.parallel import each
from sfumato.published.checks.ratings.check import check_ratings
from sfumato.published.checks.ratings.measures import vectors_of
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.randomness import permutation
from sfumato.table.ratings.ratings import Ratings, order_ratings

_BLOCK = 1024
"""Records that are searched together: within a block, every pair of records is compared."""

_FEWEST_NEAR = 16

_RATINGS_LOOKED_AT = 256.0
"""In each group that a record tries, about; it sets how many groups are tried."""

_PASSES = 12

_SHARE = 3.0  # of the worth of a group that its lacking everything costs

MOST_CELLS = 2**31
"""Different sets of rated issues × issues that the plan takes: it counts the raters of each set and issue."""

_CHUNK = 1024

_RELAXING_PASSES = 4


def group_by_loss(task: RatingTask, weights: NDArray[np.int64]) -> ProximityGroups:
    """Put records into groups of at least k so that what the groups can keep is worth most.

    In each block of records that rated alike: groups are built around the records with most to lose, each time taking
    in the record with which the group keeps most; what is left joins where it costs least. Then records are swapped
    between groups and moved while that pays. With l > 0, first at a price for deviating too little; then groups that
    still do are merged with others, and swaps and moves go on among what deviates enough. `task`: what is asked.
    `weights`, int64 (m,): what a rating of each issue counts. Returns: where not even a whole block deviates enough,
    some do not satisfy the model yet. Cost O(n · block · ratings of a record) at most.
    """
    parts = rating_blocks(task, max(_BLOCK, 4 * task.model.k))
    allowed = _shares(task.may_leave, [len(part) for part in parts])
    told = _Told(task, len(parts))
    jobs = list(zip(parts, allowed, strict=True))
    found = each(lambda job: told(_of_block(task, *job, weights)), jobs, min(task.threads, len(jobs)))
    numbers = np.full(task.ratings.height, -1, dtype=np.int64)
    used = 0
    for part, groups in zip(parts, found, strict=True):
        numbers[part] = np.where(groups >= 0, groups + used, -1)
        used += int(groups.max()) + 1
    return groups_from(numbers)


class _Told:
    """Counts finished blocks for whoever watches."""

    def __init__(self, task: RatingTask, total: int) -> None:
        self.progress, self.total, self.done = task.progress, total, 0

    def __call__(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        self.done += 1
        self.progress("grouping records", self.done, self.total)
        return found


def _of_block(
    task: RatingTask, records: NDArray[np.int64], may_leave: int, weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the group of each record of a block; int64 (b,), −1 for those that are left out."""
    block = block_of(task, records, weights)
    free = merging_rules(replace(task, model=replace(task.model, l=0)), 0)
    groups, sizes = start_groups(block.seeds, block.arrays, free)
    left_out = np.empty(may_leave, dtype=np.int32)
    near = near_raters(_near(block, task.model.k), block.arrays, free)
    hidden = task.model.l > 0
    rules = merging_rules(task, _penalty(block, task, len(groups)) if hidden else 0)
    if not hidden:
        improve_groups(groups, sizes, left_out, may_leave, near, _PASSES, block.arrays, rules)
    else:
        improve_groups(groups, sizes, left_out, 0, near, _PASSES // 2, block.arrays, rules)
        strict = merging_rules(task, STRICT)
        merge_flat(groups, sizes, block.arrays, strict)
        improve_groups(groups, sizes, left_out, may_leave, near, _PASSES, block.arrays, strict)
    return group_numbers(groups, sizes, len(records))


def _penalty(block: RatingBlock, task: RatingTask, groups: int) -> float:
    """Return what lacking all deviation is held against: a multiple of what a group has, and so could keep."""
    columns, weights = block.arrays[1], block.arrays[3]
    worth = float(weights[columns].sum()) * task.ratings.scale.size / max(groups, 1)
    return _SHARE * max(worth, 1.0)


def _near(block: RatingBlock, k: int) -> int:
    """Return with the groups of how many others a record is tried: all in sparse ratings, few in dense ones."""
    _, columns, table, _, _ = block.arrays
    density = max(len(columns) / max(table.size, 1), 1e-6)
    return min(len(table), max(_FEWEST_NEAR, int(_RATINGS_LOOKED_AT / (k * density))))


def _shares(total: int, sizes: list[int]) -> list[int]:
    """Share out a number in proportion, without exceeding it."""
    whole = sum(sizes)
    bounds = np.floor(np.cumsum(sizes) * total / whole + 1e-9).astype(np.int64)
    return [int(share) for share in np.diff(bounds, prepend=0)]


def group_by_plan(task: RatingTask) -> tuple[ChangedRatings, ProximityGroups]:
    """Merge sets of rated issues by Hamming distance, then put records with the same set into cliques.

    Returns the ratings after the first step, which have the same rated issues in every set of at least k records, and
    the cliques, in which ratings are still to be brought into a window of ε. Issues that are not kept are dropped
    first, where some are to be kept. Records are never left out.

    X. Sun, H. Wang, J. Li, J. Pei, "Publishing anonymous survey rating data", DMKD 2011, unifies the sets of rated
    issues and then forms cliques; the order and the ties are ours. Cost O(f² m / 64) for f sets, and O(b² m) for the b
    records of each set after merging.
    """
    merged = _one_pattern_each(task)
    changed = unify_ratings(
        merged.ratings, _patterns_merged(merged.ratings, task), task.ratings.scale.size - 1, task.invent
    )
    cliques = _cliques(changed.ratings, task)
    start = ChangedRatings(changed.ratings, _through(merged.sources, changed.sources))
    return start, _enlarged(replace(task, ratings=start.ratings), cliques) if task.model.l > 0 else cliques


def _one_pattern_each(task: RatingTask) -> ChangedRatings:
    """Drop what is not kept."""
    ratings = task.ratings
    stays = (task.kept | ratings.sensitive)[ratings.issues] if task.kept.any() else np.ones(len(ratings.issues), bool)
    starts = np.append(0, np.cumsum(stays))[ratings.starts].astype(np.int64)
    times = None if ratings.times is None else ratings.times.filter(stays)
    left = replace(ratings, starts=starts, issues=ratings.issues[stays], codes=ratings.codes[stays], times=times)
    return ChangedRatings(left, np.flatnonzero(stays))


def _patterns_merged(ratings: Ratings, task: RatingTask) -> ProximityGroups:
    vectors = vectors_of(ratings)
    _, first, patterns = np.unique(vectors.mask_of[vectors.vector_of], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    merged = merge_patterns(
        rank[patterns], ratings.starts, ratings.issues, ratings.sensitive, task.model.k, task.invent
    )
    return groups_from(merged)


def _cliques(ratings: Ratings, task: RatingTask) -> ProximityGroups:
    vectors = vectors_of(ratings)
    masks = vectors.mask_of[vectors.vector_of]
    numbers = np.empty(ratings.height, dtype=np.int64)
    used = 0
    column_of = np.where(ratings.sensitive, -1, np.arange(len(ratings.names))).astype(np.int32)
    for records in _runs(masks):
        rated = _rated(ratings, records[0])
        columns = np.full(len(column_of), -1, dtype=np.int32)
        columns[rated] = np.arange(len(rated))
        columns[ratings.sensitive] = -1
        table = dense_codes(records, ratings.starts, ratings.issues, ratings.codes, columns, len(rated))
        cliques = greedy_cliques(table, task.model.k)
        numbers[records] = used + cliques
        used += int(cliques.max()) + 1
    return groups_from(numbers)


def _enlarged(task: RatingTask, cliques: ProximityGroups) -> ProximityGroups:
    """Merge cliques whose sensitive ratings deviate too little with those that cost least."""
    block = block_of(task, np.arange(task.ratings.height), np.ones(len(task.kept), dtype=np.int64))
    firsts, members = cliques.rows()
    sizes = np.diff(firsts)
    groups = np.zeros((len(sizes), len(members)), dtype=np.int32)
    for group, (first, size) in enumerate(zip(firsts.tolist(), sizes.tolist(), strict=False)):
        groups[group, :size] = members[first : first + size]
    merge_flat(groups, sizes, block.arrays, merging_rules(task, STRICT))
    return groups_from(group_numbers(groups, sizes, task.ratings.height))


def _rated(ratings: Ratings, record: int) -> NDArray[np.int32]:
    rated = ratings.issues[ratings.starts[record] : ratings.starts[record + 1]]
    return rated[~ratings.sensitive[rated]]


def _runs(masks: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """Return the records of each mask, rising."""
    order = np.argsort(masks, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(masks[order])) + 1)


def _through(sources: NDArray[np.int64], later: NDArray[np.int64]) -> NDArray[np.int64]:
    """Follow ratings through two changes."""
    return np.where(later < 0, -1, np.append(sources, -1)[later])


def settle_ratings(
    task: RatingTask, start: ChangedRatings | None, groups: ProximityGroups
) -> tuple[ChangedRatings, ProximityGroups, Satisfaction]:
    """Publish groups, decide, and change the groups around which the model does not hold until it holds.

    Records of one group may be proximate to some, but not all, of another. Groups that this harms, and those that they
    touch, publish equal ratings instead of ratings within a window; where that is not enough, a group is merged with
    the next. All records with equal ratings, which are tried last, are known to satisfy the model.

    `task`: what is asked. `start`: ratings that have been changed before; None for those of the task. `groups`: what to
    begin with. Returns: ratings of all records (none of those left out), their groups, and the decision on the records
    that are published.
    """
    before = task.ratings if start is None else start.ratings
    while True:
        changed = unify_ratings(before, groups, task.steps, task.invent)
        shown = np.flatnonzero(groups.group_of >= 0)
        published = changed.ratings.take(shown)
        answer = check_ratings(published, task.model, threads=task.threads)
        if answer.holds:
            sources = changed.sources
            if start is not None:
                sources = np.where(sources < 0, -1, np.append(start.sources, -1)[sources])
            return ChangedRatings(changed.ratings, sources), groups, answer
        failing = shown[(answer.failures()["record"] - 1).to_numpy()]
        groups = _calmer(task, before, changed.ratings, groups, failing)


def _calmer(
    task: RatingTask, before: Ratings, after: Ratings, groups: ProximityGroups, failing: NDArray[np.int64]
) -> ProximityGroups:
    """Return groups that are nearer to satisfying the model around records where it fails."""
    harmed = np.unique(groups.group_of[failing])
    touching = np.unique(groups.group_of[_around(after, failing, task.steps)])
    for candidates in (harmed, touching):
        if not groups.is_equal[candidates].all():
            is_equal = groups.is_equal.copy()
            is_equal[candidates] = True
            return replace(groups, is_equal=is_equal)
    return _merged(groups, harmed)


def _merged(groups: ProximityGroups, harmed: NDArray[np.int64]) -> ProximityGroups:
    """Merge each of some groups with the next; with a single group, take in the records that were left out, too."""
    if groups.count == 1:
        return ProximityGroups(np.zeros_like(groups.group_of), np.ones(1, dtype=np.bool_))
    into = np.arange(groups.count)
    for group in harmed.tolist():
        following = group + 1 if group + 1 < groups.count else group - 1
        low, high = sorted((int(into[group]), int(into[following])))
        into[into == high] = low
    numbers = np.where(groups.group_of < 0, -1, into[groups.group_of])
    is_equal = np.zeros(groups.count, dtype=np.bool_)
    np.logical_or.at(is_equal, into, groups.is_equal)
    return groups_from(numbers, is_equal)


def _around(ratings: Ratings, records: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Return all records that are proximate to one of some, ε being smaller than r."""
    vectors = vectors_of(ratings)
    mask_of = vectors.mask_of[vectors.vector_of]
    found = np.zeros(ratings.height, dtype=np.bool_)
    for mask in np.unique(mask_of[records]).tolist():
        same = np.flatnonzero(mask_of == mask)
        codes = _codes(ratings, same)
        for row in np.flatnonzero(np.isin(same, records)):
            found[same[np.abs(codes - codes[row]).max(axis=1, initial=0) <= steps]] = True
    return np.flatnonzero(found)


def _codes(ratings: Ratings, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the non-sensitive codes of records that rated the same issues; int64 (records, issues of the mask)."""
    some = ratings.take(records)
    shown = ~some.sensitive[some.issues]
    return some.codes[shown].astype(np.int64).reshape(len(records), -1)


def relax_ratings(
    task: RatingTask, changed: ChangedRatings, groups: ProximityGroups, answer: Satisfaction
) -> tuple[ChangedRatings, ProximityGroups, Satisfaction]:
    """Bring ratings back towards what they were where every record still has k around it.

    The members of a group are proximate to each other, which is more than the model asks for: it wants k records around
    each, and those may belong to other groups. Where sensitive ratings must deviate, or groups are trimmed, other
    records around one can do harm, and nothing is taken back. Cost O(n · 1,024 · issues of a record) at most, where
    many records rated the same issues; nothing in sparse ratings.
    """
    if task.model.l > 0 or task.model.group != "ball":
        return changed, groups, answer
    codes = changed.ratings.codes.copy()
    before = np.append(task.ratings.codes.astype(np.int16), np.int16(MISSING))[changed.sources]

    def relax(records: NDArray[np.int64]) -> None:
        places = _places(changed, records)
        now = codes[places].astype(np.int16)
        relax_codes(now, before[places], task.model.k, task.steps, _RELAXING_PASSES)
        codes[places] = now

    each(relax, _chunks(changed, groups, task.model.k), task.threads)
    found = ChangedRatings(replace(changed.ratings, codes=codes), changed.sources)
    shown = found.ratings.take(np.flatnonzero(groups.group_of >= 0))
    decided = check_ratings(shown, task.model, threads=task.threads)
    return (found, groups, decided) if decided.holds else (changed, groups, answer)


def _chunks(changed: ChangedRatings, groups: ProximityGroups, k: int) -> list[NDArray[np.int64]]:
    """Return records that rate the same issues, whole groups of them and not many at a time.

    Within a group everybody has k around, so that each chunk can be looked at by itself.
    """
    vectors = vectors_of(changed.ratings)
    mask_of = vectors.mask_of[vectors.vector_of]
    shown = np.flatnonzero(groups.group_of >= 0)
    order = shown[np.lexsort((groups.group_of[shown], mask_of[shown]))]
    # A chunk ends where a mask ends, or with the group that fills it.
    firsts = np.flatnonzero(np.diff(groups.group_of[order], prepend=-1) | np.diff(mask_of[order], prepend=-1)).tolist()
    chunks, first = [], 0
    for start in [*firsts[1:], len(order)]:
        ends = start == len(order) or mask_of[order[start]] != mask_of[order[first]]
        if ends or start - first >= _CHUNK:
            if start - first > k:
                chunks.append(order[first:start])
            first = start
    return chunks


def _places(changed: ChangedRatings, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the non-sensitive ratings of records stand that rate the same issues; int64 (records, issues)."""
    ratings = changed.ratings
    places = ratings.places(records)
    return places[~ratings.sensitive[ratings.issues[places]]].reshape(len(records), -1)


@dataclass(frozen=True, eq=False, repr=False)
class _ShuffledRatings:
    """Ratings in random order.

    `ratings`: issues by name, records in random order. `origin`, int64 (n,): the number of each record in the input,
    from 0.
    """

    ratings: Ratings
    origin: NDArray[np.int64]


def shuffle_ratings(ratings: Ratings, seed: int | None) -> _ShuffledRatings:
    """Sort issues by name and records by what they hold, then bring the records into random order.

    With a seed, the result is the same for every order of the input's records and issues. Cost O(z log z).
    """
    by_content, origin = order_ratings(ratings)
    order = permutation(ratings.height, seed)
    return _ShuffledRatings(by_content.take(order), origin[order])

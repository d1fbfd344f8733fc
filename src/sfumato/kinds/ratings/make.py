"""Making ratings anonymous: groups found by what making them proximate costs, or by the plan of the literature.

Nothing is handed on before it satisfies the model; changes that the model does not need are taken back. Ratings are put
into an order that nothing can be read off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.ratings.groups import (
    greedy_cliques,
    improve_groups,
    merge_flat,
    merge_patterns,
    near_raters,
    relax_codes,
    start_groups,
)
from sfumato.kernels.ratings.rows import shared_weight
from sfumato.kernels.ratings.worth import (
    AFTER,
    BEFORE,
    CHANGED,
    INVENTED,
    MISSING,
    MOVED,
    REMOVED,
    counted_changes,
    dense_codes,
    published_rows,
    published_windows,
    rated_columns,
)
from sfumato.kinds.ratings.check import NULLS, ProximityQuery, Satisfaction, check_ratings, vectors_of
from sfumato.kinds.ratings.policy import Change, Method, RatingPolicy
from sfumato.kinds.ratings.ratings import Ratings, order_ratings
from sfumato.kinds.ratings.release import RatingRelease
from sfumato.models.of_kinds import RatingAnonymity
from sfumato.numbers import counted, figure, percent
from sfumato.options import Count, Limit, Seed, check_arguments
from sfumato.parallel import each
from sfumato.progress import Progress, shown, silent, thread_count
from sfumato.randomness import permutation

_KEPT_WEIGHT = 1000
"""What a rating of an issue that is to stay counts against one of the others, while groups are searched for."""
STRICT = 1e15
"""A price that no worth makes up for."""


@dataclass(frozen=True, eq=False, repr=False)
class RatingTask:
    """Ratings in random order, the model (ε < r), and what may be done: `kept`, issues that are to stay published."""

    ratings: Ratings
    model: RatingAnonymity
    invent: bool
    kept: NDArray[np.bool_]
    may_leave: int = 0
    threads: int = 1
    progress: Progress = field(default=silent)

    @property
    def question(self) -> ProximityQuery:
        """The satisfaction problem of the ratings as they are."""
        return ProximityQuery(self.ratings, self.model)

    @property
    def steps(self) -> int:
        """How many steps of the scale proximate ratings may be apart."""
        return self.question.steps

    @property
    def public(self) -> NDArray[np.bool_]:
        """Which ratings are of issues that are not sensitive; bool (z,)."""
        return ~self.ratings.sensitive[self.ratings.issues]


def most_rated(ratings: Ratings, count: int) -> NDArray[np.bool_]:
    """Return the non-sensitive issues that most records rated, the first of equals; bool (m,)."""
    raters = np.where(ratings.sensitive, -1, ratings.raters)
    chosen = np.zeros(len(raters), dtype=np.bool_)
    chosen[np.argsort(-raters, kind="stable")[:count]] = True
    return chosen & ~ratings.sensitive


@dataclass(frozen=True, eq=False, repr=False)
class ProximityGroups:
    """The group of each of n records, int64, none empty, −1 for those left out; `is_equal`: ratings are to be equal."""

    group_of: NDArray[np.int64]
    is_equal: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.is_equal)

    @property
    def left_out(self) -> int:
        """Records in no group."""
        return int(np.count_nonzero(self.group_of < 0))

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the members of each group as compressed rows: int64 (G + 1,) and int64, rising inside a group."""
        order = np.argsort(self.group_of, kind="stable")
        sizes = np.bincount(self.group_of[self.group_of >= 0], minlength=self.count)
        return np.append(0, np.cumsum(sizes)).astype(np.int64), order[self.left_out :].astype(np.int64)


def groups_from(numbers: NDArray[np.integer], is_equal: NDArray[np.bool_] | None = None) -> ProximityGroups:
    """Give groups numbers from 0 in the order of `numbers`, −1 being none; `is_equal` by number, nobody by default."""
    used, group_of = np.unique(numbers[numbers >= 0], return_inverse=True)
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[numbers >= 0] = group_of
    return ProximityGroups(found, np.zeros(len(used), dtype=np.bool_) if is_equal is None else is_equal[used])


@dataclass(frozen=True, eq=False, repr=False)
class ChangedRatings:
    """Ratings after a change; `sources`, int64 (z,): the number of each before, −1 where it is invented."""

    ratings: Ratings
    sources: NDArray[np.int64]


def unify_ratings(ratings: Ratings, groups: ProximityGroups, steps: int, invent: bool) -> ChangedRatings:
    """Make the members of each group proximate, within `steps` of the scale, at the least charge. Cost O(z log z).

    An issue that all members rated is published, each rating brought into the window that changes least; of equals the
    middle one. An issue that some rated is dropped; where inventing is allowed and charged less, the others are given
    the median (half up, inside the window). Sensitive ratings stay.
    """
    given = (ratings.starts, ratings.issues, ratings.codes, ratings.sensitive)
    widths = np.where(groups.is_equal, 0, steps).astype(np.int64)
    firsts, members = groups.rows()
    row_starts, shown, windows = published_windows(firsts, members, *given, widths, ratings.scale.size, invent)
    starts, issues, codes, origin = published_rows(firsts, members, *given, widths, row_starts, shown, windows)
    times = None if ratings.times is None else ratings.times.gather(pl.Series(origin).replace(-1, None))
    return ChangedRatings(replace(ratings, starts=starts, issues=issues, codes=codes, times=times), origin)


@dataclass(frozen=True, eq=False, repr=False)
class RatingBlock:
    """Some records, int64 (b,), and what :func:`~sfumato.kernels.ratings.worth.group_worth` calls a block."""

    records: NDArray[np.int64]
    arrays: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int16], NDArray[np.int64], NDArray[np.int16]]

    @property
    def seeds(self) -> NDArray[np.int64]:
        """The records from the one with most to lose to the one with least."""
        starts, columns, _, weights, _ = self.arrays
        return np.argsort(-_sums(weights[columns], starts), kind="stable")


def merging_rules(task: RatingTask, penalty: float) -> tuple[int, int, int, bool, float, int, float, float, float]:
    """Return what the kernels call rules."""
    model, scale = task.model, task.ratings.scale
    nulls = (float(model.l), NULLS[model.nulls], scale.low, scale.step)
    return model.k, task.steps, scale.size, task.invent, *nulls, float(penalty)


def group_numbers(groups: NDArray[np.int32], sizes: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """Return the group of each record, int64 (records,), from the members of each group; −1 for records in none."""
    found = np.full(records, -1, dtype=np.int64)
    for group, size in enumerate(sizes.tolist()):
        found[groups[group, :size]] = group
    return found


def column_weights(task: RatingTask, favored: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what a rating of each issue counts, by how often one that is to stay was lost; int64 (m,)."""
    return np.where(task.kept, _KEPT_WEIGHT * 10**favored, 1).astype(np.int64)


def block_of(task: RatingTask, records: NDArray[np.int64], weights: NDArray[np.int64]) -> RatingBlock:
    """Write the ratings of some records into a table, without issues of which no group could keep a rating."""
    ratings = task.ratings
    rated = np.concatenate([ratings.issues[ratings.starts[i] : ratings.starts[i + 1]] for i in records.tolist()])
    raters = np.bincount(rated, minlength=len(weights))
    needed = task.model.k // 2 + 1 if task.invent else task.model.k
    shown = (raters >= needed) & ~ratings.sensitive
    rows = (records, ratings.starts, ratings.issues, ratings.codes)
    table = dense_codes(*rows, _columns(shown), int(shown.sum()))
    hidden = dense_codes(*rows, _columns(ratings.sensitive), int(ratings.sensitive.sum()))
    return RatingBlock(records, (*rated_columns(table), table, weights[shown], hidden))


def rating_blocks(task: RatingTask, size: int) -> list[NDArray[np.int64]]:
    """Split the records into blocks of at most `size` that have rated the same issues as far as may be.

    Halves are cut again and again by how much more a record shares with one of two others than with the other. Cost O(z
    log(n / size)).
    """
    ratings, finished = task.ratings, []
    pending = [np.arange(ratings.height)]
    weights = np.where(ratings.sensitive, 0.0, 1.0)
    rows = (ratings.starts, ratings.issues)
    while pending:
        records = pending.pop()
        if len(records) <= size:
            finished.append(records)
            continue
        parts = -(-len(records) // size)
        middle = len(records) * (parts // 2) // parts
        one = shared_weight(records[0], records, *rows, weights)
        far = records[np.argmin(one)]
        other = shared_weight(far, records, *rows, weights)
        far_from_that = shared_weight(records[np.argmin(other)], records, *rows, weights)
        order = np.argsort(other - far_from_that, kind="stable")
        pending.extend((records[order[middle:]], records[order[:middle]]))
    return finished


def _columns(chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)


def _sums(values: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    summed = np.append(0, np.cumsum(values))
    found: NDArray[np.int64] = summed[starts[1:]] - summed[starts[:-1]]
    return found


@dataclass(frozen=True, eq=False, repr=False)
class RatingLoss:
    """Changed, removed and invented ratings of the non-sensitive issues.

    The *charge* of a changed rating is by how much it changed; a removed and an invented one are charged r, the
    dissimilarity of a missing and a given rating.

    Attributes
    ----------
    names : tuple of str
        The issues that are counted.
    counts : numpy.ndarray
        int64 (issues, 6), columns as in :mod:`sfumato.kernels.ratings.worth`: steward only, they tell what few people
        rated.
    records : int
        Records before.
    left_out : int
        Records that are not published; their ratings count as removed.
    step, span : float
        Of the scale: one step, and r.
    hidden_removed : int
        Sensitive ratings of the records that are not published. No other sensitive rating is touched.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    records: int
    left_out: int
    step: float
    span: float
    hidden_removed: int = 0

    @property
    def ratings(self) -> int:
        """Ratings before."""
        return self._total(BEFORE)

    @property
    def published(self) -> int:
        """Ratings afterwards, invented ones among them."""
        return self._total(AFTER)

    @property
    def changed(self) -> int:
        """Ratings that are published with another value."""
        return self._total(CHANGED)

    @property
    def removed(self) -> int:
        """Ratings that are not published."""
        return self._total(REMOVED)

    @property
    def invented(self) -> int:
        """Ratings that nobody gave."""
        return self._total(INVENTED)

    @property
    def change(self) -> float:
        """Sum of the changes of ratings that stay, in units of the scale."""
        return self._total(MOVED) * self.step

    @property
    def total(self) -> float:
        """Sum of all charges, in units of the scale."""
        return self.change + self.span * (self.removed + self.invented)

    @property
    def charge(self) -> float:
        """Total ÷ (records × issues × r): between 0 and 1, and small where ratings are sparse."""
        return self.total / (self.records * len(self.names) * self.span) if self.names else 0.0

    @property
    def share(self) -> float:
        """Total ÷ (ratings × r): 0 where all ratings stay, 1 where all are removed, above 1 only by inventing."""
        return self.total / (self.ratings * self.span) if self.ratings else 0.0

    @cached_property
    def issues(self) -> pl.DataFrame:
        """A row for each issue; steward only.

        Columns: ``issue``, ``ratings`` (before), ``published``, ``changed``, ``removed``, ``invented``, ``change``,
        ``share``.
        """
        counts = self.counts
        change = counts[:, MOVED] * self.step
        charges = change + self.span * (counts[:, REMOVED] + counts[:, INVENTED])
        return pl.DataFrame(
            {
                "issue": pl.Series(self.names, dtype=pl.String),
                "ratings": counts[:, BEFORE],
                "published": counts[:, AFTER],
                "changed": counts[:, CHANGED],
                "removed": counts[:, REMOVED],
                "invented": counts[:, INVENTED],
                "change": change,
                "share": charges / np.maximum(counts[:, BEFORE] * self.span, self.span),
            }
        )

    def of(self, issues: Sequence[str]) -> RatingLoss:
        """Return the loss on some issues alone.

        Raises ``InputError`` with every name that is no issue counted here.
        """
        place_of = {name: place for place, name in enumerate(self.names)}
        strangers = [name for name in issues if name not in place_of]
        if strangers:
            raise InputError(*(f"there is no issue {name!r} that is counted; check the spelling" for name in strangers))
        places = np.array([place_of[name] for name in issues], dtype=np.int64)
        fixed = (self.records, self.left_out, self.step, self.span, self.hidden_removed)
        return RatingLoss(tuple(issues), self.counts[places], *fixed)

    def to_dict(self) -> dict[str, object]:
        """Return the totals as plain values, for JSON; nothing about single issues."""
        return {
            "records": self.records,
            "left_out": self.left_out,
            "issues": len(self.names),
            "ratings": self.ratings,
            "published": self.published,
            "changed": self.changed,
            "removed": self.removed,
            "invented": self.invented,
            "change": self.change,
            "charge": self.charge,
            "share": self.share,
        }

    def __repr__(self) -> str:
        """Show the share and the charge."""
        return f"RatingLoss({self})"

    def __str__(self) -> str:
        """Return the totals in a line."""
        parts = [f"{self.removed:,} removed", f"{self.changed:,} changed"]
        parts += [f"{self.invented:,} invented"] if self.invented else []
        parts += [f"{counted(self.left_out, 'record')} left out"] if self.left_out else []
        told = f"{percent(self.share, 3)} of {counted(self.ratings, 'rating')} lost (charge {figure(self.charge, 3)})"
        return f"{told}: {', '.join(parts)}"

    def _total(self, column: int) -> int:
        return int(self.counts[:, column].sum())


def rating_loss(before: Ratings, after: ChangedRatings, left_out: int) -> RatingLoss:
    """Count what was changed; `after` has the records of `before`, in the same order. Cost O(z)."""
    new = after.ratings
    counts = counted_changes(before.issues, before.codes, new.issues, new.codes, after.sources, len(before.names))
    shown = ~before.sensitive
    names = tuple(name for name, is_shown in zip(before.names, shown.tolist(), strict=True) if is_shown)
    scale = before.scale
    hidden = int(counts[before.sensitive, REMOVED].sum())
    return RatingLoss(names, counts[shown], before.height, left_out, scale.step, scale.span, hidden)


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

    In each block of records that rated alike groups are built around the records with most to lose, each time taking in
    the record with which the group keeps most; what is left joins where it costs least. Then records are swapped and
    moved while that pays. With l > 0 too little deviation has a price first; then groups are merged, and swaps go on
    among what deviates enough. Where not even a block deviates enough, some do not satisfy the model yet. Cost O(n ·
    block · ratings of a record).
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
    first, where some are to be kept. Records are never left out. X. Sun, H. Wang, J. Li, J. Pei, "Publishing anonymous
    survey rating data", DMKD 2011, unifies the sets of rated issues and then forms cliques; the order and the ties are
    ours. Cost O(f² m / 64) for f sets, and O(b² m) for the b records of each set after merging.
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

    Records of a group may be proximate to some, but not all, of another. Groups that this harms, and those that they
    touch, publish equal ratings; where that is not enough, a group is merged with the next. All records equal, which is
    tried last, satisfy the model. `start`: ratings that have been changed before.
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
    """Bring ratings back towards what they were where every record still has k around it, also of other groups.

    Where sensitive ratings must deviate, or groups are trimmed, others around one can do harm, and nothing is taken
    back. Cost O(n · 1,024 · issues of a record) at most.
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
    """Return whole groups that rate the same issues, not many at a time: within one everybody has k around."""
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
    """Ratings in random order; `origin`, int64 (n,): the number of each published record in the input, from 0."""

    ratings: Ratings
    origin: NDArray[np.int64]


def shuffle_ratings(ratings: Ratings, seed: int | None) -> _ShuffledRatings:
    """Sort issues by name and records by what they hold, then bring these into random order; a seed repeats it."""
    by_content, origin = order_ratings(ratings)
    order = permutation(ratings.height, seed)
    return _ShuffledRatings(by_content.take(order), origin[order])


_ATTEMPTS = 4
"""Times that groups are searched for so that every issue that is to stay does; each time, lost ones count more."""


@check_arguments
def anonymize_ratings(
    ratings: Ratings,
    model: RatingPolicy | RatingAnonymity,
    *,
    method: Method = "groups",
    invent: bool = False,
    keep: Count | None = None,
    suppression_limit: Annotated[float, Limit(0, 1, below=True)] = 0.0,
    times: bool = False,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> RatingRelease:
    """Change ratings of non-sensitive issues as little as possible so that (k, ε, l)-anonymity holds, and decide that.

    Records are put into groups of at least k. The members of a group publish ratings of the same issues, those that all
    of them rated, within a window of ε; all other ratings are removed. Sensitive ratings are never changed.

    Parameters
    ----------
    ratings
        As :func:`sfumato.read_ratings` returns them.
    model
        What is to hold; or the policy that says it with all of `method` to `times`, which are left out then.
    method
        ``"groups"`` searches for the groups that can keep most. ``"plan"`` is the baseline of the literature.
    invent
        Whether records may be given ratings that they never gave, where more than half of their group rated an issue
        and that costs less than removing it from the others. Off by default: a published rating says that somebody
        gave it.
    keep
        So many of the most rated non-sensitive issues are to stay published: when groups are chosen, a rating of theirs
        counts 1,000 times one of the others, and each of them keeps ratings of one group at least. That does not keep
        every rating. With ``method="plan"``, which knows no such weights, all other issues are dropped, and an issue
        may lose all its ratings.
    suppression_limit
        Share of the records that may be left out whole, where the others keep more then; from 0 up to, not including,
        1. The plan leaves none out.
    times
        Whether to publish when ratings were given, if that was read. No model bounds what an attacker learns from it.
    seed
        For tests and studies: the same ratings, in any order, and seed give the same release. None draws the order of
        the records, and with it ties, from the operating system's randomness.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    RatingRelease

    Raises
    ------
    PolicyError
        With every setting that is none, or that a policy says otherwise.
    UnsatisfiableError
        When not even all records as one group satisfy the model, or an issue that is to stay cannot.

    Notes
    -----
    Guarantee: that of :class:`sfumato.RatingAnonymity`, decided on the published ratings by
    :func:`sfumato.check_ratings` before they are returned. Ratings that satisfy the model as they are stay as they are.
    The least charge is not found for certain. Memory: those of a block of about 1,000 records as a table, for each
    thread, and the ratings a few times.
    """
    said: dict[str, Any] = {
        "method": method,
        "invent": invent,
        "keep": keep,
        "suppression_limit": suppression_limit,
        "times": times,
    }
    if isinstance(model, RatingPolicy):
        raise_all(PolicyError, _contradictions(model, said))
        policy = model
    else:
        policy = RatingPolicy.of(model, **said)
    wanted = policy.to_model()
    raise_all(PolicyError, _misfits(ratings, wanted, policy.change))
    run = _Run(seed, thread_count(policy.threads if threads is None else threads), progress or shown)
    return _released(ratings, wanted, policy, run)


@dataclass(frozen=True)
class _Run:
    """How to run, which no policy says."""

    seed: int | None
    threads: int
    progress: Progress


def _released(ratings: Ratings, model: RatingAnonymity, policy: RatingPolicy, run: _Run) -> RatingRelease:
    """Make the release of a policy whose settings have been checked; `model` is its own."""
    change = policy.change
    # Settled by all that records hold, as attacks settle them, times that are not published among it.
    order = shuffle_ratings(ratings, run.seed)
    ratings = order.ratings if change.times else replace(order.ratings, times=None)
    kept = most_rated(ratings, change.keep or 0)
    may_leave = math.floor(policy.suppression_limit * ratings.height + 1e-9) if change.method == "groups" else 0
    task = RatingTask(ratings, model, change.invent, kept, may_leave, run.threads, run.progress)
    _refuse_unsatisfiable(task)
    changed, groups, answer = _solved(task, change.method)
    shown = np.flatnonzero(groups.group_of >= 0)
    return RatingRelease(
        answer.question.ratings,
        answer,
        rating_loss(ratings, changed, groups.left_out),
        tuple(np.array(ratings.names, dtype=object)[kept].tolist()),
        change.method,
        order.origin[shown],
        _notes(task, groups, changed),
        policy,
    )


def _settings(policy: RatingPolicy) -> dict[str, Any]:
    """Return the settings of a policy under the names that a call gives them."""
    return {**policy.change.model_dump(), "suppression_limit": policy.suppression_limit}


def _contradictions(policy: RatingPolicy, said: Mapping[str, Any]) -> list[str]:
    """Name every setting that a call says otherwise than its policy; a default says nothing."""
    defaults = {name: each.default for name, each in signature(anonymize_ratings).parameters.items()}
    return [
        f"{name}: the policy says another one than the call; say it in one place"
        for name, meant in _settings(policy).items()
        if said[name] not in (defaults[name], meant)
    ]


def _solved(task: RatingTask, method: Method) -> tuple[ChangedRatings, ProximityGroups, Satisfaction]:
    as_they_are = check_ratings(task.ratings, task.model, threads=task.threads)
    if as_they_are.holds:
        places = np.arange(len(task.ratings.issues))
        one = ProximityGroups(np.zeros(task.ratings.height, dtype=np.int64), np.zeros(1, dtype=np.bool_))
        return ChangedRatings(task.ratings, places), one, as_they_are
    if method == "plan":
        return settle_ratings(task, *group_by_plan(task))
    return _with_all_kept(task)


def _with_all_kept(task: RatingTask) -> tuple[ChangedRatings, ProximityGroups, Satisfaction]:
    """Search for groups until every issue that is to stay does; lost ones count ten times as much the next time."""
    favored = np.zeros(len(task.kept), dtype=np.int64)
    for _ in range(_ATTEMPTS):
        found = settle_ratings(task, None, group_by_loss(task, column_weights(task, favored)))
        lost = task.kept & (task.ratings.raters > 0) & (found[0].ratings.raters == 0)
        if not lost.any():
            return relax_ratings(task, *found)
        favored += lost
    raise UnsatisfiableError(
        f"{counted(int(lost.sum()), 'issue')} that should stay would lose all ratings in groups of {task.model.k}; "
        "lower keep or k, or allow to invent ratings"
    )


def _refuse_unsatisfiable(task: RatingTask) -> None:
    """Raise what keeps even all records as one group from satisfying the model."""
    ratings, model = task.ratings, task.model
    problems = []
    if ratings.height < model.k:
        problems.append(
            f"there are {counted(ratings.height, 'record')}, fewer than k = {model.k}; lower k, or add records"
        )
    everybody = _spread_of_all(ratings, model) if model.l > 0 else None
    if everybody is not None and everybody < model.l - 1e-12:
        problems.append(
            f"among all records, a sensitive issue deviates by {figure(everybody)} only, less than l = "
            f"{figure(model.l)}; lower l, or choose other sensitive issues"
        )
    raise_all(UnsatisfiableError, problems)


def _spread_of_all(ratings: Ratings, model: RatingAnonymity) -> float:
    """Return the smallest deviation of a sensitive issue among all records."""
    from_all = replace(model, k=1, epsilon=ratings.scale.span, group="ball")
    return float(check_ratings(ratings, from_all).measures.spreads[0])


def _notes(task: RatingTask, groups: ProximityGroups, changed: ChangedRatings) -> tuple[str, ...]:
    if changed.ratings is task.ratings:
        return ("nothing was changed: the ratings satisfy the model as they are", *_time_notes(changed))
    found = [f"{counted(groups.count, 'group')} of {figure(np.count_nonzero(groups.group_of >= 0) / groups.count, 3)}"]
    return (*found, *_time_notes(changed), *_kept_notes(task, changed))


def _time_notes(changed: ChangedRatings) -> list[str]:
    if changed.ratings.times is None:
        return []
    return ["times of ratings are published, and no model bounds what an attacker learns from them"]


def _kept_notes(task: RatingTask, changed: ChangedRatings) -> list[str]:
    lost = int(np.count_nonzero(task.kept & (changed.ratings.raters == 0)))
    return [f"{counted(lost, 'issue')} that should stay lost all ratings"] if lost else []


def _misfits(ratings: Ratings, model: RatingAnonymity, change: Change) -> list[str]:
    """Return a sentence for every pair of settings that do not go together."""
    found = []
    public = int(np.count_nonzero(~ratings.sensitive))
    if model.l > 0 and not ratings.sensitive.any():
        found.append("l asks how far sensitive ratings deviate, but no issue is sensitive; choose some, or drop l")
    if change.keep is not None and change.keep > public:
        found.append(f"keep is {change.keep}, but there are only {counted(public, 'issue')} that are not sensitive")
    if change.times and ratings.times is None:
        found.append("times were not read; name their column when reading, or leave times out")
    if change.times and change.invent:
        found.append("invented ratings have no times; publish either")
    if change.method == "plan" and ratings.height * len(ratings.names) > MOST_CELLS:
        found.append("method='plan' is for study and takes no more than 2 billion records × issues; take 'groups'")
    return found

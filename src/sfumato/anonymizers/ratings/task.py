"""What a method is asked that makes ratings anonymous: blocks of alike records, groups to be proximate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.ratings.rows import shared_weight
from sfumato.kernels.ratings.worth import dense_codes, published_rows, published_windows, rated_columns
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.progress import Progress, silent
from sfumato.published.checks.ratings.measures import NULLS, ProximityQuery
from sfumato.table.ratings.ratings import Ratings

Method = Literal["groups", "plan"]
"""How ratings are made anonymous: groups that keep most, or the baseline of the literature."""

_KEPT_WEIGHT = 1000
"""What a rating of an issue that is to stay counts against one of the others, while groups are searched for."""

STRICT = 1e15
"""A price that no worth makes up for."""


@dataclass(frozen=True, eq=False, repr=False)
class RatingTask:
    """Ratings, the model, and what may be done.

    * `ratings`: in the order of :func:`~sfumato.anonymizers.ratings.grouping.shuffle_ratings`.
    * `model`: ε is smaller than r.
    * `invent`: whether ratings may be invented.
    * `kept`, bool (m,): issues that are to stay published.
    * `may_leave`: records that may be left out.
    """

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
    """Which records are made proximate to each other.

    Letters: n records, G groups.

    `group_of`, int64 (n,): the group of each record, ``0 .. G-1``, no group being empty; −1 for records that are left
    out. `is_equal`, bool (G,): groups whose members are to publish equal ratings, rather than ratings within a window
    of ε.
    """

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
    """Give groups numbers from 0 in the order of `numbers`, −1 being none.

    `numbers`: (n,): any number for each group. `is_equal`: for each number, whether its members are to publish equal
    ratings; nobody by default.
    """
    used, group_of = np.unique(numbers[numbers >= 0], return_inverse=True)
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[numbers >= 0] = group_of
    return ProximityGroups(found, np.zeros(len(used), dtype=np.bool_) if is_equal is None else is_equal[used])


@dataclass(frozen=True, eq=False, repr=False)
class ChangedRatings:
    """Ratings after a change, and where each comes from.

    `ratings`: as many records as before; those that are left out have no rating. `sources`, int64 (z,): the number of
    each rating before, −1 where it is invented.
    """

    ratings: Ratings
    sources: NDArray[np.int64]


def unify_ratings(ratings: Ratings, groups: ProximityGroups, steps: int, invent: bool) -> ChangedRatings:
    """Make the members of each group proximate at the least charge.

    An issue that all members rated is published, each rating brought into the window of `steps` that changes least; of
    windows that change the same the middle one. An issue that some rated is dropped; where inventing is allowed and
    charged less, the others are given the median of the raters' ratings (half up, and inside the window). Sensitive
    ratings stay. `ratings`, `groups`: of the same records. `steps`: how many steps of the scale the members may be
    apart. `invent`: whether ratings may be invented. Cost O(z log z).
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
    """Some records as the kernels take them.

    `records`, int64 (b,). `arrays`: what :func:`~sfumato.kernels.ratings.worth.group_worth` calls a block.
    """

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
    """Return what a rating of each issue counts; int64 (m,).

    favored : int64 (m,), how often an issue that is to stay was lost.
    """
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

    Halves are cut again and again by how much more a record shares with one of two others than with the other. Cost
    O(z log(n / size)).
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

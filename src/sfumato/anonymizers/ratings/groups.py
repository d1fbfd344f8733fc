"""Groups of records that are to become proximate, and the ratings that they then publish."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.ratings.unify import published_rows, published_windows
from sfumato.table.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class ProximityGroups:
    """Which records are made proximate to each other.

    Letters: n records, G groups.

    Attributes
    ----------
    group_of : numpy.ndarray
        int64 (n,): the group of each record, ``0 .. G-1``, no group being empty; −1 for records that are left out.
    is_equal : numpy.ndarray
        bool (G,): groups whose members are to publish equal ratings, rather than ratings within a window of ε.
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

    Parameters
    ----------
    numbers
        (n,): any number for each group.
    is_equal
        For each number, whether its members are to publish equal ratings; nobody by default.
    """
    used, group_of = np.unique(numbers[numbers >= 0], return_inverse=True)
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[numbers >= 0] = group_of
    return ProximityGroups(found, np.zeros(len(used), dtype=np.bool_) if is_equal is None else is_equal[used])


@dataclass(frozen=True, eq=False, repr=False)
class ChangedRatings:
    """Ratings after a change, and where each comes from.

    Attributes
    ----------
    ratings : Ratings
        As many records as before; those that are left out have no rating.
    sources : numpy.ndarray
        int64 (z,): the number of each rating before, −1 where it is invented.
    """

    ratings: Ratings
    sources: NDArray[np.int64]


def unified(ratings: Ratings, groups: ProximityGroups, steps: int, invent: bool) -> ChangedRatings:
    """Make the members of each group proximate at the least charge.

    An issue that all members rated is published, each rating brought into the window of `steps` that changes least; of
    windows that change the same the middle one. An issue that some rated is dropped; where inventing is allowed and
    charged less, the others are given the median of the raters' ratings (half up, and inside the window). Sensitive
    ratings stay.

    Parameters
    ----------
    ratings, groups
        Of the same records.
    steps
        How many steps of the scale the members may be apart.
    invent
        Whether ratings may be invented.

    Notes
    -----
    Cost O(z log z).
    """
    given = (ratings.starts, ratings.issues, ratings.codes, ratings.sensitive)
    widths = np.where(groups.is_equal, 0, steps).astype(np.int64)
    firsts, members = groups.rows()
    row_starts, shown, windows = published_windows(firsts, members, *given, widths, ratings.scale.size, invent)
    starts, issues, codes, origin = published_rows(firsts, members, *given, widths, row_starts, shown, windows)
    times = None if ratings.times is None else ratings.times.gather(pl.Series(origin).replace(-1, None))
    return ChangedRatings(replace(ratings, starts=starts, issues=issues, codes=codes, times=times), origin)

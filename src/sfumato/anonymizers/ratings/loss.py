"""What making ratings anonymous cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.task import ChangedRatings
from sfumato.errors import InputError
from sfumato.kernels.ratings.worth import AFTER, BEFORE, CHANGED, INVENTED, MOVED, REMOVED, counted_changes
from sfumato.numbers import counted, figure, percent
from sfumato.table.ratings.ratings import Ratings


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

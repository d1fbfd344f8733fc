"""Two simple recommenders, and how far their predictions are off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ratings.recommend import learn_deviations, predict_from_neighbours

SHRINK = 10.0
"""Number of ratings with deviation or similarity 0 that are assumed beforehand."""

NEIGHBOURS = 20
"""Number of similar issues from which a prediction is made."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownRatings:
    """Ratings to learn from, or to predict.

    Attributes
    ----------
    users, issues : numpy.ndarray
        int64 (z,).
    values : numpy.ndarray
        float64 (z,).
    """

    users: NDArray[np.int64]
    issues: NDArray[np.int64]
    values: NDArray[np.float64]

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> KnownRatings:
        """Return some of the ratings."""
        return KnownRatings(self.users[places], self.issues[places], self.values[places])


def predictions(known: KnownRatings, wanted: KnownRatings, users: int, issues: int) -> dict[str, NDArray[np.float64]]:
    """Predict ratings with three methods that learn from `known`.

    Parameters
    ----------
    known
        At least one rating.
    wanted
        Users and issues whose ratings are predicted; its values are ignored. Sorted by issue.
    users, issues
        Number of users and of issues.

    Returns
    -------
    dict
        float64 (t,) for ``"mean"``, the mean of all ratings; ``"deviations"``, which adds how much the issue and the
        user deviate from it; ``"neighbours"``, which adds how the user rated the most similar issues.
    """
    mean = float(known.values.mean())
    of_users, of_issues = learn_deviations(known.users, known.issues, known.values, users, issues, mean, SHRINK)
    baseline = mean + of_users[wanted.users] + of_issues[wanted.issues]
    left = known.values - mean - of_users[known.users] - of_issues[known.issues]
    by_user = np.argsort(known.users, kind="stable")
    by_issue = np.argsort(known.issues, kind="stable")
    added = predict_from_neighbours(
        wanted.users,
        wanted.issues,
        _starts(known.users, users),
        known.issues[by_user],
        left[by_user],
        _starts(known.issues, issues),
        known.users[by_issue],
        left[by_issue],
        SHRINK,
        NEIGHBOURS,
    )
    return {"mean": np.full(len(wanted.users), mean), "deviations": baseline, "neighbours": baseline + added}


def errors(predicted: NDArray[np.float64], values: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Return the root of the mean square error and the mean absolute error, with predictions clipped to the scale."""
    off = np.clip(predicted, low, high) - values
    return float(np.sqrt(np.mean(off**2))), float(np.mean(np.abs(off)))


def _starts(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(np.bincount(numbers, minlength=count))).astype(np.int64)

"""What anonymous ratings keep: issues, their correlations, and what two simple recommenders can predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.ratings.rows import learn_deviations, predict_from_neighbours
from sfumato.kinds.ratings.ratings import Ratings
from sfumato.kinds.ratings.release import RatingRelease
from sfumato.numbers import counted, figure
from sfumato.options import Limit, Seed, check_arguments
from sfumato.randomness import permutation

_MOST_HELD_OUT = 20_000
"""Most ratings that are predicted."""

_CORRELATED = 100  # most rated issues

_FEWEST_PAIRS = 10  # records that rated both


@dataclass(frozen=True, eq=False, repr=False)
class RatingUtility:
    """What ratings keep; made by :func:`sfumato.rating_utility`. It was counted on the original: for the steward.

    Attributes
    ----------
    issues : polars.DataFrame
        A row for each issue that somebody had rated: ``issue``, ``ratings``, ``published`` (numbers of ratings),
        ``mean``, ``published_mean``, ``distance`` between the two distributions (half the sum of the differences
        of the shares of each rating: 1 at most); the last two are null where nothing is published.
    correlations : polars.DataFrame
        A row for each pair of the 100 most rated issues that at least 10 records rated both: ``issue``, ``other``,
        ``correlation``, ``published`` (null where fewer than 10 published records rate both, or do not vary).
    recommenders : polars.DataFrame
        ``method``, ``learned_from`` (``"original"``, ``"release"``), ``rmse``, ``mae`` on ratings that were held out.
    held_out : int
        Number of ratings that were held out.
    """

    issues: pl.DataFrame
    correlations: pl.DataFrame
    recommenders: pl.DataFrame
    held_out: int

    @property
    def published_issues(self) -> int:
        """Issues of which a rating is published."""
        return int((self.issues["published"] > 0).sum())

    @property
    def mean_difference(self) -> float | None:
        """Return the mean absolute difference of issues' means, weighted by published ratings; None without any."""
        off = (self.issues["mean"] - self.issues["published_mean"]).abs()
        return _weighted(off, self.issues["published"])

    @property
    def distance(self) -> float | None:
        """Return the mean distance of issues' distributions, weighted by published ratings."""
        return _weighted(self.issues["distance"], self.issues["published"])

    @property
    def correlation_difference(self) -> float | None:
        """Return the mean absolute difference of the correlations that can still be computed."""
        off = (self.correlations["correlation"] - self.correlations["published"]).abs().drop_nulls()
        return float(off.to_numpy().mean()) if len(off) else None

    def to_dict(self) -> dict[str, object]:
        """Return the totals as plain values, for JSON."""
        return {
            "issues": self.issues.height,
            "published_issues": self.published_issues,
            "mean_difference": self.mean_difference,
            "distance": self.distance,
            "correlations": self.correlations.height,
            "published_correlations": self.correlations.height - self.correlations["published"].null_count(),
            "correlation_difference": self.correlation_difference,
            "held_out": self.held_out,
            "recommenders": self.recommenders.to_dicts(),
        }

    def __repr__(self) -> str:
        """Show how much there is."""
        return f"RatingUtility({self.published_issues} of {counted(self.issues.height, 'issue')} published)"

    def __str__(self) -> str:
        """Return the totals in a few lines."""
        left = self.correlations.height - self.correlations["published"].null_count()
        lines = [
            f"{self.published_issues:,} of {counted(self.issues.height, 'issue')} published; means off by "
            f"{_in_words(self.mean_difference)}, distributions by {_in_words(self.distance)}",
            f"{left:,} of {counted(self.correlations.height, 'correlation')} left, off by "
            f"{_in_words(self.correlation_difference)}",
        ]
        errors_of = {(row[0], row[1]): row[2] for row in self.recommenders.rows()}
        for method in dict.fromkeys(self.recommenders["method"]):
            was, now = errors_of[method, "original"], errors_of[method, "release"]
            lines.append(
                f"{method}: error {figure(was, 4)} learned from the original, {figure(now, 4)} from the release"
            )
        return "\n".join(lines)


@check_arguments
def rating_utility(
    original: Ratings,
    release: RatingRelease,
    *,
    held_out: Annotated[float, Limit(0, 1, above=True, below=True)] = 0.1,
    seed: Seed = None,
) -> RatingUtility:
    """Compare published ratings with the original ones.

    Parameters
    ----------
    original
        The ratings that the release was made from.
    release
        As :func:`sfumato.anonymize_ratings` returns it.
    held_out
        Share of the original ratings that is predicted, above 0 and below 1; at most 20,000 ratings.
    seed
        For tests and studies; None draws what is held out from the operating system's randomness.

    Returns
    -------
    RatingUtility

    Raises
    ------
    PolicyError
        When a setting is invalid, the release was made from other ratings, or there are fewer than two ratings.

    Notes
    -----
    *Recommenders.* Original ratings are drawn and held out. One recommender learns from the other original ratings, one
    from the published ratings except those of the same person and issue. Both predict what was held out; a person who
    is not published has no ratings to learn from. Cost O(z log z + held out · ratings of a user · raters of an issue).
    """
    raise_all(PolicyError, _problems(original, release))
    before = _known(original, np.arange(original.height), original.names)
    after = _known(release.ratings, release.origin, original.names)
    wanted = np.sort(permutation(len(before.values), seed)[: _count(held_out, len(before.values))])
    tables = [_shares(known, original) for known in (before, after)]
    return RatingUtility(
        _issues(original, *tables),
        _correlations(original, before, after),
        _recommenders(original, before, after, wanted),
        len(wanted),
    )


def _problems(original: Ratings, release: RatingRelease) -> Iterator[str]:
    if set(original.names) != set(release.ratings.names) or original.height != release.loss.records:
        yield "the release was not made from these ratings; give those that it was made from"
    if len(original.issues) < 2:
        yield "there are fewer than two ratings; nothing can be learned and predicted"


def _count(share: float, ratings: int) -> int:
    return min(max(1, int(share * ratings)), ratings - 1, _MOST_HELD_OUT)


def _known(ratings: Ratings, user_of: NDArray[np.integer], names: tuple[str, ...]) -> KnownRatings:
    """Return ratings with the numbers that users and issues have in the original."""
    place_of = {name: place for place, name in enumerate(names)}
    issue_of = np.array([place_of[name] for name in ratings.names], dtype=np.int64)
    users = np.repeat(np.asarray(user_of, dtype=np.int64), np.diff(ratings.starts))
    return KnownRatings(users, issue_of[ratings.issues], ratings.scale.values()[ratings.codes])


def _shares(known: KnownRatings, original: Ratings) -> NDArray[np.int64]:
    """Count the ratings of each issue; int64 (m, size of the scale)."""
    size = original.scale.size
    codes = original.scale.codes(known.values)
    counts = np.bincount(known.issues * size + codes, minlength=len(original.names) * size)
    return counts.reshape(-1, size).astype(np.int64)


def _issues(original: Ratings, before: NDArray[np.int64], after: NDArray[np.int64]) -> pl.DataFrame:
    given, published = before.sum(axis=1), after.sum(axis=1)
    values = original.scale.values()
    with np.errstate(invalid="ignore"):
        means = [counts @ values / counts.sum(axis=1) for counts in (before, after)]
        distance = np.abs(before / given[:, None] - after / published[:, None]).sum(axis=1) / 2
    frame = pl.DataFrame(
        {
            "issue": pl.Series(original.names, dtype=pl.String),
            "ratings": given,
            "published": published,
            "mean": means[0],
            "published_mean": means[1],
            "distance": distance,
        }
    )
    return frame.filter(pl.col("ratings") > 0).with_columns(pl.col("mean", "published_mean", "distance").fill_nan(None))


def _correlations(original: Ratings, before: KnownRatings, after: KnownRatings) -> pl.DataFrame:
    chosen = np.argsort(-original.raters, kind="stable")[:_CORRELATED]
    was, now = (_correlation(known, chosen, original) for known in (before, after))
    one, other = np.nonzero(np.triu(np.isfinite(was), 1))
    names = pl.Series(original.names, dtype=pl.String)
    return pl.DataFrame(
        {
            "issue": names.gather(chosen[one]),
            "other": names.gather(chosen[other]),
            "correlation": was[one, other],
            "published": pl.Series(now[one, other]).fill_nan(None),
        }
    )


def _correlation(known: KnownRatings, chosen: NDArray[np.int64], original: Ratings) -> NDArray[np.float64]:
    """Return the correlations of some issues over the records that rated both; NaN if they do not vary."""
    column_of = np.full(len(original.names), -1, dtype=np.int64)
    column_of[chosen] = np.arange(len(chosen))
    some = known.at(column_of[known.issues] >= 0)
    values, rated = np.zeros((2, original.height, len(chosen)), dtype=np.float64)
    # Relative to the middle of the scale, so that little is lost in the differences of the sums.
    values[some.users, column_of[some.issues]] = some.values - (original.scale.low + original.scale.high) / 2
    rated[some.users, column_of[some.issues]] = 1
    both, sums, squares = rated.T @ rated, values.T @ rated, (values**2).T @ rated
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(squares - sums**2 / both, 0)
        found = (values.T @ values - sums * sums.T / both) / np.sqrt(spread * spread.T)
        tells = (both >= _FEWEST_PAIRS) & (np.minimum(spread, spread.T) > 1e-9 * both)
    correlation: NDArray[np.float64] = np.where(tells, found, np.nan)
    return correlation


def _recommenders(
    original: Ratings, before: KnownRatings, after: KnownRatings, held_out: NDArray[np.int64]
) -> pl.DataFrame:
    users, issues = original.height, len(original.names)
    wanted = before.at(held_out)
    wanted = wanted.at(np.argsort(wanted.issues, kind="stable"))
    taken = wanted.users * issues + wanted.issues
    stays = np.ones(len(before.values), dtype=np.bool_)
    stays[held_out] = False
    left = after.at(~np.isin(after.users * issues + after.issues, taken))
    rows = []
    for learned_from, known in (("original", before.at(stays)), ("release", left)):
        if len(known.values):
            found = predict_ratings(known, wanted, users, issues)
        else:
            middle = (original.scale.low + original.scale.high) / 2
            found = dict.fromkeys(("mean", "deviations", "neighbours"), np.full(len(held_out), middle))
        for method, predicted in found.items():
            off = errors(predicted, wanted.values, original.scale.low, original.scale.high)
            rows.append((method, learned_from, *off))
    return pl.DataFrame(rows, schema=["method", "learned_from", "rmse", "mae"], orient="row")


def _weighted(values: pl.Series, weights: pl.Series) -> float | None:
    known = values.is_not_null() & (weights > 0)
    if not known.any():
        return None
    return float(np.average(values.filter(known).to_numpy(), weights=weights.filter(known).to_numpy()))


def _in_words(value: float | None) -> str:
    return "nothing to compare" if value is None else figure(value, 3)


_SHRINK = 10.0
"""Number of ratings with deviation or similarity 0 that are assumed beforehand."""

_NEIGHBOURS = 20
"""Number of similar issues from which a prediction is made."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownRatings:
    """Ratings to learn from, or to predict. `users`, `issues`: int64 (z,). `values`: float64 (z,)."""

    users: NDArray[np.int64]
    issues: NDArray[np.int64]
    values: NDArray[np.float64]

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> KnownRatings:
        """Return some of the ratings."""
        return KnownRatings(self.users[places], self.issues[places], self.values[places])


def predict_ratings(
    known: KnownRatings, wanted: KnownRatings, users: int, issues: int
) -> dict[str, NDArray[np.float64]]:
    """Predict ratings of `wanted`, sorted by issue, with three methods that learn from `known`; float64 (t,) each.

    ``"mean"`` of all; ``"deviations"``, which adds how much the issue and the user deviate from it; ``"neighbours"``,
    which adds how the user rated the most similar issues.
    """
    mean = float(known.values.mean())
    of_users, of_issues = learn_deviations(known.users, known.issues, known.values, users, issues, mean, _SHRINK)
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
        _SHRINK,
        _NEIGHBOURS,
    )
    return {"mean": np.full(len(wanted.users), mean), "deviations": baseline, "neighbours": baseline + added}


def errors(predicted: NDArray[np.float64], values: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Return the root of the mean square error and the mean absolute error, with predictions clipped to the scale."""
    off = np.clip(predicted, low, high) - values
    return float(np.sqrt(np.mean(off**2))), float(np.mean(np.abs(off)))


def _starts(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(np.bincount(numbers, minlength=count))).astype(np.int64)

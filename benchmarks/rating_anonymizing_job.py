"""Making ratings anonymous: what groups lose against the plan of the literature, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sfumato as sf
from benchmarks.measuring import Cost, run_here
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "ratings-anonymous"
FILE = "ratings.csv.gz"
STARS = sf.ratings.Scale(0.5, 5, 0.5)
KEPT = 50

CASES: dict[str, tuple[int, sf.ratings.RatingAnonymity, dict[str, Any]]] = {
    "(3, 1, 0.5), the most rated sensitive": (1, sf.ratings.RatingAnonymity(3, 1, 0.5), {}),
    "(3, 1, 0.5), 3 most rated sensitive": (3, sf.ratings.RatingAnonymity(3, 1, 0.5), {}),
    "(3, 1)": (0, sf.ratings.RatingAnonymity(3, 1), {}),
    "(3, 1), inventing": (0, sf.ratings.RatingAnonymity(3, 1), {"invent": True}),
}
"""How many of the most rated issues are sensitive, what is asked, and what is allowed."""


def run(settings: Settings) -> Iterator[Figure]:
    """Anonymize MovieLens' small set with both methods, the most rated issues being kept."""
    path = None if settings.data is None else settings.data / "ml-latest-small" / FILE
    if path is None or not path.is_file():
        raise SkippedJob(f"{FILE} is not here; put it into FOLDER/ml-latest-small and set SFUMATO_DATA=FOLDER")
    ratings = sf.ratings.read_ratings(path, scale=STARS)
    for what, (count, model, options) in CASES.items():
        chosen = sf.ratings.SensitiveIssues(share=count / len(ratings.names), drawn="most-rated") if count else ()
        yield from compared(what, ratings.with_sensitive(chosen), model, options)


def compared(
    what: str, ratings: sf.ratings.Ratings, model: sf.ratings.RatingAnonymity, options: dict[str, Any], keep: int = KEPT
) -> Iterator[Figure]:
    """Give the losses of groups as shares of those of the plan, on all issues and on the kept ones."""
    (cost, groups), (other, plan) = (
        _released(ratings, model, method=method, keep=keep, **options) for method in ("groups", "plan")
    )
    told = f"{groups.loss} [{cost}] against {plan.loss} [{other}]"
    ratio = groups.loss.total / plan.loss.total
    text = f"{ratio:.3f} ({groups.loss.share:.1%} against {plan.loss.share:.1%})"
    yield Figure(NAME, f"{what}: loss ÷ that of the plan", ratio, text, 1, True, told)
    assert groups.kept_loss is not None
    assert plan.kept_loss is not None
    ratio = groups.kept_loss.total / plan.kept_loss.total
    text = f"{ratio:.3f} ({groups.kept_loss.share:.1%} against {plan.kept_loss.share:.1%})"
    told = f"{groups.kept_loss} against {plan.kept_loss}"
    yield Figure(NAME, f"{what}: the same on the {keep} most rated", ratio, text, 1, True, told)
    yield from predicted(what, ratings, groups)


def predicted(what: str, ratings: sf.ratings.Ratings, release: sf.ratings.RatingRelease) -> Iterator[Figure]:
    """Give the error of predictions learned from a release against that of those learned from the original."""
    kept = sf.ratings.rating_utility(ratings, release, seed=1)
    errors = {(method, source): rmse for method, source, rmse, _ in kept.recommenders.rows()}
    for method in ("deviations", "neighbours"):
        was, now = errors[method, "original"], errors[method, "release"]
        yield Figure(NAME, f"{what}: error of {method} ÷ the original's", now / was, f"{now:.3f} against {was:.3f}")


def _released(
    ratings: sf.ratings.Ratings, model: sf.ratings.RatingAnonymity, **options: Any
) -> tuple[Cost, sf.ratings.RatingRelease]:
    return run_here(lambda: sf.ratings.anonymize_ratings(ratings, model, seed=1, **options))

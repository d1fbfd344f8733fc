"""Attacking ratings: what the scoring attack finds before and after, and what it takes on many people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sfumato as sf
from benchmarks.measuring import run_here
from benchmarks.rating_anonymizing_job import FILE, KEPT, STARS
from benchmarks.ratings_data import long_tailed
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings

NAME = "ratings-attack"
MODEL = sf.ratings.RatingAnonymity(3, 1)
SHAPE = (40_000, 8_000, 4_000_000)
"""Users, issues and ratings of the large set."""

CASES: dict[str, dict[str, Any]] = {
    "8 ratings": {"known": 8},
    "8 ratings within 1": {"known": 8, "error": 1},
    "8 of popular issues": {"known": 8, "issues": "popular"},
    "4 of rare issues within 1": {"known": 4, "error": 1, "issues": "rare"},
}
"""What the attacker knows."""


def run(settings: Settings) -> Iterator[Figure]:
    """Attack MovieLens' small set before and after, and a large one that is made up."""
    path = None if settings.data is None else settings.data / "ml-latest-small" / FILE
    if path is None or not path.is_file():
        raise SkippedJob(f"{FILE} is not here; put it into FOLDER/ml-latest-small and set SFUMATO_DATA=FOLDER")
    yield from before_and_after(sf.ratings.read_ratings(path, scale=STARS), MODEL, KEPT)
    yield from on_many(long_tailed(*SHAPE))


def before_and_after(ratings: sf.ratings.Ratings, model: sf.ratings.RatingAnonymity, keep: int) -> Iterator[Figure]:
    """Give the people found in a release ÷ those found in the original, for each attacker."""
    release = sf.ratings.anonymize_ratings(ratings, model, keep=keep, seed=1)
    for what, options in CASES.items():
        found = sf.ratings.attack_ratings(ratings, release, victims=None, seed=1, **options)
        assert found.after is not None
        before, after = found.before.found.share, found.after.found.share
        ratio = after / before if before else 0.0
        control = f"control group named {found.before.control.share:.1%}, then {found.after.control.share:.1%}"
        yield Figure(NAME, f"{what}: found ÷ found before", ratio, f"{after:.1%} after {before:.1%}", detail=control)


def on_many(ratings: sf.ratings.Ratings, people: int = 10_000) -> Iterator[Figure]:
    """Give the share of a made-up set's people that are found, and tell what that takes."""
    sf.ratings.attack_ratings(ratings, victims=1, seed=1)
    cost, found = run_here(lambda: sf.ratings.attack_ratings(ratings, error=1, victims=people, seed=1))
    share = found.before.found.share
    size = f"{found.people:,} victims among {ratings.height:,} users with {len(ratings.issues):,} ratings: {cost}"
    yield Figure(NAME, "made-up ratings, 8 within 1: found", share, f"{share:.1%}", detail=size)

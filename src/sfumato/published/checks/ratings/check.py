"""The satisfaction problem: whether ratings, as they are, satisfy (k, ε, l)-anonymity."""

from __future__ import annotations

from typing import Literal, get_args

from sfumato.errors import PolicyError, raise_all
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.progress import Progress, silent, thread_count
from sfumato.published.checks.ratings.mask_search import by_masks
from sfumato.published.checks.ratings.measures import ProximityQuery, Search
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.published.checks.ratings.study_searches import pairwise, slicing
from sfumato.table.ratings.ratings import Ratings

SearchName = Literal["masks", "slicing", "pairwise"]

SEARCHES: dict[SearchName, Search] = {"masks": by_masks, "slicing": slicing, "pairwise": pairwise}
"""Searches by name; all find the same answer."""


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
    Cost: that of the search, see :mod:`sfumato.published.checks.ratings.mask_search`. With l = 0 (and ``group="ball"``)
    counting around a record stops at k.
    """
    problems = []
    if not isinstance(ratings, Ratings):
        problems.append("ratings must be Ratings; read them with sfumato.read_ratings(...)")
    if not isinstance(model, RatingAnonymity):
        problems.append("model must be a RatingAnonymity; make one with sfumato.RatingAnonymity(k, epsilon, l)")
    if search not in SEARCHES:
        problems.append(f"search must be one of {', '.join(get_args(SearchName))}")
    raise_all(PolicyError, problems)
    if model.l > 0 and not ratings.sensitive.any():
        raise PolicyError("l asks how far sensitive ratings deviate, but no issue is sensitive; choose some, or drop l")
    question = ProximityQuery(ratings, model, threads=thread_count(threads), progress=progress or silent)
    return Satisfaction(question, SEARCHES[search])

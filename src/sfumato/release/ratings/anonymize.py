"""Making ratings (k, ε, l)-anonymous at the least charge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from sfumato.anonymizers.ratings.grouping import (
    MOST_CELLS,
    group_by_loss,
    group_by_plan,
    relax_ratings,
    settle_ratings,
    shuffle_ratings,
)
from sfumato.anonymizers.ratings.loss import rating_loss
from sfumato.anonymizers.ratings.task import (
    ChangedRatings,
    Method,
    ProximityGroups,
    RatingTask,
    column_weights,
    most_rated,
)
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.numbers import counted, figure
from sfumato.policy.rating_policy import RatingPolicy
from sfumato.progress import Progress, shown, thread_count
from sfumato.published.checks.ratings.check import check_ratings
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.release.ratings.release import RatingRelease
from sfumato.settings import is_finite_number
from sfumato.table.ratings.ratings import Ratings

_ATTEMPTS = 4
"""Times that groups are searched for so that every issue that is to stay does; each time, lost ones count more."""


def anonymize_ratings(
    ratings: Ratings,
    model: RatingPolicy | RatingAnonymity,
    *,
    method: Method = "groups",
    invent: bool = False,
    keep: int | None = None,
    suppression_limit: float = 0.0,
    times: bool = False,
    seed: int | None = None,
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
        policy, wanted, said = model, model.to_model(), _settings(model)
        raise_all(PolicyError, _problems(ratings, wanted, **said, seed=seed))
    else:
        raise_all(PolicyError, _problems(ratings, model, **said, seed=seed))
        policy, wanted = RatingPolicy.of(model, **said), model
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
    defaults: Mapping[str, object] = anonymize_ratings.__kwdefaults__ or {}
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


def _problems(
    ratings: object,
    model: object,
    method: object,
    invent: object,
    keep: object,
    suppression_limit: object,
    times: object,
    seed: object,
) -> list[str]:
    """Return a sentence for every setting that is none."""
    found = []
    if not isinstance(ratings, Ratings):
        found.append("ratings are not a Ratings object; read them with sfumato.read_ratings(...)")
    if not isinstance(model, RatingAnonymity):
        found.append("model is not a RatingAnonymity; make one with sfumato.RatingAnonymity(k, epsilon, l)")
    if method not in get_args(Method):
        found.append(f"method must be one of {', '.join(get_args(Method))}")
    found += [
        f"{name} must be True or False"
        for name, on in (("invent", invent), ("times", times))
        if not isinstance(on, bool)
    ]
    if keep is not None and not _is_count(keep, 1):
        found.append("keep must be a whole number of at least 1, or left out")
    if not (is_finite_number(suppression_limit) and 0 <= suppression_limit < 1):  # type: ignore[operator]
        found.append("suppression_limit must be a number from 0 up to, not including, 1")
    if seed is not None and not _is_count(seed, 0):
        found.append("seed must be a whole number of at least 0")
    return found or _misfits(ratings, model, method, invent, keep, times)  # type: ignore[arg-type]


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _misfits(
    ratings: Ratings, model: RatingAnonymity, method: Method, invent: bool, keep: int | None, times: bool
) -> list[str]:
    """Return a sentence for every pair of settings that do not go together."""
    found = []
    public = int(np.count_nonzero(~ratings.sensitive))
    if model.l > 0 and not ratings.sensitive.any():
        found.append("l asks how far sensitive ratings deviate, but no issue is sensitive; choose some, or drop l")
    if keep is not None and keep > public:
        found.append(f"keep is {keep}, but there are only {counted(public, 'issue')} that are not sensitive")
    if times and ratings.times is None:
        found.append("times were not read; name their column when reading, or leave times out")
    if times and invent:
        found.append("invented ratings have no times; publish either")
    if method == "plan" and ratings.height * len(ratings.names) > MOST_CELLS:
        found.append("method='plan' is for study and takes no more than 2 billion records × issues; take 'groups'")
    return found

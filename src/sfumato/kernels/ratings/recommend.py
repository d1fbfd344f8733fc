"""Predicting ratings: from deviations of users and issues, and from issues that were rated alike.

Letters: n users, m issues, z ratings to learn from, t ratings to predict.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.kernels.jit import kernel
from sfumato.kernels.types import Floats, Int64s


@kernel
def learn_deviations(
    users: Int64s, issues: Int64s, values: Floats, user_count: int, issue_count: int, mean: float, shrink: float
) -> tuple[Floats, Floats]:
    """Return by how much users and issues deviate from the mean, drawn towards 0 where few ratings tell.

    users, issues, values : (z,). Returns float64 (n,) and (m,): first issues, then users from what issues leave. Cost
    O(z).
    """
    sums, counts = np.zeros(issue_count), np.full(issue_count, shrink)
    for place in range(len(values)):
        sums[issues[place]] += values[place] - mean
        counts[issues[place]] += 1
    of_issues = sums / counts  # of numpy: arrays
    sums, counts = np.zeros(user_count), np.full(user_count, shrink)
    for place in range(len(values)):
        sums[users[place]] += values[place] - mean - of_issues[issues[place]]
        counts[users[place]] += 1
    return sums / counts, of_issues  # of numpy: arrays


@kernel
def predict_from_neighbours(
    wanted_users: Int64s, wanted_issues: Int64s, user_starts: Int64s, user_issues: Int64s, user_left: Floats,
    issue_starts: Int64s, issue_users: Int64s, issue_left: Floats, shrink: float, most: int,
) -> Floats:  # fmt: skip
    """Return what the user's ratings of similar issues add to a prediction; float64 (t,).

    wanted_issues : (t,), not falling. user_starts, user_issues, user_left : ratings of each user, compressed rows, of
    which the deviations have been taken. issue_starts, issue_users, issue_left : the same by issue. most : similar
    issues that are looked at.
    The similarity of two issues is the cosine over the users who rated both, × their number ÷ (their number + shrink);
    only issues with a positive one count. Cost O(t · ratings of a user · raters of an issue) at most.
    """
    added = np.zeros(len(wanted_users))
    users = len(user_starts) - 1
    left, rated = np.zeros(users), np.zeros(users, dtype=np.bool_)
    known, similarity_of = np.full(len(issue_starts) - 1, -1, dtype=np.int64), np.zeros(len(issue_starts) - 1)
    current = -1
    for place in range(len(wanted_users)):
        issue, user = wanted_issues[place], wanted_users[place]
        if issue != current:
            rated[:] = False
            for entry in range(issue_starts[issue], issue_starts[issue + 1]):
                left[issue_users[entry]], rated[issue_users[entry]] = issue_left[entry], True
            current = issue
        count = user_starts[user + 1] - user_starts[user]
        similar, theirs = np.zeros(count), np.zeros(count)
        for entry in range(count):
            other = user_issues[user_starts[user] + entry]
            if known[other] != issue:
                product, own, their, both = 0.0, 0.0, 0.0, 0
                for rating in range(issue_starts[other], issue_starts[other + 1]):
                    if rated[issue_users[rating]]:
                        one, two = left[issue_users[rating]], issue_left[rating]
                        product, own, their, both = product + one * two, own + one * one, their + two * two, both + 1
                known[other], similarity_of[other] = issue, 0.0
                if product > 0:
                    # of numpy: elements of arrays where the product is above 0
                    similarity_of[other] = product / math.sqrt(own * their) * both / (both + shrink)
            if other != issue:
                similar[entry], theirs[entry] = similarity_of[other], user_left[user_starts[user] + entry]
        best = np.argsort(-similar, kind="mergesort")[:most]
        weight, total = 0.0, 0.0
        for entry in best:
            weight += similar[entry]
            total += similar[entry] * theirs[entry]
        if weight > 0:
            added[place] = total / weight  # never 0: above 0
    return added

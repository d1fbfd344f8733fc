"""Scoring records by how many of a person's known ratings they fit, rare issues weighing more.

Letters: V people, n published records, m issues, z published ratings.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Flags, Floats, Int64s

UNIT = 1 << 40
"""Scores are whole numbers of this fraction, so that equal sums are equal in whatever order they were added."""


@kernel
def score_records(
    known_starts: Int64s, known_issues: Int64s, known_codes: Int64s, own: Int64s, is_gone: bool,
    issue_starts: Int64s, issue_records: Int64s, issue_codes: Int64s, steps: int, records: int,
) -> tuple[Int64s, Int64s, Flags, Floats]:  # fmt: skip
    """Score all records for each person.

    known_starts, known_issues, known_codes : what is known of each person, compressed rows. own : int64 (V,), the
    person's record, −1 for none; where `is_gone`, it is treated as if it were not there. issue_starts, issue_records,
    issue_codes : published ratings by issue, compressed rows. steps : how far codes that fit may be apart. Returns,
    (V,) each: a record with the highest score, how many have it, whether the own one does, and the eccentricity:
    (highest score − second) ÷ standard deviation of all scores, 0 where none deviates. Cost O(ratings of the known
    issues).
    """
    people = len(own)
    best, ties = np.full(people, -1, dtype=np.int64), np.zeros(people, dtype=np.int64)
    fits, eccentricity = np.zeros(people, dtype=np.bool_), np.zeros(people)
    scores, touched = np.zeros(records, dtype=np.int64), np.empty(records, dtype=np.int64)
    for person in range(people):
        gone = own[person] if is_gone else -1
        count = 0
        for entry in range(known_starts[person], known_starts[person + 1]):
            issue, code = known_issues[entry], known_codes[entry]
            first, last = issue_starts[issue], issue_starts[issue + 1]
            weight = _weight(issue_records, first, last, gone)
            for place in range(first, last):
                record = issue_records[place]
                if record == gone or abs(issue_codes[place] - code) > steps:
                    continue
                if scores[record] == 0:
                    touched[count] = record
                    count += 1
                scores[record] += weight
        left = records - (1 if gone >= 0 else 0)
        best[person], ties[person], eccentricity[person] = _judged(scores, touched[:count], left)
        mine = own[person]
        if mine >= 0 and mine != gone:
            fits[person] = count == 0 or scores[mine] == scores[best[person]]
        for place in range(count):
            scores[touched[place]] = 0
    return best, ties, fits, eccentricity


@inlined
def _weight(issue_records: Int64s, first: int, last: int, gone: int) -> int:
    """Return 1 ÷ log of the records that rated an issue; those of one record weigh as those of two."""
    support = last - first
    if gone >= 0:
        for place in range(first, last):
            if issue_records[place] == gone:
                support -= 1
                break
    return round(UNIT / math.log(max(support, 2)))  # never 0: the logarithm of 2


@inlined
def _judged(scores: Int64s, touched: Int64s, records: int) -> tuple[int, int, float]:
    """Return the first record with the highest score, how many have it, and the eccentricity."""
    if len(touched) == 0:
        return -1, records, 0.0
    best, ties, highest, second, total = -1, 0, 0, 0, 0
    for record in touched:
        score = scores[record]
        total += score
        if score > highest:
            best, ties, highest, second = record, 1, score, highest
        elif score == highest:
            ties += 1
        elif score > second:
            second = score
    if ties > 1:
        return best, ties, 0.0
    mean = total / records  # never 0: some are touched
    squares = (records - len(touched)) * mean**2
    for record in touched:
        squares += (scores[record] - mean) ** 2
    # A single record deviates from nothing.
    # never 0: the squares are above 0, and so are the records
    return best, ties, (highest - second) / math.sqrt(squares / records) if squares > 0.0 else 0.0


# Predicting ratings: from deviations of users and issues, and from issues that were rated alike.
#
# Letters: n users, m issues, z ratings to learn from, t ratings to predict.


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
    issues that are looked at. The similarity of two issues is the cosine over the users who rated both, × their number
    ÷ (their number + shrink); only issues with a positive one count. Cost O(t · ratings of a user · raters of an issue)
    at most.
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

"""Ratings as compressed rows, and how well records fit the ratings that are known of a person.

Ratings as compressed rows: one row of rising issues per record.

Letters: n records, m issues, z ratings.

Scoring records by how many of a person's known ratings they fit, rare issues weighing more.

Letters: V people, n published records, m issues, z published ratings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, int64

# How alike the sets of issues are that records rated.


@kernel
def shared_weight(center: int, records: Int64s, starts: Int64s, issues: Int32s, weights: Floats) -> Floats:
    """Return the cosine between what one record rated and what each of some others rated; float64 (records,).

    starts, issues : compressed rows. weights : float64 (m,), of issues. Cost O(their ratings + m).
    """
    rated = np.zeros(len(weights), dtype=np.bool_)
    own = 0.0
    for place in range(starts[center], starts[center + 1]):
        rated[issues[place]] = True
        own += weights[issues[place]]
    found = np.zeros(len(records))
    for row in range(len(records)):
        shared, whole = 0.0, 0.0
        for place in range(starts[records[row]], starts[records[row] + 1]):
            weight = weights[issues[place]]
            whole += weight
            if rated[issues[place]]:
                shared += weight
        if shared > 0:
            found[row] = shared / math.sqrt(own * whole)  # never 0: what is shared is in both
    return found


@kernel
def number_by_appearance(values: NDArray[np.integer], rank_of: Int64s, count: int) -> Int32s:
    """Give values numbers from 0 in the order in which they first appear.

    values : integers (z,), indices into `rank_of`, whose entries are below `count`. Returns int32 (z,). Cost O(z).
    """
    number_of = np.full(count, -1, dtype=np.int32)
    numbered = np.empty(len(values), dtype=np.int32)
    following = 0
    for place in range(len(values)):
        rank = rank_of[values[place]]
        if number_of[rank] < 0:
            number_of[rank] = following
            following += 1
        numbered[place] = number_of[rank]
    return numbered


@kernel
def rows_of(record_of: Int32s, issue_of: Int32s, records: int, issues: int) -> tuple[Int64s, Int64s]:
    """Sort ratings by record, those of a record by issue; equal pairs keep their order.

    record_of, issue_of : int32 (z,), below n and m. Returns the start of each row, int64 (n + 1,), and the places of
    the ratings in the new order, int64 (z,). Two counting sorts, O(z + n + m). Capacity: each rating once.
    """
    starts = _starts(record_of, records)
    order = np.arange(len(record_of))
    if _is_sorted(record_of, issue_of):
        return starts, order
    following = _starts(issue_of, issues)
    by_issue = np.empty(len(record_of), dtype=np.int64)
    for place in range(len(issue_of)):
        by_issue[following[issue_of[place]]] = place
        following[issue_of[place]] += 1
    following = starts.copy()
    for entry in by_issue:
        order[following[record_of[entry]]] = entry
        following[record_of[entry]] += 1
    return starts, order


@kernel
def repeated_pairs(starts: Int64s, issues: Int32s, order: Int64s) -> tuple[int, int]:
    """Count ratings whose record has rated the issue before; the smallest place among them, −1 where there is none.

    starts : int64 (n + 1,). issues : int32 (z,), not falling inside a row. order : int64 (z,), as :func:`rows_of`
    returns it.
    """
    count, first = 0, -1
    for record in range(len(starts) - 1):
        for place in range(starts[record] + 1, starts[record + 1]):
            if issues[place] == issues[place - 1]:
                count += 1
                if first < 0 or order[place] < first:
                    first = order[place]
    return count, first


@kernel
def rows_rise(starts: Int64s, issues: Int32s, count: int) -> bool:
    """Tell whether `starts` are those of rows and every row has rising issues, all ``0 .. count-1``."""
    for record in range(len(starts) - 1):
        if starts[record] > starts[record + 1]:
            return False
        last = -1
        for place in range(starts[record], starts[record + 1]):
            if issues[place] <= last:
                return False
            last = issues[place]
        if last >= count:
            return False
    return True


@kernel
def _starts(numbers: Int32s, count: int) -> Int64s:
    starts = np.zeros(count + 1, dtype=np.int64)
    for number in numbers:
        starts[number + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    return starts


@kernel
def _is_sorted(record_of: Int32s, issue_of: Int32s) -> bool:
    for place in range(1, len(record_of)):
        before = record_of[place - 1]
        if before > record_of[place] or (before == record_of[place] and issue_of[place - 1] > issue_of[place]):
            return False
    return True


# Records by the set of issues that they rated, and those of a set by how they rated them.
#
# Letters: n records, m issues, z ratings, b masks (distinct sets of rated issues), v vectors (distinct ratings of such
# a set), q sensitive issues.
#
# Only non-sensitive issues are looked at; a rating of a sensitive issue is passed over.


# An odd multiplier below 2**31: times 31 bits it stays below 2**62, so that mixing never overflows, compiled or not.
_MIX = 0x5BD1E995
_LOW = 0x7FFFFFFF


@kernel
def hash_masks(starts: Int64s, issues: Int32s, keys: Int64s) -> Int64s:
    """Return a hash of the issues that each record rated: the exclusive or of their keys; int64 (n,).

    starts : int64 (n + 1,). issues : int32 (z,). keys : int64 (m,), random, and 0 for a sensitive issue. Cost O(z).
    """
    hashes = np.zeros(len(starts) - 1, dtype=np.int64)
    for record in range(len(starts) - 1):
        mixed = int64(0)
        for place in range(starts[record], starts[record + 1]):
            mixed ^= keys[issues[place]]
        hashes[record] = mixed
    return hashes


@kernel
def hash_vectors(records: Int64s, starts: Int64s, issues: Int32s, codes: Codes, sensitive: Flags) -> Int64s:
    """Return a hash of the non-sensitive ratings of some records, in the order of issues; int64, as long as `records`.

    codes : (z,). sensitive : bool (m,). The others as for :func:`hash_masks`. Cost O(their ratings).
    """
    hashes = np.zeros(len(records), dtype=np.int64)
    for row in range(len(records)):
        mixed = int64(0)
        for place in range(starts[records[row]], starts[records[row] + 1]):
            if not sensitive[issues[place]]:
                longer = ((mixed ^ int64(codes[place])) + 1) * _MIX
                mixed = (longer ^ (longer >> 31)) & _LOW
        hashes[row] = mixed
    return hashes


@kernel
def number_vectors(
    order: Int64s, mask_hashes: Int64s, vector_hashes: Int64s, starts: Int64s, issues: Int32s, codes: Codes,
    sensitive: Flags,
) -> tuple[Int32s, Int32s, Int64s]:  # fmt: skip
    """Tell distinct vectors and masks apart, exactly: hashes only say where to compare.

    order : int64 (n,), records sorted by mask hash, then vector hash, int64 (n,) each. The others as for
    :func:`hash_vectors`.
    Returns the vector of each record, int32 (n,), the mask of each vector, int32 (v,), and a record of each vector,
    int64 (v,). Cost O(ratings of records that share a hash). Ends: numbers rise.
    Capacity: a record opens one vector and one mask at most.
    """
    vector_of = np.empty(len(order), dtype=np.int32)
    mask_of = np.empty(len(order), dtype=np.int32)
    example = np.empty(len(order), dtype=np.int64)
    mask_example = np.empty(len(order), dtype=np.int64)
    vectors, masks, run_masks, run_vectors = 0, 0, 0, 0
    for place in range(len(order)):
        record = order[place]
        before = order[place - 1] if place else -1
        if before < 0 or mask_hashes[record] != mask_hashes[before]:
            run_masks, run_vectors = masks, vectors
        elif vector_hashes[record] != vector_hashes[before]:
            run_vectors = vectors
        mask = run_masks
        while mask < masks and not _same(record, mask_example[mask], False, starts, issues, codes, sensitive):
            mask += 1
        if mask == masks:
            mask_example[masks] = record
            masks += 1
        vector = run_vectors
        while vector < vectors and (
            mask_of[vector] != mask or not _same(record, example[vector], True, starts, issues, codes, sensitive)
        ):
            vector += 1
        if vector == vectors:
            mask_of[vectors], example[vectors] = mask, record
            vectors += 1
        vector_of[record] = vector
    return vector_of, mask_of[:vectors].copy(), example[:vectors].copy()


@inlined
def _same(one: int, other: int, with_codes: bool, starts: Any, issues: Any, codes: Any, sensitive: Any) -> bool:
    """Tell whether two records rated the same non-sensitive issues alike. Ends: a round passes a rating of both."""
    here, there = starts[one], starts[other]
    end, other_end = starts[one + 1], starts[other + 1]
    while True:
        while here < end and sensitive[issues[here]]:
            here += 1
        while there < other_end and sensitive[issues[there]]:
            there += 1
        if here == end or there == other_end:
            return bool(here == end and there == other_end)
        if issues[here] != issues[there] or (with_codes and codes[here] != codes[there]):
            return False
        here += 1
        there += 1


@kernel
def public_counts(records: Int64s, starts: Int64s, issues: Int32s, sensitive: Flags) -> Int64s:
    """Count the non-sensitive issues that some records rated; int64, as long as `records`."""
    counts = np.zeros(len(records), dtype=np.int64)
    for place in range(len(records)):
        for rating in range(starts[records[place]], starts[records[place] + 1]):
            counts[place] += not sensitive[issues[rating]]
    return counts


@kernel
def public_codes(records: Int64s, total: int, starts: Int64s, issues: Int32s, codes: Codes, sensitive: Flags) -> Codes:
    """Return non-sensitive ratings of some records, one after the other. Capacity: `total` counts them."""
    found = np.empty(total, dtype=codes.dtype)
    filled = 0
    for record in records:
        for rating in range(starts[record], starts[record + 1]):
            if not sensitive[issues[rating]]:
                found[filled] = codes[rating]
                filled += 1
    return found


@kernel
def summed_ratings(
    member_starts: Int64s, members: Int64s, starts: Int64s, issues: Int32s, codes: Codes, number_of: Int32s, count: int
) -> tuple[Int64s, Int32s, Int64s]:
    """Sum the sensitive ratings of the records of each vector.

    member_starts : int64 (v + 1,), vector ``i`` owns the records ``member_starts[i] .. member_starts[i+1]-1`` of
    members. number_of : int32 (m,), the number of each sensitive issue, −1 for the others. count : q. Returns
    compressed rows: starts int64 (v + 1,), sensitive issue int32 (entries,), and int64 (entries, 3): number of ratings,
    sum of codes, sum of their squares. Capacity: each sensitive rating opens one entry at most.
    """
    vectors = len(member_starts) - 1
    capacity = 0
    for record in members:
        for rating in range(starts[record], starts[record + 1]):
            capacity += number_of[issues[rating]] >= 0
    row_starts = np.zeros(vectors + 1, dtype=np.int64)
    row_issues = np.empty(capacity, dtype=np.int32)
    sums = np.zeros((capacity, 3), dtype=np.int64)
    slot_of = np.full(count, -1, dtype=np.int64)
    filled = 0
    for vector in range(vectors):
        first = filled
        for place in range(member_starts[vector], member_starts[vector + 1]):
            record = members[place]
            for rating in range(starts[record], starts[record + 1]):
                number = number_of[issues[rating]]
                if number < 0:
                    continue
                if slot_of[number] < first:
                    slot_of[number] = filled
                    row_issues[filled] = number
                    filled += 1
                code = int64(codes[rating])
                slot = slot_of[number]
                sums[slot, 0] += 1
                sums[slot, 1] += code
                sums[slot, 2] += code * code
        row_starts[vector + 1] = filled
    return row_starts, row_issues[:filled].copy(), sums[:filled].copy()


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
    issues). Capacity: weights are above 0, so that a record is touched once.
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

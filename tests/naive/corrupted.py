"""Plain twin of corruption: all ways to hand out the values of groups to the people who are in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product


def beliefs(group_of: Sequence[int], values: Sequence[str], known: Sequence[bool], victim: int) -> dict[str, Fraction]:
    """Return the share of all worlds that agree with what is known of others in which the victim has each value.

    group_of : the only group that may hold each person. values : theirs; a group shows those of its people.
    """
    groups = [[person for person, group in enumerate(group_of) if group == each] for each in sorted(set(group_of))]
    worlds: Counter[str] = Counter()
    for dealt in product(*(list(permutations([values[person] for person in members])) for members in groups)):
        has = {
            person: value
            for members, order in zip(groups, dealt, strict=True)
            for person, value in zip(members, order, strict=True)
        }
        if all(has[person] == values[person] for person, told in enumerate(known) if told and person != victim):
            worlds[has[victim]] += 1
    return {value: Fraction(count, worlds.total()) for value, count in worlds.items()}

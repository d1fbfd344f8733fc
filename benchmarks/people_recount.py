"""Recount a release by people from its published values: dictionaries and sets, nothing of the library's counting.

A class is the published records that show the same. A sensitive value counts once for each person of a class who has
it, and a person whose records lie in two classes is a person of each.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

ROUNDING = 1e-9
STAR = "*"
Row = tuple[Hashable, tuple[str, ...], tuple[Any, ...]]
"""A published record: its person, what it shows, its sensitive values."""
Values = Counter[Any]
"""Sensitive value → people who have it."""


def broken(model: Mapping[str, Any], rows: Sequence[Row], sensitive: Sequence[str]) -> str | None:
    """Say what of a model does not hold, or return None.

    Parameters
    ----------
    model
        Its name and parameters.
    rows
        All published records.
    sensitive
        The names of their sensitive values.
    """
    if model["name"] in BY_ROWS:
        least = BY_ROWS[model["name"]](rows, model)
        return f"{least} people" if least < model["k"] else None
    classes = defaultdict(list)
    for row in rows:
        classes[row[1]].append(row)
    if model["name"] in ("k-anonymity", "alpha-k-anonymity"):
        for members in classes.values():
            if wrong := _too_few(members, model):
                return wrong
    if model["name"] == "k-anonymity":
        return None
    wanted = [place for place, name in enumerate(sensitive) if model.get("attribute") in (None, name)]
    return next((f"{model['name']} of {sensitive[place]}" for place in wanted if _bad(model, classes, place)), None)


def _too_few(members: Sequence[Row], model: Mapping[str, Any]) -> str | None:
    records = Counter(person for person, _, _ in members)
    if len(records) < model["k"]:
        return f"{len(records)} people"
    if model.get("shares") is not False and max(records.values()) * model["k"] > len(members):
        return "somebody has more than 1/k of the records"
    return None


def _bad(model: Mapping[str, Any], classes: Mapping[Any, Sequence[Row]], place: int) -> bool:
    told = [({(person, values[place]) for person, _, values in rows}, rows) for rows in classes.values()]
    inside = [(Counter(value for _, value in pairs), len({row[0] for row in rows})) for pairs, rows in told]
    whole: Values = sum((counts for counts, _ in inside), Counter())
    everybody = sum(people for _, people in inside)
    holds = BY_CLASS[model["name"]]
    return not all(holds(model, counts, people, whole, everybody) for counts, people in inside)


def _distinct(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    return len(own) >= model["l"]


def _largest(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    bound = model["alpha"] if "alpha" in model else 1 / model["l"]
    return max(own.values()) <= people * bound + ROUNDING


def _entropy(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    total = own.total()
    return -sum(count / total * math.log(count / total) for count in own.values()) >= math.log(model["l"]) - ROUNDING


def _recursive(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    falling = sorted(own.values(), reverse=True)
    return len(falling) >= model["l"] and falling[0] < model["c"] * sum(falling[model["l"] - 1 :]) - ROUNDING


def _close(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    order = sorted(whole, key=lambda value: (value is None, value))
    ahead = [own[value] / own.total() - whole[value] / whole.total() for value in order]
    if all(isinstance(value, int) for value in order):
        distance = sum(abs(sum(ahead[:end])) for end in range(1, len(ahead))) / max(len(ahead) - 1, 1)
    else:
        distance = sum(map(abs, ahead)) / 2
    return distance <= model["t"] + ROUNDING


def _gains(own: Values, people: int, whole: Values, everybody: int) -> Iterator[tuple[float, float]]:
    """Yield by how much a value is more frequent in a class, as a share of its share of all, and that share."""
    for value, count in own.items():
        share = whole[value] / everybody
        yield (count / people - share) / share, share


def _basic_beta(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    return all(gain <= model["beta"] + ROUNDING for gain, _ in _gains(own, people, whole, everybody))


def _enhanced_beta(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    told = _gains(own, people, whole, everybody)
    return all(gain <= max(min(model["beta"], -math.log(share)), 0.0) + ROUNDING for gain, share in told)


def _delta(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    told = _gains(own, people, whole, everybody)
    return len(own) == len(whole) and all(abs(math.log(1 + gain)) < model["delta"] - ROUNDING for gain, _ in told)


def _guarded(model: Mapping[str, Any], own: Values, people: int, whole: Values, everybody: int) -> bool:
    return sum(own[value] for value in model["values"]) <= people * model["p"] + ROUNDING


BY_CLASS: Mapping[str, Callable[[Mapping[str, Any], Values, int, Values, int], bool]] = {
    "alpha-k-anonymity": _largest,
    "probabilistic-l-diversity": _largest,
    "distinct-l-diversity": _distinct,
    "entropy-l-diversity": _entropy,
    "recursive-l-diversity": _recursive,
    "t-closeness": _close,
    "basic-beta-likeness": _basic_beta,
    "enhanced-beta-likeness": _enhanced_beta,
    "delta-disclosure": _delta,
    "guarded-values": _guarded,
}
"""Model → whether it holds for the people of a class who have each value, among all people of all classes."""


def _rarest_subset(rows: Sequence[Row], model: Mapping[str, Any]) -> float:
    """People who show the rarest combination of up to m values without a star."""
    people = defaultdict(set)
    for person, shown, _ in rows:
        told = [(place, value) for place, value in enumerate(shown) if value != STAR]
        for size in range(1, model["m"] + 1):
            for chosen in combinations(told, size):
                people[chosen].add(person)
    return min(map(len, people.values()), default=math.inf)


def _loneliest(rows: Sequence[Row], model: Mapping[str, Any]) -> float:
    """People whom the loneliest record is compatible with when a star may be any value."""
    people = defaultdict(set)
    for person, shown, _ in rows:
        people[shown].add(person)
    fits = lambda one, other: all(x == y or STAR in (x, y) for x, y in zip(one, other, strict=True))  # noqa: E731
    return min(len(set().union(*(people[other] for other in people if fits(one, other)))) for one in people)


BY_ROWS: Mapping[str, Callable[[Sequence[Row], Mapping[str, Any]], float]] = {
    "subset-k-anonymity": _rarest_subset,
    "wildcard-k-anonymity": _loneliest,
}
"""Model → the fewest people behind anything that it counts."""

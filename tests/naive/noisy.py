"""Plain twin of Fellegi and Sunter's weights and their estimation: every person against every class."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Any

from naive.linkage import fits

Label = tuple[str | None, ...]


def chance(label: str | None, place: int, people: Sequence[Sequence[Any]]) -> float:
    """The share of the known people whose value a label covers; half a person at least."""
    known = [one[place] for one in people if one[place] is not None]
    return max(sum(fits(label, value) for value in known), 0.5) / max(1, len(known))


def weight(label: Label, person: Sequence[Any], people: Sequence[Sequence[Any]], wrong: Sequence[float]) -> float:
    """Add the logarithms of m / u where a label agrees, of (1 - m) / (1 - u) where it does not."""
    total = 0.0
    for place, value in enumerate(person):
        if value is None:
            continue
        u = chance(label[place], place, people)
        m = 1 - wrong[place] + wrong[place] * u
        # Where everybody agrees, disagreement would be impossible; what it would weigh is the limit.
        total += log(m / u) if fits(label[place], value) else log((1 - m) / (1 - u) if u < 1 else wrong[place])
    return total


def estimate(classes: dict[Label, int], people: Sequence[Sequence[Any]], rounds: int, least: float) -> list[float]:
    """Expectation maximization: who is where by the weights, then how often what is known is wrong."""
    wrong = [0.1] * len(people[0])
    for _ in range(rounds):
        mistakes, known = [0.0] * len(wrong), [0] * len(wrong)
        for person in people:
            scores = {label: size * exp(weight(label, person, people, wrong)) for label, size in classes.items()}
            for label, score in scores.items():
                share = score / sum(scores.values())
                for place, value in enumerate(person):
                    if value is None:
                        continue
                    u = chance(label[place], place, people)
                    by_chance = wrong[place] * u / (1 - wrong[place] + wrong[place] * u)
                    mistakes[place] += share * (by_chance if fits(label[place], value) else 1)
            for place, value in enumerate(person):
                known[place] += value is not None
        wrong = [min(max(m / max(1, n), least), 0.5) for m, n in zip(mistakes, known, strict=True)]
    return wrong

"""Plain twin of picking from the densest class, and of the most even spread by which it is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

from naive.linkage import fits

Label = tuple[str | None, ...]


def volume(label: Label, person: Sequence[Any], people: Sequence[Sequence[Any]]) -> float:
    """Count the vectors of the people's values that a label covers, over what is known of the person."""
    covered = []
    for place, value in enumerate(person):
        if value is not None:
            known = {one[place] for one in people if one[place] is not None}
            covered.append(sum(fits(label[place], other) for other in known) + (label[place] == "*"))
    return prod(covered)


def densest(labels: Sequence[Label], person: Sequence[Any], people: Sequence[Sequence[Any]]) -> list[Label]:
    """Return the labels of smallest volume among those that fit."""
    fitting = [label for label in dict.fromkeys(labels) if all(map(fits, label, person))]
    sizes = {label: volume(label, person, people) for label in fitting}
    return [label for label in fitting if sizes[label] == min(sizes.values())]


def spread(
    labels: Sequence[Label], keys: Sequence[str], people: Sequence[Sequence[Any]], own: Sequence[str], rounds: int
) -> list[dict[Label | None, float]]:
    """Spread people over classes, None if left out: everybody somewhere, as many of each key as each class shows."""
    shown = Counter(zip(labels, keys, strict=True))
    chances: list[dict[Label | None, float]] = []
    left_out = Counter(own) - Counter(keys)
    for person, key in zip(people, own, strict=True):
        places: list[Label | None] = [
            label for label in dict.fromkeys(labels) if shown[label, key] and all(map(fits, label, person))
        ]
        chances.append(dict.fromkeys(places + ([None] if left_out[key] and key in keys else []), 1.0))
    for _ in range(rounds):
        for chance in chances:
            total = sum(chance.values())
            chance.update({place: share / total for place, share in chance.items() if total})
        for label in [*dict.fromkeys(labels), None]:
            for key in set(own):
                wanted = left_out[key] if label is None else shown[label, key]
                held = sum(chance.get(label, 0) for chance, one in zip(chances, own, strict=True) if one == key)
                for chance, one in zip(chances, own, strict=True):
                    if one == key and label in chance:
                        chance[label] *= wanted / held
    return chances

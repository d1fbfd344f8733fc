"""k-member clustering in plain Python: every record is looked at every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Record = tuple[object, ...]
ClassLoss = Callable[[Sequence[Record]], float]


def numeric_loss(values: Sequence[float | None], low: float, high: float) -> float:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return 1.0 if known else 0.0
    return (max(known) - min(known)) / (high - low) if high > low else 0.0


def tree_loss(values: Sequence[str | None], paths: dict[str, tuple[str, ...]], measure: str) -> float:
    """Climb from the first value until the label covers all; paths lead from the leaf to the root."""
    distinct = set(values)
    if len(distinct) == 1:
        return 0.0
    if None in distinct:
        return 1.0
    some = next(iter(distinct))
    assert some is not None
    height = len(paths[some]) - 1
    for level in range(height + 1):
        covered = {leaf for leaf, path in paths.items() if path[level] == paths[some][level]}
        if distinct <= covered:
            break
    if measure == "height":
        return level / height
    if measure == "ncp":
        return len(covered) / len(paths)
    return (len(covered) - 1) / (len(paths) - 1)


def set_loss(values: Sequence[object], domain: int, measure: str) -> float:
    count = len(set(values))
    if count == 1:
        return 0.0
    # Shares are multiplied, as elsewhere, so that equal losses are equal to the last digit.
    unit = 1.0 / max(domain - 1, 1)
    return {"height": 1.0, "ncp": count * (1.0 / domain), "loss": count * unit - unit}[measure]


def nearest(records: Sequence[Record], left: Sequence[int], members: Sequence[Record], loss: ClassLoss) -> int:
    costs = {place: loss([*members, records[place]]) for place, count in enumerate(left) if count}
    return min(costs, key=lambda place: (costs[place], place))


def k_member(
    records: Sequence[Record],
    weights: Sequence[int],
    k: int,
    loss: ClassLoss,
    *,
    seeds: Sequence[int] = (),
    last: int = 0,
) -> tuple[list[dict[int, int]], list[int]]:
    """Return the classes, each as record → how many, and what is left; equal records go together."""
    left = list(weights)
    classes: list[dict[int, int]] = []
    while sum(left) >= k:
        if seeds:
            place = next(place for place in seeds if left[place])
        else:
            far = {place: loss([records[last], records[place]]) for place, count in enumerate(left) if count}
            place = max(far, key=lambda place: (far[place], -place))
        taken: dict[int, int] = {}
        while sum(taken.values()) < k:
            taken[place] = min(left[place], k - sum(taken.values()))
            left[place] -= taken[place]
            last = place
            if sum(taken.values()) < k:
                place = nearest(records, left, [records[one] for one in taken], loss)
        classes.append(taken)
    return classes, left


def leftovers(
    records: Sequence[Record], classes: list[dict[int, int]], left: Sequence[int], loss: ClassLoss
) -> list[dict[int, int]]:
    """Put every record that is left into the class whose loss, summed over its records, grows least."""
    for place, count in enumerate(left):
        for _ in range(count):
            grown = [_growth(records, taken, place, loss) for taken in classes]
            best = min(range(len(classes)), key=lambda number: (grown[number], number))
            classes[best][place] = classes[best].get(place, 0) + 1
    return classes


def _growth(records: Sequence[Record], taken: dict[int, int], place: int, loss: ClassLoss) -> float:
    size = sum(taken.values())
    members = [records[one] for one in taken]
    return (size + 1) * loss([*members, records[place]]) - size * loss(members)

"""The nearest published records, by looking at every record for every person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = Mapping[str, object]


def nearest(rows: Sequence[Row], person: Row, widths: Mapping[str, float], domains: Mapping[str, Sequence[object]]):
    """Return the distance of the nearest rows, and their places."""
    apart = [
        sum(distance(name, row[name], value, widths, domains) for name, value in person.items() if value is not None)
        for row in rows
    ]
    least = min(apart)
    return least, [place for place, one in enumerate(apart) if one <= least + 1e-9]


def distance(
    name: str, label: object, value: object, widths: Mapping[str, float], domains: Mapping[str, Sequence[object]]
) -> float:
    if label is None:
        return 1.0
    text = str(label)
    if name in widths:
        return min(1.0, abs(float(value) - middle(text, domains[name])) / widths[name])  # type: ignore[arg-type]
    if text == "*":
        members = {str(one) for one in domains[name]}
        covered = len(members) + 1  # the missing value is covered as well
    else:
        members = set(text.strip("{}").split("|")) & {str(one) for one in domains[name]}
        covered = len(members)
    return 1 - 1 / covered if str(value) in members else 1.0


def middle(text: str, domain: Sequence[object]) -> float:
    if text == "*":
        numbers = [float(one) for one in domain]  # type: ignore[arg-type]
        return (min(numbers) + max(numbers)) / 2
    if text.startswith("["):
        low, high = text[1:-1].split("..")
        return (float(low) + float(high)) / 2
    return float(text)

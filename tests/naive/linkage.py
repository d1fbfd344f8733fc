r"""Plain twin of the linking attack: every person against every published record.

A label is the published text; None is the missing value. A person's value is a number or a text; None is one that the
register does not tell. A tree is a dictionary from each original value to its labels, from the value itself to the
root. Value sets have no member with `\`, `|` or braces here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Tree = Mapping[str, Sequence[str]]


def fits(label: str | None, value: Any, tree: Tree | None = None) -> bool:
    """Tell whether a published label may stand for a person's value."""
    if value is None:
        return True
    if label is None:
        return False
    if label == "*":
        return True
    if tree is not None:
        return label in tree.get(str(value), ())
    if isinstance(value, int):
        if label.startswith("["):
            low, high = label[1:-1].split("..")
            return float(low) <= value <= float(high)
        return float(label) == value
    if label.startswith("{"):
        return value in label[1:-1].split("|")
    return label == value


def candidates(
    records: Sequence[Sequence[str | None]], person: Sequence[Any], trees: Sequence[Tree | None]
) -> list[int]:
    """Number the records that fit a person on every attribute."""
    return [
        number
        for number, record in enumerate(records)
        if all(fits(*each) for each in zip(record, person, trees, strict=True))
    ]


def scores(
    records: Sequence[Sequence[str | None]],
    sensitive: Sequence[str | None],
    people: Sequence[Sequence[Any]],
    trees: Sequence[Tree | None],
    truth: Sequence[str | None] | None,
    threshold: float,
) -> dict[str, float]:
    """Count what the attack achieves; `truth` has each person's sensitive value, ``"absent"`` if not in the table.

    Without it everybody who fits is in the table, and what is certain is right. Ties for the likeliest value go to the
    smallest text, the missing value last.
    """
    found: Counter[str] = Counter()
    for number, person in enumerate(people):
        fitting = candidates(records, person, trees)
        in_table = bool(fitting) if truth is None else truth[number] != "absent"
        found["matched"] += bool(fitting)
        found["singled_out"] += len(fitting) == 1
        found["people"] += in_table
        found["false_matches"] += bool(fitting) and not in_table
        found["missed"] += in_table and not fitting
        if not fitting or not in_table:
            continue
        found["certainty"] += 1 / len(fitting)  # type: ignore[assignment]
        values = Counter(sensitive[record] for record in fitting)
        likeliest = min(values, key=lambda value: (-values[value], value is None, value or ""))
        if truth is None or truth[number] == likeliest:
            share = values[likeliest] / len(fitting)
            found["reidentified"] += len(fitting) == 1
            found["learnt"] += len(values) == 1
            found["likely"] += share >= threshold - 1e-12
    return dict(found)

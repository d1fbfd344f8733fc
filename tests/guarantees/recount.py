"""Recounting a published CSV file by hand: Python's csv module and the plain twins, none of the library's code."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from naive import models as naive

TWIN_OF = {
    "k-anonymity": "k-anonymity",
    "alpha-k-anonymity": "alpha-k",
    "distinct-l-diversity": "distinct",
    "probabilistic-l-diversity": "probabilistic",
    "entropy-l-diversity": "entropy",
    "recursive-l-diversity": "recursive",
    "t-closeness": "t-closeness",
    "basic-beta-likeness": "basic-beta",
    "enhanced-beta-likeness": "enhanced-beta",
    "delta-disclosure": "delta",
    "guarded-values": "guarded",
    "subset-k-anonymity": "subset-k",
    "wildcard-k-anonymity": "wildcard-k",
    "k-map": "k-map",
}


@dataclass(frozen=True)
class Sensitive:
    """What a reader must know of a sensitive column: its order, the tree over its texts, its labels."""

    ordered: bool = False
    tree: Mapping[str, Sequence[str]] | None = None
    labels: Sequence[str] = ()


def read_csv(path: Path) -> tuple[list[str], list[list[str | None]]]:
    """Read header and rows; an empty cell is a missing value. Every row must have as many cells as the header."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert all(len(row) == len(header) for row in rows), "the file is ragged"
    return header, [[cell or None for cell in row] for row in rows]


def columns_of(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def holds(
    model: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    quasi: Sequence[str],
    sensitive: Mapping[str, Sensitive],
) -> bool:
    """Tell whether every class of the published columns satisfies a model, given as release.json writes it."""
    if TWIN_OF[model["name"]] in naive.ROW_MODELS:
        return _row_support(model, columns, quasi) >= model["k"]
    return all(
        naive.holds_per_class(TWIN_OF[model["name"]], _classes(columns, quasi), values, **parameters)
        == [True] * len(_classes(columns, quasi))
        for values, parameters in cases(model, columns, sensitive)
    )


def achieved(
    model: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    quasi: Sequence[str],
    sensitive: Mapping[str, Sensitive],
) -> list[float]:
    """Return the worst value of the model's measure on each attribute that it protects."""
    if TWIN_OF[model["name"]] in naive.ROW_MODELS:
        return [_row_support(model, columns, quasi)]
    twin = naive.MODELS[TWIN_OF[model["name"]]]
    found = []
    for values, parameters in cases(model, columns, sensitive):
        shape = {name: parameters[name] for name in ("distance", "order", "tree", "values") if name in parameters}
        if model["name"] == "k-map":
            shape = {name: value for name, value in parameters.items() if name != "k"}
        if model["name"] == "recursive-l-diversity":
            shape["l"] = model["l"]
        found.append(
            float(
                twin.worst(
                    twin.achieves([values[i] for i in rows], values, **shape) for rows in _classes(columns, quasi)
                )
            )
        )
    return found


def one_class_holds(
    model: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], sensitive: Mapping[str, Sensitive]
) -> bool:
    """Tell whether all records as one class satisfy a model: if not, no partition of them does."""
    height = len(next(iter(columns.values())))
    return holds(model, {**columns, "\0everybody": [None] * height}, ["\0everybody"], sensitive)


def _row_support(model: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], quasi: Sequence[str]) -> float:
    rows = list(zip(*(columns[name] for name in quasi), strict=True))
    settings = {key: value for key, value in model.items() if key not in ("name", "k")}
    return naive.ROW_MODELS[TWIN_OF[model["name"]]](rows, **settings)


def _classes(columns: Mapping[str, Sequence[Any]], quasi: Sequence[str]) -> list[list[int]]:
    return naive.equivalence_classes({name: columns[name] for name in quasi})


def cases(
    model: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], sensitive: Mapping[str, Sensitive]
) -> list[tuple[Sequence[Any], dict[str, Any]]]:
    parameters = {key: value for key, value in model.items() if key not in ("name", "attribute", "distance")}
    if model["name"] in ("k-anonymity", "k-map"):
        return [(next(iter(columns.values())), parameters)]
    names = [model["attribute"]] if model.get("attribute") else list(sensitive)
    if model["name"] == "guarded-values":
        return [(columns[name], {**parameters, "tree": sensitive[name].tree}) for name in names]
    if model["name"] != "t-closeness":
        return [(columns[name], parameters) for name in names]
    return [(columns[name], parameters | _distance(model, columns[name], sensitive[name])) for name in names]


def _distance(model: Mapping[str, Any], values: Sequence[Any], described: Sensitive) -> dict[str, Any]:
    distance = model.get("distance")
    if distance is None:
        distance = "ordered" if described.ordered else "hierarchical" if described.tree else "equal"
    if distance == "ordered":
        return {"distance": distance, "order": _rising(values)}
    if distance == "hierarchical" and described.tree is not None:
        return {"distance": distance, "tree": described.tree}
    return {"distance": "equal"}


def _rising(values: Sequence[Any]) -> list[Any]:
    present = sorted({value for value in values if value is not None}, key=_key)
    return [*present, None] if None in values else present


def _key(value: Any) -> tuple[Fraction, str]:
    # Exact: as floats, large whole numbers that differ would be equal.
    try:
        return Fraction(value), ""
    except ValueError:
        return Fraction(0), value

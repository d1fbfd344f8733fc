"""Small mixed tables for the clustering tests, and what their classes lose, counted by the plain twins.

Numbers and their domain are such that losses of ranges are exact: ties are ties in any way of counting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from naive.k_member import numeric_loss, set_loss, tree_loss
from sfumato.anonymizers.protocol import Problem
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedTable, encode

PATHS = {
    leaf: (leaf, group, "*")
    for leaf, group in {"aa": "a", "ab": "a", "ba": "b", "bb": "b", "bc": "b", "ca": "c"}.items()
}
COLOURS = ["red", "blue", "green", "grey"]

Row = tuple[float | None, str | None, str | None]

rows = st.tuples(
    st.sampled_from([0.0, 1.0, 2.0, 5.0, 8.0, None]),
    st.sampled_from([*PATHS, "aa", None]),
    st.sampled_from([*COLOURS, "red", None]),
)


def tables(least: int = 1, most: int = 14) -> st.SearchStrategy[list[Row]]:
    return st.lists(rows, min_size=least, max_size=most)


def many(seed: int, count: int = 110) -> list[Row]:
    """Enough different records for a tree with many nodes, some of them equal, some values missing."""
    draw = np.random.default_rng(seed)
    numbers, places, colours = [*map(float, range(17)), None], [*PATHS, None], ["red", "blue", "green", None]
    return [
        (numbers[draw.integers(18)], places[draw.integers(len(places))], colours[draw.integers(4)])
        for _ in range(count)
    ]


def many_codes(seed: int, count: int = 270) -> list[Row]:
    """More numbers and colours than searches keep tables of, and a few missing ones."""
    draw = np.random.default_rng(seed)
    numbers = (draw.permutation(512)[:count] / 32).tolist()
    colours = [f"c{place}" for place in draw.permutation(count)]
    places = [*PATHS, None]
    data = [(number, places[draw.integers(7)], colour) for number, colour in zip(numbers, colours, strict=True)]
    return [*data, (None, "aa", "c0"), (2.0, "bb", None), (None, None, "c1")]


def encoded(data: Sequence[Row], secret: Sequence[str] | None = None, weight: float = 1.0) -> EncodedTable:
    frame = pl.DataFrame(
        {
            "number": pl.Series([row[0] for row in data], dtype=pl.Float64),
            "place": pl.Series([row[1] for row in data], dtype=pl.String),
            "colour": pl.Series([row[2] for row in data], dtype=pl.String),
            "secret": pl.Series(secret or ["x"] * len(data), dtype=pl.String),
        }
    )
    tree = sf.groups({"a": ["aa", "ab"], "b": ["ba", "bb", "bc"], "c": ["ca"]})
    schema = sf.Schema(
        quasi_identifying={
            "number": sf.Attribute(kind="numeric", domain=(0, 16), weight=weight),
            "place": tree,
            "colour": None,
        },
        sensitive=["secret"],
    )
    return encode(sf.read_table(frame, schema))


def problem(table: EncodedTable, *models: PrivacyModel, **settings: Any) -> Problem:
    return Problem(table, models, **{"seed": 1, **settings})


def class_loss(data: Sequence[Row], measure: str, weight: float = 1.0) -> Callable[[Sequence[Any]], float]:
    """What a class of rows loses, by the definitions."""
    domain = len({row[2] for row in data})

    def loss(members: Sequence[Any]) -> float:
        numbers, places, colours = zip(*members, strict=True)
        total = weight * numeric_loss(numbers, 0, 16) + tree_loss(places, PATHS, measure)
        return total + set_loss(colours, domain, measure)

    return loss

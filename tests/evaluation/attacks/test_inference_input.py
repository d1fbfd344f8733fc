"""Tables of the strangest kinds under every attack by inference, against every kind of release."""

from __future__ import annotations

import json

import polars as pl
import pytest

from evaluation.attacks.inference_tables import SCHEMA, every_kind, people, target
from sfumato.errors import InputError
from sfumato.evaluation.attacks import ATTACKS
from sfumato.evaluation.attacks.people import cohort_of
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

NAMES = ("attribute-inference", "membership-inference", "singling-out", "definetti")


def of_rows(count: int, **columns: object) -> Table:
    values = {"age": 40, "sex": "f", "zip": "10001", "disease": "flu", "visit": 1, **columns}
    frame = pl.DataFrame(
        {name: value if isinstance(value, list) else [value] * count for name, value in values.items()}
    )
    return read_table(frame, SCHEMA)


STRANGE = {
    "all the same": of_rows(12),
    "a constant sensitive attribute": of_rows(12, age=list(range(20, 32))),
    "a sensitive value for everybody": of_rows(12, disease=[f"disease {place}" for place in range(12)]),
    "missing values": of_rows(12, age=[20, None] * 6, disease=["a", None] * 6),
    "four records": of_rows(4, age=[1, 2, 3, 4], disease=["a", "b", "a", "b"]),
}


PLAYED = [
    (name, kind)
    for kind, release in every_kind(STRANGE["four records"]).items()
    for name in NAMES
    if release.kind in ATTACKS[name].kinds
]


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize(("name", "kind"), PLAYED)
def test_every_result_makes_sense(name: str, kind: str, strange: str) -> None:
    original = STRANGE[strange]
    for told in ATTACKS[name]().play(target(every_kind(original)[kind], original, STRANGE["all the same"])):
        low, high = told.success.interval
        assert 0 <= low <= told.success.share + 1e-12
        assert told.success.share <= high + 1e-12
        assert 0 <= told.success.baseline <= 1
        json.dumps(told.to_dict())


def test_a_control_group_of_another_kind() -> None:
    schema = Schema(
        quasi_identifying={
            "age": Attribute(kind=Kind.CATEGORICAL),
            "sex": None,
            "zip": Attribute(kind=Kind.CATEGORICAL),
        },
        sensitive=["disease"],
        insensitive=["visit"],
    )
    original = people(5, 1)
    control = read_table(original.frame.with_columns(pl.col("age").cast(pl.String)), schema)
    with pytest.raises(InputError, match="column 'age': is of another kind"):
        cohort_of(target(every_kind(original)["generalized"], original, control))

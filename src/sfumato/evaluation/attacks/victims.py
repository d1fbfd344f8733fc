"""The people of a linking attack, and how scoring recognizes their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.protocol import Target
from sfumato.table.kinds import text_of
from sfumato.table.schema import Schema

KEY = "\x1e"
"""Column with a record's other values in one text; no attribute has such a name."""

_BETWEEN = "\x1f"


@dataclass(frozen=True, eq=False, repr=False)
class Victims:
    """People whose quasi-identifying values an attacker knows.

    Attributes
    ----------
    frame : polars.DataFrame
        Their values, m rows.
    schema : Schema
    keys : polars.Series
        String (m,): the values of each person's record that linking does not use; null for people who are not in the
        data.
    """

    frame: pl.DataFrame
    schema: Schema
    keys: pl.Series

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Tell who is in the data, bool (m,)."""
        known: NDArray[np.bool_] = self.keys.is_not_null().to_numpy()
        return known


def victims_of(target: Target, published: pl.DataFrame) -> Victims:
    """Return the people of the register, or everybody in the data if there is none.

    Raises
    ------
    InputError
        When a register and the original cannot be compared, because one has no column of unique names.
    """
    schema, original = target.original.schema, target.original.frame
    keys = key_of(original, key_columns(published, target))
    if target.register is None:
        return Victims(original, schema, keys)
    register = target.register
    name = next((one for one in schema.identifying if one in original.columns and one in register.columns), None)
    if name is None:
        raise InputError(
            "register: shares no column of names with the original, so nobody knows who is in the data; give the "
            "original as a frame or file, with a schema that names the column as identifying"
        )
    truth = pl.DataFrame({"name": text_of(original[name]), KEY: keys})
    asked = pl.DataFrame({"name": text_of(register[name])})
    problems = [
        f"{what}: {repeated} name(s) in column {name!r} repeat an earlier one; make them unique"
        for what, frame in (("original", truth), ("register", asked))
        if (repeated := frame["name"].drop_nulls().len() - frame["name"].drop_nulls().n_unique())
    ]
    if problems:
        raise InputError(*problems)
    found = asked.join(truth.drop_nulls("name"), on="name", how="left", maintain_order="left")[KEY]
    if found.null_count() == len(found):
        raise InputError(f"register: nobody in it is in the data by the names in column {name!r}; correct the names")
    return Victims(register, schema, found)


def key_columns(published: pl.DataFrame, target: Target) -> tuple[str, ...]:
    """Name the columns of a release that are published unchanged."""
    schema = target.original.schema
    others = (*schema.sensitive, *schema.insensitive)
    return tuple(name for name in others if name in published.columns and name in target.original.frame.columns)


def key_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Put the values of some columns into one text for each row; an empty text if there are none."""
    texts = [text_of(frame[name]).fill_null(KEY) for name in names]
    if not texts:
        return pl.Series(KEY, [""] * frame.height, dtype=pl.String)
    return pl.DataFrame(texts).select(pl.concat_str(pl.all(), separator=_BETWEEN).alias(KEY)).to_series()

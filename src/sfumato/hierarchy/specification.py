"""How every description of a hierarchy is used, and how original values are written as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Protocol, runtime_checkable

import polars as pl

from sfumato.errors import HierarchyError
from sfumato.hierarchy.tree import Hierarchy


@runtime_checkable
class HierarchySpecification(Protocol):
    """What describes a hierarchy before it is bound to a column: frozen, equal by value, checked when it is made."""

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy for the original `values` of an attribute, whose text (:func:`text_of`) is a leaf.

        Descriptions that list values also keep the leaves that the column lacks: the tree is the declared domain.
        Errors name the attribute and count the offending values, never show one.
        """
        ...

    def to_policy(self) -> Mapping[str, Any]:
        """Return the same description as plain TOML-writable values, with its ``kind``."""
        ...


_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER = 400


def value_text(value: object) -> str:
    """Write one original value as text: whole numbers without a point, floats as short as exact, dates in ISO form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        whole = value.is_integer() and -(2.0**63) <= value < 2.0**63
        return str(int(value)) if whole else repr(float(value))
    return value.isoformat() if isinstance(value, date) else str(value)


def text_of(values: pl.Series) -> pl.Series:
    """Write original values as text, nulls staying null: :func:`value_text` for a whole series."""
    if values.dtype == pl.Boolean or values.dtype.is_float():
        texts = [None if value is None else value_text(value) for value in values.to_list()]
        return pl.Series(values.name, texts, dtype=pl.String)
    return values.cast(pl.String)


def number_of(text: str) -> int | float | None:
    """Read a plain decimal number; None for any other text. Whole numbers stay exact."""
    plain = text.strip()
    if len(plain) > _LONGEST_NUMBER or not _NUMBER.fullmatch(plain):
        return None
    return int(plain) if plain.lstrip("+-").isdigit() else float(plain)


def listed_values(values: pl.Series, name: str) -> pl.Series:
    """Sort the values, once each, without missing ones; categories as strings. ``HierarchyError`` when none is left."""
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    distinct = values.drop_nulls().unique().sort()
    if distinct.is_empty():
        raise HierarchyError(f"{name}: the column has only missing values; leave it out of the hierarchies")
    return distinct

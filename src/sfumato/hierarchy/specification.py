"""The protocol of all descriptions of hierarchies: build one for the values of a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import polars as pl

from sfumato.hierarchy.tree import Hierarchy


@runtime_checkable
class HierarchySpecification(Protocol):
    """A value that describes a hierarchy, before it is bound to a column.

    Implementations are frozen dataclasses, equal by value, checked at construction.
    """

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy for the original `values` of the attribute called `name`.

        `values` is a series of strings, categories, numbers, booleans or dates; order and repetition do not matter,
        missing values are left out. Every value becomes a leaf whose label is its text
        (:func:`sfumato.hierarchy.text.text_of`). Descriptions that list values (groups, tables) also keep the leaves
        that the column does not have: the tree is the declared domain. Errors name the attribute and count the
        offending values, never show one.
        """
        ...

    def to_policy(self) -> Mapping[str, Any]:
        """Return the same description as plain TOML-writable values, with its ``kind``."""
        ...

"""The hierarchy of an attribute without one: the value, or `*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.hierarchy.specification import HierarchySpecification
from sfumato.hierarchy.text import distinct_values, text_of
from sfumato.hierarchy.tree import ROOT, Hierarchy, hierarchy_from_paths


def flat() -> HierarchySpecification:
    """Describe a hierarchy of two levels, the original value and ``*``, for values of any kind.

    Examples
    --------
    >>> import polars as pl
    >>> flat().build(pl.Series(["b", "a"]), name="sex").paths
    [('a', '*'), ('b', '*')]
    """
    return Flat()


@dataclass(frozen=True)
class Flat:
    """The description that :func:`flat` returns."""

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct values, leaves in their sorted order.

        Raises
        ------
        HierarchyError
            When there are no values, or one of several is ``*`` or empty.
        """
        what = f"hierarchy of {name!r}"
        texts = text_of(distinct_values(values, what)).to_list()
        return hierarchy_from_paths([(text, ROOT) for text in texts], name=what)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "flat"}

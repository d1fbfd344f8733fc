"""Masked codes: the first characters of a postal code, a diagnosis or an occupation code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.specification import HierarchySpecification, distinct_values, text_of
from sfumato.hierarchy.tree import ROOT, Hierarchy, hierarchy_from_paths

_MASK = "*"


def prefixes(*keep: int) -> HierarchySpecification:
    """Describe a hierarchy that keeps fewer and fewer leading characters of a code.

    Every other character is written ``*``, so that the length stays visible: with 3, 2, 0 the code ``4711`` becomes
    ``471*``, ``47**`` and ``*``. Codes that are not longer than what is kept stay as they are.

    Parameters
    ----------
    Numbers of characters kept, falling. The last level is always ``*``, as if 0 had been given.

    Returns
    -------
    HierarchySpecification
        For a schema, as the hierarchy of a categorical or whole-number attribute. Read codes as text if a
        leading zero matters.

    Raises
    ------
    HierarchyError
        When the numbers are not whole, negative, or do not fall.

    Examples
    --------
    >>> import polars as pl
    >>> prefixes(3, 2).build(pl.Series(["4711", "4750"]), name="zip").paths
    [('4711', '471*', '47**', '*'), ('4750', '475*', '47**', '*')]
    """
    return Prefixes(keep)


@dataclass(frozen=True)
class Prefixes:
    """The description that :func:`prefixes` returns.

    Attributes
    ----------
    keep : tuple of int
        Numbers of characters kept, falling; the last is 0.
    """

    keep: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the numbers and let them end in 0."""
        raise_all(HierarchyError, _keep_problems(self.keep))
        object.__setattr__(self, "keep", (*(kept for kept in self.keep if kept), 0))

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct texts of `values`; numbers and texts keep their order.

        Raises
        ------
        HierarchyError
            When codes hold a ``*`` so that a masked code would be ambiguous.
        """
        what = f"hierarchy of {name!r}"
        codes = text_of(distinct_values(values, what)).to_list()
        return hierarchy_from_paths([(code, *(_masked(code, kept) for kept in self.keep)) for code in codes], name=what)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "prefixes", "keep": list(self.keep)}


def _masked(code: str, kept: int) -> str:
    return code[:kept] + _MASK * (len(code) - kept) if kept else ROOT


def _keep_problems(keep: object) -> list[str]:
    if not isinstance(keep, (list, tuple)) or not keep:
        return ["prefixes: name how many characters each level keeps, such as 3, 2, 0"]
    if not all(isinstance(kept, int) and not isinstance(kept, bool) and kept >= 0 for kept in keep):
        return ["prefixes: the numbers of characters kept must be whole numbers, 0 or more"]
    if any(fine <= coarse for fine, coarse in pairwise(keep)):
        return ["prefixes: the numbers of characters kept must fall, such as 3, 2, 0"]
    return []

"""Explicit groups of values, nested as deep as needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.level_table import hierarchy_of_listed
from sfumato.hierarchy.specification import HierarchySpecification, value_text
from sfumato.hierarchy.tree import ROOT, Hierarchy, hierarchy_from_paths

_MOST_LEVELS = 50


def groups(members: Mapping[str, Any]) -> HierarchySpecification:
    """Describe a hierarchy by naming its groups, topped by ``*``.

    Parameters
    ----------
    members
        From the label of a group to the list of its values, or to a mapping of smaller groups. Branches may differ in
        depth: the smallest group of a shallow branch is then repeated on several levels, so that every value has the
        same number of levels and level 1 is always the smallest group. A value that is its own group is listed under
        its own name.

    Returns
    -------
    HierarchySpecification
        For a schema, as the hierarchy of an attribute. All listed values are leaves, even those that the
        column does not have.

    Raises
    ------
    HierarchyError
        When a group is empty, a value or label appears in two places, or the mapping is of another shape.

    Examples
    --------
    >>> import polars as pl
    >>> work = groups({"paid": {"public": ["city", "state"], "private": ["shop"]}, "unpaid": ["none"]})
    >>> work.build(pl.Series(["city", "none"]), name="work").paths[-1]
    ('none', 'unpaid', 'unpaid', '*')
    """
    return Groups(members)


@dataclass(frozen=True)
class Groups:
    """The description that :func:`groups` returns.

    Attributes
    ----------
    members : mapping
        From each group to the texts of its values, or to a mapping of smaller groups.
    """

    members: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Copy the mapping with all values as text, and check the tree."""
        raise_all(HierarchyError, _shape_problems(self.members, ()))
        object.__setattr__(self, "members", _copied(self.members))
        hierarchy_from_paths(self._paths(), name="groups")

    def __hash__(self) -> int:
        """Hash by value, whatever the order of the groups, as equality does."""
        return hash(frozenset(self._paths()))

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy of all listed values for a column with `values`.

        Raises
        ------
        HierarchyError
            When values of the column are in no group; they are counted.
        """
        return hierarchy_of_listed(self._paths(), values, name=name)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "groups", "members": _listed(self.members)}

    def _paths(self) -> list[tuple[str, ...]]:
        ragged = list(_branches(self.members, ()))
        depth = max(len(above) for _, above in ragged)
        return [(leaf, *[above[0]] * (depth - len(above)), *above, ROOT) for leaf, above in ragged]


def _branches(members: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each leaf with the groups that hold it, the smallest first."""
    for label, inside in members.items():
        if isinstance(inside, Mapping):
            yield from _branches(inside, (label, *above))
        else:
            yield from ((leaf, (label, *above)) for leaf in inside)


def _copied(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        label: _copied(inside) if isinstance(inside, Mapping) else tuple(value_text(value) for value in inside)
        for label, inside in members.items()
    }


def _listed(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        label: _listed(inside) if isinstance(inside, Mapping) else list(inside) for label, inside in members.items()
    }


def _shape_problems(members: object, place: tuple[int, ...]) -> list[str]:
    """Return the problems of a mapping, with places as numbers, since its labels may be values."""
    where = f"group {'.'.join(map(str, place))}" if place else "the mapping"
    if len(place) > _MOST_LEVELS:
        return [f"groups: more than {_MOST_LEVELS} levels are nested in each other"]
    if isinstance(members, Mapping):
        if not members:
            return [f"groups: {where} is empty; list its values"]
        problems = (
            [] if all(isinstance(label, str) for label in members) else [f"groups: labels in {where} must be text"]
        )
        for number, inside in enumerate(members.values(), 1):
            problems.extend(_shape_problems(inside, (*place, number)))
        return problems
    if not place or isinstance(members, str) or not isinstance(members, Sequence):
        return [f"groups: {where} must be a list of values or a mapping of smaller groups"]
    if not members:
        return [f"groups: {where} is empty; list its values"]
    odd = sum(not isinstance(value, (str, int, float, date)) for value in members)
    return [f"groups: {odd} member(s) of {where} are neither text nor number nor date"] if odd else []

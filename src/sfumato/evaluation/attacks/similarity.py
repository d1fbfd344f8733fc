"""Similarity: the sensitive values of those who fit differ, but mean the same (Li and others, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, SfumatoError
from sfumato.evaluation.attacks.claims import Claims, result_of
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.posterior import TELLING, Posterior, sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.record_groups import OwnValues
from sfumato.hierarchy.specification import HierarchySpecification
from sfumato.options import Checked, Limit, Share
from sfumato.table.kinds import is_measured, text_of


@dataclass(frozen=True)
class Similarity(Checked):
    """The similarity attack.

    Parameters
    ----------
    level
        For sensitive attributes with a hierarchy: the attacker claims a node of this level (1 is the one above single
        values) if it holds the values of all records that fit.
    width
        For numbers and dates without a hierarchy: the attacker claims a range if the values of all records that fit lie
        within this share of the range of the whole release; above 0, at most 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and ℓ-diversity", ICDE 2007,
    section 3.
    """

    name: ClassVar[str] = "similarity"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    level: Annotated[int, Limit(1)] = 1
    width: Share = 0.1

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute whose values can be near each other."""
        results = []
        for name in sensitive_of(target.published):
            described = target.original.schema.sensitive.get(name)
            if described is not None and described.hierarchy is not None:
                nodes = self._nodes(target, name, described.hierarchy)
                told = f"within one node of level {self.level}"
                results.append(self._result(target, name, partial(_in_one_node, nodes), told))
            elif is_measured(target.original.kinds[name]):
                told = f"within {100 * self.width:g} % of its range"
                results.append(self._result(target, name, partial(_in_one_range, self.width), told))
        if not results:
            raise PolicyError(
                "similarity: needs a sensitive attribute with numbers, dates or a hierarchy; other values are near "
                "none but themselves, which is homogeneity"
            )
        return tuple(results)

    def _result(self, target: Target, name: str, claim: partial[Claims], told: str) -> AttackResult:
        return result_of(
            target,
            name,
            claim,
            attack=self.name,
            knows=f"everybody's quasi-identifying values, who is in the data, and which values of {name} are near",
            goal=f"whose {name} was told to {told}",
            helps="t-closeness with the distance of ordered values or of a hierarchy, which counts near values as near",
        )

    def _nodes(self, target: Target, name: str, described: HierarchySpecification) -> dict[str | None, str]:
        """Return the node above each value that anybody has."""
        tables = [target.original, *([] if target.control is None else [target.control])]
        texts = pl.concat([text_of(table.frame[name]) for table in tables]).drop_nulls().unique().sort()
        try:
            hierarchy = described.build(texts, name=name)
        except SfumatoError as error:
            raise PolicyError(*(f"similarity: {problem}" for problem in error.problems)) from None
        if self.level >= len(hierarchy.levels):
            raise PolicyError(f"similarity, level: the hierarchy of {name!r} has levels up to {hierarchy.height}")
        node_of, labels = hierarchy.node_of, hierarchy.levels[self.level].labels
        return {label: labels[node_of[self.level, leaf]] for leaf, label in enumerate(hierarchy.leaves)}


def _in_one_node(nodes: dict[str | None, str], known: Posterior, own: OwnValues) -> Claims:
    """Claim the node that holds every value of those who fit; a value without a node is one of its own."""
    # A missing value has no node above it; the number of a value that was never published is none of these.
    numbers = {label: number for number, label in enumerate(dict.fromkeys(nodes.values()))}
    missing = len(numbers)
    node_of = np.array([numbers[nodes[value]] if value in nodes else missing for value in known.values])
    truth = np.array([numbers[nodes[text]] if text in nodes else missing for text in text_of(own.column).to_list()])
    shares = known.summed(node_of, missing + 1)
    prior = np.array([known.prior[node_of == node].sum() for node in range(missing + 1)])
    made = shares.max(axis=1) >= 1 - SURE
    usual = np.full(own.people, prior.argmax())
    several = np.full(own.people, prior.max() < 1 - SURE)
    return Claims(made, own.right(truth, shares.argmax(axis=1)), own.right(truth, usual), several=several)


def _in_one_range(width: float, known: Posterior, own: OwnValues) -> Claims:
    """Claim the range of the values of those who fit, if it is narrow."""
    numbers = _numbers(pl.Series(known.values, dtype=pl.String), own.column.dtype)
    truth = _measured(own.column)
    published = numbers[known.prior > 0]
    if not np.isfinite(published).any():
        nobody = np.zeros(own.people)
        return Claims(nobody > 0, nobody, nobody, several=nobody > 0)
    narrow = width * (np.nanmax(published) - np.nanmin(published))
    made, low, high = _narrowest(known, numbers)
    made &= high - low <= narrow + SURE
    right = own.any((low[own.person] <= truth) & (truth <= high[own.person]))
    start = _densest(numbers, known.prior, narrow)
    # A missing value is in no range; without one, the whole release may be a narrow range itself.
    spread = np.ptp(published) if np.isfinite(published).all() else np.inf
    several = np.full(own.people, spread > narrow + SURE)
    return Claims(made, right, own.any((start <= truth) & (truth <= start + narrow + SURE)), several=several)


def _narrowest(
    known: Posterior, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Return whether records fit each person, and both ends of their values; of several records, the narrowest."""
    groups = known.groups
    held = np.greater(known.shares if groups is None else groups.shares, 0)
    low = np.where(held, numbers, np.inf).min(axis=1)
    high = np.where(held, numbers, -np.inf).max(axis=1)
    found: NDArray[np.bool_] = np.logical_or.reduce(held, axis=1)
    if groups is None:
        return found, low, high
    order = np.lexsort((np.where(found, high - low, np.inf), groups.person))
    best = order[np.flatnonzero(np.append(True, np.diff(groups.person) != 0))]
    return found[best], low[best], high[best]


def _densest(numbers: NDArray[np.float64], prior: NDArray[np.float64], width: float) -> float:
    """Return the start of the window that holds most of the whole release."""
    order = np.argsort(numbers)
    order = order[np.isfinite(numbers[order])]
    ends = np.searchsorted(numbers[order], numbers[order] + width + SURE, side="right")
    sums = np.concatenate([[0], np.cumsum(prior[order])])
    return float(numbers[order][(sums[ends] - sums[:-1]).argmax()])


def _numbers(texts: pl.Series, dtype: pl.DataType) -> NDArray[np.float64]:
    """Read published values as numbers; a missing value is not a number, and near nothing."""
    if dtype == pl.Date:
        return _measured(texts.str.to_date("%Y-%m-%d", strict=False))
    return _measured(texts.cast(pl.Float64, strict=False))


def _measured(column: pl.Series) -> NDArray[np.float64]:
    return column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()

"""What a publisher may expect of a node of the lattice, where attackers attack what pays them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.node_loss import CellLoss, ClassBasedLoss, Floor, TermFloor
from sfumato.anonymizers.full_domain.node_suppression import NodeOutcome
from sfumato.anonymizers.full_domain.weighted_records import Grouping, WeightedRecords
from sfumato.errors import PolicyError
from sfumato.hierarchy.lattice import Levels
from sfumato.models.profitability import Profitability
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import figure

People = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PayoutFloor:
    """The larger of two bounds: one that knows the risk of records, one that knows every level.

    Attributes
    ----------
    flat : float
        For the whole box.
    information : TermFloor
        What is lost if nobody attacks.
    """

    flat: float
    information: TermFloor

    @property
    def sums(self) -> NDArray[np.int64]:
        """Return the costs behind the second bound."""
        return self.information.sums

    def at(self, low: Levels) -> float:
        """Return the bound. O(q)."""
        return max(self.flat, self.information.at(low))

    def reach(self, low: Levels, high: Levels, cut: float) -> Levels:
        """Leave out, for each attribute, the levels that alone lose too much information."""
        return self.information.reach(low, high, cut)

    def step(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Cut the attribute of the widest range of terms, in its middle."""
        return self.information.step(low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Payout(ClassBasedLoss):
    """The share of the largest payout that is lost: by information, by people who are found, by suppression.

    Attributes
    ----------
    game : Profitability
        Benefit, loss, gain and cost.
    information : CellLoss
        What is lost of the information, as an arithmetic mean.
    total : int
        Original records n.
    """

    game: Profitability
    information: CellLoss
    total: int

    def worthwhile(
        self, records: WeightedRecords, groups: Grouping, people: People | None, levels: Levels
    ) -> NDArray[np.bool_]:
        """Tell of which classes the publisher may expect more than nothing; bool (c,). O(c · q)."""
        sizes = groups.sizes if people is None else people
        return self._payoffs(records, groups.firsts, sizes, levels) > 0

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Return the share that is lost, 0 to 1. O(c · q)."""
        kept = np.flatnonzero(outcome.kept)
        people = groups.sizes if outcome.people is None else outcome.people
        payoffs = self._payoffs(records, groups.firsts[kept], people[kept], levels)
        gained = math.fsum((payoffs * groups.sizes[kept]).tolist())
        return 1.0 - gained / (self.game.benefit * self.total)

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Give every record the information of `low` and the risk of `high`, or nothing. O(m · q)."""
        known = before.information if isinstance(before, PayoutFloor) else None
        information = self.information.floor(records, groups, outcome, low, high, known)
        assert isinstance(information, TermFloor)
        active = np.flatnonzero(~outcome.lost[groups.class_of])
        people = groups.sizes if outcome.people is None else outcome.people
        payoffs = self._payoffs(records, active, people[groups.class_of[active]], low)
        most = math.fsum((np.maximum(payoffs, 0.0) * records.weights[active]).tolist())
        return PayoutFloor(1.0 - most / (self.game.benefit * self.total), information)

    def in_words(self, value: float) -> str:
        """Say what the publisher may expect, for the steward."""
        most = self.game.benefit * self.total
        return f"Expected payout: {figure((1.0 - value) * most)} of {figure(most)} if nothing were changed or attacked."

    def cut(self, value: float) -> float:
        """Return the value and some slack."""
        return value + 1e-11

    def _payoffs(
        self, records: WeightedRecords, chosen: NDArray[np.integer], people: People, levels: Levels
    ) -> NDArray[np.float64]:
        """Return what a record is worth that looks like so many people, int64 (r,), on these levels; float64 (r,)."""
        entries = self.information.tables.at(levels) + records.codes[chosen].astype(np.int64)
        return self.game.payoffs(people, self.information.objective.cell_shares[entries].sum(axis=1))


def game_of(models: Sequence[PrivacyModel]) -> Profitability:
    """Return the game that a payout is worked out for.

    Raises
    ------
    PolicyError
        When there is none, or are several.
    """
    games = [model for model in models if isinstance(model, Profitability)]
    if len(games) != 1:
        raise PolicyError(
            "optimal: the objective payout needs one profitability model, which says benefit, loss, gain and cost; "
            + ("add it" if not games else "leave all but one out")
        )
    return games[0]

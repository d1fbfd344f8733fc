"""Homogeneity: everybody who fits shares the sensitive value (Machanavajjhala and others, 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.evaluation.attacks.claims import Claims, result_of
from sfumato.evaluation.attacks.licence import allowed_guess
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.posterior import TELLING, Posterior, sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.record_groups import OwnValues
from sfumato.options import Checked, Share


@dataclass(frozen=True)
class Homogeneity(Checked):
    """The homogeneity attack.

    Parameters
    ----------
    threshold
        Share of the records that fit a person from which on the attacker claims their most frequent sensitive value;
        above 0, at most 1. At 1 the attacker is certain.

    Raises
    ------
    PolicyError
        When the threshold is not such a share.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "ℓ-diversity: privacy beyond k-anonymity", ICDE
    2006, section 1.

    Notes
    -----
    *Departure.* The paper is about one class; here all records that fit count, in whatever class, and any kind of
    release that gives a distribution of the sensitive value can be attacked.
    """

    name: ClassVar[str] = "homogeneity"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    threshold: Share = 1.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        surely = "with certainty" if self.threshold == 1 else f"at least {100 * self.threshold:g} % sure"
        return tuple(
            result_of(
                target,
                name,
                self._claims,
                attack=self.name,
                knows="everybody's quasi-identifying values, and who is in the data",
                goal=f"whose {name} was told {surely}",
                helps="l-diversity or t-closeness on top of k-anonymity, or larger classes",
                bound=allowed_guess(target.models_of_victims, name),
            )
            for name in sensitive_of(target.published)
        )

    def _claims(self, known: Posterior, own: OwnValues) -> Claims:
        truth = known.codes_of(own.column)
        likeliest = known.shares.argmax(axis=1)
        made = known.shares.max(axis=1) >= self.threshold - SURE
        usual = np.full(own.people, known.prior.argmax())
        several = np.full(own.people, known.prior.max() < 1 - SURE) if self.threshold == 1 else None
        belief = known.shares.max(axis=1)
        return Claims(made, own.right(truth, likeliest), own.right(truth, usual), several=several, belief=belief)

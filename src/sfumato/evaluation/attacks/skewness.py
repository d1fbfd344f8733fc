"""Skewness: a class makes a sensitive value much likelier than it is in the whole table (Li and others, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.evaluation.attacks.claims import Claims, result_of
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.posterior import TELLING, Posterior, sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.record_groups import OwnValues
from sfumato.options import Checked, Limit


@dataclass(frozen=True)
class Skewness(Checked):
    """The skewness attack.

    Parameters
    ----------
    gain
        How many times likelier than in the whole release a value must be among the records that fit a person before the
        attacker claims it; above 1.

    Raises
    ------
    PolicyError
        When the gain is not such a number.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and ℓ-diversity", ICDE 2007,
    section 3.
    """

    name: ClassVar[str] = "skewness"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    gain: Annotated[float, Limit(1, above=True)] = 3.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        return tuple(
            result_of(
                target,
                name,
                self._claims,
                attack=self.name,
                knows="everybody's quasi-identifying values, and who is in the data",
                goal=f"whose {name} is the one that is at least {self.gain:g} times likelier among those who fit",
                helps="t-closeness or β-likeness, which keep every class near the whole table",
            )
            for name in sensitive_of(target.published)
        )

    def _claims(self, known: Posterior, own: OwnValues) -> Claims:
        truth = known.codes_of(own.column)
        usual = known.usual
        gains = known.shares / np.where(usual > 0, usual, 1)
        claimed = gains.argmax(axis=1)
        highest = gains.max(axis=1)
        apart = np.abs(known.rows - known.prior).sum(axis=1)[known.candidates > 0] / 2
        figures = {
            "highest_gain": float(highest.max()),
            "farthest_from_the_whole": float(apart.max(initial=0.0)),
        }
        return Claims(
            highest >= self.gain - SURE, own.right(truth, claimed), usual[np.arange(len(claimed)), claimed], figures
        )

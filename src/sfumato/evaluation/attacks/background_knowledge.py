"""Background knowledge: the attacker excludes values of the sensitive attribute (Machanavajjhala and others, 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.claims import Claims, result_of
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.posterior import TELLING, Posterior, sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.record_groups import OwnValues
from sfumato.options import Checked, Limit, Share


@dataclass(frozen=True)
class BackgroundKnowledge(Checked):
    """The attack of somebody who knows values that a person does *not* have.

    Parameters
    ----------
    excluded
        How many values the attacker can exclude for each person, at least 1; never the true one.
    choice
        ``"worst"``: the ones that help most, that is, the most frequent wrong ones among the records that fit;
        ``"random"``: any wrong ones.
    threshold
        Belief from which on the attacker claims the likeliest value that is left; above 0, at most 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "ℓ-diversity: privacy beyond k-anonymity", ICDE
    2006, sections 1 and 3: distinct ℓ-diversity withstands ℓ − 2 excluded values, and no more.
    """

    name: ClassVar[str] = "background-knowledge"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    excluded: Annotated[int, Limit(1)] = 1
    choice: Literal["worst", "random"] = "worst"
    threshold: Share = 1.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        claim = partial(self._claims, np.random.default_rng(target.seed))
        surely = "with certainty" if self.threshold == 1 else f"at least {100 * self.threshold:g} % sure"
        values = "1 value" if self.excluded == 1 else f"{self.excluded} values"
        which = "that help most" if self.choice == "worst" else "at random"
        return tuple(
            result_of(
                target,
                name,
                claim,
                attack=self.name,
                knows=f"everybody's quasi-identifying values, who is in the data, and {values} of {name} that each "
                f"person does not have ({which})",
                goal=f"whose {name} was told {surely}",
                helps=f"l-diversity with an l above {self.excluded + 1}, or t-closeness",
            )
            for name in sensitive_of(target.published)
        )

    def _claims(self, generator: np.random.Generator, known: Posterior, own: OwnValues) -> Claims:
        truth = known.codes_of(own.column)
        out = self._excluded(generator, known, own.matrix(truth, len(known.values)))
        left = known.without(out)
        total = left.sum(axis=1) if known.groups is None else (left.sum(axis=1) > 0).astype(np.float64)
        made = (total > 0) & (left.max(axis=1) >= (self.threshold - SURE) * total)
        usual = np.where(out, -1.0, known.prior).argmax(axis=1)
        several = ((known.prior > 0) & ~out).sum(axis=1) > 1 if self.threshold == 1 else None
        belief = left.max(axis=1) / np.where(total > 0, total, 1.0)
        right, guessed = own.right(truth, left.argmax(axis=1)), own.right(truth, usual)
        return Claims(made, right, guessed, several=several, belief=belief)

    def _excluded(self, generator: np.random.Generator, known: Posterior, has: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Choose the wrong values that the attacker excludes for each person, bool (people, values)."""
        people, values = known.shares.shape
        # If fewer values are left than can be excluded, the most frequent others are excluded, which helps most.
        worth = known.shares + SURE * known.prior if self.choice == "worst" else generator.random((people, values))
        worth[has] = -1
        # Who has several values lacks fewer.
        count = min(self.excluded, values - 1)
        out = np.zeros((people, values), dtype=np.bool_)
        if count:
            chosen = np.argpartition(-worth, count - 1, axis=1)[:, :count]
            np.put_along_axis(out, chosen, True, axis=1)
            out &= ~has
        return out

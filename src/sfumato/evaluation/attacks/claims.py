"""What an attacker claims about people, and how often that is right.

Attacks on sensitive values make claims about some people only: those about whom the release makes the attacker sure
enough. They are scored on these people, and so is the best possible guess without the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.belief_curve import BeliefCurve, Beliefs, curve_of
from sfumato.evaluation.attacks.peoples_posterior import told_people
from sfumato.evaluation.attacks.posterior import Posterior
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.record_groups import OwnValues
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.rates import Rate
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Claims:
    """Claims about m people.

    Attributes
    ----------
    made : numpy.ndarray
        bool (m,): whether the attacker claims anything about a person.
    right : numpy.ndarray
        float64 (m,): chance that the claim is right; 0 or 1 for one claim.
    guessed : numpy.ndarray
        float64 (m,): chance that a claim of the same kind is right if it is the best one without the release.
    highest : mapping of str to float
        Further figures; the highest over all people counts.
    several : numpy.ndarray or None
        bool (m,): whether guessing leaves several answers, of claims that leave no doubt; None if a claim may be wrong.
    belief : numpy.ndarray or None
        float64 (m,): chance that the attacker gives to what would be claimed of each person; None if people are not
        ranked by it.
    """

    made: NDArray[np.bool_]
    right: NDArray[np.float64]
    guessed: NDArray[np.float64]
    highest: Mapping[str, float] = field(default_factory=dict)
    several: NDArray[np.bool_] | None = None
    belief: NDArray[np.float64] | None = None

    @property
    def certainty(self) -> Certainty | None:
        """Count the claims that leave no doubt; None if others are made."""
        return None if self.several is None else Certainty.of(self.made, self.right, self.several)

    def rate(self) -> Rate:
        """Score the claims that were made."""
        made = int(self.made.sum())
        baseline = float(self.guessed[self.made].mean()) if made else float(self.guessed.mean())
        return Rate(float(self.right[self.made].sum()), made, baseline)

    @classmethod
    def joined(cls, parts: Sequence[Claims]) -> Claims:
        """Put the claims about all people together."""
        made, right, guessed = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("made", "right", "guessed")
        )
        highest = {name: max(part.highest[name] for part in parts) for name in parts[0].highest}
        several = [part.several for part in parts if part.several is not None]
        belief = [part.belief for part in parts if part.belief is not None]
        return cls(
            made,
            right,
            guessed,
            highest,
            np.concatenate(several) if several else None,
            np.concatenate(belief) if belief else None,
        )


Claim = Callable[[Posterior, OwnValues], Claims]
"""What is claimed about some people, given what the release says about them and their true values (for scoring)."""


def claimed(target: Target, table: Table, sensitive: str, claim: Claim) -> Claims:
    """Make the claims about everybody in a table, a block of people at a time."""
    return Claims.joined([claim(told.known, told.own) for told in told_people(target, table, sensitive)])


def result_of(
    target: Target,
    sensitive: str,
    claim: Claim,
    *,
    attack: str,
    knows: str,
    goal: str,
    helps: str,
    bound: float | None = None,
) -> AttackResult:
    """Make a claim about everybody in the data and in the control group, and score it.

    The figure ``claimed`` is the share of the people in the data about whom something is claimed. `bound` is what a
    promise leaves the belief in one person's value, if it leaves anything.
    """
    inside = claimed(target, target.original, sensitive, claim)
    outside = None if target.control is None else claimed(target, target.control, sensitive, claim)
    figures = {"claimed": float(inside.made.mean()), **inside.highest}
    if outside is not None:
        figures["claimed_of_control"] = float(outside.made.mean())
    return AttackResult(
        attack,
        knows,
        goal,
        inside.rate(),
        None if outside is None else outside.rate(),
        figures,
        (),
        helps,
        certainty=inside.certainty,
        curve=_curve(inside, outside, bound),
    )


def _curve(inside: Claims, outside: Claims | None, bound: float | None) -> BeliefCurve | None:
    """Rank people by what is believed of them; the verdict stays with what is claimed."""
    if inside.belief is None:
        return None
    told, others = (
        None if one is None or one.belief is None else Beliefs(one.belief, one.right) for one in (inside, outside)
    )
    assert told is not None
    guessing = tuple(0.0 if one is None else float(one.guessed.mean()) for one in (inside, outside))
    return curve_of(told, others, None, guessing=(guessing[0], guessing[1]), bound=bound, judges=False)

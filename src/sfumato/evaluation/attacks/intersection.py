"""Intersection: two releases of the same people disclose more than each (Ganta, Kasiviswanathan and Smith, 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.posterior import Posterior, posterior, sensitive_of, told_blocks
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.numbers import counted
from sfumato.options import Checked, Share
from sfumato.published import Published
from sfumato.rates import Rate
from sfumato.table.table import Table


@dataclass(frozen=True)
class Intersection(Checked):
    """The intersection attack.

    The attacker finds somebody in two releases and keeps the sensitive values that both leave open. The beliefs of both
    are combined as if they were independent.

    Parameters
    ----------
    threshold
        The joint belief from which on the attacker claims a value, above 0, at most 1. At 1 it is the only value that
        both releases leave open.

    Raises
    ------
    PolicyError
        When the threshold is not such a share.

    References
    ----------
    S. R. Ganta, S. P. Kasiviswanathan, A. Smith, "Composition attacks and auxiliary information in data privacy", KDD
    2008.

    Notes
    -----
    *Departure.* The paper counts values that are left; the beliefs among them are Bayes' rule on top of that. Any kinds
    of release that give a distribution of the sensitive value can be intersected, even two different ones. A person
    with no value left is assumed not to be in both releases.

    *Cost.* That of the posteriors of both releases.
    """

    name: ClassVar[str] = "intersection"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables"}
    )
    needs: ClassVar[tuple[str, ...]] = ("sensitive", "earlier")

    threshold: Share = 1.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute that both releases have.

        Raises
        ------
        InputError
            When the releases have no sensitive attribute in common, or nobody may be in both.
        PolicyError
            When there is no other release.
        """
        if target.earlier is None:
            raise PolicyError("intersection: needs another release of the same people; give it as earlier")
        earlier = sensitive_of(target.earlier)
        names = [name for name in sensitive_of(target.published) if name in earlier]
        if not names:
            raise InputError(
                "intersection: the two releases have no sensitive attribute in common; intersect releases of the same "
                "attribute"
            )
        return tuple(self._result(target, target.earlier, name) for name in names)

    def _result(self, target: Target, earlier: Published, name: str) -> AttackResult:
        inside = self._tried(target, earlier, target.original, name)
        found = inside.left > 0
        if not found.any():
            raise InputError(
                "intersection: nobody fits records of both releases with a value that both leave open; are they of the "
                "same people, under the schema that was given?"
            )
        absent = len(found) - int(found.sum())
        surely = "with certainty" if self.threshold == 1 else f"at least {100 * self.threshold:g} % sure"
        return AttackResult(
            self.name,
            "everybody's quasi-identifying values, and who is in the data of both releases",
            f"whose {name} was told {surely} by both releases together, and by neither alone",
            inside.rate(),
            None if target.control is None else self._tried(target, earlier, target.control, name).rate(),
            {
                "claimed": float(inside.made[found].mean()),
                "values_left": float(inside.left[found].mean()),
                "values_left_by_one_release": float(inside.left_alone[found].mean()),
            },
            (f"{counted(absent, 'record')} not found in both releases left out",) if absent else (),
            "one release for all purposes, or a later one made with regard to the earlier; no syntactic model bounds "
            "what two releases tell together",
        )

    def _tried(self, target: Target, earlier: Published, people: Table, name: str) -> _Tried:
        parts = []
        for rows, later in told_blocks(target, people, name):
            some = people.take(rows)
            other = _renumbered(posterior(earlier, some, sensitive=name, recoding=target.recoding), later.values)
            parts.append(self._compared(later, other, later.codes_of(some.frame[name])))
        return _Tried(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _compared(
        self, later: Posterior, earlier: NDArray[np.float64], truth: NDArray[np.int64]
    ) -> tuple[NDArray[Any], ...]:
        joint = later.shares * earlier / np.where(later.prior > 0, later.prior, 1.0)
        total = joint.sum(axis=1, keepdims=True)
        joint /= np.where(total > 0, total, 1.0)
        alone = (later.shares, earlier)
        already = np.logical_or.reduce([each.max(axis=1) >= self.threshold - SURE for each in alone])
        made = (joint.max(axis=1) >= self.threshold - SURE) & ~already
        hits = [_hit(each, truth) for each in (joint, *alone)]
        left = (joint > 0).sum(axis=1)
        return made, left, np.minimum(*((each > 0).sum(axis=1) for each in alone)), *hits


@dataclass(frozen=True, eq=False, repr=False)
class _Tried:
    """What both releases disclose about each person, (n,).

    made : whether they disclose a value together and neither alone. left, left_alone : values that they leave open, and
    that the better one does. right, later_right, earlier_right : chance that the likeliest value of both, and of each,
    is the true one.
    """

    made: NDArray[np.bool_]
    left: NDArray[np.int64]
    left_alone: NDArray[np.int64]
    right: NDArray[np.float64]
    later_right: NDArray[np.float64]
    earlier_right: NDArray[np.float64]

    def rate(self) -> Rate:
        """Score the claims beside the guesses of the better release on the same people, or on all without a claim."""
        people = self.made if self.made.any() else np.ones_like(self.made)
        better = max(self.later_right[people].mean(), self.earlier_right[people].mean())
        return Rate(float(self.right[self.made].sum()), int(self.made.sum()), float(better))


def _hit(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the chance that the likeliest value is the true one; equally likely ones share it; float64 (m,)."""
    highest = shares >= shares.max(axis=1, keepdims=True) - SURE
    own = np.where(truth >= 0, highest[np.arange(len(truth)), np.maximum(truth, 0)], False)
    chance: NDArray[np.float64] = own / highest.sum(axis=1)
    return chance


def _renumbered(other: Posterior, values: tuple[str | None, ...]) -> NDArray[np.float64]:
    """Return beliefs in the values of one release in the order of another, float64 (m, v); 0 if it lacks one."""
    place_of = {value: place for place, value in enumerate(other.values)}
    shares = np.column_stack([other.shares, np.zeros(len(other.shares))])
    return shares[:, [place_of.get(value, -1) for value in values]]

"""Intersection: two releases of the same people disclose more than each (Ganta, Kasiviswanathan and Smith, 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.people import KnownRecords, known_records
from sfumato.evaluation.attacks.posterior import (
    OwnValues,
    Posterior,
    blocks_of_people,
    peoples_posterior,
    posterior,
    posteriors_of_target,
    sensitive_of,
    value_count,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, BeliefCurve, Beliefs, Certainty, draw_curve
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

    *People with several records.* Both releases are asked about each known record; the record about which they are
    surest counts, and a claim is right if any record of the person has the value.

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
                "intersection: nobody fits records of both releases with a value that both leave open. Are they of the "
                "same people, under the schema that was given?"
            )
        absent = len(found) - int(found.sum())
        missing = counted(absent, "record") if target.original.people is None else f"{absent:,} people"
        surely = "with certainty" if self.threshold == 1 else f"at least {100 * self.threshold:g} % sure"
        outside = None if target.control is None else self._tried(target, earlier, target.control, name)
        return AttackResult(
            self.name,
            "everybody's quasi-identifying values, and who is in the data of both releases",
            f"whose {name} was told {surely} by both releases together, and by neither alone",
            inside.rate(),
            None if outside is None else outside.rate(),
            {
                "claimed": float(inside.made[found].mean()),
                "values_left": float(inside.left[found].mean()),
                "values_left_by_one_release": float(inside.left_alone[found].mean()),
            },
            (f"{missing} not found in both releases left out",) if absent else (),
            "one release for all purposes, or a later one made with regard to the earlier; no model of one release "
            "bounds what two tell together",
            certainty=inside.certainty() if self.threshold == 1 else None,
            curve=_curve(inside, outside),
        )

    def _tried(self, target: Target, earlier: Published, people: Table, name: str) -> _Tried:
        known = known_records(target, people)
        beliefs = (
            _of_records(target, earlier, people, name)
            if known.alone
            else _of_people(target, earlier, people, known, name)
        )
        parts = [self._compared(*some) for some in beliefs]
        return _Tried(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _compared(self, later: Posterior, earlier: NDArray[np.float64], own: OwnValues) -> tuple[NDArray[Any], ...]:
        """Compare what both releases say of each known record; of several records of a person, the surest counts."""
        owner = np.arange(own.people) if later.groups is None else later.groups.owners
        alone = (later.of_records, earlier)
        joint = alone[0] * earlier / np.where(later.prior > 0, later.prior, 1.0)
        total = joint.sum(axis=1, keepdims=True)
        joint /= np.where(total > 0, total, 1.0)
        has = own.matrix(later.codes_of(own.column), len(later.values))
        surest = [_surest(each, owner) for each in (joint, *alone)]
        belief, *guess = (each.max(axis=1) for each in surest)
        made = (belief >= self.threshold - SURE) & (np.maximum(*guess) < self.threshold - SURE)
        left = [(each > 0).sum(axis=1) for each in surest]
        right, *guessed = (_hit(each, has) for each in surest)
        return (
            made,
            left[0],
            np.minimum(left[1], left[2]),
            right,
            belief,
            *(np.column_stack(each) for each in (guess, guessed)),
        )


_Both = Iterator[tuple[Posterior, NDArray[np.float64], OwnValues]]
"""What one release says of some people, what the other says of the same records, and their true values."""


def _of_records(target: Target, earlier: Published, people: Table, name: str) -> _Both:
    for rows, later in posteriors_of_target(target, people, name):
        some = people.take(rows)
        other = posterior(earlier, some, sensitive=name, recoding=target.recoding)
        yield later, _renumbered(other, later.values), OwnValues.of_each(some.frame[name])


def _of_people(target: Target, earlier: Published, people: Table, known: KnownRecords, name: str) -> _Both:
    for some, places in blocks_of_people(known, value_count(target.published, name)):
        part = people.take(places)
        later, other = (
            peoples_posterior(published, part, some, name, target.recoding, together=rows.together)
            for published, rows in ((target.published, target.rows), (earlier, target.earlier_rows))
        )
        yield later, _renumbered(other, later.values), OwnValues(some.person_of, part.frame[name], some.people)


def _surest(shares: NDArray[np.float64], owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the beliefs about that record of each person of which one value is most likely; float64 (m, v)."""
    if len(owner) == int(owner.max(initial=-1)) + 1:
        return shares
    order = np.lexsort((-shares.max(axis=1), owner))
    chosen: NDArray[np.float64] = shares[order[np.flatnonzero(np.append(True, np.diff(owner[order]) != 0))]]
    return chosen


@dataclass(frozen=True, eq=False, repr=False)
class _Tried:
    """What both releases disclose of n people, and in two columns what each does alone.

    `made`, `left`, `left_alone`, `right`, `belief`: (n,). `chance`: float64 (n, 2): belief in the guess of one release.
    `guessed`: float64 (n, 2): chance that it is right.
    """

    made: NDArray[np.bool_]
    left: NDArray[np.int64]
    left_alone: NDArray[np.int64]
    right: NDArray[np.float64]
    belief: NDArray[np.float64]
    chance: NDArray[np.float64]
    guessed: NDArray[np.float64]

    def certainty(self) -> Certainty:
        """Count the claims, all of which are about people whom neither release tells alone."""
        return Certainty.of(self.made, self.right, np.ones_like(self.made))

    @property
    def guessing(self) -> float:
        """Return for how many of those who were tried the better release alone is right."""
        return float(self.guessed.mean(axis=0).max())

    def beliefs(self) -> Beliefs:
        """Return what both releases say of everybody, beside the one that is surer alone."""
        return Beliefs(self.belief, self.right, self.chance[:, self.chance.mean(axis=0).argmax()])

    def rate(self) -> Rate:
        """Score the claims beside what the surer release alone knows of these people, or does for everybody."""
        # Of whom claims are made hangs on both: how often one alone is right about these is no merit of guessing.
        people = self.made if self.made.any() else np.ones_like(self.made)
        chance = float(self.chance[people].mean(axis=0).max())
        return Rate(float(self.right[self.made].sum()), int(self.made.sum()), max(chance, self.guessing))


def _curve(inside: _Tried, outside: _Tried | None) -> BeliefCurve:
    """Rank people by what both releases say; guesses are those of the better release alone."""
    others, guessed = (None, 0.0) if outside is None else (outside.beliefs(), outside.guessing)
    return draw_curve(inside.beliefs(), others, None, guessing=(inside.guessing, guessed), bound=None, claims=True)


def _hit(shares: NDArray[np.float64], has: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the chance that the likeliest value is a true one; equally likely ones share it; float64 (m,)."""
    highest = shares >= shares.max(axis=1, keepdims=True) - SURE
    chance: NDArray[np.float64] = (highest & has).sum(axis=1) / highest.sum(axis=1)
    return chance


def _renumbered(other: Posterior, values: tuple[str | None, ...]) -> NDArray[np.float64]:
    """Return beliefs in the values of one release in the order of another, float64 (r, v); 0 if it lacks one."""
    place_of = {value: place for place, value in enumerate(other.values)}
    shares = np.column_stack([other.of_records, np.zeros(len(other.of_records))])
    return shares[:, [place_of.get(value, -1) for value in values]]

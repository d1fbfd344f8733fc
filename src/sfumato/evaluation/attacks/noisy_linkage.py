"""Linkage by somebody whose knowledge is partly wrong and has gaps (Fellegi and Sunter, 1969)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.agreement_weights import FEWEST_WRONG, AgreementWeights
from sfumato.evaluation.attacks.belief_curve import Beliefs, curve_of
from sfumato.evaluation.attacks.cohort import generator_of
from sfumato.evaluation.attacks.known_attributes import known_attributes, known_problems
from sfumato.evaluation.attacks.links import read_links
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.scored_links import RECORDS, smallest_promised
from sfumato.evaluation.attacks.victims import Victims, key_columns, key_of, victims_of
from sfumato.evaluation.attacks.whereabouts import Whereabouts, pairs_of, read_truth, rows_of, whereabouts
from sfumato.options import Checked, Limit
from sfumato.rates import Rate

_SALT = 0xF5
_ALONE = "nobody who is not in the data can be found in it"

SharePart = Annotated[float, Limit(0, 1, below=True)]


@dataclass(frozen=True)
class NoisyLinkage(Checked):
    """The linking attack of somebody who is wrong about some values and does not know others.

    Parameters
    ----------
    wrong
        Share of the known values that are wrong, from 0 to below 1: each is exchanged for that of a person drawn at
        random. A register that is given is taken as it is.
    missing
        Share of the values that are not known, from 0 to below 1; likewise.
    weights
        ``"estimated"``: the attacker learns from the release how often each attribute is wrong; ``"known"``: the
        attacker believes in `wrong` for each.
    people
        Most people that are tried, 1 or more; more are drawn from.
    known
        What the attacker knows of everybody, as for
        :class:`~sfumato.evaluation.attacks.exact_linkage.Linkage`.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Played.* What is known of a person is compared with every class. An attribute that agrees adds a weight, one that
    disagrees takes some, by :class:`~sfumato.evaluation.attacks.agreement_weights.AgreementWeights`; the attacker picks
    a record of the class with the largest sum, whose chance is the belief. Whether the person's own record is there is
    judged by :func:`sfumato.evaluation.attacks.whereabouts.whereabouts`, with true values.

    *By guessing*: one record picked from all. The figure ``taking_all_for_true`` is the share who are found by somebody
    with the same knowledge who looks for records that fit in everything.

    *Departures.* m and u of the paper follow from the share of wrong values and from what labels cover, so that a
    narrow label weighs more than a wide one; the paper's links that are left undecided are not made, as everybody is
    taken to be in the table.

    Cost O(p · c · q) for p people and c classes, and the estimation 15 rounds of the same for 200 people.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", Journal of the American Statistical Association, 1969.
    The estimation is that of M. A. Jaro, "Advances in record-linkage methodology", same journal, 1989.
    """

    name: ClassVar[str] = "noisy-linkage"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table", "bucketized-tables"})
    needs: ClassVar[tuple[str, ...]] = ()
    on_demand: ClassVar[str] = "how much its attacker is wrong about is an assumption; name it to play it"

    wrong: SharePart = 0.1
    missing: SharePart = 0.1
    weights: Literal["estimated", "known"] = "estimated"
    people: Annotated[int, Limit(1)] = 2000
    known: int | tuple[str, ...] | None = None

    def _mistakes(self) -> Iterable[str]:
        return known_problems(self.name, self.known)

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it on everybody in the data, or in the register, or on some of them."""
        published = RECORDS[target.published.kind](target.published)
        victims = victims_of(target, published)
        names = known_attributes(self.name, self.known, target, published, victims)
        if not victims.alone:
            return (self._unplayed(names, "people have several records, and it looks for one of each"),)
        reading = read_truth(target, published, victims, names)
        pairs = pairs_of(reading.publication, reading.known)
        if pairs is None:
            return (self._unplayed(names, "too many classes fit the people to say who is found"),)
        generator = generator_of(target, _SALT)
        believed = victims if target.register is not None else self._blurred(victims, names, generator)
        weights = AgreementWeights.of(
            read_links(published, believed, names, key_of(published, key_columns(published, target)), target.recoding)
        )
        tried = np.sort(generator.permutation(victims.people)[: self.people])
        found = self._linked(weights, tried, whereabouts(reading, pairs), rows_of(victims))
        return (self._scored(target, victims, names, tried, found),)

    def _blurred(self, victims: Victims, names: tuple[str, ...], generator: np.random.Generator) -> Victims:
        """Exchange some values for those of others, and leave some out."""
        frame = victims.frame
        for name in names:
            column, rows = frame[name], np.arange(frame.height)
            exchanged = generator.random(frame.height) < self.wrong
            rows = np.where(exchanged, generator.integers(0, frame.height, frame.height), rows)
            gone = pl.Series(generator.random(frame.height) < self.missing)
            frame = frame.with_columns(pl.when(~gone).then(column.gather(rows)).alias(name))
        return replace(victims, frame=frame)

    def _linked(
        self, weights: AgreementWeights, tried: NDArray[np.int64], where: Whereabouts, row_of: NDArray[np.int64]
    ) -> _Linked:
        wrong = np.full(len(weights.attributes), max(self.wrong, FEWEST_WRONG))
        if self.weights == "estimated":
            wrong = weights.estimate(tried)
        found, exact, belief = (np.zeros(len(row_of)) for _ in range(3))
        for block in weights.blocks(tried):
            weight, fits = weights.weigh(block, wrong)
            belief[block] = (weights.shares(weight) / weights.sizes).max(axis=1)
            best = weight >= weight.max(axis=1, keepdims=True) - SURE
            found[block] = _picked(block, best, weights.sizes, where, row_of)
            fitting = np.where(fits, weight, -np.inf)
            exact[block] = _picked(
                block, fits & (fitting >= fitting.max(axis=1, keepdims=True) - SURE), weights.sizes, where, row_of
            )
        return _Linked(found, exact, belief, wrong)

    def _scored(
        self, target: Target, victims: Victims, names: tuple[str, ...], tried: NDArray[np.int64], found: _Linked
    ) -> AttackResult:
        inside = tried[victims.inside[tried]]
        k = smallest_promised(target.models_of_victims) if target.published.kind == "generalized-table" else None
        guess = 1 / max(1, RECORDS[target.published.kind](target.published).height)
        told = Beliefs(found.belief[inside], found.found[inside])
        bound = None if k is None or target.rows.promised else 1 / k
        return replace(
            self._result(names, target.register is not None),
            success=Rate(float(found.found[inside].sum()), len(inside), guess),
            figures={
                "taking_all_for_true": float(found.exact[inside].mean()) if len(inside) else 0.0,
                "believed_wrong": float(found.wrong.mean()),
            },
            allowed=bound,
            curve=curve_of(told, None, None, guessing=(guess, 0.0), bound=bound, alone=_ALONE),
        )

    def _result(self, names: tuple[str, ...], register: bool) -> AttackResult:
        drawn = f"{100 * self.wrong:.3g} % of it wrong, {100 * self.missing:.3g} % missing"
        how = "partly wrong and with gaps" if register else drawn
        return AttackResult(
            attack=self.name,
            knows=f"the {', '.join(names)} of everybody in the data, {how}",
            goal="whose record was found by picking one that agrees most",
            success=Rate(0.0, 0, 0.0),
            helps="k-anonymity with a larger k, coarser values, or fewer quasi-identifying attributes",
        )

    def _unplayed(self, names: tuple[str, ...], why: str) -> AttackResult:
        return replace(self._result(names, False), notes=(why,), unplayed=why)


@dataclass(frozen=True, eq=False, repr=False)
class _Linked:
    """What came out: chances to be found, by weights and by who takes all for true, beliefs, wrong values believed."""

    found: NDArray[np.float64]
    exact: NDArray[np.float64]
    belief: NDArray[np.float64]
    wrong: NDArray[np.float64]


def _picked(
    block: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    where: Whereabouts,
    row_of: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the chance that a record picked from the chosen classes is the person's; float64, one for each."""
    person, owner = np.nonzero(chosen)
    there = where.chance_in(row_of[block], person, owner)
    found: NDArray[np.float64] = there / np.maximum(chosen @ sizes, 1)
    return found

"""Linkage by somebody whose knowledge is partly wrong and has gaps (Fellegi and Sunter, 1969).

Letters: m people, c classes, q attributes, g labels of an attribute, w_j the share of the known values of attribute j
that are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.linkage import (
    RECORDS,
    ClassChances,
    LinkReading,
    known_attributes,
    known_problems,
    list_pairs,
    own_rows,
    read_links,
    read_truth,
    smallest_promised,
    spread_originals,
    strange_rows,
)
from sfumato.evaluation.attacks.people import Victims, generator_of, key_of, unchanged_columns, victims_of
from sfumato.evaluation.attacks.placement import PublishedClasses, RegisterAttribute
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Beliefs, draw_curve
from sfumato.kernels.linking import UNKNOWN
from sfumato.options import Checked, Limit
from sfumato.rates import Rate

_SALT = 0xF5


_ALONE = "nobody who is not in the data can be found in it"


_SharePart = Annotated[float, Limit(0, 1, below=True)]


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
        :class:`~sfumato.evaluation.attacks.linkage.Linkage`.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Played.* What is known of a person is compared with every class. An attribute that agrees adds a weight, one that
    disagrees takes some, by :class:`~sfumato.evaluation.attacks.noisy_linkage.AgreementWeights`; the attacker picks
    a record of the class with the largest sum, whose chance is the belief. Whether the person's own record is there is
    judged by :func:`sfumato.evaluation.attacks.linkage.spread_originals`, with true values.

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

    wrong: _SharePart = 0.1
    missing: _SharePart = 0.1
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
        pairs = list_pairs(reading.publication, reading.known)
        if pairs is None:
            return (self._unplayed(names, "too many classes fit the people to say who is found"),)
        if (strange := strange_rows(reading, pairs)) is not None:
            return (self._unplayed(names, strange),)
        generator = generator_of(target, _SALT)
        believed = victims if target.register is not None else self._blurred(victims, names, generator)
        key = key_of(published, unchanged_columns(published, target))
        weights = AgreementWeights.of(read_links(published, believed, names, key, target.recoding))
        tried = np.sort(generator.permutation(victims.people)[: self.people])
        found = self._linked(weights, tried, spread_originals(reading, pairs), own_rows(victims))
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
        self, weights: AgreementWeights, tried: NDArray[np.int64], where: ClassChances, row_of: NDArray[np.int64]
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
        beliefs = Beliefs(found.belief[inside], found.found[inside])
        bound = None if k is None or target.rows.promised else 1 / k
        return replace(
            self._result(names, target.register is not None),
            success=Rate(float(found.found[inside].sum()), len(inside), guess),
            figures={
                "taking_all_for_true": float(found.exact[inside].mean()) if len(inside) else 0.0,
                "believed_wrong": float(found.wrong.mean()),
            },
            allowed=bound,
            curve=draw_curve(beliefs, None, None, guessing=(guess, 0.0), bound=bound, alone=_ALONE),
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
    where: ClassChances,
    row_of: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the chance that a record picked from the chosen classes is the person's; float64, one for each."""
    person, owner = np.nonzero(chosen)
    there = where.chance_in(row_of[block], person, owner)
    found: NDArray[np.float64] = there / np.maximum(chosen @ sizes, 1)
    return found


_BLOCK_CELLS = 1 << 21
"""Pairs of a person and a class that are weighed at a time."""


FEWEST_WRONG = 1e-4
"""Smallest share of wrong values that is believed: no register is without a mistake."""


_ROUNDS, _SAMPLE = 15, 200


_FEW_RUNS = 2


@dataclass(frozen=True, eq=False, repr=False)
class _ComparedAttribute:
    """One attribute of the classes: each one's label, the ends that labels cover, and u, the share covered."""

    label_of: NDArray[np.int64]
    chance: NDArray[np.float64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @classmethod
    def of(cls, publication: PublishedClasses, place: int, known: RegisterAttribute) -> _ComparedAttribute:
        """Read one attribute; cost O(g · runs + c + m)."""
        labels, label_of = np.unique(publication.label_of[:, place], return_inverse=True)
        starts, counts = publication.runs[labels], np.diff(publication.runs)[labels]
        width = max(1, int(counts.max()))
        run = starts[:, None] + np.arange(width)
        there = np.arange(width) < counts[:, None]
        run = np.where(there, run, 0)
        if not len(publication.low):
            low = high = np.zeros(run.shape, dtype=np.int32)
        else:
            low, high = publication.low[run], publication.high[run]
        low, high = np.where(there, low, 1).astype(np.int32), np.where(there, high, -1).astype(np.int32)
        codes = known.codes[known.codes != UNKNOWN]
        up_to = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=known.attribute.size + 1))])
        people = np.where(there, up_to[high + 1] - up_to[np.minimum(low, len(up_to) - 1)], 0).sum(axis=1)
        least = 0.5 / max(1, len(codes))
        chance = np.maximum(people / max(1, len(codes)), least)[label_of]
        return cls(label_of.astype(np.int64), chance, low, high)

    def agrees(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which classes cover some people's values, bool (people, c)."""
        if self.low.shape[1] > _FEW_RUNS:
            inside = (codes[:, None, None] >= self.low) & (codes[:, None, None] <= self.high)
            covered: NDArray[np.bool_] = np.any(inside, axis=2)
            return covered[:, self.label_of]
        found = np.zeros((len(codes), len(self.label_of)), dtype=np.bool_)
        for low, high in zip(self.low.T, self.high.T, strict=True):
            found |= (codes[:, None] >= low[self.label_of]) & (codes[:, None] <= high[self.label_of])
        return found


@dataclass(frozen=True, eq=False, repr=False)
class AgreementWeights:
    """What is known of m people beside classes: `codes`, int32 (m, q), or `UNKNOWN`; `sizes`, int64 (c,)."""

    attributes: tuple[_ComparedAttribute, ...]
    codes: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, reading: LinkReading) -> AgreementWeights:
        """Compare what is known with the classes of a release."""
        publication = reading.publication
        attributes = tuple(
            _ComparedAttribute.of(publication, place, known) for place, known in enumerate(reading.known)
        )
        return cls(attributes, np.column_stack([known.codes for known in reading.known]), publication.sizes)

    def blocks(self, people: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Cut people into blocks of at most `_BLOCK_CELLS` pairs with classes."""
        step = max(1, _BLOCK_CELLS // len(self.sizes))
        for start in range(0, len(people), step):
            yield people[start : start + step]

    def weigh(
        self, people: NDArray[np.int64], wrong: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the weight of each class for each person, and whether nothing disagrees. Cost O(b · c · q).

        Fellegi and Sunter's m and u follow from one number. A wrong value is anybody's, so it agrees by chance, u; a
        right one always. So m = 1 − w + w · u, agreement weighs log(m ÷ u) = log((1 − w) ÷ u + w), disagreement log((1
        − m) ÷ (1 − u)) = log w, and the unknown nothing. As u is the share of the people whom the very label covers,
        rare values and narrow labels weigh more.
        """
        weight = np.zeros((len(people), len(self.sizes)))
        fits = np.ones(weight.shape, dtype=np.bool_)
        for place, each in enumerate(self.attributes):
            codes = self.codes[people, place]
            agrees, known = each.agrees(codes), codes != UNKNOWN
            agreeing = np.log((1 - wrong[place]) / each.chance + wrong[place])
            weight += np.where(known[:, None], np.where(agrees, agreeing, np.log(wrong[place])), 0.0)
            fits &= agrees | ~known[:, None]
        return weight, fits

    def shares(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chance of each class to hold each person's record: float64 (b, c), sums of 1."""
        chance = np.exp(weight - weight.max(axis=1, keepdims=True)) * self.sizes
        shares: NDArray[np.float64] = chance / chance.sum(axis=1, keepdims=True)
        return shares

    def estimate(self, people: NDArray[np.int64]) -> NDArray[np.float64]:
        """Estimate the share of wrong values of each attribute, by 15 rounds of EM over at most 200 people."""
        some = people[:: max(1, len(people) // _SAMPLE)][:_SAMPLE]
        wrong = np.full(len(self.attributes), 0.1)
        for _ in range(_ROUNDS):
            mistakes, known = np.zeros(len(wrong)), np.zeros(len(wrong))
            for block in self.blocks(some):
                shares = self.shares(self.weigh(block, wrong)[0])
                for place, each in enumerate(self.attributes):
                    codes = self.codes[block, place]
                    by_chance = wrong[place] * each.chance
                    mistaken = np.where(each.agrees(codes), by_chance / (1 - wrong[place] + by_chance), 1.0)
                    is_known = codes != UNKNOWN
                    mistakes[place] += (shares * mistaken)[is_known].sum()
                    known[place] += is_known.sum()
            wrong = np.clip(mistakes / np.maximum(known, 1), FEWEST_WRONG, 0.5)
        return wrong

"""Fellegi and Sunter's weights: how much it tells that what is known of a person agrees with a published class.

Letters: m people, c classes, q attributes, g labels of an attribute, w_j the share of the known values of attribute j
that are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.links import Reading
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.kernels.linking.linkage import UNKNOWN

BLOCK_CELLS = 1 << 21
"""Pairs of a person and a class that are weighed at a time."""

FEWEST_WRONG = 1e-4
"""Smallest share of wrong values that is believed: no register is without a mistake."""

_ROUNDS, _SAMPLE = 15, 200
_FEW_RUNS = 2


@dataclass(frozen=True, eq=False, repr=False)
class ComparedAttribute:
    """One attribute of the classes, for comparing it with what is known.

    Attributes
    ----------
    label_of : numpy.ndarray
        int64 (c,): the label of each class, numbered from 0.
    chance : numpy.ndarray
        float64 (c,): u, the share of the known people whose value the class covers.
    low, high : numpy.ndarray
        int32 (g, runs): ends of what each label covers, filled up with what covers nothing.
    """

    label_of: NDArray[np.int64]
    chance: NDArray[np.float64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @classmethod
    def of(cls, publication: PublishedClasses, place: int, known: RegisterAttribute) -> ComparedAttribute:
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
        told = known.codes[known.codes != UNKNOWN]
        up_to = np.concatenate([[0], np.cumsum(np.bincount(told, minlength=known.attribute.size + 1))])
        people = np.where(there, up_to[high + 1] - up_to[np.minimum(low, len(up_to) - 1)], 0).sum(axis=1)
        least = 0.5 / max(1, len(told))
        chance = np.maximum(people / max(1, len(told)), least)[label_of]
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
    """What is known of m people, compared with every class.

    Attributes
    ----------
    attributes : tuple of ComparedAttribute
    told : numpy.ndarray
        int32 (m, q): codes, `UNKNOWN` where nothing is known.
    sizes : numpy.ndarray
        int64 (c,): records in each class.
    """

    attributes: tuple[ComparedAttribute, ...]
    told: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, reading: Reading) -> AgreementWeights:
        """Compare what is known with the classes of a release."""
        publication = reading.publication
        attributes = tuple(ComparedAttribute.of(publication, place, known) for place, known in enumerate(reading.known))
        return cls(attributes, np.column_stack([known.codes for known in reading.known]), publication.sizes)

    def blocks(self, people: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Cut people into blocks of at most `BLOCK_CELLS` pairs with classes."""
        step = max(1, BLOCK_CELLS // len(self.sizes))
        for start in range(0, len(people), step):
            yield people[start : start + step]

    def weigh(
        self, people: NDArray[np.int64], wrong: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the weight of each class for each person, and whether nothing disagrees.

        Parameters
        ----------
        people
            int64 (b,): places of people.
        wrong
            float64 (q,): share of the known values of each attribute that are wrong.

        Returns
        -------
        weight : numpy.ndarray
            float64 (b, c): logarithm of how much likelier what is known is of a record of the class than of anybody.
        fits : numpy.ndarray
            bool (b, c).

        Notes
        -----
        Fellegi and Sunter's m and u follow from one number. A wrong value is anybody's, so it agrees with a class by
        chance, u; a right one always agrees. So m = 1 − w + w · u, the weight of agreement is
        log(m ÷ u) = log((1 − w) ÷ u + w), and that of disagreement log((1 − m) ÷ (1 − u)) = log w. What is unknown
        weighs nothing. As u is the share of the people whom the very label covers, rare values and narrow labels weigh
        more. Cost O(b · c · q).
        """
        weight = np.zeros((len(people), len(self.sizes)))
        fits = np.ones(weight.shape, dtype=np.bool_)
        for place, each in enumerate(self.attributes):
            codes = self.told[people, place]
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
        """Estimate the share of wrong values of each attribute by expectation maximization.

        Parameters
        ----------
        people
            int64: some people, of whom at most 200 are looked at.

        Returns
        -------
        numpy.ndarray
            float64 (q,), at least `FEWEST_WRONG` and at most one half.

        Notes
        -----
        Everybody is taken to be in the table. Cost O(15 · 200 · c · q).
        """
        some = people[:: max(1, len(people) // _SAMPLE)][:_SAMPLE]
        wrong = np.full(len(self.attributes), 0.1)
        for _ in range(_ROUNDS):
            mistakes, known = np.zeros(len(wrong)), np.zeros(len(wrong))
            for block in self.blocks(some):
                shares = self.shares(self.weigh(block, wrong)[0])
                for place, each in enumerate(self.attributes):
                    codes = self.told[block, place]
                    by_chance = wrong[place] * each.chance
                    mistaken = np.where(each.agrees(codes), by_chance / (1 - wrong[place] + by_chance), 1.0)
                    told = codes != UNKNOWN
                    mistakes[place] += (shares * mistaken)[told].sum()
                    known[place] += told.sum()
            wrong = np.clip(mistakes / np.maximum(known, 1), FEWEST_WRONG, 0.5)
        return wrong

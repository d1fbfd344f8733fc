"""Recursive (c, l)-diversity: the most frequent value does not outweigh the rare ones."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, as_one_class
from sfumato.kernels.predicates import DISTINCT, ENTROPY, PROBABILISTIC, RECURSIVE, WISHED_DISTINCT, WISHED_SHARE
from sfumato.models.protocol import TOLERANCE, Rule, SensitiveModel, at_least
from sfumato.models.reference import class_of_pairs, distinct_values, largest_counts
from sfumato.options import Limit


class Diversity(SensitiveModel, ABC):
    """A form of l-diversity; where its l is out of reach it names the forms that reach one."""

    def _instead(self, counts: SensitiveCounts, whole: ClassStatistics) -> str:
        weaker = (ProbabilisticLDiversity(1), EntropyLDiversity(1), DistinctLDiversity(1))
        names = [each.name for each in weaker]
        beyond = weaker[names.index(self.name) + 1 :] if self.name in names else weaker
        reached = [(each.name, float(each.measure(counts, whole.sizes)[0])) for each in beyond]
        listed = ", ".join(f"{name} up to l = {most:.6g}" for name, most in reached if most >= 2)
        return f"; within reach: {listed}" if listed else ""


# l-diversity that also keeps the l that people wish for.


class WishedDiversity(Diversity, ABC):
    """A form of l-diversity whose classes also reach the largest l that somebody in them wishes for."""

    wished_code: ClassVar[int]
    """Predicate of :mod:`sfumato.kernels.predicates` about what people wish for."""

    def reaches(self, measured: NDArray[np.float64], wished: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare the l that each class has with the largest that is wished for in it; bool (c,)."""
        return measured >= wished

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether every protected attribute reaches `l`, and what is wished for; bool (c,)."""
        verdict = super().holds(statistics)
        if statistics.wished_l is not None:
            for counts in self._protected(statistics):
                verdict &= self.reaches(self.measure(counts, statistics.sizes), statistics.wished_l)
        return verdict

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return two rules for each protected attribute: on `l`, and on the l that people wish for."""
        wished = (Rule(self.wished_code, name, 0.0) for name in self._selected(attributes))
        return [*super().rules(attributes), *wished]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that all records together do not reach `l`, or not what somebody wishes for; or None."""
        reasons, whole = [super().explain(statistics)], as_one_class(statistics)
        for counts in self._protected(whole):
            measured = self.measure(counts, whole.sizes)
            if whole.wished_l is not None and not self.reaches(measured, whole.wished_l)[0]:
                reasons.append(
                    f"{self.name} on {counts.name!r}: somebody wishes for more than l = {measured[0]:.6g}, which all "
                    "records in one class reach; lower such wishes, or leave out who has them"
                )
        return "; ".join(filter(None, reasons)) or None


# Distinct l-diversity: several sensitive values in every class.


@dataclass(frozen=True)
class DistinctLDiversity(WishedDiversity):
    """Every class has at least `l` distinct sensitive values.

    Guarantee: nobody's value is certain from the release alone (l ≥ 2). One value may still be almost certain: prefer
    the probabilistic or entropy form. A missing value counts as a value. Where people wish for an l of their own
    (``wished_l`` of the schema), a class has at least as many values as the one in it who wishes for most.

    Parameters
    ----------
    l
        Number of distinct values, a whole number ≥ 1.
    attribute
        The sensitive attribute, or None for every one.

    Notes
    -----
    Wishes survive merging: two classes together have the values of both, and their largest wish is that of one.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    l: Annotated[int, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "distinct-l-diversity"
    in_words: ClassVar[str] = "among the people who look alike, there are at least {l} sensitive values"
    code: ClassVar[int] = DISTINCT
    wished_code: ClassVar[int] = WISHED_DISTINCT
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l: the attribute has no more distinct values"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return self.l

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number of distinct values of each class; float64 (c,)."""
        return distinct_values(counts).astype(np.float64)


# Entropy l-diversity: sensitive values are as uncertain as l equally frequent ones.


@dataclass(frozen=True)
class EntropyLDiversity(Diversity):
    """The entropy of the sensitive values of every class is at least ``ln l``.

    Guarantee: each class is on average as uncertain as one with `l` equally frequent values; implies distinct
    l-diversity. A single value may still have a share above ``1/l``.

    Parameters
    ----------
    l
        A number ≥ 1, whole or not.
    attribute
        The sensitive attribute, or None for every one.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    l: Annotated[float, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "entropy-l-diversity"
    in_words: ClassVar[str] = (
        "among the people who look alike, sensitive values are as mixed as {l} equally frequent ones"
    )
    code: ClassVar[int] = ENTROPY
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l, or allow some records of the most frequent values to be suppressed"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return at_least(self.l)

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exponential of the entropy of each class; float64 (c,).

        ``-Σ p ln p`` with ``p = count/size`` is ``ln size - Σ count ln count / size``; where people have several
        values, the size is the sum of the counts.
        """
        sizes = counts.masses(sizes)
        weighted = np.add.reduceat(counts.counts * np.log(counts.counts), counts.starts[:-1])
        entropy: NDArray[np.float64] = np.log(sizes) - weighted / sizes
        return np.exp(entropy)

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare entropies with ``ln l``; bool (c,)."""
        entropies: NDArray[np.float64] = np.log(measured)
        return entropies >= math.log(self.l) - TOLERANCE


# Probabilistic l-diversity: no sensitive value with a share above 1/l.


@dataclass(frozen=True)
class ProbabilisticLDiversity(WishedDiversity):
    """No sensitive value has a share above ``1/l`` in a class.

    Guarantee: an attacker who finds a person's class guesses the sensitive value correctly with probability ``1/l`` at
    most. Also called frequency l-diversity; bucketization and slicing rest on this form. Where people wish for an l of
    their own (``wished_l`` of the schema), no value has a share above 1 over the largest l that somebody in the class
    wishes for.

    Parameters
    ----------
    l
        A number ≥ 1, whole or not.
    attribute
        The sensitive attribute, or None for every one.

    Notes
    -----
    Wishes do not survive merging: a class in which nobody wishes may have one frequent value, and breaks the wish of
    whoever is merged with it. Anonymizers that only cut classes keep them; others refuse them.

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
    """

    l: Annotated[float, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "probabilistic-l-diversity"
    speaks_of: ClassVar = frozenset({"classes", "buckets", "slices", "joins", "marginals"})
    in_words: ClassVar[str] = "among the people who look alike, no sensitive value has a larger share than 1 in {l}"
    code: ClassVar[int] = PROBABILISTIC
    wished_code: ClassVar[int] = WISHED_SHARE
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l, or allow some records of the most frequent value to be suppressed"

    def allowed_guess(self, attribute: str) -> float | None:
        """Return ``1/l`` if the model protects the attribute."""
        return 1 / self.l if self.attribute in (None, attribute) else None

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return at_least(self.l)

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return class size over the count of its most frequent value; float64 (c,)."""
        return sizes / largest_counts(counts)

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare with `l`, with the slack on the share; bool (c,)."""
        return measured * (1 + TOLERANCE) >= self.l

    def reaches(self, measured: NDArray[np.float64], wished: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare the l that each class has with the largest that is wished for in it, as with `l`; bool (c,)."""
        return measured * (1 + TOLERANCE) >= wished


@dataclass(frozen=True)
class RecursiveLDiversity(Diversity):
    """In every class, with counts in falling order, ``r_1 < c · (r_l + r_{l+1} + ... + r_m)``.

    Guarantee: after ruling out l − 2 values, an attacker still faces a class in which the most frequent value is not
    overwhelming. A class with fewer than `l` distinct values never qualifies. The inequality is strict, so the achieved
    `c` is the bound that the declared one must exceed.

    Parameters
    ----------
    c
        A number above 0.
    l
        A whole number ≥ 1.
    attribute
        The sensitive attribute, or None for every one.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    c: Annotated[float, Limit(0, above=True)]
    l: Annotated[int, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "recursive-l-diversity"
    in_words: ClassVar[str] = (
        "among the people who look alike, no sensitive value stands out against the rarer ones (c = {c}, l = {l})"
    )
    code: ClassVar[int] = RECURSIVE
    bounded: ClassVar[str] = "c"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise c or lower l"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return self.l

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ``r_1 / (r_l + ... + r_m)`` by class, infinite below `l` values; float64 (c,), O(z log z)."""
        tails = counts.masses(sizes) - self._leading(counts)
        measured = np.full(len(sizes), np.inf)
        np.divide(largest_counts(counts), tails, out=measured, where=distinct_values(counts) >= self.l)
        return measured

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare strictly with `c`; bool (c,)."""
        return measured * (1 + TOLERANCE) < self.c

    def _leading(self, counts: SensitiveCounts) -> NDArray[np.int64]:
        # Sum of the l-1 largest counts of each class.
        owner = class_of_pairs(counts)
        falling = counts.counts[np.lexsort((-counts.counts, owner))]
        rank = np.arange(len(owner)) - counts.starts[owner]
        return np.add.reduceat(np.where(rank < self.l - 1, falling, 0), counts.starts[:-1])

    def _bounds(self) -> tuple[float, ...]:
        return (self.c, self.l)

    def _sentence(self, attribute: str, reached: float) -> str:
        if np.isfinite(reached):
            return super()._sentence(attribute, reached)
        return f"{self.name} on {attribute!r} asks for l = {self.l}, but there are fewer distinct values; lower l"

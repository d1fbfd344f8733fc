"""What a random sample, of which rare records are left out, costs: ε, δ, the share that is drawn, and k.

Letters: β the share, k the records that a class needs in the sample, γ = 1 - (1 - β)·exp(-ε).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar

import polars as pl

from sfumato.errors import PolicyError, VerificationError
from sfumato.kinds.private.check import (
    LEDGER,
    PROMISE,
    Declared,
    Domain,
    SeriesSpent,
    read_declared,
    role_differences,
    series_checks,
)
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.models.protocol import Check, Outcome, promise_words
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import Roles
from sfumato.release.agreement import Difference
from sfumato.release.own_kinds import OwnDescription, OwnKind
from sfumato.table.schema import is_finite_number

DIGITS = 60
UP, DOWN = Context(prec=DIGITS, rounding=ROUND_CEILING), Context(prec=DIGITS, rounding=ROUND_FLOOR)
GRAINS = 2**53
"""Shares are whole multiples of 1 / GRAINS: a record is drawn if so many random bits are below a whole number."""
LEAST_EPSILON = Fraction(1, 100)
"""Of the sample; below, fewer than one record of a hundred is drawn, and k takes long to find."""
LARGEST_K = 100_000
"""A k beyond which nothing is worked out: it takes long, and a smaller share asks for far less."""
MOST_EPSILON = Fraction(1000)
"""What a larger ε is taken for; exp(-ε) is below every digit that counts."""
NEGLIGIBLE = Decimal(2) ** -40
"""Of a sum: what is left of it then is bounded, and added."""
SLACK = Decimal(10) ** -40
"""Taken off what logarithms, correct to 60 digits, come to."""


def largest_share(epsilon: Fraction) -> Fraction:
    """Return the largest share that ε allows, 1 - exp(-ε), never rounded up: one is missing with exp(-ε) or more."""
    return Fraction(int((1 - Fraction(_exp_up(epsilon))) * GRAINS), GRAINS)


def delta_of(k: int, share: Fraction, epsilon: Fraction) -> float:
    """Return δ of a sample whose classes of fewer than k records are left out; never rounded down.

    Raises ``ValueError`` when the share is larger than ε allows, or a number is out of range: a fault of the caller.
    One person more or less changes one class. Of n records there, with that person, j are drawn with binomial
    probability f(j; n, β), and without the person with f(j; n - 1, β); fewer than k are shown as none. The second is (n
    - j) / (n (1 - β)) of the first, so that j breaks ε only above γn, and what breaks it is

    δ(n) = Σ f(j; n, β) · (j - γn) / ((1 - γ) n), over j from the larger of k and ⌊γn⌋ + 1 to n. The other way round
    nothing breaks it while β ≤ 1 - exp(-ε). δ is the largest δ(n); large n are bounded by Chernoff. All of it is
    rounded against the promise. Cost O(n) sums, of n up to about log(1/δ) / KL(γ‖β).

    *Source.* N. Li, W. Qardaji, D. Su, "On sampling, anonymization, and differential privacy", ASIACCS 2012, Theorem 5,
    and R. Bild, K. Kuhn, F. Prasser, "SafePub", PoPETs 2018. *Departure.* They bound δ(n) by the sum without its last
    factor; with it, it is exact, and k is smaller.
    """
    if k < 1 or epsilon < LEAST_EPSILON or not 0 < share <= largest_share(epsilon):
        raise ValueError("k, share or epsilon is out of range")
    beta = _decimal(share, UP)
    gamma = DOWN.subtract(Decimal(1), UP.multiply(_decimal(1 - share, UP), _exp_up(epsilon)))
    exponent = _exponent(gamma, beta)
    worst, n, records = Decimal(0), k, _Binomial(share, k)
    while worst <= 0 or UP.exp(UP.multiply(-exponent, Decimal(n))) > worst:
        first = max(k, int(DOWN.multiply(gamma, Decimal(n))) + 1)
        worst = max(worst, records.broken(n, first, gamma))
        n += 1
    return _float_up(worst)


def smallest_k(share: Fraction, epsilon: Fraction, delta: float) -> int:
    """Return the smallest k whose δ is within `delta`, by some ten :func:`delta_of`; PolicyError if too large."""
    high = 2
    while delta_of(high, share, epsilon) > delta:
        high *= 2
        if high > LARGEST_K:
            raise PolicyError(f"share: asks for a k of more than {high // 2:,}; a smaller share asks for far less")
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        if delta_of(middle, share, epsilon) <= delta:
            high = middle
        else:
            low = middle
    return 1 if low == 1 and delta_of(1, share, epsilon) <= delta else high


class _Binomial:
    """Probabilities of n draws, n rising, each rounded up: every one is made from the one before."""

    def __init__(self, share: Fraction, n: int) -> None:
        self.missed, self.odds = _decimal(1 - share, UP), _decimal(share / (1 - share), UP)
        self.n, self.j, self.at = n, n, Decimal(1)
        for _ in range(n):
            self.at = UP.multiply(self.at, _decimal(share, UP))

    def broken(self, n: int, first: int, gamma: Decimal) -> Decimal:
        """Return an upper bound of δ(n), of the sum from `first` on."""
        self._move(n, first)
        if first > n:
            return Decimal(0)
        within = DOWN.multiply(DOWN.subtract(Decimal(1), gamma), Decimal(n))
        total, at, j = Decimal(0), self.at, first
        for j in range(first, n + 1):
            above = UP.subtract(Decimal(j), DOWN.multiply(gamma, Decimal(n)))
            # At most 1; of a γ near 1 rounding would make more of it.
            part = min(Decimal(1), UP.divide(above, within))
            total = UP.add(total, UP.multiply(at, part))
            ratio = self._ratio(n, j)
            at = UP.multiply(at, ratio)
            # What follows falls faster than a geometric series.
            if ratio < 1 and at <= total * NEGLIGIBLE:
                return UP.add(total, UP.divide(at, DOWN.subtract(Decimal(1), ratio)))
        return total

    def _move(self, n: int, j: int) -> None:
        while self.n < n:
            self.n += 1
            self.at = UP.multiply(
                UP.multiply(self.at, self.missed), UP.divide(Decimal(self.n), Decimal(self.n - self.j))
            )
        while self.j < j <= n:
            self.at = UP.multiply(self.at, self._ratio(n, self.j))
            self.j += 1

    def _ratio(self, n: int, j: int) -> Decimal:
        return UP.multiply(UP.divide(Decimal(n - j), Decimal(j + 1)), self.odds)


def _exponent(gamma: Decimal, beta: Decimal) -> Decimal:
    """Return KL(γ‖β), never rounded up: P(more than γn of n are drawn) ≤ exp(-n · KL), by Chernoff."""
    with localcontext(Context(prec=DIGITS)):
        one = gamma * (gamma / beta).ln() + (1 - gamma) * ((1 - gamma) / (1 - beta)).ln()
        return one - SLACK


def _exp_up(epsilon: Fraction) -> Decimal:
    """Return exp(-ε), never rounded down: Decimal's own is correct to the last digit, either way."""
    with localcontext(Context(prec=DIGITS)):
        return (-_decimal(min(epsilon, MOST_EPSILON), DOWN)).exp().next_plus()


def _decimal(value: Fraction, towards: Context) -> Decimal:
    return towards.divide(Decimal(value.numerator), Decimal(value.denominator))


def _float_up(value: Decimal) -> float:
    found = float(value)
    while Decimal(found) < value:
        found = math.nextafter(found, math.inf)
    return found


@dataclass(frozen=True)
class SampleBudget:
    """How ε and δ of a private sample were spent."""

    k: int  # records that a class needs in the sample
    share: float  # of the records, drawn: a whole multiple of 2⁻⁵³
    epsilon: float  # of the sample; never more than what the search leaves
    # of the noise on the scores of the search; None: levels were named, and nothing was searched for
    scale: float | None = None
    nodes: int = 1  # combinations of levels between which the search chose

    @property
    def searched(self) -> Fraction:
        """What the search has cost of ε, exactly.

        A score changes by at most :data:`STEP`, all scores of a choice in the same direction: the noisy largest with
        exponential noise of scale b costs STEP / b.
        """
        return Fraction(0) if self.scale is None else STEP / Fraction(self.scale)

    def is_within(self, model: DifferentialPrivacy) -> bool:
        """Tell whether search and sample together cost no more than the model allows. Cost that of :func:`delta_of`."""
        epsilon, share = Fraction(self.epsilon), Fraction(self.share)
        if epsilon < LEAST_EPSILON or self.searched + epsilon > Fraction(model.epsilon):
            return False
        if not 0 < share <= largest_share(epsilon) or (share * GRAINS).denominator != 1:
            return False
        return delta_of(self.k, share, epsilon) <= model.delta

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> SampleBudget:
        """Read plain values, or raise ValueError or TypeError."""
        found = cls(**entry)
        for each, most in ((found.k, LARGEST_K), (found.nodes, 2**63)):
            if not isinstance(each, int) or isinstance(each, bool) or not 1 <= each <= most:
                raise ValueError
        sizes = [found.share, found.epsilon, *([] if found.scale is None else [found.scale])]
        if not all(is_finite_number(size) and size > 0 for size in sizes):
            raise ValueError
        return found


WHOLE = 1000
"""What a record is worth that keeps everything, in whole numbers: scores have no rounding that could tell anything."""
STEP = 2 * WHOLE
"""Largest change of a score by one record."""

# What a recipient can recount of a private sample, and what only its maker can attest.


ATTESTED = (
    "that records were drawn at random, levels chosen with noise by OpenDP, and hierarchies declared before anybody "
    "looked at the data, cannot be seen in what was drawn; the steward attests it"
)


def sample_verification(
    published: PrivateSample, budget: SampleBudget, model: DifferentialPrivacy, series: SeriesSpent | None = None
) -> Verification:
    """Recount what follows from the published records, and say what of the promise does not."""
    checks = (
        Check(promise_words(model), Outcome.UNDECIDABLE, detail=ATTESTED, required=False),
        _classes(published, budget),
        _spent(budget, model),
        *series_checks(model, series),
    )
    classes = published.data.n_unique() if published.data.height else 0
    roles = Roles(published.quasi_identifying, published.sensitive)
    return Verification(checks, published.data.height, classes, "class", roles)


def _classes(published: PrivateSample, budget: SampleBudget) -> Check:
    promise = f"every record is alike in all columns with {budget.k - 1:,} others or more (k = {budget.k:,})"
    smallest = published.smallest()
    if smallest is not None and smallest < budget.k:
        return Check(promise, Outcome.BROKEN, detail=f"the smallest class has {counted(smallest, 'record')}")
    return Check(promise, Outcome.HOLDS)


def _spent(budget: SampleBudget, model: DifferentialPrivacy) -> Check:
    promise = (
        f"drawing {budget.share:.4g} of the records with k = {budget.k:,}, and the search that is said, cost no more "
        f"than ε = {model.epsilon:g}, δ = {model.delta:g}"
    )
    if not budget.is_within(model):
        return Check(promise, Outcome.BROKEN, detail="they cost more")
    searched = f"{counted(budget.nodes, 'node')} to choose from" if budget.scale is not None else "levels were named"
    return Check(promise, Outcome.HOLDS, detail=searched)


SAMPLE = "sample"
"""Name of the only table."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSample:
    """Generalized records of a random sample."""

    data: pl.DataFrame  # one row for each published record, in random order; texts, null for missing
    # what may stand in each column, on the level that was chosen; declared, never read off the data
    domains: Mapping[str, Domain]
    levels: Mapping[str, int]
    sensitive: tuple[str, ...]

    @property
    def quasi_identifying(self) -> tuple[str, ...]:
        """Columns that are not sensitive."""
        return tuple(name for name in self.domains if name not in self.sensitive)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The only table."""
        return {SAMPLE: self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the table."""
        return {
            "domains": {name: domain.to_dict() for name, domain in self.domains.items()},
            "levels": dict(self.levels),
            "sensitive": list(self.sensitive),
        }

    def smallest(self) -> int | None:
        """Return the size of the smallest class of records that are alike in all columns; None without records."""
        if not self.data.height:
            return None
        sizes = self.data.group_by(self.data.columns).len()["len"]
        return int(sizes.min())  # type: ignore[arg-type]

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> PrivateSample:
        """Put the table of a release together; ``VerificationError`` for values outside of the declared domains."""
        data = tables[SAMPLE]
        domains: Mapping[str, Domain] = structure["domains"]
        for name, domain in domains.items():
            if data.height and (domain.codes(data[name]) < 0).any():
                raise VerificationError(f"{SAMPLE}: holds values outside of the declared domains; it was changed")
        return cls(data.select(list(domains)), domains, structure["levels"], tuple(structure["sensitive"]))


@dataclass(frozen=True)
class SampleStructure:
    """What ``release.json`` says: what was declared, the level of each column, and how the budget was spent."""

    declared: Declared
    levels: Mapping[str, int]
    budget: SampleBudget


class PrivateSamples(OwnKind[SampleStructure, PrivateSample]):
    """One table of generalized records."""

    name = "private-sample"
    model = DifferentialPrivacy
    evidence = "sfumato.kinds.private.measure:evidence_of_sample"
    release = "sfumato.kinds.private_sample.release:PrivateSampleRelease"
    compares = True
    meaning = "generalized records of a random sample of the people; groups that are too small are left out"
    promise = PROMISE
    unplayed: ClassVar = {"linkability": LEDGER}

    def read_structure(self, content: Mapping[str, Any]) -> SampleStructure:
        """Read what was declared, the levels, and what was spent."""
        declared, levels = read_declared(content), dict(content["structure"]["levels"])
        whole = all(isinstance(level, int) and not isinstance(level, bool) and level >= 0 for level in levels.values())
        if not levels or list(levels) != list(declared.domains) or not whole:
            raise ValueError
        if declared.model.max_records not in (None, 1):
            raise ValueError
        return SampleStructure(declared, levels, SampleBudget.of(content["structure"]["budget"]))

    def columns(self, structure: SampleStructure) -> dict[str, tuple[str, ...]]:
        """Return the only table and its columns."""
        return {SAMPLE: tuple(structure.declared.domains)}

    def assemble(
        self, tables: Mapping[str, pl.DataFrame], description: OwnDescription[SampleStructure]
    ) -> PrivateSample:
        """Put the table together with its domains."""
        declared, levels = description.structure.declared, description.structure.levels
        structure = {"domains": declared.domains, "levels": levels, "sensitive": declared.sensitive}
        return PrivateSample.assemble(tables, structure)

    def recount(self, shown: PrivateSample, models: Sequence[Any], structure: SampleStructure) -> Verification:
        """Recount what can be recounted."""
        declared = structure.declared
        return sample_verification(shown, structure.budget, declared.model, declared.series)

    def differences(self, policy: Mapping[str, Any], structure: SampleStructure) -> Iterator[Difference]:
        """Compare the columns of a policy, the levels that it names, and the share."""
        yield from role_differences(policy, structure.declared)
        sampling, budget = policy.get("sampling", {}), structure.budget
        named_levels = sampling.get("levels", {})
        if any(structure.levels.get(name) != level for name, level in named_levels.items()):
            yield Difference("levels", "some", "others")
        if (budget.scale is None) != set(structure.levels).issubset(named_levels):
            yield Difference("search", *(("none", "one") if budget.scale is not None else ("one", "none")))
        share = sampling.get("share")
        if share is not None and budget.share > share:
            yield Difference("share of the records", "a smaller one", "a larger one")


SAMPLES = PrivateSamples()

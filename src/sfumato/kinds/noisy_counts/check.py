"""Noisy counts as their recipient holds them, and what can be recounted of them.

The arithmetic of the budget shares nothing with the maker, which asks OpenDP what each draw costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.kinds.private.check import (
    LEDGER,
    MOST_CELLS,
    NOISY,
    PROMISE,
    Declared,
    Domain,
    Mechanism,
    SeriesSpent,
    read_declared,
    role_differences,
    series_checks,
)
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.models.protocol import Check, Outcome, promise_words
from sfumato.numbers import counted, figure
from sfumato.published.apart import COUNT
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import Roles
from sfumato.release.agreement import Difference
from sfumato.release.description import listed_names
from sfumato.release.own_kinds import OwnDescription, OwnKind

SYNTHETIC = "synthetic"
NOBODYS = "Every row was drawn from a distribution that was fitted to noisy counts. It is nobody's record."
"""What a release says of its synthetic records."""


def cells_of(names: Sequence[str], domains: Mapping[str, Domain]) -> int:
    """Return how many cells a marginal has."""
    return math.prod(domains[name].size for name in names)


@dataclass(frozen=True, eq=False, repr=False)
class PrivateMarginals:
    """Noisy marginals. Letters: t tables, a columns."""

    domains: Mapping[str, Domain]
    sets: tuple[tuple[str, ...], ...]
    noisy: tuple[NDArray[np.int64], ...]  # int64, t of them, one axis for each column: counts with noise, also negative
    counts: tuple[NDArray[np.float64], ...]  # float64, as `noisy`: not negative, and all marginals of one distribution
    sensitive: tuple[str, ...]
    # int64 (n, a): synthetic records as codes, columns in the order of `domains`
    records: NDArray[np.int64] | None = None

    @property
    def quasi_identifying(self) -> tuple[str, ...]:
        """Columns that are not sensitive."""
        return tuple(name for name in self.domains if name not in self.sensitive)

    @property
    def total(self) -> float:
        """Records that were fitted; close to the number of records, and private as the counts are."""
        return float(self.counts[0].sum())

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """A table with all cells of each marginal, and the synthetic records if there are any."""
        tables = {f"marginal_{place}": self._marginal(place - 1) for place in range(1, len(self.sets) + 1)}
        if self.records is not None:
            tables[SYNTHETIC] = self.synthetic
        return tables

    @property
    def synthetic(self) -> pl.DataFrame:
        """The synthetic records; a table without rows if there are none."""
        codes = np.empty((0, len(self.domains)), dtype=np.int64) if self.records is None else self.records
        return pl.DataFrame(
            [domain.column(name, codes[:, place]) for place, (name, domain) in enumerate(self.domains.items())]
        )

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the tables."""
        return {
            "domains": {name: domain.to_dict() for name, domain in self.domains.items()},
            "sets": [list(names) for names in self.sets],
            "sensitive": list(self.sensitive),
        }

    def _marginal(self, place: int) -> pl.DataFrame:
        names, noisy, counts = self.sets[place], self.noisy[place], self.counts[place]
        codes = np.indices(noisy.shape).reshape(noisy.ndim, -1)
        columns = [self.domains[name].column(name, row) for name, row in zip(names, codes, strict=True)]
        return pl.DataFrame([*columns, pl.Series(NOISY, noisy.ravel()), pl.Series(COUNT, counts.ravel())])

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> PrivateMarginals:
        """Put the tables of a release together; each must have every cell once, and no synthetic record lie outside."""
        domains: Mapping[str, Domain] = structure["domains"]
        noisy, counts = [], []
        for place, names in enumerate(structure["sets"], start=1):
            drawn, fitted = _arrays(f"marginal_{place}", tables[f"marginal_{place}"], names, domains)
            noisy.append(drawn)
            counts.append(fitted)
        records = None if SYNTHETIC not in tables else _codes(tables[SYNTHETIC], domains)
        return cls(
            domains, tuple(structure["sets"]), tuple(noisy), tuple(counts), tuple(structure["sensitive"]), records
        )


def _arrays(
    table: str, frame: pl.DataFrame, names: Sequence[str], domains: Mapping[str, Domain]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    shape = tuple(domains[name].size for name in names)
    cells = math.prod(shape)
    incomplete = VerificationError(f"{table}: has not every cell of the declared domains once; the release was changed")
    if frame.height != cells or cells > MOST_CELLS:
        raise incomplete
    codes = [domains[name].codes(frame[name]) for name in names]
    if any((code < 0).any() for code in codes):
        raise incomplete
    cell = np.ravel_multi_index(codes, shape)
    if len(np.unique(cell)) < cells:
        raise incomplete
    if frame.schema[NOISY] != pl.Int64 or frame[NOISY].null_count() or frame[COUNT].null_count():
        raise VerificationError(f"{table}: noisy counts are no whole numbers; the release was changed")
    if not frame.schema[COUNT].is_numeric():
        raise VerificationError(f"{table}: counts are no numbers; the release was changed")
    noisy, counts = np.empty(cells, dtype=np.int64), np.empty(cells)
    noisy[cell], counts[cell] = frame[NOISY].to_numpy(), frame[COUNT].cast(pl.Float64).to_numpy()
    return noisy.reshape(shape), counts.reshape(shape)


def _codes(frame: pl.DataFrame, domains: Mapping[str, Domain]) -> NDArray[np.int64]:
    codes = np.column_stack([domain.codes(frame[name]) for name, domain in domains.items()])
    if (codes < 0).any():
        raise VerificationError(f"{SYNTHETIC}: holds values outside of the declared domains; the release was changed")
    return codes.astype(np.int64)


# The arithmetic of a privacy budget, as a recipient can do it again from what a release says of its noise.
#
# It shares nothing with the maker, which asks OpenDP what each draw costs.


What = Literal["counts", "choice"]


@dataclass(frozen=True)
class BudgetStep:
    """What was drawn at one scale."""

    # ``"counts"``: noise was added to all cells of marginals. ``"choice"``: pairs of columns were chosen, each by the
    # noisy largest of scores that one record changes by at most 1.
    what: What
    times: int  # how many marginals, or pairs
    scale: float  # of the noise: b of discrete Laplace, σ of discrete Gaussian, that of the noise on scores
    spent: float  # of the budget: ε of discrete Laplace, ρ of discrete Gaussian; as OpenDP worked it out


@dataclass(frozen=True)
class Budget:
    """How ε was spent."""

    mechanism: Mechanism  # of the noise on counts
    steps: tuple[BudgetStep, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"mechanism": self.mechanism, "steps": [asdict(step) for step in self.steps]}

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Budget:
        """Read plain values, or raise ValueError, KeyError or TypeError."""
        steps = tuple(BudgetStep(**step) for step in entry["steps"])
        for step in steps:
            whole = isinstance(step.times, int) and not isinstance(step.times, bool) and step.times >= 1
            sizes = all(isinstance(size, (int, float)) and 0 < size < math.inf for size in (step.scale, step.spent))
            if step.what not in get_args(What) or not whole or not sizes:
                raise ValueError
        if entry["mechanism"] not in get_args(Mechanism):
            raise ValueError
        return cls(entry["mechanism"], steps)

    def counted(self) -> int:
        """Return how many marginals the noise was drawn for."""
        return sum(step.times for step in self.steps if step.what == "counts")

    def deviation(self) -> float:
        """Return the standard deviation of the noise on a count, of the widest step."""
        return max(deviation(self.mechanism, step.scale) for step in self.steps if step.what == "counts")


def deviation(mechanism: Mechanism, scale: float) -> float:
    """Return the standard deviation of noise of this scale (of discrete Gaussian noise no less than it has)."""
    if mechanism == "discrete Gaussian":
        return scale
    # The root of 2q/(1-q)² for q = exp(-1/b), written so that nothing cancels; of tiny scales nothing is left of it.
    return 0.0 if scale < 1e-3 else 1 / (math.sqrt(2) * math.sinh(1 / (2 * scale)))


def step_cost(mechanism: Mechanism, step: BudgetStep, records: int) -> Fraction:
    """Return what a step costs, exactly: ε of discrete Laplace, ρ of discrete Gaussian.

    A person has at most m records, each in one cell of every marginal. So t marginals change by t·m in sum (L1):
    Laplace costs t·m / b. With all m records in the same cells they change by √t·m (L2): Gaussian costs t·m² / 2σ². A
    score changes by at most m, up or down: the noisy largest costs 2m / b, or (2m / b)² / 8 in ρ, each time.
    """
    scale = Fraction(step.scale)
    if mechanism == "discrete Gaussian":
        return step.times * Fraction(records) ** 2 / (2 * scale**2)
    return step.times * records * (2 if step.what == "choice" else 1) / scale


def is_within(budget: Budget, model: DifferentialPrivacy) -> bool:
    """Tell whether the steps cost no more than the model allows, and each no more than is said."""
    costs = [step_cost(budget.mechanism, step, model.records) for step in budget.steps]
    if any(cost > Fraction(step.spent) for cost, step in zip(costs, budget.steps, strict=True)):
        return False
    said = sum((Fraction(step.spent) for step in budget.steps), Fraction(0))
    if budget.mechanism == "discrete Laplace":
        return said <= Fraction(model.epsilon)
    return model.delta > 0 and epsilon_of(float(said), model.delta) <= model.epsilon * (1 + 1e-6)


def epsilon_of(rho: float, delta: float) -> float:
    """Return an ε such that ρ-zero-concentrated differential privacy is (ε, `delta`)-differential privacy.

    Every α > 1 gives one; the least of them is looked for by bisecting where they stop to fall. *Source.* C. Canonne,
    G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Proposition 12.
    """

    def bound(exponent: float) -> float:
        above = math.exp(exponent)
        alpha = 1 + above
        return alpha * rho - (math.log(delta) + math.log(above) - alpha * math.log(above / alpha)) / above

    low, high = -30.0, 60.0
    for _ in range(300):
        third = (high - low) / 3
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return max(0.0, bound((low + high) / 2))


ATTESTED = (
    "that this noise was drawn once, by OpenDP, and that the domains were declared before anybody looked at the data, "
    "cannot be seen in what was drawn; the steward attests it"
)
CLOSE = 1e-6
"""Difference of counts, a cell, that comes of writing them with six places."""


def private_verification(
    published: PrivateMarginals, budget: Budget, model: DifferentialPrivacy, series: SeriesSpent | None = None
) -> Verification:
    """Recount what follows from the published tables, and say what of the promise does not."""
    checks = (
        _attested(model),
        _domains(published),
        _spent(published, budget, model),
        _consistent(published),
        *_synthetic(published),
        *series_checks(model, series),
    )
    cells = sum(noisy.size for noisy in published.noisy)
    records = 0 if published.records is None else len(published.records)
    roles = Roles(published.quasi_identifying, published.sensitive)
    return Verification(checks, records, cells, "cell", roles)


def _attested(model: DifferentialPrivacy) -> Check:
    return Check(promise_words(model), Outcome.UNDECIDABLE, detail=ATTESTED, required=False)


def _domains(published: PrivateMarginals) -> Check:
    """Say that all cells are there; tables that lack one could not have been put together."""
    cells = sum(noisy.size for noisy in published.noisy)
    return Check(
        "every marginal has every cell of the declared domains once, each with a whole noisy count",
        Outcome.HOLDS,
        detail=f"{counted(cells, 'cell')} of {counted(len(published.sets), 'marginal')}",
    )


def _spent(published: PrivateMarginals, budget: Budget, model: DifferentialPrivacy) -> Check:
    promise = f"noise of the scales that are said costs no more than ε = {model.epsilon:g}, δ = {model.delta:g}"
    if budget.counted() != len(published.sets):
        return Check(promise, Outcome.BROKEN, detail="release.json speaks of noise on other marginals than there are")
    if (budget.mechanism == "discrete Laplace") != (model.delta == 0):
        return Check(promise, Outcome.BROKEN, detail="noise of that kind does not go with that δ")
    if not is_within(budget, model):
        return Check(promise, Outcome.BROKEN, detail="it costs more")
    noise = f"{budget.mechanism}, standard deviation up to {figure(budget.deviation(), 4)} a count"
    return Check(promise, Outcome.HOLDS, detail=noise)


def _consistent(published: PrivateMarginals) -> Check:
    promise = "fitted counts are not negative, have one total, and agree where marginals overlap"
    worst = max(_differences(published), default=0.0)
    negative = any(not np.isfinite(counts).all() or (counts < 0).any() for counts in published.counts)
    # Sums of floats differ by a rounding for each million records, too.
    if negative or worst > CLOSE * (1 + 1e-6 * published.total):
        return Check(promise, Outcome.BROKEN, detail="they do not")
    return Check(promise, Outcome.HOLDS)


def _differences(published: PrivateMarginals) -> Iterator[float]:
    """Say by how much every two marginals differ in what they share, for each cell that was summed over."""
    tables = list(zip(published.sets, published.counts, strict=True))
    for (one, counts), (other, others) in combinations(tables, 2):
        shared = [name for name in one if name in other]
        first, second = _summed(counts, one, shared), _summed(others, other, shared)
        yield float(np.abs(first - second).max()) / max(counts.size / first.size, others.size / second.size)


def _summed(counts: NDArray[np.float64], names: tuple[str, ...], kept: list[str]) -> NDArray[np.float64]:
    gone = tuple(axis for axis, name in enumerate(names) if name not in kept)
    rest = [name for name in names if name in kept]
    summed: NDArray[np.float64] = np.transpose(counts.sum(axis=gone), [rest.index(name) for name in kept])
    return summed


def _synthetic(published: PrivateMarginals) -> Iterator[Check]:
    """Hold synthetic records against the fitted counts: they must not tell more than these."""
    if published.records is None:
        return
    promise = "synthetic records follow the fitted counts"
    names, total = list(published.domains), len(published.records)
    worst = 0.0
    for members, counts in zip(published.sets, published.counts, strict=True):
        places = [names.index(name) for name in members]
        cells = np.ravel_multi_index(list(published.records[:, places].T), counts.shape)
        held = np.bincount(cells, minlength=counts.size)
        fitted = np.clip(counts.ravel(), 0.0, None)
        share = fitted / fitted.sum() if fitted.sum() else np.full(counts.size, 1 / counts.size)
        # Eight standard deviations of independent draws: no honest draw is that far off, and even steps are closer.
        limit = 8 * np.sqrt(total * share * (1 - share)) + 16
        worst = max(worst, float((np.abs(held - total * share) / limit).max()))
    outcome = Outcome.HOLDS if worst <= 1 else Outcome.BROKEN
    detail = f"{counted(total, 'record')}, nobody's" if worst <= 1 else "some counts are too far from them"
    yield Check(promise, outcome, detail=detail)


@dataclass(frozen=True)
class CountStructure:
    """What ``release.json`` says: what was declared, the columns of each marginal, and how the budget was spent."""

    declared: Declared
    sets: tuple[tuple[str, ...], ...]
    budget: Budget
    synthetic: bool


class NoisyCounts(OwnKind[CountStructure, PrivateMarginals]):
    """A table of noisy counts for each marginal, and perhaps synthetic records."""

    name = "private-marginals"
    model = DifferentialPrivacy
    evidence = "sfumato.kinds.private.measure:evidence_of_counts"
    release = "sfumato.kinds.noisy_counts.release:PrivateRelease"
    compares = True
    meaning = "counts of people with noise, and perhaps records that were drawn from them"
    promise = PROMISE
    unplayed: ClassVar = {
        "singling out": "no row is of a person; the noise bounds what any attack tells of one",
        "linkability": LEDGER,
        "inference": "the noise bounds what any attack tells of one person; what holds for everybody is what the "
        "counts are for",
    }
    tallies = frozenset({COUNT, NOISY})
    numbers: ClassVar = {NOISY: pl.Int64, COUNT: pl.Float64}

    def read_structure(self, content: Mapping[str, Any]) -> CountStructure:
        """Read what was declared, counted and spent."""
        structure, declared = content["structure"], read_declared(content)
        sets = tuple(listed_names(names) for names in structure["sets"])
        if not sets or {name for names in sets for name in names} != {*declared.domains}:
            raise ValueError
        if any(not names or len(set(names)) < len(names) for names in sets):
            raise ValueError
        is_synthetic = SYNTHETIC in content["tables"]
        # Records that are not said to be synthetic would pass for somebody's.
        if structure.get(SYNTHETIC) != (NOBODYS if is_synthetic else None):
            raise ValueError
        return CountStructure(declared, sets, Budget.of(structure["budget"]), is_synthetic)

    def columns(self, structure: CountStructure) -> dict[str, tuple[str, ...]]:
        """Return the tables and their columns."""
        marginals = {f"marginal_{place}": (*names, NOISY, COUNT) for place, names in enumerate(structure.sets, start=1)}
        return {**marginals, **({SYNTHETIC: tuple(structure.declared.domains)} if structure.synthetic else {})}

    def assemble(
        self, tables: Mapping[str, pl.DataFrame], description: OwnDescription[CountStructure]
    ) -> PrivateMarginals:
        """Put the marginals together."""
        declared, sets = description.structure.declared, description.structure.sets
        structure = {"domains": declared.domains, "sets": sets, "sensitive": declared.sensitive}
        return PrivateMarginals.assemble(tables, structure)

    def recount(self, shown: PrivateMarginals, models: Sequence[Any], structure: CountStructure) -> Verification:
        """Recount what can be recounted."""
        declared = structure.declared
        return private_verification(shown, structure.budget, declared.model, declared.series)

    def differences(self, policy: Mapping[str, Any], structure: CountStructure) -> Iterator[Difference]:
        """Compare the columns of a policy, and what it counts."""
        yield from role_differences(policy, structure.declared)
        counting = policy.get("counting", {})
        sets = counting.get("marginals")
        if sets is not None and {frozenset(names) for names in sets} != {frozenset(names) for names in structure.sets}:
            yield Difference("marginals", f"{len(sets)} sets of columns", f"{len(structure.sets)}, or others")
        if bool(counting.get("synthetic", False)) != structure.synthetic:
            told = ("some" if each else "none" for each in (counting.get("synthetic"), structure.synthetic))
            yield Difference("synthetic records", *told)


COUNTS = NoisyCounts()

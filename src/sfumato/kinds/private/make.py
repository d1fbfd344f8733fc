"""What releases under differential privacy are made of: declared domains, bounded people, noise by OpenDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.hierarchy import Groups, Hierarchy, HierarchyTable, Intervals
from sfumato.hierarchy.tree import number_of, text_of, value_text
from sfumato.kinds.private.check import MOST_CELLS, NOISY, Domain, Mechanism
from sfumato.kinds.private.policy import Bins, DeclaredPolicy
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.published.apart import COUNT
from sfumato.randomness import permutation
from sfumato.table.schema import Attribute, Kind, is_finite_number
from sfumato.table.sources.protocol import library
from sfumato.table.table import Table

# Noise and private choices: all of them drawn by OpenDP's core, and nowhere else.


_TOO_LITTLE = "epsilon: is so small that no noise of this size can be drawn; raise it"
_LARGEST = 1e30
"""Scale up to which noise is drawn; whole numbers of 64 bits end long before."""


def opendp() -> Any:
    """Import OpenDP. Raises ``InputError`` when it is not installed, with what installs it."""
    core = library("opendp.prelude", extra="dp", what="releases under differential privacy")
    core.enable_features("contrib")
    return core


@dataclass(frozen=True)
class NoiseCore:
    """OpenDP's measurements, `dp`, for a mechanism and bound on a person's records; costs in ε, or ρ of Gaussian."""

    dp: Any
    mechanism: Mechanism
    records: int

    @classmethod
    def of(cls, model: DifferentialPrivacy) -> NoiseCore:
        """Take the mechanism that a model asks for: Gaussian noise where δ is above 0."""
        return cls(opendp(), "discrete Gaussian" if model.delta else "discrete Laplace", model.records)

    def counts_cost(self, marginals: int, scale: float) -> float:
        """Return what noise of a scale on all cells of some marginals costs."""
        return float(self._noise(scale).map(self._distance(marginals)))

    def choice_cost(self, scale: float) -> float:
        """Return what one choice by scores costs, of which a record changes each by at most 1."""
        return float(self._largest(scale).map(self.records))

    def draw(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts with noise, int64 as they came; cost O(cells), about 20 µs for each."""
        return np.array(self._noise(scale)(counts.tolist()), dtype=np.int64)

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return the place of the noisy largest score."""
        return int(self._largest(scale)(scores.tolist()))

    def choose_rising(self, scores: NDArray[np.int64], step: int, scale: float) -> tuple[int, float]:
        """Return the place of the noisy largest score, and what that cost of ε.

        A record changes scores by at most `step`, all in the same direction. Noise is exponential ("permute and flip":
        R. McKenna, D. Sheldon, NeurIPS 2020), whose choice is never worse than that of the exponential mechanism.
        """
        rising = self.dp.linf_distance(T="i64", monotonic=True)
        largest = self.dp.m.make_noisy_max(self._counts, rising, self.dp.max_divergence(), scale=scale)
        return int(largest(scores.tolist())), float(largest.map(step))

    def budget(self, model: DifferentialPrivacy) -> Fraction:
        """Return ε, or the largest ρ that OpenDP turns into (ε, δ) or less."""
        if self.mechanism == "discrete Laplace":
            return Fraction(model.epsilon)
        # The conversion depends on ρ alone, so that any measurement which costs ρ will do. Larger scales cost less.
        low, high = -20.0, 80.0
        if self._epsilon(2.0**high, model.delta) > model.epsilon:
            raise PolicyError(_TOO_LITTLE)
        for _ in range(60):
            middle = (low + high) / 2
            if self._epsilon(2.0**middle, model.delta) <= model.epsilon:
                high = middle
            else:
                low = middle
        return Fraction(float(self._gaussian(2.0**high).map(1.0)))

    def _epsilon(self, scale: float, delta: float) -> float:
        converted = self.dp.c.make_zCDP_to_approxDP(self._gaussian(scale))
        try:
            return float(converted.map(1.0).epsilon(delta))
        except self.dp.OpenDPException:
            # Of so little noise that ε is beyond all numbers.
            return math.inf

    def _noise(self, scale: float) -> Any:
        return self._gaussian(scale) if self.mechanism == "discrete Gaussian" else self._laplace(scale)

    def _distance(self, marginals: int) -> float | int:
        """Return how much a person changes the cells of some marginals together, never rounded down."""
        if self.mechanism == "discrete Laplace":
            return marginals * self.records
        return math.nextafter(math.sqrt(marginals * self.records**2), math.inf)

    def _laplace(self, scale: float) -> Any:
        return self.dp.m.make_laplace(self._counts, self.dp.l1_distance(T="i64"), scale=scale)

    def _gaussian(self, scale: float) -> Any:
        return self.dp.m.make_gaussian(self._counts, self.dp.l2_distance(T="f64"), scale=scale)

    def _largest(self, scale: float) -> Any:
        gaussian = self.mechanism == "discrete Gaussian"
        measure = self.dp.zero_concentrated_divergence() if gaussian else self.dp.max_divergence()
        return self.dp.m.make_noisy_max(self._counts, self.dp.linf_distance(T="i64"), measure, scale=scale)

    @property
    def _counts(self) -> Any:
        return self.dp.vector_domain(self.dp.atom_domain(T="i64"))


def smallest_scale(cost: Callable[[float], Fraction], budget: Fraction, first: float) -> float:
    """Return a scale whose cost, which falls with it, is within a budget: `first`, or a hair above it."""
    scale, step = first, 2.0**-50
    while scale <= _LARGEST and cost(scale) > budget:
        scale, step = scale * (1 + step), 2 * step
    if scale > _LARGEST:
        raise PolicyError(_TOO_LITTLE)
    return scale


Codes = NDArray[np.int64]


def bound_people(table: Table, complete: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return rows among the `complete` ones: of every person at most so many, drawn at random."""
    rows = np.flatnonzero(complete)
    if table.people is None:
        return rows
    rows = rows[permutation(len(rows), None)]
    people = table.people[rows]
    order = np.argsort(people, kind="stable")
    ordered = people[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    return rows[order[np.arange(len(rows)) - starts < most]]


def kind_problems(table: Table, name: str, attribute: Attribute) -> list[str]:
    """Refuse a kind that the values decided."""
    if attribute.kind is not None or name not in table.from_text:
        return []
    told = f"column {name!r}: whether it holds numbers or texts was read off the data, which tells of people"
    return [f"{told}; declare its kind"]


class DeclaredColumn:
    """A column with its declared domain, and how values fall into it; refused when settings contradict each other.

    `bins`: borders, or how many of equal width the range falls into. `level`: of the hierarchy that is counted; None or
    0: its leaves. `complete`: whether there is no cell for missing values. `tree`: of texts that have one.
    """

    tree: Hierarchy | None = None

    def __init__(
        self, name: str, kind: Kind, attribute: Attribute, bins: Bins | None, level: int | None, *, complete: bool
    ) -> None:
        self.name, self._kind = name, kind
        self._code_of: Mapping[str, int] = {}
        try:
            self.domain = self._declared(attribute, bins, level, missing=not complete)
        except SfumatoError as error:
            raise PolicyError(*(f"column {name!r}: {problem}" for problem in error.problems)) from None

    def codes(self, column: pl.Series) -> Codes:
        """Return the cell of each value, int64 (n,); -1 for those that have none."""
        outside = len(self.domain.labels) if self.domain.missing else -1
        if self.domain.borders is not None:
            return self._binned(column, outside)
        texts = text_of(column)
        found = texts.replace_strict(
            list(self._code_of), list(self._code_of.values()), default=outside, return_dtype=pl.Int64
        )
        return found.fill_null(outside).to_numpy()

    def _binned(self, column: pl.Series, outside: int) -> Codes:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        inner = np.array(self.domain.borders or (), dtype=np.float64)[1:-1]
        codes = np.searchsorted(inner, numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), outside, codes)

    def _declared(self, attribute: Attribute, bins: Bins | None, level: int | None, *, missing: bool) -> Domain:
        if self.name in (NOISY, COUNT):
            raise PolicyError("is the name of a column of the release; rename that of the table")
        if bins is None and level and isinstance(attribute.hierarchy, Intervals) and attribute.hierarchy.borders:
            steps = attribute.hierarchy.borders
            if not 1 <= level <= len(steps):
                raise PolicyError(f"level must be from 1 to {len(steps)}, those of its hierarchy with bins")
            bins, level = steps[level - 1], None
        if bins is not None:
            if level is not None:
                raise PolicyError("has bins and a level; leave one of them out")
            return of_bins(borders_of(bins, attribute, self._kind), missing=missing)
        if self._kind is Kind.DATE:
            raise PolicyError("is a date, which has no bins here; give the table a column of years, or of months")
        return self._of_values(attribute, level, missing=missing)

    def _of_values(self, attribute: Attribute, level: int | None, *, missing: bool) -> Domain:
        values = _values(attribute, self._kind)
        if values is None:
            raise PolicyError(
                "its domain would have to be read off the data, which tells of people; declare it: a domain that lists "
                "the values, a hierarchy that lists them, or bins of numbers"
            )
        written = [_canonical(value, self._kind) for value in values]
        if attribute.hierarchy is None:
            if level:
                raise PolicyError("has a level but no hierarchy; give it one, or leave the level out")
            self._code_of = {value: place for place, value in enumerate(written)}
            return _of_labels(tuple(written), missing=missing)
        self.tree = attribute.hierarchy.build(_series(written, self._kind), name=self.name)
        return self._of_level(self.tree, level or 0, missing=missing)

    def _of_level(self, tree: Hierarchy, level: int, *, missing: bool) -> Domain:
        if not 0 <= level <= tree.height:
            raise PolicyError(f"level must be from 0 to {tree.height}, those of its hierarchy")
        self._code_of = dict(zip(tree.leaves, tree.node_of[level].tolist(), strict=True))
        return _of_labels(tree.levels[level].labels, missing=missing)


def _of_labels(labels: tuple[str, ...], *, missing: bool) -> Domain:
    if any(not label.strip() or label != label.strip() for label in labels):
        raise PolicyError("its domain lists an empty value, or one with blanks around it; take them away")
    if len(set(labels)) < len(labels):
        raise PolicyError("its domain lists a value twice; list it once")
    return Domain(labels, None, missing)


def of_bins(borders: Sequence[float], *, missing: bool) -> Domain:
    """Return the domain of bins with these borders."""
    ends = [value_text(float(border)) for border in borders]
    labels = [f"[{low}..{high})" for low, high in pairwise(ends)]
    labels[-1] = labels[-1][:-1] + "]"
    return Domain(tuple(labels), tuple(float(border) for border in borders), missing)


def borders_of(bins: Bins, attribute: Attribute, kind: Kind) -> list[float]:
    """Return the borders that are given, or that divide the declared range; PolicyError where there are none."""
    if kind is not Kind.NUMERIC:
        raise PolicyError("has bins but is no column of numbers; declare it as numeric, or leave the bins out")
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 1 <= bins <= MOST_CELLS:
            raise PolicyError(f"bins must be from 1 to {MOST_CELLS:,}, or a list of borders")
        ends = attribute.domain
        if ends is None:
            raise PolicyError("has a number of bins but no range that they divide; declare its domain, low and high")
        low, high = (Fraction(end) for end in ends)
        return [float(low + (high - low) * step / bins) for step in range(bins + 1)]
    listed: list[float] = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
    if len(listed) < 2 or not all(is_finite_number(border) for border in listed):
        raise PolicyError("bins must be a whole number, or a list of at least two borders, each a finite number")
    if not all(low < high for low, high in pairwise(listed)):
        raise PolicyError("borders of bins must rise")
    return [float(border) for border in listed]


def _values(attribute: Attribute, kind: Kind) -> list[str] | None:
    """Return the values that are declared, as text; None if none are."""
    if attribute.domain is not None and all(isinstance(value, str) for value in attribute.domain):
        return [str(value) for value in attribute.domain]
    if isinstance(attribute.hierarchy, HierarchyTable):
        return [row[0] for row in attribute.hierarchy.rows]
    if isinstance(attribute.hierarchy, Groups):
        return list(_members(attribute.hierarchy.members))
    return ["false", "true"] if kind is Kind.BOOLEAN else None


def _members(group: Any) -> Iterator[str]:
    for inner in group.values() if isinstance(group, Mapping) else group:
        if isinstance(inner, str):
            yield inner
        else:
            yield from _members(inner)


def _canonical(value: str, kind: Kind) -> str:
    """Write a declared value as values of the column are written."""
    if kind is Kind.BOOLEAN:
        return value.lower()
    number = number_of(value) if kind is Kind.NUMERIC else None
    return value if number is None else value_text(number)


def _series(values: Sequence[str], kind: Kind) -> pl.Series:
    numbers = [number_of(value) for value in values] if kind is Kind.NUMERIC else [None]
    if all(number is not None for number in numbers):
        return pl.Series(numbers, strict=False)
    return pl.Series(values, dtype=pl.String)


NO_SEED = "seed: what somebody can draw again hides nobody, so there is no seed here; leave it out"
MUCH = 10
"""An ε above which the promise says little."""


DeclaredType = TypeVar("DeclaredType", bound=DeclaredPolicy)


def settle_private(value: Any) -> Any:
    """Return a setting with tuples for lists, as policies hold them."""
    if isinstance(value, Mapping):
        return {name: settle_private(each) for name, each in value.items()}
    return tuple(settle_private(each) for each in value) if isinstance(value, (list, tuple)) else value


def policy_of_private_call(
    table: Table, model: object, kind: type[DeclaredType], said: Mapping[str, Any], seed: object, ledger: object
) -> DeclaredType:
    """Return the policy that the arguments of a publication mean, or name all that is wrong with them."""
    problems = []
    if ledger is not None and not isinstance(ledger, (str, Path)):
        problems.append("ledger must be the path of a file")
    if not isinstance(table, Table):
        problems.append("table is not a Table; read it with sfumato.read_table(...)")
    if not isinstance(model, (kind, DifferentialPrivacy)):
        problems.append(f"model is neither a DifferentialPrivacy nor a {kind.__name__}")
    if seed is not None:
        problems.append(NO_SEED)
    if isinstance(model, kind):
        problems += [f"{name}: the policy says it; leave it out" for name, value in said.items() if value is not None]
        raise_all(PolicyError, problems or misfits(table, model))
        return model
    given = {name: settle_private(value) for name, value in said.items() if value is not None}
    try:
        part = kind.part_of(given)
    except PolicyError as error:
        problems += error.problems
    raise_all(PolicyError, problems)
    return kind.of(model, part, table.schema)


def misfits(table: Table, policy: DeclaredPolicy) -> list[str]:
    """Name the roles that the policy and the table that was read give to other columns."""
    said, read = policy.columns, table.schema
    problems = [
        f"columns.{role.replace('_', '-')}: the policy names other columns than the table was read with; read it with "
        "sfumato.read_table(source, policy)"
        for role in ("quasi_identifying", "sensitive")
        if list(getattr(said, role)) != list(getattr(read, role))
    ]
    if said.person != read.person:
        problems.append("columns.person: is not the column that the table was read with")
    return problems


def budget_notes(model: DifferentialPrivacy, table: Table) -> list[str]:
    """Say what is to be said of ε and δ that are large."""
    found = []
    if model.epsilon > MUCH:
        found.append(f"An ε above {MUCH} promises little: odds may change by more than {22_026:,} times.")
    people = int(table.person_of.max()) + 1
    if model.delta * people >= 1:
        found.append(
            f"δ times the number of people is {model.delta * people:g}, and should be far below 1. With so large "
            "a δ the promise allows that somebody is shown as they are."
        )
    return found

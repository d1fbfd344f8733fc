"""Measuring how easily people are found in a table, original or published."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.uniqueness.population_uniqueness import population_uniqueness
from sfumato.errors import PolicyError
from sfumato.evaluation.risk.adversaries import (
    Adversary,
    individual,
    journalist_of_population,
    journalist_of_sample,
    prosecutor,
)
from sfumato.evaluation.risk.combinations import MOST, Combinations, combination_count, measure_combinations
from sfumato.evaluation.risk.individual import household_risk, individual_risk
from sfumato.evaluation.risk.inputs import MOST_PEOPLE, OpenedTable, RiskInputs, measured, opened
from sfumato.evaluation.risk.keys import Keys
from sfumato.evaluation.risk.leaving_out import leave_out
from sfumato.evaluation.risk.log_linear import Estimate, LogLinearRisk, Terms, log_linear_risk, order_problems
from sfumato.evaluation.risk.people_at_risk import PeopleAtRisk
from sfumato.evaluation.risk.risk_report import RiskReport
from sfumato.evaluation.risk.special_uniques import MOST_COLUMNS, SpecialUniques, find_special_uniques
from sfumato.evaluation.risk.thresholds import DEFAULT, Threshold, as_thresholds
from sfumato.models.wildcard_k_anonymity import WildcardKAnonymity
from sfumato.progress import Progress, beating, shown, thread_count
from sfumato.recoding import Recoding
from sfumato.release.release import Release
from sfumato.table.identification import hint
from sfumato.table.table import Table

Given = TypeVar("Given")
Result = TypeVar("Result")

USUAL_SIZE, USUAL_COMBINATIONS = 3, 2000
"""Default sizes of combinations: up to three columns, fewer if there are many columns."""
STEPS = 4
"""Steps that tell progress."""


def risk(
    table: Table | Release | str | Path | pl.DataFrame,
    *,
    quasi_identifying: Sequence[str] | None = None,
    population: object = None,
    sampling_fraction: float | None = None,
    weights: str | None = None,
    household: str | None = None,
    thresholds: Sequence[str | float] = DEFAULT,
    special_uniques: int | None = None,
    combinations: int | None = None,
    wildcards: bool = False,
    log_linear: Terms | None = None,
    log_linear_estimate: Estimate = "standard",
    recoding: Recoding | None = None,
    threads: int | None = None,
    progress: Progress = shown,
) -> RiskReport:
    """Measure how easily people are found in a table by its quasi-identifying columns.

    A missing value is a value of its own, and so is a suppressed one, ``*``.

    Parameters
    ----------
    table
        An original table, a release, a release folder, a published CSV or Parquet file, or a published frame.
    quasi_identifying
        Which columns an attacker may know. None takes those of the table's schema or of the release; a published file
        or frame needs them named.
    population
        Everybody who might be in the table, the records of the table included, for the journalist. A frame or file is
        compared value by value: if the table is published, it must be published in the same way. A table from
        :func:`sfumato.read_table` holds original values; if the table is published, they are counted under the values
        that cover them, with the hierarchies of its schema.
    sampling_fraction
        Records of the table per record of the population, above 0 to 1, if there is no population table.
    weights
        Column of sampling weights: how many people of the population each record stands for. For individual risk.
    household
        Column that is equal for the records of one household.
    thresholds
        Names (``"ema"``, ``"health-canada"``, ``"cms"``, ``"five"``) or numbers above 0, at most 1.
    special_uniques, combinations
        Most columns of a minimal sample unique (SUDA2), and of a combination whose distinction and separation are
        measured; 0 leaves it out. None takes 3, or fewer if there are so many columns that more than 2000 combinations
        would be measured.
    wildcards
        Count ``*`` as any value, as sdcMicro does, in class sizes and what follows from them; special uniques,
        combinations and population uniqueness still take it as a value of its own.
    log_linear
        Columns of a term at most of a log-linear model of the population: 1 are main effects, 2 all pairs; or the terms
        themselves, such as ``[("age", "sex"), ("region",)]``, beside the main effects of all other columns. None fits
        none. It says how many unique records are unique in the population, where it is known how large that is.
    log_linear_estimate
        ``"standard"``, for simple random samples; ``"pseudo-likelihood"``, by the sampling weights of records.
    recoding
        How a published table was published, for a population of original values; None takes what a release says, else
        the defaults.
    threads
        None reads ``SFUMATO_THREADS``, else takes all cores. It never changes the result.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own.

    Returns
    -------
    RiskReport

    Raises
    ------
    PolicyError
        With every wrong option.
    InputError
        With everything that is wrong with the tables and their columns: a population without the shared columns or
        smaller than the table, weights that are missing or not above 0.

    Notes
    -----
    Cost O(n · q) for classes and attackers, O(t · c) for t combinations of columns and c classes.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["[20..30]"] * 4 + ["[31..40]"], "sex": ["f", "f", "m", "m", "m"]})
    >>> report = risk(frame, quasi_identifying=["age", "sex"])
    >>> report.sample_uniques, report.prosecutor.average
    (1, 0.6)
    >>> report.rows_above("five").tolist()
    [1, 2, 3, 4, 5]
    """

    def work(tell: Progress) -> RiskReport:
        tell("classes", 0, STEPS)
        known = opened(table, quasi_identifying, [weights, household], recoding)
        sizes = _Sizes.of(len(known.names), special_uniques, combinations)
        problems: list[str] = []
        asked = _checked(problems, _thresholds, thresholds)
        count = _checked(problems, thread_count, threads)
        problems += _setting_problems(sampling_fraction, population, household, weights, wildcards)
        problems += _fraction_problems(sampling_fraction, known.frame.height)
        if recoding is not None and not isinstance(recoding, Recoding):
            problems.append("recoding: must be a Recoding")
        sampled = any(each is not None for each in (sampling_fraction, population, weights))
        problems += order_problems(
            log_linear, known.names, log_linear_estimate, sampled=sampled, weighted=weights is not None
        )
        problems += sizes.problems
        seen = measured(
            known, population=population, weights=weights, household=household, threads=count or 1, problems=problems
        )
        found = _Found(seen, sampling_fraction, wildcards)
        report = _report(found, asked or (), sizes, count or 1, tell)
        if log_linear is not None:
            report = replace(report, log_linear=_log_linear(found, log_linear, log_linear_estimate))
        people = _people(table, known, report.keys)
        return replace(report, people=people, hints=_hints(table), unnumbered=known.of_people and people is None)

    return beating(progress, "classes", work)


def _hints(table: object) -> tuple[str, ...]:
    if not isinstance(table, Table):
        return ()
    return tuple(filter(None, (hint(name, table.look(name)) for name in table.schema.quasi_identifying)))


def _people(table: object, known: OpenedTable, keys: Keys) -> PeopleAtRisk | None:
    if isinstance(table, Table):
        return PeopleAtRisk.of(table, keys)
    people = known.people_of(keys)
    return None if people is None or known.numbering is None else PeopleAtRisk.numbered(people, known.numbering, keys)


@dataclass(frozen=True)
class _Sizes:
    special: int
    combinations: int
    problems: tuple[str, ...]

    @classmethod
    def of(cls, columns: int, special: int | None, combinations: int | None) -> _Sizes:
        usual = max(
            (
                size
                for size in range(1, min(columns, USUAL_SIZE) + 1)
                if combination_count(columns, size) <= USUAL_COMBINATIONS
            ),
            default=1,
        )
        problems = [
            *_size_problems("special_uniques", special, columns),
            *_size_problems("combinations", combinations, columns),
        ]
        if columns > MOST_COLUMNS and special:
            problems.append(f"special_uniques: works on at most {MOST_COLUMNS} columns, here are {columns}; use 0")
        looked_at = 0 if columns > MOST_COLUMNS else usual
        return cls(
            looked_at if special is None else special, usual if combinations is None else combinations, tuple(problems)
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Found:
    """What was read, and how it is counted."""

    seen: RiskInputs
    sampling_fraction: float | None
    wildcards: bool

    @property
    def keys(self) -> Keys:
        return self.seen.keys

    @property
    def alike(self) -> NDArray[np.float64]:
        return self._supported(self.keys.records.astype(np.float64))

    @property
    def weight_sums(self) -> NDArray[np.float64] | None:
        return None if self.seen.weight is None else self._supported(self.keys.sums(self.seen.weight))

    def _supported(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the records that stars make compatible with each class, if stars count as any value."""
        if not self.wildcards or max(self.keys.stars) < 0:
            return sizes
        return WildcardKAnonymity(1).support(self.keys.starred, sizes)  # type: ignore[arg-type]


def _checked(problems: list[str], check: Callable[[Given], Result], given: Given) -> Result | None:
    """Check one option, or note what is wrong with it."""
    try:
        return check(given)
    except PolicyError as error:
        problems.extend(error.problems)
        return None


def _thresholds(asked: Sequence[str | float]) -> tuple[Threshold, ...]:
    if isinstance(asked, (str, float, int)):
        return as_thresholds([asked])
    if not isinstance(asked, Sequence):
        raise PolicyError("thresholds: must be a list of names and numbers")
    return as_thresholds(asked)


def _size_problems(option: str, size: int | None, columns: int) -> list[str]:
    if size is None:
        return []
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        return [f"{option}: must be a whole number, 0 or above"]
    if size > columns:
        return [
            f"{option}: asks for up to {size} columns, but there are {columns} quasi-identifying ones; ask for fewer"
        ]
    if combination_count(columns, size) > MOST:
        many = combination_count(columns, size)
        return [f"{option}: {columns} columns have {many:,} combinations of up to {size}; ask for a smaller size"]
    return []


def _setting_problems(
    fraction: float | None, population: object, household: str | None, weights: str | None, wildcards: bool
) -> list[str]:
    problems = []
    if fraction is not None and population is not None:
        problems.append("sampling_fraction: the population table says it already; give one of the two")
    if household is not None and weights is None and fraction is None and population is None:
        problems.append("household: needs weights, a population or a sampling_fraction to know the risk of each record")
    if wildcards and population is not None:
        problems.append("wildcards: a population table is compared value by value; leave one of the two out")
    return problems


def _fraction_problems(fraction: float | None, records: int) -> list[str]:
    if fraction is None:
        return []
    if not (_is_number(fraction) and 0 < fraction <= 1):
        return ["sampling_fraction: must be a number above 0, at most 1"]
    if records / fraction > MOST_PEOPLE:
        return ["sampling_fraction: stands for a population of more than 100 billion people; give a larger one"]
    return []


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _report(
    found: _Found, thresholds: tuple[Threshold, ...], sizes: _Sizes, threads: int, tell: Progress
) -> RiskReport:
    keys, alike = found.keys, found.alike
    fraction, counts = _fraction(found), found.seen.population
    by_prosecutor = prosecutor(keys.records, alike)
    by_journalist = _journalist(found, alike)
    weights = found.weight_sums
    by_weights = None if weights is None else individual(individual_risk(alike, weights), keys.records)
    base = by_weights or by_journalist
    home = None
    if found.seen.household_of is not None and base is not None:
        home = household_risk(base.risks[keys.class_of], found.seen.household_of)
    tell("special uniques", 1, STEPS)
    special = _special(keys, sizes.special, fraction)
    tell("combinations", 2, STEPS)
    combinations = _combinations(keys, sizes.combinations, threads)
    tell("leaving columns out", 3, STEPS)
    return RiskReport(
        keys=keys,
        thresholds=thresholds,
        prosecutor=by_prosecutor,
        journalist=by_journalist,
        individual=by_weights,
        marketer=_marketer(found, by_journalist, by_prosecutor),
        household=home,
        sample_uniques=int(keys.records[alike == 1].sum()),
        population_uniques=None if counts is None else int(keys.records[counts == 1].sum()),
        population=None if fraction is None or counts is not None else population_uniqueness(keys.records, fraction),
        special_uniques=special,
        combinations=combinations,
        left_out=leave_out(keys),
    )


def _log_linear(found: _Found, terms: Terms, estimate: Estimate) -> LogLinearRisk:
    keys, weight = found.keys, found.seen.weight
    people: NDArray[np.float64] | None = None
    if estimate == "pseudo-likelihood" and weight is not None:
        people = np.bincount(keys.class_of, weights=weight, minlength=keys.count).astype(np.float64)
    return log_linear_risk(keys, _fraction(found) or 1.0, terms, people)


def _fraction(found: _Found) -> float | None:
    if found.sampling_fraction is not None:
        return float(found.sampling_fraction)
    if found.seen.everybody is not None:
        return found.keys.height / found.seen.everybody
    if found.seen.weight is not None:
        return min(1.0, found.keys.height / float(found.seen.weight.sum()))
    return None


def _journalist(found: _Found, alike: NDArray[np.float64]) -> Adversary | None:
    if found.seen.population is not None:
        return journalist_of_population(found.keys.records, found.seen.population.astype(np.float64))
    if found.sampling_fraction is not None:
        return journalist_of_sample(found.keys.records, alike, float(found.sampling_fraction))
    return None


def _marketer(found: _Found, by_journalist: Adversary | None, by_prosecutor: Adversary) -> float:
    """Return the expected share of right matches: against the population if it is known, else within the table."""
    if by_journalist is None:
        return by_prosecutor.average
    return float((by_journalist.risks * found.keys.records).sum() / max(1, found.keys.height))


def _special(keys: Keys, size: int, fraction: float | None) -> SpecialUniques | None:
    if not size:
        return None
    return find_special_uniques(keys.names, keys.columns, keys.records, keys.class_of, size, fraction)


def _combinations(keys: Keys, size: int, threads: int) -> Combinations | None:
    return measure_combinations(keys.names, keys.columns, keys.records, size, threads) if size else None

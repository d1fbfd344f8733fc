"""Measuring how easily people are found in a table, original or published, with what is known besides it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.population_uniqueness import population_uniqueness
from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all, raise_together
from sfumato.evaluation.inputs import generalized_file, generalized_table, quasi_identifying_of
from sfumato.evaluation.risk.adversaries import (
    DEFAULT,
    Adversary,
    Keys,
    PeopleAtRisk,
    Threshold,
    as_thresholds,
    counted_in,
    household_risk,
    individual,
    individual_risk,
    journalist_of_population,
    journalist_of_sample,
    keys_of,
    prosecutor,
)
from sfumato.evaluation.risk.combinations import (
    MOST,
    MOST_COLUMNS,
    Combinations,
    SpecialUniques,
    combination_count,
    find_special_uniques,
    leave_out,
    measure_combinations,
)
from sfumato.evaluation.risk.log_linear import Estimate, LogLinearRisk, Terms, log_linear_risk, order_problems
from sfumato.evaluation.risk.report import RiskReport
from sfumato.evaluation.utility.queries import positive_weights
from sfumato.former import FormerRisk, refuse_others, value_of_call, warn
from sfumato.models.starred_k_anonymity import WildcardKAnonymity
from sfumato.numbers import counted
from sfumato.progress import Progress, beating, shown, thread_count
from sfumato.published.checks.population import covered_population
from sfumato.published.checks.pseudonyms import person_numbers
from sfumato.published.protocol import Pseudonyms
from sfumato.recoding import Recoding
from sfumato.release.release import Release
from sfumato.release.transaction import no_release
from sfumato.release.verify import open_folder, read_release
from sfumato.table.databases.address import names_release
from sfumato.table.distinct import distinct_of
from sfumato.table.identification import hint
from sfumato.table.reading import population_problems, read_table, read_with, read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

_Given = TypeVar("_Given")


Result = TypeVar("Result")


_USUAL_SIZE, _USUAL_COMBINATIONS = 3, 2000
"""Default sizes of combinations: up to three columns, fewer if there are many columns."""


_STEPS = 4
"""Steps that tell progress."""


@dataclass(frozen=True)
class Sample:
    """How a table was drawn from its population, as :func:`sfumato.risk` takes it.

    Parameters
    ----------
    sampling_fraction
        Records of the table per record of the population, above 0 to 1, if there is no population table.
    weights
        Column of sampling weights: how many people of the population each record stands for. For individual risk.
    household
        Column that is equal for the records of one household.
    log_linear_estimate
        How the log-linear model is fitted: ``"standard"``, for simple random samples; ``"pseudo-likelihood"``, by the
        sampling weights of records.
    log_linear
        Columns of a term at most of a log-linear model of the population: 1 are main effects, 2 all pairs; or the terms
        themselves, such as ``[("age", "sex"), ("region",)]``, beside the main effects of all other columns. None fits
        none. It says how many unique records are unique in the population, where it is known how large that is.
    """

    sampling_fraction: float | None = None
    weights: str | None = None
    household: str | None = None
    log_linear_estimate: Estimate = "standard"
    log_linear: Terms | None = None


def risk(
    table: Any,
    *,
    schema: Schema | None = None,
    quasi_identifying: Sequence[str] | None = None,
    population: object = None,
    sample: Sample | None = None,
    thresholds: Sequence[str | float] = DEFAULT,
    special_uniques: int | None = None,
    combinations: int | None = None,
    wildcards: bool = False,
    recoding: Recoding | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    **former: Unpack[FormerRisk],
) -> RiskReport:
    """Measure how easily people are found in a table by its quasi-identifying columns.

    A missing value is a value of its own, and so is a suppressed one, ``*``.

    Parameters
    ----------
    table
        An original table, a release, a release folder, a published CSV or Parquet file, or a published frame.
    schema
        The roles of the columns of a file or a frame, which is then read as an original. A release has its own.
    quasi_identifying
        Which columns an attacker may know. None takes those of the table's schema or of the release; a published file
        or frame needs them named.
    population
        Everybody who might be in the table, the records of the table included, for the journalist. A frame or file is
        compared value by value: if the table is published, it must be published in the same way. A table from
        :func:`sfumato.read_table` holds original values; if the table is published, they are counted under the values
        that cover them, with the hierarchies of its schema.
    sample
        How the table was drawn from the population, if it is a sample.
    thresholds
        Names (``"ema"``, ``"health-canada"``, ``"cms"``, ``"five"``) or numbers above 0, at most 1.
    special_uniques, combinations
        Most columns of a minimal sample unique (SUDA2), and of a combination whose distinction and separation are
        measured; 0 leaves it out. None takes 3, or fewer if there are so many columns that more than 2000 combinations
        would be measured.
    wildcards
        Count ``*`` as any value, as sdcMicro does, in class sizes and what follows from them; special uniques,
        combinations and population uniqueness still take it as a value of its own.
    recoding
        How a published table was published, for a population of original values; None takes what a release says, else
        the defaults.
    threads
        None reads ``SFUMATO_THREADS``, else takes all cores. It never changes the result.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own.
    **former
        The settings of a :class:`sfumato.Sample` one by one, as in the last version.

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
    refuse_others("risk", former, FormerRisk)
    beside = {key: value for key, value in former.items() if key != "log_linear"}
    drawn = value_of_call("risk", "sample", Sample, sample, beside)
    if "log_linear" in former:
        warn("risk(log_linear=...)", "sample=sfumato.Sample(log_linear=...)")
        drawn = replace(drawn, log_linear=former["log_linear"])
    if schema is not None and (isinstance(table, Release) or names_release(table)):
        raise PolicyError("schema: a release says itself which roles its columns have; leave it out")
    table = read_with(table, schema)
    weights, household = drawn.weights, drawn.household

    def work(tell: Progress) -> RiskReport:
        tell("classes", 0, _STEPS)
        known = opened(table, quasi_identifying, [weights, household], recoding)
        sizes = _Sizes.of(len(known.names), special_uniques, combinations)
        problems: list[str] = []
        asked = _checked(problems, _thresholds, thresholds)
        count = _checked(problems, thread_count, threads)
        problems += _setting_problems(drawn.sampling_fraction, population, household, weights, wildcards)
        problems += _fraction_problems(drawn.sampling_fraction, known.frame.height)
        if recoding is not None and not isinstance(recoding, Recoding):
            problems.append("recoding: must be a Recoding")
        sampled = any(each is not None for each in (drawn.sampling_fraction, population, weights))
        problems += order_problems(
            drawn.log_linear, known.names, drawn.log_linear_estimate, sampled=sampled, weighted=weights is not None
        )
        problems += sizes.problems
        inputs = measured_table(
            known, population=population, weights=weights, household=household, threads=count or 1, problems=problems
        )
        found = _Found(inputs, drawn.sampling_fraction, wildcards)
        report = _report(found, asked or (), sizes, count or 1, tell)
        if drawn.log_linear is not None:
            report = replace(report, log_linear=_log_linear(found, drawn.log_linear, drawn.log_linear_estimate))
        people = _people(table, known, report.keys)
        return replace(report, people=people, hints=_hints(table), unnumbered=known.of_people and people is None)

    return beating(progress, "classes", work)


def _hints(table: object) -> tuple[str, ...]:
    if not isinstance(table, Table):
        return ()
    return tuple(filter(None, (hint(name, table.look(name)) for name in table.schema.quasi_identifying)))


def _people(table: object, known: _OpenedTable, keys: Keys) -> PeopleAtRisk | None:
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
                for size in range(1, min(columns, _USUAL_SIZE) + 1)
                if combination_count(columns, size) <= _USUAL_COMBINATIONS
            ),
            default=1,
        )
        problems = [
            *_size_problems("special_uniques", special, columns),
            *_size_problems("combinations", combinations, columns),
        ]
        if columns > MOST_COLUMNS and special:
            problems.append(f"special_uniques: works on at most {MOST_COLUMNS} columns, here are {columns}; use 0")
        most = 0 if columns > MOST_COLUMNS else usual
        return cls(
            most if special is None else special, usual if combinations is None else combinations, tuple(problems)
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Found:
    """What was read, and how it is counted."""

    seen: _RiskInputs
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


def _checked(problems: list[str], check: Callable[[_Given], Result], given: _Given) -> Result | None:
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
    if records / fraction > _MOST_PEOPLE:
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
    tell("special uniques", 1, _STEPS)
    special = _special(keys, sizes.special, fraction)
    tell("combinations", 2, _STEPS)
    combinations = _combinations(keys, sizes.combinations, threads)
    tell("leaving columns out", 3, _STEPS)
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


_MOST_PEOPLE = 1e11
"""No population is so large: larger numbers are mistakes."""


_Wanted = TypeVar("_Wanted")


_Read = TypeVar("_Read")


@dataclass(frozen=True, eq=False, repr=False)
class _RiskInputs:
    """Everything from which risks are computed: weights, households, and people of the population in classes."""

    keys: Keys
    weight: NDArray[np.float64] | None
    household_of: NDArray[np.integer] | None
    population: NDArray[np.int64] | None
    everybody: int | None


@dataclass(frozen=True, eq=False, repr=False)
class _OpenedTable:
    """A table with known columns: `attributes`, `recoding` or None, `numbering` column, `of_people` as promised."""

    frame: pl.DataFrame
    names: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    recoding: Recoding | None
    numbering: str | None = None
    of_people: bool = False

    def people_of(self, keys: Keys) -> NDArray[np.int32] | None:
        """Return the person behind each record, int32 (n,); None where the release does not number people.

        Raises InputError when the column holds no numbers.
        """
        if self.numbering is None:
            return None
        numbers = person_numbers(self.frame[self.numbering])
        if numbers is None:
            raise InputError(f"column {self.numbering!r}: does not number people; check the release by sfumato verify")
        people: NDArray[np.int32] = np.unique(keys.class_of.astype(np.int64) << 32 | numbers, return_inverse=True)[
            1
        ].astype(np.int32)
        return people


def opened(
    table: object, quasi_identifying: Sequence[str] | None, beside: Sequence[str | None], recoding: Recoding | None
) -> _OpenedTable:
    """Read a table, or take one that was read; None: what the schema or the release says. `beside`: other columns."""
    if isinstance(quasi_identifying, str):
        raise PolicyError("quasi_identifying: must be a list of column names")
    if isinstance(table, Table):
        return _opened_table(table, quasi_identifying)
    found = _published(table)
    names = tuple(found.names if quasi_identifying is None else quasi_identifying)
    # A number is somebody's in one class alone.
    numbering = found.numbering if {*names} == {*found.names} else None
    if not names:
        raise PolicyError("quasi_identifying: name the columns that an attacker may know")
    _refuse_repeated(names)
    attributes = dict.fromkeys(names, Attribute(kind=Kind.CATEGORICAL))
    others = [name for name in dict.fromkeys([*beside, numbering]) if name is not None and name not in attributes]
    schema = Schema(quasi_identifying=attributes, insensitive=others, others="drop")
    frame = read_written(found.data, schema).frame
    return _OpenedTable(frame, names, attributes, recoding or found.recoding, numbering, found.of_people)


def _opened_table(table: Table, quasi_identifying: Sequence[str] | None) -> _OpenedTable:
    names = tuple(table.schema.quasi_identifying if quasi_identifying is None else quasi_identifying)
    _refuse_repeated(names)
    missing = [name for name in names if name not in table.frame.columns]
    raise_all(InputError, [f"quasi_identifying: column {name!r} is not in the table" for name in missing])
    if not names:
        raise PolicyError("quasi_identifying: the schema has no quasi-identifying column; name some")
    # Neither hierarchies nor domains affect which records are equal.
    attributes = {name: Attribute(kind=table.kinds.get(name, Kind.CATEGORICAL)) for name in names}
    return _OpenedTable(table.frame, names, attributes, None)


def _refuse_repeated(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise PolicyError("quasi_identifying: names a column twice; name each once")


class _Published(NamedTuple):
    """What to read of a published table, and what it says of itself."""

    data: object
    names: tuple[str, ...] = ()
    recoding: Recoding = Recoding()
    numbering: str | None = None
    of_people: bool = False


def _published(table: object) -> _Published:
    if isinstance(table, Release) or names_release(table):
        opened = read_release(table)
        published = generalized_table(opened)
        of_people = opened.description is not None and opened.description.people is not None
        names, numbering = published.quasi_identifying, _numbering(published.pseudonyms)
        return _Published(published.data, names, opened.policy.recoding(), numbering, of_people)
    if not isinstance(table, (str, Path)):
        return _Published(table)
    path = Path(table)
    if not path.is_dir():
        return _Published(path)
    if problem := no_release(path):
        raise InputError(f"{problem}; name a release, a published file or a table")
    folder = open_folder(path)
    file, description = generalized_file(folder), folder.description
    numbering = _numbering(Pseudonyms.read(description.structure.get("pseudonyms")))
    known = quasi_identifying_of(description)
    return _Published(file, known, folder.policy.recoding(), numbering, description.people is not None)


def _numbering(pseudonyms: Pseudonyms | None) -> str | None:
    return None if pseudonyms is None else pseudonyms.column


def measured_table(
    table: _OpenedTable,
    *,
    population: object,
    weights: str | None,
    household: str | None,
    threads: int,
    problems: Sequence[str] = (),
) -> _RiskInputs:
    """Read everything that is known besides a table, and group its records; all problems are raised together."""
    errors: list[SfumatoError] = [PolicyError(*problems)] if problems else []
    weight = _collected(errors, _weights_of, table, weights)
    household_of = _collected(errors, _households_of, table, household)
    people = _collected(errors, _population_of, table, population)
    raise_together(errors)
    columns = [table.frame[name] for name in table.names]
    if people is None:
        return _RiskInputs(keys_of(columns, threads), weight, household_of, None, None)
    if isinstance(people, Table):
        keys, counts = keys_of(columns, threads), _covered(table, people)
    else:
        stacked = [_stacked(column, people[column.name]) for column in columns]
        keys, counts = counted_in(keys_of(stacked, threads), table.frame.height)
    _refuse_missing_people(keys, counts)
    return _RiskInputs(keys, weight, household_of, counts, people.height)


def _collected(
    errors: list[SfumatoError],
    read: Callable[[_OpenedTable, _Wanted], _Read],
    table: _OpenedTable,
    what: _Wanted | None,
) -> _Read | None:
    """Read one thing, or keep its error until all have been read."""
    if what is None:
        return None
    try:
        return read(table, what)
    except SfumatoError as error:
        errors.append(error)
        return None


def _weights_of(table: _OpenedTable, name: str) -> NDArray[np.float64]:
    numbers = positive_weights(_column(table, name, "weights"))
    if numbers.sum() < len(numbers):
        raise InputError(
            f"weights: column {name!r} sums to less than the number of records, a population smaller than the table; "
            "weights say how many people each record stands for"
        )
    if numbers.sum() > _MOST_PEOPLE:
        raise InputError(f"weights: column {name!r} sums to more than 100 billion people; check their unit")
    return numbers


def _households_of(table: _OpenedTable, name: str) -> NDArray[np.integer]:
    distinct = distinct_of(_column(table, name, "household"))
    if distinct.missing:
        raise InputError(
            f"household: column {name!r} is missing in {counted(distinct.missing, 'record')}; give those who live "
            "alone a household of their own"
        )
    household_of: NDArray[np.int64] = distinct.rank_of[distinct.raw]
    return household_of


def _column(table: _OpenedTable, name: str, option: str) -> pl.Series:
    if name not in table.frame.columns:
        raise InputError(f"{option}: column {name!r} is not in the table; give it a role, such as insensitive")
    return table.frame[name]


def _population_of(table: _OpenedTable, population: object) -> Table | pl.DataFrame:
    """Return a population of original values for published ones to cover, or one of values to compare."""
    if isinstance(population, Release):
        population = generalized_table(population).data
    if isinstance(population, Table) and table.recoding is None:
        population = population.frame
    people: Table | pl.DataFrame
    if isinstance(population, Table):
        people = population
    else:
        try:
            people = read_table(population, Schema(quasi_identifying=table.attributes, others="drop")).frame
        except SfumatoError as error:
            raise population_problems(error) from None
    if people.height < table.frame.height:
        raise InputError(
            f"population: has {counted(people.height, 'record')} and the table {table.frame.height:,}; it must hold "
            "everybody who might be in the table, and those who are"
        )
    return people


def _covered(table: _OpenedTable, people: Table) -> NDArray[np.int64]:
    try:
        return covered_population(table.frame, table.names, people, table.recoding or Recoding())
    except SfumatoError as error:
        raise population_problems(error) from None


def _refuse_missing_people(keys: Keys, population: NDArray[np.int64]) -> None:
    few = population < keys.records
    if few.any():
        records, first = int(keys.records[few].sum()), int(keys.first_rows[few].min())
        raise InputError(
            f"population: the values of {counted(records, 'record')}, first in row {first}, are in the table more "
            "often than in the population; it must hold everybody who is in the table, with values written in the same "
            "way"
        )


def _stacked(column: pl.Series, other: pl.Series) -> pl.Series:
    if column.dtype == other.dtype and not isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return pl.concat([column, other])
    texts = isinstance(column.dtype, (pl.Categorical, pl.Enum)) or column.dtype == pl.String
    dtype = pl.String() if texts else pl.Float64()
    return pl.concat([column.cast(dtype), other.cast(dtype).alias(column.name)])

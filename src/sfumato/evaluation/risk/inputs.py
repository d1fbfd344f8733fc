"""What risks are measured on: a table, original or published, and what is known besides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.evaluation.generalized_only import generalized_file, generalized_table, quasi_identifying_of
from sfumato.evaluation.risk.keys import Keys, counted_in, keys_of
from sfumato.evaluation.weights import positive_weights
from sfumato.numbers import counted
from sfumato.published.checks.population import covered_population
from sfumato.published.checks.pseudonyms import numbers_of
from sfumato.published.pseudonyms import Pseudonyms
from sfumato.recoding import Recoding
from sfumato.release.folder import no_release
from sfumato.release.opening import open_folder, open_release
from sfumato.release.release import Release
from sfumato.table.databases.address import names_release
from sfumato.table.distinct import distinct_of
from sfumato.table.population import population_problems
from sfumato.table.problems import raise_together
from sfumato.table.reading import read_table, read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

MOST_PEOPLE = 1e11
"""No population is so large: larger numbers are mistakes."""

Wanted = TypeVar("Wanted")
Read = TypeVar("Read")


@dataclass(frozen=True, eq=False, repr=False)
class RiskInputs:
    """Everything from which risks are computed.

    Letters: n records, c classes.

    Attributes
    ----------
    keys : Keys
    weight : numpy.ndarray or None
        float64 (n,): sampling weight of each record.
    household_of : numpy.ndarray or None
        Integers (n,): household of each record, from 0.
    population : numpy.ndarray or None
        int64 (c,): records of the population in each class, never fewer than the table's.
    everybody : int or None
        Records of the population.
    """

    keys: Keys
    weight: NDArray[np.float64] | None
    household_of: NDArray[np.integer] | None
    population: NDArray[np.int64] | None
    everybody: int | None


@dataclass(frozen=True, eq=False, repr=False)
class OpenedTable:
    """A table whose quasi-identifying columns are known.

    Attributes
    ----------
    frame : polars.DataFrame
    names : tuple of str
        Quasi-identifying columns.
    attributes : mapping of str to Attribute
        How to read a population in the same way.
    recoding : Recoding or None
        How it was published; None for an original table.
    numbering : str or None
        The column of a release that numbers the people of each class, if all its quasi-identifying columns are named.
    of_people : bool
        Whether promises of a release are about people with several records.
    """

    frame: pl.DataFrame
    names: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    recoding: Recoding | None
    numbering: str | None = None
    of_people: bool = False

    def people_of(self, keys: Keys) -> NDArray[np.int32] | None:
        """Return the person behind each record, int32 (n,); None where the release does not number people.

        Raises
        ------
        InputError
            When the column holds no numbers.
        """
        if self.numbering is None:
            return None
        numbers = numbers_of(self.frame[self.numbering])
        if numbers is None:
            raise InputError(f"column {self.numbering!r}: does not number people; check the release by sfumato verify")
        people: NDArray[np.int32] = np.unique(keys.class_of.astype(np.int64) << 32 | numbers, return_inverse=True)[
            1
        ].astype(np.int32)
        return people


def opened(
    table: object,
    quasi_identifying: Sequence[str] | None,
    beside: Sequence[str | None],
    recoding: Recoding | None,
) -> OpenedTable:
    """Read a table, or take one that was already read.

    Parameters
    ----------
    table
        As :func:`sfumato.risk` takes it.
    quasi_identifying
        None takes what the schema or the release says.
    beside
        Names of other columns that are needed of a published table.
    recoding
        How a published table was published; None takes what a release says, else the defaults.

    Raises
    ------
    PolicyError, InputError
        When the table cannot be read, or no column is known to be quasi-identifying.
    """
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
    return OpenedTable(frame, names, attributes, recoding or found.recoding, numbering, found.of_people)


def _opened_table(table: Table, quasi_identifying: Sequence[str] | None) -> OpenedTable:
    names = tuple(table.schema.quasi_identifying if quasi_identifying is None else quasi_identifying)
    _refuse_repeated(names)
    missing = [name for name in names if name not in table.frame.columns]
    raise_all(InputError, [f"quasi_identifying: column {name!r} is not in the table" for name in missing])
    if not names:
        raise PolicyError("quasi_identifying: the schema has no quasi-identifying column; name some")
    # Neither hierarchies nor domains affect which records are equal.
    attributes = {name: Attribute(kind=table.kinds.get(name, Kind.CATEGORICAL)) for name in names}
    return OpenedTable(table.frame, names, attributes, None)


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
        opened = open_release(table)
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
    said, known = folder.description, quasi_identifying_of(folder.description)
    numbering = _numbering(Pseudonyms.read(said.structure.get("pseudonyms")))
    return _Published(generalized_file(folder), known, folder.policy.recoding(), numbering, said.people is not None)


def _numbering(pseudonyms: Pseudonyms | None) -> str | None:
    return None if pseudonyms is None else pseudonyms.column


def measured(
    table: OpenedTable,
    *,
    population: object,
    weights: str | None,
    household: str | None,
    threads: int,
    problems: Sequence[str] = (),
) -> RiskInputs:
    """Read everything that is known besides a table, and group its records.

    Parameters
    ----------
    problems
        With the options, found before; raised together with those of columns and population.

    Raises
    ------
    PolicyError, InputError
        With everything that is wrong.
    """
    errors: list[SfumatoError] = [PolicyError(*problems)] if problems else []
    weight = _collected(errors, _weights_of, table, weights)
    household_of = _collected(errors, _households_of, table, household)
    people = _collected(errors, _population_of, table, population)
    raise_together(errors)
    columns = [table.frame[name] for name in table.names]
    if people is None:
        return RiskInputs(keys_of(columns, threads), weight, household_of, None, None)
    if isinstance(people, Table):
        keys, counts = keys_of(columns, threads), _covered(table, people)
    else:
        stacked = [_stacked(column, people[column.name]) for column in columns]
        keys, counts = counted_in(keys_of(stacked, threads), table.frame.height)
    _refuse_missing_people(keys, counts)
    return RiskInputs(keys, weight, household_of, counts, people.height)


def _collected(
    errors: list[SfumatoError], read: Callable[[OpenedTable, Wanted], Read], table: OpenedTable, what: Wanted | None
) -> Read | None:
    """Read one thing, or keep its error until all have been read."""
    if what is None:
        return None
    try:
        return read(table, what)
    except SfumatoError as error:
        errors.append(error)
        return None


def _weights_of(table: OpenedTable, name: str) -> NDArray[np.float64]:
    numbers = positive_weights(_column(table, name, "weights"))
    if numbers.sum() < len(numbers):
        raise InputError(
            f"weights: column {name!r} sums to less than the number of records, a population smaller than the table; "
            "weights say how many people each record stands for"
        )
    if numbers.sum() > MOST_PEOPLE:
        raise InputError(f"weights: column {name!r} sums to more than 100 billion people; check their unit")
    return numbers


def _households_of(table: OpenedTable, name: str) -> NDArray[np.integer]:
    distinct = distinct_of(_column(table, name, "household"))
    if distinct.missing:
        raise InputError(
            f"household: column {name!r} is missing in {counted(distinct.missing, 'record')}; give those who live "
            "alone a household of their own"
        )
    household_of: NDArray[np.int64] = distinct.rank_of[distinct.raw]
    return household_of


def _column(table: OpenedTable, name: str, option: str) -> pl.Series:
    if name not in table.frame.columns:
        raise InputError(f"{option}: column {name!r} is not in the table; give it a role, such as insensitive")
    return table.frame[name]


def _population_of(table: OpenedTable, population: object) -> Table | pl.DataFrame:
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


def _covered(table: OpenedTable, people: Table) -> NDArray[np.int64]:
    try:
        return covered_population(table.frame, table.names, people, table.recoding or Recoding())
    except SfumatoError as error:
        raise population_problems(error) from None


def _refuse_missing_people(keys: Keys, population: NDArray[np.int64]) -> None:
    few = population < keys.records
    if few.any():
        records, first = int(keys.records[few].sum()), int(keys.first_rows[few].min())
        raise InputError(
            f"population: {counted(records, 'record')} of the table, first in row {first}, have their "
            "quasi-identifying values more often in the table than in the population; it must hold everybody who is in "
            "the table, with values written in the same way"
        )


def _stacked(column: pl.Series, other: pl.Series) -> pl.Series:
    if column.dtype == other.dtype and not isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return pl.concat([column, other])
    texts = isinstance(column.dtype, (pl.Categorical, pl.Enum)) or column.dtype == pl.String
    wanted = pl.String() if texts else pl.Float64()
    return pl.concat([column.cast(wanted), other.cast(wanted).alias(column.name)])

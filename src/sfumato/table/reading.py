"""Reading tables: from a file or frame and a schema to a checked table, and a population with the same columns."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Unpack, runtime_checkable

import polars as pl

from sfumato.errors import InputError, PolicyError, SchemaError, SfumatoError, raise_all, raise_together, said_of
from sfumato.former import FormerReading, reading_of_call
from sfumato.parallel import each, worth_starting
from sfumato.progress import Progress, beating, silent
from sfumato.table.columns import (
    TypedColumn,
    ValueReading,
    is_text,
    kept_column,
    question_beside_days,
    read_attribute,
    with_missing,
)
from sfumato.table.databases.address import is_database
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.header import Header, assign_roles, checked_header, columns_of, missing_columns
from sfumato.table.person_keys import as_they_appear, number_people, one_key, person_keys, read_wishes
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import TableSource, open_source
from sfumato.table.sources.frames import without_index
from sfumato.table.sources.other_files import scheme_of
from sfumato.table.sources.protocol import CsvFormat, Reading, missing_texts
from sfumato.table.sources.standard_input import DASH, LABEL
from sfumato.table.table import Table, candidates, repeated_key
from sfumato.table.written_forms import PLAIN

LOG = logging.getLogger("sfumato.table")


@runtime_checkable
class ReadingPolicy(Protocol):
    """Anything that gives both the roles of the columns and how a file is read, such as :class:`sfumato.Policy`."""

    def to_schema(self) -> Schema:
        """Return the roles."""
        ...

    def reading(self) -> Mapping[str, Any]:
        """Return the arguments of :func:`read_table` beside source and schema."""
        ...


def read_with(table: Any, schema: Schema | None) -> Any:
    """Return what a call hands in, read with the roles that it hands in beside it.

    Raises ``PolicyError`` when a table has roles already. Raises ``SfumatoError``: what is wrong with the source.
    """
    if schema is None:
        return table
    if isinstance(table, Table):
        raise PolicyError("schema: the table was read with one; leave it out")
    return read_table(table, schema)


def read_table(
    source: object,
    schema: Schema | ReadingPolicy,
    *,
    reading: Reading | None = None,
    progress: Progress = silent,
    **former: Unpack[FormerReading],
) -> Table:
    """Read a table of people and check it against its schema.

    Parameters
    ----------
    source
        Path of a file: CSV (plain, gzip or zstd), JSON lines, Parquet, Arrow, Excel, SPSS, Stata or SAS. Several files
        of one table: a folder, a pattern such as ``"visits/*.parquet"``, or a list of paths. A polars, pandas or Arrow
        frame, or anything that streams Arrow. A database: ``postgresql://host/database``, ``sqlite:///path`` or
        ``duckdb:///path``, without a password.
    schema
        One role for every column, or a :class:`sfumato.Policy`, which also says how a file is read. Identifying
        columns, and those dropped that may be keys of people, are read to see whether they repeat, and forgotten; other
        dropped columns are never loaded, of a database none at all.
    reading
        How the source is read: its layout, how numbers and dates are written in it, and which part of it is the table.
        A policy says it, too.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. Reading is then done in a thread of its own.
    **former
        The settings of a :class:`sfumato.Reading` one by one, as in the last version.

    Returns
    -------
    Table
        If the schema names no kind, a typed source decides, but numbers that 64 bits cannot distinguish are categories.
        A CSV column is boolean when it says true and false throughout, numeric when every value is a number and none
        has a leading zero as codes have, a date when every value is an ISO date, and else categorical. Insensitive
        columns keep their text.

    Raises
    ------
    SfumatoError
        With everything that is wrong, at once: ``InputError`` about the source, ``SchemaError`` if only the roles are
        wrong. Columns and row numbers (of records, from 1) are named; values are never shown. Columns that the schema
        does not name appear by number alone, unless most of the schema's names are there: a first row may be a record.

    Notes
    -----
    Cost O(bytes). CSV columns are numbered while they are parsed; kinds are read off their distinct values. A file with
    irregular rows or quotes, or blank lines between records, is read again row by row, several times slower. Only then
    does a carriage return by itself end a row.
    """
    if isinstance(schema, ReadingPolicy):
        _refuse_two_layouts([*former, *([] if reading is None else reading.changed())])
        meant = Reading(**schema.reading())
        return read_table(source, schema.to_schema(), reading=meant, progress=progress)
    with named_source(source, former.get("table") if reading is None else reading.table) as label:
        _refuse_no_schema(schema)
        how = reading_of_call("read_table", reading, former)

        def work(tell: Progress) -> Table:
            tell("opening", 0, 2)
            opened = open_table_as(source, how)
            tell("reading", 1, 2)
            return with_roles(*opened, schema, label, how.columns or ())

        read = beating(progress, "opening", work)
        LOG.info("read %s: %d records, %d columns", label, read.height, read.frame.width)
        return read


def open_table_as(source: object, reading: Reading) -> tuple[TableSource, ValueReading]:
    """Open a source, and say how its values are read; see :func:`read_table`."""
    layout, strip = reading.layout(), reading.strip
    somewhere = strip if isinstance(strip, (list, tuple)) else ()
    opened = open_source(source, layout, reading.place())
    return opened, ValueReading(reading.tokens(), layout.strip, opened.is_text, somewhere, reading.form(), asks=True)


def with_roles(
    opened: TableSource, values: ValueReading, schema: Schema, label: str, given: Sequence[str] = ()
) -> Table:
    """Read from an open source what a schema asks for; `given` are names of columns that the caller gave.

    Raises ``SfumatoError`` as :func:`read_table` does, without the name of the source.
    """
    _refuse_no_schema(schema)
    with _advised(opened, schema):
        header_row, keys = header_and_keys(opened, schema, given)
        return _table(opened, header_row, schema, replace(values, codes=schema.quasi_identifying), label, keys)


def header_and_keys(opened: TableSource, schema: Schema, given: Sequence[str]) -> tuple[Header, tuple[str, ...]]:
    """Check the names of an open source; return them, and those of columns that may be keys of people."""
    alone = getattr(opened, "reads_roles_alone", False)
    # Names that a database gives are no records that were taken for a header.
    header = checked_header(without_index(opened, schema.roles), schema, given or (opened.names if alone else ()))
    return header, tuple(name for name in candidates(header, schema) if name in schema.roles or not alone)


def missing_in_file(place: object, names: Sequence[str]) -> tuple[str, ...]:
    """Say which of these columns a source lacks, by its header alone; nothing where it cannot be read or has none."""
    schema = Schema(quasi_identifying=list(dict.fromkeys(names)), others="drop")
    try:
        with named_source(place):
            header = without_index(open_source(place, CsvFormat()), schema.roles)
            raise_together(missing_columns(header, schema) if schema.roles.keys() & {*header} else ())
    except SchemaError as error:
        return error.problems
    except (SfumatoError, OSError):
        pass
    return ()


def read_written(source: object, schema: Schema) -> Table:
    """Read what a program wrote, such as a published table: blanks are kept, and no column is taken for a key.

    Parameters and errors are those of :func:`read_table`.
    """
    with named_source(source) as label:
        opened = open_source(source, CsvFormat(strip=False))
        header_row = checked_header(opened.names, schema)
        return _table(opened, header_row, schema, ValueReading(missing_texts(""), False, opened.is_text), label)


@contextmanager
def named_source(source: object, table: str | None = None) -> Iterator[str]:
    """Put the name of a source before every problem with it."""
    label = label_of(source, table)
    try:
        yield label
    except SfumatoError as error:
        raise said_of(label, error) from None


@contextmanager
def _advised(opened: TableSource, schema: Schema) -> Iterator[None]:
    """Say which separator or encoding a CSV file seems to have, where something is wrong with what was read."""
    try:
        yield
    except SfumatoError as error:
        advise = getattr(opened, "advice", None)
        advice = None if advise is None else advise(schema.roles)
        if advice is None:
            raise
        is_lost = not schema.roles.keys() & {*opened.names}
        advised = InputError(advice, *(() if is_lost else error.problems))
        advised.answers = {} if is_lost else error.answers
        raise advised from None


def label_of(source: object, table: str | None = None) -> str:
    """Return what messages call a source: the name of the file, or of the table of a database, or ``table``."""
    if not isinstance(source, (str, os.PathLike)):
        return "table"
    if is_database(source):
        # Nothing of the URL: it may hold a password that is still to be refused.
        return table or "database"
    if scheme_of(source):
        return "address"
    return LABEL if Path(source) == DASH else Path(source).name


def _refuse_two_layouts(given: Sequence[str]) -> None:
    """Raise PolicyError if the caller describes a file that the policy already describes."""
    raise_all(
        PolicyError,
        [
            f"{name}: the policy says how the file is read; change it there, or give policy.to_schema() instead"
            for name in dict.fromkeys(given)
        ],
    )


def _refuse_no_schema(schema: object) -> None:
    if not isinstance(schema, Schema):
        raise SchemaError("schema is not a Schema; make one with sfumato.Schema(quasi_identifying=[...], ...)")


def _table(
    source: TableSource, header: Header, schema: Schema, reading: ValueReading, label: str, keys: Sequence[str] = ()
) -> Table:
    assignment = assign_roles(header, schema)
    errors = list(assignment.errors)
    frame, kinds, people, repeated = pl.DataFrame(), dict[str, Kind](), None, None
    wishes, wished_l, keyless, from_text, remarks = None, None, None, frozenset[str](), tuple[str, ...]()
    orders: dict[str, tuple[str, ...]] = {}
    unique_keys: tuple[str, ...] = ()
    try:
        keys = () if errors else keys
        columns = _read(source, assignment.kept, keys) if assignment.kept else []
        kept, others = columns[: len(assignment.kept)], columns[len(assignment.kept) :]
        orders = {each.name: tuple(each.dtype.categories) for each in kept if isinstance(each.dtype, pl.Enum)}
        if reading.is_text:
            from_text = frozenset(column.name for column in kept if is_text(column))
        frame, kinds, remarks = _typed(kept, {**schema.quasi_identifying, **schema.sensitive}, reading)
        repeated, unique_keys = repeated_key([with_missing(key, reading) for key in others], assignment.schema, frame)
        if schema.key_columns and {*schema.key_columns} <= {*frame.columns}:
            key = one_key([with_missing(frame.drop_in_place(name), reading) for name in schema.key_columns])
            people, keyless = as_they_appear(number_people(person_keys(key, schema.key_form))), key.is_null().to_numpy()
        if schema.wished_k is not None and schema.wished_k in frame.columns:
            wishes = read_wishes(with_missing(frame.drop_in_place(schema.wished_k), reading))
        if schema.wished_l is not None and schema.wished_l in frame.columns:
            wished_l = read_wishes(with_missing(frame.drop_in_place(schema.wished_l), reading), "an l")
    except SfumatoError as error:
        errors.append(error)
    raise_together(errors)
    dropped = tuple(name for name in header.names if name not in assignment.schema.roles)
    remarks, codes = (*getattr(source, "remarks", ()), *remarks), getattr(source, "value_codes", {})
    counts = (people, repeated, wishes, wished_l, from_text & {*kinds}, keyless, remarks)
    rest = (assignment.passing, orders, codes, dropped if schema.others == "drop" else (), unique_keys)
    return Table(frame, assignment.schema, kinds, label, *counts, *rest)


def _read(source: TableSource, kept: Sequence[str], keys: Sequence[str]) -> list[pl.Series]:
    """Read columns, and behind them those that may be keys of people, unless just these cannot be read."""
    try:
        return source.read((*kept, *keys))
    except InputError:
        if not keys:
            raise
    return source.read(kept)


def _typed(
    columns: Sequence[pl.Series], attributes: Mapping[str, Attribute], reading: ValueReading
) -> tuple[pl.DataFrame, dict[str, Kind], tuple[str, ...]]:
    def one(column: pl.Series) -> _Read:
        try:
            if column.name not in attributes:
                return kept_column(column, reading.of(column.name)).alias(column.name)
            typed = read_attribute(column, attributes[column.name], reading.of(column.name))
            return typed._replace(values=typed.values.alias(column.name))
        except SfumatoError as error:
            return error

    threads = worth_starting(pl.thread_pool_size(), len(columns[0]) if columns else 0)
    read = _with_days_beside(each(one, columns, threads), attributes, reading)
    raise_together([result for result in read if isinstance(result, SfumatoError)])
    typed = [result for result in read if isinstance(result, TypedColumn)]
    series = [
        result if isinstance(result, pl.Series) else result.values
        for result in read
        if not isinstance(result, SfumatoError)
    ]
    kinds = {column.values.name: column.kind for column in typed}
    return pl.DataFrame(series), kinds, tuple(remark for column in typed for remark in column.remarks)


_Read = pl.Series | TypedColumn | SfumatoError


def _with_days_beside(
    read: Sequence[_Read], attributes: Mapping[str, Attribute], reading: ValueReading
) -> Sequence[_Read]:
    """Put questions in the place of numbers that may count days, as other columns of the table are days."""
    days = [each.values for each in read if isinstance(each, TypedColumn) and each.kind is Kind.DATE]
    if not reading.asks or not days:
        return read

    def one(each: _Read) -> _Read:
        if not isinstance(each, TypedColumn) or each.kind is not Kind.NUMERIC:
            return each
        said = attributes[each.values.name]
        is_open = said.kind is None and said.hierarchy is None and said.domain is None and said.form == PLAIN
        return (is_open and question_beside_days(each.values.name, each.values, days)) or each

    return [one(each) for each in read]


def read_population(source: object, table: Table, reading: Mapping[str, Any] = MappingProxyType({})) -> Table:
    """Read everybody who might be in `table`, with its quasi-identifying columns, kinds and hierarchies, no others."""
    attributes = {
        name: Attribute(
            kind=table.kinds[name],
            hierarchy=attribute.hierarchy,
            missing=attribute.missing,
            spellings=attribute.spellings,
        )
        for name, attribute in table.schema.quasi_identifying.items()
    }
    try:
        if isinstance(source, Table):
            missing = [name for name in attributes if name not in source.frame.columns]
            raise_all(InputError, [f"column {name!r} is not in it; give it a role" for name in missing])
            source = columns_of(source.frame, list(attributes))
        return read_table(source, Schema(quasi_identifying=attributes, others="drop"), reading=Reading(**reading))
    except SfumatoError as error:
        raise population_problems(error) from None


class PopulationError(InputError):
    """Something is wrong with the table of a population."""


def population_problems(error: SfumatoError) -> PopulationError:
    """Name the population in the problems of an error."""
    return PopulationError(*(f"population: {problem}" for problem in error.problems))


def value_keys(attribute: EncodedAttribute) -> list[Any]:
    """Return what the values of a code are compared by: numbers may be written in several ways."""
    labels = attribute.labels.to_list()
    return [float(label) for label in labels] if attribute.kind is Kind.NUMERIC else labels

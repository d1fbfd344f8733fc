"""A release in a database: a schema with its tables, and a table `description` with the texts of a release folder.

All is written in one transaction, and read at one state. A database has no order of rows, so that the hash of a table
is that of what it holds (:mod:`sfumato.release.stored`), and whoever reads one puts it into canonical order.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError, VerificationError, raise_all, said_of, write_errors
from sfumato.models.protocol import Check, Outcome
from sfumato.numbers import counted
from sfumato.parallel import both, worth_starting
from sfumato.published import Published, PublishedTable
from sfumato.published.protocol import named
from sfumato.release.agreement import FILE, PublishedPolicy
from sfumato.release.description import Description, TableFacts, own_kind, read_description
from sfumato.release.table_files import (
    assemble_tables,
    check_columns,
    hash_of,
    release_texts,
    same_as_written,
    schema_of,
)
from sfumato.release.transaction import MARK, WRITTEN, new_file, settle
from sfumato.table.databases.address import Address, address_of
from sfumato.table.databases.protocol import Connector, Session, connector, storable
from sfumato.table.reading import read_written
from sfumato.table.row_order import hash_order

if TYPE_CHECKING:
    from sfumato.release.release import Release


# What a table of a database holds, whatever the order of its rows: their canonical order, and a hash of them.


_SORTS = {pl.Int64: "whole", pl.Float64: "float", pl.Boolean: "boolean", pl.Date: "date", pl.Datetime: "time"}


@dataclass(frozen=True, eq=False, repr=False)
class Content:
    """What a table holds."""

    # (n,): the rows in canonical order. Rows that are equal are interchangeable, and stand as they came.
    order: NDArray[np.int64]
    # In hexadecimal. Two tables have the same one if they have the same columns and, as a multiset, the same rows.
    sha256: str


def content_of(frame: pl.DataFrame, records: NDArray[np.int64] | None = None) -> Content:
    """Put the rows of a storable table into canonical order, and hash them; O(n c + n log n).

    Each column is coded by its distinct values in rising order, 0 standing for missing ones, and rows are put in the
    order of a hash of their codes. Hashed are the names, the distinct values and the sorted codes, each row as often as
    `records` says.
    """
    height = frame.height if records is None else int(records.sum())
    digest = hashlib.sha256(json.dumps([height, frame.columns]).encode())
    codes = np.empty((frame.height, frame.width), dtype=np.uint32, order="F")
    for place, column in enumerate(frame):
        distinct, codes[:, place] = _coded(column)
        digest.update(_described(distinct, _SORTS.get(column.dtype.base_type(), "text")))
    order = hash_order(codes)
    for code in codes.T:
        # Equal rows stand together, so that each may be repeated where it stands.
        every = code[order] if records is None else np.repeat(code[order], records[order])
        digest.update(every.astype("<u4").tobytes())
    return Content(order, digest.hexdigest())


def _coded(column: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Return the distinct values of a column in rising order, and the number of each value in it, from 1."""
    if isinstance(column.dtype, (pl.Enum, pl.Categorical)):
        return _coded_categories(column)
    values = _comparable(column)
    if values.dtype.is_float():
        return _coded_floats(values)
    distinct = values.drop_nulls().unique().sort()
    if distinct.is_empty():
        return distinct, np.zeros(len(values), dtype=np.uint32)
    if values.dtype == pl.String:
        numbers = values.cast(pl.Enum(distinct)).to_physical()
    else:
        numbers = distinct.search_sorted(values.fill_null(distinct[0])).set(values.is_null(), None)
    return distinct, (numbers.cast(pl.UInt32) + 1).fill_null(0).to_numpy()


def _coded_floats(column: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Do the same by the bits, as rising whole numbers: of −0.0 and 0.0 polars keeps what stands first."""
    known = column.is_not_null().to_numpy()
    values = column.drop_nulls().fill_nan(np.nan).to_numpy()
    bits = values.view(f"i{values.itemsize}")
    distinct, number = np.unique(np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits), return_inverse=True)
    codes = np.zeros(len(column), dtype=np.uint32)
    codes[known] = number + 1
    back = np.where(distinct < 0, distinct ^ np.iinfo(bits.dtype).max, distinct)
    return pl.Series(column.name, back.view(values.dtype), dtype=column.dtype), codes


def _coded_categories(column: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Do the same without looking at the text of every row."""
    used = column.drop_nulls().unique()
    texts, places = used.cast(pl.String), used.to_physical().to_numpy()
    rank = np.zeros(int(places.max(initial=0)) + 2, dtype=np.uint32)
    rank[places[texts.arg_sort().to_numpy()]] = np.arange(1, len(used) + 1)
    # Behind the last category stands the number of missing ones.
    return texts.sort(), rank[column.to_physical().cast(pl.UInt32).fill_null(len(rank) - 1).to_numpy()]


def _comparable(column: pl.Series) -> pl.Series:
    """Return texts as they are, and all else as numbers of 64 bits."""
    if column.dtype == pl.String or column.dtype.is_float():
        return column
    return (column if column.dtype == pl.Boolean else column.to_physical()).cast(pl.Int64)


def _described(distinct: pl.Series, sort: str) -> bytes:
    """Write the distinct values of a column and their sort; a column without values has none."""
    if distinct.is_empty():
        return b"nothing;"
    # JSON, so that no text runs over into the next.
    texts = distinct.dtype == pl.String
    written = json.dumps(distinct.to_list()).encode() if texts else distinct.to_numpy().tobytes()
    return f"{sort} {len(distinct)} {len(written)};".encode() + written


DESCRIPTION = "description"
"""The table that holds what a folder holds beside its tables: rows of a name and a text."""
_COLUMNS = ("name", "content")

_BESIDE = ("-journal", "-wal", ".wal")
"""How names of files end that databases have beside theirs while they write."""

Ready = Callable[[TableFacts, Content, dict[str, Any]], None]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shelf:
    """Where a release lies."""

    address: Address
    schema: str

    @classmethod
    def of(cls, url: str, schema: str | None) -> Shelf:
        """Read a URL; a schema that it names counts before `schema`. ``PolicyError`` for a password, or no schema."""
        address = address_of(url)
        name = address.schema or schema
        if not name or not name.isprintable():
            raise PolicyError(
                "schema: is missing; name the schema of the release in the database, e.g. with ?schema=release_2027 at "
                "the end of the URL"
            )
        return cls(address, name)

    @property
    def connector(self) -> Connector:
        """The module that knows the database."""
        return connector(self.address)

    @property
    def file(self) -> Path | None:
        """The file that the database is, without links; None of a server."""
        return None if self.address.kind == "postgresql" else Path(os.path.realpath(self.address.target))

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"schema {self.schema} of {self.address.shown}"


@dataclass(frozen=True, eq=False, repr=False)
class StoredRelease:
    """What a schema holds."""

    texts: Mapping[str, str]  # as the files of a release folder beside its tables
    description: Description
    facts: Mapping[str, TableFacts]  # what ``release.json`` says of each table
    hashes: Mapping[str, str]  # what each table holds now
    published: Published  # its tables in canonical order
    checks: tuple[Check, ...]  # whether each table holds what was written, and the schema nothing else

    @property
    def policy(self) -> PublishedPolicy:
        """What the release says of how it was made."""
        return PublishedPolicy(self.texts.get(FILE))


class _OnlyTried(SfumatoError):
    """Ends a transaction that was only to be tried."""


def check_shelf(shelf: Shelf, *, overwrite: bool) -> None:
    """Raise InputError when a release could not be written to a schema, before any work is done."""
    with _named(shelf):
        try:
            with _writing(shelf) as session:
                _make_room(session, shelf.schema, overwrite=overwrite)
                raise _OnlyTried
        except _OnlyTried:
            return


@contextmanager
def _writing(shelf: Shelf) -> Iterator[Session]:
    """Open a database for one transaction; a file that is not there yet appears whole, or not at all."""
    address, file = shelf.address, shelf.file
    for line in [] if file is None else settle(file):
        log.warning("%s", line)
    if file is None or file.exists() or not file.parent.is_dir():
        with shelf.connector.writing(address) as session:
            yield session
        return
    with (
        write_errors("the database file", "; nothing was changed"),
        new_file(file) as part,
        shelf.connector.writing(replace(address, target=str(part))) as session,
    ):
        yield session


def holds_release(kind: str, target: str, schema: str, sha256: str, *, is_new: bool) -> bool:
    """Tell whether a database holds a release; what :func:`_mark` has said of it is given.

    It is opened for writing, so that what a killed run has left in it is rolled back. Raises ``InputError`` when the
    database cannot be asked.
    """
    shelf = Shelf(Address(kind, target, f"{kind} database" if kind == "postgresql" else target), schema)
    if shelf.file is not None and is_new and not shelf.file.exists():
        settle(shelf.file)
        return False
    found = _end_interrupted(shelf)
    return found is not None and hash_of(found[MARK]) == sha256


def settle_stored(url: str) -> tuple[list[str], str]:
    """Have a database roll back what a killed run has left in it; return what became of that, and what it holds.

    Raises ``SfumatoError`` when the URL names no schema, or the database cannot be opened.
    """
    shelf = Shelf.of(url, None)
    found = [] if shelf.file is None else settle(shelf.file)
    if shelf.file is not None and any(Path(f"{shelf.file}{end}").exists() for end in _BESIDE):
        found.append(f"{shelf.file}: a run was interrupted here; the database finished it or rolled it back")
    texts = _end_interrupted(shelf)
    return found, f"{shelf}: holds {'no' if texts is None else 'a'} release"


def end_in_file(kind: str, target: str) -> None:
    """Have a database that is a file, and what was to become one, end what a killed run has left.

    Raises ``InputError`` when it cannot be opened for writing, or is not there.
    """
    settle(Path(target))
    address = Address(kind, target, target)
    connector(address).end_interrupted(address)


def _end_interrupted(shelf: Shelf) -> dict[str, str] | None:
    """Have a database end what was interrupted in it, as it does when it is opened; return the texts of a release."""
    texts = None
    with suppress(_OnlyTried), _named(shelf):
        if shelf.file is not None:
            end_in_file(shelf.address.kind, str(shelf.file))
        with shelf.connector.writing(shelf.address) as session:
            held = session.held(shelf.schema)
            if held is None:
                # Who is about to make it, and has not committed, is waited for.
                session.create_schema(shelf.schema)
            texts = _texts(session, shelf.schema, held or ())
            raise _OnlyTried
    return texts


def _mark(shelf: Shelf, text: str, *, is_new: bool) -> dict[str, Any]:
    """Return by what a release is found: its database, without a password, and the hash of its ``release.json``."""
    address = shelf.address
    found = {
        "kind": address.kind,
        "target": str(shelf.file or address.target),
        "schema": shelf.schema,
        "sha256": hash_of(text),
    }
    return {**found, "is_new": is_new}


def save_in_database(release: Release, shelf: Shelf, *, overwrite: bool, ready: Ready | None = None) -> None:
    """Write a release in one transaction, which replaces a release, where allowed, and never anything else.

    `ready`: called before the commit, with what ``release.json`` says of the first table, what that holds, and by what
    it is found.
    """
    with _named(shelf):
        tables = release.published.tables
        frames = {name: storable(frame, texts_only=shelf.connector.texts_only) for name, frame in tables.items()}
        check_stored_names(shelf, frames.values())
        is_new = shelf.file is not None and not shelf.file.exists()
        with _writing(shelf) as session:
            _make_room(session, shelf.schema, overwrite=overwrite)
            # While the database takes the rows, they are hashed.
            _, contents = both(
                lambda: _write(session, shelf.schema, frames),
                lambda: {name: content_of(frame) for name, frame in frames.items()},
                worth_starting(2, max(frame.height for frame in frames.values())),
            )
            facts = {
                name: TableFacts(name, contents[name].sha256, frame.height, tuple(frame.columns))
                for name, frame in frames.items()
            }
            texts = release_texts(
                release.description.to_dict(tables=facts), release.report.for_release(), release.policy
            )
            rows = pl.DataFrame(list(texts.items()), schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")
            _write(session, shelf.schema, {DESCRIPTION: rows})
            if ready is not None:
                first = next(iter(facts))
                ready(facts[first], contents[first], _mark(shelf, texts[MARK], is_new=is_new))
    WRITTEN.append((str(shelf), None))


def check_stored_names(shelf: Shelf, frames: Collection[pl.DataFrame]) -> None:
    """Raise InputError when a database would cut names off, or take two for the same."""
    longest, columns = shelf.connector.longest_name, [name for frame in frames for name in frame.columns]
    problems = [
        f"the name {named([name])} has more than {longest} bytes, which the database would cut off; rename it"
        for name in dict.fromkeys((shelf.schema, *columns))
        if len(name.encode()) > longest
    ]
    for frame in frames if shelf.connector.folds_case else ():
        same = Counter(name.lower() for name in frame.columns)
        twice = [name for name in frame.columns if same[name.lower()] > 1]
        if twice:
            problems.append(f"columns {named(twice)} differ in case alone, and are one to the database; rename them")
    raise_all(InputError, problems)


def stored_release(url: str, schema: str | None, *, grouped: bool = False) -> StoredRelease:
    """Read a release from a database, at one state; refused when damaged so that nothing can be counted.

    `grouped`: to be recounted: equal rows of a generalized table come once.
    """
    shelf = Shelf.of(url, schema)
    with _named(shelf), shelf.connector.reading(shelf.address) as session:
        held = session.held(shelf.schema)
        texts = _texts(session, shelf.schema, held or ())
        if texts is None:
            raise InputError(f"there is no release: {_absence(held)}")
        if kind := own_kind(texts[MARK]):
            raise VerificationError(f"is of a release of {kind}, which a database cannot hold")
        description, facts = read_description(texts[MARK])
        _refuse_missing(facts, held or ())
        counts = grouped and description.kind == PublishedTable.kind and countable(description.structure)
        taken = {name: _taken(session, shelf, entry, grouped=counts) for name, entry in facts.items()}
    contents = {name: content_of(each.rows, each.records) for name, each in taken.items()}
    checks = (*_table_checks(facts, contents, taken), *_strangers(facts, held or ()))
    taken = {name: each.ordered(contents[name].order) for name, each in taken.items()}
    read = {name: read_written(each.rows, schema_of(each.rows.columns, description)) for name, each in taken.items()}
    published = assemble_tables(description, {name: table.frame for name, table in read.items()})
    if isinstance(published, PublishedTable):
        published = replace(published, records=taken["data"].records)
    hashes = {name: content.sha256 for name, content in contents.items()}
    return StoredRelease(texts, description, facts, hashes, published, checks)


def countable(structure: Mapping[str, Any]) -> bool:
    """Tell whether a generalized table can be recounted from how often each of its rows is there: none of a person."""
    return not {"pseudonyms", "class_number", "counterfeits"} & {*structure}


@contextmanager
def _named(shelf: Shelf) -> Iterator[None]:
    """Put the name of a schema before every problem with it."""
    try:
        yield
    except _OnlyTried:
        raise
    except SfumatoError as error:
        raise said_of(str(shelf), error) from None


def _make_room(session: Session, schema: str, *, overwrite: bool) -> None:
    """Make a schema, or take a release out of it; anything else that it holds stays, and is refused."""
    held = session.held(schema)
    if held is None:
        session.create_schema(schema)
    elif held:
        if not _is_ours(session, schema, held):
            raise InputError(
                f"it is there, with {counted(len(held), 'table')}, and is not a release and nothing else; name another "
                "schema"
            )
        if not overwrite:
            raise InputError(
                "it already holds a release; name another schema, or replace it with overwrite=True (on the command "
                "line --overwrite)"
            )
        session.drop(schema, held)


def _write(session: Session, schema: str, frames: Mapping[str, pl.DataFrame]) -> None:
    for name, frame in frames.items():
        session.write(schema, name, frame)


def _is_ours(session: Session, schema: str, held: Sequence[str]) -> bool:
    texts = _texts(session, schema, held)
    if texts is None:
        return False
    try:
        _, facts = read_description(texts[MARK])
    except VerificationError:
        return False
    return {*held} <= {DESCRIPTION, *(entry.file for entry in facts.values())}


def _texts(session: Session, schema: str, held: Sequence[str]) -> dict[str, str] | None:
    """Return the texts of a release by name; None where there are none."""
    if DESCRIPTION not in held:
        return None
    relation = session.within(schema, DESCRIPTION)
    if tuple(session.names(relation)) != _COLUMNS:
        return None
    names, contents = (column.cast(pl.String) for column in session.read(relation, _COLUMNS, as_written=True))
    texts = {name: text for name, text in zip(names, contents, strict=True) if name is not None and text is not None}
    if len(texts) < len(names):
        raise VerificationError(f"{DESCRIPTION}: holds a name twice, or an empty cell; it was changed")
    return texts if MARK in texts else None


def _absence(held: Sequence[str] | None) -> str:
    if held is None:
        return "there is no such schema, or this user may not look into it"
    return f"{counted(len(held), 'table')}, and no table {DESCRIPTION} that holds a {MARK}"


def _refuse_missing(facts: Mapping[str, TableFacts], held: Sequence[str]) -> None:
    missing = sorted(entry.file for entry in facts.values() if entry.file not in held)
    raise_all(VerificationError, [f"the table {name} that {MARK} names is missing" for name in missing])


@dataclass(frozen=True, eq=False, repr=False)
class _Taken:
    """Rows of a table; where the database has counted them, each once, with the number of its records."""

    rows: pl.DataFrame
    records: NDArray[np.int64] | None = None

    @property
    def height(self) -> int:
        return self.rows.height if self.records is None else int(self.records.sum())

    def ordered(self, order: NDArray[np.int64]) -> _Taken:
        return _Taken(self.rows[order], None if self.records is None else self.records[order])


def _taken(session: Session, shelf: Shelf, facts: TableFacts, *, grouped: bool) -> _Taken:
    relation, records = session.within(shelf.schema, facts.file), None
    check_columns(relation.label, session.names(relation), facts)
    if grouped:
        frame, records = session.count(relation, facts.columns)
    else:
        frame = session.read(relation, facts.columns, as_written=True)
    return _Taken(storable(frame, texts_only=shelf.connector.texts_only), records)


def _table_checks(
    facts: Mapping[str, TableFacts], contents: Mapping[str, Content], taken: Mapping[str, _Taken]
) -> Iterator[Check]:
    for name, entry in facts.items():
        promise = f"table {entry.file} holds the rows that were written, in any order"
        shape = taken[name].height, taken[name].rows.columns
        yield same_as_written(promise, contents[name].sha256, entry, shape)


def _strangers(facts: Mapping[str, TableFacts], held: Sequence[str]) -> Iterator[Check]:
    strangers = sorted({*held} - {DESCRIPTION, *(entry.file for entry in facts.values())})
    if strangers:
        detail = f"there is {named(strangers)}, which {MARK} does not list; take it away"
        yield Check("the schema holds nothing else", Outcome.BROKEN, detail=detail)

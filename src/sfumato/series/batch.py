"""Who comes with the next release: a table read as the first one was, held against everybody who was there before.

All mistakes are found before anything is worked out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import polars as pl

from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.numbers import counted
from sfumato.policy.policy import Policy
from sfumato.series.frozen import Frozen
from sfumato.series.ledger import Ledger
from sfumato.series.people import known_among, tags_of
from sfumato.table.columns import ValueReading, kept_column, with_missing
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.header import Header, checked_header
from sfumato.table.problems import raise_together
from sfumato.table.reading import label_of, missing_texts, read_table
from sfumato.table.sources import open_source
from sfumato.table.table import Table

TAG = " tag"
"""Column of those who wait; no column of a table has such a name."""

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Newcomers, and those who have waited for them.

    Attributes
    ----------
    table : Table
        Their records, one each.
    encoded : EncodedTable
        On the grids of the series.
    tags : polars.Series of Binary
        Who each record is about.
    policy : Policy
        With which the table was read.
    frozen : Frozen
        What the series fixes from now on.
    newcomers : int
        How many did not wait.
    """

    table: Table
    encoded: EncodedTable
    tags: pl.Series
    policy: Policy
    frozen: Frozen
    newcomers: int

    def records(self) -> pl.DataFrame:
        """Return the records with their tags, as they are kept for those who wait."""
        return plain(self.table).with_columns(self.tags.alias(TAG))


def read_batch(source: object, ledger: Ledger, *, everybody: bool = False) -> Batch:
    """Read the newcomers, and put those who wait beside them.

    Parameters
    ----------
    source
        As :func:`sfumato.read_table` takes it.
    ledger
        Of the series.
    everybody
        Whether people of earlier releases belong into the table, too.

    Raises
    ------
    SfumatoError
        With everything that is wrong, at once: columns, types, values outside a hierarchy or domain, people without a
        key or with two records, and people who are in a release already. Counts and column names are shown, no value.
    """
    known, label, errors = ledger.state.frozen, label_of(source, ledger.policy.source.table), list[SfumatoError]()
    policy = ledger.policy if known is None else known.settled(ledger.policy)
    table = _tried(lambda: read_table(source, policy), errors)
    header, key = _key_of(source, policy, ledger.column)
    frozen = known if known is not None or table is None or header is None else Frozen.of(table, header.names)
    tags = None if key is None else tags_of(key, ledger.key)
    typed, encoded = None, None
    if table is not None and frozen is not None:
        typed = _tried(lambda: _named(label, lambda: frozen.typed(table)), errors)
        encoded = _tried(lambda: _named(label, lambda: encode(typed or table)), errors)
    problems = [
        *(() if tags is None else _people_problems(tags, ledger, everybody=everybody)),
        *(() if header is None or frozen is None else _new_columns(header, frozen)),
    ]
    reminder = [_reminder(type(errors[0]))] if errors and known is not None else []
    raise_together([*errors, *(InputError(f"{label}: {problem}") for problem in problems), *reminder])
    if typed is None or encoded is None or tags is None or frozen is None:
        raise InputError(f"{label}: the column {ledger.column!r} cannot be read; check the table")
    return _with_waiting(typed, encoded, tags, frozen, ledger)


def read_otherwise(policy: Policy, words: Mapping[str, Mapping[str, Any]]) -> Policy:
    """Return a policy that reads one table as it is written, where it is not written like the first one.

    Parameters
    ----------
    policy
        Of the series.
    words
        ``source``: keys of the policy's ``[source]``; ``written``: settings of columns, such as their form of dates.

    Raises
    ------
    PolicyError
        When a column that is named is none of the quasi-identifying or sensitive ones, or a setting is wrong.
    """
    source, written = words.get("source", {}), words.get("written", {})
    if not source and not written:
        return policy
    mapping = policy.to_mapping()
    mapping["source"] = {**mapping.get("source", {}), **source}
    roles = {role: _settings(mapping["columns"].get(role, ())) for role in ("quasi-identifying", "sensitive")}
    unknown = [name for name in written if not any(name in columns for columns in roles.values())]
    raise_all(PolicyError, [f"column {name!r}: is none that the series reads values of" for name in unknown])
    for role, columns in roles.items():
        mapping["columns"][role] = {name: {**said, **written.get(name, {})} for name, said in columns.items()}
    return Policy.from_mapping(mapping)


def _settings(columns: Any) -> dict[str, dict[str, Any]]:
    """Return the columns of a role with what is said of each, also where there are names alone."""
    return {name: dict(columns[name]) if isinstance(columns, Mapping) else {} for name in columns}


def _reminder(kind: type[SfumatoError]) -> SfumatoError:
    return kind(
        "a series keeps the columns, kinds, hierarchies and domains that it was started with: correct the table, or "
        "start another series"
    )


def _named(label: str, work: Callable[[], Result]) -> Result:
    try:
        return work()
    except SfumatoError as error:
        raise type(error)(*(f"{label}: {problem}" for problem in error.problems)) from None


def _tried(work: Callable[[], Result], errors: list[SfumatoError]) -> Result | None:
    try:
        return work()
    except SfumatoError as error:
        errors.append(error)
        return None


def _key_of(source: object, policy: Policy, column: str) -> tuple[Header | None, pl.Series | None]:
    """Return the header and the keys of the people; None where reading the table says what is wrong with the source."""
    layout, missing = policy.source.layout(), missing_texts(policy.source.missing)
    try:
        opened = open_source(source, layout, policy.source.place())
        header = checked_header(opened.names, policy.to_schema(), layout.columns or ())
        if column not in header.names:
            return header, None
        reading = ValueReading(missing, layout.strip, opened.is_text)
        return header, with_missing(kept_column(opened.read((column,))[0], reading), reading)
    except SfumatoError:
        return None, None


def _new_columns(header: Header, frozen: Frozen) -> Iterator[str]:
    new = header.where(lambda name: name not in frozen.header)
    if new:
        yield f"new column(s): {header.listed(new)}; the series was started without them: leave them out"


def _people_problems(tags: pl.Series, ledger: Ledger, *, everybody: bool) -> Iterator[str]:
    named = f"column {ledger.column!r}"
    if keyless := tags.null_count():
        yield (
            f"{named}: {counted(keyless, 'record')} of {len(tags):,} without a key, which says who they are about; "
            "fill the keys in, or leave these records out"
        )
    present = tags.drop_nulls()
    if repeated := len(present) - present.n_unique():
        yield (
            f"{named}: {counted(repeated, 'record')} of {len(tags):,} with a key that another one has; a series holds "
            "one record of each person: put those of a person together before"
        )
    if everybody:
        return
    if before := known_among(present, [people.tags for people in ledger.people()]):
        yield (
            f"{named}: {_of(before, tags)} in an earlier release; hand in newcomers alone, as two classes of a person "
            "can be intersected"
        )
    waiting = ledger.waiting()
    if waiting is not None and (again := known_among(present, [waiting[TAG]])):
        yield f"{named}: {_of(again, tags)} among those who wait for the next release already; leave them out"


def _of(people: int, tags: pl.Series) -> str:
    return f"{counted(people, 'person')} of {len(tags):,} {'is' if people == 1 else 'are'}"


def _with_waiting(table: Table, encoded: EncodedTable, tags: pl.Series, frozen: Frozen, ledger: Ledger) -> Batch:
    policy = frozen.settled(ledger.policy)
    waiting, newcomers = ledger.waiting(), table.height
    if waiting is not None:
        frame, schema = plain(table), replace(policy.to_schema(), identifying=())
        table = read_table(pl.concat([frame, waiting.select(frame.columns)]), schema)
        tags = pl.concat([tags, waiting[TAG].alias(tags.name)])
        encoded = encode(table)
    encoded = frozen.on_grids(encoded)
    return Batch(table, encoded, tags, policy, frozen.with_grids(encoded), newcomers)


def plain(table: Table) -> pl.DataFrame:
    """Return the records with categories as text."""
    return table.frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))

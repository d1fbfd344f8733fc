"""Who comes with the next release: a table read as the first one was, held against everybody who was there before.

All mistakes are found before anything is worked out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError, attempt, raise_all, raise_together, said_of
from sfumato.numbers import counted
from sfumato.policy.policy import Policy
from sfumato.release.task import with_open_findings
from sfumato.series.description import WAYS
from sfumato.series.ledger import Frozen, Ledger
from sfumato.series.people import Spellings, are_known, known_among
from sfumato.table.columns import ValueReading, kept_column, with_missing
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.header import Header, checked_header
from sfumato.table.person_keys import (
    PersonKey,
    as_they_appear,
    key_columns,
    named_key,
    number_people,
    one_key,
    whole_form,
)
from sfumato.table.reading import label_of, read_table
from sfumato.table.sources import TableSource, open_source
from sfumato.table.sources.protocol import Reading, missing_texts
from sfumato.table.table import Table

TAG = " tag"
"""Column of those who wait; no column of a table has such a name."""
Wishes = NDArray[np.int64]
WISHES = {"wishes": "k", "wished_l": "l"}
"""What a table has of wishes, and what a rule of a policy calls it."""

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Newcomers, and those who have waited for them."""

    table: Table  # their records: one each, unless the series counts people who may have several
    encoded: EncodedTable  # on the grids of the series
    tags: pl.Series  # who each record is about
    policy: Policy  # with which the table was read
    frozen: Frozen  # what the series fixes from now on
    newcomers: int  # how many people did not wait
    notes: tuple[str, ...] = ()  # what the steward should know of the table
    spellings: Spellings | None = None  # Everybody's, theirs among them, where the ledger keeps them

    @property
    def people(self) -> int:
        """How many people the records are about."""
        return self.tags.n_unique()

    def records(self) -> pl.DataFrame:
        """Return the records with their tags and wishes, as they are kept for those who wait."""
        wished = [pl.Series(f" {name}", own) for name in WISHES if (own := getattr(self.table, name)) is not None]
        return records_as_text(self.table).with_columns(self.tags.alias(TAG), *wished)


def read_batch(
    source: object,
    ledger: Ledger,
    *,
    everybody: bool = False,
    leave_out_known: bool = False,
    key_form: str | None = None,
) -> Batch:
    """Read the newcomers, or `everybody`, and put those who wait beside them; all that is wrong is said at once.

    Who is in a release already is refused, or left out. `key_form`: what is answered about spellings, from now on.
    """
    known, label, errors = ledger.state.frozen, label_of(source, ledger.policy.source.table), list[SfumatoError]()
    policy = ledger.policy if known is None else known.settled(ledger.policy).beside(source)
    table = attempt(lambda: _read(source, policy), errors)
    header, key = _key_of(source, policy, ledger.column)
    frozen = known if known is not None or table is None or header is None else Frozen.of(table, header.names)
    questions = list[SfumatoError]()
    found = None if key is None else attempt(lambda: _named(label, lambda: ledger.tags(key, key_form)), questions)
    tags, spellings = (None, None) if found is None else found
    typed, encoded = None, None
    if table is not None and frozen is not None:
        typed = attempt(lambda: _named(label, lambda: frozen.typed(table)), errors)
        encoded = attempt(lambda: encode(typed or table), errors)
    problems = [
        *(() if tags is None else _people_problems(tags, ledger, everybody=everybody, known=not leave_out_known)),
        *(() if header is None or frozen is None else _new_columns(header, frozen)),
    ]
    reminder = [_reminder(type(errors[0]))] if errors and known is not None else []
    raise_together([*errors, *questions, *(InputError(f"{label}: {problem}") for problem in problems), *reminder])
    if typed is None or encoded is None or tags is None or frozen is None:
        raise InputError(f"{label}: {named_key(ledger.column)} cannot be read; check the table")
    notes: tuple[str, ...] = ()
    if leave_out_known and not everybody:
        typed, encoded, tags, notes = _without_known(label, typed, encoded, tags, ledger)
    return replace(_with_waiting(typed, encoded, tags, frozen, ledger), notes=notes, spellings=spellings)


def _read(source: object, policy: Policy) -> Table:
    """Read a table without a question about keys: a series goes on with the rule that it was started with."""
    form = policy.columns.key_form
    columns = policy.columns.model_copy(update={"key_form": whole_form(form)})
    meant = policy.model_copy(update={"columns": columns})
    try:
        table = read_table(source, meant)
    except InputError as error:
        again = partial(read_table, source, reading=Reading(**meant.reading()))
        raise with_open_findings(error, meant, meant.to_schema(), again) from None
    return replace(table, schema=replace(table.schema, key_form=form))


def _without_known(
    label: str, table: Table, encoded: EncodedTable, tags: pl.Series, ledger: Ledger
) -> tuple[Table, EncodedTable, pl.Series, tuple[str, ...]]:
    """Leave out the records of people who are in a release, and of those who wait where they have one record each."""
    waiting = ledger.waiting()
    there = [each.tags for each in ledger.people()]
    if waiting is not None and not ledger.counts_people:
        there.append(waiting[TAG])
    known = are_known(tags, there)
    if not known.any():
        return table, encoded, tags, ()
    people, records = tags.filter(known).n_unique(), counted(int(known.sum()), "record")
    if known.all():
        raise InputError(f"{label}: everybody in it is in an earlier release, or waits; nothing is left to publish")
    table = table.take(np.flatnonzero(~known.to_numpy()))
    waits = "" if ledger.counts_people else ", or wait already"
    note = f"{records} of {counted(people, 'person')} left out, who are in an earlier release{waits}"
    return table, encode(table), tags.filter(~known), (note,)


def read_otherwise(policy: Policy, words: Mapping[str, Mapping[str, Any]]) -> Policy:
    """Return a policy that reads one table, its source and columns, as it is written, if not like the first."""
    source, written = words.get("source", {}), words.get("written", {})
    if not source and not written:
        return policy
    mapping = policy.to_mapping()
    mapping["source"] = {**mapping.get("source", {}), **source}
    roles = {role: _settings(mapping["columns"].get(role, ())) for role in ("quasi-identifying", "sensitive")}
    unknown = [name for name in written if not any(name in columns for columns in roles.values())]
    raise_all(PolicyError, [f"column {name!r}: is none that the series reads values of" for name in unknown])
    for role, columns in roles.items():
        mapping["columns"][role] = {name: {**setting, **written.get(name, {})} for name, setting in columns.items()}
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
        raise said_of(label, error) from None


def _key_of(source: object, policy: Policy, key: PersonKey) -> tuple[Header | None, pl.Series | None]:
    """Return the header and the keys of the people; None where reading the table says what is wrong with the source."""
    layout, missing = policy.source.layout(), missing_texts(policy.source.missing)
    try:
        opened = open_source(source, layout, policy.source.place())
        header = checked_header(opened.names, policy.to_schema(), layout.columns or ())
        if not {*key_columns(key)} <= {*header.names}:
            return header, None
        reading = ValueReading(missing, layout.strip, opened.is_text)
        return header, key_read(opened, key, reading)
    except SfumatoError:
        return None, None


def key_read(opened: TableSource, key: PersonKey, reading: ValueReading) -> pl.Series:
    """Read the key of people out of a source, null where none is, several columns as one; raises InputError."""
    parts = opened.read(key_columns(key))
    return one_key([with_missing(kept_column(part, reading), reading) for part in parts])


def _new_columns(header: Header, frozen: Frozen) -> Iterator[str]:
    new = header.where(lambda name: name not in frozen.header)
    if new:
        yield f"new column(s): {header.listed(new)}; the series was started without them: leave them out"


def _people_problems(tags: pl.Series, ledger: Ledger, *, everybody: bool, known: bool) -> Iterator[str]:
    """Say what is wrong with whom a table is about; people who are `known` are refused, too."""
    named = named_key(ledger.column)
    if keyless := tags.null_count():
        yield (
            f"{named}: {counted(keyless, 'record')} of {len(tags):,} without a key, which says who they are about; "
            "fill the keys in, or leave these records out"
        )
    present = tags.drop_nulls()
    repeated = len(present) - present.n_unique()
    if repeated and not ledger.counts_people:
        cure = ""
        if WAYS[ledger.way].people:
            cure = ", or start a series that names this column as person (on the command line --person)"
        yield (
            f"{named}: {counted(repeated, 'record')} of {len(tags):,} with a key that another one has; a series holds "
            f"one record of each person: put those of a person together before{cure}"
        )
    if everybody or not known:
        return
    if before := known_among(present, [people.tags for people in ledger.people()]):
        yield (
            f"{named}: {_of(before, present)} in an earlier release; hand in newcomers alone, as two classes of a "
            "person can be intersected. To leave the others out, say leave_out_known=True (on the command line "
            "--leave-out-known)"
        )
    waiting = None if ledger.counts_people else ledger.waiting()
    if waiting is not None and (again := known_among(present, [waiting[TAG]])):
        yield f"{named}: {_of(again, present)} among those who wait for the next release already; leave them out"


def _of(people: int, tags: pl.Series) -> str:
    return f"{counted(people, 'person')} of {tags.n_unique():,} {'is' if people == 1 else 'are'}"


def _with_waiting(table: Table, encoded: EncodedTable, tags: pl.Series, frozen: Frozen, ledger: Ledger) -> Batch:
    policy = frozen.settled(ledger.policy)
    waiting, newcomers, schema = ledger.waiting(), tags.n_unique(), table.schema
    wishes, wished_l = (_wished(table, name, policy) for name in WISHES)
    if waiting is not None:
        newcomers -= known_among(tags, [waiting[TAG]])
        tags = pl.concat([tags, waiting[TAG].alias(tags.name)])
        wishes, wished_l = (
            _with_wishes(own, waiting, name) for own, name in zip((wishes, wished_l), WISHES, strict=True)
        )
        table = _below(table, waiting)
        encoded = encode(table)
    people = _numbered(tags) if ledger.counts_people else None
    encoded = frozen.on_grids(encoded)
    table = replace(table, schema=schema, people=people, keyless=None, wishes=wishes, wished_l=wished_l)
    return Batch(table, encoded, tags, policy, frozen.with_grids(encoded), newcomers)


def _below(table: Table, waiting: pl.DataFrame) -> Table:
    """Put the records of those who wait below others; who they are about, and what is wished, is told otherwise."""
    frame = records_as_text(table)
    alone = replace(table.schema, identifying=(), person=None, wished_k=None, wished_l=None)
    return read_table(pl.concat([frame, waiting.select(frame.columns)]), alone)


def _with_wishes(own: Wishes | None, waiting: pl.DataFrame, name: str) -> Wishes | None:
    return None if own is None else np.concatenate([own, waiting[f" {name}"].to_numpy()])


def _numbered(tags: pl.Series) -> NDArray[np.int32]:
    """Give people numbers in the order in which they appear; int32 (n,)."""
    return as_they_appear(number_people(tags.bin.encode("hex")))


def _wished(table: Table, name: str, policy: Policy) -> Wishes | None:
    """Return what each record's person wishes for by its column, 1 where nothing is; None where no policy has wishes.

    Also where a rule alone says whose wishes are met: later batches may have nobody whom it is about.
    """
    own: Wishes | None = getattr(table, name)
    if own is None and any(getattr(wish, WISHES[name]) for wish in policy.wishes):
        return np.ones(table.height, dtype=np.int64)
    return own


def records_as_text(table: Table) -> pl.DataFrame:
    """Return the records with categories as text."""
    return table.frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))

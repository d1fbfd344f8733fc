"""A table read once: values are counted batch by batch, then records become codes on disk.

Letters: n records, r raw values of a column, d values that they stand for, v codes.

Letters: n records, q quasi-identifying and s sensitive attributes.
"""

from __future__ import annotations

import pickle
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, raise_together
from sfumato.table.columns import (
    ValueReading,
    is_text,
    kept_column,
    read_attribute,
    refuse_nested,
    with_missing,
)
from sfumato.table.distinct import Distinct, distinct_of, private_categorical
from sfumato.table.encoding import EncodedAttribute, EncodedTable, Order, encoded_attribute
from sfumato.table.identification import Look, look_at, look_of
from sfumato.table.large.batches import BatchSource
from sfumato.table.large.memory import PartFiles, let_go, mapped, write_out
from sfumato.table.person_keys import (
    PersonKey,
    columns_in,
    key_question,
    keys_asked,
    keys_with_buckets,
    numbers_wished,
    one_key,
    strange_wishes,
)
from sfumato.table.schema import Attribute, Kind, Role, Schema
from sfumato.whole_files import CODED, sync

MERGED = 16
"""Batches whose values are counted before they are put together."""


@dataclass(frozen=True, eq=False, repr=False)
class RawValues:
    """What a column holds, as its source has it."""

    values: pl.Series  # length r: each that occurs, in no particular order; no missing value
    counts: NDArray[np.int64]  # (r,): records that have each
    first: NDArray[np.int64]  # (r,): the first of them, from 0
    missing: int  # records without a value
    numbered: bool = False  # whether batches have the places of these values instead of the values


class ValueCounter(Protocol):
    """Counts the values of one column, batch by batch."""

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Count a batch with so many rows before it, as :meth:`CodedColumn.codes` takes it; raises InputError."""
        ...

    @property
    def size(self) -> int:
        """Bytes that the values take so far, about."""
        ...


class TextsApart:
    """Texts, each of which has a number from 0 on in all batches; they are told apart and not counted.

    See :class:`ValueCounter`. `dtype`: the type whose register has the numbers; a source that reads columns as this
    type saves a step.
    """

    def __init__(self) -> None:
        self.dtype = private_categorical()
        # A register that no series uses is forgotten, and would begin anew with the next batch.
        self._kept = pl.Series([], dtype=self.dtype)
        self._met = 0
        self._bytes = 0

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Take a batch; return the number of each text, null where there is none."""
        if isinstance(column.dtype, (pl.Categorical, pl.Enum)) and column.dtype != self.dtype:
            column = column.cast(pl.String)
        numbers = column.cast(self.dtype).to_physical().alias(column.name)
        highest: Any = numbers.max()
        if highest is not None and highest >= self._met:
            self._meet(numbers, int(highest) + 1, before)
        return numbers

    def _meet(self, numbers: pl.Series, met: int, before: int) -> None:
        """Take note of numbers that no batch had."""
        new = pl.Series("", np.arange(self._met, met), dtype=pl.UInt32)
        self._bytes += int(self._texts(new).str.len_bytes().sum())
        self._met = met

    def _texts(self, numbers: pl.Series) -> pl.Series:
        return numbers.cat.to(self.dtype).cast(pl.String)

    @property
    def size(self) -> int:
        """Bytes that texts and counts take so far, about."""
        return self._bytes + 64 * self._met

    def told_apart(self, name: str, missing: Collection[str]) -> CodedColumn:
        """Return a column whose codes are the numbers of the texts: they say which records are alike, and nothing else.

        Labels are null and occurrences 0, as nobody may read them; texts that stand for a missing value are one value,
        the missing one.
        """
        marks = pl.Series(sorted(missing), dtype=pl.String).cast(self.dtype).to_physical().to_numpy()
        code_of = np.arange(self._met, dtype=np.uint32)
        code_of[marks[marks < self._met]] = self._met
        unread = pl.Series(name, [None], dtype=pl.String).new_from_index(0, self._met + 1)
        attribute = EncodedAttribute(
            name, Kind.CATEGORICAL, unread.head(self._met), None, None, has_missing=True, domain_width=0.0,
            domain_size=self._met + 1,
        )  # fmt: skip
        return CodedColumn(attribute, unread, np.zeros(attribute.cardinality, dtype=np.int64), code_of, None)


class CountedTexts(TextsApart):
    """Texts that are counted as well; see :class:`ValueCounter`."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = np.zeros(0, dtype=np.int64)
        self._first = np.zeros(0, dtype=np.int64)
        self._missing = 0

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Count a batch; return the number of each text, null where there is none."""
        numbers = super().add(column, before)
        known = numbers.drop_nulls().to_numpy()
        self._missing += len(numbers) - len(known)
        self._counts += np.bincount(known, minlength=self._met)
        return numbers

    def _meet(self, numbers: pl.Series, met: int, before: int) -> None:
        old, more = self._met, np.zeros(met - self._met, dtype=np.int64)
        super()._meet(numbers, met, before)
        self._counts, self._first = (np.append(each, more) for each in (self._counts, self._first))
        known = np.flatnonzero((numbers >= old).fill_null(False).to_numpy())
        found, places = np.unique(numbers.gather(known).to_numpy(), return_index=True)
        self._first[found] = known[places] + before

    def raw(self, name: str) -> RawValues:
        """Return what was counted; values stand in the order of their numbers."""
        known = np.flatnonzero(self._counts)
        texts = self._texts(pl.Series("", known, dtype=pl.UInt32)).alias(name)
        if len(texts) < self._met:
            # The register gave out numbers that no record has; nobody looks these up.
            texts = pl.Series(name, [""]).new_from_index(0, self._met).scatter(known, texts)
        return RawValues(texts, self._counts, self._first, self._missing, numbered=True)


class CountedValues:
    """Values of any other type; see :class:`ValueCounter`."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []

    def add(self, column: pl.Series, before: int) -> pl.Series:
        """Count a batch; return it with equal values alike."""
        refuse_nested(column)
        # Adding zero makes one value of 0.0 and -0.0.
        plain = column.fill_nan(None) + 0.0 if column.dtype.is_float() else column
        rows = pl.int_range(before, before + len(column), eager=True)
        counted = pl.DataFrame({"value": plain, "first": rows}).group_by("value")
        self._parts.append(counted.agg(pl.len().cast(pl.Int64).alias("count"), pl.col("first").min()))
        if len(self._parts) >= MERGED:
            self._parts = [self._merged()]
        return plain

    def _merged(self) -> pl.DataFrame:
        together = pl.concat(self._parts, how="vertical_relaxed").group_by("value")
        return together.agg(pl.col("count").sum(), pl.col("first").min())

    @property
    def size(self) -> int:
        """Bytes that values and counts take so far, about."""
        return int(sum(part.estimated_size() for part in self._parts))

    def raw(self, name: str) -> RawValues:
        """Return what was counted."""
        counted = self._merged().sort("first")
        self._parts = [counted]
        known = counted.filter(pl.col("value").is_not_null())
        missing = int(counted["count"].sum()) - int(known["count"].sum())
        return RawValues(known["value"].alias(name), known["count"].to_numpy(), known["first"].to_numpy(), missing)


@dataclass(frozen=True, eq=False, repr=False)
class _Counted(Distinct):
    """Distinct values of which each raw value knows its first record."""

    first: Any = None

    def first_record(self, chosen: NDArray[np.bool_]) -> int:
        """Return the row number (from 1) of the first record whose value is `chosen`."""
        return int(self.first[np.append(chosen, False)[self.rank_of][self.raw]].min()) + 1


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A column whose values are numbered."""

    attribute: EncodedAttribute
    # length v + 1: the typed value behind each code, and the missing one; null behind codes that do not occur
    values: pl.Series
    occurrences: NDArray[np.int64]  # (cardinality,): how many records have each code
    code_of: NDArray[np.integer]  # int64 or uint32 (r,): the code of each raw value
    raws: pl.Series | None  # the raw values; None where batches have their places
    remarks: tuple[str, ...] = ()  # what a steward should hear of how it was read

    @cached_property
    def look(self) -> Look:
        """What the column looks like."""
        missing = int(self.occurrences[self.attribute.size :].sum())
        values = self.values.drop_nulls()
        return look_of(self.attribute.name, values, int(self.occurrences.sum()) - missing)

    def codes(self, column: pl.Series) -> NDArray[np.integer]:
        """Return the code of each value of a batch, as its counter returned it; (rows,)."""
        places = column if self.raws is None else self._places(column)
        if not places.has_nulls():
            codes: NDArray[np.integer] = self.code_of[places.to_numpy()]
            return codes
        codes = np.full(len(column), self.attribute.size, dtype=np.int64)
        known = places.is_not_null().to_numpy()
        codes[known] = self.code_of[places.drop_nulls().to_numpy()]
        return codes

    def _places(self, column: pl.Series) -> pl.Series:
        """Return where each value stands among the raw ones; null for missing ones."""
        raws = pl.DataFrame({"value": self.raws, "place": np.arange(len(self.code_of))})
        asked = pl.DataFrame({"value": column.cast(raws["value"].dtype)})
        return asked.join(raws, on="value", how="left", maintain_order="left")["place"]


def coded_column(raw: RawValues, declared: Attribute, reading: ValueReading, order: Order) -> CodedColumn:
    """Return a column of the numbers that :func:`sfumato.table.encoding.encode` gives; raises as reading it whole."""
    behind = (raw.counts, raw.first, raw.missing)
    typed_values = read_attribute(raw.values, declared, replace(reading.of(raw.values.name), behind=behind))
    values, kind = typed_values.values, typed_values.kind
    if isinstance(values.dtype, pl.Categorical):
        values = values.cast(pl.String)
    distinct = _distinct(values, raw)
    attribute, code_of_number = encoded_attribute(raw.values.name, kind, declared, distinct, order)
    code_of = code_of_number[distinct.raw]
    occurrences = np.bincount(code_of, weights=raw.counts, minlength=attribute.size + 1).astype(np.int64)
    occurrences[attribute.size] += raw.missing
    typed = pl.Series([None], dtype=values.dtype).new_from_index(0, attribute.size + 1)
    present = np.flatnonzero(code_of < attribute.size)
    _, firsts = np.unique(code_of[present], return_index=True)
    one_each = present[firsts]
    typed = typed.scatter(code_of[one_each], values.gather(one_each)) if len(one_each) else typed
    values = typed.alias(raw.values.name)
    raws = None if raw.numbered else raw.values
    return CodedColumn(attribute, values, occurrences[: attribute.cardinality], code_of, raws, typed_values.remarks)


def _distinct(values: pl.Series, raw: RawValues) -> Distinct:
    found = distinct_of(values)
    ranks = found.rank_of[found.raw]
    counts = np.bincount(ranks, weights=raw.counts, minlength=len(found.values) + 1).astype(np.int64)
    return _Counted(
        found.values, counts[:-1], found.raw, found.rank_of, int(counts[-1]) + raw.missing, first=raw.first
    )  # fmt: skip


# Who the records of a table are about that is never held: keys go to private files, and come back as numbers.
#
# Letters: n records.


BUCKET = 1 << 20
"""Keys that are compared at a time, about."""
BLOCK = 1 << 18
"""Records whose numbers are worked out at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class PeopleOnDisk:
    """The people of a table."""

    numbers: NDArray[np.int32]  # (n,), mapped: the person of each record, in the order in which people appear
    keyless: int  # records without a key, each of which is a person of its own
    first_keyless: int  # the first of them, from 0; n where there is none

    @property
    def some_have_several(self) -> bool:
        """Whether somebody has several records."""
        return int(self.numbers.max(initial=-1)) + 1 < len(self.numbers)


class KeyFiles:
    """Takes the keys of people, batch by batch."""

    def __init__(self, folder: Path, form: str | None = None) -> None:
        self._folder, self._form = folder, form
        self._name: PersonKey = None
        self._batches: list[Path] = []
        self._height = self._keyless = 0
        self._first: int | None = None

    def add(self, column: pl.Series) -> None:
        """Take the keys of a batch; null where there is none."""
        keys, alike = keys_with_buckets(column, self._form)
        self._name = columns_in(column)
        missing = keys.is_null()
        if self._first is None and missing.any():
            self._first = self._height + int(missing.arg_max() or 0)
        self._keyless += int(missing.sum())
        path = self._folder / f"keys-{len(self._batches)}"
        pl.DataFrame({"key": keys, "alike": alike}).write_ipc(path, compression="lz4")
        self._batches.append(path)
        self._height += len(keys)

    def people(self) -> PeopleOnDisk:
        """Give people numbers, and take the keys away.

        Keys that are equal, or may be spellings of one, have equal hashes, by which they are dealt to files, and are
        compared there by themselves: nothing hangs on a hash. Memory: one file of about a million keys, and 5 bytes a
        record.
        """
        first = mapped(self._folder / "first-of-person", np.int32, (self._height,), new=True)
        bits = max(0, (self._height - 1) // BUCKET).bit_length()
        files, before = PartFiles(self._folder, 1 << bits, "key-bucket"), 0
        for path in self._batches:
            batch = pl.read_ipc(path)
            keys, alike = batch["key"], batch["alike"]
            path.unlink()
            rows = np.arange(before, before + len(keys), dtype=np.int32)
            # Nobody else has no key.
            first[before : before + len(keys)] = rows
            part = alike.hash(seed=0).to_numpy() >> np.uint64(64 - bits) if bits else np.zeros(len(keys), np.uint64)
            files.add(pl.DataFrame({"part": part, "key": keys, "row": rows}).drop_nulls("key"))
            before += len(keys)
        asked: Counter[str] = Counter()
        for bucket in files.parts():
            asked.update(keys_asked(bucket["key"].unique(), self._form))
            found = bucket.select("row", first=pl.col("row").min().over("key"))
            first[found["row"].to_numpy()] = found["first"].to_numpy()
        if asked:
            raise key_question(self._name, asked)
        numbers = self._numbered(first)
        return PeopleOnDisk(numbers, self._keyless, self._height if self._first is None else self._first)

    def _numbered(self, first: NDArray[np.int32]) -> NDArray[np.int32]:
        """Turn the first record of each one's person into numbers from 0, on disk as well."""
        begins = np.empty(self._height, dtype=np.bool_)
        for start in range(0, self._height, BLOCK):
            own = first[start : start + BLOCK]
            begins[start : start + BLOCK] = own == np.arange(start, start + len(own))
        rank = np.cumsum(begins, dtype=np.int32) - np.int32(1)
        numbers = mapped(self._folder / "people", np.int32, (self._height,), new=True)
        for start in range(0, self._height, BLOCK):
            numbers[start : start + BLOCK] = rank[first[start : start + BLOCK]]
        let_go(first)
        (self._folder / "first-of-person").unlink()
        return numbers


# What people wish for in a table that is never held, in a private file.
#
# Letters: n records.


@dataclass(frozen=True, eq=False, repr=False)
class WishesOnDisk:
    """Wishes of a table: `k`, mapped int32 (n,), of each record's person, 1 for none, None without a column; `l`."""

    k: NDArray[np.int32] | None = None
    l: NDArray[np.int32] | None = None  # noqa: E741 - the letter of the literature


class WishFile:
    """Takes the wishes of one column, batch by batch. `path`: where they are kept. `what`: ``"a k"`` or ``"an l"``."""

    def __init__(self, path: Path, name: str, what: str) -> None:
        self._path, self._name, self._what = path, name, what
        self._height = self._strange = 0
        self._first = 0

    def add(self, column: pl.Series) -> None:
        """Take the wishes of a batch; null where there is none."""
        numbers, strange = numbers_wished(column)
        if strange.any() and not self._strange:
            self._first = self._height + int(strange.arg_max() or 0)
        self._strange += int(strange.sum())
        self._height += len(column)
        # What is no wish is told of in the end.
        wished = numbers.set(strange | numbers.is_null(), 1.0).cast(pl.Int32).to_numpy()
        with self._path.open("ab") as file:
            write_out(wished, file)

    def wishes(self) -> NDArray[np.int32]:
        """Return all of them, int32 (n,), mapped; errors as of :func:`sfumato.table.person_column.read_wishes`."""
        if self._strange:
            raise strange_wishes(self._name, self._strange, self._first, self._what)
        return mapped(self._path, np.int32, (self._height,))


HELD = 32 << 20
"""Bytes of batches that are kept in memory between the two passes."""
WATCHED = 1 << 18
"""Records between two looks at how much memory counted values take."""


@dataclass(frozen=True, eq=False, repr=False)
class LargeTable:
    """A table whose records lie on disk as codes, in the order of its source."""

    schema: Schema  # the roles; every column has one
    names: tuple[str, ...]  # of the columns that are published, in the order of the source
    # `quasi_identifying`, `sensitive`: in declared order
    quasi_identifying: tuple[CodedColumn, ...]
    sensitive: tuple[CodedColumn, ...]
    # `codes`, `sensitive_codes`: unsigned (n, q) and (n, s), row-major, mapped from disk
    codes: NDArray[np.unsignedinteger]
    sensitive_codes: NDArray[np.unsignedinteger]
    carried: tuple[Path, ...]  # the insensitive columns, a file for each batch; none where there are no such columns
    starts: tuple[int, ...]  # the first record of each batch, and n
    from_text: frozenset[str]  # quasi-identifying and sensitive columns whose values were read from text
    passing: frozenset[str] = frozenset()  # insensitive columns that have no role of their own
    people: PeopleOnDisk | None = None  # who the records are about; None where no column says it
    wishes: WishesOnDisk = field(default_factory=WishesOnDisk)  # what people wish for

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a steward should hear of how columns were read."""
        return tuple(remark for column in self.columns for remark in column.remarks)

    def look(self, name: str) -> Look:
        """Return what a column looks like; an insensitive one is judged by the first batch."""
        coded = next((each for each in self.columns if each.attribute.name == name), None)
        return look_at(self.unchanged(name)) if coded is None else coded.look

    def counted(self, name: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Return the values of a coded column, rising, and how many records have each."""
        column = next(each for each in self.columns if each.attribute.name == name)
        occurring = np.flatnonzero(column.values.is_not_null().to_numpy())
        values = column.values.gather(occurring)
        order = values.arg_sort()
        return values.gather(order), column.occurrences[occurring[order.to_numpy()]]

    def unchanged(self, name: str) -> pl.Series:
        """Return the first batch of an insensitive column."""
        _, carried = next(self.batches())
        return next(column for column in carried if column.name == name)

    @property
    def columns(self) -> tuple[CodedColumn, ...]:
        """The quasi-identifying and sensitive columns."""
        return (*self.quasi_identifying, *self.sensitive)

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.codes)

    @property
    def size(self) -> int:
        """Bytes that the values take."""
        raws = (column.raws for column in self.columns if column.raws is not None)
        typed = (column.values for column in self.columns)
        numbers = sum(column.code_of.nbytes + column.occurrences.nbytes for column in self.columns)
        return numbers + int(sum(values.estimated_size() for values in (*raws, *typed)))

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        return {column.attribute.name: column.attribute.kind for column in self.columns}

    @property
    def encoded(self) -> EncodedTable:
        """The codes as algorithms take them; they still lie on disk."""
        return EncodedTable(
            tuple(column.attribute for column in self.quasi_identifying),
            self.codes,
            tuple(column.attribute for column in self.sensitive),
            self.sensitive_codes,
        )

    def batches(self) -> Iterator[tuple[slice, list[pl.Series]]]:
        """Yield the records of each batch, and their insensitive columns."""
        for place, (start, stop) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            carried = pl.read_ipc(self.carried[place]).get_columns() if self.carried else []
            yield slice(start, stop), carried


@dataclass(frozen=True, eq=False, repr=False)
class Coding:
    """How a table becomes codes."""

    schema: Schema  # the roles of all columns that are read; nothing is left to decide
    names: tuple[str, ...]  # of these columns, in the order of the source
    reading: ValueReading
    folder: Path  # where codes are written
    memory: int  # bytes that counted values may take
    # how quasi-identifying categories without a hierarchy are numbered; see :func:`sfumato.table.encoding.encode`
    order: Order = "frequency"
    # called with what is being done and how many records are
    progress: Callable[[str, int], None] = lambda what, done: None
    # columns of which it only counts which records are alike: texts get numbers, and nobody reads them again
    alike: frozenset[str] = frozenset()

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns whose values are counted."""
        roles = self.schema.roles
        return tuple(name for name in self.names if roles[name] in (Role.QUASI_IDENTIFYING, Role.SENSITIVE))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that say who a record is about."""
        return self.schema.key_columns if {*self.schema.key_columns} <= {*self.names} else ()

    @property
    def wished(self) -> dict[str, tuple[str, str]]:
        """The columns of wishes: for ``"k"`` and ``"l"`` the name, and what it asks for."""
        asked = {"k": (self.schema.wished_k, "a k"), "l": (self.schema.wished_l, "an l")}
        return {letter: (name, what) for letter, (name, what) in asked.items() if name in self.names and name}


class Kept:
    """Batches between two passes: the first ones in memory, the others in files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._batches: list[pl.DataFrame | Path] = []
        self._room = HELD

    def add(self, batch: pl.DataFrame) -> None:
        """Keep a batch."""
        self._room -= int(batch.estimated_size())
        if self._room >= 0:
            self._batches.append(batch)
            return
        path = self._folder / f"read-{len(self._batches)}"
        batch.write_ipc(path, compression="lz4")
        self._batches.append(path)

    def taken(self) -> Iterator[pl.DataFrame]:
        """Yield the batches in their order, once, and take them away."""
        self._batches.reverse()
        while self._batches:
            batch = self._batches.pop()
            if isinstance(batch, Path):
                yield pl.read_ipc(batch)
                batch.unlink()
            else:
                yield batch


def coded_table(source: BatchSource, coding: Coding) -> LargeTable:
    """Read a source once and count its values, then write the codes of its records; refused as if read whole.

    Memory: one batch, and the distinct values of the columns. Disk: until codes are written, a number for each cell
    besides.
    """
    schema = coding.schema
    keys = None if not coding.key_columns else KeyFiles(coding.folder, coding.schema.key_form)
    wished = {letter: WishFile(coding.folder / f"wished-{letter}", *named) for letter, named in coding.wished.items()}
    counters, starts, kept = _read(source, coding, keys, wished)
    errors: list[SfumatoError] = []
    quasi = _columns(counters, schema.quasi_identifying, coding, coding.order, errors)
    sensitive = _columns(counters, schema.sensitive, coding, "name", errors)
    raise_together(errors)
    wishes = WishesOnDisk(**{letter: file.wishes() for letter, file in wished.items()})
    _write_codes(coding, quasi, sensitive, kept)
    insensitive = any(name in schema.insensitive for name in coding.names)
    about_people = {*coding.key_columns, *(name for name, _ in coding.wished.values())}
    return LargeTable(
        schema,
        tuple(name for name in coding.names if name not in about_people),
        quasi,
        sensitive,
        _mapped(coding.folder / "codes", starts[-1], quasi),
        _mapped(coding.folder / "sensitive", starts[-1], sensitive),
        tuple(coding.folder / f"carried-{place}" for place in range(len(starts) - 1)) if insensitive else (),
        tuple(starts),
        frozenset(name for name, each in counters.items() if source.is_text and isinstance(each, TextsApart)),
        people=None if keys is None else keys.people(),
        wishes=wishes,
    )


def leave_codes(large: LargeTable, key: object, folder: Path) -> None:
    """Have another run go on from the codes, should this one be killed; not where people or wishes lie beside them."""
    if large.people is not None or large.wishes.k is not None or large.wishes.l is not None:
        return
    nothing = np.empty((0, 0), dtype=np.uint8)
    bare = replace(large, codes=nothing, sensitive_codes=nothing)
    for path in (folder / "codes", folder / "sensitive", *large.carried):
        sync(path)
    part = folder / f"{CODED}.part"
    part.write_bytes(pickle.dumps((key, bare)))
    sync(part)
    part.replace(folder / CODED)


def left_codes(key: object, folder: Path) -> LargeTable | None:
    """Return the table that a killed run has left in a folder of the user's own, if `key` is what it had; clear it."""
    kept, found = {folder / "codes", folder / "sensitive"}, None
    if (folder / CODED).is_file():
        known, large = pickle.loads((folder / CODED).read_bytes())
        if known == key:
            carried = tuple(folder / path.name for path in large.carried)
            kept |= {folder / CODED, *carried}
            codes = _mapped(folder / "codes", large.starts[-1], large.quasi_identifying)
            hidden = _mapped(folder / "sensitive", large.starts[-1], large.sensitive)
            found = replace(large, codes=codes, sensitive_codes=hidden, carried=carried)
    for path in folder.iterdir():
        if found is None or path not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return found


def _read(
    source: BatchSource, coding: Coding, keys: KeyFiles | None, wished: Mapping[str, WishFile]
) -> tuple[dict[str, ValueCounter], list[int], Kept]:
    """Go through the source: count values, keep their numbers, keys, wishes and the insensitive columns in files."""
    counted, insensitive = coding.counted, [name for name in coding.names if name in coding.schema.insensitive]
    texts = {name: TextsApart() if name in coding.alike else CountedTexts() for name in counted}
    counters: dict[str, ValueCounter] = {}
    starts, watched, kept = [0], 0, Kept(coding.folder)
    for batch in source.batches(coding.names, {name: counter.dtype for name, counter in texts.items()}):
        columns = {column.name: column for column in batch}
        for name in counted if not counters else ():
            counters[name] = _counter(columns[name], texts[name])
        numbered = [
            counters[name].add(columns[name], starts[-1]).alias(str(place)) for place, name in enumerate(counted)
        ]
        kept.add(pl.DataFrame(numbered))
        if keys is not None:
            keys.add(one_key([_key(columns[name], coding.reading) for name in coding.key_columns]))
        for letter, file in wished.items():
            file.add(_key(columns[coding.wished[letter][0]], coding.reading))
        if insensitive:
            carried = _carried([columns[name] for name in insensitive], coding.reading)
            carried.write_ipc(coding.folder / f"carried-{len(starts) - 1}", compression="lz4")
        starts.append(starts[-1] + len(batch[0]))
        coding.progress("reading", starts[-1])
        if starts[-1] - watched >= WATCHED:
            watched = starts[-1]
            _refuse_too_many(counters, coding.memory)
    if starts[-1] == 0:
        raise InputError("the table has no records")
    return counters, starts, kept


def _counter(column: pl.Series, texts: TextsApart) -> ValueCounter:
    """Return what counts a column of this type in all batches."""
    return texts if is_text(column) or column.dtype == pl.Null else CountedValues()


def _refuse_too_many(counters: Mapping[str, ValueCounter], memory: int) -> None:
    sizes = {name: counter.size for name, counter in counters.items()}
    if sum(sizes.values()) > memory:
        most = max(sizes, key=lambda name: sizes[name])
        raise InputError(
            f"column {most!r} has too many different values for the memory that may be used; round them or leave the "
            "column out, or give more with --memory"
        )


def _columns(
    counters: Mapping[str, ValueCounter],
    attributes: Mapping[str, Attribute],
    coding: Coding,
    order: Order,
    errors: list[SfumatoError],
) -> tuple[CodedColumn, ...]:
    columns = []
    for name, attribute in attributes.items():
        counter = counters[name]
        try:
            if isinstance(counter, (CountedTexts, CountedValues)):
                columns.append(coded_column(counter.raw(name), attribute, coding.reading, order))
            elif isinstance(counter, TextsApart):
                columns.append(counter.told_apart(name, coding.reading.missing))
        except SfumatoError as error:
            errors.append(error)
    return tuple(columns)


def _write_codes(coding: Coding, quasi: Sequence[CodedColumn], sensitive: Sequence[CodedColumn], kept: Kept) -> None:
    """Turn what was read into codes, a batch at a time, and take it away."""
    counted, written = coding.counted, 0
    with (coding.folder / "codes").open("wb") as codes, (coding.folder / "sensitive").open("wb") as hidden:
        for frame in kept.taken():
            batch = dict(zip(counted, frame.get_columns(), strict=True))
            write_out(_codes_of(quasi, batch), codes)
            write_out(_codes_of(sensitive, batch), hidden)
            written += frame.height
            coding.progress("writing codes", written)


def _codes_of(columns: Sequence[CodedColumn], batch: Mapping[str, pl.Series]) -> NDArray[np.unsignedinteger]:
    height = len(next(iter(batch.values())))
    codes = np.empty((height, len(columns)), dtype=_width(columns))
    for index, column in enumerate(columns):
        codes[:, index] = column.codes(batch[column.attribute.name])
    return codes


def _width(columns: Sequence[CodedColumn]) -> np.dtype[np.unsignedinteger]:
    # As those of a table that is encoded whole.
    return np.min_scalar_type(max((column.attribute.cardinality for column in columns), default=0))


def _key(column: pl.Series, reading: ValueReading) -> pl.Series:
    return with_missing(kept_column(column, reading.of(column.name)), reading)


def _carried(columns: Sequence[pl.Series], reading: ValueReading) -> pl.DataFrame:
    kept = [kept_column(column, reading.of(column.name)).alias(column.name) for column in columns]
    return pl.DataFrame(kept).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _mapped(path: Path, height: int, columns: Sequence[CodedColumn]) -> NDArray[np.unsignedinteger]:
    if not columns:
        return np.empty((height, 0), dtype=np.uint8)
    return mapped(path, _width(columns), (height, len(columns)))

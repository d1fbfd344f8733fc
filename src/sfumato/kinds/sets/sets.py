"""Sets of items, one for each record, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, raise_all, raise_together, said_of
from sfumato.former import FormerReading, reading_of_call
from sfumato.hierarchy.tree import Hierarchy, HierarchySpecification
from sfumato.kernels.ratings.rows import number_by_appearance, rows_of, rows_rise
from sfumato.kernels.sets import relabelled_rows
from sfumato.numbers import counted
from sfumato.table.columns import ValueReading, keys_read, typed_column
from sfumato.table.distinct import Distinct, distinct_of
from sfumato.table.header import Header, check_names
from sfumato.table.person_keys import key_columns, read_key_form
from sfumato.table.reading import label_of, read_table
from sfumato.table.row_order import in_name_order
from sfumato.table.schema import Kind, Schema, text_of
from sfumato.table.sources import TableSource, open_source
from sfumato.table.sources.protocol import Reading, refuse_of_tables
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Which items each record holds. Build it with :func:`sfumato.read_sets`.

    Letters: n records (one per person), d items, z items in all sets. Who the people are is gone: a record has only a
    number, which follows the order in which people first appear in the source.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (n + 1,): record ``i`` holds ``items[starts[i] : starts[i+1]]``. A set may be empty.
    items : numpy.ndarray
        int32 (z,): items of each record, ``0 .. d-1``, rising inside a record.
    names : tuple of str
        Names of the items, length d. With a hierarchy its leaves, of which some may be in no set.
    hierarchy : Hierarchy or None
        Ever coarser names for the items.
    beside : Table or None
        Quasi-identifying columns of the same records, in the same order.
    source : str
        What messages call the sets: the file's name, or ``"table"``.

    Raises
    ------
    InputError
        When there is no record, or the parts do not fit together.
    """

    made_by: ClassVar[str] = "read_sets"

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    names: tuple[str, ...]
    hierarchy: Hierarchy | None = None
    beside: Table | None = None
    source: str = "table"

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        if len(self.starts) < 2:
            raise InputError("there are no records")
        raise_all(InputError, self._problems())

    def __repr__(self) -> str:
        """Show sizes only."""
        return f"Sets({self.height} records, {len(self.names)} items, {len(self.items)} in all sets)"

    @property
    def height(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items in each set; int64 (n,)."""
        return np.diff(self.starts)

    @property
    def holders(self) -> NDArray[np.int64]:
        """How many records hold each item; int64 (d,)."""
        return np.bincount(self.items, minlength=len(self.names)).astype(np.int64)

    def take(self, records: NDArray[np.integer]) -> Sets:
        """Return the sets of some records, in that order."""
        sizes = self.sizes[records]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[records] - starts[:-1], sizes)
        beside = None if self.beside is None else self.beside.take(records)
        return replace(self, starts=starts, items=self.items[places], beside=beside)

    def to_frame(self) -> pl.DataFrame:
        """Return the sets in long form: ``record`` (from 1) and ``item``; an empty set has no row."""
        numbers = np.repeat(np.arange(1, self.height + 1), self.sizes)
        return pl.DataFrame({"record": pl.Series(numbers), "item": named_items(self.names, self.items)})

    def _problems(self) -> list[str]:
        problems = []
        if self.starts[0] != 0 or self.starts[-1] != len(self.items):
            problems.append("starts and items do not fit together in length")
        elif not rows_rise(self.starts, self.items, len(self.names)):
            problems.append("the items of a record must rise, and be below the number of names")
        if self.hierarchy is not None and self.hierarchy.leaves != self.names:
            problems.append("the names must be the leaves of the hierarchy")
        if self.beside is not None and self.beside.height != self.height:
            beside = counted(self.beside.height, "record")
            problems.append(f"the columns beside the sets have {beside}, the sets {self.height:,}")
        return problems


def named_items(names: Sequence[str], items: NDArray[np.int32]) -> pl.Series:
    """Return names of items as a column of categories."""
    if not names:
        return pl.Series([], dtype=pl.String)
    return pl.Series(items.astype(np.uint32)).cat.to(pl.Enum(names))


# An order of sets that depends on nothing but what everybody has.


def order_sets(sets: Sets) -> tuple[Sets, NDArray[np.int64]]:
    """Sort items by name without a hierarchy, records by items, then by what stands beside; and give their places."""
    by_name = _items_by_name(sets)
    packed = by_name.items.astype(">i4").tobytes()
    held = [packed[first:last] for first, last in pairwise((4 * by_name.starts).tolist())]
    if sets.beside is None:
        order = sorted(range(sets.height), key=held.__getitem__)
    else:
        texts = sets.beside.frame.select(pl.all().cast(pl.String))
        beside = [tuple((text is not None, text or "") for text in row) for row in texts.iter_rows()]
        order = sorted(range(sets.height), key=lambda record: (held[record], beside[record]))
    origin = np.array(order, dtype=np.int64)
    return by_name.take(origin), origin


def _items_by_name(sets: Sets) -> Sets:
    if sets.hierarchy is not None:
        return sets
    found = in_name_order(sets.starts, sets.items, sets.names)
    return replace(sets, items=found.labels, names=tuple(sets.names[place] for place in found.order))


SetForm = Literal["long", "wide"]
MOST = 2**31 - 1
"""Items in all sets that places of 32 bits can number."""


@dataclass(frozen=True, eq=False, repr=False)
class _Members:
    """Who holds what, as it stands in a source."""

    records: int
    record_of: NDArray[np.int32]  # (z,): the record of each item
    items: Distinct  # the items, none missing
    # int64 (n,): the row of the source that speaks of each record first; None where row ``i`` is record ``i``
    first_rows: NDArray[np.int64] | None = None
    # int32 (rows,): the record of each row of the source, where several rows speak of one
    row_of: NDArray[np.int32] | None = None


def read_sets(
    source: object,
    *,
    form: SetForm = "long",
    person: str | Sequence[str] | None = None,
    item: str | None = None,
    item_separator: str = ";",
    hierarchy: HierarchySpecification | None = None,
    schema: Schema | None = None,
    reading: Reading | None = None,
    key_form: str | None = None,
    **former: Unpack[FormerReading],
) -> Sets:
    """Read the sets of items that people have.

    Parameters
    ----------
    source
        Path of a file, or a polars, pandas or Arrow frame.
    form
        ``"long"``: a row for each item of a person. ``"wide"``: a row for each person, with a column that holds the
        whole set as text.
    person, item
        Columns of the long form; by default the first and the second; `person` may be a list of columns that say
        together who it is. In the wide form `item` is the column that holds the sets, by default the last, and there is
        no `person`: every row is somebody else.
    item_separator
        What stands between the items of a set in the wide form.
    hierarchy
        Ever coarser names for the items, such as :func:`sfumato.read_hierarchy` returns them. None: items can only be
        published or left out.
    schema
        Quasi-identifying columns beside the sets, with their hierarchies; other roles have no place here, and columns
        without one are not loaded. In the long form every row of a person must say the same there.
    reading
        How a file is read; its missing texts stand for "no item".
    key_form
        Which spellings of a key are one person's, as :class:`sfumato.Schema` takes it; None asks, by an error.
    **former
        The settings of a :class:`sfumato.Reading` one by one, as in the last version.

    Returns
    -------
    Sets
        An item that a person has twice counts once. A person without items stays, with the empty set. Without a
        hierarchy items are sorted: by number if all are numbers, else as text.

    Raises
    ------
    InputError
        With what is wrong: missing columns, missing people, people whose rows contradict each other.
    HierarchyError
        When items are not in the hierarchy; they are counted.
    SchemaError
        When the schema gives columns beside the sets another role than quasi-identifying.

    Notes
    -----
    Cost O(z + n + d) beside the reading of the source.
    """
    label = label_of(source)
    try:
        person = None if person is None else key_columns(person if isinstance(person, str) else tuple(person))
        _refuse_unknown(form, person, item_separator, schema)
        how = reading_of_call("read_sets", reading, former)
        refuse_of_tables("sets", how)
        opened = open_source(source, how.layout(), how.place())
        values = ValueReading(how.tokens(), True, opened.is_text)
        given = [name for name in (*(person or ()), item, *(how.columns or ())) if name is not None]
        check_names(Header(opened.names, frozenset(given if opened.is_text else opened.names)))
        is_long = form == "long"
        read_key_form(key_form)
        members = (
            _long(opened, person, item, values, key_form) if is_long else _wide(opened, item, item_separator, values)
        )
        tree = None if hierarchy is None else hierarchy.build(members.items.values, name="items")
    except SfumatoError as error:
        raise said_of(label, error) from None
    beside = None
    if schema is not None:
        _refuse_twice(schema, opened.names, form, person, item, label)
        beside = _beside(read_table(source, replace(schema, others="drop"), reading=how), members, label)
    return _assembled(members, tree, beside, label)


def _refuse_unknown(form: object, person: object, item_separator: object, schema: object) -> None:
    errors: list[SfumatoError] = []
    if form not in ("long", "wide"):
        errors.append(InputError("form must be one of long, wide"))
    elif form == "wide" and person is not None:
        errors.append(InputError("the wide form takes no person: every row is somebody else; leave it out"))
    if not isinstance(item_separator, str) or not item_separator:
        errors.append(InputError("item_separator must be a text of at least one character"))
    if schema is not None and not isinstance(schema, Schema):
        errors.append(InputError("schema is not a Schema; make one with sfumato.Schema(quasi_identifying=[...])"))
    elif schema is not None and set(schema.roles.values()) != {"quasi-identifying"}:
        errors.append(InputError("schema: only quasi-identifying columns can stand beside sets; leave other roles out"))
    raise_together(errors)


def _long(
    source: TableSource, person: Sequence[str] | None, item: str | None, reading: ValueReading, key_form: str | None
) -> _Members:
    names = source.names
    if len(names) < 2:
        raise InputError("the long form needs a column for people and one for items; check the separator")
    wanted = [*(("person", name) for name in person or names[:1]), ("item", item or names[1])]
    _refuse_absent(wanted, names)
    *keys, held_items = source.read([name for _, name in wanted])
    people, items = keys_read(keys, reading, key_form), typed_column(held_items, None, reading)[0]
    if not len(people):
        raise InputError("there are no records")
    whose = distinct_of(people)
    if whose.missing:
        row = int(np.argmax((whose.rank_of == len(whose.values))[whose.raw])) + 1
        lost = counted(whose.missing, "row")
        raise InputError(f"{lost} without a person, first row {row}; complete or remove them")
    row_of = number_by_appearance(whose.raw, whose.rank_of, len(whose.values))
    held = items.is_not_null().to_numpy()
    first_rows = np.flatnonzero(np.diff(np.maximum.accumulate(row_of), prepend=-1))
    return _Members(len(whose.values), row_of[held], distinct_of(items.drop_nulls()), first_rows, row_of)


def _wide(source: TableSource, item: str | None, item_separator: str, reading: ValueReading) -> _Members:
    name = item or source.names[-1]
    _refuse_absent([("item", name)], source.names)
    cells = typed_column(source.read([name])[0], Kind.CATEGORICAL, reading)[0].cast(pl.String)
    if not len(cells):
        raise InputError("there are no records")
    frame = pl.DataFrame({"record": np.arange(len(cells), dtype=np.int32), "item": cells.str.split(item_separator)})
    held = frame.explode("item").with_columns(pl.col("item").str.strip_chars())
    held = held.filter(pl.col("item").is_not_null() & ~pl.col("item").is_in(["", *reading.missing]))
    items = typed_column(held["item"], None, ValueReading((), False, reading.is_text))[0]
    return _Members(len(cells), held["record"].to_numpy(), distinct_of(items))


def _refuse_twice(
    schema: Schema, names: Sequence[str], form: SetForm, person: Sequence[str] | None, item: str | None, label: str
) -> None:
    """Refuse a column beside the sets that is the one of people or of items, too."""
    used = (*(person or names[:1]), item or names[1]) if form == "long" else (item or names[-1],)
    twice = [name for name in schema.quasi_identifying if name in used]
    raise_all(
        InputError,
        [f"{label}: column {name!r} holds people or items, and cannot stand beside the sets as well" for name in twice],
    )


def _refuse_absent(wanted: Sequence[tuple[str, str]], names: Sequence[str]) -> None:
    problems = [f"{part}: there is no column {name!r}" for part, name in wanted if name not in names]
    if not problems and len({name for _, name in wanted}) < len(wanted):
        problems.append("one column is used twice; name different columns for person and item")
    if problems:
        raise InputError(*problems)


def _beside(table: Table, members: _Members, label: str) -> Table:
    """Return the columns beside the sets, one row for each record; people may not contradict themselves."""
    if members.first_rows is None or members.row_of is None:
        return table
    of_people = table.take(members.first_rows)
    said = table.frame.with_columns(pl.all().to_physical())
    differs = (said != said[members.first_rows[members.row_of]]).fill_null(False)
    nulls = said.select(pl.all().is_null()) != said[members.first_rows[members.row_of]].select(pl.all().is_null())
    problems = [
        f"{label}: column {name!r} says different things about one person in {counted(int(odd.sum()), 'row')}, first "
        f"row {int(odd.arg_max() or 0) + 1}; correct them, or leave the column out"
        for name in said.columns
        if (odd := differs[name] | nulls[name]).any()
    ]
    if problems:
        raise InputError(*problems)
    return of_people


def _assembled(members: _Members, tree: Hierarchy | None, beside: Table | None, label: str) -> Sets:
    names = tuple(text_of(members.items.values).to_list())
    numbers = np.arange(len(names) + 1, dtype=np.int32)
    if tree is not None:
        place_of = {leaf: place for place, leaf in enumerate(tree.leaves)}
        numbers = np.array([*(place_of[name] for name in names), 0], dtype=np.int32)
        names = tree.leaves
    items = numbers[members.items.rank_of][members.items.raw]
    if len(items) > MOST:
        raise InputError(f"{label}: there are more than {MOST:,} items in all sets; take fewer records")
    starts, order = rows_of(members.record_of, items, members.records, len(names))
    itself = np.arange(len(names), dtype=np.int32)
    return Sets(*relabelled_rows(starts, items[order], itself), names, tree, beside, label)

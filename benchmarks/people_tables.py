"""Small tables in which people have several records, drawn by number: some with many, some with one, some of nobody."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

import sfumato as sf
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.table import Table

MOST_RECORDS = 40
QUASI = ("age", "city", "sex", "day")
SENSITIVE = ("ill", "num")
TREES = {"age": sf.intervals(5, 20, 100), "city": sf.flat(), "sex": sf.flat(), "day": sf.prefixes(1, 0)}


@dataclass(frozen=True)
class DrawnTable:
    """A table, read and encoded once however many releases are made of it.

    Attributes
    ----------
    frame : polars.DataFrame
        With a column ``row`` that is published as it is, so that a reader can look up whom a record is about.
    tree_of_days : bool
        Whether one attribute has a hierarchy where the others have none.
    """

    frame: pl.DataFrame
    tree_of_days: bool

    @cached_property
    def people(self) -> list[Hashable]:
        """Whom each record is about; a record without a key is a person of its own."""
        return [("alone", row) if key is None else key for row, key in enumerate(self.frame["id"])]

    @cached_property
    def plain(self) -> tuple[Table, EncodedTable]:
        """The table and its codes, without hierarchies but for that of days."""
        return self._read(dict.fromkeys(QUASI) | ({"day": TREES["day"]} if self.tree_of_days else {}))

    @cached_property
    def with_trees(self) -> tuple[Table, EncodedTable]:
        """The same with a hierarchy for every attribute."""
        return self._read(dict(TREES))

    def _read(self, hierarchies: dict[str, sf.Hierarchy | None]) -> tuple[Table, EncodedTable]:
        table = sf.read_table(self.frame, schema_with(hierarchies))
        return table, encode(table)


def schema_with(hierarchies: dict[str, sf.Hierarchy | None]) -> sf.Schema:
    """Return the roles of the columns."""
    return sf.Schema(
        person="id",
        quasi_identifying=hierarchies,
        sensitive={"ill": sf.Attribute(kind="categorical"), "num": None},
        insensitive=["row"],
    )


def drawn_table(number: int) -> DrawnTable:
    """Draw a table; the same number gives the same one."""
    chance = random.Random(number)
    records = chance.randint(2, MOST_RECORDS)
    people = range(chance.randint(1, records))
    owners = chance.choices(people, [chance.random() ** 3 + 0.01 for _ in people], k=records)
    # People differ in what hardly changes; what changes differs from record to record.
    places = [chance.random() for _ in people]
    missing = lambda value, share=0.05: None if chance.random() < share else value  # noqa: E731
    frame = pl.DataFrame(
        {
            "id": [missing(f"p{owner}", 0.02) for owner in owners],
            "row": range(records),
            "age": [missing(int(20 + 50 * places[owner] + chance.choice((0, 0, 1, 5)))) for owner in owners],
            "city": [missing(chance.choice("abcde"[: 1 + int(5 * places[owner])])) for owner in owners],
            "sex": ["mf"[int(2 * places[owner])] for owner in owners],
            "day": [missing(chance.choice(("01", "02", "11", "12", "21"))) for _ in owners],
            "ill": [missing(chance.choice("xyzuv"[: chance.randint(1, 5)]), 0.02) for _ in owners],
            "num": [chance.randint(0, 3) for _ in owners],
        },
        schema_overrides=dict.fromkeys(("id", "city", "day", "ill"), pl.String) | {"age": pl.Int64},
    )
    return DrawnTable(frame, bool(number % 2))

"""Tables in which people have several records, and their releases recounted by hand."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import assume
from hypothesis import strategies as st

import sfumato as sf
from guarantees import recount
from guarantees.combinations import SETTINGS
from guarantees.tables import Drawn, tables
from naive import models as naive
from naive import people as twins
from sfumato.anonymizers.protocol import Anonymizer

PEOPLE_SETTINGS = {
    name: setting
    for name, setting in SETTINGS.items()
    if not setting.decides_regions and not getattr(setting, "blind", False)
}
"""Every anonymizer that takes people who have several records, in every setting that does."""


@dataclass(frozen=True)
class PeoplesTable:
    """A drawn table, and whom each of its records is about; None is a person of its own."""

    drawn: Drawn
    keys: list[str | None]

    @property
    def frame(self) -> pl.DataFrame:
        # The number of the row is published, so that a reader can look up whom it is about.
        keys = pl.Series("id", self.keys, dtype=pl.String)
        return self.drawn.frame.with_columns(keys, note=pl.int_range(pl.len()))

    @property
    def schema(self) -> sf.Schema:
        roles = self.drawn.schema
        return sf.Schema(
            person="id",
            quasi_identifying=roles.quasi_identifying,
            sensitive=roles.sensitive,
            insensitive=["note"],
        )

    @property
    def people(self) -> list[Hashable]:
        return [("alone", row) if key is None else key for row, key in enumerate(self.keys)]

    def one_class_holds(self, model: Mapping[str, Any]) -> bool:
        """Tell whether everybody as one class satisfies a model: if not, no partition of them does."""
        columns = {**self.drawn.original, "\0everybody": [None] * self.drawn.frame.height}
        return holds(model, columns, ["\0everybody"], self.drawn.sensitive, self.people)


@st.composite
def peoples_tables(draw: st.DrawFn, *, sensitive: int | None = None) -> PeoplesTable:
    """Some people with many records, some with one, and some records of nobody known."""
    drawn = draw(tables(sensitive=sensitive))
    height = drawn.frame.height
    chance = random.Random(draw(st.integers(0, 2**16)))
    count = chance.randint(1, height)
    weights = [chance.random() ** 3 + 0.01 for _ in range(count)]
    keys = chance.choices([f"p{person}" for person in range(count)], weights, k=height)
    return PeoplesTable(drawn, [None if chance.random() < 0.03 else key for key in keys])


def holds(
    model: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    quasi: Sequence[str],
    sensitive: Mapping[str, recount.Sensitive],
    people: Sequence[Hashable],
) -> bool:
    """Tell whether every class of published columns satisfies a model that counts people."""
    twin = recount.TWIN_OF[model["name"]]
    rows = list(zip(*(columns[name] for name in quasi), strict=True))
    settings = {key: value for key, value in model.items() if key not in ("name", "k")}
    if twin in twins.ROW_MODELS:
        return twins.ROW_MODELS[twin](rows, people, **settings) >= model["k"]
    classes = naive.equivalence_classes({name: columns[name] for name in quasi})
    return all(
        all(twins.holds_per_class(twin, classes, people, values, **parameters))
        for values, parameters in recount.cases(model, columns, sensitive)
    )


def check_by_hand(
    release: sf.Release, folder: Path, table: PeoplesTable, wanted: Sequence[Mapping[str, Any]], limit: float
) -> None:
    """Recount a release from its file and from who is who, as nobody but the steward can."""
    quasi = table.drawn.quasi
    header, rows = recount.read_csv(folder / "data.csv")
    assert header == [name for name in table.drawn.frame.columns if name != "id"]
    columns = recount.columns_of(header, rows)
    people = [table.people[int(row)] for row in columns["note"]]
    for model in wanted:
        assert holds(model, columns, quasi, table.drawn.sensitive, people), model
    check_wholeness(list(zip(*(columns[name] for name in quasi), strict=True)), people, table)
    check_limit(release, people, table, limit)
    check_audit(folder, list(zip(*(columns[name] for name in quasi), strict=True)), people)


def check_wholeness(rows: Sequence[Any], people: Sequence[Hashable], table: PeoplesTable) -> None:
    """Nobody is in two classes, and nobody is published in part. Stars may not be told from what a class publishes."""
    classes = {person: {rows[i] for i, other in enumerate(people) if other == person} for person in people}
    assert all(len(found) == 1 for found in classes.values())
    published, before = Counter(people), Counter(table.people)
    assert all(published[person] == before[person] for person in published)


def check_limit(release: sf.Release, people: Sequence[Hashable], table: PeoplesTable, limit: float) -> None:
    report = release.report
    assert report.suppressed <= limit * len(table.people) + 1e-9
    if report.published < report.original:
        gone = set(table.people) - set(people)
        assert len(gone) <= limit * len(set(table.people)) + 1e-9
        assert report.suppressed == sum(person in gone for person in table.people)


def check_audit(folder: Path, rows: Sequence[Any], people: Sequence[Hashable]) -> None:
    """The audit file numbers the people of each class from 1, two of them alike exactly if they are one."""
    audit = folder.with_name(f"{folder.name}.audit.json")
    pseudonyms = json.loads(audit.read_text())["pseudonyms"]
    assert len(pseudonyms) == len(people)
    named = set(zip(rows, pseudonyms, strict=True))
    meant = set(zip(rows, people, strict=True))
    together = set(zip(rows, pseudonyms, people, strict=True))
    assert len(named) == len(meant) == len(together)
    for row, most in Counter(row for row, _ in meant).items():
        assert {number for other, number in named if other == row} == set(range(1, most + 1))


def released(table: PeoplesTable, models: Sequence[Any], anonymizer: Anonymizer, **settings: Any) -> sf.Release:
    """Anonymize; what measures numbers is not tried on tables without any."""
    try:
        return sf.anonymize(sf.read_table(table.frame, table.schema), models, anonymizer=anonymizer, **settings)
    except sf.PolicyError as error:
        assume("the squared error needs a number" not in str(error))
        raise

"""Small series of which no folder is made, which takes most of the time: classes as recipients would read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
from benchmarks.series_recount import Label, Person, Row, label
from sfumato.series.grow_moves import GrownClasses, Roster, grow
from sfumato.series.invariant_making import Present, keep_invariant
from sfumato.series.labels import arrival_labels
from sfumato.series.recount import Boxes, Released, SensitiveValues
from sfumato.table.encoding import EncodedAttribute, EncodedTable, encode

Numbers = NDArray[np.int64]
Invariants = tuple[dict[str, str], dict[str, frozenset[str]]]


class GrowingMaker:
    """Releases of a growing table, whose people come in the order in which they are given.

    Everybody who will ever come is given, as domains are frozen.
    """

    def __init__(self, people: Sequence[Person], schema: sf.Schema, models: Sequence[sf.PrivacyModel]) -> None:
        names = ["name", "age", "city", "disease"]
        self.people, self.models, self.bare = people, models, not schema.sensitive
        read = sf.read_table(pl.DataFrame(people, schema=names, orient="row"), replace(schema, others="drop"))
        self.table = encode(read)
        self.value_of = np.zeros(len(people), dtype=np.int64)
        codes = np.zeros((1, 0), dtype=np.int64)
        if not self.bare:
            self.value_of = self.table.sensitive_codes[:, 0].astype(np.int64)
            codes = np.arange(self.table.sensitive[0].cardinality)[:, None]
        self.values = SensitiveValues(self.table.sensitive, codes)
        self.classes = np.full((len(people), 0), -1, dtype=np.int32)
        self.came, self.history = (np.full(len(people), -1, dtype=np.int64) for _ in range(2))
        self.last: GrownClasses | None = None
        self.shown: list[Released] = []
        self.releases: list[list[Row]] = []

    def grow(self, end: int) -> None:
        """Publish the first people up to a number, or nothing when the newcomers cannot be published yet."""
        roster = Roster(
            self.table.take(np.arange(end)), self.value_of[:end], self.values, self.classes[:end].copy(),
            self.came[:end].copy(), self.history[:end].copy(),
        )  # fmt: skip
        try:
            found = grow(roster, self.models, self.shown, self.last, exact_months=self.bare)
        except sf.UnsatisfiableError:
            return
        if (found.class_of < 0).any():
            return
        self.last = found
        column = np.append(found.class_of, np.full(len(self.people) - end, -1)).astype(np.int32)
        self.classes = np.column_stack([self.classes, column])
        self.came[:end], self.history[:end] = found.came, found.history_of
        self.shown.append(Released(found.class_of, self.value_of[:end], found.boxes))
        labels = _labels(self.table.attributes, found.boxes)
        self.releases.append(
            [
                {**labels[number], "disease": "" if self.bare else person[3]}
                for number, person in zip(found.class_of.tolist(), self.people, strict=False)
            ]
        )

    def places(self) -> list[dict[str, Label]]:
        """Return in which class everybody is, release by release."""
        return [
            {person[0]: label(row) for person, row in zip(self.people, rows, strict=False)} for rows in self.releases
        ]


def _labels(attributes: Sequence[EncodedAttribute], boxes: Boxes) -> list[Row]:
    """Write what classes cover as a release would that rounds nothing."""
    found: list[Row] = [{} for _ in range(boxes.count)]
    for index, attribute in enumerate(attributes):
        for number, row in enumerate(found):
            if index in boxes.sets:
                members = [attribute.texts[code] for code in np.flatnonzero(boxes.sets[index][number]).tolist()]
                row[attribute.name] = str(members[0]) if len(members) == 1 else "{" + "|".join(map(str, members)) + "}"
                continue
            low, high = int(boxes.low[number, index]), int(boxes.high[number, index])
            tree = attribute.hierarchy
            if tree is not None:
                level = int(tree.common_ancestor(np.array([low]), np.array([high]))[0])
                row[attribute.name] = tree.levels[level].labels[int(tree.node_of[level, low])]
            else:
                ends = attribute.texts[low], attribute.texts[high]
                row[attribute.name] = str(ends[0]) if low == high else f"[{ends[0]}..{ends[1]}]"
    arrived = arrival_labels(boxes.low[:, -1], boxes.high[:, -1]).to_list()
    return [{**row, "arrived": months} for row, months in zip(found, arrived, strict=True)]


class InvariantMaker:
    """Releases of an m-invariant series of people of whom everybody who will ever come is given."""

    def __init__(self, people: Sequence[Person], schema: sf.Schema, m: int) -> None:
        names = ["name", "age", "city", "disease"]
        self.m, self.place = m, {person[0]: number for number, person in enumerate(people)}
        self.table: EncodedTable = encode(sf.read_table(pl.DataFrame(people, schema=names, orient="row"), schema))
        self.value_of = self.table.sensitive_codes[:, 0].astype(np.int64)
        self.signature_of: Numbers = np.full(len(people), -1, dtype=np.int64)
        self.signatures: tuple[tuple[int, ...], ...] = ()

    def republish(self, people: Sequence[Person]) -> Invariants:
        """Publish some people; return the class of each who does not wait, and the values of each class.

        Raises
        ------
        UnsatisfiableError
            When too many counterfeits would be needed.
        """
        here = np.array([self.place[person[0]] for person in people], dtype=np.int64)
        values = self.value_of[here]
        found = keep_invariant(
            Present(self.table.take(here), values, self.signature_of[here], self.signatures), self.m,
            most_counterfeits=0.8,
        )  # fmt: skip
        self.signature_of[here], self.signatures = found.signature_of, found.signatures
        texts = self.table.sensitive[0].texts
        there = [*zip(found.class_of.tolist(), values.tolist(), strict=True)]
        there += zip(found.counterfeit_class.tolist(), found.counterfeit_value.tolist(), strict=True)
        classes: dict[str, set[str]] = {}
        for number, value in there:
            if number >= 0:
                classes.setdefault(str(number), set()).add(str(texts[value]))
        class_of = {
            person[0]: str(number)
            for person, number in zip(people, found.class_of.tolist(), strict=True)
            if number >= 0
        }
        return class_of, {name: frozenset(each) for name, each in classes.items()}

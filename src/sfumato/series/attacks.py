"""Attacks on several releases of the same people: by classes that cover them, with keys, and by composition.

Letters: n people, c classes of a release, p pairs of somebody and a class, z places (classes and their values), v
values.

Letters: n people, c classes of a release, v values (all that rows publish beside their class), p pairs of classes.

Letters: n people, c classes of a release, v sensitive values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.kernels.series.meeting import Lists, Pairs, Ways, rows_in_both, rows_on_ways
from sfumato.models.protocol import least_class_size
from sfumato.numbers import counted
from sfumato.policy.parts import policy_columns
from sfumato.policy.policy import Policy
from sfumato.recoding.notation import STAR
from sfumato.recoding.parsing import split_set, written_ends
from sfumato.release.description import build_model
from sfumato.series.description import WITHDRAWAL, Covers, SeriesFolder
from sfumato.series.labels import HIGHEST, MISSING, Labelled, arrivals, kinds_of, nodes_under, recipients, values_of
from sfumato.series.reading import ReadRelease
from sfumato.series.recount import (
    Boxes,
    ClassPairs,
    PairRecount,
    Places,
    Released,
    at_once,
    edges_between,
    meeting,
    recount_pair,
    row_runs,
    subtract,
)
from sfumato.table.person_keys import PersonKey, key_columns, key_in, keys_of_tables, named_key, person_keys
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema, text_of

Left = NDArray[np.float64]
Marks = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Came = tuple[Numbers, tuple[Numbers, Numbers]]


@dataclass(frozen=True, eq=False, repr=False)
class Covering:
    """The classes of a release that cover each person."""

    # `person`, `class_of`: int64 (p,): sorted by person, then class
    person: Numbers
    class_of: Numbers
    count: int  # people n

    @classmethod
    def of(cls, marks: Marks) -> Covering:
        """Take them from a table of all people and classes; bool (n, c)."""
        person, class_of = np.nonzero(marks)
        return cls(person.astype(np.int64), class_of.astype(np.int64), len(marks))

    @cached_property
    def starts(self) -> Numbers:
        """Where the classes of each person start; int64 (n + 1,)."""
        return np.searchsorted(self.person, np.arange(self.count + 1)).astype(np.int64)

    def take(self, people: Numbers) -> Covering:
        """Return those of some people, who are numbered anew; also more than once."""
        owner, at = row_runs(self.starts[people], np.diff(self.starts)[people])
        return Covering(owner, self.class_of[at], len(people))

    def of_all_records(self, owner_of: Numbers) -> Covering:
        """Return the classes that cover all records of an owner, int64 (n,) from 0, where people are records."""
        records = np.bincount(owner_of)
        width = int(self.class_of.max(initial=0)) + 1
        keys, times = np.unique(owner_of[self.person] * width + self.class_of, return_counts=True)
        owner, class_of = np.divmod(keys, width)
        kept = times == records[owner]
        return Covering(owner[kept], class_of[kept], len(records))

    def rows(self, places: Places, width: int) -> Left:
        """Return how many rows of each value the classes of each person have; float64 (n, width)."""
        return covers_by_value(self.person, self.class_of, places, (self.count, width))

    def values(self, own: Marks) -> Marks:
        """Return which values the classes of each person have; bool (n, v) from those of each class, bool (c, v)."""
        class_of, value_of = np.nonzero(own)
        places = Places(class_of, value_of, np.ones(len(class_of), dtype=np.int64), len(own))
        return np.asarray(self.rows(places, own.shape[1]) > 0)


def covers_by_value(person: Numbers, list_of: Numbers, places: Places, shape: tuple[int, int]) -> Left:
    """Sum the rows of each value in lists that people have; `shape` is the number of people and of values."""
    owner, place = row_runs(places.starts[list_of], np.diff(places.starts)[list_of])
    keys = person[owner] * shape[1] + places.value_of[place]
    rows = np.bincount(keys, weights=places.rows[place], minlength=shape[0] * shape[1])
    return rows.astype(np.float64).reshape(shape)


def covering(
    labels: pl.DataFrame,
    people: pl.DataFrame,
    kinds: Mapping[str, Kind],
    trees: Covers | None = None,
    came: Came | None = None,
) -> Covering:
    """Find the classes that cover each person, by text in columns named like labels and, perhaps, when people came.

    Space is halved as for classes that meet (:func:`~sfumato.series.recount.meeting`): a person is a class of one
    value; equal ones are looked up once. Cost O(q c log c), where few classes cover a person.
    """
    table = people.select(list(kinds))
    if came is not None:
        table = table.with_columns(pl.Series(_CAME, came[0]).cast(pl.String))
    number = values_of([table])[0]
    firsts = np.unique(number, return_index=True)[1]
    months = None if came is None else (came[0][firsts], *came[1])
    class_of, person = _found(labels, table[firsts], kinds, trees or {}, months)
    return Covering(person, class_of, len(firsts)).take(number)


_CAME = " came"
"""No column of a table has such a name."""


def _found(
    labels: pl.DataFrame,
    people: pl.DataFrame,
    kinds: Mapping[str, Kind],
    trees: Covers,
    months: tuple[Numbers, Numbers, Numbers] | None,
) -> ClassPairs:
    """Return pairs of a class and a person whom it covers, sorted by person, then class."""
    width = len(kinds) + (months is not None)
    shown, own = (np.zeros((2, frame.height, width)) for frame in (labels, people))
    shown_sets, own_sets = dict[int, Marks](), dict[int, Marks]()
    for index, (name, kind) in enumerate(kinds.items()):
        if kind is Kind.CATEGORICAL or name in trees:
            shown_sets[index], own_sets[index] = _members(labels[name], people[name], trees.get(name, {}))
        else:
            shown[:, :, index], own[:, :, index] = _ranges(labels[name], kind), _numbers(people[name], kind)
    if months is not None:
        own[:, :, -1], shown[:, :, -1] = months[0], months[1:]
    classes, places = _boxes(shown, shown_sets), _boxes(own, own_sets)
    first, second = meeting(classes[1], places[1])
    return classes[0][first], places[0][second]


def _boxes(ends: Left, sets: Mapping[int, Marks]) -> tuple[Numbers, Boxes]:
    """Return the boxes that cover anything, and their numbers; what cannot be read covers nothing."""
    some = (ends[0] <= ends[1]).all(axis=1)
    for members in sets.values():
        some &= members.any(axis=1)
    kept = np.flatnonzero(some)
    return kept, Boxes(ends[0, kept], ends[1, kept], {index: members[kept] for index, members in sets.items()})


def _members(labels: pl.Series, values: pl.Series, tree: Mapping[str, Sequence[str]]) -> tuple[Marks, Marks]:
    """Return which values each label covers, and which one each person has: sets of the values of people."""
    known, value_of = _distinct(values)
    shown, label_of = _distinct(labels)
    place = {text: number for number, text in enumerate(known)}
    fits = np.zeros((len(shown), len(known)), dtype=np.bool_)
    for number, label in enumerate(shown):
        if label == STAR:
            fits[number] = True
        else:
            members = tree[label] if label is not None and label in tree else split_set(label)
            fits[number, [place[member] for member in members if member in place]] = True
    own = np.zeros((len(value_of), len(known)), dtype=np.bool_)
    own[np.arange(len(value_of)), value_of] = True
    return fits[label_of], own


def _distinct(column: pl.Series) -> tuple[list[str | None], Numbers]:
    distinct = column.unique(maintain_order=True).to_list()
    place = {text: number for number, text in enumerate(distinct)}
    return distinct, np.array([place[text] for text in column.to_list()], dtype=np.int64)


def _numbers(values: pl.Series, kind: Kind) -> Left:
    own, _, _ = written_ends(values, kind)
    return np.where(values.is_null().to_numpy(), MISSING, own)


def _ranges(labels: pl.Series, kind: Kind) -> tuple[Left, Left]:
    low, high, half_open = written_ends(labels, kind)
    missing, star = labels.is_null().to_numpy(), labels.eq_missing(STAR).to_numpy()
    low = np.where(missing, MISSING, np.where(star, -HIGHEST, low))
    return low, np.where(missing | star, MISSING, np.where(half_open, np.nextafter(high, -np.inf), high))


# Record tracing on several releases: rows are followed from each release to the next one by their values.
#
# Letters: n people, z places (classes and values that they have), v values.


class _Step(NamedTuple):
    """Between two releases: which places a row can go from and to, and how many rows of each newer place are old."""

    older: Numbers
    newer: Numbers
    fixed: Numbers


class WaysThrough:
    """The ways that rows can have gone through all releases.

    A row goes on only where some world lets it: no value changes, classes meet, and every older row has a place in the
    newer release. Whoever came with a release has none of the rows there that are old in every world.
    """

    def __init__(self, releases: Sequence[Released]) -> None:
        """Work out each step. Raises ``InputError`` when two neighbours do not belong together."""
        self.places = [each.places for each in releases]
        self.steps = [_step(older, newer) for older, newer in pairwise(releases)]
        self.width = 1 + max(int(each.value_of.max(initial=0)) for each in self.places)

    def left(self, covers: Sequence[Covering], came: int) -> Left:
        """Return the rows of each value that are left to people who came with one release; float64 (n, v).

        Of each value as many as in the release that leaves fewest: those on some way through all releases, from the own
        one, along classes that cover the person. O(n v), and the edges between these.
        """
        found = np.zeros((covers[0].count, self.width))
        if not len(self._release_of):
            return found
        person, place = (np.zeros(0, dtype=np.int64) for _ in range(2))
        for each, places, first in zip(covers[came:], self.places[came:], self._firsts[came:], strict=False):
            owner, at = row_runs(places.starts[each.class_of], np.diff(places.starts)[each.class_of])
            person, place = np.append(person, each.person[owner]), np.append(place, at + first)
        order = np.lexsort((place, person))
        rows = np.concatenate([places.rows for places in self.places])
        if came:
            rows[self._release_of == came] -= self.steps[came - 1].fixed
        starts = np.searchsorted(person[order], np.arange(len(found) + 1)).astype(np.int64)
        values = np.concatenate([places.value_of for places in self.places])
        rows_on_ways(Lists(starts, place[order]), Ways(self._release_of, values, rows, self._onward), came, found)
        return found

    @cached_property
    def _firsts(self) -> Numbers:
        """The number of the first place of each release, all releases together, and how many there are."""
        return np.cumsum([0, *(len(places.rows) for places in self.places)])

    @cached_property
    def _release_of(self) -> Numbers:
        return np.repeat(np.arange(len(self.places)), np.diff(self._firsts))

    @cached_property
    def _onward(self) -> Lists:
        nothing = np.zeros(0, dtype=np.int64)
        older = np.concatenate([nothing, *(step.older + self._firsts[at] for at, step in enumerate(self.steps))])
        newer = np.concatenate([nothing, *(step.newer + self._firsts[at] for at, step in enumerate(self.steps, 1))])
        order = np.argsort(older, kind="stable")
        starts = np.searchsorted(older[order], np.arange(len(self._release_of) + 1)).astype(np.int64)
        return Lists(starts, newer[order])


def _step(older: Released, newer: Released) -> _Step:
    edges = edges_between(older.places, newer.places, meeting(older.boxes, newer.boxes))
    counted = at_once(edges)
    some = counted.together > 0
    return _Step(edges.older[some], edges.newer[some], counted.fixed)


AT_ONCE = 1 << 12
"""People who are attacked at a time."""
TRACING = "record tracing through all releases"
COMPOSITION = "composition of independent releases"
ONE_SERIES = "the releases are of one series, and were made with regard to each other"
NEEDS_KEY = "it needs --key, the column that says who is in several releases"


class _Known(NamedTuple):
    """What an attacker knows: classes that cover people, when they `came`, their `records`; alike ones are `times`."""

    covers: list[Covering]
    came: NDArray[np.int64]
    records: NDArray[np.int64]
    times: NDArray[np.int64]


@dataclass(frozen=True)
class Played:
    """What one attack left to people."""

    attack: str
    cases: int  # cases: people, once for each two releases where two are compared
    # `least_rows`, `least_values`: The fewest rows, and different values of all that rows publish beside their class,
    # that are left to somebody. No rows where sensitive values are counted.
    least_rows: int | None = None
    least_values: int | None = None
    below: int = 0  # cases in which fewer rows, or values, are left than the releases promise
    alone: int = 0  # cases in which one is left, or none
    unplayed: str | None = None  # why it could not be played
    # people whom one release alone leaves fewer than promised, where that is counted; they are not in `below`
    by_one_release: int | None = None
    # people who would be left fewer if the attacker took the class of somebody else; a control
    by_chance: int | None = None

    def __str__(self) -> str:
        """Write it as one line."""
        if not self.cases:
            return f"  {self.attack}: not played, because {self.unplayed or 'there is nobody whom it is about'}"
        verdict = "falls" if self.below else "stands"
        least = counted(self.least_values or 0, "value") if self.least_rows is None else counted(self.least_rows, "row")
        line = f"  {self.attack}: {verdict}; {least} at least in {self.cases:,} cases"
        if self.below:
            line += f", fewer than promised in {self.below:,}, no more than one in {self.alone:,}"
        if self.by_one_release is not None and self.by_chance is not None:
            line += f" (one release alone: {self.by_one_release:,}; with somebody else's class: {self.by_chance:,})"
        return line


@dataclass(frozen=True)
class SeriesAttacks:
    """What several releases tell of people together."""

    releases: int
    promised: int  # rows, or different sensitive values, that every single release leaves to everybody
    alone: tuple[int, ...]  # the fewest that each release leaves to somebody by itself: the control
    played: tuple[Played, ...]
    counts: Literal["row", "value"] = "row"  # what is counted, ``"row"`` or ``"value"``

    @property
    def ok(self) -> bool:
        """Tell whether nobody was left fewer than promised."""
        return not any(each.below for each in self.played)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        """Return a line for each attack."""
        head = f"{counted(self.releases, 'release')}; each promises {counted(self.promised, self.counts)} to everybody"
        control = f"  one release by itself: {counted(min(self.alone), self.counts)} at least"
        return "\n".join([head, control, *map(str, self.played)])


def releases_of(folders: Sequence[Path]) -> list[Path]:
    """Return the release folders of a series, or those that were named."""
    if len(folders) == 1:
        return list(SeriesFolder.open(folders[0]).releases)
    return list(folders)


def attack_releases(
    releases: Sequence[Path], originals: Sequence[Path], reading: Policy | None = None, *, key_form: str | None = None
) -> SeriesAttacks:
    """Play attacks on releases whose people are known.

    `releases`: folders, the oldest first; at least two. `originals`: tables of the people who came with the first
    release, with the second one, and so on; with one table everybody is in all of them. `reading`: how to read these
    tables; None: as files of commas in UTF-8. `key_form`: which spellings of a key are one person's, where people may
    have several records; None: as `reading` says. Raises ``InputError`` when tables and releases do not fit each other,
    or keys may be spellings of each other. Raises ``VerificationError`` when the releases cannot be compared. Raises
    ``PolicyError`` for releases with counterfeits, and from which people withdrew.

    The attacker knows the quasi-identifying values of one person and with which release the person came, and that
    people stay. Several classes may cover a person; the rows of all of them are counted. Where the releases are about
    people with several records, the attacker knows all of a person's, which one class has to cover; rows are counted
    for each record of the person, so that one row of ten is left to whoever has two of twenty. Records that come with a
    later table than the first of the person are taken for left out. *Intersection*: of each value as many rows as the
    release has that has fewest. *Difference*: rows that one release has more than the one before. *Forward and cross*,
    *backward*: :func:`~sfumato.series.recount.recount_pair`, for each two releases; rows that can be traced from one
    release to the other are excluded there. *Record tracing*: rows are followed through all releases
    (:class:`~sfumato.series.attacks.WaysThrough`). Cost, for each two releases, O(n v), and what the classes that cover
    a person have in common with each other.
    """
    if len(releases) < 2:
        raise InputError("an attack on a series needs two releases or more")
    if not 1 <= len(originals) <= len(releases):
        raise InputError("--original: give one table of everybody, or one for each release: who came with it")
    read = [ReadRelease.of(path) for path in releases]
    if any(each.published.invented for each in read):
        raise PolicyError(
            "attack: these attacks know people who stay, not people who leave and come back, nor counterfeits, "
            "as in releases of m-invariance; name the column of people with --key, and give for each release the "
            "table of everybody who is in it"
        )
    if any(each.place is not None and each.place.way == WITHDRAWAL for each in read):
        raise PolicyError(
            "attack: people withdrew from these releases, and these attacks know people who stay; leave out the "
            "releases of the way 'withdrawal' and all later ones, or name the column of people with --key"
        )
    labelled = [Labelled.read(each) for each in read]
    models = [model for entry in read[-1].description.models if (model := build_model(entry)) is not None]
    promised = least_class_size(models) or 1
    known = _known(labelled, originals, reading, _person_key(read), key_form)
    shown = recipients(labelled)
    alone = [_alone(release, known, number) for number, release in enumerate(shown)]
    least = tuple(int(each[:, 0].min()) for each in alone)
    if min(least) == 0:
        raise InputError(
            "--original: somebody is covered by no class of a release; give the people of each release in its order, "
            "just as they were published"
        )
    played = (_intersection(shown, known), *_of_pairs(shown, known), _differences(shown, known), _traced(shown, known))
    together = Played(COMPOSITION, 0, unplayed=ONE_SERIES if of_one_series(read) else NEEDS_KEY)
    return SeriesAttacks(len(shown), promised, least, (*(_judged(*each, promised) for each in played), together))


def _judged(attack: str, left: Sequence[Left] | str, promised: int) -> Played:
    if isinstance(left, str):
        return Played(attack, 0, unplayed=left)
    if not left or not sum(map(len, left)):
        return Played(attack, 0)
    rows, values = np.concatenate(left).T
    below, one = int((rows < promised).sum()), int((rows <= 1).sum())
    return Played(attack, len(rows), int(rows.min()), int(values.min()), below, one)


def of_one_series(read: Sequence[ReadRelease]) -> bool:
    """Tell whether releases say that they are of one series."""
    ids = {None if each.place is None else each.place.id for each in read}
    return len(ids) == 1 and None not in ids


def read_people(path: Path, names: Sequence[str], reading: Policy | None = None, key: PersonKey = None) -> pl.DataFrame:
    """Read columns of an original table, as a policy says where there is one, and that of keys as text."""
    keys = dict.fromkeys(key_columns(key), Attribute(kind=Kind.CATEGORICAL))
    if reading is None:
        return read_table(path, Schema(quasi_identifying={**dict.fromkeys(names), **keys}, others="drop")).frame
    schema = reading.to_schema()
    settings = {**schema.quasi_identifying, **schema.sensitive}
    attributes = {**{name: replace(settings.get(name, Attribute()), hierarchy=None) for name in names}, **keys}
    columns = policy_columns(Schema(quasi_identifying=attributes, others="drop"))
    return read_table(path, reading.model_copy(update={"columns": columns})).frame


def _known(
    releases: Sequence[Labelled],
    originals: Sequence[Path],
    reading: Policy | None,
    person: PersonKey,
    key_form: str | None,
) -> _Known:
    """Find the classes that cover each person, with which the months in which people came must fit, too."""
    # `person` is the column of people who may have several records; None: everybody has one.
    names = releases[0].labels.columns
    asked = [*names, *key_columns(person)]
    tables = [read_people(path, names, reading, person) for path in originals]
    texts = pl.concat([pl.DataFrame({name: text_of(table[name]) for name in asked}) for table in tables])
    came = np.repeat(np.arange(len(tables)), [table.height for table in tables])
    people = (
        np.arange(len(came))
        if person is None
        else _numbered(person_keys(key_in(texts, key_columns(person)), form_of(reading, key_form)), person)
    )
    first = np.full(int(people.max()) + 1, len(tables))
    np.minimum.at(first, people, came)
    there = came == first[people]
    texts, people = texts.filter(pl.Series(there)), people[there]
    records = np.bincount(people)
    chosen, times = _different(people, values_of([texts.select(names)])[0], first, records)
    texts, people = texts.filter(pl.Series(chosen[people])), (np.cumsum(chosen) - 1)[people[chosen[people]]]
    first, records = first[chosen], records[chosen]
    kinds = kinds_of([each.labels.select(names) for each in releases])
    trees = trees_of(reading, texts)
    covers = []
    for number, each in enumerate(releases, 1):
        months = None if each.arrived is None else (first[people], arrivals(each.arrived, number))
        # One class has all records of a person.
        covers.append(covering(each.labels, texts, kinds, trees, months).of_all_records(people))
    return _Known(covers, first, records, times)


def form_of(reading: Policy | None, key_form: str | None) -> str | None:
    """Return the answer that was given about spellings of keys, or that of the policy."""
    return key_form if key_form is not None or reading is None else reading.columns.key_form


def _different(
    people: NDArray[np.int64], values: NDArray[np.int64], came: NDArray[np.int64], records: NDArray[np.int64]
) -> tuple[Marks, NDArray[np.int64]]:
    """Choose one of the people who came together with as many records, and whose records have the same values."""
    # people, values : int64 (rows,); came, records : int64 (people,). Returns bool (people,), who is chosen, and for
    # each of them how many people are alike; int64.
    rows = pl.DataFrame({"person": people, "value": values}).unique().sort("person", "value")
    own = rows.group_by("person", maintain_order=True).agg(pl.col("value").cast(pl.String))
    told = pl.DataFrame({"values": own["value"].list.join(" "), "came": came, "records": records})
    alike = values_of([told.cast(pl.String)])[0]
    chosen = np.zeros(len(came), dtype=np.bool_)
    chosen[np.unique(alike, return_index=True)[1]] = True
    return chosen, np.bincount(alike)[alike[chosen]]


def _person_key(read: Sequence[ReadRelease]) -> PersonKey:
    """Return the key of people who may have several records, as the policy of a release about such says it."""
    if any(each.description.people is None for each in read):
        return None
    columns = read[-1].policy.content.get("columns")
    person = columns.get("person") if isinstance(columns, Mapping) else None
    return person if isinstance(person, str) else tuple(map(str, person)) if isinstance(person, list) else None


def _numbered(keys: pl.Series, person: PersonKey) -> NDArray[np.int64]:
    if keys.null_count():
        raise InputError(f"--original: somebody has no key in {named_key(person)}, which says who a record is about")
    return keys.rank("dense").to_numpy().astype(np.int64) - 1


def trees_of(reading: Policy | None, people: pl.DataFrame) -> Covers:
    """Return the values under each node of the hierarchies that a policy has for columns of people."""
    attributes = {} if reading is None else reading.to_schema().quasi_identifying
    return {
        name: nodes_under(attribute.hierarchy.build(people[name], name=name))
        for name, attribute in attributes.items()
        if attribute.hierarchy is not None and name in people.columns
    }


def _in_chunks(known: _Known, who: Marks, count: Callable[[NDArray[np.int64]], Left]) -> list[Left]:
    """Count for some people from rows of each value, float64 (m, v), to rows and values, (m, 2), a few at a time."""
    people = np.flatnonzero(who)
    chunks = [people[start : start + AT_ONCE] for start in range(0, len(people), AT_ONCE)]
    counted = ((some, count(some)) for some in chunks)
    found = (
        (some, np.column_stack([each.sum(axis=1) / known.records[some], (each > 0).sum(axis=1)]))
        for some, each in counted
    )
    return [np.repeat(each, known.times[some], axis=0) for some, each in found]


def _width(releases: Sequence[Released]) -> int:
    return 1 + max(int(each.value_of.max(initial=0)) for each in releases)


def _alone(release: Released, known: _Known, number: int) -> Left:
    """Return the rows that a release leaves by itself to whoever is in it."""
    width = _width([release])
    found = _in_chunks(
        known, known.came <= number, lambda some: known.covers[number].take(some).rows(release.places, width)
    )
    return np.concatenate(found)


def _intersection(releases: Sequence[Released], known: _Known) -> tuple[str, list[Left]]:
    """Of each value, take as many rows as the release has that has fewest."""
    values = _width(releases)

    def left(some: NDArray[np.int64]) -> Left:
        found = np.full((len(some), values), np.inf)
        for number, each in enumerate(releases):
            there = known.came[some] <= number
            rows = known.covers[number].take(some[there]).rows(each.places, values)
            found[there] = np.minimum(found[there], rows)
        return found

    return "intersection of all releases", _in_chunks(known, known.came < len(releases) - 1, left)


def _of_pairs(releases: Sequence[Released], known: _Known) -> Iterator[tuple[str, list[Left] | str]]:
    """Play the forward, cross and backward attack on each two releases."""
    forward, backward = list[Left](), list[Left]()
    values = _width(releases)
    for newer in range(1, len(releases)):
        for older in range(newer):
            try:
                found = recount_pair(releases[older], releases[newer])
            except InputError as error:
                reason = " ".join(error.problems)
                yield "forward, cross and backward attack", f"of releases {older + 1} and {newer + 1} {reason}"
                return
            first, second = known.covers[older], known.covers[newer]

            def of_both(
                some: NDArray[np.int64], found: PairRecount = found, first: Covering = first, second: Covering = second
            ) -> Left:
                return _rows_in_both(first.take(some), second.take(some), found, values)

            def of_new(some: NDArray[np.int64], found: PairRecount = found, second: Covering = second) -> Left:
                return second.take(some).rows(found.new, values)

            forward += _in_chunks(known, known.came <= older, of_both)
            backward += _in_chunks(known, (known.came > older) & (known.came <= newer), of_new)
    yield "forward and cross attack on each two releases", forward
    yield "backward attack on each two releases", backward


def _rows_in_both(older: Covering, newer: Covering, found: PairRecount, values: int) -> Left:
    """Sum the rows of all pairs of classes that cover a person in both releases; float64 (n, v)."""
    labels = np.arange(1 + max(int(newer.class_of.max(initial=0)), int(found.newer.max(initial=0))))
    of_newer = np.searchsorted(found.newer, np.append(labels, len(labels))).astype(np.int64)
    width = 1 + max(int(older.class_of.max(initial=0)), int(found.older.max(initial=0)))
    pairs = Pairs(Lists(of_newer, found.older), Lists(found.both.starts, found.both.value_of), found.both.rows)
    rows = np.zeros((older.count, values))
    first, second = (Lists(each.starts, each.class_of) for each in (older, newer))
    rows_in_both(first, second, pairs, np.full(width, -1, dtype=np.int64), rows)
    return rows


def _differences(releases: Sequence[Released], known: _Known) -> tuple[str, list[Left]]:
    """Subtract each release from the one after it; people who came between them have one of the rows that are left."""
    found = list[Left]()
    for number in range(1, len(releases)):
        groups = subtract(releases[number - 1], releases[number])
        came = np.flatnonzero(known.came == number)
        covers = known.covers[number].take(came)
        width = len(groups.narrowed.rows)
        person, group = np.divmod(np.unique(covers.person * width + groups.group_of[covers.class_of]), max(1, width))
        rows, values = (np.bincount(person, weights=each[group], minlength=len(came)) for each in groups.narrowed)
        found.append(np.repeat(np.column_stack([rows / known.records[came], values]), known.times[came], axis=0))
    return "difference of neighbours", found


def _traced(releases: Sequence[Released], known: _Known) -> tuple[str, list[Left] | str]:
    """Follow rows through all releases; people have one of those whose way can be theirs."""
    try:
        traces = WaysThrough(releases)
    except InputError as error:
        return TRACING, " ".join(error.problems)
    found = list[Left]()
    for came in range(len(releases)):

        def count(some: NDArray[np.int64], came: int = came) -> Left:
            return traces.left([each.take(some) for each in known.covers], came)

        found += _in_chunks(known, known.came == came, count)
    return TRACING, found


# The intersection attack on sensitive values, where people come, stay, leave and come back.
#
# Letters: n people, c classes of a release, v sensitive values.


KEY = " key"
"""A name that no column of a table has, as blanks around names are dropped."""

ATTACK = "intersection of the sensitive values of all releases that somebody is in"


def attack_present(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: PersonKey,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Play the intersection of sensitive values on releases, each with one sensitive column, of whoever was there.

    The attacker knows the quasi-identifying values of one person, and in which releases the person is. The value is one
    of those of the classes that cover the person, counterfeits among them, in each of these. It falls short of somebody
    who knows everybody's values and so everybody's class. Cost O(n · c · v) for each release.
    """
    if len(releases) < 2:
        raise InputError("an attack on a series needs two releases or more")
    if len(originals) != len(releases):
        raise InputError("--original: with --key, give for each release the table of everybody who is in it")
    read = [ReadRelease.of(path) for path in releases]
    promised = min(map(_promised_values, read))
    people = people_of(originals, read, key, reading, key_form)
    left, alone, times = _left(read, people, reading)
    again = left[times > 1]
    played = Played(ATTACK, 0)
    if len(again):
        below, one = int((again < promised).sum()), int((again <= 1).sum())
        played = Played(ATTACK, len(again), None, int(again.min()), below, one)
    return SeriesAttacks(len(read), promised, alone, (played,), "value")


def _promised_values(release: ReadRelease) -> int:
    """Return how many different sensitive values every class has, as the models promise it."""
    if len(release.published.sensitive) != 1:
        raise PolicyError(f"{release.path.name}: has not one sensitive column; without --key, attacks count rows")
    models = [model for entry in release.description.models if (model := build_model(entry)) is not None]
    promises = [math.ceil(model.parameters()["l"]) for model in models if "l" in model.parameters()]
    if not promises:
        raise PolicyError(
            f"{release.path.name}: promises no number of different sensitive values; without --key, attacks count rows"
        )
    return int(max(promises))


def people_of(
    originals: Sequence[Path], read: Sequence[ReadRelease], key: PersonKey, reading: Policy | None, key_form: str | None
) -> list[pl.DataFrame]:
    """Read keys and quasi-identifying values of each release as text; the key comes first, in a column :data:`KEY`.

    Raises ``InputError`` when the key is published, is missing, is there twice, or may be a spelling of another.
    """
    shown = [Labelled.read(each).labels.columns for each in read]
    columns = key_columns(key)
    if published := [name for name in columns if any(name in names for names in shown)]:
        raise InputError(f"--key: {published[0]!r} is published; name the identifying column of the original tables")
    tables = [read_people(path, names, reading, key) for path, names in zip(originals, shown, strict=True)]
    keys = keys_of_tables([key_in(table, columns) for table in tables], form_of(reading, key_form), key)
    for path, own in zip(originals, keys, strict=True):
        if own.null_count() or own.n_unique() < len(own):
            raise InputError(f"{path.name}: somebody has no key in {named_key(key)}, or is there twice")
    return [
        pl.DataFrame([own.alias(KEY), *(text_of(table[name]).alias(name) for name in names)])
        for own, table, names in zip(keys, tables, shown, strict=True)
    ]


def _left(
    releases: Sequence[ReadRelease], people: Sequence[pl.DataFrame], reading: Policy | None
) -> tuple[NDArray[np.int64], tuple[int, ...], NDArray[np.int64]]:
    """Return how many values are left to each person, the fewest that each release leaves, and each person's times."""
    labelled = [Labelled.read(each) for each in releases]
    kinds = kinds_of([each.labels.select(people[0].columns[1:]) for each in labelled])
    sensitive = [
        each.others.select(release.published.sensitive) for each, release in zip(labelled, releases, strict=True)
    ]
    values = values_of(sensitive)
    width = 1 + max(int(each.max(initial=-1)) for each in values)
    everybody = pl.concat([each[KEY] for each in people]).unique(maintain_order=True)
    place = pl.DataFrame({KEY: everybody}).with_row_index("place")
    left = np.ones((len(everybody), width), dtype=np.bool_)
    times, alone = np.zeros(len(everybody), dtype=np.int64), []
    for each, value_of, there in zip(labelled, values, people, strict=True):
        own = np.zeros((each.labels.height, width), dtype=np.bool_)
        own[each.class_of, value_of] = True
        covers = covering(each.labels, there.drop(KEY), kinds, trees_of(reading, there))
        found = covers.values(own)
        if not found.any(axis=1).all():
            raise InputError("--original: somebody is covered by no class of a release; give everybody as published")
        rows = there.join(place, on=KEY, how="left", maintain_order="left")["place"].to_numpy()
        left[rows] &= found
        times[rows] += 1
        alone.append(int(found.sum(axis=1).min()))
    return left.sum(axis=1), tuple(alone), times


PEOPLE_LEAVE = "with --key people may leave, and a row that is found no more need not be traced elsewhere"


def attack_with_keys(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: PersonKey,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Play what can be played where people are told apart by a key, and may leave."""
    if of_one_series([ReadRelease.of(path) for path in releases]):
        found = attack_present(releases, originals, key, reading, key_form=key_form)
        unplayed = Played(TRACING, 0, unplayed=PEOPLE_LEAVE), Played(COMPOSITION, 0, unplayed=ONE_SERIES)
        return replace(found, played=(*found.played, *unplayed))
    return compose(releases, originals, key, reading, key_form=key_form)


def compose(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: PersonKey,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Intersect the sensitive values of the classes that somebody can be in, over releases made independently.

    `promised`: the smallest number of different values that releases promise, or 2. People count whom no release alone
    leaves fewer. `by_one_release`: whom one does; `by_chance`: who would be, if everybody's class in the last release
    were the next person's: a control. The attacker knows the quasi-identifying values of one person, and the person's
    releases. Cost O(n · c · v) each. *Source.* S. R. Ganta, S. P. Kasiviswanathan, A. Smith, "Composition attacks and
    auxiliary information in data privacy", KDD 2008.
    """
    if len(releases) < 2:
        raise InputError("an attack on a series needs two releases or more")
    if len(originals) != len(releases):
        raise InputError("--original: with --key, give for each release the table of everybody who is in it")
    read = [ReadRelease.of(path) for path in releases]
    common = [name for name in read[0].published.sensitive if all(name in each.published.sensitive for each in read)]
    if not common:
        raise PolicyError("composition: no sensitive column is in all releases, so that there is nothing to intersect")
    people = people_of(originals, read, key, reading, key_form)
    found = _sets(read, people, common, reading)
    promised = min((_promised(each) for each in read), default=2)
    return _composed(found, [table[KEY] for table in people], promised)


def _promised(release: ReadRelease) -> int:
    models = [model for entry in release.description.models if (model := build_model(entry)) is not None]
    promised: list[int] = [math.ceil(model.parameters()["l"]) for model in models if "l" in model.parameters()]
    return max([2, *promised])


def _sets(
    read: Sequence[ReadRelease], people: Sequence[pl.DataFrame], common: list[str], reading: Policy | None
) -> list[Marks]:
    """Return which values are left to the people of each release by itself; bool (n, v) for each."""
    labelled = [Labelled.read(each) for each in read]
    values = values_of([each.others.select(common) for each in labelled])
    width = 1 + max(int(each.max(initial=-1)) for each in values)
    found = []
    for each, value_of, there in zip(labelled, values, people, strict=True):
        own = np.zeros((each.labels.height, width), dtype=np.bool_)
        own[each.class_of, value_of] = True
        # Each release is read by itself: another may publish the same column in another way.
        kinds, trees = kinds_of([each.labels]), trees_of(reading, there)
        found.append(covering(each.labels, there.drop(KEY), kinds, trees).values(own))
        if not found[-1].any(axis=1).all():
            raise InputError("--original: somebody is covered by no class of a release; give everybody as published")
    return found


def _composed(sets: Sequence[Marks], keys: Sequence[pl.Series], promised: int) -> SeriesAttacks:
    everybody = pl.concat(list(keys)).unique(maintain_order=True)
    place = pl.DataFrame({KEY: everybody}).with_row_index("place")
    rows = [
        pl.DataFrame({KEY: each}).join(place, on=KEY, how="left", maintain_order="left")["place"].to_numpy()
        for each in keys
    ]
    left = _intersected(sets, rows, len(everybody))
    shifted = _intersected([*sets[:-1], np.roll(sets[-1], 1, axis=0)], rows, len(everybody))
    times, fewest = np.zeros(len(everybody), dtype=np.int64), np.full(len(everybody), np.iinfo(np.int64).max)
    for each, there in zip(sets, rows, strict=True):
        times[there] += 1
        fewest[there] = np.minimum(fewest[there], each.sum(axis=1))
    several, kept = times > 1, fewest >= promised
    alone = tuple(int(each.sum(axis=1).min()) for each in sets)
    if not several.any():
        return SeriesAttacks(len(sets), promised, alone, (Played(COMPOSITION, 0),), "value")
    asked = several & kept
    below, one = (left < promised) & asked, (left <= 1) & asked
    chance = (shifted < promised) & (shifted > 0) & asked
    played = Played(
        COMPOSITION,
        int(several.sum()),
        None,
        int(left[several].min()),
        int(below.sum()),
        int(one.sum()),
        by_one_release=int((several & ~kept).sum()),
        by_chance=int(chance.sum()),
    )
    return SeriesAttacks(len(sets), promised, alone, (played,), "value")


def _intersected(sets: Sequence[Marks], rows: Sequence[NDArray[np.integer]], count: int) -> NDArray[np.int64]:
    left = np.ones((count, sets[0].shape[1]), dtype=np.bool_)
    for each, there in zip(sets, rows, strict=True):
        left[there] &= each
    return np.asarray(left.sum(axis=1), dtype=np.int64)

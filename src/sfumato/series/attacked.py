"""Attacks on several releases of the same people, played for people whose values are known.

Letters: n people, c classes of a release, v values (all that rows publish beside their class), p pairs of classes.
"""

from __future__ import annotations

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
from sfumato.models.says import least_class_size
from sfumato.numbers import counted
from sfumato.policy.columns import policy_columns
from sfumato.policy.policy import Policy
from sfumato.release.description import build_model
from sfumato.series.covering import Covering, covering
from sfumato.series.description import Covers, SeriesFolder
from sfumato.series.labels import Labelled, arrivals, kinds_of, nodes_under, recipients, values_of
from sfumato.series.reading import ReadRelease
from sfumato.series.recount.pair import PairRecount, at_once, recount_pair, subtract
from sfumato.series.recount.released import Released, edges_between, meeting, row_runs
from sfumato.series.ways import WITHDRAWAL
from sfumato.table.person_keys import PersonKey, key_columns, key_in, named_key, person_keys
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema, text_of

# Record tracing on several releases: rows are followed from each release to the next one by their values.
#
# Letters: n people, z places (classes and values that they have), v values.


Numbers = NDArray[np.int64]


class _Step(NamedTuple):
    """Between two releases: which places a row can go from and to, and how many rows of each newer place are old."""

    older: Numbers
    newer: Numbers
    fixed: Numbers


class Traces:
    """The ways that rows can have gone through all releases.

    Notes
    -----
    A row goes on only where some world lets it: no value changes, classes meet, and every older row has a place in the
    newer release. Whoever came with a release has none of the rows there that are old in every world.
    """

    def __init__(self, releases: Sequence[Released]) -> None:
        """Work out each step.

        Raises
        ------
        InputError
            When two neighbours do not belong together.
        """
        self.places = [each.places for each in releases]
        self.steps = [_step(older, newer) for older, newer in pairwise(releases)]
        self.width = 1 + max(int(each.value_of.max(initial=0)) for each in self.places)

    def left(self, covers: Sequence[Covering], came: int) -> Left:
        """Return the rows of each value that are left to people who came with one release; float64 (n, v).

        Parameters
        ----------
        covers
            For each release, which of its classes cover each person.
        came
            The release, from 0.

        Notes
        -----
        Of each value as many rows as in the release that leaves fewest: those on some way through all releases, from
        the one with which the person came, along classes that cover the person. Cost O(n v), and the edges between the
        classes that cover a person.
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


Left = NDArray[np.float64]
Marks = NDArray[np.bool_]

AT_ONCE = 1 << 12
"""People who are attacked at a time."""
TRACING = "record tracing through all releases"
COMPOSITION = "composition of independent releases"
ONE_SERIES = "the releases are of one series, and were made with regard to each other"
NEEDS_KEY = "it needs --key, the column that says who is in several releases"


class _Known(NamedTuple):
    """What an attacker knows of people: which classes of each release cover them, and with which release they came.

    People of whom the same is known are one: `times` int64 (n,) says how many they are. `came` int64 (n,) from 0,
    `records` int64 (n,) how many rows each has.
    """

    covers: list[Covering]
    came: NDArray[np.int64]
    records: NDArray[np.int64]
    times: NDArray[np.int64]


@dataclass(frozen=True)
class Played:
    """What one attack left to people.

    Attributes
    ----------
    attack : str
    cases : int
        Cases: people, once for each two releases where two are compared.
    least_rows, least_values : int or None
        The fewest rows, and different values of all that rows publish beside their class, that are left to somebody.
        No rows where sensitive values are counted.
    below : int
        Cases in which fewer rows, or values, are left than the releases promise.
    alone : int
        Cases in which one is left, or none.
    unplayed : str or None
        Why it could not be played.
    by_one_release : int or None
        People whom one release alone leaves fewer than promised, where that is counted; they are not in `below`.
    by_chance : int or None
        People who would be left fewer if the attacker took the class of somebody else; a control.
    """

    attack: str
    cases: int
    least_rows: int | None = None
    least_values: int | None = None
    below: int = 0
    alone: int = 0
    unplayed: str | None = None
    by_one_release: int | None = None
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
    """What several releases tell of people together.

    Attributes
    ----------
    releases : int
    promised : int
        Rows, or different sensitive values, that every single release leaves to everybody.
    alone : tuple of int
        The fewest that each release leaves to somebody by itself: the control.
    played : tuple of Played
    counts : str
        What is counted, ``"row"`` or ``"value"``.
    """

    releases: int
    promised: int
    alone: tuple[int, ...]
    played: tuple[Played, ...]
    counts: Literal["row", "value"] = "row"

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

    Parameters
    ----------
    releases
        Folders, the oldest first; at least two.
    originals
        Tables of the people who came with the first release, with the second one, and so on; with one table everybody
        is in all of them.
    reading
        How to read these tables; None: as files of commas in UTF-8.
    key_form
        Which spellings of a key are one person's, where people may have several records; None: as `reading` says.

    Raises
    ------
    InputError
        When tables and releases do not fit each other, or keys may be spellings of each other.
    VerificationError
        When the releases cannot be compared.
    PolicyError
        For releases with counterfeits, and from which people withdrew.

    Notes
    -----
    The attacker knows the quasi-identifying values of one person and with which release the person came, and that
    people stay. Several classes may cover a person; the rows of all of them are counted. Where the releases are about
    people with several records, the attacker knows all of a person's, which one class has to cover; rows are counted
    for each record of the person, so that one row of ten is left to whoever has two of twenty. Records that come with a
    later table than the first of the person are taken for left out. *Intersection*: of each value
    as many rows as the release has that has fewest. *Difference*: rows that one release has more than the one
    before. *Forward and cross*, *backward*: :func:`~sfumato.series.recount.pair.recount_pair`, for each two releases;
    rows that can be traced from one release to the other are excluded there. *Record tracing*: rows are followed
    through all releases (:class:`~sfumato.series.attacked.Traces`). Cost, for each two releases, O(n v), and
    what the classes that cover a person have in common with each other.
    """
    if len(releases) < 2:
        raise InputError("an attack on a series needs two releases or more")
    if not 1 <= len(originals) <= len(releases):
        raise InputError("--original: give one table of everybody, or one for each release: who came with it")
    read = [ReadRelease.of(path) for path in releases]
    if any(each.published.invented for each in read):
        raise PolicyError(
            "series attack: these attacks know people who stay, not people who leave and come back, nor counterfeits, "
            "as in releases of m-invariance; say with --key which column tells who a record is about, and give for "
            "each release the table of everybody who is in it"
        )
    if any(each.place is not None and each.place.way == WITHDRAWAL for each in read):
        raise PolicyError(
            "series attack: people withdrew from these releases, and these attacks know people who stay; leave the "
            "releases of the way 'withdrawal' and all after them out, or say with --key who a record is about"
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
    said = {**schema.quasi_identifying, **schema.sensitive}
    wanted = {**{name: replace(said.get(name, Attribute()), hierarchy=None) for name in names}, **keys}
    columns = policy_columns(Schema(quasi_identifying=wanted, others="drop"))
    return read_table(path, reading.model_copy(update={"columns": columns})).frame


def _known(
    releases: Sequence[Labelled],
    originals: Sequence[Path],
    reading: Policy | None,
    person: PersonKey,
    key_form: str | None,
) -> _Known:
    """Find the classes that cover each person, with which the months in which people came must fit, too.

    `person` is the column of people who may have several records; None: everybody has one.
    """
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
    """Choose one of the people who came together with as many records, and whose records have the same values.

    people, values : int64 (rows,); came, records : int64 (people,). Returns bool (people,), who is chosen, and for each
    of them how many people are alike; int64.
    """
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
    """Count for some people, a few at a time: from rows of each value, float64 (m, v), to rows and values, (m, 2).

    Rows are those for each record that a person has.
    """
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
        traces = Traces(releases)
    except InputError as error:
        return TRACING, " ".join(error.problems)
    found = list[Left]()
    for came in range(len(releases)):

        def count(some: NDArray[np.int64], came: int = came) -> Left:
            return traces.left([each.take(some) for each in known.covers], came)

        found += _in_chunks(known, known.came == came, count)
    return TRACING, found

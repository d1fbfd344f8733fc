"""What several publications of one data set tell together: tables, counts and releases, of any kinds and versions.

Each may be safe alone. The attacker knows the quasi-identifying values of everybody, and who is in the data.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.evaluation.attacks.placement import place_people, register_attributes
from sfumato.evaluation.attacks.posterior import posterior, sensitive_of
from sfumato.models import known_models
from sfumato.models.protocol import smallest_allowed
from sfumato.numbers import counted
from sfumato.published import MarginalTables, Published, PublishedTable
from sfumato.published.apart import COUNT
from sfumato.recoding.choice import Recoding
from sfumato.release.verify import read_release
from sfumato.table.schema import Schema
from sfumato.table.table import Table
from sfumato.whole_files import read_regular_text

FEWEST = 3
"""How many people a group must have, at least, where no promise says so: the usual rule for tables of counts."""

_CELLS = 5
"""Cells that must all grow, or all shrink, before two tables count as versions of one."""

_STRAY = 0.02
"""People whose value one publication excludes, at most, as a share: they were suppressed. More are other people."""

_CHANGE = 0.1
"""People by whom two versions of one table differ at most, as a share; more are another population."""

_HIDDEN = ("", "*", "x", "X", "c", "s", "-", "–", ".", "..", ":")
"""What stands in place of a count that is hidden."""

_TOTALS = ("*", "total", "all", "sum")
"""What a row says, in small letters, in a column over which it is a total; unless the data set has it as a value."""

_PAIR, _ORDERED = 2, 3
"""Publications in a pair; and those that are taken from each other in every order, at most."""

_PLACE = "\0"
"""A name that no column has."""

_ROUNDS = 100
"""Rounds in which bounds of cells tighten each other, at most."""

_MOST = 10_000_000
"""People that a table of counts may speak of."""

_People = NDArray[np.int64] | None
"""Who each record is of, int64 (n,); None where every record is another person."""


@dataclass(frozen=True, eq=False, repr=False)
class Publication:
    """One thing that was published about a data set."""

    name: str
    published: Published
    recoding: Recoding
    least: int  # people that a group must have
    parts: Sequence[_Part] = ()  # of a table of counts with hidden cells or totals: each choice of columns by itself


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """Counts by some columns. `labels`: (c, q); `low`, `high`: int64 (c,), where a count lies. A total has no value."""

    labels: pl.DataFrame
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class _Groups:
    """People of the original in groups that a publication counts.

    `group_of`: int64 (n,), −1 for people whose group is not known for sure; `counts`: int64 (g, v) of the values, and
    `most`, what they may be where a cell is hidden; `total`: int64 (g,), −1 where none is published.
    """

    group_of: NDArray[np.int64]
    values: tuple[str | None, ...]
    counts: NDArray[np.int64]
    most: NDArray[np.int64]
    total: NDArray[np.int64]

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Tell which cells are hidden: bool (g, v)."""
        open_cells: NDArray[np.bool_] = self.most > self.counts
        return open_cells

    def exact(self) -> _Groups:
        """Return the same without groups that have a hidden cell."""
        whole = np.append(~self.hidden.any(axis=1), False)
        return replace(self, group_of=np.where(whole[self.group_of], self.group_of, -1))

    @property
    def sizes(self) -> NDArray[np.int64]:
        sums: NDArray[np.int64] = self.counts.sum(axis=1)
        return sums

    def gives_away(self, least: int) -> NDArray[np.bool_]:
        """Tell of each person whether the group is too small, or all alike."""
        if not self.values:
            return np.zeros(len(self.group_of), dtype=np.bool_)
        told = (self.sizes < least) | (self.counts.max(axis=1, initial=0) == self.sizes)
        told &= ~self.hidden.any(axis=1)
        return np.append(told, False)[self.group_of]


def read_publications(path: str | Path, original: Table) -> list[Publication]:
    """Read a list of what was published about a data set.

    Parameters
    ----------
    path
        A TOML file with entries ``[[published]]``: a ``release``, which is a folder of any kind, or a ``table`` of
        counts, a CSV file whose column ``count`` says how many people have the values beside it. Paths are relative to
        the file.
    original
        The data set.

    Raises
    ------
    InputError
        With everything that is wrong with every entry.
    """
    source = Path(path)
    try:
        entries = tomllib.loads(read_regular_text(source))["published"]
        assert entries
        assert all(isinstance(one, dict) and ("release" in one) != ("table" in one) for one in entries)
    except (OSError, ValueError, KeyError, AssertionError, TypeError):
        raise InputError(f"{source}: needs entries [[published]], each with release = or table =") from None
    found: list[Publication] = []
    problems: list[str] = []
    for entry in entries:
        try:
            found.append(_read_entry(source.parent, entry, original))
        except SfumatoError as error:
            problems += error.problems
    raise_all(InputError, problems)
    return found


def _read_entry(home: Path, entry: Mapping[str, Any], original: Table) -> Publication:
    if "release" in entry:
        return publication_of(home / str(entry["release"]), str(entry["release"]))
    return table_of_counts(home / str(entry["table"]), original, str(entry.get("count", COUNT)))


def publication_of(release: Any, name: str) -> Publication:
    """Take a release for one publication; its models say how large groups must be."""
    opened = read_release(release)
    models = known_models(opened.description.models) if opened.description is not None else ()
    return Publication(name, opened.published, opened.policy.recoding(), max(FEWEST, smallest_allowed(list(models))))


def table_of_counts(path: Path, original: Table, count: str = COUNT) -> Publication:
    """Read a table that counts people; its cells may be values or labels, such as ``[20..29]``."""
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read as CSV ({type(error).__name__})") from None
    known = {*original.schema.quasi_identifying, *original.schema.sensitive}
    odd = [place for place, name in enumerate(frame.columns, 1) if name != count and name not in known]
    if count not in frame.columns or odd:
        # By number: where there is no header, names are cells.
        more = f"; no column of the data set: {', '.join(map(str, odd))} (by number)" if odd else ""
        raise InputError(f"{path}: needs columns of the data set, and the column {count!r}, which counts people{more}")
    low, high = _cells(frame[count])
    if low.null_count() or not (low >= 0).all() or not (high >= low).all() or low.sum() > _MOST:
        raise InputError(
            f"{path}: column {count!r} must hold whole numbers, 0 or above, {_MOST:,} in all at most; a hidden cell is "
            "empty, a mark such as *, or says <5"
        )
    labels, people = frame.drop(count), low.filter(low == high)
    published = _as_rows(labels.filter(low == high), people, original)
    parts = _parts(labels, low.to_numpy(), high.to_numpy(), original)
    whole = len(parts) == 1 and (low == high).all()
    return Publication(path.name, published, Recoding(), FEWEST, () if whole else parts)


def _cells(counts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Read where each count lies: int64 twice; a hidden one anywhere, or below what is said. Null where it is none."""
    text = counts.fill_null("").str.strip_chars()
    exact, below = text.cast(pl.Int64, strict=False), text.str.extract(r"^<\s*(\d{1,9})$").cast(pl.Int64) - 1
    hidden = text.is_in(_HIDDEN) | below.is_not_null()
    frame = pl.DataFrame({"exact": exact, "below": below, "hidden": hidden})
    of = pl.when("hidden")
    ends = frame.select(
        low=of.then(0).otherwise("exact"), high=of.then(pl.col("below").fill_null(_MOST)).otherwise("exact")
    )
    return ends["low"].cast(pl.Int64), ends["high"].cast(pl.Int64)


def _parts(labels: pl.DataFrame, low: NDArray[np.int64], high: NDArray[np.int64], original: Table) -> tuple[_Part, ...]:
    """Split a table of counts by the columns over which a row is a total."""
    is_total = pl.DataFrame(
        {
            name: labels[name].fill_null("").str.to_lowercase().is_in(_TOTALS)
            & ~labels[name].is_in(original.frame[name].cast(pl.String).unique().drop_nulls().implode())
            for name in labels.columns
        }
    )
    if not labels.width:
        return (_Part(labels, low, high),)
    sums = np.array(is_total.rows(), dtype=np.bool_)
    found = []
    for pattern in np.unique(sums, axis=0):
        rows = np.flatnonzero((sums == pattern).all(axis=1))
        names = [name for name, total in zip(labels.columns, pattern, strict=True) if not total]
        found.append(_Part(labels.select(names)[rows.tolist()], low[rows], high[rows]))
    return tuple(found)


def _as_rows(frame: pl.DataFrame, people: pl.Series, original: Table) -> PublishedTable:
    """Write a row for each person that is counted; a table of totals gets a column in which all agree."""
    rows = frame[np.repeat(np.arange(frame.height), people.to_numpy()).tolist()]
    quasi = tuple(name for name in original.schema.quasi_identifying if name in frame.columns)
    if not quasi:
        first = next(iter(original.schema.quasi_identifying))
        rows, quasi = rows.with_columns(pl.lit("*").alias(first)), (first,)
    return PublishedTable(rows, quasi, tuple(name for name in original.schema.sensitive if name in frame.columns))


def joined(publications: Sequence[Publication], original: Table) -> dict[str, Any]:
    """Join all publications, and say of whom they tell together what fewer of them do not tell.

    Parameters
    ----------
    publications
        All that was published about the data set, the release at hand among them.
    original
        The data set; it tells which conclusions are right. Where a column says who people are, what is told of any of
        their records is told of them: records are looked at, and people are counted.

    Returns
    -------
    dict
        The names, what could not be joined, and ``findings``: of each the names, how many people, and a sentence.
        *Intersection*: one value is left for somebody by all, several by fewer of them. *Difference*: the counts of a
        group less those of groups inside it leave few people, or people who are all alike. *Versions*: two tables of
        the same columns differ by few people, all of whom came, or all of whom left. *Hidden*: a cell that a table of
        counts hides follows from totals. *Bounds*: counts that bound each other leave one value for somebody.

    Notes
    -----
    Cost of the posterior of each publication, O(n) for every two and three of p, and up to 100 rounds of O(p² · n · v)
    for the bounds; v values. Bounds are those of the shuttle algorithm (L. Buzzigoli, A. Giusti, 1999): they hold, and
    need not be the tightest. Publications of other people raise no alarm unless by chance.
    """
    unjoined = {one.name: reason for one in publications if (reason := _reason_against(one, original))}
    tried = [one for one in publications if one.name not in unjoined]
    findings = []
    records, who = _as_records(original)
    for name in original.schema.sensitive:
        told = [_Told.of(one, records, name) for one in tried if name in sensitive_of(one.published)]
        for names, way, people, sentence in _found_in_all(told, name, who):
            findings.append({"publications": names, "way": way, "people": people, "sentence": sentence})
    return {"published": [one.name for one in publications], "unjoined": unjoined, "findings": findings}


def _as_records(original: Table) -> tuple[Table, _People]:
    """Return the table with every record by itself, and who each is of."""
    if original.people is None:
        return original, None
    schema = original.schema
    alone = Schema(quasi_identifying=schema.quasi_identifying, sensitive=schema.sensitive, others="drop")
    frame = original.frame.select(*schema.quasi_identifying, *schema.sensitive)
    return replace(original, frame=frame, schema=alone, people=None, keyless=None), original.people.astype(np.int64)


def _number(told: NDArray[np.bool_], who: _People) -> int:
    """Count the people of whom something is told."""
    return int(told.sum()) if who is None else len(np.unique(who[told]))


def _found_in_all(told: Sequence[_Told], name: str, who: _People) -> Iterator[tuple[list[str], str, int, str]]:
    """Yield what every two tell, then what three and all tell beyond that, then what bounds tell."""
    if not told:
        return
    known = np.zeros((2, len(told[0].is_right)), dtype=np.bool_)
    for one in told:
        known[0] |= (one.is_open.sum(axis=1) == 1) & one.is_right
        for each in one.groups:
            known[1] |= each.gives_away(one.least) | _few(each.group_of, who, one.least)
    for count in dict.fromkeys((2, 3, len(told))):
        # What other publications of the same number tell is told of each: who withdraws one must see the others.
        before = known.copy()
        for some in combinations(told, count) if 2 <= count <= len(told) else ():
            for way, people, sentence in _found(some, name, (before, known), who):
                yield [one.name for one in some], way, people, sentence
    yield from _hidden_cells(told)
    yield from _bounded(told, name, known, who)


def _reason_against(one: Publication, original: Table) -> str:
    if original.repeated is not None:
        return "people have several records, and no column says who they are (columns.person)"
    if not isinstance(one.published, PublishedTable | MarginalTables) and one.published.kind not in (
        "bucketized-tables",
        "sliced-table",
    ):
        return f"a {one.published.kind} says nothing certain about single people"
    return "" if {*sensitive_of(one.published)} & {*original.schema.sensitive} else "no sensitive column stands in it"


@dataclass(frozen=True, eq=False, repr=False)
class _Told:
    """What one publication tells of everybody's value of a sensitive column; n people.

    `is_open`: bool (n, v), the values that it leaves open. `is_right`: bool (n,), whether the true one is among them.
    """

    name: str
    least: int
    values: tuple[str | None, ...]
    is_open: NDArray[np.bool_]
    is_right: NDArray[np.bool_]
    tables: Sequence[PublishedTable]
    groups: Sequence[_Groups]

    @classmethod
    def of(cls, one: Publication, original: Table, name: str) -> _Told:
        if one.parts:
            return cls._of_parts(one, original, name)
        found = posterior(one.published, original, sensitive=name, recoding=one.recoding)
        codes, is_open = found.codes_of(original.frame[name]), found.shares > 0
        is_right = (codes >= 0) & is_open[np.arange(len(codes)), np.maximum(codes, 0)]
        tables = [table for table in _tables(one, original) if name in table.sensitive]
        groups = [group for table in tables if (group := _groups(table, one, original, name)) is not None]
        return cls(one.name, one.least, found.values, is_open, is_right, tables, groups)

    @classmethod
    def _of_parts(cls, one: Publication, original: Table, name: str) -> _Told:
        """Read a table with hidden cells or totals: what is open for somebody is what every part leaves open."""
        truth = original.frame[name].cast(pl.String).to_list()
        groups = [group for part in one.parts if (group := _groups_of_part(part, original, name)) is not None]
        values = tuple(dict.fromkeys([value for group in groups for value in group.values] + truth))
        is_open = np.ones((len(truth), len(values)), dtype=np.bool_)
        for group in groups:
            if group.values:
                possible = np.ones((len(group.most) + 1, len(values)), dtype=np.bool_)
                possible[:-1] = _aligned(group.most, group.values, values) > 0
                is_open &= possible[group.group_of]
        places = {value: place for place, value in enumerate(values)}
        is_right = is_open[np.arange(len(truth)), [places[value] for value in truth]]
        return cls(one.name, one.least, values, is_open, is_right, (), groups)


def _few(group_of: NDArray[np.int64], who: _People, least: int) -> NDArray[np.bool_]:
    """Tell of each record whether fewer people than `least` have records in its group; −1 is no group."""
    # Where every record is another person, the sizes of groups say it.
    known = group_of >= 0
    if who is None or not known.any():
        return np.zeros(len(group_of), dtype=np.bool_)
    pairs = np.unique(np.column_stack([group_of[known], who[known]]), axis=0)
    people = np.bincount(pairs[:, 0], minlength=1)
    few: NDArray[np.bool_] = known & (people[np.where(known, group_of, 0)] < least)
    return few


def _found(
    some: Sequence[_Told],
    name: str,
    told: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    who: _People,
) -> Iterator[tuple[str, int, str]]:
    """Yield what some publications tell that fewer do not, and note whom in `known`."""
    # `told`: bool (2, n) twice, of whom fewer publications tell by value and by being apart; and all so far.
    before, known = told
    names = f"{', '.join(one.name for one in some[:-1])} and {some[-1].name}"
    new = _intersected(some) & ~before[0]
    if people := _number(new, who):
        yield "intersection", people, f"{names} together leave one {name} to {_people(people)}."
    least = min(one.least for one in some)
    isolated = np.zeros(known.shape[1], dtype=np.bool_)
    for outer, *inner in permutations(some) if len(some) <= _ORDERED else [some, some[::-1]]:
        for whole in outer.groups:
            isolated |= _left_over(
                whole.exact(), [[one.exact() for one in each.groups if one.values] for each in inner], least, who
            )
    apart = isolated & ~before[1]
    if people := _number(apart, who):
        yield "difference", people, f"{names}, taken from each other, tell {_people(people)} apart by {name}."
    known |= np.stack([new, apart])
    if len(some) == _PAIR and (people := _of_versions(some[0].tables, some[1].tables, name, least)):
        yield "versions", people, f"{names} differ by {_people(people)}, whose {name} shows."


def _people(count: int) -> str:
    return counted(count, "person")


def _intersected(some: Sequence[_Told]) -> NDArray[np.bool_]:
    """Tell of each person whether all leave one value, which is theirs."""
    # Where they are not about the same people, the own values of many are not left open by one of them.
    there = np.logical_and.reduce([one.is_open.any(axis=1) for one in some])
    is_right: NDArray[np.bool_] = np.logical_and.reduce([one.is_right for one in some])
    if not there.any() or is_right[there].mean() < 1 - _STRAY:
        return np.zeros(len(there), dtype=np.bool_)
    shared = [value for value in some[0].values if all(value in one.values for one in some)]
    both = np.logical_and.reduce([one.is_open[:, [one.values.index(value) for value in shared]] for one in some])
    found: NDArray[np.bool_] = (both.sum(axis=1) == 1) & is_right
    return found


def _tables(one: Publication, original: Table) -> list[PublishedTable]:
    """Return the tables of a publication as rows of people; none for kinds that keep values and people apart."""
    if isinstance(one.published, PublishedTable):
        return [one.published]
    if not isinstance(one.published, MarginalTables):
        return []
    return [_as_rows(frame.drop(COUNT).cast(pl.String), frame[COUNT], original) for frame in one.published.marginals]


def _groups(table: PublishedTable, one: Publication, original: Table, name: str) -> _Groups | None:
    """Return the groups of a table, with their people where as many fit as it counts; None where nothing links them."""
    if not register_attributes(table.data, original.frame, original.schema):
        return None
    placed = place_people(table, original.frame, original.schema, one.recoding, name)
    publication = placed.publication
    counts = np.zeros((len(publication.sizes), len(publication.values)), dtype=np.int64)
    owner = np.repeat(np.arange(len(publication.sizes)), np.diff(publication.starts))
    counts[owner, publication.value_of] = publication.counts
    sure = np.append(placed.filled, False)[placed.class_of]
    group_of = np.where(sure, placed.class_of, -1).astype(np.int64)
    return _Groups(group_of, publication.values, counts, counts, publication.sizes)


def _groups_of_part(part: _Part, original: Table, name: str) -> _Groups | None:
    """Return the groups of a part; None where it counts by another sensitive column, or where the people do not fit."""
    quasi = [one for one in original.schema.quasi_identifying if one in part.labels.columns]
    if {*part.labels.columns} - {*quasi, name}:
        return None
    rows, count = np.zeros(len(part.low), dtype=np.int64), 1
    group_of = np.zeros(original.frame.height, dtype=np.int64)
    if quasi:
        labels = part.labels.select(quasi).unique(maintain_order=True)
        numbered = labels.with_row_index(_PLACE)
        found = part.labels.select(quasi).join(numbered, on=quasi, how="left", nulls_equal=True, maintain_order="left")
        rows, count = found[_PLACE].to_numpy().astype(np.int64), labels.height
        placed = place_people(PublishedTable(labels, tuple(quasi), ()), original.frame, original.schema, Recoding())
        home = np.full(len(placed.publication.sizes) + 1, -1, dtype=np.int64)
        home[placed.publication.class_of] = np.arange(count)
        group_of = home[np.where(placed.class_of >= 0, placed.class_of, -1)]
    values = tuple(part.labels[name].unique(maintain_order=True)) if name in part.labels.columns else ()
    shape = (count, len(values))
    counts, most, total = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(count, -1, np.int64)
    if values:
        codes = [values.index(value) for value in part.labels[name]]
        counts[rows, codes], most[rows, codes] = part.low, part.high
        least, greatest = counts.sum(axis=1), most.sum(axis=1)
    else:
        least, greatest = np.zeros(count, np.int64), np.zeros(count, np.int64)
        least[rows], greatest[rows] = part.low, part.high
        total = np.where(least == greatest, least, -1)
    people = np.bincount(group_of[group_of >= 0], minlength=count)
    sure = np.append((least <= people) & (people <= greatest), False)
    return _Groups(np.where(sure[group_of], group_of, -1), values, counts, most, total)


def _homes(outer: _Groups, inner: _Groups) -> NDArray[np.int64]:
    """Return for each group of `inner` the one group of `outer` that it lies in whole, else −1: int64 (g,)."""
    home = np.full(len(inner.counts), -1, dtype=np.int64)
    known = inner.group_of >= 0
    home[inner.group_of[known]] = outer.group_of[known]
    home[inner.group_of[known][outer.group_of[known] != home[inner.group_of[known]]]] = -1
    return home


def _left_over(outer: _Groups, inner: Sequence[Sequence[_Groups]], least: int, who: _People) -> NDArray[np.bool_]:
    """Tell of each person whether groups inside hers, taken away, leave few people or people who are all alike."""
    # `inner`: the groups of each other publication; one of them is taken away from what the one before leaves.
    told = np.zeros(len(outer.group_of), dtype=np.bool_)
    values = list(dict.fromkeys([*outer.values, *(value for some in inner for one in some for value in one.values)]))
    for some in product(*inner):
        rest, taken = _aligned(outer.counts, outer.values, values), np.zeros(len(told), dtype=np.bool_)
        for one in some:
            home = _homes(outer, one)
            home[one.group_of[taken & (one.group_of >= 0)]] = -1
            inside = np.flatnonzero(home >= 0)
            np.subtract.at(rest, home[inside], _aligned(one.counts, one.values, values)[inside])
            taken |= np.append(home >= 0, False)[one.group_of]
        sizes = rest.sum(axis=1)
        is_true = (rest >= 0).all(axis=1) & (sizes > 0) & (sizes < outer.sizes)
        small = np.append(is_true & ((sizes < least) | (rest.max(axis=1, initial=0) == sizes)), False)
        left = np.where(taken, -1, outer.group_of)
        alone = _few(left, who, least) & np.append(is_true, False)[outer.group_of]
        told |= (small[outer.group_of] | alone) & ~taken
    return told


def _aligned(counts: NDArray[np.int64], names: Sequence[str | None], values: Sequence[str | None]) -> NDArray[np.int64]:
    found = np.zeros((len(counts), len(values)), dtype=np.int64)
    found[:, [values.index(value) for value in names]] = counts
    return found


def _hidden_cells(told: Sequence[_Told]) -> Iterator[tuple[list[str], str, int, str]]:
    """Yield of each table how many hidden cells follow from what is published; who is in the data need not be known."""
    everybody = [(one, group) for one in told for group in one.groups]
    if not any(group.hidden.any() for _, group in everybody):
        return
    found = _bounds([group for _, group in everybody], is_known=False)
    for one in told:
        cells = people = 0
        for (owner, group), (low, high) in zip(everybody, found, strict=False):
            if owner is one and group.values:
                exact = group.hidden & (low == high)[:, : len(group.values)]
                cells, people = cells + int(exact.sum()), people + int(low[:, : len(group.values)][exact].sum())
        if cells:
            counts = f"{counted(cells, 'hidden cell')} of {one.name} {'follows' if cells == 1 else 'follow'}"
            yield [one.name], "hidden", people, f"{counts} from what is published; {_people(people)} in all."


def _bounded(
    told: Sequence[_Told], name: str, known: NDArray[np.bool_], who: _People
) -> Iterator[tuple[list[str], str, int, str]]:
    """Yield to how many more people bounds leave one value, and by which publications; others are left out in turn."""
    right = np.logical_and.reduce([one.is_right | ~one.is_open.any(axis=1) for one in told])
    if right.mean() < 1 - _STRAY:
        return

    def new(some: Sequence[_Told]) -> int:
        groups = [group for one in some for group in one.groups]
        return _number(_alike(groups) & right & ~known.any(axis=0), who) if groups else 0

    people, least = new(told), list(told)
    for one in told if people else ():
        fewer = [each for each in least if each is not one]
        if fewer and new(fewer) == people:
            least = fewer
    if people:
        names = [one.name for one in least]
        yield names, "bounds", people, f"Counts of {' and '.join(names)} leave one {name} to {_people(people)}."


def _alike(groups: Sequence[_Groups]) -> NDArray[np.bool_]:
    """Tell of each person whether all counts together leave one value: bool (n,)."""
    patterns, high = _patterns(groups), _bounds(groups, is_known=True)[-1][1]
    found: NDArray[np.bool_] = ((high > 0).sum(axis=1) == 1)[patterns]
    return found


def _patterns(groups: Sequence[_Groups]) -> NDArray[np.int64]:
    """Return a number for each person, the same for people of the same groups: int64 (n,)."""
    _, found = np.unique(np.column_stack([one.group_of for one in groups]), axis=0, return_inverse=True)
    return found.reshape(-1).astype(np.int64)


def _bounds(groups: Sequence[_Groups], *, is_known: bool) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Bound every cell of every group, and last those of people who are in the same groups, by all others."""
    # `is_known`: whether the attacker knows who is in the data, and so how many share their groups. Each: int64 (g, v)
    # twice; values in the order of the first group's, then of the others'.
    values = list(dict.fromkeys(value for one in groups for value in one.values)) or [None]
    patterns = _patterns(groups)
    sizes = np.bincount(patterns)
    shape = (len(sizes), len(values))
    most = np.broadcast_to(sizes[:, None], shape) if is_known else np.full(shape, _MOST)
    total = sizes if is_known else np.full(len(sizes), -1)
    levels = [*groups, _Groups(patterns, tuple(values), np.zeros(shape, np.int64), most.astype(np.int64), total)]
    ends = [_ends(one, values) for one in levels]
    people = [np.bincount(one.group_of[one.group_of >= 0], minlength=len(one.counts)) for one in levels]
    nested = []
    for (i, outer), (j, inner) in permutations(enumerate(levels), 2):
        home = _homes(outer, inner)
        inside = np.bincount(home[home >= 0], weights=people[j][home >= 0], minlength=len(people[i]))
        if (home >= 0).any():
            nested.append((i, j, home, (inside == people[i]) & (people[i] > 0)))
    for _ in range(_ROUNDS):
        before = sum(int(high.sum()) - int(low.sum()) for low, high in ends)
        for one, (low, high) in zip(levels, ends, strict=True):
            _keep_to_totals(one.total, low, high)
        for i, j, home, is_covered in nested:
            _tighten(ends[i], ends[j], home, is_covered)
        if sum(int(high.sum()) - int(low.sum()) for low, high in ends) == before:
            break
    return [
        (_chosen(low, one, values), _chosen(high, one, values)) for one, (low, high) in zip(levels, ends, strict=True)
    ]


def _ends(one: _Groups, values: Sequence[str | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if one.values:
        return _aligned(one.counts, one.values, values), _aligned(one.most, one.values, values)
    shape = (len(one.counts), len(values))
    return np.zeros(shape, np.int64), np.full(shape, _MOST, np.int64)


def _chosen(ends: NDArray[np.int64], one: _Groups, values: Sequence[str | None]) -> NDArray[np.int64]:
    return ends[:, [values.index(value) for value in one.values]] if one.values else ends


def _keep_to_totals(total: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
    """Tighten the cells of each group by its total, where one is known."""
    rows = np.flatnonzero(total >= 0)
    sums = total[rows, None]
    high[rows] = np.minimum(high[rows], sums - (low[rows].sum(axis=1, keepdims=True) - low[rows]))
    low[rows] = np.maximum(low[rows], sums - (high[rows].sum(axis=1, keepdims=True) - high[rows]))


def _tighten(
    outer: tuple[NDArray[np.int64], NDArray[np.int64]],
    inner: tuple[NDArray[np.int64], NDArray[np.int64]],
    home: NDArray[np.int64],
    is_covered: NDArray[np.bool_],
) -> None:
    """Tighten groups and the groups inside them by each other; those inside add up to what they cover."""
    some = np.flatnonzero(home >= 0)
    place = home[some]
    lows, highs = np.zeros_like(outer[0]), np.zeros_like(outer[1])
    np.add.at(lows, place, inner[0][some])
    np.add.at(highs, place, inner[1][some])
    np.maximum(outer[0], lows, out=outer[0])
    outer[1][is_covered] = np.minimum(outer[1], highs)[is_covered]
    inner[1][some] = np.minimum(inner[1][some], outer[1][place] - (lows[place] - inner[0][some]))
    whole, kept = some[is_covered[place]], place[is_covered[place]]
    rest = highs[kept] - inner[1][whole]
    # The sums are those of before: larger than today's, so that what is taken away is never too little.
    inner[0][whole] = np.maximum(inner[0][whole], outer[0][kept] - np.maximum(rest, 0))


def _of_versions(some: Sequence[PublishedTable], others: Sequence[PublishedTable], name: str, least: int) -> int:
    """Count people by whom two versions of one table differ, in groups that differ by few or by people all alike."""
    people = 0
    for one in some:
        for other in others:
            if {*one.data.columns} == {*other.data.columns} and name in one.sensitive:
                people = max(people, _changed(one, other, name, least))
    return people


def _changed(one: PublishedTable, other: PublishedTable, name: str, least: int) -> int:
    names = [*one.quasi_identifying, name]
    counts = [Counter(table.data.select(names).cast(pl.String).iter_rows()) for table in (one, other)]
    cells = {*counts[0], *counts[1]}
    change = {cell: counts[0][cell] - counts[1][cell] for cell in cells}
    if len(cells) < _CELLS or (min(change.values()) < 0 < max(change.values())):
        return 0
    if abs(sum(change.values())) > _CHANGE * max(sum(one.values()) for one in counts):
        return 0
    groups: dict[tuple[Any, ...], list[int]] = {}
    for cell, difference in change.items():
        if difference:
            groups.setdefault(cell[:-1], []).append(abs(difference))
    return sum(sum(some) for some in groups.values() if sum(some) < least or len(some) == 1)

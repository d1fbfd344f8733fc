"""What several publications of one data set tell together: tables, counts and releases, of any kinds and versions.

Each may be safe alone. The attacker knows the quasi-identifying values of everybody, and who is in the data.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.evaluation.attacks.placement import place_people, register_attributes
from sfumato.evaluation.attacks.posterior import posterior, sensitive_of
from sfumato.models import known_models
from sfumato.models.says import smallest_allowed
from sfumato.numbers import counted
from sfumato.published import MarginalTables, Published, PublishedTable
from sfumato.published.apart import COUNT
from sfumato.recoding.choice import Recoding
from sfumato.release.verify import read_release
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

_MOST = 10_000_000
"""People that a table of counts may speak of."""


@dataclass(frozen=True, eq=False, repr=False)
class Publication:
    """One thing that was published about a data set."""

    name: str
    published: Published
    recoding: Recoding
    least: int  # people that a group must have


@dataclass(frozen=True, eq=False, repr=False)
class _Groups:
    """People of the original in groups that a publication counts exactly.

    `group_of`: int64 (n,), −1 for people whose group is not known for sure; `counts`: int64 (g, v) of the values.
    """

    group_of: NDArray[np.int64]
    values: tuple[str | None, ...]
    counts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        sums: NDArray[np.int64] = self.counts.sum(axis=1)
        return sums

    def gives_away(self, least: int) -> NDArray[np.bool_]:
        """Tell of each person whether the group is too small, or all alike."""
        told = (self.sizes < least) | (self.counts.max(axis=1, initial=0) == self.sizes)
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
    people = frame[count].cast(pl.Int64, strict=False)
    if people.null_count() or not (people >= 0).all() or people.sum() > _MOST:
        raise InputError(f"{path}: column {count!r} must hold whole numbers, 0 or above, {_MOST:,} in all at most")
    return Publication(path.name, _as_rows(frame.drop(count), people, original), Recoding(), FEWEST)


def _as_rows(frame: pl.DataFrame, people: pl.Series, original: Table) -> PublishedTable:
    """Write a row for each person that is counted; a table of totals gets a column in which all agree."""
    rows = frame[np.repeat(np.arange(frame.height), people.to_numpy()).tolist()]
    quasi = tuple(name for name in original.schema.quasi_identifying if name in frame.columns)
    if not quasi:
        first = next(iter(original.schema.quasi_identifying))
        rows, quasi = rows.with_columns(pl.lit("*").alias(first)), (first,)
    return PublishedTable(rows, quasi, tuple(name for name in original.schema.sensitive if name in frame.columns))


def joined(publications: Sequence[Publication], original: Table) -> dict[str, Any]:
    """Join every two publications, and say of whom both tell what neither tells alone.

    Parameters
    ----------
    publications
        All that was published about the data set, the release at hand among them.
    original
        The data set, one record for each person; it tells which conclusions are right.

    Returns
    -------
    dict
        The names, what could not be joined, and ``findings``: of each the two names, how many people, and a sentence.
        Three ways are tried. *Intersection*: one value is left for somebody by both, several by each. *Difference*: the
        counts of a group less those of groups inside it leave few people, or people who are all alike. *Versions*: two
        tables of the same columns differ by few people, all of whom came, or all of whom left.

    Notes
    -----
    Cost of the posterior of each publication, and O(n) for each pair. Only pairs are tried: three publications may
    tell more than every two of them. Publications of other people raise no alarm unless by chance.
    """
    unjoined = {one.name: reason for one in publications if (reason := _reason_against(one, original))}
    tried = [one for one in publications if one.name not in unjoined]
    findings = []
    for name in original.schema.sensitive:
        told = [_Told.of(one, original, name) for one in tried if name in sensitive_of(one.published)]
        for first, second in combinations(told, 2):
            both = {"first": first.name, "second": second.name}
            for way, people, sentence in _found(first, second, name):
                findings.append({**both, "way": way, "people": people, "sentence": sentence})
    return {"published": [one.name for one in publications], "unjoined": unjoined, "findings": findings}


def _reason_against(one: Publication, original: Table) -> str:
    if original.people is not None or original.repeated is not None:
        return "people have several records"
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
        found = posterior(one.published, original, sensitive=name, recoding=one.recoding)
        codes, is_open = found.codes_of(original.frame[name]), found.shares > 0
        is_right = (codes >= 0) & is_open[np.arange(len(codes)), np.maximum(codes, 0)]
        tables = [table for table in _tables(one, original) if name in table.sensitive]
        groups = [group for table in tables if (group := _groups(table, one, original, name)) is not None]
        return cls(one.name, one.least, found.values, is_open, is_right, tables, groups)


def _found(first: _Told, second: _Told, name: str) -> Iterator[tuple[str, int, str]]:
    if people := _intersected(first, second):
        yield "intersection", people, f"{first.name} and {second.name} together leave one {name} to {_people(people)}."
    least = min(first.least, second.least)
    isolated, taken = (np.zeros(len(first.is_right), dtype=np.bool_) for _ in range(2))
    for each in (*first.groups, *second.groups):
        taken |= each.gives_away(least)
    for some, others in permutations((first.groups, second.groups)):
        for outer in some:
            for inner in others:
                isolated |= _left_over(outer, inner, least)
    if people := int((isolated & ~taken).sum()):
        yield "difference", people, f"{first.name} less {second.name} tells {_people(people)} apart by {name}."
    if people := _of_versions(first.tables, second.tables, name, least):
        yield "versions", people, f"{first.name} and {second.name} differ by {_people(people)}, whose {name} shows."


def _people(count: int) -> str:
    return counted(count, "person")


def _intersected(first: _Told, second: _Told) -> int:
    """Count people to whom both leave one value, which is theirs, and each alone leaves several.

    Where the two are not about the same people, the own values of many are not left open by one of them.
    """
    there = first.is_open.any(axis=1) & second.is_open.any(axis=1)
    is_right = first.is_right & second.is_right
    if not there.any() or is_right[there].mean() < 1 - _STRAY:
        return 0
    shared = [value for value in first.values if value in second.values]
    both = np.logical_and(*(one.is_open[:, [one.values.index(value) for value in shared]] for one in (first, second)))
    alone = (first.is_open.sum(axis=1) == 1) | (second.is_open.sum(axis=1) == 1)
    return int(((both.sum(axis=1) == 1) & is_right & ~alone).sum())


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
    return _Groups(np.where(sure, placed.class_of, -1).astype(np.int64), publication.values, counts)


def _left_over(outer: _Groups, inner: _Groups, least: int) -> NDArray[np.bool_]:
    """Tell of each person whether the groups inside hers, taken away, leave few people or people who are all alike."""
    known = inner.group_of >= 0
    home = np.full(len(inner.counts), -1, dtype=np.int64)
    home[inner.group_of[known]] = outer.group_of[known]
    mixed = np.zeros(len(inner.counts), dtype=np.bool_)
    mixed[inner.group_of[known][outer.group_of[known] != home[inner.group_of[known]]]] = True
    inside = np.flatnonzero((home >= 0) & ~mixed)
    values = list(dict.fromkeys([*outer.values, *inner.values]))
    rest = _aligned(outer, values)
    np.subtract.at(rest, home[inside], _aligned(inner, values)[inside])
    sizes = rest.sum(axis=1)
    is_true = (rest >= 0).all(axis=1) & (sizes > 0) & (sizes < outer.sizes)
    told = np.append(is_true & ((sizes < least) | (rest.max(axis=1) == sizes)), False)
    taken = np.append(np.isin(np.arange(len(inner.counts)), inside), False)[inner.group_of]
    left: NDArray[np.bool_] = told[outer.group_of] & ~taken
    return left


def _aligned(groups: _Groups, values: Sequence[str | None]) -> NDArray[np.int64]:
    counts = np.zeros((len(groups.counts), len(values)), dtype=np.int64)
    counts[:, [values.index(value) for value in groups.values]] = groups.counts
    return counts


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

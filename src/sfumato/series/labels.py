"""What the labels of several releases cover, read from their folders alone, so that their classes can be compared.

Letters: n rows of a release, c classes, q quasi-identifying columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.hierarchy import Hierarchy
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import group_rows
from sfumato.recoding.notation import STAR
from sfumato.recoding.parsing import split_set, written_ends
from sfumato.release.table_files import assemble_tables
from sfumato.series.append_recount import numbered_classes
from sfumato.series.description import ARRIVED, Covers
from sfumato.series.reading import ReadRelease
from sfumato.series.recount import Boxes, Released, dated
from sfumato.table.distinct import as_categories
from sfumato.table.schema import Kind, text_of

Numbers = NDArray[np.int64]

HIGHEST, MISSING = 1e300, 2e300
"""Where ``*`` ends, and the place of the missing value, which ``*`` covers, too."""
EXACT = 2.0**53
"""From here on two whole numbers may be one float, and labels could seem to overlap that do not."""
_INTERVAL = r"^\[.+\.\..+[\])]$"


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """A release as text."""

    class_of: Numbers  # int64 (n,): the class of each row, numbered from 0 in the order of the labels
    labels: pl.DataFrame  # what each class publishes; c rows, q columns, those of the table alone
    # string (c,): the releases with which the people of each class came, where that is published
    arrived: pl.Series | None
    others: pl.DataFrame  # all that a row says beside it; n rows
    covers: Covers = field(default_factory=dict)  # see :class:`~sfumato.series.description.SeriesPlace`

    @property
    def values(self) -> bool:
        """Whether rows publish something beside their class, so that exact months would tell more than is counted."""
        return self.others.width > 0

    @classmethod
    def of(cls, published: PublishedTable) -> Labelled:
        """Take a table apart, every cell as its text."""
        class_of = numbered_classes(published)
        firsts = np.zeros(int(class_of.max(initial=-1)) + 1, dtype=np.int64)
        firsts[class_of[::-1]] = np.arange(len(class_of))[::-1]
        texts = pl.DataFrame([text_of(column).alias(column.name) for column in published.data])
        quasi = [name for name in published.quasi_identifying if name != ARRIVED]
        labels = texts[firsts]
        arrived = labels[ARRIVED] if ARRIVED in published.quasi_identifying else None
        return cls(class_of, labels.select(quasi), arrived, texts.drop(published.quasi_identifying))

    @classmethod
    def read(cls, release: ReadRelease) -> Labelled:
        """Read a release as it was written, once: no reader decides what its texts mean."""
        if release not in _READ:
            facts = release.opened.files["data"]
            path = release.path / facts.file
            rows = pl.read_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.read_parquet(path)
            published = assemble_tables(release.description, {"data": rows.select(facts.columns)})
            assert isinstance(published, PublishedTable)
            _READ[release] = replace(cls.of(published), covers=release.place.covers if release.place else {})
        return _READ[release]


_READ: WeakKeyDictionary[ReadRelease, Labelled] = WeakKeyDictionary()
"""Releases are read for what is made of them, and again for each recount."""


def values_of(tables: Sequence[pl.DataFrame]) -> list[Numbers]:
    """Give equal rows of several tables of texts one number, int64 each, by first appearance; columns go by name."""
    names = tables[0].columns
    heights = np.cumsum([table.height for table in tables])[:-1]
    if not names:
        return [np.zeros(table.height, dtype=np.int64) for table in tables]
    together = pl.concat([table.select(names) for table in tables])
    numbers, _ = group_rows([as_categories([column])[0] for column in together])
    return np.split(numbers.astype(np.int64), heights)


def kinds_of(tables: Sequence[pl.DataFrame]) -> dict[str, Kind]:
    """Tell which columns of labels are of numbers or dates, by the intervals in them; all others are of sets.

    A column without an interval has single values, which are equal or not.
    """
    return {name: _kind(pl.concat([table[name] for table in tables]).unique()) for name in tables[0].columns}


def _kind(labels: pl.Series) -> Kind:
    labels = labels.drop_nulls().filter(labels.drop_nulls() != STAR)
    if labels.str.contains(_INTERVAL).any():
        for kind in (Kind.NUMERIC, Kind.DATE):
            low, high, _ = written_ends(labels, kind)
            if np.isfinite(low).all() and np.isfinite(high).all():
                return kind
    return Kind.CATEGORICAL


@dataclass(frozen=True, eq=False, repr=False)
class LabelReader:
    """Reads labels of all releases of a series alike."""

    # of every quasi-identifying column: numbers and dates are read as ranges, all others as sets of texts
    kinds: Mapping[str, Kind]
    members: Mapping[str, Mapping[str | None, int]]  # for columns of sets, the number of every text
    # for columns of nodes of a hierarchy, the texts that stand for each label: two labels have some in common where one
    # lies under the other
    under: Covers = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        kinds: Mapping[str, Kind],
        tables: Iterable[pl.DataFrame],
        known: Mapping[str, pl.Series],
        under: Covers | None = None,
    ) -> LabelReader:
        """Give numbers to the texts that labels of some tables name, and others that are known."""
        trees = under or {}
        there = list(tables)
        members: dict[str, dict[str | None, int]] = {}
        for name, kind in kinds.items():
            if name in trees:
                members[name] = {None: 0}
                for text in (each for below in trees[name].values() for each in below):
                    members[name].setdefault(text, len(members[name]))
            elif kind is Kind.CATEGORICAL:
                texts: dict[str | None, int] = {None: 0}
                for labels in (table[name].unique() for table in there):
                    for label in labels.to_list():
                        for member in () if label == STAR else split_set(label):
                            texts.setdefault(member, len(texts))
                for member in known[name].to_list() if name in known else ():
                    texts.setdefault(member, len(texts))
                members[name] = texts
        return cls(kinds, members, trees)

    def boxes(self, labels: pl.DataFrame) -> Boxes:
        """Return what classes cover. Raises ``VerificationError`` when a label is not in the notation."""
        low, high = (np.zeros((labels.height, len(self.kinds))) for _ in range(2))
        sets = {}
        for index, (name, kind) in enumerate(self.kinds.items()):
            if name in self.members:
                sets[index] = _sets(labels[name], self.members[name], self.under.get(name))
            else:
                low[:, index], high[:, index] = _ranges(labels[name], kind)
        return Boxes(low, high, sets)


def _sets(
    labels: pl.Series, number_of: Mapping[str | None, int], under: Mapping[str, Sequence[str]] | None
) -> NDArray[np.bool_]:
    """Read sets of texts, or nodes of a hierarchy; the last member is whatever no label names."""
    if under is not None and (strange := int((~labels.drop_nulls().is_in([STAR, *under])).sum())):
        raise VerificationError(
            f"column {labels.name!r}: {strange:,} labels are not in the hierarchy that the series was started with"
        )
    distinct = labels.unique(maintain_order=True)
    members = np.zeros((len(distinct), len(number_of) + 1), dtype=np.bool_)
    for place, label in enumerate(distinct.to_list()):
        if label == STAR:
            members[place] = True
        else:
            below = split_set(label) if under is None or label is None else under[label]
            members[place, [number_of[member] for member in below]] = True
    places = {label: place for place, label in enumerate(distinct.to_list())}
    return members[[places[label] for label in labels.to_list()]]


def _ranges(labels: pl.Series, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high, half_open = written_ends(labels, kind)
    high = np.where(half_open, np.nextafter(high, -np.inf), high)
    missing, star = labels.is_null().to_numpy(), labels.eq_missing(STAR).to_numpy()
    readable = np.isfinite(low) & np.isfinite(high) & (low <= high) & (np.maximum(np.abs(low), np.abs(high)) < EXACT)
    unreadable = int((~(readable | missing | star)).sum())
    if unreadable:
        raise VerificationError(
            f"column {labels.name!r}: {unreadable:,} labels are no intervals, or of numbers from 2^53 on; a series "
            "whose classes grow cannot be recounted with them: publish such a column as categories, or use append"
        )
    low = np.where(missing, MISSING, np.where(star, -HIGHEST, low))
    return low, np.where(missing | star, MISSING, high)


def arrivals(arrived: pl.Series | None, release: int) -> tuple[Numbers, Numbers]:
    """Return the first and the last release with which the people of each class came, from 0; int64 (c,) twice.

    Raises ``VerificationError`` when they are not said, or are later than the release.
    """
    if arrived is None:
        raise VerificationError(f"the column {ARRIVED!r} is missing; a series whose classes grow needs it")
    low, high, half_open = written_ends(arrived, Kind.NUMERIC)
    whole = (low == np.floor(low)) & (high == np.floor(high)) & ~half_open
    if not (whole & (low >= 1) & (low <= high) & (high <= release)).all():
        raise VerificationError(f"column {ARRIVED!r}: not numbers of releases up to {release}")
    return low.astype(np.int64) - 1, high.astype(np.int64) - 1


def arrival_labels(low: NDArray[np.number], high: NDArray[np.number]) -> pl.Series:
    """Write with which releases the people of each class came; both numbers from 0."""
    first, last = pl.Series(low + 1).cast(pl.Int64).cast(pl.String), pl.Series(high + 1).cast(pl.Int64).cast(pl.String)
    several = pl.concat_str(pl.lit("["), first, pl.lit(".."), last, pl.lit("]"))
    return pl.select(pl.when(first == last).then(first).otherwise(several)).to_series().alias(ARRIVED)


def comparable(releases: Sequence[Labelled], reader: LabelReader, values: Sequence[Numbers]) -> list[Released]:
    """Return releases as the recount takes them, the oldest first; with arrivals where all of them say these."""
    has_months = all(each.arrived is not None for each in releases)
    found = []
    for number, (each, value_of) in enumerate(zip(releases, values, strict=True), 1):
        boxes = reader.boxes(each.labels)
        boxes = dated(boxes, arrivals(each.arrived, number)) if has_months else boxes
        found.append(Released(each.class_of, value_of, boxes))
    return found


def _with_own(covers: Mapping[str, Sequence[str]], name: str, tables: Sequence[pl.DataFrame]) -> dict[str, list[str]]:
    """Return each label with those under it, itself first; a label under none is a value, or has none under it."""
    labels = pl.concat([table[name] for table in tables]).drop_nulls().unique().to_list()
    return {label: [label, *covers.get(label, ())] for label in labels if label != STAR}


def nodes_under(tree: Hierarchy) -> dict[str, Sequence[str]]:
    """Return the values under every node of a hierarchy."""
    return {
        label: tree.leaves[first:end]
        for level in tree.levels
        for label, (first, end) in zip(level.labels, pairwise(level.starts), strict=True)
    }


def covered_labels(tree: Hierarchy, labels: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return which of some labels lie under each other one, in a tree that has them all. Cost O(labels · height)."""
    spans = {
        label: span for level in tree.levels for label, span in zip(level.labels, pairwise(level.starts), strict=True)
    }
    below: dict[str, list[str]] = {}
    for label in sorted(label for label in labels if label != STAR):
        first, end = spans[label]
        above = {level.labels[int(nodes[first])] for level, nodes in zip(tree.levels, tree.node_of, strict=True)}
        for node in above.intersection(labels) - {label, STAR}:
            if spans[node][0] <= first and end <= spans[node][1]:
                below.setdefault(node, []).append(label)
    return {label: tuple(found) for label, found in sorted(below.items())}


def recipients(releases: Sequence[Labelled]) -> list[Released]:
    """Return releases of the same people as anybody reads them; VerificationError when they cannot be compared."""
    if len({tuple(sorted((*each.labels.columns, "|", *each.others.columns))) for each in releases}) > 1:
        raise VerificationError("the releases have other columns; they cannot be compared")
    tables = [each.labels for each in releases]
    tables = [table.select(tables[0].columns) for table in tables]
    covers = releases[-1].covers
    kinds = {name: Kind.CATEGORICAL if name in covers else kind for name, kind in kinds_of(tables).items()}
    reader = LabelReader.of(kinds, tables, {}, {name: _with_own(covers[name], name, tables) for name in covers})
    alike = [replace(each, labels=table) for each, table in zip(releases, tables, strict=True)]
    return comparable(alike, reader, values_of([each.others for each in releases]))

"""Reading each kind of published data as a joint distribution over the original values, and the original likewise.

Where published rows are not records, a possible table behind the release is drawn. Releases under differential privacy
are asked what others are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form
from sfumato.classes.partition import group_records
from sfumato.errors import InputError, raise_all
from sfumato.evaluation.inputs import weights_in
from sfumato.evaluation.utility.domains import AttributeDomain, Floats, domains_of
from sfumato.evaluation.utility.joint import Joint, JointPart, assemble
from sfumato.evaluation.utility.spreads import (
    AttributeSpread,
    LabelReading,
    default_reading,
    original_spread,
    read_labels,
)
from sfumato.kernels.grouping import first_records
from sfumato.numbers import counted
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.row_order import settled_order
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Original:
    """What measuring needs from an original table; it depends on no release.

    `domains`: Every quasi-identifying and sensitive attribute by its name. `weights`: float64 (n,): how many people
    each record stands for; None: one.
    """

    table: Table
    encoded: EncodedTable
    domains: Mapping[str, AttributeDomain]
    weights: Floats | None = None

    @classmethod
    def of(cls, table: Table, weights: str | None = None) -> Original:
        """Read a table, and the column of weights if one is named. The cost is that of encoding and sorting it.

        Its records stand in an order of its own, so that what is drawn does not depend on that of the input.
        """
        known = None if weights is None else weights_in(table.frame, weights, "the original")
        rows = settled_order(table.frame, table.people)
        encoded = encode(table).take(rows)
        return cls(table.take(rows), encoded, domains_of(encoded), known if known is None else known[rows])

    @cached_property
    def joint(self) -> Joint:
        """Return the records as a joint distribution of all attributes, which is exact."""
        return original_joint(self.domains)

    @cached_property
    def weighted(self) -> Joint:
        """Return the same of the people whom the records stand for."""
        return self.joint if self.weights is None else original_joint(self.domains, self.weights)

    @property
    def rows(self) -> Rows:
        """Return the records one by one."""
        labels = {name: domain.codes.astype(np.int32) for name, domain in self.domains.items()}
        weights = np.ones(self.table.height) if self.weights is None else self.weights
        return Rows(self.joint.spreads, labels, weights)


@dataclass(frozen=True, eq=False, repr=False)
class _Source:
    """A published table: the column of each attribute, and those of bucket and count if it has them.

    Without counts and weights, float64 (rows,), every row stands for one record.
    """

    frame: pl.DataFrame
    columns: Mapping[str, str]
    bucket: str | None = None
    count: str | None = None
    weights: Floats | None = None


def read_joint(
    published: Published,
    domains: Mapping[str, AttributeDomain],
    recoding: Recoding | None = None,
    weights: str | None = None,
) -> Joint:
    """Read published data of any kind.

    A generalized or randomized table: every row is a record, and a generalized value stands for all original values
    under it equally. Bucketized and sliced tables: parts are independent inside a bucket. Marginals: independent given
    what they share. A record of a sample counts as often as the records that it was drawn from.

    `domains`: Attributes of the original; those that are not published are left out. `recoding`: How a generalized
    table was published; None takes the defaults. `weights`: The published column that says how many people each record
    stands for; None: one. Raises InputError when cells cannot be read: the original or the recoding is the wrong one;
    when weights are not published.
    """
    return _read(_known(_sources(published, weights), domains), domains, _readings(published, domains, recoding))


def read_release_rows(
    published: PublishedTable | RandomizedTable,
    domains: Mapping[str, AttributeDomain],
    recoding: Recoding | None = None,
    weights: str | None = None,
) -> Rows:
    """Read a table whose rows are records, each with how many people it stands for; else as :func:`read_joint`."""
    [source] = _known(_sources(published, weights), domains)
    spreads, [labels] = _labelled([source], domains, _readings(published, domains, recoding))
    return Rows(spreads, labels, np.ones(source.frame.height) if source.weights is None else source.weights)


def original_joint(domains: Mapping[str, AttributeDomain], weights: Floats | None = None) -> Joint:
    """Return the original records, each as often as its weight says, as a joint distribution, which is exact."""
    codes = {name: domain.codes.astype(np.int32) for name, domain in domains.items()}
    spreads = {name: original_spread(domain) for name, domain in domains.items()}
    height = len(next(iter(codes.values())))
    return assemble(spreads, [_collapsed(codes, np.zeros(height, dtype=np.int64), weights)], 1)


def _readings(
    published: Published, domains: Mapping[str, AttributeDomain], recoding: Recoding | None
) -> dict[str, LabelReading]:
    """Say how this kind of release writes each attribute."""
    points = isinstance(published, RandomizedTable)
    readings = {name: default_reading(domain, points=points) for name, domain in domains.items()}
    if isinstance(published, PublishedTable):
        readings |= _generalized_readings(published, domains, recoding)
    return readings


def _generalized_readings(
    published: PublishedTable, domains: Mapping[str, AttributeDomain], recoding: Recoding | None
) -> dict[str, LabelReading]:
    quasi = [name for name in published.quasi_identifying if name in domains]
    forms = (recoding or Recoding()).forms_of([domains[name].attribute for name in quasi])
    return {
        name: LabelReading(form, exact_first=form is Form.ANCESTOR, points=form is Form.MEAN)
        for name, form in zip(quasi, forms, strict=True)
    }


def _sources(published: Published, weights: str | None) -> list[_Source]:
    """Return every published table that shows which values occur together."""
    if isinstance(published, (PublishedTable, RandomizedTable)):
        names = (*published.quasi_identifying, *published.sensitive)
        missing = [name for name in names if name not in published.data.columns]
        raise_all(InputError, [f"the published table has no column {name!r}" for name in missing])
        return [_Source(published.data, {name: name for name in names}, weights=_weights(published, weights))]
    if weights is not None:
        raise InputError(
            f"weights: a release of the kind {published.kind!r} does not tell the weight of a record; leave weights out"
        )
    if isinstance(published, SlicedTable):
        pairs = zip(published.columns, labels_of(published.columns), strict=True)
        return [_Source(published.data, dict(zip(column, named, strict=True)), BUCKET) for column, named in pairs]
    if isinstance(published, BucketizedTables):
        quasi = {name: name for name in published.quasi_identifying}
        sensitive = {published.sensitive: published.sensitive}
        return [_Source(published.quasi, quasi, BUCKET), _Source(published.counts, sensitive, BUCKET, COUNT)]
    if isinstance(published, MarginalTables):
        marginals = zip(published.marginals, published.columns, strict=True)
        return [_Source(frame, {name: name for name in column}, count=COUNT) for frame, column in marginals]
    raise InputError(f"a release of the kind {published.kind!r} cannot be measured here")


def _weights(published: PublishedTable | RandomizedTable, column: str | None) -> Floats | None:
    """Return how many people each row stands for: by its own weight, and as often as records were drawn."""
    drawn = published.weight if isinstance(published, RandomizedTable) else 1.0
    if column is not None:
        return drawn * weights_in(published.data, column, "the published table")
    return None if drawn == 1.0 else np.full(published.data.height, drawn)


def _known(sources: list[_Source], domains: Mapping[str, AttributeDomain]) -> list[_Source]:
    """Leave out insensitive attributes, and tables of nothing else."""
    known = [
        replace(source, columns={name: column for name, column in source.columns.items() if name in domains})
        for source in sources
    ]
    found = [source for source in known if source.columns]
    if not found:
        raise InputError("the published tables have none of the original's quasi-identifying and sensitive columns")
    return found


def _read(
    sources: Sequence[_Source], domains: Mapping[str, AttributeDomain], readings: Mapping[str, LabelReading]
) -> Joint:
    spreads, label_of = _labelled(sources, domains, readings)
    buckets, count = _buckets(sources)
    parts = [
        _collapsed(own, bucket, _counts(source)) for own, bucket, source in zip(label_of, buckets, sources, strict=True)
    ]
    return assemble(spreads, parts, count)


def _labelled(
    sources: Sequence[_Source], domains: Mapping[str, AttributeDomain], readings: Mapping[str, LabelReading]
) -> tuple[dict[str, AttributeSpread], list[dict[str, NDArray[np.int32]]]]:
    """Return what the labels of each attribute stand for, and for each table the label of each row."""
    raise_all(InputError, _shape_problems(sources))
    spreads: dict[str, AttributeSpread] = {}
    problems = []
    label_of: list[dict[str, NDArray[np.int32]]] = [{} for _ in sources]
    for name in dict.fromkeys(name for source in sources for name in source.columns):
        holders = [(own, source) for own, source in zip(label_of, sources, strict=True) if name in source.columns]
        columns = [source.frame[source.columns[name]] for _, source in holders]
        spreads[name], codes, lost = read_labels(columns, domains[name], readings[name])
        for (own, _), each in zip(holders, codes, strict=True):
            own[name] = each
        if lost:
            problems.append(
                f"column {name!r}: {counted(lost, 'published cell')} cannot be read; check the recoding, and that the "
                "original is the one that the release was made from"
            )
    raise_all(InputError, problems)
    return spreads, label_of


def _shape_problems(sources: Sequence[_Source]) -> list[str]:
    problems = [
        f"column {column!r}: does not hold values such as texts or numbers"
        for source in sources
        for column in source.columns.values()
        if source.frame[column].dtype.is_nested()
    ]
    if any(source.frame.is_empty() for source in sources):
        problems.append("the published tables have no records")
    return list(dict.fromkeys(problems))


def _buckets(sources: Sequence[_Source]) -> tuple[list[NDArray[np.int64]], int]:
    """Give the buckets of all tables the same numbers, from 0; a table without buckets has one."""
    numbers = [
        np.zeros(source.frame.height, dtype=np.int64)
        if source.bucket is None
        else source.frame[source.bucket].cast(pl.Int64).to_numpy()
        for source in sources
    ]
    present = np.unique(np.concatenate(numbers))
    return [np.searchsorted(present, each).astype(np.int64) for each in numbers], len(present)


def _counts(source: _Source) -> NDArray[np.float64] | None:
    if source.count is not None:
        return source.frame[source.count].cast(pl.Float64).to_numpy()
    return source.weights


def _collapsed(
    label_of: Mapping[str, NDArray[np.int32]], bucket: NDArray[np.int64], counts: NDArray[np.float64] | None
) -> JointPart:
    """Join equal rows of one bucket into one with a count."""
    row_of, count = group_records(np.column_stack([bucket, *label_of.values()]))
    first = first_records(row_of, count)
    held = np.bincount(row_of, counts, count).astype(np.float64)
    return JointPart({name: labels[first] for name, labels in label_of.items()}, held, bucket[first])


_Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Records as labels, what these stand for, and how many people each record stands for.

    `labels`: int32 (n,) for each attribute. `weights`: float64 (n,).
    """

    spreads: Mapping[str, AttributeSpread]
    labels: Mapping[str, NDArray[np.int32]]
    weights: Floats


def drawn_records(joint: Joint, rng: np.random.Generator) -> dict[str, NDArray[np.int32]]:
    """Combine the parts of a release at random.

    Inside each bucket, rows of parts that share nothing are combined in random order; rows of a part that shares
    attributes with another are combined with rows of the same shared values. A table of records stays unchanged.

    `joint`: n records. Result: int32 (n,) for each attribute: label of each record.

    Cost O(n log n) for each part.
    """
    bucket = np.repeat(np.arange(len(joint.sizes)), np.rint(joint.sizes).astype(np.int64))
    rows: dict[int, _Places] = {}
    labels: dict[str, NDArray[np.int32]] = {}
    for place in joint.order:
        part, link = joint.parts[place], joint.links[place]
        if link is None:
            rows[place] = _matched(part.bucket, part, bucket, len(joint.sizes), rng)
        else:
            rows[place] = _matched(link.group_of, part, link.group_above[rows[link.parent]], link.groups, rng)
        for name, label_of in part.label_of.items():
            labels.setdefault(name, label_of[rows[place]])
    return labels


def _matched(group_of: _Places, part: JointPart, wanted: _Places, groups: int, rng: np.random.Generator) -> _Places:
    """Return a row of the wanted group for each record.

    Rows are taken in random order, each as often as it counts, and then again if a group needs more; any row if a group
    has none.
    """
    offered = np.repeat(np.arange(len(part.counts)), np.rint(part.counts).astype(np.int64))
    offered = offered[np.lexsort((rng.random(len(offered)), group_of[offered]))]
    sizes = np.bincount(group_of[offered], minlength=groups + 1)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(wanted, kind="stable")
    asked = np.bincount(wanted, minlength=groups + 1)
    turn = np.empty(len(wanted), dtype=np.int64)
    turn[order] = np.arange(len(wanted)) - np.repeat(np.cumsum(asked) - asked, asked)
    chosen = starts[wanted] + turn % np.maximum(sizes[wanted], 1)
    anybody = rng.integers(0, len(offered), len(wanted))
    found: _Places = offered[np.where(sizes[wanted] > 0, chosen, anybody)]
    return found

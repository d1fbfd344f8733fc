"""Reading each kind of published data, and the original, as one joint distribution over original values.

Where published rows are not records, a possible table behind the release is drawn. Releases under differential privacy
are asked what others are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, group_records
from sfumato.errors import InputError, raise_all
from sfumato.evaluation.utility.queries import AttributeDomain, Bins, Floats, Predicate, Query, domains_of, weights_in
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
from sfumato.published.apart import BUCKET, COUNT, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.row_order import settled_order
from sfumato.table.table import Table

RowNumbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class JointPart:
    """A published table whose rows say which values occur together: the label of each, its records, and its bucket."""

    label_of: Mapping[str, NDArray[np.int32]]
    counts: Floats
    bucket: RowNumbers


@dataclass(frozen=True, eq=False, repr=False)
class _Link:
    """How a part is linked to the one above: `groups`, and int64 `group_of` and `group_above` of their rows."""

    parent: int
    shared: frozenset[str]
    groups: int
    group_of: RowNumbers
    group_above: RowNumbers

    def average(self, values: Floats, weights: Floats) -> Floats:
        """Return the weighted mean of `values` in each group, and over all rows, for what is not published, last."""
        sums = np.bincount(self.group_of, weights * values, self.groups + 1)
        totals = np.bincount(self.group_of, weights, self.groups + 1)
        sums[-1], totals[-1] = sums.sum(), totals.sum()
        return np.divide(sums, totals, out=np.zeros(self.groups + 1), where=totals > 0)


@dataclass(frozen=True, eq=False, repr=False)
class Joint:
    """What a recipient can infer about all attributes together.

    Inside a bucket, parts that share nothing are independent; others are, given what they share. Each part is linked to
    the one with which it shares most (a heaviest spanning forest), so that what is shared counts once: without a cycle,
    the distribution of greatest entropy with these tables. With one, a shared value outside the link is conditioned on
    by the query's predicate alone.
    """

    spreads: Mapping[str, AttributeSpread]
    parts: tuple[JointPart, ...]
    sizes: Floats
    links: tuple[_Link | None, ...]
    order: tuple[int, ...]

    @property
    def total(self) -> float:
        """Number of records."""
        return float(self.sizes.sum())

    @cached_property
    def owner(self) -> Mapping[str, int]:
        """Return the part that counts each attribute's predicate: the highest that has the attribute."""
        owners: dict[str, int] = {}
        for place in self.order:
            for name in self.parts[place].label_of:
                owners.setdefault(name, place)
        return owners

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Return the children of each part."""
        return tuple(
            tuple(child for child in self.order if (link := self.links[child]) and link.parent == place)
            for place in range(len(self.parts))
        )

    @cached_property
    def subtree(self) -> tuple[frozenset[str], ...]:
        """Return the attributes owned by each part or one below it."""
        found: list[frozenset[str]] = [frozenset()] * len(self.parts)
        for place in reversed(self.order):
            own = {name for name, owner in self.owner.items() if owner == place}
            found[place] = frozenset(own.union(*(found[child] for child in self.children[place])))
        return tuple(found)

    @property
    def roots(self) -> tuple[int, ...]:
        """Return the parts without a parent."""
        return tuple(place for place in self.order if self.links[place] is None)

    def smallest_with(self, names: Sequence[str]) -> int | None:
        """Return the part with fewest rows among those that have all these attributes; None if there is none."""
        fitting = [place for place, part in enumerate(self.parts) if all(name in part.label_of for name in names)]
        return min(fitting, key=lambda place: len(self.parts[place].counts), default=None)


def assemble(spreads: Mapping[str, AttributeSpread], parts: Sequence[JointPart], buckets: int) -> Joint:
    """Link parts to trees. Cost O(rows) for each link."""
    totals = [np.bincount(part.bucket, part.counts, buckets) for part in parts]
    sizes = np.max(totals, axis=0)
    parents, order = _forest([frozenset(part.label_of) for part in parts])
    links = tuple(
        None if parent is None else _link(parts[place], parts[parent], parent) for place, parent in enumerate(parents)
    )
    return Joint(spreads, tuple(parts), sizes, links, order)


def _forest(names: Sequence[frozenset[str]]) -> tuple[list[int | None], tuple[int, ...]]:
    """Find the parent of each set: trees that grow by the largest intersection; ties in the given order."""
    parents: list[int | None] = [None] * len(names)
    order: list[int] = []
    outside = list(range(len(names)))
    while outside:
        best, above = 0, None
        chosen = outside[0]
        for place in outside:
            for reached in order:
                if len(names[place] & names[reached]) > best:
                    best, chosen, above = len(names[place] & names[reached]), place, reached
        parents[chosen] = above
        order.append(chosen)
        outside.remove(chosen)
    return parents, tuple(order)


def _link(part: JointPart, above: JointPart, parent: int) -> _Link:
    shared = sorted(part.label_of.keys() & above.label_of.keys())
    keys = np.column_stack(
        [np.concatenate([part.bucket, above.bucket])]
        + [np.concatenate([part.label_of[name], above.label_of[name]]) for name in shared]
    )
    together, _ = group_records(keys)
    own, other = together[: len(part.counts)], together[len(part.counts) :]
    present, group_of = np.unique(own, return_inverse=True)
    place = np.minimum(np.searchsorted(present, other), len(present) - 1)
    group_above = np.where(present[place] == other, place, len(present))
    return _Link(parent, frozenset(shared), len(present), group_of.astype(np.int64), group_above.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class _Factor:
    """A query's condition by label: `value`, float64 (g,), matching records, times the aggregated number; `share`."""

    value: Floats
    share: Floats


def estimate(joint: Joint, query: Query) -> float:
    """Return the expected answer to a query; NaN for an average over nobody. O(rows) for each part involved."""
    if query.aggregate == "count":
        return _expected(joint, factors_of(joint, query))
    total = _expected(joint, factors_of(joint, query, added=True))
    if query.aggregate == "sum":
        return total
    records = _expected(joint, factors_of(joint, query))
    return total / records if records > 0 else float("nan")


def factors_of(joint: Joint, query: Query, *, added: bool = False) -> dict[str, _Factor]:
    """Return the factor of every attribute of a query; that of its aggregate is `added`, or requires a value."""
    predicates: dict[str, Predicate | None] = dict.fromkeys(query.attributes)
    predicates |= {predicate.attribute: predicate for predicate in query.where}
    factors = {}
    for name, predicate in predicates.items():
        share = joint.spreads[name].share(predicate)
        value = joint.spreads[name].moment(predicate) if added and name == query.of else share
        factors[name] = _Factor(value, share)
    return factors


def _expected(joint: Joint, factors: Mapping[str, _Factor]) -> float:
    """Return the expected sum over all records of the product of all factors."""
    whole = joint.smallest_with(tuple(factors))
    if whole is not None:
        part = joint.parts[whole]
        return float((part.counts * _product(part, factors, factors)).sum())
    return float(_per_bucket(joint, factors, joint.roots).sum())


def expected_by_label(joint: Joint, factors: Mapping[str, _Factor], name: str) -> Floats:
    """Return the expected sum of the product of all factors under each label of one attribute, at one query's cost."""
    whole = joint.smallest_with((*factors, name))
    if whole is not None:
        part = joint.parts[whole]
        values = part.counts * _product(part, factors, factors)
    else:
        part = joint.parts[joint.owner[name]]
        values = _row_sums(joint, joint.owner[name], factors)
    return np.bincount(part.label_of[name], values, joint.spreads[name].count).astype(np.float64)


def _row_sums(joint: Joint, place: int, factors: Mapping[str, _Factor], without: int | None = None) -> Floats:
    """Return the expected sum of the product of all factors over the records behind each row of a part."""
    # Factors owned by the child `without`, and by the parts below it, are left out.
    part, link = joint.parts[place], joint.links[place]
    values = _row_values(joint, place, factors, without)
    if link is None:
        held = np.bincount(part.bucket, part.counts, len(joint.sizes))
        others = _per_bucket(joint, factors, [root for root in joint.roots if root != place])
        share = np.divide(others, held, out=np.zeros_like(others), where=held > 0)
        return part.counts * values * share[part.bucket]
    weights = _conditions(joint, place, link, factors)
    above = _row_sums(joint, link.parent, factors, place)
    per_group = np.bincount(link.group_above, above, link.groups + 1)
    totals = np.bincount(link.group_of, weights, link.groups + 1)
    totals[-1] = weights.sum()
    share = np.divide(per_group, totals, out=np.zeros(link.groups + 1), where=totals > 0)
    sums: Floats = weights * values * (share[link.group_of] + share[-1])
    return sums


def _per_bucket(joint: Joint, factors: Mapping[str, _Factor], roots: Iterable[int]) -> Floats:
    """Return the records of each bucket times the expected product of the factors that some trees own."""
    per_bucket = joint.sizes.copy()
    for place in roots:
        if joint.subtree[place] & factors.keys():
            part = joint.parts[place]
            matched = np.bincount(part.bucket, part.counts * _row_values(joint, place, factors), len(joint.sizes))
            held = np.bincount(part.bucket, part.counts, len(joint.sizes))
            per_bucket *= np.divide(matched, held, out=np.zeros_like(matched), where=held > 0)
    return per_bucket


def _product(part: JointPart, factors: Mapping[str, _Factor], names: Iterable[str]) -> Floats:
    values = np.ones(len(part.counts))
    for name in names:
        values *= factors[name].value[part.label_of[name]]
    return values


def _row_values(joint: Joint, place: int, factors: Mapping[str, _Factor], without: int | None = None) -> Floats:
    """Return for each row of a part the expected product of the factors that it and the parts below it own."""
    part = joint.parts[place]
    own = [name for name in part.label_of if name in factors and joint.owner[name] == place]
    values = _product(part, factors, own)
    for child in joint.children[place]:
        link = joint.links[child]
        if link is not None and child != without and joint.subtree[child] & factors.keys():
            message = link.average(_row_values(joint, child, factors), _conditions(joint, child, link, factors))
            values *= message[link.group_above]
    return values


def _conditions(joint: Joint, place: int, link: _Link, factors: Mapping[str, _Factor]) -> Floats:
    """Return the records behind each row that satisfy predicates of other parts that the link does not carry."""
    # Other parts of the tree already count these predicates; here they are conditions.
    part = joint.parts[place]
    weights = part.counts
    for name in part.label_of:
        if name in factors and joint.owner[name] != place and name not in link.shared:
            weights = weights * factors[name].share[part.label_of[name]]
    return weights


def records_by_label(joint: Joint, name: str) -> Floats:
    """Count the records under each label of an attribute, (g,)."""
    place = joint.smallest_with((name,))
    assert place is not None
    part = joint.parts[place]
    return np.bincount(part.label_of[name], part.counts, joint.spreads[name].count).astype(np.float64)


def estimate_histogram(joint: Joint, name: str, bins: Bins) -> Floats:
    """Return the expected number of records in each bin of an attribute, the missing ones last, (b + 1,)."""
    return joint.spreads[name].tally(records_by_label(joint, name), bins)


def contingency_table(joint: Joint, one: str, other: str, bins: Mapping[str, Bins]) -> Floats:
    """Return expected records in each pair of bins, (b + 1, b' + 1), at a query for each bin of the smaller one."""
    if bins[other].count < bins[one].count:
        flipped: Floats = contingency_table(joint, other, one, bins).T
        return flipped
    shares = joint.spreads[one].histogram(bins[one])
    labels = [expected_by_label(joint, {one: _Factor(share, share)}, other) for share in shares.T]
    return np.array([joint.spreads[other].tally(counts, bins[other]) for counts in labels])


@dataclass(frozen=True, eq=False, repr=False)
class Original:
    """What measuring needs from an original table, whatever the release: attributes, and weights (None: one each)."""

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
    """Read published data of any kind, by attributes that are published.

    Generalized or randomized: every row is a record, and a value stands for all original values under it equally.
    Bucketized and sliced: parts are independent inside a bucket. Marginals: independent given what they share. A record
    of a sample counts as often as the records that it was drawn from.
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
    """Records: `labels`, int32 (n,) for each attribute, what they stand for, and `weights`, float64 (n,), in people."""

    spreads: Mapping[str, AttributeSpread]
    labels: Mapping[str, NDArray[np.int32]]
    weights: Floats


def drawn_records(joint: Joint, rng: np.random.Generator) -> dict[str, NDArray[np.int32]]:
    """Combine the parts of a release at random: the label of each record, int32 (n,), for each attribute.

    Inside each bucket rows are combined in random order, of parts that share attributes with those of the same shared
    values. A table of records stays. Cost O(n log n) for each part.
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
    """Return a row of the wanted group for each record, at random, each as often as it counts; else any row."""
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

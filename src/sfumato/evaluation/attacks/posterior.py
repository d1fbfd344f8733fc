"""What a release says about people's sensitive values: weights of values, for every kind, and distributions.

Letters: m people, g groups, v published values.

Known records of one person that fit the same published records are a group: as many of these published records are the
person's, and nobody knows which. The chance that a value is among them is that of drawing it at least once without
putting back. Groups of one person are taken to be independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, group_records
from sfumato.errors import InputError, raise_all
from sfumato.evaluation.attacks.linkage import side_by_side, widened
from sfumato.evaluation.attacks.nearest_linkage import nearest_values
from sfumato.evaluation.attacks.original_values import (
    distinct_people,
    known_names,
    number_buckets,
    number_texts,
    number_vectors_alike,
)
from sfumato.evaluation.attacks.people import KnownRecords, known_records
from sfumato.evaluation.attacks.placement import (
    coverage_of,
    distinct_codes,
    entries_of,
    forms_of,
    read_publication,
    read_register,
    register_attributes,
    sum_by_code,
)
from sfumato.evaluation.attacks.protocol import Target
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking import ClassValues, covering_classes, fitting_weight, tally_candidates
from sfumato.kernels.slices.groups import BucketLists, fill_rows, sum_beliefs
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, SlicedTable
from sfumato.published.apart import BUCKET, COUNT, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import text_of
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class ValueWeights:
    """Weights of sensitive values for each person.

    Letters: m people, v published values. `weights`: float64 (m, v), not yet scaled to a sum of 1. `candidates`:
    float64 (m,): records that fit. `counts`: float64 (v,): records of the release that have each value.
    """

    values: tuple[str | None, ...]
    weights: NDArray[np.float64]
    candidates: NDArray[np.float64]
    counts: NDArray[np.float64]


def generalized_weights(
    published: PublishedTable,
    people: Table,
    sensitive: str,
    recoding: Recoding,
    owner: NDArray[np.int64] | None = None,
    count: int = 0,
) -> ValueWeights:
    """Count the sensitive values of the records whose values cover the person's; of means, the nearest.

    `owner`: whose the `people` are, where rows lie together: then those fit whose class covers all records of a person.
    """
    shared = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    publication = read_publication(published.data, sensitive, known, recoding)
    if Form.MEAN in forms_of(known, recoding):
        knowledge, classes = (known, publication) if owner is None else side_by_side(known, publication, owner, count)
        counted, candidates = nearest_values(classes, knowledge, published.data)
        totals = publication.totals.astype(np.float64)
        return ValueWeights(publication.values, counted.astype(np.float64), candidates.astype(np.float64), totals)
    if owner is not None:
        known, publication = widened(known, publication, owner, count)
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    tallies = tally_candidates(
        vectors,
        coverage,
        covering_classes(coverage),
        ClassValues(publication.starts, publication.value_of, publication.counts),
        len(publication.values),
    ).astype(np.float64)[vector_of]
    return ValueWeights(publication.values, tallies, tallies.sum(axis=1), publication.totals.astype(np.float64))


def candidate_sets(published: PublishedTable, people: Table, recoding: Recoding) -> NDArray[np.int64]:
    """Give people whom the same classes fit one number from 0, by sums of random numbers; int64 (people,)."""
    shared = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    vectors, vector_of = distinct_codes(known)
    if Form.MEAN in forms_of(known, recoding):
        return vector_of.astype(np.int64)
    publication = read_publication(published.data, shared[0], known, recoding)
    coverage = coverage_of(publication, known)
    drawn = np.random.default_rng(0).random(len(publication.sizes))
    sums = fitting_weight(vectors, coverage, covering_classes(coverage), drawn)
    return np.unique(sums, return_inverse=True)[1].astype(np.int64)[vector_of]


def covered_by_one(
    published: PublishedTable, people: Table, owner: NDArray[np.int64], count: int, recoding: Recoding
) -> NDArray[np.bool_]:
    """Tell of which of `count` people one class covers all records, by int64 `owner`; means exclude nobody."""
    shared = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    if not shared or Form.MEAN in forms_of(known, recoding):
        return np.ones(count, dtype=np.bool_)
    known, publication = widened(known, read_publication(published.data, shared[0], known, recoding), owner, count)
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    ones = np.ones(len(publication.sizes))
    covered: NDArray[np.bool_] = fitting_weight(vectors, coverage, covering_classes(coverage), ones)[vector_of] > 0
    return covered


_LONG = 16
"""Lists longer than one in this many buckets are written out for all buckets."""


def sliced_weights(published: SlicedTable, people: Table, sensitive: str, _: Recoding) -> ValueWeights:
    """Weigh the sensitive values of each matching bucket by how well the bucket matches (Li et al. 2012, section 4).

    Cost O(n w log n), and for each distinct vector of known values the buckets that have its rarest part.
    """
    bucket = number_buckets(published.data[BUCKET])[0]
    parts = _parts_of(published, people, sensitive)
    # People are distinguished by their vectors in all columns; equal people get equal answers.
    who_of, count = group_records(np.column_stack([part.held for part in parts]).astype(np.uint32))
    one_of = first_records(who_of, count)
    families, vectors, masks = list[_VectorBuckets](), list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for part in parts:
        vectors.append(
            part.held[one_of] + _add(families, _VectorBuckets.of(bucket, part.rows, part.held, part.value_of))
        )
        if part.rows_seen is None or part.held_seen is None:
            masks.append(np.full(count, -1))
        else:
            masks.append(
                part.held_seen[one_of] + _add(families, _VectorBuckets.of(bucket, part.rows_seen, part.held_seen))
            )
    holding = [place for place, part in enumerate(parts) if part.values]
    nowhere = np.zeros(len(bucket), dtype=np.int64)
    everything = [
        _add(families, _VectorBuckets.of(bucket, nowhere, nowhere, parts[place].value_of)) if place != holding[0] else 0
        for place in holding
    ]
    values, value_of = parts[holding[0]].values, parts[holding[0]].value_of
    weights, candidates = np.zeros((count, len(values))), np.zeros(count)
    sum_beliefs(
        np.column_stack(vectors),
        np.column_stack(masks),
        _indexed(families, bucket),
        np.array(holding),
        np.array(everything),
        weights,
        candidates,
    )
    counts = sum_by_code(value_of, np.ones(len(value_of)), len(values))
    return ValueWeights(values, weights[who_of], candidates[who_of], counts)


@dataclass(frozen=True, eq=False, repr=False)
class _ColumnEvidence:
    """One column of a sliced table: vectors of rows and people, numbered by all that is known, earlier columns too."""

    rows: NDArray[np.int64]
    held: NDArray[np.int64]
    rows_seen: NDArray[np.int64] | None
    held_seen: NDArray[np.int64] | None
    values: tuple[str | None, ...]
    value_of: NDArray[np.int64]


def _parts_of(published: SlicedTable, people: Table, sensitive: str) -> list[_ColumnEvidence]:
    parts, past = [], set[str]()
    for column, labels in zip(published.columns, labels_of(published.columns), strict=True):
        label_of = dict(zip(column, labels, strict=True))
        names = known_names(column, people)
        before = [name for name in names if name in past]
        rows, held = number_vectors_alike(published.data, [label_of[name] for name in names], people.frame, names)
        rows_seen, held_seen = (
            number_vectors_alike(published.data, [label_of[name] for name in before], people.frame, before)
            if before
            else (None, None)
        )
        values, value_of = (
            number_texts(published.data[label_of[sensitive]]) if sensitive in column else ((), np.zeros_like(rows))
        )
        parts.append(_ColumnEvidence(rows, held, rows_seen, held_seen, values, value_of))
        past.update(names)
    return parts


class _VectorBuckets(NamedTuple):
    """In which buckets each vector of one column occurs, with which values: compressed rows, see `BucketLists`."""

    starts: NDArray[np.int64]
    buckets: NDArray[np.int64]
    counts: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    values: NDArray[np.int64]
    value_counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        bucket: NDArray[np.int64],
        rows: NDArray[np.int64],
        held: NDArray[np.int64],
        value_of: NDArray[np.int64] | None = None,
    ) -> _VectorBuckets:
        """List the vectors of the rows; those that only people hold have an empty list."""
        most, width = int(max(rows.max(initial=0), held.max(initial=0))) + 1, int(bucket.max()) + 1
        cells = rows * width + bucket
        values = 1 if value_of is None else int(value_of.max()) + 1
        keys, value_counts = np.unique(cells * values + (0 if value_of is None else value_of), return_counts=True)
        entries, value_starts = np.unique(keys // values, return_index=True)
        return cls(
            np.searchsorted(entries, np.arange(most + 1) * width),
            entries % width,
            np.add.reduceat(value_counts, value_starts),
            np.append(value_starts, len(keys)),
            keys % values,
            value_counts,
        )


def _add(families: list[_VectorBuckets], lists: _VectorBuckets) -> int:
    """Append the lists of a column to those of others; return the number of the first."""
    before = sum(len(other.starts) - 1 for other in families)
    families.append(lists)
    return before


def _indexed(families: Sequence[_VectorBuckets], bucket: NDArray[np.int64]) -> BucketLists:
    """Concatenate all lists, and write out the long ones."""
    sizes = np.bincount(bucket)
    starts = _joined([each.starts for each in families])
    buckets = np.concatenate([each.buckets for each in families]).astype(np.int32)
    long = _LONG * np.diff(starts) > len(sizes)
    row_of = np.where(long, np.cumsum(long) - 1, -1).astype(np.int32)
    rows = np.full((int(long.sum()), len(sizes)), -1, dtype=np.int32)
    fill_rows(rows, row_of, starts, buckets)
    return BucketLists(
        sizes.astype(np.float64),
        starts,
        buckets,
        np.concatenate([each.counts for each in families]).astype(np.float64),
        rows,
        row_of,
        _joined([each.value_starts for each in families]),
        np.concatenate([each.values for each in families]).astype(np.int32),
        np.concatenate([each.value_counts for each in families]).astype(np.float64),
    )


def _joined(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the starts of compressed rows as those of the concatenated rows."""
    lengths = np.concatenate([np.diff(each) for each in starts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def bucketized_weights(published: BucketizedTables, people: Table, sensitive: str, _: Recoding) -> ValueWeights:
    """Weigh the sensitive counts of the buckets with each person's values by the rows that have them."""
    names = known_names(published.quasi_identifying, people)
    rows, held = number_vectors_alike(published.quasi, names, people.frame, names)
    bucket, counted = number_buckets(published.quasi[BUCKET], published.counts[BUCKET])
    values, value_of = number_texts(published.counts[sensitive])
    records = published.counts[COUNT].cast(pl.Float64).to_numpy()
    sizes = sum_by_code(counted, records, int(counted.max()) + 1)
    entries = _WeightedValues.of(counted, len(sizes), value_of, records / sizes[counted])
    fitting = _Counts.of(bucket, rows)
    person, place = fitting.pairs_of(held)
    weights = entries.spread(fitting.buckets[place], fitting.counts[place], person, people.height, len(values))
    counts = sum_by_code(value_of, records, len(values))
    return ValueWeights(values, weights, weights.sum(axis=1), counts)


def marginal_weights(published: MarginalTables, people: Table, sensitive: str, _: Recoding) -> ValueWeights:
    """Take the records of the marginals with the sensitive attribute that have each person's values."""
    candidates = np.full(people.height, np.inf)
    holding = [place for place, column in enumerate(published.columns) if sensitive in column]
    told = pl.concat([published.marginals[place][sensitive].cast(pl.String) for place in holding])
    values, _codes = number_texts(told)
    code_of = {value: code for code, value in enumerate(values)}
    tables: list[NDArray[np.float64]] = []
    prior = np.zeros(len(values))
    for frame, column in zip(published.marginals, published.columns, strict=True):
        records = frame[COUNT].cast(pl.Float64).to_numpy()
        names = known_names(column, people)
        rows, held = number_vectors_alike(frame, names, people.frame, names)
        here = sum_by_code(rows, records, int(max(held.max(initial=-1), rows.max(initial=-1))) + 1)
        candidates = np.minimum(candidates, here[held])
        if sensitive in column:
            codes = np.array([code_of[text] for text in frame[sensitive].cast(pl.String).to_list()], dtype=np.int64)
            lists = _WeightedValues.of(rows, len(here), codes, records)
            everyone = np.arange(people.height)
            tables.append(lists.spread(held, np.ones(people.height), everyone, people.height, len(values)))
            prior = sum_by_code(codes, records, len(values))
    weights = tables[0]
    for table in tables[1:]:
        # Independent given the sensitive value: each further marginal brings its likelihood.
        weights = weights * table / np.where(prior > 0, prior, 1)
    return ValueWeights(values, weights * (candidates > 0)[:, None], candidates, prior)


@dataclass(frozen=True, eq=False, repr=False)
class _WeightedValues:
    """Values with weights for each of several owners (compressed rows)."""

    starts: NDArray[np.int64]
    value_of: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, owner: NDArray[np.integer], count: int, value_of: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> _WeightedValues:
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64)
        return cls(starts, value_of[order], weights[order])

    def spread(
        self,
        owner: NDArray[np.integer],
        weight: NDArray[np.float64],
        person: NDArray[np.integer],
        people: int,
        values: int,
    ) -> NDArray[np.float64]:
        """Add up the lists of each person's owners, weighted: float64 (people, values)."""
        asked, place = entries_of(self.starts, owner)
        cells = person[asked] * values + self.value_of[place]
        return sum_by_code(cells, weight[asked] * self.weights[place], people * values).reshape(people, values)


@dataclass(frozen=True, eq=False, repr=False)
class _Counts:
    """How many rows of each bucket have each vector: sorted by vector, then by bucket."""

    vectors: NDArray[np.int64]
    buckets: NDArray[np.int64]
    counts: NDArray[np.float64]
    starts: NDArray[np.int64]
    keys: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, bucket: NDArray[np.int64], vector: NDArray[np.int64]) -> _Counts:
        width = int(bucket.max()) + 1
        keys, counts = np.unique(vector * width + bucket, return_counts=True)
        vectors = keys // width
        starts = np.concatenate([[0], np.cumsum(np.bincount(vectors))]).astype(np.int64)
        return cls(vectors, keys % width, counts.astype(np.float64), starts, keys, width)

    def pairs_of(self, held: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of a person and an entry with the person's vector."""
        known = np.flatnonzero(held < len(self.starts) - 1)
        asked, place = entries_of(self.starts, held[known])
        return known[asked], place


BLOCK = 1 << 23
"""Most cells of people × values that are computed at a time."""


TELLING = frozenset({"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables"})
"""Kinds of release that give a distribution of everybody's sensitive value."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What an attacker believes about each person's sensitive value, as text; shares sum to 1, or 0: nobody fits.

    `candidates`: records that fit, or an expected number. `prior`: share of each value in the release. `groups`: where
    people have several records, what each of these says: `shares` are then chances to be among a person's.
    """

    values: tuple[str | None, ...]
    shares: NDArray[np.float64]
    candidates: NDArray[np.float64]
    prior: NDArray[np.float64]
    groups: RecordGroups | None = None

    @property
    def usual(self) -> NDArray[np.float64]:
        """Return what would be believed without knowing which records fit, float64 (m, v)."""
        if self.groups is None:
            return np.broadcast_to(self.prior, self.shares.shape)
        known = self.groups.known[:, None]
        return np.where(known == 1, self.prior, 1 - (1 - self.prior) ** known)

    @property
    def rows(self) -> NDArray[np.float64]:
        """Return the chance that one record of each person, drawn at random, has each value; float64 (m, v)."""
        return self.shares if self.groups is None else self.groups.rows

    @property
    def of_records(self) -> NDArray[np.float64]:
        """Return what is believed of each known record, float64 (r, v)."""
        return self.shares if self.groups is None else self.groups.shares[self.groups.group_of]

    def without(self, out: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the beliefs of somebody who knows that people do not have some values, bool (m, v); not scaled."""
        return np.where(out, 0.0, self.shares) if self.groups is None else self.groups.believed(out)

    def summed(self, node_of: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
        """Return the beliefs that a value is under each of some nodes, float64 (m, nodes); node_of : int64 (v,)."""
        if self.groups is not None:
            return self.groups.under(node_of, nodes).believed()
        return _sums_under(self.shares, node_of, nodes)

    def codes_of(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the code of each value of an original column, int64; −1 if no published record has it."""
        code_of = {value: code for code, value in enumerate(self.values)}
        return np.array([code_of.get(text, -1) for text in text_of(column).to_list()], dtype=np.int64)


def sensitive_of(published: Published) -> tuple[str, ...]:
    """Name the sensitive attributes of a release of any kind."""
    named: str | tuple[str, ...] = getattr(published, "sensitive", ())
    return (named,) if isinstance(named, str) else tuple(named)


def posterior(
    published: Published, people: Table, *, sensitive: str | None = None, recoding: Recoding | None = None
) -> Posterior:
    """Compute what a release says about each person's sensitive value.

    `published`: A release of any kind except a randomized one. `people`: m people with original quasi-identifying
    values (nothing else of them is read), and with the schema of the release. `sensitive`: The sensitive attribute;
    None takes the first one. `recoding`: How a generalized table was published. Raises InputError when the release has
    no such sensitive attribute, shares no quasi-identifying attribute with the people, or is of a kind that says
    nothing about single people.

    *Generalized*: all records whose every value covers the person's; of class means, which cover nobody, the nearest
    records, as :class:`~sfumato.evaluation.attacks.nearest_linkage.NearestLinkage` finds them. *Bucketized*: the
    sensitive counts of the buckets that hold the person's values, weighed by how many rows with them each bucket has.
    *Sliced*: the matching buckets of Li, Li, Zhang and Molloy (2012), section 4; an attribute that is in several
    columns counts once. *Marginal*: the records of the marginal with the sensitive attribute that have the person's
    values; where several have it, they are taken to be independent given it.

    Memory is m · v numbers; :func:`posterior_blocks` takes people a block at a time.
    """
    name = checked_sensitive(published, people, sensitive)
    kind = next((kind for kind in _TALLIES if isinstance(published, kind)), None)
    if kind is None:
        raise InputError(f"a {published.kind} says nothing certain about single people; play another attack")
    tallies: ValueWeights = _TALLIES[kind](published, people, name, recoding or Recoding())
    weights = tallies.weights
    total = weights.sum(axis=1)
    shares = weights / np.where(total > 0, total, 1)[:, None]
    counts = tallies.counts
    return Posterior(tallies.values, shares, tallies.candidates, counts / max(1, counts.sum()))


def posterior_blocks(
    published: Published, people: Table, *, sensitive: str | None = None, recoding: Recoding | None = None
) -> Iterator[tuple[slice, Posterior]]:
    """Yield the posterior of some people at a time and their places, below 64 MiB a copy; see :func:`posterior`."""
    name = checked_sensitive(published, people, sensitive)
    values = value_count(published, name)
    size = max(1, BLOCK // max(1, values))
    for start in range(0, people.height, size):
        rows = slice(start, min(start + size, people.height))
        some = people.take(rows)
        yield rows, posterior(published, some, sensitive=name, recoding=recoding)


def posteriors_of_target(target: Target, people: Table, sensitive: str) -> Iterator[tuple[slice, Posterior]]:
    """Yield what the target's release says about some people at a time; one block for all is kept unchanged."""
    recoding, published = target.recoding, target.published
    cells = people.height * value_count(published, checked_sensitive(published, people, sensitive))
    known = people is target.original or people is target.control
    if not known or not 0 < cells <= BLOCK:
        yield from posterior_blocks(published, people, sensitive=sensitive, recoding=recoding)
        return

    def work() -> Posterior:
        return posterior(published, people, sensitive=sensitive, recoding=recoding)

    yield slice(0, people.height), target.remembered.once(sensitive, (published, people, recoding), work, cells)


_TALLIES: dict[type[Any], Callable[..., ValueWeights]] = {
    PublishedTable: generalized_weights,
    BucketizedTables: bucketized_weights,
    SlicedTable: sliced_weights,
    MarginalTables: marginal_weights,
}


def checked_sensitive(published: Published, people: Table, sensitive: str | None) -> str:
    """Return the sensitive attribute, or raise InputError if nothing can be learnt of it about these people."""
    known = sensitive_of(published)
    problems = []
    if not known:
        problems.append("the release has no sensitive attribute, so there is nothing to learn about anybody")
    elif sensitive is not None and sensitive not in known:
        problems.append(f"sensitive: the release has no sensitive attribute {sensitive!r}; it has {', '.join(known)}")
    if not people.schema.quasi_identifying.keys() & _attributes_of(published):
        problems.append(
            "the release and the people share no quasi-identifying attribute, so nothing links them; give the "
            "schema or policy that the release was made with"
        )
    raise_all(InputError, problems)
    return sensitive or known[0]


def _attributes_of(published: Published) -> set[str]:
    columns: tuple[tuple[str, ...], ...] | None = getattr(published, "columns", None)
    if columns is not None:
        return {name for column in columns for name in column}
    return set(getattr(published, "quasi_identifying", ()))


def value_count(published: Published, sensitive: str) -> int:
    """Return how many values of an attribute a release has."""
    return max(frame[sensitive].n_unique() for frame in published.tables.values() if sensitive in frame.columns)


_NONE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class RecordGroups:
    """Groups of known records, rising by person: how many, which share of fitting records has each value, and fit."""

    person: NDArray[np.int64]
    times: NDArray[np.int64]
    shares: NDArray[np.float64]
    candidates: NDArray[np.float64]
    group_of: NDArray[np.int64]

    def believed(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the chance of each value, float64 (m, v). out : bool (m, v), values that a person cannot have."""
        shares, candidates = self.shares, self.candidates
        if out is not None:
            shares = np.where(out[self.person], 0.0, shares)
            left = shares.sum(axis=1)
            shares, candidates = shares / np.where(left > 0, left, 1)[:, None], candidates * left
        missed = 1 - shares
        for drawn in range(1, int(self.times.max(initial=1))):
            some = np.flatnonzero(self.times > drawn)
            held = shares[some] * candidates[some, None]
            others = np.maximum(candidates[some, None] - drawn - held, 0.0)
            missed[some] *= np.where(held > _NONE, others / np.maximum(others + held, _NONE), 1.0)
        believed: NDArray[np.float64] = 1 - np.multiply.reduceat(missed, self._starts, axis=0)
        # One minus one minus a share need not be the share.
        single = (self.known == 1)[self.person]
        believed[self.person[single]] = shares[single]
        return believed

    def under(self, node_of: NDArray[np.int64], nodes: int) -> RecordGroups:
        """Return the groups with nodes of a hierarchy for values; node_of : int64 (v,)."""
        return replace(self, shares=_sums_under(self.shares, node_of, nodes))

    @property
    def rows(self) -> NDArray[np.float64]:
        """Return the chance that one of the person's records, drawn at random, has each value; float64 (m, v)."""
        sums = np.add.reduceat(self.shares * self.times[:, None], self._starts, axis=0)
        rows: NDArray[np.float64] = sums / self.known[:, None]
        return rows

    @property
    def owners(self) -> NDArray[np.int64]:
        """Return the person of each known record, int64 (r,)."""
        return self.person[self.group_of]

    @property
    def known(self) -> NDArray[np.int64]:
        """Return how many records are known of each person, int64 (m,)."""
        return np.add.reduceat(self.times, self._starts)

    @property
    def fitting(self) -> NDArray[np.float64]:
        """Return the published records that fit each person's groups, float64 (m,)."""
        return np.add.reduceat(self.candidates, self._starts)

    @property
    def _starts(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.append(True, self.person[1:] != self.person[:-1]))


def _sums_under(shares: NDArray[np.float64], node_of: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
    """Add up the shares of the values under each node, float64 (rows, nodes)."""
    return np.stack([shares[:, node_of == node].sum(axis=1) for node in range(nodes)], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class OwnValues:
    """The sensitive values of m people, for scoring: a claim is right if any of a person's records has it.

    `person`: int64 (n,): whose value each is. `column`: n values. `people`: m.
    """

    person: NDArray[np.int64]
    column: pl.Series
    people: int

    @classmethod
    def of_each(cls, column: pl.Series) -> OwnValues:
        """Return the values of people who have one record each."""
        return cls(np.arange(len(column)), column, len(column))

    def any(self, holds: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return 1 for whom it holds for any of their values, else 0; bool (n,) to float64 (m,)."""
        found: NDArray[np.float64] = (np.bincount(self.person[holds], minlength=self.people) > 0).astype(np.float64)
        return found

    def right(self, codes: NDArray[np.int64], claims: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return 1 for whom the claimed value, int64 (m,), is one of theirs, int64 (n,); else 0."""
        return self.any(codes == claims[self.person])

    def matrix(self, codes: NDArray[np.int64], values: int) -> NDArray[np.bool_]:
        """Tell which values each person has, bool (m, values); codes below 0 are none of them."""
        has = np.zeros((self.people, values), dtype=np.bool_)
        there = codes >= 0
        has[self.person[there], codes[there]] = True
        return has


@dataclass(frozen=True, eq=False, repr=False)
class _PeoplePosterior:
    """What a release tells about some people."""

    known: Posterior
    own: OwnValues


def posteriors_of_people(target: Target, table: Table, sensitive: str) -> Iterator[_PeoplePosterior]:
    """Yield what the target's release says about some people of a table at a time, by all known records."""
    known = known_records(target, table)
    if known.alone:
        for rows, one in posteriors_of_target(target, table, sensitive):
            yield _PeoplePosterior(one, OwnValues.of_each(table.frame[sensitive][rows]))
        return
    published, values = (
        target.published,
        value_count(target.published, checked_sensitive(target.published, table, sensitive)),
    )
    cells = len(known.places) * values
    kept = (table is target.original or table is target.control) and 0 < cells <= BLOCK
    for some, places in blocks_of_people(known, values):
        part = table.take(places)
        own = OwnValues(some.person_of, part.frame[sensitive], some.people)

        def work(part: Table = part, some: KnownRecords = some) -> Posterior:
            return peoples_posterior(published, part, some, sensitive, target.recoding, together=target.rows.together)

        given = (published, table, target.recoding)
        one = target.remembered.once(f"{sensitive} of people", given, work, 3 * cells) if kept else work()
        yield _PeoplePosterior(one, own)


def blocks_of_people(known: KnownRecords, values: int) -> Iterator[tuple[KnownRecords, NDArray[np.int64]]]:
    """Yield so many people at a time that beliefs fit into memory, and the places of their records."""
    block_of = np.cumsum(known.counts * values) // (BLOCK + 1)
    starts = np.flatnonzero(np.append(True, block_of[1:] != block_of[:-1]))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), known.people], strict=True):
        yield known.of_people(slice(start, stop))


def peoples_posterior(
    published: Published, table: Table, known: KnownRecords, sensitive: str, recoding: Recoding, *, together: bool
) -> Posterior:
    """Compute what a release says about each person's sensitive values: chances that each is among them.

    `together`: rows fit whose class covers all known records. Else each record is looked up by itself, and those that
    fit the same rows are drawn from them together.
    """
    told = table.take(known.places)
    if together and isinstance(published, PublishedTable):
        values, prior, found = _one_group(published, told, known, sensitive, recoding)
    else:
        values, prior, found = _groups(published, told, known, sensitive, recoding)
    return Posterior(values, found.believed(), found.fitting, prior, found)


_Found = tuple[tuple[str | None, ...], NDArray[np.float64], RecordGroups]


def _one_group(
    published: PublishedTable, original: Table, known: KnownRecords, sensitive: str, recoding: Recoding
) -> _Found:
    tallies = generalized_weights(published, original, sensitive, recoding, known.owners, known.people)
    total = tallies.weights.sum(axis=1)
    shares = tallies.weights / np.where(total > 0, total, 1)[:, None]
    prior = tallies.counts / max(1, tallies.counts.sum())
    everybody = np.arange(known.people)
    groups = RecordGroups(everybody, known.counts, shares, tallies.candidates, known.owners)
    return tallies.values, prior, groups


def _groups(published: Published, original: Table, known: KnownRecords, sensitive: str, recoding: Recoding) -> _Found:
    """Look each record up by itself; records of a person that fit the same published ones are one group."""
    one = posterior(published, original, sensitive=sensitive, recoding=recoding)
    alike = candidate_sets(published, original, recoding) if isinstance(published, PublishedTable) else None
    group_of = distinct_people(original)[1].astype(np.int64) if alike is None else alike
    width = int(group_of.max(initial=0)) + 1
    cells, first, place, times = np.unique(
        known.owners * width + group_of, return_index=True, return_inverse=True, return_counts=True
    )
    groups = RecordGroups(
        cells // width, times.astype(np.int64), one.shares[first], one.candidates[first], place.astype(np.int64)
    )
    return one.values, one.prior, groups

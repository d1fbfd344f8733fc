"""The sensitive values of the published records that fit each person, in a generalized table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import Form
from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.nearest_links import nearest_values
from sfumato.evaluation.attacks.publication import forms_of, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register, shared_attributes
from sfumato.evaluation.attacks.tallies import Tallies
from sfumato.evaluation.attacks.widening import side_by_side, widened
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, covering_classes, fitting_weight, tally_candidates
from sfumato.published import PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


def generalized_tallies(
    published: PublishedTable,
    people: Table,
    sensitive: str,
    recoding: Recoding,
    owner: NDArray[np.int64] | None = None,
    count: int = 0,
) -> Tallies:
    """Count the sensitive values of the records that fit each person: all their values cover the person's.

    Class means cover nobody: for them, the nearest records are counted.

    Parameters
    ----------
    published, people, sensitive, recoding
        The release; what is known of people; the attribute; how it was published.
    owner
        int64: the person of each of the `people`, if they are records of `count` persons whose rows lie together: then
        those fit whose class covers all records of a person. None: each is another person.
    """
    shared = shared_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    publication = read_publication(published.data, sensitive, known, recoding)
    if Form.MEAN in forms_of(known, recoding):
        told, classes = (known, publication) if owner is None else side_by_side(known, publication, owner, count)
        counted, candidates = nearest_values(classes, told, published.data)
        totals = publication.totals.astype(np.float64)
        return Tallies(publication.values, counted.astype(np.float64), candidates.astype(np.float64), totals)
    if owner is not None:
        known, publication = widened(known, publication, owner, count)
    vectors, vector_of = _vectors(known)
    coverage = coverage_of(publication, known)
    tallies = tally_candidates(
        vectors,
        coverage,
        covering_classes(coverage),
        ClassValues(publication.starts, publication.value_of, publication.counts),
        len(publication.values),
    ).astype(np.float64)[vector_of]
    return Tallies(publication.values, tallies, tallies.sum(axis=1), publication.totals.astype(np.float64))


def candidate_sets(published: PublishedTable, people: Table, recoding: Recoding) -> NDArray[np.int64]:
    """Give people whom the same classes fit the same number, from 0; int64 (people,).

    Sets are told apart by sums of random numbers, one for each class.
    """
    shared = shared_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    vectors, vector_of = _vectors(known)
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
    """Tell for which of `count` persons one class covers all of the records, whose `owner` is int64; bool (count,).

    Class means cover nobody, so that they exclude nobody.
    """
    shared = shared_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    if not shared or Form.MEAN in forms_of(known, recoding):
        return np.ones(count, dtype=np.bool_)
    known, publication = widened(known, read_publication(published.data, shared[0], known, recoding), owner, count)
    vectors, vector_of = _vectors(known)
    coverage = coverage_of(publication, known)
    ones = np.ones(len(publication.sizes))
    covered: NDArray[np.bool_] = fitting_weight(vectors, coverage, covering_classes(coverage), ones)[vector_of] > 0
    return covered


def _vectors(known: Sequence[RegisterAttribute]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct vectors of codes, and which of them each person has."""
    told = np.column_stack([each.codes for each in known])
    vector_of, count = group_records(told + 1)
    return np.ascontiguousarray(told[first_records(vector_of, count)]), vector_of

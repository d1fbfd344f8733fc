"""The sensitive values of the published records that fit each person, in a generalized table."""

from __future__ import annotations

import numpy as np

from sfumato.classes.generalized import Form
from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.nearest_links import nearest_values
from sfumato.evaluation.attacks.publication import forms_of, read_publication
from sfumato.evaluation.attacks.register import read_register, shared_attributes
from sfumato.evaluation.attacks.tallies import Tallies
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, covering_classes, tally_candidates
from sfumato.published import PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


def generalized_tallies(published: PublishedTable, people: Table, sensitive: str, recoding: Recoding) -> Tallies:
    """Count the sensitive values of the records that fit each person: all their values cover the person's.

    Class means cover nobody: for them, the nearest records are counted.
    """
    shared = shared_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    publication = read_publication(published.data, sensitive, known, recoding)
    if Form.MEAN in forms_of(known, recoding):
        counted, candidates = nearest_values(publication, known, published.data)
        totals = publication.totals.astype(np.float64)
        return Tallies(publication.values, counted.astype(np.float64), candidates.astype(np.float64), totals)
    told = np.column_stack([each.codes for each in known])
    vector_of, count = group_records(told + 1)
    vectors = np.ascontiguousarray(told[first_records(vector_of, count)])
    coverage = coverage_of(publication, known)
    tallies = tally_candidates(
        vectors,
        coverage,
        covering_classes(coverage),
        ClassValues(publication.starts, publication.value_of, publication.counts),
        len(publication.values),
    ).astype(np.float64)[vector_of]
    return Tallies(publication.values, tallies, tallies.sum(axis=1), publication.totals.astype(np.float64))

"""Median query error of three kinds of release of Adult that promise the same."""

from __future__ import annotations

from collections.abc import Iterator

import sfumato as sf
from benchmarks.overlapping_data import adult
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.evaluation.utility.answers import QueryErrors, estimated_answers, exact_answers, relative_errors, summarize

NAME = "answers"
QUERIES = 1000
DIMENSIONS = (1, 2, 3, 4)
ANONYMIZERS = {
    "bucketized": sf.Bucketization(members="random"),
    "sliced": sf.Slicing(bucket_size="smallest"),
    "generalized": sf.Mondrian(),
}


def run(settings: Settings) -> Iterator[Figure]:
    """Answer queries of more and more predicates."""
    example = adult(settings.adult_file())
    quasi = [name for name in example.records.columns if name != example.sensitive]
    table = sf.read_table(example.records, sf.Schema(quasi_identifying=quasi, sensitive=[example.sensitive]))
    yield from compare(table, example.diversity, DIMENSIONS, QUERIES)


def compare(table: sf.Table, diversity: float, dimensions: tuple[int, ...], queries: int) -> Iterator[Figure]:
    """Return a figure for each kind and number of quasi-identifying attributes in a query."""
    model = sf.ProbabilisticLDiversity(diversity)
    releases = {name: sf.anonymize(table, model, anonymizer=each, seed=1) for name, each in ANONYMIZERS.items()}
    for several in dimensions:
        workload = sf.queries.query_workload(table, queries, dimensions=several, seed=1)
        for name, release in releases.items():
            found = _errors(workload, release, table)
            what = f"median query error, {several} quasi-identifying and the sensitive attribute, {name}"
            detail = f"half of them {found.quartile_low:.1%} to {found.quartile_high:.1%}; l={diversity:g}"
            yield Figure(NAME, what, found.median, f"{found.median:.1%}", detail=detail)


def _errors(workload: sf.queries.Workload, release: sf.Release, table: sf.Table) -> QueryErrors:
    estimated = estimated_answers(workload, release.published, table)
    return summarize(relative_errors(workload, exact_answers(workload, table), estimated, table))

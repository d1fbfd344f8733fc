"""Answering queries from releases of every kind of Adult."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING, read_adult
from benchmarks.measuring import run_repeatedly
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.evaluation.utility.answers import estimated_answers, exact_answers, relative_errors, summarize
from sfumato.published import MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.apart import BUCKET, labels_of
from sfumato.randomness import permutation

NAME = "utility"
BAR = 10.0
"""Seconds for all five kinds together."""

QUERIES = 1000
SENSITIVE = "occupation"
QUASI = tuple(name for name in QUASI_IDENTIFYING if name != SENSITIVE)
DIVERSITY = 5

REST = (("workclass", "education"), ("race", "native-country"), ("sex", SENSITIVE))
COLUMNS = (("age", "marital-status"), *REST)
OVERLAPPING = (("age", "marital-status", "sex"), *REST)
MARGINALS = (
    ("age", "marital-status"),
    ("marital-status", "sex"),
    ("sex", SENSITIVE),
    (SENSITIVE, "education"),
    (SENSITIVE, "workclass"),
    ("race", "native-country"),
)


def run(settings: Settings) -> Iterator[Figure]:
    """Answer the same counts from a release of each kind, one after the other."""
    frame = read_adult(settings.adult_file())
    table = sf.read_table(frame, sf.Schema(quasi_identifying=list(QUASI), sensitive=[SENSITIVE], others="drop"))
    workload = sf.queries.query_workload(table, QUERIES, seed=1)
    exact = exact_answers(workload, table)
    releases = published(table)
    cost, answers = run_repeatedly(
        lambda: {name: estimated_answers(workload, one, table) for name, one in releases.items()}, settings.repeats
    )
    errors = [
        f"{name} {summarize(relative_errors(workload, exact, estimated, table)).median:.1%}"
        for name, estimated in answers.items()
    ]
    about = ", ".join(errors)
    share = cost.wall / BAR
    yield Figure(
        NAME,
        f"share of {BAR:g} s: {QUERIES:,} queries from each of {len(releases)} kinds of release of Adult",
        share,
        f"{share:.1%}",
        1.0,
        at_most=True,
        detail=f"{table.height:,} records; median errors: {about}; {cost}",
    )


def published(table: sf.Table) -> dict[str, Published]:
    """Return a release of each kind; parts of slices stand in the buckets of the bucketized one."""
    models = sf.ProbabilisticLDiversity(DIVERSITY)
    generalized = sf.anonymize(table, models, seed=1).data
    buckets = sf.anonymize(table, models, anonymizer=sf.Bucketization(members="random"), seed=1).published
    bucketed = records_of(buckets.tables["quasi_identifying"], buckets.tables["sensitive"])
    counts = tuple(table.frame.group_by(column).len("count").sort(column) for column in MARGINALS)
    return {
        "generalized": PublishedTable(generalized, QUASI, (SENSITIVE,)),
        "bucketized": buckets,
        "sliced": sliced(bucketed, COLUMNS),
        "overlapping slices": sliced(bucketed, OVERLAPPING),
        "marginals": MarginalTables(counts, MARGINALS, (SENSITIVE,)),
        "randomized": RandomizedTable(table.frame.select(*QUASI, SENSITIVE), QUASI, (SENSITIVE,)),
    }


def records_of(quasi: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Put a sensitive value of its bucket beside each row of bucketized tables."""
    values = counts.select(BUCKET, pl.col(SENSITIVE).repeat_by("count")).explode(SENSITIVE).sort(BUCKET)
    return quasi.sort(BUCKET).with_columns(values[SENSITIVE])


def sliced(records: pl.DataFrame, columns: tuple[tuple[str, ...], ...]) -> SlicedTable:
    """Permute each column inside its bucket."""
    ordered = records.sort(BUCKET)
    data = ordered.select(BUCKET)
    for place, (column, labels) in enumerate(zip(columns, labels_of(columns), strict=True)):
        order = pl.Series("order", permutation(ordered.height, place))
        part = ordered.with_columns(order).sort(BUCKET, "order")
        data = data.with_columns(**{label: part[name] for name, label in zip(column, labels, strict=True)})
    return SlicedTable(data, columns, (SENSITIVE,))

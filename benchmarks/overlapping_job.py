"""Does overlapping slicing keep more than slicing that promises the same?

Nobody has shown it: the papers that propose overlapping columns stop there. Four tables are sliced both ways at the
same l and into the same number of columns. Every seed draws records, holds a third of them back, publishes the others
and draws queries; all ways of slicing see the same records and queries, and differences are taken seed by seed.

*Together* is what overlapping can come to at most: all quasi-identifying attributes in one column, the sensitive one in
another, which is bucketization by another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

import sfumato as sf
from benchmarks.overlapping_data import Example, examples
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.anonymizers.protocol import Publisher
from sfumato.evaluation.utility.answers import estimated_answers, exact_answers, relative_errors, summarize
from sfumato.evaluation.utility.classifiers import Accuracy, Learner, accuracies
from sfumato.evaluation.utility.joint import original_joint, read_joint
from sfumato.evaluation.utility.measure import correlations
from sfumato.evaluation.utility.queries import domains_of
from sfumato.published import Published
from sfumato.published.apart import SlicedTable
from sfumato.table.encoding import encode

NAME = "overlapping"
SEEDS = (1, 2, 3, 4, 5, 6)
COLUMNS = 5
LOW = 2.0
"""The lowest diversity that is worth the name, where attributes may stand beside the sensitive one."""

THRESHOLD = 0.1
QUERIES = 500
LEARNERS: tuple[Learner, ...] = ("decision-tree", "naive-bayes")

PLAIN, TOGETHER, ORIGINAL = "plain", "together", "original"
KEPT, ERROR, NOBODY, AUC = "φ² kept", "median query error", "combinations that are nobody", "membership AUC"
LOWER_IS_BETTER = (ERROR, AUC)
COMPARED = ("fuzzy", "medoids", TOGETHER, ORIGINAL)
"""What is held against plain slicing."""

Measured = Mapping[str, float]
"""What was measured of one release, by name."""


def run(settings: Settings) -> Iterator[Figure]:
    """Slice every table in every way, for a high and for a low diversity."""
    for example in examples(settings):
        for diversity in (example.diversity, LOW):
            yield from compare(replace(example, diversity=diversity), SEEDS, QUERIES)


def compare(example: Example, seeds: Sequence[int], queries: int) -> Iterator[Figure]:
    """Return a figure for everything that was measured of two ways to slice."""
    runs = [_measured(example, seed, queries) for seed in seeds]
    for way in COMPARED:
        for what in runs[0][way]:
            pairs = [(one[way][what], one[PLAIN][what]) for one in runs if what in one[way] and what in one[PLAIN]]
            if pairs:
                yield _figure(f"{example.name}, l={example.diversity:g}: {what}", way, pairs)


def slicings(table: sf.Table) -> dict[str, Publisher]:
    """Return the ways to slice a table."""
    quasi, sensitive = tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive)
    return {
        PLAIN: sf.Slicing(columns=COLUMNS, bucket_size="smallest"),
        "fuzzy": sf.OverlappingSlicing(columns=COLUMNS, threshold=THRESHOLD, bucket_size="smallest"),
        "medoids": sf.OverlappingSlicing(
            columns=COLUMNS, threshold=THRESHOLD, method="medoids", bucket_size="smallest"
        ),
        TOGETHER: sf.Slicing(columns=(quasi, sensitive), bucket_size="smallest"),
    }


def _measured(example: Example, seed: int, queries: int) -> dict[str, Measured]:
    table, holdout = sf.hold_out(example.drawn(seed), seed=seed)
    found: dict[str, Measured] = {}
    for name, slicing in slicings(table).items():
        release = _sliced(table, slicing, example, seed)
        learnt = _learnt(release.published, table, holdout, example, seed)
        found[name] = {
            **kept(release.published, table, queries, seed),
            **{_about(each): each.release for each in learnt},
            **_membership(release, table, example, seed),
        }
        found[ORIGINAL] = {_about(each): each.original for each in learnt}
    return found


def _sliced(table: sf.Table, slicing: Publisher, example: Example, seed: int) -> sf.Release:
    return sf.anonymize(table, sf.ProbabilisticLDiversity(example.diversity), anonymizer=slicing, seed=seed)


def kept(published: Published, table: sf.Table, queries: int, seed: int) -> Measured:
    """Measure the associations that a release keeps, and the median error of counts."""
    domains = domains_of(encode(table))
    kept = correlations(original_joint(domains), read_joint(published, domains), domains).kept
    workload = sf.queries.query_workload(table, queries, seed=seed)
    exact, estimated = exact_answers(workload, table), estimated_answers(workload, published, table)
    return {KEPT: kept, ERROR: summarize(relative_errors(workload, exact, estimated, table)).median}


def _learnt(
    published: Published, table: sf.Table, holdout: sf.Table, example: Example, seed: int
) -> tuple[Accuracy, ...]:
    domains = domains_of(encode(table))
    targets = (example.sensitive, example.target)
    before, after = original_joint(domains), read_joint(published, domains)
    return accuracies(before, after, holdout, domains, targets=targets, learners=LEARNERS, seed=seed)


def _membership(release: sf.Release, table: sf.Table, example: Example, seed: int) -> Measured:
    """Return how well records are told from people who are not there; measured where columns may overlap."""
    assert isinstance(release.published, SlicedTable)
    figures = release.report.figures
    if "fakes" not in figures:
        same = sf.OverlappingSlicing(columns=release.published.columns, bucket_size="smallest")
        figures = _sliced(table, same, example, seed).report.figures
    found = {NOBODY: figures["fakes"] / table.height}
    return {**found, AUC: figures["membership_auc"]} if "membership_auc" in figures else found


def _about(accuracy: Accuracy) -> str:
    return f"{accuracy.learner} right about {accuracy.target}"


def _figure(title: str, way: str, pairs: Sequence[tuple[float, float]]) -> Figure:
    sign = -1 if title.endswith(LOWER_IS_BETTER) else 1
    differences = [mine - plain for mine, plain in pairs]
    better, worse = (sum(side * sign * difference > 0 for difference in differences) for side in (1, -1))
    mine, plain = (_spread(side) for side in zip(*pairs, strict=True))
    detail = f"{mine} {way}, {plain} plain; better in {better}, worse in {worse} of {len(pairs)} seeds"
    mean = fmean(differences)
    return Figure(NAME, f"{title}, {way} − plain", mean, f"{mean:+.3f}", detail=detail)


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ± {stdev(values) if len(values) > 1 else 0:.3f}"

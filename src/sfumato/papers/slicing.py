"""The papers on slicing: what can be learnt from sliced, generalized and bucketized tables, and who is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.buckets.bucketization import Bucketization
from sfumato.anonymizers.slicing.overlapping import OverlappingSlicing
from sfumato.anonymizers.slicing.slicing import Slicing
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.evaluation.utility.learners import Learner
from sfumato.evaluation.utility.measure import measure_utility
from sfumato.evaluation.utility.splitting import hold_out
from sfumato.evaluation.utility.workload import query_workload
from sfumato.models import ProbabilisticLDiversity
from sfumato.numbers import figure, percent
from sfumato.papers.adult_trees import EIGHT
from sfumato.papers.datasets import complete_adult
from sfumato.papers.judging import Curve, curve_of
from sfumato.papers.measured import run_all
from sfumato.papers.panels import Panel
from sfumato.papers.reproduction import Claim, Reproduction
from sfumato.papers.setting import Setting
from sfumato.published import BucketizedTables, PublishedTable, SlicedTable
from sfumato.published.sliced import labels_of
from sfumato.recoding import TIGHT
from sfumato.release.anonymize import anonymize
from sfumato.release.release import Release
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table

TITLE = "Slicing with marginal publication, on slicing (Li, Li, Zhang, Molloy, TKDE 2012) and overlapping slicing"
SLICING, OVERLAPPING = "slicing", "overlapping-slicing"
GENERALIZATION, BUCKETIZATION = "mondrian", "bucketization"
METHODS = (SLICING, GENERALIZATION, BUCKETIZATION, OVERLAPPING)
DIVERSITIES = (2, 3, 4, 5, 6)
RECORDS = 6000
SENSITIVE, QUASI_TARGET = "occupation", "education"
LEARNERS: tuple[Learner, ...] = ("decision-tree", "naive-bayes")
NEGLIGIBLE = 0.01
"""Accuracy by which two methods may differ by chance: the standard error of a share of some 2,000 test records."""

NOTES = (
    "The paper at hand has no experiments; it repeats claims of the TKDE paper and expects that overlapping slicing "
    "does better. Both are put to the test on Adult with occupation as the sensitive attribute, as in TKDE.",
    "Generalization is Mondrian, with the same l-diversity as the others and no hierarchies. Classifiers are trained "
    "on a release and tested on original records that were kept back; accuracy is the mean of decision tree and naive "
    f"Bayes, and a claim about what differs by less than {NEGLIGIBLE:.0%} cannot be decided.",
    "'In one row' is the share of the original records all of whose quasi-identifying values stand together, exactly, "
    "in a published row: whoever looks somebody up finds them.",
)


def slicing(setting: Setting) -> Reproduction:
    """Publish Adult with every method at every l, and compare what can be learnt from the releases."""
    if find_spec("sklearn") is None:
        raise PolicyError(
            "reproduce slicing: scikit-learn is not installed; install it with: pip install 'sfumato[utility]'"
        )
    adult, source = complete_adult(setting.data, 600 if setting.quick else RECORDS)
    schema = Schema(quasi_identifying=[name for name in EIGHT if name != SENSITIVE], sensitive=[SENSITIVE])
    table, kept_back = hold_out(read_table(adult.select(EIGHT), schema), seed=setting.seed)
    diversities = DIVERSITIES[::4] if setting.quick else DIVERSITIES
    # The papers are about Anatomy's buckets, and of sliced ones as small as the check allows.
    known = {
        **ANONYMIZERS,
        **PUBLISHERS,
        BUCKETIZATION: partial(Bucketization, members="random"),
        SLICING: partial(Slicing, bucket_size="smallest"),
        OVERLAPPING: partial(OverlappingSlicing, bucket_size="smallest"),
    }
    jobs = [
        partial(_run, label, known[label](), table, kept_back, l, setting)
        for l in diversities  # noqa: E741
        for label in METHODS
        if label in known
    ]
    results = run_all(jobs, setting, "slicing")
    return Reproduction(
        "slicing", TITLE, (f"{source}; a third of them kept back",), {"results": results}, claims_of(results), PANELS,
        NOTES,
    )  # fmt: skip


def claims_of(results: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge the claims; `results` has method, l, accuracy of both targets, count_error, in_one_row."""
    return tuple(_claims(results))


def _claims(results: pl.DataFrame) -> Iterator[Claim]:
    sensitive, quasi, errors, rows = (
        {method: curve_of(results, "l", up, method=method) for method in METHODS}
        for up in ("accuracy_sensitive", "accuracy_quasi", "count_error", "in_one_row")
    )
    tkde = "TKDE 6; here IV"
    yield _above(
        "Slicing keeps more than generalization for learning the sensitive attribute", tkde,
        sensitive, SLICING, GENERALIZATION,
    )  # fmt: skip
    yield _above(
        "Slicing keeps more than bucketization for learning the sensitive attribute", tkde,
        sensitive, SLICING, BUCKETIZATION,
    )  # fmt: skip
    yield _above(
        "Slicing keeps more than generalization for learning a quasi-identifying attribute", tkde,
        quasi, SLICING, GENERALIZATION,
    )  # fmt: skip
    yield _above(
        "Bucketization keeps most for learning a quasi-identifying attribute (it publishes them as they are)", tkde,
        quasi, BUCKETIZATION, SLICING,
    )  # fmt: skip
    yield _above(
        "Slicing answers counts better than generalization", "IV",
        {method: {l: -error for l, error in curve.items()} for method, curve in errors.items()},  # noqa: E741
        SLICING, GENERALIZATION, slack=0.0,
    )  # fmt: skip
    yield _hides_membership(rows)
    yield _overlapping(sensitive, quasi)


def _above(
    text: str, where: str, curves: Mapping[str, Curve], one: str, other: str, *, slack: float = NEGLIGIBLE
) -> Claim:
    """Judge whether a curve lies above another on average; a difference below `slack` cannot be decided."""
    shared = [l for l in curves[one] if l in curves[other]]  # noqa: E741
    if not shared:
        return Claim.judged(text, where, None, "no l was reached by both")
    gain = sum(curves[one][l] - curves[other][l] for l in shared) / len(shared)  # noqa: E741
    told = "; ".join(
        f"l = {figure(l)}: {percent(abs(curves[one][l]), 3)} for {percent(abs(curves[other][l]), 3)}"
        for l in shared  # noqa: E741
    )
    return Claim.judged(text, where, _clearly(gain, slack), f"{one} for {other}: {told}; on average {gain:+.2%}")


def _clearly(gain: float, slack: float) -> bool | None:
    return None if abs(gain) <= slack else gain > 0


def _hides_membership(rows: Mapping[str, Curve]) -> Claim:
    sliced, bucketized = rows[SLICING], rows[BUCKETIZATION]
    holds = None
    if sliced and bucketized:
        holds = max(sliced.values()) < min(bucketized.values())
    return Claim.judged(
        "Slicing hides who is in the table better than bucketization",
        "I and II",
        holds,
        f"records that stand in one row: slicing at most {percent(max(sliced.values(), default=0), 3)}, bucketization "
        f"at least {percent(min(bucketized.values(), default=0), 3)}",
    )


def _overlapping(sensitive: Mapping[str, Curve], quasi: Mapping[str, Curve]) -> Claim:
    """Judge the paper's own proposal: better than slicing for one target, and not worse for the other."""
    text, where = "Overlapping slicing keeps more correlations than slicing (the paper's proposal)", "III and V"
    gains = [
        sum(curves[OVERLAPPING][l] - curves[SLICING][l] for l in shared) / len(shared)  # noqa: E741
        for curves in (sensitive, quasi)
        if (shared := [l for l in curves[OVERLAPPING] if l in curves[SLICING]])  # noqa: E741
    ]
    if len(gains) < 2:
        return Claim.judged(text, where, None, "overlapping slicing was not run")
    verdicts = [_clearly(gain, NEGLIGIBLE) for gain in gains]
    holds = False if False in verdicts else True if True in verdicts else None
    return Claim.judged(
        text, where, holds,
        f"accuracy more than slicing's by {gains[0]:+.2%} for the sensitive attribute, {gains[1]:+.2%} for a "
        "quasi-identifying one, on average over l",
    )  # fmt: skip


def _run(label: str, way: Any, table: Table, kept_back: Table, l: int, setting: Setting) -> dict[str, Any]:  # noqa: E741
    row: dict[str, Any] = {"method": label, "l": l}
    figures = ("accuracy_sensitive", "accuracy_quasi", "original_sensitive", "original_quasi", "count_error")
    # As in the paper, and only where classes are generalized at all.
    recoding = TIGHT if way.name in ANONYMIZERS else None
    try:
        release = anonymize(
            table, ProbabilisticLDiversity(l), anonymizer=way, recoding=recoding, seed=setting.seed, threads=1
        )
    except (UnsatisfiableError, PolicyError):
        return row | dict.fromkeys((*figures, "in_one_row"))
    workload = query_workload(table, 300, seed=setting.seed)
    measured = measure_utility(
        release, table, workload=workload, holdout=kept_back, targets=[SENSITIVE, QUASI_TARGET],
        classifiers=LEARNERS, seed=setting.seed,
    )  # fmt: skip
    for name, target in (("sensitive", SENSITIVE), ("quasi", QUASI_TARGET)):
        own = [each for each in measured.classifiers if each.target == target]
        row[f"accuracy_{name}"] = sum(each.release for each in own) / len(own)
        row[f"original_{name}"] = sum(each.original for each in own) / len(own)
    return row | {"count_error": measured.queries["count"].median, "in_one_row": in_one_row(release, table)}


def in_one_row(release: Release, table: Table) -> float:
    """Return the share of original records whose quasi-identifying values are all exact in one published row."""
    names = list(table.schema.quasi_identifying)
    published = release.published
    if isinstance(published, BucketizedTables):
        rows = published.quasi
    elif isinstance(published, PublishedTable):
        rows = published.data
    elif isinstance(published, SlicedTable):
        whole = [
            dict(zip(column, labels, strict=True))
            for column, labels in zip(published.columns, labels_of(published.columns), strict=True)
            if {*names} <= {*column}
        ]
        if not whole:
            return 0.0
        rows = published.data.select(pl.col(whole[0][name]).alias(name) for name in names)
    else:
        return 0.0
    texts = [pl.col(name).cast(pl.String) for name in names]
    found = table.frame.select(texts).join(rows.select(texts).unique(), on=names, how="semi", nulls_equal=True)
    return found.height / table.height


PANELS = (
    Panel(
        "accuracy-sensitive", "Accuracy of learning the sensitive attribute against l (TKDE's figures)", "results", "l",
        "accuracy_sensitive", ("l (probabilistic l-diversity)", "accuracy, occupation"),
    ),
    Panel(
        "accuracy-quasi", "Accuracy of learning a quasi-identifying attribute against l (TKDE's figures)", "results",
        "l", "accuracy_quasi", ("l (probabilistic l-diversity)", "accuracy, education"),
    ),
    Panel(
        "count-error", "Median relative error of counts against l (not in the paper)", "results", "l", "count_error",
        ("l (probabilistic l-diversity)", "median relative error of counts"),
    ),
)  # fmt: skip

"""The papers on slicing: what can be learnt from sliced, generalized and bucketized tables, and who is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.bucketization import Bucketization
from sfumato.anonymizers.slicing.overlapping import OverlappingSlicing
from sfumato.anonymizers.slicing.slicing import Slicing
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.evaluation.attacks.membership import MembershipInference
from sfumato.evaluation.attacks.play import attack
from sfumato.evaluation.inputs import hold_out
from sfumato.evaluation.utility.answers import query_workload
from sfumato.evaluation.utility.classifiers import Learner
from sfumato.evaluation.utility.measure import measure_utility
from sfumato.models import ProbabilisticLDiversity
from sfumato.numbers import figure, percent
from sfumato.papers.datasets import EIGHT, complete_adult
from sfumato.papers.reproduction import Claim, Panel, Reproduction, Setting, curve_of, run_all
from sfumato.published import BucketizedTables, PublishedTable, SlicedTable
from sfumato.published.apart import labels_of
from sfumato.recoding import TIGHT
from sfumato.release.anonymize import anonymize
from sfumato.release.release import Release
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table

_TITLE = "Slicing with marginal publication, on slicing (Li, Li, Zhang, Molloy, TKDE 2012) and overlapping slicing"
_SLICING, _OVERLAPPING = "slicing", "overlapping-slicing"
_GENERALIZATION, _BUCKETIZATION = "mondrian", "bucketization"
_METHODS = (_SLICING, _GENERALIZATION, _BUCKETIZATION, _OVERLAPPING)
_DIVERSITIES = (2, 3, 4, 5, 6)
_RECORDS = 6000
_OCC7, _OCC7_DIVERSITY = tuple(name for name in EIGHT if name != "native-country"), 5
"""TKDE's table of seven attributes for classification, and its l."""

_SENSITIVE, _QUASI_TARGET = "occupation", "education"
_LEARNERS: tuple[Learner, ...] = ("decision-tree", "naive-bayes")
_MEMBER = ("member_auc", "member_low", "member_high")
_NEGLIGIBLE = 0.01
"""Accuracy by which two methods may differ by chance: the standard error of a share of some 2,000 test records."""
_DRAWS = 5
"""Splits into records to publish and to test on, each with releases, queries and classifiers of its own."""

_NOTES = (
    "The paper at hand has no experiments. It repeats claims of the TKDE paper and expects that overlapping slicing "
    "does better. Both are put to the test on Adult with occupation as the sensitive attribute, as in TKDE.",
    "OCC-7 are seven attributes of Adult, as the TKDE paper names them.",
    "Generalization is Mondrian, with the same l-diversity as the others and no hierarchies. Classifiers are trained "
    "on a release and tested on original records that were kept back. Accuracy is the mean of decision tree and naive "
    f"Bayes. Records are split and published {_DRAWS} times (once with --quick). Figures are means. What differs by "
    f"less than {_NEGLIGIBLE:.0%}, or not always in the same direction, cannot be decided.",
    "'In one row' is the share of original records whose quasi-identifying values stand together, exactly, in a "
    "published row. Whoever looks somebody up finds them. Of slicing that is nearly a tautology, so the attack "
    "decides. It infers membership from how well a release fits people who are in it, and people kept back.",
)


def slicing(setting: Setting) -> Reproduction:
    """Publish Adult with every method at every l, and compare what can be learnt from the releases."""
    if find_spec("sklearn") is None:
        raise PolicyError(
            "reproduce slicing: scikit-learn is not installed; install it with: pip install 'sfumato[utility]'"
        )
    adult, source = complete_adult(setting.data, 600 if setting.quick else _RECORDS)
    diversities = _DIVERSITIES[::4] if setting.quick else _DIVERSITIES
    results = _all_draws(adult, EIGHT, diversities, setting)
    occ7 = _all_draws(adult, _OCC7, (_OCC7_DIVERSITY,), setting)
    return Reproduction(
        "slicing", _TITLE, (f"{source}; a third of them kept back",), {"results": results, "occ7": occ7},
        claims_of(results, occ7), _PANELS, _NOTES,
    )  # fmt: skip


def _all_draws(adult: pl.DataFrame, names: Sequence[str], diversities: Sequence[int], setting: Setting) -> pl.DataFrame:
    seeds = range(setting.seed, setting.seed + (1 if setting.quick else _DRAWS))
    return pl.concat(
        [
            _published(adult, names, diversities, replace(setting, seed=seed)).with_columns(draw=pl.lit(seed))
            for seed in seeds
        ],
        how="vertical_relaxed",
    )


def _published(adult: pl.DataFrame, names: Sequence[str], diversities: Sequence[int], setting: Setting) -> pl.DataFrame:
    """Publish some attributes with every method, as the papers do, and measure the releases."""
    schema = Schema(quasi_identifying=[name for name in names if name != _SENSITIVE], sensitive=[_SENSITIVE])
    table, kept_back = hold_out(read_table(adult.select(names), schema), seed=setting.seed)
    # The papers are about Anatomy's buckets, and of sliced ones as small as the check allows.
    known = {
        **ANONYMIZERS,
        **PUBLISHERS,
        _BUCKETIZATION: partial(Bucketization, members="random"),
        _SLICING: partial(Slicing, bucket_size="smallest"),
        _OVERLAPPING: partial(OverlappingSlicing, bucket_size="smallest"),
    }
    jobs = [
        partial(_run, label, known[label](), table, kept_back, l, setting)
        for l in diversities  # noqa: E741
        for label in _METHODS
        if label in known
    ]
    return run_all(jobs, setting, f"slicing: {len(names)} attributes")


def claims_of(results: pl.DataFrame, occ7: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge the claims; tables have draw, method, l, accuracy of both targets, count_error, in_one_row, member_auc."""
    return (*_claims(results), *_claims_of_occ7(occ7))


def _claims_of_occ7(occ7: pl.DataFrame) -> Iterator[Claim]:
    for other in (_GENERALIZATION, _BUCKETIZATION):
        text = f"OCC-7, l = {_OCC7_DIVERSITY}: slicing keeps more than {other} for occupations"
        yield _above(text, "TKDE 6", occ7, "accuracy_sensitive", _SLICING, other)


def _claims(results: pl.DataFrame) -> Iterator[Claim]:
    tkde = "TKDE 6; here IV"
    yield _above(
        "Slicing keeps more than generalization for learning the sensitive attribute", tkde,
        results, "accuracy_sensitive", _SLICING, _GENERALIZATION,
    )  # fmt: skip
    yield _above(
        "Slicing keeps more than bucketization for learning the sensitive attribute", tkde,
        results, "accuracy_sensitive", _SLICING, _BUCKETIZATION,
    )  # fmt: skip
    yield _above(
        "Slicing keeps more than generalization for learning a quasi-identifying attribute", tkde,
        results, "accuracy_quasi", _SLICING, _GENERALIZATION,
    )  # fmt: skip
    yield _above(
        "Bucketization keeps most for learning a quasi-identifying attribute (it publishes them as they are)", tkde,
        results, "accuracy_quasi", _BUCKETIZATION, _SLICING,
    )  # fmt: skip
    yield _above(
        "Slicing answers counts better than generalization", "IV",
        results.with_columns(pl.col("count_error").neg()), "count_error", _SLICING, _GENERALIZATION, slack=0.0,
    )  # fmt: skip
    yield _hides_membership(results)
    yield _overlapping(results)


def _above(
    text: str, where: str, results: pl.DataFrame, up: str, one: str, other: str, *, slack: float = _NEGLIGIBLE
) -> Claim:
    """Judge whether a curve lies above another on average, in every draw, by more than `slack`."""
    gains = _gains(results, up, one, other)
    if not gains:
        return Claim.judged(text, where, None, "no l was reached by both")
    above, below = (curve_of(results, "l", up, method=method) for method in (one, other))
    sentence = "; ".join(
        f"l = {figure(l)}: {percent(abs(above[l]), 3)} for {percent(abs(below[l]), 3)}"
        for l in above  # noqa: E741
        if l in below
    )
    return Claim.judged(
        text, where, _clearly(gains, slack), f"{one} for {other}: {sentence}; on average {_spread(gains)}"
    )


def _gains(results: pl.DataFrame, up: str, one: str, other: str) -> list[float]:
    """Return by how much one method has more than another in each draw, on average over l."""
    wide = results.drop_nulls(up).pivot("method", index=["draw", "l"], values=up)
    if not {one, other} <= {*wide.columns}:
        return []
    both = wide.drop_nulls([one, other]).group_by("draw").agg((pl.col(one) - pl.col(other)).mean().alias("gain"))
    return both.sort("draw")["gain"].to_list()


def _clearly(gains: Sequence[float], slack: float) -> bool | None:
    gain = sum(gains) / len(gains)
    same = min(gains) > 0 or max(gains) < 0
    return gain > 0 if same and abs(gain) > slack else None


def _spread(gains: Sequence[float]) -> str:
    mean = f"{sum(gains) / len(gains):+.2%}"
    return mean if len(gains) < 2 else f"{mean} ({min(gains):+.2%} to {max(gains):+.2%} in {len(gains)} draws)"


def _hides_membership(results: pl.DataFrame) -> Claim:
    """Judge by a played attack: how often somebody in the table is told from somebody who is not."""
    # It is open where the intervals of both methods meet at some l in some draw.
    played = results.drop_nulls("member_auc")
    sliced, bucketized = (played.filter(pl.col("method") == method) for method in (_SLICING, _BUCKETIZATION))
    pairs = sliced.join(bucketized, on=["draw", "l"], suffix="_other")
    holds = None
    if pairs.height and (pairs["member_high"] < pairs["member_low_other"]).all():
        holds = True
    elif (pairs["member_low"] > pairs["member_high_other"]).any():
        holds = False
    sentence = "; ".join(
        f"l = {l}: {figure(own, 3)} for {figure(other, 3)}"
        for l, own, other in pairs.group_by("l").agg(pl.mean("member_auc", "member_auc_other")).sort("l").iter_rows()  # noqa: E741
    )
    rows = {method: curve_of(results, "l", "in_one_row", method=method) for method in (_SLICING, _BUCKETIZATION)}
    whole = ", ".join(f"{method} {percent(max(curve.values()), 3)}" for method, curve in rows.items() if curve)
    return Claim.judged(
        "Slicing hides who is in the table better than bucketization",
        "I and II",
        holds,
        f"how often somebody in it is told from somebody who is not (0.5 by guessing), slicing for bucketization: "
        f"{sentence or 'nothing was played'}; records that stand in one row: {whole or 'none'}",
    )


def _overlapping(results: pl.DataFrame) -> Claim:
    """Judge the paper's own proposal: better than slicing for one target, and not worse for the other."""
    text, where = "Overlapping slicing keeps more correlations than slicing (the paper's proposal)", "III and V"
    gains = [_gains(results, up, _OVERLAPPING, _SLICING) for up in ("accuracy_sensitive", "accuracy_quasi")]
    if not all(gains):
        return Claim.judged(text, where, None, "overlapping slicing was not run")
    verdicts = [_clearly(gain, _NEGLIGIBLE) for gain in gains]
    holds = False if False in verdicts else True if True in verdicts else None
    return Claim.judged(
        text, where, holds,
        f"accuracy more than slicing's by {_spread(gains[0])} for the sensitive attribute, {_spread(gains[1])} for a "
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
        return row | dict.fromkeys((*figures, "in_one_row", *_MEMBER))
    workload = query_workload(table, 300, seed=setting.seed)
    measured = measure_utility(
        release, table, workload=workload, holdout=kept_back, targets=[_SENSITIVE, _QUASI_TARGET],
        classifiers=_LEARNERS, seed=setting.seed,
    )  # fmt: skip
    for name, target in (("sensitive", _SENSITIVE), ("quasi", _QUASI_TARGET)):
        own = [each for each in measured.classifiers if each.target == target]
        row[f"accuracy_{name}"] = sum(each.release for each in own) / len(own)
        row[f"original_{name}"] = sum(each.original for each in own) / len(own)
    content = {"count_error": measured.queries["count"].median, "in_one_row": _in_one_row(release, table)}
    return row | content | _member(release, table, kept_back, setting)


def _member(release: Release, table: Table, kept_back: Table, setting: Setting) -> dict[str, Any]:
    """Play membership inference with the strongest attacker, who knows the sensitive values, too."""
    attacks = attack(release, table, attacks=[MembershipInference()], control=kept_back, seed=setting.seed, threads=1)
    rate = attacks[MembershipInference.name][0].figures
    return dict(zip(_MEMBER, (rate["auc"], rate["auc_low"], rate["auc_high"]), strict=True))


def _in_one_row(release: Release, table: Table) -> float:
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


_PANELS = (
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

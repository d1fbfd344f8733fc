"""Measuring how useful a release of any kind is, and what it keeps of its original, in one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.utility.answers import QueryErrors, Questions, estimated_answers, exact_answers
from sfumato.evaluation.utility.classifiers import LEARNERS, Accuracy, Encoding, Learner
from sfumato.evaluation.utility.correlations import Correlations, DirectComparison, TradeOff, correlations, utility_loss
from sfumato.evaluation.utility.queries import AGGREGATES, Query, Workload
from sfumato.evaluation.utility.release_view import ReleaseView, error_figures
from sfumato.evaluation.utility.views import Original
from sfumato.evaluation.utility.workload import drawn_workload, large_populations
from sfumato.numbers import counted, figure, percent
from sfumato.progress import Progress, shown
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.opening import open_release
from sfumato.release.release import Release
from sfumato.table.table import Table

QUERIES = 1000


_POPULATIONS = 200


_SUPPORT = 0.01
"""Populations whose sensitive values are compared, and the share of all records that each must have."""


def answer(
    workload: Workload | Query,
    original: Table,
    release: Release | Published | str | Path | None = None,
    *,
    recoding: Recoding | None = None,
    weights: str | None = None,
) -> NDArray[np.float64]:
    """Answer aggregate queries, exactly from the original, or as well as a release allows.

    Parameters
    ----------
    workload
        Queries, or one.
    original
        The original table; with a release, only its schema, domains and hierarchies are used.
    release
        A release in memory, a release folder, or published tables of any kind; None answers from the original.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    weights
        A column of the original, or of the release, that says how many people each record stands for; these are
        counted, and their numbers added and averaged.

    Returns
    -------
    numpy.ndarray
        float64, one per query; NaN for an average over nobody.

    Raises
    ------
    PolicyError
        With every query that does not suit the table.
    InputError
        When the release cannot be read against the original.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20, 21, 30, 39], "illness": ["flu", "cold", "flu", "flu"]})
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying=["age"], sensitive=["illness"]))
    >>> release = sf.anonymize(table, sf.KAnonymity(2))
    >>> query = sf.queries.Query((sf.queries.Range("age", 30, 34), sf.queries.Among("illness", ("flu",))))
    >>> sf.queries.answer(query, table), sf.queries.answer(query, table, release)
    (array([1.]), array([1.]))
    """
    asked = Workload((workload,)) if isinstance(workload, Query) else workload
    _refuse_strangers(original, recoding, weights=weights)
    if release is None:
        return exact_answers(asked, original, weights)
    opened = open_release(release)
    read_as = recoding or opened.policy.recoding()
    return estimated_answers(asked, opened.published, original, recoding=read_as, weights=weights)


def measure_utility(
    release: Release | Published | str | Path,
    original: Table,
    *,
    workload: Workload | None = None,
    holdout: Table | None = None,
    targets: Sequence[str] | None = None,
    classifiers: Sequence[Learner] = LEARNERS,
    encoding: Encoding = "midpoint",
    recoding: Recoding | None = None,
    weights: str | None = None,
    seed: int | None = None,
    progress: Progress = shown,
) -> Utility:
    """Measure what a release of any kind keeps: answers, distributions, associations, classifiers.

    Parameters
    ----------
    release
        A release in memory, a release folder, or published tables.
    original
        The table that it was made from.
    workload
        Queries to answer; None draws 1000 counts about published columns, and as many sums and averages if there are
        numbers.
    holdout
        Original records that the release was *not* made from, as :func:`sfumato.hold_out` splits them off; classifiers
        are tested on them. None leaves classifiers out.
    targets
        What classifiers predict; None takes the sensitive attributes and the first quasi-identifying one of categories.
    classifiers
        Some of ``"decision-tree"``, ``"naive-bayes"``, ``"logistic-regression"``; they need scikit-learn.
    encoding
        How a classifier reads a generalized cell: ``"midpoint"``, ``"bounds"`` or ``"expand"``.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    weights
        A column of the original, and of the release, that says how many people each record stands for: answers,
        distributions, associations and the utility loss of populations are then those of the people. Classifiers and
        attackers still count records, whom they are about.
    seed
        For queries, populations and for combining rows; None draws from the operating system.
    progress
        Called with (what, done, total).

    Returns
    -------
    Utility

    Raises
    ------
    PolicyError
        With every option that does not suit, and when scikit-learn is needed and not installed.
    InputError
        When the release cannot be read against the original.

    Notes
    -----
    For how each kind answers see :func:`~sfumato.evaluation.utility.answers.estimated_answers`. The trade-off is that
    of Brickell and Shmatikov (*The cost of privacy*, KDD 2008) and of Li and Li (*On the tradeoff between privacy and
    utility in data publishing*, KDD 2009): 200 populations that hold at least 1% of the records; what a release says
    about a person is computed as attacks do. The researcher of the direct comparison uses the first of the classifiers.
    """
    _refuse_strangers(original, recoding, holdout, weights)
    raise_all(PolicyError, seed_problems(seed))
    progress("reading", 0, 4)
    seen = ReleaseView.of(release, Original.of(original, weights), recoding, weights)
    progress("queries", 1, 4)
    asked = workload or _usual_workload(seen, seed)
    queries, unanswered = error_figures(Questions.about(asked, seen.domains, seen.original.weights), seen.weighted)
    progress("classifiers", 2, 4)
    unmeasured = dict(unanswered)
    learnt: tuple[Accuracy, ...] = ()
    if holdout is None:
        unmeasured["classifiers"] = "no records were held out to test them on"
    elif not classifiers:
        unmeasured["classifiers"] = "none was asked for"
    else:
        learnt = seen.learnt(holdout, targets, classifiers, encoding, seed)
    progress("trade-off", 3, 4)
    trade_offs, reason = _trade_offs(seen, learnt, seed)
    if reason:
        unmeasured["trade-off"] = reason
    progress("trade-off", 4, 4)
    if lacking := [name for name in seen.domains if name not in seen.after.spreads]:
        unmeasured["columns"] = f"not published: {', '.join(lacking)}"
    kept = correlations(seen.original.weighted, seen.weighted, seen.domains)
    published = round(seen.after.total)
    return Utility(
        seen.published.kind, original.height, published, queries, kept, learnt, trade_offs, unmeasured, weights
    )


def _refuse_strangers(original: object, recoding: object, holdout: object = None, weights: object = None) -> None:
    problems = [] if isinstance(original, Table) else ["original: must be a table; read it with sfumato.read_table"]
    if holdout is not None and not isinstance(holdout, Table):
        problems.append("holdout: must be a table; make one with sfumato.hold_out")
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    if weights is not None and not isinstance(weights, str):
        problems.append("weights: must be the name of a column")
    raise_all(PolicyError, problems)


def _usual_workload(seen: ReleaseView, seed: int | None) -> Workload:
    published = seen.having_values
    numbers = [name for name in published if seen.domains[name].numbers is not None]
    aggregates = AGGREGATES if numbers else AGGREGATES[:1]
    count = QUERIES * len(aggregates)
    return drawn_workload(
        seen.original, count, aggregates=aggregates, of=numbers or None, attributes=published, seed=seed
    )


def _trade_offs(seen: ReleaseView, learnt: Sequence[Accuracy], seed: int | None) -> tuple[tuple[TradeOff, ...], str]:
    """Return a trade-off for each sensitive attribute, or why there is none."""
    views, reason = seen.attacker_views()
    if reason:
        return (), reason
    quasi = [name for name in seen.having_values if name in seen.original.table.schema.quasi_identifying]
    populations = large_populations(seen.original, quasi, _POPULATIONS, seed=seed)
    found = []
    for each in views:
        domain = seen.domains[each.sensitive]
        accuracy = next((one.release for one in learnt if one.target == each.sensitive), None)
        loss, count = utility_loss(seen.original.weighted, seen.weighted, populations, domain, support=_SUPPORT)
        direct = DirectComparison(each.baseline, each.adversary, accuracy)
        found.append(TradeOff(each.sensitive, direct, each.privacy_loss, loss, count))
    return tuple(found), ""


DIGITS = 3


_MOST_PAIRS = 5


@dataclass(frozen=True)
class Utility:
    """How useful a release is, measured against its original. It is for the data steward.

    Attributes
    ----------
    kind : str
        Kind of the release, as in ``release.json``.
    records, published : int
        Records of the original, and in the release (marginals: as many as the largest table counts).
    queries : mapping of str to QueryErrors
        Errors of counts, sums and averages, under the name of the aggregate.
    correlations : Correlations
        Single attributes, and pairs of them.
    classifiers : tuple of Accuracy
        Empty without held-out records.
    trade_offs : tuple of TradeOff
        One for each sensitive attribute.
    unmeasured : mapping of str to str
        What was not measured, and why.
    weights : str or None
        The column by which records were weighted.
    """

    kind: str
    records: int
    published: int
    queries: Mapping[str, QueryErrors]
    correlations: Correlations
    classifiers: tuple[Accuracy, ...] = ()
    trade_offs: tuple[TradeOff, ...] = ()
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        object.__setattr__(self, "queries", MappingProxyType(dict(self.queries)))
        object.__setattr__(self, "unmeasured", MappingProxyType(dict(self.unmeasured)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON. No value of the table is among them."""
        return {
            "kind": self.kind,
            "records": self.records,
            "published": self.published,
            "weights": self.weights,
            "queries": {aggregate: errors.to_dict() for aggregate, errors in self.queries.items()},
            "correlations": self.correlations.to_dict(),
            "classifiers": [each.to_dict() for each in self.classifiers],
            "trade_offs": [each.to_dict() for each in self.trade_offs],
            "unmeasured": dict(self.unmeasured),
        }

    def __str__(self) -> str:
        """Write a page for people."""
        by = "" if self.weights is None else f", by weights {self.weights!r}"
        head = f"{self.kind.replace('-', ' ')} of {counted(self.published, 'record')}, made from {self.records:,}{by}"
        sections = [self._query_lines(), self._attribute_lines(), self._pair_lines(), self._classifier_lines()]
        lines = [line for section in [*sections, self._trade_off_lines()] for line in section]
        lines += [f"not measured: {what}, {reason}" for what, reason in self.unmeasured.items()]
        return "\n".join([head, *lines])

    def _query_lines(self) -> list[str]:
        return [
            f"{_asked(aggregate, errors)}: median error {percent(errors.median, DIGITS)}, half of them "
            f"{percent(errors.quartile_low, DIGITS)} to {percent(errors.quartile_high, DIGITS)}"
            for aggregate, errors in self.queries.items()
        ]

    def _attribute_lines(self) -> list[str]:
        rows = []
        for each in self.correlations.distributions:
            moved = "" if each.earth_mover is None else f", moved by {percent(each.earth_mover, DIGITS)} of the range"
            rows.append((each.attribute, f"{percent(each.total_variation, DIGITS)} of the distribution changed{moved}"))
        return ["distributions", *_aligned(rows)]

    def _pair_lines(self) -> list[str]:
        pairs = self.correlations.associations
        if not pairs:
            return []
        head = f"associations of pairs (φ²): {percent(self.correlations.kept, DIGITS)} kept; the strongest before:"
        strongest = sorted(pairs, key=lambda pair: -pair.before)[:_MOST_PAIRS]
        rows = [
            (" and ".join(pair.attributes), f"{figure(pair.before, DIGITS)} before, {figure(pair.after, DIGITS)} after")
            for pair in strongest
        ]
        return [head, *_aligned(rows)]

    def _classifier_lines(self) -> list[str]:
        if not self.classifiers:
            return []
        rows = [
            (
                f"{each.target}, {each.learner}",
                f"{percent(each.release, DIGITS)} right; trained on the original {percent(each.original, DIGITS)}, "
                f"guessing {percent(each.baseline, DIGITS)}",
            )
            for each in self.classifiers
        ]
        return ["classifiers, tested on people who are in neither", *_aligned(rows)]

    def _trade_off_lines(self) -> list[str]:
        lines = []
        for each in self.trade_offs:
            direct = each.direct
            gain = "" if direct.utility_gain is None else f", a researcher {_points(direct.utility_gain)}"
            kept = (
                "no population is large enough"
                if each.utility_loss is None
                else f"utility loss {figure(each.utility_loss, DIGITS)} over {counted(each.populations, 'population')}"
            )
            lines.append(
                f"{each.sensitive}: an attacker gains {_points(direct.privacy_loss)} over guessing{gain}; privacy loss "
                f"{figure(each.privacy_loss, DIGITS)} of at most 0.693, {kept}"
            )
        return lines


def _asked(aggregate: str, errors: QueryErrors) -> str:
    return counted(errors.queries, aggregate)


def _points(share: float) -> str:
    return f"{figure(100 * share, DIGITS)} percentage points"


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]

"""Measuring how useful a release of any kind is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.posterior import posterior_blocks, sensitive_of
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.published import Published, RandomizedTable
from sfumato.recoding import Recoding
from sfumato.release.attack_target import OpenedRelease, open_release
from sfumato.release.measure import published_recoding
from sfumato.release.release import Release
from sfumato.running import Progress, silent
from sfumato.shuffle import seed_problems
from sfumato.table.encoding import encode
from sfumato.table.table import Table
from sfumato.utility.answers import (
    QueryErrors,
    estimated_answers,
    exact_answers,
    relative_errors,
    summarize,
)
from sfumato.utility.classifiers import Accuracy, accuracies
from sfumato.utility.correlations import correlations
from sfumato.utility.domains import Domain, domains_of
from sfumato.utility.features import Encoding
from sfumato.utility.joint import Joint
from sfumato.utility.learners import LEARNERS, Learner
from sfumato.utility.populations import large_populations
from sfumato.utility.queries import AGGREGATES, Query, Workload
from sfumato.utility.report import Utility
from sfumato.utility.trade_off import DirectComparison, TradeOff, guessing_accuracy, privacy_losses, utility_loss
from sfumato.utility.views import original_joint, read_joint
from sfumato.utility.workload import query_workload

QUERIES = 1000
POPULATIONS = 200
SUPPORT = 0.01
"""Populations whose sensitive values are compared, and the share of all records that each must have."""


def answer(
    workload: Workload | Query,
    original: Table,
    release: Release | Published | str | Path | None = None,
    *,
    recoding: Recoding | None = None,
) -> NDArray[np.float64]:
    """Answer aggregate queries, exactly from the original, or as well as a release allows.

    Parameters
    ----------
    workload
        Queries, or one.
    original
        The original table; where there is a release, only its schema, domains and hierarchies are used.
    release
        A release in memory, a release folder, or published tables of any kind; None answers from the original.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.

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
    >>> query = sf.Query((sf.Range("age", 30, 34), sf.Among("illness", ("flu",))))
    >>> sf.answer(query, table), sf.answer(query, table, release)
    (array([1.]), array([1.]))
    """
    asked = Workload((workload,)) if isinstance(workload, Query) else workload
    _refuse_strangers(original, recoding)
    if release is None:
        return exact_answers(asked, original)
    opened = open_release(release)
    return estimated_answers(asked, opened.published, original, recoding=recoding or _recoding(opened))


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
    seed: int | None = None,
    progress: Progress = silent,
) -> Utility:
    """Measure what a release of any kind keeps: answers, distributions, associations, what can be learnt from it.

    Parameters
    ----------
    release
        A release in memory, a release folder, or published tables.
    original
        The table that it was made from.
    workload
        Queries to answer; None draws 1000 counts about published columns, and as many sums and averages where there are
        numbers.
    holdout
        Original records that the release was *not* made from, as :func:`sfumato.hold_out` keeps them back; classifiers
        are tested on them. None leaves classifiers out.
    targets
        What classifiers predict; None takes the sensitive attributes and the first quasi-identifying one of categories.
    classifiers
        Some of ``"decision-tree"``, ``"naive-bayes"``, ``"logistic-regression"``; they need scikit-learn.
    encoding
        What a generalized cell is for a classifier: ``"midpoint"``, ``"bounds"`` or ``"expand"``.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    seed
        For queries, populations and for putting rows together; None draws from the operating system.
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
    For how each kind answers see :func:`~sfumato.utility.answers.estimated_answers`. The trade-off is that of Brickell
    and Shmatikov (*The cost of privacy*, KDD 2008) and of Li and Li (*On the tradeoff between privacy and utility in
    data publishing*, KDD 2009): 200 populations that hold at least 1% of the records; what a release tells of a person
    is worked out as attacks do. The researcher of the direct comparison uses the first of the classifiers.
    """
    _refuse_strangers(original, recoding, holdout)
    raise_all(PolicyError, seed_problems(seed))
    opened = open_release(release)
    chosen = recoding or _recoding(opened)
    domains = domains_of(encode(original))
    progress("reading", 0, 4)
    seen = _Seen(opened.published, original, chosen, domains, original_joint(domains), _read(opened, domains, chosen))
    progress("queries", 1, 4)
    queries, unanswered = _query_errors(seen, workload, seed)
    progress("classifiers", 2, 4)
    unmeasured = dict(unanswered)
    learnt: tuple[Accuracy, ...] = ()
    if holdout is None:
        unmeasured["classifiers"] = "no records were held out to test them on"
    elif not classifiers:
        unmeasured["classifiers"] = "none was asked for"
    else:
        learnt = _learnt(seen, holdout, targets, classifiers, encoding, seed)
    progress("trade-off", 3, 4)
    trade_offs, reason = _trade_offs(seen, learnt, seed)
    if reason:
        unmeasured["trade-off"] = reason
    progress("trade-off", 4, 4)
    if lacking := [name for name in domains if name not in seen.after.spreads]:
        unmeasured["columns"] = f"not published: {', '.join(lacking)}"
    kept = correlations(seen.before, seen.after, domains)
    published = round(seen.after.total)
    return Utility(opened.published.kind, original.height, published, queries, kept, learnt, trade_offs, unmeasured)


@dataclass(frozen=True, eq=False, repr=False)
class _Seen:
    """A release and its original, both read."""

    published: Published
    original: Table
    recoding: Recoding
    domains: Mapping[str, Domain]
    before: Joint
    after: Joint

    @property
    def having_values(self) -> list[str]:
        """Published attributes of which the original has at least one value."""
        return [name for name in self.after.spreads if self.domains[name].attribute.size]


def _read(opened: OpenedRelease, domains: Mapping[str, Domain], recoding: Recoding) -> Joint:
    return read_joint(opened.published, domains, recoding)


def _recoding(opened: OpenedRelease) -> Recoding:
    return published_recoding(opened.policy)


def _refuse_strangers(original: object, recoding: object, holdout: object = None) -> None:
    problems = [] if isinstance(original, Table) else ["original: must be a table; read it with sfumato.read_table"]
    if holdout is not None and not isinstance(holdout, Table):
        problems.append("holdout: must be a table; sfumato.hold_out keeps one back")
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    raise_all(PolicyError, problems)


def _query_errors(
    seen: _Seen, workload: Workload | None, seed: int | None
) -> tuple[dict[str, QueryErrors], dict[str, str]]:
    """Return the errors of each aggregate, and why there are none of some."""
    asked = workload or _usual_workload(seen, seed)
    exact = exact_answers(asked, seen.original)
    estimated = estimated_answers(asked, seen.published, seen.original, recoding=seen.recoding)
    errors = relative_errors(asked, exact, estimated, seen.original)
    aggregates = np.array([query.aggregate for query in asked])
    found: dict[str, QueryErrors] = {}
    unmeasured: dict[str, str] = {}
    for aggregate in AGGREGATES:
        own = errors[aggregates == aggregate]
        if not np.all(np.isnan(own)):
            found[aggregate] = summarize(own)
        elif len(own):
            unmeasured[f"{aggregate} queries"] = "none has an answer in the original"
    return found, unmeasured


def _usual_workload(seen: _Seen, seed: int | None) -> Workload:
    published = seen.having_values
    numbers = [name for name in published if seen.domains[name].numbers is not None]
    aggregates = AGGREGATES if numbers else AGGREGATES[:1]
    count = QUERIES * len(aggregates)
    return query_workload(
        seen.original, count, aggregates=aggregates, of=numbers or None, attributes=published, seed=seed
    )


def _learnt(
    seen: _Seen,
    holdout: Table,
    targets: Sequence[str] | None,
    classifiers: Sequence[Learner],
    encoding: Encoding,
    seed: int | None,
) -> tuple[Accuracy, ...]:
    return accuracies(
        seen.before,
        seen.after,
        holdout,
        seen.domains,
        targets=_usual_targets(seen) if targets is None else targets,
        learners=classifiers,
        encoding=encoding,
        seed=seed,
    )


def _usual_targets(seen: _Seen) -> list[str]:
    schema = seen.original.schema
    quasi = [name for name in schema.quasi_identifying if seen.domains[name].numbers is None]
    return [name for name in [*schema.sensitive, *quasi[:1]] if name in seen.after.spreads]


def _trade_offs(seen: _Seen, learnt: Sequence[Accuracy], seed: int | None) -> tuple[tuple[TradeOff, ...], str]:
    """Return one for each sensitive attribute, or why there is none."""
    names = [name for name in sensitive_of(seen.published) if name in seen.domains]
    if not names:
        return (), "the release has no sensitive attribute"
    if isinstance(seen.published, RandomizedTable):
        return (), "a randomized table says nothing certain of single people"
    quasi = [name for name in seen.having_values if name in seen.original.schema.quasi_identifying]
    populations = large_populations(seen.original, quasi, POPULATIONS, seed=seed)
    found = []
    for name in names:
        accuracy = next((each.release for each in learnt if each.target == name), None)
        try:
            direct, privacy = _told(seen, name, accuracy)
        except InputError as error:
            return (), "; ".join(error.problems)
        loss, count = utility_loss(seen.before, seen.after, populations, seen.domains[name], support=SUPPORT)
        found.append(TradeOff(name, direct, privacy, loss, count))
    return tuple(found), ""


def _told(seen: _Seen, sensitive: str, accuracy: float | None) -> tuple[DirectComparison, float]:
    """Return what attackers gain who ask the release about every person of the original."""
    right, most = 0.0, 0.0
    for rows, beliefs in posterior_blocks(seen.published, seen.original, sensitive=sensitive, recoding=seen.recoding):
        truth = beliefs.codes_of(seen.original.frame[sensitive][rows])
        right += float(guessing_accuracy(beliefs.shares, truth).sum())
        most = max(most, float(privacy_losses(beliefs.shares, beliefs.prior).max()))
    frequent = int(np.bincount(seen.domains[sensitive].codes).max())
    people = seen.original.height
    return DirectComparison(frequent / people, right / people, accuracy), most

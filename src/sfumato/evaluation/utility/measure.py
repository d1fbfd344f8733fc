"""Measuring how useful a release of any kind is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.utility.answers import Questions, estimated_answers, exact_answers
from sfumato.evaluation.utility.classifiers import Accuracy
from sfumato.evaluation.utility.correlations import correlations
from sfumato.evaluation.utility.features import Encoding
from sfumato.evaluation.utility.learners import LEARNERS, Learner
from sfumato.evaluation.utility.original import Original
from sfumato.evaluation.utility.populations import large_populations
from sfumato.evaluation.utility.queries import AGGREGATES, Query, Workload
from sfumato.evaluation.utility.release_view import ReleaseView, error_figures
from sfumato.evaluation.utility.trade_off import DirectComparison, TradeOff, utility_loss
from sfumato.evaluation.utility.utility_report import Utility
from sfumato.evaluation.utility.workload import drawn_workload
from sfumato.progress import Progress, shown
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.opening import open_release
from sfumato.release.release import Release
from sfumato.table.table import Table

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
    >>> query = sf.Query((sf.Range("age", 30, 34), sf.Among("illness", ("flu",))))
    >>> sf.answer(query, table), sf.answer(query, table, release)
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
    told, reason = seen.told()
    if reason:
        return (), reason
    quasi = [name for name in seen.having_values if name in seen.original.table.schema.quasi_identifying]
    populations = large_populations(seen.original, quasi, POPULATIONS, seed=seed)
    found = []
    for each in told:
        domain = seen.domains[each.sensitive]
        accuracy = next((one.release for one in learnt if one.target == each.sensitive), None)
        loss, count = utility_loss(seen.original.weighted, seen.weighted, populations, domain, support=SUPPORT)
        direct = DirectComparison(each.baseline, each.adversary, accuracy)
        found.append(TradeOff(each.sensitive, direct, each.privacy_loss, loss, count))
    return tuple(found), ""

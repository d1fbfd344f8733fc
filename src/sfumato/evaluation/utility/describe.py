"""Describing the columns of a release of any kind beside those of its original."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.utility.bins import coarse, single_values
from sfumato.evaluation.utility.descriptives import (
    ColumnDescription,
    ContingencyTable,
    Descriptives,
    Figures,
    NumberFigures,
    RegressionKept,
    ValueShare,
)
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.estimates import contingency, histogram, records_by_label
from sfumato.evaluation.utility.joint import Joint
from sfumato.evaluation.utility.naming import bin_labels, day_of
from sfumato.evaluation.utility.number_spread import TIED, NumberSpread
from sfumato.evaluation.utility.original import Original
from sfumato.evaluation.utility.regressions import regression
from sfumato.evaluation.utility.release_view import ReleaseView
from sfumato.progress import Progress, shown
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.release import Release
from sfumato.table.schema import Kind
from sfumato.table.table import Table

NUMBER_BINS, CATEGORIES = 10, 50
MOST_NUMBERS = 256
"""Columns of more different numbers have no most frequent one."""


def describe(
    release: Release | Published | str | Path,
    original: Table,
    *,
    columns: Sequence[str] | None = None,
    contingency: Sequence[tuple[str, str]] = (),
    regressions: Mapping[str, Sequence[str]] = MappingProxyType({}),
    weights: str | None = None,
    recoding: Recoding | None = None,
    seed: int | None = None,
    progress: Progress = shown,
) -> Descriptives:
    """Describe columns before and after publishing: figures, distributions, contingency tables.

    Parameters
    ----------
    release
        A release in memory, a release folder, or published tables of any kind.
    original
        The table that it was made from.
    columns
        Which quasi-identifying and sensitive columns; None takes all that are published.
    contingency
        Pairs of them: how often their values occur together.
    regressions
        A column of numbers → columns that explain it, by a linear regression on the original and on the release; see
        :func:`~sfumato.evaluation.utility.regressions.regression`.
    weights
        A column of the original, and of the release, that says how many people each record stands for; every figure is
        then one of those people.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    seed
        For regressions on releases whose rows are no records: these are put together at random. None draws from the
        operating system.
    progress
        Called with (what, done, total).

    Returns
    -------
    Descriptives
        For the data steward: it has values of the original.

    Raises
    ------
    PolicyError
        With every column that is not there to be described.
    InputError
        When the release cannot be read against the original, or there are no such weights.

    Notes
    -----
    What a cell of the release stands for is the same as for queries: see
    :func:`~sfumato.evaluation.utility.answers.estimated_answers`. A range of whole numbers is spread over all of them,
    one of other numbers evenly, and figures follow from that. Quantiles are Hyndman and Fan's second definition. Cost
    O(n log n) for each column, one query for each bin of a pair.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20, 21, 30, 39], "illness": ["flu", "cold", "flu", "flu"]})
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying=["age"], sensitive=["illness"]))
    >>> [age] = sf.describe(sf.anonymize(table, sf.KAnonymity(2)), table, columns=["age"]).columns
    >>> age.before.numbers.mean, round(age.after.numbers.mean, 9)
    (27.5, 27.5)
    """
    problems: list[str] = (
        [] if isinstance(original, Table) else ["original: must be a table; read it with sfumato.read_table"]
    )
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    raise_all(
        PolicyError, [*problems, *_form_problems(columns, contingency, regressions, weights), *seed_problems(seed)]
    )
    progress("reading", 0, 2)
    seen = ReleaseView.of(release, Original.of(original, weights), recoding, weights)
    published = [name for name in seen.domains if name in seen.weighted.spreads]
    asked = published if columns is None else list(columns)
    named = [*asked, *(name for pair in contingency for name in pair)]
    named += [name for target, on in regressions.items() for name in (target, *on)]
    raise_all(PolicyError, _column_problems(named, regressions, {name: seen.domains[name] for name in published}))
    progress("describing", 1, 2)
    before, after = seen.original.weighted, seen.weighted
    described = tuple(_column(seen.domains[name], before, after) for name in asked)
    tables = tuple(_table(seen.domains, pair, before, after) for pair in contingency)
    fits: list[RegressionKept] = []
    if regressions:
        sides = seen.original.rows, seen.rows(weights, seed)
        for target, on in regressions.items():
            fits.append(regression(seen.domains[target], [seen.domains[name] for name in on], *sides))
    progress("describing", 2, 2)
    published_records = round(seen.after.total)
    return Descriptives(
        seen.published.kind, original.height, published_records, weights, described, tables, tuple(fits)
    )


def _column_problems(named: Sequence[str], targets: Iterable[str], published: Mapping[str, Domain]) -> list[str]:
    problems = [
        f"column {name!r} is not a published quasi-identifying or sensitive column"
        for name in dict.fromkeys(named)
        if name not in published
    ]
    return problems + [
        f"regressions: column {name!r} has no numbers to explain"
        for name in targets
        if name in published and (published[name].numbers is None or not published[name].attribute.size)
    ]


def _form_problems(columns: object, pairs: object, regressions: object, weights: object) -> list[str]:
    problems = []
    fitting = isinstance(regressions, Mapping) and all(
        isinstance(target, str) and _is_names(on) and on and len({target, *on}) == len(on) + 1
        for target, on in regressions.items()
    )
    if not fitting:
        problems.append("regressions: must say for a column which other columns, each once, explain it")
    if columns is not None and not _is_names(columns):
        problems.append("columns: must be a list of column names")
    if isinstance(pairs, str) or not isinstance(pairs, Sequence) or not all(map(_is_pair, pairs)):
        problems.append("contingency: must be a list of pairs of two different column names")
    if weights is not None and not isinstance(weights, str):
        problems.append("weights: must be the name of a column")
    return problems


def _is_names(names: object) -> bool:
    return not isinstance(names, str) and isinstance(names, Sequence) and all(isinstance(name, str) for name in names)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, Sequence) and _is_names(pair) and len(pair) == len(set(pair)) == 2


def _column(domain: Domain, before: Joint, after: Joint) -> ColumnDescription:
    bins = coarse(domain, NUMBER_BINS, CATEGORIES)
    sides = [_without_traces(histogram(joint, domain.name, bins)) for joint in (before, after)]
    shares = tuple(
        ValueShare(label, float(one), float(other))
        for label, one, other in zip(bin_labels(domain, bins), *sides, strict=True)
        if label is not None or one > 0 or other > 0
    )
    return ColumnDescription(domain.name, _kind(domain), _figures(domain, before), _figures(domain, after), shares)


def _without_traces(counts: Floats) -> Floats:
    """Take what is left of sums that should be 0 for 0."""
    return np.where(counts > TIED * counts.sum(), counts, 0.0)


def _kind(domain: Domain) -> str:
    if domain.numbers is None:
        return "category"
    return "date" if domain.attribute.kind is Kind.DATE else "number"


def _figures(domain: Domain, joint: Joint) -> Figures:
    by_label = records_by_label(joint, domain.name)
    spread = joint.spreads[domain.name]
    missing = float(_without_traces(spread.tally(by_label, coarse(domain, 1, 1)))[-1])
    frequent = None
    if domain.attribute.size and (domain.numbers is None or domain.attribute.size <= MOST_NUMBERS):
        bins = single_values(domain)
        counts = histogram(joint, domain.name, bins)[:-1]
        # The first of those that are equal but for the rounding of sums.
        frequent = bin_labels(domain, bins)[int(np.argmax(counts >= counts.max() * (1 - TIED)))]
    numbers = None
    if domain.numbers is not None and (known := spread.numbers(by_label)).records > 0:
        numbers = _number_figures(domain, known)
    return Figures(float(by_label.sum()), missing, frequent, numbers)


def _number_figures(domain: Domain, spread: NumberSpread) -> NumberFigures:
    is_date = domain.attribute.kind is Kind.DATE
    second, third, fourth = spread.central_moments
    lower, median, upper = spread.quantiles([0.25, 0.5, 0.75])
    varies = not spread.is_constant and second > 0
    write = day_of if is_date else float
    return NumberFigures(
        total=None if is_date else spread.total,
        mean=write(spread.mean),
        deviation=0.0 if spread.is_constant else second**0.5,
        skewness=third / second**1.5 if varies else None,
        excess_kurtosis=fourth / second**2 - 3 if varies else None,
        minimum=write(spread.ends[0]),
        lower_quartile=write(lower),
        median=write(median),
        upper_quartile=write(upper),
        maximum=write(spread.ends[1]),
        fifths=None if is_date else spread.fifths,
        gini=None if is_date else spread.gini,
        geometric_mean=None if is_date else spread.geometric_mean,
    )


def _table(domains: Mapping[str, Domain], pair: tuple[str, str], before: Joint, after: Joint) -> ContingencyTable:
    bins = {name: coarse(domains[name], NUMBER_BINS, CATEGORIES) for name in pair}
    labels = [bin_labels(domains[name], bins[name]) for name in pair]
    sides = [_without_traces(contingency(joint, *pair, bins=bins)) for joint in (before, after)]
    both: Floats = sides[0] + sides[1]
    rows = [place for place, label in enumerate(labels[0]) if label is not None or both[place].sum() > 0]
    across = [place for place, label in enumerate(labels[1]) if label is not None or both[:, place].sum() > 0]
    one, other = (tuple(map(tuple, side[np.ix_(rows, across)].tolist())) for side in sides)
    named = [tuple(own[place] for place in places) for own, places in zip(labels, (rows, across), strict=True)]
    return ContingencyTable((pair[0], pair[1]), named[0], named[1], one, other)

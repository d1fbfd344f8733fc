"""Answers from the original and from a release, how far apart they are, and certain bounds of some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.inputs import weights_in
from sfumato.evaluation.utility.domains import AttributeDomain, domains_of, query_problems
from sfumato.evaluation.utility.joint import Joint, estimate
from sfumato.evaluation.utility.queries import Query, Workload
from sfumato.evaluation.utility.views import original_joint, read_joint
from sfumato.published import Published
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import encode
from sfumato.table.table import Table

Floats = NDArray[np.float64]


_SANITY = 0.001
"""Errors are divided by at least this share of the answer over all records."""


def exact_answers(workload: Workload, table: Table, weights: str | None = None) -> Floats:
    """Answer queries from the original records.

    `table`: n records. `weights`: The column that says how many people each record stands for; None: one. Result:
    float64, one per query: NaN for an average over nobody. A query over nobody counts and adds to 0. Raises PolicyError
    with every query about columns that the table does not have, or that do not suit.
    """
    people = None if weights is None else weights_in(table.frame, weights, "the original")
    return _answers(original_joint(_only(_asked(workload, table), workload), people), workload)


def estimated_answers(
    workload: Workload,
    published: Published,
    table: Table,
    *,
    recoding: Recoding | None = None,
    weights: str | None = None,
) -> Floats:
    """Answer queries from published tables alone, as well as their kind allows.

    `table`: The original. Only its public part is used: the schema, with domains and hierarchies, says what labels
    stand for. `recoding`: How a generalized table was published; None takes the defaults. `weights`: The published
    column that says how many people each record stands for; None: one. Result: float64, one per query: NaN for an
    average over nobody. Raises PolicyError with every query about columns that do not exist, or that do not suit.
    Raises InputError when published cells cannot be read.

    Records under a generalized value are spread evenly over it: whole numbers ``[a..b]`` by the numbers inside the
    range, (overlap + 1) / (width + 1), others by length; nodes and sets by their values; ``*`` over the domain; a
    missing value is never in a range or set. Bucketized tables: matching records of a bucket times the share of its
    matching sensitive values (Xiao and Tao 2006). Sliced tables: records of a bucket times the share of each column
    that matches; shared attributes count once, as conditions. Marginals: the smallest table that has all attributes,
    else tables are independent given what they share, which is iterative proportional fitting where the sets of
    attributes have no cycle. A randomized table is taken unchanged.

    Suppressed records do not count.

    Cost O(rows) for each query and each part of the tables that it involves.
    """
    return _estimated(workload, read_joint(published, _asked(workload, table), recoding, weights))


@dataclass(frozen=True, eq=False, repr=False)
class Questions:
    """Queries about an original with their exact answers, computed once for any number of releases.

    Letters: q queries.

    `exact`: float64 (q,): answers from the original; NaN for an average over nobody. `least`: float64 (q,): 0.1% of the
    answer over all records, the smallest divisor of an error.
    """

    workload: Workload
    exact: Floats
    least: Floats

    @classmethod
    def about(
        cls, workload: Workload, domains: Mapping[str, AttributeDomain], weights: Floats | None = None
    ) -> Questions:
        """Answer queries from the original records, each of which counts as often as its weight says.

        Raises PolicyError with every query about columns that the table does not have, or that do not suit.
        """
        _check(workload, domains)
        original = original_joint(_only(domains, workload), weights)
        return cls(workload, _answers(original, workload), _least(workload, original))

    def errors(self, published: Joint) -> Floats:
        """Return the relative error of a release's answer to each query, (q,); NaN for averages over nobody.

        Raises InputError when queries are about columns that are not published.
        """
        return _relative(self.exact, _estimated(self.workload, published), self.least)


@dataclass(frozen=True)
class QueryErrors:
    """Errors of estimated answers against exact ones.

    `queries`: Queries that have an exact answer; averages over nobody have none. `median`, `mean`, `quartile_low`,
    `quartile_high`, `worst`: Of the relative errors |estimate − exact| / max(|exact|, 0.1% of the answer over all
    records); a release that has no answer is 100% off.
    """

    queries: int
    median: float
    mean: float
    quartile_low: float
    quartile_high: float
    worst: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def relative_errors(workload: Workload, exact: Floats, estimated: Floats, table: Table) -> Floats:
    """Return the relative error of each query, (queries,); NaN for averages over nobody.

    Divided by max(|exact|, 0.1% of the aggregate over all records): n for counts.
    """
    if len(exact) != len(workload) or len(estimated) != len(workload):
        raise InputError("relative errors: there must be an exact and an estimated answer to every query")
    original = original_joint(_only(_asked(workload, table), workload))
    return _relative(exact, estimated, _least(workload, original))


def summarize(errors: Floats) -> QueryErrors:
    """Return the spread of relative errors, without queries that have no answer.

    Raises InputError when no query has one.
    """
    known = errors[~np.isnan(errors)]
    if not len(known):
        raise InputError("query errors: no query has an answer in the original; draw others")
    low, median, high = np.quantile(known, [0.25, 0.5, 0.75])
    return QueryErrors(len(known), float(median), float(known.mean()), float(low), float(high), float(known.max()))


def _asked(workload: Workload, table: Table) -> dict[str, AttributeDomain]:
    domains = domains_of(encode(table))
    _check(workload, domains)
    return domains


def _check(workload: Workload, domains: Mapping[str, AttributeDomain]) -> None:
    if not isinstance(workload, Workload):
        raise PolicyError("workload: must be a Workload; draw one with query_workload")
    problems = [problem for query in workload for problem in query_problems(query, domains)]
    raise_all(PolicyError, dict.fromkeys(problems))


def _only(domains: Mapping[str, AttributeDomain], workload: Workload) -> Mapping[str, AttributeDomain]:
    """Leave out attributes that no query is about: fewer attributes, fewer distinct rows."""
    wanted = set(workload.attributes)
    return {name: domain for name, domain in domains.items() if name in wanted} or domains


def _estimated(workload: Workload, published: Joint) -> Floats:
    missing = [name for name in workload.attributes if name not in published.spreads]
    raise_all(
        InputError,
        [
            f"column {name!r} is not published, but queries ask about it; leave it out of the queries"
            for name in missing
        ],
    )
    return _answers(published, workload)


def _answers(joint: Joint, queries: Iterable[Query]) -> Floats:
    return np.array([estimate(joint, query) for query in queries])


def _least(workload: Workload, original: Joint) -> Floats:
    """Return the smallest divisor of each query's error: a share of its aggregate over all records, (q,)."""
    kinds = {(query.aggregate, query.of) for query in workload}
    whole = {kind: _SANITY * abs(estimate(original, Query((), *kind))) for kind in kinds}
    return np.array([whole[query.aggregate, query.of] for query in workload])


def _relative(exact: Floats, estimated: Floats, least: Floats) -> Floats:
    divisor = np.maximum(np.maximum(np.abs(exact), least), np.finfo(np.float64).tiny)
    errors = np.abs(estimated - exact) / divisor
    return np.where(np.isnan(exact), np.nan, np.where(np.isnan(estimated), 1.0, errors))


@dataclass(frozen=True)
class Bounds:
    """Closed intervals that hold the exact answers.

    Attributes
    ----------
    count : int
        Records that satisfy the predicate; exact.
    sum_low, sum_high : float
    average_low, average_high : float
        NaN if no record does.
    """

    count: int
    sum_low: float
    sum_high: float
    average_low: float
    average_high: float


def permutation_bounds(values: NDArray[np.floating], bucket: NDArray[np.integer], hits: NDArray[np.bool_]) -> Bounds:
    """Bound the count, sum and average of sensitive numbers over the records that satisfy a predicate.

    Of a bucket with p records, q of which satisfy it, these q may have the q smallest or the q largest values; the sum
    is exact if q is 0 or p (Zhang, Koudas, Srivastava and Yu, *Aggregate query answering on anonymized tables*, ICDE
    2007).

    Parameters
    ----------
    values
        float (n,): sensitive numbers, in any order inside each bucket; not missing.
    bucket
        Integers (n,): bucket of each row, for the numbers and the other columns alike.
    hits
        bool (n,): rows whose other columns satisfy the predicate.

    Raises
    ------
    InputError
        When the three differ in length, or a number is missing.

    Notes
    -----
    Cost O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> permutation_bounds(np.array([10.0, 20.0, 40.0]), np.zeros(3, dtype=int), np.array([True, True, False]))
    Bounds(count=2, sum_low=30.0, sum_high=60.0, average_low=15.0, average_high=30.0)
    """
    if not len(values) == len(bucket) == len(hits):
        raise InputError("bounds: values, buckets and hits must have the same length")
    if not np.all(np.isfinite(values)):
        raise InputError("bounds: sensitive numbers must not be missing")
    order = np.lexsort((values, bucket))
    ranked = values[order]
    _, group = np.unique(bucket[order], return_inverse=True)
    hit = np.bincount(group, hits[order]).astype(np.int64)
    sizes = np.bincount(group)
    place = np.arange(len(ranked)) - (np.cumsum(sizes) - sizes)[group]
    count = int(hits.sum())
    low = float(ranked[place < hit[group]].sum())
    high = float(ranked[place >= (sizes - hit)[group]].sum())
    averages = (low / count, high / count) if count else (float("nan"), float("nan"))
    return Bounds(count, low, high, *averages)

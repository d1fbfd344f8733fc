"""Answers from the original and from a release, and how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.published import Published
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import encode
from sfumato.table.table import Table
from sfumato.utility.domains import Domain, domains_of, query_problems
from sfumato.utility.estimates import estimate
from sfumato.utility.joint import Joint
from sfumato.utility.queries import Query, Workload
from sfumato.utility.views import original_joint, read_joint

Floats = NDArray[np.float64]

SANITY = 0.001
"""Share of the answer over all records below which an exact answer is not divided by."""


def exact_answers(workload: Workload, table: Table) -> Floats:
    """Answer queries from the original records.

    Parameters
    ----------
    workload
    table
        n records.

    Returns
    -------
    numpy.ndarray
        float64, one per query: NaN for an average over nobody. A query over nobody counts and adds to 0.

    Raises
    ------
    PolicyError
        With every query that is about columns that the table does not have, or that do not suit.
    """
    domains = _asked(workload, table)
    return _answers(original_joint(_only(domains, workload)), workload)


def estimated_answers(
    workload: Workload, published: Published, table: Table, *, recoding: Recoding | None = None
) -> Floats:
    """Answer queries from published tables alone, as well as their kind allows.

    Parameters
    ----------
    workload
    published
        Tables of any kind.
    table
        The original: what is public of it, its schema with domains and hierarchies, says what labels stand for.
    recoding
        How a generalized table was published; None takes the defaults.

    Returns
    -------
    numpy.ndarray
        float64, one per query: NaN for an average over nobody.

    Raises
    ------
    PolicyError
        With every query that is about columns that are not there, or that do not suit.
    InputError
        When published cells cannot be read.

    Notes
    -----
    Records under a generalized value are spread evenly over it: whole numbers ``[a..b]`` by the numbers inside the
    range, (overlap + 1) / (width + 1), others by length; nodes and sets by their values; ``*`` over the domain; a
    missing value is never in a range or set. Bucketized tables: matching records of a bucket times the share of its
    matching sensitive values (Xiao and Tao 2006). Sliced tables: records of a bucket times the share of each column
    that matches; shared attributes count once, as conditions. Marginals: the smallest table that has all attributes,
    else tables are independent given what they share, which is iterative proportional fitting where the sets of
    attributes have no cycle. A randomized table is taken as it is.

    Records that were suppressed are not there to be counted.

    Cost O(rows) for each query and each part of the tables that has to do with it.
    """
    domains = _asked(workload, table)
    return _answers(_covering(read_joint(published, domains, recoding), workload), workload)


@dataclass(frozen=True)
class QueryErrors:
    """How far estimated answers are from exact ones.

    Attributes
    ----------
    queries : int
        Queries that have an exact answer; averages over nobody have none.
    median, mean, quartile_low, quartile_high, worst : float
        Of the relative errors |estimate − exact| / max(|exact|, 0.1% of the answer over all records); a release that
        has no answer is 100% off.
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
    domains = _asked(workload, table)
    whole = original_joint(_only(domains, workload)) if workload.attributes else None
    bounds = {
        key: SANITY * abs(_whole_answer(whole, domains, *key))
        for key in {(query.aggregate, query.of) for query in workload}
    }
    bound = np.array([bounds[query.aggregate, query.of] for query in workload])
    divisor = np.maximum(np.maximum(np.abs(exact), bound), np.finfo(np.float64).tiny)
    errors = np.abs(estimated - exact) / divisor
    return np.where(np.isnan(exact), np.nan, np.where(np.isnan(estimated), 1.0, errors))


def summarize(errors: Floats) -> QueryErrors:
    """Return the spread of relative errors, those of queries without an answer left out.

    Raises
    ------
    InputError
        When no query has one.
    """
    known = errors[~np.isnan(errors)]
    if not len(known):
        raise InputError("query errors: no query has an answer in the original; draw others")
    low, median, high = np.quantile(known, [0.25, 0.5, 0.75])
    return QueryErrors(len(known), float(median), float(known.mean()), float(low), float(high), float(known.max()))


def _asked(workload: Workload, table: Table) -> dict[str, Domain]:
    if not isinstance(workload, Workload):
        raise PolicyError("workload: must be a Workload; draw one with query_workload")
    domains = domains_of(encode(table))
    problems = [problem for query in workload for problem in query_problems(query, domains)]
    raise_all(PolicyError, dict.fromkeys(problems))
    return domains


def _only(domains: Mapping[str, Domain], workload: Workload) -> Mapping[str, Domain]:
    """Leave out what no query is about: fewer attributes, fewer distinct rows."""
    return {name: domain for name, domain in domains.items() if name in workload.attributes} or domains


def _covering(joint: Joint, workload: Workload) -> Joint:
    missing = [name for name in workload.attributes if name not in joint.spreads]
    raise_all(InputError, [f"column {name!r} is not published, and queries are about it" for name in missing])
    return joint


def _answers(joint: Joint, queries: Workload | Sequence[Query]) -> Floats:
    return np.array([estimate(joint, query) for query in queries])


def _whole_answer(whole: Joint | None, domains: Mapping[str, Domain], aggregate: str, of: str | None) -> float:
    if of is None:
        return float(len(next(iter(domains.values())).codes))
    assert whole is not None
    return estimate(whole, Query((), "sum" if aggregate == "sum" else "average", of))

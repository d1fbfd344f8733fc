"""Random queries over an original, their answers from the original and from a release, and how far those are apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.utility.joint import Joint, Original, estimate, original_joint, read_joint
from sfumato.evaluation.utility.queries import (
    AGGREGATES,
    Aggregate,
    Among,
    AttributeDomain,
    Predicate,
    Query,
    Range,
    Workload,
    domains_of,
    query_problems,
    weights_in,
)
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import encode
from sfumato.table.schema import Kind
from sfumato.table.table import Table

_SELECTIVITY = 0.1


_Predicates = Literal["range", "equality"]


def query_workload(
    table: Table,
    queries: int = 1000,
    *,
    dimensions: int | None = None,
    selectivity: float = 0.05,
    aggregates: Sequence[Aggregate] = ("count",),
    of: Sequence[str] | None = None,
    predicates: _Predicates = "range",
    attributes: Sequence[str] | None = None,
    seed: int | None = None,
) -> Workload:
    """Draw random queries: predicates on some quasi-identifying attributes and on one sensitive attribute.

    Parameters
    ----------
    table
        The original.
    queries
        How many.
    dimensions
        Quasi-identifying attributes in each query, drawn anew for each; None takes 3, or all if there are fewer.
    selectivity
        Share s of the records that a query would select if its attributes were independent: each of its d predicates
        expects the share s^(1/d). A single value that is more frequent selects more.
    aggregates
        Which of ``"count"``, ``"sum"`` and ``"average"``, in turn.
    of
        Columns of numbers for sums and averages, drawn for each query; None takes all of them.
    predicates
        ``"range"``: a range of numbers, or some of the values. ``"equality"``: one value, that of a random record;
        `selectivity` then has no effect.
    attributes
        Quasi-identifying and sensitive attributes that predicates may be on; None takes all. Those without any value
        are left out.
    seed
        None draws from the operating system.

    Returns
    -------
    Workload

    Raises
    ------
    PolicyError
        With every option that does not suit.

    Notes
    -----
    A range reaches from one record to another in the order of their numbers, with the expected share of all records
    between them, and so covers ties as a whole. Of v values without order, the share of v, rounded up, is drawn (as in
    Xiao and Tao, Anatomy, VLDB 2006). A table without a sensitive attribute has queries on quasi-identifying ones
    alone.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> frame = pl.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"], "illness": ["a", "b", "a", "c"]})
    >>> table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"], sensitive=["illness"]))
    >>> sf.query_workload(table, 10, dimensions=2, selectivity=0.2, seed=1)
    Workload(10 queries)
    """
    return drawn_workload(
        Original.of(table),
        queries,
        dimensions=dimensions,
        selectivity=selectivity,
        aggregates=aggregates,
        of=of,
        predicates=predicates,
        attributes=attributes,
        seed=seed,
    )


def drawn_workload(
    original: Original,
    queries: int,
    *,
    dimensions: int | None = None,
    selectivity: float = 0.05,
    aggregates: Sequence[Aggregate] = ("count",),
    of: Sequence[str] | None = None,
    predicates: _Predicates = "range",
    attributes: Sequence[str] | None = None,
    seed: int | None = None,
) -> Workload:
    """Draw random queries over an original that is read already; see :func:`query_workload`."""
    domains, schema = original.domains, original.table.schema
    asked = domains.keys() if attributes is None else {*attributes}
    having = [name for name, domain in domains.items() if name in asked and domain.attribute.size]
    quasi = [name for name in having if name in schema.quasi_identifying]
    sensitive = [name for name in having if name in schema.sensitive]
    several = min(3, len(quasi)) if dimensions is None else dimensions
    numeric = [name for name, domain in domains.items() if domain.numbers is not None and domain.attribute.size]
    targets = numeric if of is None else list(of)
    raise_all(
        PolicyError,
        [
            *_attribute_problems(asked - domains.keys(), len(quasi)),
            *_size_problems(queries, several, selectivity, len(quasi)),
            *_kind_problems(aggregates, predicates),
            *_target_problems(aggregates, targets, numeric),
            *seed_problems(seed),
        ],
    )
    rng = np.random.default_rng(seed)
    share = selectivity ** (1 / (several + bool(sensitive)))
    drawn = []
    for place in range(queries):
        names = [str(name) for name in rng.choice(quasi, several, replace=False)]
        names += [str(rng.choice(sensitive))] if sensitive else []
        where = tuple(_predicate(domains[name], share, predicates, rng) for name in domains if name in names)
        aggregate = aggregates[place % len(aggregates)]
        drawn.append(Query(where, aggregate, None if aggregate == "count" else str(rng.choice(targets))))
    return Workload(tuple(drawn))


def large_populations(original: Original, names: Sequence[str], count: int, *, seed: int | None = None) -> Workload:
    """Draw populations by up to two quasi-identifying attributes, each expected to hold a tenth of all records."""
    return drawn_workload(
        original, count, dimensions=min(2, len(names)), selectivity=_SELECTIVITY, attributes=names, seed=seed
    )


def _predicate(domain: AttributeDomain, share: float, predicates: _Predicates, rng: np.random.Generator) -> Predicate:
    if domain.numbers is None:
        return _values(domain, share, predicates, rng)
    numbers = domain.rising
    if predicates == "equality":
        number = float(rng.choice(numbers))
        return _range(domain, number, number)
    width = max(1, math.ceil(share * len(numbers) - 1e-9))
    first = int(rng.integers(0, len(numbers) - width + 1))
    return _range(domain, float(numbers[first]), float(numbers[first + width - 1]))


def _values(domain: AttributeDomain, share: float, predicates: _Predicates, rng: np.random.Generator) -> Among:
    if predicates == "equality":
        known = domain.codes[domain.codes < domain.attribute.size]
        return Among(domain.name, (domain.texts[int(rng.choice(known))],))
    # If several shares of a whole are too high by a rounding error, rounding up would take one value too many.
    count = max(1, math.ceil(share * len(domain.texts) - 1e-9))
    codes = rng.choice(len(domain.texts), count, replace=False)
    return Among(domain.name, tuple(domain.texts[int(code)] for code in sorted(codes)))


def _range(domain: AttributeDomain, low: float, high: float) -> Range:
    if domain.attribute.kind is not Kind.DATE:
        return Range(domain.name, low, high)
    days = pl.Series([int(low), int(high)], dtype=pl.Int32).cast(pl.Date)
    return Range(domain.name, days[0], days[1])


def _attribute_problems(unknown: Set[str], quasi: int) -> list[str]:
    problems = [
        f"attributes: {name!r} is not a quasi-identifying or sensitive column of the table" for name in sorted(unknown)
    ]
    if not quasi:
        problems.append("attributes: no quasi-identifying column with a value is among them")
    return problems


def _size_problems(queries: int, dimensions: int, selectivity: float, quasi: int) -> list[str]:
    problems = []
    if not isinstance(queries, int) or isinstance(queries, bool) or queries < 1:
        problems.append("queries: must be a whole number, 1 or above")
    if quasi and (not isinstance(dimensions, int) or not 1 <= dimensions <= quasi):
        problems.append(f"dimensions: must be a whole number from 1 to {quasi}, the quasi-identifying attributes")
    if not isinstance(selectivity, (int, float)) or not 0 < selectivity <= 1:
        problems.append("selectivity: must be above 0, at most 1")
    return problems


def _kind_problems(aggregates: Sequence[Aggregate], predicates: object) -> list[str]:
    problems = []
    if isinstance(aggregates, str) or not aggregates or any(each not in AGGREGATES for each in aggregates):
        problems.append(f"aggregates: must be a list of some of {', '.join(AGGREGATES)}")
    if predicates not in get_args(_Predicates):
        problems.append(f"predicates: must be one of {', '.join(get_args(_Predicates))}")
    return problems


def _target_problems(aggregates: Sequence[Aggregate], targets: Sequence[str], numeric: Sequence[str]) -> list[str]:
    problems = [
        f"of: column {name!r} is not a quasi-identifying or sensitive column of numbers"
        for name in targets
        if name not in numeric
    ]
    if not targets and set(aggregates) - {"count"}:
        problems.append("aggregates: the table has no column of numbers to add or average; ask for counts")
    return problems


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

    Suppressed records do not count. Cost O(rows) for each query and each part of the tables that it involves.
    """
    return _estimated(workload, read_joint(published, _asked(workload, table), recoding, weights))


@dataclass(frozen=True, eq=False, repr=False)
class Questions:
    """Queries about an original with their exact answers, once for any number of releases, and least divisors."""

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
    """Return relative errors, (queries,), NaN over nobody; divided by max(|exact|, 0.1% of the whole aggregate)."""
    if len(exact) != len(workload) or len(estimated) != len(workload):
        raise InputError("relative errors: there must be an exact and an estimated answer to every query")
    original = original_joint(_only(_asked(workload, table), workload))
    return _relative(exact, estimated, _least(workload, original))


def summarize(errors: Floats) -> QueryErrors:
    """Return the spread of relative errors, without queries that have no answer; InputError when none has."""
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
    names = set(workload.attributes)
    return {name: domain for name, domain in domains.items() if name in names} or domains


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
    """Closed intervals that hold the exact answers."""

    count: int  # records that satisfy the predicate; exact
    sum_low: float
    sum_high: float
    # `average_low`, `average_high`: NaN if no record does
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

"""Drawing random aggregate queries over an original table, and large populations of it."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Literal, get_args

import numpy as np
import polars as pl

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.utility.domains import AttributeDomain
from sfumato.evaluation.utility.queries import AGGREGATES, Aggregate, Among, Predicate, Query, Range, Workload
from sfumato.evaluation.utility.views import Original
from sfumato.randomness import seed_problems
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
    >>> sf.queries.query_workload(table, 10, dimensions=2, selectivity=0.2, seed=1)
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
    wanted = max(1, math.ceil(share * len(domain.texts) - 1e-9))
    codes = rng.choice(len(domain.texts), wanted, replace=False)
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

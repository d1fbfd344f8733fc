"""What the codes of an original attribute stand for, and which of them satisfy a predicate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.utility.queries import Among, Predicate, Query
from sfumato.hierarchy.text import number_of
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.kinds import is_measured
from sfumato.table.schema import Kind

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """An original attribute as queries use it.

    Attributes
    ----------
    attribute : EncodedAttribute
    numbers : numpy.ndarray or None
        float64 (size,): the number behind each code, also under a hierarchy; None for categories.
    codes : numpy.ndarray
        Integers (n,): the original records' codes.
    """

    attribute: EncodedAttribute
    numbers: Floats | None
    codes: NDArray[np.integer]

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.attribute.name

    @cached_property
    def is_whole(self) -> bool:
        """Tell whether all original numbers are whole, dates included: ranges then hold numbers instead of a length."""
        return self.numbers is not None and bool(np.all(self.numbers == np.round(self.numbers)))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Label of each code."""
        return tuple(self.attribute.labels.to_list())

    @cached_property
    def code_of(self) -> Mapping[str, int]:
        """Code of each label."""
        return {label: code for code, label in enumerate(self.texts)}

    @cached_property
    def rising(self) -> Floats:
        """Return the original records' numbers in rising order, without missing ones."""
        assert self.numbers is not None
        rising: Floats = np.sort(self.numbers[self.codes[self.codes < self.attribute.size]])
        return rising

    def matching(self, predicate: Predicate | None) -> Floats:
        """Return 1 for codes that satisfy a predicate, else 0; (size + 1,). None: all except the missing one do.

        The predicate suits the column: see :func:`query_problems`.
        """
        found = np.zeros(self.attribute.size + 1)
        if predicate is None:
            found[:-1] = 1.0
        elif isinstance(predicate, Among):
            found[[self.code_of[value] for value in predicate.values if value in self.code_of]] = 1.0
        elif self.numbers is not None:
            low, high = predicate.bounds
            found[:-1] = (self.numbers >= low) & (self.numbers <= high)
        return found


def domains_of(encoded: EncodedTable) -> dict[str, Domain]:
    """Return every quasi-identifying and sensitive attribute of an original table by its name."""
    pairs = [
        *zip(encoded.attributes, encoded.codes.T, strict=True),
        *zip(encoded.sensitive, encoded.sensitive_codes.T, strict=True),
    ]
    return {attribute.name: Domain(attribute, _numbers(attribute), codes) for attribute, codes in pairs}


def query_problems(query: Query, domains: Mapping[str, Domain]) -> list[str]:
    """Find the columns of a query that do not exist, and predicates that do not suit their column."""
    problems = [_unknown(name) for name in query.attributes if name not in domains]
    for predicate in query.where:
        domain = domains.get(predicate.attribute)
        if domain is not None and isinstance(predicate, Among) is (domain.numbers is not None):
            wanted = "holds no numbers or dates: ask for values (Among)"
            fitting = "holds numbers or dates: ask for a Range" if isinstance(predicate, Among) else wanted
            problems.append(f"query: column {predicate.attribute!r} {fitting}")
    if query.of is not None and query.of in domains and domains[query.of].numbers is None:
        problems.append(f"query: column {query.of!r} has no numbers to add or average")
    return problems


def _unknown(name: str) -> str:
    return f"query: column {name!r} is neither quasi-identifying nor sensitive in the original table"


def _numbers(attribute: EncodedAttribute) -> Floats | None:
    """Return the numbers of a measured attribute; those under a hierarchy are read from its leaves."""
    if not is_measured(attribute.kind) or attribute.numbers is not None:
        return attribute.numbers
    if attribute.kind is Kind.DATE:
        days = attribute.labels.str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
        return None if days.null_count() else days.to_numpy()
    read = [number_of(label) for label in attribute.labels.to_list()]
    known = [float(number) for number in read if number is not None]
    return np.array(known) if len(known) == len(read) else None

"""What the codes of an original attribute stand for, which of them satisfy a predicate, and bins of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.utility.queries import Among, Predicate, Query
from sfumato.hierarchy.specification import number_of
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, is_measured

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class AttributeDomain:
    """An original attribute as queries use it.

    `numbers`: float64 (size,): the number behind each code, also under a hierarchy; None for categories. `codes`:
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


def domains_of(encoded: EncodedTable) -> dict[str, AttributeDomain]:
    """Return every quasi-identifying and sensitive attribute of an original table by its name."""
    pairs = [
        *zip(encoded.attributes, encoded.codes.T, strict=True),
        *zip(encoded.sensitive, encoded.sensitive_codes.T, strict=True),
    ]
    return {attribute.name: AttributeDomain(attribute, _numbers(attribute), codes) for attribute, codes in pairs}


def query_problems(query: Query, domains: Mapping[str, AttributeDomain]) -> list[str]:
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


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """An attribute's values, divided into b bins; missing values are bin b.

    `bin_of`: int64 (size + 1,): bin of each code. `uppers`: float64 (b,): highest number of each bin, rising; None for
    categories. A number between two original ones belongs to the bin of the upper one; a number beyond the last belongs
    to the last bin.
    """

    bin_of: NDArray[np.int64]
    uppers: Floats | None

    @property
    def count(self) -> int:
        """Number of bins b, without the one of missing values."""
        return int(self.bin_of[-1])


def single_values(domain: AttributeDomain) -> Bins:
    """Return a bin for each original value; numbers rise."""
    if domain.numbers is None:
        return Bins(np.arange(domain.attribute.size + 1), None)
    uppers = np.unique(domain.numbers)
    return Bins(_bin_of(domain.numbers, uppers), uppers)


def coarse(domain: AttributeDomain, numbers: int, categories: int) -> Bins:
    """Put numbers into bins with about equally many original records; join rare categories into one bin.

    Numbers that are equal stay together. Of more than `categories` categories the most frequent keep a bin of their
    own, ties in code order; all others share the last one.
    """
    bins = single_values(domain)
    if bins.uppers is None:
        return _frequent(domain, bins, categories)
    if bins.count <= numbers:
        return bins
    counts = np.bincount(bins.bin_of[domain.codes], minlength=bins.count + 1)[:-1]
    # The bin of a value is where its first record lies among all, as in the correlation of an original table.
    place = (np.cumsum(counts) - counts) * numbers // max(counts.sum(), 1)
    last = np.flatnonzero(np.append(np.diff(place) > 0, True))
    assert domain.numbers is not None
    return Bins(_bin_of(domain.numbers, bins.uppers[last]), bins.uppers[last])


def _frequent(domain: AttributeDomain, bins: Bins, most: int) -> Bins:
    if bins.count <= most:
        return bins
    counts = np.bincount(domain.codes, minlength=bins.count + 1)[:-1]
    bin_of = np.full(bins.count + 1, most - 1)
    bin_of[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
    bin_of[-1] = most
    return Bins(bin_of, None)


def _bin_of(numbers: Floats, uppers: Floats) -> NDArray[np.int64]:
    return np.append(np.searchsorted(uppers, numbers), len(uppers)).astype(np.int64)

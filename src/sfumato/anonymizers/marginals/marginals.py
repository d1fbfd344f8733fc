"""Marginal publication: count tables of sets of attributes that overlap like a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.marginals.discovery import discovered_sets
from sfumato.anonymizers.marginals.publish import publish_marginals
from sfumato.anonymizers.marginals.search import PublishedValues, cut_values
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.slicing.correlation import correlation
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError, raise_all
from sfumato.models import promisable
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject, says, smallest_allowed, speak_of
from sfumato.options import Checked, Limit
from sfumato.published import MarginalTables
from sfumato.published.checks.marginals.marginals import concerned
from sfumato.published.checks.marginals.structure import is_acyclic, repeated
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

Column = tuple[str, ...]


@dataclass(frozen=True)
class Marginals(Checked):
    """Publish how many records have each combination of values, for several sets of attributes.

    Parameters
    ----------
    columns
        Sets of quasi-identifying and sensitive attributes, as lists of names; they may overlap, but not in a circle,
        and a sensitive attribute stands in one of them. None: sets of attributes that hang together are found.
    size
        Attributes of each set that is found, 1 or more.
    count
        How many sets are found at most; None: until every attribute is in one.

    Raises
    ------
    PolicyError
        With every option that is of the wrong form, and every set that does not fit the others.

    Notes
    -----
    *Guarantee.* In every table each combination of quasi-identifying values has k records or more, and its sensitive
    values satisfy the other models. The tables together fix no count of a group of people but 0 and sums of counts in
    one table, as their sets form no circle and values are generalized alike in all of them: no small count comes out by
    subtraction. The joint distribution of largest entropy tells of a sensitive value what its table tells. Assumption:
    the attacker knows nothing else of how attributes of different tables hang together.

    *Complexity.* O(n) for each cut of values that is tried and each table of its attribute; O(a² n) for finding sets.

    *Sources.* D. Kifer, J. Gehrke, "Injecting utility into anonymized datasets", 2006; the slicing paper with marginal
    publication. Departures: values are generalized once for all tables, from the whole down, instead of hiding cells,
    and sets that overlap in a circle are refused: what such tables give away together is hard to tell.
    """

    name: ClassVar[str] = "marginals"
    kind: ClassVar[str] = MarginalTables.kind
    promises: ClassVar[Subject | None] = "marginals"

    columns: tuple[tuple[str, ...], ...] | None = None
    size: Annotated[int, Limit(1)] = 2
    count: Annotated[int, Limit(1)] | None = None

    def __post_init__(self) -> None:
        """Check the options, and settle lists as tuples."""
        if isinstance(self.columns, (list, tuple)):
            settled = tuple(tuple(each) if isinstance(each, list) else each for each in self.columns)
            object.__setattr__(self, "columns", settled)
        super().__post_init__()

    def _mistakes(self) -> Iterator[str]:
        return iter(()) if self.columns is None else _set_problems(self.name, self.columns)

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with everything that does not fit: sets and models."""
        raise_all(PolicyError, [*_column_problems(self, table), *_model_problems(table, models)])

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Find sets, generalize values, count.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models.
        """
        feasible(problem, may_leave_out=False)
        columns = self.columns or self._found(problem.table, table)
        cut = _cut(problem, columns)
        published = publish_marginals(columns, cut, problem.table, table)
        return Publication(published, tuple(_notes(columns, problem, table, cut)), _figures(published))

    def _found(self, encoded: EncodedTable, table: Table) -> tuple[Column, ...]:
        names = [attribute.name for attribute in (*encoded.attributes, *encoded.sensitive)]
        secret = {attribute.name for attribute in encoded.sensitive}
        return discovered_sets(names, correlation(table, names).values, secret, self.size, self.count)


def _cut(problem: Problem, columns: Sequence[Column]) -> PublishedValues:
    table = problem.table
    place_of = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    secret_of = {attribute.name: place for place, attribute in enumerate(table.sensitive)}
    sets = [[place_of[name] for name in column if name in place_of] for column in columns]
    secrets = [[secret_of[name] for name in column if name in secret_of] for column in columns]
    sized = speak_of("sizes", problem.models)
    valued = [model for model in problem.models if model not in sized]

    def satisfied(own: int, cells: NDArray[np.int32], count: int) -> bool:
        names = [table.sensitive[place].name for place in secrets[own]]
        judging = [model for model in valued if concerned(model, names)]
        if not judging:
            return True
        told = tuple(table.sensitive[place] for place in secrets[own])
        codes = np.ascontiguousarray(table.sensitive_codes[:, secrets[own]])
        statistics = class_statistics(cells, count, codes, told)
        return all(bool(model.holds(statistics).all()) for model in judging)

    return cut_values(table, sets, smallest_allowed(sized), satisfied)


def _set_problems(what: str, columns: object) -> Iterator[str]:
    if not isinstance(columns, tuple) or not all(_is_set(column) for column in columns):
        yield f"{what}: columns must be a list of sets, each a list of names of different attributes, at least one"
        return
    if not columns:
        yield f"{what}: columns must have at least one set"
    if any(set(one) <= set(other) for one, other in permutations(columns, 2)):
        yield f"{what}: a set lies inside another one, whose table says the same; leave it out"
    elif not is_acyclic(columns):
        yield (
            f"{what}: sets overlap in a circle, such as a with b, b with c, c with a, and what their tables give away "
            "together cannot be bounded; leave one out, or join them"
        )


def _is_set(column: object) -> bool:
    named = isinstance(column, tuple) and all(isinstance(name, str) for name in column)
    return named and 0 < len(set(column)) == len(column)  # type: ignore[call-overload, arg-type]


def _column_problems(options: Marginals, table: EncodedTable) -> Iterator[str]:
    quasi = [attribute.name for attribute in table.attributes]
    secret = [attribute.name for attribute in table.sensitive]
    sets = options.columns or ()
    for name in dict.fromkeys(name for column in sets for name in column):
        if name not in quasi and name not in secret:
            yield f"{options.name}: there is no quasi-identifying or sensitive attribute {name!r}"
    for name in repeated(sets, secret):
        yield (
            f"{options.name}: the sensitive attribute {name!r} is in several sets, whose tables say more together "
            "than each by itself; leave it in one"
        )
    for name in (*quasi, *secret):
        if name in MarginalTables.whole_numbers:
            yield f"{options.name}: publishes a column {name!r} of its own; rename that of the table"


def _model_problems(table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    names = [attribute.name for attribute in table.sensitive]
    for model in models:
        if "marginals" not in says(model).speaks_of:
            yield (
                f"{model.name}: count tables cannot promise it; they can promise {', '.join(promisable('marginals'))}; "
                "for others take an anonymizer that generalizes, such as mondrian"
            )
        else:
            try:
                model.rules(names)
            except PolicyError as error:
                yield from error.problems


def _notes(columns: Sequence[Column], problem: Problem, table: Table, cut: PublishedValues) -> Iterator[str]:
    names = {name for column in columns for name in column}
    yield f"Sets of attributes: {'; '.join(', '.join(column) for column in columns)}."
    known = [*table.schema.quasi_identifying, *table.schema.sensitive]
    if left := [name for name in known if name not in names]:
        yield f"Attributes in no set are not published: {', '.join(left)}."
    if table.schema.insensitive:
        yield f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}."
    attributes = zip(problem.table.attributes, cut.pieces, strict=True)
    if joined := [each.name for each, pieces in attributes if each.name in names and _joined(pieces)]:
        yield f"Values were generalized, alike in all tables: {', '.join(joined)}."
    if not speak_of("sizes", problem.models):
        yield "Without k-anonymity among the models, counts may be as small as 1."


def _joined(pieces: Sequence[tuple[int, int]]) -> bool:
    return any(low < high for low, high in pieces)


def _figures(published: MarginalTables) -> dict[str, float]:
    return {
        "tables": len(published.marginals),
        "cells": sum(frame.height for frame in published.marginals),
    }

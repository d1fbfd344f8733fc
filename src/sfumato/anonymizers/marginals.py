"""Marginal publication: count tables of sets of attributes that overlap like a tree.

Sets of attributes that hang together are found; values are cut top down, as finely as all tables allow and alike in all
of them; records are counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.slicing.correlation import correlation
from sfumato.classes.partition import ValueSets, group_records
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.grouping import first_records
from sfumato.models import GENERALIZE, promisable
from sfumato.models.protocol import PrivacyModel, Subject, says, smallest_allowed, speak_of
from sfumato.options import Checked, Limit
from sfumato.published import MarginalTables
from sfumato.published.apart import COUNT
from sfumato.published.checks.marginals import concerned, is_acyclic, repeated_sets
from sfumato.recoding.notation import STAR, exact_texts, range_texts, set_texts
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.header import exactly
from sfumato.table.table import Table

_Column = tuple[str, ...]

_Piece = tuple[int, int]
"""First and last code."""

_NARROWEST = 256
"""Of numbers without a hierarchy a piece has at least so small a part of the records, unless it is a single value."""

_Entry = tuple[float, int, int, int]
"""What a cut tells, negative; attribute; first code; number of the piece."""


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
            columns = tuple(tuple(each) if isinstance(each, list) else each for each in self.columns)
            object.__setattr__(self, "columns", columns)
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
        published = _publish_marginals(columns, cut, problem.table, table)
        return Publication(published, tuple(_notes(columns, problem, table, cut)), _figures(published))

    def _found(self, encoded: EncodedTable, table: Table) -> tuple[_Column, ...]:
        names = [attribute.name for attribute in (*encoded.attributes, *encoded.sensitive)]
        secret = {attribute.name for attribute in encoded.sensitive}
        return discovered_sets(names, correlation(table, names).values, secret, self.size, self.count)


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
            f"{what}: sets overlap in a circle, such as a with b, b with c, c with a. What their tables tell together "
            "cannot be bounded. Leave one out, or join them"
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
    for name in repeated_sets(sets, secret):
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
                f"for others {GENERALIZE}"
            )
        else:
            try:
                model.rules(names)
            except PolicyError as error:
                yield from error.problems


def _notes(columns: Sequence[_Column], problem: Problem, table: Table, cut: _PublishedValues) -> Iterator[str]:
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
    return {"tables": len(published.marginals), "cells": sum(frame.height for frame in published.marginals)}


def discovered_sets(
    names: Sequence[str], strengths: NDArray[np.float64], sensitive: Collection[str], size: int, count: int | None
) -> tuple[tuple[str, ...], ...]:
    """Grow sets from the strongest pair on: each new attribute joins those of one set that it hangs together with most.

    For sets of two this is the tree of largest total strength, φ² (Chow and Liu). Sets never form a circle, and a
    sensitive attribute comes after all others, into one set, to which nothing is added. Cost O(a² · c) for c subsets of
    ``size - 1``, at most ``a · size``.
    """
    place_of = {name: place for place, name in enumerate(names)}
    quasi = [place_of[name] for name in names if name not in sensitive]
    secret = [place_of[name] for name in names if name in sensitive]
    sets = [_first(quasi, strengths, min(size, len(quasi)))]
    grown = list(sets)
    for attributes in (sorted(set(quasi) - set(sets[0])), secret):
        left = list(attributes)
        while left:
            parts = sorted({part for each in grown for part in combinations(each, min(size - 1, len(each)))})
            name, part = max(
                ((name, part) for name in left for part in parts),
                key=lambda pair: float(strengths[pair[0], list(pair[1])].sum()),
            )
            left.remove(name)
            sets.append((*part, name))
            if name not in secret:
                grown.append(tuple(sorted((*part, name))))
    return _named(_without_inner(sets), names, count)


def _first(quasi: Sequence[int], strengths: NDArray[np.float64], size: int) -> tuple[int, ...]:
    """Return the strongest pair, and what hangs together most with those chosen so far."""
    if size < 2:
        return tuple(quasi[:size])
    pairs = list(combinations(quasi, 2))
    chosen = list(pairs[int(np.argmax([strengths[one, other] for one, other in pairs]))])
    while len(chosen) < size:
        to_chosen = strengths[:, chosen].sum(axis=1)
        chosen.append(max(sorted(set(quasi) - set(chosen)), key=to_chosen.__getitem__))
    return tuple(sorted(chosen))


def _without_inner(sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [own for own in sets if not any(set(own) < set(other) for other in sets)]


def _named(sets: Sequence[tuple[int, ...]], names: Sequence[str], count: int | None) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(names[place] for place in own) for own in sets[:count])


def _cut(problem: Problem, columns: Sequence[_Column]) -> _PublishedValues:
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
        secret = tuple(table.sensitive[place] for place in secrets[own])
        codes = np.ascontiguousarray(table.sensitive_codes[:, secrets[own]])
        statistics = class_statistics(cells, count, codes, secret)
        return all(bool(model.holds(statistics).all()) for model in judging)

    return _cut_values(table, sets, smallest_allowed(sized), satisfied)


def _cut_values(
    table: EncodedTable,
    sets: Sequence[Sequence[int]],
    smallest: int,
    satisfied: Callable[[int, NDArray[np.int32], int], bool],
) -> _PublishedValues:
    """Cut the values of all attributes, the cut that tells most first, as long as every table keeps the models."""
    # `satisfied` tells, by the cell of every record, whether all other models hold; `smallest`: records of a cell. A
    # cut that breaks a table now breaks it later, and is tried once. What is cut depends on how often combinations
    # occur, not on their order. Cost O(n) for each cut and each table of its attribute.
    state = _State(table, sets, smallest, satisfied)
    used = sorted({place for members in sets for place in members})
    queue = [entry for place in used for entry in state.entries(place, _whole(table.attributes[place]), 0)]
    heapq.heapify(queue)
    while queue:
        _, place, _, number = heapq.heappop(queue)
        for entry in state.tried(place, number):
            heapq.heappush(queue, entry)
    return _PublishedValues(tuple(state.pieces), state.piece_of)


@dataclass(frozen=True, eq=False, repr=False)
class _PublishedValues:
    """How values are published: the `pieces` of each attribute, in any order; `piece_of`, int32 (n, q), by columns."""

    pieces: tuple[list[_Piece], ...]
    piece_of: NDArray[np.int32]


class _State:
    """The pieces so far."""

    def __init__(
        self,
        table: EncodedTable,
        sets: Sequence[Sequence[int]],
        smallest: int,
        satisfied: Callable[[int, NDArray[np.int32], int], bool],
    ) -> None:
        self.table = table
        self.sets = sets
        self.smallest = smallest
        self.satisfied = satisfied
        self.pieces: list[list[_Piece]] = [[_whole(attribute)] for attribute in table.attributes]
        self.piece_of = np.zeros((table.height, len(table.attributes)), dtype=np.int32, order="F")
        self.occurrences = [
            np.bincount(table.codes[:, place], minlength=attribute.cardinality)
            for place, attribute in enumerate(table.attributes)
        ]

    def entries(self, place: int, piece: _Piece, number: int) -> Iterator[_Entry]:
        """Queue a piece that can be cut, by the bits that its cut tells of all records."""
        attribute = self.table.attributes[place]
        parts = cut_piece(attribute, piece, self.occurrences[place])
        if parts and self.occurrences[place][piece[0] : piece[1] + 1].any():
            yield -self._information(place, parts, attribute), place, piece[0], number

    def tried(self, place: int, number: int) -> Iterator[_Entry]:
        """Cut a piece where every table allows it, and queue its parts."""
        parts = cut_piece(self.table.attributes[place], self.pieces[place][number], self.occurrences[place])
        rows = np.flatnonzero(self.piece_of[:, place] == number)
        starts = np.array([first for first, _ in parts])
        part_of = np.searchsorted(starts, self.table.codes[rows, place], side="right") - 1
        numbers = np.array([number, *range(len(self.pieces[place]), len(self.pieces[place]) + len(parts) - 1)])
        before = self.piece_of[rows, place]
        self.piece_of[rows, place] = numbers[part_of]
        if not all(self._holds(own, rows) for own, members in enumerate(self.sets) if place in members):
            self.piece_of[rows, place] = before
            return
        self.pieces[place][number] = parts[0]
        self.pieces[place].extend(parts[1:])
        for part, own in zip(parts, numbers.tolist(), strict=True):
            yield from self.entries(place, part, own)

    def _information(self, place: int, parts: Sequence[_Piece], attribute: EncodedAttribute) -> float:
        held = np.array([self.occurrences[place][low : high + 1].sum() for low, high in parts], dtype=np.float64)
        held = held[held > 0]
        return float((held * np.log2(held.sum() / held)).sum()) * attribute.weight

    def _holds(self, own: int, rows: NDArray[np.int64]) -> bool:
        """Tell whether a table holds after a cut among some records, whose cells have no others."""
        members = list(self.sets[own])
        cells, count = group_records(np.ascontiguousarray(self.piece_of[:, members][rows]))
        if count and int(np.bincount(cells, minlength=count).min()) < self.smallest:
            return False
        cells, count = group_records(np.ascontiguousarray(self.piece_of[:, members]))
        return self.satisfied(own, cells, count)


def _whole(attribute: EncodedAttribute) -> _Piece:
    """Return the piece of all values, the missing one among them."""
    return 0, attribute.cardinality - 1


def cut_piece(attribute: EncodedAttribute, piece: _Piece, occurrences: NDArray[np.int64]) -> list[_Piece]:
    """Cut a piece, first and last code; an empty list when it cannot be.

    A missing value that cannot join others goes first. Then nodes fall into children, numbers and dates into halves,
    other categories into the most frequent and the rest.
    """
    low, high = piece
    if low == high:
        return []
    if high == attribute.size and (attribute.is_numeric or attribute.hierarchy is not None):
        return [(low, high - 1), (high, high)]
    if attribute.hierarchy is not None:
        return _children(attribute, low, high)
    if not attribute.is_numeric:
        return [(low, low), (low + 1, high)]
    held = np.cumsum(occurrences[low : high + 1])
    if held[-1] * _NARROWEST < 2 * occurrences.sum():
        return []
    middle = low + int(np.argmin(np.abs(2 * held[:-1] - held[-1])))
    return [(low, middle), (middle + 1, high)]


def _children(attribute: EncodedAttribute, low: int, high: int) -> list[_Piece]:
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    level = int(hierarchy.common_ancestor(np.array([low]), np.array([high]))[0])
    nodes = hierarchy.node_of[level - 1, low : high + 1]
    starts = [low, *(low + 1 + np.flatnonzero(np.diff(nodes))).tolist()]
    return list(zip(starts, [*(start - 1 for start in starts[1:]), high], strict=True))


def _publish_marginals(
    columns: Sequence[tuple[str, ...]], cut: _PublishedValues, encoded: EncodedTable, table: Table
) -> MarginalTables:
    """Write a sorted table for each set; attributes without joined values, and sensitive ones, as they are."""
    names = {name for column in columns for name in column}
    sensitive = tuple(attribute.name for attribute in encoded.sensitive if attribute.name in names)
    frames = tuple(_counted(column, cut, encoded, table) for column in columns)
    return MarginalTables(frames, tuple(columns), sensitive)


def _counted(column: tuple[str, ...], cut: _PublishedValues, encoded: EncodedTable, table: Table) -> pl.DataFrame:
    place_of = {attribute.name: place for place, attribute in enumerate(encoded.attributes)}
    secret_of = {attribute.name: place for place, attribute in enumerate(encoded.sensitive)}
    keys = [
        cut.piece_of[:, place_of[name]] if name in place_of else encoded.sensitive_codes[:, secret_of[name]]
        for name in column
    ]
    cells, count = group_records(np.column_stack([key.astype(np.int64) for key in keys]))
    example = first_records(cells, count)
    written = [
        _written(place_of[name], example, cut, encoded, table) if name in place_of else table.frame[name][example]
        for name in column
    ]
    frame = pl.DataFrame(written).with_columns(pl.Series(COUNT, np.bincount(cells, minlength=count).astype(np.int64)))
    texts = [
        exactly(name).cast(pl.String) if frame.schema[name] == pl.Categorical else exactly(name) for name in column
    ]
    return frame.sort(texts, nulls_last=True)


def _written(
    place: int, example: NDArray[np.int64], cut: _PublishedValues, encoded: EncodedTable, table: Table
) -> pl.Series:
    attribute = encoded.attributes[place]
    used = np.unique(cut.piece_of[:, place]).tolist()
    if all(low == high for low, high in (cut.pieces[place][piece] for piece in used)):
        return table.frame[attribute.name][example]
    texts = _piece_texts(attribute, cut.pieces[place])
    written: pl.Series = texts[cut.piece_of[example, place]]
    return written.alias(attribute.name)


def _piece_texts(attribute: EncodedAttribute, pieces: Sequence[_Piece]) -> pl.Series:
    """Write pieces in the notation of generalized values; the missing value alone is null."""
    low, high = (np.array(ends, dtype=np.int64) for ends in zip(*pieces, strict=True))
    if attribute.hierarchy is not None:
        return pl.Series(attribute.name, [_node_text(attribute, *piece) for piece in pieces], dtype=pl.String)
    if attribute.is_numeric:
        return range_texts(attribute, low, high)
    starts = np.concatenate([[0], np.cumsum(high - low + 1)])
    codes = np.concatenate([np.arange(first, last + 1) for first, last in pieces]).astype(np.int32)
    texts = set_texts(attribute, ValueSets(starts, codes))
    everything = (low == 0) & (high == attribute.size)
    return pl.select(
        pl.when(pl.Series(everything)).then(pl.lit(STAR)).otherwise(texts).alias(attribute.name)
    ).to_series()


def _node_text(attribute: EncodedAttribute, low: int, high: int) -> str | None:
    if low < high == attribute.size:
        return STAR
    if low == high:
        text: str | None = exact_texts(attribute, np.array([low])).item()
        return text
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    level = int(hierarchy.common_ancestor(np.array([low]), np.array([high]))[0])
    return hierarchy.levels[level].labels[int(hierarchy.node_of[level, low])]

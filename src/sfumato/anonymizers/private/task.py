"""What is to be counted, and from which records: everything that noise is added to, and nothing after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.private.consistency import cliques_of
from sfumato.anonymizers.private.domains import Bins, DeclaredColumn
from sfumato.errors import PolicyError, raise_all
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.private import MOST_CELLS, Domain, cells_of
from sfumato.randomness import permutation
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

Names = tuple[str, ...]
Choice = Literal["data", "declared"]
MOST_IN_ALL = 5_000_000
"""Cells of all marginals together: OpenDP takes about 20 µs for each."""


@dataclass(frozen=True)
class Counting:
    """What is to be counted.

    Attributes
    ----------
    marginals : tuple of tuple of str or None
        Sets of columns that the steward names; None: every column, and pairs of them.
    two_way : int or None
        How many pairs; None: as many as hang together like a tree.
    choice : str
        How pairs are chosen: ``"data"``, privately, those that hang together most; ``"declared"``: by the order of the
        columns alone, sensitive ones first.
    bins : mapping of str to int or sequence of float
    levels : mapping of str to int
    complete : tuple of str
        Columns without a cell for missing values.
    synthetic : bool
        Whether records are drawn from the fitted distribution.
    """

    marginals: tuple[Names, ...] | None = None
    two_way: int | None = None
    choice: Choice = "data"
    bins: Mapping[str, Bins] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    complete: tuple[str, ...] = ()
    synthetic: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class PrivateTask:
    """Records as cells of declared domains. Letters: n records that count, a columns.

    Attributes
    ----------
    codes : numpy.ndarray
        int64 (n, a); of each person as many records as count.
    domains : mapping of str to Domain
    sensitive : tuple of str
    model : DifferentialPrivacy
    counting : Counting
    beyond : int
        Records of people who have more than count; they are not in `codes`. Steward only.
    incomplete : int
        Records without a value where there is no cell for that; not in `codes` either. Steward only.
    """

    codes: NDArray[np.int64]
    domains: Mapping[str, Domain]
    sensitive: tuple[str, ...]
    model: DifferentialPrivacy
    counting: Counting
    beyond: int = 0
    incomplete: int = 0

    def counts(self, names: Names) -> NDArray[np.int64]:
        """Count the records of every cell of a marginal, int64, one axis for each column; no noise yet."""
        listed = list(self.domains)
        shape = tuple(self.domains[name].size for name in names)
        cells = np.ravel_multi_index([self.codes[:, listed.index(name)] for name in names], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    @property
    def pairs(self) -> list[Names]:
        """Pairs of columns that may be counted, in the declared order, those with a sensitive column first."""
        secret = [name for name in self.domains if name in self.sensitive]
        plain = [name for name in self.domains if name not in secret]
        ordered = [*((one, other) for other in secret for one in plain), *combinations(plain, 2)]
        ordered += combinations(secret, 2)
        return [pair for pair in ordered if cells_of(pair, self.domains) <= MOST_CELLS]


def private_task(table: Table, model: DifferentialPrivacy, counting: Counting) -> PrivateTask:
    """Put records into the cells of declared domains, and leave out what a person has beyond the bound.

    Raises
    ------
    PolicyError
        With every mistake in what is to be counted, at once.

    Notes
    -----
    What happens to a record depends on the records of its own person alone, so that leaving a person out changes at
    most `max_records` of the records that count. Cost O(n log n).
    """
    problems = list(_setting_problems(table, model, counting))
    columns, found = _columns(table, counting)
    raise_all(PolicyError, [*problems, *found, *_cell_problems(columns, counting)])
    codes = np.column_stack([column.codes(table.frame[column.name]) for column in columns])
    complete = np.asarray((codes >= 0).all(axis=1))
    chosen = bounded(table, complete, model.records)
    return PrivateTask(
        codes[chosen],
        {column.name: column.domain for column in columns},
        tuple(column.name for column in columns if column.name in table.schema.sensitive),
        model,
        counting,
        int(complete.sum()) - len(chosen),
        int((~complete).sum()),
    )


def in_cells(table: Table, counting: Counting) -> Table:
    """Return the table with each value as the label of its cell; all columns that are counted, and no others.

    Raises
    ------
    PolicyError
        When a column has no declared domain.
    """
    columns, problems = _columns(table, counting)
    raise_all(PolicyError, problems)
    frame = pl.DataFrame([column.domain.column(column.name, _shown(column, table)) for column in columns])
    settings = {column.name: Attribute(kind=Kind.CATEGORICAL, domain=column.domain.labels) for column in columns}
    secret = {name: settings[name] for name in table.schema.sensitive if name in settings}
    schema = Schema(
        quasi_identifying={name: setting for name, setting in settings.items() if name not in secret},
        sensitive=secret,
        person=table.schema.person,
    )
    kinds = dict.fromkeys(settings, Kind.CATEGORICAL)
    return Table(frame.cast(pl.Categorical), schema, kinds, table.source, table.people, keyless=table.keyless)


def _shown(column: DeclaredColumn, table: Table) -> pl.Series:
    """Return codes; those of values that count nowhere are null."""
    codes = pl.Series(column.codes(table.frame[column.name]))
    return codes.set(codes < 0, None)


def bounded(table: Table, complete: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return rows among the `complete` ones: of every person at most so many, drawn at random."""
    rows = np.flatnonzero(complete)
    if table.people is None:
        return rows
    rows = rows[permutation(len(rows), None)]
    people = table.people[rows]
    order = np.argsort(people, kind="stable")
    ordered = people[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    return rows[order[np.arange(len(rows)) - starts < most]]


def _columns(table: Table, counting: Counting) -> tuple[list[DeclaredColumn], list[str]]:
    """Return the columns that are counted, and what is wrong with their domains."""
    attributes = {**table.schema.quasi_identifying, **table.schema.sensitive}
    named = attributes if counting.marginals is None else {name for names in counting.marginals for name in names}
    columns, problems = [], []
    for name, attribute in attributes.items():
        if name not in named:
            continue
        if read_off := kind_problems(table, name, attribute):
            problems += read_off
            continue
        try:
            columns.append(
                DeclaredColumn(
                    name, table.kinds[name], attribute, counting.bins.get(name), counting.levels.get(name),
                    complete=name in counting.complete,
                )
            )  # fmt: skip
        except PolicyError as error:
            problems += error.problems
    return columns, problems


def kind_problems(table: Table, name: str, attribute: Attribute) -> list[str]:
    """Refuse a kind that the values decided."""
    if attribute.kind is not None or name not in table.from_text:
        return []
    told = f"column {name!r}: whether it holds numbers or texts was read off the data, which tells of people"
    return [f"{told}; declare its kind"]


def _setting_problems(table: Table, model: DifferentialPrivacy, counting: Counting) -> Iterator[str]:
    schema = table.schema
    known = [*schema.quasi_identifying, *schema.sensitive]
    if schema.person is None and model.max_records is not None:
        yield "max_records: bounds the records of a person, but no column says who is who; name it, or leave this out"
    if schema.person is not None and model.max_records is None:
        yield "max_records: is missing; say how many records of a person count at most"
    if schema.wished_k is not None or schema.wished_l is not None:
        yield "wishes for a k or an l mean nothing here; leave their columns out"
    for setting in ("bins", "levels", "complete"):
        for name in getattr(counting, setting):
            if name not in known:
                yield f"{setting}: there is no quasi-identifying or sensitive column {name!r}"
    if counting.marginals is None:
        if counting.two_way is not None and not 0 <= counting.two_way < len(known):
            yield f"two_way: must be from 0 to {len(known) - 1}, as more pairs of {len(known)} columns form a circle"
        return
    if counting.two_way is not None:
        yield "two_way: pairs are chosen only where no marginals are named; leave one of them out"
    if not counting.marginals:
        yield "marginals: name at least one"
    for place, names in enumerate(counting.marginals, start=1):
        for name in names:
            if name not in known:
                yield f"marginal {place}: there is no quasi-identifying or sensitive column {name!r}"
        if not names or len(set(names)) < len(names):
            yield f"marginal {place}: must name at least one column, and each once"
    if len({frozenset(names) for names in counting.marginals}) < len(counting.marginals):
        yield "marginals: two of them have the same columns; leave one out"


def _cell_problems(columns: Sequence[DeclaredColumn], counting: Counting) -> Iterator[str]:
    domains = {column.name: column.domain for column in columns}
    sets = [(name,) for name in domains] if counting.marginals is None else counting.marginals
    sizes = [0 if any(name not in domains for name in names) else cells_of(names, domains) for names in sets]
    for place, (names, cells) in enumerate(zip(sets, sizes, strict=True), start=1):
        if cells > MOST_CELLS:
            yield (
                f"marginal {place} ({', '.join(names)}): has {cells:,} cells, more than {MOST_CELLS:,}; take wider "
                "bins, a higher level, or fewer columns"
            )
    if sum(sizes) > MOST_IN_ALL:
        yield f"marginals: have {sum(sizes):,} cells together, more than {MOST_IN_ALL:,}; name fewer, or coarser ones"
    if counting.marginals and all(0 < cells <= MOST_CELLS for cells in sizes):
        for clique in cliques_of(sets):
            if (cells := cells_of(clique, domains)) > MOST_CELLS:
                yield (
                    f"marginals: overlap in a circle whose columns ({', '.join(clique)}) have {cells:,} cells "
                    f"together, more than {MOST_CELLS:,}; leave one out"
                )

"""What is to be counted, and from which records: everything that noise is added to, and nothing after it.

The domain of each column is as it was declared, and records are cells of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.private.consistency import cliques_of
from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.hierarchy import Groups, Hierarchy, HierarchyTable, Intervals
from sfumato.hierarchy.specification import number_of, text_of, value_text
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.bucketized import COUNT
from sfumato.published.private import MOST_CELLS, NOISY, Domain, cells_of
from sfumato.randomness import permutation
from sfumato.settings import is_finite_number
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

Names = tuple[str, ...]

Choice = Literal["data", "declared"]

MOST_IN_ALL = 5_000_000
"""Cells of all marginals together: OpenDP takes about 20 µs for each."""

Bins = int | Sequence[float]

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Counting:
    """What is to be counted.

    * `marginals`: sets of columns that the steward names; None: every column, and pairs of them.
    * `two_way`: how many pairs; None: as many as hang together like a tree.
    * `choice`: how pairs are chosen: ``"data"``, privately, those that hang together most; ``"declared"``: by the order
      of the columns alone, sensitive ones first.
    * `complete`: columns without a cell for missing values.
    * `synthetic`: whether records are drawn from the fitted distribution.
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

    `codes`: int64 (n, a); of each person as many records as count. `beyond`: records of people who have more than
    count; they are not in `codes`. Steward only. `incomplete`: records without a value where there is no cell for that;
    not in `codes` either. Steward only.
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

    Raises ``PolicyError`` with every mistake in what is to be counted, at once. What happens to a record depends on the
    records of its own person alone, so that leaving a person out changes at most `max_records` of the records that
    count. Cost O(n log n).
    """
    problems = list(_setting_problems(table, model, counting))
    columns, found = _columns(table, counting)
    raise_all(PolicyError, [*problems, *found, *_cell_problems(columns, counting)])
    codes = np.column_stack([column.codes(table.frame[column.name]) for column in columns])
    complete = np.asarray((codes >= 0).all(axis=1))
    chosen = bound_people(table, complete, model.records)
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

    Raises ``PolicyError`` when a column has no declared domain.
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


def bound_people(table: Table, complete: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
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


class DeclaredColumn:
    """A column with its declared domain, and how values fall into it.

    * `kind`: how the column was read.
    * `attribute`: what the schema declares.
    * `bins`: borders of bins of numbers, or how many of equal width the declared range falls into.
    * `level`: which level of the hierarchy is counted; None or 0: its leaves.
    * `complete`: whether the column has no cell for missing values.

    Raises ``PolicyError`` when no domain is declared, or settings contradict each other. `tree`: of texts that have
    one.
    """

    tree: Hierarchy | None = None

    def __init__(
        self, name: str, kind: Kind, attribute: Attribute, bins: Bins | None, level: int | None, *, complete: bool
    ) -> None:
        self.name, self._kind = name, kind
        self._code_of: Mapping[str, int] = {}
        try:
            self.domain = self._declared(attribute, bins, level, missing=not complete)
        except SfumatoError as error:
            raise PolicyError(*(f"column {name!r}: {problem}" for problem in error.problems)) from None

    def codes(self, column: pl.Series) -> Codes:
        """Return the cell of each value, int64 (n,); -1 for those that have none."""
        outside = len(self.domain.labels) if self.domain.missing else -1
        if self.domain.borders is not None:
            return self._binned(column, outside)
        texts = text_of(column)
        found = texts.replace_strict(
            list(self._code_of), list(self._code_of.values()), default=outside, return_dtype=pl.Int64
        )
        return found.fill_null(outside).to_numpy()

    def _binned(self, column: pl.Series, outside: int) -> Codes:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        inner = np.array(self.domain.borders or (), dtype=np.float64)[1:-1]
        codes = np.searchsorted(inner, numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), outside, codes)

    def _declared(self, attribute: Attribute, bins: Bins | None, level: int | None, *, missing: bool) -> Domain:
        if self.name in (NOISY, COUNT):
            raise PolicyError("is the name of a column of the release; rename that of the table")
        if bins is None and level and isinstance(attribute.hierarchy, Intervals) and attribute.hierarchy.borders:
            steps = attribute.hierarchy.borders
            if not 1 <= level <= len(steps):
                raise PolicyError(f"level must be from 1 to {len(steps)}, those of its hierarchy with bins")
            bins, level = steps[level - 1], None
        if bins is not None:
            if level is not None:
                raise PolicyError("has bins and a level; leave one of them out")
            return of_bins(borders_of(bins, attribute, self._kind), missing=missing)
        if self._kind is Kind.DATE:
            raise PolicyError("is a date, which has no bins here; give the table a column of years, or of months")
        return self._of_values(attribute, level, missing=missing)

    def _of_values(self, attribute: Attribute, level: int | None, *, missing: bool) -> Domain:
        values = _values(attribute, self._kind)
        if values is None:
            raise PolicyError(
                "its domain would have to be read off the data, which tells of people; declare it: a domain that lists "
                "the values, a hierarchy that lists them, or bins of numbers"
            )
        written = [_canonical(value, self._kind) for value in values]
        if attribute.hierarchy is None:
            if level:
                raise PolicyError("has a level but no hierarchy; give it one, or leave the level out")
            self._code_of = {value: place for place, value in enumerate(written)}
            return _of_labels(tuple(written), missing=missing)
        self.tree = attribute.hierarchy.build(_series(written, self._kind), name=self.name)
        return self._of_level(self.tree, level or 0, missing=missing)

    def _of_level(self, tree: Hierarchy, level: int, *, missing: bool) -> Domain:
        if not 0 <= level <= tree.height:
            raise PolicyError(f"level must be from 0 to {tree.height}, those of its hierarchy")
        self._code_of = dict(zip(tree.leaves, tree.node_of[level].tolist(), strict=True))
        return _of_labels(tree.levels[level].labels, missing=missing)


def _of_labels(labels: tuple[str, ...], *, missing: bool) -> Domain:
    if any(not label.strip() or label != label.strip() for label in labels):
        raise PolicyError("its domain lists an empty value, or one with blanks around it; take them away")
    if len(set(labels)) < len(labels):
        raise PolicyError("its domain lists a value twice; list it once")
    return Domain(labels, None, missing)


def of_bins(borders: Sequence[float], *, missing: bool) -> Domain:
    """Return the domain of bins with these borders."""
    ends = [value_text(float(border)) for border in borders]
    labels = [f"[{low}..{high})" for low, high in pairwise(ends)]
    labels[-1] = labels[-1][:-1] + "]"
    return Domain(tuple(labels), tuple(float(border) for border in borders), missing)


def borders_of(bins: Bins, attribute: Attribute, kind: Kind) -> list[float]:
    """Return the borders that are given, or that divide the declared range; PolicyError where there are none."""
    if kind is not Kind.NUMERIC:
        raise PolicyError("has bins but is no column of numbers; declare it as numeric, or leave the bins out")
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 1 <= bins <= MOST_CELLS:
            raise PolicyError(f"bins must be from 1 to {MOST_CELLS:,}, or a list of borders")
        ends = attribute.domain
        if ends is None:
            raise PolicyError("has a number of bins but no range that they divide; declare its domain, low and high")
        low, high = (Fraction(end) for end in ends)
        return [float(low + (high - low) * step / bins) for step in range(bins + 1)]
    listed: list[float] = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
    if len(listed) < 2 or not all(is_finite_number(border) for border in listed):
        raise PolicyError("bins must be a whole number, or a list of at least two borders, each a finite number")
    if not all(low < high for low, high in pairwise(listed)):
        raise PolicyError("borders of bins must rise")
    return [float(border) for border in listed]


def _values(attribute: Attribute, kind: Kind) -> list[str] | None:
    """Return the values that are declared, as text; None if none are."""
    if attribute.domain is not None and all(isinstance(value, str) for value in attribute.domain):
        return [str(value) for value in attribute.domain]
    if isinstance(attribute.hierarchy, HierarchyTable):
        return [row[0] for row in attribute.hierarchy.rows]
    if isinstance(attribute.hierarchy, Groups):
        return list(_members(attribute.hierarchy.members))
    return ["false", "true"] if kind is Kind.BOOLEAN else None


def _members(group: Any) -> Iterator[str]:
    for inner in group.values() if isinstance(group, Mapping) else group:
        if isinstance(inner, str):
            yield inner
        else:
            yield from _members(inner)


def _canonical(value: str, kind: Kind) -> str:
    """Write a declared value as values of the column are written."""
    if kind is Kind.BOOLEAN:
        return value.lower()
    number = number_of(value) if kind is Kind.NUMERIC else None
    return value if number is None else value_text(number)


def _series(values: Sequence[str], kind: Kind) -> pl.Series:
    numbers = [number_of(value) for value in values] if kind is Kind.NUMERIC else [None]
    if all(number is not None for number in numbers):
        return pl.Series(numbers, strict=False)
    return pl.Series(values, dtype=pl.String)

"""What attackers read: a published table, a register of people, and the classes that each of the people fits.

Letters: m people, r known records, o records of theirs in the data, c classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, group_records
from sfumato.errors import HierarchyError, InputError, SfumatoError, raise_all
from sfumato.evaluation.attacks.people import Victims, rank_within
from sfumato.evaluation.attacks.verdicts import SURE
from sfumato.hierarchy.tree import Hierarchy, HierarchySpecification
from sfumato.kernels.grouping import count_values, first_records
from sfumato.kernels.linking import UNKNOWN, ClassCoverage, covering_classes, fitting_pairs, fitting_weight
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.recoding.parsing import Coverage as LabelCoverage
from sfumato.recoding.parsing import parse
from sfumato.table.distinct import distinct_of
from sfumato.table.encoding import EncodedAttribute, domain_borders
from sfumato.table.schema import Attribute, Kind, Schema, is_measured, text_of


@dataclass(frozen=True, eq=False, repr=False)
class RegisterAttribute:
    """One attribute of a register; code ``attribute.size``: only ``*`` covers it, `UNKNOWN`: nothing is said."""

    attribute: EncodedAttribute
    codes: NDArray[np.int32]


def register_attributes(published: pl.DataFrame, register: pl.DataFrame, schema: Schema) -> tuple[str, ...]:
    """Name the quasi-identifying attributes that both tables have, in declared order."""
    return tuple(name for name in schema.quasi_identifying if name in published.columns and name in register.columns)


def read_register(register: pl.DataFrame, schema: Schema, shared: Sequence[str]) -> list[RegisterAttribute]:
    """Read what a register says about the shared attributes; InputError with all that is wrong with any column."""
    known: list[RegisterAttribute] = []
    problems: list[str] = []
    for name in shared:
        try:
            known.append(read_register_column(register[name], schema.quasi_identifying[name]))
        except SfumatoError as error:
            problems.extend(error.problems)
    raise_all(InputError, problems)
    return known


def read_register_column(column: pl.Series, setting: Attribute) -> RegisterAttribute:
    """Read what a register says about one attribute, by its declared kind or type; empty cells say nothing."""
    kind = setting.kind or _kind_of(column.dtype)
    kind = Kind.CATEGORICAL if kind is Kind.ORDERED else kind
    distinct = distinct_of(_typed(column, kind))
    attribute, code_of = _numbered(distinct.values, kind, setting)
    return RegisterAttribute(attribute, np.append(code_of, np.int32(UNKNOWN))[distinct.rank_of][distinct.raw])


def _kind_of(dtype: pl.DataType) -> Kind:
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype == pl.Boolean:
        return Kind.BOOLEAN
    return Kind.DATE if dtype in (pl.Date, pl.Datetime) else Kind.CATEGORICAL


def _typed(column: pl.Series, kind: Kind) -> pl.Series:
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String)
    if kind is Kind.NUMERIC:
        typed = column if column.dtype.is_numeric() else column.cast(pl.Float64, strict=False)
    elif kind is Kind.DATE and column.dtype == pl.String:
        typed = column.str.to_date("%Y-%m-%d", strict=False)
    elif kind is Kind.DATE:
        typed = column.cast(pl.Date, strict=False)
    else:
        typed = text_of(column)
    odd = np.flatnonzero((typed.is_null() & column.is_not_null()).to_numpy())
    if len(odd):
        raise InputError(
            f"register, column {column.name!r}: {len(odd)} cell(s) are not {kind}, first in row {odd[0] + 1}; "
            "correct them or leave them empty"
        )
    return typed


def _numbered(values: pl.Series, kind: Kind, setting: Attribute) -> tuple[EncodedAttribute, NDArray[np.int32]]:
    """Return what the codes mean, and the code of each distinct value."""
    if setting.kind is Kind.ORDERED:
        return _placed_in_order(values, tuple(map(str, setting.domain or ())))
    described = setting.hierarchy
    hierarchy = None if described is None else _hierarchy_over(values, described)
    labels, numbers = text_of(values), None
    if described is not None:
        labels = pl.Series(values.name, () if hierarchy is None else hierarchy.leaves, dtype=pl.String)
    elif is_measured(kind):
        numbers = values.to_physical().cast(pl.Float64).to_numpy()
    place_of = {label: place for place, label in enumerate(labels.to_list())}
    codes = [place_of.get(text, len(labels)) for text in text_of(values).to_list()]
    low, high = _domain(values.name, kind, setting, numbers)
    attribute = EncodedAttribute(
        name=values.name,
        kind=kind,
        labels=labels,
        numbers=numbers,
        hierarchy=hierarchy,
        has_missing=False,
        domain_low=low,
        domain_width=high - low,
        domain_size=max(1, len(labels)),
    )
    return attribute, np.array(codes, dtype=np.int32)


def _placed_in_order(values: pl.Series, order: tuple[str, ...]) -> tuple[EncodedAttribute, NDArray[np.int32]]:
    """Give values the numbers of their places in a declared order; what is not in it is unknown."""
    place_of = {label: place for place, label in enumerate(order)}
    places = [place_of.get(text, -1) for text in text_of(values).to_list()]
    known = sorted({place for place in places if place >= 0})
    code_of = {place: code for code, place in enumerate(known)}
    attribute = EncodedAttribute(
        name=values.name,
        kind=Kind.CATEGORICAL,
        labels=pl.Series(values.name, [order[place] for place in known], dtype=pl.String),
        numbers=np.array(known, dtype=np.float64),
        hierarchy=None,
        has_missing=False,
        domain_width=len(order) - 1.0,
        domain_size=len(order),
        order=order,
    )
    return attribute, np.array([code_of.get(place, len(known)) for place in places], dtype=np.int32)


def _domain(name: str, kind: Kind, setting: Attribute, numbers: NDArray[np.float64] | None) -> tuple[float, float]:
    """Return the ends of the domain, declared or of the register, whose people may lie outside a declared one."""
    if numbers is None or not len(numbers):
        return 0.0, 0.0
    ends = float(numbers[0]), float(numbers[-1])
    if setting.domain is None:
        return ends
    low, high = domain_borders(name, kind, setting.domain)
    return min(low, ends[0]), max(high, ends[1])


def _hierarchy_over(values: pl.Series, described: HierarchySpecification) -> Hierarchy | None:
    """Build the public hierarchy over the values that are in it; None when no value is."""
    if values.is_empty():
        return None
    placed = _placed(values, described)
    return None if placed.is_empty() else described.build(placed, name=values.name)


def _placed(values: pl.Series, described: HierarchySpecification) -> pl.Series:
    """Leave out the values that a hierarchy refuses: a register may hold people who are not in the data."""
    try:
        described.build(values, name=values.name)
    except HierarchyError:
        if len(values) == 1:
            return values.clear()
        half = len(values) // 2
        return pl.concat([_placed(values[:half], described), _placed(values[half:], described)])
    return values


def distinct_codes(known: Sequence[RegisterAttribute]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct vectors of codes, (v, q), and which of them each person has, (people,)."""
    return distinct_rows(np.column_stack([each.codes for each in known]))


def distinct_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct rows of codes, contiguous, and which of them each row is."""
    vector_of, count = group_records(codes + 1)
    return np.ascontiguousarray(codes[first_records(vector_of, count)]), vector_of


@dataclass(frozen=True, eq=False, repr=False)
class PublishedClasses:
    """Classes of equal published records, read against the codes of a register.

    Label ``i``, numbered through all attributes, covers the codes ``low .. high`` of the runs ``runs[i] ..
    runs[i+1]-1``. `starts`, `value_of`, `counts`: how often each class has each sensitive value (compressed rows),
    `totals` of each. `unmatched`: attributes of which no label covers anybody.
    """

    class_of: NDArray[np.int32]
    label_of: NDArray[np.int32]
    runs: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sizes: NDArray[np.int64]
    values: tuple[str | None, ...]
    starts: NDArray[np.int64]
    value_of: NDArray[np.int32]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    unmatched: tuple[str, ...]

    @property
    def records(self) -> int:
        """Number of published records."""
        return len(self.class_of)

    def cells_with(self, owner: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where `counts` has each pair of a class and a sensitive value, −1 where the class has none of it."""
        width = len(self.values)
        class_of = np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))
        cells = class_of * width + self.value_of
        order = np.argsort(cells)
        wanted = owner * width + value
        cell = order[np.minimum(np.searchsorted(cells[order], wanted), len(cells) - 1)]
        return np.where(cells[cell] == wanted, cell, -1)


def read_publication(
    frame: pl.DataFrame, sensitive: str, known: Sequence[RegisterAttribute], recoding: Recoding
) -> PublishedClasses:
    """Group equal published records and read what their labels cover, each once; perhaps nobody. Cost O(n · q)."""
    columns = [_labels(frame[knowledge.attribute.name]) for knowledge in known]
    covers = [
        _runs(labels, parse(labels, knowledge.attribute, form))
        for (labels, _), knowledge, form in zip(columns, known, forms_of(known, recoding), strict=True)
    ]
    offsets = np.cumsum([0, *(len(labels) for labels, _ in columns)])
    label_of = np.column_stack([codes + offset for (_, codes), offset in zip(columns, offsets, strict=False)])
    class_of, count = group_records(label_of)
    values, codes = _labels(frame[sensitive])
    totals = np.bincount(codes, minlength=len(values)).astype(np.int64, copy=False)
    starts, value_of, counts = count_values(
        class_of, count, codes.astype(np.uint32), np.arange(len(values), dtype=np.int32), totals
    )
    return PublishedClasses(
        class_of,
        label_of[first_records(class_of, count)].astype(np.int32),
        np.concatenate([[0], np.cumsum(np.concatenate([sizes for sizes, _, _ in covers]))]).astype(np.int64),
        np.concatenate([low for _, low, _ in covers]),
        np.concatenate([high for _, _, high in covers]),
        np.bincount(class_of, minlength=count).astype(np.int64, copy=False),
        tuple(values.to_list()),
        starts,
        value_of,
        counts,
        totals,
        tuple(each.attribute.name for each, (sizes, _, _) in zip(known, covers, strict=True) if not sizes.any()),
    )


def forms_of(known: Sequence[RegisterAttribute], recoding: Recoding) -> tuple[Form, ...]:
    """Return the form in which each known attribute was published."""
    # Ancestors are the default wherever there is a hierarchy; an empty hierarchy has no ancestors.
    names = {each.attribute.name for each in known}
    forms = {name: form for name, form in recoding.forms.items() if name in names and form is not Form.ANCESTOR}
    return Recoding(recoding.numeric, forms).forms_of(each.attribute for each in known)


def _labels(column: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """Return the distinct values of a column as text, null last, and which of them each cell has."""
    distinct = distinct_of(column)
    return text_of(distinct.values).extend_constant(None, 1), distinct.rank_of[distinct.raw]


def _runs(labels: pl.Series, coverage: LabelCoverage) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Write what labels cover as runs of codes: the number of runs of each label, and both ends of each run."""
    if coverage.members is None:
        readable = coverage.readable
        return readable.astype(np.int64), coverage.low[readable], coverage.high[readable]
    codes = coverage.members.codes
    owner = np.repeat(np.arange(len(labels)), np.diff(coverage.members.starts))
    # A member that nobody in the register has is a negative code.
    owner, codes = owner[codes >= 0], codes[codes >= 0]
    apart = np.ones(len(codes) + 1, dtype=np.bool_)
    apart[1:-1] = (np.diff(codes) != 1) | (np.diff(owner) != 0)
    first = np.flatnonzero(apart[:-1])
    sizes = np.bincount(owner[first], minlength=len(labels)).astype(np.int64, copy=False)
    return sizes, codes[first], codes[np.flatnonzero(apart[1:])]


_TABULATED_BYTES = 64 << 20
"""Memory for the table of covering classes; if it would need more, neighbouring codes share rows."""


def coverage_of(publication: PublishedClasses, known: Sequence[RegisterAttribute]) -> ClassCoverage:
    """Return what the classes cover of the attributes that a register shares."""
    rows, shifts = _rows(known, len(publication.sizes))
    return ClassCoverage(publication.label_of, publication.runs, publication.low, publication.high, rows, shifts)


def _rows(known: Sequence[RegisterAttribute], classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each attribute its first row, int64 (q + 1,), and the shift of its codes, the largest shifted further."""
    place_of: dict[int, int] = {}
    places = [place_of.setdefault(id(each.attribute), len(place_of)) for each in known]
    different = dict(zip(places, known, strict=True))
    codes = np.array([different[place].attribute.size + 1 for place in range(len(different))], dtype=np.int64)
    shifts = np.zeros(len(codes), dtype=np.int64)
    affordable = _TABULATED_BYTES // (8 * max(1, (classes + 63) // 64))
    while (rows := ((codes - 1) >> shifts) + 1).sum() > max(affordable, len(codes)):
        shifts[rows.argmax()] += 1
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    return np.append(starts[:-1][places], starts[-1]), shifts[places]


def sum_by_code(codes: NDArray[np.integer], numbers: NDArray[np.generic], size: int) -> NDArray[np.float64]:
    """Add up the numbers under each code ``0 .. size-1``: float64 (size,). Cost O(codes + size)."""
    sums: NDArray[np.float64] = np.bincount(codes, numbers, size).astype(np.float64, copy=False)
    return sums


def entries_of(starts: NDArray[np.int64], owner: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the entries of some owners' compressed rows, one after the other: the place in `owner`, and the entry's."""
    lengths = starts[owner + 1] - starts[owner]
    asked = np.repeat(np.arange(len(owner)), lengths)
    skipped = np.repeat(starts[owner] - (np.cumsum(lengths) - lengths), lengths)
    return asked, skipped + np.arange(len(asked))


NOWHERE, SEVERAL = -1, -2
"""Used instead of a class: none fits, or more than one does."""


BLOCK_BYTES, BLOCK_PAIRS = 1 << 24, 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """People, by codes (`UNKNOWN` fits all), and the one class that fits each, `NOWHERE`, or `SEVERAL`."""

    publication: PublishedClasses
    known: tuple[RegisterAttribute, ...]
    codes: NDArray[np.int32]
    class_of: NDArray[np.int32]

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Tell which classes certainly hold exactly the people placed in them, because numbers agree; bool (c,).

        A person who was suppressed, or also fits other classes, makes the classes around them uncertain.
        """
        sizes = self.publication.sizes
        sure: NDArray[np.bool_] = np.bincount(self.class_of[self.class_of >= 0], minlength=len(sizes)) == sizes
        return sure


def require_generalized(published: Published, attack: str) -> PublishedTable:
    """Return a generalized table as such, or raise InputError."""
    if not isinstance(published, PublishedTable):
        raise InputError(
            f"{attack}: is played against a {PublishedTable.kind}, not a {published.kind}; play an attack that is made "
            "for that kind"
        )
    return published


def place_people(
    published: PublishedTable, people: pl.DataFrame, schema: Schema, recoding: Recoding, sensitive: str | None = None
) -> Placement:
    """Place people in the classes of a generalized table; O(m · c / 64 · q) for m distinct people, c classes."""
    shared = register_attributes(published.data, people, schema)
    if not shared:
        raise InputError(
            "the release and the people share no quasi-identifying attribute, so nothing links them; give the "
            "schema or policy that the release was made with"
        )
    known = tuple(read_register(people, schema, shared))
    publication = read_publication(published.data, sensitive or shared[0], known, recoding)
    codes = np.column_stack([each.codes for each in known])
    vectors, vector_of = distinct_rows(codes)
    only = [_single_bits(fitting) for _, fitting in _fitting(publication, known, vectors)]
    return Placement(publication, known, codes, np.concatenate(only)[vector_of])


def pair_with_classes(
    placement: Placement, vectors: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Pair distinct people, some at a time, with every class that fits, and its share of the records that do."""
    sizes = placement.publication.sizes
    step = max(1, BLOCK_PAIRS // len(sizes))
    for start, fitting in _fitting(placement.publication, placement.known, vectors):
        for first in range(0, len(fitting), step):
            vector, owner = np.nonzero(_bits(fitting[first : first + step]))
            fits_all = np.bincount(vector, weights=sizes[owner])
            yield vector + start + first, owner, sizes[owner] / fits_all[vector]


def are_covered(
    publication: PublishedClasses, codes: NDArray[np.int32], classes: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Tell for each person whether the class to check covers them; O(n · q · log r) for r runs."""
    # Runs of a label rise, and labels follow each other, so one search finds the run that a code may lie in.
    width = int(max(publication.high.max(initial=0), codes.max(initial=0))) + 2
    owner = np.repeat(np.arange(len(publication.runs) - 1), np.diff(publication.runs))
    starts = owner * width + publication.low
    verdict = np.ones(len(codes), dtype=np.bool_)
    for column in range(codes.shape[1]):
        label, code = publication.label_of[classes, column], codes[:, column]
        run = np.searchsorted(starts, label.astype(np.int64) * width + np.maximum(code, 0), side="right") - 1
        inside = (run >= publication.runs[label]) & (np.append(publication.high, -1)[run] >= code)
        verdict &= inside | (code < 0)
    return verdict


def _fitting(
    publication: PublishedClasses, known: tuple[RegisterAttribute, ...], vectors: NDArray[np.int32]
) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Yield which classes fit distinct people, a block at a time: the block's first place, and a bit for each class."""
    coverage = coverage_of(publication, known)
    rows, shifts = coverage.rows, coverage.shifts
    # One more row stands for unknown values, and fits every class.
    everyone = np.zeros((1, -(-len(publication.sizes) // 64) * 8), dtype=np.uint8)
    packed = np.packbits(np.ones(len(publication.sizes), dtype=np.uint8), bitorder="little")
    everyone[0, : len(packed)] = packed
    table = np.concatenate([covering_classes(coverage), everyone.view(np.uint64)])
    step = max(1, BLOCK_BYTES // (8 * table.shape[1]))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        row = np.where(block >= 0, rows[:-1] + (np.maximum(block, 0) >> shifts), len(table) - 1)
        fitting = np.repeat(table[-1:], len(block), axis=0)
        for column in row.T:
            fitting &= table[column]
        if shifts.any():
            _settle(fitting, publication, block)
        yield start, fitting


def _bits(fitting: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.unpackbits(fitting.view(np.uint8), axis=1, bitorder="little")


def _settle(fitting: NDArray[np.uint64], publication: PublishedClasses, vectors: NDArray[np.int32]) -> None:
    """Remove classes that do not cover a person, but passed because codes share a row of the table."""
    bits = _bits(fitting)
    person, owner = np.nonzero(bits)
    bits[person, owner] = are_covered(publication, vectors[person], owner)
    fitting[:] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def _single_bits(sets: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the number of the only bit of each row of words, int32 (n,); else `NOWHERE` or `SEVERAL`."""
    ones = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    word = (sets != 0).argmax(axis=1)
    chosen = sets[np.arange(len(sets)), word]
    below = np.bitwise_count(chosen - np.uint64(1))
    return np.where(ones == 1, 64 * word + below, np.where(ones == 0, NOWHERE, SEVERAL)).astype(np.int32)


MOST_PAIRS = 1 << 22
"""Pairs of a record and a class that are held at a time, or those of one person."""


@dataclass(frozen=True, eq=False, repr=False)
class _LikeliestRows:
    """The classes where each person's rows are densest, as far as an attacker can tell.

    A known record is one of all rows that fit, each with the same chance; these add up, and the attacker picks where
    the sum is largest. `sole`: as many known records fit no other class. `chance`: that a row picked is the person's.
    """

    person: NDArray[np.int64]
    owner: NDArray[np.int64]
    rows: NDArray[np.int64]
    sole: NDArray[np.bool_]
    chance: NDArray[np.float64]


def likeliest_rows(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> _LikeliestRows:
    """Find the classes where each person's rows are densest; O(r · c / 64 · q + p log p) for p pairs."""
    found = [_densest(some, publication.sizes, people) for some in _covered(known, publication, owner, people)]
    persons, owners, inside, best = (np.concatenate(part) for part in zip(*found, strict=True))
    rows = np.bincount(persons, publication.sizes[owners], minlength=people).astype(np.int64)
    sure = inside.reshape(-1, people).sum(axis=0)
    chance = np.minimum(best.reshape(-1, people).sum(axis=0), 1.0)
    return _LikeliestRows(persons, owners, rows, (rows > 0) & (sure >= rows), chance)


def held_rows(
    found: _LikeliestRows,
    publication: PublishedClasses,
    keys: NDArray[np.int64],
    victims: Victims,
    own: Sequence[RegisterAttribute],
) -> NDArray[np.bool_]:
    """Tell which own records are among the rows picked from, for scoring: a class covers one, and has its key alone."""
    record, place = join_entries(victims.own.person, found.person, victims.people)
    codes = np.column_stack([one.codes for one in own])
    covered = np.zeros(len(keys), dtype=np.bool_)
    covered[record[are_covered(publication, codes[record], found.owner[place])]] = True
    covered &= keys >= 0
    width = len(publication.values)
    asked = victims.own.person * width + np.maximum(keys, 0)
    pairs, pair_of = np.unique(asked[covered], return_inverse=True)
    pair, place = join_entries(pairs // width, found.person, victims.people)
    cell = publication.cells_with(found.owner[place], pairs[pair] % width)
    there = np.bincount(pair, np.where(cell >= 0, publication.counts[cell], 0), minlength=len(pairs))
    held = np.zeros(len(keys), dtype=np.bool_)
    held[covered] = rank_within(pair_of, np.zeros(len(pair_of))) < there[pair_of]
    return held


def join_entries(
    owner: NDArray[np.int64], person: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the places of owners with those of entries of the same person; `person` of each entry rises."""
    return entries_of(np.searchsorted(person, np.arange(people + 1)), owner)


@dataclass(frozen=True, eq=False, repr=False)
class _Covered:
    """Different records of people: person, times, rows that fit, int64 (d,); record, owner: all pairs, rising."""

    person: NDArray[np.int64]
    times: NDArray[np.int64]
    record: NDArray[np.int64]
    owner: NDArray[np.int64]
    rows: NDArray[np.int64]


def _covered(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> Iterator[_Covered]:
    """Yield the records of some people at a time with all classes that cover them."""
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    table = covering_classes(coverage)
    classes = fitting_weight(vectors, coverage, table, np.ones(len(publication.sizes)))
    cells, times = np.unique(owner * len(vectors) + vector_of, return_counts=True)
    person, vector = cells // len(vectors), cells % len(vectors)
    pairs = np.cumsum(np.bincount(person, classes[vector], minlength=people))
    block_of = (pairs // MOST_PAIRS).astype(np.int64)[person]
    for block in np.unique(block_of):
        some = np.flatnonzero(block_of == block)
        wanted, place = np.unique(vector[some], return_inverse=True)
        fitting, owners = fitting_pairs(np.ascontiguousarray(vectors[wanted]), coverage, table)
        record, entry = join_entries(place, fitting, len(wanted))
        rows = np.bincount(record, publication.sizes[owners[entry]], minlength=len(some)).astype(np.int64)
        yield _Covered(person[some], times[some], record, owners[entry], rows)


def _densest(
    covered: _Covered, sizes: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs (person, class) of the likeliest match, records that fit no other, int64, and sums, float64."""
    cells, cell_of = np.unique(covered.person[covered.record] * len(sizes) + covered.owner, return_inverse=True)
    chances = np.bincount(cell_of, (covered.times / np.maximum(covered.rows, 1))[covered.record], minlength=len(cells))
    person = cells // len(sizes)
    best = np.zeros(people)
    np.maximum.at(best, person, chances)
    chosen = chances >= best[person] * (1 - SURE)
    there = np.bincount(covered.record, chosen[cell_of], minlength=len(covered.person))
    only = (there > 0) & (there == np.bincount(covered.record, minlength=len(covered.person)))
    inside = np.bincount(covered.person, covered.times * only, minlength=people).astype(np.int64)
    return person[chosen], cells[chosen] % len(sizes), inside, best

"""What an attacker reads from a published table: classes, what their labels cover, and their sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form
from sfumato.classes.partition import group_records
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.kernels.grouping import count_values, first_records
from sfumato.kernels.linking.linkage import ClassCoverage
from sfumato.recoding.choice import Recoding
from sfumato.recoding.parsing import Coverage as LabelCoverage
from sfumato.recoding.parsing import parse
from sfumato.table.distinct import distinct_of
from sfumato.table.schema import text_of


@dataclass(frozen=True, eq=False, repr=False)
class PublishedClasses:
    """Classes of equal published records, read against the codes of a register.

    Letters: n records, c classes, q shared attributes, g labels of all attributes together, r runs, z pairs of a class
    and a sensitive value.

    `class_of`: int32 (n,): class of each published record. `label_of`: int32 (c, q): label of each class, numbered
    through all attributes. `runs`, `low`, `high`: int64 (g + 1,), int32 (r,) twice: label ``i`` covers the codes ``low
    .. high`` of the runs ``runs[i] .. runs[i+1]-1``. `sizes`: int64 (c,): records in each class. `values`: The
    published sensitive values; their places are the codes of `value_of`. `starts`, `value_of`, `counts`: int64 (c +
    1,), int32 (z,), int64 (z,): how often each class has each sensitive value (compressed rows). `totals`: int64, one
    per sensitive value: published records that have it. `unmatched`: Attributes of which no published label covers
    anybody in the register.
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
    """Group equal published records and read what their labels cover.

    `frame`: n published records with the known attributes and the sensitive one. `known`: What the register says, one
    entry per shared attribute.

    Cost O(n · q); labels are read once per distinct label. A label that covers nobody's value covers nothing.
    """
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
    """Give each attribute rows of the table: the first row of each, int64 (q + 1,), and by how much codes are shifted.

    An attribute that is there several times has its rows once. While the table is too large, the attribute with most
    rows puts twice as many codes on each row.
    """
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

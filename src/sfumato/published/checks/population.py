"""The population of a published table: how many people with original values each class covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, GeneralizedColumn, distinct_records
from sfumato.classes.statistics import PresenceFound
from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.numbers import counted
from sfumato.table.encoding import encode
from sfumato.table.header import columns_of
from sfumato.table.reading import PopulationError, population_problems
from sfumato.table.schema import Schema
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.recoding import Recoding


@dataclass(frozen=True, eq=False, repr=False)
class Register:
    """Everybody who might be in a published table, and how that was published."""

    people: Table  # original values, with the hierarchies that the table was published with
    recoding: Recoding

    def covered(self, classes: pl.DataFrame, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the people whom each class covers, int64 (c,), from one row of each.

        Raises ``InputError`` when some class covers fewer people than it has records: the population lacks people of
        the table.
        """
        few = int(sizes.sum()) - self.people.height
        if few > 0:
            raise PopulationError(
                f"population: has {counted(self.people.height, 'record')} and the table {int(sizes.sum()):,}; it must "
                "hold everybody who is in the table"
            )
        try:
            found = covered_population(classes, classes.columns, self.people, self.recoding)
        except SfumatoError as error:
            raise population_problems(error) from None
        few = int(sizes[found < sizes].sum())
        if few:
            raise PopulationError(
                f"population: {counted(few, 'record')} of the table are in classes that cover fewer people of the "
                "population than they have records; it must hold everybody who is in the table"
            )
        return found

    def presence(self, classes: pl.DataFrame, sizes: NDArray[np.int64]) -> PresenceFound:
        """Work out how surely the people whom each class covers are in the table, from one row of each."""
        return presence(classes, classes.columns, self.people, self.recoding, sizes)


MEMORY = 64 << 20
"""Bytes for the table of codes and classes."""


def covered_population(
    published: pl.DataFrame, names: Sequence[str], population: Table, recoding: Recoding
) -> NDArray[np.int64]:
    """Count the people of a population whom each class of a published table covers; int64 (c,).

    A missing value is covered by the missing value and by ``*``. Refused when the population lacks a column, when
    labels cannot be read or cover nobody, and for class means. Cost O(N · q), then that of
    :func:`sfumato.kernels.linking.covered_people`.
    """
    from sfumato.kernels.linking import covered_people  # only models of a population need it

    ground = _coverage(published, names, population, recoding)
    return covered_people(ground.people, ground.weights, *ground.classes)


def presence(
    published: pl.DataFrame, names: Sequence[str], population: Table, recoding: Recoding, sizes: NDArray[np.int64]
) -> PresenceFound:
    """Work out how surely each of a population is in a table: the sum of records ÷ people of their classes."""
    from sfumato.kernels.linking import covered_people, extremes, summed_shares

    ground = _coverage(published, names, population, recoding)
    covered = covered_people(ground.people, ground.weights, *ground.classes)
    sums = summed_shares(ground.people, sizes / np.maximum(covered, 1), *ground.classes)
    low, high = extremes(ground.people, sums, *ground.classes)
    return PresenceFound(low, high, int(ground.weights[sums == 0].sum()))


class _Coverage(NamedTuple):
    """What kernels need: distinct people, how many of each, and what the classes cover, as arguments."""

    people: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    classes: tuple[Any, ...]


def _coverage(published: pl.DataFrame, names: Sequence[str], population: Table, recoding: Recoding) -> _Coverage:
    from sfumato.recoding.parsing import generalize_published

    schema = population.schema.quasi_identifying
    absent = [name for name in names if name not in schema]
    raise_all(InputError, [f"the table has no quasi-identifying column {name!r}" for name in absent])
    kinds = {name: population.kinds[name] for name in names}
    shared = Schema(quasi_identifying={name: schema[name] for name in names})
    encoded = encode(Table(columns_of(population.frame, names), shared, kinds, population.source))
    forms = {name: form for name, form in recoding.forms.items() if name in kinds}
    # Rows of stars are a class here, which covers everybody.
    as_published = replace(recoding, forms=forms, suppressed="remove")
    columns = generalize_published(columns_of(published, names), encoded, as_published).columns
    raise_all(InputError, _means(columns))
    people, weights, _ = distinct_records(encoded.codes)
    offsets = np.cumsum([0, *(column.count for column in columns)])
    label_of = np.column_stack([column.per_class.astype(np.int64) for column in columns]) + offsets[:-1]
    runs = [_runs(column) for column in columns]
    starts = np.concatenate([[0], np.cumsum(np.concatenate([sizes for sizes, _, _ in runs]))]).astype(np.int64)
    rows = np.cumsum([0, *(column.attribute.size + 1 for column in columns)]).astype(np.int64)
    words = max(1, min(MEMORY // (8 * int(rows[-1])), (len(label_of) + 63) // 64))
    low, high = (np.concatenate([run[end] for run in runs]) for end in (1, 2))
    return _Coverage(people, weights, (label_of, starts, low, high, rows, words))


def _means(columns: Sequence[GeneralizedColumn]) -> list[str]:
    return [
        f"column {column.attribute.name!r} is published as class means, which do not show whom they cover; measure it "
        "with a sampling fraction instead"
        for column in columns
        if column.form is Form.MEAN
    ]


def _runs(column: GeneralizedColumn) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the number of runs of each label, and both ends of each run; a member that nobody has is an empty run."""
    if column.members is None:
        return np.ones(column.count, dtype=np.int64), column.low, column.high
    codes = column.members.codes
    return np.diff(column.members.starts), np.maximum(codes, 0), codes

"""Generalized columns: what each class publishes for one attribute, and how general that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.grouping import histogram
from sfumato.table.distinct import FEW
from sfumato.table.encoding import EncodedAttribute, EncodedTable


class Form(StrEnum):
    """How an attribute is published."""

    INTERVAL = "interval"
    ANCESTOR = "ancestor"
    SET = "set"
    MEAN = "mean"


@dataclass(frozen=True, eq=False, repr=False)
class ValueSets:
    """The codes of several value sets (compressed rows)."""

    starts: NDArray[np.int64]  # (g + 1,): set ``i`` owns entries ``starts[i] .. starts[i+1]-1`` of `codes`.
    codes: NDArray[np.int32]  # codes, rising inside a set; the missing value's is ``attribute.size``


def known(labels: pl.Series) -> Callable[[], pl.Series]:
    """Return what gives texts that are written already."""
    return lambda: labels


def stars(texts: pl.Series) -> NDArray[np.bool_]:
    """Tell which texts are ``*``; bool (g,)."""
    if len(texts) <= FEW:
        return np.array([text == "*" for text in texts.to_list()], dtype=np.bool_)
    found: NDArray[np.bool_] = texts.eq_missing("*").to_numpy()
    return found


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedColumn:
    """One quasi-identifying attribute after recoding, class by class: c classes, g distinct generalized values.

    A cell ``*`` covers everything, the missing value, too: `low` 0, `high` ``attribute.size``, `level` the height of
    the hierarchy, or 1.
    """

    attribute: EncodedAttribute
    form: Form
    per_class: NDArray[np.int32]  # (c,): the generalized value of each class, ``0 .. g-1``.
    written: Callable[[], pl.Series]  # returns the published text of each generalized value; losses do not look at it
    # `low`, `high`: (g,): smallest and largest code covered. For a mean, those of the class. The missing value's code
    # is ``attribute.size``.
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    # (g,): original values covered. With a hierarchy: leaves under the node. A set: its members. An interval or mean:
    # distinct values of the data between `low` and `high`. ``attribute.domain_size`` when the cell is ``*``.
    leaves: NDArray[np.int32]
    level: NDArray[np.int32]  # (g,): hierarchy steps climbed. Without a hierarchy: 0 when one value is covered, else 1.
    # the codes of each value set; None for the other forms, which cover every code from `low` to `high`
    members: ValueSets | None = None
    # which value sets are ``*``, bool (g,), where that is known without their texts
    starred: NDArray[np.bool_] | None = None

    @cached_property
    def labels(self) -> pl.Series:
        """Published text of each generalized value, String, length g; null is the missing value."""
        return self.written()

    @property
    def count(self) -> int:
        """Number of distinct generalized values g."""
        return len(self.low)

    @property
    def height(self) -> int:
        """Steps from an original value to ``*``; 1 without a hierarchy."""
        return self.attribute.hierarchy.height if self.attribute.hierarchy is not None else 1

    @cached_property
    def unrestricted(self) -> NDArray[np.bool_]:
        """Which generalized values are ``*``, bool (g,)."""
        if self.form is Form.SET:
            return stars(self.labels) if self.starred is None else self.starred
        whole: NDArray[np.bool_] = (self.low < self.high) & (self.high == self.attribute.size)
        return whole


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedTable:
    """A recoded table together with the original one; for the steward only, never published."""

    original: EncodedTable
    columns: tuple[GeneralizedColumn, ...]  # one per quasi-identifying attribute, in declared order
    # (n,): class of each record; −1 where the record is suppressed. If it was read back from a published frame, the
    # first entries belong to the published rows, and one −1 follows for every original record that is not among them.
    class_of: NDArray[np.int32]
    sizes: NDArray[np.int64]  # (c,): records in each class
    # whether entry ``i`` of `class_of` belongs to record ``i`` of `original`; False for what was read back from a
    # published frame, whose rows are shuffled
    aligned: bool = True

    @property
    def height(self) -> int:
        """Number of original records n, suppressed ones included."""
        return len(self.class_of)

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return len(self.class_of) - int(self.sizes.sum())

    @cached_property
    def frequencies(self) -> tuple[NDArray[np.int64], ...]:
        """Count how often each original code occurs, the missing one last; int64 (size + 1,) each. O(n · q), once."""
        everybody = np.zeros(self.original.height, dtype=np.int32)
        return tuple(
            histogram(everybody, self.original.codes[:, index], attribute.size + 1)
            for index, attribute in enumerate(self.original.attributes)
        )


def class_as_read(columns: Sequence[GeneralizedColumn], count: int, class_of: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the class that a reader puts each record into; int32, from 0. All that publishes but ``*`` is one."""
    starred = np.ones(count, dtype=np.bool_)
    for column in columns:
        starred &= stars(column.labels)[column.per_class]
    left_out = int(np.argmax(starred)) if starred.any() else count
    return np.where(class_of < 0, np.int32(left_out), class_of)


def covers(column: GeneralizedColumn, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which generalized values cover which codes; bool (g, m). Memory g · m bytes: pass few codes.

    A value set covers its members, ``*`` all, anything else the codes from its lowest to its highest. A mean covers the
    range of its class; one that was read back only its two neighbours.
    """
    targets = np.asarray(codes, dtype=np.int64)
    if column.members is None:
        return (column.low[:, None] <= targets) & (targets <= column.high[:, None])
    table = np.zeros((column.count, column.attribute.size + 1), dtype=np.bool_)
    sets = np.repeat(np.arange(column.count), np.diff(column.members.starts))
    table[sets, column.members.codes] = True
    covered: NDArray[np.bool_] = table[:, targets]
    return covered

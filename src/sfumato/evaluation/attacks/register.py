"""What a register says about its people: codes for every attribute that it shares with a published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import HierarchyError, InputError, SfumatoError, raise_all
from sfumato.hierarchy.specification import HierarchySpecification
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import UNKNOWN
from sfumato.table.distinct import distinct_of
from sfumato.table.domain import domain_borders
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Attribute, Kind, Schema, is_measured, text_of


@dataclass(frozen=True, eq=False, repr=False)
class RegisterAttribute:
    """One attribute of a register.

    `attribute`: What the codes mean; they number the register's own values, or the leaves of a hierarchy over them.
    `codes`: int32, one per person: ``attribute.size`` if the value is not in the hierarchy, so that only ``*`` covers
    it; `UNKNOWN` if the register says nothing.
    """

    attribute: EncodedAttribute
    codes: NDArray[np.int32]


def register_attributes(published: pl.DataFrame, register: pl.DataFrame, schema: Schema) -> tuple[str, ...]:
    """Name the quasi-identifying attributes that both tables have, in declared order."""
    return tuple(name for name in schema.quasi_identifying if name in published.columns and name in register.columns)


def read_register(register: pl.DataFrame, schema: Schema, shared: Sequence[str]) -> list[RegisterAttribute]:
    """Read what a register says about the shared attributes.

    Raises InputError with everything that is wrong with any of the columns.
    """
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
    """Read what a register says about one attribute.

    `column`: The register's column; an empty cell means that the register does not say. `setting`: How the published
    table treats the attribute. Without a declared kind, the column's type decides. Raises InputError when cells are not
    of the declared kind; they are counted. Raises HierarchyError when the hierarchy cannot be built over the register's
    values.
    """
    kind = setting.kind or _kind_of(column.dtype)
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


def _domain(name: str, kind: Kind, setting: Attribute, numbers: NDArray[np.float64] | None) -> tuple[float, float]:
    """Return the ends of the domain, declared or of the register, whose people may lie outside a declared one."""
    if numbers is None or not len(numbers):
        return 0.0, 0.0
    seen = float(numbers[0]), float(numbers[-1])
    if setting.domain is None:
        return seen
    low, high = domain_borders(name, kind, setting.domain)
    return min(low, seen[0]), max(high, seen[1])


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

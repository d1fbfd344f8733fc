"""What stops a release until somebody answers it, and what is told beside its result.

The review of a table that has roles, of the columns that are published alone: values have been read, and reading asks
its own questions before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.findings.meaning import Values
from sfumato.findings.review import (
    NAMES,
    STOPPING,
    Finding,
    Profile,
    Severity,
    judged,
    profile_of,
    profile_of_typed,
    removal,
)
from sfumato.table.columns import ValueReading
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.identification import Look, sort_by_name
from sfumato.table.schema import Kind, Schema

_AS_WRITTEN = ValueReading(missing=("",), strip=True, is_text=True)
"""How columns that are published unchanged are read, to judge them."""


class OpenFindings(SchemaError):
    """Severe findings that nobody has answered; its ``findings`` are those of its problems that an answer settles."""

    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding], others: Mapping[str, str]) -> Self:
        """Put what no answer settles, of each column, before findings; what removes a column answers all about it."""
        error = cls(*others.values(), *(finding.problem() for finding in findings))
        error.findings = () if others else tuple(findings)
        error.answers = {name: removal(name) for name in others}
        for finding in sorted(findings, key=lambda one: one.name == "spellings"):
            error.answers = {**dict.fromkeys(finding.columns, finding.answers[0].option), **error.answers}
        return error


class ReadTable(Protocol):
    """A table whose columns have roles, in memory or not."""

    @property
    def schema(self) -> Schema:
        """The roles, and what was answered."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        ...

    @property
    def passing(self) -> Collection[str]:
        """Columns without a role of their own that are published."""
        ...

    @property
    def height(self) -> int:
        """Number of records."""
        ...

    def look(self, name: str) -> Look:
        """Return what a column looks like."""
        ...

    def counted(self, name: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Return the values of a sensitive column, rising, and how many records have each."""
        ...

    def unchanged(self, name: str) -> pl.Series:
        """Return an insensitive column, or enough of it to judge it."""
        ...


def wrong_answers(accept: Mapping[str, str] | None) -> Iterator[str]:
    """Name the answers to what is no finding."""
    for key in accept or ():
        if key.partition(":")[0] not in NAMES:
            yield f"accept: {key!r} answers no finding; write one of {', '.join(NAMES)}, a colon and a column"


def severe_findings(table: ReadTable, promised: Collection[str]) -> tuple[Finding, ...]:
    """Return what stops a release of a table, unless it was answered.

    `promised`: sensitive columns of which a model counts the values. Cost O(d) for the distinct values of sensitive
    texts; O(n) for an insensitive column that looks as if it identified people.
    """
    schema, profiles = table.schema, []
    for name in schema.insensitive:
        if name not in table.passing and (table.look(name).sorts or table.look(name).is_mostly_distinct):
            profiles.append(profile_of(table.unchanged(name), _AS_WRITTEN))
    for name in schema.sensitive:
        kind = table.kinds[name]
        if kind is Kind.CATEGORICAL or (kind is Kind.NUMERIC and sort_by_name(name) is not None):
            profiles.append(profile_of_typed(Values(name, *table.counted(name), kind, table.height)))
    return stopping(profiles, schema, promised)


def stopping(
    profiles: Sequence[Profile], schema: Schema, promised: Collection[str] | None = None
) -> tuple[Finding, ...]:
    """Return what stops a release of columns and nobody has answered; see :func:`judged`."""
    found = judged(profiles, schema, promised)[1]
    return tuple(each for each in found if each.name in STOPPING and each.severity is Severity.SEVERE)


def remarks_on(
    columns: Iterable[tuple[EncodedAttribute, NDArray[np.integer]]], schema: Schema, promised: Collection[str]
) -> tuple[Finding, ...]:
    """Return what stops nothing, of quasi-identifying and sensitive columns.

    `columns`: what the codes of each mean, and how many records have each code, integers (cardinality,). Cost O(d log
    d) for the d values of each.
    """
    profiles = [profile_of_typed(_values(attribute, counts)) for attribute, counts in columns]
    return tuple(each for each in judged(profiles, schema, promised)[1] if each.severity is Severity.REMARK)


def _values(attribute: EncodedAttribute, counts: NDArray[np.integer]) -> Values:
    occurring = np.flatnonzero(counts[: attribute.size])
    labels = attribute.labels.gather(occurring).alias(attribute.name)
    if attribute.kind is Kind.NUMERIC:
        labels = labels.cast(pl.Float64)
        whole = labels.cast(pl.Int64, strict=False)
        # What is beyond 64 bits has no whole number.
        labels = whole if (whole.cast(pl.Float64) == labels).fill_null(False).all() else labels
    elif attribute.kind is Kind.DATE:
        labels = labels.str.to_date("%Y-%m-%d", strict=False)
    elif attribute.kind is Kind.BOOLEAN:
        labels = labels == "true"
    order = labels.arg_sort()
    counted = counts[occurring].astype(np.int64)[order.to_numpy()]
    return Values(attribute.name, labels.gather(order), counted, attribute.kind, int(counts.sum()))


def remarks_in_short(findings: Iterable[Finding]) -> str:
    """Name the findings that stop nothing, and their columns, on one line."""
    columns: dict[str, list[str]] = {}
    for finding in (each for each in findings if each.severity is Severity.REMARK):
        columns.setdefault(finding.name, []).extend(finding.columns)
    return ", ".join(f"{name} ({', '.join(dict.fromkeys(listed))})" for name, listed in columns.items())

"""Checking a table from anywhere: which models it satisfies, and how far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from sfumato.evaluation.checking.check_report import CheckReport
from sfumato.evaluation.checking.counting import classes_of, counted
from sfumato.evaluation.checking.findings import all_findings
from sfumato.evaluation.checking.inputs import opened
from sfumato.evaluation.risk.adversaries import prosecutor
from sfumato.evaluation.risk.people_at_risk import PeopleAtRisk
from sfumato.progress import Progress, beating, shown
from sfumato.table.schema import Attribute
from sfumato.table.table import Table


def check(
    table: Table | str | Path | pl.DataFrame,
    *,
    quasi_identifying: Sequence[str] | None = None,
    sensitive: Sequence[str] | Mapping[str, Attribute | None] | None = None,
    person: str | None = None,
    progress: Progress = shown,
) -> CheckReport:
    """Say which k, l, alpha, t, beta and delta a table has, wherever it comes from.

    Records are alike when the texts of their quasi-identifying columns are equal, whatever they mean: an interval, a
    prefix or a star is a value like any other, and so is a missing one.

    Parameters
    ----------
    table
        A CSV or Parquet file, a polars, pandas or Arrow frame, or a table from :func:`sfumato.read_table`, in which
        quasi-identifying numbers and dates are equal as such.
    quasi_identifying
        Which columns an attacker may know. None takes those of the table's schema; a file or frame needs them named.
    sensitive
        Which columns must stay hidden: names, or a mapping to an :class:`sfumato.Attribute` with kind and hierarchy.
        None takes those of the table's schema, if it has one. t-closeness is measured with ranks for numbers and dates,
        along the hierarchy where there is one, and otherwise with equal distances.
    person
        The column that says who a record is about, if people have several: then every model counts people. None takes
        that of the table's schema, if it has one.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own.

    Returns
    -------
    CheckReport
        For the data steward: it names row numbers, but no value.

    Raises
    ------
    SfumatoError
        With everything that is wrong: columns that are missing or named twice or in both roles, no quasi-identifying
        column, no record, a file that cannot be read.

    Notes
    -----
    Cost O(n · q) for n records and q quasi-identifying columns, and O(n log n) at worst for each sensitive one.

    Examples
    --------
    >>> import polars as pl
    >>> ages, diseases = ["[20-30)"] * 3 + ["3*"] * 2, ["flu", "flu", "cold", "flu", "cold"]
    >>> report = check(
    ...     pl.DataFrame({"age": ages, "disease": diseases}), quasi_identifying=["age"], sensitive=["disease"]
    ... )
    >>> report.find("k-anonymity").value, report.find("probabilistic-l-diversity").value
    (2.0, 1.5)
    >>> report.rows(report.find("k-anonymity")).tolist()
    [4, 5]
    """

    def work(told: Progress) -> CheckReport:
        read = opened(table, quasi_identifying, sensitive, person)
        told("classes", 1, 2)
        return _checked(read)

    return beating(progress, "reading", work)


def _checked(read: Table) -> CheckReport:
    keys = classes_of(read)
    statistics = counted(read, keys)
    by_prosecutor = prosecutor(keys.records, keys.records.astype(float))
    return CheckReport(keys, statistics, all_findings(statistics), by_prosecutor, PeopleAtRisk.of(read, keys))

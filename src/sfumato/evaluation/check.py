"""Checking a table from anywhere: which models it satisfies, how far, and in which classes the least.

Letters: n records, c classes. No output shows a value of the table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, class_statistics, counted_people
from sfumato.errors import InputError, PolicyError, SchemaError, raise_all
from sfumato.evaluation.inputs import private_part
from sfumato.evaluation.risk.adversaries import Adversary, Keys, PeopleAtRisk, keys_of, prosecutor
from sfumato.evaluation.risk.report import FIRST_ROWS, aligned, list_combinations
from sfumato.kernels.predicates import T_EQUAL, T_ORDERED
from sfumato.models import (
    AlphaKAnonymity,
    BasicBetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    ProbabilisticLDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from sfumato.models.protocol import TOLERANCE, SensitiveModel
from sfumato.models.t_closeness import distance_code
from sfumato.notebook import card, notebook_table, paragraph
from sfumato.numbers import counted, figure, percent
from sfumato.progress import Progress, beating, shown, thread_count
from sfumato.published.protocol import named
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table, read_with
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources.protocol import Reading
from sfumato.table.table import Table


def check(
    table: Any,
    *,
    schema: Schema | None = None,
    quasi_identifying: Sequence[str] | None = None,
    sensitive: Sequence[str] | Mapping[str, Attribute | None] | None = None,
    person: str | Sequence[str] | None = None,
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
    schema
        The roles of the columns of a file or a frame, in the place of the three below; it is then read as an original,
        numbers and dates as such.
    quasi_identifying
        Which columns an attacker may know. None takes those of the table's schema; a file or frame needs them named.
    sensitive
        Which columns must stay hidden: names, or a mapping to an :class:`sfumato.Attribute` with kind and hierarchy.
        None takes those of the table's schema, if it has one. t-closeness is measured with ranks for numbers and dates,
        along the hierarchy where there is one, and otherwise with equal distances.
    person
        The column that says who a record is about, or the columns that do so together, if people have several: then
        every model counts people. None takes that of the table's schema, if it has one.
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

    def work(beat: Progress) -> CheckReport:
        read = _opened(read_with(table, schema), quasi_identifying, sensitive, person)
        beat("classes", 1, 2)
        return _checked(read)

    return beating(progress, "reading", work)


def _checked(read: Table) -> CheckReport:
    keys = _classes_of(read)
    statistics = _statistics_of_classes(read, keys)
    by_prosecutor = prosecutor(keys.records, keys.records.astype(float))
    return CheckReport(keys, statistics, _all_findings(statistics), by_prosecutor, PeopleAtRisk.of(read, keys))


def _classes_of(table: Table) -> Keys:
    """Group records of equal quasi-identifying values; a missing value is one of its own, and so is ``*``."""
    return keys_of([table.frame.get_column(name) for name in table.schema.quasi_identifying], thread_count(None))


def _statistics_of_classes(table: Table, classes: Keys) -> ClassStatistics:
    """Count the records of each class and those that have each sensitive value; people, where the table names them."""
    # Every figure of a check but the record counts follows from what this returns.
    encoded = encode(private_part(table), order="name") if table.schema.sensitive else None
    codes = np.empty((classes.height, 0), dtype=np.uint8) if encoded is None else encoded.codes
    attributes = () if encoded is None else encoded.attributes
    if table.people is None:
        return class_statistics(classes.class_of, classes.count, codes, attributes)
    return counted_people(classes.class_of, classes.count, table.people, codes, attributes)


_MOST_L = 5
_ROWS_IN_LINE = 2
"""Rows that a line of the table has room for; the JSON lists more."""
"""Recursive diversity is measured from l = 2 up to the distinct values of every class, and up to this l."""


_STRICT = (RecursiveLDiversity, DeltaDisclosure)


@dataclass(frozen=True, eq=False)
class Finding:
    """The bound of one model that a table has.

    `model`: Name of the model, as in a policy. `parameter`: What is bounded: ``"k"``, ``"l"``, ``"c"``, ``"alpha"``,
    ``"t"``, ``"beta"`` or ``"delta"``. `value`: Of the worst class. Infinite where no bound holds. `given`: Other
    parameters that the value belongs to: `l` of recursive diversity, `distance` of t-closeness, `shares` of k-anonymity
    where people are counted. `holds`: For which parameters the model holds: ``"up to"`` the value, ``"from"`` it on, or
    ``"above"`` it. `measured`: float64 (c,): value of each class.
    """

    model: str
    parameter: str
    value: float
    attribute: str | None
    given: Mapping[str, Any]
    holds: str
    measured: NDArray[np.float64] = field(repr=False)

    @property
    def is_worst(self) -> NDArray[np.bool_]:
        """Tell which classes have the value of the worst one; bool (c,)."""
        if math.isinf(self.value):
            return np.isinf(self.measured)
        worst: NDArray[np.bool_] = np.abs(self.measured - self.value) <= TOLERANCE
        return worst


def _all_findings(statistics: ClassStatistics) -> tuple[Finding, ...]:
    """Measure every model of classes on every sensitive attribute."""
    sizes = [_of_sizes(KAnonymity(1), statistics)]
    if statistics.people is not None:
        sizes.append(_of_sizes(KAnonymity(1, shares=False), statistics, shares=False))
    private = (one for counts in statistics.sensitive.values() for one in _of_attribute(counts, statistics.sizes))
    return (*sizes, *private)


def _of_sizes(model: KAnonymity, statistics: ClassStatistics, **given: Any) -> Finding:
    measured = model.measure(statistics).astype(np.float64)
    return Finding(model.name, "k", float(measured.min()), None, given, "up to", measured)


def _of_attribute(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> Iterator[Finding]:
    distinct = _finding(DistinctLDiversity(1), counts, sizes)
    yield distinct
    yield _finding(ProbabilisticLDiversity(1), counts, sizes)
    yield _finding(EntropyLDiversity(1), counts, sizes)
    for least in range(2, max(2, min(_MOST_L, int(distinct.value))) + 1):
        yield _finding(RecursiveLDiversity(1, least), counts, sizes, l=least)
    yield _finding(AlphaKAnonymity(1, 1), counts, sizes)
    yield _finding(TCloseness(1), counts, sizes, distance=_distance_of(counts))
    yield _finding(BasicBetaLikeness(1), counts, sizes)
    yield _finding(EnhancedBetaLikeness(1), counts, sizes)
    yield _finding(DeltaDisclosure(1), counts, sizes)


def _distance_of(counts: SensitiveCounts) -> str:
    """Name the distance that t-closeness takes for an attribute."""
    code = distance_code(TCloseness(1).rules([counts.name])[0].code, counts)
    return {T_EQUAL: "equal", T_ORDERED: "ordered"}.get(code, "hierarchical")


def _finding(model: SensitiveModel, counts: SensitiveCounts, sizes: NDArray[np.int64], **given: Any) -> Finding:
    measured = model.measure(counts, sizes)
    worst = float(measured.min() if model.at_least else measured.max())
    holds = "up to" if model.at_least else "above" if isinstance(model, _STRICT) else "from"
    return Finding(model.name, model.bounded, worst, counts.name, given, holds, measured)


def read_as_texts(source: object, schema: Schema, **reading: Any) -> Table:
    """Read a table whose quasi-identifying cells may be anything, as they are written: ``[20-30)``, ``2*``, ``*``.

    Blanks around sensitive values alone are dropped: with them one disease would count as two.
    """
    texts = dict.fromkeys(schema.quasi_identifying, Attribute(kind=Kind.CATEGORICAL))
    read = Schema(
        quasi_identifying=texts,
        sensitive=schema.sensitive,
        others="drop",
        person=schema.person,
        key_form=schema.key_form,
    )
    stripped = list(schema.sensitive) if reading.get("strip", True) else []
    return read_table(source, read, reading=Reading(**{**reading, "strip": stripped}))


def _opened(
    table: object, quasi_identifying: object, sensitive: object, person: str | Sequence[str] | None = None
) -> Table:
    """Read a table, or take one as read, with its two roles alone; SfumatoError with all that is wrong."""
    problems = [
        f"{name}: must be a list of column names"
        for name, given in (("quasi_identifying", quasi_identifying), ("sensitive", sensitive))
        if isinstance(given, str)
    ]
    if not isinstance(table, Table) and not quasi_identifying:
        problems.append("quasi_identifying: name the columns that an attacker may know")
    if isinstance(table, Table) and person is not None and _listed(person) != table.schema.key_columns:
        problems.append("person: the table was read with another person column, or with none; read it again")
    raise_all(PolicyError, problems)
    if isinstance(table, Table):
        return _narrowed(table, quasi_identifying, sensitive)
    roles: dict[str, Any] = {"quasi_identifying": quasi_identifying, "sensitive": sensitive or ()}
    schema = Schema(**roles, others="drop", person=person)
    return read_as_texts(os.fspath(table) if isinstance(table, os.PathLike) else table, schema)


def _listed(person: str | Sequence[str]) -> tuple[str, ...]:
    return (person,) if isinstance(person, str) else tuple(person)


def _narrowed(table: Table, quasi_identifying: Any, sensitive: Any) -> Table:
    """Give a table that was read other roles, as far as it has the columns."""
    known = {**table.schema.quasi_identifying, **table.schema.sensitive}
    quasi = table.schema.quasi_identifying if quasi_identifying is None else quasi_identifying
    private = table.schema.sensitive if sensitive is None else sensitive
    roles = {"quasi_identifying": _with_settings(quasi, known), "sensitive": _with_settings(private, known)}
    schema = Schema(**roles, others="drop", person=table.schema.person, key_form=table.schema.key_form)
    names = [*schema.quasi_identifying, *schema.sensitive]
    absent = [name for name in names if name not in table.frame.columns]
    raise_all(InputError, [f"column {name!r} is not in the table" for name in absent])
    unread = [name for name in schema.sensitive if name not in known]
    raise_all(SchemaError, [f"column {name!r} was read as insensitive; read it as sensitive" for name in unread])
    columns = pl.DataFrame([table.frame.get_column(name) for name in names])
    kinds = {name: kind for name, kind in table.kinds.items() if name in names}
    return Table(columns, schema, kinds, table.source, table.people, table.repeated, keyless=table.keyless)


def _with_settings(given: Any, known: Mapping[str, Attribute]) -> Any:
    """Add the settings that a column was read with to a list of names."""
    if isinstance(given, Mapping) or not all(isinstance(name, str) for name in given) or len(set(given)) < len(given):
        return given  # the schema says what is wrong with it
    return {name: known.get(name) for name in given}


@dataclass(frozen=True, eq=False, repr=False)
class CheckReport:
    """Which models a table satisfies, and how far. It is for the data steward: it names row numbers.

    * `keys`: classes of records with equal quasi-identifying values.
    * `statistics`: who is counted in them.
    * `findings`: k first, then every model of each sensitive attribute.
    * `prosecutor`: risk of each record to be found by somebody who knows that it is in the table.
    * `people`: where people may have several records. If they are declared, every finding counts people, else records.
    """

    keys: Keys
    statistics: ClassStatistics
    findings: tuple[Finding, ...]
    prosecutor: Adversary
    people: PeopleAtRisk | None = None

    def __repr__(self) -> str:
        """Count records and classes."""
        return f"CheckReport({self.keys.height} records, {self.keys.count} classes)"

    def __str__(self) -> str:
        """Write a short table for people."""
        return _check_text(self)

    def _repr_html_(self) -> str:
        """Show notebooks which models hold, and how far; no row is named."""
        rows = [(one.attribute or "", *(each.strip() for each in _row(self, one)[:3])) for one in self.findings]
        keys = self.keys
        return card(
            "Check",
            f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')}",
            paragraph(f"Unique in the table: {counted(self.sample_uniques, 'record')}."),
            notebook_table(("column", "model", "holds for", "worst classes"), rows),
        )

    @property
    def sample_uniques(self) -> int:
        """Records whose values no other record of the table has."""
        return int((self.keys.records == 1).sum())

    def find(self, model: str, attribute: str | None = None, **given: Any) -> Finding:
        """Return what was found for a model.

        `model`: its name, such as ``"t-closeness"``. `attribute`: the sensitive column; needed if there are several.
        `given`: other parameters: ``l=3`` of recursive diversity, which otherwise is 2. Raises ``PolicyError`` when
        nothing of the kind was measured.
        """
        named = [one for one in self.findings if one.model == model and attribute in (None, one.attribute)]
        found = [one for one in named if given.items() <= one.given.items()]
        if not found:
            raise PolicyError(f"no such figure was measured; there are {', '.join(self._models)}")
        if len({one.attribute for one in found}) > 1:
            raise PolicyError(f"{model}: there are several sensitive columns; say which")
        return found[0]

    def rows(self, finding: Finding) -> NDArray[np.int64]:
        """Return the row numbers (from 1) of the records in the worst classes of a finding, rising."""
        return np.flatnonzero(finding.is_worst[self.keys.class_of]) + 1

    def to_frame(self) -> pl.DataFrame:
        """Return one line per class: its first row, its records, and the value of every finding but k."""
        columns: dict[str, NDArray[Any]] = {"first_row": self.keys.first_rows, "records": self.keys.records}
        return pl.DataFrame(columns | {_column(one): one.measured for one in self.findings if one.attribute})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; a bound that does not exist is None."""
        return _plain_values(self)

    @property
    def _models(self) -> list[str]:
        return list(dict.fromkeys(one.model for one in self.findings))


def _column(finding: Finding) -> str:
    least = f" (l={finding.given['l']})" if "l" in finding.given else ""
    return f"{finding.model}{least}: {finding.attribute}"


_DIGITS = 4


_BEFORE = {"up to": "=", "from": "=", "above": ">"}


def _check_text(report: CheckReport) -> str:
    """Write a report for people."""
    keys = report.keys
    share = percent(report.sample_uniques / keys.height, _DIGITS)
    risk = (
        f"{percent(report.prosecutor.highest, _DIGITS)} highest, {percent(report.prosecutor.average, _DIGITS)} average"
    )
    head = [
        f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')} of equal {named(keys.names)}",
        f"unique in the table: {counted(report.sample_uniques, 'record')} ({share})",
        f"risk of records, not of people (prosecutor): {risk}",
        *(report.people.lines(keys.count) if report.people else []),
    ]
    parts = [head, _aligned_table(report), ["rows count the records of the table from 1, the header not counted"]]
    return "\n\n".join("\n".join(part) for part in parts)


def _plain_values(report: CheckReport) -> dict[str, Any]:
    """Return a report as plain values."""
    keys, sensitive = report.keys, report.statistics.sensitive
    return {
        "records": keys.height,
        "classes": keys.count,
        "quasi_identifying": list(keys.names),
        "sensitive": {
            name: {"kind": str(counts.kind), "values": len(counts.totals), "distance": _distance_of(counts)}
            for name, counts in sensitive.items()
        },
        "sample_uniques": {"records": report.sample_uniques, "share": report.sample_uniques / keys.height},
        "prosecutor": {"of": "records", "highest": report.prosecutor.highest, "average": report.prosecutor.average},
        **({"people": report.people.to_dict()} if report.people else {}),
        "found": [_plain(report, one) for one in report.findings],
    }


def _plain(report: CheckReport, finding: Finding) -> dict[str, Any]:
    rows = report.rows(finding)
    return {
        "model": finding.model,
        "attribute": finding.attribute,
        **finding.given,
        "parameter": finding.parameter,
        "value": finding.value if math.isfinite(finding.value) else None,
        "holds": finding.holds if math.isfinite(finding.value) else "never",
        "worst": {
            "classes": int(finding.is_worst.sum()),
            "records": len(rows),
            "first_rows": rows[:FIRST_ROWS].tolist(),
        },
    }


def _aligned_table(report: CheckReport) -> list[str]:
    rows = [["", "holds for", "worst", "their rows"]]
    attribute = None
    for finding in report.findings:
        if finding.attribute != attribute:
            attribute = finding.attribute
            rows.append([_about(report, str(attribute))])
        rows.append(_row(report, finding))
    # The line of an attribute is longer than the names of models, and must not push the figures to the right.
    lines = aligned([row for row in rows if len(row) > 1])
    for place, row in enumerate(rows):
        if len(row) == 1:
            lines.insert(place, row[0])
    return lines


def _about(report: CheckReport, name: str) -> str:
    counts = report.statistics.sensitive[name]
    return f"{named([name])} ({counts.kind}, {counted(len(counts.totals), 'value')}, {_distance_of(counts)} distance)"


def _row(report: CheckReport, finding: Finding) -> list[str]:
    indent = "" if finding.model == KAnonymity.name else "  "
    settings = [f" with {given} = {finding.given[given]}" for given in ("l", "shares") if given in finding.given]
    name = f"{indent}{finding.model}{''.join(settings)}"
    rows = report.rows(finding)
    return [name, _bound(finding), f"{int(finding.is_worst.sum()):,}", list_combinations(rows.tolist(), _ROWS_IN_LINE)]


def _bound(finding: Finding) -> str:
    if math.isinf(finding.value):
        return f"no {finding.parameter}"
    return f"{finding.parameter} {_BEFORE[finding.holds]} {figure(finding.value)}"

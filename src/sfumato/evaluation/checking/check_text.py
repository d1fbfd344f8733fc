"""A check as a short table for people, and as plain values for machines. Neither shows a value of the table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sfumato.evaluation.checking.findings import Finding, distance_of
from sfumato.evaluation.risk.risk_text import FIRST_ROWS, aligned, listed
from sfumato.models.k_anonymity import KAnonymity
from sfumato.numbers import counted, figure, percent
from sfumato.published.roles import named

if TYPE_CHECKING:
    from sfumato.evaluation.checking.check_report import CheckReport

DIGITS = 4
_BEFORE = {"up to": "=", "from": "=", "above": ">"}


def check_text(report: CheckReport) -> str:
    """Write a report for people."""
    keys = report.keys
    share = percent(report.sample_uniques / keys.height, DIGITS)
    risk = f"{percent(report.prosecutor.highest, DIGITS)} highest, {percent(report.prosecutor.average, DIGITS)} average"
    head = [
        f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')} of equal {named(keys.names)}",
        f"unique in the table: {counted(report.sample_uniques, 'record')} ({share})",
        f"risk of records, not of people (prosecutor): {risk}",
        *(report.people.lines(keys.count) if report.people else []),
    ]
    parts = [head, _aligned_table(report), ["rows count the records of the table from 1, the header not counted"]]
    return "\n\n".join("\n".join(part) for part in parts)


def plain_values(report: CheckReport) -> dict[str, Any]:
    """Return a report as plain values."""
    keys, sensitive = report.keys, report.statistics.sensitive
    return {
        "records": keys.height,
        "classes": keys.count,
        "quasi_identifying": list(keys.names),
        "sensitive": {
            name: {"kind": str(counts.kind), "values": len(counts.totals), "distance": distance_of(counts)}
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
    rows = [["", "holds for", "worst classes", "their rows"]]
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
    return f"{named([name])} ({counts.kind}, {counted(len(counts.totals), 'value')}, {distance_of(counts)} distance)"


def _row(report: CheckReport, finding: Finding) -> list[str]:
    indent = "" if finding.model == KAnonymity.name else "  "
    settings = [f" with {given} = {finding.given[given]}" for given in ("l", "shares") if given in finding.given]
    name = f"{indent}{finding.model}{''.join(settings)}"
    rows = report.rows(finding)
    return [name, _bound(finding), f"{int(finding.is_worst.sum()):,}", listed(rows.tolist())]


def _bound(finding: Finding) -> str:
    if math.isinf(finding.value):
        return f"no {finding.parameter}"
    return f"{finding.parameter} {_BEFORE[finding.holds]} {figure(finding.value)}"

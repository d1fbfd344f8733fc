"""A risk report as a short table for people, and as plain values for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sfumato.evaluation.risk.leaving_out import leaving_out_lines
from sfumato.numbers import counted, figure, percent

if TYPE_CHECKING:
    from sfumato.classes.uniqueness.population_uniqueness import PopulationUniqueness
    from sfumato.evaluation.risk.adversaries import AboveThreshold
    from sfumato.evaluation.risk.combinations import Combination, Combinations
    from sfumato.evaluation.risk.risk_report import RiskReport
    from sfumato.evaluation.risk.special_uniques import SpecialUniques

FIRST_ROWS = 10
"""Rows that are named; the others are in :meth:`RiskReport.to_frame`."""

FIRST_COMBINATIONS = 8
HINTS = "columns that HIPAA's safe harbor speaks of, by its letters (names and values were looked at; no legal advice)"
DIGITS = 3


def risk_text(report: RiskReport) -> str:
    """Write a report for people."""
    keys = report.keys
    head = f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')} of {counted(len(keys.names), 'column')}"
    parts = [
        [head],
        aligned(_risk_rows(report)),
        report.people_lines,
        aligned(_uniqueness_rows(report)),
        _rows_to_look_at(report),
        _special_lines(report.special_uniques, keys.height),
        _combination_lines(report.combinations),
        leaving_out_lines(report.left_out, report.keys.height),
        [HINTS, *(f"  {hint}" for hint in report.hints)] if report.hints else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def plain_values(report: RiskReport) -> dict[str, Any]:
    """Return a report as plain values."""
    household = report.household
    return {
        "records": report.keys.height,
        "classes": report.keys.count,
        "quasi_identifying": list(report.keys.names),
        "thresholds": [
            {"name": one.name, "value": one.value, "source": one.source or None} for one in report.thresholds
        ],
        **{
            one.name: {"highest": one.highest, "average": one.average, "above": _plain_above(report, one.name)}
            for one in report.adversaries
        },
        "marketer": {"average": report.marketer, "records": report.marketer * report.keys.height},
        "household": None
        if household is None
        else {
            "highest": float(household.max()),
            "average": float(household.mean()),
            "above": _plain_above(report, "household"),
        },
        "sample_uniques": {"records": report.sample_uniques, "share": report.sample_uniques / report.keys.height},
        "population_uniques": report.population_uniques,
        "population_uniqueness": _plain_population(report.population),
        **({"log_linear": report.log_linear.to_dict()} if report.log_linear else {}),
        **({"people": report.people.to_dict()} if report.people else {}),
        **({"people_unnumbered": True} if report.unnumbered else {}),
        "special_uniques": _plain_special(report.special_uniques),
        "combinations": None
        if report.combinations is None
        else {
            "size": report.combinations.size,
            "measured": [_plain_combination(one) for one in report.combinations.ranked()],
        },
        **({"left_out": [asdict(step) for step in report.left_out]} if report.left_out else {}),
        **({"hints": list(report.hints)} if report.hints else {}),
    }


def _plain_above(report: RiskReport, name: str) -> list[dict[str, Any]]:
    found = []
    for threshold in report.thresholds:
        above = _above(report, name, threshold)
        rows = report.rows_above(threshold.value, name)
        found.append(
            {
                "threshold": threshold.value,
                "records": above.records,
                "share": above.share,
                **({} if name == "household" else {"classes": above.classes}),
                "first_rows": rows[:FIRST_ROWS].tolist(),
            }
        )
    return found


def _above(report: RiskReport, name: str, threshold: Any) -> AboveThreshold:
    if name == "household":
        return report.household_above(threshold)
    return next(one for one in report.adversaries if one.name == name).above(threshold)


def _plain_population(population: PopulationUniqueness | None) -> dict[str, Any] | None:
    if population is None:
        return None
    return {
        "sampling_fraction": population.fraction,
        "share": population.share,
        "chosen": population.chosen,
        "pitman": population.pitman,
        "zayatz": population.zayatz,
        "snb": population.snb,
    }


def _plain_special(special: SpecialUniques | None) -> dict[str, Any] | None:
    if special is None:
        return None
    by_size = []
    for size in range(1, special.size + 1):
        uniques, records = special.of_size(size)
        by_size.append({"columns": size, "uniques": uniques, "records": records})
    return {
        "size": special.size,
        "records": special.found,
        "by_size": by_size,
        "contributions": dict(zip(special.names, special.contributions.tolist(), strict=True)),
        "dis": special.estimate,
        "first_rows": _highest_scores(special),
    }


def _plain_combination(one: Combination) -> dict[str, Any]:
    return {
        "columns": list(one.columns),
        "distinction": one.distinction,
        "separation": one.separation,
        "uniques": one.uniques,
    }


def _risk_rows(report: RiskReport) -> list[list[str]]:
    rows = [["risk", "highest", "average", *(f"above {threshold}" for threshold in report.thresholds)]]
    for one in report.adversaries:
        above = [_records(one.above(threshold)) for threshold in report.thresholds]
        rows.append([f"  {one.name}", percent(one.highest, DIGITS), percent(one.average, DIGITS), *above])
    if report.household is not None:
        above = [_records(report.household_above(threshold)) for threshold in report.thresholds]
        highest, average = float(report.household.max()), float(report.household.mean())
        rows.append(["  household", percent(highest, DIGITS), percent(average, DIGITS), *above])
    return [*rows, ["  marketer", "", percent(report.marketer, DIGITS)]]


def _records(above: AboveThreshold) -> str:
    return f"{above.records:,} ({percent(above.share, DIGITS)})"


def _uniqueness_rows(report: RiskReport) -> list[list[str]]:
    share = percent(report.sample_uniques / report.keys.height, DIGITS)
    rows = [["unique in the table", f"{report.sample_uniques:,} ({share})"]]
    if report.population_uniques is not None:
        share = percent(report.population_uniques / report.keys.height, DIGITS)
        rows.append(["  and in the population", f"{report.population_uniques:,} ({share})"])
    if (found := report.population) is not None:
        snb = "no fit" if found.snb is None else percent(found.snb, DIGITS)
        models = f"pitman {percent(found.pitman, DIGITS)}, zayatz {percent(found.zayatz, DIGITS)}, snb {snb}"
        rows.append(["unique in the population", f"{percent(found.share, DIGITS)} by {found.chosen} ({models})"])
    if (fitted := report.log_linear) is not None:
        terms = "main effects" if fitted.order == 1 else f"terms of {fitted.order} columns"
        terms += "" if fitted.estimate == "standard" else f", {fitted.estimate}"
        told = f"{fitted.expected_uniques:,.1f} unique, {fitted.expected_matches:,.1f} right matches expected"
        rows.append(["  of them, log-linear", f"{told} ({terms})"])
    return rows


def _rows_to_look_at(report: RiskReport) -> list[str]:
    if not report.thresholds:
        return []
    highest = report.thresholds[-1]
    rows = report.rows_above(highest.value)
    if not len(rows):
        return []
    return [f"rows above {highest} (prosecutor): {listed(rows.tolist())}"]


def listed(rows: Sequence[int]) -> str:
    """Name the first rows, and count the others."""
    named = ", ".join(str(row) for row in rows[:FIRST_ROWS])
    return f"{named}, and {len(rows) - FIRST_ROWS:,} more" if len(rows) > FIRST_ROWS else named


def _highest_scores(special: SpecialUniques) -> list[int]:
    scores = special.scores
    order = (-scores).argsort(kind="stable")[:FIRST_ROWS].tolist()
    return [place + 1 for place in order if scores[place] > 0]


def _special_lines(special: SpecialUniques | None, height: int) -> list[str]:
    if special is None:
        return []
    share = percent(special.found / max(1, height), DIGITS)
    lines = [f"special uniques of up to {counted(special.size, 'column')}: {special.found:,} records ({share})"]
    for size in range(1, special.size + 1) if special.found else ():
        uniques, records = special.of_size(size)
        lines.append(f"  {counted(size, 'column')}: {records:,} records, {uniques:,} minimal uniques")
    if not special.found:
        return lines
    if special.estimate is not None:
        lines.append(
            f"  a match with a unique record is right with probability {figure(special.estimate, DIGITS)} (DIS)"
        )
    order = sorted(range(len(special.names)), key=lambda place: -special.contributions[place])
    shares = [f"{special.names[place]} {percent(special.contributions[place], DIGITS)}" for place in order]
    lines.append(f"  columns in the scores: {', '.join(shares)}")
    lines.append(f"  rows of the highest scores: {', '.join(map(str, _highest_scores(special)))}")
    return lines


def _combination_lines(combinations: Combinations | None) -> list[str]:
    if combinations is None:
        return []
    rows = [["columns together", "distinction", "separation", "unique records"]]
    for one in combinations.ranked(FIRST_COMBINATIONS):
        figures = [percent(one.distinction, DIGITS), percent(one.separation, DIGITS + 2), f"{one.uniques:,}"]
        rows.append([f"  {' + '.join(one.columns)}", *figures])
    left = len(combinations) - FIRST_COMBINATIONS
    return [*aligned(rows), *([f"  and {left:,} more"] if left > 0 else [])]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows of cells as lines, the columns one below the other."""
    widths = [max(len(row[place]) for row in rows if len(row) > place) for place in range(max(map(len, rows)))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)) for row in rows]
    return [line.rstrip() for line in lines]


_SIZES = ((1, 1), (2, 2), (3, 4), (5, 10), (11, 20), (21, 50), (51, 100), (101, None))
"""Class sizes that are drawn together."""


def size_picture(report: RiskReport, width: int) -> str:
    """Draw a bar for each range of class sizes: the share of the records that are in such classes."""
    sizes = report.keys.records
    total = max(1, int(sizes.sum()))
    lines = []
    for low, high in _SIZES:
        share = int(sizes[(sizes >= low) & (sizes <= (high or sizes.max(initial=0)))].sum()) / total
        name = f"{low}" if high == low else f"{low} or more" if high is None else f"{low} to {high}"
        lines.append(f"{name:>11}  {'█' * round(share * width)} {percent(share, 3)}")
    return "\n".join(["records alike, share of all records", *lines])

"""Reports and releases as a notebook shows them: figures and promises, and no published value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.metrics.losses_html import loss_parts
from sfumato.notebook import Cell, Markup, bar, lines, notebook_section, notebook_table
from sfumato.numbers import figure, percent
from sfumato.published.checks.verification_html import check_table
from sfumato.published.protocol import roles_of
from sfumato.release.reports import Report

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.release.reports import KindReport


def report_parts(report: Report | KindReport) -> tuple[Markup, ...]:
    """Return what a report says, as parts of a card."""
    figures = _losses(report) if isinstance(report, Report) else _figures(report)
    return (
        notebook_table(("", ""), list(_facts(report))),
        notebook_section("Promises, recounted from what is published", check_table(report.verification.checks)),
        notebook_section("Not covered by any promise", lines(map(str, report.verification.uncovered))),
        figures,
        notebook_section("Notes", lines(report.notes)),
        notebook_section("Limits", lines(report.limits)),
    )


def release_parts(release: Release) -> tuple[Markup, ...]:
    """Return the published columns with their roles, and the report."""
    roles = roles_of(release.published).to_dict()
    columns = [(role.replace("_", "-"), ", ".join(names)) for role, names in roles.items() if names]
    return (notebook_table(("", ""), columns), *report_parts(release.report))


def counts(report: Report | KindReport) -> str:
    """Count the records."""
    sentence = f"{report.published:,} records"
    return sentence if report.original is None else f"{sentence} of {report.original:,}"


def _facts(report: Report | KindReport) -> Iterator[tuple[Cell, Cell]]:
    for name, words in (("purpose", report.purpose), ("recipient", report.recipient)):
        if words is not None:
            yield name, words
    yield "anonymizer", report.anonymizer
    if report.original:
        allowed = f" of at most {percent(report.suppression_limit)}"
        yield "suppressed", f"{report.suppressed:,} records, {percent(report.suppressed / report.original, 3)}{allowed}"
    if not isinstance(report, Report):
        return
    average = figure(report.published / report.classes, 3)
    sizes = f"smallest {report.smallest_class:,}, average {average}, largest {report.largest_class:,}"
    yield "classes", f"{report.classes:,}; {sizes}"
    if report.people:
        yield "people", str(report.people)
    for wishes in report.verification.wishes:
        yield wishes.promise, wishes.detail
    for name, risk in (("highest", report.highest_risk), ("average", report.average_risk)):
        if risk is not None:
            yield f"{name} risk of {report.counts}", bar(risk)


def _losses(report: Report) -> Markup:
    return notebook_section("Losses", *loss_parts(report.losses, report.digits, of_classes=report.published_only))


def _figures(report: KindReport) -> Markup:
    rows = [(name.replace("_", " "), figure(value)) for name, value in report.figures.items()]
    return notebook_section("Figures", notebook_table(("", ""), rows, (1,)))

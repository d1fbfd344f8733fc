"""Look at a release beside the original: rows that are never aligned, one person before and after, and who pays."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.published import PublishedTable
from sfumato.studio.pages import desk_of, fragment, page, reading, whole
from sfumato.studio.people import found
from sfumato.studio.wording import figures

GROUPS_SHOWN, SMALLEST_GROUP = 8, 10
"""Groups that are listed, and records that one must have."""


def look(request: Request) -> Response:
    """Show a release beside the original."""
    desk = desk_of(request)
    releases = desk.releases()
    if not releases:
        return page(request, "nothing.html", "/look", title="Look", what="There is no release to look at yet.")
    number = request.path_params.get("number")
    job, opened = desk.release(releases[0].number if number is None else int(number))
    result: Mapping[str, Any] = job.result if isinstance(job.result, Mapping) else {}
    return page(
        request,
        "look.html",
        "/look",
        job=job,
        releases=releases,
        tables=list(opened.published.tables),
        heights={name: frame.height for name, frame in opened.published.tables.items()},
        stale=desk.staleness(job),
        figures=figures(job),
        checks=(result.get("verification") or {}).get("checks", []),
        paid=_paid(result),
        can_find=isinstance(opened.published, PublishedTable),
        kind=opened.published.kind.replace("-", " "),
        limits=opened.published.limits,
        any_row=1 + secrets.randbelow(desk.table.height),
    )


def _paid(result: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return which columns carry the loss: name, share of information lost, width of the bar."""
    losses = (result.get("losses") or {}).get("attribute_ncp") or {}
    return [(name, share, max(1.0, 160 * share)) for name, share in sorted(losses.items(), key=lambda each: -each[1])]


def person(request: Request) -> Response:
    """Find one person of the original in a release."""
    desk = desk_of(request)
    job, opened = desk.release(int(request.path_params["number"]))
    row = whole(request.query_params.get("row", "1"), "row")
    if not 1 <= row <= desk.table.height:
        raise InputError(f"row: must be from 1 to {desk.table.height:,}")
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no records whose values cover those of a person")
    seen = found(desk, row, opened, desk.schema(desk.policy_of(job)))
    return fragment("person.html", row=row, found=seen, is_blank=desk.is_blank)


def groups(request: Request) -> Response:
    """Average what is lost over subgroups."""
    # Here: it loads attacks, and no page needs them before.
    from sfumato.dossier.subgroups import subgroup_losses

    desk = desk_of(request)
    job, opened = desk.release(int(request.path_params["number"]))
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no classes whose losses could be averaged")
    original = desk.table.with_schema(desk.policy_of(job).to_schema())
    losses = subgroup_losses(opened.published, original, opened.policy.recoding(), SMALLEST_GROUP)
    return fragment("groups.html", losses=losses[:GROUPS_SHOWN], is_blank=desk.is_blank)


ROUTES = [
    Route("/look", reading(look)),
    Route("/look/{number:int}", reading(look)),
    Route("/look/{number:int}/person", reading(person)),
    Route("/look/{number:int}/groups", reading(groups)),
]

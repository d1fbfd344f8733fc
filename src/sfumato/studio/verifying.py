"""For a recipient: pages that show a release and recount it; there is no original, and nothing to change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import SfumatoError
from sfumato.registry import OWN_KINDS, loaded
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.description import own_kind
from sfumato.release.table_files import REPORT
from sfumato.release.verify import mark_of, read_release, verify
from sfumato.studio.app import static
from sfumato.studio.desk import MOST_ROWS, TablePage, last_of_series
from sfumato.studio.guard import Guard
from sfumato.studio.pages import fragment, whole
from sfumato.studio.serve import browser_at, listening_socket, say_at_terminal, serve
from sfumato.table.databases.address import is_database
from sfumato.whole_files import read_regular_text


@dataclass(frozen=True, eq=False, repr=False)
class _Shown:
    """What the page shows of a release, of any kind."""

    kind: str
    tables: Mapping[str, pl.DataFrame]
    limits: Sequence[str]
    policy: str
    has_records: bool

    @classmethod
    def of(cls, release: Path) -> _Shown:
        """Read a folder; ``SfumatoError`` where it is no release."""
        mark = "" if is_database(release) else mark_of(release)
        kind = own_kind(mark)
        if kind is None:
            opened = read_release(release)
            published = opened.published
            return cls(published.kind, published.tables, published.limits, opened.policy.text or "", True)
        _, tables = OWN_KINDS[kind].read_folder(release, mark)
        return cls(kind, tables, _limits_of(release), PublishedPolicy.of_folder(release).text or "", False)

    @property
    def pictures(self) -> dict[str, str]:
        """Draw what can be drawn of the published tables."""
        place = "" if self.has_records else OWN_KINDS[self.kind].pictures
        return loaded(place)(self.tables) if place else {}


def _limits_of(release: Path) -> list[str]:
    """Return what the report of a folder says that the release does not hide; a recount says whether it was changed."""
    try:
        return [str(line) for line in json.loads(read_regular_text(release / REPORT))["limits"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def verifying_app(release: Path, port: int, **guard: Any) -> Guard:
    """Return the guarded application that shows one release, or a series' last; ``SfumatoError`` without one."""
    shown = last_of_series(release) or release
    opened = _Shown.of(shown)
    pages = {"/": _verification, "/recount": _recount, "/grid": _grid, "/static/{name}": static}
    app = Starlette(routes=[Route(path, answer) for path, answer in pages.items()])
    app.state.release, app.state.opened, app.state.is_series = release, opened, shown != release
    app.state.shown = shown.relative_to(release.parent).as_posix()
    return Guard(app, port, **guard)


def _verification(request: Request) -> Response:
    state = request.app.state
    tables = {name: frame.height for name, frame in state.opened.tables.items()}
    return fragment(
        "verify.html",
        release=state.release.name,
        shown=state.shown,
        is_series=state.is_series,
        tables=tables,
        kind=state.opened.kind.replace("-", " "),
        limits=state.opened.limits,
        policy=state.opened.policy,
        pictures=state.opened.pictures,
        has_records=state.opened.has_records,
    )


def _recount(request: Request) -> Response:
    from sfumato.series.verify import verify_series

    release, is_series = request.app.state.release, request.app.state.is_series
    # Not every kind counts records in classes.
    told: dict[str, Any] = {"ok": False, "checks": [], "records": None, "classes": None, "uncovered": []}
    told |= {"recounted": {"chain": [], "releases": []}, "attested": []}
    problems: list[str] = []
    try:
        told |= verify_series(release).to_dict() if is_series else verify(release).to_dict()
    except SfumatoError as error:
        problems = list(error.problems)
    return fragment("recount_of_series.html" if is_series else "recount.html", told=told, problems=problems)


def _grid(request: Request) -> Response:
    tables, asked = request.app.state.opened.tables, request.query_params
    name = asked.get("table", next(iter(tables)))
    if name not in tables:
        return PlainTextResponse("There is no such table.\n", 404)
    try:
        start, count = whole(asked.get("start", "0"), "start"), whole(asked.get("count", "200"), "count")
    except SfumatoError as error:
        return JSONResponse({"problems": list(error.problems)}, 422)
    sheet = TablePage.of_frame(tables[name])
    return JSONResponse(sheet.page(start, min(count, MOST_ROWS)))


def run_verifying(release: Path, *, opens: bool = True, port: int = 0) -> None:
    """Serve the page of a release until somebody stops it. Raises ``SfumatoError`` when the folder is no release."""
    with listening_socket(port) as listening:
        app = verifying_app(release, int(listening.getsockname()[1]), say=say_at_terminal)
        say_at_terminal(f"The release is open at {app.address}")
        say_at_terminal("The address works once, in one browser on this computer. Stop with Ctrl-C.")
        with browser_at(app) if opens else nullcontext():
            serve(app, listening, [])

"""For a recipient: pages that show a release and recount it; there is no original, and nothing to change."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import SfumatoError
from sfumato.release.verify import read_release, verify
from sfumato.studio.app import static
from sfumato.studio.desk import MOST_ROWS, TablePage, last_of_series
from sfumato.studio.guard import Guard
from sfumato.studio.pages import environment, whole
from sfumato.studio.serve import browser_at, listening_socket, say_at_terminal, serve


def verifying_app(release: Path, port: int, **guard: Any) -> Guard:
    """Return the guarded application that shows one release, or a series' last; ``SfumatoError`` without one."""
    shown = last_of_series(release) or release
    opened = read_release(shown)
    app = Starlette(
        routes=[
            Route("/", _verification),
            Route("/recount", _recount),
            Route("/grid", _grid),
            Route("/static/{name}", static),
        ]
    )
    app.state.release, app.state.opened, app.state.is_series = release, opened, shown != release
    app.state.shown = shown.relative_to(release.parent).as_posix()
    return Guard(app, port, **guard)


def _verification(request: Request) -> Response:
    state = request.app.state
    tables = {name: frame.height for name, frame in state.opened.published.tables.items()}
    shown = (
        environment()
        .get_template("verify.html")
        .render(
            release=state.release.name,
            shown=state.shown,
            is_series=state.is_series,
            tables=tables,
            kind=state.opened.published.kind.replace("-", " "),
            limits=state.opened.published.limits,
            policy=state.opened.policy.text or "",
            pictures=_pictures(state.opened.published),
        )
    )
    return Response(shown, media_type="text/html")


PICTURES = {"traces": "sfumato.kinds.traces.forms:pictures"}
"""Kind → what draws its published tables: SVG by title."""


def _pictures(published: Any) -> dict[str, str]:
    module, _, name = PICTURES.get(published.kind, "").partition(":")
    return getattr(import_module(module), name)(published.tables) if module else {}


def _recount(request: Request) -> Response:
    return _recount_of_series(request.app.state.release) if request.app.state.is_series else _recount_of(request)


def _recount_of_series(folder: Path) -> Response:
    from sfumato.series.verify import verify_series

    try:
        recount, problems = verify_series(folder).to_dict(), list[str]()
    except SfumatoError as error:
        recount, problems = (
            {"ok": False, "recounted": {"chain": [], "releases": []}, "attested": []},
            list(error.problems),
        )
    shown = environment().get_template("recount_of_series.html").render(told=recount, problems=problems)
    return Response(shown, media_type="text/html")


def _recount_of(request: Request) -> Response:
    try:
        recount = verify(request.app.state.release).to_dict()
        problems: list[str] = []
    except SfumatoError as error:
        recount, problems = {"ok": False, "checks": [], "records": None, "classes": None}, list(error.problems)
    shown = environment().get_template("recount.html").render(told=recount, problems=problems)
    return Response(shown, media_type="text/html")


def _grid(request: Request) -> Response:
    tables, asked = request.app.state.opened.published.tables, request.query_params
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

"""The application: routes, static files and the guard before them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Route

from sfumato.studio.desk import Desk
from sfumato.studio.guard import Guard
from sfumato.studio.pages import page
from sfumato.studio.project import Project
from sfumato.studio.routes import columns
from sfumato.studio.words import say

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy

LATER = ("hierarchies", "promises", "runs", "look", "compare", "recipient", "sign", "history")
"""Steps whose routes are loaded after the first page: they need models, anonymizers, attacks and reports."""
SOON = 0.5
"""Seconds after the first answer in which they are loaded, unless one is asked for before."""
STATIC = {
    "studio.css": "text/css",
    "live.js": "text/javascript",
    "job.js": "text/javascript",
    "grid.js": "text/javascript",
    "tree.js": "text/javascript",
    "start.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Files that pages load; no other can be named."""


def studio_app(desk: Desk, port: int, *, stop: Callable[[], None] = lambda: None, **guard: Any) -> Guard:
    """Return the application for one open project, guarded, for a port; `stop`: called when somebody quits."""
    return Guard(Pages(desk, stop), port, **guard)


def opening_app(opening: Opening, port: int, **guard: Any) -> Guard:
    """Return the application that asks how a table is to be read, guarded."""
    return Guard(opening, port, **guard)


class Opening:
    """Pages that ask how a table is read, until it can be; then those of the project, at its `desk`."""

    def __init__(self, project: Project, policy: Policy | None, stop: Callable[[], None]) -> None:
        self.project, self._policy, self._stop = project, policy, stop
        self.desk: Desk | None = None
        routes = [*columns.OPENING, Route("/static/{name}", static), leaving(stop)]
        self._app: Any = Starlette(
            routes=routes, exception_handlers={404: page_elsewhere, 405: _missing, Exception: _fault}
        )
        self._app.state.opening = self

    def open(self, source: dict[str, Any] | None) -> None:
        """Open the project with a table that is read in another way, or raise SfumatoError."""
        before = self.project.source
        self.project.source = dict(source or {})
        try:
            self.desk = Desk.of(self.project, self._policy)
        except BaseException:
            self.project.source = before
            raise
        self.project.keep_source(source)
        self._app = Pages(self.desk, self._stop)

    def close(self) -> None:
        """End jobs and let go of the project."""
        self.desk.close() if self.desk is not None else self.project.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with whichever pages there are."""
        await self._app(scope, receive, send)


class Pages:
    """Pages of an open project: the first at once, all others once they are loaded. `stop`: for who quits."""

    def __init__(self, desk: Desk, stop: Callable[[], None]) -> None:
        self._desk, self._lock = desk, threading.Lock()
        self._first = [*columns.ROUTES, Route("/static/{name}", static), leaving(stop)]
        self._app, self._is_whole = self._of(self._first), False
        self._soon: threading.Timer | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request; what belongs to no page that is there waits until all are."""
        if not self._is_whole and all(route.matches(scope)[0] is Match.NONE for route in self._first):
            from starlette.concurrency import run_in_threadpool

            await run_in_threadpool(self._load)
        await self._app(scope, receive, send)
        if self._soon is None:
            self._soon = threading.Timer(SOON, self._load)
            self._soon.daemon = True
            self._soon.start()

    def _load(self) -> None:
        with self._lock:
            if not self._is_whole:
                steps = [import_module(f"sfumato.studio.routes.{name}") for name in LATER]
                self._app = self._of([*self._first, *(route for step in steps for route in step.ROUTES)])
                self._is_whole = True

    def _of(self, routes: list[Route]) -> Starlette:
        app = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing, Exception: _fault})
        app.state.desk = self._desk
        return app


def leaving(stop: Callable[[], None]) -> Route:
    """Return the route by which somebody quits."""

    async def leave(request: Request) -> Response:
        stop()
        return JSONResponse({"said": say("The studio has stopped. You can close this page."), "entry": 0})

    return Route("/quit", leave, methods=["POST"])


def static(request: Request) -> Response:
    """Return a file that pages load."""
    name = str(request.path_params["name"])
    if name not in STATIC:
        return PlainTextResponse("There is no such file.\n", 404)
    content = resources.files("sfumato.studio").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name])


async def page_elsewhere(request: Request, error: Exception) -> Response:
    """Lead a page of a project that somebody had open before to what is there now."""
    return RedirectResponse("/", 303) if request.method == "GET" else await _missing(request, error)


async def _missing(request: Request, error: Exception) -> Response:
    if request.method == "GET" and hasattr(request.app.state, "desk"):
        return page(request, "problem.html", "", 404, problems=["There is no such page."])
    return PlainTextResponse("There is no such page.\n", 404)


async def _fault(request: Request, error: Exception) -> Response:
    # A message of another library may quote a value.
    return PlainTextResponse(f"A fault in the studio ({type(error).__name__}); nothing that was saved is lost.\n", 500)

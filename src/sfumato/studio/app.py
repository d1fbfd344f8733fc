"""The application: routes, static files and the guard before them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from sfumato.policy.policy import Policy
from sfumato.studio.desk import Desk
from sfumato.studio.guard import Guard
from sfumato.studio.project import Project
from sfumato.studio.routes import attack, columns, compare, hierarchies, history, layout, look, promises, runs, sign

STATIC = {
    "studio.css": "text/css",
    "live.js": "text/javascript",
    "job.js": "text/javascript",
    "grid.js": "text/javascript",
    "tree.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Files that pages load; no other can be named."""


def studio_app(desk: Desk, port: int, *, stop: Callable[[], None] = lambda: None, **guard: Any) -> Guard:
    """Return the application for one open project, guarded.

    Parameters
    ----------
    desk
    port
        The port that it will be served on.
    stop
        Called when somebody quits.
    **guard
        More settings of :class:`sfumato.studio.guard.Guard`.
    """
    return Guard(_pages(desk, stop), port, **guard)


def opening_app(opening: Opening, port: int, **guard: Any) -> Guard:
    """Return the application that asks how a table is to be read, guarded."""
    return Guard(opening, port, **guard)


class Opening:
    """Pages that ask how a table is read, until it can be; then those of the project.

    Parameters
    ----------
    project
    policy
        A setup to begin with, once the table can be read.
    stop
        Called when somebody quits.

    Attributes
    ----------
    desk : Desk or None
        The open project, once there is one.
    """

    def __init__(self, project: Project, policy: Policy | None, stop: Callable[[], None]) -> None:
        self.project, self._policy, self._stop = project, policy, stop
        self.desk: Desk | None = None
        routes = [*layout.OPENING, Route("/static/{name}", static), _quit(stop)]
        self._app: Any = Starlette(
            routes=routes, exception_handlers={404: _elsewhere, 405: _missing, Exception: _fault}
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
        self._app = _pages(self.desk, self._stop)

    def close(self) -> None:
        """End jobs and let go of the project."""
        self.desk.close() if self.desk is not None else self.project.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with whichever pages there are."""
        await self._app(scope, receive, send)


def _pages(desk: Desk, stop: Callable[[], None]) -> Starlette:
    groups = (columns, layout, hierarchies, promises, runs, look, compare, attack, sign, history)
    routes = [route for group in groups for route in group.ROUTES]
    routes += [Route("/static/{name}", static), _quit(stop)]
    app = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing, Exception: _fault})
    app.state.desk = desk
    return app


def _quit(stop: Callable[[], None]) -> Route:
    async def leave(request: Request) -> Response:
        stop()
        return JSONResponse({"said": "The studio has stopped. You can close this page.", "entry": 0})

    return Route("/quit", leave, methods=["POST"])


def static(request: Request) -> Response:
    """Return a file that pages load."""
    name = str(request.path_params["name"])
    if name not in STATIC:
        return PlainTextResponse("There is no such file.\n", 404)
    content = resources.files("sfumato.studio").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name])


async def _elsewhere(request: Request, error: Exception) -> Response:
    # A page of the project that somebody had open before.
    return RedirectResponse("/", 303) if request.method == "GET" else await _missing(request, error)


async def _missing(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is no such page.\n", 404)


async def _fault(request: Request, error: Exception) -> Response:
    # A message of another library may quote a value.
    return PlainTextResponse(f"A fault in the studio ({type(error).__name__}); nothing that was saved is lost.\n", 500)

"""The application: routes, static files and the guard before them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sfumato.studio.desk import Desk
from sfumato.studio.guard import Guard
from sfumato.studio.pages import answering
from sfumato.studio.routes import attack, columns, compare, hierarchies, history, look, promises, runs, sign

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
    groups = (columns, hierarchies, promises, runs, look, compare, attack, sign, history)
    routes = [route for group in groups for route in group.ROUTES]

    def leave(request: Request, sent: FormData) -> str:
        stop()
        return "The studio has stopped. You can close this page."

    routes += [Route("/static/{name}", static), Route("/quit", answering(leave), methods=["POST"])]
    app = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing, Exception: _fault})
    app.state.desk = desk
    return Guard(app, port, **guard)


def static(request: Request) -> Response:
    """Return a file that pages load."""
    name = str(request.path_params["name"])
    if name not in STATIC:
        return PlainTextResponse("There is no such file.\n", 404)
    content = resources.files("sfumato.studio").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name])


async def _missing(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is no such page.\n", 404)


async def _fault(request: Request, error: Exception) -> Response:
    # A message of another library may quote a value.
    return PlainTextResponse(f"A fault in the studio ({type(error).__name__}); nothing that was saved is lost.\n", 500)

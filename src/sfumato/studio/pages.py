"""Pages: templates filled in with what stands, escaped throughout, and answers to writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from sfumato.cli.outcome import explained, printable
from sfumato.errors import InputError
from sfumato.numbers import figure, percent
from sfumato.studio.desk import Desk
from sfumato.studio.draft import ROLES
from sfumato.studio.jobs import shown_command

STEPS = (
    ("/", "Table"),
    ("/columns", "Columns"),
    ("/hierarchies", "Hierarchies"),
    ("/promises", "Promises"),
    ("/runs", "Run"),
    ("/look", "Look"),
    ("/compare", "Compare"),
    ("/attack", "Attack"),
    ("/sign", "Sign"),
)
Page = Callable[[Request], Response]


def desk_of(request: Request) -> Desk:
    """Return the open project."""
    desk: Desk = request.app.state.desk
    return desk


@cache
def environment() -> Environment:
    """Return the templates; every value is escaped, and a name that is not given is a fault."""
    made = Environment(
        loader=PackageLoader("sfumato.studio"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(
        n=lambda number: "–" if number is None else f"{number:,}",
        pct=lambda share, digits=3: "–" if share is None else percent(share, digits),
        fig=lambda value: "–" if value is None else figure(value, 4),
        line=printable,
        command=shown_command,
    )
    return made


def page(request: Request, template: str, step: str, status: int = 200, **content: Any) -> HTMLResponse:
    """Fill in a page of the project."""
    desk = desk_of(request)
    context = {
        "desk": desk,
        "draft": desk.draft,
        "entry": desk.head,
        "history": desk.project.history,
        "step": step,
        "steps": [(path, name, _state(desk, path)) for path, name in STEPS],
        "roles": ROLES,
        **content,
    }
    return HTMLResponse(environment().get_template(template).render(context), status)


def fragment(template: str, **content: Any) -> HTMLResponse:
    """Fill in a part of a page."""
    return HTMLResponse(environment().get_template(template).render(content))


def _state(desk: Desk, path: str) -> str:
    """Return how far a step is: done, to do, or nothing to say."""
    draft, releases = desk.draft, desk.releases()
    done = {
        "/": True,
        "/columns": not draft.undecided,
        "/promises": not draft.problems(),
        "/runs": any(not desk.staleness(job) for job in releases[:1]),
        "/look": False,
    }
    if path == "/runs" and releases and desk.staleness(releases[0]):
        return "stale"
    return "done" if done.get(path) else ""


def answering(write: Callable[[Request, FormData], str | None]) -> Any:
    """Make a route of a write: it answers with what to say, and with every problem in a sentence."""

    @wraps(write)
    async def route(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        sent = await request.form(max_files=0, max_fields=2_000)
        try:
            answer = await run_in_threadpool(write, request, sent)
        except Exception as error:
            problems, _ = explained(error)
            return JSONResponse({"problems": [printable(line) for line in problems]}, 422)
        desk: Desk | None = getattr(request.app.state, "desk", None)
        return JSONResponse({"said": answer or "", "entry": 0 if desk is None else desk.head.number})

    return route


def reading(read: Page) -> Page:
    """Make a route of a page: what cannot be shown is said in a page of its own."""

    @wraps(read)
    def route(request: Request) -> Response:
        try:
            return read(request)
        except Exception as error:
            problems, _ = explained(error)
            return page(request, "problem.html", "", 404, problems=problems)

    return route


def text(sent: FormData, name: str, default: str = "") -> str:
    """Return one field of a form as text."""
    value = sent.get(name, default)
    return value if isinstance(value, str) else default


def whole(value: str, what: str) -> int:
    """Read a whole number from a request, or raise InputError."""
    if not value.isascii() or not value.lstrip("-").isdigit() or len(value) > 12:
        raise InputError(f"{what}: must be a whole number")
    return int(value)


def page_entry(sent: FormData) -> int:
    """Return the entry of the history that a form stands on."""
    return whole(text(sent, "entry"), "entry")

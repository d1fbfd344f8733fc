"""The history of the setup: undo, redo, and every state that there was."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.studio.pages import answering, desk_of, difference, page, reading, text, whole


def history(request: Request) -> Response:
    """Show the tree of all states; two of them can be compared in words."""
    desk = desk_of(request)
    states = desk.project.history
    asked = request.query_params
    other = asked.get("from", asked.get("with"))
    before = None if other is None else states.entry(whole(other, "from"))
    after = states.entry(whole(asked["to"], "to")) if "to" in asked else states.head
    return page(
        request,
        "history.html",
        "",
        entries=states.entries[::-1],
        depths=states.depths(),
        before=before,
        after=after,
        difference=None if before is None else difference(desk, before, after),
    )


def go_back_to(request: Request, sent: FormData) -> str:
    """Let another state stand."""
    desk, to = desk_of(request), text(sent, "to")
    states = desk.project.history
    with desk.lock:
        number = states.undone() if to == "undo" else states.redone() if to == "redo" else whole(to, "to")
        if number is None:
            raise InputError("there is nothing to undo" if to == "undo" else "there is nothing to redo")
        entry = desk.go_to(number)
    return f"State {entry.number}: {entry.note}"


ROUTES = [Route("/history", reading(history)), Route("/history/go", answering(go_back_to), methods=["POST"])]

"""The history of the setup: undo, redo, and every state that there was."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.studio.draft import in_words
from sfumato.studio.pages import answering, desk_of, page, reading, text, whole


def history(request: Request) -> Response:
    """Show the tree of all states; two of them can be compared in words."""
    desk = desk_of(request)
    kept = desk.project.history
    other = request.query_params.get("with")
    said = None if other is None else in_words(kept.entry(whole(other, "with")).draft, desk.draft)
    return page(
        request,
        "history.html",
        "",
        entries=kept.entries[::-1],
        depths=kept.depths(),
        compared=other,
        difference=said,
    )


def go(request: Request, sent: FormData) -> str:
    """Let another state stand."""
    desk, to = desk_of(request), text(sent, "to")
    kept = desk.project.history
    with desk.lock:
        number = kept.undone() if to == "undo" else kept.redone() if to == "redo" else whole(to, "to")
        if number is None:
            raise InputError("there is nothing to undo" if to == "undo" else "there is nothing to redo")
        entry = desk.go_to(number)
    return f"State {entry.number}: {entry.note}"


ROUTES = [
    Route("/history", reading(history)),
    Route("/history/go", answering(go), methods=["POST"]),
]

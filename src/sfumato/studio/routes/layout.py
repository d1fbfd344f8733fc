"""How the table is read: what comes of another separator or encoding, before it is taken; and answers to questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError, SfumatoError
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.studio.answers import Answer, answered
from sfumato.studio.layout import ENCODINGS, SEPARATORS, is_text_file, layout_columns, tried
from sfumato.studio.pages import answering, desk_of, environment, page, page_entry, reading, text
from sfumato.studio.project import Project, as_written
from sfumato.studio.routes.columns import BRANCHED

ASKED = ("separator", "encoding", "quote", "decimal", "thousands", "dates")
"""Settings that the page asks for as text."""


def layout(request: Request) -> Response:
    """Show the first rows of the table as they would be read."""
    desk = desk_of(request)
    return page(request, "layout.html", "/", **_shown(desk.project, request.query_params), is_blank=desk.is_blank)


def asking(request: Request) -> Response:
    """Show the same of a table that could not be read yet."""
    project: Project = request.app.state.opening.project
    shown = environment().get_template("opening.html")
    return HTMLResponse(shown.render(table=project.table.name, **_shown(project, request.query_params), is_blank=False))


def _shown(project: Project, settings: Mapping[str, str]) -> dict[str, Any]:
    if not is_text_file(project.table):
        raise InputError("the table is no text file; nothing has to be said of its layout")
    problems: list[str] = []
    try:
        source = _source(project, settings)
        checked(Source, source)
    except SfumatoError as error:
        source, problems = dict(project.source), list(error.problems)
    trial = tried(project.table, source)
    return {
        "trial": trial,
        "wrong": problems,
        "source": checked(Source, source),
        "separators": {**SEPARATORS, **({} if _mark(source) in SEPARATORS else {_mark(source): _mark(source)})},
        "encodings": list(dict.fromkeys([*ENCODINGS, str(source.get("encoding", "utf-8"))])),
        "better": [(words, {**_fields(source), **changes}) for words, changes in trial.better],
    }


def _mark(source: Mapping[str, Any]) -> str:
    return str(source.get("separator", ","))


def _fields(source: Mapping[str, Any]) -> dict[str, str]:
    """Return a way of reading as the fields of the form."""
    fields = {name: str(source[name]) for name in ASKED if isinstance(source.get(name), str)}
    return {**fields, "header": "no" if source.get("header") is False else "yes"}


def _source(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the table is read with what a form says; what it does not say stays as it was."""
    source = dict(project.source)
    for name in ASKED:
        value = settings.get(name)
        if not isinstance(value, str):
            continue
        if not value and not isinstance(source.get(name, ""), str):
            # Several forms of dates, which the form does not show.
            continue
        if value or name == "quote":
            source[name] = value
        else:
            source.pop(name, None)
    if settings.get("header") == "no":
        named = source.get("columns")
        checked(Source, {**source, "header": True, "columns": None})
        source |= {"header": False, "columns": named or layout_columns(project.table, source)}
    elif settings.get("header") == "yes":
        source = {key: value for key, value in source.items() if key not in ("header", "columns")}
    return source


def change_layout(request: Request, sent: FormData) -> str:
    """Read the table in another way."""
    desk = desk_of(request)
    settings = as_written(checked(Source, _source(desk.project, dict(sent))))
    _, branches = desk.change(page_entry(sent), lambda draft: draft.with_rest("source", settings))
    return BRANCHED if branches else f"The table is read in this way now: {desk.table.height:,} records."


def open_anyway(request: Request, sent: FormData) -> str:
    """Open a table that could not be read, in another way."""
    opening = request.app.state.opening
    opening.open(as_written(checked(Source, _source(opening.project, dict(sent)))))
    return f"The table is open: {opening.desk.table.height:,} records."


def answer_layout(request: Request, sent: FormData) -> str:
    """Answer a question that reading the table asked."""
    reply = Answer(text(sent, "option"), text(sent, "column"), text(sent, "value"))
    _, branches = desk_of(request).change(page_entry(sent), lambda draft: answered(draft, reply))
    return BRANCHED if branches else f"{reply.words}. Run it again."


ROUTES = [
    Route("/layout", reading(layout)),
    Route("/setup/layout", answering(change_layout), methods=["POST"]),
    Route("/setup/answer", answering(answer_layout), methods=["POST"]),
]
OPENING = [
    Route("/", asking),
    Route("/layout", asking),
    Route("/setup/layout", answering(open_anyway), methods=["POST"]),
]

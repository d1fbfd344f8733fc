"""The table: how it is read, the roles of its columns, and how many people stand alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError, SfumatoError
from sfumato.evaluation.preview import ClassSizes
from sfumato.numbers import counted
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.studio.desk import COUNTED_AT_ONCE, MOST_ROWS, Desk, TablePage, ordered
from sfumato.studio.draft import (
    ACCEPT,
    DROPPED,
    KEY_FORM,
    OF_VALUES,
    ROLES,
    SEPARATORS,
    SINGLE,
    WITH_SETTINGS,
    Draft,
    of_column,
    read_as,
)
from sfumato.studio.forms import finite_number
from sfumato.studio.layout import ENCODINGS, Answer, Question, answered, is_text_file, layout_columns, tried
from sfumato.studio.pages import answering, desk_of, fragment, page, page_entry, reading, text, whole
from sfumato.studio.project import Project, as_written
from sfumato.studio.words import say

# Settings of a column by which somebody answered.
TAKEN_BACK = (*OF_VALUES, "strays", "domain")
BANDS = ((1, 1, "1 (alone)"), (2, 4, "2 to 4"), (5, 19, "5 to 19"), (20, None, "20 and more"))
DEFAULT_K = 5


def table(request: Request) -> Response:
    """Show the table as it is."""
    desk = desk_of(request)
    names, can_change = desk.table.names, is_text_file(desk.project.table)
    return page(
        request,
        "table.html",
        "/",
        changed=desk.project.has_changed,
        can_change=can_change,
        read_as=read_as(desk.project.source),
        looks_parted=can_change and len(names) == 1 and any(mark in names[0] for mark in SEPARATORS),
    )


MOST_LEVELS = 8  # at which a column can be looked at


def columns(request: Request) -> Response:
    """Show every column with its role."""
    desk = desk_of(request)
    profiles = [desk.profile(name) for name in desk.table.names]
    heights = {name: _height(desk, name) for name in desk.draft.of_role("quasi-identifying")}
    at_once = desk.table.height * len(desk.table.names) <= COUNTED_AT_ONCE
    shown = sizes_shown(desk, desk.draft) if at_once else None
    return page(
        request,
        "columns.html",
        "/columns",
        profiles=profiles,
        heights=heights,
        sizes=shown,
        with_settings=WITH_SETTINGS,
        level_names=[(0, say("values")), *((level, say("level {1}", level)) for level in range(1, MOST_LEVELS + 1))],
        keys_asked=(keys := desk.keys_asked()),
        findings=(findings := desk.findings()),
        asked_of=(asked := desk.questions()),
        open_questions=len({*findings, *asked}) + bool(keys),
        taken_back=TAKEN_BACK,
        of_column=of_column,
        single=SINGLE,
        **(_reviewed(desk) if desk.is_reviewed else {}),
    )


def _height(desk: Desk, name: str) -> int:
    """Return the number of levels that a column can be looked at."""
    attribute = desk.draft.attribute(name)
    with desk.lock:
        hierarchy = desk.preview.hierarchy(name, attribute)
    return 0 if hierarchy is None else hierarchy.height


def sizes(request: Request) -> Response:
    """Count the classes of the setup that stands; an outdated question gets no answer."""
    desk = desk_of(request)
    counted = sizes_shown(desk, desk.draft, whole(request.query_params.get("n", "0"), "n"))
    return Response(status_code=204) if counted is None else fragment("sizes.html", sizes=counted)


def more_sizes(request: Request) -> Response:
    """Count what each column adds, and what each insensitive one would."""
    desk = desk_of(request)
    draft = desk.draft
    attributes = desk.attributes(draft)
    with desk.lock:
        without = desk.preview.without_each(attributes, draft.levels) if len(attributes) > 1 else {}
        known = desk.preview.also_known(attributes, draft.of_role("insensitive"), draft.levels) if attributes else {}
    k = asked_k(draft)
    # Whose removal leaves the fewest alone tells the most.
    left = sorted(((its.uniques, its.below(k), name) for name, its in without.items()), key=lambda each: each[:2])
    also = sorted(((its.uniques, name) for name, its in known.items()), reverse=True)
    return fragment("more_sizes.html", without=left, known=also, k=k)


def show_review(request: Request) -> Response:
    """Show what each undecided column seems to be, and what was found that stands nowhere else on the page."""
    return fragment("review.html", **_reviewed(desk_of(request)))


def _reviewed(desk: Desk) -> dict[str, Any]:
    found, undecided = desk.reviewed(), desk.draft.undecided
    # What is asked beside a column stands there, and what is not published needs no answer.
    beside = {*desk.findings(), *desk.questions(), *desk.draft.of_role("identifying"), *desk.draft.of_role(DROPPED)}
    remarks = [each for each in found.findings if not each.columns or not beside.issuperset(each.columns)]
    return {
        "entry": desk.head,
        "remarks": [Question.of(each.problem(), desk.table, each.where + each.question) for each in remarks],
        "seeming": [column for column in found.columns if column.name in undecided],
        "proposed": desk.proposal().roles if undecided else {},
        "roles": ROLES,
    }


def take_proposal(request: Request, sent: FormData) -> str:
    """Give undecided columns the roles that the review proposes, and promise what it does where nothing is promised."""
    proposal = desk_of(request).proposal()
    said = "The proposal is the setup now. Read it, and correct what is wrong."
    return told_branch(request, sent, lambda draft: draft.with_proposal(proposal), said)


BRANCHED = "Another tab had gone on from here; this change began a branch of the history."


def told_branch(request: Request, sent: FormData, changed: Callable[[Draft], Draft], said: str = "") -> str:
    """Change the setup that a page stands on; return what to say, or that this began a branch."""
    _, branches = desk_of(request).change(page_entry(sent), changed)
    return BRANCHED if branches else said


def sizes_shown(desk: Desk, draft: Draft, number: int = 0) -> dict[str, Any] | None:
    """Return what the panel of class sizes shows."""
    if not draft.of_role("quasi-identifying"):
        return {"records": desk.table.height, "bands": [], "names": []}
    counted = desk.sizes(draft, number)
    if counted is None:
        return None
    k = asked_k(draft)
    bands = [(name, counted.between(low, high)) for low, high, name in BANDS]
    return {
        "records": counted.records,
        "count": counted.count,
        "uniques": counted.uniques,
        "smallest": counted.smallest,
        "k": k,
        "below": counted.below(k),
        "bands": [(name, many, _width(many, counted)) for name, many in bands],
        "names": draft.of_role("quasi-identifying"),
        "levels": {name: level for name, level in draft.levels.items() if level},
    }


def _width(many: int, counted: ClassSizes) -> float:
    # Nobody is left out of the drawing: few people are the point of it.
    return 0.0 if not many else max(2.0, 200.0 * many / counted.records)


def asked_k(draft: Draft) -> int:
    """Return the k that the draft promises, or a usual one."""
    asked = [model.get("k") for model in draft.rest.get("models", ()) if isinstance(model.get("k"), int)]
    return max(asked, default=DEFAULT_K)


def change_column(request: Request, sent: FormData) -> str:
    """Change a role, a kind, a weight or a level."""
    desk, column, what, value = desk_of(request), text(sent, "column"), text(sent, "what"), text(sent, "value")

    def changed(draft: Draft) -> Draft:
        if what == "role":
            return draft.with_role(column, value)
        if what == "weight":
            return draft.with_setting(column, "weight", _weight(value))
        if what in ("kind", KEY_FORM):
            return draft.with_setting(column, what, value or None)
        if what == "unsay" and value in TAKEN_BACK:
            return draft.with_setting(column, value, None)
        if what == ACCEPT:
            return draft.with_answer(column, value)
        if what == "level":
            return draft.with_level(column, whole(value, "level"))
        raise InputError("what: is none of the changes that this page can make")

    if what == "kind" and value:
        desk.table.typed(column, value)  # type: ignore[arg-type]
    return told_branch(request, sent, changed)


def _weight(value: str) -> float | None:
    try:
        return float(finite_number(value)) if value not in ("", "1") else None
    except ValueError:
        raise InputError("weight: must be a number") from None


def change_columns(request: Request, sent: FormData) -> str:
    """Give several columns a role at once: those that are chosen, those whose names are alike, or all others."""
    desk, what, role = desk_of(request), text(sent, "what"), text(sent, "role")
    names = desk.table.names
    if what == "chosen":
        named = [name for name in sent.getlist("columns") if name in names]
    elif what == "pattern":
        pattern = text(sent, "pattern").strip().casefold()
        named = [name for name in names if fnmatchcase(name.casefold(), pattern)]
    elif what == "others":
        named, role = desk.draft.undecided, DROPPED
    else:
        raise InputError("what: is none of chosen, pattern and others")
    if not named:
        raise InputError("no column is meant: choose some, or write a pattern such as lab_*")
    if role in SINGLE:
        raise InputError("role: one column alone can have it; set it in its row")
    _, branches = desk.change(page_entry(sent), lambda draft: draft.with_roles(dict.fromkeys(map(str, named), role)))
    said = f"{ROLES[role].partition(':')[0]}: {counted(len(named), 'column')}."
    return f"{said} {BRANCHED}" if branches else said


def state(request: Request) -> Response:
    """Tell a page whether the studio is there, and what stands; 0 where nothing is open yet."""
    desk: Desk | None = getattr(request.app.state, "desk", None)
    if desk is None:
        return JSONResponse({"entry": 0, "jobs": 0})
    return JSONResponse({"entry": desk.head.number, "jobs": len(desk.jobs.all)})


def grid(request: Request) -> Response:
    """Return rows of the original or of a release, as texts."""
    desk, asked = desk_of(request), request.query_params
    try:
        start, count = whole(asked.get("start", "0"), "start"), whole(asked.get("count", "200"), "count")
        sheet = _sheet(desk, asked.get("of", "original"), asked.get("table", ""), asked.get("by", ""))
    except InputError as error:
        return JSONResponse({"problems": list(error.problems)}, 404)
    blank = desk.is_blank and asked.get("of", "original") == "original"
    return JSONResponse(sheet.page(start, min(count, MOST_ROWS), blank=blank))


def _sheet(desk: Desk, of: str, name: str, by: str) -> TablePage:
    if of == "original":
        return desk.sheet
    number = whole(of, "of")
    if by == "class":
        return desk.by_class(number)
    _, opened = desk.release(number)
    tables = opened.published.tables
    if name not in tables:
        name = next(iter(tables))
    return ordered(TablePage.of_frame(tables[name]), desk.table.names)


def show_values(request: Request, sent: FormData) -> str:
    """Keep original values off the screen, or show them again."""
    desk = desk_of(request)
    desk.is_blank = text(sent, "value") == "hide"
    return "Original values are hidden." if desk.is_blank else "Original values are shown."


# Settings that the page asks for as text.
ASKED = ("separator", "encoding", "quote", "decimal", "thousands", "dates")


def layout(request: Request) -> Response:
    """Show the first rows of the table as they would be read."""
    desk = desk_of(request)
    shown = _shown(desk.project, request.query_params)
    return page(request, "layout.html", "/", **shown, is_blank=desk.is_blank, found=desk.marks())


def asking(request: Request) -> Response:
    """Show the same of a table that could not be read yet."""
    project: Project = request.app.state.opening.project
    return fragment("opening.html", table=project.table.name, **_shown(project, request.query_params), is_blank=False)


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
        "marks": _fields(source)["missing"],
        "separators": {**{trial.separator: trial.separator}, **SEPARATORS},
        "encodings": list(dict.fromkeys([*ENCODINGS, *trial.letters, str(source.get("encoding", "utf-8"))])),
        "letters": [(name, words, {**_fields(source), "encoding": name}) for name, words in trial.letters.items()],
        "better": [(words, {**_fields(source), **changes}) for words, changes in trial.better],
    }


def _fields(source: Mapping[str, Any]) -> dict[str, str]:
    """Return a way of reading as the fields of the form."""
    fields = {name: str(source[name]) for name in ASKED if isinstance(source.get(name), str)}
    marks = {"missing": ", ".join(filter(None, source.get("missing", ())))}
    return {**fields, **marks, "header": "no" if source.get("header") is False else "yes"}


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
    if isinstance(settings.get("missing"), str):
        marks = [mark for part in settings["missing"].split(",") if (mark := part.strip())]
        source = {key: value for key, value in source.items() if key != "missing"} | (
            {"missing": marks} if marks else {}
        )
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
    return told_branch(request, sent, lambda draft: answered(draft, reply), f"{reply.words}.")


ROUTES = [
    Route("/", reading(table)),
    Route("/columns", reading(columns)),
    Route("/sizes", reading(sizes)),
    Route("/sizes/more", reading(more_sizes)),
    Route("/review", reading(show_review)),
    Route("/setup/proposal", answering(take_proposal), methods=["POST"]),
    Route("/grid", grid),
    Route("/events", state),
    Route("/setup/column", answering(change_column), methods=["POST"]),
    Route("/setup/columns", answering(change_columns), methods=["POST"]),
    Route("/values", answering(show_values), methods=["POST"]),
    Route("/layout", reading(layout)),
    Route("/setup/layout", answering(change_layout), methods=["POST"]),
    Route("/setup/answer", answering(answer_layout), methods=["POST"]),
]
OPENING = [
    Route("/", asking),
    Route("/layout", asking),
    Route("/events", state),
    Route("/setup/layout", answering(open_anyway), methods=["POST"]),
]

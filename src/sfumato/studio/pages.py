"""Pages: templates filled in with what stands, escaped throughout, and their sentences of policies and results."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from sfumato.cli.outcome import explained, printable
from sfumato.errors import InputError, SfumatoError
from sfumato.numbers import figure, percent
from sfumato.studio import words
from sfumato.studio.desk import Desk
from sfumato.studio.draft import ROLES, Draft, in_words
from sfumato.studio.jobs import Job, shown_command
from sfumato.studio.layout import in_page_words, sheets_named
from sfumato.studio.project import HistoryEntry
from sfumato.studio.words import Translation, catalogue, reader, say

if TYPE_CHECKING:
    from sfumato.evidence.context import Decision

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


def page_line(line: str) -> str:
    """Write a message of the library so that a page can show it, in the reader's language."""
    return words.in_choices(say(in_page_words(printable(line))))


def environment() -> Environment:
    """Return the templates in the reader's language."""
    return _environment(reader.get())


@cache
def _environment(language: str) -> Environment:
    """Return the templates of a language; every value is escaped, and a name that is not given is a fault."""
    number = catalogue(language).number
    made = Environment(
        loader=PackageLoader("sfumato.studio"),
        extensions=[Translation],
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(
        n=lambda count: "–" if count is None else number(f"{count:,}"),
        pct=lambda share, digits=3: "–" if share is None else number(percent(share, digits)),
        fig=lambda value: "–" if value is None else number(figure(value, 4)),
        ticks=ticks,
        line=page_line,
        described=words.help_text,
        command=shown_command,
    )
    made.globals.update(words.context(language))
    return made


def ticks(top: float) -> list[tuple[float, float]]:
    """Return round numbers from 0 to `top`, at most five, each with its place as a share of `top`."""
    if top <= 0:
        return []
    unit = 10.0 ** math.floor(math.log10(top))
    step = next(unit * part for part in (0.2, 0.5, 1, 2) if top / (unit * part) < 5)
    return [(round(number * step / top, 4), round(number * step, 12)) for number in range(int(top / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Scatter:
    """Releases as dots, from no loss and no risk to the highest of each."""

    loss: float
    risk: float
    dots: list[tuple[str, float, float]]  # what a dot is called, and its place as shares of the highest

    @classmethod
    def of(cls, found: Sequence[tuple[str, float, float]]) -> Scatter:
        """Place dots; equal ones share a place."""
        loss = max((its for _, its, _ in found), default=0) or 1
        risk = max((its for _, _, its in found), default=0) or 1
        places: dict[tuple[float, float], list[str]] = {}
        for name, its_loss, its_risk in found:
            places.setdefault((round(its_loss / loss, 4), round(its_risk / risk, 4)), []).append(name)
        return cls(loss, risk, [(", ".join(names), x, y) for (x, y), names in places.items()])


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
        "/columns": not draft.undecided and (bool(draft.problems()) or desk.can_run),
        "/promises": desk.can_run,
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
            return refusal(error)
        desk: Desk | None = getattr(request.app.state, "desk", None)
        return JSONResponse({"said": say(answer or ""), "entry": 0 if desk is None else desk.head.number})

    return route


def refusal(error: Exception) -> JSONResponse:
    """Answer with every problem in a sentence, and with what there is to choose from."""
    problems, _ = explained(error)
    return JSONResponse({"problems": [page_line(line) for line in problems], "sheets": sheets_named(problems)}, 422)


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


def promise(entry: Mapping[str, Any]) -> str:
    """Say what a model promises, for a newcomer; while it is not finished, that it is not."""
    from sfumato.evidence.content import promise_in_words

    try:
        return promise_in_words(entry)
    except (SfumatoError, KeyError, TypeError):
        return "not finished: fill in what is needed"


def figures(job: Job) -> dict[str, str]:
    """Return the few figures of a release that a list shows: loss, risk, suppression, the least possible loss."""
    result = job.result if isinstance(job.result, Mapping) else {}
    losses, risk = result.get("losses") or {}, result.get("risk") or {}
    records, bound = result.get("records") or {}, result.get("lower_bound") or {}
    shown = {
        "loss": _share(losses.get("normalized_ncp")),
        "highest risk": _share(risk.get("highest_prosecutor")),
        "average risk": _share(risk.get("average_prosecutor")),
        "no release loses less than": _share(bound.get("normalized_ncp")),
    }
    suppressed = records.get("suppressed") if isinstance(records, Mapping) else None
    return {name: its for name, its in {**shown, "suppressed": _count(suppressed)}.items() if its}


def open_findings(job: Job) -> list[str]:
    """Return what no promise of a release covers, and what is published whatever was found in it."""
    result = job.result if isinstance(job.result, Mapping) else {}
    bare = [str(each["sentence"]) for each in (result.get("verification") or {}).get("uncovered", ())]
    bare = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in bare]
    return [*_published_all_the_same(job), *bare]


def notes_of(job: Job) -> list[str]:
    """Return what the steward should know of a release beside what is open."""
    return list(map(str, job.result.get("notes") or ())) if isinstance(job.result, Mapping) else []


_FOUND = {
    "identifier": "looks like an identifier",
    "free-text": "looks like free text",
    "spellings": "may write one label in several ways",
}


def _published_all_the_same(job: Job) -> list[str]:
    """Name the columns that a release publishes because somebody said that they may be, whatever was found in them."""
    columns = tomllib.loads(job.policy).get("columns", {})
    shown = {*columns.get("insensitive", ()), *columns.get("sensitive", ()), *columns.get("quasi-identifying", ())}
    answers = [key.partition(":") for key in columns.get("accept", ())]
    return [
        f"Column {name!r} is published as it is, although it {_FOUND[finding]}: it was answered so."
        for finding, _, name in answers
        if name in shown and finding in _FOUND
    ]


def loss_and_risk(job: Job) -> tuple[float, float] | None:
    """Return loss and average risk of a release, where it has both."""
    result = job.result if isinstance(job.result, Mapping) else {}
    loss = (result.get("losses") or {}).get("normalized_ncp")
    risk = (result.get("risk") or {}).get("average_prosecutor")
    return None if loss is None or risk is None else (float(loss), float(risk))


def _share(value: Any) -> str:
    return percent(value, 3) if isinstance(value, (int, float)) else ""


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


# What was decided on the way: the difference of two states in words, with who stands alone and what was lost.


def difference(desk: Desk, before: HistoryEntry, after: HistoryEntry) -> list[str]:
    """Say what differs between two states of the setup, and what was measured of each."""
    words = [in_words(before.draft, after.draft)]
    alone = uniques(desk, before.draft), uniques(desk, after.draft)
    if None not in alone:
        sizes = f"still {alone[1]:,}" if alone[0] == alone[1] else f"{alone[0]:,} → {alone[1]:,}"
        words.append(f"people who stand alone: {sizes}")
    losses = _losses(desk)
    lost = losses.get(before.number), losses.get(after.number)
    if lost[0] is not None and lost[1] is not None:
        more = f"{100 * (lost[1] - lost[0]):+.1f} points"
        words.append(f"loss of the releases made then: {percent(lost[0], 3)} → {percent(lost[1], 3)} ({more})")
    return words


def decisions(desk: Desk, last: HistoryEntry) -> list[Decision]:
    """Return the changes that led to a state, the first one first."""
    from sfumato.evidence.context import Decision

    way, losses, counted = [last], _losses(desk), dict[str, int | None]()
    while way[-1].parent is not None:
        way.append(desk.project.history.entry(way[-1].parent))
    found = []
    for entry in reversed(way):
        key = _counted_by(entry.draft)
        if key not in counted:
            counted[key] = uniques(desk, entry.draft)
        found.append(Decision(entry.made, entry.note, counted[key], losses.get(entry.number)))
    return found


def uniques(desk: Desk, draft: Draft) -> int | None:
    """Count who stands alone in a setup; None where nobody can be known, or the table is read otherwise."""
    if not draft.of_role("quasi-identifying") or draft.rest.get("source") != desk.draft.rest.get("source"):
        return None
    try:
        with desk.lock:
            return desk.preview.sizes(desk.attributes(draft), draft.levels).uniques
    except SfumatoError:
        # A hierarchy that did not fit yet.
        return None


def _counted_by(draft: Draft) -> str:
    """Return all that a count depends on."""
    names = draft.of_role("quasi-identifying")
    settings = {name: dict(draft.settings.get(name, {})) for name in names}
    return json.dumps([names, settings, dict(draft.levels), draft.rest.get("source")], sort_keys=True, default=str)


def _losses(desk: Desk) -> dict[int, float]:
    """Return the loss of the latest release of each state of the setup."""
    found: dict[int, float] = {}
    for job in desk.releases():
        place = loss_and_risk(job)
        if place is not None and job.table == desk.project.sha256:
            found.setdefault(job.entry, place[0])
    return found

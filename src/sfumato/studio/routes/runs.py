"""Runs: releases that are made, watched, cancelled and compared with the setup; and what to relax if one cannot be."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sfumato.errors import InputError, SfumatoError
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft
from sfumato.studio.jobs import FAILED, RUNNING, Job, draft_attack_order, release_order, series_order, try_order
from sfumato.studio.layout import Question
from sfumato.studio.pages import (
    Scatter,
    answering,
    desk_of,
    figures,
    loss_and_risk,
    notes_of,
    open_findings,
    page,
    page_entry,
    reading,
    text,
    whole,
)
from sfumato.studio.words import say

# What to relax when a draft cannot be met: a few weaker drafts, each to be tried before anybody chooses.


LOWER = ("k", "l", "m")
"""Parameters of which less is weaker."""
HIGHER = {"t": 1.0, "alpha": 1.0, "p": 0.99, "beta": None, "delta": None, "c": None}
"""Parameters of which more is weaker, with the most that makes sense."""
LIMITS = (0.01, 0.05)  # shares of the records that might be suppressed
MOST = 6


def weaker(draft: Draft, records: int) -> list[tuple[str, Draft]]:
    """Return weaker drafts with their names, of each promise and of the suppression limit; at most a handful."""
    found = [*_more_suppression(draft), *_weaker_models(draft, records)]
    return found[:MOST]


def _more_suppression(draft: Draft) -> Iterator[tuple[str, Draft]]:
    now = float(draft.rest.get("suppression-limit", 0.0))
    for limit in LIMITS:
        if limit > now:
            yield f"allow {limit:.0%} of the records to be suppressed", draft.with_rest("suppression-limit", limit)


def _weaker_models(draft: Draft, records: int) -> Iterator[tuple[str, Draft]]:
    models = list(draft.rest.get("models", ()))
    for place, model in enumerate(models):
        for key, value in model.items():
            for less in _weaker_values(key, value, records):
                changed = [*models[:place], {**model, key: less}, *models[place + 1 :]]
                yield f"{model['name']} with {key} = {less:g}", draft.with_rest("models", changed)


def _weaker_values(key: str, value: Any, records: int) -> list[Any]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return []
    if key in LOWER:
        least = 2 if key != "m" else 1
        # Close by first, then half of it; nothing asks for more people than there are.
        most = min(int(value), records + 1)
        return sorted({each for each in (most - 1, most // 2) if least <= each < value}, reverse=True)
    if key in HIGHER:
        top = HIGHER[key]
        more = [value * 1.5, value * 2] if isinstance(value, float) else [value + 1, value * 2]
        kept = [round(each if top is None else min(each, top), 6) for each in more]
        return [each for each in dict.fromkeys(kept) if each > value]
    return []


LOOKED, TOLD = 0.1, 0.5
"""Seconds between two looks at a job that is watched, and between two answers where nothing but the time goes on."""


def runs(request: Request) -> Response:
    """Show what can be run, and what was."""
    desk = desk_of(request)
    releases = desk.jobs.of_kind("release")
    return page(
        request,
        "runs.html",
        "/runs",
        problems=desk.hindrances(),
        changed=desk.project.has_changed,
        jobs=[(job, figures(job), desk.staleness(job) if job.state == "done" else "") for job in releases],
        current=[job for job in desk.jobs.all if not job.has_ended],
        told_of={job.number: (open_findings(job), notes_of(job)) for job in releases if job.state == "done"},
        relaxing={job.number: _relaxing(desk, job) for job in releases[:1] if job.state == FAILED and job.code == 1},
        answers=_answers(desk, releases),
        dots=Scatter.of(
            [(f"#{job.number}", *place) for job in desk.releases() if (place := loss_and_risk(job)) is not None][:12]
        ),
        before=_seconds(releases),
        series=_series_beside(desk),
        continued=[(job, *_continued(job)) for job in desk.jobs.of_kind("series")[:1] if job.has_ended],
    )


def _continued(job: Job) -> tuple[bool, list[str], list[str]]:
    """Return whether a release was published, what is open in it, and what the steward should know."""
    step = job.result if isinstance(job.result, Mapping) else {}
    report, head = step.get("report") or {}, step.get("head")
    known = [f"Head of the series: sha256 {head}. Note it elsewhere, and publish it."] if head else []
    reasons = [*filter(None, [step.get("reason")]), *map(str, step.get("notes") or ())]
    return step.get("folder") is not None, open_findings(replace(job, result=report)), [*reasons, *known]


def _series_beside(desk: Desk) -> dict[str, Path]:
    """Return the series in the table's folder by their names."""
    return {path.parent.name: path.parent for name, path in desk.beside().items() if "/" in name}


def _answers(desk: Desk, releases: list[Job]) -> dict[int, list[Question]]:
    """Return what reading the table asked in the last run, by its number, unless the setup has gone on since."""
    last = next(iter(releases), None)
    if last is None or last.state != FAILED or desk.staleness(last):
        return {}
    return {last.number: [Question.of(line, desk.table) for line in last.problems]}


def _seconds(releases: list[Job]) -> float | None:
    """Return how long the last release took."""
    return next((job.seconds for job in releases if job.state == "done"), None)


def _relaxing(desk: Desk, failed: Job) -> list[tuple[str, Job | None, dict[str, str]]]:
    """Return what could be relaxed, with the job that tries it and what that found."""
    tries = {job.title: job for job in reversed(desk.jobs.of_kind("try")) if job.about == failed.number}
    draft = desk.project.history.entry(failed.entry).draft
    return [
        (name, tries.get(name), figures(tries[name]) if name in tries else {})
        for name, _ in weaker(draft, desk.table.height)
    ]


def start(request: Request, sent: FormData) -> str:
    """Put a job into the queue."""
    desk, what = desk_of(request), text(sent, "what", "release")
    entry = desk.project.history.entry(page_entry(sent))
    if desk.project.is_another:
        raise InputError("the table has changed on disk since it was opened; stop the studio and open it again")
    if what == "release":
        title = str(entry.draft.anonymizer["name"])
        desk.jobs.add(release_order(desk.project, entry, title, bound=text(sent, "bound") == "yes"))
        return "Started."
    if what == "attack":
        desk.jobs.add(draft_attack_order(desk.project, entry))
        return "The attack on the draft is in the queue."
    if what == "tries":
        return _try_all(desk, desk.jobs.get(whole(text(sent, "run"), "run")))
    if what == "series":
        series = _series_beside(desk).get(text(sent, "series"))
        if series is None:
            raise InputError("series: choose one of those beside the table")
        desk.jobs.add(series_order(desk.project, entry, series, without_known=text(sent, "known") == "out"))
        return "The next release of the series is being made."
    raise InputError("what: is none of the jobs")


def _try_all(desk: Desk, failed: Job) -> str:
    entry = desk.project.history.entry(failed.entry)
    tried = {job.title for job in desk.jobs.of_kind("try") if job.about == failed.number}
    for name, draft in weaker(entry.draft, desk.table.height):
        if name in tried:
            continue
        try:
            desk.jobs.add(try_order(desk.project, replace(entry, draft=draft), name, failed.number))
        except SfumatoError:
            # A draft that is no policy cannot be tried; it stays without a figure.
            continue
    return "Each is tried; nothing is kept of the tries."


def relax(request: Request, sent: FormData) -> str:
    """Take one of the weaker drafts as the setup."""
    desk = desk_of(request)
    failed = desk.jobs.get(whole(text(sent, "run"), "run"))
    name = text(sent, "name")
    drafts = dict(weaker(desk.project.history.entry(failed.entry).draft, desk.table.height))
    if name not in drafts:
        raise InputError("name: is none of what can be relaxed")
    chosen = drafts[name]

    def changed(draft: Draft) -> Draft:
        for key in ("models", "suppression-limit"):
            draft = draft.with_rest(key, chosen.rest.get(key))
        return draft

    desk.change(page_entry(sent), changed)
    return f"The setup is now: {name}."


def cancel(request: Request, sent: FormData) -> str:
    """End a job."""
    desk_of(request).jobs.cancel(whole(text(sent, "run"), "run"))
    return "Cancelled; nothing was kept."


async def events(request: Request) -> Response:
    """Tell a page how far a job is, until it ends."""
    desk = desk_of(request)
    try:
        number = whole(request.path_params["number"], "run")
        desk.jobs.get(number)
    except InputError:
        return PlainTextResponse("There is no such run.\n", 404)
    return StreamingResponse(_events(request, desk, number), media_type="text/event-stream")


async def _events(request: Request, desk: Desk, number: int) -> AsyncIterator[str]:
    last, then = "", 0.0
    while not await request.is_disconnected():
        job, progress = desk.jobs.get(number), desk.jobs.progress(number)
        told = {
            "state": job.state,
            "said": say(job.state),
            "what": say(progress.what),
            "done": progress.done,
            "total": progress.total,
        }
        line, now = json.dumps(told), time.monotonic()
        if line != last or (job.state == RUNNING and now - then >= TOLD):
            yield f"data: {json.dumps({**told, 'seconds': progress.seconds})}\n\n"
            last, then = line, now
        if job.has_ended:
            return
        await asyncio.sleep(LOOKED)


ROUTES = [
    Route("/runs", reading(runs)),
    Route("/runs/start", answering(start), methods=["POST"]),
    Route("/runs/cancel", answering(cancel), methods=["POST"]),
    Route("/runs/relax", answering(relax), methods=["POST"]),
    Route("/runs/{number}/events", events),
]

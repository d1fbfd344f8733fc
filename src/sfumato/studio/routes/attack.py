"""Attack a release, or what the setup would publish, and read what the attacks found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio.jobs import Job
from sfumato.studio.pages import desk_of, page, reading

VERDICTS = {"succeeds": "succeeds", "no better": "no better than guessing", "undecided": "undecided"}


def attack(request: Request) -> Response:
    """Show what attacks found, the latest first."""
    desk = desk_of(request)
    number = request.path_params.get("number")
    about = None if number is None else int(number)
    jobs = desk.jobs.of_kind("attack")
    if about is not None:
        desk.release(about)
        jobs = [job for job in jobs if job.about == about]
    done = [job for job in jobs if job.state == "done"]
    return page(
        request,
        "attack.html",
        "/attack",
        about=about,
        problems=desk.draft.problems(),
        releases=desk.releases(),
        current=[job for job in jobs if not job.has_ended],
        failed=jobs[0] if jobs and jobs[0].state == "failed" else None,
        done=[(job, _chip(job), _results(job), desk.staleness(job)) for job in done[:4]],
        verdicts=VERDICTS,
    )


def _results(job: Job) -> list[Mapping[str, Any]]:
    results = job.result.get("results", []) if isinstance(job.result, Mapping) else []
    order = {"succeeds": 0, "undecided": 1, "no better": 2}
    return sorted(results, key=lambda result: (order.get(result.get("verdict"), 3), bool(result.get("unplayed"))))


def _chip(job: Job) -> Mapping[str, int]:
    result = job.result if isinstance(job.result, Mapping) else {}
    return {
        "succeed beyond what is promised": int(result.get("unlicensed", 0)),
        "succeed": int(result.get("succeeding", 0)),
        "are undecided": int(result.get("undecided", 0)),
    }


ROUTES = [Route("/attack", reading(attack)), Route("/attack/{number:int}", reading(attack))]

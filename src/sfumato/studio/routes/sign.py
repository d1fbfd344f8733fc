"""Sign: the report, the policy and the command that do the same; and handing the release over."""

from __future__ import annotations

import shutil
from pathlib import Path

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.release.folder import whole_folder
from sfumato.studio.desk import Desk
from sfumato.studio.guard import FRAMED
from sfumato.studio.jobs import Job
from sfumato.studio.orders import POLICY, REPORT, attack_order, report_order
from sfumato.studio.pages import answering, desk_of, entry_of, page, reading, text, whole
from sfumato.studio.wording import figures, promise


def sign(request: Request) -> Response:
    """Show what is signed."""
    desk = desk_of(request)
    releases = desk.releases()
    if not releases:
        return page(request, "nothing.html", "/sign", title="Sign", what="There is no release to sign yet.")
    number = request.path_params.get("number")
    job, _ = desk.release(releases[0].number if number is None else int(number))
    reports = [each for each in desk.jobs.of_kind("report") if each.about == job.number]
    return page(
        request,
        "sign.html",
        "/sign",
        job=job,
        releases=releases,
        stale=desk.staleness(job),
        figures=figures(job),
        promises=[promise(model) for model in desk.project.history.entry(job.entry).draft.rest.get("models", ())],
        report=next((each for each in reports if each.state == "done"), None),
        current=[each for each in reports if not each.has_ended],
        failed=reports[0] if reports and reports[0].state == "failed" else None,
        policy=desk.policy_of(job).to_toml(),
        folder=desk.release_folder(job),
        decisions=_decisions(desk, job),
        beside=desk.beside(),
        checked=_checked_against(desk, job),
    )


def _decisions(desk: Desk, job: Job) -> list[tuple[str, str]]:
    """Return the changes that led to a release, the first one first."""
    found, entry = list[tuple[str, str]](), desk.project.history.entry(job.entry)
    while True:
        found.append((entry.made, entry.note))
        if entry.parent is None:
            return found[::-1]
        entry = desk.project.history.entry(entry.parent)


def _checked_against(desk: Desk, job: Job) -> dict[str, Job]:
    """Return the earlier releases that the release was attacked beside."""
    attacks = [each for each in desk.jobs.of_kind("attack") if each.about == job.number and each.state == "done"]
    return {
        Path(each.words[each.words.index("--earlier") + 1]).name: each
        for each in reversed(attacks)
        if "--earlier" in each.words
    }


def make_report(request: Request, sent: FormData) -> str:
    """Order the report."""
    desk = desk_of(request)
    job, _ = desk.release(whole(text(sent, "run"), "run"))
    earlier = [_earlier(desk, text(sent, "earlier"))] if text(sent, "earlier") else []
    entry = desk.project.history.entry(job.entry)
    folder = desk.jobs.folder_of(job.number)
    desk.jobs.add(report_order(desk.project, entry, job, folder, text(sent, "edition", "internal"), earlier))
    return "The report is being made."


def attack_beside(request: Request, sent: FormData) -> str:
    """Order attacks on a release, beside the one of last time if it is named."""
    desk = desk_of(request)
    job, _ = desk.release(whole(text(sent, "run"), "run"))
    earlier = _earlier(desk, text(sent, "earlier")) if text(sent, "earlier") else None
    entry = desk.project.history.entry(entry_of(sent))
    desk.jobs.add(attack_order(desk.project, entry, job, desk.jobs.folder_of(job.number), earlier))
    return "The attacks are in the queue."


def _earlier(desk: Desk, name: str) -> Path:
    beside = desk.beside()
    if name not in beside:
        raise InputError("earlier: choose one of the releases beside the table")
    return beside[name]


def hand_over(request: Request, sent: FormData) -> str:
    """Copy a release into a folder beside the table."""
    desk = desk_of(request)
    job, _ = desk.release(whole(text(sent, "run"), "run"))
    name = text(sent, "name").strip()
    if not name or name in (".", "..") or Path(name).name != name or "\\" in name or "\0" in name:
        raise InputError("name: give the name of a new folder, without a path")
    target = desk.project.table.parent / name
    with whole_folder(target) as part:
        for path in desk.release_folder(job).iterdir():
            shutil.copyfile(path, part / path.name)
    return f"The release is in {target}."


def files(request: Request) -> Response:
    """Return a report or a policy of a job; nothing else can be named."""
    desk, name = desk_of(request), str(request.path_params["name"])
    try:
        path = desk.jobs.folder_of(desk.jobs.get(int(request.path_params["number"])).number) / name
    except InputError:
        return PlainTextResponse("There is no such file.\n", 404)
    if name not in (REPORT, POLICY) or not path.is_file() or path.is_symlink():
        return PlainTextResponse("There is no such file.\n", 404)
    if name == POLICY:
        return FileResponse(path, media_type="text/plain; charset=utf-8", filename=POLICY)
    # Nobody but a frame without rights shows it: it comes from a template, but holds texts of the table.
    return FileResponse(path, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": FRAMED})


ROUTES = [
    Route("/sign", reading(sign)),
    Route("/sign/{number:int}", reading(sign)),
    Route("/sign/report", answering(make_report), methods=["POST"]),
    Route("/sign/attack", answering(attack_beside), methods=["POST"]),
    Route("/sign/hand-over", answering(hand_over), methods=["POST"]),
    Route("/files/{number:int}/{name}", files),
]

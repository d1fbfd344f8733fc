"""Compare methods over several k: loss and risk side by side; a point becomes the setup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.evaluation.preview import ClassSizes
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft
from sfumato.studio.forms import method_names
from sfumato.studio.jobs import FAILED, Job, compare_order, lattice_order, release_order
from sfumato.studio.pages import Scatter, answering, desk_of, fragment, page, page_entry, reading, text, whole
from sfumato.studio.routes.columns import BRANCHED, asked_k, told_branch

USUAL = ("mondrian", "k-member", "mdav", "datafly")
MOST_VALUES, MOST_DRAWN, MOST_LINED = 12, 400, 80


def compare(request: Request) -> Response:
    """Show the comparisons that were made, and order one."""
    desk = desk_of(request)
    jobs = desk.jobs.of_kind("compare")
    done = next((job for job in jobs if job.state == "done"), None)
    return page(
        request,
        "compare.html",
        "/compare",
        problems=desk.hindrances(),
        current=[job for job in jobs if not job.has_ended],
        failed=jobs[0] if jobs and jobs[0].state == "failed" else None,
        done=done,
        stale="" if done is None else desk.staleness(done),
        rows=[] if done is None else _rows(done),
        dots=_dots([] if done is None else _rows(done)),
        lattice=_lattice(desk),
        methods=[name for names in method_names().values() for name in names],
        usual=USUAL,
    )


def _lattice(desk: Desk) -> dict[str, Any]:
    """Return the last search of the lattice, with the place of each node in a drawing."""
    jobs = desk.jobs.of_kind("lattice")
    done = next((job for job in jobs if job.state == "done" and isinstance(job.result, Mapping)), None)
    return {
        "current": [job for job in jobs if not job.has_ended],
        "failed": jobs[0] if jobs and jobs[0].state == FAILED else None,
        "done": done,
        "stale": "" if done is None else desk.staleness(done),
        "found": None if done is None else done.result,
        "nodes": (nodes := [] if done is None else _nodes(done.result)),
        "edges": _edges(nodes),
    }


def _nodes(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay nodes out by the sum of their levels, the original values below; none if they are too many to be seen."""
    known = found["known"]
    if found["left_out"] or len(known) > MOST_DRAWN:
        return []
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for node in known:
        rows.setdefault(sum(node["levels"]), []).append(node)
    top = sum(attribute["height"] for attribute in found["attributes"]) or 1
    minimal = [tuple(levels) for levels in found["minimal"]]
    laid = []
    for height, nodes in rows.items():
        for place, node in enumerate(nodes, 1):
            holds = node["state"] in ("satisfies", "inferred-satisfies")
            laid.append(
                {
                    "x": round(640 * place / (len(nodes) + 1), 1),
                    "y": round(20 + 240 * (1 - height / top), 1),
                    "levels": node["levels"],
                    "state": "holds" if holds else "fails" if "fails" in node["state"] else "open",
                    "is_minimal": tuple(node["levels"]) in minimal,
                    "is_chosen": node["levels"] == found["chosen"],
                }
            )
    return laid


def _edges(nodes: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return pairs of which one is a level coarser in one column; none where they would cover the nodes."""
    if len(nodes) > MOST_LINED:
        return []
    place = {tuple(node["levels"]): node for node in nodes}
    above = [
        (node, place.get((*node["levels"][:at], level + 1, *node["levels"][at + 1 :])))
        for node in nodes
        for at, level in enumerate(node["levels"])
    ]
    return [(low, high) for low, high in above if high is not None]


def node(request: Request) -> Response:
    """Show one choice of levels: whether it keeps the promises, what it costs, its classes, and what lies beside it."""
    desk = desk_of(request)
    found = _lattice(desk)["found"]
    if found is None:
        raise InputError("levels: search them first")
    heights = {each["name"]: each["height"] for each in found["attributes"]}
    levels = [whole(request.query_params.get(f"level-{place}", "0"), name) for place, name in enumerate(heights)]
    if not all(0 <= level <= height for level, height in zip(levels, heights.values(), strict=True)):
        raise InputError("levels: one of them is not there; load the page again")
    known = {tuple(each["levels"]): each for each in found["known"]}
    beside = [
        (name, step, at, known.get(at))
        for place, name in enumerate(heights)
        for step in (-1, 1)
        if 0 <= levels[place] + step <= heights[name]
        for at in [(*levels[:place], levels[place] + step, *levels[place + 1 :])]
    ]
    return fragment(
        "node.html",
        names=list(heights),
        levels=levels,
        its=known.get(tuple(levels)),
        loss_name=found["loss_name"],
        is_minimal=levels in found["minimal"],
        is_taken=levels == found["chosen"],
        beside=beside,
        sizes=_sizes_at(desk, dict(zip(heights, levels, strict=True))),
        k=asked_k(desk.draft),
        entry=desk.head,
    )


def _sizes_at(desk: Desk, levels: Mapping[str, int]) -> ClassSizes | None:
    """Count the classes of a choice of levels; without a hierarchy a column is shown or not. None: none is."""
    attributes = {name: its for name, its in desk.attributes(desk.draft).items() if name in levels}
    shown = {name: its for name, its in attributes.items() if its.hierarchy is not None or not levels[name]}
    if not shown:
        return None
    with desk.lock:
        return desk.preview.sizes(shown, {name: levels[name] for name in shown if levels[name]})


def look_at_levels(request: Request, sent: FormData) -> str:
    """Look at the class sizes of a choice of levels on Columns."""

    def changed(draft: Draft) -> Draft:
        for name, level in zip(sent.getlist("names"), sent.getlist("levels"), strict=True):
            if draft.settings.get(str(name), {}).get("hierarchy") is not None:
                draft = draft.with_level(str(name), whole(str(level), str(name)))
        return draft

    said = "Columns counts classes on these levels now. Nothing is published by it."
    return told_branch(request, sent, changed, said)


def publish_levels(request: Request, sent: FormData) -> str:
    """Make a choice of levels the setup, and run it: it is published if every promise holds on it, or nothing is."""
    desk, names = desk_of(request), list(map(str, sent.getlist("names")))
    levels = {name: whole(str(its), name) for name, its in zip(names, sent.getlist("levels"), strict=True)}
    if desk.project.is_another:
        raise InputError("the table has changed on disk since it was opened; stop the studio and open it again")
    if set(levels) != set(desk.draft.of_role("quasi-identifying")):
        raise InputError("levels: the columns have changed since; search the levels again")

    def changed(draft: Draft) -> Draft:
        return draft.with_rest("anonymizer", {"name": "optimal", "levels": levels})

    before = desk.project.history.entry(page_entry(sent))
    order = release_order(desk.project, replace(before, draft=changed(before.draft)), "these levels")
    entry, branches = desk.change(before.number, changed)
    desk.jobs.add(lambda number, folder: replace(order(number, folder), entry=entry.number))
    said = "These levels are the setup now. They are published if every promise holds on them; else nothing is."
    return f"{said} {BRANCHED}" if branches else said


def _rows(job: Job) -> list[Mapping[str, Any]]:
    return [row for row in job.result if isinstance(row, Mapping)] if isinstance(job.result, list) else []


def _dots(rows: list[Mapping[str, Any]]) -> Scatter:
    """Return where finished runs lie in a drawing, by their numbers in the table."""
    found = [row for row in rows if row.get("loss") is not None and row.get("average_risk") is not None]
    return Scatter.of([(str(number), row["loss"], row["average_risk"]) for number, row in enumerate(found, 1)])


def start_comparison(request: Request, sent: FormData) -> str:
    """Order a comparison."""
    desk = desk_of(request)
    known = [name for names in method_names().values() for name in names]
    methods = [name for name in sent.getlist("methods") if isinstance(name, str)]
    if any(name not in known for name in methods):
        raise InputError("methods: one of them is unknown")
    values = [part.strip() for part in text(sent, "values").split(",") if part.strip()]
    if not values or len(values) > MOST_VALUES or not all(part.isascii() and part.isdigit() for part in values):
        raise InputError(f"k: write up to {MOST_VALUES} whole numbers separated by commas, such as 2, 5, 10")
    entry = desk.project.history.entry(page_entry(sent))
    desk.jobs.add(compare_order(desk.project, entry, methods, ",".join(values)))
    return "The comparison is in the queue."


def search(request: Request, sent: FormData) -> str:
    """Order a search of the lattice."""
    desk = desk_of(request)
    desk.jobs.add(lattice_order(desk.project, desk.project.history.entry(page_entry(sent))))
    return "The search is in the queue."


def take(request: Request, sent: FormData) -> str:
    """Make a run of a comparison the setup."""
    method, k = text(sent, "method"), whole(text(sent, "k"), "k")
    if method not in [name for names in method_names().values() for name in names]:
        raise InputError("method: is unknown")

    def changed(draft: Draft) -> Draft:
        models = [model for model in draft.rest.get("models", ()) if model.get("name") != "k-anonymity"]
        entry: Mapping[str, Any] = next(
            (its for its in draft.rest.get("models", ()) if its["name"] == "k-anonymity"), {}
        )
        promised = [{**entry, "name": "k-anonymity", "k": k}, *models]
        return draft.with_rest("anonymizer", {"name": method}).with_rest("models", promised)

    return told_branch(request, sent, changed, f"The setup is now {method} with k = {k}.")


ROUTES = [
    Route("/compare", reading(compare)),
    Route("/compare/start", answering(start_comparison), methods=["POST"]),
    Route("/compare/lattice", answering(search), methods=["POST"]),
    Route("/compare/node", reading(node)),
    Route("/compare/levels", answering(look_at_levels), methods=["POST"]),
    Route("/compare/publish", answering(publish_levels), methods=["POST"]),
    Route("/compare/take", answering(take), methods=["POST"]),
]

"""What the release promises, and how it is made: forms for every model, every method, and the other parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import InputError, PolicyError
from sfumato.models import MODELS
from sfumato.policy.policy import Policy
from sfumato.studio import dial
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft
from sfumato.studio.forms import entry_from, method_form, method_names, model_form, model_names, one_line, part_form
from sfumato.studio.jobs import compare_order
from sfumato.studio.pages import answering, desk_of, page, promise, reading, text, whole
from sfumato.studio.routes.columns import told_branch

PARTS = {"recoding": "Recoding", "people": "People"}
# What a promise begins with when it is added; the steward goes on from there.
STARTS: Mapping[str, Mapping[str, Any]] = {
    "k-anonymity": {"k": 5},
    **{f"{kind}-l-diversity": {"l": 3} for kind in ("entropy", "distinct", "probabilistic")},
    "recursive-l-diversity": {"c": 3, "l": 3},
    "t-closeness": {"t": 0.3},
    "alpha-k-anonymity": {"alpha": 0.5, "k": 5},
    **{f"{kind}-beta-likeness": {"beta": 1} for kind in ("basic", "enhanced")},
    "delta-disclosure": {"delta": 1},
    "subset-k-anonymity": {"k": 5, "m": 2},
    "wildcard-k-anonymity": {"k": 5},
}
TOP = ("purpose", "recipient", "suppression-limit", "refine")


def promises(request: Request) -> Response:
    """Show every promise and the method."""
    draft = desk_of(request).draft
    models = list(draft.rest.get("models", ()))
    method = draft.anonymizer
    return page(
        request,
        "promises.html",
        "/promises",
        models=[(model_form(model), promise(model)) for model in models if model.get("name") in MODELS],
        addable=[(name, one_line(name)) for name in model_names()],
        method=method_form(method),
        methods=[(group, [(name, one_line(name)) for name in names]) for group, names in method_names().items()],
        parts=[(part, part_form(title, draft.rest.get(part, {}))) for part, title in PARTS.items()],
        has_people=bool(draft.key_columns),
        problems=(problems := desk_of(request).hindrances()),
        unprotected=[] if problems else desk_of(request).unprotected(),
        dial=_dial(desk_of(request)),
    )


def _dial(desk: Desk) -> dict[str, Any]:
    """Return the stops of the dial with their places in a drawing, and what fills it in."""
    found = dial.stops(desk)
    shown = [stop for stop in found if stop.loss is not None and stop.risk is not None]
    tops = {
        "loss": max((stop.loss or 0 for stop in shown), default=0) or 1,
        "risk": max((stop.risk or 0 for stop in shown), default=0) or 1,
    }
    places = {stop.k: round(24 + 312 * place / max(1, len(found) - 1), 1) for place, stop in enumerate(found)}
    lines = {
        name: " ".join(f"{places[stop.k]},{round(120 - 100 * getattr(stop, name) / top, 1)}" for stop in shown)
        for name, top in tops.items()
    }
    return {
        "stops": found,
        "hindrance": dial.hindrance(desk.draft),
        "now": dial.promised_k(desk.draft),
        "at": next((place for place, stop in enumerate(found) if stop.k == dial.promised_k(desk.draft)), 0),
        "places": places,
        "lines": lines if len(shown) > 1 else {},
        "current": [job for job in desk.jobs.of_kind(dial.KIND) if not job.has_ended],
        "lacks": len(dial.dial_lacks(desk)),
    }


def fill_dial(request: Request, sent: FormData) -> str:
    """Make releases for the k of which nothing is known, and throw them away."""
    desk = desk_of(request)
    if why := dial.hindrance(desk.draft):
        raise InputError(f"dial: {why}")
    lacks = dial.dial_lacks(desk)
    if not lacks or any(not job.has_ended for job in desk.jobs.of_kind(dial.KIND)):
        return ""
    method = str(desk.draft.anonymizer["name"])
    desk.jobs.add(compare_order(desk.project, desk.head, [method], ",".join(map(str, lacks)), dial.KIND))
    return "Releases for each k are made in the background, and thrown away."


def take_k(request: Request, sent: FormData) -> str:
    """Promise the k that the dial stands at."""
    k = whole(text(sent, "k"), "k")
    return told_branch(request, sent, lambda draft: dial.with_k(draft, k), f"k is {k} now.")


def change_promises(request: Request, sent: FormData) -> str:
    """Add, change or take away a promise; change the method or another part."""
    what = text(sent, "what")
    changes = {"model": _model, "remove": _removed, "method": _method, "options": _options, "part": _part, "top": _top}
    if what != "add" and what not in changes:
        raise InputError("what: is none of the changes that this page can make")
    desk = desk_of(request)
    fewest = min((desk.profile(name).distinct for name in desk.draft.of_role("sensitive")), default=0)

    def changed(draft: Draft) -> Draft:
        return _added(draft, sent, fewest) if what == "add" else changes[what](draft, sent)

    return told_branch(request, sent, changed)


def _added(draft: Draft, sent: FormData, fewest: int) -> Draft:
    """Add a promise; `fewest`: values that a sensitive column has, as no class can have more."""
    name = text(sent, "name")
    if name not in MODELS:
        raise InputError("name: is none of the models")
    start = dict(STARTS.get(name, {}))
    if "l" in start and fewest > 1:
        start["l"] = min(start["l"], fewest)
    return draft.with_rest("models", [*draft.rest.get("models", ()), {"name": name, **start}])


def _model(draft: Draft, sent: FormData) -> Draft:
    models = list(draft.rest.get("models", ()))
    place = _place(sent, models)
    models[place] = entry_from(model_form(models[place]), _texts(sent))
    return draft.with_rest("models", models)


def _removed(draft: Draft, sent: FormData) -> Draft:
    models = list(draft.rest.get("models", ()))
    del models[_place(sent, models)]
    return draft.with_rest("models", models or None)


def _method(draft: Draft, sent: FormData) -> Draft:
    name = text(sent, "name")
    if name not in ANONYMIZERS and name not in PUBLISHERS:
        raise InputError("name: is none of the methods")
    return draft.with_rest("anonymizer", {"name": name})


def _options(draft: Draft, sent: FormData) -> Draft:
    return draft.with_rest("anonymizer", entry_from(method_form(draft.anonymizer), _texts(sent)))


def _part(draft: Draft, sent: FormData) -> Draft:
    part = text(sent, "part")
    if part not in PARTS:
        raise InputError("part: is none of the policy's")
    return draft.with_rest(part, entry_from(part_form(PARTS[part], draft.rest.get(part, {})), _texts(sent)) or None)


def _top(draft: Draft, sent: FormData) -> Draft:
    for key in TOP:
        if key in sent:
            draft = draft.with_rest(key, _top_value(key, text(sent, key).strip()))
    return draft


def _top_value(key: str, value: str) -> Any:
    if not value:
        return None
    if key in ("purpose", "recipient"):
        return value
    if key == "refine":
        return whole(value, "refine") or None
    try:
        share = float(value) / 100
    except ValueError:
        raise PolicyError("may suppress: must be a number of percent") from None
    return round(share, 9) or None


def _place(sent: FormData, models: list[Any]) -> int:
    place = whole(text(sent, "place"), "place")
    if not 0 <= place < len(models):
        raise InputError("this promise is not there any more; load the page again")
    return place


def _texts(sent: FormData) -> dict[str, str]:
    return {name: value for name, value in sent.items() if isinstance(value, str)}


def send_policy_file(request: Request) -> Response:
    """Return the policy as a file."""
    text = desk_of(request).draft.policy().to_toml()
    return PlainTextResponse(text, headers={"Content-Disposition": 'attachment; filename="policy.toml"'})


def import_policy(request: Request, sent: FormData) -> str:
    """Take a policy that somebody has written elsewhere, as text."""
    import tomllib

    desk = desk_of(request)
    try:
        content = tomllib.loads(text(sent, "policy"))
    except tomllib.TOMLDecodeError:
        raise PolicyError("policy: is not valid TOML") from None
    draft = Draft.of_policy(Policy.from_mapping(content), desk.table.names)
    return told_branch(request, sent, lambda before: draft, "The policy is the setup now.")


ROUTES = [
    Route("/promises", reading(promises)),
    Route("/policy.toml", reading(send_policy_file)),
    Route("/setup/promises", answering(change_promises), methods=["POST"]),
    Route("/dial/fill", answering(fill_dial), methods=["POST"]),
    Route("/dial/take", answering(take_k), methods=["POST"]),
    Route("/setup/policy", answering(import_policy), methods=["POST"]),
]

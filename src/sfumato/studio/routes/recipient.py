"""Recipient: who gets the release, under which controls, and what is assumed of them; it goes into the report alone.

The statement is kept in the project, beside the setup: no release holds anything of it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import PolicyError
from sfumato.evidence.standards import is_asked, page_questions, standards
from sfumato.policy.entries import checked
from sfumato.policy.parts import WAYS, Context
from sfumato.studio.jobs import RECIPIENT, stated_context
from sfumato.studio.pages import answering, desk_of, page, reading, text
from sfumato.whole_files import PRIVATE, write_whole


class Field(NamedTuple):
    """One field of the form."""

    path: str  # in the section, such as "attempt.probability"
    label: str
    hint: str = ""
    choices: tuple[str, ...] = ()


_OWNED = (("owner", "Who states it", "name and office"), ("source", "What it rests on", ""))
CARDS: dict[str, tuple[Field, ...]] = {
    "Who, and what for": (
        Field("recipient", "Who gets the release"),
        Field("purpose", "What for"),
        Field("other-data", "What else they may hold about the same people"),
        Field("readers", "How many people may open the file", "such as 3"),
        Field("purpose-columns", "Columns that the purpose needs", "names, with commas between"),
    ),
    "What keeps them from trying": (
        Field("controls.access", "Who may open it, and where", "say none where there is nothing"),
        Field("controls.contract", "What they have signed"),
        Field("controls.training", "What they have learned"),
        Field("controls.audit", "Who looks at what they do"),
    ),
    **{
        f"How likely {meaning}": (
            Field(f"{way}.probability", "Probability", "from 0 to 1"),
            *(
                (Field(f"{way}.of", "Of one reader, or of all", choices=("", "one", "all")),)
                if way == "recognition"
                else ()
            ),
            *(Field(f"{way}.{key}", label, hint) for key, label, hint in _OWNED),
        )
        for way, meaning in WAYS.items()
    },
    "Of how many people it may speak": (
        Field("population.least", "At least"),
        Field("population.most", "At most"),
        *(Field(f"population.{key}", label, hint) for key, label, hint in _OWNED),
    ),
    "The risk that you accept": (
        Field("threshold.value", "At most", "without it 0.09 for the public, 0.2 for a named recipient"),
        Field("threshold.quantity", "Of whom", choices=("maximum", "average")),
        Field("threshold.attempt", "Times the probability of an attempt", choices=("without", "with")),
        Field("threshold.attacker", "Of which attacker", choices=("prosecutor", "journalist")),
        *(Field(f"threshold.{key}", label, hint) for key, label, hint in _OWNED),
    ),
    "Who stands for this, and when it is looked at again": (
        Field("author.name", "Name"),
        Field("author.role", "Office"),
        Field("author.day", "Day", "such as 2026-11-30"),
        Field("review", "When, and after which events"),
        Field("review-by", "The last day for it"),
    ),
    "Who answers what nobody has answered": (
        Field("unanswered.name", "Name"),
        Field("unanswered.role", "Office"),
        Field("unanswered.day", "By which day", "such as 2026-11-30"),
    ),
}
_NUMBERS = ("probability", "value", "least", "most", "readers")
SCALE = {"strong": (0.05, 0.1, 0.2), "middle": (0.2, 0.3, 0.4), "weak": (0.4, 0.5, 0.6)}
"""A usual scale of an attempt: controls → by motives and means that are low, middle and high."""


def recipient(request: Request) -> Response:
    """Show the form."""
    desk = desk_of(request)
    stated = stated_context(desk.project)
    found = {} if stated is None else stated.model_dump(mode="json", by_alias=True, exclude_none=True)
    asked = {one.name: one for standard in standards() for one in standard.questions if is_asked(one)}
    first = dict.fromkeys(one.question for one in page_questions())
    given = {one["question"]: one["answer"] for one in found.get("answers", ())}
    return page(
        request,
        "recipient.html",
        "/sign",
        cards=CARDS,
        values=_flat(found),
        public=found.get("public", False),
        scale=SCALE,
        asked=[asked[name] for name in {**first, **asked} if name in asked],
        given=given,
        is_stated=stated is not None,
    )


def _flat(stated: dict[str, Any], path: str = "") -> dict[str, str]:
    """Return every value by its path."""
    found: dict[str, str] = {}
    for key, one in stated.items():
        words = ", ".join(one) if key == "purpose-columns" else str(one)
        found |= _flat(one, f"{path}{key}.") if isinstance(one, dict) else {f"{path}{key}": words}
    return found


def state(request: Request, sent: FormData) -> str:
    """Keep what is stated; all mistakes are named."""
    desk, stated = desk_of(request), dict[str, Any]()
    for field in (one for card in CARDS.values() for one in card):
        if value := text(sent, field.path).strip():
            part, _, key = field.path.rpartition(".")
            (stated.setdefault(part, {}) if part else stated)[key] = _number(value, field) if key in _NUMBERS else value
    if names := stated.get("purpose-columns"):
        stated["purpose-columns"] = [name.strip() for name in names.split(",") if name.strip()]
    # A list of choices always says something; alone it states no threshold.
    if {*stated.get("threshold", {})} <= {"quantity", "attempt", "attacker"}:
        stated.pop("threshold", None)
    if text(sent, "public"):
        stated["public"] = True
    answers = {name.removeprefix("answer:"): text(sent, name).strip() for name in sent if name.startswith("answer:")}
    author = stated.get("author", {})
    given = [{"question": name, "answer": words, **author} for name, words in answers.items() if words]
    if given and not author:
        raise PolicyError("author: is missing; who answers a question says name, office and day")
    stated |= {"answers": given} if given else {}
    context = checked(Context, stated)
    write_whole(desk.project.folder / RECIPIENT, json.dumps(stated, indent=2, ensure_ascii=False) + "\n", PRIVATE)
    return f"The internal report says from now on what follows for {context.recipient}."


def _number(value: str, field: Field) -> float | int:
    try:
        return float(value) if field.path.endswith(("probability", "value")) else int(value)
    except ValueError:
        raise PolicyError(f"{field.path}: must be a number") from None


def forget(request: Request, sent: FormData) -> str:
    """Take back what was stated."""
    (desk_of(request).project.folder / RECIPIENT).unlink(missing_ok=True)
    return "Nothing is stated of a recipient."


ROUTES = [
    Route("/sign/recipient", reading(recipient)),
    Route("/sign/recipient/state", answering(state), methods=["POST"]),
    Route("/sign/recipient/forget", answering(forget), methods=["POST"]),
]

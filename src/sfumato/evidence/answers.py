"""Three answers that data protection authorities ask for, of a release of any kind: by attacks that were played.

Where nothing was played the answer says so, why, and what would play it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sfumato.evaluation.attacks import CRITERIA
from sfumato.numbers import counted, percent

_Content = Mapping[str, Any]


class _Question(NamedTuple):
    """One of the three, which attacks are about it, what limits every answer, and what would play it."""

    asks: str
    attacks: tuple[str, ...]
    limits: tuple[str, ...]
    needs: str


QUESTIONS = {
    "singling out": _Question(
        "Can somebody pick out what is published of one person?",
        (*CRITERIA["singling out"], "known-items", "known-points", "scoring"),
        ("Who knows more about people than the attackers did may find more.",),
        "A person who tries would answer it, too: sfumato evidence task.",
    ),
    "linkability": _Question(
        "Can two publications about one person be joined?",
        (*CRITERIA["linkability"], "series"),
        ("Only what was named could be joined. What others hold about the same people was not.",),
        "Name what else was published of these people: --earlier RELEASE, or a list in TOML.",
    ),
    "inference": _Question(
        "Can somebody learn more about a person than the attacker knew?",
        (*CRITERIA["inference"], "sensitive-ratings"),
        ("Only columns that the policy calls sensitive were guessed. Another learner may guess better.",),
        "Name the columns that must stay hidden as sensitive, and give people who are not in the data: --control.",
    ),
    "membership": _Question(
        "Beside the three: can somebody tell that a person is in the data?",
        CRITERIA["membership"],
        (),
        "Give people who are not in the data: --control.",
    ),
}

_LACKING = {
    ("sets", "inference"): "no attack of this program guesses items that are not known; a learner trained on the sets "
    "would",
    ("traces", "inference"): "no attack of this program guesses where else somebody was; verify counts which share of "
    "those who fit has a sensitive value",
    ("private-marginals", "singling out"): "no row is of a person; the noise bounds what any attack tells of one",
    (
        "private-marginals",
        "inference",
    ): "the noise bounds what any attack tells of one person; what holds for everybody is what the counts are for",
}
"""Why this program has no attack for a question of a kind."""
_ONE = {
    "sets": "releases of sets are not joined with others",
    "ratings": "releases of ratings are not joined with others",
    "traces": "releases of traces are not joined with others",
    "private-marginals": "the ledger adds up what all releases of one data set spend; nothing else is joined",
    "private-sample": "the ledger adds up what all releases of one data set spend; nothing else is joined",
}
"""Why nothing is joined with a release of a kind."""


def answers_content(content: _Content) -> list[dict[str, Any]]:
    """Answer the three questions from what a report found.

    Parameters
    ----------
    content
        Of one edition: ``kind``, ``records``, ``attacks``, ``earlier``, and ``together`` where it is there.

    Returns
    -------
    list of dict
        For each question what it asks, a sentence that answers it, the attacks that were played with their figures,
        those that were not with the reason, what several publications tell together, and limits. *Membership* is a
        fourth one, where an attack of this program is about it.
    """
    found = [{"question": name, **_answer(name, question, content)} for name, question in QUESTIONS.items()]
    return [one for one in found if one["question"] != "membership" or one["is_played"] or one["unplayed"]]


def _answer(name: str, question: _Question, content: _Content) -> dict[str, Any]:
    results = [*_of_question(question, content), *(_of_earlier(content) if name == "linkability" else ())]
    played = [_played(one, source) for one, source in results if one["unplayed"] is None]
    unplayed = [{"attack": one["attack"], "why": one["unplayed"]} for one, _ in results if one["unplayed"] is not None]
    attacks = content["attacks"] or {"unplayed": {}}
    unplayed += [{"attack": one, "why": why} for one, why in attacks["unplayed"].items() if one in question.attacks]
    together = content.get("together") if name == "linkability" else None
    joined = [] if together is None else [one["sentence"] for one in together["findings"]]
    if together is not None and not joined:
        joined = [f"Of {counted(len(together['published']), 'publication')}, none together tell more than fewer do."]
    is_played = bool(played or joined)
    return {
        "asks": question.asks,
        "sentence": _sentence(played, joined) if is_played else _not_played(name, question, content, unplayed),
        "is_played": is_played,
        "attacks": [*dict.fromkeys(one["attack"] for one, source in results if not source)],
        "played": played,
        "joined": joined,
        "unplayed": unplayed,
        "limits": list(question.limits),
    }


def _of_question(question: _Question, content: _Content) -> Iterator[tuple[Mapping[str, Any], str]]:
    results = (content["attacks"] or {"results": ()})["results"]
    return ((one, "") for one in results if one["attack"].partition(":")[0] in question.attacks)


def _of_earlier(content: _Content) -> Iterator[tuple[Mapping[str, Any], str]]:
    for one in content["earlier"]:
        yield from ((result, f" with {one['release']}") for result in one.get("attacks", ()))


def _played(result: Mapping[str, Any], source: str) -> dict[str, Any]:
    success, control = result["success"], result.get("control")
    within = ", within what is promised" if result["succeeds"] and result["is_allowed"] else ""
    return {
        "attack": f"{result['attack']}{source}",
        "knows": result["knows"],
        "headline": f"{result['headline']}{within}",
        "succeeds": result["succeeds"] and not result["is_allowed"],
        "allowed": result["allowed"],
        "success": success if success["people"] else None,
        "control": control if control and control["people"] else None,
        "surest": _surest(result.get("curve")),
        "notes": list(result["notes"]),
    }


def _surest(curve: Mapping[str, Any] | None) -> str:
    """Say how often the attacker is right about the first of those of whom they are surest."""
    looks = [one for one in (curve or {"looks": ()})["looks"] if one["surest"] and one["inside"]["people"]]
    if not looks or curve is None:
        return ""
    first = looks[0]
    share, *ends = (percent(first["inside"][key], 3) for key in ("share", "low", "high"))
    bound = "" if curve["bound"] is None else f"; promised at most {percent(curve['bound'], 3)}"
    return f"surest {percent(first['surest'], 3)}: {share} ({' to '.join(ends)}){bound}"


def _sentence(played: Sequence[Mapping[str, Any]], joined: Sequence[str]) -> str:
    beating = [one["attack"] for one in played if one["headline"].startswith("succeeds")]
    beyond = [one["attack"] for one in played if one["succeeds"]]
    undecided = [one["attack"] for one in played if one["headline"].startswith("undecided")]
    if not played:
        return joined[0]
    many = counted(len(played), "attack")
    if not beating:
        found = f"None of {many} is known to do better than guessing" if undecided else f"None of {many} does better"
        found += "" if undecided else " than guessing"
    else:
        found = f"{len(beating)} of {many} {'does' if len(beating) == 1 else 'do'} better than guessing"
        found += f", beyond any promise: {_named(beyond)}" if beyond else ", all within what is promised"
    return f"{found}{f'; undecided: {_named(undecided)}' if undecided else ''}."


def _named(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _not_played(name: str, question: _Question, content: _Content, unplayed: Sequence[Mapping[str, str]]) -> str:
    """Say why nothing was played, and what would play it."""
    kind = content["kind"]["name"]
    reason = _LACKING.get((kind, name)) or (_ONE.get(kind) if name == "linkability" else None)
    if reason is not None:
        return f"Not played: {reason}."
    if content["records"]["original"] is None:
        return "Not played: who is right is known by the original alone. The steward plays it with --original."
    if content["attacks"] is None:
        return "Not played: attacks were left out. Leave out --no-attacks to play them."
    reasons = f" ({_named([one['why'] for one in unplayed])})" if unplayed else ""
    return f"Not played: nothing that this program has could be{reasons}. {question.needs}"

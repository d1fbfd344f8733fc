"""The first lines of the report, for a reader who reads nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.numbers import counted, percent
from sfumato.published.roles import named


def summary_of(content: Mapping[str, Any]) -> list[str]:
    """Return a few sentences: promises, risk, attacks, loss."""
    return [
        *_promises(content),
        *_unprotected(content.get("unprotected", ())),
        *_risk(content["risk"], content.get("repeated")),
        *_risk_of_people(content.get("people")),
        *_attacks(content["attacks"]),
        *_loss(content["losses"]),
    ]


def doubts_of(content: Mapping[str, Any]) -> bool:
    """Tell whether something in the report should keep a steward from signing at once."""
    attacks = content["attacks"] or {"results": []}
    beyond = any(not _settled(result) for result in attacks["results"])
    undecided = any(promise["outcome"] != "holds" for promise in content["promises"] if promise["meaning"])
    beyond = beyond or any(column["looks"] for column in content.get("unprotected", ()))
    return beyond or undecided or bool(content.get("repeated")) or any(_beats(one) for one in content["earlier"])


def _beats(earlier: Mapping[str, Any]) -> bool:
    return not earlier["holds"] or any(
        result["succeeds"] or _undecided(result) for result in earlier.get("attacks", ())
    )


def _settled(result: Mapping[str, Any]) -> bool:
    """Tell whether an attack does no better than guessing, is within what is promised, or was not played."""
    return result["is_allowed"] or not (result["succeeds"] or _undecided(result))


def _undecided(result: Mapping[str, Any]) -> bool:
    return result["verdict"] == "undecided" and result["unplayed"] is None


def _promises(content: Mapping[str, Any]) -> list[str]:
    models = [promise for promise in content["promises"] if promise["meaning"]]
    if not models:
        return ["This release promises no privacy model."]
    holding, source = [promise for promise in models if promise["outcome"] == "holds"], content["recounted_from"]
    if len(holding) == len(models):
        return [f"Every promise holds, recounted from {source}: {_listed(holding)}."]
    return [
        f"{len(holding)} of {counted(len(models), 'promise')} hold, recounted from {source}; the others "
        "cannot be decided from it."
    ]


def _unprotected(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which columns no promise speaks of."""
    if not columns:
        return []
    looking = f" {counted(sum(bool(column['looks']) for column in columns), 'column')}"
    doubtful = f" Of these,{looking} may identify people; see below." if any(one["looks"] for one in columns) else ""
    return [f"No promise protects {named(column['name'] for column in columns)}: published as they are.{doubtful}"]


def _listed(promises: list[Mapping[str, Any]]) -> str:
    return "; ".join(promise["promise"] for promise in promises)


def _risk(risk: Mapping[str, Any] | None, repeated: str | None) -> list[str]:
    if not risk or "after" not in risk:
        return [repeated] if repeated else []
    highest = percent(risk["after"]["highest"], 3)
    who = "If every record is another person, one who" if repeated else "A person who"
    after = f"{who} is known to be in the table is found with a chance of {highest} at most"
    if "before" not in risk:
        told = f"{after}, {percent(risk['after']['average'], 3)} on average."
    else:
        told = (
            f"{after} ({percent(risk['before']['highest'], 3)} before), {percent(risk['after']['average'], 3)} on "
            f"average ({percent(risk['before']['average'], 3)} before)."
        )
    return [told, repeated] if repeated else [told]


def _risk_of_people(people: Mapping[str, Any] | None) -> list[str]:
    if people is None:
        return []
    if not people:
        return ["The risk of people is not counted: they may have several records, and who is who is not published."]
    highest, average = percent(people["highest"], 3), percent(people["average"], 3)
    return [
        f"A person who is known to be in the table is found with a chance of {highest} at most, {average} on average."
    ]


def _attacks(attacks: Mapping[str, Any] | None) -> list[str]:
    if not attacks:
        return ["No attack was played."]
    results = [result for result in attacks["results"] if result["unplayed"] is None]
    told = counted(len(results), "attack")
    undecided = [result for result in results if _undecided(result)]
    doubt = f"; too few people to tell: {_names(undecided)}" if undecided else ""
    beating = [result for result in results if result["succeeds"]]
    if not beating:
        return [
            f"None of {told} is known to do better than guessing{doubt}."
            if undecided
            else f"None of {told} does better than guessing."
        ]
    beyond = [result for result in beating if not result["is_allowed"]]
    more = f"; not within any promise: {_names(beyond)}" if beyond else ", all within what is promised"
    return [f"{len(beating)} of {told} do better than guessing{more}{doubt}."]


def _names(results: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(result["attack"] for result in results))


def _loss(losses: Mapping[str, Any] | None) -> list[str]:
    return [f"{percent(losses['normalized_ncp'], 3)} of the information was lost."] if losses else []

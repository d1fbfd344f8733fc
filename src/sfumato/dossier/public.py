"""The edition for others: no figure that was counted on the original, and no small count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASKED = 10
"""Counts below this are masked."""
REPEATED = "People may have several records: a column of the original repeats. Promises and risks count records here."


def public_edition(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be given to others.

    Left out: risks, losses, answers, subgroups and what was decided on the way, which were measured on the original. An
    attacker who knows all records but one could try every value for that one and see which gives the same figures. Of
    attacks, only the verdict is kept. What remains can be computed from the release, or is not a figure of the data.
    """
    return {
        **content,
        "records": {"original": None, "published": _masked(content["records"]["published"])},
        "columns": [{**column, "distinct": None} for column in content["columns"]],
        "unprotected": [{**column, "looks": None} for column in content.get("unprotected", ())],
        "risk": _published_risk(content["risk"]),
        **_attested(content),
        **({"repeated": REPEATED} if "repeated" in content else {}),
        "attacks": _verdicts(content["attacks"]),
        "losses": None,
        "bound": None,
        "utility": None,
        "described": [],
        "suppression": _published_suppression(content["suppression"]),
        "earlier": [{key: one[key] for key in ("release", "holds")} for one in content["earlier"]],
        "policy": content["published_policy"],
        "decisions": [],
    }


def _attested(content: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what was counted of people, who are not in the published table."""
    if "people" not in content:
        return {}
    return {"people": {}, "promises": [{**promise, "achieved": []} for promise in content["promises"]]}


def _published_risk(risk: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Keep the risks that any recipient can count."""
    if not risk or "after" not in risk:
        return None
    after = {**risk["after"], "unique": _masked(risk["after"]["unique"]), "above": []}
    after["above"] = [{**one, "records": _masked(one["records"])} for one in risk["after"]["above"]]
    return {"after": after}


def _verdicts(attacks: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not attacks:
        return None
    kept = ("attack", "counts", "knows", "goal", "verdict", "succeeds", "is_allowed", "helps", "unplayed")
    results = [{key: result[key] for key in kept if key in result} for result in attacks["results"]]
    return {"kind": attacks["kind"], "control": None, "results": results, "unplayed": dict(attacks["unplayed"])}


def _published_suppression(suppression: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if suppression is None else {"attributes": dict(suppression["attributes"]), "subgroups": []}


def _masked(number: int) -> int | str:
    return number if number == 0 or number >= MASKED else f"fewer than {MASKED}"

"""What a report says of a release that is no table of records: keys as of a table, from what its kind finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.evaluation.attacks.of_kinds import Asked, FindsEvidence, KindEvidence
from sfumato.evidence.content import LIMITS, ReportOptions, attacks_content, promises_content, refuse_broken
from sfumato.policy.entries import checked
from sfumato.policy.file import read_policy
from sfumato.policy.parts import Context
from sfumato.published.checks.generalized import Verification
from sfumato.registry import OWN_KINDS, loaded
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.description import build_own_model, own_kind, versions
from sfumato.release.own_kinds import OwnDescription, OwnKind
from sfumato.release.transaction import MARK
from sfumato.release.verify import mark_of, verify

_MEANINGS = {
    "sets": "a set of items for each person, in random order; items are made coarser or left out",
    "ratings": "what people rated, a record for each person in random order; ratings are moved or left out",
    "traces": "where people were and when, a trace for each person in random order; places and times are made coarser, "
    "and points are left out",
    "private-marginals": "counts of people with noise, and perhaps records that were drawn from them",
    "private-sample": "generalized records of a random sample of the people; groups that are too small are left out",
}
_PROMISES = {
    "km-anonymity": "Whoever knows {m} items of a person, or fewer, finds {k} records at least that hold them.",
    "rating-anonymity": "Whoever knows, to within {epsilon:g}, how a person rated finds {k} records at least that fit.",
    "trace-privacy": "Whoever knows {l} published points of a person, or fewer, finds {k} people at least with them.",
    "differential-privacy": "Whether any one person is in the table changes no odds by more than e^{epsilon:g}.",
}
_NUMBERS = ("record", "trace", "count", "noisy")
"""Columns that number records or count people."""


@dataclass(frozen=True, eq=False, repr=False)
class OwnSubject:
    """A release folder of a kind of its own, opened and recounted.

    `policy`: the steward's, as plain values, without what it says of the recipient; None where it says no more.
    """

    folder: Path
    kind: OwnKind[Any, Any]
    description: OwnDescription[Any]
    published: Any
    verification: Verification
    own: PublishedPolicy
    policy: Mapping[str, Any] | None
    context: Context | None


def is_own(release: object) -> bool:
    """Tell whether a release is a folder that holds no table of records."""
    folder = Path(release) if isinstance(release, str | Path) else None
    return folder is not None and (folder / MARK).is_file() and own_kind(mark_of(folder)) is not None


def own_subject(folder: Path, policy: Path | None) -> OwnSubject:
    """Open and recount a release; `policy`: a file of the steward's, which may say no more than for whom it is.

    Raises ``VerificationError`` when it breaks a promise or was changed; ``PolicyError`` for mistakes in the policy.
    """
    verification = verify(folder)
    refuse_broken(verification)
    mark = mark_of(folder)
    kind: OwnKind[Any, Any] = OWN_KINDS[own_kind(mark) or ""]
    description, tables = kind.read_folder(folder, mark)
    said = {} if policy is None else read_policy(policy)
    stated = said.pop("context", None)
    context = None if stated is None else checked(Context, stated)
    own = PublishedPolicy.of_folder(folder)
    return OwnSubject(
        folder, kind, description, kind.assemble(tables, description), verification, own, said or None, context
    )


def own_content(subject: OwnSubject, original: Any, wishes: ReportOptions) -> dict[str, Any]:
    """Measure everything that the kind can, and return it as plain values; keys as of a table."""
    kind, said = subject.kind, subject.policy or subject.own.content
    found = _found(subject, original, said, wishes)
    built = [build_own_model(kind.model, entry) for entry in subject.description.models]
    words = {
        model.name: _PROMISES[model.name].format(**model.parameters())
        for model in built
        if model is not None and model.name in _PROMISES
    }
    stated = (
        said
        if subject.context is None
        else {"purpose": subject.context.purpose, "recipient": subject.context.recipient}
    )
    limits = [*(loaded(kind.release).limits if kind.release else ()), *LIMITS[1:]]
    results = () if found is None else found.results
    return {
        "made": datetime.now(UTC).date().isoformat(),
        "purpose": stated.get("purpose"),
        "recipient": stated.get("recipient"),
        "kind": {"name": kind.name, "meaning": _MEANINGS.get(kind.name, kind.name)},
        "records": {"original": None if found is None else found.original, "published": subject.verification.records},
        "columns": _columns(subject),
        "others": None,
        "unprotected": [],
        "promises": promises_content(subject.verification, words),
        "uncovered": [str(each) for each in subject.verification.uncovered],
        "recounted_from": "the published data",
        "risk": None,
        **_known(found),
        "attacks": None
        if found is None or not wishes.attacks
        else attacks_content(kind.name, results, found.unplayed, found.original, found.control),
        "losses": None,
        "figures": {} if found is None else dict(found.figures),
        "bound": None,
        "utility": None,
        "described": [],
        "suppression": None,
        "earlier": [],
        "limits": [*limits, *(found.notes if found else ())],
        "published_limits": limits,
        "files": {entry.file: entry.sha256 for entry in subject.description.facts.values()},
        "versions": versions(),
        "policy": subject.own.text or "",
        "published_policy": subject.own.text or "",
        "decisions": [decision.to_dict() for decision in wishes.decisions],
    }


def _found(subject: OwnSubject, original: Any, policy: Mapping[str, Any], wishes: ReportOptions) -> KindEvidence | None:
    """Ask the kind; None without an original, or where it has no attacks and no figures."""
    if original is None or not subject.kind.evidence:
        return None
    wishes.progress("attacks", 4, 5)
    find: FindsEvidence = loaded(subject.kind.evidence)
    asked = Asked(original, policy, bool(wishes.attacks), wishes.seed, wishes.threads, wishes.progress)
    return find(subject.published, asked)


def _known(found: KindEvidence | None) -> dict[str, Any]:
    """Say how surely whoever knows what the promise speaks of finds a person: as it bounds it, and on average."""
    within = [one for one in (found.results if found else ()) if one.allowed is not None and one.success.people]
    if not within:
        return {}
    best = max(within, key=lambda one: one.success.share)
    return {"known": {"knows": best.knows, "highest": best.allowed, "average": best.success.share}}


def _columns(subject: OwnSubject) -> list[dict[str, Any]]:
    """List what is published; a column that numbers records is none."""
    sensitive = getattr(subject.published, "sensitive", ())
    hidden = {sensitive} if isinstance(sensitive, str) else {*(sensitive if isinstance(sensitive, tuple) else ())}
    names = [name for entry in subject.description.facts.values() for name in entry.columns if name not in _NUMBERS]
    treatment = _MEANINGS.get(subject.kind.name, "").rpartition("; ")[2]
    return [
        {
            "name": name,
            "role": "sensitive" if name in hidden else "quasi-identifying",
            "treatment": "its link to a person is bounded as promised" if name in hidden else treatment,
            **dict.fromkeys(("kind", "distinct", "levels")),
        }
        for name in dict.fromkeys(names)
    ]

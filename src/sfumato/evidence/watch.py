"""What was decided when, over versions of a policy; and what must be looked at again, and when."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.numbers import counted
from sfumato.policy.file import read_policy
from sfumato.policy.parts import Context
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole


@dataclass(frozen=True)
class Decision:
    """One change of the setup."""

    made: str  # when, in UTC
    change: str  # what was changed, in words
    unique: int | None = None  # records of the original that were alone with their quasi-identifying values afterwards
    loss: float | None = None  # of the release that was made then, as a share
    by: str | None = None  # who decided it
    why: str | None = None
    settings: Mapping[str, str] | None = None  # of the whole policy, each by its path

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the settings that stand."""
        return {key: value for key, value in asdict(self).items() if key != "settings"}


def read_decisions(path: Path) -> list[Decision]:
    """Read decisions from a JSON file: a list of objects with ``made``, ``change`` and, if known, ``unique``, ``loss``.

    Raises ``InputError`` when it is something else.
    """
    try:
        content = json.loads(read_regular_text(path))
        found = [Decision(**entry) for entry in content]
    except (OSError, ValueError, TypeError):
        found = None
    if found is None or not all(map(_is_one, found)):
        raise InputError(f"{path}: is no list of decisions with made, change, unique and loss")
    return found


def _is_one(decision: Decision) -> bool:
    return (
        isinstance(decision.made, str)
        and isinstance(decision.change, str)
        and (decision.unique is None or type(decision.unique) is int)
        and (decision.loss is None or type(decision.loss) in (int, float))
        and all(isinstance(text, str | None) for text in (decision.by, decision.why))
        and isinstance(decision.settings, dict | None)
    )


def log_decision(policy: Path, log: Path, by: str, why: str) -> str:
    """Add to a log what changed in a policy since its last version there; return the sentence that was written.

    Parameters
    ----------
    policy
        The policy of a release of any kind.
    log
        JSON for ``sfumato evidence write --decisions``; begun where it is not there.
    by, why
        Who decided it, and for which reason.

    Raises
    ------
    PolicyError
        When nobody is named, no reason is given, or nothing was changed.
    InputError
        When the log is none, or cannot be written.
    """
    missing = [f"{name}: is missing" for name, text in (("by", by), ("why", why)) if not text.strip()]
    if missing:
        raise PolicyError(*missing)
    decided = read_decisions(log) if log.exists() else []
    settings = _flat(read_policy(policy))
    before = _last_settings(decided)
    change = "first version" if before is None else "; ".join(_changes(before, settings))
    if not change:
        raise PolicyError(f"{policy}: is the last version of {log.name}; nothing was changed since")
    made = datetime.now(UTC).isoformat(timespec="seconds")
    decided.append(Decision(made, change, by=by.strip(), why=why.strip(), settings=settings))
    try:
        write_whole(log, json.dumps([asdict(one) for one in decided], indent=2, ensure_ascii=False) + "\n", PRIVATE)
    except OSError as error:
        raise InputError(f"{log}: cannot be written ({error.strerror})") from None
    return f"{made}, {by.strip()}: {change}."


def log_problem(decided: list[Decision], policy: Path | None) -> str | None:
    """Say that a policy was changed after the last version of a log; None where it was not, or nobody can tell."""
    last = _last_settings(decided)
    if policy is None or last is None or last == _flat(read_policy(policy)):
        return None
    return (
        f"--decisions: {policy} was changed after the last entry; log it: sfumato evidence log {policy} --to LOG "
        "--by NAME --why REASON"
    )


def _last_settings(decided: list[Decision]) -> Mapping[str, str] | None:
    return next((one.settings for one in reversed(decided) if one.settings is not None), None)


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Return every setting by its path, as text."""
    if isinstance(value, Mapping):
        pairs = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        pairs = [(str(place), one) for place, one in enumerate(value, 1)]
    else:
        return {path: json.dumps(value, ensure_ascii=False, default=str)}
    found: dict[str, str] = {} if pairs or not path else {path: "{}"}
    for key, one in pairs:
        found |= _flat(one, f"{path}.{key}" if path else key)
    return found


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for path in dict.fromkeys((*before, *after)):
        if path not in after:
            yield f"{path} was taken away ({before[path]})"
        elif path not in before:
            yield f"{path} = {after[path]} is new"
        elif before[path] != after[path]:
            yield f"{path} from {before[path]} to {after[path]}"


def review_content(context: Context | None, content: Mapping[str, Any]) -> dict[str, Any]:
    """Say after which events, and on which day, the evidence must be made again.

    Parameters
    ----------
    context
        What the steward states of the recipient; None where there is nothing.
    content
        Of one edition: ``made``, ``earlier`` and, where they were joined, ``together``.

    Returns
    -------
    dict
        The day, whether it has passed, what the steward says of it in words, and each event with what is known of it
        today and what is then to be done.
    """
    day = None if context is None else context.review_by
    named = len(content["earlier"]) + max(0, len((content.get("together") or {"published": ()})["published"]) - 1)
    held = "nobody said what they hold" if context is None else f"stated: {context.other_data}"
    recipient = "nobody is named" if context is None else f"this page speaks of {context.recipient} alone"
    return {
        "day": day,
        "is_due": day is not None and day <= content["made"],
        "words": None if context is None else context.review,
        "events": [
            _event(
                "Another release, or a table of counts, of these people",
                f"{counted(named, 'other publication')} named" if named else "none was named",
                "Before it is published, play both: sfumato evidence write RELEASE --earlier OTHER.",
            ),
            _event(
                "A new register, or another file that the recipient may hold",
                held,
                "State it in other-data, and weigh the attempt again.",
            ),
            _event(
                "Another recipient, purpose, contract or access",
                recipient,
                "Write another policy for the same folder: sfumato evidence init. The verdict may change.",
            ),
            _event(
                "Somebody was found, or the file got into other hands",
                "nothing is known",
                "Take the signature back: sfumato sign RELEASE --key KEY --revoke FILE. Tell who answers.",
            ),
            _event(
                "A new version of this program", f"made with the attacks of {content['made']}", "Make this page again."
            ),
        ],
    }


def _event(event: str, today: str, then: str) -> dict[str, str]:
    return {"event": event, "today": today, "then": then}

"""Who gets a release: risk for a named recipient, what was decided, and what must be looked at again, and when.

Risk is what was counted, times what the steward's policy assumes, beside the usual thresholds. A threshold is compared
with the quantity that it was made for, and with nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.risk.adversaries import THRESHOLDS, TOLERANCE
from sfumato.numbers import counted, percent
from sfumato.policy.file import read_policy
from sfumato.policy.parts import WAYS, Context
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

PUBLIC = "everybody may have it: an attempt is certain"
_RECORDS = (
    "Every record was counted as a person of its own. Whoever has several is found more easily than is said here."
)
_DIGITS = 3
_MARGIN = 1.05


@dataclass(frozen=True)
class MadeFor:
    """A threshold, the quantity that it was made for, and whose recipients it speaks of."""

    name: str
    value: float
    quantity: Literal["maximum", "average"]  # of the person most at risk, or of everybody
    attempt: Literal["with", "without"]  # whether success is multiplied with the probability of an attempt
    speaks_of: Literal["public", "named", "own"]
    source: str
    most: float | None = None  # success that nobody may exceed, where an average is compared
    view: Literal["prosecutor", "journalist"] = "prosecutor"

    def words(self) -> str:
        """Say what it is compared with."""
        who = "of the person most at risk" if self.quantity == "maximum" else "on average"
        strict = "" if self.most is None else f"; nobody's success above {percent(self.most, _DIGITS)}"
        journalist = ", by a journalist" if self.view == "journalist" else ""
        return f"{who}, {self.attempt} the attempt{journalist}{strict}"


_USUAL = (
    MadeFor("0.09", 0.09, "maximum", "without", "public", f"{THRESHOLDS['ema'].source}; Health Canada, 2019"),
    MadeFor("0.2", 0.2, "maximum", "without", "named", THRESHOLDS["five"].source),
    MadeFor(
        "0.05",
        0.05,
        "average",
        "with",
        "named",
        "Information and Privacy Commissioner of Ontario, De-identification Guidelines for Structured Data, 2016; "
        "steps 3 to 6: the strict average, where an invasion of privacy would be grave",
        0.33,
    ),
)


def context_content(context: Context, content: Mapping[str, Any]) -> dict[str, Any]:
    """Multiply what a report counted with what is assumed of a recipient, and compare it with each threshold.

    Parameters
    ----------
    context
        The section of the steward's policy.
    content
        Of the report: ``risk``, ``people``, ``repeated`` and ``attacks``. Every figure comes from there.

    Returns
    -------
    dict
        Plain values: recipient, assumptions, success without an attempt, products, thresholds, verdict.
    """
    chances = {name: one.probability for name, one in context.assumptions().items()} or {"public": 1.0}
    found, reason = _success(content)
    after = [] if reason else [one for one in found if one["stage"] == "after"]
    known = _worst(after, "prosecutor")
    likeliest = max(chances, key=lambda name: chances[name])
    thresholds = [_compared(one, _worst(after, one.view), chances[likeliest]) for one in _thresholds(context)]
    decided_by = _worst(after, context.threshold.attacker) if context.threshold else known
    attacks = list(_attack_products(content.get("attacks"), chances[likeliest]))
    verdict = _verdict(thresholds, context, decided_by or known, reason, (likeliest, chances[likeliest]))
    decisive = next(one for one in thresholds if one["name"] == verdict["threshold"])
    verdict["sentences"] += _attacks_above(attacks, decisive, chances[likeliest])
    return {
        **context.model_dump(include={"recipient", "purpose", "public", "other_data"}),
        "population": None if context.population is None else context.population.model_dump(),
        "controls": None if context.controls is None else context.controls.model_dump(),
        "ways": {
            name: {
                "meaning": WAYS.get(name, PUBLIC),
                "probability": chance,
                **({} if context.public else context.assumptions()[name].model_dump(include={"owner", "source"})),
            }
            for name, chance in chances.items()
        },
        "answerable": list(_answerable(context)),
        "owners": _owned(context),
        "success": found,
        "products": [
            {**one, "way": name, **{key: one[key] * chance for key in ("maximum", "average")}}
            for name, chance in chances.items()
            for one in found
        ],
        "attacks": attacks,
        "thresholds": thresholds,
        "verdict": verdict,
    }


def _answerable(context: Context) -> Iterator[str]:
    """Say who stands for what, beside the assumptions."""
    if context.author is not None:
        yield f"{context.author.name}, {context.author.role}: what is said of the recipient, on {context.author.day}."
    if context.threshold is not None:
        yield f"{context.threshold.owner}: the threshold of {percent(context.threshold.value, _DIGITS)}."
    people = dict.fromkeys(f"{one.name}, {one.role}" for one in context.answers)
    yield from (f"{one}: answers to what standards ask; the annex has them." for one in people)


def _owned(context: Context) -> dict[str, list[str]]:
    """Return which assumptions each owner states."""
    found: dict[str, list[str]] = {}
    for name, one in context.assumptions().items():
        found.setdefault(one.owner, []).append(f"{name}, {percent(one.probability, _DIGITS)}")
    return found


def _worst(success: list[dict[str, Any]], view: str) -> dict[str, Any] | None:
    """Return the figures of an attacker; of a population with two ends, those of the end with the higher risks."""
    found = [one for one in success if one["view"] == view]
    return {**found[0], **{key: max(one[key] for one in found) for key in ("maximum", "average")}} if found else None


def _success(content: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Return how likely an attempt succeeds, and why the figures decide nothing, where they do not."""
    people, risk = content.get("people"), content.get("risk") or {}
    people = content.get("known", people)
    if people is not None:
        if not people:
            return [], "people may have several records, and who is who is not known here"
        return [{**_of_view("prosecutor", "after", people), "counts": "people"}], ""
    found = [
        _of_view(view, stage, figures)
        for stage in ("before", "after")
        for view, figures in (
            ("prosecutor", risk.get(stage)),
            ("journalist", (risk.get(stage) or {}).get("journalist")),
        )
        if figures
    ]
    found += [
        {**_of_view("journalist", stage, figures), "population": figures["people"]}
        for stage in ("before", "after")
        for figures in (risk.get(stage) or {}).get("population", ())
    ]
    if "after" not in risk:
        return found, "its records cannot be grouped by what is published of them; look at the attacks"
    return found, "records were counted, and people may have several" if "repeated" in content else ""


def _of_view(view: str, stage: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    maximum, average = figures["highest"], figures["average"]
    return {"view": view, "stage": stage, "counts": "records", "maximum": maximum, "average": average}


def _attack_products(attacks: Mapping[str, Any] | None, chance: float) -> Iterator[dict[str, Any]]:
    """Yield the success of each attack that was played, and the product with the likeliest way to an attempt."""
    for result in (attacks or {}).get("results", ()):
        success = result.get("success")
        if result.get("unplayed") is None and success and success["people"]:
            figures = {key: success[key] for key in ("share", "low", "high")}
            product = {f"{key}_with_attempt": value * chance for key, value in figures.items()}
            yield {"attack": result["attack"], "verdict": result["verdict"], **figures, **product}


def _attacks_above(attacks: Sequence[Mapping[str, Any]], decisive: Mapping[str, Any], chance: float) -> Iterator[str]:
    """Say which attacks that succeed lie above the threshold that decides, though it does not speak of them."""
    found: dict[str, float] = {}
    for one in attacks:
        if one["verdict"] == "succeeds" and one["share_with_attempt"] > decisive["value"]:
            found[one["attack"]] = max(found.get(one["attack"], 0.0), one["share_with_attempt"])
    if found:
        listed = ", ".join(f"{name} {percent(share, _DIGITS)}" for name, share in found.items())
        times = "" if chance == 1 else f", times the likeliest chance of {percent(chance, _DIGITS)},"
        yield f"Attacks that succeed{times} lie above the threshold: {listed}."
        yield "The threshold does not speak of these attacks."


def _thresholds(context: Context) -> Iterator[MadeFor]:
    own = context.threshold
    if own is not None:
        yield MadeFor(
            "own",
            own.value,
            own.quantity,
            own.attempt,
            "own",
            f"{own.source}; {own.owner}, for {context.recipient}",
            view=own.attacker,
        )
    yield from _USUAL


def _compared(threshold: MadeFor, success: Mapping[str, Any] | None, chance: float) -> dict[str, Any]:
    """Compare the one quantity that a threshold was made for; None where it was not counted."""
    alone = None if success is None else success[threshold.quantity]
    multiplied = threshold.attempt == "with"
    figure = alone if alone is None or not multiplied else alone * chance
    limits = ((figure, threshold.value), (None if success is None else success["maximum"], threshold.most))
    above = any(one is not None and limit is not None and one > limit + TOLERANCE for one, limit in limits)
    outcome = "not counted" if figure is None else "exceeded" if above else "kept"
    return {
        **vars(threshold),
        "compared_with": threshold.words(),
        "figure": figure,
        "success": alone,
        "outcome": outcome,
        "largest_attempt": min(1.0, threshold.value / alone) if multiplied and alone else None,
    }


def _verdict(
    thresholds: list[dict[str, Any]],
    context: Context,
    success: Mapping[str, Any] | None,
    reason: str,
    likeliest: tuple[str, float],
) -> dict[str, Any]:
    """Decide by the person most at risk: by the steward's own threshold, else by the usual one for such a recipient."""
    way, chance = likeliest
    kinds = ("own", "public" if context.public else "named")
    decisive = next(
        one for kind in kinds for one in thresholds if (one["speaks_of"], one["quantity"]) == (kind, "maximum")
    )
    name = shorten(context.recipient, 80, placeholder=" …")
    if success is None:
        sentence = f"For {name}, the risk is not decided: {reason}."
        return {"outcome": "not counted", "threshold": decisive["name"], "sentences": [sentence]}
    most = percent(success["maximum"], _DIGITS)
    words = f"{'keeps to' if decisive['outcome'] == 'kept' else 'exceeds'} {percent(decisive['value'], _DIGITS)}"
    who = "A journalist who tries" if success["view"] == "journalist" else "Whoever tries"
    sentences = [
        f"For {name}, the risk {words} ({decisive['compared_with']}).",
        f"{who} finds the person most at risk with a chance of {most}."
        + (
            ""
            if context.public
            else f" The likeliest way to that, {way}, is assumed at {percent(chance, _DIGITS)}. The product is "
            f"{percent(success['maximum'] * chance, _DIGITS)}; the ways are not added up."
        ),
    ]
    return {
        "outcome": decisive["outcome"],
        "threshold": decisive["name"],
        "sentences": [
            *sentences,
            *_rests(decisive, chance),
            *_of_population(context),
            *([_RECORDS] if success["counts"] == "records" else []),
        ],
    }


def _of_population(context: Context) -> Iterator[str]:
    """Say that risks were estimated at both ends of a population."""
    if context.population is not None:
        least, most = (f"{getattr(context.population, end):,}" for end in ("least", "most"))
        is_compared = context.threshold is not None and context.threshold.attacker == "journalist"
        said = (
            "the higher one is compared" if is_compared else "they stand beside, and no threshold is compared with them"
        )
        yield f"A journalist's risks are estimated for {least} and for {most} people; {said}."


def _rests(decisive: Mapping[str, Any], chance: float) -> Iterator[str]:
    """Say on how small an attempt the verdict rests."""
    largest = decisive["largest_attempt"]
    if largest is None:
        yield "This verdict rests on no assumption of how likely an attempt is."
    elif largest >= 1 - TOLERANCE:
        yield "The threshold would be kept even if somebody surely tries."
    else:
        margin = "The verdict has no margin. " if chance <= largest < _MARGIN * chance else ""
        yield (
            f"{margin}The threshold is kept only while an attempt is at most {percent(largest, _DIGITS)} likely; "
            f"assumed is {percent(chance, _DIGITS)}. If somebody surely tries, it is exceeded."
        )


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
    old, new = ({path.partition(".")[0] for path in one} for one in (before, after))
    yield from (f"the section {name} is new" for name in sorted(new - old) if name not in after)
    for path in dict.fromkeys((*before, *after)):
        section = path.partition(".")[0]
        if section not in old and section not in after:
            continue
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

"""Who gets a release: risk for a named recipient, what was decided, and what must be looked at again, and when.

Risk is what was counted, times what the steward's policy assumes, beside the usual thresholds. A threshold is compared
with the quantity that it was made for, and with nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from math import prod
from pathlib import Path
from string import ascii_lowercase
from textwrap import shorten
from typing import Any, Literal

from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.risk.adversaries import THRESHOLDS, TOLERANCE
from sfumato.numbers import counted, percent
from sfumato.policy.file import read_policy
from sfumato.policy.parts import WAYS, Assumption, Context
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

PUBLIC = "everybody may have it: an attempt is certain"
_RECORDS = (
    "Every record was counted as a person of its own. Whoever has several is found more easily than is said here. "
    "Nobody named a column that says who people are (columns.person)."
)
ESTIMATED = "A journalist's risks are estimated"
BY_SIGHT = ("linkage", "nearest-linkage")
"""Attacks that somebody may carry out without meaning to, by seeing a record that fits. All others take intent."""
KNOWS = "somebody who knows the quasi-identifying columns and no others"
_LOOK = "; look at the attacks"
# Why people who look alike are not counted, by the kind of release.
_GROUPLESS = {
    "sliced-table": f"a row is not a person, so that nobody's chance to be found is counted{_LOOK}",
    "marginal-tables": f"no row is of a person, so that nobody's chance to be found is counted{_LOOK}",
    "randomized-table": f"values were changed by chance, so that people who look alike are not counted{_LOOK}",
    "private-marginals": "differential privacy bounds what a release tells of a person, and no chance to find one"
    + _LOOK,
}
_DIGITS, _NAME = 3, 80
_MARGIN = 1.05
_AT_ONCE, _MINUTE = timedelta(hours=1), 60
_PUBLIC_THRESHOLD = "0.09"


def abridge(text: str, most: int) -> str:
    """Cut a long text between words, never inside parentheses, and show that something is left out."""
    if len(text) <= most:
        return text
    head = shorten(text, most, placeholder="")
    while head.count("(") > head.count(")"):
        head = head[: head.rindex("(")].rstrip()
    return f"{head} …"


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
        times = "times the chance of the likeliest way" if self.attempt == "with" else "if somebody tries"
        strict = "" if self.most is None else f"; nobody's success above {percent(self.most, _DIGITS)}"
        journalist = ", by a journalist" if self.view == "journalist" else ""
        return f"{who}, {times}{journalist}{strict}"


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
    chances = {name: _chance(context, one) for name, one in context.assumptions().items()} or {"public": 1.0}
    found, reason = _success(content)
    known_by = content.get("known")
    above = ((content.get("risk") or {}).get("after") or {"above": ()})["above"]
    after = [] if reason else [one for one in found if one["stage"] == "after"]
    known = _worst(after, "prosecutor")
    likeliest = max(chances, key=lambda name: chances[name])
    thresholds = [_compared(one, _worst(after, one.view), chances[likeliest]) for one in _thresholds(context)]
    decided_by = _worst(after, context.threshold.attacker) if context.threshold else known
    attacks = list(_attack_products(content.get("attacks"), chances))
    for one in thresholds:
        sure = one["view"] == "prosecutor" and not reason
        one["above"] = next((each for each in above if sure and _value(each) == round(one["value"], _DIGITS)), None)
    verdict = _verdict(
        thresholds,
        context,
        decided_by or known,
        reason,
        (likeliest, chances[likeliest]),
        content.get("one_each"),
        is_estimated=any("population" in one for one in found),
        tries=f" and knows no more than {known_by['knows']}" if known_by else "",
    )
    decisive = next(one for one in thresholds if one["name"] == verdict["threshold"])
    if verdict["outcome"] != "not counted":
        said, beside = verdict["sentences"], _exceeded_beside(thresholds, decisive)
        together, share = _together(decisive, chances), _share_above(decisive)
        verdict["sentences"] = [*said[:2], *together, " ".join([said[2], *share]), *said[3:], *beside]
    verdict["sentences"] += _attacks_above(attacks, decisive)
    return {
        **context.model_dump(include={"recipient", "purpose", "public", "other_data", "readers"}),
        "population": None if context.population is None else context.population.model_dump(),
        "controls": None if context.controls is None else context.controls.model_dump(),
        "ways": {
            name: {
                "meaning": WAYS.get(name, PUBLIC),
                "probability": chance,
                **({} if context.public else _stated(context, name)),
            }
            for name, chance in chances.items()
        },
        "knows": f"somebody who knows {known_by['knows']}, and no more" if known_by else KNOWS,
        "is_promised": bool(known_by),
        "answerable": list(answerable(context)),
        "owners": owned(context),
        "success": found,
        "products": [
            {**one, "way": name, **{key: one[key] * chance for key in ("maximum", "average")}}
            for name, chance in chances.items()
            for one in found
        ],
        "attacks": attacks,
        "thresholds": thresholds,
        "verdict": verdict,
        "doubts": [*_doubts(context, decisive, chances), *_unjoined(context, content), *_early(context, content)],
    }


def _chance(context: Context, one: Assumption, *, of_one: bool = False) -> float:
    """Return how likely something is of any of those who open the file, each independent of the others."""
    is_joined = (of_one or one.of == "one") and context.readers
    return 1 - (1 - one.probability) ** context.readers if is_joined else one.probability  # type: ignore[operator]


def _stated(context: Context, way: str) -> dict[str, str]:
    """Say who states how likely a way is, and what it rests on; of several people also how likely it is of one."""
    one = context.assumptions()[way]
    each = f"; {chance_in_words(context, one)}" if one.of == "one" else ""
    return {"owner": one.owner, "source": f"{one.source}{each}"}


def chance_in_words(context: Context, one: Assumption) -> str:
    """Say how likely something is of all who open the file, and of each where that is what is stated."""
    alone = percent(one.probability, _DIGITS)
    if one.of != "one":
        return alone
    return f"{percent(_chance(context, one), _DIGITS)} for all together, {alone} for each of {context.readers}"


def _doubts(context: Context, decisive: Mapping[str, Any], chances: Mapping[str, float]) -> Iterator[str]:
    """Question a recognition of which nobody says whether it is of one of those who open the file, or of all."""
    one, readers = context.recognition, context.readers
    if one is None or one.of is not None or readers == 1:
        return
    stated = f"Recognition is assumed at {percent(one.probability, _DIGITS)}. Nobody says"
    if readers is None:
        yield f"{stated} how many people open the file (readers), and whether it is for one or for all of them (of)."
        return
    joint = _chance(context, one, of_one=True)
    figure, limit = decisive["success"], decisive["value"]
    if decisive["attempt"] == "with" and figure is not None:
        figure *= max(joint, *chances.values())
    outcome = "" if figure is None else f", and the threshold is {'exceeded' if figure > limit + TOLERANCE else 'kept'}"
    yield (
        f"{stated} whether for one of the {readers} who open the file, or for all (recognition.of). If for one, it is "
        f"{percent(joint, _DIGITS)} for all{outcome}."
    )


def _unjoined(context: Context, content: Mapping[str, Any]) -> Iterator[str]:
    """Say that no figure was made for what the recipient may hold, and which columns may stand there."""
    if not context.public:
        names = [one["name"] for one in content.get("columns", ()) if one["role"] in ("sensitive", "insensitive")]
        columns = (
            f" Other columns may stand there, too ({', '.join(names)}): no figure counts with that." if names else ""
        )
        yield f"What the recipient may hold was not joined with the release: {context.other_data}.{columns}"


def _early(context: Context, content: Mapping[str, Any]) -> Iterator[str]:
    """Name decisions about the release that are older than its figures."""
    made = content.get("made", "")
    early = [one for one in context.answers if one.question in _REST_ON_FIGURES and one.day < made]
    if early:
        listed = "; ".join(f"{one.question} ({one.name}, {one.day})" for one in early)
        yield f"Answered before the figures were made on {made}: {listed}."


def answerable(context: Context) -> Iterator[str]:
    """Say who stands for what, beside the assumptions."""
    if context.author is not None:
        by = context.author
        yield f"{by.name}, {by.role}: for what is said of the recipient, on {by.day}."
    if context.threshold is not None:
        own = context.threshold
        owner = f"{own.owner[:1].upper()}{own.owner[1:]}"
        yield f"{owner}: for the threshold of {percent(own.value, _DIGITS)} ({own.source})."
    people = dict.fromkeys(f"{one.name}, {one.role}" for one in context.answers)
    if people:
        yield f"Answers to what standards ask: {'; '.join(people)}."


def owned(context: Context) -> dict[str, list[str]]:
    """Return which assumptions each owner states."""
    found: dict[str, list[str]] = {}
    for name, one in context.assumptions().items():
        found.setdefault(one.owner, []).append(f"{name}, {chance_in_words(context, one)}")
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
        stages = {"before": people.get("before"), "after": people}
        return [
            {**_of_view("prosecutor", stage, figures), "counts": "people"}
            for stage, figures in stages.items()
            if figures
        ], ""
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
        return found, _GROUPLESS.get(content["kind"]["name"], f"it has no records of people who look alike{_LOOK}")
    asks = (
        "people have several records, and records were counted; name the column that says who they are (columns.person)"
    )
    return found, asks if "repeated" in content else ""


def _of_view(view: str, stage: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    maximum, average = figures["highest"], figures["average"]
    return {"view": view, "stage": stage, "counts": "records", "maximum": maximum, "average": average}


def _attack_products(attacks: Mapping[str, Any] | None, chances: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    """Yield the success of each attack that was played, and the product with each way that it belongs to."""
    for result in (attacks or {}).get("results", ()):
        success = result.get("basis") or result.get("success")
        name = f"{result['label']}, {success['who']}" if "who" in success else result["attack"]
        if success and success["people"]:
            figures = {key: success[key] for key in ("share", "low", "high")}
            ways = [name for name in chances if name != "recognition" or result["attack"] in BY_SIGHT]
            products = {name: {key: value * chances[name] for key, value in figures.items()} for name in ways}
            more = {"baseline": success["baseline"], "verdict": result["verdict"]}
            yield {"attack": name, **more, **figures, "products": products}


def _together(decisive: Mapping[str, Any], chances: Mapping[str, float]) -> Iterator[str]:
    """Say why the ways are not added up, and what they come to if they are independent of each other."""
    success = decisive["success"]
    if decisive["attempt"] == "with" and success is not None and len(chances) > 1:
        together = 1 - prod(1 - chance * success for chance in chances.values())
        is_above = together > decisive["value"] + TOLERANCE
        yield (
            "The ways are not added up: the usual method compares the likeliest one. "
            f"If each succeeded independently of the others, all would come to "
            f"{percent(together, _DIGITS)}, which is {'above' if is_above else 'not above'} the threshold."
        )


def _value(above: Mapping[str, Any]) -> float:
    return float(above["threshold"].split()[0])


def _share_above(decisive: Mapping[str, Any]) -> Iterator[str]:
    """Say how many people are found more easily than the threshold says, once somebody tries."""
    found, value = decisive["above"], percent(decisive["value"], _DIGITS)
    if found:
        records, share = found["records"], percent(found["share"], _DIGITS)
        count = f"{records:,} ({share})" if isinstance(records, int) else f"{records} ({share})"
        yield f"Once somebody tries, {count} of the records are found with a chance above {value}."


def _exceeded_beside(thresholds: Sequence[Mapping[str, Any]], decisive: Mapping[str, Any]) -> Iterator[str]:
    """Name thresholds that do not decide and are exceeded."""
    who = {"public": "the public", "named": "a named recipient", "own": "this recipient"}
    of = {"maximum": "of the person most at risk", "average": "on average"}
    found = [
        f"{percent(one['value'], _DIGITS)} for {who[one['speaks_of']]} ("
        + (
            f"{percent(one['figure'], _DIGITS)} {of[one['quantity']]})"
            if one["figure"] > one["value"]
            else f"somebody's success is above {percent(one['most'], _DIGITS)})"
        )
        for one in thresholds
        if one is not decisive and one["outcome"] == "exceeded"
    ]
    if found:
        yield f"Thresholds that do not decide, and are exceeded: {'; '.join(found)}."


def _attacks_above(attacks: Sequence[Mapping[str, Any]], decisive: Mapping[str, Any]) -> Iterator[str]:
    """Say which attacks lie above the threshold that decides, what guessing gives, and why they do not decide."""
    found: list[tuple[float, str]] = []
    for one in attacks:
        share, way = max((product["share"], way) for way, product in one["products"].items())
        guess = one["baseline"] * share / one["share"] if one["share"] else 0.0
        beside = f"({'' if way == 'public' else f'{way}; '}guessing {percent(guess, _DIGITS)})"
        if share > max(decisive["value"], guess):
            found.append((guess - share, f"{one['attack']} {percent(share, _DIGITS)} {beside}"))
    if found:
        times = "" if "public" in attacks[0]["products"] else ", times the chance of their own way,"
        yield (
            f"Attacks whose success{times} is above {percent(decisive['value'], _DIGITS)}: "
            f"{'; '.join(said for _, said in sorted(found))}. They do not "
            "decide: the threshold is for the counted chance to find a person, not for what attacks tell."
        )


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
        "largest_attempt": min(1.0, threshold.value / (alone or 1e-9)) if multiplied and alone is not None else None,
    }


def _verdict(
    thresholds: list[dict[str, Any]],
    context: Context,
    success: Mapping[str, Any] | None,
    reason: str,
    likeliest: tuple[str, float],
    one_each: str | None,
    *,
    is_estimated: bool,
    tries: str,
) -> dict[str, Any]:
    """Decide by the person most at risk: by the steward's own threshold, else by the usual one for such a recipient."""
    way, chance = likeliest
    kinds = ("own", "public" if context.public else "named")
    decisive = next(
        one for kind in kinds for one in thresholds if (one["speaks_of"], one["quantity"]) == (kind, "maximum")
    )
    whole = context.recipient
    name = whole if len(whole) <= _NAME else abridge(whole.partition(" (")[0], _NAME)
    if success is None:
        sentence = f"For {name}, the risk is not decided: {reason}."
        return {"outcome": "not counted", "threshold": decisive["name"], "sentences": [sentence]}
    most = percent(success["maximum"], _DIGITS)
    words = f"{'keeps to' if decisive['outcome'] == 'kept' else 'exceeds'} {percent(decisive['value'], _DIGITS)}"
    who = "A journalist who tries" if success["view"] == "journalist" else f"Whoever tries{tries}"
    sentences = [
        f"For {name}, the risk {words} ({decisive['compared_with']}).",
        f"{who} finds the person most at risk with a chance of {most}{', as promised' if tries else ''}."
        + (
            ""
            if context.public
            else f" The likeliest way to it, {way}, is assumed at {percent(chance, _DIGITS)}. The product is "
            f"{percent(success['maximum'] * chance, _DIGITS)}."
        ),
    ]
    return {
        "outcome": decisive["outcome"],
        "threshold": decisive["name"],
        "sentences": [
            *sentences,
            *_rests(decisive, chance),
            *(_of_population(context) if is_estimated else ()),
            *([one_each or _RECORDS] if success["counts"] == "records" else []),
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
        yield f"{ESTIMATED} for {least} and for {most} people; {said}."


def _rests(decisive: Mapping[str, Any], chance: float) -> Iterator[str]:
    """Say on how small an attempt the verdict rests."""
    largest = decisive["largest_attempt"]
    if largest is None:
        yield "This verdict rests on no assumption of how likely an attempt is."
    elif largest >= 1 - TOLERANCE:
        yield "The threshold would be kept even if somebody surely tries."
    else:
        passes = percent(decisive["value"] / max(chance, decisive["value"]), _DIGITS)
        margin = "The verdict has no margin. " if chance <= largest < _MARGIN * chance else ""
        yield (
            f"{margin}The threshold is kept only while no way to it is likelier than {percent(largest, _DIGITS)}; "
            f"assumed is {percent(chance, _DIGITS)}. With that chance it lets a success of {passes} pass. If somebody "
            "surely tries, it is exceeded."
        )


@dataclass(frozen=True)
class Decision:
    """One change of the setup."""

    made: str  # when it was recorded, in UTC, by the clock of that machine
    change: str  # what was changed, in words
    unique: int | None = None  # records of the original that were alone with their quasi-identifying values afterwards
    loss: float | None = None  # of the release that was made then, as a share
    by: str | None = None  # who decided it
    why: str | None = None
    settings: Mapping[str, str] | None = None  # of the whole policy, each by its path
    day: str | None = None  # on which it was decided, as whoever recorded it says

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
        and all(isinstance(text, str | None) for text in (decision.by, decision.why, decision.day))
        and isinstance(decision.settings, dict | None)
    )


def log_decision(policy: Path, log: Path, by: str, why: str, day: str | None = None) -> str:
    """Add to a log what changed in a policy since its last version there; return the sentence that was written.

    Parameters
    ----------
    policy
        The policy of a release of any kind.
    log
        JSON for ``sfumato evidence write --decisions``; begun where it is not there.
    by, why
        Who decided it, and for which reason.
    day
        On which day, ``YYYY-MM-DD``, where it was another than today.

    Raises
    ------
    PolicyError
        When nobody is named, no reason is given, the day is none or lies ahead, or nothing was changed.
    InputError
        When the log is none, or cannot be written.
    """
    missing = [f"{name}: is missing" for name, text in (("by", by), ("why", why)) if not text.strip()]
    made = datetime.now(UTC).isoformat(timespec="seconds")
    if day is not None and not (_is_day(day) and day <= made[: len(day)]):
        missing.append("on: must be a day until today, such as 2026-11-30")
    if missing:
        raise PolicyError(*missing)
    decided = read_decisions(log) if log.exists() else []
    settings = _flat(read_policy(policy))
    before = _last_settings(decided)
    change = "first version" if before is None else "; ".join(_changes(before, settings))
    if not change:
        raise PolicyError(f"{policy}: is the last version of {log.name}; nothing was changed since")
    decided.append(Decision(made, change, by=by.strip(), why=why.strip(), settings=settings, day=day))
    try:
        write_whole(log, json.dumps([asdict(one) for one in decided], indent=2, ensure_ascii=False) + "\n", PRIVATE)
    except OSError as error:
        raise InputError(f"{log}: cannot be written ({error.strerror})") from None
    return f"{made}, {by.strip()}: {change}."


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def log_in_words(decisions: Sequence[Mapping[str, Any]]) -> str:
    """Say where the times of a log come from, and whether it was written at once."""
    said = (
        "Recorded: when sfumato evidence log was called for that version of the policy, by the clock of that machine. "
        "Decided: the day as whoever recorded it says; without one nobody said it. Nobody proves either."
    )
    try:
        times = [datetime.fromisoformat(one["made"]) for one in decisions]
        span = max(times) - min(times)
    except (TypeError, ValueError):
        return said
    if len(times) > 1 and span < _AT_ONCE:
        seconds = int(span.total_seconds())
        within = counted(seconds, "second") if seconds < _MINUTE else counted(seconds // _MINUTE, "minute")
        said += (
            f" All {len(times)} versions were recorded within {within}. The log was written at once, and does not show "
            "when they were decided."
        )
    return said


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


OTHERS, FOUND = "iso-27559 9.2.4", "iso-27559 9.4"  # which other releases there are; what is done about a recognition
# Questions whose answers should know the figures.
_REST_ON_FIGURES = ("wp29 anonymous", "wp29 residual risk", "gdpr 35", "ema-0070 T utility c", "nist-800-188 3.6 a")
LAW = ("wp29 basis", "wp29 anonymous", "wp29 residual risk")
"""Questions of law that stand in full on the first page."""


def law_content(context: Context | None, content: Mapping[str, Any], listed: Sequence[Any]) -> dict[str, Any]:
    """Return what no figure decides, with who answers it, and what the figures say; the program answers none.

    `content`: of one edition. `listed`: what the page to sign asks. Of the result ``open`` names those that nobody
    answers, ``until`` who is to, and ``signers`` who gave the answers, by the letter beside each.
    """
    every = [one for standard in content["standards"] for one in standard["questions"]]
    asks, known = ({one["question"]: one[key] for one in every} for key in ("ask", "status"))
    owner, given = (None, ()) if context is None else (context.unanswered, context.answers)
    answers = {one.question: one for one in given}
    named = dict.fromkeys(
        f"{one.name}, {one.role}, {one.day}" for each in listed if (one := answers.get(each.question)) is not None
    )
    letters = {
        name: ascii_lowercase[place] if place < len(ascii_lowercase) else str(place) for place, name in enumerate(named)
    }
    until = "" if owner is None else f"{owner.name}, {owner.role}, is to answer by {owner.day}."
    first, answered = dict[str, Any](), dict[str, list[dict[str, str]]]()
    for each in listed:
        one = answers.get(each.question)
        by = "" if one is None else letters[f"{one.name}, {one.role}, {one.day}"]
        entry = {"label": each.label, "ask": asks[each.question], "answer": "" if one is None else one.answer, "by": by}
        if each.question in LAW:
            figures = list(_figures_of_law(content)) if each.question == LAW[1] else []
            first[each.question] = {**entry, "question": each.question, "figures": figures}
        elif one is not None:
            answered.setdefault(each.heading, []).append(entry)
    return {
        "first": [first[name] for name in LAW],
        "answered": answered,
        "open": [each.label for each in listed if known[each.question] == "not answered"],
        "until": until,
        "signers": {letter: name for name, letter in letters.items()},
    }


def _figures_of_law(content: Mapping[str, Any]) -> Iterator[str]:
    judged = content.get("context")
    if judged is not None:
        yield f"Figures for this recipient: the threshold that decides is {judged['verdict']['outcome']}."
        public = next(one for one in judged["thresholds"] if one["name"] == _PUBLIC_THRESHOLD)
        if public["figure"] is not None:
            yield (
                f"For everybody: {percent(public['figure'], _DIGITS)} of the person most at risk; the threshold of "
                f"{percent(public['value'], _DIGITS)} is {public['outcome']}."
            )
    yield "For the steward, who holds the original, no figure speaks. Figures do not decide what the law asks."


def review_content(context: Context | None, content: Mapping[str, Any], events: Mapping[str, str]) -> dict[str, Any]:
    """Say after which events, and on which day, the evidence must be made again.

    `content`: of one edition, with ``made``, ``earlier`` and, where they were joined, ``together``. `events`: each with
    what is then to be done. The result has the day, whether it has passed, what the steward says of it in words, and
    each event with what is known of it today.
    """
    day = None if context is None else context.review_by
    named = len(content["earlier"]) + max(0, len((content.get("together") or {"published": ()})["published"]) - 1)
    held = "nobody said what they hold" if context is None else f"stated: {context.other_data}"
    recipient = "nobody is named" if context is None else f"this page speaks of {context.recipient} alone"
    told = next((f" Stated: {one.answer}" for one in context.answers if one.question == FOUND), "") if context else ""
    by = None if context is None or context.author is None else f"{context.author.name}, {context.author.role}"
    return {
        "day": day,
        "is_due": day is not None and day <= content["made"],
        "words": None if context is None else context.review,
        "by": by,
        "events": [
            {"event": event, "today": today, "then": f"{then}{told}" if event.startswith("Somebody") else then}
            for (event, then), today in zip(
                events.items(),
                (
                    f"{counted(named, 'other publication')} named" if named else "none was named",
                    held,
                    recipient,
                    "nothing is known",
                    f"made with the attacks of {content['made']}",
                ),
                strict=True,
            )
        ],
    }

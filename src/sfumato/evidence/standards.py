"""What standards ask, and who answers: a figure of the evidence, a person by name, or nobody.

``standards.toml`` holds the questions. No question is left out of the evidence because nobody answered it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple, get_args

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.attacks.fingerprint import UNPUBLISHED
from sfumato.evidence.context import answerable, chance_in_words, owned
from sfumato.numbers import counted, figure, percent
from sfumato.policy.parts import WAYS, Context


def texts(part: str) -> dict[str, Any]:
    """Return what a page says of the members of a part, such as the kinds of release."""
    return dict(_file()[part])


def glossary_of(page: str) -> dict[str, str]:
    """Return the words of the glossary that occur in a page."""
    text = re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).replace("-", " ").lower()
    return {
        word: meaning
        for word, meaning in texts("glossary").items()
        if re.search(rf"\b{re.escape(word.replace('-', ' ').lower())}", text)
    }


def annex_section(name: str) -> str:
    """Return the number of a section of the annex, such as ``A3``."""
    return f"A{1 + _file()['sections'].index(name)}"


Status = Literal["answered by the recount", "answered by a person", "not answered", "declared in the policy"]
STATUSES: tuple[Status, ...] = get_args(Status)
_DECLARED = ("quasi", "sensitive", "attacker", "identifiers")
_DIGITS = 3
_Content = Mapping[str, Any]


class Question(NamedTuple):
    """One thing that a standard asks, in our words.

    `lacks`: what its source does not say, so that a person must. `alike`: a question with the same answer.
    """

    name: str  # such as "iso-27559 6.3.3 a"
    clause: str
    ask: str
    source: str | None  # what of the evidence or the policy answers it
    lacks: str | None = None
    alike: str | None = None


class Standard(NamedTuple):
    """A standard with its questions."""

    name: str
    title: str
    numbers: str  # how sure the numbers of its clauses are
    questions: tuple[Question, ...]


@cache
def standards() -> tuple[Standard, ...]:
    """Return all standards; several questions of one clause are told apart by a letter."""
    return tuple(
        Standard(one["id"], one["title"], one["numbers"], _questions(one["id"], one["items"]))
        for one in _file()["standards"]
    )


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(resources.files("sfumato.evidence").joinpath("standards.toml").read_text(encoding="utf-8"))


class PageQuestion(NamedTuple):
    """What stands on the page to sign, as no figure decides it: a question of a standard in few words, and an example.

    `heading`: what it is about.
    """

    heading: str
    question: str
    label: str
    example: str


@cache
def page_questions() -> tuple[PageQuestion, ...]:
    """Return what the page to sign says of law, people and recipient, or lists as not answered."""
    return tuple(PageQuestion(part["heading"], **one) for part in _file()["page"] for one in part["items"])


def form_of_answers() -> str:
    """Return the part of the form that asks what no figure decides, as comments of a policy: all of the page first."""
    asked = {one.name: one.ask for standard in standards() for one in standard.questions if is_asked(one)}
    first = {one.question: one.example for one in page_questions()}
    lines = []
    for name in dict.fromkeys((*first, *asked)):
        example = f"   # such as: {first[name]}" if name in first else ""
        answer = f'# answer = "…"{example}'
        lines += ["# [[context.answers]]", f'# question = "{name}"   # {_asks()[name]}', answer, ""]
    return "\n".join(lines)


def is_asked(question: Question) -> bool:
    """Tell whether a person must answer, as no figure does."""
    return (question.source is None or question.lacks is not None) and question.alike is None


@cache
def _asks() -> dict[str, str]:
    return {one.name: one.ask for standard in standards() for one in standard.questions}


def _questions(standard: str, items: Sequence[Mapping[str, str]]) -> tuple[Question, ...]:
    places, many = Counter[str](), Counter(item["clause"] for item in items)
    found = []
    for item in items:
        clause = item["clause"]
        letter = f" {ascii_lowercase[places[clause]]}" if many[clause] > 1 else ""
        places[clause] += 1
        name, more = f"{standard} {clause}{letter}", (item.get(key) for key in ("from", "lacks", "alike"))
        found.append(Question(name, clause, item["ask"], *more))
    return tuple(found)


def standards_content(context: Context | None, content: _Content) -> list[dict[str, Any]]:
    """Answer every question of every standard, or say that nobody did.

    Parameters
    ----------
    context
        The section of the steward's policy; None where there is none.
    content
        Of one edition of the evidence, with its ``context``. Every figure comes from there.

    Returns
    -------
    list of dict
        For each standard its name, title, how many questions have which status, and the questions with their answers.

    Raises
    ------
    PolicyError
        With every answer of the policy to a question that no standard asks, or that is answered twice.
    """
    answers = _answers(context)
    found = []
    for standard in standards():
        entries = [
            {
                "question": one.name,
                "ask": one.ask,
                **_answered(one, answers.get(one.name, answers.get(one.alike or "")), context, content),
            }
            for one in standard.questions
        ]
        states = Counter(entry["status"] for entry in entries)
        found.append(
            {
                "standard": standard.name,
                "title": standard.title,
                "numbers": standard.numbers,
                "counts": {status: states[status] for status in STATUSES},
                "open": [entry["question"].partition(" ")[2] for entry in entries if entry["status"] == STATUSES[2]],
                "questions": entries,
            }
        )
    return found


def _answers(context: Context | None) -> dict[str, Mapping[str, str]]:
    given = () if context is None else context.answers
    known = {one.name for standard in standards() for one in standard.questions}
    times = Counter(answer.question for answer in given)
    raise_all(
        PolicyError,
        [
            *(
                f"context.answers: no standard asks {name!r}; the evidence lists all"
                for name in times
                if name not in known
            ),
            *(f"context.answers: {name!r} is answered twice" for name in times if times[name] > 1),
        ],
    )
    return {answer.question: answer.model_dump() for answer in given}


def _answered(
    question: Question, answer: Mapping[str, str] | None, context: Context | None, content: _Content
) -> dict[str, Any]:
    """Return status, answer and who gives it; a person's words stand beside a figure."""
    figure = _COUNTS[question.source](content) if question.source in _COUNTS else None
    stated = _STATES[question.source](context) if question.source in _STATES and context is not None else None
    author = None if context is None else context.author
    words = None if answer is None else answer["answer"]
    if figure is not None and (question.lacks is None or words is not None):
        status, by = (STATUSES[3], STATUSES[3]) if question.source in _DECLARED else (STATUSES[0], "counted")
        by = "; ".join([by, *([_with(question, answer)] if answer else [])])
    elif words is not None:
        status, by = STATUSES[1], _with(question, answer or {})
    elif question.lacks is not None and (figure or stated) is not None:
        status, by = STATUSES[2], f"does not say {question.lacks}"
    elif stated is not None and author is not None:
        status, by = STATUSES[1], _signature(author.model_dump())
    else:
        # What is stated without a name is no answer of a person.
        status, by = STATUSES[2], "stated, but by nobody with name, role and day" if stated is not None else ""
    texts = [text for text in (figure, stated, words) if text is not None]
    return {"status": status, "answer": " ".join(texts), "by": by}


def _signature(person: Mapping[str, str] | None) -> str:
    assert person is not None
    return f"{person['name']}, {person['role']}, {person['day']}"


def _with(question: Question, answer: Mapping[str, str]) -> str:
    """Name who answers, and the question of another standard that the answer was given to."""
    named = "" if answer["question"] == question.name else f"; answered with {answer['question']}"
    return f"{_signature(answer)}{named}"


def counts_in_words(content: Sequence[Mapping[str, Any]]) -> str:
    """Say how many questions of all standards are answered, and by whom."""
    total = Counter[str]()
    for standard in content:
        total.update(standard["counts"])
    recount, person, nobody, declared = (total[status] for status in STATUSES)
    return (
        f"Of {total.total():,} questions of {len(content)} standards, the recount answers {recount:,}, the policy "
        f"{declared:,}, a person {person:,}, nobody {nobody:,}."
    )


def _kind(content: _Content) -> str:
    meaning, records = content["kind"]["meaning"], content["records"]["published"]
    return f"{meaning[:1].upper()}{meaning[1:]}; {_number(records)} published records, {_columns(content)}."


def _columns(content: _Content) -> str:
    return counted(sum(one["role"] != "identifying" for one in content["columns"]), "column")


def _number(count: int | str) -> str:
    return f"{count:,}" if isinstance(count, int) else str(count)


def _of_role(role: str, nothing: str | None) -> Callable[[_Content], str | None]:
    """Name the columns of a role; where there is none, `nothing`: None leaves the question open."""

    def names(content: _Content) -> str | None:
        found = [one["name"] for one in content["columns"] if one["role"] == role]
        return f"{', '.join(found)}." if found else nothing

    return names


def _identifying(content: _Content) -> str | None:
    """Name what was removed; the release alone does not tell."""
    if content["records"]["original"] is None:
        return None
    removed = [one["name"] for one in content["columns"] if one["role"] == "identifying"]
    return f"Removed: {', '.join(removed)}." if removed else "The policy names none."


def _treatment(content: _Content) -> str:
    return " ".join(f"{one['name']}: {one['treatment']}." for one in content["columns"])


def _indirect(content: _Content) -> str | None:
    found = [one for one in content["columns"] if one["role"] == "quasi-identifying"]
    return _treatment({"columns": found}) if found else None


def _original(content: _Content) -> str | None:
    """Say that the original was there when the page was made."""
    names = [one["name"] for one in content["stays"] if one["what"] == "the original"]
    return f"Yes: {names[0]} was read for this page, and stays with the steward." if names else None


def _identifiers(content: _Content) -> str | None:
    alone, together = _identifying(content), _of_role("quasi-identifying", "none.")(content)
    return None if alone is None else f"Alone: {alone[:1].lower()}{alone[1:]} Together: {together}"


def _bounded(content: _Content) -> str:
    found = [one["name"] for one in content["columns"] if one["is_bounded"]]
    return f"{', '.join(found)}." if found else "None."


def _kinds(content: _Content) -> str | None:
    found = [f"{one['name']} {one['kind']}" for one in content["columns"] if one["kind"]]
    return f"{', '.join(found)}." if found else None


def _unprotected(content: _Content) -> str:
    names = [one["name"] for one in content["unprotected"]]
    return f"{', '.join(names)}." if names else "Of none."


def _looks(content: _Content) -> str | None:
    found = [f"{one['name']}: {one['looks']}" for one in content["unprotected"] if one["looks"]]
    if found:
        return " ".join(found)
    return None if content["unprotected"] else "No insensitive column is published."


def _chance(content: _Content) -> str:
    is_coarse = content["kind"]["name"] == "generalized-table"
    return "Nothing: values were made coarser or left out." if is_coarse else _kind(content)


def _promises(content: _Content) -> str | None:
    found = [f"{one['promise']}: {one['outcome']}" for one in content["promises"] if one["meaning"]]
    return f"{'; '.join(found)}." if found else "None is promised."


def _people(content: _Content) -> str | None:
    if "people" in content:
        return "People have several records; people are counted."
    said: str | None = content.get("repeated", content.get("one_each"))
    return said


def _risk(stage: str, *names: str) -> Callable[[_Content], str | None]:
    """Say risks of a stage, of the person most at risk and on average."""

    def figures(content: _Content) -> str | None:
        people = content.get("known", content.get("people"))
        stages = {**people, "after": people} if people else content["risk"] if people is None else None
        found = (stages or {}).get(stage)
        if not found:
            return None
        words = {"highest": "of the person most at risk", "average": "on average"}
        return f"{', '.join(f'{percent(found[name], _DIGITS)} {words[name]}' for name in names)}."

    return figures


def _journalist(content: _Content) -> str | None:
    found = ((content["risk"] or {}).get("after") or {}).get("journalist")
    if found is None:
        return _estimated(content.get("context"))
    highest, average = (percent(found[name], _DIGITS) for name in ("highest", "average"))
    return f"With the population: {highest} at most, {average} on average."


def _estimated(context: Mapping[str, Any] | None) -> str | None:
    """Say what was estimated for both ends of a population."""
    found = [
        f"{one['population']:,} people: {percent(one['maximum'], _DIGITS)} at most, "
        f"{percent(one['average'], _DIGITS)} on average"
        for one in (context or {"success": ()})["success"]
        if one["stage"] == "after" and "population" in one
    ]
    return f"Estimated; {'; '.join(found)}." if found else None


def _views(content: _Content) -> str | None:
    if not (content["risk"] or content.get("known") or content.get("people")):
        return None
    return "Yes; both views were counted." if _journalist(content) else "Yes; that is the stronger attacker."


def _unique(content: _Content) -> str | None:
    risk = content["risk"] or {}
    found = [f"{stage} {_number(risk[stage]['unique'])}" for stage in ("before", "after") if stage in risk]
    return f"Records alone with their values: {', '.join(found)}." if found else None


def _classes(content: _Content) -> str | None:
    after = (content["risk"] or {}).get("after")
    if not after:
        return None
    average = f"{after['records'] / after['classes']:.3g} records each on average"
    return f"In {after['classes']:,} groups, {average}, {after['smallest']:,} in the smallest."


def _verdict(content: _Content) -> str | None:
    context = content.get("context")
    if not context or context["verdict"]["outcome"] == "not counted":
        return None
    return str(context["verdict"]["sentences"][0])


def _decision(content: _Content) -> str | None:
    verdict = _verdict(content)
    return None if verdict is None else f"{verdict} Its source: {_decisive(content)['source']}."


def _threshold(content: _Content) -> str | None:
    if _verdict(content) is None:
        return None
    found = _decisive(content)
    return f"{percent(found['value'], _DIGITS)}, {found['compared_with']}; {found['source']}."


def _decisive(content: _Content) -> Mapping[str, Any]:
    name = content["context"]["verdict"]["threshold"]
    return next(one for one in content["context"]["thresholds"] if one["name"] == name)


def _products(content: _Content) -> str | None:
    context = content.get("context")
    found = [
        one
        for one in (context or {"products": ()})["products"]
        if (one["view"], one["stage"]) == ("prosecutor", "after")
    ]
    shares = [f"{one['way']} {percent(one['maximum'], _DIGITS)}" for one in found]
    return f"{', '.join(shares)}." if shares else None


def _public(content: _Content) -> str | None:
    found = [one for one in (content.get("context") or {"thresholds": ()})["thresholds"] if one["name"] == "0.09"]
    return f"9%, of the person most at risk: {found[0]['outcome']}." if found else None


def _attacks(content: _Content) -> str | None:
    if not content["attacks"]:
        return None
    return _found_by(content["attacks"]["results"])


def _found_by(results: Sequence[Mapping[str, Any]]) -> str:
    """Say of each attack what came of each of its scores, with success and guessing where everybody was tried."""
    found: dict[str, list[str]] = {}
    for one in results:
        success, guessing = one["success"], percent(one["guessing"], _DIGITS)
        share = f"{percent(success['share'], _DIGITS)}; guessing {guessing}" if success and success["people"] else ""
        more = share or one["surest"]
        found.setdefault(one["attack"], []).append(f"{one['headline']}{f' ({more})' if more else ''}")
    return " ".join(f"{name}: {', and '.join(dict.fromkeys(scores))}." for name, scores in found.items())


def _control(content: _Content) -> str | None:
    results = (content["attacks"] or {"results": ()})["results"]
    found = [one for one in results if one.get("control") and one["control"]["people"]]
    shares = (f"{one['attack']} {percent(one['control']['share'], _DIGITS)}" for one in found)
    return f"Right about them: {', '.join(shares)}." if found else None


def _unplayed(content: _Content) -> str | None:
    if not content["attacks"]:
        return None
    unplayed = content["attacks"]["unplayed"]
    return " ".join(f"{name}: {reason}." for name, reason in unplayed.items()) or "None that applies."


def _criterion(name: str) -> Callable[[_Content], str | None]:
    def lines(content: _Content) -> str | None:
        (found,) = (one for one in content["answers"] if one["question"] == name)
        lines = [_found_by(found["played"]), *found["joined"]]
        return " ".join(dict.fromkeys([found["sentence"], *filter(None, lines)])) if found["is_played"] else None

    return lines


def _losses(content: _Content) -> str | None:
    losses = content["losses"]
    if not losses:
        figures = (
            f"{name.replace('_', ' ')} {figure(value, _DIGITS)}" for name, value in content.get("figures", {}).items()
        )
        return f"{', '.join(figures)}." if content.get("figures") else None
    columns = ", ".join(f"{name} {percent(share, _DIGITS)}" for name, share in losses["attribute_ncp"].items())
    return f"{percent(losses['normalized_ncp'], _DIGITS)} in all; {columns}."


def _utility(content: _Content) -> str | None:
    utility = content["utility"]
    if not utility:
        return None
    errors = (
        f"{name}: median error {percent(one['median'], _DIGITS)}" for name, one in (utility["queries"] or {}).items()
    )
    return "; ".join([f"{percent(utility['correlations']['kept'], _DIGITS)} of the association is kept", *errors]) + "."


def _suppression(content: _Content) -> str | None:
    """Say whom the release leaves out most; the published table alone does not tell."""
    suppression = content["suppression"]
    if not suppression or content["records"]["original"] is None:
        return None
    groups = suppression["subgroups"]
    if not groups:
        return "No subgroup is known to have lost records."
    most = max(groups, key=lambda one: one["suppressed"])
    share = percent(most["suppressed"], _DIGITS)
    return f"At most {share} of a subgroup of {most['attribute']}; {counted(len(groups), 'subgroup')} lose records."


def _suppressed(content: _Content) -> str | None:
    records, starred = content["records"], (content["suppression"] or {"attributes": {}})["attributes"]
    if records["original"] is None or not isinstance(records["published"], int) or not content["suppression"]:
        return None
    left = records["original"] - records["published"]
    cells = [f"{name} {percent(share, _DIGITS)}" for name, share in starred.items() if share]
    return f"{counted(left, 'record')} left out; cells that are *: {', '.join(cells) or 'none'}."


def _recount(content: _Content) -> str:
    return f"Counted on {content['made']} from {content['recounted_from']}."


def _attacker(content: _Content) -> str | None:
    names = [one["name"] for one in content["columns"] if one["role"] == "quasi-identifying"]
    if "known" in content:
        return f"{content['known']['knows'].capitalize()}, and no more."
    return f"The columns {', '.join(names)}, and no others." if names else None


def _earlier(content: _Content) -> str | None:
    """Say what earlier releases hold; that none was named does not say that there is none."""
    found = [f"{one['release']}: {'holds' if one['holds'] else 'broken'}" for one in content["earlier"]]
    together = content.get("together") or {"published": [], "findings": []}
    found += together["published"][1:]
    texts = [f"{'; '.join(found)}.", *(one["sentence"] for one in together["findings"])]
    return " ".join(texts) if found else None


def _pseudonyms(content: _Content) -> str | None:
    found = [one["meaning"] for one in content["promises"] if one["promise"].startswith("fingerprints")]
    unplayed = (content["attacks"] or {"unplayed": {}})["unplayed"]
    return found[0] if found else "None is published." if unplayed.get("fingerprint") == UNPUBLISHED else None


def _published(content: _Content) -> str:
    return f"{', '.join(one['name'] for one in content['columns'] if one['role'] != 'identifying')}."


def _listing(key: str, what: str, place: str) -> Callable[[_Content], str | None]:
    """Say in which section of the annex something stands, where it does."""
    return lambda content: f"{what}: section {annex_section(place)}." if content[key] else None


def _files(content: _Content) -> str | None:
    if not content["files"]:
        return None
    hashes, check = annex_section("files"), annex_section("check")
    recount = "" if content["is_file"] else f" The command that recounts every promise: section {check}."
    goes = f"A hash of each file that goes to the recipient, but of the signature: section {hashes}."
    return f"{goes if content['goes'] else f'A hash of each table: section {check}.'}{recount}"


def _versions(content: _Content) -> str:
    return f"Sfumato {content['versions']['sfumato']}; all parts: section {annex_section('check')}."


def _intruder(content: _Content) -> str | None:
    found = content.get("intruder")
    return None if not found else " ".join(found["sentences"])


_COUNTS: Mapping[str | None, Callable[[_Content], str | None]] = {
    "kind": _kind,
    "people": _people,
    "kinds": _kinds,
    "identifying": _identifying,
    "identifiers": _identifiers,
    "bounded": _bounded,
    "quasi": _of_role("quasi-identifying", "None."),
    "sensitive": _of_role("sensitive", "The policy names none."),
    "unprotected": _unprotected,
    "looks": _looks,
    "chance": _chance,
    "treatment": _treatment,
    "indirect": _indirect,
    "original": _original,
    "attacker": _attacker,
    "maximum": _risk("after", "highest"),
    "average": _risk("after", "average"),
    "before": _risk("before", "highest", "average"),
    "after": _risk("after", "highest", "average"),
    "views": _views,
    "journalist": _journalist,
    "unique": _unique,
    "classes": _classes,
    "promises": _promises,
    "limits": _listing("limits", "All limits", "limits"),
    "verdict": _verdict,
    "decision": _decision,
    "threshold": _threshold,
    "products": _products,
    "public": _public,
    "attacks": _attacks,
    "method": lambda content: content["method"] and f"{content['method']}.",
    "published": _published,
    "control": _control,
    "unplayed": _unplayed,
    **{name: _criterion(name) for name in ("singling out", "linkability", "inference")},
    "losses": _losses,
    "utility": _utility,
    "suppression": _suppression,
    "suppressed": _suppressed,
    "recount": _recount,
    "earlier": _earlier,
    "pseudonyms": _pseudonyms,
    "policy": _listing("policy", "The whole policy", "check"),
    "files": _files,
    "decisions": _listing("decisions", "What was decided, and when", "decisions"),
    "versions": _versions,
    "intruder": _intruder,
    "published_policy": _listing("published_policy", "The policy without what is assumed of the recipient", "files"),
}
"""What of the evidence answers a question; None where this release, or this edition, does not tell."""


def _assumption(way: str) -> Callable[[Context], str | None]:
    def words(context: Context) -> str | None:
        found = context.assumptions().get(way)
        if found is None:
            return "Everybody may have the data, so that an attempt is certain." if context.public else None
        return f"{chance_in_words(context, found)}, by {found.owner}; {found.source}."

    return words


def _population(context: Context) -> str | None:
    found = context.population
    return None if found is None else f"{found.least:,} to {found.most:,} people, by {found.owner}; {found.source}."


def _control_of(name: str) -> Callable[[Context], str | None]:
    return lambda context: None if context.controls is None else str(getattr(context.controls, name))


def _owners(context: Context) -> str | None:
    found = [f"{owner}: for {', '.join(names)}." for owner, names in owned(context).items()]
    return " ".join([*answerable(context), *found]) or None


def _controls(context: Context) -> str | None:
    found = None if context.controls is None else context.controls.model_dump()
    return None if found is None else " ".join(f"{name.capitalize()}: {words}." for name, words in found.items())


_STATES: Mapping[str | None, Callable[[Context], str | None]] = {
    "recipient": lambda context: context.recipient,
    "recipient and purpose": lambda context: f"{context.recipient}, for {context.purpose}.",
    "controls": _controls,
    "purpose": lambda context: context.purpose,
    "other_data": lambda context: context.other_data,
    "review": lambda context: context.review,
    "review_by": lambda context: None if context.review_by is None else f"Until {context.review_by}.",
    "population": _population,
    "scale": lambda context: "; ".join(f"{name}: {one.source}" for name, one in context.assumptions().items()) or None,
    "owners": _owners,
    **{way: _assumption(way) for way in WAYS},
    **{name: _control_of(name) for name in ("access", "contract", "training", "audit")},
}
"""What the policy states; an answer of a person once somebody stands for the section."""

"""Words of the studio in the reader's language: gettext catalogues, one file `languages/CODE.po` for each language.

The words of a template are translated where it is compiled, so a page costs the same in every language. A message is a
run of text between tags; what the template fills in is `{1}`, `{2}` … in their order. Whatever the program says is
looked up when it is said: a message whose `{1}` stand for numbers and names is known by the words around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import Any

from jinja2 import Environment
from jinja2.ext import Extension

ENGLISH = "en"
reader: ContextVar[str] = ContextVar("reader", default=ENGLISH)
"""Code of the language of whoever asks."""
FOLDER = resources.files("sfumato.studio").joinpath("languages")
"""Where the catalogues lie."""
_SPOKEN = "aria-label|title|placeholder|alt|data-sure|data-unit|data-label|data-spoken|aria-valuetext"
"""Attributes that people read or hear."""
_PARTS = re.compile(
    r"(?P<filled><(?P<tag>strong|code)[^>]*>(?:(?!</?(?P=tag))(?!{%).)*</(?P=tag)>|{{.*?}})"
    r"|(?P<cut>{#.*?#}|{%.*?%}|<[!/a-zA-Z](?:{{.*?}}|{%.*?%}|{#.*?#}|[^>])*>)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rf'(\s(?:{_SPOKEN})=")((?:{{{{.*?}}}}|[^"{{]|{{(?![{{%]))*)(")', re.DOTALL)
_EXPRESSION = re.compile(r"{{.*?}}", re.DOTALL)
_PLACE = re.compile(r"{(\w+)}")
_NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?: ?%)?")
_END = re.compile("[.;] ")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MARKUP = re.compile(r":\w+:`(?:~[\w.]*\.)?|`+|\ANotes: |\*(\w[^*`]*\w\.?)\*")


@dataclass(frozen=True)
class Catalogue:
    """Messages of a language: `texts` by the English message, `head` of the file."""

    texts: Mapping[str, str] = field(default_factory=dict)
    head: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Catalogue:
        """Read a catalogue; what is not translated, or fills in something else, stays English."""
        texts = {one: said for one, said in entries(text) if one and said and places(said) == places(one)}
        head = (line.partition(": ") for line in dict(entries(text)).get("", "").splitlines())
        return cls(texts, {name: value for name, _, value in head})

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Return what tells messages that hold numbers or names, those with most words of their own first."""
        filled = sorted((message for message in self.texts if places(message)), key=lambda its: -len(_own(its)))
        return [
            (re.compile(_pattern(message), re.DOTALL), message) for message in filled if _WORD.search(_own(message))
        ]

    def say(self, text: str) -> str:
        """Return a message in this language; as it is, where the catalogue has none."""
        found = self._found(text)
        if found is None and text[:1].isupper():
            # A problem that stands alone begins with a capital.
            found = self._found(text[0].lower() + text[1:])
            found = found and found[:1].upper() + found[1:]
        return self._by_parts(text) if found is None else found

    def _by_parts(self, text: str) -> str:
        name, colon, rest = text.partition(": ")
        if colon and not _END.search(name):
            return name + colon + self.say(rest)
        for mark in (". ", "; "):
            if mark in text:
                # Several sentences, each a message of its own.
                *parts, last = text.split(mark)
                return mark.join([*(self._without_stop(part) for part in parts), self.say(last)])
        return text

    def number(self, text: str) -> str:
        """Write a number with the marks of this language."""
        marks = self.head.get("X-Decimal", "."), self.head.get("X-Thousands", ",")
        return text.translate({ord("."): marks[0], ord(","): marks[1]}) if _NUMBER.fullmatch(text) else text

    def _without_stop(self, part: str) -> str:
        found = self._found(part) or self._found(f"{part}.")
        return self.say(part) if found is None else found.removesuffix(".")

    def _found(self, text: str) -> str | None:
        if (said := self.texts.get(text)) is not None:
            return said
        if text[:1] == "“" and text[-1:] == "”":
            inner, marks = self._found(text[1:-1]), self.head.get("X-Quotes", "“”")
            return None if inner is None else f"{marks[0]}{inner}{marks[-1]}"
        for pattern, message in self._patterns:
            match = pattern.fullmatch(text)
            if match is not None and _can_hold(message, match.groups()):
                given = [self._found(part) or self.number(self._by_parts(part)) for part in match.groups()]
                return filled(self.texts[message], dict(zip(_PLACE.findall(message), given, strict=True)))
        return None


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the messages of a catalogue's text with their translations; those that are in doubt (fuzzy) have none."""
    for block in re.split(r"\n\s*\n", text):
        parts, part = {"msgid": "", "msgstr": ""}, ""
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            name, _, rest = line.partition(" ")
            part, quoted = (name, rest) if name in parts else (part, line)
            parts[part] += json.loads(quoted)
        yield parts["msgid"], "" if re.search(r"^#,.*fuzzy", block, re.MULTILINE) else parts["msgstr"]


def filled(message: str, given: Mapping[str, str]) -> str:
    """Fill in a message: what stands for each of its numbers."""
    return _PLACE.sub(lambda place: given[place[1]], message)


def places(message: str) -> list[str]:
    """Return what a message fills in, in the order of the numbers."""
    return sorted(_PLACE.findall(message))


def _can_hold(message: str, parts: Sequence[str]) -> bool:
    """Tell whether a message may fill in these parts: any text, where its own words say enough."""
    words = len(_WORD.findall(_own(message)))
    barred = "" if words > 1 or ": " in message else ": " if _WORD.match(message) else " "
    if barred and any(barred in part for part in parts):
        return False
    # What stands before a colon says where, and is no part of a message.
    return not (message.startswith("{") and any(": " in part for part in parts[: -message.endswith("}") or None]))


def _own(message: str) -> str:
    return _PLACE.sub("", message)


def _pattern(message: str) -> str:
    parts = re.split(_PLACE.pattern.replace("(", "(?:"), message)
    return "(.+?)".join(map(re.escape, parts))


@cache
def catalogue(language: str) -> Catalogue:
    """Return the catalogue of a language; an empty one for English."""
    if language not in languages() or language == ENGLISH:
        return Catalogue()
    return Catalogue.of(FOLDER.joinpath(f"{language}.po").read_text(encoding="utf-8"))


@cache
def languages() -> dict[str, str]:
    """Return the languages that there are, by their codes, as who speaks them calls them."""
    found = {ENGLISH: "English"}
    for file in FOLDER.iterdir():
        code, _, ending = file.name.partition(".")
        if ending == "po":
            name = re.search(r'^"X-Name: (.*?)\\n"', file.read_text(encoding="utf-8"), re.MULTILINE)
            found[code] = name[1] if name else code
    return found


def asked_language(chosen: str, accepted: str) -> str:
    """Return the language that somebody chose, or the first one that their browser asks for and that there is."""
    if chosen in languages():
        return chosen
    wanted = [part.partition(";")[0].strip().lower().partition("-")[0] for part in accepted.split(",")]
    return next((code for code in wanted if code in languages()), ENGLISH)


@lru_cache(4096)
def _said(language: str, text: str) -> str:
    return catalogue(language).say(text)


def say(text: str, *given: object) -> str:
    """Return a message in the reader's language, with what it fills in."""
    said = text if reader.get() == ENGLISH else _said(reader.get(), text)
    return filled(said, {str(place): str(its) for place, its in enumerate(given, 1)}) if given else said


def tongue(text: str) -> str:
    """Return the language in which a message is said: the reader's, or English where the catalogue has none."""
    return ENGLISH if reader.get() == ENGLISH or _said(reader.get(), text) == text else reader.get()


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a description as a page shows them: without the marks of docstrings."""
    return [" ".join(_MARKUP.sub(r"\1", part).split()) for part in text.split("\n\n")]


_CHOSEN = re.compile(r"\b([a-z]\w*)=(True|False|None|(?=[\"']))")
_CHOICE = re.compile(r"\b(True|False|None)\b")
_KEY = re.compile(r"(?::\w+:~?(?:sfumato\.)?|\bsfumato\.)(?:\w+\.)*(\w+)|\b([a-z]+(?:_[a-z]+)+)\b")
_CHOICES = {"True": "“yes”", "False": "“no”", "None": "“not said”", "": ""}


def in_choices(said: str) -> str:
    """Write what a message says of options as a form shows them."""
    return _CHOSEN.sub(lambda its: f"{its[1].replace('_', ' ')} {say(_CHOICES[its[2]])}", said)


def help_text(text: str) -> str:
    """Say what a setting does, in the reader's language, with choices and settings as a form calls them."""
    said = _CHOICE.sub(lambda its: say(_CHOICES[its[1]]), in_choices(say(text.replace("`", ""))))
    return _KEY.sub(lambda key: (key[1] or key[2]).replace("_", " "), said)


def script_words(language: str) -> str:
    """Return what the scripts of the pages say, as JSON; nothing in English."""
    texts = catalogue(language).texts
    return json.dumps({message: texts[message] for message in script_messages() if message in texts}) if texts else ""


@cache
def script_messages() -> list[str]:
    """Return the messages of the scripts: what stands in `_("…")`."""
    files = resources.files("sfumato.studio").joinpath("static").iterdir()
    scripts = [file.read_text(encoding="utf-8") for file in files if file.name.endswith(".js")]
    return sorted({message for script in scripts for message in re.findall(r'\b_\("([^"]+)"', script)})


def template_messages(source: str) -> list[str]:
    """Return the messages of a template: runs of text, attributes that are read, and what stands in `_("…")`."""
    found: list[str] = []

    def note(message: str) -> str:
        found.append(message)
        return message

    _translated(source, note)
    return [*found, *re.findall(r'\b_\("([^"]+)"', source)]


class Translation(Extension):
    """Translates the words of a template before it is compiled."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return a template in the language of its environment."""
        texts = catalogue(language_of(self.environment)).texts
        return _translated(source, lambda message: texts.get(message, message)) if texts else source


def language_of(environment: Environment) -> str:
    """Return the language that templates of an environment are in."""
    return str(environment.globals.get("language", ENGLISH))


def _translated(source: str, translate: Callable[[str], str]) -> str:
    """Put what `translate` says in the place of each message of a template."""
    made: list[str] = []
    run: list[tuple[str, bool]] = []  # pieces of text, and whether a piece is filled in

    def flush() -> None:
        made.append(_run(run, translate))
        run.clear()

    at = 0
    for part in _PARTS.finditer(source):
        if part.start() > at:
            run.append((source[at : part.start()], False))
        at = part.end()
        if part["filled"]:
            run.append((part["filled"], True))
            continue
        flush()
        made.append(_ATTRIBUTE.sub(lambda its: its[1] + _attribute(its[2], translate) + its[3], part["cut"]))
    run.append((source[at:], False))
    flush()
    return "".join(made)


def _attribute(value: str, translate: Callable[[str], str]) -> str:
    pieces, at = list[tuple[str, bool]](), 0
    for part in _EXPRESSION.finditer(value):
        pieces += [(value[at : part.start()], False), (part[0], True)]
        at = part.end()
    return _run([*pieces, (value[at:], False)], translate)


def _run(pieces: list[tuple[str, bool]], translate: Callable[[str], str]) -> str:
    """Translate one run; what stands around its words stays."""
    given = [text for text, is_filled in pieces if is_filled]
    whole = "".join(text for text, _ in pieces)
    if not _WORD.search("".join(text for text, is_filled in pieces if not is_filled)):
        return whole
    counter = iter(range(1, len(given) + 1))
    message = "".join(f"{{{next(counter)}}}" if is_filled else text for text, is_filled in pieces)
    words = message.strip()
    before = message[: len(message) - len(message.lstrip())]
    after = message[len(message.rstrip()) :]
    said = before + translate(re.sub(r"\s+", " ", words)) + after
    return filled(said, {str(place): its for place, its in enumerate(given, 1)})


def context(language: str) -> dict[str, Any]:
    """Return what templates of a language know of it."""
    texts = {"language": language, "languages": languages(), "script_words": script_words(language)}
    return {**texts, "_": say, "tongue": tongue, "paragraphs": paragraphs}

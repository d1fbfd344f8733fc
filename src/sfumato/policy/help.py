"""What an editor or a form shows beside each setting of a policy, taken from the docstrings that describe the settings.

So a new model or anonymizer has its help as soon as it is in the dictionary of its folder.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

GROUPS = ("needed", "usual", "rare")
"""Which settings a form shows first: those without a default; those of a few words or numbers; the others."""

_SECTION = re.compile(r"^(?P<title>[A-Z][a-z ]+)\n-{3,}\n", re.MULTILINE)
_NAMES = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: : .*)?$")


def helpful(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema in which every property has a ``description`` and an ``x-group``.

    Descriptions are moved from the docstring of a part to its properties; what the part does stays with it.
    """
    whole = {**schema, **_part(schema)}
    if "$defs" in schema:
        whole["$defs"] = {name: _part(part) for name, part in schema["$defs"].items()}
    return whole


def said_of(docstring: str) -> dict[str, str]:
    """Return what a numpydoc docstring says of each parameter or attribute, each as one paragraph or several."""
    sections = _sections(docstring)
    return {
        name: text
        for title in ("Attributes", "Parameters")
        for names, text in _entries(sections.get(title, ""))
        for name in names
    }


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    properties, doc = part.get("properties"), inspect.cleandoc(part.get("description", ""))
    if not properties:
        return dict(part)
    said, required = said_of(doc), part.get("required", ())
    shown = {
        key: {**setting, **_description(said, key), "x-group": _group(setting, key in required)}
        for key, setting in properties.items()
    }
    return {**part, "description": _what(doc), "properties": shown}


def _description(said: Mapping[str, str], key: str) -> dict[str, str]:
    if key in ("name", "kind") and key not in said:
        return {"description": "Which one it is."}
    name = key.replace("-", "_")
    return {"description": said[name]} if name in said else {}


def _group(setting: Mapping[str, Any], required: bool) -> str:
    if required:
        return GROUPS[0]
    kinds = [setting, *setting.get("anyOf", ())]
    is_plain = any(kind.get("type") in ("integer", "number", "boolean", "string") for kind in kinds)
    return GROUPS[1] if is_plain else GROUPS[2]


def _what(doc: str) -> str:
    """Return the docstring without the sections that properties and messages say again."""
    sections = _sections(doc)
    kept = {title: text for title, text in sections.items() if title in ("Notes", "References")}
    return "\n\n".join([sections[""].strip(), *(f"{title}: {text.strip()}" for title, text in kept.items())])


def _sections(doc: str) -> dict[str, str]:
    """Split a docstring at its underlined titles; what comes before the first has the title ``""``."""
    found, title, start = dict[str, str](), "", 0
    for heading in _SECTION.finditer(doc):
        found[title] = doc[start : heading.start()]
        title, start = heading["title"], heading.end()
    found[title] = doc[start:]
    return found


def _entries(section: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names that an entry is about, and its text, for each entry of a section."""
    names: list[str] = []
    lines: list[str] = []
    for line in [*section.splitlines(), "end"]:
        if line[:1].strip():
            if names and lines:
                yield names, " ".join(" ".join(lines).split())
            heading = _NAMES.match(line)
            names, lines = (heading["names"].split(", ") if heading else []), []
        else:
            lines.append(line.strip())

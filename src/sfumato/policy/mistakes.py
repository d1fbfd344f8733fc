"""Mistakes in a policy: from pydantic's findings to one line each that names the key and never shows a value."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from pydantic import ValidationError

_Key = str | int
KeyPath = tuple[_Key, ...]
_Node = Mapping[str, Any]
"""A part of a JSON Schema."""

BUILT = "built"
"""Type of the errors whose context lists the problems that a described value found in itself."""

WORDS = tomllib.loads(files("sfumato.policy").joinpath("mistakes.toml").read_text(encoding="utf-8"))
"""What is said of each mistake: ``texts`` of values, ``syntax`` of TOML."""

_UNKNOWN_NAME = "unknown name"
_ALTERNATIVE = re.compile(r"(?:literal|dict)\[.*\]", re.DOTALL)
"""How pydantic labels an alternative of a union in a location; no key of a policy."""


@dataclass(frozen=True)
class Mistake:
    """One mistake: where it is and what to do about it."""

    path: KeyPath
    text: str


def suggestion(word: object, allowed: Sequence[str]) -> str:
    """Say which of the `allowed` names `word` was probably meant to be, and list them all; never shows `word`."""
    near = get_close_matches(word.lower(), allowed, 1) if isinstance(word, str) else []
    question = f"did you mean {near[0]!r}? " if near else ""
    return f"{question}allowed: {', '.join(allowed)}"


def spell(path: KeyPath, names: Mapping[KeyPath, str] | None = None) -> str:
    """Write a path as a policy file does, e.g. ``models[1].k``; `names`: other names for beginnings, e.g. an option."""
    names = names or {}
    length = next((end for end in range(len(path), 0, -1) if path[:end] in names), 0)
    written = names.get(path[:length], "")
    for key in path[length:]:
        written += f"[{key}]" if isinstance(key, int) else f".{_quoted(key)}"
    return written.removeprefix(".")


def mistakes_of(error: ValidationError, schema: _Node) -> list[Mistake]:
    """Translate what pydantic found, one mistake a place; `schema` tells which keys are allowed where."""
    found: dict[KeyPath, list[str]] = {}
    for detail in _causes(error):
        for mistake in _translated(detail, schema):
            texts = found.setdefault(mistake.path, [])
            if mistake.text not in texts:
                texts.append(mistake.text)
    # Where a table was given and something inside it is wrong, that it is no name either helps nobody.
    inside = {path[:length] for path in found for length in range(len(path))}
    return [
        Mistake(path, text)
        for path, texts in found.items()
        for text in _joined(texts)
        if path not in inside or not text.startswith(_UNKNOWN_NAME)
    ]


def _causes(error: ValidationError) -> list[Any]:
    """Leave out what only follows from other mistakes: a list that is too short, a default that depends on them."""
    details = [each for each in error.errors(include_url=False) if each["type"] != "default_factory_not_called"]
    wrong = {detail["loc"][:length] for detail in details for length in range(len(detail["loc"]))}
    return [detail for detail in details if detail["type"] != "too_short" or detail["loc"] not in wrong]


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key, ensure_ascii=False)


def _joined(texts: list[str]) -> list[str]:
    # The alternatives of a union each complain at the same place; together they are one mistake.
    wrong_types = [text.removeprefix("must be ") for text in texts if text.startswith("must be ")]
    if "a number" in wrong_types and "a whole number" in wrong_types:
        wrong_types.remove("a whole number")
        texts.remove("must be a whole number")
    if len(wrong_types) == len(texts):
        return ["must be " + " or ".join(wrong_types)]
    names = [text for text in texts if text.startswith(_UNKNOWN_NAME)]
    if len(names) == 1 and len(wrong_types) + 1 == len(texts):
        return [", or ".join([*names, *wrong_types])]
    return texts


def _translated(detail: Mapping[str, Any], schema: _Node) -> Iterator[Mistake]:
    kind, context = detail["type"], detail.get("ctx", {})
    path, allowed = _place(detail["loc"], schema)
    if kind == BUILT:
        yield from (_built(path, problem, context["keys"]) for problem in context["problems"])
    elif kind == "extra_forbidden":
        yield Mistake(path, f"unknown key; {suggestion(path[-1], allowed)}")
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = context["discriminator"].strip("'")
        names = re.findall(r"'([^']*)'", context["expected_tags"]) if "expected_tags" in context else allowed
        given = detail["input"].get(tag) if isinstance(detail["input"], dict) else None
        yield Mistake((*path, tag), f"{'is missing' if given is None else 'unknown name'}; {suggestion(given, names)}")
    elif kind in ("literal_error", "enum"):
        names = re.findall(r"'([^']*)'", context["expected"])
        yield Mistake(path, f"{_UNKNOWN_NAME}; {suggestion(detail['input'], names)}")
    else:
        yield Mistake(path, WORDS["texts"].get(kind, "has a value that cannot be used here").format(**context))


def _built(path: KeyPath, problem: str, keys: Sequence[str]) -> Mistake:
    """Move the key that a problem starts with into the path: ``k must be ...`` becomes ``models[0].k: must be ...``."""
    match = re.match(r"(?:[\w-]+: )?`?(\w+)`?:? (.+)", problem, re.DOTALL)
    if match and match[1].replace("_", "-") in keys:
        key = match[1].replace("_", "-")
        return Mistake(path if path[-1:] == (key,) else (*path, key), match[2])
    return Mistake(path, problem)


def _place(location: Sequence[_Key], schema: _Node) -> tuple[KeyPath, list[str]]:
    """Return the path as the policy writes it, and the keys or names allowed at its last step."""
    # A location also holds the tags of the unions it went through, and labels of alternatives, which are not keys. The
    # keys of tables inside a hierarchy may be values of the attribute, so the path stops before them.
    path: list[_Key] = []
    node: _Node = schema
    for position, step in enumerate(location):
        inner, is_key = _enter(node, step, schema)
        is_free = not isinstance(step, int) and step not in _properties(node, schema)
        if inner is None:
            allowed = _keys(node, schema)
            if position == len(location) - 1 and allowed:
                path.append(step)
            return tuple(path), allowed
        if is_key and is_free and "hierarchy" in path:
            return tuple(path), []
        if is_key:
            path.append(step)
        node = inner
    return tuple(path), _tags(node, schema)


def _enter(node: _Node, step: _Key, schema: _Node) -> tuple[_Node | None, bool]:
    """Return the part under `step`, or None, and whether `step` is a key or position that the policy writes."""
    node = _resolved(node, schema)
    if step in node.get("discriminator", {}).get("mapping", {}):
        return {"$ref": node["discriminator"]["mapping"][step]}, False
    if "anyOf" in node and isinstance(step, str) and _ALTERNATIVE.fullmatch(step):
        return node, False
    if isinstance(step, int):
        prefixed = node.get("prefixItems", [])
        inner = prefixed[step] if step < len(prefixed) else node.get("items")
        return (inner if isinstance(inner, Mapping) else _through(node, step, schema)), True
    if step in node.get("properties", {}):
        return node["properties"][step], True
    inner = node.get("additionalProperties")
    if isinstance(inner, Mapping):
        return inner, True
    for option in node.get("anyOf", []):
        entered = _enter(option, step, schema)
        if entered[0] is not None:
            return entered
    return None, False


def _through(node: _Node, step: _Key, schema: _Node) -> _Node | None:
    options = (_enter(option, step, schema)[0] for option in node.get("anyOf", []))
    return next((option for option in options if option is not None), None)


def _resolved(node: _Node, schema: _Node) -> _Node:
    if "$ref" not in node:
        return node
    return dict(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])


def _properties(node: _Node, schema: _Node) -> list[str]:
    return list(_resolved(node, schema).get("properties", {}))


def _keys(node: _Node, schema: _Node) -> list[str]:
    """Return the keys of a table, or of the only table that may stand there."""
    tables = [found for option in (node, *node.get("anyOf", ())) if (found := _properties(option, schema))]
    return tables[0] if len(tables) == 1 else []


def _tags(node: _Node, schema: _Node) -> list[str]:
    node = _resolved(node, schema)
    own = list(node.get("discriminator", {}).get("mapping", {}))
    return own or [tag for option in node.get("anyOf", []) for tag in _tags(option, schema)]

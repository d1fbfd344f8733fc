"""``--set path=value``: every option of a policy by its name in policy files, from the command line."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from sfumato.errors import PolicyError

ANY_ROLE = ""
"""Stands in a path for the role that a column has."""
ROOT, COLUMN = "policy", "column"
"""First steps of ``policy.threads``, a key at the top of the file, and of ``column.age.decimal``, whatever its role."""

OF_POLICY = ("purpose", "recipient", "suppression-limit", "threads", "withstand")
"""Keys at the top of every policy that no anonymizer has: they need no dot, and no ``policy.`` before them."""

TABS = ("tab", "\\t")
"""What is typed for a tab, which a shell does not like."""
_STEP = r'"(?:[^"\\]|\\.)*"|[^.=\[\]"\s](?:[^.=\[\]"]*[^.=\[\]"\s])?'
_PATH = re.compile(rf"\s*((?:{_STEP})(?:\.(?:{_STEP})|\[\d+\])*)\s*=(.*)", re.DOTALL)
_STEPS = re.compile(rf"\[(\d+)\]|({_STEP})")
_ROLES = ("quasi-identifying", "sensitive")
_WRITE = "write settings as path=value, e.g. source.separator=;"


@dataclass(frozen=True)
class Setting:
    """One key of a policy that the command line sets; `text`: as typed, None where an option of its own read it."""

    path: tuple[str | int, ...]
    value: Any
    typed: str
    text: str | None = None


def first_step(text: str) -> str:
    """Return the first key of ``path=value``."""
    return text.partition("=")[0].partition(".")[0].strip()


def settings_of(given: Iterable[str | Setting], problems: list[str], *, root: str = "anonymizer") -> list[Setting]:
    """Read ``path=value`` texts, and add mistakes to `problems`.

    A path without a dot is a key of the part `root`, unless it can only be one of the policy's own.
    """
    found = []
    for one in given:
        if isinstance(one, Setting):
            found.append(one)
        elif match := _PATH.fullmatch(one):
            written = match[1]
            path = tuple(int(place) if place else _unquoted(step) for place, step in _STEPS.findall(written))
            text = "\t" if match[2].strip() in TABS and path == ("source", "separator") else match[2].strip()
            found.append(Setting(_from_the_top(path, root), plain_value(text), f"--set {written}", text))
        elif one.strip():
            problems.append(f"--set: {_WRITE}")
    return _marks_together(found)


def _marks_together(found: Sequence[Setting]) -> list[Setting]:
    """Add up the texts for a missing value of one place, which are said one by one."""
    joined: dict[tuple[str | int, ...], Setting] = {}
    for place, setting in enumerate(found):
        earlier = joined.get(setting.path) if setting.path[-1] == "missing" else None
        key = setting.path if setting.path[-1] == "missing" else (place,)
        joined[key] = replace(setting, value=[*_texts(earlier), *_texts(setting)], text=None) if earlier else setting
    return list(joined.values())


def _texts(setting: Setting) -> list[str]:
    value = setting.value
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else [setting.text or str(value)]


def _unquoted(step: str) -> str:
    return str(tomllib.loads(f"key = {step}")["key"]) if step.startswith('"') else step


def _from_the_top(path: tuple[str | int, ...], root: str) -> tuple[str | int, ...]:
    if len(path) == 1:
        key = str(path[0]).replace("_", "-")
        return (key,) if key in OF_POLICY else (root, key)
    if path[0] == ROOT:
        return path[1:]
    return ("columns", ANY_ROLE, *path[1:]) if path[0] == COLUMN else path


def plain_value(text: str) -> Any:
    """Read a value as TOML does; anything else is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def with_settings(
    mapping: Mapping[str, Any], settings: Sequence[Setting], problems: list[str]
) -> tuple[dict[str, Any], dict[tuple[str | int, ...], str]]:
    """Put settings into a policy's plain values; returns them, and what messages call the keys that were set.

    A part of a wrong type stays for the check.
    """
    result, names = dict(mapping), dict[tuple[str | int, ...], str]()
    for setting in settings:
        path = _with_role(result, setting, problems)
        if not path:
            continue
        try:
            result = _with(result, path, setting.value)
        except KeyError:
            problems.append(f"{setting.typed}: stands below what is no table or list, or has fewer entries")
        names[path] = setting.typed
        if path[0] not in mapping:
            names.setdefault(path[:1], setting.typed)
    return result, names


def _with_role(mapping: Mapping[str, Any], setting: Setting, problems: list[str]) -> tuple[str | int, ...]:
    """Return the path with the role of the column that it names; empty where the column has none."""
    if setting.path[:2] != ("columns", ANY_ROLE):
        return setting.path
    columns, name = mapping.get("columns"), setting.path[2]
    for role in _ROLES:
        if isinstance(columns, Mapping) and isinstance(columns.get(role), (Mapping, list)) and name in columns[role]:
            return ("columns", role, *setting.path[2:])
    if columns is None or isinstance(columns, Mapping):
        problem = f"{name!r} is not a quasi-identifying or sensitive column; give it a role"
        problems.append(f"{setting.typed}: {problem}")
    return ()


def _with(node: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a value with another one at a path below it; KeyError where there can be none."""
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        if not isinstance(node, list) or key >= len(node):
            raise KeyError(key)
        return [*node[:key], _with(node[key], rest, value), *node[key + 1 :]]
    if isinstance(node, list) and all(isinstance(name, str) for name in node):
        node = {name: {} for name in node}  # columns that had no settings yet
    if node is not None and not isinstance(node, Mapping):
        raise KeyError(key)
    return {**(node or {}), key: _with((node or {}).get(key), rest, value)}


def fitting(policy: type[Any], mapping: Mapping[str, Any], setting: Setting) -> Setting:
    """Take a value as text, or as a list of names, where a kind of policy has nothing else there.

    So `source.sheet=2024` names a sheet, and `columns.publish=zip,phone` two columns, without quotes and brackets.
    """
    if setting.text is None or isinstance(setting.value, (list, dict)):
        return setting
    kinds = [policy]
    for place, key in enumerate(setting.path):
        kinds = [inner for kind in kinds for inner in _below(kind, key, _at(mapping, setting.path[: place + 1]))]
    is_names = any(get_origin(kind) is tuple and get_args(kind)[:1] == (str,) for kind in kinds)
    if is_names and str not in kinds:
        return replace(setting, value=names_in(setting.text))
    is_text = str in kinds and type(setting.value) not in kinds and (float not in kinds or setting.value is True)
    return replace(setting, value=setting.text) if is_text and not isinstance(setting.value, str) else setting


def _at(node: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _below(kind: Any, key: str | int, given: Any) -> list[Any]:
    """Return the types that a part of a policy has at a key; `given` is what stands there, which may say its kind."""
    origin = get_origin(kind)
    if origin in (dict, tuple):
        return _alternatives(get_args(kind)[-1 if origin is dict else 0])
    name = "quasi_identifying" if key == ANY_ROLE else str(key).replace("-", "_")
    field = getattr(kind, "model_fields", {}).get(name)
    if field is None:
        return []
    entries = next((note for note in field.metadata if isinstance(note, Mapping)), {})
    tag = given.get("name") if isinstance(given, Mapping) else None
    return [entries[tag]] if isinstance(tag, str) and tag in entries else _alternatives(field.annotation)


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [inner for one in get_args(hint) for inner in _alternatives(one)]
    return [hint]


def names_in(text: str) -> list[str]:
    """Split names at commas; a name that holds a comma is in double quotes."""
    try:
        names = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        raise PolicyError(
            "a list of names has a line break outside double quotes; put that name in double quotes"
        ) from None
    return [name.strip() for name in names if name.strip()]

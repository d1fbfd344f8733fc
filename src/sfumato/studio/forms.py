"""Forms for anything that a policy describes, made from the JSON Schema: a new method has its form by being described.

What a form sends becomes the plain values of a policy again; whoever leaves a field as it is gets the default.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import tomli_w

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import PolicyError
from sfumato.models import MODELS
from sfumato.policy.policy import Policy

Widget = Literal["number", "choice", "yes-no", "text", "list", "toml"]
PREFIX = "option."
"""Before the names of fields, so that they cannot be taken for others of the page."""


@dataclass(frozen=True)
class Field:
    """One field of a form."""

    key: str  # as a policy writes it
    widget: Widget
    help: str
    group: str  # ``needed``, ``usual`` or ``rare``
    choices: tuple[str, ...] = ()
    is_whole: bool = False
    low: float | None = None
    high: float | None = None
    unit: str = ""
    default: str = ""  # what is taken where nothing is said, as the field would show it
    value: str = ""  # what is said; empty: nothing

    @property
    def name(self) -> str:
        """The name of the input."""
        return PREFIX + self.key

    @property
    def label(self) -> str:
        """What the page calls it."""
        return self.key.replace("-", " ")


@dataclass(frozen=True)
class SettingsForm:
    """The form of one model, method or other part of a policy."""

    name: str  # the model's or method's name; empty for other parts
    what: str  # what it is, in a sentence
    why: str  # the rest of what is to be said of it
    fields: tuple[Field, ...]

    def of_group(self, *groups: str) -> list[Field]:
        """Fields of some groups."""
        return [field for field in self.fields if field.group in groups]


@cache
def _schema() -> dict[str, Any]:
    return Policy.json_schema()


def model_names() -> list[str]:
    """Return the names of all privacy models."""
    return list(MODELS)


def method_names() -> dict[str, list[str]]:
    """Return the names of all anonymizers and publishers, by what they publish."""
    return {"generalized tables": list(ANONYMIZERS), "other kinds of release": list(PUBLISHERS)}


def model_form(entry: Mapping[str, Any]) -> SettingsForm:
    """Return the form of a privacy model, filled in with an entry of a policy."""
    return _form(MODELS[entry["name"]].__name__, entry)


def method_form(entry: Mapping[str, Any]) -> SettingsForm:
    """Return the form of an anonymizer or publisher, filled in with an entry of a policy."""
    name = entry["name"]
    return _form((ANONYMIZERS if name in ANONYMIZERS else PUBLISHERS)[name].__name__, entry)


def part_form(part: str, entry: Mapping[str, Any]) -> SettingsForm:
    """Return the form of another part of the policy, such as ``Recoding`` or ``People``."""
    return _form(part, entry)


@cache
def one_line(name: str) -> str:
    """Return what a model or method is, in a sentence."""
    registry = MODELS if name in MODELS else ANONYMIZERS if name in ANONYMIZERS else PUBLISHERS
    return _form(registry[name].__name__, {}).what


def _form(definition: str, entry: Mapping[str, Any]) -> SettingsForm:
    described = _schema()["$defs"][definition]
    what, _, why = described["description"].partition("\n\n")
    fields = [
        _field(key, setting, entry)
        for key, setting in described["properties"].items()
        if key not in ("name", "kind") or "const" not in setting
    ]
    return SettingsForm(str(entry.get("name", "")), " ".join(what.split()), why, tuple(fields))


def _field(key: str, setting: Mapping[str, Any], entry: Mapping[str, Any]) -> Field:
    kinds = [_resolved(kind) for kind in setting.get("anyOf", [setting])]
    kinds_of_value = [kind for kind in kinds if kind.get("type") != "null"]
    widget, kind = _widget(kinds_of_value)
    default = setting.get("default")
    return Field(
        key=key,
        widget=widget,
        help=str(setting.get("description", "")),
        group=setting["x-group"],
        choices=tuple(kind.get("enum", ())),
        is_whole=kind.get("type") == "integer",
        low=kind.get("minimum", kind.get("exclusiveMinimum")),
        high=kind.get("maximum", kind.get("exclusiveMaximum")),
        unit=str(kind.get("x-unit", "")),
        default="" if default is None else _written(default, widget),
        value=_written(entry[key], widget) if entry.get(key) is not None else "",
    )


def _resolved(kind: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in kind:
        return {**kind, **_schema()["$defs"][kind["$ref"].rpartition("/")[2]]}
    return kind


def _widget(kinds: Sequence[Mapping[str, Any]]) -> tuple[Widget, Mapping[str, Any]]:
    # Several forms that it may have are written as a policy writes them.
    first = kinds[0] if kinds else {}
    if len(kinds) != 1:
        return "toml", first
    if "enum" in first:
        return "choice", first
    if first.get("type") == "boolean":
        return "yes-no", first
    if first.get("type") in ("integer", "number"):
        return "number", first
    if first.get("type") == "string":
        return "text", first
    is_list = first.get("type") == "array" and first.get("items", {}).get("type") == "string"
    return ("list" if is_list else "toml"), first


def _written(value: Any, widget: Widget) -> str:
    if widget == "yes-no":
        return "yes" if value else "no"
    if widget == "list":
        return "\n".join(value)
    if widget == "toml":
        return _inline(value) if isinstance(value, Mapping) else tomli_w.dumps({"x": value}).partition("=")[2].strip()
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def _inline(value: Mapping[str, Any]) -> str:
    pairs = [f"{_key(name)} = {_written(its, 'toml')}" for name, its in value.items()]
    return "{" + ", ".join(pairs) + "}" if pairs else ""


def _key(name: str) -> str:
    return tomli_w.dumps({name: 0}).rpartition("=")[0].strip()


def entry_from(form: SettingsForm, sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of a policy that a form's fields mean; what is empty, or is the default, is left out.

    Raises ``PolicyError``: naming every field that cannot be read. Ranges are checked where policies are.
    """
    entry: dict[str, Any] = {"name": form.name} if form.name else {}
    problems: list[str] = []
    for field in form.fields:
        text = sent.get(field.name, "").strip()
        if text in ("", field.default):
            continue
        try:
            entry[field.key] = _read(field, text)
        except ValueError:
            problems.append(f"{field.label}: {_WANTED[field.widget]}")
    if problems:
        raise PolicyError(*problems)
    return entry


_WANTED = {
    "number": "must be a number",
    "choice": "must be one of the choices",
    "yes-no": "must be yes or no",
    "text": "must be text",
    "list": "must be one name a line",
    "toml": 'must be written as in a policy file, such as 3, "word" or [["a", "b"], ["c"]]',
}


def _read(field: Field, text: str) -> Any:
    if field.widget == "number":
        return int(text) if field.is_whole else finite_number(text)
    if field.widget == "yes-no":
        return {"yes": True, "no": False}[text] if text in ("yes", "no") else _refuse()
    if field.widget == "choice":
        return text if text in field.choices else _refuse()
    if field.widget == "list":
        return [line.strip() for line in text.splitlines() if line.strip()]
    return tomllib.loads(f"x = {text}")["x"] if field.widget == "toml" else text


def finite_number(text: str) -> float | int:
    """Read a finite number, or raise ValueError."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
    return number if math.isfinite(number) else _refuse()


def _refuse() -> Any:
    raise ValueError

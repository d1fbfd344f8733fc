"""The pages of the API reference: every public name of sfumato on one of them."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

import sfumato
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import SfumatoError
from sfumato.models import MODELS

# What belongs together. Modules have a page each; models, anonymizers and errors are found by what they are, and all
# others go to the last.
GROUPS: dict[str, tuple[str, ...]] = {
    "Tables": ("read_table", "Reading", "Schema", "Attribute", "Table", "correlation"),
    "Hierarchies": (
        "Hierarchy", "intervals", "prefixes", "dates", "groups", "flat", "read_hierarchy", "write_hierarchy",
    ),
    "Policies": ("Policy", "People"),
    "Releases": ("anonymize", "verify", "Release", "open_release", "report", "Series"),
    "Privacy models": (),
    "Anonymizers": ("lower_bound", "search_lattice"),
    "Recodings": ("Recoding",),
    "Losses and utility": (
        "measure", "measure_utility", "describe", "hold_out",
    ),
    "Risk": ("risk", "Sample", "check"),
    "Attacks": ("attack", "attack_policy"),
    "Comparing": ("compare", "Figures", "reproduce"),
    "Errors": (),
    "More": (),
    **{f"sfumato.{name}": () for name in sfumato.__all__ if inspect.ismodule(getattr(sfumato, name))},
}  # fmt: skip
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


def names() -> list[str]:
    """Return all public names; those of a module behind its own and a dot."""
    found = []
    for name in sfumato.__all__:
        value = getattr(sfumato, name)
        if inspect.ismodule(value):
            found += [f"{name}.{inner}" for inner in sorted(vars(value)) if not inner.startswith("_")]
        else:
            found.append(name)
    return found


def _value(name: str) -> Any:
    module, _, inner = name.rpartition(".")
    return getattr(getattr(sfumato, module) if module else sfumato, inner)


def group_of(name: str) -> str:
    """Say on which page a public name stands."""
    value = _value(name)
    if "." in name:
        return f"sfumato.{name.partition('.')[0]}"
    if name in _GROUP_OF:
        return _GROUP_OF[name]
    if value in MODELS.values():
        return "Privacy models"
    if value in ANONYMIZERS.values() or value in PUBLISHERS.values():
        return "Anonymizers"
    if inspect.isclass(value) and issubclass(value, SfumatoError):
        return "Errors"
    return "More"


def api_pages() -> dict[str, str]:
    """Return path → Markdown of every page of the API reference, the overview first."""
    grouped = {group: sorted(_members(group), key=_order) for group in GROUPS}
    pages = {_path(group): _page(group, names) for group, names in grouped.items() if names}
    return {"api/index.md": _overview(grouped)} | pages


def places() -> dict[str, str]:
    """Return public name → path under which it is defined, and shown."""
    return {name: _place(name) for name in names()}


def api_entries() -> list[tuple[str, str, str]]:
    """Return of every public name where it stands in the site, the name, and what it is."""
    pages = {name: _path(group_of(name)).removesuffix(".md") for name in names()}
    return [(f"{page}.html#{_place(name)}", name, _summary(name)) for name, page in pages.items()]


def _members(group: str) -> list[str]:
    return [name for name in names() if group_of(name) == group]


def _order(name: str) -> tuple[int, str]:
    """Put chosen names first, in the order above."""
    chosen = GROUPS[group_of(name)]
    return (chosen.index(name) if name in chosen else len(chosen), name.lower())


def _path(group: str) -> str:
    return f"api/{group.lower().replace(' ', '-').replace('.', '-')}.md"


def _page(group: str, names: list[str]) -> str:
    return f"# {group}\n\n" + "\n\n".join(f"::: {_place(name)}" for name in names) + "\n"


def _overview(grouped: dict[str, list[str]]) -> str:
    lines = ["# API reference", "", "`import sfumato as sf` gives these names. Everything else may change.", ""]
    for group, names in grouped.items():
        if names:
            page = _path(group).removeprefix("api/")
            lines += [f"## [{group}]({page})", "", "| name | is |", "|---|---|"]
            lines += [f"| [`{name}`][{_place(name)}] | {_summary(name)} |" for name in names]
            lines += [""]
    return "\n".join(lines)


def _summary(name: str) -> str:
    value = _value(name)
    if isinstance(value, Mapping):
        return "Name → class: " + ", ".join(f"`{key}`" for key in value)
    text = inspect.getdoc(value)
    first = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", (text or "").split("\n\n")[0])
    return first.replace("\n", " ").replace("|", "\\|")


def _place(name: str) -> str:
    """Return the path under which a name is defined."""
    value = _value(name)
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    inner = name.rpartition(".")[2]
    homes = [
        key
        for key, module in sys.modules.items()
        if key.startswith("sfumato.") and key != f"sfumato.{name.partition('.')[0]}" and inner in vars(module)
    ]
    return f"{min(homes)}.{inner}"

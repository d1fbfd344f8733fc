"""What the API reference needs to read the docstrings as they are written: Sphinx's roles as links or code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod|obj):`(?P<target>[^`]+)`")


class Roles(griffe.Extension):
    """Links roles to public names, and prints all others as code.

    Parameters
    ----------
    places
        Public name → path under which the API reference shows it.
    """

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object that was read."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(self._written, obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Keep a bare ``ClassVar`` out of the arguments of a dataclass."""
        if str(attr.annotation) == "ClassVar":
            attr.annotation = None

    def _written(self, role: re.Match[str]) -> str:
        target = role["target"]
        name = target.rpartition(".")[2]
        shown = f"`{name if target.startswith('~') else target.removeprefix('sfumato.')}`"
        return f"[{shown}][{self.places[name]}]" if name in self.places else shown

"""Names of policies and the classes behind them; a class is loaded when it is asked for.

Names that the library does not know are looked for among the entry points of installed packages, and only then.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_changes = [0]


class Registry(Mapping[str, Any]):
    """A dictionary from names to classes that loads one when it is asked for it.

    `places`: name → ``module:Class``, or the class itself. `group`: of the entry points where other packages name
    classes of their own. These are asked for a name that is not known, and never listed before they were.
    """

    def __init__(self, places: Mapping[str, Any], group: str | None = None) -> None:
        self._places = dict(places)
        self._group = group

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        place = self._places[name]
        return loaded(place) if isinstance(place, str) else place

    def __setitem__(self, name: str, value: Any) -> None:
        """Add a class of one's own, or a new edition; PolicyError when the name is that of another class."""
        old = self._places.get(name, value)
        if isinstance(old, str) or _full_name(old) != _full_name(value):
            raise PolicyError(f"{name}: is the name of something else; choose another one")
        self._places[name] = value
        _changes[0] += 1

    def __contains__(self, name: object) -> bool:
        if name in self._places:
            return True
        found = _point(self._group, name) if self._group is not None and isinstance(name, str) else None
        if found is not None:
            self[found.name] = _plugged(found)
        return found is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def places(self) -> Iterator[str]:
        """Return where the classes of the library stand, without loading one."""
        return (place for place in self._places.values() if isinstance(place, str))

    def unloaded(self) -> dict[str, Any]:
        """Return what each name stands for: a class, or the place of one that is loaded when it is asked for."""
        return dict(self._places)


OWN_KINDS = Registry(
    {
        "ratings": "sfumato.kinds.ratings.check:RATINGS",
        "sets": "sfumato.kinds.sets.check:SETS",
        "traces": "sfumato.kinds.traces.check:TRACES",
        "private-marginals": "sfumato.kinds.noisy_counts.check:COUNTS",
        "private-sample": "sfumato.kinds.private_sample.check:SAMPLES",
    },
    "sfumato.kinds",
)
"""Kinds of releases that are no table of records → what their verifier knows of them."""


def class_places(*registries: Registry) -> dict[str, str]:
    """Return where each class of registries stands, by the name of the class; none is loaded."""
    return {place.partition(":")[2]: place for registry in registries for place in registry.places()}


def _full_name(value: Any) -> tuple[Any, Any]:
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None)


def changes() -> int:
    """Count what was added to registries; whoever keeps what was made of them makes it anew when this has grown."""
    return _changes[0]


def loaded(place: str) -> Any:
    """Return what stands at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


@cache
def _point(group: str, name: str) -> EntryPoint | None:
    from importlib.metadata import entry_points  # takes a while, and most names are known

    return next(iter(entry_points(group=group, name=name)), None)


def _plugged(point: EntryPoint) -> Any:
    """Load a plug-in, or say which package it is of and that it is broken; what it says may hold values."""
    package = "an unknown package" if point.dist is None else f"the package {point.dist.name!r}"
    try:
        value = point.load()
    except Exception as error:
        raise PolicyError(
            f"{point.name}: the plug-in of {package} cannot be loaded ({type(error).__name__}); update the package, or "
            "remove it"
        ) from None
    if getattr(value, "name", point.name) != point.name:
        raise PolicyError(f"{point.name}: the plug-in of {package} has another name than its class; ask its authors")
    return value


_SOURCES = re.compile(r"(?:\*Sources?\.\*|References\n-+)\s+(.*?)(?=\s*\*?Departures?\b|\n\s*\n|\Z)", re.DOTALL)


def citations(methods: Iterable[Any]) -> str:
    """Name the papers behind models, anonymizers and attacks: a line for each that names one, and for this program.

    `methods`: values or classes, whose docstrings say where they come from.
    """
    own = f'sfumato: The Sfumato authors, "Sfumato: privacy-preserving data publishing", version {version("sfumato")}.'
    kinds = dict.fromkeys(method if isinstance(method, type) else type(method) for method in methods)
    found = {kind: _SOURCES.search(inspect.getdoc(kind) or "") for kind in kinds}
    named = (f"{getattr(kind, 'name', '')}: {' '.join(text[1].split())}" for kind, text in found.items() if text)
    return "\n".join([own, *named])

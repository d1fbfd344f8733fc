"""Names of policies and the classes behind them; a class is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any


class Registry(Mapping[str, Any]):
    """A literal dictionary from names to ``module:Class`` that holds the classes themselves for whoever asks."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Any:
        return loaded(self._places[name])

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def places(self) -> Iterator[str]:
        """Return where the classes stand, without loading one."""
        return iter(self._places.values())


def loaded(place: str) -> Any:
    """Return what stands at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)

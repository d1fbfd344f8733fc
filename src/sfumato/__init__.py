"""Sfumato: privacy-preserving data publishing.

A table about people goes in with a policy; out comes a release that can be verified by whoever receives it.

    import sfumato as sf

    schema = sf.Schema(identifying=["name"], quasi_identifying=["age", "sex", "zip"], sensitive=["disease"])
    table = sf.read_table("patients.csv", schema)
    release = sf.anonymize(table, [sf.KAnonymity(5), sf.EntropyLDiversity(3)])
    release.save("patients-release/")
    sf.verify("patients-release/")

Names are loaded at first use, so that ``import sfumato`` and ``sfumato --help`` are quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


def _homes() -> dict[str, str]:
    """Return the module that each public name lives in, from the stub beside this file: one import a line."""
    # Of a name that is a module itself it is this package. Names of the last version stand in the one line with a star.
    lines = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    return {words[3]: words[1] for words in map(str.split, lines) if words[:1] == ["from"] and words[3] != "*"}


_HOME_OF = _homes()

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        home = _HOME_OF[name]
        value = import_module(f"{__name__}.{name}") if home == __name__ else getattr(import_module(home), name)
        return globals().setdefault(name, value)  # so that it is looked for once
    from sfumato.former_names import MOVED, former_name

    if name not in MOVED:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return former_name(name)


def __dir__() -> list[str]:
    return __all__


class _FormerModules:
    """What looks for a module of the last version after everybody else has."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a former module is loaded; None for any other."""
        if not fullname.startswith(f"{__name__}."):
            return None
        from sfumato.former_names import former_module

        return former_module(fullname)


sys.meta_path.append(_FormerModules)

"""The words of ``words.toml``: names of columns in several languages, scales, marks of a missing value."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from sfumato.hierarchy.education import words_of
from sfumato.table.written_forms import missing_words


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(files("sfumato.findings").joinpath("words.toml").read_text(encoding="utf-8"))


@cache
def values_that_mean(what: str) -> frozenset[str]:
    """Return texts in small letters, such as those that stand for a missing value."""
    return missing_words() if what == "missing" else frozenset(_words()["values"][what])


@cache
def names_of(what: str, form: str = r"\b({})\b") -> re.Pattern[str]:
    """Return the pattern of names of columns of one sort; `form` says where in a name its words stand."""
    return re.compile(form.format("|".join(_words()["names"][what])))


@cache
def scales() -> tuple[tuple[frozenset[str], ...], ...]:
    """Return the known scales: steps from the lowest, each with its ways of saying it."""
    return tuple(
        tuple(frozenset(map(words_of, step.split("|"))) for step in scale["steps"]) for scale in _words()["scales"]
    )

"""Keywords of the last version that go on working for this one; each warns, and names what is written now.

A function takes them by ``**former``, so that type checkers know them. Their messages are those of the new form.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar

from sfumato.table.sources.protocol import Reading

Value = TypeVar("Value")
_HOME = str(Path(__file__).parent)
WARNING = "is the form of the last version, and goes with the next one"


class FormerReading(TypedDict, total=False):
    """Keywords of readers that :class:`sfumato.Reading` has now."""

    separator: str
    encoding: str
    quote: str | None
    missing: str | Sequence[str]
    header: bool
    columns: Sequence[str] | None
    strip: bool | list[str] | tuple[str, ...]
    decimal: str | None
    thousands: str | None
    dates: str | Sequence[str] | None
    table: str | None
    query: str | os.PathLike[str] | None
    sheet: str | None
    range: str | None
    codes: Sequence[str]


class FormerAnonymize(TypedDict, total=False):
    """Keywords of :func:`sfumato.anonymize` that a policy, or the population, has now."""

    policy: Any
    refine: int | None
    subset: Any


class FormerRisk(TypedDict, total=False):
    """Keywords of :func:`sfumato.risk` that :class:`sfumato.Sample` has now."""

    sampling_fraction: float | None
    weights: str | None
    household: str | None
    log_linear_estimate: Literal["standard", "pseudo-likelihood"]
    log_linear: Any


class FormerCompare(TypedDict, total=False):
    """Keywords of :func:`sfumato.compare` that a policy, ``vary`` or :class:`sfumato.Figures` has now."""

    values: Sequence[float]
    recoding: Any
    suppression_limit: float
    queries: int
    classifiers: bool
    metrics: Any
    private: Any


class FormerStart(TypedDict, total=False):
    """A keyword of :meth:`sfumato.Series.start` that has no effect."""

    accept_gap: bool


def warn(former: str, now: str) -> None:
    """Warn whoever calls the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{former} {WARNING}; write {now}", DeprecationWarning, stacklevel=level)


def reading_of_call(function: str, reading: Reading | None, former: Mapping[str, Any]) -> Reading:
    """Return how a call of a reader reads, whose keywords may be former ones.

    Raises
    ------
    InputError
        With every setting that cannot be used.
    TypeError
        For a keyword that there never was, or beside `reading`.
    """
    refuse_others(function, former, FormerReading)
    return value_of_call(function, "reading", Reading, reading, former)


def settings_of_call(former: Mapping[str, Any]) -> tuple[Any, int | None, Any]:
    """Return the policy, the refinement and the subset that a call of :func:`sfumato.anonymize` names."""
    refuse_others("anonymize", former, FormerAnonymize)
    now = {
        "policy": "the policy in the place of the models",
        "refine": "a policy, such as Policy.of(..., refine=100)",
        "subset": "population=",
    }
    for name in former:
        warn(f"anonymize({name}=...)", now[name])
    return former.get("policy"), former.get("refine"), former.get("subset")


def value_of_call(
    function: str, keyword: str, kind: type[Value], given: Value | None, former: Mapping[str, Any]
) -> Value:
    """Return the value of a keyword that has taken others in: as it was given, as former keywords say, or the usual."""
    if not former:
        return kind() if given is None else given
    if given is not None:
        raise TypeError(f"{function}() takes {_listed(former)} in {keyword}; put it there")
    warn(f"{function}({_listed(former)})", f"{keyword}=sfumato.{kind.__name__}({_listed(former)})")
    return kind(**former)


def varied_of_call(vary: Mapping[str, Sequence[Any]] | str, former: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """Return which parameter varies in a call of :func:`sfumato.compare`, and its values."""
    if isinstance(vary, str) or "values" in former:
        warn("compare(vary=NAME, values=VALUES)", "vary={NAME: VALUES}")
        name = vary if isinstance(vary, str) else next(iter(vary), "k")
        return name, former.get("values", (2, 5, 10, 20, 50))
    return next(iter(vary.items()))


def refuse_others(function: str, former: Mapping[str, Any], known: type[Any]) -> None:
    """Raise TypeError for a keyword that there never was, as Python does."""
    for name in former:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def _listed(former: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}=..." for name in former)

"""Which issues are sensitive: by name, by pattern, from a list file, or a share of all."""

from __future__ import annotations

import fnmatch
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.randomness import permutation
from sfumato.settings import is_finite_number
from sfumato.whole_files import read_regular_text

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class SensitiveIssues:
    """A choice of sensitive issues. The choices of several fields are combined.

    Parameters
    ----------
    names
        Names of issues. An entry that is no name, and holds ``*``, ``?`` or ``[``, is a pattern as for file names.
    file
        A text file (UTF-8) with one name or pattern per line.
    share
        Fraction of all issues to draw, above 0 and below 1; at least one issue.
    drawn
        Whether the share is drawn at random or from the most rated issues down.
    seed
        For tests and studies; without one, a random share is drawn from the operating system's randomness.

    Raises
    ------
    PolicyError
        With every field that cannot be used.
    """

    names: Sequence[str] = ()
    file: str | os.PathLike[str] | None = None
    share: float | None = None
    drawn: Literal["random", "most-rated"] = "random"
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check all fields at once and keep the names as a tuple."""
        names = (self.names,) if isinstance(self.names, str) else self.names
        problems = []
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            problems.append("sensitive issues: names must be a list of names and patterns")
        if self.share is not None and not (is_finite_number(self.share) and 0 < self.share < 1):
            problems.append("sensitive issues: share must be a number above 0 and below 1")
        if self.drawn not in ("random", "most-rated"):
            problems.append("sensitive issues: drawn must be 'random' or 'most-rated'")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0):
            problems.append("sensitive issues: seed must be a whole number of at least 0")
        raise_all(PolicyError, problems)
        object.__setattr__(self, "names", tuple(names))

    def choose(self, issues: Sequence[str], raters: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of each issue whether it is sensitive.

        Parameters
        ----------
        issues
            Names of all issues.
        raters
            int64 (m,): how many have rated each.

        Returns
        -------
        numpy.ndarray
            bool (m,).

        Raises
        ------
        InputError
            Naming everything that matches no issue, or when no issue would be left that is not sensitive.
        """
        wanted = [*self.names, *(_lines(self.file) if self.file is not None else [])]
        chosen = _named(wanted, issues)
        chosen[self._share_of(raters)] = True
        if len(issues) and chosen.all():
            raise InputError("every issue is sensitive; leave at least one that others may know")
        return chosen

    def _share_of(self, raters: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.share is None:
            return np.empty(0, dtype=np.int64)
        # A fraction such as 0.1 is not exact, and must not cost an issue more.
        count = max(1, math.ceil(self.share * len(raters) - 1e-9))
        if self.drawn == "most-rated":
            return np.argsort(-raters, kind="stable")[:count]
        return permutation(len(raters), self.seed)[:count]


def sensitive_choice(given: object) -> SensitiveIssues:
    """Return a choice from itself, a name, or a list of names and patterns.

    Raises
    ------
    PolicyError
        When it is none of these.
    """
    return given if isinstance(given, SensitiveIssues) else SensitiveIssues(given)  # type: ignore[arg-type]


def select(wanted: Sequence[str], names: Sequence[str], what: str) -> list[int]:
    """Return the places of the wanted names, rising, each once.

    Parameters
    ----------
    wanted
        Names and patterns; a name takes precedence over a pattern that is written the same.
    names
        All names, no two alike.
    what
        What messages call one of them.

    Raises
    ------
    InputError
        With everything wanted that matches nothing.
    """
    place_of = {name: place for place, name in enumerate(names)}
    found: set[int] = set()
    problems = []
    for text in dict.fromkeys(wanted):
        if text in place_of:
            found.add(place_of[text])
            continue
        fitting = _fitting(text, names)
        found.update(fitting)
        if not fitting:
            kind = f"no {what} fits the pattern {text!r}" if _WILD.search(text) else f"there is no {what} {text!r}"
            problems.append(f"{kind}; check the spelling")
    raise_all(InputError, problems)
    return sorted(found)


def _named(wanted: Sequence[str], issues: Sequence[str]) -> NDArray[np.bool_]:
    try:
        places = select(wanted, issues, "issue")
    except InputError as error:
        raise InputError(*(f"sensitive: {problem}" for problem in error.problems)) from None
    chosen = np.zeros(len(issues), dtype=np.bool_)
    chosen[places] = True
    return chosen


def _fitting(text: str, names: Sequence[str]) -> list[int]:
    if not _WILD.search(text):
        return []
    fits = re.compile(fnmatch.translate(text)).match
    return [place for place, name in enumerate(names) if fits(name)]


def _lines(file: str | os.PathLike[str]) -> list[str]:
    try:
        text = read_regular_text(file, "utf-8-sig")
    except (OSError, ValueError):
        raise InputError(f"{Path(file).name}: the list of sensitive issues cannot be read; it must be UTF-8") from None
    return [line.strip() for line in text.splitlines() if line.strip()]

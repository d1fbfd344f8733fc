"""What holds the releases of a series together: hashes of predecessors, and what was frozen when it was started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PolicyError, SfumatoError
from sfumato.models.checks import Check, Outcome
from sfumato.release.folder import MARK
from sfumato.series.description import FILE, Place, SeriesDescription
from sfumato.series.folder import SeriesFolder
from sfumato.series.reading import ReadRelease
from sfumato.series.ways import stands_in
from sfumato.whole_files import read_regular_text

CHAIN = "no release is missing, exchanged or of another series"
ALONE = "the folder holds nothing else"
POLICY = f"every release has the policy that {FILE} froze"
COLUMNS = "every release has the columns, roles and kinds of the first one"
ENDING = "the last release here is the last one of the series (compare its sha256 with the steward's)"


@dataclass(frozen=True)
class Head:
    """Where a head that somebody noted stands in a series: the sha256 of the release that was the last one then.

    Attributes
    ----------
    sha256 : str
    release : int or None
        Whose head it is; 0 before the first release; None where it is in this series nowhere.
    before : int or None
        The release that follows here; None where it is the last.
    """

    sha256: str
    release: int | None
    before: int | None

    @classmethod
    def of(cls, text: str, series: SeriesFolder) -> Head:
        """Look for a head in a folder.

        Raises
        ------
        PolicyError
            When it is no sha256.
        """
        found = text.strip().lower().removeprefix("sha256").strip(" :")
        if not re.fullmatch(r"[0-9a-f]{64}", found):
            raise PolicyError(
                "head: must be a sha256, 64 hexadecimal digits, as append, grow and series verify print it"
            )
        there = (0, *series.numbers)
        for number, following in zip(there, (*there[1:], None), strict=True):
            if series.hash_of(number) == found:
                return cls(found, number, following)
        return cls(found, None, None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        stands = "nowhere" if self.release is None else "last" if self.before is None else "before"
        return {"sha256": self.sha256, "stands": stands, "release": self.release, "before": self.before}

    def __str__(self) -> str:
        """Say it in words."""
        if self.release is None:
            return "the head is not in this series: it was cut off, changed or forked"
        whose = f"that of release {self.release}" if self.release else "that of the series without a release"
        return f"the head, {whose}, {'is the last' if self.before is None else f'stands before release {self.before}'}"


def chain_checks(series: SeriesFolder) -> tuple[Check, ...]:
    """Check that every release stands in its place, and that there is nothing else."""
    problems = list(_breaks(series))
    chain = [Check(CHAIN, Outcome.BROKEN, detail=problem) for problem in problems] or [Check(CHAIN, Outcome.HOLDS)]
    if strangers := series.strangers():
        chain.append(Check(ALONE, Outcome.BROKEN, detail=f"there is {', '.join(strangers)}; take it away"))
    return tuple(chain)


def _breaks(series: SeriesFolder) -> Iterator[str]:
    there = set(series.numbers)
    missing = sorted(set(range(1, max(there, default=0) + 1)) - there)
    yield from (f"release {number} is missing" for number in missing)
    if not there:
        yield "there is no release yet"
    for number in series.numbers:
        try:
            place = Place.of(read_regular_text(series.release(number) / MARK, errors="replace"))
        except (SfumatoError, OSError):
            yield f"release {number} has no {MARK} that can be read"
            continue
        if problem := _misplaced(place, number, series):
            yield f"release {number} {problem}"


def _misplaced(place: Place | None, number: int, series: SeriesFolder) -> str | None:
    if place is None:
        return "is a release by itself, and of no series"
    if place.id != series.description.id:
        return "is of another series"
    if not stands_in(place.way, series.description.way):
        return f"was made by another way than {FILE} says"
    if place.number != number:
        return f"is release {place.number} of the series, in the place of another"
    before = series.hash_of(number - 1)
    if before is not None and before != place.previous:
        what = f"release {number - 1}" if number > 1 else FILE
        return f"was made of another {what} than the one that lies here: one of the two was changed or exchanged"
    return None


def frozen_checks(series: SeriesDescription, first: ReadRelease, release: ReadRelease, number: int) -> Iterator[Check]:
    """Check that a release has the policy of the series, and columns, roles and kinds of the first release."""
    try:
        same = release.policy.text is not None and release.policy.content == series.policy
    except SfumatoError:
        same = False
    yield _frozen(POLICY, same, f"release {number} says something else in policy.toml")
    yield _frozen(COLUMNS, _form(first) == _form(release), f"release {number} has others")


def _frozen(promise: str, holds: bool, detail: str) -> Check:
    return Check(promise, Outcome.HOLDS) if holds else Check(promise, Outcome.BROKEN, detail=detail)


def _form(release: ReadRelease) -> object:
    kinds = {name: entry.kind for name, entry in release.description.sensitive.items()}
    return release.published.data.columns, dict(release.published.structure), kinds

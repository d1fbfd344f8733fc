"""The recount of a series from its public folder alone: every release, every neighbouring pair, and the chain of them.

Nothing here knows how a release is made; no algorithm is even loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError, SfumatoError, VerificationError
from sfumato.models.protocol import Check, Outcome
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.release.transaction import MARK
from sfumato.release.verify import mark_of
from sfumato.series.description import (
    FILE,
    WAYS,
    SeriesDescription,
    SeriesFolder,
    SeriesPlace,
    looked_back,
    recount_of,
    stands_in,
)
from sfumato.series.reading import ReadRelease
from sfumato.whole_files import read_regular_text

# What holds the releases of a series together: hashes of predecessors, and what was frozen when it was started.


CHAIN = "no release is missing, exchanged or of another series"
ALONE = "the folder holds nothing else"
POLICY = f"every release has the policy that {FILE} froze"
COLUMNS = "every release has the columns, roles and kinds of the first one"
ENDING = "the last release here is the last one of the series (compare its sha256 with the steward's)"


@dataclass(frozen=True)
class Head:
    """Where a head that somebody noted stands in a series: the sha256 of the release that was the last one then."""

    sha256: str
    release: int | None  # whose head it is; 0 before the first release; None where it is in this series nowhere
    before: int | None  # the release that follows here; None where it is the last

    @classmethod
    def of(cls, text: str, series: SeriesFolder) -> Head:
        """Look for a head in a folder. Raises ``PolicyError`` when it is no sha256."""
        found = text.strip().lower().removeprefix("sha256").strip(" :")
        if not re.fullmatch(r"[0-9a-f]{64}", found):
            raise PolicyError("head: must be a sha256, 64 hexadecimal digits, as series append and verify print it")
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
            place = SeriesPlace.of(read_regular_text(series.release(number) / MARK, errors="replace"))
        except (SfumatoError, OSError):
            yield f"release {number} has no {MARK} that can be read"
            continue
        if problem := _misplaced(place, number, series):
            yield f"release {number} {problem}"


def _misplaced(place: SeriesPlace | None, number: int, series: SeriesFolder) -> str | None:
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


PEOPLE = "which rows of a class are of one person, so that every class keeps in people what it promises"
"""What is attested where people have several records."""


@dataclass(frozen=True)
class RecountedRelease:
    """What was recounted of one release of a series."""

    number: int
    way: str  # how it was made of its predecessor; empty where it does not say so
    verification: Verification | None  # of the release by itself; None where it cannot be read
    beside: tuple[Check, ...]  # of the release beside the one before

    @property
    def ok(self) -> bool:
        """Tell whether everything holds that can be decided from the folders."""
        return self.verification is not None and self.verification.ok and all(map(_holds, self.beside))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        found = None if self.verification is None else self.verification.to_dict()
        beside = [_as_dict(check) for check in self.beside]
        return {"number": self.number, "way": self.way, "ok": self.ok, "release": found, "beside": beside}

    def lines(self) -> list[str]:
        """Write it for people."""
        counts = ""
        if self.verification is not None:
            found = self.verification
            counts = f": {counted(found.records, 'record')} in {counted(found.classes, 'equivalence class')}"
        alone, wishes = ((), ()) if self.verification is None else (self.verification.checks, self.verification.wishes)
        by_way = f" ({self.way})" if self.way else ""
        lines = (*alone, *wishes, *self.beside)
        return [f"release {self.number}{by_way}{counts}", *(f"  {line}" for line in lines)]


@dataclass(frozen=True)
class SeriesVerification:
    """What was recounted of a series, and what is attested.

    Attributes
    ----------
    id : str
        Of the series.
    last : str or None
        sha256 of the ``release.json`` of the last release: whoever has the same holds the same series.
    chain : tuple of Check
        What holds the releases together.
    releases : tuple of RecountedRelease
    attested : tuple of str
        What no recipient can recount: sentences that the steward answers for.
    ledger : tuple of Check or None
        What the steward's ledger was checked for; None: it was not at hand.
    head : Head or None
        Where a head that was given stands; None: none was given.
    """

    id: str
    last: str | None
    chain: tuple[Check, ...]
    releases: tuple[RecountedRelease, ...]
    attested: tuple[str, ...]
    ledger: tuple[Check, ...] | None = None
    head: Head | None = None

    @property
    def ok(self) -> bool:
        """Tell whether all holds that the folders decide, and the ledger and the head that were given."""
        held = all(map(_holds, (*self.chain, *(self.ledger or ())))) and all(each.ok for each in self.releases)
        return held and (self.head is None or self.head.release is not None)

    def raise_unless_ok(self) -> None:
        """Raise VerificationError naming everything that does not hold."""
        pairs = [(f"release {each.number}: ", check) for each in self.releases for check in _checks_of(each)]
        found = [("", check) for check in (*self.chain, *(self.ledger or ()))] + pairs
        problems = [
            f"{where}{check.promise}: {check.outcome}; {check.detail}" for where, check in found if not _holds(check)
        ]
        if self.head is not None and self.head.release is None:
            problems.append(str(self.head))
        if problems or not self.ok:
            raise VerificationError(*problems)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "ok": self.ok,
            "series": self.id,
            "last": self.last,
            "head": None if self.head is None else self.head.to_dict(),
            "recounted": {
                "chain": [_as_dict(check) for check in self.chain],
                "releases": [each.to_dict() for each in self.releases],
            },
            "attested": list(self.attested),
            "ledger": None if self.ledger is None else [_as_dict(check) for check in self.ledger],
        }

    def __str__(self) -> str:
        """Return what was recounted, and what is attested."""
        lines = [line for each in self.releases for line in each.lines()]
        attested = "attested by the steward, not recountable from the folders"
        if self.ledger is not None:
            attested = "attested by the ledger, not recountable from the folders"
        return "\n".join(
            [
                f"Series {self.id}: {counted(len(self.releases), 'release')}",
                "recounted from the folders",
                *(f"  {check}" for check in self.chain),
                *(f"  {line}" for line in lines),
                attested,
                *(f"  {check}" for check in self.ledger or ()),
                *(f"  {sentence}" for sentence in (self.attested if self.ledger is None else ())),
                *([] if self.last is None else [f"last release.json: sha256 {self.last}"]),
                *([] if self.head is None else [str(self.head)]),
            ]
        )


def verify_series(folder: str | os.PathLike[str], *, head: str | None = None) -> SeriesVerification:
    """Recount a series from its public folder alone.

    `folder`: that of the series, which holds the numbered releases. `head`: the sha256 that somebody noted when a
    release was the last one. It must be that of a release here. Returns: ``ok`` is False when a release or a pair of
    neighbours breaks a promise; when a release is missing, was exchanged, changed or is of another series; when one has
    another policy, other columns or other types; or when the head is of no release here. Raises ``InputError`` when it
    is no folder of a series. Raises ``PolicyError`` when the head is no sha256. Raises ``VerificationError`` when
    ``series.json`` is damaged.

    Every release is read once, and two are held at a time, unless some way asks for all. Cost of verifying each, and of
    grouping the rows of each pair.
    """
    try:
        series = SeriesFolder.open(Path(folder))
        stands = None if head is None else Head.of(head, series)
        return replace(_recounted(series), head=stands)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise VerificationError(f"{folder}: cannot be read ({reason})") from None


def _recounted(series: SeriesFolder) -> SeriesVerification:
    found: list[RecountedRelease] = []
    frozen: list[Check] = []
    first: ReadRelease | None = None
    people = False
    earlier: list[ReadRelease] = []
    whole = _asks_for_history(series)
    for number in series.numbers:
        newer, problem = _read(series.release(number), number)
        found.append(problem or _beside(earlier, _present(newer), number))
        if newer is not None:
            first = first or newer
            people |= newer.description.people is not None
            frozen += frozen_checks(series.description, first, newer, number)
        earlier = [*(earlier if whole else ()), newer] if newer is not None else []
    ways = dict.fromkeys(each.way for each in found if each.way in WAYS)
    of_people = (PEOPLE,) if people else ()
    attested = (*(sentence for way in ways for sentence in WAYS[way].attested), *of_people, ENDING)
    last = series.hash_of(series.numbers[-1]) if series.numbers else None
    return SeriesVerification(
        series.description.id, last, (*chain_checks(series), *_once(frozen)), tuple(found), attested
    )


def _read(path: Path, number: int) -> tuple[ReadRelease | None, RecountedRelease | None]:
    try:
        release = ReadRelease.of(path)
        # Counted here, where what cannot be is told.
        _ = release.verification
        return release, None
    except SfumatoError as error:
        broken = tuple(
            Check(f"release {number} can be read", Outcome.BROKEN, detail=problem) for problem in error.problems
        )
        return None, RecountedRelease(number, "", None, broken)


def _present(release: ReadRelease | None) -> ReadRelease:
    assert release is not None
    return release


def _asks_for_history(series: SeriesFolder) -> bool:
    """Tell whether some release has to be recounted beside all releases before it."""
    ways = (place.way for path in series.releases if (place := _place(path)) is not None)
    return any(WAYS[way].history for way in ways if way in WAYS)


def _place(path: Path) -> SeriesPlace | None:
    try:
        return SeriesPlace.of(mark_of(path))
    except SfumatoError:
        return None


def _beside(earlier: list[ReadRelease], newer: ReadRelease, number: int) -> RecountedRelease:
    """Recount a release beside those before it, where they can be read."""
    way = "" if newer.place is None else newer.place.way
    looked = looked_back(way, earlier)
    if len(looked) < (number - 1 if way in WAYS and WAYS[way].history else min(number - 1, 1)):
        detail = "a release before it cannot be read"
        missing = Check(f"release {number} fits those before it", Outcome.UNDECIDABLE, detail=detail)
        return RecountedRelease(number, way, newer.verification, (missing,))
    if not way:
        return RecountedRelease(number, way, newer.verification, ())
    try:
        beside = recount_of(way)(looked, newer)
    except SfumatoError as error:
        beside = tuple(Check("way", Outcome.UNDECIDABLE, detail=problem) for problem in error.problems)
    return RecountedRelease(number, way, newer.verification, beside)


def _checks_of(release: RecountedRelease) -> Iterator[Check]:
    yield from () if release.verification is None else release.verification.checks
    yield from release.beside


def _once(checks: list[Check]) -> tuple[Check, ...]:
    """Merge what holds of every release into one line; what does not is said of each."""
    broken = [check for check in checks if check.outcome is not Outcome.HOLDS]
    held = {check.promise: replace(check, detail="") for check in checks if check.outcome is Outcome.HOLDS}
    promises = {check.promise for check in broken}
    return (*broken, *(check for promise, check in held.items() if promise not in promises))


def _holds(check: Check) -> bool:
    return check.outcome is Outcome.HOLDS or (check.outcome is Outcome.UNDECIDABLE and not check.required)


def _as_dict(check: Check) -> dict[str, Any]:
    achieved = [str(value) for value in check.achieved]
    return {"promise": check.promise, "outcome": str(check.outcome), "achieved": achieved, "detail": check.detail}

"""What holds the releases of a series together: hashes of predecessors, and what was frozen when it was started."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.errors import SfumatoError
from sfumato.models.checks import Check, Outcome
from sfumato.release.folder import MARK
from sfumato.series.description import FILE, Place, SeriesDescription
from sfumato.series.folder import SeriesFolder
from sfumato.series.reading import ReadRelease
from sfumato.series.ways import stands_in

CHAIN = "no release is missing, exchanged or of another series"
ALONE = "the folder holds nothing else"
POLICY = f"every release has the policy that {FILE} froze"
COLUMNS = "every release has the columns, roles and kinds of the first one"
ENDING = "the last release here is the last one of the series (compare its sha256 with the steward's)"


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
            place = Place.of((series.release(number) / MARK).read_text(encoding="utf-8", errors="replace"))
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

"""What the steward's ledger attests, checked against the folder that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from sfumato.models.checks import Check, Outcome
from sfumato.numbers import counted
from sfumato.registry import loaded
from sfumato.series.batch import TAG
from sfumato.series.folder import SeriesFolder
from sfumato.series.ledger import Ledger
from sfumato.series.lock import locked
from sfumato.series.people import PeopleOfRelease, known_among
from sfumato.series.reading import ReadRelease
from sfumato.series.verify import SeriesVerification, verify_series
from sfumato.series.ways import WAYS

TOGETHER = "folder and ledger know the same releases"
ONCE = "nobody is among the newcomers of two releases"
WAITS = "nobody who waits is in a release"


def attested(folder: Path, ledger: Path) -> SeriesVerification:
    """Recount a series, and check what its ledger attests; what a killed run has left is put right before.

    Raises
    ------
    InputError
        When there is no ledger, or it is that of another series.
    VerificationError
        When it is damaged, or knows other releases than the folder.
    """
    Ledger.open(ledger, SeriesFolder.open(folder))
    with locked(ledger):
        kept = Ledger.open(ledger, SeriesFolder.open(folder)).recovered(folder)
        people = kept.people()
        checks = [Check(TOGETHER, Outcome.HOLDS), _once(people), *_waiting(kept, people)]
        checks += _of_ways(SeriesFolder.open(folder), kept, people)
        return replace(verify_series(folder), ledger=tuple(checks))


def _once(people: list[PeopleOfRelease]) -> Check:
    tags = pl.concat([each.tags for each in people]) if people else pl.Series(dtype=pl.Binary)
    twice = len(tags) - tags.n_unique()
    return _check(ONCE, twice)


def _waiting(ledger: Ledger, people: list[PeopleOfRelease]) -> Iterator[Check]:
    waiting = ledger.waiting()
    if waiting is not None:
        yield _check(WAITS, known_among(waiting[TAG], [each.tags for each in people]))


def _check(promise: str, wrong: int) -> Check:
    if wrong:
        return Check(promise, Outcome.BROKEN, detail=f"{counted(wrong, 'person')} are")
    return Check(promise, Outcome.HOLDS)


def _of_ways(series: SeriesFolder, ledger: Ledger, people: list[PeopleOfRelease]) -> Iterator[Check]:
    older: ReadRelease | None = None
    for path, entry, each in zip(series.releases, ledger.state.entries, people, strict=True):
        newer = ReadRelease.of(path)
        yield from loaded(WAYS[entry.way].attest)(older, newer, each)
        older = newer

"""What the steward's ledger attests, checked against the folder that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.models.checks import Check, Outcome
from sfumato.numbers import counted
from sfumato.registry import loaded
from sfumato.series.batch import TAG
from sfumato.series.folder import SeriesFolder
from sfumato.series.ledger import Ledger, ledger_kept
from sfumato.series.lock import locked
from sfumato.series.people import PeopleOfRelease, known_among
from sfumato.series.reading import ReadRelease
from sfumato.series.verify import SeriesVerification, verify_series
from sfumato.series.ways import WAYS, Attest, looked_back

if TYPE_CHECKING:
    from sfumato.series.series import Series

TOGETHER = "folder and ledger know the same releases"
WAITS = "nobody who waits is in a release"


def attested(series: Series, *, head: str | None = None) -> SeriesVerification:
    """Recount a series, and check what its ledger attests; what a killed run has left is put right before.

    `head` is as of :func:`~sfumato.series.verify.verify_series`.

    Raises
    ------
    InputError
        When there is no ledger, or it is that of another series.
    VerificationError
        When it is damaged, or knows other releases than the folder.
    """
    ledger_kept(series)
    with locked(series.ledger):
        kept = ledger_kept(series).recovered(series.folder)
        people = kept.people()
        checks = [Check(TOGETHER, Outcome.HOLDS), *_waiting(kept, people)]
        checks += _of_ways(SeriesFolder.open(series.folder), kept, people)
        return replace(verify_series(series.folder, head=head), ledger=tuple(checks))


def _waiting(ledger: Ledger, people: list[PeopleOfRelease]) -> Iterator[Check]:
    waiting = ledger.waiting()
    if waiting is None:
        return
    wrong = known_among(waiting[TAG], [each.tags for each in people])
    yield Check(WAITS, Outcome.BROKEN, detail=counted(wrong, "person")) if wrong else Check(WAITS, Outcome.HOLDS)


def _of_ways(series: SeriesFolder, ledger: Ledger, people: list[PeopleOfRelease]) -> Iterator[Check]:
    whole = any(WAYS[entry.way].history for entry in ledger.state.entries)
    earlier: list[ReadRelease] = []
    for number, (path, entry) in enumerate(zip(series.releases, ledger.state.entries, strict=True), 1):
        newer = ReadRelease.of(path)
        attest: Attest = loaded(WAYS[entry.way].attest)
        yield from attest(looked_back(entry.way, earlier), newer, people[:number])
        earlier = [*(earlier if whole else ()), newer]

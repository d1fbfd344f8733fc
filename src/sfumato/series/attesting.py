"""What the steward's ledger attests, checked against the folder that it belongs to; and both brought together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.models.checks import Check, Outcome
from sfumato.numbers import counted
from sfumato.registry import loaded
from sfumato.release.transaction import left, line_of, settle
from sfumato.series.batch import TAG
from sfumato.series.description import FILE as SERIES_FILE
from sfumato.series.description import SeriesFolder, ledger_of
from sfumato.series.encryption import cipher_of
from sfumato.series.ledger import Ledger, ledger_kept, take_back_start
from sfumato.series.people import PeopleOfRelease, known_among
from sfumato.series.private_files import locked, unchanged
from sfumato.series.reading import ReadRelease
from sfumato.series.verify import SeriesVerification, verify_series
from sfumato.series.ways import WAYS, Attest, looked_back

if TYPE_CHECKING:
    from sfumato.series.series import Series

TOGETHER = "folder and ledger know the same releases"
WAITS = "nobody who waits is in a release"


def attest_series(series: Series, *, head: str | None = None) -> SeriesVerification:
    """Recount a series, and check what its ledger attests; nothing is written, also where a run was killed.

    `head` is as of :func:`~sfumato.series.verify.verify_series`.

    Raises
    ------
    InputError
        When there is no ledger, or it is that of another series.
    VerificationError
        When it is damaged, or knows other releases than the folder.
    """
    ledger_kept(series)
    with unchanged(series.ledger):
        folder = SeriesFolder.open(series.folder)
        kept = ledger_kept(series).as_arrived(folder)
        kept.check(folder)
        people = kept.people()
        checks = [Check(TOGETHER, Outcome.HOLDS), *_waiting(kept, people)]
        checks += _of_ways(folder, kept, people)
        return replace(verify_series(series.folder, head=head), ledger=tuple(checks))


def interrupted_series(series: Series) -> str | None:
    """Say that a run of a series was interrupted and what to do, or return None; changes nothing."""
    found = bool(left(series.folder))
    if series.ledger.is_dir():
        try:
            with unchanged(series.ledger) as killed:
                names = [path.name for path in series.ledger.iterdir()]
                no_series = not (series.folder / SERIES_FILE).is_file()
                found |= killed or no_series or any(name.endswith(".part") for name in names)
        except InputError:
            return None
    if not found:
        return None
    elsewhere = ["--ledger", series.ledger] if series.ledger != ledger_of(series.folder) else []
    return line_of(series.folder, *elsewhere, *(["--ledger-key", series.ledger_key] if series.ledger_key else []))


def settle_series(series: Series) -> list[str]:
    """Bring the folder of a series and its ledger to one state after a killed run; say what became of it.

    Raises
    ------
    InputError
        When a run is working on the series, or the ledger is of a series that lies elsewhere.
    VerificationError
        When folder and ledger do not belong together, or one of them is damaged.
    """
    line, where = interrupted_series(series), series.folder
    settle(where)
    if (where / SERIES_FILE).is_file():
        with locked(series.ledger):
            last = len(ledger_kept(series).recovered(where).state.entries)
        became = f"the series is whole, and its last release is {last}" if last else "the series has no release yet"
    else:
        if series.ledger.is_dir():
            take_back_start(series.ledger, where, cipher_of(series.ledger_key))
            with suppress(OSError):
                # An empty folder is what a start leaves that is being taken back.
                where.rmdir()
        became = "the start was taken back"
    return [] if line is None else [f"{where}: a run was interrupted here; {became}"]


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

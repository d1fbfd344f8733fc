"""One step of a series: read the newcomers, make the next release, and write it and the ledger so that both agree."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.models.protocol import Check, Outcome
from sfumato.numbers import counted
from sfumato.policy.policy import Policy
from sfumato.randomness import seed_problems
from sfumato.registry import loaded
from sfumato.release.reports import Report
from sfumato.release.transaction import MARK, whole_folder
from sfumato.series.acceptable import policy_changes, published_policy
from sfumato.series.batch import Batch, read_batch, read_otherwise
from sfumato.series.description import WAYS, Attest, SeriesFolder, SeriesPlace, command_of, recount_of
from sfumato.series.ledger import Ledger, LedgerEntry, PrivateFile, State, Waiting, ledger_kept
from sfumato.series.next_release import Made, Running, Work, maker_of, release_limits
from sfumato.series.people import PeopleOfRelease
from sfumato.series.private_files import ledger_lock
from sfumato.series.reading import ReadRelease
from sfumato.table.writing import sha256_of
from sfumato.whole_files import sync

if TYPE_CHECKING:
    from sfumato.series.series import Series


@dataclass(frozen=True)
class Step:
    """What became of newcomers."""

    number: int | None  # of the release that was published; None when everybody waits
    folder: Path | None  # where it lies
    newcomers: int  # people in the table that was handed in, and did not wait before
    published: int  # people who came with the release: newcomers, and who had waited
    waiting: int  # people who wait now
    reason: str | None = None  # why they wait
    report: Report | None = None  # of those who came with the release, for the steward; of everybody where classes grow
    notes: tuple[str, ...] = ()  # what else the steward should know
    everybody: bool = False  # whether the table held everybody who is in now, not newcomers alone
    left: int = 0  # people who are not in the release any more, because they or others of their class withdrew

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "number": self.number,
            "folder": None if self.folder is None else str(self.folder),
            "newcomers": self.newcomers,
            "published": self.published,
            "waiting": self.waiting,
            "left": self.left,
            "reason": self.reason,
            "report": None if self.report is None else self.report.to_dict(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """Say it in words, with the report of those who came."""
        if self.left:
            lines = [f"Release {self.number}: {counted(self.left, 'person')} left"]
        elif self.number is None:
            lines = [f"Nothing was published: {counted(self.waiting, 'person')} wait. {self.reason}"]
        else:
            waited = max(0, self.published - self.newcomers)
            of_them = f", {waited:,} of whom had waited" if waited else ""
            wait = f"; {counted(self.waiting, 'person')} wait" if self.waiting else ""
            verb = ("is in it" if self.published == 1 else "are in it") if self.everybody else "came"
            lines = [f"Release {self.number}: {counted(self.published, 'person')} {verb}{of_them}{wait}"]
        return "\n".join([*lines, *self.notes, *([] if self.report is None else [str(self.report)])])


def next_step(
    series: Series,
    table: object,
    way: str,
    how: Running,
    *,
    policy: Policy | None = None,
    may_wait: bool = True,
    reading: Mapping[str, Any] | None = None,
    leave_out_known: bool = False,
    key_form: str | None = None,
) -> Step:
    """Take newcomers in; see :meth:`sfumato.Series.append`.

    `reading` says how this table is written where that is not as the policy says, see
    :func:`~sfumato.series.batch.read_otherwise`. `key_form` answers for spellings of keys; so does that of `policy`.
    Raises ``UnsatisfiableError`` when they cannot be published by themselves and may not wait.
    """
    raise_all(PolicyError, seed_problems(how.seed))
    ledger_kept(series)
    with ledger_lock(series.ledger) as note:
        kept = ledger_kept(series).recovered(series.folder)
        if way != kept.way:
            verb = "republish" if kept.way in WAYS and WAYS[kept.way].everybody else "append"
            raise PolicyError(
                f"{series.folder}: is a series of the way {kept.way!r}; use sfumato series {verb}, or in Python "
                f"{command_of(kept.way)}"
            )
        raise_all(PolicyError, () if policy is None else policy_changes(kept.policy, policy))
        how.progress("reading", 0, 1)
        asked = replace(kept, policy=_with_answers(read_otherwise(kept.policy, reading or {}), policy))
        answer = key_form or (None if policy is None else policy.columns.key_form)
        batch = read_batch(
            table, asked, everybody=WAYS[way].everybody, leave_out_known=leave_out_known, key_form=answer
        )
        try:
            step = _taken_in(SeriesFolder.open(series.folder), kept, batch, way, how)
        except UnsatisfiableError as error:
            if not may_wait or WAYS[way].everybody:
                raise
            step = _all_wait(kept, batch, " ".join(error.problems))
    return replace(step, notes=(*(() if note is None else (note,)), *batch.notes, *step.notes))


def _with_answers(policy: Policy, given: Policy | None) -> Policy:
    """Return the policy of a series with what the one that is given beside the step answers about its table."""
    if given is None or given.columns.accept is None:
        return policy
    accept = {**(policy.columns.accept or {}), **given.columns.accept}
    return policy.model_copy(update={"columns": policy.columns.model_copy(update={"accept": accept})})


def _taken_in(series: SeriesFolder, ledger: Ledger, batch: Batch, way: str, how: Running) -> Step:
    # Only a way that asks for its history needs more than the last release.
    paths = series.releases if WAYS[way].history else series.releases[-1:]
    # Their tables are read where they are asked for; what the ledger keeps may spare that.
    earlier = [ReadRelease.unread(path) for path in paths]
    for each in earlier if WAYS[way].history else ():
        each.refuse_if_changed()
    people = ledger.people() if WAYS[way].history else ()
    work = Work(ledger.policy.output.format, how, ledger.kept(), people)
    return _published(series, ledger, batch, maker_of(way)(work, batch, earlier), way, earlier)


def _all_wait(ledger: Ledger, batch: Batch, reason: str) -> Step:
    everybody = np.ones(batch.table.height, dtype=np.bool_)
    waiting = _waiting(ledger, batch, everybody)
    # Grids are fixed by those who are published.
    frozen = ledger.state.frozen or replace(batch.frozen, grids={})
    keys = ledger.with_spellings(batch.spellings)
    replace(ledger, state=replace(ledger.state, frozen=frozen, waiting=waiting, keys=keys)).write().clean()
    return Step(None, None, batch.newcomers, 0, waiting.people if waiting else 0, reason)


def _waiting(ledger: Ledger, batch: Batch, who: NDArray[np.bool_]) -> Waiting | None:
    """Write down who waits; None if nobody does."""
    if not who.any():
        return None
    buffer = io.BytesIO()
    batch.records().filter(pl.Series(who)).write_parquet(buffer)
    people = batch.tags.filter(pl.Series(who)).n_unique()
    return Waiting(people, PrivateFile.write(ledger.files, "waiting", buffer.getvalue()))


def _published(
    series: SeriesFolder, ledger: Ledger, batch: Batch, made: Made, way: str, earlier: Sequence[ReadRelease]
) -> Step:
    """Write the release and the ledger."""
    place, following = write_next(
        series, ledger, made, way, earlier, lambda release: _next_state(ledger, batch, made, release, way)
    )
    report = replace(made.report, limits=release_limits(place, made.description), who_is_who="ledger")
    came, waiting = following.entries[-1].newcomers, following.waiting
    still = 0 if waiting is None else waiting.people
    target = series.release(place.number)
    return Step(place.number, target, batch.newcomers, came, still, None, report, made.notes, WAYS[way].everybody)


def write_next(
    series: SeriesFolder,
    ledger: Ledger,
    made: Made,
    way: str,
    earlier: Sequence[ReadRelease],
    next_state: Callable[[str], State],
) -> tuple[SeriesPlace, State]:
    """Write a release and the ledger; return its place, and what the ledger says from now on.

    The ledger says what will be while the release is written beside its place, and what is once it stands there.
    `next_state` gives it for the hash of the release. Raises ``VerificationError`` when the release does not stand up
    to its recount; nothing is published then.
    """
    number = len(ledger.state.entries) + 1
    place = SeriesPlace(ledger.series, number, way, series.hash_of(number - 1) or "", made.covers)
    with whole_folder(series.release(number), around=series.path) as part:
        made.write(part, place, published_policy(ledger.policy, ledger.way), ledger.policy.output.format)
        newer = ReadRelease.unread(part)
        _recount(newer, made, earlier, way)
        if made.people is not None:
            _attest(newer, earlier, way, [*ledger.people(), made.people])
        pending = replace(ledger, next=next_state(sha256_of(part / MARK))).write()
    sync(series.path)
    following = pending.next or pending.state
    replace(pending, state=following, next=None).write().clean()
    return place, following


def _next_state(ledger: Ledger, batch: Batch, made: Made, release: str, way: str) -> State:
    """Write the files of the next state, and return it."""
    shown = made.class_of >= 0
    came = batch.tags.filter(pl.Series(shown))
    people = made.people or PeopleOfRelease.of(came, made.class_of[shown], made.pseudonyms)
    file, rows = PrivateFile.write(ledger.files, "people", people.content()), people.content_of_rows()
    numbered = None if rows is None else PrivateFile.write(ledger.files, "rows", rows)
    losses = made.report.losses
    entry = LedgerEntry(release, way, came.n_unique(), losses.classes, losses.normalized_ncp, file, numbered)
    kept = None if made.kept is None else PrivateFile.write(ledger.files, "kept", made.kept)
    frozen, waiting = made.frozen or batch.frozen, _waiting(ledger, batch, ~shown)
    return State(frozen, (*ledger.state.entries, entry), waiting, kept, ledger.with_spellings(batch.spellings))


def _recount(newer: ReadRelease, made: Made, earlier: Sequence[ReadRelease], way: str) -> None:
    """Recount what was written as its recipient will; ``VerificationError``, never expected, publishes nothing."""
    if made.carried is not None and earlier and not WAYS[way].history:
        found, beside = made.carried.recount(newer)
    else:
        found, beside = newer.verification, recount_of(way)(earlier, newer)
    found.raise_unless_ok()
    _refuse(beside)


def _attest(newer: ReadRelease, earlier: Sequence[ReadRelease], way: str, people: Sequence[PeopleOfRelease]) -> None:
    """Recount what was written with everybody in their classes, as who knows them could; never expected to raise."""
    attest: Attest = loaded(WAYS[way].attest)
    _refuse(attest(earlier, newer, people))


def _refuse(checks: Sequence[Check]) -> None:
    broken = [check for check in checks if check.outcome is not Outcome.HOLDS and check.required]
    raise_all(VerificationError, [f"{check.promise}: {check.outcome}; {check.detail}" for check in broken])

"""A series of releases: started once, appended to, recounted, attested, and at a glance."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import isnan, nan
from pathlib import Path
from typing import Any, Self, Unpack

from sfumato.anonymizers import ANONYMIZERS
from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.former import FormerStart, refuse_others, warn
from sfumato.models.protocol import Check, Outcome, PrivacyModel
from sfumato.numbers import counted, percent
from sfumato.policy.parts import People
from sfumato.policy.policy import DEFAULT_ANONYMIZER, FORMER_ANONYMIZER, Policy, anonymizer_entry
from sfumato.progress import Progress, shown
from sfumato.recoding import Recoding
from sfumato.registry import loaded
from sfumato.release.task import AUTO, setting_problems, with_choice
from sfumato.release.transaction import check_target, left, line_of, settle, whole_folder
from sfumato.release.verify import open_folder
from sfumato.series.acceptable import key_of_series, published_policy, refuse, stored_policy
from sfumato.series.batch import TAG
from sfumato.series.description import (
    APPEND,
    FILE,
    GROW,
    WAYS,
    WITHDRAWAL,
    Attest,
    SeriesDescription,
    SeriesFolder,
    ledger_of,
    looked_back,
    refuse_unknown,
)
from sfumato.series.description import FILE as SERIES_FILE
from sfumato.series.ledger import Ledger, check_ledger_place, ledger_kept, new_ledger, remove_ledger, take_back_start
from sfumato.series.next_release import Running
from sfumato.series.people import PeopleOfRelease, known_among, mark_of_series
from sfumato.series.private_files import check_key_place, cipher_of, ledger_lock, unchanged
from sfumato.series.reading import ReadRelease
from sfumato.series.step import Step, next_step
from sfumato.series.verify import SeriesVerification, verify_series
from sfumato.table.schema import Schema

log = logging.getLogger(__name__)


def started(
    series: Series,
    policy: Policy | Schema,
    models: Sequence[PrivacyModel] | PrivacyModel = (),
    *,
    key: str | Sequence[str] | None = None,
    table: object = None,
    way: str = APPEND,
    how: Running = Running(),  # noqa: B008 - a frozen value
) -> Step | None:
    """Make the ledger and the folder of a series, and publish the first people; see :meth:`sfumato.Series.start`.

    A kill in between leaves a series without releases, or a ledger without a series, which the next start takes away.
    """
    refuse_unknown(way, first=table is not None)
    whole_policy = _policy(policy, models)
    if whole_policy.anonymizer.name == AUTO:
        whole_policy = _with_maker(whole_policy, way)
    refuse(whole_policy, way)
    column = key_of_series(whole_policy, key, way)
    stored = stored_policy(whole_policy, several=WAYS[way].people)
    # The ledger is read by the checks of a policy file, which see more than those of a call.
    Policy.from_mapping(stored.to_mapping())
    _check_places(series)
    _made(series, stored, column, way)
    if table is None:
        return None
    try:
        return next_step(series, table, way, how, may_wait=False)
    except BaseException:
        _taken_back(series)
        raise


def _with_maker(policy: Policy, way: str) -> Policy:
    """Return the policy with what ``auto`` takes for batches of any size; other ways than append cut by themselves."""
    if way == APPEND:
        return with_choice(policy, None)
    return policy.model_copy(update={"anonymizer": anonymizer_entry(ANONYMIZERS[FORMER_ANONYMIZER]())})


def _check_places(series: Series) -> None:
    # A start that was killed comes to its end before this one is refused, or begins.
    with suppress(SfumatoError):
        for line in settle_series(series):
            log.warning("%s", line)
    if (series.folder / FILE).is_file():
        raise InputError(f"{series.folder}: already holds a series; append to it with sfumato series append")
    check_target(series.folder, overwrite=False)
    check_ledger_place(series.ledger, series.folder)
    check_key_place(series.ledger_key, (series.ledger, series.folder))


def _made(series: Series, policy: Policy, column: str | tuple[str, ...], way: str) -> None:
    cipher, published = cipher_of(series.ledger_key), tomllib.loads(published_policy(policy, way))
    with new_ledger(series.ledger, secrets.token_hex(16), column, policy, way, cipher) as ledger:
        description = SeriesDescription(ledger.series, mark_of_series(ledger.series, ledger.key), published, way)
        with whole_folder(series.folder) as part:
            (part / FILE).write_text(description.text(), encoding="utf-8")


def _taken_back(series: Series) -> None:
    """Remove a series that has no release."""
    # A run that is killed here is known by the lock.
    with suppress(SfumatoError, OSError), ledger_lock(series.ledger):
        if not series.releases:
            shutil.rmtree(series.folder)
            remove_ledger(series.ledger)


def _policy(policy: Policy | Schema, models: Sequence[PrivacyModel] | PrivacyModel) -> Policy:
    listed = [models] if isinstance(models, PrivacyModel) else list(models)
    if isinstance(policy, Policy):
        if listed:
            raise PolicyError("models: the policy names them already; leave them out")
        return policy
    if not isinstance(policy, Schema):
        raise PolicyError("policy: give a Policy, or a Schema with models beside it")
    # Loaded here: a recount loads no algorithm.
    anonymizer = ANONYMIZERS[DEFAULT_ANONYMIZER]()
    raise_all(PolicyError, setting_problems(listed, anonymizer, Recoding(), 0.0, 0, People()))
    return Policy.of(policy, listed, anonymizer, Recoding(), 0.0, 0, People())


TOGETHER = "folder and ledger know the same releases"
WAITS = "nobody who waits is in a release"


def attest_series(series: Series, *, head: str | None = None) -> SeriesVerification:
    """Recount a series, and check what its ledger attests; nothing is written, also where a run was killed.

    `head` is as of :func:`~sfumato.series.verify.verify_series`. Raises ``InputError`` when there is no ledger, or it
    is that of another series. Raises ``VerificationError`` when it is damaged, or knows other releases than the folder.
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
    more: list[str | Path] = ["--ledger", series.ledger] if series.ledger != ledger_of(series.folder) else []
    more += ["--ledger-key", series.ledger_key] if series.ledger_key else []
    return line_of(series.folder, *more)


def settle_series(series: Series) -> list[str]:
    """Bring the folder of a series and its ledger to one state after a killed run; say what became of it.

    Raises ``InputError`` when a run is working on the series, or the ledger is of a series that lies elsewhere. Raises
    ``VerificationError`` when folder and ledger do not belong together, or one of them is damaged.
    """
    line, where = interrupted_series(series), series.folder
    settle(where)
    if (where / SERIES_FILE).is_file():
        with ledger_lock(series.ledger):
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


@dataclass(frozen=True)
class ReleaseLine:
    """What is known of one release."""

    number: int
    records: int
    way: str | None = None
    # `newcomers`, `classes`: who came with it, and their classes; who left with it, and 0, where people withdrew; None
    # without the ledger
    newcomers: int | None = None
    classes: int | None = None
    loss: float | None = None  # normalized NCP of the newcomers' records; of everybody's where classes grow
    loss_of_all: float | None = None  # the mean over all records so far; None once people have left

    def __str__(self) -> str:
        """Write it as one line."""
        line = f"release {self.number}: {counted(self.records, 'record')}"
        if self.way == WITHDRAWAL:
            return f"{line}; {counted(self.newcomers or 0, 'person')} left ({self.way})"
        if self.newcomers is None or self.classes is None or self.loss is None:
            return line
        of_all = "" if self.loss_of_all is None else f", of all {percent(self.loss_of_all, 3)}"
        who = "person" if self.way in WAYS and WAYS[self.way].everybody else "newcomer"
        came = counted(self.newcomers, who)
        if self.way == GROW and self.loss_of_all is not None:
            there = f"{came}, {counted(self.classes, 'class')} of everybody ({self.way})"
            return f"{line}; {there}, NCP of all {percent(self.loss_of_all, 3)}"
        came = f"{came} in {counted(self.classes, 'class')} ({self.way})"
        return f"{line}; {came}, NCP {percent(self.loss, 3)}{of_all}"


@dataclass(frozen=True)
class Overview:
    """A series at a glance."""

    id: str
    releases: tuple[ReleaseLine, ...]
    waiting: int | None  # people who wait for the next release; None without the ledger

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"series": self.id, "releases": [asdict(each) for each in self.releases], "waiting": self.waiting}

    def __str__(self) -> str:
        """Return a line for each release, and who waits."""
        waiting = [] if self.waiting is None else [f"waiting: {counted(self.waiting, 'person')}"]
        lines = [f"Series {self.id}: {counted(len(self.releases), 'release')}", *map(str, self.releases), *waiting]
        return "\n".join(lines)


def overview_of(series: Series) -> Overview:
    """Look at a series without recounting it; what the ledger says is left out where there is none.

    Raises ``SfumatoError`` when the folder is no series, or the ledger is damaged or that of another one.
    """
    folder = SeriesFolder.open(series.folder)
    records = [open_folder(path).files["data"].rows for path in folder.releases]
    if not series.ledger.exists():
        alone = (ReleaseLine(number, rows) for number, rows in zip(folder.numbers, records, strict=True))
        return Overview(folder.description.id, tuple(alone), None)
    state = ledger_kept(series).state
    lines, lost, before = [], 0.0, 0
    for number, (rows, entry) in enumerate(zip(records, state.entries, strict=False), 1):
        came, before = rows - before, rows
        if entry.way == WITHDRAWAL:
            lines.append(ReleaseLine(number, rows, entry.way, entry.newcomers, 0))
            lost = nan
            continue
        # What append adds is counted by itself, all else as a whole; counterfeits lose nothing.
        lost = lost + entry.loss * came if entry.way == APPEND else entry.loss * rows
        lines.append(
            ReleaseLine(
                number,
                rows,
                entry.way,
                entry.newcomers,
                entry.classes,
                entry.loss,
                None if isnan(lost) else lost / rows,
            )
        )
    return Overview(folder.description.id, tuple(lines), 0 if state.waiting is None else state.waiting.people)


@dataclass(frozen=True)
class Series:
    """Releases of one policy over time, which withstand each other; what a recipient gets is the folder.

    Make it with :meth:`start` or :meth:`open`.

    Attributes
    ----------
    folder : Path
        ``series.json`` and the numbered releases; everything in it may be given away.
    ledger : Path
        The steward's: who is in which class of which release, and who waits. Nobody else may have it.
    ledger_key : Path or None
        File with the key that encrypts the ledger; None: as the settings ``SFUMATO_LEDGER_KEY_FILE`` and
        ``SFUMATO_LEDGER_KEY`` say, else it is not encrypted.
    """

    folder: Path
    ledger: Path
    ledger_key: Path | None = None

    @classmethod
    def start(
        cls,
        folder: str | os.PathLike[str],
        policy: Policy | Schema,
        models: Sequence[PrivacyModel] | PrivacyModel = (),
        *,
        table: object = None,
        ledger: str | os.PathLike[str] | None = None,
        ledger_key: str | os.PathLike[str] | None = None,
        key: str | Sequence[str] | None = None,
        way: str = APPEND,
        seed: int | None = None,
        threads: int | None = None,
        progress: Progress = shown,
        **former: Unpack[FormerStart],
    ) -> Self:
        """Start a series.

        Parameters
        ----------
        folder
            Where its releases go; must not exist yet.
        policy
            Of all releases. Or a schema, with `models` beside it. Where it names a person column, people may have
            several records and are counted; in other ways than append it is a key of people with one record each.
        models
            One privacy model or several, where `policy` is a schema.
        table
            The first people, as :meth:`append` takes them. None: they come with the first append.
        ledger
            Folder for the steward's ledger; None: ``FOLDER.ledger``, beside the folder. Keep it private, and copies
            of it.
        ledger_key
            File with the key that encrypts the ledger (AES-256-GCM; needs ``sfumato[encryption]``); ``sfumato series
            new-key`` makes one. None: as the settings ``SFUMATO_LEDGER_KEY_FILE`` and ``SFUMATO_LEDGER_KEY`` say, else
            it is not encrypted.
        key
            The identifying column that says who a record is about; None: the person column, or the only one.
        way
            How all releases are made: ``"append"``, ``"grow"``, or ``"m-invariance"``, which :meth:`republish` goes on
            with.
        seed, threads, progress
            As of :meth:`append`.
        **former
            `accept_gap` of the last version, without effect.

        Returns
        -------
        Series

        Raises
        ------
        PolicyError
            With every reason for which the policy cannot be that of a series.
        InputError
            When folder or ledger cannot be made.
        UnsatisfiableError
            When the first people cannot satisfy the models. Nothing is left behind then.
        """
        from sfumato.series.next_release import Running

        refuse_others("start", former, FormerStart)
        if former:
            warn("Series.start(accept_gap=...)", "nothing: it has no effect")
        made = cls._at(folder, ledger, ledger_key)
        how = Running(seed, threads, progress)
        started(made, policy, models, key=key, table=table, way=way, how=how)
        return made

    @classmethod
    def _at(
        cls,
        folder: str | os.PathLike[str],
        ledger: str | os.PathLike[str] | None,
        ledger_key: str | os.PathLike[str] | None,
    ) -> Self:
        place = Path(folder)
        return cls(
            place,
            ledger_of(place) if ledger is None else Path(ledger),
            None if ledger_key is None else Path(ledger_key),
        )

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        ledger: str | os.PathLike[str] | None = None,
        ledger_key: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open the folder of a series; its ledger, and the key that encrypts it, are only needed to go on.

        Raises
        ------
        InputError
            When it is no folder of a series.
        VerificationError
            When ``series.json`` is damaged.
        """
        SeriesFolder.open(Path(folder))
        return cls._at(folder, ledger, ledger_key)

    def encrypt(self, new_key: str | os.PathLike[str]) -> Series:
        """Encrypt the ledger, or change its key.

        Parameters
        ----------
        new_key
            File with the key from now on. The one so far is that with which the series was opened.

        Returns
        -------
        Series
            With the new key.

        Raises
        ------
        InputError
            When a key is missing or none, or another run is working on the series.
        VerificationError
            When folder and ledger do not belong together, or one of them is damaged.

        Notes
        -----
        The ledger is that of the old key or of the new one at any time. Files that lay there before are taken away, and
        not overwritten: a disk may still hold them. Copies of the ledger stay as they are.
        """
        from sfumato.series.ledger import encrypt_ledger

        encrypt_ledger(self, Path(new_key))
        return replace(self, ledger_key=Path(new_key))

    def append(
        self,
        table: object,
        *,
        policy: Policy | None = None,
        leave_out_known: bool = False,
        key_form: str | None = None,
        seed: int | None = None,
        threads: int | None = None,
        progress: Progress = shown,
    ) -> Step:
        """Publish the next release: all rows of the last one unchanged, and newcomers in classes of their own.

        Parameters
        ----------
        table
            Newcomers alone: a file or frame as :func:`sfumato.read_table` takes it. One record each, unless the policy
            of the series names a person column: then all that are there of a person share one class, and who waits may
            come with more.
        policy
            Held against that of the series, which decides: a change is an error. None: nothing is compared.
        leave_out_known
            Leave out records of people who are in the series already, who are refused otherwise. They stay as they were
            published first; a note says how many records were left out.
        key_form
            Whether keys that differ in capitals, blanks, leading zeros and the like are one person's, where this is
            asked about: ``"exact"``, no; ``"fold"``, yes; or by kind. The series keeps the answer. None: as before.
        seed
            For tests and studies; None draws from the operating system. A seed is never written anywhere.
        threads
            Upper bound; None takes the policy's, else ``SFUMATO_THREADS``, else all cores.
        progress
            Called with (what, done, total).

        Returns
        -------
        Step
            What was published; or how many wait, and why. Newcomers that cannot satisfy the models alone wait for
            others.

        Raises
        ------
        PolicyError
            When `policy` is another one than that of the series.
        InputError
            With everything that is wrong with the table, at once, before anything is worked out: people who were
            there before, other columns, types or values than the series knows. Also without the ledger, and while
            another run works on the series.
        VerificationError
            When folder and ledger do not belong together, or one of them is damaged.

        Notes
        -----
        *Guarantee.* Of whoever was in the release before nothing new is published. Who comes is in a class of newcomers
        that satisfies every model whatever else is known. Anybody can recount both from the two folders, but for this:
        that nobody comes twice is attested by the ledger; and where people have several records, who is who. Persons
        are told apart by their key alone. Folder and ledger
        are whole at any time; a killed run is finished or taken back by the next one.
        """
        from sfumato.series.next_release import Running
        from sfumato.series.step import next_step

        how = Running(seed, threads, progress)
        return next_step(self, table, APPEND, how, policy=policy, leave_out_known=leave_out_known, key_form=key_form)

    def grow(
        self,
        table: object,
        *,
        policy: Policy | None = None,
        leave_out_known: bool = False,
        key_form: str | None = None,
        seed: int | None = None,
        threads: int | None = None,
        progress: Progress = shown,
    ) -> Step:
        """Publish the next release of a growing series: classes take newcomers in, and are cut again.

        Parameters
        ----------
        table, policy, leave_out_known, key_form, seed, threads, progress
            As of :meth:`append`: newcomers alone, one record each. The records of everybody else are in the ledger.

        Returns
        -------
        Step
            Its report is of everybody.

        Raises
        ------
        PolicyError, InputError, VerificationError
            As of :meth:`append`.

        Notes
        -----
        *Guarantee.* Whoever knows the quasi-identifying values of one person, and with which release the person came,
        is left with rows that satisfy every model, by any two releases and by the whole series. Every pair of releases
        is recounted with everybody in their classes before one is published; from the folders alone as far as they
        decide it. It does not hold against somebody who knows these values of *everybody*, nor, where rows publish
        values, against who takes the exact months of arrival of classes into account: take :meth:`append` there.
        """
        from sfumato.series.next_release import Running
        from sfumato.series.step import next_step

        how = Running(seed, threads, progress)
        return next_step(self, table, GROW, how, policy=policy, leave_out_known=leave_out_known, key_form=key_form)

    def republish(
        self,
        table: object,
        *,
        most_counterfeits: float = 0.05,
        key_form: str | None = None,
        seed: int | None = None,
        threads: int | None = None,
        progress: Progress = shown,
    ) -> Step:
        """Publish everybody who is in now, in a series that was started with ``way="m-invariance"``.

        Parameters
        ----------
        table
            Everybody who is in now, one record each. Who was in an earlier release and is not in the table has left, or
            withdrew; who comes back is in a class of the same sensitive values again. Quasi-identifying values may
            change.
        most_counterfeits
            Invented rows that are allowed, as a share of all rows of the release.
        key_form, seed, threads, progress
            As of :meth:`append`.

        Returns
        -------
        Step
            What was published. Nobody waits.

        Raises
        ------
        PolicyError
            When the series is not one of m-invariance.
        InputError
            As of :meth:`append`; also when the sensitive value of somebody who was there before has changed.
        UnsatisfiableError
            When a value has more than 1/m of the newcomers, or more counterfeits would be needed than are allowed.
            Nothing is changed then.
        VerificationError
            When folder and ledger do not belong together, or one of them is damaged.

        Notes
        -----
        *Guarantee.* Whoever knows everybody's quasi-identifying values at any time, and who is in which release, knows
        nobody's sensitive value with more than 1/m from the numbers of all releases together. That classes have m
        different values can be recounted; that people keep them is attested by the ledger.
        """
        from sfumato.series.next_release import Running
        from sfumato.series.step import next_step

        return next_step(
            self, table, "m-invariance", Running(seed, threads, progress, most_counterfeits), key_form=key_form
        )

    def withdraw(
        self, people: object, *, most_lost: float = 0.1, key_form: str | None = None, seed: int | None = None
    ) -> Step:
        """Publish the next release of an appended series without people who withdrew their consent.

        Parameters
        ----------
        people
            Their keys: a list, or a file or frame with the column of keys.
        most_lost
            Rows that may go with them, as a share of all rows: everybody whose class publishes the same goes, too.
        key_form
            As of :meth:`append`, for this list alone.
        seed
            As of :meth:`append`.

        Returns
        -------
        Step
            `left` says how many people went. Who only waited is taken from those who wait; nothing is published then.

        Raises
        ------
        PolicyError
            When the series grows, or is one of m-invariance, where :meth:`republish` without these people does it.
        InputError
            When somebody is in no release, or has left already; without the ledger.
        UnsatisfiableError
            When more rows would go than `most_lost`, or nobody would be left. Nothing is changed then.
        VerificationError
            When folder and ledger do not belong together, or one of them is damaged.

        Notes
        -----
        *Guarantee.* What the next release says can be computed from the last one and from which labels are gone. It
        adds about anybody only this: somebody of these classes withdrew. A class without one row would show that row.
        Who left cannot come back into the series. Earlier releases are out, and cannot be called back.
        """
        from sfumato.series.append_making import withdraw
        from sfumato.series.next_release import Running

        return withdraw(self, people, most_lost=most_lost, how=Running(seed), key_form=key_form)

    @property
    def releases(self) -> tuple[Path, ...]:
        """The folders of its releases, the first one first."""
        return SeriesFolder.open(self.folder).releases

    @property
    def head(self) -> str:
        """The sha256 of the ``release.json`` of the last release, which holds on to all before it.

        Note it elsewhere after every step, and publish it: with it :meth:`verify` tells a series that was rolled
        back or forked since. Before the first release it is that of ``series.json``.
        """
        return SeriesFolder.open(self.folder).head

    def verify(self, *, ledger: bool = False, head: str | None = None) -> SeriesVerification:
        """Recount every release, and every pair of neighbours.

        Parameters
        ----------
        ledger
            Also check what the ledger attests.
        head
            A :attr:`head` that somebody noted: it must be that of a release here.

        Raises
        ------
        SfumatoError
            When the folder is no series, folder and ledger do not belong together, or the head is no sha256.
        """
        if not ledger:
            return verify_series(self.folder, head=head)

        return attest_series(self, head=head)

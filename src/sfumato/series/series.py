"""A series of releases: started once, appended to, recounted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sfumato.progress import Progress, shown
from sfumato.series.description import SeriesFolder, ledger_of
from sfumato.series.verify import SeriesVerification, verify_series
from sfumato.series.ways import APPEND, GROW

if TYPE_CHECKING:
    from sfumato.models.protocol import PrivacyModel
    from sfumato.policy.policy import Policy
    from sfumato.series.step import Step
    from sfumato.table.schema import Schema


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
        accept_gap: bool = False,
        seed: int | None = None,
        threads: int | None = None,
        progress: Progress = shown,
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
        accept_gap
            Without effect: growing series whose rows publish values were refused without it once.
        seed, threads, progress
            As of :meth:`append`.

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
        from sfumato.series.starting import started

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
        self,
        people: object,
        *,
        most_lost: float = 0.1,
        key_form: str | None = None,
        seed: int | None = None,
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
        from sfumato.series.next_release import Running
        from sfumato.series.withdrawing import withdraw

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
        from sfumato.series.attesting import attest_series

        return attest_series(self, head=head)

"""``sfumato series``: releases that withstand each other, started, appended to, recounted and shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.options import (
    METHOD,
    OUTPUT,
    PRIVACY,
    READING,
    Accept,
    AsJson,
    Details,
    PolicyFile,
    Quiet,
    RoleOptions,
    argument,
    option,
)
from sfumato.cli.options import Settings as PolicySettings
from sfumato.cli.outcome import complain, say_fitted
from sfumato.cli.progress import progress_bar, say_json, say_result
from sfumato.cli.review import in_one_line

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.release.reports import Report
    from sfumato.series.series import Series
    from sfumato.series.step import Step
    from sfumato.table.person_keys import PersonKey

KEEPS = "a series keeps its policy"
HELP = """Publish every month: releases of one policy that withstand each other.

What may be given away lies in one folder; a ledger beside it is the steward's alone. sfumato verify recounts a series,
sfumato attack attacks it, and sfumato compare --kind series compares the ways.
"""


SeriesFolder = Annotated[Path, argument("SERIES", "Folder of the series.")]
Ledger = Annotated[Path | None, OUTPUT("The steward's private ledger; default SERIES.ledger.", "FOLDER")]
LedgerKey = Annotated[
    Path | None,
    OUTPUT(
        "File with the key that encrypts the ledger; default as SFUMATO_LEDGER_KEY_FILE or SFUMATO_LEDGER_KEY.",
        "FILE",
        "--ledger-key",
    ),
]
Key = Annotated[
    str | None,
    PRIVACY(
        "The identifying column that says who a record is about, or several that do so together; default the only one.",
        "NAMES",
    ),
]
MostCounterfeits = Annotated[float, METHOD("m-invariance: invented rows that are allowed.", "SHARE")]
Way = Literal["append", "grow", "m-invariance"]
KeyForm = Annotated[
    str | None,
    PRIVACY(
        "exact or fold: whether keys that differ in capitals, blanks, zeros and the like are one person's. "
        "A series keeps it. By kind: fold:capitals,exact:zeros.",
        "FORM",
        "--key-form",
    ),
]
Settings = Annotated[
    list[str] | None,
    READING(
        "How this table is read, where it is not written like the first: source.KEY=VALUE, or "
        "column.NAME.KEY=VALUE; repeatable.",
        "PATH=VALUE",
        "--set",
    ),
]
Seed = Annotated[int | None, METHOD("For tests and studies only: makes the random order repeatable.")]


@dataclass(frozen=True)
class Promise:
    """What every release promises."""

    m: Annotated[int | None, PRIVACY("m-invariance: different sensitive values of each class.", None, "-m")] = None
    k: Annotated[int | None, PRIVACY("k-anonymity: smallest equivalence class.", None, "-k")] = None
    l: Annotated[  # noqa: E741
        float | None, PRIVACY("l-diversity of every sensitive column; --model says which kind.", None, "-l")
    ] = None
    model: Annotated[list[str] | None, PRIVACY("Any privacy model that judges a class alone.", "NAME:P=V")] = None


@dataclass(frozen=True)
class Private:
    """Where the ledger lies, and what opens it."""

    ledger: Ledger = None
    ledger_key: LedgerKey = None

    def open(self, folder: Path) -> Series:
        """Return the series."""
        from sfumato.series.series import Series

        return Series.open(folder, ledger=self.ledger, ledger_key=self.ledger_key)


@dataclass(frozen=True)
class Printed:
    """What is printed."""

    quiet: Quiet = False
    as_json: AsJson = False
    details: Details = False

    @property
    def is_quiet(self) -> bool:
        """Whether no progress is shown."""
        return self.quiet or self.as_json


@dataclass(frozen=True)
class Run:
    """How a table is read, and a release made of it."""

    settings: Settings = None
    threads: Annotated[int | None, METHOD("Threads; default all cores.")] = None
    seed: Seed = None


@dataclass(frozen=True)
class SeriesMethod:
    """How the first release is made."""

    way: Annotated[
        Way,
        METHOD(
            "How releases follow each other: newcomers in classes of their own, newcomers in those that are there, or "
            "everybody anew.",
            "append|grow|m-invariance",
            "--way",
        ),
    ] = "append"
    anonymizer: Annotated[str | None, METHOD("Algorithm of generalized tables; default mondrian.", "NAME")] = None
    settings: PolicySettings = None
    most_counterfeits: MostCounterfeits = 0.05
    seed: Seed = None
    format: Annotated[str | None, OUTPUT("Of the published tables; default csv.", "csv|parquet")] = None


def start(
    folder: SeriesFolder,
    table: Annotated[str | None, argument("[TABLE]", "File or database with the first people.")] = None,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    accept: Accept = None,
    key: Key = None,
    promise: Promise = Promise(),
    method: SeriesMethod = SeriesMethod(),
    private: Private = Private(),
    accept_gap: Annotated[
        bool,
        typer.Option(
            "--accept-gap",
            help="Without effect: growing series whose rows publish values were refused without it once.",
            hidden=True,
        ),
    ] = False,
    printed: Printed = Printed(),
) -> None:
    """Start a series: settle its policy, make its folder and the steward's ledger, and publish the first people.

    Everything that the policy says is frozen: roles, hierarchies, domains, models and the algorithm; with the first
    people also kinds and types of columns, and the grids on which intervals end. With --person, and the way append,
    people may have several records and are counted; other ways hold one record of each person.
    """
    from sfumato.cli.words import Words, accept_words, diversity_of, model_words, policy_of
    from sfumato.errors import PolicyError
    from sfumato.series.description import ledger_of
    from sfumato.series.next_release import Running
    from sfumato.series.series import Series, started

    m, way = promise.m, method.way
    if m is not None and way != "m-invariance":
        raise PolicyError("-m: belongs to m-invariance; add --way m-invariance")
    others = (*_models_of(m), *(promise.model or ()))
    models, problems = model_words(k=promise.k, l=diversity_of(promise.l), t=None, others=others)
    words = Words(
        policy=policy,
        **roles.words,
        accept=accept_words(accept, policy),
        models=models,
        anonymizer=method.anonymizer,
        settings=method.settings or (),
        format=method.format,
        problems=problems,
    )
    meant = policy_of(words)
    series = Series(folder, ledger_of(folder) if private.ledger is None else private.ledger, private.ledger_key)
    with in_one_line(), progress_bar(quiet=printed.is_quiet) as progress:
        how = Running(method.seed, None, progress, method.most_counterfeits)
        step = started(series, meant, key=_key(key), table=table, way=way, how=how)
    if step is not None:
        _print_step(step, series, printed)
    elif printed.as_json:
        say_json({"folder": str(series.folder), "ledger": str(series.ledger), "head": series.head})
    elif not printed.quiet:
        _print_head(series)
    if not printed.quiet:
        complain([f"series started in {series.folder}; keep {series.ledger} to yourself, and copies of it"])


def append(
    folder: SeriesFolder,
    table: Annotated[str, argument("TABLE", "File or database with newcomers alone.")],
    policy: Annotated[
        Path | None, option("Policy file that must be that of the series; the series decides.", "FILE", "--policy")
    ] = None,
    leave_out_known: Annotated[
        bool,
        PRIVACY(
            "Leave out records of people who are in the series already; else they are refused.",
            None,
            "--leave-out-known",
        ),
    ] = False,
    key_form: KeyForm = None,
    private: Private = Private(),
    run: Run = Run(),
    printed: Printed = Printed(),
) -> None:
    """Publish the next release, with newcomers in classes of their own, or in those that are there: as --way said.

    The table holds newcomers alone. Who is in a release already is refused, or left out with --leave-out-known. With
    --way append all rows of the last release stay unchanged; newcomers that are too few, or too much alike, wait for
    others, and it is said how many. With --way grow every pair of releases is recounted for the forward, cross and
    backward attack. With --person people may have several records, which share a class.
    """
    from sfumato.cli.words import reading_words
    from sfumato.policy.policy import Policy
    from sfumato.series.description import APPEND, GROW
    from sfumato.series.description import SeriesFolder as Folder
    from sfumato.series.next_release import Running
    from sfumato.series.step import next_step

    series, given = private.open(folder), None if policy is None else Policy.from_file(policy)
    way = GROW if Folder.open(folder).description.way == GROW else APPEND
    reading = reading_words(run.settings or (), KEEPS)
    with in_one_line(is_settled=True), progress_bar(quiet=printed.is_quiet) as progress:
        how = Running(run.seed, run.threads, progress)
        step = next_step(
            series, table, way, how, policy=given, reading=reading, leave_out_known=leave_out_known, key_form=key_form
        )
    _print_step(step, series, printed)


def republish(
    folder: SeriesFolder,
    table: Annotated[str, argument("TABLE", "File or database with everybody who is in now.")],
    private: Private = Private(),
    most_counterfeits: MostCounterfeits = 0.05,
    key_form: KeyForm = None,
    run: Run = Run(),
    printed: Printed = Printed(),
) -> None:
    """Publish everybody who is in now, in a series that was started with --way m-invariance.

    Who is not in the table has left; who comes back is in a class of the same sensitive values again. Where people
    left, counterfeits may stand in for them: how many each class has is published, not which rows they are.
    """
    from sfumato.cli.words import reading_words
    from sfumato.series.next_release import Running
    from sfumato.series.step import next_step

    series, reading = private.open(folder), reading_words(run.settings or (), KEEPS)
    with in_one_line(is_settled=True), progress_bar(quiet=printed.is_quiet) as progress:
        how = Running(run.seed, run.threads, progress, most_counterfeits)
        step = next_step(series, table, "m-invariance", how, reading=reading, key_form=key_form)
    _print_step(step, series, printed)


def withdraw(
    folder: SeriesFolder,
    people: Annotated[str, argument("KEYS", "File with the keys of those who withdraw, and its header.")],
    most_lost: Annotated[float, METHOD("Rows that may go with them.", "SHARE")] = 0.1,
    key_form: KeyForm = None,
    private: Private = Private(),
    seed: Seed = None,
    printed: Printed = Printed(),
) -> None:
    """Publish the next release of an appended series without people who withdrew their consent.

    Everybody whose class publishes the same goes with them: a class without one row would show that row. Who only waits
    is taken from those who wait. Earlier releases are out, and cannot be called back.
    """
    series = private.open(folder)
    step = series.withdraw(people, most_lost=most_lost, key_form=key_form, seed=seed)
    _print_step(step, series, printed)


def verify(
    folder: SeriesFolder,
    ledger: Annotated[Path | None, OUTPUT("The steward's ledger, to check what it attests.", "FOLDER")] = None,
    ledger_key: LedgerKey = None,
    head: Annotated[
        str | None, option("The head that was noted when a release was the last one: is it in this series?", "SHA256")
    ] = None,
    signer: Annotated[
        Path | None, option("Public key of whoever signed the whole series (sfumato sign).", "FILE", "--key")
    ] = None,
    revocations: Annotated[Path | None, option("With --key: statements that take signatures back.", "PATH")] = None,
    as_json: AsJson = False,
) -> None:
    """Recount every release, every pair of neighbours, and what holds them together, from the folder alone.

    Exit code 0: everything holds that can be recounted. 1: something does not, or a release is missing, was changed or
    exchanged, or is of another series; or the head that was given is not in this series, so that the series was cut off
    or forked.
    """
    from sfumato.cli.summary import recount_headline, say_report
    from sfumato.errors import PolicyError
    from sfumato.release.signature import signature_checks
    from sfumato.series.description import ledger_of
    from sfumato.series.series import Series, interrupted_series

    private = ledger_of(folder) if ledger is None else ledger
    if line := interrupted_series(Series(folder, private, ledger_key)):
        complain([line])
    found = Series.open(folder, ledger=ledger, ledger_key=ledger_key).verify(ledger=ledger is not None, head=head)
    if revocations is not None and signer is None:
        raise PolicyError("--revocations: says which signatures of a key do not count; give --key, too")
    found = replace(found, chain=(*found.chain, *signature_checks(folder, signer, revocations)))
    if as_json:
        say_json(found.to_dict())
    else:
        say_report(recount_headline(found), str(found))
    if not found.ok:
        raise typer.Exit(1)


def attack(
    folder: Annotated[list[Path], argument("SERIES|RELEASES", "Folder of a series; or several releases, in order.")],
    original: Annotated[
        list[Path], OUTPUT("Table of who came with the first release; repeat it for the second one, and so on.", "FILE")
    ],
    policy: Annotated[
        Path | None, option("Policy file that says how tables are read, and has hierarchies.", "FILE", "--policy")
    ] = None,
    key: Annotated[
        str | None,
        PRIVACY(
            "Where people also leave, as with m-invariance: the columns that say who a record is about. Each "
            "--original is then everybody who is in that release.",
            "NAMES",
        ),
    ] = None,
    key_form: KeyForm = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Play attacks on several releases of the same people: intersection, forward, cross, backward, difference, tracing.

    The attacker knows the quasi-identifying values of one person, and with which release the person came. Releases that
    were made independently fall; a series stands. With --key, sensitive values are intersected instead of rows, and
    people may leave; releases that are of no series may then have other columns (composition). Exit code 1: somebody is
    left fewer rows, or values, than promised.
    """
    from sfumato.cli.summary import say_report, series_attack_headline
    from sfumato.series.attacks import attack_releases, releases_of

    releases = releases_of(folder)
    columns = _key(key)
    said = _reading_of(policy, settings or (), releases, columns)
    if columns is None:
        found = attack_releases(releases, original, said, key_form=key_form)
    else:
        from sfumato.series.attacks import attack_with_keys

        found = attack_with_keys(releases, original, columns, said, key_form=key_form)
    if as_json:
        say_json(found.to_dict())
    else:
        say_report(series_attack_headline(found), str(found))
    if not found.ok:
        raise typer.Exit(1)


def show(folder: SeriesFolder, ledger: Ledger = None, ledger_key: LedgerKey = None, as_json: AsJson = False) -> None:
    """Show the releases of a series, and what the ledger knows: who came, what was lost, how many wait."""
    from sfumato.series.series import Series, overview_of

    found = overview_of(Series.open(folder, ledger=ledger, ledger_key=ledger_key))
    say_result(found.to_dict(), str(found), as_json=as_json)


def compare(
    tables: Annotated[list[str], argument("TABLE...", "Newcomers of each month, the first month first.")],
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    key: Key = None,
    way: Annotated[list[str] | None, METHOD("Which ways; default all. Repeatable.", "NAME")] = None,
    promise: Promise = Promise(),
    settings: PolicySettings = None,
    most_counterfeits: MostCounterfeits = 0.05,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Publish the same arrivals in every way of series, and compare: loss of each month, who waits, what attacks find.

    The series are made in a folder that is taken away. Nobody leaves. With -m, m-invariance promises so many different
    sensitive values in the place of the other models. A way that cannot have the policy is listed with the reason.
    """
    from sfumato.cli.words import Words, model_words, policy_of
    from sfumato.comparison.series_ways import compare_ways

    m = promise.m
    models, problems = model_words(k=promise.k, l=promise.l, t=None, others=promise.model or ())
    if not models and policy is None and m is not None:
        models, problems = model_words(k=m, l=None, t=None, others=())
    words = Words(policy=policy, **roles.words, models=models, settings=settings or (), problems=problems)
    meant = policy_of(words)
    with progress_bar(quiet=as_json) as progress:
        found = compare_ways(
            tables,
            meant,
            key=_key(key),
            m=m,
            ways=way or (),
            most_counterfeits=most_counterfeits,
            seed=seed,
            progress=progress,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)


def new_key(file: Annotated[Path, argument("FILE", "File that must not be there yet.")]) -> None:
    """Make a random key that encrypts ledgers, in a file for its owner alone.

    Keep it elsewhere than the ledger, and a copy of it: without it the ledger is lost.
    """
    from sfumato.series.private_files import write_new_key

    write_new_key(file)
    complain([f"key written to {file}; keep it elsewhere than the ledger, and a copy of it"])


def encrypt(
    folder: SeriesFolder,
    new_key: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="File with the key from now on.")],
    ledger: Ledger = None,
    ledger_key: LedgerKey = None,
) -> None:
    """Encrypt the ledger of a series, or change its key: give the old one with --ledger-key.

    The files that lay there before are taken away, but a disk may still hold them, and so do copies.
    """
    from sfumato.series.series import Series

    series = Series.open(folder, ledger=ledger, ledger_key=ledger_key)
    series.encrypt(new_key)
    complain([f"{series.ledger} is encrypted; give its key with --ledger-key {new_key}"])


def _key(text: str | None) -> PersonKey:
    """Return the columns that an option names."""
    from sfumato.cli.settings import names_in
    from sfumato.table.person_keys import as_person_key

    return None if text is None else as_person_key(names_in(text))


def _reading_of(file: Path | None, settings: Sequence[str], releases: list[Path], key: PersonKey) -> Policy | None:
    """Return how original tables are read, where a policy or an option says it."""
    from sfumato.cli.words import Words, columns_alone, reading_words
    from sfumato.policy.policy import Policy
    from sfumato.series.batch import read_otherwise
    from sfumato.series.description import ARRIVED
    from sfumato.series.reading import ReadRelease
    from sfumato.table.person_keys import key_columns

    words = reading_words(settings, "is about how tables are read")
    if file is not None:
        return read_otherwise(Policy.from_file(file), words)
    if not any(words.values()):
        return None
    shown = [name for path in releases for name in ReadRelease.of(path).published.quasi_identifying]
    names = [*dict.fromkeys(name for name in (*shown, *key_columns(key)) if name != ARRIVED)]
    return columns_alone(Words(roles={"quasi-identifying": names}, settings=settings))


def _models_of(m: int | None) -> tuple[str, ...]:
    """Return what every class of m different values keeps."""
    if m is None:
        return ()
    return f"k-anonymity:k={m}", f"distinct-l-diversity:l={m}", f"probabilistic-l-diversity:l={m}"


def _print_step(step: Step, series: Series, printed: Printed) -> None:
    quiet = printed.quiet
    if printed.as_json:
        say_json({**step.to_dict(), "head": series.head})
    elif not quiet and not printed.details and step.report is not None and step.folder is not None:
        return _say_step(step, step.report, step.folder, series)
    elif not quiet:
        say_fitted(str(step))
    if not quiet and step.folder is not None:
        folder = step.folder.parent
        complain([f"release {step.number} written to {step.folder}; check it with: sfumato verify {folder}"])
    if not quiet:
        _print_head(series)


def _say_step(step: Step, report: Report, folder: Path, series: Series) -> None:
    from sfumato.cli.summary import NextSteps, say_summary

    say_fitted(str(replace(step, report=None)))
    named = quote(str(folder.parent))
    say_summary(
        report,
        NextSteps(
            str(folder),
            f"sfumato verify {named}",
            f"sfumato attack {named} --original TABLE --original NEXT",
            str(series.ledger),
            f"hand over {folder.parent}",
        ),
    )
    _print_head(series)


def _print_head(series: Series) -> None:
    complain([f"head of the series: sha256 {series.head}; note it elsewhere, and publish it"])

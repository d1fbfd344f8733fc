"""``sfumato anonymize``: from a table and a policy to a verified release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sfumato.cli import completion
from sfumato.cli.options import (
    ANONYMIZERS,
    METHOD,
    OUTPUT,
    PRIVACY,
    PUBLISHERS,
    Accept,
    AsJson,
    Details,
    HowFormulas,
    Original,
    Overwrite,
    PolicyFile,
    Quiet,
    RoleOptions,
    SavePolicy,
    Settings,
)
from sfumato.cli.outcome import complain, say_fitted
from sfumato.cli.progress import progress_bar, say_json
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.table.databases.address import is_database

if TYPE_CHECKING:
    from sfumato.cli.summary import NextSteps
    from sfumato.cli.words import ModelWord, Words
    from sfumato.findings.review import Finding
    from sfumato.policy.policy import Policy
    from sfumato.release.on_disk import ReleaseOnDisk
    from sfumato.release.on_spark import WrittenBy
    from sfumato.release.release import Release
    from sfumato.release.reports import KindReport, Report
    from sfumato.table.table import Table

    Reader = Callable[[str, Policy], Table]

Formulas = Literal["keep", "escape", "refuse"]
EngineName = Literal["auto", "memory", "disk", "spark", "spark-workers"]


@dataclass(frozen=True)
class Promise:
    """The models that a release satisfies, and what may be suppressed for them."""

    k: Annotated[int | None, PRIVACY("k-anonymity: smallest equivalence class.", None, "-k")] = None
    l: Annotated[  # noqa: E741
        float | None, PRIVACY("l-diversity of every sensitive column; --model says which kind.", None, "-l")
    ] = None
    model: Annotated[
        list[str] | None,
        PRIVACY(
            "Any privacy model; repeatable. E.g. alpha-k-anonymity:alpha=0.5,k=5",
            "NAME:P=V",
            complete=completion.models,
        ),
    ] = None
    suppression: Annotated[float | None, PRIVACY("Fraction of the records that may be suppressed, e.g. 0.02.")] = None
    withstand: Annotated[
        list[str] | None,
        PRIVACY(
            "Attackers beyond the models, of algorithm, labels and others (who know them). Attacks are "
            "played before anything is written.",
            "WHOM",
        ),
    ] = None


@dataclass(frozen=True)
class Method:
    """How a release is made, and where."""

    anonymizer: Annotated[
        str | None,
        METHOD(
            f"Algorithm; default auto. One of {ANONYMIZERS}; for other kinds of release {PUBLISHERS}.",
            "NAME",
            complete=completion.anonymizers,
        ),
    ] = None
    settings: Settings = None
    bound: Annotated[bool, METHOD("Also compute how little any release with this k must lose.", None, "--bound")] = (
        False
    )
    engine: Annotated[
        EngineName,
        METHOD(
            "Where the work is done: memory, disk, spark, spark-workers or auto. auto takes the disk if the table "
            "does not fit into memory. spark is the server that SPARK_REMOTE names; spark-workers has its workers "
            "write, too, into a shared folder.",
            "WHERE",
        ),
    ] = "auto"
    memory: Annotated[
        str | None, METHOD("Memory to aim at, e.g. 4GB; more may be taken. Default 60 % of what is free.", "SIZE")
    ] = None
    seed: Annotated[int | None, METHOD("For tests and studies only: makes the random order repeatable.")] = None


@dataclass(frozen=True)
class Written:
    """What is written, and how."""

    out: Annotated[
        str | None, OUTPUT("Folder of the release, or the URL of a database, with ?schema=NAME at its end.", "FOLDER")
    ] = None
    formulas: HowFormulas = "keep"
    save_policy: SavePolicy = None
    audit: Annotated[
        Path | None, OUTPUT("With --person: private file to recount people with; default FOLDER.audit.json.", "FILE")
    ] = None
    overwrite: Overwrite = False
    details: Details = False
    quiet: Quiet = False
    as_json: AsJson = False


def anonymize(
    table: Original,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    accept: Accept = None,
    promise: Promise = Promise(),
    method: Method = Method(),
    written: Written = Written(),
) -> None:
    """Publish a table so that every equivalence class satisfies every privacy model, or say why that is impossible.

    The release is verified before anything is written. Lists of columns are separated by commas. With --save-policy and
    without --out, only the policy is written.
    """
    from sfumato.cli.words import (
        Words,
        accept_words,
        diversity_of,
        model_words,
        policy_of,
        say_former_anonymizer,
    )
    from sfumato.table.writers import check_writer_installed

    models, problems = model_words(k=promise.k, l=promise.l, t=None, others=promise.model or ())
    words = Words(
        policy=policy,
        **roles.words,
        accept=accept_words(accept, policy),
        models=models,
        anonymizer=method.anonymizer,
        suppression=promise.suppression,
        withstand=promise.withstand or (),
        settings=method.settings or (),
        problems=(*problems, *target_problems(written.out, written.save_policy, overwrite=written.overwrite)),
    )
    if promise.l is not None and not words.problems:
        word = diversity_of(promise.l, None if written.as_json else partial(_cost_of, table, words))
        words = replace(words, models=_with_diversity(models, word))
    release_policy = policy_of(words)
    say_former_anonymizer(release_policy)
    check_writer_installed(release_policy.output.format)
    if release_policy.output.cells is not None and is_database(written.out or ""):
        raise PolicyError("--set output.cells: a database holds labels alone; write a folder")
    remarks: list[str] = []
    if written.out is not None:
        _check_recounting(release_policy, written)
        from sfumato.findings.review import remarks_in_short

        work, findings = _with_answers(_Work(table, release_policy, written.out, method, written, policy))
        release_policy, remarks = work.policy, [f"{each.where}{each.question}" for each in findings]
        remarked = remarks_in_short(findings)
        if remarked and not work.quiet:
            complain([f"also found, which stops nothing: {remarked}; see: sfumato review {table}"])
    if written.save_policy is not None:
        release_policy.to_file(written.save_policy, remarks=remarks)


def _with_diversity(models: Sequence[ModelWord], word: ModelWord | None) -> list[ModelWord]:
    """Put what -l turned out to mean in its place."""
    return [word if each.option == "-l" and word is not None else each for each in models]


def _cost_of(table: str, words: Words, word: ModelWord) -> str:
    """Say what a release with this diversity loses."""
    from sfumato.cli.words import policy_of
    from sfumato.numbers import percent
    from sfumato.release.anonymize import anonymize as make_release
    from sfumato.release.reports import KindReport
    from sfumato.table.reading import read_table

    # What is found is asked once, for the release.
    policy = policy_of(replace(words, accept=None, models=_with_diversity(words.models, word)))
    try:
        report = make_release(read_table(table, policy), policy).report
    except UnsatisfiableError:
        return "out of reach here"
    return (
        "within reach here" if isinstance(report, KindReport) else f"loses {percent(report.losses.normalized_ncp)} here"
    )


def _with_answers(work: _Work) -> tuple[_Work, Sequence[Finding]]:
    """Make the release; somebody at a terminal is asked about what stops it. Return what was done, and findings."""
    from sfumato.cli.review import answers_of
    from sfumato.findings.review import OpenFindings

    try:
        return work, work.done()
    except UnsatisfiableError as error:
        raise UnsatisfiableError(*error.problems, "no release was written") from None
    except OpenFindings as error:
        answers = answers_of(error, quiet=work.quiet)
        columns = work.policy.columns
        columns = columns.model_copy(update={"accept": {**(columns.accept or {}), **answers}})
    return _with_answers(replace(work, policy=work.policy.model_copy(update={"columns": columns})))


def target_problems(out: str | Path | None, save_policy: Path | None, *, overwrite: bool) -> list[str]:
    """Check, before the work, whether its results can be written."""
    from sfumato.release.stored import Shelf, check_shelf
    from sfumato.release.transaction import check_target

    problems = [] if out or save_policy else ["--out: name a folder for the release"]
    if save_policy and save_policy.exists() and not overwrite:
        problems.append(f"--save-policy: {save_policy} already exists; name another file or add --overwrite")
    if out:
        try:
            if is_database(out):
                check_shelf(Shelf.of(str(out), None), overwrite=overwrite)
            else:
                check_target(Path(out), overwrite=overwrite)
        except (InputError, PolicyError) as error:
            problems.extend(f"--out: {problem}" for problem in error.problems)
    return problems


def _check_recounting(policy: Policy, written: Written) -> None:
    """Check, before the work, whether there are people to recount, and whether the file for it can be written."""
    published = policy.to_people().pseudonyms == "published"
    if policy.columns.person is None:
        if written.audit is not None:
            raise PolicyError("--audit: recounts people; name the column that says who they are with --person")
    elif not published:
        _check_audit(written.audit, str(written.out), written.save_policy, overwrite=written.overwrite)
    elif written.audit is not None:
        raise PolicyError("--audit: the release says itself who is who, with people.pseudonyms=published; leave it out")


def _check_audit(audit: Path | None, out: str, save_policy: Path | None, *, overwrite: bool) -> None:
    """Check, before the work, whether the audit file can be written."""
    from sfumato.release.audit import check_audit_place
    from sfumato.release.release import NO_PLACE, audit_file

    if audit is not None and audit == save_policy:
        raise PolicyError("--audit: is the file of --save-policy; name another one")
    if is_database(out):
        if audit is None:
            raise PolicyError(f"--{NO_PLACE}")
        check_audit_place(audit, None, overwrite=overwrite)
        return
    check_audit_place(audit or audit_file(Path(out)), Path(out), overwrite=overwrite)


@dataclass(frozen=True)
class _Work:
    """What is written where, and what is said of it; see :func:`anonymize`."""

    table: str
    policy: Policy
    out: str
    method: Method
    written: Written
    file: Path | None = None  # the policy file

    @property
    def quiet(self) -> bool:
        return self.written.quiet or self.written.as_json

    def done(self) -> Sequence[Finding]:
        """Make and write the release where it is to be made; return what was found in the columns."""
        from sfumato.cli.engine import EngineChoice, goes_to_disk

        choice = EngineChoice(self.method.engine, self.method.memory, to_database=is_database(self.out))
        if self.method.engine in ("spark", "spark-workers"):
            return self.from_spark("workers" if self.method.engine == "spark-workers" else "here")
        if goes_to_disk(choice, self.table, self.policy, bound=self.method.bound, quiet=self.quiet):
            return self.from_disk()
        return self.from_memory()

    def from_memory(self, read: Reader | None = None) -> Sequence[Finding]:
        """Make the release in memory, and write it to its folder or database."""
        written, output, seed = self.written, self.policy.output, self.method.seed
        format = output.format
        release, passing = _release(self.table, self.policy, self.method, quiet=self.quiet, read=read)
        beside: dict[str, Any] = {"format": format}
        if output.cells is not None:
            beside |= {"cells": output.cells, "domain": output.domain, "seed": seed}
        if output.alone:
            release, beside = release.draw(domain=output.domain, seed=seed), {"format": format}
        release.save(
            self.out,
            overwrite=written.overwrite,
            audit=written.audit,
            formulas=written.formulas,
            **({} if is_database(self.out) else beside),
        )
        self._say(release.report, passing, is_audited=release.audit is not None)
        if format == "csv" or is_database(self.out):
            from sfumato.release.formulas import formula_cells

            say_formulas(formula_cells(release.published), written.formulas)
        return release.report.findings

    def from_disk(self) -> Sequence[Finding]:
        """Make and write the release with the table's codes on disk."""
        from sfumato.release.on_disk import anonymize_on_disk

        return self._in_parts(anonymize_on_disk)

    def from_spark(self, written_by: WrittenBy) -> Sequence[Finding]:
        """Make and write the release of a table that Spark counts, or whose records it sends if counts would not do."""
        from sfumato.cli.engine import brought_here
        from sfumato.release.on_spark import anonymize_on_spark, table_on_spark

        reason = brought_here(self.policy, to_database=is_database(self.out), bound=self.method.bound)
        if reason is None:
            return self._in_parts(partial(anonymize_on_spark, written_by=written_by))
        if written_by == "workers":
            raise PolicyError(
                f"--engine: spark-workers write what was counted, and here {reason}; write --engine spark"
            )
        if not self.quiet:
            complain([f"the records are brought into memory here: {reason}"])
        return self.from_memory(table_on_spark)

    def _in_parts(self, made: Callable[..., ReleaseOnDisk]) -> Sequence[Finding]:
        _check_seed(self.method.seed)
        from sfumato.cli.review import in_one_line

        written = self.written
        with in_one_line(), progress_bar(quiet=self.quiet) as progress:
            release = made(
                self.table,
                self.policy,
                self.out,
                memory=self.method.memory,
                seed=self.method.seed,
                formulas=written.formulas,
                overwrite=written.overwrite,
                progress=progress,
                audit=written.audit,
            )
        self._say(release.report, release.passing, is_audited=self.policy.columns.person is not None)
        if self.policy.output.format == "csv":
            say_formulas(release.formulas, written.formulas)
        return release.report.findings

    def _say(self, report: Report | KindReport, open_notes: Sequence[str], *, is_audited: bool) -> None:
        """Print the result as it was asked for; what is open also where the result is not read."""
        from sfumato.cli.engine import memory_taken
        from sfumato.cli.summary import say_summary

        taken = memory_taken(self.method.memory)
        if not self.quiet and not self.written.details:
            return say_summary(report, self._next_steps(is_audited=is_audited))
        complain(open_notes)
        if self.written.as_json:
            say_json({**report.to_dict(), **taken})
        elif not self.written.quiet:
            say_fitted(str(report))
            steps = self._next_steps(is_audited=is_audited)
            complain([f"release written to {steps.place}; check it with: {steps.check}"])
            complain([f"keep {steps.private} to yourself; it recounts people"] if steps.private else [])

    def _next_steps(self, *, is_audited: bool) -> NextSteps:
        """Say where the release lies, how to check and to attack it, and what the steward keeps."""
        from sfumato.cli.summary import NextSteps
        from sfumato.release.release import audit_file

        steps = NextSteps(self.out, f"sfumato verify {quote(self.out)}", quote(self.out))
        if is_database(self.out):
            named, shown = _stored(self.out)
            steps = NextSteps(shown, f"sfumato verify {named}", named, public="give access to these tables alone")
        output, file = self.policy.output, self.file or self.written.save_policy
        if output.cells is not None and not output.alone:
            public = f"hand it over; labels in data.{output.format}, cells in data-{output.cells}.{output.format}"
            steps = replace(steps, public=public)
        asked = f" --policy {quote(str(file))}" if file is not None and self.policy.withholds else ""
        steps = replace(steps, attack=f"sfumato attack {steps.attack} --original {quote(self.table)}{asked}")
        if not is_audited:
            return steps
        private = str(self.written.audit or audit_file(Path(self.out)))
        return replace(steps, private=private, check=f"{steps.check} --audit {quote(private)}")


def _release(
    table: str, policy: Policy, method: Method, *, quiet: bool, read: Reader | None
) -> tuple[Release, tuple[str, ...]]:
    """Make the release; return it with what is to be said of columns that pass through it."""
    from sfumato.cli.review import with_one_line
    from sfumato.release.anonymize import anonymize as make_release
    from sfumato.release.task import passing_notes, with_open_findings
    from sfumato.table.reading import read_table
    from sfumato.table.sources.protocol import Reading

    _check_seed(method.seed)
    with progress_bar(quiet=quiet) as progress:
        progress("reading", 0, 1)
        try:
            original = (read or read_table)(table, policy)
        except InputError as error:
            again = partial(read_table, table, reading=Reading(**policy.reading()))
            raise with_one_line(with_open_findings(error, policy, policy.to_schema(), again)) from None
        release = make_release(original, policy, bound=method.bound, seed=method.seed, progress=progress)
    return release, passing_notes(original, {name for each in release.tables.values() for name in each.columns})


def _check_seed(seed: int | None) -> None:
    if seed is not None and seed < 0:
        raise PolicyError("--seed: must be 0 or above")


def say_formulas(cells: Mapping[str, int], formulas: Formulas) -> None:
    """Say of which columns how many cells begin like a formula, and what was done about them."""
    from sfumato.release.formulas import formula_lines

    done = "escaped with '" if formulas == "escape" else "kept; see --formulas"
    complain([f"{line}: {done}" for line in formula_lines(cells)])


def _stored(url: str) -> tuple[str, str]:
    """Write a database and a schema as `sfumato verify` takes them, and as a sentence does."""
    from sfumato.release.stored import Shelf

    shelf = Shelf.of(url, None)
    mark = "&" if "?" in shelf.address.url else "?"
    return f"'{shelf.address.url}{mark}schema={shelf.schema}'", str(shelf)

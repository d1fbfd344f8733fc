"""``sfumato anonymize``: from a table and a policy to a verified release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from sfumato.cli.options import (
    ANONYMIZERS,
    METHOD,
    OUTPUT,
    PRIVACY,
    PUBLISHERS,
    AsJson,
    HowFormulas,
    Original,
    Overwrite,
    PeopleOptions,
    PolicyFile,
    Population,
    Quiet,
    RoleOptions,
    SavePolicy,
    Subset,
    TableReading,
)
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import Progressing, Told, progress_bar, say_json
from sfumato.errors import InputError, PolicyError
from sfumato.table.databases.address import is_database

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.release.on_disk import ReleaseOnDisk
    from sfumato.release.on_spark import WrittenBy
    from sfumato.release.release import Release
    from sfumato.table.table import Table

    Reader = Callable[[str, Policy], Table]

Diversity = Literal["entropy", "distinct", "probabilistic", "recursive"]
Format = Literal["csv", "parquet", "xlsx", "sav", "dta"]
Formulas = Literal["keep", "escape", "refuse"]
EngineName = Literal["auto", "memory", "disk", "spark"]

EXAMPLE = """\b
Example:
  sfumato anonymize patients.csv --identifying name --quasi age,sex,zip \\
      --sensitive disease --others drop -k 5 -l 3 --out patients-release/
  sfumato anonymize patients.csv --policy policy.toml --out patients-release/
  sfumato anonymize postgresql://host/db --table clinic.visits \\
      --policy policy.toml --out postgresql://host/db --schema release_2027
"""


def anonymize(
    table: Original,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    k: Annotated[
        int | None, typer.Option("-k", help="k-anonymity: smallest equivalence class.", rich_help_panel=PRIVACY)
    ] = None,
    l: Annotated[  # noqa: E741
        float | None, typer.Option("-l", help="l-diversity of every sensitive column.", rich_help_panel=PRIVACY)
    ] = None,
    diversity: Annotated[
        Diversity,
        typer.Option(
            metavar="KIND", help=f"Which l-diversity: {', '.join(get_args(Diversity))}.", rich_help_panel=PRIVACY
        ),
    ] = "entropy",
    c: Annotated[
        float | None, typer.Option("-c", help="Constant of recursive l-diversity.", rich_help_panel=PRIVACY)
    ] = None,
    t: Annotated[
        float | None, typer.Option("-t", help="t-closeness of every sensitive column.", rich_help_panel=PRIVACY)
    ] = None,
    k_map: Annotated[
        int | None,
        typer.Option(help="k-map: fewest people of the --population whom a class covers.", rich_help_panel=PRIVACY),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:P=V",
            help="Any privacy model; repeatable. E.g. alpha-k-anonymity:alpha=0.5,k=5",
            rich_help_panel=PRIVACY,
        ),
    ] = None,
    suppression: Annotated[
        float | None,
        typer.Option(help="Fraction of the records that may be suppressed, e.g. 0.02.", rich_help_panel=PRIVACY),
    ] = None,
    population: Population = None,
    subset: Subset = None,
    people: PeopleOptions = PeopleOptions(),  # noqa: B008 - a frozen value
    anonymizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Algorithm; default mondrian. One of {ANONYMIZERS}; for other kinds of release {PUBLISHERS}.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Its options; repeatable.", rich_help_panel=METHOD),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With a clustering: quasi-identifying columns in whose values all records of a class agree.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    refine: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Then move records between nearby classes while the loss falls, with N tries per record, e.g. 100.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Try several algorithms for so long, and keep the best.", rich_help_panel=METHOD
        ),
    ] = None,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound", help="Also compute how little any release with this k must lose.", rich_help_panel=METHOD
        ),
    ] = False,
    threads: Annotated[int | None, typer.Option(help="Threads; default all cores.", rich_help_panel=METHOD)] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="For tests and studies only: makes the random order repeatable.", rich_help_panel=METHOD),
    ] = None,
    reading: TableReading = TableReading(),  # noqa: B008 - a frozen value
    out: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Folder of the release, or the URL of a database.", rich_help_panel=OUTPUT),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With a database in --out: schema of the release.", rich_help_panel=OUTPUT),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            metavar="FORMAT",
            help="Of the published table: csv (default), parquet, xlsx, sav (SPSS) or dta (Stata).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    engine: Annotated[
        EngineName,
        typer.Option(
            metavar="WHERE",
            help="Where the work is done: memory, disk, spark (the server that SPARK_REMOTE names), or auto (on disk "
            "if the table would not fit into memory).",
            rich_help_panel=METHOD,
        ),
    ] = "auto",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory to aim at, e.g. 4GB; more may be taken. Default 60 % of what is free.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    written_by: Annotated[
        Literal["here", "workers"],
        typer.Option(
            metavar="WHO",
            help="With --engine spark: who writes the parts of a large release: here, or workers, into a folder that "
            "they share with this machine.",
            rich_help_panel=METHOD,
        ),
    ] = "here",
    formulas: HowFormulas = "keep",
    save_policy: SavePolicy = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --person: private file to recount people with; default FOLDER.audit.json.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    told: Progressing = "bar",
    as_json: AsJson = False,
) -> None:
    """Publish a table so that every equivalence class satisfies every privacy model, or say why that is impossible.

    The release is verified before anything is written. Lists of columns are separated by commas. With --save-policy and
    without --out, only the policy is written.
    """
    from sfumato.cli.words import Words, model_words, policy_of, subset_words
    from sfumato.table.writers import check_writer_installed

    models, problems = model_words(k=k, l=l, diversity=diversity, c=c, t=t, k_map=k_map, others=model or ())
    no_workers = written_by == "workers" and engine != "spark"
    no_writers = ["--written-by: only Spark has workers; add --engine spark, or leave it out"] if no_workers else []
    words = Words(
        policy=policy,
        **roles.words,
        models=models,
        anonymizer=anonymizer or (None if within is None else "best"),
        strata=strata,
        options=[*(settings or ()), *(() if within is None else (f"within={within}",))],
        **reading.words,
        people=people.people,
        top={
            "suppression-limit": suppression,
            "refine": refine,
            "threads": threads,
            "population": None if population is None else str(population),
            "subset": subset_words(subset),
        },
        format=format,
        problems=(*problems, *no_writers, *target_problems(out, save_policy, overwrite=overwrite, schema=schema)),
    )
    meant = policy_of(words)
    check_writer_installed(meant.output.format)
    if out is not None:
        if meant.columns.person is None and audit is not None:
            raise PolicyError("--audit: recounts people; name the column that says who they are with --person")
        published = meant.to_people().pseudonyms == "published"
        if published and audit is not None:
            raise PolicyError("--audit: the release itself says who is who with --pseudonyms published; leave it out")
        if meant.columns.person is not None and not published:
            _check_audit(audit, out, save_policy, overwrite=overwrite)
        from sfumato.cli.engine import EngineChoice, goes_to_disk

        written = _Written(
            table,
            meant,
            out,
            schema,
            seed,
            formulas,
            overwrite=overwrite,
            quiet=quiet,
            as_json=as_json,
            told=told,
            memory=memory,
        )
        choice = EngineChoice(engine, memory, to_database=is_database(out))
        if engine == "spark":
            written.from_spark(audit, written_by, bound=bound)
        elif goes_to_disk(choice, table, meant, bound=bound, quiet=quiet or as_json):
            written.from_disk(audit)
        else:
            written.from_memory(audit, bound=bound)
    if save_policy is not None:
        meant.to_file(save_policy)


def target_problems(
    out: str | Path | None, save_policy: Path | None, *, overwrite: bool, schema: str | None = None
) -> list[str]:
    """Check, before the work, whether its results can be written."""
    from sfumato.release.folder import check_target
    from sfumato.release.stored import Shelf, check_shelf

    problems = [] if out or save_policy else ["--out: name a folder for the release"]
    if save_policy and save_policy.exists() and not overwrite:
        problems.append(f"--save-policy: {save_policy} already exists; name another file or add --overwrite")
    if schema and not is_database(out):
        problems.append("--schema: says where a release lies in a database; give the URL of one with --out")
    if out:
        try:
            if is_database(out):
                check_shelf(Shelf.of(str(out), schema), overwrite=overwrite)
            else:
                check_target(Path(out), overwrite=overwrite)
        except (InputError, PolicyError) as error:
            problems.extend(f"--out: {problem}" for problem in error.problems)
    return problems


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
class _Written:
    """What is written where, and what is said of it; see :func:`anonymize`."""

    table: str
    policy: Policy
    out: str
    schema: str | None
    seed: int | None
    formulas: Formulas
    overwrite: bool
    quiet: bool
    as_json: bool
    told: Told
    memory: str | None

    def from_memory(self, audit: Path | None, *, bound: bool, read: Reader | None = None) -> None:
        """Make the release in memory, and write it to its folder or database."""
        quiet = self.quiet or self.as_json
        release = _release(self.table, self.policy, self.seed, bound=bound, quiet=quiet, told=self.told, read=read)
        format = self.policy.output.format
        if is_database(self.out):
            release.save(
                self.out, schema=self.schema or "", overwrite=self.overwrite, audit=audit, formulas=self.formulas
            )
        else:
            release.save(self.out, format=format, overwrite=self.overwrite, audit=audit, formulas=self.formulas)
        self._say(release.report.to_dict(), lambda: _report(release, self.out, self.schema, audit))
        if format == "csv" or is_database(self.out):
            from sfumato.release.formulas import formula_cells

            say_formulas(formula_cells(release.published), self.formulas)

    def from_disk(self, audit: Path | None) -> None:
        """Make and write the release with the table's codes on disk."""
        from sfumato.release.on_disk import anonymize_on_disk

        self._in_parts(anonymize_on_disk, audit)

    def from_spark(self, audit: Path | None, written_by: WrittenBy, *, bound: bool) -> None:
        """Make and write the release of a table that Spark counts, or whose records it sends if counts would not do."""
        from sfumato.cli.engine import brought_here
        from sfumato.release.on_spark import anonymize_on_spark, table_on_spark

        reason = brought_here(self.policy, to_database=is_database(self.out), bound=bound)
        if reason is None:
            return self._in_parts(partial(anonymize_on_spark, written_by=written_by), audit)
        if written_by == "workers":
            raise PolicyError(f"--written-by: workers write what was counted, and here {reason}; leave it out")
        if not (self.quiet or self.as_json):
            complain([f"the records are brought into memory here: {reason}"])
        return self.from_memory(audit, bound=bound, read=table_on_spark)

    def _in_parts(self, made: Callable[..., ReleaseOnDisk], audit: Path | None) -> None:
        _check_seed(self.seed)
        with progress_bar(quiet=self.quiet or self.as_json, told=self.told) as progress:
            release = made(
                self.table,
                self.policy,
                self.out,
                memory=self.memory,
                seed=self.seed,
                formulas=self.formulas,
                overwrite=self.overwrite,
                progress=progress,
                audit=audit,
            )
        complain(release.passing)

        def report() -> None:
            say(str(release.report))
            complain([f"release written to {self.out}; check it with: sfumato verify {self.out}"])
            if self.policy.columns.person is not None:
                _keep_to_yourself(self.out, self.out, audit)

        self._say(release.report.to_dict(), report)
        if self.policy.output.format == "csv":
            say_formulas(release.formulas, self.formulas)

    def _say(self, report: dict[str, Any], in_words: Callable[[], None]) -> None:
        from sfumato.cli.engine import memory_taken

        taken = memory_taken(self.memory)
        if self.as_json:
            say_json({**report, **taken})
        elif not self.quiet:
            in_words()


def _release(
    table: str, policy: Policy, seed: int | None, *, bound: bool, quiet: bool, told: Told, read: Reader | None
) -> Release:
    from sfumato.release.anonymize import anonymize as make_release
    from sfumato.release.passing import passing_notes
    from sfumato.table.reading import read_table

    _check_seed(seed)
    with progress_bar(quiet=quiet, told=told) as progress:
        progress("reading", 0, 1)
        original = (read or read_table)(table, policy)
        release = make_release(original, policy, bound=bound, seed=seed, progress=progress)
    # On stderr, too, where they are read even if the report is not; see ReleaseOnDisk.passing.
    complain(passing_notes(original, {name for each in release.published.tables.values() for name in each.columns}))
    return release


def _check_seed(seed: int | None) -> None:
    if seed is not None and seed < 0:
        raise PolicyError("--seed: must be 0 or above")


def say_formulas(cells: Mapping[str, int], formulas: Formulas) -> None:
    """Say of which columns how many cells begin like a formula, and what was done about them."""
    from sfumato.release.formulas import formula_lines

    done = "escaped with '" if formulas == "escape" else "kept; see --formulas"
    complain([f"{line}: {done}" for line in formula_lines(cells)])


def _report(release: Release, out: str, schema: str | None, audit: Path | None) -> None:
    place, shown = _stored(out, schema) if is_database(out) else (out, out)
    say(str(release.report))
    complain([f"release written to {shown}; check it with: sfumato verify {place}"])
    if release.audit is not None:
        _keep_to_yourself(place, out, audit)


def _keep_to_yourself(place: str, out: str, audit: Path | None) -> None:
    from sfumato.release.release import audit_file

    private = audit or audit_file(Path(out))
    complain([f"keep {private} to yourself; it recounts people: sfumato verify {place} --audit {private}"])


def _stored(url: str, schema: str | None) -> tuple[str, str]:
    """Write a database and a schema as `sfumato verify` takes them, and as a sentence does."""
    from sfumato.release.stored import Shelf

    shelf = Shelf.of(url, schema)
    return f"{shelf.address.url} --schema {shelf.schema}", str(shelf)

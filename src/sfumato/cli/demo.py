"""``sfumato demo``: attacks on a synthetic hospital's tables, before and after publishing."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from sfumato.cli.outcome import complain
from sfumato.cli.progress import progress_bar
from sfumato.errors import InputError
from sfumato.whole_files import write_whole

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from sfumato.papers.hospital import Hospital, LinkingStudy
    from sfumato.published.checks.generalized import Verification
    from sfumato.rates import Rate
    from sfumato.release.reports import Report


MARK = "sfumato-demo.txt"
"""The file that marks a demo's own folder."""

MARK_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")

PATIENCE_SECONDS = 4.0
WIDTH = 80
SHOWN = 4


def demo(
    what: Annotated[
        Literal["linking", "series"],
        typer.Argument(
            metavar="[linking|series]", help="A linking attack on one table, or attacks on twelve monthly releases."
        ),
    ] = "linking",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the tables and the releases go; default demo-output, of series demo-series.",
            show_default=False,
        ),
    ] = None,
    patients: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Patients of the synthetic hospital; default 20000, of series 600.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeat a demo exactly; without it, each has another town.")
    ] = None,
) -> None:
    """Attack tables of a synthetic hospital, publish them safely, and attack them again.

    A linking attack on one table; or, with series, attacks on twelve monthly releases of the same people.
    """
    if what == "series":
        _series(out or Path("demo-series"), 600 if patients is None else patients, seed)
    else:
        _linking(out or Path("demo-output"), 20_000 if patients is None else patients, seed)


def _series(out: Path, patients: int, seed: int | None) -> None:
    from sfumato.cli.demo_series import MARK_TEXT as MONTHLY_MARK
    from sfumato.cli.demo_series import tell
    from sfumato.papers.hospital import hospital
    from sfumato.papers.monthly import FEWEST, monthly_study

    check_folder(out)
    if patients < FEWEST:
        raise InputError(f"patients: must be a whole number from {FEWEST} on, so that each month brings enough people")
    console, town = plain_console(), hospital(patients, seed=seed).patients.drop("visit_count")
    console.print("\n[bold]Sfumato demo: published every month[/bold]\n")
    console.print(f"A synthetic hospital has {patients:,} patients. Nobody in these tables exists.\n")
    with _patience(), progress_bar() as progress, TemporaryDirectory(dir=out.absolute().parent) as made:
        study = monthly_study(town, Path(made), seed=seed, progress=progress)
        write_whole(Path(made) / MARK, MONTHLY_MARK)
        _replace(Path(made), out)
    tell(console, study, out)


def _replace(made: Path, out: Path) -> None:
    """Move what was made into a folder, over what an earlier demo left there; other files stay."""
    out.mkdir(exist_ok=True)
    for new in made.iterdir():
        old = out / new.name
        if old.is_dir():
            shutil.rmtree(old)
        new.replace(old)


def _linking(out: Path, patients: int, seed: int | None) -> None:
    from sfumato.papers.hospital import hospital, linking_study

    check_folder(out)
    console = plain_console()
    town = hospital(patients, seed=seed)
    _introduce(console, town)
    with _patience(), progress_bar() as progress:
        study = linking_study(town, seed=seed, progress=progress)
    _tell(console, study)
    verification = write_folder(out, study)
    _close(console, verification, out)
    if not verification.ok:
        raise typer.Exit(1)


def plain_console() -> Console:
    """Return a console of at most 80 columns that adds no colors of its own."""
    from rich.console import Console

    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    return console


def check_folder(folder: Path) -> None:
    """Raise InputError unless `folder` is new, empty, or a demo's own."""
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{folder.absolute().parent}: there is no such folder; make it first")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder with --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise InputError(f"{folder}: is not empty and was not made by a demo; name another folder with --out")


def write_folder(folder: Path, study: LinkingStudy) -> Verification:
    """Write the tables and the release, replacing only those of an earlier demo, and verify what was written."""
    from sfumato.release.verify import verify

    folder.mkdir(exist_ok=True)
    write_whole(folder / MARK, MARK_TEXT)
    write_whole(folder / "patients.csv", study.town.patients.write_csv())
    write_whole(folder / "register.csv", study.town.register.write_csv())
    write_whole(folder / "policy.toml", study.policy.to_toml())
    study.release.save(folder / "release", overwrite=True)
    return verify(folder / "release")


@contextmanager
def _patience() -> Iterator[None]:
    """Say on stderr why it takes long, if it does."""
    text = "still working; the first run after installing compiles the program, which takes up to a minute"
    timer = threading.Timer(PATIENCE_SECONDS, complain, [[text]])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _introduce(console: Console, town: Hospital) -> None:
    both = town.register.join(town.patients, on="name", how="semi").height
    console.print()
    console.print("[bold]Sfumato demo: a linking attack, before and after[/bold]")
    console.print()
    console.print(
        f"A synthetic hospital has {town.patients.height:,} patients. The synthetic register of the town's voters, "
        f"which anybody may read, has {town.register.height:,} people; {both:,} of them are patients. "
        "Nobody in these tables exists."
    )
    console.print()


def _tell(console: Console, study: LinkingStudy) -> None:
    name, *values = (str(value) for value in study.person.row(0))
    before, after = study.records_before, study.records_after
    console.print("[bold]1  Only the names are removed[/bold]")
    console.print(f"The register says: {name}, {', '.join(values)}.", markup=False)
    console.print(f"In the hospital's table {_records(before.height)}:")
    _show_records(console, before)
    console.print("[bold]2  Published with k-anonymity (k = 5) and entropy l-diversity (l = 3)[/bold]")
    console.print(
        f"Of the same person an attacker now finds {after.height} records with "
        f"{after['disease'].n_unique()} different diseases:"
    )
    _show_records(console, after)
    console.print("[bold]3  The same attack on everybody[/bold]")
    console.print(_comparison(study))
    console.print(
        "Average certainty: the chance to pick a patient's own record among all that fit. "
        "Information loss: NCP, from 0% (unchanged) to 100% (all suppressed)."
    )
    console.print()


def _records(count: int) -> str:
    return "exactly one record fits" if count == 1 else f"{count} records fit"


def _show_records(console: Console, records: pl.DataFrame) -> None:
    from rich.text import Text

    shown = records.drop("visit_count").head(SHOWN)
    table = _table()
    for column in shown.columns:
        table.add_column(column, style="bold" if column == "disease" else "")
    for row in shown.iter_rows():
        table.add_row(*(Text(str(value)) for value in row))
    console.print(table)
    if records.height > SHOWN:
        console.print(f" ... and {records.height - SHOWN} more\n")


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")


def _comparison(study: LinkingStudy) -> Table:
    before, after = study.before, study.after
    loss = cast("Report", study.release.report).losses.normalized_ncp
    table = _table()
    table.add_column(f"of {before.in_table:,} patients in the register")
    for name in ("names removed", "published", "by guessing"):
        table.add_column(name, justify="right")
    table.add_row(
        "re-identified with certainty",
        _people(before.reidentified),
        f"[bold]{_people(after.reidentified)}[/bold]",
        f"{before.reidentified.baseline:.3%}",
    )
    table.add_row(
        "disease learnt with certainty",
        _people(before.learnt),
        f"[bold]{_people(after.learnt)}[/bold]",
        f"{before.learnt.baseline:.1%}",
    )
    table.add_row(
        "average certainty",
        f"{before.certainty.share:.1%}",
        f"[bold]{after.certainty.share:.1%}[/bold]",
        f"{before.certainty.baseline:.3%}",
    )
    table.add_row("information loss", "0.0%", f"[bold]{loss:.1%}[/bold]", "")
    return table


def _people(rate: Rate) -> str:
    return f"{rate.successes:,}  {rate.share:.1%}"


def _close(console: Console, verification: Verification, out: Path) -> None:
    console.print(f"4  The release is in {out / 'release'}", style="bold", markup=False, soft_wrap=True)
    console.print("Recounted from the published file alone:")
    for line in str(verification).splitlines():
        indented = textwrap.fill(line.strip(), console.width, initial_indent="  ", subsequent_indent="    ")
        console.print(indented, markup=False)
    console.print()
    console.print("[bold]What to look at next[/bold]")
    for what, command in _next_steps(out):
        console.print(textwrap.fill(what, console.width, initial_indent="  ", subsequent_indent="  "), markup=False)
        for line in _command_lines(command, console.width - 4):
            console.print(f"    {line}", markup=False, soft_wrap=True)
    console.print()


def _next_steps(out: Path) -> list[tuple[str, list[str]]]:
    """Return suggestions for what to do next, with the pieces of each command."""
    own = program()
    release, report, patients, policy = (
        shlex.quote(str(out / name)) for name in ("release", "release/report.txt", "patients.csv", "policy.toml")
    )
    return [
        ("read the report; its highest risk is of records, each of which is another patient here", ["cat", report]),
        ("recount the promises, as anybody who gets the release can", [own, "verify", release]),
        ("compare the release with the original", [own, "measure", patients, release, f"--policy {policy}"]),
        ("edit the policy and publish again", [own, "anonymize", patients, f"--policy {policy}", "--out my-release"]),
        (
            "publish a table of your own; if people have several records, name their column with --person. Else the 5 "
            "records of a class may be one person's",
            [own, "anonymize", "--help"],
        ),
        ("publish who was where and when", [own, "anonymize", "--kind traces", "--help"]),
    ]


def program() -> str:
    """Return how to start this program again from here."""
    if shutil.which("sfumato"):
        return "sfumato"
    own = sys.argv[0]
    return f"{shlex.quote(sys.executable)} -m sfumato.cli" if own.endswith(".py") else shlex.quote(own)


def _command_lines(pieces: Sequence[str], width: int) -> list[str]:
    """Write a command that can be copied, broken between pieces if it is too long for the screen."""
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"  {piece}")
        else:
            lines[-1] += f" {piece}"
    return lines

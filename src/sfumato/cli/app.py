"""The command ``sfumato``: its commands, its short tour, and the way in."""

from __future__ import annotations

import contextlib
import inspect
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from sfumato.cli import (
    anonymize,
    attack,
    compare,
    demo,
    hierarchy,
    measure,
    rating_anonymize,
    rating_attack,
    ratings,
    report,
    reproduce,
    risk,
    utility,
    verify,
)
from sfumato.cli.options import spread
from sfumato.cli.outcome import Guarded

TOUR = """
Publish a table about people so that no single person can be picked out of it.

A release is a folder with the published table, a report, and a record that anybody can verify.

\b
A short tour:
  sfumato demo                      an attack, before and after
  sfumato anonymize patients.csv --identifying name --quasi age,sex,zip \\
      --sensitive disease --others drop -k 5 --out patients-release/
  sfumato verify patients-release/  recount what the release promises
  sfumato measure patients.csv patients-release/
  sfumato utility patients.csv patients-release/
  sfumato risk patients.csv --quasi age,sex,zip
  sfumato attack patients.csv --policy policy.toml --hold-out 0.2
  sfumato compare patients.csv --policy policy.toml --out comparison/
  sfumato report patients-release/ --original patients.csv --out report.html
  sfumato hierarchy patients.csv zip --out zip.csv
  sfumato ratings check ratings.csv -k 20 --epsilon 1
  sfumato ratings anonymize ratings.csv -k 3 --epsilon 1 --out films/
  sfumato reproduce soccer          a paper's experiments, claim by claim

Every command has its own --help with an example.

\b
Exit codes: 0 done; 1 a promise cannot be met or does not hold; 2 wrong input or usage.
"""

app = typer.Typer(
    name="sfumato",
    cls=Guarded,
    help=TOUR,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _help(command: Callable[..., None]) -> str:
    """Take a command's docstring, each paragraph as one line: the lines of a source file are not those of a screen."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for module in (demo, anonymize, verify, measure, utility, risk, attack, compare, report, hierarchy, reproduce):
    command = getattr(module, module.__name__.rpartition(".")[2])
    app.command(help=_help(command), epilog=module.EXAMPLE)(spread(command))

_on_ratings = typer.Typer(help=ratings.HELP, no_args_is_help=True, rich_markup_mode="rich")
for module, command in (
    (ratings, ratings.check),
    (rating_anonymize, rating_anonymize.anonymize),
    (rating_attack, rating_attack.attack),
):
    _on_ratings.command(help=_help(command), epilog=module.EXAMPLE)(spread(command))
app.add_typer(_on_ratings, name="ratings")


def _show_version(asked: bool) -> None:
    if asked:
        try:
            typer.echo(f"sfumato {version('sfumato')}")
        except PackageNotFoundError:
            typer.echo("sfumato, not installed")
        raise typer.Exit


@app.callback()
def _settings(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    # A library's warning may quote a value, and a report may hold letters that the terminal does not have.
    warnings.simplefilter("ignore")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app(prog_name="sfumato")

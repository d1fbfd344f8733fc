"""``sfumato describe``: columns before and after publishing, in figures and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Hierarchies, Original, PolicyFile, ReleasePlace, Settings, Weights
from sfumato.cli.progress import progress_bar, say_result
from sfumato.errors import PolicyError

EXAMPLE = """\b
Example:
  sfumato describe patients.csv patients-release/
  sfumato describe patients.csv patients-release/ --column age \\
      --contingency sex,disease --json
  sfumato describe survey.csv survey-release/ --weights weight \\
      --regress pay=age,sex
"""


def describe(
    table: Original,
    release: ReleasePlace,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Column to describe; repeatable. Default: all.")
    ] = None,
    contingency: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,NAME", help="Two columns to count together; repeatable."),
    ] = None,
    regress: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NAMES",
            help="Column of numbers, and columns that explain it, e.g. pay=age,sex; repeatable.",
        ),
    ] = None,
    weights: Weights = None,
    policy: PolicyFile = None,
    hierarchies: Hierarchies = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the same regressions; for studies.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print figures and distributions of each column, before and after. It has values, so it is for the data steward.

    The policy is the release's own unless --policy names the one that made it. Name it if hierarchies or domains of
    quasi-identifying columns were withheld from the release.
    """
    from sfumato.cli.released import policy_file
    from sfumato.cli.settings import names_in
    from sfumato.cli.words import Words, policy_of
    from sfumato.evaluation.utility.describe import describe as describe_columns
    from sfumato.table.reading import read_table

    pairs = [tuple(names_in(pair)) for pair in contingency or ()]
    if any(len(set(pair)) != 2 for pair in pairs):
        raise PolicyError("--contingency: name two different columns, separated by a comma, e.g. sex,disease")
    explained = dict(_regression(text, names_in) for text in regress or ())
    meant = policy_of(Words(policy=policy_file(release, policy), hierarchies=hierarchies, settings=settings or ()))
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        original = read_table(table, meant)
        found = describe_columns(
            release,
            original,
            columns=column or None,
            contingency=[(first, second) for first, second in pairs],
            regressions=explained,
            weights=weights,
            seed=seed,
            progress=progress,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)


def _regression(text: str, names_in: Callable[[str], list[str]]) -> tuple[str, list[str]]:
    target, equals, others = text.partition("=")
    if not (equals and target.strip() and names_in(others)):
        raise PolicyError("--regress: write a column and those that explain it, e.g. pay=age,sex")
    return target.strip(), names_in(others)

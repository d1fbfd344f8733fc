"""``sfumato check``: which models a table from anywhere satisfies, and how far; or what a policy file does."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import PRIVACY, AsJson, Original, PolicyFile, RoleOptions, Settings, argument
from sfumato.cli.progress import progress_bar, say_json, say_result
from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.table.table import Table

HELP = "Policy files: what they do."


def check(
    table: Original,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    k: Annotated[int | None, PRIVACY("Also end with code 1 unless the table has this k.", None, "-k")] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say which k, l, alpha, t, beta and delta a table has. It is for the data steward: it names rows.

    Any table will do, also one that another program anonymized: records are alike when the texts of their
    quasi-identifying columns are equal. It reads only these and the sensitive columns. Lists of columns are separated
    by commas. To recount what a release promises, use sfumato verify. Of a policy file (.toml) it says in words what it
    does, or everything that is wrong with it.
    """
    if table.lower().endswith(".toml"):
        return policy_check(Path(table), as_json)
    from sfumato.cli.released import is_release, release_problem
    from sfumato.cli.summary import check_headline, say_report
    from sfumato.cli.words import Words
    from sfumato.evaluation.check import check as measure

    if is_release(table) and release_problem(table) is None:
        raise PolicyError(
            f"{table}: is a release; recount it with sfumato verify {quote(table)}, or name a table in it"
        )
    if k is not None and k < 1:
        raise PolicyError("-k: must be a whole number of at least 1")
    words: dict[str, Any] = {**roles.words, "others": roles.others or "drop"}
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        report = measure(_read(table, Words(policy=policy, **words, settings=settings or ())), progress=progress)
    if as_json:
        say_json(report.to_dict())
    else:
        say_report(check_headline(report, k), str(report))
    if k is not None and report.findings[0].value < k:
        raise typer.Exit(1)


def policy_check(policy: Annotated[Path, argument("FILE", "Policy file.")], as_json: AsJson = False) -> None:
    """Say in words what a policy file does, or everything that is wrong with it. It reads no table."""
    from sfumato.policy.policy import Policy

    meant = Policy.from_file(policy)
    say_result(meant.to_mapping(), str(meant), as_json=as_json)


def _read(path: str, words: Words) -> Table:
    from sfumato.cli.words import columns_alone
    from sfumato.evaluation.check import read_as_texts
    from sfumato.policy.parts import Column, Columns

    policy = columns_alone(words)
    quasi = dict.fromkeys(policy.columns.quasi_identifying, Column())
    columns = Columns.model_construct(
        quasi_identifying=quasi,
        sensitive=policy.columns.sensitive,
        others="drop",
        person=policy.columns.person,
        key_form=policy.columns.key_form,
    )
    schema = policy.model_copy(update={"columns": columns}).to_schema()
    return read_as_texts(path, schema, **policy.reading())

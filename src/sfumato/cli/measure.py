"""``sfumato measure``: what a release lost, compared with the original table."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import (
    AsJson,
    Hierarchies,
    Original,
    PolicyFile,
    ReleasePlace,
    Settings,
)
from sfumato.cli.progress import progress_bar, say_result

DIGITS = 12

EXAMPLE = """\b
Example:
  sfumato measure patients.csv patients-release/
  sfumato measure patients.csv patients-release/ --label disease --json
"""


def measure(
    table: Original,
    release: ReleasePlace,
    policy: PolicyFile = None,
    hierarchies: Hierarchies = None,
    label: Annotated[
        str | None, typer.Option(metavar="NAME", help="Published column to predict, for the classification metric CM.")
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the information losses of a release. Needs the original table, so it is for the data steward.

    The policy is the release's own unless --policy names the one that made it. Name it if hierarchies or domains of
    quasi-identifying columns were withheld from the release.
    """
    from sfumato.cli.released import policy_file
    from sfumato.cli.words import Words, policy_of
    from sfumato.evaluation.losses import measure as compare
    from sfumato.release.reports import loss_figures
    from sfumato.table.reading import read_table

    meant = policy_of(Words(policy=policy_file(release, policy), hierarchies=hierarchies, settings=settings or ()))
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 2)
        original = read_table(table, meant.without_sensitive())
        progress("measuring", 1, 2)
        losses = compare(original, release, label=label)
    say_result(loss_figures(losses, DIGITS), str(losses), as_json=as_json)

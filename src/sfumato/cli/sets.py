"""``sfumato sets``: commands on sets of items."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.kernels import say_result
from sfumato.cli.options import METHOD, PRIVACY, AsJson, PolicyFile, Reading
from sfumato.cli.set_options import SetMaking, SetReading, SetsFile, set_policy_of

HELP = "Sets of items, such as baskets or diagnoses: sfumato sets COMMAND --help"

EXAMPLE = """\b
Example:
  sfumato sets check baskets.csv
  sfumato sets check patients.csv --form wide --item diagnoses \\
      --quasi age,sex -m 2
"""


def check(
    sets: SetsFile,
    m: Annotated[int, typer.Option("-m", help="Largest number of known items.", rich_help_panel=PRIVACY)] = 3,
    policy: PolicyFile = None,
    read: SetReading = SetReading(),  # noqa: B008 - a frozen value
    layout: Reading = Reading(),  # noqa: B008 - a frozen value
    threads: Annotated[int | None, typer.Option(help="Threads; default all cores.", rich_help_panel=METHOD)] = None,
    as_json: AsJson = False,
) -> None:
    """Say which k^m-anonymity sets have as they are, wherever they come from.

    For 1 to m items that somebody may know of a person: the fewest records that hold any combination of items that
    occurs. Items are counted as they stand there.
    """
    from sfumato.published.checks.sets.check import check_sets
    from sfumato.table.sets.reading import read_sets

    # A policy needs a model, and nothing is promised here.
    making = SetMaking() if policy is not None else SetMaking(k=1, m=1)
    meant = set_policy_of(policy, read, making, layout, [], threads=threads)
    found = check_sets(read_sets(sets, **meant.reading()), m, threads=meant.threads)
    say_result(found.to_dict(), str(found), as_json=as_json)

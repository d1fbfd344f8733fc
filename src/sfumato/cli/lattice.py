"""``sfumato lattice``: which levels of the hierarchies satisfy a policy's promises, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Original, option
from sfumato.cli.progress import progress_bar, say_result


def lattice(
    table: Original,
    policy: Annotated[
        Path, typer.Option(metavar="FILE", show_default=False, help="Policy file (TOML): roles, hierarchies, promises.")
    ],
    seed: Annotated[int | None, option("As of anonymize.")] = None,
    threads: Annotated[int | None, option("Threads; default all cores.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the levels of full-domain generalization, and print what was found; nothing is published.

    It is for the data steward. The policy's anonymizer searches if it is one of those that do (optimal, incognito,
    samarati, datafly); otherwise Incognito does, which finds every minimal choice of levels.
    """
    from sfumato.policy.policy import Policy
    from sfumato.release.search import LatticeSearcher, search_lattice
    from sfumato.table.reading import read_table

    meant = Policy.from_file(policy)
    searcher = meant.to_anonymizer()
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        found = search_lattice(
            read_table(table, meant),
            meant,
            anonymizer=searcher if isinstance(searcher, LatticeSearcher) else None,
            seed=seed,
            threads=threads or meant.threads,
            progress=progress,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)

"""``sfumato sets anonymize``: from sets and a policy to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli.kernels import say_json
from sfumato.cli.options import OUTPUT, AsJson, HowFormulas, Overwrite, PolicyFile, Quiet, Reading, SavePolicy
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import progress_bar
from sfumato.cli.rating_options import RepeatSeed, Threads
from sfumato.cli.set_options import SetMaking, SetReading, SetsFile, set_policy_of

EXAMPLE = """\b
Example:
  sfumato sets anonymize baskets.csv --hierarchy goods.csv -k 5 -m 2 \\
      --out baskets-release/
  sfumato sets anonymize baskets.csv --policy baskets.toml \\
      --out baskets-release/
"""


def anonymize(
    sets: SetsFile,
    policy: PolicyFile = None,
    make: SetMaking = SetMaking(),  # noqa: B008 - a frozen value
    read: SetReading = SetReading(),  # noqa: B008 - a frozen value
    layout: Reading = Reading(),  # noqa: B008 - a frozen value
    threads: Threads = None,
    seed: RepeatSeed = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the release.", rich_help_panel=OUTPUT)
    ] = None,
    format: Annotated[
        Literal["csv", "parquet"] | None,
        typer.Option(help="Format of the tables; default csv.", rich_help_panel=OUTPUT),
    ] = None,
    formulas: HowFormulas = "keep",
    save_policy: SavePolicy = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Generalize items, or leave them out, so that whoever knows m items of somebody finds k records that fit.

    The result is recounted before it is written. With --save-policy and without --out, only the policy is written.
    """
    from sfumato.cli.anonymize import say_formulas, target_problems
    from sfumato.cli.rating_anonymize import seed_problem
    from sfumato.release.sets.anonymize import anonymize_sets
    from sfumato.release.sets.folder import formula_items, save_sets, set_report
    from sfumato.table.sets.reading import read_sets

    problems = [*seed_problem(seed), *target_problems(out, save_policy, overwrite=overwrite)]
    meant = set_policy_of(policy, read, make, layout, problems, threads=threads, format=format)
    if out is not None:
        with progress_bar(quiet=quiet or as_json) as progress:
            progress("reading", 0, 1)
            release = anonymize_sets(read_sets(sets, **meant.reading()), meant, seed=seed, progress=progress)
        save_sets(release, out, format=meant.output.format, overwrite=overwrite, formulas=formulas)
        if meant.output.format == "csv":
            say_formulas(formula_items(release), formulas)
        if as_json:
            say_json(set_report(release).to_dict())
        elif not quiet:
            say(str(release))
            complain([f"release written to {out}; check it with: sfumato verify {out}"])
    if save_policy is not None:
        meant.to_file(save_policy)

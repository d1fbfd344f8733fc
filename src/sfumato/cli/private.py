"""``sfumato private``: releases under differential privacy."""

from __future__ import annotations

from sfumato.cli.kernels import say_json
from sfumato.cli.options import (
    AsJson,
    HowFormulas,
    Original,
    Overwrite,
    PolicyFile,
    Quiet,
    RoleOptions,
    SavePolicy,
    TableReading,
)
from sfumato.cli.outcome import complain, say
from sfumato.cli.private_options import (
    LedgerFile,
    NoSeed,
    OutFolder,
    OwnFormat,
    PrivatePromise,
    Said,
    WhatCounts,
    private_policy_of,
)
from sfumato.cli.progress import progress_bar

HELP = "Counts with noise, under differential privacy: sfumato private COMMAND --help"

EXAMPLE = """\b
Example:
  sfumato private publish patients.csv --quasi age,sex --sensitive disease \\
      --others drop --bins age=0:120:12 --domain sex=female,male \\
      --domain disease=flu,gastritis,none --epsilon 1 --out counts/
  sfumato private publish patients.csv --policy private.toml --out counts/
"""


def publish(
    table: Original,
    policy: PolicyFile = None,
    promise: PrivatePromise = PrivatePromise(),  # noqa: B008 - a frozen value
    counting: WhatCounts = WhatCounts(),  # noqa: B008 - a frozen value
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    reading: TableReading = TableReading(),  # noqa: B008 - a frozen value
    ledger: LedgerFile = None,
    seed: NoSeed = None,
    out: OutFolder = None,
    format: OwnFormat = None,
    formulas: HowFormulas = "keep",
    save_policy: SavePolicy = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Publish counts with noise, so that nobody can tell whether any one person is in the table.

    Every column that is counted needs a declared domain: --domain, --bins, or a hierarchy that lists its values. What
    is printed is for the steward: notes count records without noise. With --save-policy and without --out, only the
    policy is written.
    """
    from sfumato.cli.anonymize import say_formulas, target_problems
    from sfumato.release.private.folder import formula_labels, private_report, save_private
    from sfumato.release.private.publish import NO_SEED, publish_privately
    from sfumato.table.reading import read_table

    problems = [] if seed is None else [f"--{NO_SEED}"]
    problems += target_problems(out, save_policy, overwrite=overwrite)
    meant = private_policy_of(Said(policy, promise, roles, reading, format, problems), counting)
    if out is not None:
        with progress_bar(quiet=quiet or as_json) as progress:
            progress("reading", 0, 1)
            release = publish_privately(read_table(table, meant), meant, ledger=ledger, progress=progress)
        save_private(release, out, format=meant.output.format, overwrite=overwrite, formulas=formulas)
        if meant.output.format == "csv":
            say_formulas(formula_labels(release), formulas)
        if as_json:
            say_json(private_report(release).to_dict())
        elif not quiet:
            say(str(private_report(release)))
            complain([f"release written to {out}; check it with: sfumato verify {out}"])
    if save_policy is not None:
        meant.to_file(save_policy)

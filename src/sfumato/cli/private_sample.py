"""``sfumato private sample``: generalized records of a random sample, under differential privacy."""

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
    HowSampled,
    LedgerFile,
    NoSeed,
    OutFolder,
    OwnFormat,
    PrivatePromise,
    Said,
    sample_policy_of,
)
from sfumato.cli.progress import progress_bar

EXAMPLE = """\b
Example:
  sfumato private sample patients.csv --quasi age,sex --sensitive disease \\
      --others drop --bins age=0:120:12 --domain sex=female,male \\
      --domain disease=flu,gastritis,none --epsilon 1 --delta 1e-6 \\
      --out sample/
  sfumato private sample patients.csv --policy sample.toml --out sample/
"""


def sample(
    table: Original,
    policy: PolicyFile = None,
    promise: PrivatePromise = PrivatePromise(),  # noqa: B008 - a frozen value
    sampling: HowSampled = HowSampled(),  # noqa: B008 - a frozen value
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
    """Publish true, generalized records of a random sample, so that nobody can tell who is in the table.

    Every column needs a declared domain: --domain, --bins, or a hierarchy that lists its values or cuts numbers. What
    is printed is for the steward: notes count records exactly. With --save-policy and without --out, only the policy
    is written.
    """
    from sfumato.cli.anonymize import say_formulas, target_problems
    from sfumato.release.private.publish import NO_SEED
    from sfumato.release.private.sample_folder import sample_formulas, sample_report, save_private_sample
    from sfumato.release.private.sample_publish import publish_private_sample
    from sfumato.table.reading import read_table

    problems = [] if seed is None else [f"--{NO_SEED}"]
    problems += target_problems(out, save_policy, overwrite=overwrite)
    meant = sample_policy_of(Said(policy, promise, roles, reading, format, problems), sampling)
    if out is not None:
        with progress_bar(quiet=quiet or as_json) as progress:
            progress("reading", 0, 1)
            release = publish_private_sample(read_table(table, meant), meant, ledger=ledger, progress=progress)
        save_private_sample(release, out, format=meant.output.format, overwrite=overwrite, formulas=formulas)
        if meant.output.format == "csv":
            say_formulas(sample_formulas(release), formulas)
        if as_json:
            say_json(sample_report(release).to_dict())
        elif not quiet:
            say(str(sample_report(release)))
            complain([f"release written to {out}; check it with: sfumato verify {out}"])
    if save_policy is not None:
        meant.to_file(save_policy)

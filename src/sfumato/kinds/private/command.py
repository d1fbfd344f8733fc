"""``sfumato private``: releases under differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from sfumato.cli.kind_words import KindWritten
from sfumato.cli.options import (
    COLUMNS,
    METHOD,
    OUTPUT,
    PRIVACY,
    AsJson,
    Original,
    PolicyFile,
    RoleOptions,
    Settings,
)
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import progress_bar, say_json, say_result
from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.kinds.noisy_counts.policy import PrivatePolicy
    from sfumato.kinds.private.policy import DeclaredPolicy
    from sfumato.kinds.private_sample.policy import PrivateSamplePolicy


HELP = "Counts with noise, under differential privacy: sfumato private COMMAND --help"
EXAMPLES = {
    "publish": """\b
Example:
  sfumato private publish patients.csv --quasi age,sex --sensitive disease \\
      --others drop --bins age=0:120:12 --domain sex=female,male \\
      --domain disease=flu,gastritis,none --epsilon 1 --out counts/
  sfumato private publish patients.csv --policy private.toml --out counts/
""",
    "sample": """\b
Example:
  sfumato private sample patients.csv --quasi age,sex --sensitive disease \\
      --others drop --bins age=0:120:12 --domain sex=female,male \\
      --domain disease=flu,gastritis,none --epsilon 1 --delta 1e-6 \\
      --out sample/
  sfumato private sample patients.csv --policy sample.toml --out sample/
""",
    "ledger": """\b
Example:
  sfumato private ledger clinic.budget.json --total-epsilon 2 \\
      --total-delta 1e-5
  sfumato private ledger clinic.budget.json
""",
}
"""Command of the group → what its help shows."""

# Options of ``sfumato private``: what is promised, what is counted, and the declared domains.


Meant = TypeVar("Meant", bound="DeclaredPolicy")
Epsilon = Annotated[float | None, typer.Option(help="Budget ε, above 0, e.g. 1.", rich_help_panel=PRIVACY)]
Delta = Annotated[
    float | None,
    typer.Option(help="δ, from 0 to below 1; default 0. Above 0: Gaussian noise.", rich_help_panel=PRIVACY),
]
Marginal = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to count together; repeatable. Default: each alone, and pairs.",
        rich_help_panel=METHOD,
    ),
]
TwoWay = Annotated[
    int | None,
    typer.Option(metavar="COUNT", help="Without --marginal: how many pairs of columns.", rich_help_panel=METHOD),
]
HowChosen = Annotated[
    Literal["data", "declared"] | None,
    typer.Option(
        metavar="HOW",
        help="How pairs are chosen: data (default; privately, for a fifth of ε) or declared (by the order of columns).",
        rich_help_panel=METHOD,
    ),
]
Synthetic = Annotated[
    bool,
    typer.Option("--synthetic", help="Also draw records from the fitted counts, nobody's.", rich_help_panel=OUTPUT),
]
DomainOf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="All values that a column may have, e.g. sex=female,male; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
BinsOf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=BINS",
        help="Bins of numbers: LOW:HIGH:COUNT, or borders, e.g. age=0:120:12 or age=0,18,65,120; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
LevelOf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LEVEL", help="Level of its hierarchy that is counted; repeatable.", rich_help_panel=COLUMNS
    ),
]
Complete = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Columns without a cell for missing values.", rich_help_panel=COLUMNS),
]
SearchShare = Annotated[
    float | None,
    typer.Option(help="Share of ε that choosing levels takes; default 0.1.", rich_help_panel=METHOD),
]
RecordShare = Annotated[
    float | None,
    typer.Option(
        help="Share of the records that is drawn at most; default what ε allows, up to 0.5.", rich_help_panel=METHOD
    ),
]
Kept = Annotated[
    Literal["loss", "precision"] | None,
    typer.Option(help="What the choice of levels keeps; default loss.", rich_help_panel=METHOD),
]
NamedLevel = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LEVEL",
        help="Level of a column, not chosen; repeatable. With all named, nothing is searched for.",
        rich_help_panel=METHOD,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Ledger that adds up what releases of the same people spend.", rich_help_panel=PRIVACY
    ),
]
NoSeed = Annotated[
    int | None,
    typer.Option(help="Refused: what can be drawn again hides nobody.", rich_help_panel=METHOD),
]
OutFolder = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Folder of the release.", rich_help_panel=OUTPUT)
]
OwnFormat = Annotated[
    Literal["csv", "parquet"] | None,
    typer.Option(help="Format of the tables; default csv.", rich_help_panel=OUTPUT),
]
OPTIONS: dict[tuple[str | int, ...], str] = {
    ("model", "epsilon"): "--epsilon",
    ("model", "delta"): "--delta",
    ("counting", "marginals"): "--marginal",
    ("counting", "two-way"): "--two-way",
    ("counting", "choice"): "--choice",
    ("counting", "complete"): "--complete",
    ("sampling", "search"): "--search",
    ("sampling", "share"): "--share",
    ("sampling", "objective"): "--objective",
    ("sampling", "levels"): "--level",
    ("output", "format"): "--format",
}
"""What messages call a key that an option set."""
ADVICE = {
    "--epsilon: is missing": "--epsilon: give the budget, e.g. --epsilon 1",
    "--quasi: is missing": "--quasi: name the columns that an attacker may know, e.g. --quasi age,sex,zip",
    "columns: is missing": "--quasi: name the columns that an attacker may know, e.g. --quasi age,sex,zip",
}


@dataclass(frozen=True)
class PrivatePromise:
    """What is promised."""

    epsilon: Epsilon = None
    delta: Delta = None


@dataclass(frozen=True)
class WhatCounts:
    """What is counted, over which domains."""

    marginal: Marginal = None
    two_way: TwoWay = None
    choice: HowChosen = None
    synthetic: Synthetic = False
    domain: DomainOf = None
    bins: BinsOf = None
    level: LevelOf = None
    complete: Complete = None


@dataclass(frozen=True)
class HowSampled:
    """How a private sample is made, over which domains."""

    search: SearchShare = None
    share: RecordShare = None
    objective: Kept = None
    level: NamedLevel = None
    domain: DomainOf = None
    bins: BinsOf = None


@dataclass(frozen=True)
class Said:
    """What both commands are told: a policy file, the promise, columns, how the table is read, and the format."""

    policy: Path | None
    promise: PrivatePromise
    roles: RoleOptions
    format: str | None
    problems: list[str]
    settings: Sequence[Any] = ()


def private_policy_of(said: Said, counting: WhatCounts) -> PrivatePolicy:
    """Make the policy of noisy marginals that the options mean; raises as :func:`_policy_of` does."""
    from sfumato.cli.settings import names_in
    from sfumato.cli.words import all_names
    from sfumato.kinds.noisy_counts.policy import PrivatePolicy

    part = {
        "marginals": [names_in(each) for each in counting.marginal] if counting.marginal else None,
        "two-way": counting.two_way,
        "choice": counting.choice,
        "complete": all_names(counting.complete) or None,
        "synthetic": counting.synthetic or None,
    }
    return _policy_of(said, PrivatePolicy, "counting", part, counting)


def sample_policy_of(said: Said, sampling: HowSampled) -> PrivateSamplePolicy:
    """Make the policy of a private sample that the options mean; raises as :func:`_policy_of` does."""
    from sfumato.kinds.private_sample.policy import PrivateSamplePolicy

    part = {name: getattr(sampling, name) for name in ("search", "share", "objective")}
    return _policy_of(said, PrivateSamplePolicy, "sampling", part, sampling)


def _policy_of(
    told: Said, kind: type[Meant], key: str, part: dict[str, Any], columns: WhatCounts | HowSampled
) -> Meant:
    """Make the policy that the options mean.

    Raises ``InputError`` when the policy file, or a folder of hierarchies, cannot be read. Raises ``PolicyError`` with
    every mistake in the options and in the file.
    """
    from sfumato.cli.kind_words import KindWords, kind_policy_of
    from sfumato.cli.settings import names_in
    from sfumato.cli.words import Words, say_columns, say_written
    from sfumato.policy.entries import spelled_out
    from sfumato.policy.file import read_policy

    policy, problems, promise = told.policy, told.problems, told.promise
    meant = dict(spelled_out(read_policy(policy))) if policy else {}
    bins, domains = _bins(columns.bins, problems)
    domains |= {name: {"domain": names_in(values)} for name, values in _pairs(columns.domain, "--domain", problems)}
    words = Words(policy=policy, **told.roles.words)
    names: dict[tuple[str | int, ...], str] = {}
    say_columns(meant, words, names, problems)
    say_written(meant, domains, problems)
    parts: dict[str, dict[str, Any]] = {
        "model": {"epsilon": promise.epsilon, "delta": promise.delta},
        key: {
            **part,
            "bins": {**_given(meant, key, "bins"), **bins} or None,
            "levels": {**_given(meant, key, "levels"), **_levels(columns.level, problems)} or None,
        },
        "output": {"format": told.format},
    }
    kind_words = KindWords(policy, {}, parts, problems, meant, told.settings)
    return kind_policy_of(kind_words, kind.from_mapping, {**OPTIONS, **names}, ADVICE)


def _given(meant: dict[str, Any], part: str, key: str) -> dict[str, Any]:
    settings = meant.get(part)
    given = settings.get(key, {}) if isinstance(settings, dict) else {}
    return given if isinstance(given, dict) else {}


def _pairs(texts: Sequence[str] | None, option: str, problems: list[str]) -> list[tuple[str, str]]:
    found = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if equals and name.strip() and value.strip():
            found.append((name.strip(), value.strip()))
        else:
            problems.append(f"{option}: write it as NAME={'VALUES' if option == '--domain' else option[2:].upper()}")
    return found


def _bins(texts: Sequence[str] | None, problems: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return bins by column, and the ranges that they divide."""
    bins: dict[str, Any] = {}
    domains: dict[str, dict[str, Any]] = {}
    for name, text in _pairs(texts, "--bins", problems):
        try:
            if ":" in text:
                low, high, count = text.split(":")
                domains[name], bins[name] = {"domain": [float(low), float(high)]}, int(count)
            else:
                borders = [float(border) for border in text.split(",")]
                bins[name] = int(text) if len(borders) == 1 else borders
        except ValueError:
            problems.append(f"--bins: {name!r}: write LOW:HIGH:COUNT, or borders, e.g. 0:100:10 or 0,18,65,120")
    return bins, domains


def _levels(texts: Sequence[str] | None, problems: list[str]) -> dict[str, int]:
    levels = {}
    for name, text in _pairs(texts, "--level", problems):
        if text.isdecimal():
            levels[name] = int(text)
        else:
            problems.append(f"--level: {name!r}: give a whole number, 0 for the values themselves")
    return levels


# ``sfumato private sample``: generalized records of a random sample, under differential privacy.


def sample(
    table: Original,
    policy: PolicyFile = None,
    promise: PrivatePromise = PrivatePromise(),
    sampling: HowSampled = HowSampled(),
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    settings: Settings = None,
    ledger: LedgerFile = None,
    seed: NoSeed = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
) -> None:
    """Publish true, generalized records of a random sample, so that nobody can tell who is in the table.

    Every column needs a declared domain: --domain, --bins, or a hierarchy that lists its values or cuts numbers. What
    is printed is for the steward: notes count records exactly. With --save-policy and without --out, only the policy is
    written.
    """
    from sfumato.cli.anonymize import say_formulas
    from sfumato.kinds.private.make import NO_SEED
    from sfumato.kinds.private_sample.make import publish_private_sample
    from sfumato.kinds.private_sample.release import save_private_sample
    from sfumato.table.reading import read_table

    problems = [] if seed is None else [f"--{NO_SEED}"]
    problems += written.problems()
    meant = sample_policy_of(Said(policy, promise, roles, written.format, problems, settings or ()), sampling)
    if written.out is not None:
        with progress_bar(quiet=written.quiet or written.as_json) as progress:
            progress("reading", 0, 1)
            release = publish_private_sample(read_table(table, meant), meant, ledger=ledger, progress=progress)
        save_private_sample(
            release, written.out, format=meant.output.format, overwrite=written.overwrite, formulas=written.formulas
        )
        if meant.output.format == "csv":
            say_formulas(release.cells_like_formulas(), written.formulas)
        if written.as_json:
            say_json(release.report.to_dict())
        elif not written.quiet:
            say(str(release.report))
            complain([f"release written to {written.out}; check it with: sfumato verify {written.out}"])
    if written.save_policy is not None:
        meant.to_file(written.save_policy)


# ``sfumato private ledger``: what all releases about the same people may spend, and have spent.


def ledger(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="The steward's ledger.")],
    total_epsilon: Annotated[
        float | None, typer.Option(help="Start a ledger: ε of all releases together.", rich_help_panel=PRIVACY)
    ] = None,
    total_delta: Annotated[
        float | None, typer.Option(help="With --total-epsilon: δ of all; default 0.", rich_help_panel=PRIVACY)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what releases about the same people have spent of their privacy budget, or start a ledger of it.

    A release that names it with --ledger writes down what it costs before anything is drawn, and is refused if that
    would go beyond the total.
    """
    from sfumato.kinds.private.ledger import PrivacyLedger
    from sfumato.release.transaction import interrupted

    if total_epsilon is not None:
        PrivacyLedger.start(file, total_epsilon, 0.0 if total_delta is None else total_delta)
        return
    if total_delta is not None:
        raise PolicyError("--total-delta: starts a ledger together with --total-epsilon; add it, or leave this out")
    if line := interrupted(file):
        complain([line])
    found = PrivacyLedger.read(file)
    say_result({**found.to_dict(), "spent": found.spent.to_dict()}, str(found), as_json=as_json)


def publish(
    table: Original,
    policy: PolicyFile = None,
    promise: PrivatePromise = PrivatePromise(),
    counting: WhatCounts = WhatCounts(),
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    settings: Settings = None,
    ledger: LedgerFile = None,
    seed: NoSeed = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
) -> None:
    """Publish counts with noise, so that nobody can tell whether any one person is in the table.

    Every column that is counted needs a declared domain: --domain, --bins, or a hierarchy that lists its values. What
    is printed is for the steward: notes count records without noise. With --save-policy and without --out, only the
    policy is written.
    """
    from sfumato.cli.anonymize import say_formulas
    from sfumato.kinds.noisy_counts.make import publish_privately
    from sfumato.kinds.noisy_counts.release import save_private
    from sfumato.kinds.private.make import NO_SEED
    from sfumato.table.reading import read_table

    problems = [] if seed is None else [f"--{NO_SEED}"]
    problems += written.problems()
    meant = private_policy_of(Said(policy, promise, roles, written.format, problems, settings or ()), counting)
    if written.out is not None:
        with progress_bar(quiet=written.quiet or written.as_json) as progress:
            progress("reading", 0, 1)
            release = publish_privately(read_table(table, meant), meant, ledger=ledger, progress=progress)
        save_private(
            release, written.out, format=meant.output.format, overwrite=written.overwrite, formulas=written.formulas
        )
        if meant.output.format == "csv":
            say_formulas(release.cells_like_formulas(), written.formulas)
        if written.as_json:
            say_json(release.report.to_dict())
        elif not written.quiet:
            say(str(release.report))
            complain([f"release written to {written.out}; check it with: sfumato verify {written.out}"])
    if written.save_policy is not None:
        meant.to_file(written.save_policy)

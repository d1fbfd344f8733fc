"""From the options of commands on ratings or sets to a policy. Options override a policy file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar

from sfumato.cli.options import COLUMNS, METHOD, OUTPUT, AsJson, HowFormulas, Overwrite, Quiet, SavePolicy
from sfumato.cli.progress import progress_bar, say_json
from sfumato.cli.settings import Setting, settings_of, with_settings
from sfumato.errors import PolicyError, raise_all

if TYPE_CHECKING:
    from sfumato.policy.mistakes import KeyPath
    from sfumato.progress import Progress


Policy = TypeVar("Policy", covariant=True)


class Checks(Protocol[Policy]):
    """Makes a policy of plain values, or raises PolicyError."""

    def __call__(self, mapping: Mapping[str, Any], *, names: Mapping[KeyPath, str]) -> Policy:
        """Return the policy."""
        ...


@dataclass(frozen=True)
class KindWritten:
    """What is written of a release of a kind of its own, and how."""

    out: Annotated[Path | None, OUTPUT("Folder of the release.", "FOLDER")] = None
    format: Annotated[Literal["csv", "parquet"] | None, OUTPUT("Format of the tables; default csv.")] = None
    formulas: HowFormulas = "keep"
    save_policy: SavePolicy = None
    overwrite: Overwrite = False
    quiet: Quiet = False
    as_json: AsJson = False

    def problems(self) -> list[str]:
        """Check, before the work, whether its results can be written."""
        from sfumato.cli.anonymize import target_problems

        return target_problems(self.out, self.save_policy, overwrite=self.overwrite)

    def publish(
        self,
        policy: Any,
        make: Callable[[Progress], Any],
        save: Callable[..., Path],
        attack: tuple[str, object, Path | None] | None = None,
    ) -> None:
        """Make a release, write it and its policy, and say what it is; `attack`: kind, table and policy file of one."""
        from sfumato.cli.anonymize import say_formulas
        from sfumato.cli.summary import NextSteps, say_own_kind

        if self.out is not None:
            with progress_bar(quiet=self.quiet or self.as_json) as progress:
                progress("reading", 0, 1)
                release = make(progress)
            format = policy.output.format
            save(release, self.out, format=format, overwrite=self.overwrite, formulas=self.formulas)
            if format == "csv":
                say_formulas(release.cells_like_formulas(), self.formulas)
            if self.as_json:
                say_json(release.report.to_dict())
            elif not self.quiet:
                out = quote(str(self.out))
                say_own_kind(release, NextSteps(str(self.out), f"sfumato verify {out}", self._attack(*attack or ())))
        if self.save_policy is not None:
            policy.to_file(self.save_policy)

    def _attack(self, kind: str = "", table: object = "", policy: Path | None = None) -> str:
        """Return the command that attacks such a release, by the policy file that made it."""
        file = self.save_policy or policy
        options = "FILE, of --save-policy" if file is None else quote(str(file))
        return f"sfumato attack {quote(str(table))} --kind {kind} --policy {options}" if kind else ""


@dataclass(frozen=True)
class KindWords:
    """What the options say; None means that they say nothing."""

    policy: Path | None  # policy file to start from
    top: Mapping[str, Any]  # keys of the policy's top level
    parts: Mapping[str, Mapping[str, Any]]  # keys of its other parts
    problems: Sequence[str] = field(default=())  # already found in the options
    meant: Mapping[str, Any] | None = None  # what the policy file says, if it was read before; None: it is read here
    settings: Sequence[str | Setting] = ()  # what ``--set`` sets


def kind_policy_of(
    words: KindWords, check: Checks[Policy], options: Mapping[KeyPath, str], advice: Mapping[str, str]
) -> Policy:
    """Make the policy that the options mean, or raise with every mistake in the options and in the file.

    `options`: what messages call a key that an option set. `advice`: what to say instead of certain problems.
    """
    from sfumato.policy.file import read_policy

    said: dict[KeyPath, str] = {("source", key): f"--{key}" for key in words.parts.get("source", {})}
    meant = dict(words.meant) if words.meant is not None else read_policy(words.policy) if words.policy else {}
    meant |= {key: value for key, value in words.top.items() if value is not None}
    for part, keys in words.parts.items():
        _update(meant, part, keys)
    if words.policy is None:
        meant.setdefault("model", {})
    problems = list(words.problems)
    meant, typed = with_settings(meant, settings_of(words.settings, problems), problems)
    try:
        policy = check(meant, names=_names(words, options) | said | typed)
    except PolicyError as error:
        raise PolicyError(*problems, *(advice.get(problem, problem) for problem in error.problems)) from None
    raise_all(PolicyError, problems)
    return policy


def _names(words: KindWords, options: Mapping[KeyPath, str]) -> dict[KeyPath, str]:
    """Call each key by its option if an option set it; without a policy file, always."""
    if words.policy is None:
        return dict(options)
    given: set[KeyPath] = {(key,) for key, value in words.top.items() if value is not None}
    given |= {(part, key) for part, keys in words.parts.items() for key, value in keys.items() if value is not None}
    return {path: option for path, option in options.items() if path in given}


def _update(mapping: dict[str, Any], part: str, keys: Mapping[str, Any]) -> None:
    """Put settings into a part; the check reports a part of a wrong type."""
    said = {key: value for key, value in keys.items() if value is not None}
    given = mapping.get(part, {})
    if said and isinstance(given, Mapping):
        mapping[part] = {**given, **said}


KeyForm = Annotated[
    str | None,
    COLUMNS(
        "exact or fold: whether keys of people that differ in capitals, blanks, zeros and the like are one "
        "person's. By kind: fold:capitals,exact:zeros.",
        "FORM",
    ),
]
Threads = Annotated[int | None, METHOD("Threads; default all cores.")]
RepeatSeed = Annotated[int | None, METHOD("For tests and studies only: makes chance repeatable.", None, "--seed")]


def seed_problem(seed: int | None) -> list[str]:
    """Return what is wrong with a seed, if anything."""
    return ["--seed: must be 0 or above"] if seed is not None and seed < 0 else []

"""``sfumato attack``: attacks, played against a release or against what a policy would publish."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import completion
from sfumato.cli.options import OUTPUT, AsJson, Details, Panel, PolicyFile, RoleOptions, argument
from sfumato.cli.progress import progress_bar, say_result
from sfumato.cli.settings import Setting, first_step
from sfumato.errors import PolicyError, SfumatoError, raise_all, said_of

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.evaluation.attacks.play import Attacks
    from sfumato.evaluation.attacks.protocol import Attack
    from sfumato.policy.policy import Policy
    from sfumato.table.table import Table

PLAYED, KNOWN = Panel("What is played"), Panel("What attackers and judges know")


@dataclass(frozen=True)
class AttackersKnowledge:
    """What attackers and judges know."""

    original: Annotated[str | None, KNOWN("The table that the release was made from.", "FILE")] = None
    hold_out: Annotated[
        float | None,
        KNOWN("Of a table: people left out of the release who serve as the control group (default: 0.2).", "SHARE"),
    ] = None
    control: Annotated[str | None, KNOWN("People who were not in the data; same columns.", "FILE")] = None
    register: Annotated[Path | None, KNOWN("Names and values that a linking attacker holds.", "FILE")] = None
    earlier: Annotated[str | None, KNOWN("Another release of the same people.", "RELEASE")] = None
    records_known: Annotated[
        str, KNOWN("Of people with several records (--person): how many of them an attacker knows.", "all|one|NUMBER")
    ] = "all"


@dataclass(frozen=True)
class Played:
    """Which attacks are played, and how."""

    attacks: Annotated[
        list[str] | None,
        PLAYED("Which attacks; default all that can be played.", "NAMES", "--attack", complete=completion.attacks),
    ] = None
    settings: Annotated[
        list[str] | None,
        PLAYED(
            "Options; without --attack, plays only these. Or PATH=VALUE of the policy, as of anonymize.",
            "ATTACK.NAME=VALUE",
            "--set",
        ),
    ] = None
    seed: Annotated[int | None, PLAYED("Makes the attacks repeatable.")] = None
    threads: Annotated[int | None, PLAYED("Threads; default all cores.")] = None


@dataclass(frozen=True)
class Failing:
    """When the command fails."""

    fail_if_succeeds: Annotated[
        bool,
        OUTPUT(
            "Exit with 1 when an attack succeeds beyond what the release promises, or is undecided.",
            None,
            "--fail-if-succeeds",
        ),
    ] = False
    undecided_passes: Annotated[
        bool,
        OUTPUT("With --fail-if-succeeds: do not fail for an attack that is undecided.", None, "--undecided-passes"),
    ] = False


def attack(
    target: Annotated[
        str,
        argument(
            "RELEASE|TABLE", "Folder of a release; or a file or database, to attack what --policy would publish of it."
        ),
    ],
    known: AttackersKnowledge = AttackersKnowledge(),
    policy: PolicyFile = None,
    play: Played = Played(),
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    failing: Failing = Failing(),
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Play attacks against a release, or against what a policy would publish, and say which ones succeed.

    For the data steward: success is judged by the original. Without --policy it is read as the release's own policy
    says, which withholds hierarchies that list original values. Lists are separated by commas. An attack that succeeds
    is not an error unless --fail-if-succeeds is given; then an undecided one is, too, unless --undecided-passes is.
    """
    from sfumato.cli.released import is_release
    from sfumato.cli.words import Words

    of_attacks, of_policy = _parted(play.settings or ())
    words = Words(policy=policy, **roles.words, settings=of_policy)
    problems = _usage_problems(target, policy, known.original, known.hold_out, known.control, known.earlier)
    chosen = _chosen(play.attacks, of_attacks, problems)
    if failing.undecided_passes and not failing.fail_if_succeeds:
        problems.append("--undecided-passes: says what --fail-if-succeeds lets pass; give both")
    raise_all(PolicyError, problems)
    with progress_bar(quiet=as_json) as progress:
        common: dict[str, Any] = {
            "attacks": chosen,
            "records_known": int(known.records_known) if known.records_known.isdecimal() else known.records_known,
            "seed": play.seed,
            "threads": play.threads,
            "progress": progress,
        }
        if is_release(target):
            assert known.original is not None
            played = _on_release(target, known.original, words, known.control, known.register, known.earlier, common)
        else:
            share = 0.2 if known.hold_out is None else known.hold_out
            played = _on_policy(target, words, share, known.register, common)
    if as_json or details:
        say_result(played.to_dict(), str(played), as_json=as_json)
    else:
        from sfumato.cli.summary import attack_summary, say_marked

        say_marked(attack_summary(played))
    if failing.fail_if_succeeds and (played.unlicensed or (played.unsettled and not failing.undecided_passes)):
        raise typer.Exit(1)


def _usage_problems(
    target: str,
    policy: Path | None,
    original: str | None,
    hold_out: float | None,
    control: str | None,
    earlier: str | None,
) -> list[str]:
    from sfumato.cli.released import is_release
    from sfumato.table.databases.address import is_database

    problems = []
    if is_release(target):
        if original is None:
            problems.append("--original: name the table that the release was made from")
        if hold_out is not None:
            problems.append("--hold-out: is for a table; a release already exists, so give --control instead")
        return problems
    if not is_database(target) and not os.path.exists(target):
        problems.append(f"{target}: there is no such release or table")
    if policy is None:
        problems.append("--policy: name the policy that would publish the table, or attack the folder of a release")
    beside = {"--original": original, "--control": control, "--earlier": earlier}
    problems += [f"{option}: is for the folder of a release; leave it out" for option, given in beside.items() if given]
    if hold_out is not None and not 0 <= hold_out < 1:
        problems.append("--hold-out: must be a share from 0 to below 1")
    return problems


def _parted(settings: Sequence[str | Setting]) -> tuple[list[str], list[str | Setting]]:
    """Part the options of attacks from those of the policy, whose paths begin otherwise."""
    from sfumato.evaluation.attacks import ATTACKS

    def is_of_policy(one: str | Setting) -> bool:
        return isinstance(one, Setting) or (first_step(one) not in ATTACKS and "." in one.partition("=")[0])

    return (
        [one for one in settings if isinstance(one, str) and not is_of_policy(one)],
        [one for one in settings if is_of_policy(one)],
    )


def _chosen(names: Sequence[str] | None, settings: Sequence[str], problems: list[str]) -> list[Attack] | None:
    """Build the named attacks with their options; None for the default set without options."""
    from sfumato.cli.words import all_names
    from sfumato.evaluation.attacks import ATTACKS, attacks_on_demand, without_former

    asked = without_former(all_names(names))
    problems += ["--attack: name at least one other, or leave the option out"] if names and not asked else []
    unknown = [name for name in asked if name not in ATTACKS]
    problems += [f"--attack: {name!r} is unknown; known are {', '.join(ATTACKS)}" for name in unknown]
    options = _options(settings, asked or [name for name in ATTACKS if name not in attacks_on_demand()], problems)
    if not asked and not options:
        return None
    named = asked or list(options)
    return [made for name in named if name in ATTACKS and (made := _built(name, options.get(name, {}), problems))]


def _options(settings: Sequence[str], asked: Sequence[str], problems: list[str]) -> dict[str, dict[str, Any]]:
    from sfumato.cli.words import settings_in

    options: dict[str, dict[str, Any]] = {}
    for key, value in settings_in(settings, "--set", problems).items():
        attack, dot, option = key.partition(".")
        if not dot or attack not in asked:
            problems.append(f"--set {key}: write attack.option=value, for an attack that is played")
            continue
        options.setdefault(attack, {})[option] = value
    return options


def _built(name: str, options: dict[str, Any], problems: list[str]) -> Attack | None:
    from sfumato.evaluation.attacks import ATTACKS
    from sfumato.policy.entries import checked, entry_for

    entry = entry_for(ATTACKS[name], tag="name", name=name)
    try:
        made: Attack = checked(entry, {"name": name, **options}).build()
    except PolicyError as error:
        problems.extend(f"--set {name}.{problem}" for problem in error.problems)
        return None
    return made


def _on_release(
    release: str,
    original: str,
    words: Words,
    control: str | None,
    register: Path | None,
    earlier: str | None,
    common: dict[str, Any],
) -> Attacks:
    from sfumato.cli.released import policy_file
    from sfumato.cli.words import policy_of
    from sfumato.evaluation.attacks.play import attack as play

    meant = policy_of(replace(words, policy=policy_file(release, words.policy)))
    errors: list[SfumatoError] = []
    people = _table(meant, original, errors, "--original", named=register is not None)
    others = None if control is None else _table(meant, control, errors, "--control", named=False, drop=True)
    if errors:
        raise type(errors[0])(*(problem for error in errors for problem in error.problems))
    assert people is not None
    return play(release, people, control=others, register=register, earlier=earlier, **common)


def _on_policy(table: str, words: Words, hold_out: float, register: Path | None, common: dict[str, Any]) -> Attacks:
    from sfumato.cli.words import policy_of
    from sfumato.evaluation.attacks.play import attack_policy
    from sfumato.table.databases.address import is_database
    from sfumato.table.reading import label_of

    meant = policy_of(words)
    errors: list[SfumatoError] = []
    people = _table(
        meant,
        table,
        errors,
        label_of(table, meant.source.table) if is_database(table) else table,
        named=register is not None,
    )
    if errors:
        raise errors[0]
    assert people is not None
    return attack_policy(people, meant, hold_out=hold_out, register=register, **common)


def _table(
    meant: Policy, path: str, errors: list[SfumatoError], what: str, *, named: bool, drop: bool = False
) -> Table | None:
    """Read people as a policy says; with their names if a register will be compared with them."""
    from sfumato.table.person_keys import key_in, number_people, person_keys
    from sfumato.table.reading import named_source, read_table
    from sfumato.table.sources import open_source

    columns = meant.columns
    update: dict[str, Any] = {"others": "drop", "identifying": ()} if drop else {}
    meant = meant.beside(path) if drop else meant
    layout, place = meant.source.layout(), meant.source.place()
    try:
        if drop:
            with named_source(path):
                names = {*open_source(path, layout, place).names}
            # People who are not in the data may lack a key; then every record is taken for another person.
            update.update({} if {*columns.key_columns} <= names else {"person": None})
        if named:
            # Names and keys stay in the table, for a register to be compared with.
            update = {
                "insensitive": (*columns.insensitive, *columns.identifying, *columns.key_columns),
                "identifying": (),
                "person": None,
            }
        table = read_table(path, meant.model_copy(update={"columns": columns.model_copy(update=update)}))
        if not named:
            return table
        own = person_keys(key_in(table.frame, columns.key_columns), columns.key_form) if columns.key_columns else None
        people = None if own is None else number_people(own)
        return replace(table, schema=meant.to_schema(), people=people, repeated=None)
    except SfumatoError as error:
        errors.append(said_of(what, error))
        return None

"""From the options of a command line to a policy. Options override a policy file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.outcome import complain
from sfumato.cli.settings import Setting, fitting, names_in, plain_value, settings_of, with_settings
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.policy.entries import ROLES_WITH_SETTINGS, spelled_out
from sfumato.policy.file import read_policy
from sfumato.policy.mistakes import KeyPath
from sfumato.policy.policy import DEFAULT_ANONYMIZER, FORMER_ANONYMIZER, Policy

# Match the files of a folder with the columns whose hierarchies they hold.


def hierarchy_files(folder: Path, columns: Sequence[str]) -> tuple[dict[str, Path], list[str]]:
    """Find the CSV of each column, named after it or ending in ``_COLUMN``; returns files, and problems.

    A file that fits several columns belongs to the longest name; one named exactly after a column takes precedence.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    except OSError:
        raise InputError(f"--hierarchies: {folder} is not a folder that can be read") from None
    fitting: dict[str, list[Path]] = {}
    for file in files:
        owners = [column for column in columns if file.stem == column or file.stem.endswith(f"_{column}")]
        if owners:
            fitting.setdefault(max(owners, key=len), []).append(file)
    chosen = {column: _exact(column, found) for column, found in fitting.items()}
    problems = [
        f"--hierarchies: {len(found)} files of {folder} fit column {column!r}; name one of them {column}.csv"
        for column, found in chosen.items()
        if len(found) > 1
    ]
    if not fitting:
        problems.append(f"--hierarchies: no CSV in {folder} is named after a quasi-identifying or sensitive column")
    return {column: found[0] for column, found in chosen.items()}, problems


def _exact(column: str, files: list[Path]) -> list[Path]:
    return [file for file in files if file.stem == column] or files


ROLES = {
    "identifying": "--identifying",
    "quasi-identifying": "--quasi",
    "sensitive": "--sensitive",
    "insensitive": "--set columns.insensitive",
}
SUPPRESSION = "--suppression"
WRITTEN = ("decimal", "thousands", "dates", "unit", "strays")
"""Settings of a column that say how its values are written in a file."""
ANY_MODEL = "privacy model (-k, -l, --model)"
_SETTING = re.compile(r'(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]|\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\}|[^,])+')
"""One setting of several: commas inside of a text, a list or a table part nothing."""
ADVICE = {
    "--quasi: is missing": "name the columns that an attacker may know, e.g. --quasi age,sex,zip",
    f"{ANY_MODEL}: is missing": "ask for at least one, e.g. -k 5",
}
"""What to do if nothing was given; for a policy file the key says enough."""


@dataclass(frozen=True)
class ModelWord:
    """A privacy model that an option names."""

    option: str  # the option, for messages
    name: str
    settings: Mapping[str, Any]
    only_setting: str = ""  # the setting that the option itself gives, where it does


@dataclass(frozen=True)
class Words:
    """What the options say about the policy; None and empty mean that they say nothing."""

    policy: Path | None = None  # policy file to start from
    # for each role, the lists of names as they were typed
    roles: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    # lists of names, as they were typed, of columns that are published whatever they look like
    publish: Sequence[str] = ()
    # findings that may stay, as they were typed; None: nobody was asked
    accept: Sequence[str] | None = None
    others: str | None = None
    person: str | None = None
    categorical: Sequence[str] = ()  # lists of names, as they were typed, of columns of codes
    hierarchies: Path | None = None
    models: Sequence[ModelWord] = ()
    anonymizer: str | None = None
    suppression: float | None = None
    withstand: Sequence[str] = ()  # lists of attackers, as they were typed
    settings: Sequence[str | Setting] = ()  # what ``--set`` sets, as it was typed; it counts before all others
    format: str | None = None
    problems: Sequence[str] = ()  # already found in the options


def policy_of(words: Words) -> Policy:
    """Make the policy that the options mean, or raise with every mistake in the options and in the files."""
    mapping = spelled_out(read_policy(words.policy)) if words.policy else {}
    columns = mapping.get("columns")
    former = bool(words.policy) and not (isinstance(columns, Mapping) and "accept" in columns)
    problems = list(words.problems)
    names: dict[KeyPath, str] = {} if words.policy else {("models",): ANY_MODEL}
    if words.suppression is not None:
        mapping["suppression-limit"] = words.suppression
        names[("suppression-limit",)] = SUPPRESSION
    if asked := all_names(words.withstand):
        mapping["withstand"] = asked
        names[("withstand",)] = "--withstand"
    _update(mapping, "output", {"format": words.format})
    say_columns(mapping, words, names, problems)
    _say_models(mapping, words, names)
    _say_anonymizer(mapping, words, names)
    settings = settings_of(words.settings, problems)
    given = mapping.get("anonymizer", {})
    if isinstance(given, Mapping) and "name" not in given:
        name = _usual_anonymizer(settings, former=former)
        # What a file of the last version leaves out stays out, so that it can be said what it means.
        if name != FORMER_ANONYMIZER or settings or words.accept is not None:
            mapping["anonymizer"] = {"name": name, **given}
    settings = [fitting(Policy, mapping, setting) for setting in settings]
    mapping, typed = with_settings(mapping, settings, problems)
    _remove(mapping, all_names(words.roles.get("identifying")))
    names.update(typed)
    return _checked(mapping, names, problems)


def _remove(mapping: Mapping[str, Any], names: Collection[str]) -> None:
    """Take columns that ``--identifying`` removes out of the roles that other options give them: it can be added."""
    columns: Any = mapping.get("columns")
    for role, given in list(columns.items()) if isinstance(columns, dict) else ():
        if role in {*ROLES} - {"identifying"} and isinstance(given, (dict, list)):
            left = [name for name in given if name not in names]
            columns[role] = {name: given[name] for name in left} if isinstance(given, dict) else left


def columns_alone(words: Words) -> Policy:
    """Make the policy of options that name columns and how they are read, and no privacy model."""
    # A policy needs a promise; it plays no part here.
    return policy_of(words if words.policy else replace(words, models=(ModelWord("-k", "k-anonymity", {"k": 1}, "k"),)))


def diversity_word(level: float, kind: str = "entropy", **constant: float) -> ModelWord:
    """Return the l-diversity that -l names; what is wrong with its l is a mistake of -l."""
    level = int(level) if level.is_integer() else level
    return ModelWord("-l", f"{kind}-l-diversity", {"l": level, **constant}, "l")


DIVERSITIES = {
    "distinct": "that many different values in every class",
    "entropy": "values that are about equally frequent",
}
"""The kinds of l-diversity that -l may mean, and what each asks for."""


def diversity_of(level: float | ModelWord | None, cost: Callable[[ModelWord], str] | None = None) -> ModelWord | None:
    """Return what -l means: of a number somebody at a terminal is asked, told the cost of each kind; else entropy."""
    from sfumato.cli.review import at_a_terminal

    if level is None or isinstance(level, ModelWord):
        return level
    words = {kind: diversity_word(level, kind) for kind in DIVERSITIES}
    if cost is None or not at_a_terminal():
        named = " or ".join(f"--model {word.name}:l={level:g}" for word in words.values())
        complain([f"-l {level:g} means entropy l-diversity; the next version wants to know which: write {named}"])
        return words["entropy"]
    complain([f"-l {level:g} may mean {kind}: {DIVERSITIES[kind]}; {cost(word)}" for kind, word in words.items()])
    while (chosen := typer.prompt(f"Which one ({', '.join(words)})", default="distinct", err=True)) not in words:
        complain([f"write one of {', '.join(words)}"])
    return words[chosen]


def model_words(
    *,
    k: int | None,
    l: float | ModelWord | None,  # noqa: E741
    t: float | None,
    others: Sequence[str | ModelWord],
) -> tuple[list[ModelWord], list[str]]:
    """Return the privacy models that the options name, and the problems with these options."""
    found: list[ModelWord] = []
    problems: list[str] = []
    if k is not None:
        found.append(ModelWord("-k", "k-anonymity", {"k": k}, "k"))
    if l is not None:
        found.append(l if isinstance(l, ModelWord) else diversity_word(l))
    if t is not None:
        found.append(ModelWord("-t", "t-closeness", {"t": t}, "t"))
    found += [one for one in others if isinstance(one, ModelWord)]
    texts = [one for one in others if not isinstance(one, ModelWord)]
    for number, text in enumerate(texts, 1):
        name, _, settings = text.partition(":")
        option = "--model" if len(texts) == 1 else f"--model (number {number})"
        found.append(ModelWord(option, name.strip(), settings_in(_SETTING.findall(settings), option, problems)))
    return found, problems


def all_names(texts: Sequence[str] | None) -> list[str]:
    """Return the names in several lists of names; empty if nothing was given."""
    return [name for text in texts or () for name in names_in(text)]


def key_named(text: str | None) -> str | list[str] | None:
    """Return the column that makes a key, or several, as a policy writes them."""
    names = names_in(text or "")
    return names if len(names) > 1 else names[0] if names else None


def _checked(mapping: Mapping[str, Any], names: Mapping[KeyPath, str], problems: Sequence[str]) -> Policy:
    try:
        policy = Policy.from_mapping(mapping, names=names)
    except PolicyError as error:
        raise PolicyError(*problems, *(_with_advice(problem) for problem in error.problems)) from None
    if problems:
        raise PolicyError(*problems)
    return policy


def _with_advice(problem: str) -> str:
    return f"{problem}; {ADVICE[problem]}" if problem in ADVICE else problem


def _update(mapping: dict[str, Any], part: str, options: Mapping[str, Any]) -> None:
    """Put settings into a part of the policy; the check reports a part of a wrong type."""
    options = {key: value for key, value in options.items() if value is not None}
    given = mapping.get(part, {})
    if options and isinstance(given, Mapping):
        mapping[part] = {**given, **options}


def say_columns(mapping: dict[str, Any], words: Words, names: dict[KeyPath, str], problems: list[str]) -> None:
    """Put what the options say about columns into a policy's plain values; problems with them are added."""
    names_by_role = {role: all_names(words.roles.get(role)) for role in ROLES}
    before = mapping.get("columns", {})
    if not isinstance(before, Mapping):
        return
    key = key_named(words.person)
    texts = {"others": words.others, "person": key}
    columns = {**before, **{name: text for name, text in texts.items() if text}}
    for role, listed in names_by_role.items():
        problems.extend(f"{ROLES[role]}: names a column twice" for _ in range(len(listed) > len(set(listed))))
    if published := all_names(words.publish):
        known = columns.get("publish", [])
        columns["publish"] = list(dict.fromkeys([*(known if isinstance(known, list) else ()), *published]))
    if words.accept is not None:
        columns["accept"] = {**_reasons(columns.get("accept")), **answers_in(words.accept, problems)}
    columns |= _moved_roles(columns, names_by_role, [key] if isinstance(key, str) else key or [])
    codes = {name: {"kind": "categorical"} for name in all_names(words.categorical)}
    problems.extend(_say_settings(columns, codes, "--categorical"))
    if words.hierarchies is not None:
        problems.extend(_say_hierarchies(columns, words.hierarchies))
    mapping["columns"] = columns
    if words.policy is None:
        names.update({("columns", role): option for role, option in ROLES.items()})
        names.update({("columns", key): f"--{key}" for key in texts})


def accept_words(typed: Sequence[str] | None, policy: Path | None) -> Sequence[str] | None:
    """Return the answers of a command line; without a policy file somebody is asked, who has given these or none."""
    return typed or (None if policy else ())


def answers_in(texts: Sequence[str], problems: list[str]) -> dict[str, str]:
    """Return the reason of each ``FINDING:COLUMN=REASON``; problems with them are added."""
    parts = [text.partition("=") for text in texts]
    if not all(all(key.partition(":")) for key, _, _ in parts):
        problems.append("--accept: write FINDING:COLUMN=REASON, such as 'spellings:disease=they are two diseases'")
    return {key.strip(): reason.strip() for key, _, reason in parts}


def _reasons(accept: object) -> dict[str, Any]:
    """Return what a policy answers; the check reports a wrong type."""
    return (
        dict(accept) if isinstance(accept, Mapping) else dict.fromkeys(accept, "") if isinstance(accept, list) else {}
    )


def _moved_roles(
    columns: Mapping[str, Any], names_by_role: Mapping[str, Sequence[str]], others: Sequence[str]
) -> dict[str, Any]:
    """Give every named column its new role; it keeps its settings."""
    named = {name for listed in (*names_by_role.values(), others) for name in listed}
    settings = {name: setting for given in _columns_by_role(columns).values() for name, setting in given.items()}
    moved: dict[str, Any] = {}
    for role, listed in names_by_role.items():
        given = columns.get(role, {} if role in ROLES_WITH_SETTINGS else [])
        if isinstance(given, Mapping):
            staying = {name: setting for name, setting in given.items() if name not in named}
            moved[role] = {**staying, **{name: settings.get(name, {}) for name in listed}}
        elif isinstance(given, list):
            moved[role] = [*(name for name in given if name not in named), *dict.fromkeys(listed)]
    return {role: given for role, given in moved.items() if given or role in columns}


def _columns_by_role(columns: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the columns with settings, by role; the check reports a role of a wrong type."""
    return {role: columns[role] for role in ROLES_WITH_SETTINGS if isinstance(columns.get(role), Mapping)}


def _say_settings(columns: dict[str, Any], own: Mapping[str, Mapping[str, Any]], option: str) -> list[str]:
    by_role = _columns_by_role(columns)
    for role, given in by_role.items():
        columns[role] = {
            name: {**settings, **own.get(name, {})} if isinstance(settings, Mapping) else settings
            for name, settings in given.items()
        }
    known = {name for given in by_role.values() for name in given}
    return [
        f"{option}: {name!r} is not a quasi-identifying or sensitive column; give it a role"
        for name in own
        if name not in known
    ]


def say_written(mapping: Mapping[str, Any], written: Mapping[str, Mapping[str, Any]], problems: list[str]) -> None:
    """Put settings of columns into a policy's plain values; problems with them are added."""
    columns = mapping.get("columns", {})
    for name, settings in written.items():
        options = ("--strays-missing" if key == "strays" else f"--{key}" for key in settings)
        problems.extend(_say_settings(columns, {name: settings}, " and ".join(options)))


def _say_hierarchies(columns: dict[str, Any], folder: Path) -> list[str]:
    by_role = _columns_by_role(columns)
    files, problems = hierarchy_files(folder, [name for given in by_role.values() for name in given])
    for role, given in by_role.items():
        columns[role] = {
            name: {**settings, "hierarchy": {"kind": "file", "path": str(files[name])}}
            if name in files and isinstance(settings, Mapping)
            else settings
            for name, settings in given.items()
        }
    return problems


def _say_models(mapping: dict[str, Any], words: Words, names: dict[KeyPath, str]) -> None:
    given = mapping.get("models", [])
    if not words.models or not isinstance(given, list):
        return
    names_of_models = {word.name for word in words.models}
    models = [entry for entry in given if not (isinstance(entry, Mapping) and entry.get("name") in names_of_models)]
    for place, word in enumerate(words.models, len(models)):
        names[("models", place)] = word.option
        if word.only_setting:  # -k 0 is a mistake of -k, not of -k.k
            names[("models", place, word.only_setting)] = word.option
        models.append({"name": word.name, **word.settings})
    mapping["models"] = models


def _say_anonymizer(mapping: dict[str, Any], words: Words, names: dict[KeyPath, str]) -> None:
    given = mapping.get("anonymizer", {})
    if words.anonymizer and isinstance(given, Mapping) and words.anonymizer != given.get("name"):
        mapping["anonymizer"] = {"name": words.anonymizer}
        names[("anonymizer", "name")] = "--anonymizer"


def _usual_anonymizer(settings: Sequence[Setting], *, former: bool) -> str:
    """Return what is meant where none is named: that of the last version in its files, and where options of it are."""
    options = {setting.path[1] for setting in settings if setting.path[0] == "anonymizer" and len(setting.path) > 1}
    return FORMER_ANONYMIZER if former or options - {"name", "strata", "blind"} else DEFAULT_ANONYMIZER


def say_former_anonymizer(policy: Policy) -> None:
    """Say what a policy file of the last version means that names no anonymizer."""
    if "anonymizer" not in policy.model_fields_set:
        complain(
            [
                f"The policy file names no anonymizer. It means {FORMER_ANONYMIZER}, as in the last version. "
                f'Write [anonymizer] name = "{DEFAULT_ANONYMIZER}" for what fits the table.'
            ]
        )


def reading_words(settings: Sequence[str | Setting], what: str) -> dict[str, dict[str, Any]]:
    """Return how a table is read that is not written as a policy says: keys of the source, and settings of columns.

    Raises ``PolicyError`` when a setting says something else; `what` completes the sentence.
    """
    problems: list[str] = []
    source: dict[str, Any] = {}
    columns: dict[str, dict[str, Any]] = {}
    for one in settings_of(settings, problems):
        one = fitting(Policy, {}, one)
        match one.path:
            case ("source", str(key)):
                source[key] = one.value
            case ("columns", str(), str(name), str(key)) if key in WRITTEN:
                columns.setdefault(name, {})[key] = one.value
            case _:
                problems.append(f"{one.typed}: {what}; set source.KEY, or how values of a column are written")
    raise_all(PolicyError, problems)
    return {"source": source, "written": columns}


def settings_in(texts: Sequence[str], option: str, problems: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs, values as TOML; mistakes are added to `problems`."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.strip():
            settings[name.strip().replace("_", "-")] = plain_value(value.strip())
        elif text.strip():
            problems.append(f"{option}: write settings as name=value")
    return settings

"""From the options of a command line to a policy. Options override a policy file."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import InputError, PolicyError
from sfumato.policy.entries import ROLES_WITH_SETTINGS, spelled_out
from sfumato.policy.file import read_policy
from sfumato.policy.mistakes import KeyPath
from sfumato.policy.policy import DEFAULT_ANONYMIZER, Policy

# Match the files of a folder with the columns whose hierarchies they hold.


def hierarchy_files(folder: Path, columns: Sequence[str]) -> tuple[dict[str, Path], list[str]]:
    """Find the CSV of each column: named after it, or ending in ``_COLUMN``.

    A file that fits several columns belongs to the longest name; one named exactly after a column takes precedence.

    Returns
    -------
    tuple of dict and list of str
        The file of each column that has one, and the problems: a column with several files, or no file for any column.

    Raises
    ------
    InputError
        When the folder cannot be listed.
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
    "insensitive": "--insensitive",
}
TOP = {
    "suppression-limit": "--suppression",
    "refine": "--refine",
    "threads": "--threads",
    "population": "--population",
    "subset": "--subset",
}
SEPARATORS = {"tab": "\t", "\\t": "\t"}
STRAYS = "--strays-missing"
ANY_MODEL = "privacy model (-k, -l, -t, --model)"
_SETTING = re.compile(r'(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]|\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\}|[^,])+')
"""One setting of several: commas inside of a text, a list or a table part nothing."""
ADVICE = {
    "--quasi: is missing": "name the columns that an attacker may know, e.g. --quasi age,sex,zip",
    f"{ANY_MODEL}: is missing": "ask for at least one, e.g. -k 5",
}
"""What to do if nothing was given; for a policy file the key says enough."""


@dataclass(frozen=True)
class ModelWord:
    """A privacy model that an option names.

    Attributes
    ----------
    option : str
        The option, for messages.
    name : str
    settings : mapping
    """

    option: str
    name: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Words:
    """What the options say about the policy; None and empty mean that they say nothing.

    Attributes
    ----------
    policy : Path or None
        Policy file to start from.
    roles : mapping
        For each role, the lists of names as they were typed.
    publish : sequence of str
        Lists of names, as they were typed, of columns that are published whatever they look like.
    others : str or None
    person, wished_k, wished_l : str or None
    kinds : mapping
        For each kind that can be declared, the lists of names as they were typed.
    hierarchies : Path or None
    models : sequence of ModelWord
    anonymizer : str or None
    options : sequence of str
        ``name=value`` for the anonymizer.
    strata : str or None
        Names of columns, its strata.
    source : mapping
        As :func:`source_words` returns it, with what is said of how all numbers and dates are written.
    written : mapping
        For each column of which something is said about how values are written: settings as a policy writes them.
    people : mapping
        What is done about people who have several records, as a policy writes it.
    top : mapping
        Keys of the policy's top level.
    format : str or None
    problems : sequence of str
        Already found in the options.
    """

    policy: Path | None = None
    roles: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    publish: Sequence[str] = ()
    others: str | None = None
    person: str | None = None
    wished_k: str | None = None
    wished_l: str | None = None
    key_form: str | None = None
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hierarchies: Path | None = None
    models: Sequence[ModelWord] = ()
    anonymizer: str | None = None
    options: Sequence[str] = ()
    strata: str | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    people: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None
    problems: Sequence[str] = ()


def policy_of(words: Words) -> Policy:
    """Make the policy that the options mean.

    Raises
    ------
    InputError
        When the policy file or the folder of hierarchies cannot be read.
    PolicyError
        With every mistake in the options and in the file.
    """
    mapping = spelled_out(read_policy(words.policy)) if words.policy else {}
    problems = list(words.problems)
    names: dict[KeyPath, str] = {} if words.policy else {("models",): ANY_MODEL}
    mapping = {**mapping, **{key: value for key, value in words.top.items() if value is not None}}
    names |= {(key,): option for key, option in TOP.items() if words.top.get(key) is not None}
    names |= {("source", key): f"--{key}" for key in words.source}
    names |= {("people", key): f"--{key}" for key, value in words.people.items() if value is not None}
    _update(mapping, "source", words.source)
    _update(mapping, "people", words.people)
    _update(mapping, "output", {"format": words.format})
    say_columns(mapping, words, names, problems)
    _say_models(mapping, words, names)
    _say_anonymizer(mapping, words, names, problems)
    return _checked(mapping, names, problems)


def columns_alone(words: Words) -> Policy:
    """Make the policy of options that name columns and how they are read, and no privacy model."""
    # A policy needs a promise; it plays no part here.
    return policy_of(words if words.policy else replace(words, models=(ModelWord("-k", "k-anonymity", {"k": 1}),)))


def source_words(
    *,
    separator: str | None,
    encoding: str | None,
    missing: Sequence[str] | None,
    header: bool,
    columns: str | None,
    table: str | None = None,
    query: str | None = None,
    sheet: str | None = None,
    range: str | None = None,
    codes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return what the options say about reading a file, as a policy writes it."""
    said = {
        "separator": SEPARATORS.get(separator, separator) if separator else separator,
        "encoding": encoding,
        "missing": list(missing) if missing else None,
        "header": None if header else False,
        "columns": names_in(columns) if columns else None,
        "table": table,
        "query": query,
        "sheet": sheet,
        "range": range,
        "codes": all_names(codes) if codes else None,
    }
    return {key: value for key, value in said.items() if value is not None}


def model_words(
    *,
    k: int | None,
    l: float | None,  # noqa: E741
    diversity: str,
    c: float | None,
    t: float | None,
    others: Sequence[str],
    k_map: int | None = None,
) -> tuple[list[ModelWord], list[str]]:
    """Return the privacy models that the options name, and the problems with these options."""
    found: list[ModelWord] = []
    problems: list[str] = []
    if k is not None:
        found.append(ModelWord("-k", "k-anonymity", {"k": k}))
    if l is not None:
        constant = {} if c is None else {"c": c}
        found.append(ModelWord("-l", f"{diversity}-l-diversity", {"l": int(l) if l.is_integer() else l, **constant}))
    elif c is not None:
        problems.append("-c: belongs to recursive l-diversity; add -l and --diversity recursive")
    if t is not None:
        found.append(ModelWord("-t", "t-closeness", {"t": t}))
    if k_map is not None:
        found.append(ModelWord("--k-map", "k-map", {"k": k_map}))
    for number, text in enumerate(others, 1):
        name, _, settings = text.partition(":")
        option = "--model" if len(others) == 1 else f"--model (number {number})"
        found.append(ModelWord(option, name.strip(), settings_in(_SETTING.findall(settings), option, problems)))
    return found, problems


def subset_words(text: str | None) -> dict[str, str] | None:
    """Return ``column=value`` as a policy writes it."""
    if text is None:
        return None
    column, equals, value = text.partition("=")
    if not equals or not column.strip():
        raise PolicyError("--subset: write it as COLUMN=VALUE")
    return {"column": column.strip(), "value": value.strip()}


def all_names(texts: Sequence[str] | None) -> list[str]:
    """Return the names in several lists of names; empty if nothing was given."""
    return [name for text in texts or () for name in names_in(text)]


def key_named(text: str | None) -> str | list[str] | None:
    """Return the column that makes a key, or several, as a policy writes them."""
    names = names_in(text or "")
    return names if len(names) > 1 else names[0] if names else None


def names_in(text: str) -> list[str]:
    """Split names at commas; a name that holds a comma is in double quotes."""
    try:
        names = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        raise PolicyError(
            "a list of names has a line break outside double quotes; put that name in double quotes"
        ) from None
    return [name.strip() for name in names if name.strip()]


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


def _update(mapping: dict[str, Any], part: str, said: Mapping[str, Any]) -> None:
    """Put settings into a part of the policy; the check reports a part of a wrong type."""
    said = {key: value for key, value in said.items() if value is not None}
    given = mapping.get(part, {})
    if said and isinstance(given, Mapping):
        mapping[part] = {**given, **said}


def say_columns(mapping: dict[str, Any], words: Words, names: dict[KeyPath, str], problems: list[str]) -> None:
    """Put what the options say about columns into a policy's plain values; problems with them are added."""
    said = {role: all_names(words.roles.get(role)) for role in ROLES}
    given = mapping.get("columns", {})
    if not isinstance(given, Mapping):
        return
    key = key_named(words.person)
    people = {"person": key, "wished-k": words.wished_k, "wished-l": words.wished_l}
    texts = {"others": words.others, **people, "key-form": words.key_form}
    columns = {**given, **{name: text for name, text in texts.items() if text}}
    for role, listed in said.items():
        problems.extend(f"{ROLES[role]}: names a column twice" for _ in range(len(listed) > len(set(listed))))
    if published := all_names(words.publish):
        known = columns.get("publish", [])
        columns["publish"] = list(dict.fromkeys([*(known if isinstance(known, list) else ()), *published]))
    named = (*([key] if isinstance(key, str) else key or ()), words.wished_k, words.wished_l)
    columns |= _moved_roles(columns, said, [name for name in named if name])
    for kind, typed in words.kinds.items():
        problems.extend(_say_settings(columns, {name: {"kind": kind} for name in all_names(typed)}, f"--{kind}"))
    for name, settings in words.written.items():
        options = (STRAYS if key == "strays" else f"--{key}" for key in settings)
        problems.extend(_say_settings(columns, {name: settings}, " and ".join(options)))
    if words.hierarchies is not None:
        problems.extend(_say_hierarchies(columns, words.hierarchies))
    mapping["columns"] = columns
    if words.policy is None:
        names.update({("columns", role): option for role, option in ROLES.items()})
        names.update({("columns", key): f"--{key}" for key in texts})


def _moved_roles(
    columns: Mapping[str, Any], said: Mapping[str, Sequence[str]], others: Sequence[str]
) -> dict[str, Any]:
    """Give every named column its new role; it keeps its settings."""
    named = {name for listed in (*said.values(), others) for name in listed}
    settings = {name: setting for given in _settled(columns).values() for name, setting in given.items()}
    moved: dict[str, Any] = {}
    for role, listed in said.items():
        given = columns.get(role, {} if role in ROLES_WITH_SETTINGS else [])
        if isinstance(given, Mapping):
            kept = {name: setting for name, setting in given.items() if name not in named}
            moved[role] = {**kept, **{name: settings.get(name, {}) for name in listed}}
        elif isinstance(given, list):
            moved[role] = [*(name for name in given if name not in named), *dict.fromkeys(listed)]
    return {role: given for role, given in moved.items() if given or role in columns}


def _settled(columns: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the columns with settings, by role; the check reports a role of a wrong type."""
    return {role: columns[role] for role in ROLES_WITH_SETTINGS if isinstance(columns.get(role), Mapping)}


def _say_settings(columns: dict[str, Any], said: Mapping[str, Mapping[str, Any]], option: str) -> list[str]:
    settled = _settled(columns)
    for role, given in settled.items():
        columns[role] = {
            name: {**settings, **said.get(name, {})} if isinstance(settings, Mapping) else settings
            for name, settings in given.items()
        }
    known = {name for given in settled.values() for name in given}
    return [
        f"{option}: {name!r} is not a quasi-identifying or sensitive column; give it a role"
        for name in said
        if name not in known
    ]


def _say_hierarchies(columns: dict[str, Any], folder: Path) -> list[str]:
    settled = _settled(columns)
    files, problems = hierarchy_files(folder, [name for given in settled.values() for name in given])
    for role, given in settled.items():
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
    said = {word.name for word in words.models}
    models = [entry for entry in given if not (isinstance(entry, Mapping) and entry.get("name") in said)]
    for place, word in enumerate(words.models, len(models)):
        names[("models", place)] = word.option
        if len(word.option) == 2:  # the option is the parameter: -k 0 is a mistake of -k, not of -k.k
            names[("models", place, word.option[1:])] = word.option
        elif word.option == "--k-map":
            names[("models", place, "k")] = word.option
        models.append({"name": word.name, **word.settings})
    mapping["models"] = models


def _say_anonymizer(mapping: dict[str, Any], words: Words, names: dict[KeyPath, str], problems: list[str]) -> None:
    given = mapping.get("anonymizer", {})
    if not isinstance(given, Mapping):
        return
    if words.anonymizer and words.anonymizer != given.get("name"):
        given = {"name": words.anonymizer}
        names[("anonymizer", "name")] = "--anonymizer"
    said = settings_in(words.options, "--set", problems)
    names.update({("anonymizer", key): f"--set {key}" for key in said})
    if words.strata is not None:
        name = given.get("name", DEFAULT_ANONYMIZER)
        known = [each[name] for each in (ANONYMIZERS, PUBLISHERS) if isinstance(name, str) and name in each]
        if known and not hasattr(known[0], "strata"):
            problems.append(f"--strata: {name} keeps none; choose a clustering, such as --anonymizer mdav")
        else:
            said["strata"] = names_in(words.strata)
            names[("anonymizer", "strata")] = "--strata"
    if said:
        given = {"name": DEFAULT_ANONYMIZER, **given, **said}
    if given:
        mapping["anonymizer"] = given


def settings_in(texts: Sequence[str], option: str, problems: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs, values as TOML; mistakes are added to `problems`."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.strip():
            settings[name.strip().replace("_", "-")] = _value(value.strip())
        elif text.strip():
            problems.append(f"{option}: write settings as name=value")
    return settings


def _value(text: str) -> Any:
    """Read a value as TOML does; anything else is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text

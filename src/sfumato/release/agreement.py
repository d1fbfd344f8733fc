"""The policy of a release as its recipient holds it, and whether ``policy.toml`` and ``release.json`` say the same.

It is parsed plainly. A :class:`~sfumato.policy.policy.Policy` knows every algorithm, and who verifies a release must
not need any.

Both are compared as plain values, as nobody needs an algorithm to verify a release.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import PolicyError, SfumatoError
from sfumato.models import MODELS
from sfumato.models.protocol import Check, Outcome
from sfumato.published import KINDS, PublishedTable
from sfumato.published.protocol import Roles, named
from sfumato.recoding import Recoding
from sfumato.release.description import (
    Description,
    Own,
    build_model,
    build_own_model,
    describe_model,
    describe_own_model,
)
from sfumato.table.schema import Kind
from sfumato.whole_files import read_regular_text

FILE = "policy.toml"


@dataclass(frozen=True)
class PublishedPolicy:
    """What a release says of how it was made."""

    text: str | None = None  # as TOML; None where the release says nothing

    @classmethod
    def of_folder(cls, folder: Path) -> PublishedPolicy:
        """Read the file of a release folder, where there is one."""
        path = folder / FILE
        return cls(read_regular_text(path, errors="replace") if path.is_file() else None)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Plain values, unchecked: anything may have been sent. ``PolicyError`` when the text is no TOML."""
        try:
            return tomllib.loads(self.text or "")
        except (tomllib.TOMLDecodeError, RecursionError):
            # Messages of the parser may quote a key, and keys of groups are values.
            raise PolicyError(f"{FILE}: is damaged; it is not valid TOML") from None

    def recoding(self) -> Recoding:
        """Return how the release was published, whatever other parts hold; ``PolicyError`` when it cannot be read."""
        damaged = PolicyError(f"{FILE}: is damaged; say how the table was published with recoding=")
        try:
            content = self.content
        except PolicyError:
            raise damaged from None
        try:
            return Recoding.from_policy(content.get("recoding", {}))
        except (AttributeError, TypeError):
            raise damaged from None

    def rows_together(self) -> bool:
        """Tell whether it says that all records of a person share one class; if it cannot be read, it does not."""
        try:
            rows = self.content.get("people", {}).get("rows", "together")
            return bool(self.content["columns"]["person"]) and bool(rows == "together")
        except (PolicyError, KeyError, TypeError, AttributeError):
            return False

    def algorithm(self) -> tuple[str, dict[str, Any]] | None:
        """Return the name of the anonymizer and its settings, as a program writes them; None where none can be read."""
        try:
            settings = dict(self.content["anonymizer"])
            return str(settings.pop("name")), {name.replace("-", "_"): value for name, value in settings.items()}
        except (PolicyError, KeyError, TypeError, ValueError):
            return None


PROMISE = f"{FILE} says what release.json says"


@dataclass(frozen=True)
class Difference:
    """A field of which the two files say different things: in words, never with a value of a table."""

    field: str
    policy: str
    release: str

    def check(self) -> Check:
        """Return it as a promise that is broken."""
        detail = f"{FILE} says {self.policy}, release.json says {self.release}: one of them was changed"
        return Check(f"{FILE} and release.json name the same {self.field}", Outcome.BROKEN, detail=detail)


def policy_checks(
    policy: PublishedPolicy, differences: Callable[[Mapping[str, Any]], Iterable[Difference]]
) -> tuple[Check, ...]:
    """Hold the policy of a release against what `differences` finds in its content."""
    if policy.text is None:
        return (Check(PROMISE, Outcome.UNDECIDABLE, detail=f"the release has no {FILE}", required=False),)
    try:
        found = tuple(differences(_spelled_once(policy.content)))
    except (SfumatoError, AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return (Check(PROMISE, Outcome.BROKEN, detail=f"{FILE} is damaged"),)
    return tuple(each.check() for each in found) or (Check(PROMISE, Outcome.HOLDS),)


def table_differences(content: Mapping[str, Any], description: Description, roles: Roles) -> Iterator[Difference]:
    """Compare the policy of tables with their description, and with the `roles` that their columns have."""
    models = [_known_model(entry) for entry in _listed(content.get("models", []))]
    # Of a model that is not the library's own a policy says no more than the name.
    bare = {model["name"] for model in models if set(model) == {"name"} and model["name"] not in MODELS}
    promised = ({"name": entry["name"]} if entry["name"] in bare else entry for entry in description.models)
    yield from model_differences(models, (_known_model(entry) for entry in promised))
    yield from _of_people(content["columns"].get("person"), description.people)
    yield from _of_pseudonyms(content.get("people", {}), description.structure.get("pseudonyms"))
    yield from _of_rows(content.get("people", {}), description)
    yield from _of_roles(content["columns"], roles, chosen=KINDS[description.kind].publishes_chosen)
    yield from _of_kinds(content["columns"].get("sensitive", {}), description)
    yield from limit_differences(content, description.suppression_limit)
    yield from _of_cells(content.get("output", {}), description)
    # The other way round a rule may have given the wishes, which stays out of the published policy.
    for role, own, key in (("wished-k", "a k", "promised"), ("wished-l", "an l", "promised_l")):
        if role in content["columns"] and key not in description.structure:
            yield Difference("wishes", f"that people have {own} of their own", "nothing of what classes promise for it")


def policy_contradictions(content: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Name every field of which two plain policies say something else: of makers and recodings what both name."""
    differing = {
        "models": _model_texts(content) != _model_texts(made),
        "columns": _role_names(content) != _role_names(made),
        "anonymizer": _differ(_taken(content.get("anonymizer", {}), made), made.get("anonymizer", {})),
        "recoding": _differ(content.get("recoding", {}), made.get("recoding", {})),
        "people": content.get("people", {}) != made.get("people", {}),
        **{name: content.get(name, 0) != made.get(name, 0) for name in ("suppression-limit", "refine")},
    }
    return [
        f"policy, {name}: not what the policy.toml of the release says; give the policy that it was made from"
        for name, is_other in differing.items()
        if is_other
    ]


def _taken(anonymizer: Mapping[str, Any], made: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what ``auto`` took, if a release was made with something that it takes."""
    used: Mapping[str, Any] = made.get("anonymizer", {})
    return used if anonymizer.get("name") == "auto" and used.get("name") in ("k-member", "mondrian") else anonymizer


def _model_texts(policy: Mapping[str, Any]) -> list[str]:
    return sorted(_as_text(_known_model(entry)) for entry in policy.get("models", []))


def _role_names(policy: Mapping[str, Any]) -> list[set[str]]:
    columns = policy.get("columns", {})
    return [set(role_names(columns.get(role, []))) for role in ("quasi-identifying", "sensitive")]


def _differ(content: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    return any(content[name] != made[name] for name in content if name in made)


def model_differences(
    policy: Iterable[Mapping[str, Any]], release: Iterable[Mapping[str, Any]]
) -> Iterator[Difference]:
    """Compare what the policy promises with what the release says."""
    models_of_policy, promised = (sorted(map(_as_text, models)) for models in (list(policy), list(release)))
    if models_of_policy != promised:
        yield Difference("models", _in_words(models_of_policy), _in_words(promised))


def _of_people(person: object, people: str | None) -> Iterator[Difference]:
    """Compare whom the promises are about: who takes people for records counts too few of them."""
    expected_unit, unit = ("records" if each is None else "people" for each in (person, people))
    if expected_unit != unit:
        yield Difference("unit that promises count", expected_unit, unit)


def _of_pseudonyms(people: Mapping[str, Any], found: Mapping[str, Any] | None) -> Iterator[Difference]:
    """Compare whether it is published who is who inside of classes, and what is promised of their values."""
    # Settings that are not said have their defaults.
    settings = {"known_values": 1, **_settings(people)}
    names = ("known_values", "fingerprint_k")
    expected = {name: settings[name] for name in names if name in settings}
    published = expected if settings.get("pseudonyms", "audit") == "published" else None
    content = None if found is None else {name: found[name] for name in names if name in found}
    if published != content:
        shown = ([] if each is None else [_as_text({"name": "published", **each})] for each in (published, content))
        yield Difference("pseudonyms", *map(_in_words, shown))


def _of_rows(people: Mapping[str, Any], description: Description) -> Iterator[Difference]:
    """Compare whether records of a person may lie in different classes, and what is promised of all of them."""
    settings = _settings(people)
    expected = settings.get("rows", "together"), settings.get("all_records_k")
    facts = description.rows, description.all_records_k
    if expected != facts:
        shown = ([_as_text({"name": rows, "all_records_k": least or 1})] for rows, least in (expected, facts))
        yield Difference("rows of people", *map(_in_words, shown))


def _of_roles(columns: Mapping[str, Any], roles: Roles, *, chosen: bool) -> Iterator[Difference]:
    """Compare roles: no published column is missing, or has another one; kinds may miss some, and insensitive too."""
    for role, found in (("quasi-identifying", roles.quasi_identifying), ("sensitive", roles.sensitive)):
        of_policy = role_names(columns.get(role, []))
        if not set(found) <= set(of_policy) or (not chosen and set(found) != set(of_policy)):
            yield Difference(f"{role} columns", named(of_policy) or "none", named(found) or "none")
    of_policy = tuple(
        dict.fromkeys([*role_names(columns.get("insensitive", [])), *role_names(columns.get("publish", []))])
    )
    if columns.get("others") != "keep" and not set(roles.unprotected) <= set(of_policy):
        yield Difference("unprotected columns", named(of_policy) or "none", named(roles.unprotected))


def _of_kinds(sensitive: Any, description: Description) -> Iterator[Difference]:
    """Compare kinds of sensitive columns where the policy says them, and hierarchies: distances depend on them."""
    settings = sensitive if isinstance(sensitive, Mapping) else {}
    for name, entry in description.sensitive.items():
        # The policy withholds what a hierarchy lists, never that there is one.
        if entry.hierarchy is not None and "hierarchy" not in settings.get(name, {}):
            yield Difference(f"hierarchy of {named([name])}", "none", "one")
        kind = settings.get(name, {}).get("kind", entry.kind)
        if kind != entry.kind:
            yield Difference(f"kind of {named([name])}", _in_words([_as_text({"name": kind})]), str(entry.kind))


def _of_cells(output: Mapping[str, Any], description: Description) -> Iterator[Difference]:
    """Compare which cells lie beside the labels, and what a ``*`` stands for there."""
    alone, facts = output.get("labels") is False, description.cells
    form, found = None if alone else output.get("cells"), None if facts is None else facts.form
    if form != found:
        shown = (named([str(each)]) if each else "none" for each in (form, found))
        yield Difference("cells beside the labels", *shown)
    elif facts is not None and _domains(output.get("domain", {})) != _domains(facts.domain):
        yield Difference("domains of cells", *(named(domain) or "none" for domain in (output["domain"], facts.domain)))


def _domains(given: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: [str(value) for value in values] for name, values in given.items()}


def limit_differences(content: Mapping[str, Any], limit: float) -> Iterator[Difference]:
    """Compare the shares of records that may be left out."""
    of_policy = float(content.get("suppression-limit", 0.0))
    if of_policy != limit:
        yield Difference("suppression limit", repr(of_policy), repr(limit))


def _known_model(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write a model in one way, with its defaults where this version knows it."""
    return _written_once(entry, build_model, describe_model)


def known_own_model(kind: type[Own], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write a model of one kind of release in one way, with its defaults where this version knows it."""
    return _written_once(entry, partial(build_own_model, kind), describe_own_model)


def _written_once(
    entry: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Any], describe: Callable[[Any], dict[str, Any]]
) -> Mapping[str, Any]:
    plain = _settings(entry)
    try:
        model = build(plain)
    except SfumatoError:
        return plain
    return plain if model is None else describe(model)


def _spelled_once(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content, or raise ValueError where a key could be there twice, spelled in two ways."""
    if any("_" in key for key in (*content, *content.get("columns", ()))):
        raise ValueError
    return content


def _settings(entry: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name.replace("-", "_"): value for name, value in entry.items() if value is not None}
    if len(settings) < sum(value is not None for value in entry.values()):
        raise ValueError
    return settings


def _as_text(model: Mapping[str, Any]) -> str:
    return json.dumps(dict(model), sort_keys=True, default=str)


def _in_words(models: Iterable[str]) -> str:
    return ", ".join(_model_in_words(json.loads(model)) for model in models) or "none"


def _model_in_words(model: Mapping[str, Any]) -> str:
    name = str(model.get("name"))
    parameters = ", ".join(f"{key}={value}" for key, value in model.items() if key != "name" and _is_short(value))
    return named([name]) + (f" ({parameters})" if parameters else "")


def _is_short(value: object) -> bool:
    if isinstance(value, list):
        return len(value) < 10 and all(map(_is_short, value))
    return isinstance(value, (int, float)) or (isinstance(value, str) and value.isprintable() and len(value) < 100)


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError
    return given


def role_names(given: Any) -> tuple[str, ...]:
    """Return the names of a role, given as a list or as a table with their settings."""
    if not isinstance(given, (list, Mapping)) or not all(isinstance(name, str) for name in given):
        raise TypeError
    return tuple(given)


DECLARED = "labels of the declared grid, nodes and groups"


def label_checks(policy: PublishedPolicy, published: object) -> tuple[Check, ...]:
    """Recount that a release with declared labels has no other ones, where its policy says that it has them.

    Intervals are one bin or two of a grid, and no value set is published but that of a column of two values. Nodes are
    not recounted: a policy may withhold its hierarchies. `published`: None where its table is not in memory.
    """
    try:
        declared = policy.recoding().labels == "declared"
        columns = policy.content.get("columns", {}).get("quasi-identifying", {}) if declared else {}
        # Columns without settings stand in a list.
        listed = columns.items() if isinstance(columns, Mapping) else ((name, {}) for name in columns)
        settings = {str(name): dict(setting) for name, setting in listed}
    except (AttributeError, SfumatoError, TypeError, ValueError):
        return ()  # what is damaged is said where both files are compared
    if not declared:
        return ()
    if not isinstance(published, PublishedTable):
        detail = "the table was not read into memory; verify it with --engine memory"
        return (Check(DECLARED, Outcome.UNDECIDABLE, detail=detail, required=False),)
    others = [name for name in published.quasi_identifying if _undeclared(published.data, name, settings.get(name, {}))]
    if others:
        return (Check(DECLARED, Outcome.BROKEN, detail=f"other labels in {named(others)}"),)
    return (Check(DECLARED, Outcome.HOLDS),)


def attack_checks(policy: PublishedPolicy) -> tuple[Check, ...]:
    """Say that nobody can recount which attacks were played before a release, where its policy says that they were."""
    asked: object = ()
    with suppress(SfumatoError):  # what is damaged is said where both files are compared
        asked = policy.content.get("withstand", ())
    if not isinstance(asked, list) or not asked:
        return ()
    words = named(str(word) for word in asked)
    detail = "attacks were played on another release by the same policy, with people that nobody else has"
    return (Check(f"withstood when played: {words}", Outcome.UNDECIDABLE, detail=detail, required=False),)


def _undeclared(data: pl.DataFrame, name: str, setting: Mapping[str, Any]) -> bool:
    """Tell whether a column without a hierarchy has a label that is no value, ``*``, or one of a grid."""
    from sfumato.recoding.choice import on_declared_grid
    from sfumato.recoding.parsing import split_set, written_ends

    labels = data[name].cast(pl.String).drop_nulls().unique()
    if "hierarchy" in setting:
        return False
    sets = [label for label in labels if label.startswith("{") and label.endswith("}")]
    if any(len(split_set(label)) > 2 for label in sets) or len(sets) > 1:
        return True
    written = labels.filter(labels.str.contains(r"^\[.+\.\..+[\])]$"))
    if not len(written):
        return False
    kind = Kind.DATE if written.str.contains(r"^\[[0-9]{4,}-[0-9]{2}-[0-9]{2}\.\.").all() else Kind.NUMERIC
    low, high, half_open = written_ends(written, kind)
    stop = high + ~half_open
    # No published policy shows a declared domain, which cuts intervals off.
    domain = (float(low.min()), float(stop.max())) if setting.get("domain-withheld") else None
    return not on_declared_grid(low, stop, kind, domain).all()

"""What a policy is while somebody still works on it: every column has a role, and "undecided" is one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError, SfumatoError
from sfumato.numbers import percent
from sfumato.policy.entries import checked
from sfumato.policy.parts import Column
from sfumato.table.person_keys import key_columns
from sfumato.table.schema import Attribute, Kind

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy

UNDECIDED, DROPPED = "undecided", "left out"
ROLES = {
    UNDECIDED: "undecided",
    "identifying": "identifying: removed",
    "quasi-identifying": "quasi-identifying: may be known",
    "sensitive": "sensitive: must stay hidden",
    "insensitive": "insensitive: published as it is",
    "person": "person: whose record it is",
    "and-person": "person: only together with the other",
    "wished-k": "wished k of the person",
    "wished-l": "wished l of the person",
    DROPPED: "left out of the release",
}
"""Role → what the page calls it. No column has a role until somebody gives it one."""

WITH_SETTINGS = ("quasi-identifying", "sensitive")
SINGLE = ("person", "wished-k", "wished-l")
_LISTS = ("identifying", "insensitive")
KEY_FORM = "key-form"
"""Setting of the column of people: which spellings of a key are one person's."""
ACCEPT = "accept"
"""Setting of a column: which findings somebody has answered, each with a reason."""


@dataclass(frozen=True)
class Draft:
    """A setup, finished or not. Values are plain, in the words of policy files."""

    # role of every column of the table; the order of the quasi-identifying ones is theirs in the policy
    roles: Mapping[str, str]
    # kind, hierarchy, domain and weight of columns, as a policy writes them; kept when a role changes
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    # At which level class sizes look at a column. A preview: it decides nothing that is published.
    levels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    rest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))  # all other parts of the policy

    @classmethod
    def of_columns(cls, names: Iterable[str], source: Mapping[str, Any] | None = None) -> Draft:
        """Return the draft in which nothing is decided."""
        rest = {"anonymizer": {"name": "auto"}, **({"source": dict(source)} if source else {})}
        return cls(dict.fromkeys(names, UNDECIDED), rest=rest)

    @classmethod
    def of_policy(cls, policy: Policy, names: Sequence[str]) -> Draft:
        """Return the draft of a policy for some columns; ``PolicyError`` names those of the policy that are absent."""
        mapping = policy.to_mapping()
        columns = dict(mapping.pop("columns"))
        roles, settings = _roles_of(columns)
        strange = [name for name in roles if name not in names]
        if strange:
            raise PolicyError(*(f"column {name!r} of the policy is not in this table" for name in strange))
        unnamed = {"drop": DROPPED, "keep": "insensitive"}.get(columns.get("others", "error"), UNDECIDED)
        return cls({**roles, **{name: unnamed for name in names if name not in roles}}, settings, {}, mapping)

    @property
    def anonymizer(self) -> Mapping[str, Any]:
        """The method, as a policy writes it; drafts of the last version that name none mean mondrian."""
        found: Mapping[str, Any] = self.rest.get("anonymizer", {"name": "mondrian"})
        return found

    @property
    def undecided(self) -> list[str]:
        """Columns without a role."""
        return [name for name, role in self.roles.items() if role == UNDECIDED]

    @property
    def key_form(self) -> str | None:
        """What was answered about the spellings of keys."""
        answers = (self.settings.get(name, {}).get(KEY_FORM) for name in self.key_columns)
        return next(filter(None, answers), None)

    @property
    def key_columns(self) -> list[str]:
        """Columns that say together who a record is about."""
        return [*self.of_role("person"), *self.of_role("and-person")]

    @property
    def accepted(self) -> dict[str, str]:
        """The findings that somebody has answered, as a policy names them, each with a reason."""
        return {
            f"{finding}:{name}": reason
            for name, its in self.settings.items()
            for finding, reason in its.get(ACCEPT, {}).items()
        }

    def of_role(self, role: str) -> list[str]:
        """Columns of one role."""
        return [name for name, its in self.roles.items() if its == role]

    def with_role(self, column: str, role: str) -> Draft:
        """Return the draft with another role; a person and wishes are in one column at most."""
        self._check(column)
        if role not in ROLES:
            raise PolicyError("role: is none of the roles")
        freed = dict.fromkeys(self.of_role(role), UNDECIDED) if role in SINGLE else {}
        return replace(self, roles={**self.roles, **freed, column: role})

    def with_roles(self, roles: Mapping[str, str]) -> Draft:
        """Return the draft with other roles of several columns."""
        draft = self
        for name, role in roles.items():
            draft = draft.with_role(name, role)
        return draft

    def with_proposal(self, other: Draft) -> Draft:
        """Return the draft with what another says of undecided columns; promises and marks only where none stand."""
        names = self.undecided
        settings = {
            name: other.settings[name] for name in names if name in other.settings and name not in self.settings
        }
        draft = replace(
            self.with_roles({name: other.roles[name] for name in names}), settings={**self.settings, **settings}
        )
        for key in ("models", "source"):
            if other.rest.get(key) and not (key == "models" and draft.rest.get(key)):
                draft = draft.with_rest(key, other.rest[key])
        return draft

    def with_setting(self, column: str, key: str, value: Any) -> Draft:
        """Return the draft with one setting of a column; None takes it away. Another kind takes the hierarchy away."""
        self._check(column)
        others = {name: its for name, its in self.settings.get(column, {}).items() if name != key}
        if key == "kind":
            others.pop("hierarchy", None)
        changed = others if value is None else {**others, key: value}
        levels = {name: level for name, level in self.levels.items() if name != column or key == "weight"}
        return replace(self, settings={**self.settings, column: changed}, levels=levels)

    def with_answer(self, column: str, finding: str) -> Draft:
        """Return the draft in which a finding in a column is answered, or is open again if it was."""
        answers = dict(self.settings.get(column, {}).get(ACCEPT, {}))
        if answers.pop(finding, None) is None:
            answers[finding] = "answered in the studio"
        return self.with_setting(column, ACCEPT, answers or None)

    def with_level(self, column: str, level: int) -> Draft:
        """Return the draft that looks at a column at another level."""
        self._check(column)
        return replace(self, levels={**self.levels, column: level})

    def with_rest(self, key: str, value: Any) -> Draft:
        """Return the draft with another part of the policy; None takes it away."""
        others = {name: its for name, its in self.rest.items() if name != key}
        return replace(self, rest=others if value is None else {**others, key: value})

    def with_names(self, names: Sequence[str]) -> Draft:
        """Return the draft for a table with other columns: those that stay keep their role, new ones have none."""
        roles = {name: self.roles.get(name, UNDECIDED) for name in names}
        settings = {name: its for name, its in self.settings.items() if name in roles}
        levels = {name: its for name, its in self.levels.items() if name in roles}
        return replace(self, roles=roles, settings=settings, levels=levels)

    def mapping(self) -> dict[str, Any]:
        """Return the policy's plain values, whether or not they make one."""
        columns: dict[str, Any] = {role: names for role in _LISTS if (names := self.of_role(role))}
        for role in WITH_SETTINGS:
            columns[role] = {name: self._of_values(name) for name in self.of_role(role)}
        for role in SINGLE:
            columns |= dict(zip((role,), self.of_role(role), strict=False))
        if self.of_role("and-person"):
            columns["person"] = self.key_columns
        if self.key_form is not None:
            columns[KEY_FORM] = self.key_form
        columns[ACCEPT] = self.accepted
        columns["others"] = "drop" if self.of_role(DROPPED) else "error"
        return {**self.rest, "anonymizer": self.anonymizer, "columns": columns}

    def policy(self) -> Policy:
        """Return the policy; PolicyError with every undecided column, missing part or contradiction."""
        if self.undecided:
            names = ", ".join(map(repr, self.undecided))
            raise PolicyError(f"{len(self.undecided)} column(s) are undecided: {names}; give each a role")
        # Here: it loads every model and anonymizer, and the first page needs none.
        from sfumato.policy.policy import Policy

        return Policy.from_mapping(self.mapping())

    def problems(self) -> list[str]:
        """Say what keeps the draft from being a policy."""
        try:
            self.policy()
        except SfumatoError as error:
            return list(error.problems)
        return []

    def attribute(self, column: str) -> Attribute:
        """Return a column's settings as a schema takes them, hierarchies read; ``SfumatoError`` if they are at odds."""
        return checked(Column, self._of_values(column)).to_attribute()

    def reading(self, column: str) -> Attribute:
        """Return how the values of a column are read, whatever its hierarchy: its kind, and what was said of them."""
        said = {
            key: its for key, its in self._of_values(column).items() if key not in ("hierarchy", "domain", "weight")
        }
        ordered = {"kind": "categorical"} if said.get("kind") == "ordered" else {}
        return checked(Column, {**said, **ordered}).to_attribute()

    def kind(self, column: str) -> Kind | None:
        """Return the declared kind of a column."""
        kind = self.settings.get(column, {}).get("kind")
        return None if kind is None else Kind(kind)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for TOML."""
        return {
            "roles": dict(self.roles),
            "settings": {name: dict(its) for name, its in self.settings.items() if its},
            "levels": dict(self.levels),
            "rest": dict(self.rest),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Draft:
        """Return the draft that :meth:`to_dict` wrote."""
        return cls(content["roles"], content.get("settings", {}), content.get("levels", {}), content.get("rest", {}))

    def _of_values(self, column: str) -> dict[str, Any]:
        """Return the settings of a column that are about its values."""
        return {key: value for key, value in self.settings.get(column, {}).items() if key not in (KEY_FORM, ACCEPT)}

    def _check(self, column: str) -> None:
        if column not in self.roles:
            raise PolicyError("column: is not in the table")


def _roles_of(columns: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Mapping[str, Any]]]:
    roles: dict[str, str] = {}
    settings: dict[str, Mapping[str, Any]] = {}
    for role in (*WITH_SETTINGS, *_LISTS, *SINGLE):
        named = columns.get(role) or ()
        if isinstance(named, Mapping):
            settings |= {name: its for name, its in named.items() if its}
        roles |= dict.fromkeys([named] if isinstance(named, str) else named, role)
    first, *others = key_columns(columns.get("person")) or (None,)
    roles |= dict.fromkeys(others, "and-person")
    if columns.get(KEY_FORM) and first:
        settings[first] = {KEY_FORM: columns[KEY_FORM]}
    accept = columns.get(ACCEPT) or {}
    for key in accept:
        finding, _, name = key.partition(":")
        of_column = settings.get(name, {})
        reason = (accept[key] if isinstance(accept, Mapping) else "") or "the policy says so"
        settings[name] = {**of_column, ACCEPT: {**of_column.get(ACCEPT, {}), finding: reason}}
    return roles, settings


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
# Settings of the source whose names say too little, and what the pages call them.
_READ = {
    "separator": "between fields",
    "encoding": "letters",
    "quote": "around fields",
    "header": "first row",
    "strip": "blanks around fields",
    "missing": "missing values",
    "hidden": "hidden rows and columns",
    "decimal": "before fractions",
    "thousands": "between thousands",
}
_USUAL = {"separator": ",", "header": True, "strip": True, "encoding": "utf-8", "quote": '"', "missing": ""}
_MARKS = {**SEPARATORS, ".": "point", "'": "apostrophe", " ": "blank", "": "nothing"}
# Settings of the source whose names say too little, and what the pages call them.
_AS_READ = {"keep": "are kept", "drop": "are left out", "False": "are kept", **_MARKS}
OF_VALUES = {
    "decimal": "“{}” stands before fractions",
    "thousands": "“{}” stands between thousands",
    "dates": "dates are written {}",
    "unit": "{} is the unit",
    "missing": "“{}” is a missing value",
}
# What the history says of a setting of a column; no value but marks is shown.
_OF_COLUMN = {
    **OF_VALUES,
    "domain": "a range or an order is given",
    "strays": "what does not fit counts as missing",
    KEY_FORM: "keys that differ in spelling: {}",
    ACCEPT: "published although this was found: {}",
}
_OF_POLICY = {"models": "promises", "anonymizer": "method", "suppression-limit": "records that may be left out"}


def read_as(source: Mapping[str, Any]) -> dict[str, str]:
    """Say how a table is read, as far as that is not as usual: what a setting is called, and what it is."""
    found = {}
    for key, value in source.items():
        shown = ", ".join(filter(None, value)) if isinstance(value, (list, tuple)) else value
        if key != "columns" and shown is not None and shown != _USUAL.get(key):
            words = "is a record" if key == "header" else _AS_READ.get(str(shown), str(shown))
            found[_READ.get(key, key.replace("-", " "))] = words
    return found


def in_words(before: Draft, after: Draft) -> str:
    """Say what changed from one draft to another, for the history; no value of the table is shown."""
    changes = [f"{name}: {its}" for name, its in after.roles.items() if before.roles.get(name, UNDECIDED) != its]
    for name in dict.fromkeys([*before.settings, *after.settings]):
        differences = _changed(before.settings.get(name, {}), after.settings.get(name, {}))
        changes += [f"{name}: {of_column(key, its)}" for key, its in differences.items()]
    for name, level in after.levels.items():
        if before.levels.get(name, 0) != level:
            changes.append(f"look at {name} on level {level}")
    sources = (read_as(draft.rest.get("source", {})) for draft in (before, after))
    changes += [f"{name}: {its or 'as usual'}" for name, its in _changed(*sources).items()]
    for key, its in _changed(before.rest, after.rest).items():
        shown = percent(its, 3) if key == "suppression-limit" and its else _word(its)
        changes += [f"{_OF_POLICY.get(key, key.replace('-', ' '))}: {shown}"] if key != "source" else []
    return "; ".join(changes) or "no change"


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands now under each key whose value changed; None where nothing does."""
    return {key: after.get(key) for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)}


def of_column(key: str, value: Any) -> str:
    """Say what a setting of a column means."""
    if value is None:
        return f"{'answer' if key == ACCEPT else key.replace('-', ' ')} taken away"
    if key == KEY_FORM:
        value = "the same person" if value == "fold" else "different people"
    shown = ", ".join(value) if key == ACCEPT else _word(value)
    return _OF_COLUMN.get(key, f"{key.replace('-', ' ')} {{}}").format(shown)


_UNTOLD = ("name", "kind", "rows", "groups", "path", "values")
"""Keys of entries that name them, or hold values of the table or places on the disk."""


def _word(value: Any) -> str:
    if value is None or value == []:
        return "taken away"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        name = str(value.get("name", value.get("kind", "")))
        words = [f"{key.replace('-', ' ')} {_word(its)}" for key, its in value.items() if key not in _UNTOLD]
        return f"{name} ({', '.join(words)})" if name and words else name or ", ".join(words) or "changed"
    return ", ".join(map(_word, value)) if isinstance(value, (list, tuple)) else str(value)

"""Entries of a policy: one pydantic model for every value that can be described, made from its dataclass.

So policies know a new privacy model, anonymizer or hierarchy as soon as it is in the dictionary of its folder.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, time
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_type_hints

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.hierarchy import HIERARCHY_KINDS, HierarchySpecification
from sfumato.policy.mistakes import BUILT, KeyPath, Mistake, mistakes_of, spell
from sfumato.registry import Registry, changes
from sfumato.table.databases.address import is_database


def hyphenated(name: str) -> str:
    """Write a Python name as policies do, with hyphens."""
    return name.replace("_", "-")


class PolicyPart(BaseModel):
    """A part of a policy: frozen, strict, and without unknown keys."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=hyphenated,
        allow_inf_nan=False,
        validate_default=False,
    )

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys as a policy writes them."""
        return [hyphenated(name) for name in cls.model_fields]


_SETTLED = (str, int, float, tuple)
PartType = TypeVar("PartType", bound=PolicyPart)


@dataclasses.dataclass(frozen=True)
class AlsoWritten:
    """Annotation: files may also write this value in a short form, which is expanded before it is checked."""

    short: str
    items: str | None = None

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Allow both forms in the JSON Schema."""
        short = {"type": self.short} if self.items is None else {"type": self.short, "items": {"type": self.items}}
        # The long form comes first, because places of mistakes are looked up in it.
        return {"anyOf": [handler(core), short]}


class Entry(PolicyPart):
    """Settings of one described value; valid exactly when the value can be built."""

    described: ClassVar[type[Any]]

    def build(self) -> Any:
        """Return the described value."""
        return self.described(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self.described)})

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        with problems_reported(self.keys()):
            built = self.build()
            # A value may fill in what was left open and normalize numbers; equal values have equal entries.
            self.__dict__.update({name: value for name, value in vars(built).items() if isinstance(value, _SETTLED)})
        return self


class ForeignEntry(PolicyPart):
    """A value from outside the library: a policy carries it; its text only names it, or describes a namesake."""

    model_config = ConfigDict(extra="allow")

    name: str
    _value: Any = PrivateAttr(default=None)

    @classmethod
    def of(cls, value: Any, *, is_known: bool) -> Self:
        """Carry a value; `is_known`: the library has another value of the same name."""
        parameters = value.parameters() if is_known and hasattr(value, "parameters") else {}
        settings = {hyphenated(name): setting for name, setting in parameters.items() if setting is not None}
        entry = cls.model_validate_json(as_json({"name": value.name, **settings}))
        entry._value = value
        return entry

    def build(self) -> Any:
        """Return the value, or refuse if only the name is known."""
        if self._value is None:
            raise PolicyError(f"{self.name}: is not part of this library; pass it in a program")
        return self._value


def checked(
    part: type[PartType],
    mapping: Mapping[str, Any],
    *,
    names: Mapping[KeyPath, str] | None = None,
    mistakes: Sequence[Mistake] = (),
) -> PartType:
    """Make a part of plain values, in their long form, or raise with every mistake, those found before among them."""
    found = list(mistakes)
    try:
        made = part.model_validate_json(as_json(mapping))
    except ValidationError as error:
        found = [*mistakes_of(error, json_schema(part)), *found]
    except (TypeError, RecursionError):
        found = [Mistake((), "may only hold text, numbers, dates, true, false, lists and tables")]
    raise_mistakes(found, names)
    return made


def raise_mistakes(mistakes: Iterable[Mistake], names: Mapping[KeyPath, str] | None = None) -> None:
    """Raise PolicyError with all `mistakes`, or return when there is none."""
    raise_all(PolicyError, (f"{spell(mistake.path, names) or 'policy'}: {mistake.text}" for mistake in mistakes))


def json_schema(part: type[PolicyPart]) -> dict[str, Any]:
    """Return the JSON Schema of a part."""
    return _json_schema(part, changes())


@cache
def _json_schema(part: type[PolicyPart], _: int) -> dict[str, Any]:
    return part.model_json_schema(by_alias=True)


@contextmanager
def problems_reported(keys: Sequence[str]) -> Iterator[None]:
    """Pass the problems that a value finds in itself to pydantic, at one of the `keys` that they start with."""
    try:
        yield
    except SfumatoError as error:
        context = {"problems": error.problems, "keys": list(keys)}
        raise PydanticCustomError(BUILT, "cannot be built", context) from None


@contextmanager
def describing(what: str) -> Iterator[None]:
    """Raise PolicyError if arguments of a call hold something that no policy can hold, without showing it."""
    try:
        yield
    except (TypeError, ValueError, RecursionError):
        # Errors of pydantic are ValueErrors, and their messages show the values.
        raise PolicyError(
            f"{what}: cannot be written as a policy; settings may hold text, finite numbers, dates, true, false, "
            "lists and tables"
        ) from None


def entry_for(
    described: type[Any], *, tag: str | None = None, name: str = "", short: Mapping[str, AlsoWritten] | None = None
) -> type[Entry]:
    """Make the entry of a dataclass, its key `tag` being `name` among several; `short` fields may be short in files."""
    hints = get_type_hints(described, include_extras=True)
    hints |= {field: Annotated[hints[field], form] for field, form in (short or {}).items()}
    tagged: dict[str, Any] = {tag: (Literal[name], ...)} if tag else {}
    options: dict[str, Any] = {
        field.name: (hints[field.name], _default(field)) for field in dataclasses.fields(described) if field.init
    }
    entry = create_model(described.__name__, __base__=Entry, __doc__=described.__doc__, **tagged, **options)
    entry.described = described
    return entry


class LazyEntries(Mapping[str, type[Any]]):
    """Entries that are made when they are named, and a type for fields of a policy.

    Described are values, or parts of a policy that are their own entry; `short` names, for some, the fields that files
    may write in a short form. As an annotation it stands for any of its entries, distinguished by the key `tag`: only
    the named entry is made and checked. If that fails, and for the JSON Schema, all are made, so that messages can list
    them.
    """

    def __init__(
        self,
        described: Mapping[str, type[Any]],
        *,
        tag: str,
        short: Mapping[str, Mapping[str, AlsoWritten]] | None = None,
    ) -> None:
        self._described = described
        self._tag = tag
        self._short = short or {}
        self._made: dict[str, type[Any]] = {}
        self._union: tuple[int, TypeAdapter[PolicyPart]] | None = None

    __hash__ = object.__hash__  # annotations have one

    def __getitem__(self, name: str) -> type[Any]:
        described = self._described[name]
        if getattr(self._made.get(name), "described", None) is not described:
            is_made = isinstance(described, type) and issubclass(described, PolicyPart)
            self._made[name] = (
                described if is_made else entry_for(described, tag=self._tag, name=name, short=self._short.get(name))
            )
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._described

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Check with the function below."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe all entries."""
        return handler(self._any_of_them.core_schema)

    def _checked(self, value: Any) -> PolicyPart:
        if isinstance(value, PolicyPart):
            return value
        name = value.get(self._tag) if isinstance(value, Mapping) else None
        if isinstance(name, str) and name in self:
            with suppress(ValidationError):
                entry: PolicyPart = self[name].model_validate_json(as_json(value))
                return entry
        return self._any_of_them.validate_json(as_json(value))

    @property
    def _any_of_them(self) -> TypeAdapter[PolicyPart]:
        if self._union is None or self._union[0] != changes():
            self._union = changes(), TypeAdapter(_union_of(dict(self), tag=self._tag))
        return self._union[1]


def _union_of(entries: Mapping[str, type[PolicyPart]], *, tag: str) -> Any:
    """Return the type of a part that may be any of `entries`, distinguished by its key `tag`."""
    if len(entries) == 1:
        return next(iter(entries.values()))
    return Annotated[Union[tuple(entries.values())], Field(discriminator=tag)]  # noqa: UP007 - built at run time


def entry_of(value: Any, entries: Mapping[str, type[Any]]) -> PolicyPart:
    """Return the entry that describes `value`, which has a name; one of `entries` or :class:`ForeignEntry`."""
    entry = entries.get(value.name)
    if entry is None or entry.described is not type(value):
        return ForeignEntry.of(value, is_known=entry is not None)
    entry_of_value: PolicyPart = entry.model_validate_json(as_json({"name": value.name, **described_as_mapping(value)}))
    return entry_of_value


def described_as_mapping(value: Any) -> dict[str, Any]:
    """Write a described value as plain values, without the settings that are None."""
    settings = {hyphenated(field.name): getattr(value, field.name) for field in dataclasses.fields(value)}
    return {key: setting for key, setting in settings.items() if setting is not None}


def as_json(mapping: Mapping[str, Any]) -> str:
    """Write plain values as JSON, for which strict means what it does for TOML: lists may be tuples, text no number.

    Raises ``TypeError`` for values that TOML does not have.
    """
    return json.dumps(mapping, default=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return Field(default_factory=field.default_factory)
    return ...


# Hierarchies in a policy: one entry for every kind, and which of them a release may show.


_RULES = ("intervals", "prefixes", "dates", "flat")
"""Kinds that are rules; every other kind lists original values."""

ROLES_WITH_SETTINGS = ("quasi-identifying", "sensitive")

_Rows = Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]


class TableHierarchy(PolicyPart):
    """A hierarchy row by row.

    Attributes
    ----------
    rows
        Each with an original value first, then ever coarser labels.
    """

    kind: Literal["table"]
    rows: _Rows

    @model_validator(mode="after")
    def _is_a_hierarchy(self) -> Self:
        with problems_reported(self.keys()):
            self.build()
        return self

    def build(self) -> HierarchySpecification:
        """Return the description of the hierarchy."""
        from sfumato.hierarchy.draft import hierarchy_from_policy

        return hierarchy_from_policy(self.model_dump())


class FileHierarchy(PolicyPart):
    """A hierarchy in a file of separated text.

    Attributes
    ----------
    path
        Where the file is.
    separator
        The character between its fields; guessed unless given.
    """

    kind: Literal["file"]
    path: Annotated[str, Field(min_length=1)]
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = None

    def build(self) -> HierarchySpecification:
        """Read the file."""
        from sfumato.hierarchy.draft import hierarchy_from_policy

        return hierarchy_from_policy(self.model_dump())


class WithheldHierarchy(PolicyPart):
    """What a published policy says about a hierarchy that lists original values: that there was one, and its kind.

    Attributes
    ----------
    was
        Its kind.
    """

    kind: Literal["withheld"]
    was: str | None = None

    def build(self) -> HierarchySpecification:
        """Refuse; there is nothing to build it from."""
        raise PolicyError("hierarchy was withheld from the published policy; give it again")


_PARTS = {"table": TableHierarchy, "file": FileHierarchy, "withheld": WithheldHierarchy}
_KINDS = LazyEntries(
    Registry({**{kind: built for kind, built in HIERARCHY_KINDS.unloaded().items() if kind not in _PARTS}, **_PARTS}),
    tag="kind",
    short={"intervals": {"borders": AlsoWritten("array", "number")}},
)
HierarchyEntry: Any = Annotated[Any, _KINDS, AlsoWritten("string")]
"""Type of a hierarchy in a policy: a table with its ``kind``, or the path of a file."""


def described_hierarchy(hierarchy: HierarchySpecification) -> dict[str, Any]:
    """Write the description of a hierarchy as plain values; a kind that this library does not know is withheld."""
    described = dict(hierarchy.to_policy())
    return described if described.get("kind") in HIERARCHY_KINDS else {"kind": "withheld"}


def lists_values(entry: Any) -> bool:
    """Tell whether a hierarchy is more than a rule, so that a release may not show it."""
    return entry.kind not in _RULES


def published_hierarchy(entry: Any) -> Any:
    """Return what a release says about a hierarchy: a rule unchanged, of any other only that it existed."""
    if entry is None or entry.kind == "withheld" or not lists_values(entry):
        return entry
    return WithheldHierarchy(kind="withheld", was=entry.kind)


def moved_files(mapping: Mapping[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    """Return a policy's plain values with `move` applied to each path that it names; a wrong type stays."""
    moved = _with_hierarchies(mapping, lambda hierarchy: _moved(hierarchy, move))
    for part, key in (("source", "query"), ("sensitive", "file")):
        content = moved.get(part)
        if isinstance(content, Mapping) and isinstance(content.get(key), str):
            moved[part] = {**content, key: move(content[key])}
    people = moved.get("population")
    if not isinstance(people, str) or not people or is_database(people):
        return moved
    return {**moved, "population": move(people)}


def spelled_out(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy's plain values without short forms: of lists of columns, hierarchies, borders of intervals."""
    columns = mapping.get("columns")
    if not isinstance(columns, Mapping):
        return _with_hierarchies(mapping, _as_table)
    settings = {role: _with_settings(columns[role]) for role in ROLES_WITH_SETTINGS if role in columns}
    return _with_hierarchies({**mapping, "columns": {**columns, **settings}}, _as_table)


def _with_settings(given: Any) -> Any:
    if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        return {name: {} for name in given}
    return given


def _as_table(hierarchy: Any) -> Any:
    if isinstance(hierarchy, str):
        return {"kind": "file", "path": hierarchy}
    if isinstance(hierarchy, Mapping) and hierarchy.get("kind") == "intervals" and _is_flat(hierarchy.get("borders")):
        return {**hierarchy, "borders": [hierarchy["borders"]]}
    return hierarchy


def _is_flat(borders: Any) -> bool:
    return isinstance(borders, (list, tuple)) and any(isinstance(border, (int, float)) for border in borders)


def _moved(hierarchy: Any, move: Callable[[str], str]) -> Any:
    if isinstance(hierarchy, str):
        return move(hierarchy)
    if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("path"), str):
        return {**hierarchy, "path": move(hierarchy["path"])}
    return hierarchy


def _with_hierarchies(mapping: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    # Of columns each may have one; kinds of their own, such as sets and traces, have one for all.
    changed = {
        name: {**part, "hierarchy": change(part["hierarchy"])}
        if isinstance(part, Mapping) and "hierarchy" in part and name != "columns"
        else part
        for name, part in mapping.items()
    }
    if isinstance(columns := mapping.get("columns"), Mapping):
        changed["columns"] = {role: _in_role(given, change) for role, given in columns.items()}
    return changed


def _in_role(given: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(given, Mapping):
        return given
    return {
        name: {**settings, "hierarchy": change(settings["hierarchy"])}
        if isinstance(settings, Mapping) and "hierarchy" in settings
        else settings
        for name, settings in given.items()
    }

"""Compare the columns of a policy with those that a table was read with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.policy.entries import as_json, described_as_mapping, described_hierarchy, describing, lists_values
from sfumato.policy.parts import Column, Columns
from sfumato.table.person_keys import key_columns
from sfumato.table.schema import Attribute, Schema

_ADVICE = "read the table with sfumato.read_table(source, policy)"


def policy_columns(schema: Schema) -> Columns:
    """Describe the roles and settings of a schema; ``PolicyError`` when it has settings that no policy can hold."""
    columns = {
        "identifying": schema.identifying,
        "quasi-identifying": _described(schema.quasi_identifying),
        "sensitive": _described(schema.sensitive),
        "insensitive": schema.insensitive,
        "others": schema.others,
        "person": schema.person,
        "wished-k": schema.wished_k,
        "wished-l": schema.wished_l,
        "publish": schema.publish,
        "key-form": schema.key_form,
        "accept": schema.accept,
    }
    with describing("columns"):
        return Columns.model_validate_json(as_json(columns))


def column_contradictions(columns: Columns, schema: Schema) -> Iterator[str]:
    """Name every role and setting that differs between a policy and a table; the order of columns counts."""
    read = policy_columns(schema)
    for role, found in (("quasi_identifying", read.quasi_identifying), ("sensitive", read.sensitive)):
        named: Mapping[str, Column] = getattr(columns, role)
        if list(named) != list(found) and (role == "quasi_identifying" or set(named) != set(found)):
            yield _other_names(role, list(named), list(found))
        yield from (
            f"columns.{role.replace('_', '-')}, column {name!r}: the policy has other settings than those that the "
            f"table was read with; {_ADVICE}"
            for name in named
            if name in found and not _alike(named[name], found[name])
        )
    for role in ("person", "wished_k", "wished_l", "key_form"):
        here, there = getattr(columns, role), getattr(read, role)
        if here != there:
            yield _other_names(role, *(list(key_columns(name)) for name in (here, there)))
    if set(columns.publish) != set(read.publish):
        yield _other_names("publish", list(columns.publish), list(read.publish))
    known, kept = set(columns.unprotected), set(read.insensitive)
    if not (known <= kept if columns.others == "keep" else known == kept):
        yield _other_names("insensitive", list(columns.insensitive), list(read.insensitive))


def _described(attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    return {
        name: {
            **described_as_mapping(attribute),
            **({"hierarchy": described_hierarchy(attribute.hierarchy)} if attribute.hierarchy else {}),
        }
        for name, attribute in attributes.items()
    }


def _other_names(role: str, in_policy: list[str], read: list[str]) -> str:
    policy, table = (", ".join(map(repr, names)) or "none" for names in (in_policy, read))
    return f"columns.{role.replace('_', '-')}: the policy names {policy}, the table was read with {table}; {_ADVICE}"


def _alike(column: Column, read: Column) -> bool:
    """Tell whether a column was read as a policy says; settings that were withheld do not count."""
    settings = [(each.kind, each.weight, each.spellings, each.written()) for each in (column, read)]
    if settings[0] != settings[1]:
        return False
    if column.domain != read.domain and not (column.domain_withheld and read.domain is not None):
        return False
    return column.hierarchy == read.hierarchy or _same_values(column.hierarchy, read.hierarchy)


def _same_values(value: Any, read: Any) -> bool:
    """Compare two hierarchies that list values; either may be in a file."""
    if value is None or read is None or not (lists_values(value) and lists_values(read)):
        return False
    try:
        return value.kind == "withheld" or bool(value.build() == read.build())
    except SfumatoError:
        return False

"""Compare the columns of a policy with those that a table was read with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.policy.entries import as_json, described_as_mapping, described_hierarchy, describing, lists_values
from sfumato.policy.parts import Column, Columns
from sfumato.table.schema import Attribute, Schema

_ADVICE = "read the table with sfumato.read_table(source, policy)"


def policy_columns(schema: Schema) -> Columns:
    """Describe the roles and settings of a schema.

    Raises ``PolicyError`` when it has settings that no policy can hold.
    """
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
    }
    with describing("columns"):
        return Columns.model_validate_json(as_json(columns))


def column_contradictions(said: Columns, schema: Schema) -> Iterator[str]:
    """Name every role and every column's settings that differ between a policy and the table that was read.

    The order of quasi-identifying columns counts, as it breaks ties. Columns that were not read make no difference.
    """
    read = policy_columns(schema)
    for role, found in (("quasi_identifying", read.quasi_identifying), ("sensitive", read.sensitive)):
        named: Mapping[str, Column] = getattr(said, role)
        if list(named) != list(found) and (role == "quasi_identifying" or set(named) != set(found)):
            yield _other_names(role, list(named), list(found))
        yield from (
            f"columns.{role.replace('_', '-')}, column {name!r}: the policy has other settings than those that the "
            f"table was read with; {_ADVICE}"
            for name in named
            if name in found and not _alike(named[name], found[name])
        )
    for role in ("person", "wished_k", "wished_l", "key_form"):
        here, there = getattr(said, role), getattr(read, role)
        if here != there:
            yield _other_names(role, *([name] if name else [] for name in (here, there)))
    if set(said.publish) != set(read.publish):
        yield _other_names("publish", list(said.publish), list(read.publish))
    known, kept = set(said.unprotected), set(read.insensitive)
    if not (known <= kept if said.others == "keep" else known == kept):
        yield _other_names("insensitive", list(said.insensitive), list(read.insensitive))


def _described(attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    return {
        name: {
            **described_as_mapping(attribute),
            **({"hierarchy": described_hierarchy(attribute.hierarchy)} if attribute.hierarchy else {}),
        }
        for name, attribute in attributes.items()
    }


def _other_names(role: str, said: list[str], read: list[str]) -> str:
    policy, table = (", ".join(map(repr, names)) or "none" for names in (said, read))
    return f"columns.{role.replace('_', '-')}: the policy names {policy}, the table was read with {table}; {_ADVICE}"


def _alike(said: Column, read: Column) -> bool:
    """Tell whether a column was read as a policy says; settings that were withheld do not count."""
    if (said.kind, said.weight, said.written()) != (read.kind, read.weight, read.written()):
        return False
    if said.domain != read.domain and not (said.domain_withheld and read.domain is not None):
        return False
    return said.hierarchy == read.hierarchy or _same_values(said.hierarchy, read.hierarchy)


def _same_values(said: Any, read: Any) -> bool:
    """Compare two hierarchies that list values; either may be in a file."""
    if said is None or read is None or not (lists_values(said) and lists_values(read)):
        return False
    try:
        return said.kind == "withheld" or bool(said.build() == read.build())
    except SfumatoError:
        return False

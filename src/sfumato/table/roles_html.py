"""The roles of columns as a notebook shows them: what is declared of each, and no value."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.notebook import Markup, notebook_table, paragraph
from sfumato.table.schema import Attribute, Kind, Schema

OTHERS = {
    "error": "A column without a role is an error.",
    "drop": "Columns without a role are dropped.",
    "keep": "Columns without a role are published unchanged.",
}


def roles_table(schema: Schema, kinds: Mapping[str, Kind] | None = None) -> Markup:
    """Return a table of all columns that have a role.

    Parameters
    ----------
    schema
    kinds
        As they were read off the columns, where there is a table; else those that the schema declares.
    """
    settings = {**schema.quasi_identifying, **schema.sensitive}
    rows = [
        (name, str(role), *_settings(settings.get(name, Attribute()), (kinds or {}).get(name)))
        for name, role in schema.roles.items()
    ]
    return Markup(
        notebook_table(("column", "role", "kind", "settings"), rows).html + paragraph(OTHERS[schema.others]).html
    )


def _settings(attribute: Attribute, kind: Kind | None) -> tuple[str, str]:
    """Return the kind, and what else is declared. A domain and a hierarchy may list values, which are not shown."""
    hierarchy = attribute.hierarchy
    told = [
        *([f"hierarchy of {hierarchy.to_policy().get('kind', 'its own')}"] if hierarchy is not None else []),
        *(["declared domain"] if attribute.domain is not None else []),
        *([f"weight {attribute.weight:g}"] if attribute.weight != 1 else []),
    ]
    return str(kind or attribute.kind or ""), ", ".join(told)

"""What a finished release says about itself, taken from its tables and the task that it fulfills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sfumato.models.likeness import declared_values
from sfumato.published import Published, sensitive_names
from sfumato.release.description import Description, SensitiveDescription, describe_model, published_hierarchy
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, text_of


def describe(
    published: Published, task: Task, encoded: EncodedTable, kinds: Mapping[str, Kind] = MappingProxyType({})
) -> Description:
    """Return the description of tables that are ready; of hierarchies it has what is published anyway.

    `kinds` are those of sensitive columns that are not of the kind that they have in the encoded table.
    """
    shown, declared = set(sensitive_names(published)), declared_values(task.models)
    return Description(
        published.kind,
        published.structure,
        {
            each.name: replace(_sensitive(each, published, declared), kind=kinds.get(each.name, each.kind))
            for each in encoded.sensitive
            if each.name in shown
        },
        tuple(describe_model(model) for model in task.models),
        task.policy.suppression_limit,
        people=None if task.table.people is None else task.people.pseudonyms,
        rows=task.people.rows,
        all_records_k=task.people.all_records_k,
    )


def _sensitive(attribute: EncodedAttribute, published: Published, declared: set[str]) -> SensitiveDescription:
    hierarchy = attribute.hierarchy
    cut = None if hierarchy is None else published_hierarchy(hierarchy, _values(attribute.name, published) | declared)
    return SensitiveDescription(attribute.kind, cut)


def _values(name: str, published: Published) -> set[str]:
    columns = [frame[name] for frame in published.tables.values() if name in frame.columns]
    return {text for column in columns for text in text_of(column.unique().drop_nulls()).to_list()}

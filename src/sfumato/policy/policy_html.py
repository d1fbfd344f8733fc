"""A policy as a notebook shows it; values that it lists are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.models.checks import promise_words
from sfumato.models.protocol import PrivacyModel
from sfumato.notebook import Markup, notebook_section, notebook_table
from sfumato.numbers import counted, percent

if TYPE_CHECKING:
    from sfumato.policy.parts import Column
    from sfumato.policy.policy import Policy


def policy_parts(policy: Policy) -> tuple[Markup, ...]:
    """Return settings and columns, as parts of a card."""
    columns = notebook_section(
        "Columns", notebook_table(("column", "role", "kind", "settings"), list(_columns(policy)))
    )
    return notebook_table(("", ""), list(_settings(policy))), columns


def promises_html(policy: Policy) -> str:
    """Return what the models promise, in one line."""
    words = [promise_words(each) if isinstance(each, PrivacyModel) else each.name for each in policy.to_models()]
    return ", ".join(words) or "promises nothing"


def _settings(policy: Policy) -> Iterator[tuple[str, str]]:
    rows = {
        "purpose": policy.purpose,
        "recipient": policy.recipient,
        "anonymizer": repr(policy.to_anonymizer()),
        "suppression limit": percent(policy.suppression_limit),
        "refine": policy.refine and f"{policy.refine:,} changes for each record",
        "columns without a role": {"error": "an error", "drop": "dropped", "keep": "published"}[policy.columns.others],
        "wishes": counted(len(policy.wishes), "rule") if policy.wishes else None,
    }
    yield from ((name, str(words)) for name, words in rows.items() if words)


def _columns(policy: Policy) -> Iterator[tuple[str, str, str, str]]:
    columns = policy.columns
    yield from ((name, "person", "", "") for name in columns.key_columns)
    for role, name in (("wished k", columns.wished_k), ("wished l", columns.wished_l)):
        if name is not None:
            yield name, role, "", ""
    yield from ((name, "identifying", "", "") for name in columns.identifying)
    for role, settings in (("quasi-identifying", columns.quasi_identifying), ("sensitive", columns.sensitive)):
        yield from ((name, role, column.kind or "", _settings_in_words(column)) for name, column in settings.items())
    yield from ((name, "insensitive", "", "") for name in columns.unprotected)


def _settings_in_words(column: Column) -> str:
    hierarchy = column.hierarchy
    words = [
        *([f"hierarchy of {hierarchy.kind}"] if hierarchy is not None else []),
        *(["declared domain"] if column.domain is not None or column.domain_withheld else []),
        *([f"weight {column.weight:g}"] if column.weight != 1 else []),
    ]
    return ", ".join(words)

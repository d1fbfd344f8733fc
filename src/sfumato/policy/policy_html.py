"""A policy in words, as text and as a notebook shows it; values that it lists are not shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sfumato.anonymizers import ANONYMIZERS
from sfumato.models.protocol import PrivacyModel, promise_words
from sfumato.notebook import Markup, notebook_section, notebook_table
from sfumato.numbers import counted, percent
from sfumato.published.checks.generalized import columns_without_promise

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
    return ", ".join(_promises(policy)) or "promises nothing"


def _promises(policy: Policy) -> list[str]:
    return [promise_words(each) if isinstance(each, PrivacyModel) else each.name for each in policy.to_models()]


def policy_text(policy: Policy) -> str:
    """Say what happens to every column, what is promised, and how it is reached."""
    columns = policy.columns
    classed = "is published as classes" if policy.anonymizer.name in ANONYMIZERS else "may be known to others"
    fates = {
        "person": "says who a record is about; removed",
        "wished k": "says which k somebody wishes for; removed",
        "wished l": "says which l somebody wishes for; removed",
        "identifying": "removed",
        "quasi-identifying": classed,
        "sensitive": "published as it is, beside the classes",
        "insensitive": "published as it is; no promise covers it",
    }
    rows = [(name, "; ".join(filter(None, (fates[role], kind, more)))) for name, role, kind, more in _columns(policy)]
    wide = max(len(name) for name, _ in rows)
    bare = columns_without_promise(policy.to_models(), list(columns.sensitive))
    open_columns = [f"no promise covers {', '.join(bare)}: all of a class may share one value"] if bare else []
    return "\n".join(
        [
            "Columns",
            *(f"  {name:{wide}}  {words}" for name, words in rows),
            "Promises",
            *(f"  {words}" for words in (*(_promises(policy) or ["none"]), *open_columns)),
            "How",
            *(f"  {name}: {words}" for name, words in _settings(policy)),
            f"  written as {policy.output.format}",
            "Findings of the review",
            *(f"  {words}" for words in _answers(columns.accept)),
        ]
    )


def _answers(accept: Mapping[str, str] | None) -> list[str]:
    if accept is None:
        return ["told and stop nothing, as in the last version; write accept = [] to be asked"]
    return [*(f"{key}: answered" for key in accept), "severe ones stop a release until they are answered"]


def _former(policy: Policy) -> str:
    """Say why a file of the last version, which names no anonymizer, does not mean what fits the table."""
    if "anonymizer" in policy.model_fields_set or policy.anonymizer.name == "auto":
        return ""
    return ", as in the last version; write [anonymizer] name = 'auto' for what fits the table"


def _settings(policy: Policy) -> Iterator[tuple[str, str]]:
    rows = {
        "purpose": policy.purpose,
        "recipient": policy.recipient,
        "anonymizer": repr(policy.to_anonymizer()) + _former(policy),
        "suppression limit": percent(policy.suppression_limit),
        "refine": policy.refine and f"{policy.refine:,} changes for each record",
        "columns without a role": {"error": "an error", "drop": "dropped", "keep": "published"}[policy.columns.others],
        "wishes": counted(len(policy.wishes), "rule") if policy.wishes else None,
        "to withstand": ", ".join(policy.withstand),
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

"""A first policy for a table, proposed from its review: text that a steward reads, corrects and keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tomli_w

from sfumato.findings.meaning import Meaning
from sfumato.findings.review import ColumnReview, Review
from sfumato.table.schema import Kind, Role, is_order

K, L = 5, 2
"""What a proposal asks for: classes of five, and two sensitive values in each."""
_WRITTEN = {
    Role.IDENTIFYING: "Always removed: they name or number people.",
    Role.QUASI_IDENTIFYING: "Others may know these of a person. Classes hide them.",
    Role.SENSITIVE: "People keep these to themselves. Each class has several values.",
}
_ANONYMIZER = ("[anonymizer]", 'name = "auto"  # what fits the number of records', "")


def proposed_policy(
    review: Review,
    reading: Mapping[str, Any] | None = None,
    command: str = "sfumato anonymize TABLE --policy FILE --out RELEASE",
) -> str:
    """Write a policy file with a reason beside each choice; it asks nothing when it runs.

    Columns for which nothing speaks are left out of the release (``others = "drop"``) and listed in a remark, as are
    those of which somebody has to say first what their values are.

    Parameters
    ----------
    review
        Of the table.
    reading
        How the file is read, as ``[source]`` of a policy writes it.
    command
        What publishes with the policy; a remark says it.

    Notes
    -----
    Roles, kinds, marks of missing values and models are proposals: distinct l-diversity with l = 2 for what looks
    sensitive and has two values or more, and k-anonymity with k = 5. Nothing is promised to columns that it leaves out.
    """
    roles = _roles(review)
    taken = {column.name for columns in roles.values() for column in columns}
    others = [column.name for column in review.columns if column.name not in taken]
    parts = [
        *_head(review, command),
        *_models(roles[Role.SENSITIVE]),
        *_ANONYMIZER,
        *_source(review, reading or {}),
        *_columns(roles, others, review),
    ]
    return "\n".join(parts) + "\n"


def _roles(review: Review) -> dict[Role, list[ColumnReview]]:
    roles = {role: [column for column in review.columns if _role(column) is role] for role in _WRITTEN}
    if not roles[Role.QUASI_IDENTIFYING]:
        rest = [column for column in review.columns if column.role is None and not column.must_be_told]
        # Codes would be published in sets of their values.
        rest.sort(key=lambda column: (not column.can_be_classed, column.judgement.is_code))
        roles[Role.QUASI_IDENTIFYING] = rest[:1]
    return roles


def _role(column: ColumnReview) -> Role | None:
    role = None if column.role is None else column.role.role
    if role is Role.IDENTIFYING:
        return role
    if column.meaning is Meaning.EMPTY or column.must_be_told:
        return None
    return None if role is Role.QUASI_IDENTIFYING and not column.can_be_classed else role


def answers_to_check(review: Review) -> list[str]:
    """List the questions that a proposed policy answers, or for which it leaves a column out, with other answers."""
    roles = _roles(review)
    sensitive = {column.name for column in roles[Role.SENSITIVE]}
    published = {column.name for column in roles[Role.QUASI_IDENTIFYING]} | sensitive
    told = []
    for finding in review.findings:
        columns = {*finding.columns}
        if finding.name in ("reading", "strays") and columns & published:
            told.append(f"Guessed: {finding}")
        elif finding.name == "spellings" and columns & sensitive:
            told.append(f"Merged: {finding}")
        elif finding.name == "reading" and any(review[name].must_be_told for name in columns):
            told.append(f"Left out until somebody answers: {finding}")
    return told


def _head(review: Review, command: str) -> Iterator[str]:
    yield f"# A first policy for {review.source}: {review.records:,} records, {len(review.columns)} columns."
    yield "# Read it, correct what is wrong, and publish with:"
    yield f"#   {command}"
    for told in answers_to_check(review):
        yield "#"
        yield from (f"#{'' if not place else '  '} {line}" for place, line in enumerate(told.split("\n")))
    yield ""


def _models(sensitive: list[ColumnReview]) -> Iterator[str]:
    yield f"# Everybody looks like at least {K - 1} others; a class has at least {L} values of each sensitive column."
    yield "models = ["
    yield f'    {{ name = "k-anonymity", k = {K} }},'
    for column in sensitive:
        if column.distinct >= L:
            yield f'    {{ name = "distinct-l-diversity", l = {L}, attribute = {_text(column.name)} }},'
    yield "]"
    yield ""


def _source(review: Review, reading: Mapping[str, Any]) -> Iterator[str]:
    marks = [finding.mark for finding in review.findings if finding.name == "missing-marks" and finding.mark]
    missing = dict.fromkeys(["", *reading.get("missing", ()), *marks])
    settings = {**reading, **({"missing": list(missing)} if len(missing) > 1 else {})}
    if settings:
        yield "[source]"
        for key, value in settings.items():
            yield f"{_key(key)} = {_text(value)}" + (
                "  # texts that stand for a missing value" if key == "missing" else ""
            )
        yield ""


def _columns(roles: dict[Role, list[ColumnReview]], others: list[str], review: Review) -> Iterator[str]:
    yield "[columns]"
    if roles[Role.IDENTIFYING]:
        yield f"# {_WRITTEN[Role.IDENTIFYING]}"
        yield f"identifying = [{', '.join(_text(column.name) for column in roles[Role.IDENTIFYING])}]"
    if others := [name for name in others if not review[name].must_be_told]:
        yield f"# Left out, as nothing speaks for a role: {', '.join(others)}"
    yield 'others = "drop"'
    yield '# Findings that you have answered, such as "identifier:name"; others that are severe stop a release.'
    yield "accept = []"
    for role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE):
        for place, column in enumerate(roles[role]):
            yield ""
            if not place:
                yield f"# {_WRITTEN[role]}"
            yield f"[columns.{role}.{_key(column.name)}]"
            yield from _settings(column, review)


def _settings(column: ColumnReview, review: Review) -> Iterator[str]:
    names = {finding.name for finding in review.of(column.name)}
    kept = any(finding.name == "strays" and "text" in finding.answers[0].effect for finding in review.of(column.name))
    if kept or names & {"codes", "reading"} or column.hierarchy is not None:
        yield f'kind = "{Kind.CATEGORICAL}"  # {column.judgement.reason}'
    elif "orders" in names and (order := column.judgement.order) is not None and is_order(order.labels):
        yield f'kind = "{Kind.ORDERED}"  # {column.judgement.reason}; the lowest first'
        yield f"domain = {_text(order.labels)}"
    elif "strays" in names:
        yield 'strays = "missing"  # texts among numbers or dates'
    if "spellings" in names and column.role is not None and column.role.role is Role.SENSITIVE:
        yield 'spellings = "merge"  # some differ in capitals, blanks or form alone; without this line it is asked'
    if column.hierarchy is not None:
        yield f"hierarchy = {_inline(column.hierarchy.to_policy())}"


def _key(name: str) -> str:
    return tomli_w.dumps({name: 0}).split(" = ")[0]


def _inline(mapping: Mapping[str, Any]) -> str:
    """Write a table on one line."""
    return "{ " + ", ".join(f"{_key(key)} = {_text(value)}" for key, value in mapping.items()) + " }"


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        return _inline(value)
    return tomli_w.dumps({"v": value})[4:].rstrip("\n")

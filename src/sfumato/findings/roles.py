"""Which role a column seems to have, by its name and its meaning. A proposal: the steward decides."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.findings.meaning import Judgement, Meaning
from sfumato.findings.words import names_of
from sfumato.table.identification import Look, Sort, name_in_words
from sfumato.table.schema import Role


@dataclass(frozen=True)
class RoleProposal:
    """A proposed role, and why."""

    role: Role
    reason: str


def propose_role(name: str, judgement: Judgement, look: Look) -> RoleProposal | None:
    """Return the role that a column seems to have; None where nothing speaks for one. Names in several languages."""
    words = name_in_words(name)
    if judgement.meaning in (Meaning.IDENTIFIER, Meaning.FREE_TEXT):
        return RoleProposal(Role.IDENTIFYING, judgement.reason)
    if names_of("technical").search(words):
        return None
    if look.by_value in (Sort.BIRTHS, Sort.POSTCODES, Sort.COORDINATES, Sort.PLACES):
        return RoleProposal(Role.QUASI_IDENTIFYING, look.sentence())
    quasi, sensitive = names_of("quasi_identifying").search(words), names_of("sensitive").search(words)
    if sensitive or words == "y":
        return RoleProposal(Role.SENSITIVE, "its name is that of something that people keep to themselves")
    if quasi or judgement.meaning is Meaning.PLACE:
        return RoleProposal(Role.QUASI_IDENTIFYING, "its name is that of something that others may know")
    if judgement.meaning is Meaning.DATE:
        return RoleProposal(Role.QUASI_IDENTIFYING, "others may know a date")
    return None

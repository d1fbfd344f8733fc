"""The ways to make the next release of a series, one entry each: who makes it, who recounts it, what is attested."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from sfumato.errors import VerificationError
from sfumato.models.checks import Check
from sfumato.registry import loaded

if TYPE_CHECKING:
    from sfumato.series.people import PeopleOfRelease
    from sfumato.series.reading import ReadRelease


class Recount(Protocol):
    """Recounts a release beside the one before, from the two folders alone."""

    def __call__(self, older: ReadRelease | None, newer: ReadRelease) -> tuple[Check, ...]:
        """Return one check for each thing that the way promises; `older` is None for the first release."""
        ...


class Attest(Protocol):
    """Checks what the ledger says of the people of a release."""

    def __call__(self, older: ReadRelease | None, newer: ReadRelease, people: PeopleOfRelease) -> tuple[Check, ...]:
        """Return one check for each thing that the steward answers for."""
        ...


class Way(NamedTuple):
    """Where the parts of a way lie, as ``module:name``; neither recount nor attest load a maker.

    `attested` says what no recipient can recount, one sentence each.
    """

    maker: str
    recount: str
    attest: str
    attested: tuple[str, ...]


WAYS: dict[str, Way] = {
    "append": Way(
        "sfumato.series.append:append",
        "sfumato.series.appended:recount_append",
        "sfumato.series.appended:attest_append",
        ("nobody of a later batch is in an earlier release",),
    ),
}
"""Name in ``release.json`` and on the command line → its parts."""


def recount_of(name: str) -> Recount:
    """Return what recounts releases that were made in a way.

    Raises
    ------
    VerificationError
        When this version does not know it.
    """
    if name not in WAYS:
        raise VerificationError("release.json: is of a way that this version does not know; use a newer sfumato")
    recount: Recount = loaded(WAYS[name].recount)
    return recount

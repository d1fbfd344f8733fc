"""The ways to make the next release of a series, one entry each: who makes it, who recounts it, what is attested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sfumato.errors import VerificationError
from sfumato.models.checks import Check
from sfumato.registry import loaded

if TYPE_CHECKING:
    from sfumato.series.people import PeopleOfRelease
    from sfumato.series.reading import ReadRelease


APPEND, GROW = "append", "grow"
ARRIVED = "arrived"
"""The column of growing series that says with which releases the people of a class came."""


class Recount(Protocol):
    """Recounts a release beside those before it, from the folders alone."""

    def __call__(self, earlier: Sequence[ReadRelease], newer: ReadRelease) -> tuple[Check, ...]:
        """Return one check for each thing that the way promises.

        `earlier` are the releases before, the oldest first: all of them where the way asks for its history, else the
        last one alone. Empty for the first release.
        """
        ...


class Attest(Protocol):
    """Checks what the ledger says of the people of a release."""

    def __call__(
        self, earlier: Sequence[ReadRelease], newer: ReadRelease, people: Sequence[PeopleOfRelease]
    ) -> tuple[Check, ...]:
        """Return one check for each thing that the steward answers for; `people` are those of all releases up to it."""
        ...


class Way(NamedTuple):
    """Where the parts of a way lie, as ``module:name``; neither recount nor attest load a maker.

    `attested` says what no recipient can recount, one sentence each. With `history` a release is made and recounted
    beside all releases before it, else beside the last one. `added` is a column that it publishes beside those of the
    table, by which classes are told apart as by quasi-identifying ones.
    """

    maker: str
    recount: str
    attest: str
    attested: tuple[str, ...]
    history: bool = False
    added: str | None = None


WAYS: dict[str, Way] = {
    APPEND: Way(
        "sfumato.series.append:append",
        "sfumato.series.appended:recount_append",
        "sfumato.series.appended:attest_append",
        ("nobody of a later batch is in an earlier release",),
    ),
    GROW: Way(
        "sfumato.series.grow_release:grow_release",
        "sfumato.series.grown:recount_grown",
        "sfumato.series.grown:attest_grown",
        (
            "nobody of a later batch is in an earlier release",
            "everybody of a release is in the next one, with the same record",
            "the pairs of classes that leave too few rows are those in which nobody is",
        ),
        history=True,
        added=ARRIVED,
    ),
}
"""Name in ``release.json`` and on the command line → its parts. The maker is a
:class:`~sfumato.series.next_release.Maker`."""


def recount_of(way: str) -> Recount:
    """Return what recounts releases that were made in a way.

    Raises
    ------
    VerificationError
        When this version does not know it.
    """
    if way not in WAYS:
        raise VerificationError("release.json: is of a way that this version does not know; use a newer sfumato")
    recount: Recount = loaded(WAYS[way].recount)
    return recount


def looked_back(way: str, earlier: Sequence[ReadRelease]) -> Sequence[ReadRelease]:
    """Return those of the earlier releases that a way looks at."""
    return earlier if way in WAYS and WAYS[way].history else earlier[-1:]

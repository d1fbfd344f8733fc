"""The ways to make the next release of a series, one entry each: who makes it, who recounts it, what is attested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sfumato.errors import PolicyError, VerificationError
from sfumato.models.checks import Check
from sfumato.registry import loaded

if TYPE_CHECKING:
    from sfumato.series.people import PeopleOfRelease
    from sfumato.series.reading import ReadRelease


APPEND, GROW, WITHDRAWAL = "append", "grow", "withdrawal"
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
    table, by which classes are told apart as by quasi-identifying ones. With `everybody` the table holds everybody who
    is in now, not newcomers, and nobody waits. `command` makes the next release, where it is not called as the way.
    `within` names the ways of the series in which such releases stand among others; none is then started with it. With
    `people` somebody may have several records, and wishes; `one_each` says why not.
    """

    maker: str
    recount: str
    attest: str
    attested: tuple[str, ...]
    history: bool = False
    added: str | None = None
    everybody: bool = False
    command: str = ""
    within: tuple[str, ...] = ()
    people: bool = False
    one_each: str = ""


WAYS: dict[str, Way] = {
    APPEND: Way(
        "sfumato.series.append_making:append",
        "sfumato.series.append_recount:recount_append",
        "sfumato.series.append_recount:attest_append",
        ("nobody of a later batch is in an earlier release",),
        people=True,
    ),
    GROW: Way(
        "sfumato.series.grow_making:grow_release",
        "sfumato.series.grow_recount:recount_grown",
        "sfumato.series.grow_recount:attest_grown",
        (
            "nobody of a later batch is in an earlier release",
            "everybody of a release is in the next one, with the same record",
            "the pairs of classes that leave too few rows are those in which nobody is",
            "where rows publish values, all releases together leave everybody enough rows, and not only each two",
        ),
        history=True,
        added=ARRIVED,
        one_each="what several releases leave to somebody is counted in rows, which tell neither how many people they "
        "are of nor what their class promised when it came",
    ),
    "m-invariance": Way(
        "sfumato.series.invariant_making:republish",
        "sfumato.series.invariant_recount:recount_invariant",
        "sfumato.series.invariant_recount:attest_invariant",
        (
            "whoever is in several releases is in classes of the same sensitive values (the signature), with the same "
            "one of their own",
            "each class has as many counterfeits as its rows say",
        ),
        history=True,
        everybody=True,
        command="republish",
        one_each="a class has one row of each of its values, and somebody with two of them would have two, whoever "
        "else is in it",
    ),
    WITHDRAWAL: Way(
        "",
        "sfumato.series.append_recount:recount_withdrawal",
        "sfumato.series.append_recount:attest_withdrawal",
        ("everybody who withdrew is in one of the classes that are gone",),
        history=True,
        command="withdraw",
        within=(APPEND,),
    ),
}
"""Name in ``release.json`` and on the command line → its parts. The maker is a
:class:`~sfumato.series.next_release.Maker`; a withdrawal has no newcomers, and none."""


def command_of(way: str) -> str:
    """Return the method that makes the next release in a way."""
    return WAYS[way].command or way if way in WAYS else way


def ways_of_series() -> list[str]:
    """Return the ways with which a series can be started."""
    return [name for name, way in WAYS.items() if not way.within]


def stands_in(way: str, series: str) -> bool:
    """Tell whether a release of a way may stand in a series of a way."""
    return way == series or (way in WAYS and series in WAYS[way].within)


def refuse_unknown(way: str, *, first: bool) -> None:
    """Raise PolicyError for a way that there is not, and for one that a series cannot start with as it is asked for."""
    if way not in ways_of_series():
        raise PolicyError(f"way: there is no such way; there are {', '.join(ways_of_series())}")
    if WAYS[way].everybody and not first:
        raise PolicyError(f"way: a series of {way} starts with the first people; give their table")


def recount_of(way: str) -> Recount:
    """Return what recounts releases that were made in a way; ``VerificationError`` when it is not known."""
    if way not in WAYS:
        raise VerificationError("release.json: is of a way that this version does not know; use a newer sfumato")
    recount: Recount = loaded(WAYS[way].recount)
    return recount


def looked_back(way: str, earlier: Sequence[ReadRelease]) -> Sequence[ReadRelease]:
    """Return those of the earlier releases that a way looks at."""
    return earlier if way in WAYS and WAYS[way].history else earlier[-1:]

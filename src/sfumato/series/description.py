"""What a series says of itself, ``series.json``, and what each of its releases says of its place in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from sfumato.errors import InputError, PolicyError, VerificationError
from sfumato.models.protocol import Check
from sfumato.registry import loaded
from sfumato.release.description import is_format, unambiguous
from sfumato.release.transaction import MARK, SERIES, SIGNATURE, interrupted
from sfumato.table.writing import sha256_of
from sfumato.whole_files import read_regular_text

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
        one_each="what several releases leave to somebody is counted in rows; rows do not tell how many people they "
        "are of, nor what their class promised when it came",
    ),
    "m-invariance": Way(
        "sfumato.series.invariant_making:republish",
        "sfumato.series.grow_recount:recount_invariant",
        "sfumato.series.grow_recount:attest_invariant",
        (
            "whoever is in several releases is in classes of the same sensitive values (the signature), with the same "
            "one of their own",
            "each class has as many counterfeits as its rows say",
        ),
        history=True,
        everybody=True,
        command="republish",
        one_each="a class has one row of each of its values; somebody with two of them would have two rows in it",
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


FILE = SERIES
FORMAT = 1
KIND = "series"
KEY = "series"
"""Where ``release.json`` says which place a release has."""
Covers = Mapping[str, Mapping[str, Sequence[str]]]
"""Column → label → the labels under it, each of them once; which labels lie under none is not said."""
_DAMAGED = "{}: is damaged; the series cannot be verified"


def ledger_of(folder: Path) -> Path:
    """Return where the ledger of a series lies unless it is said otherwise: beside its folder."""
    return folder.parent / f"{folder.name}.ledger"


@dataclass(frozen=True)
class SeriesDescription:
    """The content of ``series.json``, written once."""

    id: str  # drawn at random when the series was started
    ledger: str  # what only whoever holds the ledger could have written: a keyed hash of the id
    policy: Mapping[str, Any]  # the published edition of the policy of all releases, as plain values
    way: str = APPEND  # how every release is made, a name in :data:`sfumato.series.description.WAYS`

    def text(self) -> str:
        """Return the content of the file."""
        content = {"format": FORMAT, "kind": KIND, **asdict(self)}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the file. Raises ``VerificationError`` when it is damaged or of a later format."""
        try:
            content = unambiguous(text)
            if content["kind"] != KIND:
                raise ValueError
            if not is_format(content["format"], FORMAT):
                raise VerificationError(f"{FILE}: is of a format that this version does not know; use a newer sfumato")
            found = cls(
                _text(content["id"]), _text(content["ledger"]), content["policy"], _text(content.get("way", APPEND))
            )
            if not isinstance(found.policy, Mapping):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise VerificationError(_DAMAGED.format(FILE)) from None
        return found


@dataclass(frozen=True)
class SeriesPlace:
    """The place of a release in a series."""

    id: str
    number: int  # from 1 on
    way: str  # how it was made of its predecessor, a name in :data:`sfumato.series.description.WAYS`
    previous: str  # sha256 of the ``release.json`` of the release before; of ``series.json`` for the first one
    # For each column that publishes nodes of a hierarchy, where recipients compare labels: the labels, published up to
    # this release, that lie under each other one. Empty elsewhere.
    covers: Covers = field(default_factory=dict)

    @classmethod
    def of(cls, mark: str) -> SeriesPlace | None:
        """Read it from a ``release.json``; None for a release of no series; ``VerificationError`` if damaged."""
        try:
            content = unambiguous(mark).get(KEY)
            if content is None:
                return None
            number = content["number"]
            if type(number) is not int or number < 1:
                raise ValueError
            covers = _covers(content.get("covers", {}))
            return cls(_text(content["id"]), number, _text(content["way"]), _text(content["previous"]), covers)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise VerificationError(_DAMAGED.format("release.json")) from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: value for name, value in asdict(self).items() if name != "covers" or value}


def _covers(given: Mapping[str, Mapping[str, list[str]]]) -> Covers:
    return {
        _text(column): {_text(label): tuple(map(_text, below)) for label, below in labels.items()}
        for column, labels in given.items()
    }


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


# The public folder of a series: ``series.json``, and a release folder for each number.


_NUMBER = re.compile(r"(?!0000)\d{4}|[1-9]\d{4,}")
_UNFINISHED = re.compile(r"\.\d{4,}\.[0-9a-f]{8}\.(part|old)")


@dataclass(frozen=True)
class SeriesFolder:
    """A folder of releases."""

    path: Path
    description: SeriesDescription

    @classmethod
    def open(cls, path: Path) -> SeriesFolder:
        """Read what a folder says of itself; InputError for no series, VerificationError for a damaged one."""
        if not path.is_dir():
            begun = interrupted(path)
            raise InputError(begun or f"{path}: no such folder; start a series there with sfumato series start")
        if not (path / FILE).is_file():
            sentence = "it is a single release" if (path / MARK).is_file() else "it is not a series"
            raise InputError(
                f"{path}: holds no {FILE}, so {sentence}; give the folder that holds the numbered releases"
            )
        text = read_regular_text(path / FILE, errors="replace")
        return cls(path, SeriesDescription.of(text))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the releases that are there, rising."""
        # Links lead to what anybody may change.
        there = (entry for entry in self.path.iterdir() if entry.is_dir() and not entry.is_symlink())
        found = (entry.name for entry in there if _NUMBER.fullmatch(entry.name))
        return tuple(sorted(map(int, found)))

    @property
    def releases(self) -> tuple[Path, ...]:
        """The folders of the releases, the first one first."""
        return tuple(map(self.release, self.numbers))

    def release(self, number: int) -> Path:
        """Return where the release of a number lies."""
        return self.path / f"{number:04d}"

    def hash_of(self, number: int) -> str | None:
        """Return the sha256 of what a release says of itself, and of ``series.json`` for 0; None if it is not there."""
        file = self.release(number) / MARK if number else self.path / FILE
        return sha256_of(file) if file.is_file() else None

    @property
    def head(self) -> str:
        """The hash of the last release, which holds on to all before it; of ``series.json`` where there is none."""
        last = self.numbers[-1] if self.numbers else 0
        found = self.hash_of(last)
        if found is None:
            raise VerificationError(f"release {last} has no {MARK if last else FILE}; restore the folder")
        return found

    def strangers(self) -> list[str]:
        """Name what is neither of the series nor its signature: links, too, and what a killed run has left."""
        known = {FILE, SIGNATURE, *(path.name for path in self.releases)}
        others = sorted(entry.name for entry in self.path.iterdir() if entry.name not in known)
        return [
            f"{name} (left by a run that was killed, or is going on)" if is_unfinished(name) else name
            for name in others
        ]


def is_unfinished(name: str) -> bool:
    """Tell whether a name is that of a release that was being written."""
    return _UNFINISHED.fullmatch(name) is not None

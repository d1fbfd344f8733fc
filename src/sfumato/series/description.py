"""What a series says of itself, ``series.json``, and what each of its releases says of its place in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from sfumato.errors import VerificationError
from sfumato.release.description import is_format, unambiguous
from sfumato.release.folder import SERIES
from sfumato.series.ways import APPEND

FILE = SERIES
FORMAT = 1
KIND = "series"
KEY = "series"
"""Where ``release.json`` says which place a release has."""
Covers = Mapping[str, Mapping[str, Sequence[str]]]
"""Column → label → the labels under it, each of them once; which labels lie under none is not said."""
_DAMAGED = "{}: is damaged; the series cannot be verified"


@dataclass(frozen=True)
class SeriesDescription:
    """The content of ``series.json``, written once.

    Attributes
    ----------
    id : str
        Drawn at random when the series was started.
    ledger : str
        What only whoever holds the ledger could have written: a keyed hash of the id.
    policy : mapping
        The published edition of the policy of all releases, as plain values.
    way : str
        How every release is made, a name in :data:`sfumato.series.ways.WAYS`.
    """

    id: str
    ledger: str
    policy: Mapping[str, Any]
    way: str = APPEND

    def text(self) -> str:
        """Return the content of the file."""
        content = {"format": FORMAT, "kind": KIND, **asdict(self)}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the file.

        Raises
        ------
        VerificationError
            When it is damaged or of a later format.
        """
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
class Place:
    """The place of a release in a series.

    Attributes
    ----------
    id : str
        Of the series.
    number : int
        From 1 on.
    way : str
        How it was made of its predecessor, a name in :data:`sfumato.series.ways.WAYS`.
    previous : str
        sha256 of the ``release.json`` of the release before; of ``series.json`` for the first one.
    covers : mapping of str to mapping
        For each column that publishes nodes of a hierarchy, where recipients compare labels: the labels, published up
        to this release, that lie under each other one. Empty elsewhere.
    """

    id: str
    number: int
    way: str
    previous: str
    covers: Covers = field(default_factory=dict)

    @classmethod
    def of(cls, mark: str) -> Place | None:
        """Read it from the text of a ``release.json``; None where the release is of no series.

        Raises
        ------
        VerificationError
            When it cannot be read.
        """
        try:
            said = unambiguous(mark).get(KEY)
            if said is None:
                return None
            number = said["number"]
            if type(number) is not int or number < 1:
                raise ValueError
            covers = _covers(said.get("covers", {}))
            return cls(_text(said["id"]), number, _text(said["way"]), _text(said["previous"]), covers)
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

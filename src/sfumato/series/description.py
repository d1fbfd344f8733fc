"""What a series says of itself, ``series.json``, and what each of its releases says of its place in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sfumato.errors import InputError, VerificationError
from sfumato.release.description import is_format, unambiguous
from sfumato.release.transaction import MARK, SERIES, interrupted
from sfumato.series.ways import APPEND
from sfumato.table.writing import sha256_of
from sfumato.whole_files import read_regular_text

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
    way: str = APPEND  # how every release is made, a name in :data:`sfumato.series.ways.WAYS`

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
    way: str  # how it was made of its predecessor, a name in :data:`sfumato.series.ways.WAYS`
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
        """Read what a folder says of itself.

        Raises ``InputError`` when it is no folder of a series. Raises ``VerificationError`` when its ``series.json`` is
        damaged.
        """
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
        """Name what lies in the folder and is none of the series: links, too, and what a killed run has left."""
        known = {FILE, *(path.name for path in self.releases)}
        others = sorted(entry.name for entry in self.path.iterdir() if entry.name not in known)
        return [
            f"{name} (left by a run that was killed, or is going on)" if unfinished(name) else name for name in others
        ]


def unfinished(name: str) -> bool:
    """Tell whether a name is that of a release that was being written."""
    return _UNFINISHED.fullmatch(name) is not None

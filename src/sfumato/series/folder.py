"""The public folder of a series: ``series.json``, and a release folder for each number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sfumato.errors import InputError, VerificationError
from sfumato.release.folder import MARK
from sfumato.release.transaction import interrupted
from sfumato.series.description import FILE, SeriesDescription
from sfumato.table.writing import sha256_of
from sfumato.whole_files import read_regular_text

_NUMBER = re.compile(r"(?!0000)\d{4}|[1-9]\d{4,}")
_UNFINISHED = re.compile(r"\.\d{4,}\.[0-9a-f]{8}\.(part|old)")


@dataclass(frozen=True)
class SeriesFolder:
    """A folder of releases.

    Attributes
    ----------
    path : Path
    description : SeriesDescription
    """

    path: Path
    description: SeriesDescription

    @classmethod
    def open(cls, path: Path) -> SeriesFolder:
        """Read what a folder says of itself.

        Raises
        ------
        InputError
            When it is no folder of a series.
        VerificationError
            When its ``series.json`` is damaged.
        """
        if not path.is_dir():
            begun = interrupted(path)
            raise InputError(begun or f"{path}: no such folder; start a series there with sfumato series start")
        if not (path / FILE).is_file():
            told = "it is a single release" if (path / MARK).is_file() else "it is not a series"
            raise InputError(f"{path}: holds no {FILE}, so {told}; give the folder that holds the numbered releases")
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

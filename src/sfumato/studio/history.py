"""The history of a project: a tree of drafts on disk, one small file each, none ever changed or overwritten."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from sfumato.errors import InputError
from sfumato.studio.draft import Draft
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole


@dataclass(frozen=True)
class HistoryEntry:
    """One state of the setup."""

    number: int  # from 1; the file is named after it
    parent: int | None  # the entry that it was made from
    note: str  # what changed, in words
    made: str  # when, in UTC
    draft: Draft


class History:
    """All entries of a project, and the one that stands.

    Undo and redo move between entries; a change makes a child of the entry that it was made from. So nothing is lost
    when somebody goes back and goes on in another way, or works in two tabs. `folder`: where the entries lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries = {int(path.stem): _read(path) for path in sorted(folder.glob("[0-9]*.toml"))}
        self._head = _read_head(folder / "head", self._entries)

    @property
    def head(self) -> HistoryEntry:
        """The entry that stands."""
        return self._entries[self._head]

    @property
    def entries(self) -> list[HistoryEntry]:
        """All entries, the oldest first."""
        return [self._entries[number] for number in sorted(self._entries)]

    def __bool__(self) -> bool:
        """Tell whether there is an entry."""
        return bool(self._entries)

    def entry(self, number: int) -> HistoryEntry:
        """Return one entry, or raise InputError."""
        if number not in self._entries:
            raise InputError("history: there is no such entry; load the page again")
        return self._entries[number]

    def add(self, draft: Draft, note: str, parent: int | None) -> HistoryEntry:
        """Write a new entry, which then stands."""
        number = max(self._entries, default=0) + 1
        entry = HistoryEntry(number, parent, note, datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"), draft)
        entry_content: dict[str, Any] = {"note": note, "made": entry.made, "draft": draft.to_dict()}
        content = entry_content if parent is None else {"parent": parent, **entry_content}
        write_whole(self._folder / f"{number:04}.toml", tomli_w.dumps(content), PRIVATE)
        self._entries[number] = entry
        self.go_to(number)
        return entry

    def go_to(self, number: int) -> HistoryEntry:
        """Let an entry stand."""
        entry = self.entry(number)
        write_whole(self._folder / "head", str(number), PRIVATE)
        self._head = number
        return entry

    def undone(self) -> int | None:
        """Return the number of the entry before the one that stands."""
        return self.head.parent

    def redone(self) -> int | None:
        """Return the number of the entry that was made last from the one that stands."""
        return max((entry.number for entry in self._entries.values() if entry.parent == self._head), default=None)

    def depths(self) -> dict[int, int]:
        """Return in how many branches each entry lies: one branches off if its parent has an older child."""
        first: dict[int | None, int] = {}
        depths: dict[int, int] = {}
        for entry in self.entries:
            branches = entry.number != first.setdefault(entry.parent, entry.number)
            depths[entry.number] = (depths.get(entry.parent, 0) if entry.parent is not None else 0) + branches
        return depths


def _read(path: Path) -> HistoryEntry:
    try:
        content: Mapping[str, Any] = tomllib.loads(read_regular_text(path))
        return HistoryEntry(
            int(path.stem), content.get("parent"), content["note"], content["made"], Draft.from_dict(content["draft"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path.name}: is no entry of a history; take it out of the project's folder") from None


def _read_head(path: Path, entries: Mapping[int, HistoryEntry]) -> int:
    try:
        number = int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        number = 0
    return number if number in entries else max(entries, default=0)


def made_private(folder: Path) -> Path:
    """Make a folder that nobody else may read, and return it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.name == "posix":
        folder.chmod(0o700)
    return folder

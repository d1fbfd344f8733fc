"""A project of the studio: a private folder that holds everything, and the history of its setup, a tree of drafts."""

from __future__ import annotations

import hashlib
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sfumato.errors import InputError
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.studio.draft import Draft, in_words
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy


@dataclass(frozen=True)
class HistoryEntry:
    """One state of the setup."""

    number: int  # from 1; the file is named after it
    parent: int | None  # the entry that it was made from
    note: str  # what changed, in words
    made: str  # when, in UTC
    draft: Draft


class History:
    """All entries of a project, and the one that stands; a change makes a child of the one that it was made from.

    So nothing is lost when somebody goes back and on in another way, or works in two tabs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries = {int(path.stem): _entry_of(path) for path in sorted(folder.glob("[0-9]*.toml"))}
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


def _entry_of(path: Path) -> HistoryEntry:
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


FORMAT = 1
MARK = "studio.toml"
PREFIX = "sfumato-studio-"
"""What temporary folders of the studio begin with."""
_PARTS = ("history", "hierarchies", "releases", "jobs")


@dataclass(eq=False)
class Project:
    """A folder with the history of the setup, hierarchies, releases and reports."""

    folder: Path
    table: Path  # the original; it stays where it is
    source: dict[str, Any]  # how it is read, as a policy says it
    sha256: str  # of the original, when the project was opened
    history: History
    # name of the release of last time, beside the table; empty: there is none; None: nobody has said
    earlier: str | None = None
    _lock: int | None = field(default=None, repr=False)
    _seen: tuple[int, ...] = field(default=(), repr=False)
    place: Path = Path()  # where releases are handed over

    @classmethod
    def opened(cls, folder: Path, table: Path | None, source: Mapping[str, Any], place: Path | None = None) -> Project:
        """Open a project, or begin one on a table; `place`: where releases go, or None: beside the table.

        Refused when the folder is something else, of a newer version, or in use; or when there is no table.
        """
        content = read_mark(folder)
        found = table or (Path(content["table"]) if "table" in content else None)
        if found is None:
            raise InputError(f"{folder}: is a new project; name the table that it is about")
        if not found.is_file():
            raise InputError(f"{found}: there is no such file; name the table that the project is about")
        made_private(folder)
        for part in _PARTS:
            made_private(folder / part)
        layout = {**content.get("source", {}), **source}
        checked(Source, layout)
        stamp = _stamp(found)
        parts = History(folder / "history"), content.get("earlier"), locked(folder), stamp
        project = cls(folder, found.resolve(), layout, _sha256(found), *parts)
        project.place = place or project.table.parent
        _mark(project)
        return project

    @property
    def is_kept(self) -> bool:
        """Whether the project stays when the studio is closed, although it holds no release."""
        return not self.folder.parent.name.startswith(PREFIX)

    @property
    def has_changed(self) -> bool:
        """Whether the original is another one than when the project was opened; it is read only if it seems to be."""
        try:
            return _stamp(self.table) != self._seen and self.is_another
        except OSError:
            return True

    @property
    def is_another(self) -> bool:
        """The same, read in any case: before something is made of it."""
        try:
            stamp = _stamp(self.table)
            if _sha256(self.table) != self.sha256:
                return True
        except OSError:
            return True
        self._seen = stamp
        return False

    def begin(self, names: list[str], policy: Policy | None = None) -> None:
        """Write the first entry of the history, unless there is one; and one where the table is read otherwise now."""
        source = as_written(checked(Source, self.source))
        if not self.history:
            self.history.add(Draft.of_columns(names, source), "table opened", None)
        head = self.history.head
        if checked(Source, head.draft.rest.get("source", {})) != checked(Source, self.source):
            draft = head.draft.with_rest("source", source).with_names(names)
            self.history.add(draft, in_words(head.draft, draft), head.number)
        if policy is not None:
            draft = Draft.of_policy(policy, names)
            if draft != self.history.head.draft:
                self.history.add(draft, "policy read from a file", self.history.head.number)

    def keep_hierarchy(self, column_number: int, text: str) -> Path:
        """Write a hierarchy to a file that is named by its content, and return its path."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        path = self.folder / "hierarchies" / f"column-{column_number}-{digest}.csv"
        if not path.exists():
            write_whole(path, text, PRIVATE)
        return path

    def keep_source(self, source: Mapping[str, Any] | None) -> None:
        """Remember how the table is read."""
        self.source = dict(source or {})
        _mark(self)

    def keep_earlier(self, name: str) -> None:
        """Remember which release is that of last time."""
        self.earlier = name
        _mark(self)

    def close(self) -> None:
        """Let others open the project."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def as_written(source: Source) -> dict[str, Any] | None:
    """Return how a table is read as a policy writes it; None where nothing is said."""
    settings = source.model_dump(mode="json", by_alias=True, exclude_none=True)
    return None if source == Source() else settings


def _mark(project: Project) -> None:
    beside = {} if project.earlier is None else {"earlier": project.earlier}
    content = {
        "format": FORMAT,
        "table": str(project.table),
        "sha256": project.sha256,
        **beside,
        "source": project.source,
    }
    write_whole(project.folder / MARK, tomli_w.dumps(content), PRIVATE)


def read_mark(folder: Path) -> dict[str, Any]:
    """Return what a project says of itself; nothing where one can be begun. Raises ``InputError`` where none can."""
    if not folder.exists():
        if not folder.parent.is_dir():
            raise InputError(f"{folder.parent}: there is no such folder; make it first")
        return {}
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / MARK).is_file()):
        raise InputError(f"{folder}: is no project of the studio, and not empty; name another folder")
    if not (folder / MARK).is_file():
        return {}
    try:
        content = tomllib.loads(read_regular_text(folder / MARK))
    except (OSError, ValueError):
        raise InputError(f"{folder / MARK}: is damaged; take the project from a copy") from None
    if content.get("format") != FORMAT:
        raise InputError(f"{folder}: was written by another version of the studio; open it with that one")
    return content


def locked(folder: Path) -> int | None:
    """Lock the project against a second server, and return what holds the lock; None where there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(f"{folder}: is open in another studio; close that one first") from None
    return descriptor


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when somebody writes a file, but for the time of a clock that was put back."""
    its = path.stat()
    return its.st_mtime_ns, its.st_ctime_ns, its.st_size, its.st_ino

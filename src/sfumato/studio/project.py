"""A project of the studio: a private folder that holds everything, so that a killed server loses nothing."""

from __future__ import annotations

import hashlib
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sfumato.errors import InputError
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.studio.draft import Draft, in_words
from sfumato.studio.history import History, made_private
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy

FORMAT = 1
MARK = "studio.toml"
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

    @classmethod
    def opened(cls, folder: Path, table: Path | None, source: Mapping[str, Any]) -> Project:
        """Open a project, or begin one.

        `table`: the original; None takes the one that the project was begun with. `source`: how it is read, beside what
        the project says. Raises ``InputError`` when the folder is something else, of a newer version, or in use; or
        when there is no table.
        """
        content = _read(folder)
        place = table or (Path(content["table"]) if "table" in content else None)
        if place is None:
            raise InputError(f"{folder}: is a new project; name the table that it is about")
        if not place.is_file():
            raise InputError(f"{place}: there is no such file; name the table that the project is about")
        made_private(folder)
        for part in _PARTS:
            made_private(folder / part)
        layout = {**content.get("source", {}), **source}
        checked(Source, layout)
        stamp = _stamp(place)
        kept = History(folder / "history"), content.get("earlier"), _locked(folder), stamp
        project = cls(folder, place.resolve(), layout, _sha256(place), *kept)
        _mark(project)
        return project

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


def _read(folder: Path) -> dict[str, Any]:
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


def _locked(folder: Path) -> int | None:
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

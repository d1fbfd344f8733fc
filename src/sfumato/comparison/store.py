"""Finished runs on disk, so that an interrupted comparison continues where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from sfumato.comparison.run_outcome import RunOutcome
from sfumato.errors import InputError
from sfumato.whole_files import PRIVATE, write_whole

MARK = "comparison.json"
RUNS = "runs.jsonl"


class RunStore:
    """The finished runs of one comparison in one folder; one line each, written as soon as a run is done.

    Parameters
    ----------
    folder
        Created if it does not exist; its parent must exist.
    identity
        What distinguishes this comparison from every other: settings, and a fingerprint of the table.

    Raises
    ------
    InputError
        When the folder holds another comparison, or something else, or cannot be written.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        self._lock = Lock()
        self._identity = json.loads(json.dumps(identity))
        _said_plainly(folder, self._open)

    def finished(self) -> dict[str, RunOutcome]:
        """Return the runs that were finished before, by their keys; a line that was cut off is ignored."""
        path = self._folder / RUNS
        if not path.is_file():
            return {}
        found = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                outcome = RunOutcome.from_dict(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue
            found[outcome.run.key] = outcome
        return found

    def add(self, outcome: RunOutcome) -> None:
        """Record a finished run on disk."""
        _said_plainly(self._folder, lambda: self._append(json.dumps(outcome.to_dict())))

    def _append(self, line: str) -> None:
        with self._lock, (self._folder / RUNS).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def _open(self) -> None:
        if not self._folder.parent.is_dir():
            raise InputError(f"{self._folder.parent}: there is no such folder; make it first")
        mark = self._folder / MARK
        if self._folder.exists() and not mark.is_file() and _holds_something(self._folder):
            raise InputError(f"{self._folder}: already exists and holds no comparison; name another folder")
        if mark.is_file() and _read(mark) != self._identity:
            raise InputError(
                f"{self._folder}: holds a comparison with other settings or of another table; name another folder, or "
                "repeat the settings to continue it"
            )
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if not mark.is_file():
            write_whole(mark, json.dumps(self._identity, indent=2) + "\n")
        (self._folder / RUNS).touch(mode=PRIVATE)
        self._end_last_line()

    def _end_last_line(self) -> None:
        """Close a line that a killed run left open, so that the next one does not run on in it."""
        path = self._folder / RUNS
        if path.is_file() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            with path.open("a", encoding="utf-8") as file:
                file.write("\n")


def fingerprint(frame: pl.DataFrame) -> str:
    """Return what distinguishes one table from another: the sha256 of its columns. It stays with the data steward."""
    digest = hashlib.sha256()
    for name in frame.columns:
        digest.update(name.encode())
        column = frame.get_column(name)
        text = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
        for part in text.rechunk().to_arrow().buffers():
            digest.update(part if part is not None else b"-")
    return digest.hexdigest()


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None


def _holds_something(folder: Path) -> bool:
    entries: Iterable[Path] = folder.iterdir() if folder.is_dir() else (folder,)
    return any(True for _ in entries)


def _said_plainly(folder: Path, work: Any) -> None:
    try:
        work()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise InputError(f"{folder}: the comparison cannot be written ({reason})") from None

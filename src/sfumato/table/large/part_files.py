"""Rows that belong together, collected in files while a table goes by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

HELD, HELD_FOR_A_PART = 16 << 20, 128 << 10
"""Bytes of rows that are held, at least, before they are written to the files of their parts."""


class PartFiles:
    """Collects the rows of each part in files, several batches at a time.

    Parameters
    ----------
    folder
        Where files are made.
    parts
        How many parts there are.
    name
        What their names begin with.
    """

    def __init__(self, folder: Path, parts: int, name: str = "part") -> None:
        self._folder, self._name = folder, name
        self._most = max(HELD, parts * HELD_FOR_A_PART)
        self._held: list[pl.DataFrame] = []
        self._files: list[list[Path]] = [[] for _ in range(parts)]

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows whose column ``part`` says where they go."""
        self._held.append(rows)
        if sum(held.estimated_size() for held in self._held) >= self._most:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are still held."""
        if not self._held:
            return
        together = pl.concat(self._held)
        self._held = []
        for (part,), rows in together.partition_by("part", as_dict=True, include_key=False).items():
            files = self._files[int(part)]
            path = self._folder / f"{self._name}-{part}-{len(files)}"
            rows.write_ipc(path, compression="lz4")
            files.append(path)

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of each part that has any, in the order in which they came, and take its files away."""
        self.flush()
        for files in self._files:
            if files:
                yield pl.concat([pl.read_ipc(path) for path in files])
            for path in files:
                path.unlink()

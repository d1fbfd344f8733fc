"""How large a run is and where its files lie."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.results import SkippedJob


def _data_from_environment() -> Path | None:
    folder = os.environ.get("SFUMATO_DATA")
    return Path(folder) if folder else None


@dataclass(frozen=True)
class Settings:
    """How large a run is and where its files lie.

    Attributes
    ----------
    rows : int
        Records of the large CSV files.
    checked_rows : int
        Records of the table that is checked.
    repeats : int
        Runs of each of the large jobs; short ones are repeated more often.
    folder : pathlib.Path
        For generated files and results; generated files are kept and used again.
    data : pathlib.Path or None
        Folder with ``adult/adult.data``; ``SFUMATO_DATA`` unless said.
    """

    rows: int = 10_000_000
    checked_rows: int = 1_000_000
    repeats: int = 3
    folder: Path = Path("bench-output")
    data: Path | None = field(default_factory=_data_from_environment)

    @property
    def is_whole(self) -> bool:
        """Whether the tables are as large as the bars ask for; smaller ones are held against no bar."""
        return self.rows >= Settings.rows and self.checked_rows >= Settings.checked_rows

    def adult_file(self) -> Path:
        """Return the Adult file, or raise SkippedJob that says how to get it."""
        path = None if self.data is None else self.data / "adult" / "adult.data"
        if path is None or not path.is_file():
            raise SkippedJob(
                "the Adult data is not here; download adult.data from https://archive.ics.uci.edu/dataset/2/adult, put "
                "it into FOLDER/adult/ and set SFUMATO_DATA=FOLDER"
            )
        return path

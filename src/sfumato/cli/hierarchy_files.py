"""Match the files of a folder with the columns whose hierarchies they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import InputError


def hierarchy_files(folder: Path, columns: Sequence[str]) -> tuple[dict[str, Path], list[str]]:
    """Find the CSV of each column: named after it, or ending in ``_COLUMN``.

    A file that fits several columns belongs to the longest name; one named exactly after a column takes precedence.

    Returns
    -------
    tuple of dict and list of str
        The file of each column that has one, and the problems: a column with several files, or no file for any column.

    Raises
    ------
    InputError
        When the folder cannot be listed.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    except OSError:
        raise InputError(f"--hierarchies: {folder} is not a folder that can be read") from None
    fitting: dict[str, list[Path]] = {}
    for file in files:
        owners = [column for column in columns if file.stem == column or file.stem.endswith(f"_{column}")]
        if owners:
            fitting.setdefault(max(owners, key=len), []).append(file)
    chosen = {column: _exact(column, found) for column, found in fitting.items()}
    problems = [
        f"--hierarchies: {len(found)} files of {folder} fit column {column!r}; name one of them {column}.csv"
        for column, found in chosen.items()
        if len(found) > 1
    ]
    if not fitting:
        problems.append(f"--hierarchies: no CSV in {folder} is named after a quasi-identifying or sensitive column")
    return {column: found[0] for column, found in chosen.items()}, problems


def _exact(column: str, files: list[Path]) -> list[Path]:
    return [file for file in files if file.stem == column] or files

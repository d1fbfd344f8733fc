"""Hierarchy files: separated text without a header, level 0 first, as ARX and this library's drafts write them."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from sfumato.errors import HierarchyError
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.hierarchy.tree import ROOT, Hierarchy
from sfumato.whole_files import read_regular, write_whole

_SEPARATORS = (";", ",", "\t")

_Rows = list[tuple[str, ...]]


def read_hierarchy(
    path: str | os.PathLike[str], *, separator: str | None = None, folder: str | os.PathLike[str] | None = None
) -> HierarchyTable:
    """Read a hierarchy from a file of separated text, UTF-8 (a byte order mark is skipped), without a header.

    One line per original value: the value, then ever coarser labels. Cells may be quoted with ``"``; empty lines are
    skipped and not counted in row numbers. When the last level is not one single value, a level ``*`` is added.

    Parameters
    ----------
    path
        The file.
    separator
        One character. None takes the one among ``;``, ``,`` and tab that gives every line the same number of cells,
        more than one; of several, one whose lines all end in ``*``, then the first.
    folder
        Where a relative `path` starts; the policy's folder. None: the current one.

    Raises
    ------
    HierarchyError
        When the file cannot be read, is not UTF-8, has broken quotes, or is not a hierarchy.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise HierarchyError("the path of a hierarchy file must be text")
    name = os.fspath(path)
    _check_separator(separator)
    text = _text(Path(folder or ".") / name, name)
    rows = _best_split(text, name) if separator is None else _split(text, separator, name)
    return HierarchyTable(tuple(rows), path=name, separator=separator)


def hierarchy_text(hierarchy: Hierarchy, *, separator: str = ";") -> str:
    """Write a hierarchy as the text of a file that :func:`read_hierarchy` reads, one line per leaf in code order.

    Cells are quoted where they need it. Raises ``HierarchyError`` when the separator is not one character.
    """
    _check_separator(separator)
    return "".join(f"{separator.join(_quoted(cell, separator) for cell in row)}\n" for row in hierarchy.paths)


def write_hierarchy(hierarchy: Hierarchy, path: str | os.PathLike[str], *, separator: str = ";") -> None:
    """Write :func:`hierarchy_text` to a file, UTF-8.

    The file holds original values: it is the data steward's own, not for release.

    Raises
    ------
    HierarchyError
        When the file cannot be written.
    """
    text = hierarchy_text(hierarchy, separator=separator)
    try:
        write_whole(path, text)
    except OSError as error:
        raise HierarchyError(f"hierarchy file {os.fspath(path)}: cannot be written ({error.strerror})") from None


def _check_separator(separator: object) -> None:
    if separator in (None, "\t"):
        return
    if not (isinstance(separator, str) and len(separator) == 1 and separator.isprintable() and separator != '"'):
        raise HierarchyError("the separator of a hierarchy file must be one character, such as ; or , or a tab")


def _text(file: Path, name: str) -> str:
    try:
        return read_regular(file).decode("utf-8-sig")
    except OSError as error:
        raise HierarchyError(f"hierarchy file {name}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise HierarchyError(f"hierarchy file {name}: is not UTF-8 text; save it as UTF-8") from None


def _split(text: str, separator: str, name: str) -> _Rows:
    rows: _Rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            if row:
                rows.append(tuple(row))
    except csv.Error:
        raise HierarchyError(
            f"hierarchy file {name}: row {len(rows) + 1} has broken quotes or a cell that is too long; correct it"
        ) from None
    return rows


def _best_split(text: str, name: str) -> _Rows:
    candidates, problems = [], []
    for separator in _SEPARATORS:
        try:
            candidates.append(_split(text, separator, name))
        except HierarchyError as error:
            problems.append(error)
    best = max(candidates, key=_fitness, default=[])
    # Quotes broken for one separator look like plain text to another that does not occur.
    if problems and not any(len(row) > 1 for row in best):
        raise problems[0]
    return best


def _fitness(rows: _Rows) -> tuple[bool, bool, int]:
    """Order separators: even rows of several cells first, then rows that end in ``*``, then how many rows are split."""
    split = sum(len(row) > 1 for row in rows)
    even = split == len(rows) and len({len(row) for row in rows}) == 1
    return even, even and all(row[-1] == ROOT for row in rows), split


def _quoted(cell: str, separator: str) -> str:
    needs = not cell or cell[0] == "\ufeff" or any(mark in cell for mark in (separator, '"', "\r", "\n"))
    return '"' + cell.replace('"', '""') + '"' if needs else cell

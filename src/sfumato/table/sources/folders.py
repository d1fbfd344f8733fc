"""Several files of one table: a folder, a pattern of names or a list of paths; names of folders may hold values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import polars as pl

from sfumato.errors import InputError, SfumatoError, said_of
from sfumato.table.distinct import as_categories_where_few
from sfumato.table.sources.protocol import Family, Given, TableSource

_RELEASE = "release.json"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NUMBER, _DATE = r"^-?(0|[1-9][0-9]{0,17})$", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_HIDDEN = (".", "_")
"""How names of files begin that programs leave beside the parts of a table."""


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """One file: where it is, what messages call it, its columns, and what the names of its folders say."""

    path: Path
    label: str
    source: TableSource
    folders: Mapping[str, str]

    def said(self, name: str) -> str | None:
        """Return what the names of its folders say of a column; None where there is no value."""
        text = self.folders[name]
        return None if text == _NO_VALUE else text


@dataclass(frozen=True, eq=False, repr=False)
class SeveralFiles:
    """Files with the same columns, one below the other in the order of their names."""

    parts: tuple[Part, ...]
    names: tuple[str, ...]

    @property
    def is_text(self) -> bool:
        """Whether text may stand for numbers, as in the files."""
        return self.parts[0].source.is_text

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns of every part; ``InputError`` when one is damaged, or a column has types that differ."""
        stored = [name for name in names if name in self.parts[0].source.names]
        pieces: dict[str, list[pl.Series]] = {name: [] for name in names}
        for part in self.parts:
            with named_part(part.label):
                columns = part.source.read(stored)
            height = len(columns[0]) if columns else _height(part)
            for name, column in zip(stored, columns, strict=True):
                pieces[name].append(column)
            for name in pieces.keys() - {*stored}:
                pieces[name].append(pl.repeat(part.said(name), height, dtype=pl.String, eager=True))
        joined = [joined_column(name, pieces[name], self.parts) for name in names]
        typed = [column if column.name in stored else typed_by_name(column) for column in joined]
        return as_categories_where_few(typed)


def _height(part: Part) -> int:
    """Count the records of a part of which no column is read."""
    return len(part.source.read(part.source.names[:1])[0])


def joined_column(name: str, pieces: list[pl.Series], parts: Sequence[Part]) -> pl.Series:
    """Put the pieces of a column together: texts as text, numbers as numbers that hold those of all parts.

    Raises ``InputError`` when a part has another type than the others.
    """
    texts = [_as_text(piece) for piece in pieces]
    filled = [piece for piece in texts if piece.dtype != pl.Null] or texts
    kinds = {_kind(piece) for piece in filled}
    if len(kinds) > 1:
        first = _kind(filled[0])
        other = next(part.label for part, piece in zip(parts, texts, strict=True) if _differs(piece, first))
        raise InputError(
            f"column {name!r} is of another type in {other} than in {parts[0].label}; write all parts with one schema"
        )
    how: Literal["vertical", "vertical_relaxed"] = "vertical_relaxed" if filled[0].dtype.is_numeric() else "vertical"
    same = [piece if piece.dtype != pl.Null else piece.cast(filled[0].dtype) for piece in texts]
    return pl.concat([piece.rename(name).to_frame() for piece in same], how=how, rechunk=True).to_series()


def _differs(piece: pl.Series, kind: object) -> bool:
    return piece.dtype != pl.Null and _kind(piece) != kind


def _kind(piece: pl.Series) -> object:
    """Tell types apart that cannot stand in one column; numbers can."""
    return "number" if piece.dtype.is_numeric() and not isinstance(piece.dtype, pl.Decimal) else piece.dtype


def _as_text(piece: pl.Series) -> pl.Series:
    # Categories are numbered in each part by itself; an order that every part declares alike is kept.
    return piece.cast(pl.String) if isinstance(piece.dtype, pl.Categorical) else piece


def typed_by_name(column: pl.Series) -> pl.Series:
    """Read values off names of folders: whole numbers, dates or text."""
    known = column.drop_nulls()
    if len(known) and known.str.contains(_NUMBER).all():
        return column.cast(pl.Int64)
    if len(known) and known.str.contains(_DATE).all():
        days = column.str.to_date("%Y-%m-%d", strict=False)
        return days if days.null_count() == column.null_count() else column
    return column


def several_files(given: Given, paths: Sequence[Path], root: Path | None = None) -> TableSource:
    """Open files as one table; below `root` names such as ``year=2024`` hold values.

    Parts must have the same columns.
    """
    from sfumato.table.sources import open_source

    if not paths:
        raise InputError("there is no file of a table here; check the path or the pattern")
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise InputError("a file is named twice; every part must be there once")
    parts = []
    for path in paths:
        label = os.fspath(path.relative_to(root)) if root else path.name
        with named_part(label):
            source = open_source(path, given.layout, given.place)
        parts.append(Part(path, label, source, _of_folders(path, root)))
    stored, folders = parts[0].source.names, parts[0].folders
    for part in parts[1:]:
        if {*part.source.names} != {*stored} or part.folders.keys() != folders.keys():
            raise InputError(f"{part.label} has other columns than {parts[0].label}; all parts must have the same")
        if type(part.source) is not type(parts[0].source):
            raise InputError(f"{part.label} is of another format than {parts[0].label}; all parts must be of one")
    return SeveralFiles(tuple(parts), (*stored, *(name for name in folders if name not in stored)))


def _of_folders(path: Path, root: Path | None) -> dict[str, str]:
    if root is None:
        return {}
    matches = (_PARTITION.fullmatch(name) for name in path.relative_to(root).parts[:-1])
    return {unquote(match[1]): unquote(match[2]) for match in matches if match}


def files_of(path: Path) -> list[Path]:
    """Return the files of a table, in order: a file itself, those below a folder, those whose names fit a pattern."""
    if path.is_dir():
        return list(_files_below(path))
    if path.exists() or not has_magic(os.fspath(path)):
        return [path]
    return [Path(found) for found in sorted(glob(os.fspath(path), recursive=True)) if os.path.isfile(found)]


def _files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(_HIDDEN) and "=" not in part for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


@contextmanager
def named_part(label: str) -> Iterator[None]:
    """Put the name of a part before every problem with it."""
    try:
        yield
    except SfumatoError as error:
        raise said_of(label, error) from None
    except FileNotFoundError:
        raise InputError(f"{label}: there is no such file; check the path") from None


def _open_folder(given: Given) -> TableSource:
    if (given.file / _RELEASE).is_file():
        raise InputError("this is the folder of a release; give the path of the table in it")
    return several_files(given, files_of(given.file), given.file)


def _open_pattern(given: Given) -> TableSource:
    fixed = takewhile(lambda part: not has_magic(part), given.file.parts)
    return several_files(given, files_of(given.file), Path(*fixed))


def _open_list(given: Given) -> TableSource:
    assert isinstance(given.value, (list, tuple))
    return several_files(given, [Path(path) for path in given.value])


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(p, (str, os.PathLike)) for p in value)


def _of(test: Callable[[Given], bool], open_them: Callable[[Given], TableSource]) -> Family:
    # Every part refuses what means nothing to it.
    return Family(test, open_them, settings=frozenset({"sheet", "range", "codes", "hidden"}))


LIST = _of(lambda given: _is_list(given.value), _open_list)
FOLDER = _of(lambda given: given.path is not None and given.path.is_dir(), _open_folder)
PATTERN = _of(
    lambda given: given.path is not None and has_magic(os.fspath(given.path)) and not given.path.exists(), _open_pattern
)

"""Ratings as Netflix shipped them: a line ``FILM:``, then a line ``user,rating,date`` for each of its ratings."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.table.sources.frames import FrameSource, frame_source

PARTS = ("user", "issue", "rating")
TIME = "time"

_FIELDS = ("user", "rating", TIME)


def netflix_source(path: object) -> FrameSource:
    """Open a file of films and their ratings as columns ``user``, ``issue``, ``rating`` and ``time``.

    Parameters
    ----------
    path
        Of a text file, plain or gzip.

    Raises
    ------
    InputError
        When it cannot be read or has another layout; row numbers are line numbers here.
    """
    if not isinstance(path, (str, Path)):
        raise InputError("form 'netflix' reads a text file; give its path, or set form='long' for a frame")
    lines = _lines(Path(path))
    is_film = lines["rating"].is_null() & lines["user"].str.ends_with(":").fill_null(False)
    raise_all(InputError, _problems(lines, is_film))
    films = pl.Series("issue", lines["user"].str.strip_suffix(":")).set(~is_film, None).forward_fill()
    kept = lines.with_columns(films).filter(~is_film)
    return frame_source(kept.with_columns(pl.col(TIME).str.to_date("%Y-%m-%d", strict=False)))


def _lines(path: Path) -> pl.DataFrame:
    schema = dict.fromkeys(_FIELDS, pl.String)
    try:
        return pl.read_csv(path, has_header=False, schema=schema, quote_char=None, glob=False, missing_columns="insert")
    except FileNotFoundError:
        raise InputError("there is no such file; check the path") from None
    except (pl.exceptions.PolarsError, OSError):
        raise InputError("the file cannot be read as lines of user,rating,date; check that it is complete") from None


def _problems(lines: pl.DataFrame, is_film: pl.Series) -> list[str]:
    problems = []
    if not len(is_film) or not is_film[0]:
        problems.append("the first line is not a film (a number and a colon); set form='long' for a table of ratings")
    strange = lines["rating"].is_null() & ~is_film
    if strange.any():
        first = int(strange.arg_max() or 0) + 1
        problems.append(f"{strange.sum()} line(s) are neither a film nor user,rating,date, first line {first}")
    return problems

"""How a text file is laid out: separator, encoding, quotes, header."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sfumato.errors import InputError, raise_all


@dataclass(frozen=True)
class CsvFormat:
    """Layout of a CSV file.

    Parameters
    ----------
    separator
        One ASCII character between fields.
    encoding
        Any encoding that Python knows.
    quote
        One ASCII character around fields that hold separators or line ends; None if quotes are ordinary text.
    header
        Whether the first row holds the names of the columns.
    columns
        Names of the columns of a file without header.
    strip
        Whether blanks around a value are dropped.

    Raises
    ------
    InputError
        With every setting that cannot be used.
    """

    separator: str = ","
    encoding: str = "utf-8"
    quote: str | None = '"'
    header: bool = True
    columns: Sequence[str] | None = None
    strip: bool = True

    def __post_init__(self) -> None:
        """Check the settings against each other."""
        problems = []
        if not _is_mark(self.separator):
            problems.append("separator must be one ASCII character that is neither a letter, a digit nor a line end")
        if self.quote is not None and (not _is_mark(self.quote) or self.quote == self.separator):
            problems.append("quote must be one ASCII character other than the separator, or None")
        if not _is_encoding(self.encoding):
            problems.append("encoding must be the name of a text encoding, for example 'utf-8' or 'cp1252'")
        problems.extend(
            f"{what} must be True or False"
            for what, value in (("header", self.header), ("strip", self.strip))
            if not isinstance(value, bool)
        )
        if self.columns is not None:
            names = (self.columns,) if isinstance(self.columns, str) else self.columns
            if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
                raise InputError(*problems, "columns must be a list of column names")
            object.__setattr__(self, "columns", tuple(names))
        if self.header and self.columns is not None:
            problems.append(
                "columns is only for a file without header; add header=False (on the command line: --set "
                "source.header=false), or leave it out"
            )
        if not self.header and not self.columns:
            problems.append("a file without header needs columns, the names of its columns in order")
        raise_all(InputError, problems)


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0"


def _is_encoding(name: object) -> bool:
    try:
        return codecs.lookup(str(name))._is_text_encoding
    except (LookupError, ValueError):
        return False

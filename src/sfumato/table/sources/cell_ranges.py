"""Cells of a sheet as people write them: ``B3:H500``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.errors import InputError

_WRITTEN = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})?(?::\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})?)?")


@dataclass(frozen=True)
class CellRange:
    """A rectangle of cells, counted from 0; None leaves a side open.

    Attributes
    ----------
    left : int
    top : int or None
        None: the first row that is not empty.
    right, bottom : int or None
        The last column and row.
    """

    left: int = 0
    top: int | None = None
    right: int | None = None
    bottom: int | None = None

    @classmethod
    def of(cls, text: str) -> CellRange:
        """Read ``B3:H500``, ``B3:H``, ``B3`` or ``B:H``.

        Raises
        ------
        InputError
            When it is written in another way, or ends before it begins.
        """
        match = _WRITTEN.fullmatch(text.strip().upper())
        if match is None:
            raise InputError("range: is no range of cells; write it like B3:H500, B3:H or B3")
        left, top, right, bottom = match.groups()
        made = cls(column_number(left), _row(top), None if right is None else column_number(right), _row(bottom))
        if (made.right is not None and made.right < made.left) or (made.bottom is not None and _ends_early(made)):
            raise InputError("range: ends before it begins; write the upper left cell first, then the lower right one")
        return made

    def has(self, column: int, row: int) -> bool:
        """Tell whether a cell belongs to it."""
        return self.left <= column <= (column if self.right is None else self.right) and (self.top or 0) <= row <= (
            row if self.bottom is None else self.bottom
        )

    def meets(self, other: CellRange) -> bool:
        """Tell whether it has a cell in common with a closed rectangle."""
        assert other.right is not None
        assert other.bottom is not None
        beside = other.right < self.left or (self.right is not None and other.left > self.right)
        above = other.bottom < (self.top or 0) or (self.bottom is not None and (other.top or 0) > self.bottom)
        return not (beside or above)


def column_number(letters: str) -> int:
    """Return the number of a column, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def column_letters(number: int) -> str:
    """Return the letters of a column."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def cell_name(column: int, row: int) -> str:
    """Return what people call a cell."""
    return f"{column_letters(column)}{row + 1}"


def _row(text: str | None) -> int | None:
    return None if text is None else int(text) - 1


def _ends_early(cells: CellRange) -> bool:
    return cells.top is None or cells.bottom is None or cells.bottom < cells.top

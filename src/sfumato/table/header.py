"""The names of a source's columns: whether they are distinct, and which of them a message may show.

The first row of a file without header is a record, read as if it were names. What the schema does not name may then be
somebody's data.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sfumato.errors import InputError, SchemaError
from sfumato.table.schema import Schema

MOST_COLUMNS = 10_000
"""Wider sources are refused: they are transposed, or were read with the wrong separator."""

_MOST_LISTED = 50
_NEAR = 0.75
"""Likeness from which on a name counts as one that was mistyped. So alike, it is no secret of the table's."""
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories that no name may hold: control characters, lone surrogates, line and paragraph separators."""


@dataclass(frozen=True)
class Header:
    """The names of the columns of a source.

    Attributes
    ----------
    names : tuple of str
    shown : frozenset of str
        Those that a message may show; of the others it gives the column's number.
    """

    names: tuple[str, ...]
    shown: frozenset[str]

    def listed(self, positions: Sequence[int]) -> str:
        """Write the columns at some positions (from 0) for a message."""
        columns = ", ".join(map(self._column, positions[:_MOST_LISTED]))
        more = f" and {len(positions) - _MOST_LISTED} more" if len(positions) > _MOST_LISTED else ""
        is_hidden = any(self.names[position] not in self.shown for position in positions)
        hint = " (named by number, as the first row may be a record: is there a header?)" if is_hidden else ""
        return columns + more + hint

    def column(self, name: str) -> str:
        """Write one column for a message."""
        return f"column {name!r}" if name in self.shown else self.listed([self.names.index(name)])

    def where(self, is_meant: Callable[[str], object]) -> list[int]:
        """Return the positions of the given names."""
        return [position for position, name in enumerate(self.names) if is_meant(name)]

    def _column(self, position: int) -> str:
        name = self.names[position]
        return repr(name) if name in self.shown else f"column {position + 1}"


def checked_header(names: Sequence[str], schema: Schema, given: Collection[str] = ()) -> Header:
    """Refuse a source whose columns have ambiguous names, or that has none of the schema's.

    Parameters
    ----------
    names
        Of all columns, in order.
    schema
        Its names may be shown in messages. All others may be shown if `names` seems certain to be a header: if at least
        two, and more than half, of the schema's columns are among them.
    given
        Names that the caller gave, which may be shown too.

    Raises
    ------
    InputError
        When there are no columns or too many, or names that repeat, are blank, look like patterns or hold control
        characters.
    SchemaError
        When no column of the schema is there.
    """
    if not names:
        raise InputError("there are no columns")
    if len(names) > MOST_COLUMNS:
        raise InputError(f"there are {len(names)} columns, at most {MOST_COLUMNS} can be read; check the separator")
    wanted = schema.roles.keys()
    found = wanted & set(names)
    if not found:
        near = ", ".join(near_names(wanted, names))
        raise SchemaError(
            "no column of the schema is in the table; "
            + (
                f"{near}: correct the name(s)"
                if near
                else "check the separator, and the header (a file without one needs header=False, on the command line "
                "--no-header)"
            )
        )
    is_certain = len(found) > max(1, len(wanted) / 2)
    header = Header(tuple(names), frozenset(names) if is_certain else frozenset((*wanted, *given)))
    check_names(header)
    return header


def near_names(absent: Collection[str], names: Collection[str]) -> Iterator[str]:
    """Say for each absent name which of the table's names is nearly the same, if one is."""
    lowered = {name.strip().casefold(): name for name in names}
    for name in absent:
        near = get_close_matches(name.strip().casefold(), lowered, 1, cutoff=_NEAR)
        if near:
            yield f"{name!r} may be {lowered[near[0]]!r}"


def repeated(names: Sequence[str]) -> frozenset[str]:
    """Return the names that occur more than once."""
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def check_names(header: Header) -> None:
    """Refuse names that are ambiguous or cannot be shown.

    Raises
    ------
    InputError
        When names repeat, are blank, look like patterns or hold control characters.
    """
    several = header.where(repeated(header.names).__contains__)
    if several:
        raise InputError(f"several columns have the same name: {header.listed(several)}; rename them")
    blank = header.where(_is_blank)
    if blank:
        raise InputError(
            f"column name(s) that are empty or have blanks around them: {header.listed(blank)}; rename them"
        )
    controls = header.where(_has_controls)
    if controls:
        # By number throughout: such names cannot be read in a terminal.
        numbered = Header(header.names, frozenset()).listed(controls)
        raise InputError(f"column name(s) with control characters or line ends: {numbered}; rename them")
    # Polars takes such a name for a regular expression, wherever it stands.
    patterns = header.where(lambda name: name.startswith("^") and name.endswith("$"))
    if patterns:
        raise InputError(f"column name(s) that begin with ^ and end with $: {header.listed(patterns)}; rename them")


def _is_blank(name: str) -> bool:
    return not name or name != name.strip().removeprefix("\ufeff")


def _has_controls(name: str) -> bool:
    return not name.isprintable() and any(unicodedata.category(character) in _CONTROLS for character in name)

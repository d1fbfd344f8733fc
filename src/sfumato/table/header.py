"""The names of a source's columns: whether they are distinct, and which of them a message may show.

The first row of a file without header is a record, read as if it were names. What the schema does not name may then be
somebody's data.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import polars as pl
import polars.selectors as cs

from sfumato.errors import InputError, SchemaError, SfumatoError
from sfumato.table.schema import Role, Schema

# Columns by their exact names: polars takes ``*`` and ``^…$`` for patterns where it is given a text for a column.


def exactly(*names: str) -> pl.Expr:
    """Return the columns of these names, in this order, for any place where polars takes columns."""
    return cs.by_name(*names).as_expr()


def columns_of(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return the columns of these names, in this order."""
    return frame[list(names)]


# Gather what is wrong with several columns, so that one run reports everything.


MOST_COLUMNS = 10_000
"""Wider sources are refused: they are transposed, or were read with the wrong separator."""

_MOST_LISTED = 50
_ALIKE = 0.75
"""How much of a name must be like another one that may have been meant, as :mod:`difflib` counts it."""
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories that no name may hold: control characters, lone surrogates, line and paragraph separators."""


@dataclass(frozen=True)
class Header:
    """The names of the columns of a source."""

    names: tuple[str, ...]
    shown: frozenset[str]  # those that a message may show; of the others it gives the column's number
    # for names that are missing, one that is written much like it
    meant: Mapping[str, str] = field(default_factory=dict)

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

    def missing(self, names: Sequence[str]) -> str:
        """Write names that are not there, each with the one that was probably meant."""
        sentences = [
            f"{name!r} (did you mean {self.meant[name]!r}?)" if name in self.meant else repr(name)
            for name in names[:_MOST_LISTED]
        ]
        more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        return ", ".join(sentences) + more

    def where(self, is_meant: Callable[[str], object]) -> list[int]:
        """Return the positions of the given names."""
        return [position for position, name in enumerate(self.names) if is_meant(name)]

    def _column(self, position: int) -> str:
        name = self.names[position]
        return repr(name) if name in self.shown else f"column {position + 1}"


def checked_header(names: Sequence[str], schema: Schema, given: Collection[str] = ()) -> Header:
    """Refuse a source whose columns have ambiguous names, or that has none of the schema's.

    The schema's and given names may be shown in messages; others only if this is surely a header: two, and more than
    half, of the schema's columns are there.
    """
    if not names:
        raise InputError("there are no columns")
    if len(names) > MOST_COLUMNS:
        raise InputError(f"there are {len(names)} columns, at most {MOST_COLUMNS} can be read; check the separator")
    wanted = schema.roles.keys()
    found = wanted & set(names)
    nearest = nearest_names(sorted(wanted - found), [name for name in names if name not in found])
    # A name that differs in more than case and signs may be a cell of a record.
    same = {name: other for name, other in nearest.items() if _plain(name) == _plain(other)}
    is_certain = len(found) + len(same) > max(1, len(wanted) / 2) or (
        # One name that is written otherwise, among names and not among the values of a record.
        len(wanted) == len(same) == 1 and not any(map(_is_a_value, names))
    )
    nearest = nearest if is_certain else same
    header = Header(
        tuple(names), frozenset(names) if is_certain else frozenset((*wanted, *given, *nearest.values())), nearest
    )
    if not found:
        raise SchemaError(_nothing_found(header, tuple(wanted)))
    check_names(header)
    return header


def nearest_names(missing: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return for wanted names the one that differs in case and signs alone, else the one most alike, if any."""
    plain: dict[str, str] = {}
    for name in names[:MOST_COLUMNS]:
        plain.setdefault(_plain(name), name)
    found = {}
    for name in missing:
        written = _plain(name)
        alike = [written] if written in plain else get_close_matches(written, plain, 1, cutoff=_ALIKE)
        if written and alike:
            found[name] = plain[alike[0]]
    return found


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", name).casefold()))


def _is_a_value(name: str) -> bool:
    """Tell whether a field is rather a value than a name: it is blank, or has no letters."""
    return _is_blank(name) or not any(map(str.isalpha, name))


def _nothing_found(header: Header, missing: Sequence[str]) -> str:
    nothing = "no column of the schema is in the table"
    separators = [sign for sign in ";\t|," if sign in header.names[0]] if len(header.names) == 1 else []
    if separators:
        sign = "tab" if separators[0] == "\t" else separators[0]
        return (
            f"{nothing}; it has a single column, whose name holds a {sign!r}: check the separator (on the command line "
            f"--set source.separator={sign!r})"
        )
    if header.meant:
        return f"{nothing}: {header.missing(missing)}; available are {header.listed(range(len(header.names)))}"
    return (
        f"{nothing}, and none of its {len(header.names)} has a name like theirs; check the names, and the header. A "
        "file without one needs header=False and columns (--set source.header=false --set source.columns=NAMES)"
    )


def repeated(names: Sequence[str]) -> frozenset[str]:
    """Return the names that occur more than once."""
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def check_names(header: Header) -> None:
    """Refuse (``InputError``) names that repeat, are blank, look like patterns or hold control characters."""
    several = header.where(repeated(header.names).__contains__)
    if several:
        # What has digits or controls may be a cell, whatever the first names are.
        plain = frozenset(name for name in header.shown if name.isprintable() and not any(map(str.isdigit, name)))
        listed = replace(header, shown=plain).listed(several)
        raise InputError(f"several columns have the same name: {listed}; rename them")
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


# Match the names of a source with the schema: which columns are needed, and for what.


OF_PEOPLE = (Role.PERSON, Role.WISHED_K, Role.WISHED_L)
"""Roles of columns that are read and not published."""


@dataclass(frozen=True)
class RoleAssignment:
    """Columns that a table keeps, and what is wrong with the roles."""

    schema: Schema  # ``others="keep"`` columns have become insensitive
    passing: frozenset[str]  # insensitive columns to which nobody gave that role: those of ``others="keep"``
    # quasi-identifying, sensitive and insensitive columns that the source has, in its order; the columns of people and
    # of what they wish for last
    kept: tuple[str, ...]
    errors: tuple[SfumatoError, ...]  # missing columns and columns without a role


def missing_columns(names: Sequence[str], schema: Schema) -> Sequence[SfumatoError]:
    """Say which columns of a schema are not among the names of a source."""
    return assign_roles(checked_header(names, schema), replace(schema, others="drop")).errors


def assign_roles(header: Header, schema: Schema) -> RoleAssignment:
    """Give every column of a source its role, and note all that are missing or left over."""
    roles = schema.roles
    absent = [name for name in roles if name not in set(header.names)]
    others = header.where(lambda name: name not in roles)
    errors = []
    if absent:
        available = header.listed(range(len(header.names)))
        errors.append(SchemaError(f"missing column(s): {header.missing(absent)}; available are {available}"))
    if others and schema.others == "error":
        errors.append(
            SchemaError(
                f"column(s) without a role: {header.listed(others)}; give each a role, or decide for all of them: "
                "others='drop' or 'keep' (on the command line --others drop)"
            )
        )
    # After an error, only the schema's own columns are checked, because messages about them name the column.
    passing = tuple(header.names[index] for index in others) if schema.others == "keep" and not errors else ()
    if passing:
        schema = replace(schema, insensitive=(*schema.insensitive, *passing))
    removed = (Role.IDENTIFYING, *OF_PEOPLE)
    kept = tuple(name for name in header.names if schema.roles.get(name, Role.IDENTIFYING) not in removed)
    people = tuple(name for name in header.names if schema.roles.get(name) in OF_PEOPLE)
    return RoleAssignment(schema, frozenset(passing), (*kept, *people), tuple(errors))

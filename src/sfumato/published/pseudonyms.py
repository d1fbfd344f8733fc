"""The column of a published table that says which rows of a class are of one person, and what is promised of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import InputError

PERSON = "person_in_class"
"""The column that Sfumato writes."""
MOST_KNOWN = 3


@dataclass(frozen=True)
class Pseudonyms:
    """Numbers of people, each valid in one class.

    Attributes
    ----------
    column : str
        Holds them: whole numbers from 1 on, without gap in any class.
    known_values : int
        How many sensitive values of a person an attacker is thought to know, 1 to 3.
    fingerprint_k : int or None
        How many people of a class must have, at least, any `known_values` values of one attribute that somebody in it
        has. None: nothing is promised of that.
    """

    column: str = PERSON
    known_values: int = 1
    fingerprint_k: int | None = None

    def sentence(self) -> str:
        """Say what is promised of values, if anything is."""
        if self.fingerprint_k is None:
            return ""
        values = "every value" if self.known_values == 1 else f"any {self.known_values} values"
        verb = "is" if self.known_values == 1 else "are"
        return f"{values} of one attribute that somebody has {verb} had by {self.fingerprint_k:,} people of the class"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``release.json``."""
        promise = {} if self.fingerprint_k is None else {"fingerprint_k": self.fingerprint_k}
        return {"column": self.column, "known_values": self.known_values, **promise}

    @classmethod
    def read(cls, given: object) -> Pseudonyms | None:
        """Read what a release says; None where it says nothing.

        Raises
        ------
        InputError
            When it is none of this.
        """
        if given is None:
            return None
        if not isinstance(given, Mapping) or not {"column", "known_values"} <= {*given} <= _KEYS:
            raise InputError("generalized table: pseudonyms must name a column and how many values are known")
        column, known, least = given["column"], given["known_values"], given.get("fingerprint_k")
        in_range = _is_between(known, MOST_KNOWN) and (least is None or _is_between(least))
        if not isinstance(column, str) or not in_range:
            raise InputError("generalized table: pseudonyms name no column, or numbers that are out of range")
        return cls(column, known, least)


_KEYS = {"column", "known_values", "fingerprint_k"}


def _is_between(given: object, most: int = 2**31) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= most

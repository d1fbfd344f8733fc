"""Numbers as people write them: decimal commas, thousands separators, currency and percent signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import polars as pl

_BLANKS = "[ \u00a0\u202f\u2009]"
MARKS = {".": r"\.", ",": ",", " ": _BLANKS, "'": "['\u2019]"}
"""Marks between groups of digits and before fractions, and regular expressions of all that they are written as."""
_MINUS = "\u2212"


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written.

    Attributes
    ----------
    decimal : str
        ``"."`` or ``","``.
    thousands : str or None
        Between groups of three digits; numbers without groups fit as well.
    unit : str or None
        Before or after every number.
    """

    decimal: str = "."
    thousands: str | None = None
    unit: str | None = None

    @cached_property
    def _pattern(self) -> str:
        decimal = MARKS[self.decimal]
        whole = "[0-9]+"
        if self.thousands:
            whole = f"(?:[0-9]{{1,3}}(?:{MARKS[self.thousands]}[0-9]{{3}})+|[0-9]+)"
        return rf"^[+\-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:e[+\-]?[0-9]+)?$"

    def plain(self, texts: pl.Series) -> pl.Series:
        """Rewrite numbers with a decimal point and nothing else; null where a text is no number of this form."""
        bare = texts.str.to_lowercase().str.replace(_MINUS, "-", literal=True)
        if self.unit is not None:
            bare = _without_unit(bare, self.unit.lower())
        bare = bare.set(~bare.str.contains(self._pattern), None)
        if self.thousands:
            bare = bare.str.replace_all(MARKS[self.thousands], "")
        return bare if self.decimal == "." else bare.str.replace(",", ".", literal=True)


def _without_unit(texts: pl.Series, unit: str) -> pl.Series:
    """Drop a unit before or after, and the sign that may stand before it; null where there is none."""
    mark = re.escape(unit)
    before = texts.str.extract_groups(rf"^([+\-]?){_BLANKS}*{mark}{_BLANKS}*([+\-]?[0-9.,].*)$").struct.unnest()
    after = texts.str.extract(rf"^(.*[0-9.,]){_BLANKS}*{mark}$")
    joined = before.select(pl.concat_str(pl.nth(0), pl.nth(1))).to_series()
    return joined.zip_with(joined.is_not_null(), after)

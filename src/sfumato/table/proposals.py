"""Text that is meant as numbers or dates: in which forms all of it reads. Nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import polars as pl

from sfumato.table.date_forms import date_form
from sfumato.table.number_forms import MARKS
from sfumato.table.schema import Kind
from sfumato.table.texts import Way, way_of
from sfumato.table.written_forms import PLAIN, WrittenForm

_SAMPLE = 200
"""Texts that a form must fit before it is tried on all."""
_FIRST = 8
"""Texts of which a form of dates must fit one before its parts are read."""
_MOST_STRANGE = 0.2
"""Share of the distinct texts that may be no number or date where all others are."""
_FEW_STRANGE = 5
"""And how many distinct ones, at most."""
_FEWEST_ALIKE = 5
"""Distinct numbers or dates that a column has before a few other texts count as strays."""

_SIGNS = ("€", "$", "£", "¥", "%", "EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "zł", "kr", "Fr.")
_MEASURES = ("kg", "g", "mg", "km", "m", "cm", "mm", "l", "ml", "°C", "mmHg", "h", "min")
_UNITS = (*_SIGNS, *_MEASURES)
"""Units that a message may show: they stand in every value, and are known before any is read."""
_HAS_UNIT = r"^[^0-9]*[^0-9.,+\-\s]|[^0-9.,\s][^0-9]*$"
_NUMBER_LIKE = r"^[^0-9]{0,6}[0-9][0-9.,'’\s\u00a0\u202f\u2009]*(?:[eE][+\-]?[0-9]+)?[^0-9]{0,6}$"
_DATE_LIKE = (
    r"^[0-9]{1,4}[./\-, ].*[0-9]|^[0-9]{1,2}:[0-9]{2}|[0-9]\p{L}{3}[0-9]"
    r"|^\p{L}{3,9}\.? [0-9]{1,2},? [0-9]{4}|^[0-9]{8}[ T]"
)
_GROUPED = r"^[+\-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+$"
_UNGROUPED = r"^[+\-]?[0-9]{1,3}$"

_DAYS = (
    *(
        form.replace(".", mark)
        for mark in "./- "
        for form in ("dd.mm.yyyy", "mm.dd.yyyy", "yyyy.mm.dd", "dd.mm.yy", "mm.dd.yy")
    ),
    *(f"dd{mark}mon{mark}{year}" for mark in " -/." for year in ("yyyy", "yy")),
    *("dd. mon yyyy", "mon dd, yyyy", "mon dd yyyy", "ddmonyyyy", "yyyymmdd"),
)
_CLOCKS = ("hh:mm", "hh:mm:ss", "hh:mm am", "hh:mm:ss am", "hh:mmz", "hh:mm:ssz")
_DATES = (*_DAYS, *(f"{day} {clock}" for day in _DAYS for clock in _CLOCKS), *_CLOCKS[:4])


@dataclass(frozen=True)
class Proposal:
    """What may be declared of a column.

    Attributes
    ----------
    kind : Kind
    form : WrittenForm
    """

    kind: Kind
    form: WrittenForm

    @property
    def way(self) -> Way:
        """How values are read if it is declared."""
        return Way(self.kind, self.form.number, date_form(self.form.forms[0]) if self.form.forms else None)


def proposals(known: pl.Series, share: float = 1.0) -> list[Proposal]:
    """Find all forms in which every text, or a share of the distinct ones, reads as a number, a date or a time.

    Parameters
    ----------
    known
        String: the texts, each at least once, none of them missing.
    share
        Of the distinct texts that must fit, > 0.

    Notes
    -----
    Cost that of a sample for each form, and O(d) for those that fit it.
    """
    sample = known.head(_SAMPLE)
    found: list[Proposal] = []
    if len(sample) and _fits(sample.str.contains(_NUMBER_LIKE), share):
        found += _numbers(known, sample, share)
    if len(sample) and _fits(sample.str.contains(_DATE_LIKE), share):
        found += _dates(known, sample, share)
    return found


def grouped_thousands(known: pl.Series) -> bool:
    """Tell whether plain numbers such as 1.234 may as well be thousands: each point has groups of three digits."""
    if not _may_be_grouped(known.head(_SAMPLE)):
        return False
    return _may_be_grouped(known) and bool(known.str.contains(_GROUPED).any())


def strays(known: pl.Series) -> Proposal | None:
    """Find the form of a column in which all but a few texts are numbers or dates; None where there is none, or two."""
    if len(known) <= _FEWEST_ALIKE:
        return None
    share, sample = 1 - _MOST_STRANGE, known.head(_SAMPLE)
    usual = [Proposal(Kind.NUMERIC, PLAIN), Proposal(Kind.DATE, PLAIN)]
    likely = [proposal for proposal in usual if _fits(proposal.way.read(sample).is_not_null(), share)]
    likely += proposals(known, share)
    distinct = known.unique() if likely else known
    found = []
    for proposal in likely:
        strange = proposal.way.read(distinct).null_count()
        if 0 < strange <= _FEW_STRANGE and len(distinct) - strange >= _FEWEST_ALIKE:
            found.append((strange, proposal))
    fewest = min((strange for strange, _ in found), default=0)
    best = [proposal for strange, proposal in found if strange == fewest]
    return best[0] if len(best) == 1 and fewest <= _MOST_STRANGE * len(distinct) else None


def _may_be_grouped(texts: pl.Series) -> bool:
    return bool((texts.str.contains(_GROUPED) | texts.str.contains(_UNGROUPED)).all())


def _fits(fitting: pl.Series, share: float) -> bool:
    return bool(fitting.all()) if share == 1.0 else float(fitting.mean() or 0.0) >= share  # type: ignore[arg-type]


def _numbers(known: pl.Series, sample: pl.Series, share: float) -> Iterator[Proposal]:
    units = _UNITS if _fits(sample.str.contains(_HAS_UNIT), share) else (None,)
    marks = [mark for mark in MARKS if known.str.contains(MARKS[mark]).any()]
    if units == (None,) and not marks:
        return
    seen = set()
    for unit, decimal, thousands in product(units, [".", *({","} & {*marks})], [None, *marks]):
        if decimal == thousands:
            continue
        form = WrittenForm(decimal, thousands, unit)
        if not _reads(sample, form, share) or not _reads(known, form, share):
            continue
        used = _used(known, form)
        if used.is_numeric and used not in seen:
            seen.add(used)
            yield Proposal(Kind.NUMERIC, used)


def _reads(texts: pl.Series, form: WrittenForm, share: float) -> bool:
    plain = form.number.plain(texts)
    if share == 1.0:
        return not plain.has_nulls() and way_of(plain, PLAIN).kind is Kind.NUMERIC
    return _fits(plain.is_not_null(), share)


def _used(known: pl.Series, form: WrittenForm) -> WrittenForm:
    """Leave out what no value uses: a separator that never occurs need not be declared."""
    plain = form.number.plain(known)
    has_fraction = plain.str.contains(".", literal=True).any()
    ungrouped = WrittenForm(form.decimal, None, form.unit).number.plain(known)
    is_grouped = (ungrouped.is_null() & plain.is_not_null()).any()
    # Where thousands stand between blanks or apostrophes, a point is what it always is.
    needs_decimal = has_fraction and (form.decimal == "," or (is_grouped and form.thousands == ","))
    return WrittenForm(form.decimal if needs_decimal else None, form.thousands if is_grouped else None, form.unit)


def _dates(known: pl.Series, sample: pl.Series, share: float) -> Iterator[Proposal]:
    first = sample.head(_FIRST).to_list()
    for form in _DATES:
        date = date_form(form)
        if not any(date.fits(text) for text in first):
            continue
        if all(_fits(date.read(texts).is_not_null(), share) for texts in (sample, known)):
            yield Proposal(Kind.DATE if date.has_day else Kind.NUMERIC, WrittenForm(dates=form))

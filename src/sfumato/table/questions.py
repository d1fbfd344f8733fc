"""What a steward is asked about columns of text before anything is published: which kind, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date

import polars as pl

from sfumato.errors import InputError
from sfumato.table.date_forms import date_form
from sfumato.table.proposals import Proposal, grouped_thousands, proposals, strays
from sfumato.table.schema import Kind
from sfumato.table.texts import Parsed, Way
from sfumato.table.written_forms import PLAIN, WrittenForm

_FEWEST_CODES = 10
"""Distinct numbers of one length that a column has before they may be codes."""
_LONG_CODE = 5
"""Digits from which on numbers of one length are told of, whatever the name of the column."""
_SHORT_CODE = 3
_CODE_NAME = re.compile(
    r"zip|plz|postcode|postleit|postnr|postnummer|insee"
    r"|(^|[^a-z])(post|postal|cap|codes?|tract|fips|icd|ags|nr|no|id)([^a-z]|$)",
    re.IGNORECASE,
)
"""Names of columns whose numbers are codes."""
_DIGITS = r"^[0-9]+$"
_SAMPLE = 200
_DIGITS_OF_DAYS = 8
_FIRST_DAY, _LAST_DAY = date(1850, 1, 1), date(2100, 1, 1)


def question_of_text(
    name: str, parsed: Parsed, general: WrittenForm, mask: Callable[[Way], pl.Series]
) -> InputError | None:
    """Ask about a column of which no kind was declared.

    Parameters
    ----------
    name
        Of the column.
    parsed
        As it was read without being told more.
    general
        What was said about the whole file.
    mask
        Tells which records do not fit a way of reading; for the row of the first.
    """
    if parsed.kind is Kind.NUMERIC:
        is_plain = parsed.way == Way(Kind.NUMERIC) and general.decimal is None
        return _thousands(name, general) if is_plain and grouped_thousands(parsed.known) else None
    if parsed.kind is not Kind.CATEGORICAL or parsed.known.is_empty():
        return None
    if parsed.known.head(_SAMPLE).str.contains(_DIGITS).all() and parsed.known.str.contains(_DIGITS).all():
        has_zeros = parsed.known.str.contains("^0[0-9]").any()
        return _about_zeros(name) if has_zeros and parsed.known.str.len_bytes().n_unique() > 1 else None
    if found := proposals(parsed.known):
        return ask(name, found, general)
    stray = strays(parsed.known)
    return None if stray is None else _about_strays(name, stray, mask(stray.way), general)


def question_of_codes(name: str, known: pl.Series) -> InputError | None:
    """Ask about whole numbers of one length whose column is named as codes are, and about days of eight digits.

    Parameters
    ----------
    name
        Of a quasi-identifying column of which no kind was declared, and that was read as numbers.
    known
        Its texts.
    """
    length = digits_each(known)
    if length is None:
        return None
    if length == _DIGITS_OF_DAYS and _are_days(known):
        return InputError(
            f"column {name!r} holds numbers of eight digits that all read as dates; say what they are: dates (--dates "
            f"{name}=yyyymmdd), codes (--categorical {_quoted(name)}) or numbers (--numeric {_quoted(name)})"
        )
    if not _CODE_NAME.search(name):
        return None
    return InputError(
        f"column {name!r} holds whole numbers of {length} digits each; say what they are: codes, as zip codes are "
        f"(--categorical {_quoted(name)}), or numbers, published as ranges (--numeric {_quoted(name)}); in a policy "
        'kind = "categorical" or "numeric"'
    )


def remark_on_codes(name: str, known: pl.Series) -> str | None:
    """Tell of whole numbers of one length, five digits or more, that were read as numbers whatever their name."""
    length = digits_each(known)
    if length is None or length < _LONG_CODE:
        return None
    return (
        f"Column {name!r}: whole numbers of {length} digits each were read as numbers. If they are codes, declare "
        f"that: --categorical {_quoted(name)}."
    )


def digits_each(known: pl.Series) -> int | None:
    """Return the length, three or more, of whole numbers that all have it, if there are ten of them at least."""
    if (_one_length(known.head(_SAMPLE)) or 0) < _SHORT_CODE:
        return None
    length = _one_length(known)
    return None if length is None or known.n_unique() < _FEWEST_CODES else length


def _are_days(known: pl.Series) -> bool:
    days = date_form("yyyymmdd").read(known)
    return bool(not days.has_nulls() and ((days >= _FIRST_DAY) & (days < _LAST_DAY)).all())


def ask(name: str, found: Sequence[Proposal], general: WrittenForm) -> InputError:
    """Write the question for a column that reads as numbers or dates throughout: what to declare.

    Parameters
    ----------
    name
        Of the column.
    found
        One proposal, or several of which only the steward knows the right one.
    general
        What was said about the whole file: where that is not true of this column, the column alone is named.
    """
    kinds = " or ".join(dict.fromkeys(_what(proposal) for proposal in found))
    options = [option_words(name, proposal.form, general) for proposal in found]
    said = f"every value of column {name!r} reads as a {kinds}"
    if len(found) == 1:
        advice = f"; declare it: {options[0]} ({policy_words(name, found[0].form, general)})"
    else:
        forms = " and ".join(_spelled(proposal.form) for proposal in found)
        advice = f", as {forms}, and only you know which: {' or '.join(options)}"
    return InputError(f"{said}{advice}; or read it as text: --categorical {_quoted(name)}")


def option_words(name: str, form: WrittenForm, general: WrittenForm) -> str:
    """Write what to declare as options of the command line."""
    numbers, dates = (f"{name}=" if said else "" for said in (general.is_numeric, general.forms))
    words = [
        f"{option} {_quoted(place + value)}"
        for option, place, value in (
            ("--decimal", numbers, form.decimal),
            ("--thousands", numbers, form.thousands),
            ("--dates", dates, next(iter(form.forms), None)),
        )
        if value
    ]
    if form.unit:
        words.append(f"--unit {_quoted(f'{name}={form.unit}')}")
    return " ".join(words)


def policy_words(name: str, form: WrittenForm, general: WrittenForm) -> str:
    """Write what to declare as a policy does."""
    of_column = general.is_numeric if form.is_numeric else bool(general.forms)
    said = {"decimal": form.decimal, "thousands": form.thousands, "dates": next(iter(form.forms), None)}
    words = [f'{key} = "{value}"' for key, value in said.items() if value]
    place = f"of column {name!r}" if of_column or form.unit else "in [source]"
    if form.unit:
        words.append(f'unit = "{form.unit}"')
    return f"in a policy {' and '.join(words)} {place}"


def _thousands(name: str, general: WrittenForm) -> InputError:
    column = f"{name}=" if general.is_numeric else ""
    return InputError(
        f"column {name!r} holds numbers in which every point has three digits behind it; say what points are: marks "
        f"between thousands (--thousands {_quoted(column + '.')}) or before fractions (--decimal "
        f"{_quoted(column + '.')})"
    )


def _about_zeros(name: str) -> InputError:
    return InputError(
        f"column {name!r} holds whole numbers of several lengths, some with leading zeros; say what they are: numbers "
        f"(--numeric {_quoted(name)}), or codes (--categorical {_quoted(name)})"
    )


def _about_strays(name: str, stray: Proposal, strange: pl.Series, general: WrittenForm) -> InputError:
    count, row = int(strange.sum()), int(strange.arg_max() or 0) + 1
    written = f" (as {option_words(name, stray.form, general)} reads it)" if stray.form != PLAIN else ""
    return InputError(
        f"column {name!r} holds a {_what(stray)}{written} in all records but {count:,}, first in row {row}; correct "
        f"them, give their text with --missing, make such texts missing values (--strays-missing {_quoted(name)}; in a "
        f'policy strays = "missing" of the column), or keep all as text: --categorical {_quoted(name)}'
    )


def _what(proposal: Proposal) -> str:
    if proposal.kind is Kind.DATE:
        return "timestamp" if proposal.way.date is not None and proposal.way.date.has_clock else "date"
    return "time of day" if proposal.form.forms else "number"


def _spelled(form: WrittenForm) -> str:
    if form.forms:
        return form.forms[0]
    said = {"decimal": form.decimal, "thousands": form.thousands, "unit": form.unit}
    return "numbers with " + ", ".join(f"{what} {value!r}" for what, value in said.items() if value)


def _one_length(texts: pl.Series) -> int | None:
    """Return the length of texts that all have the same one and are digits throughout."""
    length = texts.str.len_bytes()
    first = length.min()
    if first is None or first != length.max() or not texts.str.contains(_DIGITS).all():
        return None
    return int(first)  # type: ignore[arg-type]


def _quoted(text: str) -> str:
    """Quote a text for a shell where it needs that."""
    if not set(text) & set(" '\"$%€&;()*?<>|\\`!#"):
        return text
    return f"'{text}'" if "'" not in text else f'"{text}"'

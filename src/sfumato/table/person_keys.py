"""Which keys are one person's: what is merged, what has to be asked, and the answers.

Merged without a question: Unicode's form C, white space at both ends, and plain decimals of one number (7, 7.0, "7").
Everything else that may be another spelling of a key is asked, counted by kind; no key is ever shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

import polars as pl

from sfumato.errors import InputError, SchemaError

Answer = Literal["exact", "fold"]

KINDS: Mapping[str, str] = {
    "invisible": "in characters that nobody sees",
    "forms": "in forms of letters and digits (full width, ligatures)",
    "capitals": "in capitals",
    "blanks": "in blanks inside",
    "zeros": "in leading zeros",
    "signs": "in a sign or an exponent",
}
"""Kinds of spellings that are asked, in the order in which they are folded, with what is said of them."""

_DECIMAL = re.compile(r"(-?(?:0|[1-9][0-9]*))\.([0-9]+)")
_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?")
_PLAIN = tuple(rf"\A(?:0|[1-9][0-9]*|[{case}][{case}0-9_:/-]*)\z" for case in ("a-z", "A-Z"))
_VARIATIONS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def read_key_form(form: str | None) -> dict[str, Answer]:
    """Read ``exact``, ``fold``, or answers for kinds alone, such as ``fold:capitals,exact:zeros``.

    Raises
    ------
    SchemaError
        When it is none of these.
    """
    answers: dict[str, Answer] = {}
    for part in [] if form is None else form.split(","):
        answer, _, kind = part.strip().partition(":")
        kinds = [kind] if kind else list(KINDS)
        if answer not in ("exact", "fold") or (kind and kind not in KINDS) or (":" in part and not kind):
            raise SchemaError(
                "key_form must be exact or fold, or either of them for kinds alone, such as "
                f"fold:capitals,exact:zeros; kinds are {', '.join(KINDS)}"
            )
        answers.update(dict.fromkeys(kinds, "fold" if answer == "fold" else "exact"))
    return answers


def whole_form(form: str | None) -> str:
    """Return a form that leaves nothing to ask: kinds that nobody has answered for are exact."""
    return "exact" if form is None else f"exact,{form}"


def person_keys(column: pl.Series, form: str | None, name: str | None = None) -> pl.Series:
    """Return keys as text in which those of one person are equal; null where there is none. Cost O(n).

    Raises
    ------
    InputError
        When keys differ only in spellings of a kind that nobody has answered for; says how many of each.
    """
    keys, distinct = _settled(column, form)
    if not _plain_only(distinct) and (asked := keys_asked(distinct.to_list(), form)):
        raise key_question(name or column.name, asked)
    return keys


def keys_with_buckets(column: pl.Series, form: str | None) -> tuple[pl.Series, pl.Series]:
    """Return keys as :func:`person_keys`, asking nothing; and texts that all keys share which would be asked about."""
    keys, distinct = _settled(column, form)
    answers = read_key_form(form)
    folds = [kind for kind in KINDS if answers.get(kind) != "exact"]
    return keys, _replaced(keys, distinct, [_folded(key, folds) for key in distinct])


def _settled(column: pl.Series, form: str | None) -> tuple[pl.Series, pl.Series]:
    """Return keys, merged and folded as was answered; and the different ones."""
    texts = _texts(column)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    answers = read_key_form(form)
    if _plain_only(distinct):
        # Capitals are the only thing to fold; other kinds change no such key.
        upper = answers.get("capitals") == "fold"
        return (texts.str.to_lowercase(), distinct.str.to_lowercase().unique()) if upper else (texts, distinct)
    chosen = [kind for kind in KINDS if answers.get(kind) == "fold"]
    new = [_folded(text, chosen) for text in distinct]
    return _replaced(texts, distinct, new), pl.Series(list(dict.fromkeys(new)), dtype=pl.String)


def _replaced(texts: pl.Series, distinct: pl.Series, new: list[str]) -> pl.Series:
    values = pl.Series(new, dtype=pl.String)
    return texts.replace_strict(distinct, values, default=None, return_dtype=pl.String)


def _plain_only(distinct: pl.Series) -> bool:
    """Tell whether no key can be a spelling of another: plain numbers, and ASCII names in letters of one case."""
    return any(bool(distinct.str.contains(pattern).all()) for pattern in _PLAIN)


def merged_key(text: str) -> str:
    """Return the text that stands for all spellings of a key that are one without a question."""
    text = unicodedata.normalize("NFC", text).strip()
    decimal = _DECIMAL.fullmatch(text)
    if decimal is None:
        return "0" if text == "-0" else text
    whole, fraction = decimal[1], decimal[2].rstrip("0")
    if fraction:
        return f"{whole}.{fraction}"
    return "0" if whole == "-0" else whole


def _texts(column: pl.Series) -> pl.Series:
    """Write numbers as plain decimals, without an exponent, and anything else as text."""
    if not column.dtype.is_float():
        return column.cast(pl.String)
    plain = [None if value is None or value != value else _plain(value) for value in column.to_list()]
    return pl.Series(column.name, plain, dtype=pl.String)


def _plain(value: float) -> str:
    text = repr(value)
    if value.is_integer():
        return str(int(value))
    return text if "e" not in text else f"{value:.400f}".rstrip("0")


def _folded(text: str, kinds: list[str]) -> str:
    """Fold kinds of spellings until nothing changes: one may uncover another."""
    text = merged_key(text)
    for _ in range(8):
        before = text
        for kind in kinds:
            text = _fold(text, kind)
        text = merged_key(text)
        if text == before:
            break
    return text


def _fold(text: str, kind: str) -> str:
    if kind == "invisible":
        seen = (sign for sign in text if unicodedata.category(sign) not in ("Cf", "Cc") or sign.isspace())
        return _VARIATIONS.sub("", "".join(seen))
    if kind == "forms":
        return unicodedata.normalize("NFKC", text)
    if kind == "capitals":
        return text.casefold()
    if kind == "blanks":
        return "".join(text.split())
    if kind == "zeros":
        return re.sub(r"^([+-]?)0+(?=[0-9])", r"\1", text)
    return _without_sign(text)


def _without_sign(text: str) -> str:
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    sign, whole, fraction, power = number[1], number[2], number[3] or "", int(number[4] or 0)
    if number[4] is not None:
        digits, point = whole + fraction, len(whole) + power
        digits = "0" * max(0, 1 - point) + digits.ljust(point, "0")
        point = max(point, 1)
        whole, fraction = digits[:point].lstrip("0") or "0", digits[point:]
    minus = "-" if sign == "-" and (whole + fraction).strip("0") else ""
    return f"{minus}{whole}.{fraction}" if fraction else f"{minus}{whole}"


def keys_asked(keys: list[str], form: str | None) -> dict[str, int]:
    """Count the keys that equal another once kinds without an answer are folded, by the kinds that tell them apart."""
    answers = read_key_form(form)
    open_kinds = [kind for kind in KINDS if kind not in answers]
    folds = [kind for kind in KINDS if answers.get(kind) != "exact"]
    if not open_kinds:
        return {}
    already = [kind for kind in folds if kind in answers]
    groups: dict[str, set[str]] = {}
    for key in keys:
        groups.setdefault(_folded(key, folds), set()).add(_folded(key, already))
    several = [sorted(group) for group in groups.values() if len(group) > 1]
    found: dict[str, int] = {}
    for kind in open_kinds:
        rest = [other for other in folds if other != kind]
        # Keys count under each kind without which some of them would stay apart.
        apart = (len(group) for group in several if len({_folded(key, rest) for key in group}) > 1)
        if number := sum(apart):
            found[kind] = number
    if several and not found:
        # Either of two kinds joins them, so that none is needed: both are named.
        found = {
            kind: number
            for kind in open_kinds
            if (number := sum(len(g) for g in several if len({_folded(k, [*already, kind]) for k in g}) < len(g)))
        }
    return found or (dict.fromkeys(open_kinds, sum(map(len, several))) if several else {})


def key_question(name: str, asked: Mapping[str, int]) -> InputError:
    """Return what is said of keys of which nobody has said whether they are the same person's."""
    counts = "; ".join(f"{number:,} differ from another only {KINDS[kind]} ({kind})" for kind, number in asked.items())
    one = next(iter(asked))
    return InputError(
        f"column {name!r}: keys may be other spellings of the same person's: {counts}. Say whether they are the same "
        f"person with --key-form fold, or different people with --key-form exact (key_form in Python, key-form in a "
        f"policy); or answer by kind, such as --key-form fold:{one}"
    )

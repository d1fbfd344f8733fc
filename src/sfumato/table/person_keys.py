"""Whose record it is: which keys are one person's, what is asked about them, and columns about people.

Merged without a question: Unicode's form C, white space at both ends, and plain decimals of one number (7, 7.0, "7").
Everything else that may be another spelling of a key is asked, counted by kind; no key is ever shown.

Several columns may make a key: two are one person's if every part is, each by this rule. A key without one of its parts
is missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError
from sfumato.table.distinct import distinct_of

Answer = Literal["exact", "fold"]
PersonKey = str | tuple[str, ...] | None
"""The column that says who a record is about, or several that do so together; None: there is none."""

KINDS: Mapping[str, str] = {
    "invisible": "in characters that nobody sees",
    "forms": "in forms of letters and digits (full width, ligatures, digits of other scripts)",
    "capitals": "in capitals",
    "blanks": "in blanks inside",
    "zeros": "in leading zeros",
    "signs": "in a sign, a dash or an exponent",
}
"""Kinds of spellings that are asked, in the order in which they are folded, with what is said of them."""

_DECIMAL = re.compile(r"(-?(?:0|[1-9][0-9]*))\.([0-9]+)")
_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?")
_PLAIN = tuple(rf"\A(?:0|[1-9][0-9]*|[{case}][{case}0-9_:/-]*)\z" for case in ("a-z", "A-Z"))
_PRINTABLE, _EXPONENT = r"\A[ -~]*\z", r"\A[0-9+. -]*[eE][0-9+. eE-]*\z"
"""Texts that are folded by columns: printable ASCII, but for what may be a number with an exponent."""
_VARIATIONS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_DASHES = dict.fromkeys(map(ord, "\u02d7\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u2796"), "-")
"""Minus signs, hyphens and dashes that are no form of ``-`` in NFKC."""
_PART, _ESCAPE = "\x1f", "\x1c"
"""What stands before each part of a key of several. Keys are without white space, which both are, at their ends: so no
key of one column begins with it."""


def read_key_form(form: str | None) -> dict[str, Answer]:
    """Read ``exact``, ``fold``, or answers such as ``fold:capitals,exact:zeros``; else ``SchemaError``."""
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


def key_columns(person: PersonKey) -> tuple[str, ...]:
    """Return the columns that make a key, in their order."""
    return () if person is None else (person,) if isinstance(person, str) else person


def as_person_key(names: Sequence[str]) -> PersonKey:
    """Return columns that make a key as a schema holds them: one by its name alone."""
    return tuple(names) if len(names) > 1 else names[0] if names else None


def named_key(person: PersonKey) -> str:
    """Write the column of a key, or its columns, for a message."""
    names = key_columns(person)
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def one_key(parts: Sequence[pl.Series]) -> pl.Series:
    """Return the columns of a key as one: itself, or a Struct of the parts, null where a part is missing. Cost O(n)."""
    if len(parts) == 1:
        return parts[0]
    there = pl.all_horizontal(pl.all().is_not_null())
    name = ", ".join(part.name for part in parts)
    return pl.DataFrame(list(parts)).select(pl.when(there).then(pl.struct(pl.all())).alias(name)).to_series()


def key_in(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return the key that columns of a table make, as :func:`one_key` does."""
    return one_key([frame[name] for name in names])


def columns_in(column: pl.Series) -> tuple[str, ...]:
    """Return the names of the columns that :func:`one_key` put together."""
    return tuple(column.struct.fields) if column.dtype == pl.Struct else (column.name,)


def whole_form(form: str | None) -> str:
    """Return a form that leaves nothing to ask: kinds that nobody has answered for are exact."""
    return "exact" if form is None else f"exact,{form}"


def person_keys(column: pl.Series, form: str | None, name: PersonKey = None) -> pl.Series:
    """Return keys as text in which those of one person are equal; null where there is none. Cost O(n).

    A key of several columns comes as :func:`one_key` puts it together, and becomes one text. Raises ``InputError`` when
    keys differ only in spellings of a kind that nobody has answered for; says how many of each.
    """
    keys, distinct = _in_one_form(column, form)
    if not plain_only(distinct) and (asked := keys_asked(distinct, form)):
        raise key_question(name or columns_in(column), asked)
    return keys


def spellings_asked(column: pl.Series, form: str | None) -> dict[str, int]:
    """Return what :func:`person_keys` asks: how many keys differ from another in a spelling alone, by kind."""
    _, distinct = _in_one_form(column, form)
    return {} if plain_only(distinct) else keys_asked(distinct, form)


def keys_with_buckets(column: pl.Series, form: str | None) -> tuple[pl.Series, pl.Series]:
    """Return keys as :func:`person_keys`, asking nothing; and texts that all keys share which would be asked about."""
    keys, distinct = _in_one_form(column, form)
    return keys, _replaced(keys, distinct, folded(distinct, kinds_that(form)[1]))


def kinds_that(form: str | None) -> tuple[list[str], list[str]]:
    """Return the kinds that are folded by an answer, and all that are or may still be."""
    answers = read_key_form(form)
    return (
        [kind for kind in KINDS if answers.get(kind) == "fold"],
        [kind for kind in KINDS if answers.get(kind) != "exact"],
    )


def keys_of_tables(columns: Sequence[pl.Series], form: str | None, name: PersonKey = None) -> list[pl.Series]:
    """Return keys of several tables as :func:`person_keys` those of one, in which those of one person are equal.

    Raises ``InputError`` as of :func:`person_keys`, also where keys of two tables are alike.
    """
    named = columns_in(columns[0])
    split = [column.struct.unnest().get_columns() if len(named) > 1 else [column] for column in columns]
    parts = [pl.concat([_texts(part) for part in of_all]) for of_all in zip(*split, strict=True)]
    keys = person_keys(one_key(parts), form, name or named)
    ends = np.cumsum([len(column) for column in columns]).tolist()
    return [keys.slice(end - len(column), len(column)) for end, column in zip(ends, columns, strict=True)]


def _in_one_form(column: pl.Series, form: str | None) -> tuple[pl.Series, pl.Series]:
    """Return keys, merged and folded as was answered; and the different ones."""
    if column.dtype == pl.Struct:
        parts = column.struct.unnest().get_columns()
        keys = _joined([_in_one_form(part, form)[0] for part in parts]).alias(column.name)
        return keys, keys.drop_nulls().unique(maintain_order=True)
    texts = _texts(column)
    distinct = texts.drop_nulls().unique(maintain_order=True)
    chosen = kinds_that(form)[0]
    if plain_only(distinct):
        # Capitals are the only thing to fold; other kinds change no such key.
        return (
            (texts.str.to_lowercase(), distinct.str.to_lowercase().unique())
            if "capitals" in chosen
            else (texts, distinct)
        )
    new = _folded_texts(distinct, chosen)
    return _replaced(texts, distinct, new), new.unique(maintain_order=True)


def _joined(parts: Sequence[pl.Series]) -> pl.Series:
    """Write the parts of keys as one text, from which :func:`_parts_of` takes them again; null where one is missing."""
    marked = pl.all()
    for sign, place in ((_ESCAPE, "0"), (_PART, "1")):
        marked = marked.str.replace_all(sign, _ESCAPE + place, literal=True)
    frame = pl.DataFrame([part.alias(str(place)) for place, part in enumerate(parts)])
    return frame.select(pl.concat_str(_PART + marked)).to_series()


def _parts_of(joined: pl.Series) -> list[pl.Series]:
    fields = joined.str.split(_PART)
    part = pl.element()
    for sign, place in ((_PART, "1"), (_ESCAPE, "0")):
        part = part.str.replace_all(_ESCAPE + place, sign, literal=True)
    found = pl.DataFrame({"parts": fields}).select(pl.col("parts").list.eval(part)).to_series()
    return [found.list.get(place) for place in range(1, len(found[0]))]


def _replaced(texts: pl.Series, distinct: pl.Series, new: pl.Series) -> pl.Series:
    if len(texts) == len(distinct):
        return new.alias(texts.name)
    return texts.replace_strict(distinct, new, default=None, return_dtype=pl.String)


def plain_only(distinct: pl.Series) -> bool:
    """Tell whether no key can be a spelling of another: plain numbers, and ASCII names in letters of one case."""
    return any(bool(distinct.str.contains(pattern).all()) for pattern in _PLAIN)


def folded(keys: pl.Series, kinds: Collection[str]) -> pl.Series:
    """Fold kinds of spellings of keys that are merged, of several parts one by one. Cost O(n)."""
    chosen = [kind for kind in KINDS if kind in kinds]
    if not keys.str.starts_with(_PART).any():
        return _folded_texts(keys, chosen)
    parts = []
    for part in _parts_of(keys):
        distinct = part.unique(maintain_order=True)
        parts.append(_replaced(part, distinct, _folded_texts(distinct, chosen)))
    return _joined(parts).alias(keys.name)


def _folded_texts(texts: pl.Series, chosen: list[str]) -> pl.Series:
    """Fold kinds of spellings, and merge what is one without a question. Cost O(n)."""
    simple = texts.str.contains(_PRINTABLE) & ~texts.str.contains(_EXPONENT)
    beyond = ~texts.str.contains(_PRINTABLE)
    if beyond.any():
        # None of them is a number.
        uneven = _uneven(texts.filter(beyond))
        simple |= beyond & ~texts.str.contains_any(uneven) if uneven else beyond
    if simple.all():
        return _folded_column(texts, chosen)
    others = (~simple).arg_true()
    one_by_one = pl.Series([_folded(text, chosen) for text in texts.gather(others)], dtype=pl.String)
    together = _folded_column(pl.select(pl.when(simple).then(texts)).to_series(), chosen)
    return together.scatter(others, one_by_one).alias(texts.name)


def _uneven(texts: pl.Series) -> list[str]:
    """Return the signs of texts that columns may not fold as Python does."""
    # All others are printable ASCII, or join with no other sign, are not invisible, a blank or a form of another; and
    # polars and Python write them small alike, by themselves. Both know Unicode by own tables, so that each is tried.
    signs = sorted(set("".join(texts.to_list())))
    small = pl.DataFrame({"sign": signs}, schema={"sign": pl.String}).select(_small(pl.col("sign")))["sign"].to_list()
    return [sign for sign, low in zip(signs, small, strict=True) if not _is_even(sign, low)]


def _is_even(sign: str, low: str) -> bool:
    if sign.isascii():
        return sign.isprintable()
    return sign.casefold() == low and all(each == "s" or _is_alone(each) for each in (sign, *low))


def _is_alone(sign: str) -> bool:
    return (
        "\x7f" < sign <= "\uffff"
        and sign.translate(_DIGITS).translate(_DASHES) == sign
        and unicodedata.category(sign)[0] in "LMNPS"
        # Marks of different classes change places; only those that join two consonants are of this one.
        and unicodedata.combining(sign) in (0, 9)
        and unicodedata.normalize("NFKC", sign) == sign
        and sign not in _joining()
        and bool(sign.translate(_UNSEEN))
    )


@cache
def _joining() -> frozenset[str]:
    """Return the letters and marks of Unicode's first plane that may become one with the sign before them."""
    parts = [unicodedata.decomposition(chr(code)) for code in range(0x10000)]
    seconds = {chr(int(part, 16)) for each in parts if not each.startswith("<") for part in each.split()[1:]}
    return frozenset(seconds | set(map(chr, (*range(0x1160, 0x1200), *range(0xD7B0, 0xD800)))))


def _folded_column(texts: pl.Series, kinds: list[str]) -> pl.Series:
    """Fold texts without :func:`_uneven` signs that are no numbers with an exponent as :func:`_folded` does."""
    key, step = pl.col("key"), pl.col("key")
    for kind in kinds:
        step = _COLUMN_FOLDS.get(kind, _unchanged)(step)
    found = pl.DataFrame({"key": texts}).select(_merged(key)).to_series()
    others, rows = found, pl.int_range(len(found), eager=True)
    for _ in range(8 if kinds else 0):
        new = pl.DataFrame({"key": others}).select(_merged(step)).to_series()
        changed = (new != others).fill_null(False)
        if not changed.any():
            break
        others, rows = new.filter(changed), rows.filter(changed)
        found = others if len(others) == len(found) else found.scatter(rows, others)
    return found.alias(texts.name)


def _merged(key: pl.Expr) -> pl.Expr:
    key = key.str.strip_chars(" ")
    decimal = key.str.contains(r"^-?(?:0|[1-9][0-9]*)\.[0-9]+$")
    whole = key.str.strip_chars_end("0").str.strip_chars_end(".")
    return pl.when(decimal).then(whole).otherwise(key).str.replace("^-0$", "0").alias("key")


def _small(key: pl.Expr) -> pl.Expr:
    """Fold capitals, with the two letters that have more than one small form, as :meth:`str.casefold` does."""
    return key.str.to_lowercase().str.replace_all("ß", "ss", literal=True).str.replace_all("ς", "σ", literal=True)


def _unchanged(key: pl.Expr) -> pl.Expr:
    return key


def _unsigned(key: pl.Expr) -> pl.Expr:
    without_plus = key.str.replace(r"^\+([0-9]+(?:\.[0-9]+)?)$", "$1")
    return without_plus.str.replace(r"^-(0+(?:\.0+)?)$", "$1")


_COLUMN_FOLDS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "capitals": _small,
    "blanks": lambda key: key.str.replace_all(" ", "", literal=True),
    "zeros": lambda key: key.str.replace("^([+-]?)0+([0-9])", "$1$2").str.replace(r"^([+-]?)\.([0-9])", "${1}0.${2}"),
    "signs": _unsigned,
}
"""What changes such texts; nothing in them is invisible or has another form."""


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


class _Unseen(dict[int, str]):
    """Signs as they stay where those that nobody sees are taken away; found out once for each sign."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        is_control = unicodedata.category(sign) in ("Cf", "Cc") and not sign.isspace()
        self[code] = "" if is_control or _VARIATIONS.match(sign) else sign
        return self[code]


_UNSEEN = _Unseen()


class _Digits(dict[int, str]):
    """Decimal digits of all scripts as those of ASCII; found out once for each sign."""

    def __missing__(self, code: int) -> str:
        digit = unicodedata.decimal(chr(code), None)
        self[code] = chr(code) if digit is None else str(digit)
        return self[code]


_DIGITS = _Digits({0x66B: "."})
"""With the point that Arabic digits have."""


def _fold(text: str, kind: str) -> str:
    if kind == "invisible":
        return text.translate(_UNSEEN)
    if kind == "forms":
        return unicodedata.normalize("NFKC", text).translate(_DIGITS)
    if kind == "capitals":
        return text.casefold()
    if kind == "blanks":
        return "".join(text.split())
    if kind == "zeros":
        text = re.sub(r"^([+-]?)0+(?=[0-9])", r"\1", text)
        return re.sub(r"^([+-]?)\.(?=[0-9])", r"\g<1>0.", text)
    return _without_sign(text.translate(_DASHES))


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


def keys_asked(keys: pl.Series, form: str | None) -> dict[str, int]:
    """Count, by kinds that tell them apart, the keys (folded as answered) that equal others once the rest is folded."""
    already, folds = kinds_that(form)
    if already == folds:
        return {}
    few = keys.filter(in_question(keys, folded(keys, folds)))
    return asked_by_kind(lambda kinds: folded(few, kinds), form) if len(few) else {}


def in_question(people: pl.Series, alike: pl.Series) -> pl.Series:
    """Tell which spellings are alike and of several people; Boolean (n,)."""
    frame = pl.DataFrame({"person": people, "alike": alike})
    return frame.select((pl.col("person").min() != pl.col("person").max()).over("alike")).to_series()


def asked_by_kind(spelled: Callable[[Collection[str]], pl.Series], form: str | None) -> dict[str, int]:
    """Count people alike once open kinds are folded, by what tells them apart; `spelled`: folded spellings."""
    already, folds = kinds_that(form)
    kinds = [kind for kind in folds if kind not in already]
    people = pl.DataFrame({"person": spelled(already), "alike": spelled(folds)})

    def apart(by: Collection[str]) -> pl.DataFrame:
        columns = pl.col("person").n_unique().over("alike"), pl.col("by").n_unique().over("alike").alias("parts")
        return people.with_columns(by=spelled(by)).unique("person").with_columns(columns[0].alias("size"), columns[1])

    # They count under each kind without which some of them would stay apart.
    needed = {kind: apart([fold for fold in folds if fold != kind]) for kind in kinds}
    found = {kind: number for kind, each in needed.items() if (number := each.filter(pl.col("parts") > 1).height)}
    if not found:
        # Either of two kinds joins them, so that none is needed: both are named.
        joins = {kind: apart([*already, kind]) for kind in kinds}
        joined = pl.col("parts") < pl.col("size")
        found = {kind: number for kind, each in joins.items() if (number := each.filter(joined).height)}
    return found or dict.fromkeys(kinds, people["person"].n_unique())


def key_question(name: PersonKey, asked: Mapping[str, int]) -> InputError:
    """Return what is said of keys of which nobody has said whether they are the same person's."""
    counts = "; ".join(f"{number:,} differ from another only {KINDS[kind]} ({kind})" for kind, number in asked.items())
    one = next(iter(asked))
    return InputError(
        f"{named_key(name)}: keys may be other spellings of the same person's: {counts}. Say whether they are the same "
        "person with key-form fold, or different people with key-form exact (--set columns.key-form=fold; of ratings "
        "--set ratings.key-form=fold, of sets and series --key-form fold; key_form in Python); or answer by kind, such "
        f"as fold:{one}"
    )


STEPS = (1, 2, 3, 5, 10, 20, 50, 100)
"""What classes promise to those who wish for a k of their own; above the last one, multiples of it."""
STEPS_OF_L = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
"""The same for an l, of which there are fewer: so as not to ask for more values than an attribute has."""
_NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.Float32, pl.Float64)
"""Types that are compared as numbers; everything else, longer numbers too, as text."""


def number_people(column: pl.Series) -> NDArray[np.int32]:
    """Give everybody a number, int32 (n,); who has no key is a person of its own. Cost O(n log n)."""
    distinct = distinct_of(compared(column))
    numbers = distinct.rank_of[distinct.raw]
    missing = numbers == len(distinct.values)
    # The missing value has the number after the last.
    people: NDArray[np.int32] = np.where(missing, numbers + np.cumsum(missing) - 1, numbers).astype(np.int32)
    return people


def compared(column: pl.Series) -> pl.Series:
    """Return keys as they are compared: numbers as numbers, 0.0 and -0.0 alike, everything else as text."""
    if not isinstance(column.dtype, _NUMBERS):
        return column.cast(pl.String)
    return column.fill_nan(None) + 0.0 if column.dtype.is_float() else column


def as_they_appear(people: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return numbers in the order in which people appear, which tell nothing of keys; int32 (n,). Cost O(n)."""
    rows = np.arange(len(people), dtype=np.int32)
    first = np.zeros(int(people.max(initial=-1)) + 1, dtype=np.int32)
    # Of several records of a person it is the last that is written which stays.
    first[people[::-1]] = rows[::-1]
    begins = first[people] == rows
    return (np.cumsum(begins, dtype=np.int32) - np.int32(1))[first[people]]


def read_wishes(column: pl.Series, what: str = "a k") -> NDArray[np.int64]:
    """Return the k, or l, that each record's person wishes for, int64 (n,); 1 where nothing is wished.

    Raises ``InputError``: counting the values that are no whole numbers of 1 or more, with the row of the first.
    """
    numbers, strange = numbers_wished(column)
    if strange.any():
        raise strange_wishes(column.name, int(strange.sum()), int(strange.arg_max() or 0), what)
    return numbers.fill_null(1.0).cast(pl.Int64).to_numpy()


def numbers_wished(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return wishes as floats, null where there is none; and which of them are no whole numbers of 1 or more."""
    numbers = column.cast(pl.Float64, strict=False)
    whole = ((numbers >= 1) & (numbers == numbers.floor()) & (numbers < 2**31)).fill_null(False)
    return numbers, column.is_not_null() & ~whole


def strange_wishes(name: str, records: int, first: int, what: str) -> InputError:
    """Return what is said of wishes that are no whole numbers: how many records have them, and the first, from 0."""
    return InputError(
        f"column {name!r}: {records:,} record(s) wish for {what} that is no whole number of 1 or "
        f"more, first in row {first + 1}; correct them, or leave them empty"
    )


def steps_of(wishes: NDArray[np.int64], steps: Sequence[int] = STEPS) -> NDArray[np.int64]:
    """Round wishes up to a step of `steps`, so that what a class promises tells little of what was wished."""
    places = np.minimum(np.searchsorted(steps, wishes), len(steps) - 1)
    return np.where(wishes > steps[-1], -(-wishes // steps[-1]) * steps[-1], np.array(steps, dtype=np.int64)[places])

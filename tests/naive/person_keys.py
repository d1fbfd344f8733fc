"""A plain twin of spellings of keys: each rule as it is told, sign by sign, nothing fast."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from decimal import Decimal

DASHES = {
    "MINUS SIGN", "HEAVY MINUS SIGN", "MODIFIER LETTER MINUS SIGN", "HYPHEN", "NON-BREAKING HYPHEN", "HYPHEN BULLET",
    "FIGURE DASH", "EN DASH", "EM DASH", "HORIZONTAL BAR",
}  # fmt: skip
FILLERS = {"COMBINING GRAPHEME JOINER", "KHMER VOWEL INHERENT AQ", "KHMER VOWEL INHERENT AA"}


def spelling(text: str, kinds: Collection[str]) -> str:
    """Fold kinds of spellings of a key until nothing changes."""
    text, before = merged(text), None
    while text != before:
        before = text
        for kind, fold in FOLDS.items():
            text = fold(text) if kind in kinds else text
        text = merged(text)
    return text


def merged(text: str) -> str:
    text = unicodedata.normalize("NFC", text).strip()
    minus, body = ("-", text[1:]) if text[:1] == "-" else ("", text)
    whole, point, fraction = body.partition(".")
    if not is_digits(whole) or (len(whole) > 1 and whole[0] == "0") or (point and not is_digits(fraction)):
        return text
    while fraction[-1:] == "0":
        fraction = fraction[:-1]
    return f"{minus}{whole}.{fraction}" if fraction else "0" if whole == "0" else minus + whole


def is_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def is_hidden(sign: str) -> bool:
    if sign.isspace():
        return False
    name = unicodedata.name(sign, "")
    return (
        unicodedata.category(sign) in ("Cf", "Cc")
        or "VARIATION SELECTOR" in name
        or ("HANGUL" in name and "FILLER" in name)
        or name in FILLERS
    )


def without_zeros(text: str) -> str:
    sign, body = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    while len(body) > 1 and body[0] == "0" and is_digits(body[1]):
        body = body[1:]
    return f"{sign}0{body}" if body[:1] == "." and is_digits(body[1:2]) else sign + body


def without_sign(text: str) -> str:
    text = "".join("-" if unicodedata.name(sign, "") in DASHES else sign for sign in text)
    amount, power, exponent = text.replace("E", "e").partition("e")
    unsigned = amount[1:] if amount[:1] in ("+", "-") else amount
    whole, point, fraction = unsigned.partition(".")
    digits = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if not is_digits(whole) or (point and not is_digits(fraction)) or (power and not is_digits(digits)):
        return text
    if len(digits) > 3:
        return text
    if power:
        return format(Decimal(text), "f") if Decimal(amount) else format(abs(Decimal(text)), "f")
    return amount if amount[:1] == "-" and Decimal(amount) else unsigned


FOLDS = {
    "invisible": lambda text: "".join(sign for sign in text if not is_hidden(sign)),
    "forms": lambda text: "".join(
        str(int(sign)) if sign.isdecimal() else "." if sign == "\u066b" else sign
        for sign in unicodedata.normalize("NFKC", text)
    ),
    "capitals": str.casefold,
    "blanks": lambda text: "".join(sign for sign in text if not sign.isspace()),
    "zeros": without_zeros,
    "signs": without_sign,
}

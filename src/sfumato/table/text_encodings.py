"""In which encoding a text seems to be, where it was read in another one."""

from __future__ import annotations

import codecs

from sfumato.errors import InputError

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_START = 400
_SINGLE_BYTES = ("cp1252", "cp850", "mac-roman")
"""Encodings of Western European files, the most usual first."""
_LETTERS = frozenset("äöüÄÖÜßéèêëàâçñóíáúôîûøåæœÉÀÈÇÑØÅÆ°€§²µ–’")


def is_utf8(encoding: str) -> bool:
    """Tell whether an encoding is UTF-8, or a part of it."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def refuse_utf16(start: bytes, encoding: str) -> None:
    """Refuse a text that is UTF-16 by its first bytes, where another encoding was given.

    Raises
    ------
    InputError
        Naming the encoding.
    """
    start = start[:_START]
    is_marked = start.startswith(_UTF_16)
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")) or not (is_marked or _has_nulls(start)):
        return
    order = "utf-16" if is_marked else "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    raise InputError(f"the file is UTF-16, not {encoding}: add --encoding {order}")


def refuse_utf8(content: bytes, encoding: str) -> None:
    """Refuse a text in UTF-8 where an encoding of single bytes was given, in which every letter would become two.

    Raises
    ------
    InputError
        Naming the encoding. No other text with letters beyond ASCII is UTF-8 by chance.
    """
    if content.isascii() or codecs.lookup(encoding).name.startswith(("utf-", "gb", "big5", "shift", "euc", "cp93")):
        return
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return
    raise InputError(f"the file is UTF-8, not {encoding}: leave --encoding out, or say utf-8")


def likely_encoding(content: bytes) -> str:
    """Name the encoding of single bytes in which most bytes beyond ASCII are letters of Western Europe."""
    high = bytes(byte for byte in content if byte > 127)
    return max(_SINGLE_BYTES, key=lambda name: sum(letter in _LETTERS for letter in high.decode(name, "replace")))


def _has_nulls(start: bytes) -> bool:
    """Tell whether every other byte is null, or nearly so."""
    return len(start) > 3 and 2 * max(start[0::2].count(0), start[1::2].count(0)) > 0.8 * len(start)

"""In which encoding a text seems to be: several candidates by its letters, and what is certain by its first bytes."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from sfumato.errors import InputError

_START = 4096
_SAMPLE = 1 << 16
"""Bytes of lines beyond ASCII by which encodings are rated."""
_CANDIDATES = 3
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_SHIFTED = b"\x1b$"
"""Begins a character of two bytes in Japanese mail."""
_LONELY = re.compile(r"(?<![^\W\d_])[^\W\d_a-zA-Z](?![^\W\d_])")
"""A letter beyond ASCII that is no part of a word."""
_HANGUL_SHIFT = b"\x1b$)C"
_ASCII_FORMS = (
    ("hz", re.compile(rb"~\{(?:[!-}][!-}])+~\}")),
    ("utf-7", re.compile(rb"[A-Za-z]\+A[OP][0-9A-Za-z]-")),
)
"""Encodings that write all letters with those of ASCII, and how that looks."""
_ENTITY = re.compile(
    rb"&(?:[A-Za-z]{1,2}(?:uml|acute|grave|circ|tilde|slash|cedil|caron|ring|lig)|#(?:[0-9]{3,5}|x[0-9A-Fa-f]{2,5}));"
)
_ESCAPED = re.compile(rb"\\u0[01][0-9a-fA-F]{2}|%C3%[89ABab][0-9A-Fa-f]|=C3=[89AB][0-9A-F]")
"""Letters as JSON, addresses and mails write them."""
_ASKED = re.compile(rb"(?<![/=&.?])\b[A-Za-z]{1,12}\?[a-z]{2,}\b(?!=)")
_FEWEST_ASKED = 5
"""Words with a question mark inside, from which on letters were lost."""
_LOST = "\ufffd".encode()
_OF_SIGNS = {**dict.fromkeys("°§²µ–¦", 0.6), **dict.fromkeys("€’“”„«»", 0.8)}
"""What signs count when a text is rated."""
_TWICE = ("cp1252", "cp1251", "latin1", "mac-roman")


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("sfumato.table.sources").joinpath("encodings.toml").read_text(encoding="utf-8"))


def is_utf8(encoding: str) -> bool:
    """Tell whether an encoding is UTF-8, or a part of it."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def wide_encoding(start: bytes) -> str | None:
    """Return UTF-16 or UTF-32 where the first bytes of a text are certainly that; None for everything else."""
    start = start[:_START]
    marked = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    if marked is not None or b"\0" not in start:
        return marked
    return next((name for name in _WIDE if _is_text(start[: len(start) // 4 * 4], name)), None)


def _is_text(start: bytes, encoding: str) -> bool:
    text = start.decode(encoding, "ignore")
    lines = text.replace("\r", "\n").replace("\t", "")
    return "\n" in lines and "\0" not in text and lines.replace("\n", "").isprintable()


def refuse_wide(start: bytes, encoding: str) -> None:
    """Refuse a text that is UTF-16 or UTF-32, where an encoding of bytes was given (``InputError``)."""
    found = None if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")) else wide_encoding(start)
    if found is not None:
        name = found[:6].upper()
        raise InputError(f"the file is {name}, not {encoding}: add --set source.encoding={found}")


def refuse_utf8(content: bytes, encoding: str) -> None:
    """Refuse a text in UTF-8 where an encoding of single bytes was given, in which every letter would become two.

    Raises ``InputError``: naming the encoding. No other text with letters beyond ASCII is UTF-8 by chance.
    """
    if content.isascii() or codecs.lookup(encoding).name.startswith(("utf-", "gb", "big5", "shift", "euc", "cp93")):
        return
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return
    raise InputError(f"the file is UTF-8, not {encoding}: leave source.encoding out, or say utf-8")


def refuse_twice(content: bytes) -> None:
    """Refuse UTF-8 in which all letters were read in another encoding, and written again (``InputError``)."""
    if _SHIFTED in content:
        raise InputError(f"the file {candidates_of(content)}")
    for encoding, form in _ASCII_FORMS:
        if form.search(content):
            raise InputError(
                f"letters of the file look like {encoding} (--set source.encoding={encoding}); if they are right as "
                "they are: --set source.encoding=utf-8-sig"
            )
    if _ENTITY.search(content) or _LOST in content:
        how = "stand as HTML writes them, such as &ouml;" if _LOST not in content else "were lost before (\ufffd)"
        raise InputError(
            f"letters of the file {how}; write the table again from where it came, or read it as it is: "
            "--set source.encoding=utf-8-sig"
        )
    is_json = content.lstrip(b"\x1e \r\n\t")[:1] in (b"{", b"[")
    is_escaped = _ESCAPED.search(content)
    if content.isascii() and not is_json and (is_escaped or len(_ASKED.findall(content)) >= _FEWEST_ASKED):
        how = "stand as JSON, addresses or mails write them" if is_escaped else "may have been lost (?)"
        raise InputError(
            f"letters of the file {how}; write the table again from where it came, or read it as it is: "
            "--set source.encoding=utf-8-sig"
        )
    strange = b"\n".join(_strange_lines(content))
    for encoding in _TWICE if strange else ():
        try:
            text = strange.decode("utf-8").encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        if not text.isascii():
            raise InputError(
                f"letters of the file were written twice, as UTF-8 that was taken for {encoding}; write the table "
                "again from where it came, or read it as it is with --set source.encoding=utf-8-sig"
            )


def candidates_of(content: bytes) -> str:
    """Write in which encodings a text may be, each with the option that chooses it.

    Raises ``InputError`` where some lines are UTF-8, and others are not.
    """
    lines = _strange_lines(content)
    named = [f"{name} (--set source.encoding={name})" for name in likely_encodings(lines)]
    single = named and named[0].partition(" ")[0] in _tables()["single"]
    # In Cyrillic and the like a short word may be UTF-8 by chance.
    whole = sum(map(_is_utf8_line, lines))
    if whole > (0.2 * len(lines) if single and not _is_western(named[0]) else 0) and (single or 3 * whole > len(lines)):
        raise InputError(
            f"the file holds two encodings: of {len(lines):,} lines with letters beyond ASCII that were looked at, "
            f"{whole:,} are UTF-8 and {len(lines) - whole:,} are not; write it again in one encoding"
        )
    return f"is not UTF-8; by its letters it is {', else '.join(named)}: look at the letters that come out"


def _is_western(named: str) -> bool:
    return _tables()["single"][named.partition(" ")[0]] in _LATIN


_FEWEST_LETTERS, _PLAIN, _MARGIN = 10, 0.9, 0.09
"""Letters beyond ASCII that tell an encoding, how well it rates at least, and how much better than all others."""


_NEVER_CERTAIN = ("iso-8859-16",)
"""In cp1250 the same bytes are the Romanian letters that were usual before."""


def certain_encoding(content: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8, where no other reads nearly as well; None: none is certain."""
    lines = _strange_lines(content)
    letters = sum(byte > 0x7F for line in lines for byte in line[:_SAMPLE])
    # In Cyrillic and the like a short word may be UTF-8 by chance.
    is_mixed = 50 * sum(map(_is_utf8_line, lines)) > len(lines)
    if letters < _FEWEST_LETTERS or is_mixed or _SHIFTED in content:
        return None
    (best, name), *others = _rated(lines)
    margin = max(_MARGIN, letters**-0.5)
    is_plain = best >= _PLAIN and all(best - rating >= margin for rating, _ in others)
    return name if is_plain and name not in _NEVER_CERTAIN and name not in _tables()["mainframe"] else None


def likely_encodings(lines: Iterable[bytes]) -> list[str]:
    """Return up to three encodings in which lines with letters beyond ASCII read best, and differently."""
    lines = [*lines]
    if any(_SHIFTED in line for line in lines):
        return ["iso2022_kr" if any(_HANGUL_SHIFT in line for line in lines) else "iso2022_jp"]
    names, singles = [name for _, name in _rated(lines)], _tables()["single"]
    scripts_of = {singles.get(name, _ALIKE[0]) for name in names[:_CANDIDATES]}
    # No word in Latin letters has four in a row that are beyond ASCII.
    is_foreign = scripts_of <= {*_LATIN} and any(map(_FOUR.search, lines))
    if is_foreign:
        # A letter that stands alone in every line tells as much as in one.
        words = dict.fromkeys(word for line in lines for word in _WORD.findall(line))
        names = [name for _, name in _rated([*words, b" "])]
    if is_foreign or scripts_of <= {*_ALIKE}:
        # Letters of these lie at the same bytes: the best of each script comes before a second one.
        scripts = dict.fromkeys(singles.get(name) for name in names)
        others = [script for script in scripts if (script not in _LATIN if is_foreign else script in _ALIKE)]
        best = [next(name for name in names if singles.get(name) == script) for script in others]
        names = list(dict.fromkeys([*(name for name in names[:_CANDIDATES] if name not in singles), *best, *names]))
    return names[:_CANDIDATES]


def _rated(lines: Sequence[bytes]) -> list[tuple[float, str]]:
    """Rate the encodings in which lines read differently, the best first."""
    sample = b"\n".join(lines)[:_SAMPLE].rpartition(b"\n")[0] or b"\n".join(lines)
    tables, rated = _tables(), list[tuple[float, str, str]]()
    singles = tables["mainframe"] if _is_of_a_mainframe(sample) else tables["single"]
    for name, script in singles.items():
        text = sample.decode(name, "replace")
        rated.append((max(_rate(text, letters) for letters in tables["languages"][script]), name, text))
    for name, spans in tables["double"].items() if singles is tables["single"] else ():
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        rated.append((_rate_double(text, name, spans), name, text))
    # Of encodings in which it reads alike, the most usual one, which stands first.
    found: dict[str, str] = {}
    for _, name, text in rated:
        found.setdefault(text, name)
    best: dict[str, float] = {}
    for rating, _, text in sorted(rated, key=lambda each: -each[0]):
        best.setdefault(text, rating)
    return [(rating, found[text]) for text, rating in best.items()]


_FOUR, _LATIN = re.compile(rb"[\x80-\xff]{4}"), ("western", "central", "turkish", "baltic", "nordic", "maltese")
_WORD = re.compile(rb"[^\s,;]*[\x80-\xff][^\s,;]*")
_ALIKE = ("cyrillic", "greek", "hebrew", "kazakh")


def _is_of_a_mainframe(sample: bytes) -> bool:
    """Tell whether a text is in EBCDIC: without line ends, blanks or commas of ASCII, nearly all digits and letters."""
    if any(mark in sample for mark in (b"\n", b"\r", b" ", b",", b";")):
        return False
    if 4 * sum(byte > 0x7F for byte in sample) < len(sample):
        return False
    texts = (sample.decode(name, "replace") for name in _tables()["mainframe"])
    return any(sum(map(_is_usual, text)) > 0.9 * len(text) for text in texts)


def _is_usual(letter: str) -> bool:
    return letter.isalnum() or (letter.isascii() and letter.isprintable()) or letter in "\n\x85"


def _rate(text: str, letters: str) -> float:
    """Rate a text by its letters beyond ASCII: those of a language count, signs and capitals inside of words do not."""
    common, _, rare = letters.partition(" ")
    weights = {**dict.fromkeys(rare, 1.0), **dict.fromkeys(common, 1.2)}
    if len(letters) > _OF_A_SCRIPT:
        step = 0.8 / len(letters)
        weights = {letter: 1.4 - step * rank for rank, letter in enumerate(common + rare)}
    strange = [letter for letter in text if letter > "\x7f"]
    worth = sum(weights.get(letter.lower(), _OF_SIGNS.get(letter, -1.0)) for letter in strange)
    # Words are seldom written in capitals alone.
    worth -= 0.1 * len(strange) if 2 * sum(map(str.isupper, strange)) > len(strange) else 0.0
    return (worth - 2 * _mixed(text) - len(_LONELY.findall(text))) / max(1, len(strange))


_OF_A_SCRIPT = 20
"""Letters from which on a language has a script of its own, and the frequent ones count more."""


def _mixed(text: str) -> int:
    """Count capitals behind small letters or between a capital and a small one, and letters of two scripts together."""
    pairs = [(one, other) for one, other in pairwise(text) if (one > "\x7f" or other > "\x7f")]
    inside = sum(two.isupper() and two > "\x7f" and one.isupper() and three.islower()
                 for one, two, three in zip(text, text[1:], text[2:], strict=False))  # fmt: skip
    return inside + sum(
        (one.islower() and other.isupper())
        or (one == "ς" and other.isalpha())
        or (one.isalpha() and other.isalpha() and (one > "\u024f") != (other > "\u024f"))
        for one, other in pairs
    )


def _rate_double(text: str, encoding: str, spans: list[list[int]]) -> float:
    strange = [letter for letter in text if letter > "\x7f"]
    worth = 0.0
    for letter in strange:
        code = letter.encode(encoding)
        usual = len(code) == 2 and any(first <= code[0] <= last for first, last in spans)
        worth += (1.1 if code[1] > 0xA0 or encoding in ("cp932", "big5") else -0.5) if usual else -0.5
    # Kana and Hangul are of one language alone.
    own = sum("\u3040" <= letter <= "\u30ff" or "\uac00" <= letter <= "\ud7a3" for letter in strange)
    return (worth + 0.2 * own - _mixed(text)) / max(1, len(strange))


def _strange_lines(content: bytes) -> list[bytes]:
    return [line for line in content.splitlines() if not line.isascii() or _SHIFTED in line]


def _is_utf8_line(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not line.isascii()

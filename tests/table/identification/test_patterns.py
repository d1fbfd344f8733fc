"""What values look like: for each pattern texts that fit, and texts that only resemble them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import polars as pl
import pytest

from sfumato.table.identification import (
    LIKE_DAYS,
    LIKE_NAMES,
    LIKE_RECORDS,
    MOST_LOOKED_AT,
    Pattern,
    Sort,
    sample_values,
    sort_by_values,
)

DRAW = Random(7)


def many(write: Callable[[], str], count: int = 60) -> list[str]:
    return sorted({write() for _ in range(count)})


def digits(count: int) -> str:
    return "".join(DRAW.choice("0123456789") for _ in range(count))


def letters(count: int) -> str:
    return "".join(DRAW.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))


def iban() -> str:
    account = digits(18)
    left = int("".join(str(int(letter, 36)) for letter in account + "DE00")) % 97
    return f"DE{98 - left:02d}{account}"


def card() -> str:
    body = "4" + digits(14)
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(body)]
    total = sum(sum(divmod(digit, 10)) for digit in doubled)
    return body + str(-total % 10)


POSITIVE: list[tuple[Sort, list[str]]] = [
    (Sort.MAIL, ["none", "unknown", "ask her husband, max.muster+x@example.co.uk"]),
    (Sort.MAIL, many(lambda: f"{letters(5).lower()}@example.org")),
    (Sort.LINKS, ["no", "see https://example.org/people/7", "yes"]),
    (Sort.LINKS, many(lambda: f"www.example.org/{digits(4)}")),
    (Sort.ACCOUNTS, many(iban)),
    (Sort.ACCOUNTS, ["GB82 WEST 1234 5698 7654 32", "DE89 3704 0044 0532 0130 00"]),
    (Sort.ACCOUNTS, many(card)),
    (Sort.SOCIAL, many(lambda: f"1{digits(2)}-1{digits(1)}-1{digits(3)}")),
    (Sort.SOCIAL, many(lambda: f"{digits(2)}{digits(6)}{letters(1)}{digits(3)}")),
    (Sort.SOCIAL, ["AB 12 34 56 C", "CE123456D"]),
    (Sort.INSURANCE, many(lambda: letters(1) + digits(9))),
    (Sort.ADDRESSES, many(lambda: ".".join(str(DRAW.randrange(256)) for _ in range(4)))),
    (Sort.ADDRESSES, ["2001:0db8:85a3:0000:0000:8a2e:0370:7334", "fe80:0:0::1"]),
    (Sort.DEVICES, many(lambda: ":".join(f"{DRAW.randrange(256):02x}" for _ in range(6)))),
    (Sort.CODES, many(lambda: f"{DRAW.getrandbits(128):032x}")),
    (Sort.CODES, ["123e4567-e89b-12d3-a456-426614174000"]),
    (Sort.VEHICLES, ["1HGCM82633A004352", "WVWZZZ1JZXW000001"]),
    (Sort.VEHICLES, many(lambda: f"{letters(2)}-{letters(2)} 1{digits(3)}")),
    (Sort.PICTURES, many(lambda: f"scan_{digits(4)}.JPG")),
    (Sort.COORDINATES, many(lambda: f"49.{digits(5)}, 8.{digits(5)}")),
    (Sort.COORDINATES, ["POINT(8.40365 49.00937)".replace(" ", ", ")]),
    (Sort.DATES, many(lambda: f"{DRAW.randrange(1, 29):02d}.{DRAW.randrange(1, 13):02d}.2024")),
    (Sort.DATES, many(lambda: f"{DRAW.randrange(1, 13)}/{DRAW.randrange(1, 29)}/2024")),
    (Sort.DATES, many(lambda: f"2024-{DRAW.randrange(1, 13):02d}-{DRAW.randrange(1, 29):02d} 14:30")),
    (Sort.TELEPHONES, many(lambda: f"+49 721 1{digits(6)}")),
    (Sort.TELEPHONES, many(lambda: f"0721/1{digits(6)}")),
    (Sort.TELEPHONES, many(lambda: f"({digits(3)}) {digits(3)}-{digits(4)}")),
    (Sort.POSTCODES, many(lambda: f"{digits(5)}-{digits(4)}")),
    (Sort.POSTCODES, many(lambda: f"0{digits(4)}")),
    (Sort.POSTCODES, many(lambda: f"{letters(2)}{digits(1)} {digits(1)}{letters(2)}")),
    (Sort.FREE_TEXT, many(lambda: f"Mrs {letters(6)} called again from home about her leg")),
]

NEGATIVE: dict[str, list[str]] = {
    "wages": many(lambda: f"{DRAW.randrange(9000, 150000)}"),
    "wages with cents": many(lambda: f"{DRAW.randrange(9000, 150000)}.{digits(2)}"),
    "wages of a German table": many(lambda: f"{DRAW.randrange(10, 150)}.{digits(3)},{digits(2)}"),
    "wages of an English table": many(lambda: f"{DRAW.randrange(10, 150)},{digits(3)}.{digits(2)}"),
    "thousands in groups": many(lambda: f"{DRAW.randrange(10, 99)}.{digits(3)}.{digits(3)}"),
    "negative amounts": many(lambda: f"-{DRAW.randrange(9000, 150000)}.{digits(2)}"),
    "rates": many(lambda: f"0.{digits(6)}"),
    "years": [str(year) for year in range(1920, 2020)],
    "versions": many(lambda: f"{digits(1)}.{digits(2)}.{digits(1)}"),
    "times of day": many(lambda: f"{DRAW.randrange(24):02d}:{DRAW.randrange(60):02d}:{DRAW.randrange(60):02d}"),
    "ages": [f"{low}-{low + 4}" for low in range(0, 100, 5)],
    "ranges": many(lambda: f"[{digits(3)}..{digits(4)}]"),
    "diseases (ICD-10)": many(lambda: f"{letters(1)}{digits(2)}.{digits(1)}"),
    "diseases (ICD-10-CM)": many(lambda: f"{letters(1)}{digits(2)}{letters(1)}{digits(2)}{letters(1)}"),
    "diseases (ICD-9)": many(lambda: f"{digits(3)}.{digits(2)}"),
    "medicines (ATC)": many(lambda: f"{letters(1)}{digits(2)}{letters(2)}{digits(2)}"),
    "occupations": ["Exec-managerial", "Handlers-cleaners", "Prof-specialty", "Never worked", "Self-emp-not-inc"],
    "answers": ["agree", "neither agree nor disagree", "disagree", "strongly disagree", "does not want to say"],
    "branches": [f"{letters(4).title()} and {letters(5).lower()}" for _ in range(60)],
    "mentions": ["at home @ night", "user@", "@work", "5 @ 3"],
    "almost accounts": many(lambda: "DE" + digits(20))[:1],
    "colours": many(lambda: f"#{DRAW.getrandbits(24):06x}"),
    "five digits without a leading zero": many(lambda: f"{DRAW.randrange(10000, 99999)}"),
    "nothing": [],
}  # fmt: skip
NEGATIVE["almost accounts"] = ["DE00370400440532013000", "GB83 WEST 1234 5698 7654 32"]


@pytest.mark.parametrize(("sort", "texts"), POSITIVE)
def test_what_values_look_like(sort: Sort, texts: list[str]) -> None:
    assert sort_by_values(pl.Series(texts, dtype=pl.String)) is sort


@pytest.mark.parametrize("what", NEGATIVE)
def test_values_that_only_resemble_identifiers(what: str) -> None:
    assert sort_by_values(pl.Series(NEGATIVE[what], dtype=pl.String)) is None


def test_blanks_around_values_and_the_order_of_values_do_not_count() -> None:
    texts = [f" a{i}@b.de " for i in range(30)] + [f"word{i}" for i in range(100)]
    assert sort_by_values(pl.Series(texts)) is sort_by_values(pl.Series(texts[::-1])) is Sort.MAIL


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        (LIKE_NAMES, ["Ada Abel", "Ben B. Bruck", "Owen-Lee McDonald", "Müller, Hans", "Dr. Eva Kern"],
         ["Never worked", "New york city", "ulcer", "12 Main", "A1 B2"]),
        (LIKE_RECORDS, ["MRN-0012345", "P123456", "2024/00123", "KH 9912345"],
         ["J45.0", "A10BA02", "E11", "12345", "C4"]),
        (LIKE_DAYS, ["20240131", "19560229"], ["20241301", "20240132", "12345678", "2024013"]),
    ],
)  # fmt: skip
def test_weak_signs(pattern: Pattern, fitting: list[str], others: list[str]) -> None:
    one = Pattern(pattern.sort, pattern.expression, pattern.share, least=1)
    assert all(one.fits(pl.Series([text])) for text in fitting)
    assert not any(one.fits(pl.Series([text])) for text in others)


def test_of_many_texts_some_are_looked_at_whatever_their_order() -> None:
    texts = pl.Series([f"text {number}" for number in range(5 * MOST_LOOKED_AT)])
    chosen = sample_values(texts)
    assert MOST_LOOKED_AT / 2 < len(chosen) < 2 * MOST_LOOKED_AT
    assert set(sample_values(texts.reverse())) == set(chosen)


def test_a_share_of_the_texts_is_enough_for_numbers_of_insurance() -> None:
    strange = pl.Series([f"12{number:06d}A001" for number in range(10)] + [f"word {number}" for number in range(60)])
    assert sort_by_values(strange) is None
    assert sort_by_values(strange.head(40)) is Sort.SOCIAL

"""Values that are not what they seem: marks of a missing value, sentinels, spellings, two units, what programs left."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.findings.meaning import Values
from sfumato.findings.words import names_of, values_that_mean
from sfumato.numbers import month_numbers
from sfumato.table.columns import folded_label
from sfumato.table.identification import name_in_words
from sfumato.table.written_forms import A_DAY

# Texts that stand for a missing value.


@dataclass(frozen=True)
class Mark:
    """A value that seems to stand for a missing one, and whether that is plain."""

    value: str
    records: int
    sure: bool


def missing_marks(texts: pl.Series, counts: NDArray[np.int64], *, numeric: bool) -> list[Mark]:
    """Find texts that stand for a missing value among distinct ones.

    `texts`: string (d,): distinct. `counts`: int64 (d,): records that have each. `numeric`: whether all texts but such
    marks are numbers or dates: then a word among them can be nothing else.
    """
    found, marks = [], values_that_mean("missing")
    # What begins with a digit marks nothing.
    every, odd = texts, ~texts.str.contains(r"^[+-]?[0-9]")
    texts, counts = texts.filter(odd), counts[odd.to_numpy()]
    plainly = texts.str.normalize("NFKC").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    likely = plainly.is_in(["", *marks]).to_numpy()
    for text, count in zip(texts.filter(likely).to_list(), counts[likely].tolist(), strict=True):
        plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        if plain == "" or plain in marks:
            sure = numeric or plain not in values_that_mean("maybe_missing")
            if sure or not _has_company(plain, every):
                found.append(Mark(text, count, sure))
    return found


def _has_company(plain: str, texts: pl.Series) -> bool:
    """Tell whether other labels are as short as a mark, so that it may be one of them: X beside Y and Z."""
    return len(plain) <= 2 and bool((texts.str.len_chars() <= 2).sum() >= 3)


# Numbers that stand for a missing value.


_NEGATIVE = {-1, -2, -3, -4, -5, -6, -7, -8, -9, -66, -77, -88, -99, -666, -777, -888, -999, -9999, -99999, -1000}
_STEPS, _ALONE, _GAP = 3, 5, 0.75
# Usual steps that lie between a sentinel and the other values, ranges of theirs where they are few, and below zero.


def sentinels(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> list[int]:
    """Return the places of numbers that seem to stand for a missing value, such as 999, 99 or -9.

    A negative one counts where all other values are zero or more; zero, or one of nines or eights, where a gap parts it
    from all others. Rising numbers (d,); cost O(d).
    """
    if len(numbers) < 3:
        return []
    found = []
    rest = numbers >= 0
    if rest.sum() >= 2:
        negative = np.flatnonzero(~rest)
        # A -1 beside 0 and 1 may be a step of a scale.
        is_scale = len(numbers) <= 7 and numbers[~rest].min(initial=0) >= -3
        if 0 < len(negative) <= 4 and not is_scale and all(float(one) in _NEGATIVE for one in numbers[~rest]):
            found += negative.tolist()
    usual = np.flatnonzero(rest if found else np.ones(len(numbers), dtype=bool))
    # A weight of 0 beside weights of 50 to 110.
    if (
        len(usual) > 10
        and numbers[usual[0]] == 0
        and numbers[usual[1]] >= _GAP * (numbers[usual[-1]] - numbers[usual[1]])
    ):
        found.append(int(usual[0]))
        usual = usual[1:]
    while len(usual) >= 3 and _stands_alone(numbers, usual, counts):
        found.append(int(usual[-1]))
        usual = usual[:-1]
    return sorted(found)


def _stands_alone(numbers: NDArray[np.float64], usual: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Tell whether the highest number is one of nines, eights or sevens, far above all others."""
    top, below = numbers[usual[-1]], numbers[usual[-2]]
    digits = f"{top:.0f}"
    if top != round(top) or len(digits) < 2 or not re.fullmatch(r"9+|8+|7+|9+[6-8]", digits):
        return False
    if len(digits) == 2 and below > 60:
        return False  # an age of 88 or 99
    body = numbers[usual[:-1]]
    spread = body[-1] - body[0]
    gap = top - below
    if len(body) == 1:
        return False
    steps = np.diff(body)
    usual_step = float(np.median(steps)) if len(steps) else 1.0
    return bool(gap >= max(_STEPS * usual_step, 2, spread) and (len(body) >= 5 or gap >= _ALONE * spread))


# Spellings of one label.


@dataclass(frozen=True)
class Variants:
    """Labels that differ from another one in capitals, blanks, invisible characters or forms of letters alone."""

    groups: tuple[tuple[str, ...], ...]
    records: int

    @property
    def labels(self) -> int:
        """Labels that are a spelling of another one."""
        return sum(map(len, self.groups))


def spelling_variants(texts: Sequence[str], counts: NDArray[np.int64]) -> Variants | None:
    """Find distinct labels that are spellings of one; None where there are none. Cost O(bytes)."""
    groups: dict[str, list[int]] = {}
    for place in _much_alike(pl.Series(texts, dtype=pl.String)):
        groups.setdefault(folded_label(texts[place]), []).append(place)
    several = [places for places in groups.values() if len(places) > 1]
    if not several:
        return None
    records = sum(int(counts[places].sum() - counts[places].max()) for places in several)
    return Variants(tuple(tuple(texts[place] for place in places) for places in several), records)


def _much_alike(texts: pl.Series) -> list[int]:
    """Return the places of texts whose letters and digits another one has, too: no others can be spellings of one."""
    letters = texts.str.normalize("NFKC").str.to_lowercase().str.replace_many(["ß", "ς"], ["ss", "σ"])
    alike = letters.str.replace_all(r"[^\p{L}\p{N}\p{M}]", "").is_duplicated()
    return alike.arg_true().to_list()


# Numbers that decide a range alone.


FARTHEST = 0.001
"""Share of the records whose farthest values may not decide a range."""
DECIDES = 2.0
"""Times the range without them that the whole range is, from which on they decide it."""


def farthest_decide(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, float] | None:
    """Count the records with the farthest values, and say how many times they widen the range; None if they do not.

    At most a thousandth of the records, at least one, from both ends. Rising numbers (d,); cost O(d).
    """
    total = int(counts.sum())
    most = max(1, int(FARTHEST * total))
    if total < 20 or len(numbers) < 5:
        return None
    low, high, left = 0, len(numbers) - 1, most
    while low < high:
        at_low, at_high = numbers[low + 1] - numbers[low], numbers[high] - numbers[high - 1]
        take_low = at_low > at_high
        count = int(counts[low if take_low else high])
        if count > left:
            break
        left -= count
        low, high = (low + 1, high) if take_low else (low, high - 1)
    inner = numbers[high] - numbers[low]
    whole = numbers[-1] - numbers[0]
    if left == most or inner <= 0 or whole < DECIDES * inner:
        return None
    return most - left, float(whole / inner)


# Labels that say the same in other words, and labels that a letter parts from a frequent one.


_MOST_LABELS, _MOST_SPELLINGS = 12, 60
_FEWEST_LETTERS, _MOST_MISTYPED, _OFTEN = 5, 0.1, 10
# Letters of a label that may be mistyped, its records beside those of the right one, and how many these are.
_MOST_TRIED = 3_000


def same_words(texts: Sequence[str]) -> int:
    """Count labels that say what another one says: *y* beside *yes*, *male* beside *m*. Distinct labels; cost O(d)."""
    # Of many labels, few could be left by folding them, which takes long.
    folded = {folded_label(text) for text in texts[: _MOST_SPELLINGS + 1]}
    if len(texts) > _MOST_SPELLINGS or not 3 <= len(folded) <= _MOST_LABELS:
        return 0
    for pair in (("yes", "no"), ("female", "male")):
        sides = [folded & values_that_mean(side) for side in pair]
        others = folded - sides[0] - sides[1]
        # Letters alone may be codes; beside numbers, or a word of theirs, they are not.
        words = any(len(text) > 1 for text in sides[0] | sides[1]) or (folded & {"0", "1"} and not others)
        if all(sides) and words and len(others) <= 2:
            return sum(len(side) - 1 for side in sides)
    return 0


def mistyped(texts: Sequence[str], counts: NDArray[np.int64]) -> int:
    """Count the records with a rare label that differs by one letter from a frequent one. Cost O(bytes · letters)."""
    if not 3 <= len(texts) <= _MOST_TRIED:
        return 0
    shortened: dict[str, set[int]] = {}
    for place, text in enumerate(texts):
        if len(text) >= _FEWEST_LETTERS and not re.search(r"\d", text):
            small = text.casefold()
            for each in {small, *(small[:at] + small[at + 1 :] for at in range(1, len(small)))}:
                shortened.setdefault(each, set()).add(place)
    rare = set[int]()
    for places in shortened.values():
        most = max(places, key=lambda place: int(counts[place]))
        if int(counts[most]) >= _OFTEN:
            few = [place for place in places if counts[place] <= _MOST_MISTYPED * counts[most]]
            rare |= {place for place in few if folded_label(texts[place]) != folded_label(texts[most])}
    return int(counts[sorted(rare)].sum())


# Numbers of two units, below zero, or too long.


_FACTORS = (2.54, 3.2808, 12, 30.48, 2.2046, 28.35, 1.609, 10, 60, 100, 1000, 18.02, 38.67, 88.4, 4.184)
# What parts usual units: inches, feet, pounds, ounces, miles, tenths, minutes, percents, and units of blood values.
_NEAR, _APART, _LEAST = 0.12, 0.15, 0.02


def of_two_units(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, int] | None:
    """Count the records of two groups of numbers that lie apart as numbers of two units do. Rising (d,); cost O(d)."""
    total = int(counts.sum())
    if len(numbers) < 10 or total < 20 or numbers[0] <= 0:
        return None
    logs = np.log(numbers)
    cut = int(np.argmax(np.diff(logs))) + 1
    below, above = int(counts[:cut].sum()), int(counts[cut:].sum())
    gap = logs[cut] - logs[cut - 1]
    ranges = logs[cut - 1] - logs[0], logs[-1] - logs[cut]
    if min(below, above) < max(4, _LEAST * total) or min(cut, len(numbers) - cut) < 3:
        return None
    if gap < max(_APART, *ranges):
        return None
    low, high = (_median(numbers[part], counts[part]) for part in (slice(None, cut), slice(cut, None)))
    # A temperature of 37 is 98.6 in another unit.
    alike = any(abs(high / low / factor - 1) < _NEAR for factor in _FACTORS)
    return (below, above) if alike or abs(low * 1.8 + 32 - high) < 3 else None


def _median(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    return float(numbers[np.searchsorted(np.cumsum(counts), counts.sum() / 2)])


def below_zero(name: str, numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """Count negative numbers, where hardly any is and the name is that of what is never negative."""
    negative = int(counts[numbers < 0].sum())
    few = 0 < negative <= max(1, int(counts.sum()) // 20)
    return negative if few and names_of("never_negative").search(name_in_words(name)) else 0


_DIGITS = 16


def with_lost_digits(numbers: pl.Series, counts: NDArray[np.int64]) -> int:
    """Count whole numbers of sixteen digits and more that all end in zeros: no program wrote them so at first."""
    long = numbers.dtype.is_integer() and (numbers.abs() >= 10 ** (_DIGITS - 1)).fill_null(False)
    if isinstance(long, bool) or long.sum() < 3 or not (numbers.filter(long) % 10 == 0).all():
        return 0
    return int(counts[long.to_numpy()].sum())


_EPOCH = 900_000_000, 2_100_000_000


def may_count_seconds(numbers: NDArray[np.float64]) -> str | None:
    """Return what numbers, all of the years since 1998, may count since 1970: seconds, or parts of them."""
    units = {unit: a_day // 86_400 for unit, a_day in A_DAY.items() if unit != "days"} if len(numbers) >= 10 else {}
    found = (
        unit for unit, times in units.items() if _EPOCH[0] * times <= numbers[0] and numbers[-1] <= _EPOCH[1] * times
    )
    return next(found, None)


_DAYS_FOR_NOTHING = frozenset(
    (date(*day) - date(1970, 1, 1)).days for day in (
        (1, 1, 1), (1111, 11, 11), (1753, 1, 1), (1800, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1),
        (1901, 1, 1), (1904, 1, 1), (1960, 1, 1), (1970, 1, 1), (2099, 12, 31), (2100, 1, 1), (2222, 2, 2),
        (2999, 12, 31), (9999, 12, 31),
    )
)  # fmt: skip


def days_for_nothing(days: pl.Series, counts: NDArray[np.int64]) -> int:
    """Count records with a day such as 9999-12-31 that lies far from all others. Rising (d,); cost O(d)."""
    # By their numbers: Python has no day before year 1, and none after 9999.
    places, numbers = [], days.cast(pl.Int32).cast(pl.Int64).to_numpy()
    for place in (0, len(days) - 1) if len(days) > 2 else ():
        rest = np.delete(numbers, place)
        gap = int(np.abs(rest - numbers[place]).min())
        if int(numbers[place]) in _DAYS_FOR_NOTHING and gap > max(365, int(rest[-1] - rest[0]) // 2):
            places.append(place)
    return int(counts[places].sum())


# What other programs leave in texts.


_LEFT = {
    "markup": r"&(?:amp|lt|gt|nbsp|quot|apos|#[0-9]+);|</?[A-Za-z][A-Za-z0-9]*(?: [^>]*)?/?>",
    "lost-letters": "\ufffd|Ã[\u0080-\u00bf¤¶¼ŸÄÖÜ„–œ]|â€",
    "formulas": r"^(?:=|'[0-9]|@[A-Za-z])",
    "exponents": r"^[+-]?[0-9](?:[.,][0-9]+)?[eE]\+?[0-9]{1,2}$",
    "mixed-letters": r"[A-Za-z]\p{Cyrillic}|\p{Cyrillic}[A-Za-z]",
    "other-digits": r"[^\x00-\x7f]",
    "quotes": r'^[^"]*"[^"]*$',
    "controls": r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]",
}
_OWN_DIGITS = r"[\p{Nd}--[0-9]]"
_RANGES = r"^[0-9]+ ?[-–] ?[0-9]+$"
_DAMAGED = r"^(?:[0-9]{1,2}[-. ]\p{L}{3}\.?|\p{L}{3}\.?[-. ][0-9]{2}|[0-9]{4}-[01][0-9]-[0-3][0-9](?: 00:00:00)?)$"
_MOST_DAMAGED = 0.34


def left_by_programs(
    texts: pl.Series, counts: NDArray[np.int64], names: Collection[str] = _LEFT.keys()
) -> tuple[tuple[str, int], ...]:
    """Count the records whose text holds what a program left: markup, formulas, powers of ten. Cost O(bytes)."""
    found = []
    for name in names:
        pattern = _LEFT[name]
        fits = texts.str.contains(pattern)
        if name == "other-digits" and fits.any():
            fits = texts.str.contains(_OWN_DIGITS)
        if name == "quotes" and int(fits.sum()) > max(3, len(texts) // 50):
            continue  # inches
        if fits.any():
            found.append((name, int(counts[fits.to_numpy()].sum())))
    damaged = texts.str.contains(_DAMAGED) if len(names) == len(_LEFT) else pl.Series([False])
    if damaged.any() and 2 * int(texts.str.contains(_RANGES).sum()) < len(texts):
        damaged = _days_among_names(texts, damaged)
    if damaged.any():
        found.append(("damaged-ranges", int(counts[damaged.to_numpy()].sum())))
    return tuple(found)


def _days_among_names(texts: pl.Series, likely: pl.Series) -> pl.Series:
    """Keep the likely days that have a month's name or number, where they are few and no other text has only digits."""
    names = texts.filter(likely).str.extract(r"(\p{L}{3})").str.to_lowercase()
    months = month_numbers(names.drop_nulls().unique().to_list())
    is_month = names.is_null() | names.is_in([*months])
    days = likely.scatter(likely.arg_true(), is_month) if likely.any() else likely
    rest = texts.filter(~days)
    is_rare = len(texts) >= _FEWEST_NUMBERS and _MOST_DAMAGED * len(texts) >= int(days.sum())
    return days if is_rare and rest.str.contains(r"\p{L}").mean() == 1.0 else pl.repeat(False, len(texts), eager=True)


# Texts with a number in each, and numbers that are written as codes are.


_MEASURE = (
    r"^[~≈<>±]? ?[+\-−]?[0-9][0-9.,·'’\s]*(?:[\p{L}%°µ/][^,;]{0,24})?$",
    r"^[0-9]+ ?[°'′’][ 0-9.,'\"″”′’]*[A-Za-z]?$",
)
_PERIOD = (
    r"(?i)^(?:[1-4] ?q|q ?[1-4]|fy|h[12])[ /'’\-]{0,2}[0-9]{2}",
    r"(?:^|[^0-9])(?:1[89]|20)[0-9]{2}[^0-9]+[0-9]",
    r"(?:^|[^0-9])[0-9]{1,2}[^0-9]+(?:1[89]|20)[0-9]{2}(?:[^0-9]|$)",
    r"(?:^|[^0-9])[0-9]{1,2}:[0-9]{2}(?:[^0-9]|$)",
)
_KNOWN_LABELS = r"^[0-9]{4} ?[A-Z]{2}$|^[0-9]{4}-?[WQHSwqhs][0-9]{1,2}$|^[0-9.]+$"
_NEARLY_ALL, _FEWEST_NUMBERS = 0.9, 10


def numbers_in_texts(texts: pl.Series, counts: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    """Count the records of a column of text of which nearly every one has a number, or a time, in it. Cost O(bytes)."""
    if _are_clocks(texts):
        return (("periods", int(counts.sum())),)
    if len(texts) < _FEWEST_NUMBERS // 2 or texts.str.contains(_KNOWN_LABELS).all():
        return ()
    for name, patterns in (("periods", _PERIOD), ("measures", _MEASURE)):
        fits = texts.str.contains("|".join(f"(?:{each})" for each in patterns))
        if float(fits.mean() or 0) >= _NEARLY_ALL and (name == "periods" or len(texts) >= _FEWEST_NUMBERS):  # type: ignore[arg-type]
            return ((name, int(counts[fits.to_numpy()].sum())),)
    return ()


_FEWEST_CLOCKS, _FEWEST_HOURS, _FEWEST_MINUTES = 20, 8, 3


def _are_clocks(texts: pl.Series) -> bool:
    """Tell whether all numbers of up to four digits may be times such as 0415: many hours, no minute beyond 59."""
    if len(texts) < _FEWEST_CLOCKS or not texts.str.contains(r"^[0-9]{1,4}$").all():
        return False
    digits = texts.str.zfill(4)
    hours, minutes = digits.str.head(2), digits.str.tail(2)
    return bool(
        (hours <= "23").all() and (minutes <= "59").all()
        and hours.n_unique() >= _FEWEST_HOURS and minutes.n_unique() >= _FEWEST_MINUTES
    )  # fmt: skip


_YEAR_AND_PART = r"^(?:19|20)[0-9]{2}(?:0[1-9]|[1-4][0-9]|5[0-3])$"
_MOST_PARTS, _FEWEST_WHOLES = 59, 3


def written_as_codes(texts: pl.Series, counts: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    """Count the records with numbers that may be sections, rooms, times or months: as numbers 3.1 is 3.10."""
    if len(texts) < _FEWEST_NUMBERS // 2:
        return ()
    if texts.str.contains(_YEAR_AND_PART).all() or _are_clocks(texts):
        return (("periods", int(counts.sum())),)
    fractions = texts.str.extract(r"^[+-]?[0-9]+\.([0-9]+)$").drop_nulls()
    if len(fractions) < _FEWEST_NUMBERS // 2:
        return ()
    digits = fractions.str.len_bytes()
    ends_in_zero = fractions.str.contains("[0-9]0$")
    # Programs write as many digits of all, or no zero at the end.
    is_mixed = bool(ends_in_zero.any()) and int(digits.min() or 0) < int(digits.filter(ends_in_zero).max() or 0)  # type: ignore[arg-type]
    significant = texts.str.replace_all(r"^[+-]?0*\.?0*|[^0-9]", "").str.len_bytes()
    is_of_places = fractions.n_unique() >= _FEWEST_NUMBERS and bool((digits == 2).all()) and (
        int(fractions.max() or 0) <= _MOST_PARTS and len(fractions) == len(texts) >= 2 * _FEWEST_NUMBERS  # type: ignore[arg-type]
        and texts.str.extract(r"^([+-]?[0-9]+)").n_unique() >= _FEWEST_WHOLES
    )  # fmt: skip
    if not is_of_places and (not is_mixed or significant.n_unique() == 1):
        return ()
    return (("parts", int(counts.sum())),)


# What several columns, or several rows, have in common.


_FEWEST_ADDED = 3


def rows_that_add_up(columns: Sequence[NDArray[np.float64]], likely: Sequence[int]) -> int:
    """Count rows whose numbers are sums of those above, of all or of those since the last such row.

    `columns`: float64 (n,), NaN for no number. `likely`: rows that may be such, rising. Cost O(n) a column.
    """
    numbers = np.column_stack(columns)
    known = ~np.isnan(numbers)
    sums = np.vstack([np.zeros(numbers.shape[1]), np.cumsum(np.where(known, numbers, 0.0), axis=0)])
    begin, added, found = 0, np.zeros(numbers.shape[1]), 0
    for row in likely:
        here = known[row] & (numbers[row] != 0)
        parts = [sums[row] - added, *([sums[row] - sums[begin]] if row - begin > 1 else [])]
        if row < 2 or not here.any():
            continue
        is_sum = any(np.allclose(part[known[row]], numbers[row][known[row]]) for part in parts)
        # One number may be as much as another one by chance.
        if is_sum and (here.sum() > 1 or np.count_nonzero(np.nan_to_num(numbers[:row, here])) >= _FEWEST_ADDED):
            found, begin, added = found + 1, row + 1, added + np.where(known[row], numbers[row], 0.0)
    return found


def names_that_are_values(columns: Sequence[tuple[str, pl.Series]]) -> int:
    """Count the columns whose name is one of their own values or a number among numbers: a first record, perhaps."""
    found = numbers = 0
    for name, distinct in columns:
        if re.search(r"\w", name) is None:
            continue
        if distinct.dtype == pl.String or isinstance(distinct.dtype, (pl.Categorical, pl.Enum)):
            found += bool((distinct.cast(pl.String) == name).any())
        elif re.fullmatch(r"[+-]?[\d.,:/%€$ -]*\d[\d.,:/%€$ -]*", name):
            numbers += 1
    # Years are the names of columns in many tables.
    return found + numbers if found or 2 * numbers == 2 * len(columns) else 0


_FEWEST_VALUES = 5


def copies(profiles: Sequence[Values], column: Callable[[str], pl.Series]) -> list[tuple[str, ...]]:
    """Find columns of which each value of one goes with one of the other. Cost O(n) for each that may be one."""
    alike: dict[tuple[int, bytes], list[str]] = {}
    for each in profiles:
        # Where every record has a value of its own, the counts tell nothing.
        if _FEWEST_VALUES <= len(each.distinct) < each.known:
            key = len(each.distinct), np.sort(each.counts).tobytes()
            alike.setdefault(key, []).append(each.name)
    found = []
    for names in alike.values():
        while len(names) > 1:
            first, *rest = names
            frame = pl.DataFrame([column(name).to_physical().alias(str(place)) for place, name in enumerate(names)])
            count = frame["0"].n_unique()
            same = [
                name for place, name in enumerate(rest, 1)
                if frame.select(pl.struct("0", str(place)).n_unique()).item() == count
            ]  # fmt: skip
            if same:
                found.append((first, *same))
            names = [name for name in rest if name not in same]
    return found


def equal_records(columns: Iterable[pl.Series], profiles: Sequence[Values], records: int) -> int:
    """Count records that equal an earlier one in all columns, where chance hardly makes any. Cost O(n) a column."""
    # Expected pairs, if columns had nothing to do with each other.
    pairs = records**2 / 2
    for each in profiles:
        pairs *= float(np.sum((each.counts / max(1, records)) ** 2.0)) + (1 - each.known / max(1, records)) ** 2
    if pairs > 1:
        return 0
    mixed = None
    for column in columns:
        own = (column.to_physical() if isinstance(column.dtype, pl.Categorical) else column).hash(7)
        mixed = own if mixed is None else (mixed * 0x9E3779B97F4A7C15 + own).hash(11)
    return 0 if mixed is None else records - mixed.n_unique()

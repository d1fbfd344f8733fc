"""Drafts: a first hierarchy for a column, to be written to a file and edited by the person who knows the column."""

from __future__ import annotations

import inspect
import math
import os
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, PolicyError, raise_all
from sfumato.hierarchy import HIERARCHY_KINDS
from sfumato.hierarchy.education import levels_reached
from sfumato.hierarchy.level_table import HierarchyTable, flat, groups
from sfumato.hierarchy.ranges import Number, check_finite, dates, intervals, is_iso_day, prefixes
from sfumato.hierarchy.tree import ROOT, Hierarchy, HierarchySpecification, hierarchy_from_paths, listed_values
from sfumato.numbers import month_numbers

# Hierarchies in policy files: from plain TOML values to a description.


def table_of_rows(rows: Any) -> HierarchyTable:
    """Return the hierarchy of kind ``table``: a row a value, with its labels."""
    return HierarchyTable(rows)


def hierarchy_from_policy(
    mapping: Mapping[str, Any], folder: str | os.PathLike[str] | None = None
) -> HierarchySpecification:
    """Read back what :meth:`HierarchySpecification.to_policy` wrote, in a folder; all wrong keys are named."""
    if not isinstance(mapping, Mapping):
        raise PolicyError("a hierarchy must be a table of keys with a kind")
    kind = mapping.get("kind")
    if not isinstance(kind, str) or kind not in HIERARCHY_KINDS:
        raise PolicyError(f"kind: must be one of {', '.join(HIERARCHY_KINDS)}")
    constructor: Callable[..., HierarchySpecification] = HIERARCHY_KINDS[kind]
    settings = {key.replace("-", "_"): value for key, value in mapping.items() if key != "kind"}
    # Only the caller may name the folder, never the policy.
    known = {key: value for key, value in inspect.signature(constructor).parameters.items() if key != "folder"}
    raise_all(PolicyError, _key_problems(kind, settings, known))
    place = {"folder": folder} if kind == "file" else {}
    try:
        return constructor(**settings, **place)
    except HierarchyError as error:
        raise PolicyError(*error.problems) from None


def _key_problems(kind: str, settings: Mapping[str, Any], known: Mapping[str, inspect.Parameter]) -> list[str]:
    problems = [
        f"{key}: is not a key of kind {kind}; its keys are {', '.join(known).replace('_', '-') or 'none'}"
        for key in settings
        if key not in known
    ]
    problems.extend(
        f"{key}: is missing, kind {kind} needs it"
        for key, parameter in known.items()
        if parameter.default is parameter.empty and key not in settings
    )
    return problems


_MOST_INTERVALS = 20
_MOST_PREFIXES = 4
_FEWEST_GROUPED = 3

# After a first width of 1, 2 or 5 (times a power of ten): the next ones, round numbers too, as its multiples.
_MULTIPLES = {1: (1, 5), 2: (1, 5), 5: (1, 2, 4)}
_DAY = (
    r"^(?:(?:[0-9]{1,2}[./\-][0-9]{1,2}[./\-]([0-9]{4})|([0-9]{4})[./][0-9]{1,2}[./][0-9]{1,2})(?:[ T][0-9:.]+)?"
    r"|([0-9]{4})-[0-9]{2}-[0-9]{2}[ T][0-9:.]+)$"
)
"""Days in any order whose year is plain to see; which of the others is the month is not asked here."""
_CODE = r"^[0-9A-Za-z.\-]*[0-9][0-9A-Za-z.\-]*$"


def draft_hierarchy(values: pl.Series) -> Hierarchy:
    """Draft a hierarchy for a column, to be edited.

    Numbers get nested intervals of round widths, at most 20 on level 1; dates (also as ISO text) months, years and
    decades; texts such as 06.08.2000, whatever their order, years and decades; codes (texts of one length with a digit
    in each) ever shorter prefixes, at most four. Other categories are listed by falling frequency, each as its own
    group on level 1. To form a group, write the same label over several of them; a category that is left alone stays
    unchanged.

    `values`: the column as it is, with repeated and missing values. Returns: for :func:`sfumato.write_hierarchy`.
    Raises ``HierarchyError`` when the column has no values, or some that no hierarchy can have (an empty text, ``*``,
    an infinite number). Cost O(n log n) for n values.
    """
    name = values.name or "values"
    what = f"hierarchy of {name!r}"
    distinct = listed_values(values, what)
    if distinct.dtype.is_float():
        check_finite(distinct.to_list(), what)
    years = _years(distinct)
    if years is not None:
        paths = sorted((year, text) for text, year in zip(distinct, years, strict=True))
        return hierarchy_from_paths([(text, year, f"{year[:-1]}0s", ROOT) for year, text in paths], name=what)
    described = _description(distinct)
    return _draft_of_categories(values, name) if described is None else described.build(distinct, name=name)


def draft_rule(values: pl.Series) -> HierarchySpecification | None:
    """Return the rule that :func:`draft_hierarchy` would build, None for categories; raises HierarchyError like it."""
    what = f"hierarchy of {values.name or 'values'!r}"
    distinct = listed_values(values, what)
    if distinct.dtype.is_float():
        check_finite(distinct.to_list(), what)
    return _description(distinct)


def _description(distinct: pl.Series) -> HierarchySpecification | None:
    """Describe the hierarchy of a column whose values suggest one; None for categories."""
    if distinct.dtype.is_integer():
        written = distinct.cast(pl.String)
        found = _of_a_system(written, named=True) or ("isced" in distinct.name.lower() and _of_education(written))
        if found:
            return found
    if distinct.dtype.is_integer() or distinct.dtype.is_float():
        return _round_intervals(distinct.to_list(), whole=distinct.dtype.is_integer())
    if distinct.dtype == pl.Date:
        return dates()
    if distinct.dtype != pl.String or len(distinct) < _FEWEST_GROUPED:
        return flat()
    if is_iso_day(distinct).all():
        return dates()
    # Of days in other forms it is not asked here which part is the month.
    if _years(distinct) is not None:
        return None
    ways = (_of_months, _of_education, _of_countries, _of_british_postcodes, _of_a_system, _code_prefixes)
    return next((found for way in ways if (found := way(distinct)) is not None), None)


def _years(distinct: pl.Series) -> pl.Series | None:
    """Return the year of every text, if all are days in whatever order; None otherwise."""
    if distinct.dtype != pl.String or not distinct.str.contains(_DAY).all():
        return None
    found = distinct.str.extract_groups(_DAY).struct.unnest()
    return found.select(pl.coalesce(pl.all())).to_series()


def _round_intervals(numbers: Sequence[Number], *, whole: bool) -> HierarchySpecification:
    """Choose nested widths for sorted numbers: at least a twentieth of their span, and at most half of it."""
    span = numbers[-1] - numbers[0]
    rough = span / _MOST_INTERVALS
    if rough == 0 or not math.isfinite(rough):  # constant, or further apart than a float can express
        return flat()
    digit, exponent = _round_up(rough)
    widths = [_power_of_ten(digit * multiple, exponent) for multiple in _MULTIPLES[digit]]
    useful = [width for width in widths if not (whole and width <= 1)]
    return intervals(*useful) if useful else flat()


def _round_up(number: float) -> tuple[int, int]:
    """Find the smallest 1, 2 or 5 times a power of ten that is not below `number`, as digit and exponent."""
    exponent = math.floor(math.log10(number))
    for digit in (1, 2, 5):
        if _power_of_ten(digit, exponent) >= number:
            return digit, exponent
    return 1, exponent + 1


def _power_of_ten(digits: int, exponent: int) -> Number:
    return digits * 10**exponent if exponent >= 0 else float(f"{digits}e{exponent}")


def _of_months(texts: pl.Series) -> HierarchySpecification | None:
    """Return quarters and halves of the year over names of months, in any language."""
    if len(texts) > _MOST_MONTHS:
        return None
    names = {text: text.lower().rstrip(".") for text in texts}
    numbers = month_numbers(sorted(names.values()))
    found = {text: int(numbers.get(name, "0")) for text, name in names.items()}
    # Some may be Roman numbers.
    if (
        any({*name} <= {*"ivx"} for name in names.values())
        or 0 in found.values()
        or len({*found.values()}) < len(found)
    ):
        return None
    halves: dict[str, dict[str, list[str]]] = {}
    for text, number in sorted(found.items(), key=lambda each: each[1]):
        halves.setdefault(f"H{(number + 5) // 6}", {}).setdefault(f"Q{(number + 2) // 3}", []).append(text)
    return groups(halves)


def _of_education(texts: pl.Series) -> HierarchySpecification | None:
    """Return levels of ISCED over levels of education, or over their numbers where the name says what they are."""
    is_numbered = "isced" in texts.name.lower() and bool(texts.str.contains("^[0-8]$").all())
    found = levels_reached(texts.to_list(), numbered=is_numbered) if len(texts) <= _MOST_LABELS else None
    return None if found is None else groups(found)


_MOST_MONTHS = 12
_MOST_LABELS = 60
_MOST_COUNTRIES = 500
_KNOWN = 0.9
"""Share of names that must be those of countries; what is left is a region of its own."""
_COUNTRY = r"countr|nation|citizen|land$|pays|pais|paese|staat|origin|birthplace|geo$"


def _of_countries(texts: pl.Series) -> HierarchySpecification | None:
    """Return the regions of the world over countries, by code or by English name."""
    # Codes of two letters, and of the numbers of M49, only where the column's name says so.
    if len(texts) > _MOST_COUNTRIES:
        return None
    named = re.search(_COUNTRY, texts.name.lower()) is not None
    table = tomllib.loads((resources.files("sfumato.hierarchy") / "regions.toml").read_text(encoding="utf-8"))
    names = {_letters(name): code for code, written in table.pop("names").items() for name in written.split("|")}
    numbers = {number: code for code, number in _pairs(table.pop("numbers")["m49"])}
    place = {
        code: (region, part)
        for region, parts in table.items()
        for part, codes in parts.items()
        for code in codes.split()
    }
    found = dict[str, tuple[str, str]]()
    for text in texts:
        code = text.strip().upper()
        code = names.get(_letters(text), "") if len(code) > 3 else numbers.get(code, code) if named else code
        if code in place and (named or len(text) >= 3):
            found[text] = place[code]
    is_code = texts.str.len_chars().max() <= 3  # type: ignore[operator]
    if len(found) < (1.0 if is_code or not named else _KNOWN) * len(texts):
        return None
    regions: dict[str, dict[str, list[str]]] = {}
    for text in texts:
        region, part = found.get(text, ("Elsewhere", "Elsewhere, or unknown"))
        regions.setdefault(region, {}).setdefault(part, []).append(text)
    return groups(regions)


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, unicodedata.normalize("NFKD", name).casefold()))


def _pairs(words: str) -> Iterator[tuple[str, str]]:
    listed = words.split()
    return zip(listed[::2], listed[1::2], strict=True)


_SYSTEMS: tuple[tuple[str, str, tuple[int, ...], str | None], ...] = (
    # what the column is called, how all its codes are written, what the levels keep, what parts the codes
    ("", r"[A-Z][0-9]{2}([A-Z]([A-Z]([0-9]{2})?)?)?", (5, 4, 3, 1), None),  # ATC: drugs
    (r"nace|noga|industr|branch|econom", r"[A-U][0-9]{2}(\.[0-9]{1,2})?", (5, 3, 1), None),  # NACE with its section
    (r"nace|noga|industr|branch|econom", r"[0-9]{2}(\.[0-9]{1,2})?", (4, 2), None),  # and without
    ("", r"[A-Z][0-9][0-9A-Z](\.?[0-9A-Z*-]{1,4})?[+!†#*]?", (3, 1), None),  # ICD-10: diagnoses
    (r"icd|diag", r"[0-9V][0-9]{2}(\.[0-9]{1,2})?|E[0-9]{3}(\.[0-9])?", (3,), None),  # ICD-9
    ("", r"(18|19|20)[0-9]{2}-(0[1-9]|1[0-2])", (4, 3), None),  # months
    ("", r"[0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2})?", (3, 2, 1), "."),  # addresses of the internet
    ("", r"[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}|[0-9a-fA-F]{1,4}[0-9a-fA-F:]*::[0-9a-fA-F:]*", (3, 2, 1), ":"),
    ("", r"[0-9A-F]{2}([:-][0-9A-F]{2}){5}", (8,), None),  # devices: who made them
    ("", r"(?:[A-Z]{1,2}[0-9][0-9A-Z]?) [0-9][A-Z]{2}", (1,), " "),  # postcodes: United Kingdom
    ("", r"[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]", (3, 1), None),  # Canada
    ("", r"[A-Z][0-9][0-9W] ?[0-9A-Z]{4}", (3, 1), None),  # Ireland
    ("", r"[0-9]{4} ?[A-Z]{2}", (4, 2, 1), None),  # the Netherlands
    ("", r"[A-Z]{2}-[0-9]{4,5}", (5, 4, 3), None),  # Latvia, Lithuania, Moldova
    ("", r"[0-9]{2}-[0-9]{3}", (2, 1), None),  # Poland
    ("", r"[0-9]{3}-[0-9]{2,4}", (3, 2, 1), None),  # Japan, Taiwan
    ("", r"[0-9]{4}-[0-9]{3}", (4, 2, 1), None),  # Portugal
    ("", r"[0-9]{5}-[0-9]{3,4}", (5, 3, 2, 1), None),  # Brazil, United States
    ("", r"[0-9]{3} [0-9]{2,3}", (3, 2, 1), None),  # Sweden, Greece, Czechia, Slovakia, India
    ("", r"[A-Z]{3} [0-9]{4}", (3,), None),  # Malta
    ("", r"[A-Z]-[0-9]{4,5}", (5, 4, 3), None),  # with the letter of a country
    ("", r"[A-Z][0-9]{4}([A-Z]{3})?", (5, 3, 1), None),  # Argentina
    (r"insee|commune|depcom", r"([0-9]{2}|2[AB])[0-9]{3}", (2,), None),  # France: communes
    (r"fips|county|counties", r"[0-9]{5}", (2,), None),  # United States: counties
    (r"fips|tract|geoid", r"[0-9]{11,12}", (5, 2), None),  # and their tracts and blocks
    (r"\bags\b|_ags|kreis|gemeinde", r"[0-9]{8}", (5, 3, 2), None),  # Germany: municipalities
    (r"\b(ags|ars)\b|_ags|_ars|kreis|gemeinde", r"[0-9]{12}", (9, 5, 3, 2), None),  # and with their associations
    (r"\bags\b|_ags|kreis", r"[0-9]{5}", (3, 2), None),  # and districts
    (r"nuts|region", r"[A-Z]{2}[0-9A-Z]{0,3}", (4, 3, 2), None),  # regions of Europe
    (r"isco|occupation|beruf|profession", r"[0-9]{1,4}", (3, 2, 1), None),  # occupations
    (r"isced", r"[0-9]{3,4}", (3, 2), None),  # fields of education
    ("", r"[A-Z]{2}-[0-9A-Z]{1,3}", (2,), None),  # regions of countries: ISO 3166-2
)
"""Codes whose own characters carry the tree; the first that fits all texts counts."""


def _of_a_system(texts: pl.Series, *, named: bool = False) -> HierarchySpecification | None:
    """Return the prefixes of codes; `named`: only of those that the column's name speaks of."""
    name, same = texts.name.lower(), texts.str.len_chars().n_unique() == 1
    for called, written, keep, mark in _SYSTEMS:
        if (called or not named) and re.search(called, name) and texts.str.contains(f"^(?:{written})$").all():
            longest = int(texts.str.len_chars().max())  # type: ignore[arg-type]
            # What ends with a star, as some diagnoses do, would be the label of a level.
            plain = [count for count in keep if not texts.str.contains(rf"^.{{{count}}}\*$").any()]
            useful = tuple(count for count in plain if mark or count < longest)
            return prefixes(*useful, rest="each" if same and mark is None else "one", mark=mark) if useful else None
    return None


_BRITISH = r"^([A-Z]{1,2})([0-9][0-9A-Z]?)([0-9][A-Z]{2})?$"


def _of_british_postcodes(texts: pl.Series) -> HierarchySpecification | None:
    """Return areas and districts over postcodes without a blank, or districts alone: both have several lengths."""
    parts = texts.str.extract_groups(_BRITISH).struct.unnest()
    area, district, rest = parts.get_columns()
    if area.has_nulls() or (
        rest.has_nulls() and (rest.is_not_null().any() or not _POSTCODE.search(texts.name.lower()))
    ):
        return None
    found: dict[str, dict[str, list[str]]] = {}
    for text, place, number in zip(texts, area, district, strict=True):
        found.setdefault(f"{place}*", {}).setdefault(f"{place}{number}*", []).append(text)
    return groups(found)


_POSTCODE = re.compile("post|zip|outward|district|outcode")


def _code_prefixes(texts: pl.Series) -> HierarchySpecification | None:
    length = texts.str.len_chars()
    if length.min() != length.max() or length[0] < 2 or not texts.str.contains(_CODE).all():
        return None
    levels = min(length[0] - 1, _MOST_PREFIXES)
    return prefixes(*(length[0] * (levels - level) // (levels + 1) for level in range(levels)))


def _draft_of_categories(values: pl.Series, name: str) -> Hierarchy:
    counted = values.cast(pl.String).drop_nulls().alias("value").value_counts(name="records")
    labels = counted.sort(["records", "value"], descending=[True, False])["value"].to_list()
    return hierarchy_from_paths([(label, label, ROOT) for label in labels], name=f"hierarchy of {name!r}")

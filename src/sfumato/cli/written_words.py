"""What the options say about how numbers and dates are written: of the whole file, or of one column (``NAME=...``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.cli.settings import TABS, names_in
from sfumato.cli.words import all_names
from sfumato.errors import PolicyError, raise_all


def written_words(
    said: Mapping[str, Sequence[str] | None], strays_missing: Sequence[str] | None
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Part what is said of the file from what is said of columns.

    `said`: for each key of a policy, the values as they were typed. `strays_missing`: lists of columns. Returns: keys
    of ``[source]``, and settings of each named column. Raises ``PolicyError`` when something is said twice, or a unit
    of no column.
    """
    of_file: dict[str, Any] = {}
    of_columns: dict[str, dict[str, Any]] = {}
    problems = []
    for key, typed in said.items():
        for text in typed or ():
            name, equals, value = text.rpartition("=")
            place = of_columns.setdefault(name, {}) if equals and name else of_file
            value = value if equals and name else text
            if key == "unit" and place is of_file:
                problems.append("--unit: write it as NAME=TEXT, such as 'pay=€'")
            elif key == "dates":
                place.setdefault(key, []).append(value)
            elif key in place:
                problems.append(f"--{key}: says two things of the same; say one")
            else:
                place[key] = value
    raise_all(PolicyError, problems)
    for place in (of_file, *of_columns.values()):
        if len(place.get("dates", ())) == 1:
            place["dates"] = place["dates"][0]
    for name in all_names(strays_missing):
        of_columns.setdefault(name, {})["strays"] = "missing"
    return of_file, of_columns


def source_words(
    *,
    separator: str | None,
    encoding: str | None,
    missing: Sequence[str] | None,
    header: bool,
    columns: str | None,
    table: str | None = None,
    query: str | None = None,
    sheet: str | None = None,
    range: str | None = None,
    codes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return what the options say about reading a file, as a policy writes it."""
    said = {
        "separator": "\t" if separator in TABS else separator,
        "encoding": encoding,
        "missing": list(missing) if missing else None,
        "header": None if header else False,
        "columns": names_in(columns) if columns else None,
        "table": table,
        "query": query,
        "sheet": sheet,
        "range": range,
        "codes": all_names(codes) if codes else None,
    }
    return {key: value for key, value in said.items() if value is not None}

"""Text files as people have them: separators, encodings, decimal commas, dates, codes, strays and broken rows."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any

from gallery.case import Case
from gallery.people import AGE, BORN, CITY, COUNT, EARLY, PAY, ZIP, Write, comma, day, file, grouped, rows, text


def column(name: str, cells: Sequence[str], title: str = "pay") -> dict[str, Any]:
    """Return name and file of a case that is about one column, beside one of ages; semicolons part them."""
    content = text(["age", title], [[str(age), cell] for age, cell in zip(AGE, cells, strict=True)], ";")
    return {"name": name, "make": file(content), "said": {"separator": ";"}}


def dates(name: str, write: Write, asks: str, form: str, born: Sequence[Any] = BORN) -> Case:
    """Return the case of a column of days."""
    asked = column(name, [write(value) for value in born], "born")
    return Case(**asked, truth={"born": list(born)}, asks=asks, cure={"dates": form})


def numbers(name: str, write: Write, asks: str, cure: dict[str, Any], of: dict[str, Any] | None = None) -> Case:
    """Return the case of a column of numbers."""
    asked = column(name, [write(value) for value in PAY])
    return Case(**asked, truth={"pay": PAY}, asks=asks, cure=cure, of={"pay": of or {}})


def hospital(encoding: str) -> bytes:
    """Return what a German hospital exports."""
    cells = rows(BORN, PAY, CITY, AGE, write=[day("%d.%m.%Y"), comma])
    return text(["Geburtsdatum", "Kosten", "Größe", "Alter"], cells, ";", "\r\n").encode(encoding)


PLAIN = text(["age", "pay", "city"], rows(AGE, PAY, CITY))
SEMICOLON = text(["age", "pay", "city"], rows(AGE, PAY, CITY), ";")
TRUTH: dict[str, list[Any]] = {"age": AGE, "pay": PAY, "city": CITY}
GERMAN = {"Geburtsdatum": BORN, "Kosten": PAY, "Größe": CITY, "Alter": AGE}
LINES = PLAIN.splitlines(keepends=True)
CODES = {"kind": "categorical"}
STAMPS = "timestamp"

LAYOUTS = [
    Case("clean", file(PLAIN), TRUTH),
    Case(
        "semicolon",
        file(SEMICOLON),
        TRUTH,
        asks="separated by ';': add --set source.separator=';'",
        cure={"separator": ";"},
    ),
    Case(
        "tab",
        file(text([*TRUTH], rows(AGE, PAY, CITY), "\t")),
        TRUTH,
        asks="separated by tab: add --set source.separator=tab",
        cure={"separator": "\t"},
    ),
    Case(
        "pipe",
        file(text([*TRUTH], rows(AGE, PAY, CITY), "|")),
        TRUTH,
        asks="separated by '|'",
        cure={"separator": "|"},
    ),
    Case("utf-8 with a mark", file(PLAIN, "utf-8-sig"), TRUTH),
    Case(
        "latin1",
        file(PLAIN, "latin1"),
        TRUTH,
        asks="bytes that are not in the file's encoding, first row .*add --set source.encoding=cp1252",
        cure={"encoding": "cp1252"},
    ),
    Case("cp850", file(PLAIN, "cp850"), TRUTH, asks="add --set source.encoding=cp850", cure={"encoding": "cp850"}),
    Case(
        "macintosh",
        file(PLAIN, "mac-roman"),
        TRUTH,
        asks="--set source.encoding=mac-roman",
        cure={"encoding": "mac-roman"},
    ),
    Case(
        "utf-16", file(PLAIN, "utf-16"), TRUTH, asks="UTF-16.*--set source.encoding=utf-16", cure={"encoding": "utf-16"}
    ),
    Case(
        "utf-16 without a mark",
        file(PLAIN, "utf-16-le"),
        TRUTH,
        asks="--set source.encoding=utf-16-le",
        cure={"encoding": "utf-16-le"},
    ),
    Case(
        "utf-8 said to be latin1",
        file(PLAIN),
        TRUTH,
        {"encoding": "latin1"},
        asks="the file is UTF-8, not latin1",
        cure={"encoding": "utf-8"},
    ),
    Case(
        "names in another encoding",
        file(hospital("latin1")),
        GERMAN,
        {"separator": ";"},
        asks="names of the columns are not UTF-8; they read as cp1252",
        cure={"encoding": "cp1252", "decimal": ",", "dates": "dd.mm.yyyy"},
    ),
    Case("carriage returns", file(PLAIN.replace("\n", "\r\n")), TRUTH),
    Case("old Macintosh lines", file(PLAIN.replace("\n", "\r")), TRUTH),
    Case("gzip", file(gzip.compress(PLAIN.encode(), mtime=0), name="people.csv.gz"), TRUTH),
    Case("no line end", file(PLAIN.rstrip("\n")), TRUTH),
    Case("blank lines", file("\n\n" + PLAIN.replace("\n", "\n\n") + "\n\n"), TRUTH),
    Case("blanks around cells", file(PLAIN.replace(",", " , ")), TRUTH),
    Case("a separator ends every row", file(PLAIN.replace("\n", ",\n")), TRUTH),
    Case(
        "a separator ends every row but the header", file(LINES[0] + PLAIN[len(LINES[0]) :].replace("\n", ",\n")), TRUTH
    ),
    Case(
        "an unnamed column with values",
        file(LINES[0].replace("\n", ",\n") + PLAIN[len(LINES[0]) :].replace("\n", ",x\n")),
        TRUTH,
        asks="column 4 has no name, but holds values",
        cure=None,
    ),
    Case(
        "one short row",
        file("".join([*LINES[:9], "17\n", *LINES[9:]])),
        TRUTH,
        asks="1 row.s. have fewer than 3 fields, first row 9",
        cure=None,
    ),
    Case(
        "one long row",
        file("".join([*LINES[:9], "17,1,2,3\n", *LINES[9:]])),
        TRUTH,
        asks="1 row.s. have more than 3 fields, first row 9",
        cure=None,
    ),
    Case(
        "an open quote",
        file("".join([*LINES[:9], '17,1,"Köln\n', *LINES[9:]])),
        TRUTH,
        asks="quote that is never closed",
        cure=None,
    ),
    Case(
        "quoted cells",
        file("".join(",".join(f'"{c}"' for c in line.strip().split(",")) + "\n" for line in LINES)),
        TRUTH,
    ),
    Case(
        "names twice",
        file(PLAIN.replace("city", "age", 1)),
        TRUTH,
        asks="several columns have the same name",
        cure=None,
    ),
    Case(
        "names in capitals",
        file(PLAIN.replace("age", "Age", 1)),
        TRUTH,
        asks=r"'age' \(did you mean 'Age'\?\)",
        cure=None,
    ),
    Case(
        "a title above",
        file("People of 2020\n\n" + PLAIN),
        TRUTH,
        asks="line 3 of the file; remove the lines",
        cure=None,
    ),
    Case(
        "no header",
        file(PLAIN[len(LINES[0]) :]),
        TRUTH,
        asks="header=False, on the command line --set source.header=false",
        cure={"header": False, "columns": [*TRUTH]},
    ),
    Case(
        "200 columns",
        file(text([*TRUTH, *(f"v{i}" for i in range(197))], [[*r, *["0"] * 197] for r in rows(AGE, PAY, CITY)])),
        TRUTH,
    ),
    Case("an empty file", file(b""), TRUTH, asks="the file is empty", cure=None),
    Case("a header alone", file(LINES[0]), TRUTH, asks="no records", cure=None),
]

NUMBERS = [
    numbers("decimal commas", comma, "--set source.decimal=, ", {"decimal": ","}),
    numbers(
        "decimal commas and points",
        grouped(".", ","),
        "--set source.decimal=, --set source.thousands=. ",
        {"decimal": ",", "thousands": "."},
    ),
    numbers(
        "decimal points and commas",
        grouped(",", "."),
        "--set source.decimal=. --set source.thousands=, ",
        {"decimal": ".", "thousands": ","},
    ),
    numbers(
        "thousands by blanks",
        grouped("\u202f", ","),
        """--set source.decimal=, --set 'source.thousands=" "'""",
        {"decimal": ",", "thousands": " "},
    ),
    numbers("Swiss thousands", grouped("'", "."), r"""--set "source.thousands='" """.strip(), {"thousands": "'"}),
    numbers(
        "euros behind",
        lambda pay: comma(pay) + " €",
        "--set source.decimal=, --set 'column.pay.unit=€'",
        {},
        {"decimal": ",", "unit": "€"},
    ),
    numbers("dollars before", lambda pay: f"${pay:.2f}", "--set 'column.pay.unit=[$]'", {}, {"unit": "$"}),
    numbers("francs", lambda pay: f"CHF {pay:.2f}", "--set column.pay.unit=CHF", {}, {"unit": "CHF"}),
    numbers("percent", lambda pay: f"{pay:.2f}%", "--set 'column.pay.unit=%'", {}, {"unit": "%"}),
    numbers("kilograms", lambda pay: f"{pay:.2f} kg", "--set column.pay.unit=kg", {}, {"unit": "kg"}),
    Case(**column("scientific", [f"{pay:e}" for pay in PAY]), truth={"pay": [float(f"{pay:e}") for pay in PAY]}),
    Case(
        **column("scientific with commas", [f"{pay:e}".replace(".", ",") for pay in PAY]),
        truth={"pay": [float(f"{pay:e}") for pay in PAY]},
        asks="--set source.decimal=, ",
        cure={"decimal": ","},
    ),
    Case(
        **column("points with three digits", [f"{12 + i}.{100 + i}" for i in range(COUNT)]),
        truth={"pay": [float(f"{12 + i}.{100 + i}") for i in range(COUNT)]},
        asks="between thousands .--set source.thousands=[.]. or before fractions .--set source.decimal=[.].",
        cure={"decimal": "."},
    ),
    Case(
        **column("points that are thousands", [f"{12 + i}.{100 + i}" for i in range(COUNT)]),
        truth={"pay": [(12 + i) * 1000 + 100 + i for i in range(COUNT)]},
        asks="between thousands .--set source.thousands=[.].",
        cure={"thousands": "."},
    ),
    Case(
        **column("commas with three digits", [f"{12 + i},{100 + i}" for i in range(COUNT)]),
        truth={"pay": [(12 + i) * 1000 + 100 + i for i in range(COUNT)]},
        asks="only you know which: --set source.(thousands|decimal)=, or --set source.(decimal|thousands)=,",
        cure={"thousands": ","},
    ),
    Case(
        **column("one word among numbers", ["unknown", *(f"{pay:.2f}" for pay in PAY[1:])]),
        truth={"pay": [None, *PAY[1:]]},
        asks="number in all records but 1, first in row 1.*--set column.pay.strays=missing",
        of={"pay": {"strays": "missing"}},
    ),
    Case(
        **column("mixed missing codes", ["NA", "n/a", "-", *(comma(pay) for pay in PAY[3:])]),
        truth={"pay": [None] * 3 + PAY[3:]},
        asks="number .as --set source.decimal=, reads it. in all records but 3, first in row 1",
        cure={"decimal": ",", "missing": ["NA", "n/a", "-"]},
    ),
    Case(
        **column("ages with a 90+", [*map(str, range(51, 90)), "90+"]),
        truth={"pay": [*map(str, range(51, 90)), "90+"]},
        asks="but 1, first in row 40",
        of={"pay": CODES},
    ),
    Case(
        **column("words among commas", ["unknown", *(comma(pay) for pay in PAY[1:])]),
        truth={"pay": [None, *PAY[1:]]},
        asks="as --set source.decimal=, reads it. in all records but 1",
        cure={"decimal": ","},
        of={"pay": {"strays": "missing"}},
    ),
    Case(
        **column("big integers", [f"{10**20 + i}" for i in range(COUNT)]),
        truth={"pay": [f"{10**20 + i}" for i in range(COUNT)]},
    ),
]

DATES = [
    dates("German dates", day("%d.%m.%Y"), "reads as a date; declare it: --set source.dates=dd.mm.yyyy", "dd.mm.yyyy"),
    dates("American dates", day("%m/%d/%Y"), "--set source.dates=mm/dd/yyyy", "mm/dd/yyyy"),
    dates("British dates", day("%d/%m/%Y"), "--set source.dates=dd/mm/yyyy", "dd/mm/yyyy"),
    dates(
        "dates in either order",
        day("%d/%m/%Y"),
        "only you know which: --set source.dates=dd/mm/yyyy or --set source.dates=mm/dd/yyyy",
        "dd/mm/yyyy",
        EARLY,
    ),
    dates("dates with slashes", day("%Y/%m/%d"), "--set source.dates=yyyy/mm/dd", "yyyy/mm/dd"),
    dates("names of months", day("%d-%b-%Y"), "--set source.dates=dd-mon-yyyy", "dd-mon-yyyy"),
    dates("statistical dates", day("%d%b%Y"), "--set source.dates=ddmonyyyy", "ddmonyyyy"),
    dates("days without marks", day("%Y%m%d"), "dates .--set column.born.dates=yyyymmdd", "yyyymmdd"),
    dates("years of two digits", day("%d.%m.%y"), "--set source.dates=dd.mm.yy", "dd.mm.yy"),
    dates(
        "timestamps",
        day("%Y-%m-%d 00:00:00"),
        f"{STAMPS}; declare it: --set 'source.dates=yyyy-mm-dd hh:mm:ss'",
        "yyyy-mm-dd hh:mm:ss",
    ),
    dates("zones", day("%Y-%m-%dT13:30:00+02:00"), "--set 'source.dates=yyyy-mm-dd hh:mm:ssz'", "yyyy-mm-dd hh:mm:ssz"),
    dates("German timestamps", day("%d.%m.%Y 13:30"), "--set 'source.dates=dd.mm.yyyy hh:mm'", "dd.mm.yyyy hh:mm"),
    dates(
        "American times", day("%m/%d/%Y 01:30 PM"), "--set 'source.dates=mm/dd/yyyy hh:mm am'", "mm/dd/yyyy hh:mm am"
    ),
    Case(
        **column("times of day", [f"{i % 24:02}:{i:02}" for i in range(COUNT)], "at"),
        truth={"at": [i % 24 * 60 + i for i in range(COUNT)]},
        asks="reads as a time of day; declare it: --set source.dates=hh:mm",
        cure={"dates": "hh:mm"},
    ),
    Case(
        **column("one word among dates", ["unknown", *map(day("%d.%m.%Y"), BORN[1:])], "born"),
        truth={"born": [None, *BORN[1:]]},
        asks="holds a date .as --set source.dates=dd.mm.yyyy reads it. in all records but 1, first in row 1",
        cure={"dates": "dd.mm.yyyy"},
        of={"born": {"strays": "missing"}},
    ),
    Case(**column("ISO dates", [born.isoformat() for born in BORN], "born"), truth={"born": BORN}),
    Case(
        **column(
            "two forms of dates", [day("%d.%m.%Y" if i % 2 else "%Y-%m-%d")(b) for i, b in enumerate(BORN)], "born"
        ),
        truth={"born": [day("%d.%m.%Y" if i % 2 else "%Y-%m-%d")(b) for i, b in enumerate(BORN)]},
    ),
]

CATEGORIES = [
    Case(
        **column("zip codes", ZIP, "zip"),
        truth={"zip": ZIP},
        asks="5 digits each.*--categorical zip",
        of={"zip": CODES},
    ),
    Case(
        **column("zip codes with zeros", [f"0{code[1:]}" for code in ZIP], "zip"),
        truth={"zip": [f"0{code[1:]}" for code in ZIP]},
    ),
    Case(
        **column("numbers with zeros", [*(f"{age:02}" for age in range(5, COUNT + 4)), "100"], "no"),
        truth={"no": [*range(5, COUNT + 4), 100]},
        asks="several lengths, some with leading zeros.*--set column.no.kind=numeric",
        of={"no": {"kind": "numeric"}},
    ),
    Case(
        **column("yes and no", ["ja" if age % 2 else "Nein" for age in AGE], "ill"),
        truth={"ill": [bool(age % 2) for age in AGE]},
        begins={"ill": {"kind": "boolean"}},
    ),
    Case(
        **column("m and f", ["m" if age % 2 else "f" for age in AGE], "sex"),
        truth={"sex": ["m" if a % 2 else "f" for a in AGE]},
    ),
    Case(
        **column("age groups", [f"{a // 10}0-{a // 10}9" for a in AGE], "g"),
        truth={"g": [f"{a // 10}0-{a // 10}9" for a in AGE]},
    ),
    Case(**column("years", [str(b.year) for b in BORN], "year"), truth={"year": [b.year for b in BORN]}),
]

CASES = [*LAYOUTS, *NUMBERS, *DATES, *CATEGORIES]

"""Excel, SPSS, Stata, JSON and Parquet files as people have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pyreadstat

from gallery.case import Case, Make
from gallery.people import AGE, BORN, CITY, COUNT, PAY, file

TRUTH: dict[str, list[Any]] = {"age": AGE, "born": BORN, "pay": PAY, "city": CITY}
NAMES = [*TRUTH]
RECORDS: list[Sequence[Any]] = list(zip(*TRUTH.values(), strict=True))
SEX = [number % 2 + 1 for number in range(COUNT)]
SEXES = {1.0: "male", 2.0: "female"}
HELD = [None if number == 7 else value for number, value in enumerate(AGE)]
DAMAGED = "damaged or cut off; get a whole copy"

Change = Callable[[Any], object]


def workbook(rows: Sequence[Sequence[Any]], change: Change = lambda book: None, name: str = "people.xlsx") -> Make:
    """Return how a workbook with these rows is made; `change` may do more to it."""

    def make(folder: Path) -> Path:
        book = openpyxl.Workbook()
        book.active.title = "People"
        for row in rows:
            book.active.append(row)
        change(book)
        book.save(folder / name)
        return folder / name

    return make


def merged(*groups: str) -> Change:
    """Return what merges cells."""
    return lambda book: [book.active.merge_cells(group) for group in groups]


def sheet(title: str, state: str = "visible") -> Change:
    """Return what adds another sheet."""

    def add(book: Any) -> None:
        other = book.create_sheet(title, 0)
        other.append(["code", "meaning"])
        other.sheet_state = state
        book.active = 1

    return add


def codes(book: Any) -> None:
    """Show numbers with leading zeros."""
    for row in range(2, COUNT + 2):
        book.active.cell(row, 1).number_format = "00000"


def first(values: Sequence[Any], value: Any) -> list[Any]:
    """Put another value before all but the first."""
    return [value, *values[1:]]


def one(values: Sequence[Any], name: str = "age", change: Change = lambda book: None) -> Make:
    """Return a workbook with a single column."""
    return workbook([[name], *([value] for value in values)], change)


def cut(make: Make, share: float) -> Make:
    """Return how a file is made of which only the beginning is left."""

    def shorter(folder: Path) -> Path:
        path = make(folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
        return path

    return shorter


def spss(frame: dict[str, list[Any]], **more: Any) -> Make:
    """Return how an SPSS file is made."""

    def make(folder: Path) -> Path:
        pyreadstat.write_sav(pl.DataFrame(frame), folder / "people.sav", **more)
        return folder / "people.sav"

    return make


def stata(frame: dict[str, list[Any]], **more: Any) -> Make:
    """Return how a Stata file is made."""

    def make(folder: Path) -> Path:
        pyreadstat.write_dta(pl.DataFrame(frame), folder / "people.dta", **more)
        return folder / "people.dta"

    return make


def parts(*frames: pl.DataFrame, spoil: Callable[[Path], object] = lambda folder: None) -> Make:
    """Return how a folder of Parquet files is made."""

    def make(folder: Path) -> Path:
        target = folder / "people"
        target.mkdir()
        for number, frame in enumerate(frames):
            frame.write_parquet(target / f"part-{number}.parquet")
        spoil(target)
        return target

    return make


TABLE = pl.DataFrame(TRUTH)
EXCEL = [
    Case("workbook", workbook([NAMES, *RECORDS]), TRUTH),
    Case(
        "merged names above the names",
        workbook([["person", None, "money and place", None], NAMES, *RECORDS], merged("A1:B1", "C1:D1")),
        TRUTH,
        asks=r"row 1 names 2 columns and has merged cells, but row 2 fills 4 cells.*--set source.range=A2:D",
        cure={"range": "A2:D"},
    ),
    Case(
        "title above the names",
        workbook([["People of the hospital"], [], NAMES, *RECORDS]),
        TRUTH,
    ),
    Case(
        "sum below the records",
        workbook([NAMES, *RECORDS, [], [None, None, sum(PAY), None]]),
        TRUTH,
        asks=rf"row {COUNT + 3} stands below an empty row and fills few.* a range that ends in row {COUNT + 1}",
        cure={"range": f"A1:D{COUNT + 1}"},
    ),
    Case("sum below the range", workbook([NAMES, *RECORDS, [], ["all"]]), TRUTH, said={"range": f"A1:D{COUNT + 1}"}),
    Case(
        "merged records",
        workbook([NAMES, *RECORDS], merged("A2:B3")),
        TRUTH,
        asks="A2:B3 are merged, so that only the first cell of each holds a value; unmerge them",
        cure=None,
    ),
    Case(
        "two sheets",
        workbook([NAMES, *RECORDS], sheet("Codes")),
        TRUTH,
        asks="which is meant with sheet: --set source.sheet=Codes or --set source.sheet=People",
        cure={"sheet": "People"},
    ),
    Case("hidden sheet", workbook([NAMES, *RECORDS], sheet("Codes", "hidden")), TRUTH),
    Case(
        "index without a name",
        workbook([[None, *NAMES], *([number, *row] for number, row in enumerate(RECORDS))]),
        TRUTH,
    ),
    Case("blank rows in a sheet", workbook([NAMES, *RECORDS[:9], [], [], *RECORDS[9:]]), TRUTH),
    Case("sheet without names", workbook(RECORDS), TRUTH, asks="no column of the schema is in the table", cure=None),
    Case("numbers stored as text", one([str(age) for age in AGE]), {"age": AGE}),
    Case("codes by format", one(SEX, "ward", codes), {"ward": [f"{code:05}" for code in SEX]}),
    Case(
        "dates that Excel did not take for any",
        one(first(BORN, BORN[0].strftime("%d.%m.%Y")), "born"),
        {"born": BORN},
        asks=f"{COUNT - 1} cells with a date beside 1 with a number or a text that has digits",
        cure=None,
    ),
    Case(
        "formulas without results",
        one(first(AGE, "=A3+1")),
        {"age": AGE},
        asks="1 cell with a formula that was never calculated, first in row 2 of the sheet; open the file in Excel",
        cure=None,
    ),
    Case(
        "errors of formulas",
        workbook([("age", "place"), *((age, "Bonn") for age in first(AGE, "#N/A"))]),
        {"age": [None, *AGE[1:]]},
    ),
    Case("a workbook that is cut off", cut(workbook([NAMES, *RECORDS]), 0.6), TRUTH, asks=DAMAGED, cure=None),
    Case(
        "encrypted workbook",
        file(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512) + "EncryptedPackage".encode("utf-16-le"), name="a.xlsx"),
        TRUTH,
        asks="the workbook is encrypted; open it with its password and save a copy without one",
        cure=None,
    ),
]
STATISTICAL = [
    Case(
        "labelled SPSS",
        spss({"sex": SEX, "age": AGE}, variable_value_labels={"sex": SEXES}),
        {"sex": [SEXES[code] for code in SEX], "age": AGE},
    ),
    Case(
        "SPSS with user-missing values",
        spss(
            {"age": [98 if value is None else value for value in HELD]},
            variable_value_labels={"age": {98.0: "refused", 99.0: "unknown"}},
            missing_ranges={"age": [98, 99]},
        ),
        {"age": HELD},
    ),
    Case(
        "SPSS with labels of some codes",
        spss({"age": AGE}, variable_value_labels={"age": {float(max(AGE)): "as old or older"}}),
        {"age": AGE},
        asks=r"1 of its codes have a label, and \d+ have none; read its codes with .*--set source.codes=age",
        cure={"codes": ["age"]},
    ),
    Case(
        "labelled Stata",
        stata({"sex": SEX, "born": BORN}, variable_value_labels={"sex": SEXES}),
        {"sex": [SEXES[code] for code in SEX], "born": BORN},
    ),
    Case(
        "old Stata",
        stata({"sex": SEX}, version=8, variable_value_labels={"sex": SEXES}),
        {"sex": [SEXES[c] for c in SEX]},
    ),
    Case(
        "Stata that is cut off in its labels",
        cut(stata({"sex": SEX}, variable_value_labels={"sex": SEXES}), 0.9),
        {"sex": SEX},
        asks=f"the Stata file is {DAMAGED}",
        cure=None,
    ),
]
OTHER = [
    Case("JSON lines", file(TABLE.write_ndjson(), name="people.jsonl"), TRUTH),
    Case("folder of parts", parts(TABLE[:9], TABLE[9:]), TRUTH),
    Case(
        "part of another schema",
        parts(TABLE[:9], TABLE[9:].with_columns(pl.col("age").cast(pl.String))),
        TRUTH,
        asks="column 'age' is of another type in part-1.parquet than in part-0.parquet",
        cure=None,
    ),
    Case(
        "corrupt part",
        parts(TABLE[:9], TABLE[9:], spoil=lambda folder: cut(lambda _: folder / "part-1.parquet", 0.5)(folder)),
        TRUTH,
        asks=f"part-1.parquet: .*{DAMAGED}",
        cure=None,
    ),
    Case(
        "SQLite by its path",
        file(b"SQLite format 3\0" + bytes(99), name="people.sqlite"),
        TRUTH,
        asks="the file is no SQLite database; check the path",
        cure=None,
    ),
]
CASES = [*EXCEL, *STATISTICAL, *OTHER]

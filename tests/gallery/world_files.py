"""Layouts, packings, documents, workbooks, statistical files and frames as the world hands them in."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat

from gallery.follow import World
from gallery.people import AGE, BORN, CITY, COUNT, PAY, comma, file, rows, text

TRUTH: dict[str, list[Any]] = {"age": AGE, "pay": PAY, "city": CITY}
NAMES = [*TRUTH]
CELLS = rows(AGE, PAY, CITY)
PLAIN = text(NAMES, CELLS)
GERMAN = text(NAMES, rows(AGE, PAY, CITY, write=[str, comma]), ";")
LINES = PLAIN.splitlines(keepends=True)
BODY = PLAIN[len(LINES[0]) :]
FRAME = pl.DataFrame(TRUTH)

def w(
    name: str, content: str | bytes, comes: str = "right", says: str = "", suffix: str = ".csv", **reading: Any
) -> World:
    return World(name, file(content, name=f"people{suffix}"), TRUTH, comes, says, reading)

def shifted(content: str, mark: str, first: str = "") -> str:
    """Put a column of row numbers first."""
    head, *body = content.splitlines()
    return "\n".join([f"{first}{mark}{head}", *(f"{i}{mark}{line}" for i, line in enumerate(body, 1))]) + "\n"

LAYOUTS = [
    *(w(f"separated by {mark!r}", text(NAMES, CELLS, mark)) for mark in ";\t|"),
    w("semicolons and decimal commas", GERMAN),
    w("R's own table", " ".join(f'"{name}"' for name in NAMES) + "\n" + "".join(
        f'"{row}" "{cells[0]}" ' + " ".join(f'"{cell}"' for cell in cells[1:]) + "\n" for row, cells in enumerate(CELLS, 1)
    )),
    w("sep=;", "sep=;\n" + GERMAN),
    w("sep=, in quotes", '"sep=,"\r\n' + PLAIN),
    w("SEP=tab", "SEP=\t\n" + text(NAMES, CELLS, "\t")),
    w("a title above", "People of 2020\n\n" + PLAIN),
    w("a title without a blank line", "People of 2020\n" + PLAIN),
    w("three lines above", "Hospital\nWard: north\nMade on 3.4.2020\n\n" + PLAIN),
    w("a title of a sheet", "People of 2020,,\n,,\n" + PLAIN),
    w("comments above", "# made by a program\n# in 2020\n" + PLAIN),
    w("title and semicolons", "Patienten 2020;;\n" + GERMAN),
    w("sep= and a title", "sep=;\nPatienten 2020;;\n;;\n" + GERMAN),
    w("a note below", PLAIN + "\nSource: hospital\n", "asked", "footer"),
    w("a note right below", PLAIN + "Source: hospital\n", "asked", "footer"),
    w("two notes below", GERMAN + "\nQuelle: Klinik\nStand: 2020\n", "asked", "footer"),
    w("a sum below", PLAIN + f",{sum(PAY):.2f},Total\n", "asked", "add up"),
    w("a sum in German", GERMAN + f"Summe;{comma(sum(PAY))};\n", "asked", "add up"),
    w("a trailing note of a database", GERMAN + "\n(40 rows affected)\n", "asked", "footer"),
    w("an index of pandas", shifted(PLAIN, ",")),
    w("an index of R", shifted(PLAIN, ",", '""')),
    w("an index of R without a field", "\n".join(['"age","pay","city"', *(f'"{i}",{a},{b},"{c}"' for i, (a, b, c) in enumerate(CELLS, 1))]) + "\n"),
    w("an index and semicolons", shifted(GERMAN, ";")),
    w("rows of separators", PLAIN + ",,\n" * 200),
    w("rows of separators between", "".join([*LINES[:9], ",,\n", *LINES[9:]])),
    w("rows of semicolons and blanks", GERMAN + " ; ; \n" * 20),
    w("rows of separators, line ends of Windows", (PLAIN + ",,\n" * 9).replace("\n", "\r\n")),
    w("empty columns behind", "\n".join(line + ",,," for line in PLAIN.splitlines()) + "\n"),
    w("a separator ends every row", PLAIN.replace("\n", ",\n")),
    w("blank lines", PLAIN.replace("\n", "\n\n")),
    w("old Macintosh lines", PLAIN.replace("\n", "\r")),
    w("Windows lines", PLAIN.replace("\n", "\r\n")),
    w("no line end", PLAIN.rstrip()),
    w("quoted cells", "".join(",".join(f'"{c}"' for c in line.strip().split(",")) + "\n" for line in LINES)),
    w("blanks around cells", PLAIN.replace(",", " , ")),
    w("two hundred columns", text([*NAMES, *(f"v{i}" for i in range(197))], [[*r, *["0"] * 197] for r in CELLS])),
    w("null bytes at the end", PLAIN.encode() + bytes(512), "asked"),
    w("no header", BODY, "refused", r"source\.header=false"),
    w("no header, semicolons", text(NAMES, CELLS, ";").split("\n", 1)[1], "refused", r"source\.header=false"),
    World("no header, a cell that is nearly a name", file("Page,31,flu\nSmith,45,cold\n" * 9), {"age": ["Page", "Smith"]}, "refused", r"source\.header=false"),

    w("files one below the other", "".join([*LINES[:20], LINES[0], *LINES[20:]])),
    w("fields between apostrophes", "".join(",".join(f"'{c}'" for c in line.strip().split(",")) + "\n" for line in LINES), "asked"),
    w("two rows of names", "".join([LINES[0], "years,euros,town\n", *LINES[1:]]), "asked", "labels"),
    w("a title with separators", '"Report, 2020",,\n,,\n' + PLAIN),
    w("Unicode text of Excel", text(NAMES, CELLS, "\t").encode("utf-16")),
    w("no header, said", BODY, header=False, columns=NAMES),
    w("names in capitals", PLAIN.replace("age", "AGE", 1), "refused", "did you mean"),
    w("names twice", PLAIN.replace("city", "age", 1), "refused", "'age 2'"),
    w("one short row", "".join([*LINES[:9], "17\n", *LINES[9:]]), "refused", "fewer than 3 fields, first row 9"),
    w("one long row", "".join([*LINES[:9], "17,1,2,3\n", *LINES[9:]]), "refused", "more than 3 fields, first row 9"),
    w("decimal commas between commas", PLAIN.replace(".", ","), "refused", "fields"),
    w("an open quote", "".join([*LINES[:9], '17,1,"Köln\n', *LINES[9:]]), "refused", "never closed"),
    w("an empty file", b"", "refused", "empty"),
    w("blanks alone", b" \n \n", "refused", "empty"),
    w("a header alone", LINES[0], "refused", "no records"),
    w("columns of one width", "".join(f"{a:>5}{b:>10}  {c:<10}\n" for a, b, c in [NAMES, *CELLS]), "refused", "blanks"),
    w("said header line", "x\ny\n" + PLAIN, header_line=3),
    w("said footer", PLAIN + "x\n\ny\n", footer_lines=2),
]

def tarred() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        info = tarfile.TarInfo("people.csv")
        info.size = len(PLAIN.encode())
        archive.addfile(info, io.BytesIO(PLAIN.encode()))
    return made.getvalue()

def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, PLAIN)
    return made.getvalue()

RECORDS = FRAME.to_dicts()
NESTED = [
    {"id": i, "who": {"age": r["age"], "home": {"city": r["city"]}}, "pay": r["pay"]} for i, r in enumerate(RECORDS)
]
DEEP = {"who.age": AGE, "who.home.city": CITY, "pay": PAY}
GEO = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [8.5, 47.4]}, "properties": r} for r in RECORDS
    ],
}
PACKED = [
    w("gzip", gzip.compress(PLAIN.encode()), suffix=".csv.gz"),
    w("bz2", bz2.compress(PLAIN.encode()), suffix=".csv.bz2"),
    w("xz", lzma.compress(PLAIN.encode()), suffix=".csv.xz"),
    w("gzip without its name", gzip.compress(GERMAN.encode())),
    w("bz2, German", bz2.compress(GERMAN.encode())),
    w("zip of one file", zipped("people.csv"), suffix=".zip"),
    w("zip of two", zipped("a.csv", "b.csv"), "refused", "2 files", suffix=".zip"),
    w("tar.gz", tarred(), "refused", "tar archive", suffix=".tar.gz"),
    w("gzip cut off", gzip.compress(PLAIN.encode())[:200], "refused", "damaged", suffix=".csv.gz"),
    w("bz2 cut off", bz2.compress(PLAIN.encode() * 9)[:200], "refused", "damaged", suffix=".csv.bz2"),
]
JSON = [
    w("JSON lines", FRAME.write_ndjson(), suffix=".jsonl"),
    w("JSON lines in .json", FRAME.write_ndjson(), suffix=".json"),
    w("JSON list", json.dumps(RECORDS), suffix=".json"),
    w("JSON list, indented", json.dumps(RECORDS, indent=2, ensure_ascii=False), suffix=".json"),
    w("JSON list with a mark", b"\xef\xbb\xbf" + json.dumps(RECORDS).encode(), suffix=".json"),
    w("JSON list, packed", gzip.compress(json.dumps(RECORDS).encode()), suffix=".json.gz"),
    w("JSON of columns", json.dumps(TRUTH), suffix=".json"),
    w("JSON of columns by row", json.dumps({n: {str(i): v for i, v in enumerate(c)} for n, c in TRUTH.items()}), suffix=".json"),
    w("JSON list in a document", json.dumps({"made": "2020", "data": RECORDS}), suffix=".json"),
    World("JSON nested", file(json.dumps(NESTED), name="people.json"), DEEP),
    World("JSON lines nested", file("\n".join(map(json.dumps, NESTED)), name="people.jsonl"), DEEP),
    World("GeoJSON", file(json.dumps(GEO), name="people.geojson"), {f"properties.{n}": c for n, c in TRUTH.items()}),
    w("JSON of split", json.dumps({"columns": NAMES, "index": [*range(COUNT)], "data": FRAME.rows()}), suffix=".json"),
    w("JSON of a scalar", "17", "refused", "JSON", suffix=".json"),
    w("JSON of lists", json.dumps([NAMES, *FRAME.rows()]), "right", suffix=".json"),
    w("JSON cut off", json.dumps(RECORDS)[:300], "refused", "JSON", suffix=".json"),
    w("JSON without its name", json.dumps(RECORDS, indent=1), suffix=".txt"),
    World("JSON with lists", file(json.dumps([{**r, "seen": [1, 2]} for r in RECORDS]), name="people.json"), TRUTH),
    World("JSON with a list that is wanted", file(json.dumps([{**r, "seen": [1, 2]} for r in RECORDS]), name="people.json"), {"seen": []}, "refused", "List"),
    World("JSON of two types", file(json.dumps([{**r, "age": str(r["age"]) if i % 2 else r["age"]} for i, r in enumerate(RECORDS)]), name="people.json"), TRUTH, ),
]

def archive(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as parts:
        for name in names:
            parts.writestr(name, "<x/>")
    return made.getvalue()

def npy() -> bytes:
    made = io.BytesIO()
    np.save(made, np.arange(9))
    return made.getvalue()

KINDS: dict[str, tuple[bytes, str, str]] = {
    "HTML": (b"<!DOCTYPE html><html><body><table><tr><td>1</td></tr></table></body></html>", ".html", "HTML"),
    "HTML called a workbook": (b"<html xmlns:x='urn'><table><tr><td>1</td></tr></table></html>", ".xls", "HTML"),
    "XML": (b"<?xml version='1.0'?><people><p age='3'/></people>", ".xml", "XML"),
    "SpreadsheetML": (b"<?xml version='1.0'?><?mso-application progid='Excel.Sheet'?><Workbook/>", ".xls", "XML"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3", ".pdf", "PDF"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(99), ".png", "picture"),
    "JPEG": (b"\xff\xd8\xff\xe0" + bytes(99), ".jpg", "picture"),
    "GIF": (b"GIF89a" + bytes(99), ".gif", "picture"),
    "TIFF": (b"II*\0" + bytes(99), ".tif", "picture"),
    "BMP": (b"BM" + bytes(99), ".bmp", "picture"),
    "WebP": (b"RIFF1234WEBP" + bytes(99), ".webp", "picture"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(99), ".h5", "HDF5"),
    "NumPy": (npy(), ".npy", "NumPy"),
    "dBase": (b"\x03\x7a\x04\x03" + (9).to_bytes(4, "little") + bytes(24) + b"AGE\0\0\0\0\0\0\0\0N" + bytes(99), ".dbf", "dBase"),
    "Avro": (b"Obj\x01\x04\x14avro.codec" + bytes(99), ".avro", "Avro"),
    "ORC": (b"ORC\x08\x03" + bytes(99), ".orc", "ORC"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(99), ".7z", "7z"),
    "RAR": (b"Rar!\x1a\x07\x01\x00" + bytes(99), ".rar", "RAR"),
    "tar": (b"people.csv" + bytes(247) + b"ustar\x0000" + bytes(999), ".tar", "tar"),
    "pickle": (b"\x80\x04\x95\x10" + bytes(99), ".pkl", "pickle"),
    "Word": (archive("word/document.xml"), ".docx", "Word"),
    "PowerPoint": (archive("ppt/presentation.xml"), ".pptx", "PowerPoint"),
    "binary workbook": (archive("xl/workbook.bin"), ".xlsb", "binary workbook"),
    "NumPy archive": (archive("a.npy"), ".npz", "NumPy"),
    "Access": (b"\0\x01\0\0Standard ACE DB\0" + bytes(99), ".accdb", "Access"),
    "R data": (b"RDX3\nX\n", ".rda", "R"),
    "SAS catalog": (bytes(12) + bytes.fromhex("c2ea8163b31411cfbd92080009c7318c181f1011") + bytes(99), ".sas7bcat", "SAS"),
    "SQLite": (b"SQLite format 3\0" + bytes(99), ".sqlite", "SQLite"),
    "shapefile": (b"\0\0\x27\x0a" + bytes(99), ".shp", "shapefile"),
    "program": (b"\x7fELF" + bytes(99), "", "program"),
    "music": (b"ID3\x03" + bytes(99), ".mp3", "sound"),
    "mail": (b"From: a@b.example\r\nTo: c@d.example\r\nSubject: table\r\nMIME-Version: 1.0\r\n\r\nhello\r\n", ".eml", "mail"),
    "rich text": (b"{\\rtf1\\ansi hello}", ".rtf", "RTF"),
    "a log": (b"".join(b"2020-01-0%d 10:00:00 INFO started worker with id %d\n" % (i, i) for i in range(1, 9)), ".log", "no column"),
    "old Excel with a password": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512) + "EncryptedPackage".encode("utf-16-le"), ".xlsx", "encrypted"),
}
OTHERS = [
    World(name, file(content, name=f"people{suffix}"), TRUTH, "refused", says)
    for name, (content, suffix, says) in KINDS.items()
]

Change = Callable[[Any], object]

def book(grid: Sequence[Sequence[Any]], change: Change = lambda book: None) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        made = openpyxl.Workbook()
        for row in grid:
            made.active.append(list(row))
        change(made)
        made.save(folder / "people.xlsx")
        return folder / "people.xlsx"

    return make

def hidden(kind: str, *which: Any) -> Change:
    def hide(made: Any) -> None:
        for one in which:
            getattr(made.active, f"{kind}_dimensions")[one].hidden = True

    return hide

def ods(grid: Sequence[Sequence[Any]]) -> Callable[[Path], Path]:
    def cell(value: Any) -> str:
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        if isinstance(value, date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value}"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'

    def make(folder: Path) -> Path:
        body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in grid)
        spaces = " ".join(
            f'xmlns:{s}="urn:oasis:names:tc:opendocument:xmlns:{s}:1.0"' for s in ("office", "table", "text")
        )
        with zipfile.ZipFile(folder / "people.ods", "w") as parts:
            kind = "application/vnd.oasis.opendocument.spreadsheet"
            parts.writestr("mimetype", kind)
            parts.writestr(
                "META-INF/manifest.xml",
                f'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>',
            )
            parts.writestr(
                "content.xml",
                f'<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name="People">{body}</table:table></office:spreadsheet></office:body></office:document-content>',
            )
        return folder / "people.ods"

    return make

SHEET: dict[str, list[Any]] = {"age": AGE, "born": BORN, "city": CITY}
ROWS = list(zip(AGE, BORN, CITY, strict=True))
HEAD = [*SHEET]
WORKBOOKS = [
    World("workbook", book([HEAD, *ROWS]), SHEET),
    World("workbook, title", book([["People"], [], HEAD, *ROWS]), SHEET),
    World("workbook, index", book([[None, *HEAD], *([i, *row] for i, row in enumerate(ROWS))]), SHEET),
    World("workbook, sum", book([HEAD, *ROWS, [], ["all"]]), SHEET, "asked"),
    World("workbook, a row of sums", book([HEAD, *ROWS, [sum(AGE), None, "total"]]), SHEET, "asked"),
    World("workbook, hidden rows", book([HEAD, *ROWS], hidden("row", 5, 6)), SHEET, "asked", "hidden"),
    World("workbook, hidden column", book([HEAD, *ROWS], hidden("column", "B")), SHEET, "asked", "hidden"),
    World("workbook, hidden rows that go", book([HEAD, *ROWS, [99, BORN[0], "x"]], hidden("row", COUNT + 2)), SHEET, "asked", "hides 1 row"),
    World("workbook, notes of a day", book([HEAD, *ROWS, [None, None, None]]), SHEET),
    World("OpenDocument", ods([HEAD, *ROWS]), SHEET),
    World("OpenDocument, title", ods([["People"], HEAD, *ROWS]), SHEET),
]

def stat(write: str, suffix: str, frame: pl.DataFrame, **more: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        getattr(pyreadstat, f"write_{write}")(frame, folder / f"people.{suffix}", **more)
        return folder / f"people.{suffix}"

    return make

MONTHLY = [date(1960 + i, i % 12 + 1, 1) for i in range(COUNT)]

def stata(column: str, values: Any, form: str = "%9.0g") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        if form.startswith("%t"):
            pyreadstat.write_dta(pd.DataFrame({column: values}), folder / "people.dta", variable_format={column: form})
        else:
            pd.DataFrame({column: values}).to_stata(folder / "people.dta", write_index=False)
        return folder / "people.dta"

    return make

STATISTICAL = [
    World("SPSS", stat("sav", "sav", pl.DataFrame(SHEET)), SHEET),
    World("SPSS portable", stat("por", "por", pl.DataFrame({"AGE": AGE, "CITY": ["a"] * COUNT})), {"AGE": AGE}),
    World("SAS transport", stat("xport", "xpt", pl.DataFrame({"AGE": AGE})), {"AGE": AGE}),
    World("Stata", stat("dta", "dta", pl.DataFrame(SHEET)), SHEET),
    World("Stata floats", stata("pay", np.array([round(p / 100, 2) for p in PAY], dtype=np.float32)), {"pay": [round(p / 100, 2) for p in PAY]}),
    World("Stata months", stata("born", [(d.year - 1960) * 12 + d.month - 1 for d in MONTHLY], "%tm"), {"born": MONTHLY}),
    World("Stata quarters", stata("born", [4 * i for i in range(COUNT)], "%tq"), {"born": [date(1960 + i, 1, 1) for i in range(COUNT)]}),
]

def frame(name: str, value: Any, truth: dict[str, list[Any]] = TRUTH, comes: str = "right", says: str = "") -> World:
    return World(name, lambda folder: value, truth, comes, says)

STAMPS = [datetime(b.year, b.month, b.day, 13, 30) for b in BORN]
PANDAS = FRAME.to_pandas()
FRAMES = [
    frame("polars", FRAME),
    frame("polars lazy", FRAME.lazy()),
    frame("pandas", PANDAS),
    frame("Arrow", FRAME.to_arrow()),
    frame("pandas index with a role", PANDAS.set_index("city")),
    frame("pandas index of two", PANDAS.set_index(["city", "age"])),
    frame("pandas index", PANDAS.set_index("age").reset_index().rename_axis("row")),
    frame("NumPy structured", np.array(FRAME.rows(), dtype=[("age", "i8"), ("pay", "f8"), ("city", "U20")])),
    frame("NumPy records", np.rec.fromrecords(FRAME.rows(), names="age,pay,city")),
    frame("a dict of lists", TRUTH),
    frame("a list of dicts", RECORDS),
    frame("Arrow batch", FRAME.to_arrow().combine_chunks().to_batches()[0]),
    frame("NumPy plain", np.arange(9), comes="refused", says="not a table"),
    frame("time stamps", pl.DataFrame({"born": STAMPS}), {"born": BORN}),
    frame("time stamps of pandas", pd.DataFrame({"born": pd.to_datetime(STAMPS)}), {"born": BORN}),
    frame("time stamps with a zone", pl.DataFrame({"born": STAMPS}).with_columns(pl.col("born").dt.replace_time_zone("Europe/Paris")), {"born": BORN}),
    frame("midnights", pl.DataFrame({"born": [datetime(b.year, b.month, b.day) for b in BORN]}), {"born": BORN}),
    frame("times of day", pl.DataFrame({"at": [time(i % 24, i) for i in range(COUNT)]}), {"at": [(i % 24 * 60 + i) * 60 for i in range(COUNT)]}),
    frame("durations", pl.DataFrame({"lasted": [timedelta(seconds=i * 90) for i in range(COUNT)]}), {"lasted": [i * 90 for i in range(COUNT)]}),
    frame("durations of pandas frames", pd.DataFrame({"lasted": pd.to_timedelta([i * 90 for i in range(COUNT)], unit="s")}), {"lasted": [i * 90 for i in range(COUNT)]}),
    frame("pandas intervals", pd.DataFrame({"g": pd.cut(AGE, [0, 30, 60, 99])}), {"g": [str(v) for v in pd.cut(AGE, [0, 30, 60, 99])]}),
    frame("pandas periods", pd.DataFrame({"born": pd.PeriodIndex(MONTHLY, freq="M")}), {"born": MONTHLY}),
    frame("pandas periods of days", pd.DataFrame({"born": pd.PeriodIndex(BORN, freq="D")}), {"born": BORN}),
    frame("pandas categories", pd.DataFrame({"city": pd.Categorical(CITY)}), {"city": CITY}),
    frame("pandas nullable", pd.DataFrame({"age": pd.array([None, *AGE[1:]], dtype="Int64")}), {"age": [None, *AGE[1:]]}),
    frame("decimals", FRAME.select(pl.col("pay").cast(pl.Decimal(12, 2))), {"pay": PAY}),
    frame("small floats", FRAME.select(pl.col("pay").cast(pl.Float32)), {"pay": [float(str(np.float32(p))) for p in PAY]}),
    frame("text with commas", pl.DataFrame({"pay": list(map(comma, PAY))}), {"pay": PAY}),
    frame("text of German dates", pl.DataFrame({"born": [f"{b:%d.%m.%Y}" for b in BORN]}), {"born": BORN}),
    frame("bytes of text", pl.DataFrame({"city": [c.encode() for c in CITY]}), {"city": CITY}),
    frame("columns of columns", pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), comes="refused", says="text"),
    frame("mixed values", pd.DataFrame({"age": [1, "x", date(2020, 1, 1)]}), {"age": []}, "refused", "mixed types"),
    frame("lists", pl.DataFrame({"age": [[1], [2]]}), {"age": []}, "refused", "List"),
    frame("structs", pl.DataFrame({"who": NESTED[0]["who"] and [n["who"] for n in NESTED], "pay": PAY}), {"pay": PAY}),
    frame("a column of pandas", PANDAS["age"], comes="refused", says="not a table"),
    frame("dictionaries of Arrow", pa.table({"city": pa.array(CITY).dictionary_encode()}), {"city": CITY}),
]
